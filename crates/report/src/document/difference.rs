//! Comparisons of two runs or files, and tables of several.

use super::{Ci, known, significant};
use coretalk_model::compare::{
    Basis, Comparison, DatasetComparison, Difference, GroupMedian, Letter, LevelAlone, Mismatch, Overview,
    OverviewRow, ReadingKey, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The sides and conditions of `differences`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// The first side.
    pub a: ComparedSideDoc,
    /// The second side, to which `faster` and `slower` refer.
    pub b: ComparedSideDoc,
    /// Minimum relative difference that counts, in percent.
    pub min_effect_percent: f64,
    /// Origin of the levels: `reported` by the system, `inferred` from the latencies of both sides, `none` (all pairs).
    pub levels: &'static str,
    /// How values correspond: `pairs` (each with itself), `levels` (with the same meaning, no single pairs), `nothing`.
    pub pairing: &'static str,
    /// Why pairs are not compared with themselves, as text; null if they are.
    pub pairing_reason: Option<String>,
    /// One verdict on all pairs, for each matrix whose levels changed by the same amount within the minimum relevant
    /// difference; the levels then share one error.
    pub together: Vec<DifferenceDoc>,
    /// Conditions that differ.
    pub mismatches: Vec<MismatchDoc>,
}

/// A run or a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedSideDoc {
    /// End of the run's id, or name of a file; null for a file not given as `NAME=FILE`, unless identity was requested.
    pub name: Option<String>,
    /// Label, scenario or CPU of the machine; format of a file.
    pub machine: String,
    /// Start time in UTC, to the minute; null for a file.
    pub started: Option<String>,
    /// Number of CPUs with values.
    pub cpus: usize,
}

/// A condition that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MismatchDoc {
    what: String,
    a: Option<String>,
    b: Option<String>,
    /// `warns`, or `refuses` (compared only with --force).
    weight: &'static str,
}

impl MismatchDoc {
    /// Converts a mismatch.
    pub fn new(mismatch: &Mismatch) -> MismatchDoc {
        let Mismatch { what, a, b, weight } = mismatch.clone();
        MismatchDoc { what, a, b, weight: weight.name() }
    }
}

/// The verdict on a level or a cell.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DifferenceDoc {
    /// The compared quantity, such as `latency cas`.
    matrix: String,
    /// Name of the level: a relation, `group-1` and so on, `across`, `all`, or the name of a series; absent for a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// The two CPUs; absent for a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<[u32; 2]>,
    /// Number of pairs: those of both sides, or where pairs are not compared individually, those of A (of B if `a` is
    /// null); 1 for a cell.
    pairs: usize,
    /// Number of pairs of B where pairs are not compared individually; null otherwise.
    pairs_b: Option<usize>,
    /// Value of A in `unit` as read, for a level the median; null if only B has this level.
    a: Option<f64>,
    /// Value of B, likewise.
    b: Option<f64>,
    unit: String,
    /// Unit of the shift: `cycles`, or `as-read` if the core clock of a side is unknown.
    basis: &'static str,
    /// B ÷ A − 1 in percent.
    shift_percent: Option<f64>,
    /// 95 % interval of the shift in percent; null if the error is unknown.
    ci: Option<Ci>,
    /// P-value corrected for all levels, or all cells, of the comparison.
    q_value: Option<f64>,
    /// `faster`, `slower`, `same` or `cannot-tell`.
    verdict: &'static str,
    /// Bound on the difference in percent, in either direction; null if the error is unknown.
    within_percent: Option<f64>,
    /// Minimum difference that counts here, in percent.
    least_percent: Option<f64>,
    /// Whether the shift of a cell differs significantly from that of its level; absent for a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    departs: Option<bool>,
    /// Why the verdict is `cannot-tell`, unless only the interval is too wide; or why it is `same` without an interval.
    reason: Option<&'static str>,
}

impl DifferenceDoc {
    pub(super) fn of_dataset(dataset: &DatasetComparison) -> Vec<DifferenceDoc> {
        let levels = dataset.levels.iter().map(|level| DifferenceDoc {
            level: Some(level.level.clone()),
            pairs: level.pairs[0],
            pairs_b: dataset.cells.is_empty().then_some(level.pairs[1]),
            ..DifferenceDoc::new(dataset, &level.difference)
        });
        let alone = dataset.alone.iter().map(|level| DifferenceDoc::of_alone(dataset, level));
        let cells = dataset.cells.iter().filter_map(|cell| match &cell.key {
            ReadingKey::Pair([from, to]) => Some(DifferenceDoc {
                cell: Some([from.0, to.0]),
                departs: Some(cell.departs),
                ..DifferenceDoc::new(dataset, &cell.difference)
            }),
            // A series is a separate level.
            ReadingKey::Series(_) => None,
        });
        levels.chain(alone).chain(cells).collect()
    }

    /// The verdicts on all pairs together, for matrices whose levels all changed alike.
    pub fn of_all_alike(comparison: &Comparison) -> Vec<DifferenceDoc> {
        let doc = |dataset: &DatasetComparison| {
            Some(DifferenceDoc {
                level: Some("all".to_owned()),
                pairs: dataset.levels.iter().map(|level| level.pairs[0]).sum(),
                ..DifferenceDoc::new(dataset, dataset.together.as_ref()?)
            })
        };
        comparison.datasets.iter().filter_map(doc).collect()
    }

    fn of_alone(dataset: &DatasetComparison, level: &LevelAlone) -> DifferenceDoc {
        let median = significant(level.median);
        let (a, b) = if level.of == Letter::A { (median, None) } else { (None, median) };
        DifferenceDoc {
            matrix: dataset.name.clone(),
            level: Some(level.level.clone()),
            pairs: level.pairs,
            a,
            b,
            unit: dataset.unit.clone(),
            basis: basis_name(dataset.basis),
            verdict: Verdict::CannotTell.name(),
            reason: Some("no counterpart is known on the other side"),
            ..DifferenceDoc::default()
        }
    }

    fn new(dataset: &DatasetComparison, difference: &Difference) -> DifferenceDoc {
        let percent = |share: f64| known(100.0 * share);
        let ci = percent(difference.shift.low).zip(percent(difference.shift.high));
        DifferenceDoc {
            matrix: dataset.name.clone(),
            pairs: 1,
            a: significant(difference.a),
            b: significant(difference.b),
            unit: dataset.unit.clone(),
            basis: basis_name(dataset.basis),
            shift_percent: percent(difference.shift.point),
            ci: ci.map(|(low, high)| [low, high]),
            q_value: Some(difference.q_value).filter(|q| q.is_finite()),
            verdict: difference.verdict.name(),
            within_percent: difference.within.and_then(percent),
            least_percent: percent(difference.least),
            reason: difference.reason,
            ..DifferenceDoc::default()
        }
    }
}

fn basis_name(basis: Basis) -> &'static str {
    match basis {
        Basis::Cycles => "cycles",
        Basis::AsRead => "as-read",
    }
}

/// Medians by group of one dataset of a run or file, such as `latency cas`, without a verdict.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverviewDoc {
    /// Index of the run or file on the command line, from 0.
    side: usize,
    #[serde(flatten)]
    of: ComparedSideDoc,
    /// The quantity, such as `latency cas`.
    matrix: String,
    unit: String,
    /// The timed loop; null if unknown.
    kernel: Option<String>,
    groups: Vec<GroupDoc>,
}

/// The pairs of one group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GroupDoc {
    /// Name of the level on this side: a relation, `group-1` and so on, `across`, `all`, or the name of a series.
    group: String,
    /// Column of the table, with the same meaning on all sides: a relation, `groups-of-2`, `larger-groups-1` and so on,
    /// `across`, `all`, or the name of a series, with a suffix such as `-kind-1` where a name has several meanings.
    /// `group` has no common meaning: `group-1` may be the threads of a core on one machine and a die on another.
    column: String,
    /// Sizes of the inferred groups, ascending; empty for other levels.
    sizes: Vec<usize>,
    /// Number of pairs.
    pairs: usize,
    /// Median over the pairs.
    median: Option<f64>,
    /// The 5th and 95th percentile of the pairs: the spread of the machine, not an error.
    range: Option<[f64; 2]>,
}

impl OverviewDoc {
    /// All rows of a table. `side` describes the run or file at an index.
    pub fn of_all(table: &Overview, side: impl Fn(usize) -> ComparedSideDoc) -> Vec<OverviewDoc> {
        let doc = |row: &OverviewRow| OverviewDoc {
            side: row.side,
            of: side(row.side),
            matrix: row.dataset.clone(),
            unit: row.unit.clone(),
            kernel: row.kernel.clone(),
            groups: (table.groups.iter().zip(&row.medians))
                .filter_map(|(name, group)| Some(GroupDoc::new(name.to_string(), group.as_ref()?)))
                .collect(),
        };
        table.rows.iter().map(doc).collect()
    }
}

impl GroupDoc {
    fn new(column: String, group: &GroupMedian) -> GroupDoc {
        let [low, high] = group.range;
        GroupDoc {
            group: group.level.clone(),
            column,
            sizes: group.sizes.clone(),
            pairs: group.pairs,
            median: significant(group.median),
            range: significant(low).zip(significant(high)).map(|(low, high)| [low, high]),
        }
    }
}
