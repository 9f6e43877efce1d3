//! [`Concurrency`]: the trials of a run that are performed concurrently, and the serial passes that validate this.

use crate::machine::Machine;
use crate::schedule;
use crate::series::{Concurrent, SeriesProbe};
use coretalk_model::series::{ConcurrencyGate, SeriesSettings};
use coretalk_model::stats::gate::GATE_CELLS;
use coretalk_model::stats::{ANALYSES, Key};
use coretalk_model::{CpuId, Picos, Relation, Topology};
use std::collections::BTreeMap;

/// Length above which longer passes gain little. Thread starts take a thirtieth, and a CPU shared by both threads
/// changes hands several times. With serial passes this long, concurrency would only save time, at the risk of
/// interference.
pub const LONG_ENOUGH: Picos = Picos::from_ms(10);
/// Initial length of concurrent passes. Of 1,280 cells of a queue (16 simulated CPUs, five capacities, ± 5 %), nine in
/// ten scatter so little that longer passes would not help. The others get longer passes.
pub const BRIEF: Picos = Picos::from_ms(4);
/// Minimum trials of a relation for concurrency. With passes that scatter by 4 %, this many are proven equal within 2 %
/// in nine of ten cases. Fewer trials rarely are.
const MIN_TRIALS: usize = 32;
/// Bit mask of the passes of the first analysis that a gate trial performs alone. Two of eight are nearly as good as
/// half of them and cost half as much.
const ALONE: u8 = 0b0001_0001;
const CHOICES: u64 = 0xC0;

#[derive(Debug)]
pub struct Concurrency {
    width: usize,
    topology: Topology,
    /// By trial. [`Concurrent::Never`] in relations that are too small to be judged.
    allowed: Vec<Concurrent>,
    pairs: Vec<[CpuId; 2]>,
    /// By trial: bit mask of the first analysis' passes that are performed alone to judge the others.
    alone: Vec<u8>,
}

impl Concurrency {
    pub fn none(topology: &Topology) -> Concurrency {
        let (allowed, pairs, alone) = (Vec::new(), Vec::new(), Vec::new());
        Concurrency { width: 1, topology: topology.clone(), allowed, pairs, alone }
    }

    /// Concurrency by the settings. `serial` is the length of serial passes of the first analysis.
    pub fn new(
        machine: &dyn Machine,
        settings: &SeriesSettings,
        probes: &[&'static dyn SeriesProbe],
        serial: Picos,
        notice: &mut dyn FnMut(String),
    ) -> Concurrency {
        let topology = machine.topology();
        let none = Concurrency::none(topology);
        let requested = settings.parallel();
        // Runs of many probes, or with a map, have few trials of each.
        if settings.gathering().is_some() || requested == Some(1) {
            return none;
        }
        let width = match requested {
            Some(pairs) => (pairs as usize).min(settings.cpus.len() / 2),
            None if serial >= LONG_ENOUGH => 1,
            None => topology.one_per_core(&settings.cpus.iter().copied().collect()).len() / 2,
        };
        if width <= 1 {
            return none;
        }
        let concurrency = Concurrency::together(topology, settings, probes, width);
        if !concurrency.allowed.contains(&Concurrent::IfProven) {
            if requested.is_some() {
                notice(
                    "no relation has enough pairs to check whether they can be measured in parallel: \
                     measuring one pair at a time"
                        .into(),
                );
            }
            return none;
        }
        if requested.is_none() && machine.is_busy() == Some(true) {
            notice(
                "other programs keep the CPUs busy: measuring one pair at a time, which takes longer".into(),
            );
            return none;
        }
        concurrency
    }

    /// Up to `width` concurrent pairs in all relations that can be judged.
    pub fn together(
        topology: &Topology,
        settings: &SeriesSettings,
        probes: &[&'static dyn SeriesProbe],
        width: usize,
    ) -> Concurrency {
        let trials = settings.trials.len();
        let mut concurrency = Concurrency {
            width,
            topology: topology.clone(),
            allowed: vec![Concurrent::Never; trials],
            pairs: Vec::with_capacity(trials),
            alone: vec![0; trials],
        };
        let mut relations: BTreeMap<Relation, Vec<usize>> = BTreeMap::new();
        for (trial, spec) in settings.trials.iter().enumerate() {
            let pair = match *spec.placement {
                [from, to] => [from, to],
                _ => [spec.placement.first().copied().unwrap_or(CpuId(0)); 2],
            };
            concurrency.pairs.push(pair);
            match probes[trial].concurrent(spec) {
                Concurrent::Never => {}
                Concurrent::Always => concurrency.allowed[trial] = Concurrent::Always,
                Concurrent::IfProven => {
                    relations.entry(topology.relation(pair[0], pair[1])).or_default().push(trial);
                }
            }
        }
        for (relation, mut trials) in relations.into_iter().filter(|(_, trials)| trials.len() >= MIN_TRIALS) {
            for &trial in &trials {
                concurrency.allowed[trial] = Concurrent::IfProven;
            }
            let key = Key::from_words(&[settings.seed, CHOICES, relation.code()]);
            key.shuffle(&mut trials);
            for trial in interleave_kinds(settings, trials).into_iter().take(GATE_CELLS) {
                let quarter = key.below(trial as u64, 4) as u32;
                concurrency.alone[trial] = ALONE << quarter;
            }
        }
        concurrency
    }

    pub fn is_any(&self) -> bool {
        self.width > 1
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// The trials of a sweep in rounds of concurrent trials. `made` returns the passes that a trial has.
    pub fn rounds(
        &self,
        due: &[usize],
        made: impl Fn(usize) -> u32,
        gate: &ConcurrencyGate,
        key: Key,
    ) -> Vec<Vec<usize>> {
        if !self.is_any() {
            let mut order = due.to_vec();
            key.shuffle(&mut order);
            return order.into_iter().map(|trial| vec![trial]).collect();
        }
        let is_alone = |trial: &&usize| match self.allowed[**trial] {
            Concurrent::Never => true,
            Concurrent::Always => false,
            Concurrent::IfProven => match made(**trial) {
                pass if (pass as usize) < ANALYSES[0] => self.alone[**trial] >> pass & 1 == 1,
                _ => gate.refuses(**trial),
            },
        };
        let (alone, concurrent): (Vec<&usize>, Vec<&usize>) = due.iter().partition(is_alone);
        let cells: Vec<u32> = concurrent.into_iter().map(|&trial| trial as u32).collect();
        let together = schedule::together(&self.topology, &self.pairs, &cells, self.width, key);
        let together =
            together.into_iter().map(|round| round.into_iter().map(|cell| cell as usize).collect());
        let mut rounds: Vec<Vec<usize>> =
            alone.into_iter().map(|&trial| vec![trial]).chain(together).collect();
        key.with(CHOICES).shuffle(&mut rounds);
        rounds
    }

    /// Mean number of concurrent trials in a sweep of the first analysis.
    pub fn pace(&self) -> f64 {
        let all: Vec<usize> = (0..self.allowed.len()).collect();
        if !self.is_any() || all.is_empty() {
            return 1.0;
        }
        let gate = ConcurrencyGate::default();
        let sweep = |pass: usize| {
            self.rounds(&all, |_| pass as u32, &gate, Key::from_words(&[CHOICES, pass as u64])).len()
        };
        (ANALYSES[0] * all.len()) as f64 / (0..ANALYSES[0]).map(sweep).sum::<usize>() as f64
    }
}

/// Orders trials so that any prefix holds every kind equally often.
fn interleave_kinds(settings: &SeriesSettings, trials: Vec<usize>) -> Vec<usize> {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = trials
        .into_iter()
        .map(|trial| {
            let rank = met.entry(settings.trials[trial].label()).or_default();
            *rank += 1;
            (*rank, trial)
        })
        .collect();
    ranked.sort_by_key(|&(rank, _)| rank);
    ranked.into_iter().map(|(_, trial)| trial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes;
    use crate::series::SeriesRequest;
    use crate::sim::{Scenario, SimMachine};
    use coretalk_model::CpuSet;
    use coretalk_model::series::Parameters;

    /// All ordered pairs of a machine with two threads per core, including pairs with both roles on one CPU.
    fn concurrency(seed: u64) -> (SeriesSettings, Concurrency) {
        let machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
        let (topology, probe) = (machine.topology(), probes::series_by_id("queue").unwrap());
        let cpus = topology.order(topology.cpus());
        let options = Parameters::default().with("queue", "semaphore").with("capacity", "1,10");
        let request = SeriesRequest { topology, cpus: &cpus, pairs: &[], options: &options };
        let trials = probe.trials(&request).unwrap();
        let settings = SeriesSettings { trials, cpus, seed, ..SeriesSettings::default() };
        let probes = vec![probe; settings.trials.len()];
        let concurrency = Concurrency::together(topology, &settings, &probes, 5);
        (settings, concurrency)
    }

    #[test]
    fn concurrent_trials_share_no_core() {
        for seed in 0..12 {
            let (settings, concurrency) = concurrency(seed);
            let due: Vec<usize> =
                (0..settings.trials.len()).filter(|trial| trial % 7 != seed as usize % 7).collect();
            for pass in 0..ANALYSES[0] as u32 {
                let key = Key::from_words(&[seed, u64::from(pass)]);
                let rounds = concurrency.rounds(&due, |_| pass, &ConcurrencyGate::default(), key);
                let mut seen: Vec<usize> = rounds.iter().flatten().copied().collect();
                seen.sort_unstable();
                assert_eq!(seen, due, "every trial once");
                assert!(rounds.len() * 2 < due.len(), "{} rounds of {}", rounds.len(), due.len());
                for round in &rounds {
                    assert!(round.len() <= 5);
                    let mut busy = CpuSet::new();
                    for &trial in round {
                        let cpus = settings.trials[trial].placement.iter();
                        let cores = cpus.map(|&cpu| concurrency.topology.siblings(cpu));
                        let cores = cores.fold(CpuSet::new(), |all, core| all.union(&core));
                        assert!(busy.intersection(&cores).is_empty(), "seed {seed}: {round:?}");
                        busy = busy.union(&cores);
                    }
                }
            }
        }
    }

    #[test]
    fn gate_trials_cover_every_kind_and_make_two_of_eight_passes_alone() {
        let (settings, concurrency) = concurrency(1);
        let alone: Vec<usize> =
            (0..settings.trials.len()).filter(|&trial| concurrency.alone[trial] != 0).collect();
        assert!(alone.iter().all(|&trial| concurrency.alone[trial].count_ones() == 2));
        let mut kinds: BTreeMap<(Relation, String), usize> = BTreeMap::new();
        for &trial in &alone {
            let [from, to] = concurrency.pairs[trial];
            let kind = (concurrency.topology.relation(from, to), settings.trials[trial].label());
            *kinds.entry(kind).or_default() += 1;
        }
        assert!(kinds.len() == 8 && kinds.values().all(|&cells| cells == GATE_CELLS / 2), "{kinds:?}");
    }
}
