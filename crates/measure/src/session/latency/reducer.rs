//! Performs a batch while another thread reduces its results to visits.

use super::visit_log::VisitLog;
use crate::machine::{Machine, MachineError, Round, RoundOutcome};
use crate::schedule::CellRound;
use crate::stop::Stop;
use coretalk_model::latency::Purpose;
use coretalk_model::{Recording, Relation};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Minimum trials of a batch for a thread of its own: half a millisecond of work.
const FEW_TRIALS: usize = 512;
/// Maximum waiting rounds: few, so that a round is still cached when it is logged.
const MAX_WAITING: usize = 4;

#[derive(Clone, Copy)]
pub struct Batch<'a> {
    pub purpose: Purpose,
    pub pass: u32,
    pub rounds: &'a [CellRound],
    pub relations: &'a [Relation],
}

impl Batch<'_> {
    fn take(&self, log: &mut VisitLog<'_>, index: usize, outcome: RoundOutcome) -> Vec<Recording> {
        let round = &self.rounds[index];
        log.take(self.purpose, self.pass, round, slowest(self.relations, round), outcome)
    }
}

/// Performs a batch and logs it in order; returns the number of performed rounds.
///
/// If the machine delivers rounds one by one, it continues while another thread logs the previous ones. A machine that
/// must not be disturbed delivers all rounds at its end.
///
/// # Errors
/// Those of the machine; rounds delivered before are logged.
pub fn perform(
    machine: &mut dyn Machine,
    log: &mut VisitLog<'_>,
    batch: Batch<'_>,
    orders: &[Round],
    stop: &Stop,
) -> Result<usize, MachineError> {
    let trials: usize = batch.rounds.iter().map(Vec::len).sum();
    if trials < FEW_TRIALS {
        let mut taken = 0;
        machine.perform_each(orders, stop, &mut |outcome| {
            taken += 1;
            batch.take(log, taken - 1, outcome)
        })?;
        return Ok(taken);
    }
    std::thread::scope(|scope| {
        let (hand_over, waiting) = sync_channel(MAX_WAITING);
        let (give_back, spent) = channel();
        let mut idle = Some((log, waiting, give_back));
        let mut reducer = None;
        let performed = machine.perform_each(orders, stop, &mut |outcome| {
            if let Some((log, waiting, give_back)) = idle.take() {
                reducer = Some(spawn_reducer(scope, log, batch, waiting, give_back));
            }
            // A missing reducer has panicked, which is reported below.
            let _ = hand_over.send(outcome);
            spent.try_recv().unwrap_or_default()
        });
        drop(hand_over);
        let taken = match reducer.map(ScopedJoinHandle::join) {
            None => 0,
            Some(Ok(taken)) => taken,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        };
        performed.map(|()| taken)
    })
}

/// Logs arriving rounds until there are no more; returns their number.
fn spawn_reducer<'scope>(
    scope: &'scope Scope<'scope, '_>,
    log: &'scope mut VisitLog<'_>,
    batch: Batch<'scope>,
    waiting: Receiver<RoundOutcome>,
    give_back: Sender<Vec<Recording>>,
) -> ScopedJoinHandle<'scope, usize> {
    scope.spawn(move || {
        let mut taken = 0;
        for outcome in waiting {
            let spent = batch.take(log, taken, outcome);
            taken += 1;
            // The machine may have finished its last recording.
            let _ = give_back.send(spent);
        }
        taken
    })
}

pub fn slowest(relations: &[Relation], round: &CellRound) -> Option<Relation> {
    round.iter().map(|&cell| relations[cell as usize]).max()
}
