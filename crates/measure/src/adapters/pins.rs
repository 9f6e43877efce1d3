//! Affinity of an adapter's threads. Roles run on their CPUs, all other threads elsewhere where possible.

use super::error::AdapterError;
use super::tree::{ProcessTree, Whereabouts, cpu_of, owner};
use crate::host::affinity;
use coretalk_model::{CpuId, CpuSet};

/// CPUs of the adapter's other threads: garbage collectors, compilers, the reader of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Helpers {
    /// The allowed CPUs that are not measured, or all if every allowed CPU is measured.
    Apart,
    /// The given CPUs.
    On(CpuSet),
    /// The measured CPUs.
    Measured,
}

impl Helpers {
    /// CPUs of the other threads while `measured` CPUs are in use.
    pub fn during(&self, allowed: &CpuSet, measured: &[CpuId]) -> CpuSet {
        let measured: CpuSet = measured.iter().copied().collect();
        match self {
            Helpers::On(cpus) => cpus.clone(),
            Helpers::Measured => measured,
            Helpers::Apart if allowed.is_subset(&measured) => allowed.clone(),
            Helpers::Apart => allowed.difference(&measured),
        }
    }
}

/// Pins every role, verifies its affinity and moves all other threads to `helpers`.
pub(super) fn bind(
    root: u32,
    roles: &[u32],
    places: &[CpuSet],
    helpers: &CpuSet,
) -> Result<(), AdapterError> {
    let is_repeated = |(role, thread): &(usize, &u32)| roles[..*role].contains(thread);
    if let Some((_, &thread)) = roles.iter().enumerate().find(is_repeated) {
        return Err(AdapterError::OneThread { thread });
    }
    let tree = ProcessTree::new(root);
    for (role, &thread) in roles.iter().enumerate() {
        if !tree.threads.contains_key(&thread) {
            match owner(thread) {
                // The thread began after the snapshot.
                Some(owner) if tree.processes.contains_key(&owner) => {}
                Some(owner) => return Err(AdapterError::ForeignThread { role, thread, owner }),
                None => return Err(AdapterError::NoThread { role, thread }),
            }
        }
    }
    for ((role, &thread), place) in roles.iter().enumerate().zip(places) {
        let not_pinned = |source| AdapterError::NotPinned { role, thread, place: place.clone(), source };
        affinity::set_mask_of(thread as i32, place).map_err(not_pinned)?;
        let mask = affinity::mask_of(thread as i32).map_err(not_pinned)?;
        if mask != *place {
            let text = format!("the system accepted the mask and reports {mask}");
            return Err(not_pinned(std::io::Error::other(text)));
        }
    }
    for &thread in tree.threads.keys().filter(|thread| !roles.contains(thread)) {
        // The thread may have ended. If the system refuses, the thread's work counts as CPU time outside the roles.
        if affinity::mask_of(thread as i32).is_ok_and(|mask| mask != *helpers) {
            let _ = affinity::set_mask_of(thread as i32, helpers);
        }
    }
    Ok(())
}

pub(super) fn prove(roles: &[u32], places: &[CpuSet]) -> Result<(), AdapterError> {
    for ((role, &thread), place) in roles.iter().enumerate().zip(places) {
        let mask = affinity::mask_of(thread as i32).map_err(|_| AdapterError::RoleEnded { role, thread })?;
        if mask != *place {
            return Err(AdapterError::Rebound { role, thread, place: place.clone(), mask });
        }
    }
    Ok(())
}

#[derive(Debug, Clone)]
pub(super) struct Stay {
    roles: Vec<u32>,
    places: Vec<CpuSet>,
    before: Vec<Whereabouts>,
    /// Number of samples. Samples are taken only where the system does not count migrations.
    samples: u64,
    stray: Option<usize>,
}

impl Stay {
    pub(super) fn begin(roles: &[u32], places: &[CpuSet]) -> Stay {
        let before = roles.iter().copied().map(Whereabouts::read).collect();
        Stay { roles: roles.to_vec(), places: places.to_vec(), before, samples: 0, stray: None }
    }

    /// Samples the CPUs of the roles where migrations are not counted. A sample costs 20 µs on another CPU.
    pub(super) fn look(&mut self) {
        if self.before.iter().all(|before| before.migrations.is_some()) {
            return;
        }
        self.samples += 1;
        let is_away = |role: &usize| self.is_away(*role, cpu_of(self.roles[*role]));
        self.stray = self.stray.or_else(|| (0..self.roles.len()).find(is_away));
    }

    /// Whether a role is on a wrong CPU. That is no fault while the role still sleeps where it slept when it was
    /// pinned.
    fn is_away(&self, role: usize, now: Option<CpuId>) -> bool {
        now.is_some_and(|cpu| !self.places[role].contains(cpu)) && now != self.before[role].cpu
    }

    /// The number of samples, `None` if migrations were counted. It is an error if a role left its CPUs.
    pub(super) fn end(self) -> Result<Option<u64>, AdapterError> {
        for (role, &thread) in self.roles.iter().enumerate() {
            let (before, after, place) = (self.before[role], Whereabouts::read(thread), &self.places[role]);
            let moves =
                before.migrations.zip(after.migrations).map(|(before, after)| after - before.min(after));
            // A thread that slept on another CPU when it was pinned migrates once when it wakes.
            let expected = u64::from(before.cpu.is_none_or(|cpu| !place.contains(cpu)));
            if self.is_away(role, after.cpu)
                || self.stray == Some(role)
                || (place.len() == 1 && moves.is_some_and(|moves| moves > expected))
            {
                return Err(AdapterError::Moved { role, thread, place: place.clone(), times: 1 });
            }
        }
        Ok((self.samples > 0).then_some(self.samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_avoid_measured_cpus_if_possible() {
        let set = |list: &str| CpuSet::from_list(list).unwrap();
        let measured = [CpuId(0), CpuId(1)];
        let during = |helpers: Helpers, allowed: &str| helpers.during(&set(allowed), &measured);
        assert_eq!(during(Helpers::Apart, "0-3"), set("2-3"));
        assert_eq!(during(Helpers::Apart, "0-1"), set("0-1"));
        assert_eq!(during(Helpers::Measured, "0-3"), set("0-1"));
        assert_eq!(during(Helpers::On(set("3")), "0-3"), set("3"));
    }
}
