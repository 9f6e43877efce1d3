//! Results of a latency run outside its maps: the ladder, and states of the machine over time.

use super::{Ci, ci, known, rounded};
use crate::reasons::Worded;
use coretalk_model::Picos;
use coretalk_model::latency::{LadderRow, StateWatch};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// One ladder step for the pairs of one relation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LadderDoc {
    /// The relation of the pairs.
    relation: &'static str,
    /// Kinds of the two cores, the faster first; null on machines with one kind.
    classes: Option<[String; 2]>,
    /// A protocol, or `as:` and the name of a tool.
    step: String,
    kernel: String,
    /// Median over representative pairs of the quantity that the kernel measures, usually half a round trip; null if there
    /// is no value.
    median: Option<f64>,
    /// 95 % interval of the median.
    ci: Option<Ci>,
    /// Values of the fastest and the slowest pair.
    range: Option<Ci>,
    unit: &'static str,
    /// Number of representative pairs.
    pairs: u32,
    /// Why there is no value: no visit was made in the machine state of the headline.
    reason: Option<String>,
}

impl LadderDoc {
    pub(super) fn new(row: &LadderRow) -> LadderDoc {
        LadderDoc {
            relation: row.relation.name(),
            classes: row.classes.clone(),
            step: row.kernel.step().to_string(),
            kernel: row.kernel.to_string(),
            median: row.latency_ns.and_then(|latency| known(latency.point)),
            ci: row.latency_ns.as_ref().and_then(ci),
            range: row.range_ns.and_then(|[low, high]| Some([known(low)?, known(high)?])),
            unit: "ns",
            pairs: row.pairs,
            reason: row.reason.as_ref().map(Worded::text),
        }
    }
}

/// States of the machine over time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchDoc<'a> {
    /// Time from the first to the last pass that shows states, in seconds, summed over segments.
    watched_s: f64,
    /// Share of the cells that changed state, 0 to 1.
    cells_changed: Option<f64>,
    /// States by descending share; a single one if the machine did not change.
    states: Vec<WatchedStateDoc>,
    /// For one pair, the passes in time order: seconds, half round trip in ns, index of the state.
    #[schemars(with = "Vec<(f64, f64, u8)>")]
    line: Line<'a>,
}

/// One state of the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedStateDoc {
    /// Share of the passes, 0 to 1.
    share: Option<f64>,
    /// Number of times the machine entered the state.
    visits: u32,
    /// Longest stay in the state, in seconds.
    longest_s: f64,
    /// Half round trips in the state by kernel, for one pair; the kernel of the headline first.
    kernels: Vec<WatchedKernelDoc>,
}

/// Half round trip of one kernel in one state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedKernelDoc {
    kernel: String,
    median: Option<f64>,
    ci: Option<Ci>,
}

#[derive(Debug)]
struct Line<'a>(&'a [(Picos, f64, u8)]);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(at, ns, state)| (at.secs(), rounded(*ns), state)))
    }
}

impl<'a> WatchDoc<'a> {
    pub(super) fn new(watch: &'a StateWatch) -> WatchDoc<'a> {
        WatchDoc {
            watched_s: watch.watched.secs(),
            cells_changed: known(watch.cells_changed),
            states: watch
                .states
                .iter()
                .map(|state| WatchedStateDoc {
                    share: known(state.share),
                    visits: state.visits,
                    longest_s: state.longest.secs(),
                    kernels: state
                        .kernels
                        .iter()
                        .map(|(kernel, latency)| WatchedKernelDoc {
                            kernel: kernel.to_string(),
                            median: known(latency.point),
                            ci: ci(latency),
                        })
                        .collect(),
                })
                .collect(),
            line: Line(&watch.line),
        }
    }
}
