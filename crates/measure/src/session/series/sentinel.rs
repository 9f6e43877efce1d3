//! [`Sentinel`]: CAS without pause before and after a trial's pass. It shows the machine's state during the pass.

use crate::machine::{Assignment, HomeChoice, Machine, MachineError, Round, Sampling, SpanOrder, Walk};
use crate::probes::latency_turns::CAS;
use crate::series::TrialOrder;
use crate::stop::Stop;
use coretalk_model::latency::{Counts, Reducer, Scale};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, TrialFailure};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of lines: one aligned run, as for the sentinel of a map.
const LINES: u32 = 16;
/// Round trips per batch. States differ by 15 %, so a clock read in each batch does not matter. A visit takes 40 µs in
/// a cache and 160 µs across dies.
const ROUND_TRIPS: u32 = 32;
const WARM_UP: u32 = 200;
/// Failed visits of a pair before it is no longer visited.
const MAX_FAILURES: u32 = 3;
const CHOICES: u64 = 0x5E;

/// The kernel that shows every state. Lines and code are those of a map, so that states are comparable.
#[derive(Debug)]
pub struct Sentinel {
    orders: Arc<[SpanOrder]>,
    reducer: Reducer,
    visits: u64,
    /// Failed visits by pair. Each hang costs the full time limit.
    failures: BTreeMap<[CpuId; 2], u32>,
}

impl Sentinel {
    pub fn for_machine(machine: &dyn Machine) -> Sentinel {
        let order = SpanOrder {
            kernel: &CAS,
            home: HomeChoice::OfRole(0),
            lines: LINES,
            walk: Walk::FreshRuns,
            warm_up: WARM_UP,
            sampling: Sampling::Batches { visits: 1, round_trips: ROUND_TRIPS },
        };
        let scale = Scale { rate: machine.rate(), step_ns: machine.environment().clock.step_ns };
        let reducer = Reducer::new(scale, Counts::Adaptive);
        Sentinel { orders: vec![order].into(), reducer, visits: 0, failures: BTreeMap::new() }
    }

    /// Half a round trip in nanoseconds, as the mean over pairs of neighbours among the CPUs that each trial
    /// [watches](coretalk_model::series::TrialSpec::watched). `None` for trials with one CPU or without watched CPUs,
    /// and after a failed visit.
    pub fn visit(
        &mut self,
        machine: &mut dyn Machine,
        trials: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Result<Vec<Option<f32>>, MachineError> {
        let Sentinel { orders, reducer, visits, failures } = self;
        let has_failed =
            |pair: &[CpuId; 2]| failures.get(pair).is_some_and(|&failures| failures >= MAX_FAILURES);
        let pairs_of = |order: &TrialOrder<'_>| -> Vec<[CpuId; 2]> {
            let seeks_lost_time =
                order.probe.declaration().quantities.iter().any(|quantity| quantity.lost_time);
            let cpus = if seeks_lost_time { Vec::new() } else { order.spec.watched() };
            let pairs: Vec<_> = cpus.windows(2).map(|pair| [pair[0], pair[1]]).collect();
            if pairs.iter().any(has_failed) { Vec::new() } else { pairs }
        };
        let pairs: Vec<Vec<[CpuId; 2]>> = trials.iter().map(pairs_of).collect();
        *visits += 1;
        let key = Key::from_words(&[CHOICES, *visits]);
        // Neighbouring pairs share a CPU, so only every second pair is visited at the same time.
        let turn = |first: usize| -> Vec<(usize, usize)> {
            let of_trial = |index: usize| (first..pairs[index].len()).step_by(2).map(move |at| (index, at));
            (0..trials.len()).flat_map(of_trial).collect()
        };
        let turns = [turn(0), turn(1)];
        let assignment = |&(index, at): &(usize, usize)| Assignment {
            placement: pairs[index][at],
            orders: Arc::clone(orders),
            key: key.with(trials[index].key).bits(at as u64),
        };
        let rounds: Vec<Round> = turns
            .iter()
            .filter(|turn| !turn.is_empty())
            .map(|turn| Round { assignments: turn.iter().map(assignment).collect() })
            .collect();
        if rounds.is_empty() {
            return Ok(vec![None; trials.len()]);
        }
        let mut taken_ns: Vec<Vec<f32>> = vec![Vec::new(); trials.len()];
        let mut performed = turns.iter();
        machine.perform_each(&rounds, stop, &mut |outcome| {
            let turn = performed.next().into_iter().flatten();
            for (&(index, at), visit) in turn.zip(&outcome.trials) {
                match visit {
                    Ok(recording) => {
                        let visit = reducer.visit(0, recording);
                        taken_ns[index].extend(visit.spans.first().map(|span| span.location_ns));
                    }
                    Err(TrialFailure::Interrupted) => {}
                    Err(_) => *failures.entry(pairs[index][at]).or_default() += 1,
                }
            }
            outcome.trials.into_iter().flatten().collect()
        })?;
        let mean = |(taken_ns, pairs): (&Vec<f32>, &Vec<_>)| {
            let is_whole = !pairs.is_empty() && taken_ns.len() == pairs.len();
            is_whole.then(|| taken_ns.iter().sum::<f32>() / taken_ns.len() as f32)
        };
        Ok(taken_ns.iter().zip(&pairs).map(mean).collect())
    }
}
