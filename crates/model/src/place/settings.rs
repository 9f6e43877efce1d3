//! [`PlaceSettings`]: resolved settings of a run of comparisons, and their form in the settings of a run of series.

use super::comparison::{COMMAND_METRICS, Metric};
use super::placement::{Binding, Placement};
use super::workload::Workload;
use crate::Picos;
use crate::quantity::{Better, Quantities};
use crate::series::{Parameters, SeriesSettings, TrialSpec};

/// Name of the probe in runs that compare placements.
pub const PROBE: &str = "place";
/// Name of the probe in runs that compare commands.
pub const VERSUS: &str = "versus";
/// Name of the arm that runs the baseline once more.
pub const CONTROL: &str = "control";
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

/// Default number of repetitions. Five cannot reach a useful p-value, and ten take an acceptable time.
pub const REPEAT: u32 = 10;
/// Default smallest effect.
pub const MIN_EFFECT: f64 = 0.01;
/// Default half width.
pub const PRECISION: f64 = 0.02;
/// Default upper bound of machine time.
pub const BUDGET: Picos = Picos::from_ms(60_000);

/// The arms of a comparison of commands, which may differ in command, environment and CPUs. The first is the baseline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VersusSettings {
    /// The command of each arm, in the order of the placements.
    pub arms: Vec<ArmCommand>,
    /// Position of the arm that runs the baseline once more.
    pub control: Option<usize>,
}

/// What an arm runs. The command line may hold secrets and is stored only in the command line of the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArmCommand {
    /// SHA-256, in hexadecimal, of the program, its arguments and its variables, each ended by a zero byte.
    pub hash: String,
    /// Names of the additional environment variables.
    pub environment: Vec<String>,
}

/// Resolved settings of a run of comparisons.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceSettings {
    /// The work, in the requested order.
    pub works: Vec<WorkSettings>,
    /// The placements of the arms, in the requested order. Their names are the names of the arms.
    pub placements: Vec<Placement>,
    /// What the arms run if they compare commands; `None` if they compare placements of the same work.
    pub versus: Option<VersusSettings>,
    /// Number of threads of the work; `None` for a command.
    pub threads: Option<usize>,
    /// Minimum number of repetitions on each placement.
    pub repeat: u32,
    /// Smallest relevant effect, as a share.
    pub min_effect: f64,
    /// Requested half width of the differences of headlines, as a share.
    pub precision: f64,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// The seed of every random choice.
    pub seed: u64,
}

impl PlaceSettings {
    /// Settings for workloads, with defaults for everything else.
    pub fn usual(
        workloads: &[Workload],
        threads: usize,
        placements: Vec<Placement>,
        seed: u64,
    ) -> PlaceSettings {
        PlaceSettings {
            works: workloads.iter().copied().map(WorkSettings::of_workload).collect(),
            placements,
            versus: None,
            threads: Some(threads),
            repeat: REPEAT,
            min_effect: MIN_EFFECT,
            precision: PRECISION,
            budget: BUDGET,
            seed,
        }
    }

    /// The number of roles, if the order of CPUs may matter to some work. The CPUs of some placement are then not
    /// sorted, more than the roles, or the same set as in another placement.
    pub fn roles_in_order(&self) -> Option<usize> {
        let kinds = self.works.iter().filter_map(|work| Some(work.name.parse::<Workload>().ok()?.kind));
        let behaviours = kinds.filter_map(|kind| Some(kind.behaviour(self.threads?)));
        let roles = behaviours
            .filter(|behaviour| behaviour.communication.has_order())
            .filter_map(|behaviour| behaviour.roles)
            .max()?;
        let bound = || self.placements.iter().filter(|placement| placement.binding == Binding::Bound);
        let in_order = |placement: &Placement| placement.cpus.is_sorted() && placement.cpus.len() <= roles;
        let has_twin =
            |placement: &Placement| bound().filter(|other| other.set() == placement.set()).count() > 1;
        bound().any(|placement| !in_order(placement) || has_twin(placement)).then_some(roles)
    }

    /// The compared pairs of arms: each command with the baseline, or all pairs of placements.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.placements.len();
        match self.versus {
            Some(_) => (1..count).map(|arm| (0, arm)).collect(),
            None => (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect(),
        }
    }

    /// The arm that runs the baseline once more.
    pub fn control(&self) -> Option<usize> {
        self.versus.as_ref()?.control
    }

    /// The index of the trial of a piece of work on a placement.
    pub fn trial(&self, work: usize, placement: usize) -> usize {
        work * self.placements.len() + placement
    }

    /// The form in run files and documents: one trial per piece of work and placement.
    pub fn to_series(&self) -> SeriesSettings {
        let metric_list = |work: &WorkSettings| {
            let own = work.metrics.iter().filter(|metric| !COMMAND_METRICS.contains(metric));
            own.map(|metric| format!("{}:{}", metric.name, metric.better.name()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let command_metrics = self.works.iter().find(|work| work.name == COMMAND).map(metric_list);
        let options = Parameters::default()
            .with("repeat", f64::from(self.repeat))
            .with("min_effect", self.min_effect)
            .with_some("threads", self.threads.map(|threads| threads as f64))
            .with_some("metrics", command_metrics.filter(|names| !names.is_empty()))
            .with_some("control", self.control().map(|arm| arm as f64));
        let probe = if self.versus.is_some() { VERSUS } else { PROBE };
        let trial = |work: &WorkSettings, arm: usize| {
            let placement = &self.placements[arm];
            let command = self.versus.as_ref().and_then(|versus| versus.arms.get(arm));
            let environment = command.map(|command| command.environment.join(" "));
            let parameters = Parameters::default()
                .with("workload", work.name.as_str())
                .with("placement", placement.name.as_str())
                .with_some("binding", (placement.binding == Binding::Free).then_some("free"))
                .with_some("command", command.map(|command| command.hash.clone()))
                .with_some("environment", environment.filter(|names| !names.is_empty()));
            TrialSpec { probe: probe.to_owned(), parameters, placement: placement.cpus.clone() }
        };
        let trials =
            self.works.iter().flat_map(|work| (0..self.placements.len()).map(move |arm| trial(work, arm)));
        let cpus = self.placements.iter().flat_map(|placement| placement.cpus.iter().copied());
        SeriesSettings {
            probes: vec![probe.to_owned()],
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
        let mut versus = match series.probes.as_slice() {
            [probe] if probe == PROBE => None,
            [probe] if probe == VERSUS => {
                let control = series.options.number("control").map(|arm| arm as usize);
                Some(VersusSettings { control, ..VersusSettings::default() })
            }
            _ => return None,
        };
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
                if let Some(versus) = &mut versus {
                    let names = trial.parameters.text("environment").unwrap_or_default();
                    versus.arms.push(ArmCommand {
                        hash: trial.parameters.text("command")?.to_owned(),
                        environment: names.split_whitespace().map(str::to_owned).collect(),
                    });
                }
            }
        }
        let settings = PlaceSettings {
            works,
            placements,
            versus,
            threads: series.options.number("threads").map(|threads| threads as usize),
            repeat: series.options.number("repeat")? as u32,
            min_effect: series.options.number("min_effect")?,
            precision: series.precision,
            budget: series.budget,
            seed: series.seed,
        };
        let arms = 1..settings.placements.len();
        let is_valid = settings.control().is_none_or(|control| arms.contains(&control));
        (is_valid && settings.to_series().trials == series.trials).then_some(settings)
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
        let metric = Metric::own;
        let free = Placement { name: "none".into(), cpus: vec![CpuId(0), CpuId(1)], binding: Binding::Free };
        let settings = PlaceSettings {
            works: vec![
                WorkSettings::of_workload("shell:8".parse().unwrap()),
                WorkSettings::of_command(vec![metric("eps", Better::Higher), metric("ms", Better::Lower)]),
            ],
            placements: vec![Placement::bound("reversed", vec![CpuId(1), CpuId(0)]), free],
            versus: None,
            threads: Some(2),
            repeat: 10,
            min_effect: 0.01,
            precision: 0.02,
            budget: Picos::from_ms(60_000),
            seed: 7,
        };
        let series = settings.to_series();
        assert_eq!(series.trials.len(), 4);
        assert_eq!(PlaceSettings::of_series(&series), Some(settings.clone()));
        assert_eq!(PlaceSettings::of_series(&SeriesSettings { probes: vec!["wake".into()], ..series }), None);
        let arm = |hash: &str, environment: &[&str]| ArmCommand {
            hash: hash.into(),
            environment: environment.iter().map(|&entry| entry.to_owned()).collect(),
        };
        let arms = vec![arm("ab", &[]), arm("ab", &["A", "B"])];
        let settings = PlaceSettings {
            works: vec![WorkSettings::of_command(Vec::new())],
            placements: ["a", "control"].map(|name| Placement::bound(name, vec![CpuId(0)])).to_vec(),
            versus: Some(VersusSettings { arms, control: Some(1) }),
            threads: None,
            ..settings
        };
        assert_eq!(PlaceSettings::of_series(&settings.to_series()), Some(settings.clone()));
        let versus = settings.versus.map(|versus| VersusSettings { control: Some(2), ..versus });
        let without_control = PlaceSettings { versus, ..settings };
        assert_eq!(PlaceSettings::of_series(&without_control.to_series()), None, "no such arm");
    }
}
