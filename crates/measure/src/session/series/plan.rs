//! [`plan`] and [`Shares`]: the expected length of a run of series, and the division of its budget into passes.

use super::concurrency::{self, Concurrency};
use crate::machine::Machine;
use crate::probes;
use crate::series::{Concurrent, SeriesProbe, TrialOrder};
use crate::session::spread;
use coretalk_model::Picos;
use coretalk_model::plan::SeriesPlan;
use coretalk_model::series::{Gathering, SeriesSettings, TrialSpec};
use coretalk_model::stats::ANALYSES;
use std::collections::BTreeMap;

/// Maximum length of a pass. Longer passes would delay commits.
pub const MAX_PASS: Picos = Picos::from_ms(250);
/// Minimum length of a pass. The start and the end of threads take 0.1 ms each.
pub const MIN_PASS: Picos = Picos::from_ms(2);

/// The option for a fixed number of messages. Only the remaining budget limits it.
pub const MESSAGES: &str = "messages";

/// The shortest possible pass of each trial.
pub fn orders<'a>(settings: &'a SeriesSettings, probes: &[&'static dyn SeriesProbe]) -> Vec<TrialOrder<'a>> {
    let options = &settings.options;
    let order = |(&probe, spec): (&&'static dyn SeriesProbe, &'a TrialSpec)| TrialOrder {
        probe,
        spec,
        options,
        span: MIN_PASS,
        key: settings.seed,
        process: 0,
    };
    probes.iter().zip(&settings.trials).map(order).collect()
}

/// Predicts a [`run`](super::run). Passes take the ordered time, so no trial run is needed.
pub fn plan(machine: &dyn Machine, settings: &SeriesSettings) -> SeriesPlan {
    let probes: Vec<&'static dyn SeriesProbe> =
        settings.trials.iter().filter_map(|trial| probes::series_by_id(&trial.probe)).collect();
    let orders = orders(settings, &probes);
    let settling = settling(machine, &orders, settings);
    let mut shares = Shares::new(settings, settings.budget - settling);
    let concurrency = match probes.len() == settings.trials.len() {
        true => Concurrency::new(machine, settings, &probes, shares.shortest(), &mut |_| ()),
        false => Concurrency::none(machine.topology()),
    };
    shares.divide_by(&concurrency);
    let sweeps = |passes: usize, mean_concurrency: f64, span: &dyn Fn(&str) -> Picos| {
        let pass = |trial: &TrialSpec| span(&trial.probe).max(least_span(trial));
        let sweep: u64 = settings.trials.iter().map(|trial| pass(trial).0).sum();
        let sweep = Picos::from_secs(Picos(sweep).secs() / mean_concurrency);
        Picos(sweep.max(gap(settings)).0 * passes as u64)
    };
    let first = sweeps(ANALYSES[0], shares.mean_concurrency, &|probe| shares.first(probe));
    // If concurrency turns out to change the results, all remaining passes are serial.
    let second =
        sweeps(ANALYSES[1] - ANALYSES[0], 1.0, &|probe| late_span(shares.first(probe), settings.budget, 1.0));
    let times = [first, first + second].map(|time| (settling + time).min(settings.budget));
    let pass = settings.probes.iter().map(|probe| shares.first(probe)).max().unwrap_or(MIN_PASS);
    SeriesPlan {
        trials: settings.trials.len(),
        parallel: concurrency.width(),
        could_be_parallel: probes
            .iter()
            .zip(&settings.trials)
            .any(|(probe, spec)| probe.concurrent(spec) == Concurrent::IfProven),
        pass,
        settling,
        passes: match settings.gathering() {
            Some(Gathering::QuickLook) => [ANALYSES[0] as u32; 2],
            _ => ANALYSES.map(|passes| passes as u32),
        },
        probes: settings
            .probes
            .iter()
            .map(|probe| {
                let trials = shares.of.get(probe).map_or(0, |&(trials, _)| trials);
                (probe.clone(), trials, shares.first(probe))
            })
            .collect(),
        machine_time: if settings.options.number(MESSAGES).is_some() {
            [settings.budget; 2]
        } else if settings.options.number("samples").is_some() {
            [times[0], settings.budget]
        } else if settings.gathering() == Some(Gathering::QuickLook) {
            [times[0]; 2]
        } else {
            times
        },
    }
}

/// Divisor of the budget that limits the time for runtimes to start and settle.
const SETTLING: u64 = 4;

pub fn most_settling(settings: &SeriesSettings) -> Picos {
    Picos(settings.budget.0 / SETTLING)
}

/// Maximum settling time if all processes start at once; zero without runtimes.
pub fn settling(machine: &dyn Machine, orders: &[TrialOrder<'_>], settings: &SeriesSettings) -> Picos {
    let most = most_settling(settings);
    machine.longest_warm_up(orders, most).min(most)
}

/// Minimum distance between the starts of two sweeps. A core's clock may wander within half a second. Then eight passes
/// 60 ms apart agree better with each other than with an endless run (docs/evidence.md, "Coverage of trials").
pub fn gap(settings: &SeriesSettings) -> Picos {
    spread(settings.budget.secs(), ANALYSES[1] as u32)
}

/// Minimum length of a pass of a trial.
pub fn least_span(spec: &TrialSpec) -> Picos {
    probes::series_by_id(&spec.probe).map_or(Picos::ZERO, |probe| probe.least_span(spec))
}

/// Share of the budget for the first analysis. The rest is for trials whose interval is still wide. The basis is 1,280
/// cells of a queue (16 simulated CPUs, five capacities, ± 5 %, a minute). With six tenths and equal passes 101 ended
/// wide, with a third and longer passes 45. Those 45 alternate between two throughputs, so only long passes agree.
const FIRST_ANALYSIS: f64 = 1.0 / 3.0;
/// Share without a second analysis. Trials then end with their samples, or share a run with a map.
const ONLY_ANALYSIS: f64 = 0.9;
/// Maximum length of a pass of the second analysis relative to a pass of the first.
const LONGER: u64 = 12;

/// Number of trials of each probe, and the length of a pass that fits its first analysis into its share. All probes get
/// equal shares, so that a probe with many trials does not starve the others.
#[derive(Debug)]
pub struct Shares {
    /// By probe: its trials, and the share of the budget for a serial pass. Possible lengths do not limit this share.
    pub of: BTreeMap<String, (usize, Picos)>,
    mean_concurrency: f64,
    /// Maximum length to which concurrency extends passes.
    longest: Picos,
}

impl Shares {
    pub fn new(settings: &SeriesSettings, budget: Picos) -> Shares {
        let mut trials: BTreeMap<String, usize> = BTreeMap::new();
        for trial in &settings.trials {
            *trials.entry(trial.probe.clone()).or_default() += 1;
        }
        let each_secs = budget.secs() / trials.len().max(1) as f64;
        let is_quick = settings.gathering() == Some(Gathering::QuickLook);
        let share = |(probe, trials): (String, usize)| {
            let ends = probes::series_by_id(&probe).is_some_and(SeriesProbe::ends_with_samples);
            let share = if ends || is_quick { ONLY_ANALYSIS } else { FIRST_ANALYSIS };
            (probe, (trials, Picos::from_secs(each_secs * share / (trials * ANALYSES[0]) as f64)))
        };
        Shares { of: trials.into_iter().map(share).collect(), mean_concurrency: 1.0, longest: MAX_PASS }
    }

    /// Redistributes the budget among concurrent trials. Passes become longer, up to a length that shows the scatter of
    /// each trial. Then the run becomes shorter.
    pub fn divide_by(&mut self, concurrency: &Concurrency) {
        if concurrency.is_any() {
            (self.mean_concurrency, self.longest) = (concurrency.pace(), concurrency::BRIEF);
        }
    }

    pub fn first(&self, probe: &str) -> Picos {
        let alone = self.alone(probe);
        if self.mean_concurrency <= 1.0 {
            return alone;
        }
        let share = self.of.get(probe).map_or(Picos::ZERO, |&(_, share)| share);
        Picos::from_secs(share.secs() * self.mean_concurrency).clamp(MIN_PASS, self.longest).max(alone)
    }

    pub fn alone(&self, probe: &str) -> Picos {
        self.of.get(probe).map_or(MIN_PASS, |&(_, share)| share.clamp(MIN_PASS, MAX_PASS))
    }

    pub fn shortest(&self) -> Picos {
        self.of.keys().map(|probe| self.alone(probe)).min().unwrap_or(MIN_PASS)
    }
}

/// Length of a pass of the second analysis if `owed` passes must fit into the time `left`.
pub fn late_span(first: Picos, left: Picos, owed: f64) -> Picos {
    let fitting = Picos::from_secs(left.secs() * 0.95 / owed.max(1.0));
    fitting.min(Picos(first.0 * LONGER)).clamp(MIN_PASS, MAX_PASS)
}
