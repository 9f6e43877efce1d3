//! Many runs or files in one table.

use super::difference::ComparedSideDoc;
use super::significant;
use coretalk_model::compare::{GroupMedian, Overview, OverviewRow};
use schemars::JsonSchema;
use serde::Serialize;

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
                .filter_map(|(name, group)| Some(GroupDoc::of(name, group.as_ref()?)))
                .collect(),
        };
        table.rows.iter().map(of).collect()
    }
}

impl GroupDoc {
    fn of(column: &str, group: &GroupMedian) -> GroupDoc {
        let [low, high] = group.range;
        GroupDoc {
            group: group.level.clone(),
            column: column.to_owned(),
            sizes: group.sizes.clone(),
            pairs: group.pairs,
            median: significant(group.median),
            range: significant(low).zip(significant(high)).map(|(low, high)| [low, high]),
        }
    }
}
