//! Two runs or files against each other, or many in one table.

use super::{Ci, known, significant};
use coretalk_model::compare::{
    Basis, Comparison, DatasetComparison, Difference, GroupMedian, Letter, LevelAlone, Mismatch, Overview,
    OverviewRow, ReadingKey, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What `differences` are about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// The first.
    pub a: ComparedSideDoc,
    /// The second: `faster` and `slower` speak of it.
    pub b: ComparedSideDoc,
    /// The least relative difference that counts.
    pub min_effect_percent: f64,
    /// Whose levels they are: `reported` by the system, `inferred` from the latencies of both, or `none`: all pairs in one.
    pub levels: &'static str,
    /// What is held against each other: `pairs`, each against itself; `levels` that mean the same, and no pair against a
    /// pair; or `nothing`, since nothing is known to mean the same.
    pub pairing: &'static str,
    /// Why not every pair is compared with itself, in words; null where it is.
    pub pairing_reason: Option<String>,
    /// Of each matrix whose levels are all shown to have changed alike, to less than what counts, the one verdict on all
    /// pairs: then they share one error.
    pub together: Vec<DifferenceDoc>,
    /// Conditions that are known to differ.
    pub mismatches: Vec<MismatchDoc>,
}

/// A run or a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedSideDoc {
    /// End of the run's id, or name of the file: null without --with-identity, since it may be private.
    pub name: Option<String>,
    /// The machine in words.
    pub machine: String,
    /// UTC, to the minute; null for a file.
    pub started: Option<String>,
    /// CPUs that it has numbers of.
    pub cpus: usize,
}

/// A condition that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MismatchDoc {
    what: String,
    a: Option<String>,
    b: Option<String>,
    /// `warns` or `refuses` (compared all the same by --force).
    weight: &'static str,
}

impl MismatchDoc {
    /// A condition that differs.
    pub fn of(mismatch: &Mismatch) -> MismatchDoc {
        let Mismatch { what, a, b, weight } = mismatch.clone();
        MismatchDoc { what, a, b, weight: weight.name() }
    }
}

/// A verdict on a level or a cell.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DifferenceDoc {
    /// What is compared, such as `latency cas`.
    matrix: String,
    /// A relation, `group-1` and so on, `across`, `all`, or the name of a series; absent for a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// Two CPUs; absent for a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<[u32; 2]>,
    /// Pairs of the level: those that both sides have, or where no pair is held against a pair those of A (of B, where
    /// `a` is null); 1 for a cell.
    pairs: usize,
    /// Pairs of B, where no pair is held against a pair; null elsewhere.
    pairs_b: Option<usize>,
    /// Of A, in `unit` as read; of a level the median. Null where A has nothing that is known to be the same.
    a: Option<f64>,
    /// Of B, as `a`.
    b: Option<f64>,
    unit: String,
    /// What `shift_percent` is a shift of: `cycles`, or `as-read` where a side does not know its core clock.
    basis: &'static str,
    shift_percent: Option<f64>,
    /// 95 % interval of the shift in percent; null where nothing is known of the error.
    ci: Option<Ci>,
    /// p-value corrected for all levels, or all cells, of the comparison.
    q_value: Option<f64>,
    /// `faster`, `slower`, `same` or `cannot-tell`.
    verdict: &'static str,
    /// The difference is shown to stay within ± this; null where nothing is known of the error.
    within_percent: Option<f64>,
    /// The least difference that counts here.
    least_percent: Option<f64>,
    /// Whether a cell is shown to have changed by another factor than its level; absent for a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    departs: Option<bool>,
    /// Why it cannot be told, where more is known than that the interval is too wide; or what shows that it is the same,
    /// where no interval does.
    reason: Option<&'static str>,
}

impl DifferenceDoc {
    /// Levels, then cells of pairs.
    pub(super) fn of_dataset(dataset: &DatasetComparison) -> Vec<DifferenceDoc> {
        let levels = dataset.levels.iter().map(|level| DifferenceDoc {
            level: Some(level.level.clone()),
            pairs: level.pairs[0],
            pairs_b: dataset.cells.is_empty().then_some(level.pairs[1]),
            ..DifferenceDoc::of(dataset, &level.difference)
        });
        let alone = dataset.alone.iter().map(|level| DifferenceDoc::of_alone(dataset, level));
        let cells = dataset.cells.iter().filter_map(|cell| match &cell.key {
            ReadingKey::Pair([from, to]) => Some(DifferenceDoc {
                cell: Some([from.0, to.0]),
                departs: Some(cell.departs),
                ..DifferenceDoc::of(dataset, &cell.difference)
            }),
            // A series is a level of its own.
            ReadingKey::Series(_) => None,
        });
        levels.chain(alone).chain(cells).collect()
    }

    /// The verdicts on all pairs, where levels changed alike.
    pub fn of_all_alike(comparison: &Comparison) -> Vec<DifferenceDoc> {
        let of = |dataset: &DatasetComparison| {
            Some(DifferenceDoc {
                level: Some("all".to_owned()),
                pairs: dataset.levels.iter().map(|level| level.pairs[0]).sum(),
                ..DifferenceDoc::of(dataset, dataset.together.as_ref()?)
            })
        };
        comparison.datasets.iter().filter_map(of).collect()
    }

    /// A level that has nothing to be held against.
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

    fn of(dataset: &DatasetComparison, difference: &Difference) -> DifferenceDoc {
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

/// One dataset of a run or a file, such as `latency cas`, group by group. It describes and judges nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverviewDoc {
    /// Position of the run or file on the command line, from 0.
    side: usize,
    #[serde(flatten)]
    of: ComparedSideDoc,
    /// What the numbers are, such as `latency cas`.
    matrix: String,
    unit: String,
    /// The code that ran; null where it is not known.
    kernel: Option<String>,
    groups: Vec<GroupDoc>,
}

/// The pairs of one group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GroupDoc {
    /// A relation, `group-1` and so on, `across`, `all`, or the name of a series.
    group: String,
    /// Where it stands beside others: a relation, `groups-of-2`, `larger-groups-1` and so on, `across`, `all`, or the
    /// name of a series; where not all of a name are known to mean the same, each kind apart: `across-kind-1`. `group-1`
    /// may be threads of a core on one machine and a die on the next.
    column: String,
    /// CPUs in each group that the latencies show, fewest first; empty for other levels.
    sizes: Vec<usize>,
    pairs: usize,
    /// Over the pairs.
    median: Option<f64>,
    /// The 5th and 95th percentile of the pairs: the spread of the machine, no error.
    range: Option<[f64; 2]>,
}

impl OverviewDoc {
    /// Every row of a table. `side` describes the run or file at a position.
    pub fn of_all(table: &Overview, side: impl Fn(usize) -> ComparedSideDoc) -> Vec<OverviewDoc> {
        let of = |row: &OverviewRow| OverviewDoc {
            side: row.side,
            of: side(row.side),
            matrix: row.dataset.clone(),
            unit: row.unit.clone(),
            kernel: row.kernel.clone(),
            groups: (table.groups.iter().zip(&row.medians))
                .filter_map(|(name, group)| Some(GroupDoc::of(name.to_string(), group.as_ref()?)))
                .collect(),
        };
        table.rows.iter().map(of).collect()
    }
}

impl GroupDoc {
    fn of(column: String, group: &GroupMedian) -> GroupDoc {
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
