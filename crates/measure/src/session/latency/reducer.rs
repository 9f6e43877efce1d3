//! Performing a batch while what it said so far is reduced to visits by another thread.

use super::visit_log::VisitLog;
use crate::machine::{Machine, MachineError, Round, RoundOutcome};
use crate::schedule::CellRound;
use crate::stop::Stop;
use coretalk_model::latency::Purpose;
use coretalk_model::{Recording, Relation};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Trials below which a batch is not worth a thread: half a millisecond of work.
const FEW_TRIALS: usize = 512;
/// Rounds that may wait: few, so that a round is still in the cache when it is taken down.
const MAX_WAITING: usize = 4;

/// Where the rounds of a batch belong.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Why they are made.
    pub purpose: Purpose,
    /// Pass number within the purpose.
    pub pass: u32,
    /// The cells of each.
    pub rounds: &'a [CellRound],
    /// The relation of each cell.
    pub relations: &'a [Relation],
}

impl Batch<'_> {
    fn take(&self, log: &mut VisitLog<'_>, index: usize, outcome: RoundOutcome) -> Vec<Recording> {
        let round = &self.rounds[index];
        log.take(self.purpose, self.pass, round, slowest(self.relations, round), outcome)
    }
}

/// Performs a batch and enters it in the log, in order; gives the number of rounds that were performed.
///
/// A machine that hands rounds over one by one goes on while the last ones are taken down by another thread. A machine
/// that must not be disturbed hands over at its end, and that thread begins with the first round handed over.
///
/// # Errors
/// Those of the machine; what it handed over before is in the log.
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
            // A reducer that is gone has panicked, which is told below.
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

/// Takes down what comes, until nothing more does; gives how many rounds that were.
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
            // Whoever makes recordings may have made the last one.
            let _ = give_back.send(spent);
        }
        taken
    })
}

/// The slowest relation in a round.
pub fn slowest(relations: &[Relation], round: &CellRound) -> Option<Relation> {
    round.iter().map(|&cell| relations[cell as usize]).max()
}
