//! [`McsLock`]: a queue of threads, each of which polls its own line (Mellor-Crummey and Scott 1991).

use super::guarded::Lock;
use crate::kernel_context::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::trial_context::CachePadded;
use crate::wait::{Pause, WaitAction};

const NOBODY: u64 = 0;

/// MCS lock. Each thread has one node in the queue. The name of a node is its number plus one; 0 means no node.
///
/// `tail` is on the line of the protected number. The holder writes that line, and every arriving thread exchanges the
/// tail. If a pointer to the nodes were on that line, an arriving thread would fetch the line for reading and then
/// again for writing. So each thread keeps the pointer in its [`Nodes`], on its own stack. Each node has its own lines.
/// A thread writes its node before it queues, and polls the node while it waits. Its successor writes `next` once, and
/// its predecessor clears `waits` once. A handoff moves the lines of the tail and of two nodes.
#[derive(Debug)]
pub struct McsLock {
    /// Name of the last node.
    tail: AtomicU64,
    nodes: Box<[CachePadded<Node>]>,
}

/// State of one thread: the name of its node, and all nodes.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    name: u64,
    nodes: &'a [CachePadded<Node>],
}

/// The node of one thread.
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
        // Release shows the two stores above to the successor. Acquire pairs with the Release of the predecessor, so
        // its node may be written. Without predecessor it pairs with the last release and shows the writes under the
        // lock.
        let before = self.tail.swap(name, AcqRel);
        if before != NOBODY {
            // Release pairs with the Acquire in `drop`. The predecessor writes to this node only after it was prepared.
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
            // Release pairs with the Acquire of the thread that finds the queue empty. Relaxed on failure: the failure
            // only shows that a thread has arrived.
            if self.tail.compare_exchange(self.handle.name, NOBODY, Release, Relaxed).is_ok() {
                return;
            }
            // A successor is about to store its name. The store follows within two instructions, without a check to
            // leave.
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
