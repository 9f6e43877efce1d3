//! [`Noise`]: CPUs that a run of `jitter` found noisy.

use crate::args::options::Global;
use crate::commands::advise::proof::{called, is_same};
use crate::exit::Failure;
use crate::report::text::percent;
use crate::resolve::source::Source;
use coretalk_model::jitter::{Quietness, by_quietness, names, worth_avoiding};
use coretalk_model::{CpuSet, Environment};
use std::ffi::OsStr;

/// CPUs that a run of `jitter` found noisy.
pub struct Noise {
    run: String,
    environment: Environment,
    /// Worth leaving alone, the noisiest first.
    noisy: Vec<Quietness>,
    /// Of how many.
    watched: usize,
}

/// What a run of `jitter` found.
///
/// # Errors
/// There is no such run, or it is one of something else.
pub fn of_run(global: &Global, word: impl AsRef<OsStr>) -> Result<Noise, Failure> {
    let source = Source::open(global, word)?;
    let run = source.name();
    let series = match &source {
        Source::Run(report, _) => report.series.as_ref().map(|series| (series, &report.environment)),
        Source::File(..) => None,
    };
    let of_jitter =
        series.filter(|(series, _)| series.settings.probes.iter().any(|probe| probe == names::PROBE));
    let Some((series, environment)) = of_jitter else {
        return Err(Failure::Usage(format!(
            "--jitter needs a run of `coretalk jitter`, and {run} is not one"
        )));
    };
    let sorted = by_quietness(&series.result.trials);
    Ok(Noise { run, environment: environment.clone(), noisy: worth_avoiding(&sorted), watched: sorted.len() })
}

/// Named in a remark.
const MOST_NAMED: usize = 8;

impl Noise {
    /// The CPUs worth leaving alone.
    pub fn cpus(&self) -> CpuSet {
        self.noisy.iter().map(|cpu| cpu.cpu).collect()
    }

    /// What quiet CPUs of another machine are says nothing.
    ///
    /// # Errors
    /// The run is of another machine.
    pub fn refuse_another(&self, here: &Environment) -> Result<(), Failure> {
        match is_same(&self.environment, here) {
            true => Ok(()),
            false => Err(Failure::Usage(format!(
                "--jitter: run {} was made on {}, but the latencies are from {}",
                self.run,
                called(&self.environment),
                called(here)
            ))),
        }
    }

    /// A sentence without its end.
    pub fn remark(&self) -> String {
        let watched = self.watched;
        if self.noisy.is_empty() {
            return format!("run {} found none of the {watched} CPUs noisy enough to avoid", self.run);
        }
        let one = |cpu: &Quietness| format!("CPU {} (lost {})", cpu.cpu, percent(cpu.lost));
        let named: Vec<String> = self.noisy.iter().take(MOST_NAMED).map(one).collect();
        let more = match self.noisy.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("avoided because run {} found them noisy: {}{more}", self.run, named.join(", "))
    }
}
