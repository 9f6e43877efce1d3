//! [`Sentinel`]: CAS without pause around a pass of a trial, which says in which state of the machine it was made.

use crate::machine::{Assignment, HomeChoice, Machine, MachineError, Round, Sampling, SpanOrder, Walk};
use crate::probes::latency_turns::CAS;
use crate::series::TrialOrder;
use crate::stop::Stop;
use coretalk_model::latency::{Counts, Reducer, Scale};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, TrialFailure};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One aligned run, as where CAS watches beside a map.
const LINES: u32 = 16;
/// Round trips of a batch: states lie 15 % apart, so that a clock read in each is no matter. A visit takes 40 µs in one
/// cache and 160 µs across dies.
const ROUND_TRIPS: u32 = 32;
/// Round trips before the first batch.
const WARM_UP: u32 = 200;
/// Visits between two CPUs that may say nothing before nobody looks there any more.
const PATIENCE: u32 = 3;
/// What tells its random choices from all others.
const CHOICES: u64 = 0x5E;

/// The kernel that shows every state of a machine, on the same lines and by the same code as beside a map, so that a
/// state of a trial can be held against one of a pair.
#[derive(Debug)]
pub struct Sentinel {
    orders: Arc<[SpanOrder]>,
    reducer: Reducer,
    visits: u64,
    /// Visits that said nothing, by pair: each hang costs its whole limit.
    failures: BTreeMap<[CpuId; 2], u32>,
}

impl Sentinel {
    /// For a machine whose workers are engaged.
    pub fn of(machine: &dyn Machine) -> Sentinel {
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

    /// Half a round trip between the ends of each trial in nanoseconds; `None` for those that have one CPU or are not
    /// watched, and where the visit said nothing.
    ///
    /// # Errors
    /// [`MachineError`] where the machine as a whole failed.
    pub fn visit(
        &mut self,
        machine: &mut dyn Machine,
        trials: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Result<Vec<Option<f32>>, MachineError> {
        let mut said = vec![None; trials.len()];
        let failed =
            |ends: &[CpuId; 2]| self.failures.get(ends).is_some_and(|&failures| failures >= PATIENCE);
        let watched = |order: &TrialOrder<'_>| {
            // States of the machine divide no passes that count what it took.
            let seeks_lost_time = order.probe.quantities().iter().any(|quantity| quantity.lost_time);
            order.spec.ends().filter(|ends| !seeks_lost_time && !failed(ends))
        };
        let ends: Vec<_> =
            trials.iter().enumerate().filter_map(|(index, order)| Some((index, watched(order)?))).collect();
        if ends.is_empty() {
            return Ok(said);
        }
        self.visits += 1;
        let key = Key::of(&[CHOICES, self.visits]);
        let assignment = |&(index, ends): &(usize, [_; 2])| Assignment {
            placement: ends.to_vec(),
            orders: Arc::clone(&self.orders),
            key: key.with(trials[index].key).bits(0),
        };
        let round = Round { assignments: ends.iter().map(assignment).collect() };
        let Sentinel { reducer, failures, .. } = self;
        machine.perform_each(&[round], stop, &mut |outcome| {
            for (&(index, ends), trial) in ends.iter().zip(&outcome.trials) {
                match trial {
                    Ok(recording) => {
                        let visit = reducer.visit(0, recording);
                        said[index] = visit.spans.first().map(|span| span.location_ns);
                    }
                    Err(TrialFailure::Interrupted) => {}
                    Err(_) => *failures.entry(ends).or_default() += 1,
                }
            }
            outcome.trials.into_iter().flatten().collect()
        })?;
        Ok(said)
    }
}
