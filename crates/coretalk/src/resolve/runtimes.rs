//! What is meant by options about runtimes in other languages.

use crate::args::runtime::RuntimeArgs;
use coretalk_measure::external::{External, FORKS};
use coretalk_measure::probes;
use coretalk_model::series::{Parameters, TrialSpec};

/// What runtimes perform of some trials, each once.
pub fn externals(trials: &[TrialSpec]) -> Vec<External> {
    let of = |trial: &TrialSpec| probes::series_by_id(&trial.probe)?.external(trial);
    let mut found: Vec<External> = trials.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    found
}

/// The options of a run with those about runtimes, and a sentence for each that has no effect on these trials.
pub fn options(args: &RuntimeArgs, trials: &[TrialSpec], options: Parameters) -> (Parameters, Vec<String>) {
    let RuntimeArgs { forks } = args;
    if externals(trials).is_empty() {
        let no_effect = |option: &str| {
            format!("{option} has no effect where no runtime is measured (RUNTIME:NAME) and is ignored")
        };
        return (options, forks.map(|_| no_effect("--forks")).into_iter().collect());
    }
    (options.with_some(FORKS, forks.map(f64::from)), Vec::new())
}
