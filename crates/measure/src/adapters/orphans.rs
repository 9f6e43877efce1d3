//! [`OrphanTracker`]: finds processes that an adapter left behind.
//!
//! Processes of an adapter carry its mark and are in its group. A process has neither after it clears its environment
//! and starts a new session. This process adopts it when its parents end.

use crate::host::command::tree;
use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Environment variable that marks all processes of an adapter.
pub(super) const MARK: &str = "CORETALK_ADAPTER";
static ADAPTERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The children that this process had before it started an adapter. None of them is an orphan of that adapter.
pub(super) struct OrphanTracker {
    others: BTreeSet<u32>,
}

impl OrphanTracker {
    /// Starts an adapter. The lock prevents a search for orphans until the adapter is registered.
    pub(super) fn start<T, E>(
        start: impl FnOnce() -> Result<T, E>,
        pid: impl Fn(&T) -> u32,
    ) -> Result<(OrphanTracker, T), E> {
        let mut adapters = adapters();
        let others = tree::children().into_iter().collect();
        let started = start()?;
        adapters.insert(pid(&started));
        Ok((OrphanTracker { others }, started))
    }

    pub(super) fn forget(pid: u32) {
        adapters().remove(&pid);
    }

    /// Children adopted since the start of the adapter. Left out are adapters, forks of this process (same group),
    /// marked processes and exiting processes. An exiting process has lost its mark, because the kernel releases the
    /// environment of a killed process before it becomes a zombie.
    pub(super) fn orphans(&self) -> Vec<u32> {
        let adapters = adapters();
        let own_group = group_of(0);
        let is_orphan = |child: &u32| {
            !self.others.contains(child)
                && !adapters.contains(child)
                && group_of(*child).is_some_and(|group| Some(group) != own_group)
                && !is_marked(*child)
        };
        let (exiting, orphans) = tree::children()
            .into_iter()
            .filter(is_orphan)
            .partition::<Vec<u32>, _>(|orphan| tree::is_exiting(*orphan));
        for orphan in exiting {
            // Nothing else reaps this process. If it is not a zombie yet, the next search reaps it.
            let _ = tree::wait_for(orphan, Instant::now());
        }
        orphans
    }
}

fn adapters() -> MutexGuard<'static, BTreeSet<u32>> {
    ADAPTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process group of a process; 0 means this process.
fn group_of(pid: u32) -> Option<libc::pid_t> {
    // SAFETY: the call takes and returns a number.
    let group = unsafe { libc::getpgid(pid as libc::pid_t) };
    (group >= 0).then_some(group)
}

fn is_marked(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_mark =
        |entry: &[u8]| entry.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    environment.split(|byte| *byte == 0).any(is_mark)
}
