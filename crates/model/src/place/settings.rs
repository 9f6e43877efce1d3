//! [`PlaceSettings`]: resolved settings of a run of comparisons, and their form in the settings of a run of series.

use super::comparison::{COMMAND_METRICS, Metric};
use super::placement::{Binding, Placement};
use super::workload::Workload;
use crate::Picos;
use crate::quantity::{Better, Quantities};
use crate::series::{Parameters, SeriesSettings, TrialSpec};

/// Name of the probe in runs of comparisons.
pub const PROBE: &str = "place";
/// Name of work that is a command of the user.
pub const COMMAND: &str = "command";

/// A piece of work with its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkSettings {
    /// A workload (`n-queens:14`), or `command`.
    pub name: String,
    /// The compared metrics, the headline first.
    pub metrics: Vec<Metric>,
}

impl WorkSettings {
    /// A workload with its metrics.
    pub fn of_workload(workload: Workload) -> WorkSettings {
        WorkSettings { name: workload.to_string(), metrics: workload.kind.metrics().to_vec() }
    }

    /// A command, with metrics of the user first.
    pub fn of_command(own: Vec<Metric>) -> WorkSettings {
        WorkSettings { name: COMMAND.to_owned(), metrics: own.into_iter().chain(COMMAND_METRICS).collect() }
    }
}

/// Default number of repetitions: five could not reach any useful error, and ten still take an acceptable time.
pub const REPEAT: u32 = 10;
/// Default smallest effect.
pub const MIN_EFFECT: f64 = 0.01;
/// Default half width.
pub const PRECISION: f64 = 0.02;
/// Default upper bound of machine time.
pub const BUDGET: Picos = Picos::from_ms(60_000);

/// Resolved settings of a run of comparisons.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceSettings {
    /// The work, in the requested order.
    pub works: Vec<WorkSettings>,
    /// The placements, in the requested order.
    pub placements: Vec<Placement>,
    /// Threads of the work; `None` for a command, which decides itself.
    pub threads: Option<usize>,
    /// Minimum number of repetitions on each placement.
    pub repeat: u32,
    /// Smallest relevant effect, as a share.
    pub min_effect: f64,
    /// Target half width of the headlines' differences, as a share.
    pub precision: f64,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// The seed of every random choice.
    pub seed: u64,
}

impl PlaceSettings {
    /// Settings for workloads with defaults for everything else.
    pub fn usual(
        workloads: &[Workload],
        threads: usize,
        placements: Vec<Placement>,
        seed: u64,
    ) -> PlaceSettings {
        PlaceSettings {
            works: workloads.iter().copied().map(WorkSettings::of_workload).collect(),
            placements,
            threads: Some(threads),
            repeat: REPEAT,
            min_effect: MIN_EFFECT,
            precision: PRECISION,
            budget: BUDGET,
            seed,
        }
    }

    /// The number of roles, if the order of CPUs may matter to some work and their sets do not determine it: in some
    /// placement they are not sorted, are more than needed, or equal another placement as a set.
    pub fn roles_in_order(&self) -> Option<usize> {
        let kinds = self.works.iter().filter_map(|work| Some(work.name.parse::<Workload>().ok()?.kind));
        let behaviours = kinds.filter_map(|kind| Some(kind.behaviour(self.threads?)));
        let roles = behaviours
            .filter(|behaviour| behaviour.communication.has_order())
            .filter_map(|behaviour| behaviour.roles)
            .max()?;
        let bound = || self.placements.iter().filter(|placement| placement.binding == Binding::Bound);
        let in_order = |placement: &Placement| placement.cpus.is_sorted() && placement.cpus.len() <= roles;
        let twins =
            |placement: &Placement| bound().filter(|other| other.set() == placement.set()).count() > 1;
        bound().any(|placement| !in_order(placement) || twins(placement)).then_some(roles)
    }

    /// The index of the trial of a piece of work on a placement.
    pub fn trial(&self, work: usize, placement: usize) -> usize {
        work * self.placements.len() + placement
    }

    /// The form in run files and documents: one trial per piece of work and placement.
    pub fn to_series(&self) -> SeriesSettings {
        let own = |work: &WorkSettings| {
            let own = work.metrics.iter().filter(|metric| !COMMAND_METRICS.contains(metric));
            own.map(|metric| format!("{}:{}", metric.name, metric.better.name()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let of_command = self.works.iter().find(|work| work.name == COMMAND).map(own);
        let options = Parameters::default()
            .with("repeat", f64::from(self.repeat))
            .with("min_effect", self.min_effect)
            .with_some("threads", self.threads.map(|threads| threads as f64))
            .with_some("metrics", of_command.filter(|names| !names.is_empty()));
        let trial = |work: &WorkSettings, placement: &Placement| {
            let parameters = Parameters::default()
                .with("workload", work.name.as_str())
                .with("placement", placement.name.as_str())
                .with_some("binding", (placement.binding == Binding::Free).then_some("free"));
            TrialSpec { probe: PROBE.to_owned(), parameters, placement: placement.cpus.clone() }
        };
        let trials =
            self.works.iter().flat_map(|work| self.placements.iter().map(|placement| trial(work, placement)));
        let cpus = self.placements.iter().flat_map(|placement| placement.cpus.iter().copied());
        SeriesSettings {
            probes: vec![PROBE.to_owned()],
            cpus: cpus.collect::<crate::CpuSet>().iter().collect(),
            options,
            trials: trials.collect(),
            headlines: Vec::new(),
            quantities: Quantities::default(),
            precision: self.precision,
            budget: self.budget,
            seed: self.seed,
        }
    }

    /// The inverse of [`to_series`](PlaceSettings::to_series); `None` for other runs and unknown versions.
    pub fn of_series(series: &SeriesSettings) -> Option<PlaceSettings> {
        if series.probes != [PROBE] {
            return None;
        }
        let mut works: Vec<WorkSettings> = Vec::new();
        let mut placements: Vec<Placement> = Vec::new();
        for trial in &series.trials {
            let (work, name) = (trial.parameters.text("workload")?, trial.parameters.text("placement")?);
            if !works.iter().any(|known| known.name == work) {
                works.push(match work {
                    COMMAND => WorkSettings::of_command(own_metrics(&series.options)?),
                    _ => WorkSettings::of_workload(work.parse().ok()?),
                });
            }
            if !placements.iter().any(|known| known.name == name) {
                let free = trial.parameters.text("binding") == Some("free");
                let binding = if free { Binding::Free } else { Binding::Bound };
                placements.push(Placement { name: name.to_owned(), cpus: trial.placement.clone(), binding });
            }
        }
        let settings = PlaceSettings {
            works,
            placements,
            threads: series.options.number("threads").map(|threads| threads as usize),
            repeat: series.options.number("repeat")? as u32,
            min_effect: series.options.number("min_effect")?,
            precision: series.precision,
            budget: series.budget,
            seed: series.seed,
        };
        (settings.to_series().trials == series.trials).then_some(settings)
    }
}

fn own_metrics(options: &Parameters) -> Option<Vec<Metric>> {
    let words = options.text("metrics").unwrap_or_default().split_whitespace();
    words
        .map(|word| {
            let (name, better) = word.rsplit_once(':')?;
            Some(Metric::own(name, Better::named(better)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuId;

    #[test]
    fn settings_read_back_as_they_were() {
        let free = Placement { name: "none".into(), cpus: vec![CpuId(0), CpuId(1)], binding: Binding::Free };
        let settings = PlaceSettings {
            works: vec![
                WorkSettings::of_workload("shell:8".parse().unwrap()),
                WorkSettings::of_command(vec![
                    Metric::own("eps", Better::Higher),
                    Metric::own("ms", Better::Lower),
                ]),
            ],
            placements: vec![Placement::bound("reversed", vec![CpuId(1), CpuId(0)]), free],
            threads: Some(2),
            repeat: 10,
            min_effect: 0.01,
            precision: 0.02,
            budget: Picos::from_ms(60_000),
            seed: 7,
        };
        let series = settings.to_series();
        assert_eq!(series.trials.len(), 4);
        assert_eq!(PlaceSettings::of_series(&series), Some(settings));
        assert_eq!(PlaceSettings::of_series(&SeriesSettings { probes: vec!["wake".into()], ..series }), None);
    }
}
