//! [`McsLock`]: a queue of threads, each polling its own line (Mellor-Crummey and Scott 1991).

use super::guarded::Lock;
use crate::kernel_context::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::trial_context::CachePadded;
use crate::wait::{Pause, WaitAction};

const NOBODY: u64 = 0;

/// MCS lock. Each thread has one node in the queue; nodes are named by their number plus one, so that 0 means none.
///
/// *Lines.* `tail` is on the line of the protected number, as the word of every lock here: the holder writes that line
/// (the number, and the tail when it leaves an empty queue), and so does every arriving thread (the exchange). A
/// pointer to the nodes on that line would make every acquisition fetch the line for reading before the exchange
/// fetches it for writing; so each thread keeps the pointer in its [`Nodes`], on its own stack. Each node has its own
/// lines: a thread writes its node before it queues and polls it while it waits, its successor writes `next` once, and
/// its predecessor clears `waits` once. A handoff then moves the line of the tail and the lines of two nodes, and an
/// acquisition touches the line of the tail only by its exchange.
#[derive(Debug)]
pub struct McsLock {
    /// Name of the last node.
    tail: AtomicU64,
    nodes: Box<[CachePadded<Node>]>,
}

/// Per-thread state: the name of the thread's node, and the location of all nodes.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    name: u64,
    nodes: &'a [CachePadded<Node>],
}

/// Node of one thread in the queue.
#[derive(Debug)]
pub struct Node {
    next: AtomicU64,
    /// 1 while the thread has to wait.
    waits: AtomicU64,
}

/// Guard of the lock.
#[derive(Debug)]
pub struct Queued<'a> {
    tail: &'a AtomicU64,
    handle: Nodes<'a>,
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
        McsLock { tail: AtomicU64::new(NOBODY), nodes: (0..threads).map(|_| CachePadded(node())).collect() }
    }

    fn handle(&self, thread: usize) -> Nodes<'_> {
        Nodes { name: thread as u64 + 1, nodes: &self.nodes }
    }

    #[inline(always)]
    fn lock<'a>(&'a self, handle: &mut Nodes<'a>, guard: &Guard<'_>) -> Result<Queued<'a>, Halt> {
        let name = handle.name;
        let node = handle.node(name);
        // Relaxed: no other thread reads this node before the exchange below has published its name.
        node.next.store(NOBODY, Relaxed);
        node.waits.store(1, Relaxed);
        // Release shows the two stores above to the successor. Acquire pairs with the Release of the predecessor (its
        // node may be written) or, without one, of the last release (its writes under the lock are visible).
        let before = self.tail.swap(name, AcqRel);
        if before != NOBODY {
            // Release pairs with the Acquire in `drop`: the predecessor writes to this node only after it was prepared.
            handle.node(before).next.store(name, Release);
            // Acquire pairs with the Release of the predecessor: its writes under the lock are visible.
            wait_until::<Pause>(guard, || node.waits.load(Acquire) == 0)?;
        }
        Ok(Queued { tail: &self.tail, handle: *handle })
    }
}

impl Drop for Queued<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let node = self.handle.node(self.handle.name);
        // Acquire pairs with the Release of the successor that stored its name here.
        let mut next = node.next.load(Acquire);
        if next == NOBODY {
            // Release pairs with the Acquire of the thread that finds the queue empty. Relaxed on failure, which
            // only shows that a thread has arrived.
            if self.tail.compare_exchange(self.handle.name, NOBODY, Release, Relaxed).is_ok() {
                return;
            }
            // A successor is about to store its name: two instructions, with no check to leave in between.
            while next == NOBODY {
                Pause::wait();
                next = node.next.load(Acquire);
            }
        }
        // Release pairs with the Acquire of the waiting successor.
        self.handle.node(next).waits.store(0, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the tail of one lock with the handle of another: the nodes must be found through the handle alone.
    #[test]
    fn a_thread_finds_the_nodes_by_its_handle() {
        let [lock, other] = [(); 2].map(|()| McsLock::new(2));
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
        let held = lock.lock(&mut other.handle(1), &guard).unwrap();
        assert_eq!(lock.tail.load(Relaxed), 2, "the lock is held by the second thread");
        let waits = |owner: &McsLock| owner.nodes[1].waits.load(Relaxed);
        assert_eq!((waits(&other), waits(&lock)), (1, 0), "the node is the one of the handle");
        drop(held);
        assert_eq!(lock.tail.load(Relaxed), NOBODY);
    }
}
