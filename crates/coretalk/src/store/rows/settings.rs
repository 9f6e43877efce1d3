//! Rows of the table `settings`: one key per setting.

use super::{SMALLEST, decimal, once, read_keys, within, write_keys};
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing, Tails,
};
use coretalk_model::series::SeriesSettings;
use coretalk_model::stats::{ANALYSES, MAX_ANALYSES};
use coretalk_model::{CpuId, Picos, Protocol, Tool};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

/// Repeats the fields of `LatencySettings`, so that the compiler demands a place in the format for each new setting.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LatencySettings", rename_all = "kebab-case")]
struct SettingsRow {
    cpus: Vec<CpuId>,
    pairs: PairChoice,
    protocols: Vec<Protocol>,
    hint: HintChoice,
    home: HomeSetting,
    lines: Option<u32>,
    counts: Counts,
    parallel: Parallel,
    precision: f64,
    /// Absent in files of older versions, whose runs had two analyses.
    #[serde(rename = "looks", default = "usual_analyses")]
    analyses: u32,
    #[serde(rename = "budget-ps")]
    budget: Picos,
    spacing: Spacing,
    #[serde(with = "decimal")]
    seed: u64,
    #[serde(rename = "rate-per-s", with = "rate", default)]
    tails: Option<Tails>,
    imitate: Vec<Tool>,
    ladder: bool,
    keep_raw: bool,
}

fn usual_analyses() -> u32 {
    ANALYSES.len() as u32
}

/// Stores only the rate of the tails.
mod rate {
    use super::Tails;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(tails: &Option<Tails>, serializer: S) -> Result<S::Ok, S::Error> {
        tails.map(|tails| tails.rate_per_s).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Tails>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(|rate_per_s| Tails { rate_per_s }))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Row(#[serde(with = "SettingsRow")] LatencySettings);

/// Writes the settings. A run without a map has the same rows, with no pairs and no protocols.
pub fn write_settings(
    db: &Connection,
    latency: Option<&LatencySettings>,
    series: Option<&SeriesSettings>,
) -> rusqlite::Result<()> {
    let without_map = |series: &SeriesSettings| LatencySettings {
        pairs: PairChoice::Listed(Vec::new()),
        protocols: Vec::new(),
        precision: series.precision,
        budget: series.budget,
        seed: series.seed,
        ladder: false,
        ..LatencySettings::for_cpus(series.cpus.clone())
    };
    match latency.cloned().or_else(|| series.map(without_map)) {
        Some(settings) => write_keys(db, "settings", &Row(settings)),
        None => Ok(()),
    }
}

/// Replaces the budget, the only setting that resuming may change. Also allows more analyses of wide intervals.
pub fn write_budget(db: &Connection, budget: Picos) -> rusqlite::Result<()> {
    let mut replace = db.prepare("INSERT OR REPLACE INTO settings (key, value) VALUES (?1, ?2)")?;
    replace.execute(("budget-ps", budget.0.to_string()))?;
    replace.execute(("looks", MAX_ANALYSES.to_string()))?;
    Ok(())
}

pub fn read_settings(db: &Connection) -> rusqlite::Result<Option<LatencySettings>> {
    let Row(settings) = read_keys(db, "settings")?;
    within("the precision", settings.precision, SMALLEST..=1.0)?;
    once(&settings.cpus)?;
    if let Some(Tails { rate_per_s }) = settings.tails {
        within("the rate of messages in 1/s", rate_per_s, SMALLEST..=1e12)?;
    }
    let has_map = !settings.protocols.is_empty() || !settings.imitate.is_empty();
    Ok(has_map.then_some(settings))
}
