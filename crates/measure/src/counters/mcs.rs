//! [`McsLock`]: a queue of threads, each of which looks at a line of its own (Mellor-Crummey and Scott 1991).

use super::guarded::Lock;
use crate::ensemble::Apart;
use crate::stage::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::wait::{Pause, WaitAction};

/// Nobody.
const NOBODY: u64 = 0;

/// The lock. A thread has one place in the queue, its node; nodes are named by their number plus one, so that no
/// pointer is needed.
#[derive(Debug)]
pub struct McsLock {
    /// Who came last.
    tail: AtomicU64,
    nodes: Box<[Apart<Node>]>,
}

#[derive(Debug)]
struct Node {
    /// Who comes after this one.
    next: AtomicU64,
    /// 1 while this one has to wait.
    waits: AtomicU64,
}

/// The lock while it is held.
#[derive(Debug)]
pub struct Queued<'a> {
    lock: &'a McsLock,
    name: u64,
}

impl McsLock {
    fn node(&self, name: u64) -> &Node {
        &self.nodes[name as usize - 1]
    }
}

impl Lock for McsLock {
    type Held<'a> = Queued<'a>;

    fn new(threads: usize) -> McsLock {
        let node = || Node { next: AtomicU64::new(NOBODY), waits: AtomicU64::new(0) };
        McsLock { tail: AtomicU64::new(NOBODY), nodes: (0..threads).map(|_| Apart(node())).collect() }
    }

    #[inline(always)]
    fn lock(&self, thread: usize, guard: &Guard<'_>) -> Result<Queued<'_>, Halt> {
        let name = thread as u64 + 1;
        let own = self.node(name);
        // Relaxed: nobody looks at this node before the exchange below has named it.
        own.next.store(NOBODY, Relaxed);
        own.waits.store(1, Relaxed);
        // Release shows the two stores above to whoever comes next. Acquire pairs with the Release of the one before
        // (its node is ready to be written) or, where nobody is there, of the last release (what it did, we see).
        let before = self.tail.swap(name, AcqRel);
        if before != NOBODY {
            // Release pairs with the Acquire in `drop`: it writes to our node only after we have made it.
            self.node(before).next.store(name, Release);
            // Acquire pairs with the Release of the one before: what it did under the lock, we see.
            wait_until::<Pause>(guard, || own.waits.load(Acquire) == 0)?;
        }
        Ok(Queued { lock: self, name })
    }
}

impl Drop for Queued<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let own = self.lock.node(self.name);
        // Acquire pairs with the Release of the one who named itself here.
        let mut next = own.next.load(Acquire);
        if next == NOBODY {
            // Release pairs with the Acquire of who finds the queue empty. Relaxed on failure: only that somebody came.
            if self.lock.tail.compare_exchange(self.name, NOBODY, Release, Relaxed).is_ok() {
                return;
            }
            // Somebody has come and is about to name itself: two instructions, and nothing makes it leave in between.
            while next == NOBODY {
                Pause::wait();
                next = own.next.load(Acquire);
            }
        }
        // Release pairs with the Acquire of the one who waits.
        self.lock.node(next).waits.store(0, Release);
    }
}
