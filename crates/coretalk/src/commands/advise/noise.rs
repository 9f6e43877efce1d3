//! [`Noise`]: CPUs that a run of `jitter` found noisy.

use crate::args::options::Global;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source as ValueSource};
use crate::commands::advise::proof::{called, is_same};
use crate::exit::Failure;
use crate::resolve::source::Source;
use coretalk_model::jitter::{Quietness, by_quietness, names, worth_avoiding};
use coretalk_model::quantity::Unit;
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
const MAX_NAMED: usize = 8;

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

    /// What it found, without a full stop.
    pub fn remark(&self) -> Sentence {
        if self.noisy.is_empty() {
            return Sentence::new("run {run} found none of the {watched} CPUs noisy enough to avoid")
                .with_name("run", &self.run)
                .with("watched", DisplayValue::listed(self.watched));
        }
        let one = |cpu: &Quietness| {
            let lost =
                DisplayValue::bare(Number::Point(cpu.lost), ValueSource::Unrecorded).in_unit(Unit::Share);
            Sentence::new("CPU {cpu} (lost {lost})").with("cpu", cpu.cpu).with("lost", lost)
        };
        let more = self.noisy.len().saturating_sub(MAX_NAMED);
        let more =
            (more > 0).then(|| Sentence::new(" and {more} more").with("more", DisplayValue::listed(more)));
        Sentence::new("avoided because run {run} found them noisy: {named}{more}")
            .with_name("run", &self.run)
            .with("named", Sentence::joined(self.noisy.iter().take(MAX_NAMED).map(one), ", "))
            .with("more", Sentence::joined(more, ""))
    }
}
