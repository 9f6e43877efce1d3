//! [`SeriesPlan`] and [`Shares`]: how long a run of series takes, and how its budget is divided into passes.

use super::concurrency::{self, Concurrency};
use crate::machine::Machine;
use crate::probes;
use crate::series::{Concurrent, SeriesProbe, TrialOrder};
use crate::session::spread;
use coretalk_model::Picos;
use coretalk_model::series::{Gathering, SeriesSettings, TrialSpec};
use coretalk_model::stats::ANALYSES;
use std::collections::BTreeMap;

/// A pass takes no longer, so that a slot ends in time, …
pub const MAX_PASS: Picos = Picos::from_ms(250);
/// … and no less: starting and ending threads takes a tenth of a millisecond for each.
pub const MIN_PASS: Picos = Picos::from_ms(2);

/// The option by which passes end with so many messages, however long these take of what is left of the budget.
pub const MESSAGES: &str = "messages";

/// How a run of series would go.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPlan {
    /// Trials.
    pub trials: usize,
    /// Pairs at the same time, as far as that is proven harmless; 1 is serial.
    pub parallel: usize,
    /// Whether some trials could be made at the same time at all.
    pub could_be_parallel: bool,
    /// How long one pass of one trial takes.
    pub pass: Picos,
    /// Passes that every trial gets, and the most that a wide one can get.
    pub passes: [u32; 2],
    /// Trials of each probe, and how long one of its passes takes.
    pub probes: Vec<(String, usize, Picos)>,
    /// How long runtimes in other languages take to settle at most, at its beginning.
    pub settling: Picos,
    /// Machine time: as little as that where everything holds still, and never more than this.
    pub machine_time: [Picos; 2],
}

/// A pass of each trial, as short as it may be: what is asked for, whenever that is.
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

/// Says what [`run`](super::run) would do. Passes take as long as they are told to, so that nothing needs to be tried.
pub fn plan(machine: &dyn Machine, settings: &SeriesSettings) -> SeriesPlan {
    let probes: Vec<&'static dyn SeriesProbe> =
        settings.trials.iter().filter_map(|trial| probes::series_by_id(&trial.probe)).collect();
    let orders = orders(settings, &probes);
    let settling = settling(machine, &orders, settings);
    let mut shares = Shares::of(settings, settings.budget - settling);
    let concurrency = match probes.len() == settings.trials.len() {
        true => Concurrency::of(machine, settings, &probes, shares.shortest(), &mut |_| ()),
        false => Concurrency::none(machine.topology()),
    };
    shares.divide_by(&concurrency);
    let sweeps = |passes: usize, pace: f64, span: &dyn Fn(&str) -> Picos| {
        let pass = |trial: &TrialSpec| span(&trial.probe).max(least_span(trial));
        let sweep: u64 = settings.trials.iter().map(|trial| pass(trial).0).sum();
        let sweep = Picos::from_secs(Picos(sweep).secs() / pace);
        Picos(sweep.max(gap(settings)).0 * passes as u64)
    };
    let first = sweeps(ANALYSES[0], shares.pace, &|probe| shares.first(probe));
    // Where concurrency turns out to change what is measured, nothing more is made at the same time.
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

/// Runtimes in other languages have one part in this many of the budget to settle in, and as much to start.
const SETTLING: u64 = 4;

/// How long runtimes may take to settle, of the budget.
pub fn most_settling(settings: &SeriesSettings) -> Picos {
    Picos(settings.budget.0 / SETTLING)
}

/// How long they take at most where everything starts at once; nothing where there are none.
pub fn settling(machine: &dyn Machine, orders: &[TrialOrder<'_>], settings: &SeriesSettings) -> Picos {
    let most = most_settling(settings);
    machine.longest_warm_up(orders, most).min(most)
}

/// Least distance between the beginnings of two sweeps. Where the clock of a core wanders within half a second, eight
/// passes of a short trial 60 ms apart agree with each other more than with an endless run (docs/evidence.md, "Coverage of
/// trials").
pub fn gap(settings: &SeriesSettings) -> Picos {
    spread(settings.budget.secs(), ANALYSES[1] as u32)
}

/// How long a pass of a trial takes at least.
pub fn least_span(spec: &TrialSpec) -> Picos {
    probes::series_by_id(&spec.probe).map_or(Picos::ZERO, |probe| probe.least_span(spec))
}

/// Share of the budget for the first analysis: the rest is for trials that are wide then. 1,280 cells of a queue (16
/// simulated CPUs, five capacities, ± 5 %, a minute): with six tenths and passes of one length 101 ended wide, with a
/// third and long ones 45. All of them go now at one pace, now at another, so that only long passes agree with each
/// other.
const FIRST_ANALYSIS: f64 = 1.0 / 3.0;
/// The same where there is no second analysis: trials end with their samples, or are made beside a map.
const ONLY_ANALYSIS: f64 = 0.9;
/// A pass of the second analysis takes so many times one of the first at most.
const LONGER: u64 = 12;

/// Trials of each probe, and how long a pass of its first analysis should take, so that all of them get all of those
/// within its share. Every probe of a run gets the same of the budget, however many trials it has, so that one with
/// many does not starve the others.
#[derive(Debug)]
pub struct Shares {
    /// What a pass alone has of the budget, however short that is.
    pub of: BTreeMap<String, (usize, Picos)>,
    /// Trials made at the same time, in the mean of the first analysis.
    pace: f64,
    /// How long concurrency makes passes at most.
    longest: Picos,
}

impl Shares {
    /// Of so much of the budget.
    pub fn of(settings: &SeriesSettings, budget: Picos) -> Shares {
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
        Shares { of: trials.into_iter().map(share).collect(), pace: 1.0, longest: MAX_PASS }
    }

    /// Shares the budget anew among trials of which several are made at the same time: what that saves makes passes
    /// longer until they show how far each trial scatters, and then the run shorter.
    pub fn divide_by(&mut self, concurrency: &Concurrency) {
        if concurrency.is_any() {
            (self.pace, self.longest) = (concurrency.pace(), concurrency::BRIEF);
        }
    }

    /// A pass of the first analysis.
    pub fn first(&self, probe: &str) -> Picos {
        let alone = self.alone(probe);
        if self.pace <= 1.0 {
            return alone;
        }
        let share = self.of.get(probe).map_or(Picos::ZERO, |&(_, share)| share);
        Picos::from_secs(share.secs() * self.pace).clamp(MIN_PASS, self.longest).max(alone)
    }

    /// The same where nothing is made at the same time.
    pub fn alone(&self, probe: &str) -> Picos {
        self.of.get(probe).map_or(MIN_PASS, |&(_, share)| share.clamp(MIN_PASS, MAX_PASS))
    }

    /// The shortest pass of any probe.
    pub fn shortest(&self) -> Picos {
        self.of.keys().map(|probe| self.alone(probe)).min().unwrap_or(MIN_PASS)
    }
}

/// How long a pass of the second analysis should take, so that so many passes fit into what is left.
pub fn late_span(first: Picos, left: Picos, owed: f64) -> Picos {
    let fitting = Picos::from_secs(left.secs() * 0.95 / owed.max(1.0));
    fitting.min(Picos(first.0 * LONGER)).clamp(MIN_PASS, MAX_PASS)
}
