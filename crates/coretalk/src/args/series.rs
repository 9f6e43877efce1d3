//! [`SeriesArgs`]: the options of a command that measures trials.

use crate::args::runtime::RuntimeArgs;
use crate::args::value::{AutoOr, PairsWord};
use coretalk_model::Picos;
use coretalk_model::series::Parameters;

/// Options of a command that measures trials.
pub trait SeriesArgs {
    /// Id of the probe.
    fn probe(&self) -> &'static str;

    /// Options of the command itself, without defaults. The trials are derived from them.
    fn options(&self) -> Parameters;

    /// `--pairs` as typed.
    fn pairs(&self) -> Option<&PairsWord> {
        None
    }

    /// `--parallel` as typed.
    fn parallel(&self) -> Option<AutoOr> {
        None
    }

    /// Options for runtimes of other languages; `None` if the command cannot measure runtimes.
    fn runtime(&self) -> Option<&RuntimeArgs> {
        None
    }

    /// Whether two roles may share a CPU, as with `--pairs 0-0`.
    fn may_share_a_cpu(&self) -> bool {
        false
    }

    /// Whether CPUs outside `--pairs` take part.
    fn has_neighbours(&self) -> bool {
        false
    }

    /// Minimum number of CPUs.
    fn fewest_cpus(&self) -> usize {
        2
    }

    /// Default limit of the machine time.
    fn budget(&self) -> Picos {
        Picos::from_ms(30_000)
    }
}

/// Joins a list as typed; `None` if it is empty.
pub fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| items.join(","))
}
