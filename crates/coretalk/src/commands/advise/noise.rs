//! [`Noise`]: CPUs that a run of `jitter` found noisy.

use crate::args::options::Global;
use crate::commands::advise::proof::{called, is_same};
use crate::exit::Failure;
use crate::resolve::source::Source;
use coretalk_model::jitter::{Quietness, by_quietness, names, worth_avoiding};
use coretalk_model::quantity::Unit;
use coretalk_model::{CpuSet, Environment};
use coretalk_report::blocks::value::{DisplayValue, Number, Sentence, Source as ValueSource};
use std::ffi::OsStr;

pub struct Noise {
    run: String,
    environment: Environment,
    /// CPUs worth avoiding, noisiest first.
    noisy: Vec<Quietness>,
    watched_cpus: usize,
}

/// Reads the noisy CPUs from a run of `jitter`.
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
    Ok(Noise {
        run,
        environment: environment.clone(),
        noisy: worth_avoiding(&sorted),
        watched_cpus: sorted.len(),
    })
}

const MAX_NAMED: usize = 8;

impl Noise {
    pub fn cpus(&self) -> CpuSet {
        self.noisy.iter().map(|cpu| cpu.cpu).collect()
    }

    /// Refuses a run of another machine, because its noise is irrelevant here.
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

    pub fn remark(&self) -> Sentence {
        if self.noisy.is_empty() {
            return Sentence::new("run {run} found none of the {watched} CPUs noisy enough to avoid")
                .with_name("run", &self.run)
                .with("watched", DisplayValue::listed(self.watched_cpus));
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
