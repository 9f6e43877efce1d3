//! The rows of `settings`: what was meant, one key each.

use super::{named, read_keys, write_keys};
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing, Tails,
};
use coretalk_model::series::SeriesSettings;
use coretalk_model::stats::{ANALYSES, MOST_ANALYSES};
use coretalk_model::{CpuId, Home, Picos, Protocol, Tool};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SettingsRow {
    cpus: Vec<u32>,
    pairs: PairsRow,
    protocols: Vec<String>,
    hint: HintRow,
    home: HomeRow,
    lines: Option<u32>,
    counts: CountsRow,
    parallel: ParallelRow,
    precision: f64,
    /// Files of older versions have none: two.
    #[serde(default = "usual_analyses")]
    looks: u32,
    budget_ps: u64,
    spacing: SpacingRow,
    /// In decimal: readers of JSON take numbers above 2⁵³ for others.
    seed: String,
    rate_per_s: Option<f64>,
    imitate: Vec<String>,
    ladder: bool,
    keep_raw: bool,
}

fn usual_analyses() -> u32 {
    ANALYSES.len() as u32
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PairsRow {
    All,
    Representatives,
    Siblings,
    Listed(Vec<[u32; 2]>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HintRow {
    Auto,
    None,
    Pause,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HomeRow {
    Auto,
    Node(u32),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CountsRow {
    Adaptive,
    Fixed { samples: u32, iterations: u32 },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ParallelRow {
    Auto,
    AtMost(u32),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SpacingRow {
    Brief,
    Watch,
}

/// Writes what was meant. A run without a map has these rows, too: they ask for no pair under no protocol.
pub fn write_settings(
    db: &Connection,
    latency: Option<&LatencySettings>,
    series: Option<&SeriesSettings>,
) -> rusqlite::Result<()> {
    match (latency, series) {
        (Some(settings), _) => write_row(db, settings),
        (None, Some(series)) => write_row(
            db,
            &LatencySettings {
                pairs: PairChoice::Listed(Vec::new()),
                protocols: Vec::new(),
                precision: series.precision,
                budget: series.budget,
                seed: series.seed,
                ladder: false,
                ..LatencySettings::of(series.cpus.clone())
            },
        ),
        (None, None) => Ok(()),
    }
}

fn write_row(db: &Connection, settings: &LatencySettings) -> rusqlite::Result<()> {
    // Without `..`: a new setting does not compile until the format has a place for it.
    let LatencySettings {
        cpus,
        pairs,
        protocols,
        hint,
        home,
        lines,
        counts,
        parallel,
        precision,
        analyses,
        budget,
        spacing,
        seed,
        tails,
        imitate,
        ladder,
        keep_raw,
    } = settings;
    let row = SettingsRow {
        cpus: cpus.iter().map(|cpu| cpu.0).collect(),
        pairs: match pairs {
            PairChoice::All => PairsRow::All,
            PairChoice::Representatives => PairsRow::Representatives,
            PairChoice::Siblings => PairsRow::Siblings,
            PairChoice::Listed(pairs) => PairsRow::Listed(pairs.iter().map(|[a, b]| [a.0, b.0]).collect()),
        },
        protocols: protocols.iter().map(|protocol| protocol.name().into()).collect(),
        hint: match hint {
            HintChoice::Auto => HintRow::Auto,
            HintChoice::None => HintRow::None,
            HintChoice::Pause => HintRow::Pause,
        },
        home: match home {
            HomeSetting::Auto => HomeRow::Auto,
            HomeSetting::Node(Home(node)) => HomeRow::Node(*node),
        },
        lines: *lines,
        counts: match *counts {
            Counts::Adaptive => CountsRow::Adaptive,
            Counts::Fixed { samples, iterations } => CountsRow::Fixed { samples, iterations },
        },
        parallel: match *parallel {
            Parallel::Auto => ParallelRow::Auto,
            Parallel::AtMost(pairs) => ParallelRow::AtMost(pairs),
        },
        precision: *precision,
        looks: *analyses,
        budget_ps: budget.0,
        spacing: match spacing {
            Spacing::Brief => SpacingRow::Brief,
            Spacing::Watch => SpacingRow::Watch,
        },
        seed: seed.to_string(),
        rate_per_s: tails.map(|tails| tails.rate_per_s),
        imitate: imitate.iter().map(|tool| tool.name().into()).collect(),
        ladder: *ladder,
        keep_raw: *keep_raw,
    };
    write_keys(db, "settings", &row)
}

/// Replaces the budget, the only setting that a resumption may change, and lets wide cells use it.
pub fn write_budget(db: &Connection, budget: Picos) -> rusqlite::Result<()> {
    let mut replace = db.prepare("INSERT OR REPLACE INTO settings (key, value) VALUES (?1, ?2)")?;
    replace.execute(("budget-ps", budget.0.to_string()))?;
    replace.execute(("looks", MOST_ANALYSES.to_string()))?;
    Ok(())
}

/// Reads what was meant; `None` for a run without a map.
pub fn read_settings(db: &Connection) -> rusqlite::Result<Option<LatencySettings>> {
    let row: SettingsRow = read_keys(db, "settings")?;
    if !(row.precision > 0.0 && row.precision <= 1.0) {
        return Err(super::conversion(1, format!("{} is not a precision", row.precision)));
    }
    if row.protocols.is_empty() && row.imitate.is_empty() {
        return Ok(None);
    }
    Ok(Some(LatencySettings {
        cpus: row.cpus.into_iter().map(CpuId).collect(),
        pairs: match row.pairs {
            PairsRow::All => PairChoice::All,
            PairsRow::Representatives => PairChoice::Representatives,
            PairsRow::Siblings => PairChoice::Siblings,
            PairsRow::Listed(pairs) => {
                PairChoice::Listed(pairs.into_iter().map(|pair| pair.map(CpuId)).collect())
            }
        },
        protocols: row
            .protocols
            .iter()
            .map(|name| named(&Protocol::ALL, Protocol::name, name))
            .collect::<rusqlite::Result<_>>()?,
        hint: match row.hint {
            HintRow::Auto => HintChoice::Auto,
            HintRow::None => HintChoice::None,
            HintRow::Pause => HintChoice::Pause,
        },
        home: match row.home {
            HomeRow::Auto => HomeSetting::Auto,
            HomeRow::Node(node) => HomeSetting::Node(Home(node)),
        },
        lines: row.lines,
        counts: match row.counts {
            CountsRow::Adaptive => Counts::Adaptive,
            CountsRow::Fixed { samples, iterations } => Counts::Fixed { samples, iterations },
        },
        parallel: match row.parallel {
            ParallelRow::Auto => Parallel::Auto,
            ParallelRow::AtMost(pairs) => Parallel::AtMost(pairs),
        },
        precision: row.precision,
        analyses: row.looks,
        budget: Picos(row.budget_ps),
        spacing: match row.spacing {
            SpacingRow::Brief => Spacing::Brief,
            SpacingRow::Watch => Spacing::Watch,
        },
        seed: row.seed.parse().map_err(|error: std::num::ParseIntError| super::conversion(1, error))?,
        tails: row.rate_per_s.map(|rate_per_s| Tails { rate_per_s }),
        imitate: row
            .imitate
            .iter()
            .map(|name| named(&Tool::ALL, Tool::name, name))
            .collect::<rusqlite::Result<_>>()?,
        ladder: row.ladder,
        keep_raw: row.keep_raw,
    }))
}
