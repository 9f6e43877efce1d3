//! [`SeriesArgs`]: what the options of a command that measures series say.

use crate::args::runtime::RuntimeArgs;
use crate::args::value::{AutoOr, PairsWord};
use coretalk_model::Picos;
use coretalk_model::series::Parameters;

/// The options that a command adds which measures series.
pub trait SeriesArgs {
    /// The probe.
    fn probe(&self) -> &'static str;

    /// What its own options say, defaults left out: its trials follow from it.
    fn options(&self) -> Parameters;

    /// Which pairs, as typed.
    fn pairs(&self) -> Option<&PairsWord> {
        None
    }

    /// Pairs at the same time, as typed.
    fn parallel(&self) -> Option<AutoOr> {
        None
    }

    /// What is said about runtimes in other languages, of commands that may measure them.
    fn runtime(&self) -> Option<&RuntimeArgs> {
        None
    }

    /// Whether two roles may be on one CPU: `--pairs 0-0`.
    fn may_share_a_cpu(&self) -> bool {
        false
    }

    /// Whether CPUs beside those of `--pairs` take part.
    fn has_neighbours(&self) -> bool {
        false
    }

    /// The least number of CPUs that it makes sense on.
    fn fewest_cpus(&self) -> usize {
        2
    }

    /// Upper bound of machine time where none was asked for.
    fn budget(&self) -> Picos {
        Picos::from_ms(30_000)
    }
}

/// A list as typed; `None` where it was left out.
pub fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| items.join(","))
}
