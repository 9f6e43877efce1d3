//! What a latency run holds beside its maps: the ladder, and what the machine did while it was watched.

use super::{Ci, ci, known, rounded};
use crate::reasons::Worded;
use coretalk_model::Picos;
use coretalk_model::latency::{LadderRow, StateWatch};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A step under a relation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LadderDoc {
    relation: &'static str,
    /// Kinds of the two cores, the faster first; null on a machine with one kind.
    classes: Option<[String; 2]>,
    /// A protocol, or `as:` and a tool.
    step: String,
    kernel: String,
    median: Option<f64>,
    ci: Option<Ci>,
    /// Lowest and highest pair.
    range: Option<Ci>,
    unit: &'static str,
    pairs: u32,
    /// Why there is no value: no visit was made in the state of the machine that the headline is from.
    reason: Option<String>,
}

impl LadderDoc {
    pub(super) fn of(row: &LadderRow) -> LadderDoc {
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
    watched_s: f64,
    /// Share of the cells that changed state.
    cells_changed: Option<f64>,
    /// By falling share; one means that the machine held still.
    states: Vec<WatchedStateDoc>,
    /// For one pair: seconds, half round trip in ns, index of the state; in time order.
    #[schemars(with = "Vec<(f64, f64, u8)>")]
    line: Line<'a>,
}

/// A state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedStateDoc {
    /// Share of the passes, 0 to 1.
    share: Option<f64>,
    visits: u32,
    longest_s: f64,
    /// For one pair; the headline's first.
    kernels: Vec<WatchedKernelDoc>,
}

/// A kernel in a state.
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
    pub(super) fn of(watch: &'a StateWatch) -> WatchDoc<'a> {
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
