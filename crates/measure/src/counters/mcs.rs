//! [`McsLock`]: a queue of threads, each of which looks at a line of its own (Mellor-Crummey and Scott 1991).

use super::guarded::Lock;
use crate::stage::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::trial_context::Apart;
use crate::wait::{Pause, WaitAction};

/// Nobody.
const NOBODY: u64 = 0;

/// The lock. A thread has one place in the queue, its node; nodes are named by their number plus one, so that the tail
/// can be told from nobody.
///
/// *Lines.* `tail` lies beside the number that the lock keeps, as the word of every lock here does, so whoever holds the
/// lock writes that line (the number, and the tail when it leaves an empty queue) and whoever comes writes it (the
/// exchange). Where the nodes are would never change, but on that line it would be fetched with every acquisition, to be
/// read, before the exchange fetches the line again, to be written: so each thread keeps it in its [`Nodes`], on its own
/// stack. Each node has lines to itself: its thread writes it before it queues and looks at it while it waits, the one
/// behind writes `next` once and the one before clears `waits` once. A hand-over then moves the line of the tail and the
/// lines of two nodes, and an acquisition touches the line of the tail only by its exchange.
#[derive(Debug)]
pub struct McsLock {
    /// Who came last.
    tail: AtomicU64,
    nodes: Box<[Apart<Node>]>,
}

/// What a thread keeps for itself: its name, and where all nodes are.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    name: u64,
    nodes: &'a [Apart<Node>],
}

/// The place of one thread in the queue.
#[derive(Debug)]
pub struct Node {
    /// Who comes after this one.
    next: AtomicU64,
    /// 1 while this one has to wait.
    waits: AtomicU64,
}

/// The lock while it is held.
#[derive(Debug)]
pub struct Queued<'a> {
    tail: &'a AtomicU64,
    own: Nodes<'a>,
}

impl<'a> Nodes<'a> {
    fn node(&self, name: u64) -> &'a Node {
        &self.nodes[name as usize - 1]
    }
}

impl Lock for McsLock {
    type Handle<'a> = Nodes<'a>;
    type Held<'a> = Queued<'a>;

    fn new(threads: usize) -> McsLock {
        let node = || Node { next: AtomicU64::new(NOBODY), waits: AtomicU64::new(0) };
        McsLock { tail: AtomicU64::new(NOBODY), nodes: (0..threads).map(|_| Apart(node())).collect() }
    }

    fn handle(&self, thread: usize) -> Nodes<'_> {
        Nodes { name: thread as u64 + 1, nodes: &self.nodes }
    }

    #[inline(always)]
    fn lock<'a>(&'a self, handle: &mut Nodes<'a>, guard: &Guard<'_>) -> Result<Queued<'a>, Halt> {
        let name = handle.name;
        let own = handle.node(name);
        // Relaxed: nobody looks at this node before the exchange below has named it.
        own.next.store(NOBODY, Relaxed);
        own.waits.store(1, Relaxed);
        // Release shows the two stores above to whoever comes next. Acquire pairs with the Release of the one before
        // (its node is ready to be written) or, where nobody is there, of the last release (what it did, we see).
        let before = self.tail.swap(name, AcqRel);
        if before != NOBODY {
            // Release pairs with the Acquire in `drop`: it writes to our node only after we have made it.
            handle.node(before).next.store(name, Release);
            // Acquire pairs with the Release of the one before: what it did under the lock, we see.
            wait_until::<Pause>(guard, || own.waits.load(Acquire) == 0)?;
        }
        Ok(Queued { tail: &self.tail, own: *handle })
    }
}

impl Drop for Queued<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let own = self.own.node(self.own.name);
        // Acquire pairs with the Release of the one who named itself here.
        let mut next = own.next.load(Acquire);
        if next == NOBODY {
            // Release pairs with the Acquire of who finds the queue empty. Relaxed on failure: only that somebody came.
            if self.tail.compare_exchange(self.own.name, NOBODY, Release, Relaxed).is_ok() {
                return;
            }
            // Somebody has come and is about to name itself: two instructions, and nothing makes it leave in between.
            while next == NOBODY {
                Pause::wait();
                next = own.next.load(Acquire);
            }
        }
        // Release pairs with the Acquire of the one who waits.
        self.own.node(next).waits.store(0, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail of one lock and the handle of another: whatever is read to find the nodes is read from the handle, and
    /// nothing beside the tail.
    #[test]
    fn a_thread_finds_the_nodes_by_its_handle() {
        let [lock, other] = [(); 2].map(|()| McsLock::new(2));
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        let held = lock.lock(&mut other.handle(1), &guard).unwrap();
        assert_eq!(lock.tail.load(Relaxed), 2, "the lock is held by the second thread");
        let waits = |of: &McsLock| of.nodes[1].waits.load(Relaxed);
        assert_eq!((waits(&other), waits(&lock)), (1, 0), "the node is the one of the handle");
        drop(held);
        assert_eq!(lock.tail.load(Relaxed), NOBODY);
    }
}
