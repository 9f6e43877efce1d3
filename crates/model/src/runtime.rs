//! Queues, waits and wake-ups of runtimes in other languages: names of what every pass of them says, and when too much of
//! the work is done by threads that nobody pinned.

use crate::series::TrialResult;
use crate::{Flag, Flags, queue, wait};

/// Names of what a pass of a runtime says, whatever it measures.
pub mod names {
    /// Share of the CPU time of the process that threads beside the roles took, 0 to 1.
    pub const OUTSIDE: &str = "outside_share";
    /// Count: how often the threads of a pass were looked for on their CPUs, where the system does not count their moves.
    pub const PLACEMENT_SAMPLES: &str = "placement_samples";
    /// Count: collections of garbage.
    pub const COLLECTIONS: &str = "collections";
    /// Count: time of all passes from the first operation to the last, in nanoseconds.
    pub const TOTAL_NS: &str = "total_ns";
}

/// Above this share threads beside the roles are flagged.
const HELPED: f64 = 0.10;
/// Above this they did most of the work, and the number is none of the pair.
const ELSEWHERE: f64 = 0.50;

/// What the share of CPU time that threads beside the roles took does to a number.
///
/// ```
/// use coretalk_model::runtime::helpers;
/// use coretalk_model::{Flag, Flags};
///
/// assert_eq!(helpers(0.02), Flags::NONE);
/// assert_eq!(helpers(0.38), Flags::NONE.with(Flag::WorkedElsewhere));
/// assert_eq!(helpers(0.53), Flags::NONE.with(Flag::Unclaimed));
/// ```
pub fn helpers(outside_share: f64) -> Flags {
    match outside_share {
        share if share > ELSEWHERE => Flags::NONE.with(Flag::Unclaimed),
        share if share > HELPED => Flags::NONE.with(Flag::WorkedElsewhere),
        _ => Flags::NONE,
    }
}

/// What counts the operations of a trial: messages of a queue, round trips of a wait.
const OPERATIONS: [&str; 2] = [queue::names::MESSAGES, wait::names::SAMPLES];

/// What one operation took in the mean of everything that was timed, in nanoseconds: total time ÷ total operations. Rare
/// pauses that no median of passes shows are in it. `None` where the passes did not say both, and where operations of two
/// kinds take turns, since their total time has no parts.
pub fn overall_ns(trial: &TrialResult) -> Option<f64> {
    if trial.spec.parameters.text("mode") == Some(wait::names::ALTERNATE) {
        return None;
    }
    let total_ns = *trial.counts.get(names::TOTAL_NS)?;
    let operations = OPERATIONS.into_iter().find_map(|name| trial.counts.get(name).copied());
    Some(total_ns as f64 / operations.filter(|operations| *operations > 0)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::spec;

    #[test]
    fn rare_pauses_are_in_the_mean_of_everything() {
        let mut trial = TrialResult::of(spec("queue", Default::default(), &[0, 1]));
        assert_eq!(overall_ns(&trial), None);
        trial.counts.insert(names::TOTAL_NS.into(), 25_000);
        trial.counts.insert("messages".into(), 100);
        assert_eq!(overall_ns(&trial), Some(250.0));
        trial.spec.parameters = Parameters::default().with("mode", wait::names::ALTERNATE);
        assert_eq!(overall_ns(&trial), None, "two ways of waiting have no time in common");
        trial.spec.parameters = Parameters::default();
        trial.counts.insert("messages".into(), 0);
        assert_eq!(overall_ns(&trial), None, "no zero and no infinity for what is not known");
    }
}
