//! [`analyse`]: from what the visits said to what follows from it.

use super::{LatencyResult, LatencySettings, Record};
use crate::{TickRate, Topology};

/// What follows from a record. Pure: the same for the run that has just ended and for its file read back later.
pub fn analyse(
    topology: &Topology,
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
) -> LatencyResult {
    let _ = (topology, settings, rate, record);
    LatencyResult::default()
}
