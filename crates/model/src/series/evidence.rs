//! What went on around the passes of a trial: flags, how busy its roles kept their CPUs, and switches of its threads.

use super::PassOutcome;
use crate::latency::cell::TAINTED_SHARE;
use crate::recording::{clock_moved, was_stolen};
use crate::{Flag, Flags};

/// What passes say of themselves, and evidence of what went on around them where more than a tenth of them have it, as for
/// cells: a single disturbed pass decides no median.
pub(super) fn flags(passes: &[&PassOutcome]) -> Flags {
    let mut flags = Flags::NONE;
    let seen: Vec<Flags> = passes.iter().map(|pass| evidence(pass)).collect();
    for flag in Flag::ALL {
        let number = seen.iter().filter(|seen| seen.contains(*flag)).count();
        if number as f64 > TAINTED_SHARE * passes.len() as f64 {
            flags.set(*flag);
        }
    }
    for pass in passes {
        flags = flags.union(pass.observed.flags);
        if pass.coordinator_shared {
            flags.set(Flag::CoordShared);
        }
    }
    flags
}

/// What went on around a pass.
fn evidence(pass: &PassOutcome) -> Flags {
    let mut seen = Flags::NONE;
    for (flag, found) in [
        (Flag::Migrated, pass.roles.iter().any(|role| role.migrated)),
        (Flag::Steal, was_stolen(pass.steal_ms, pass.elapsed)),
        (Flag::Load, pass.others_busy),
        (Flag::Quota, pass.quota),
        // A thread that a quota stops while its clock is probed reads a slow one.
        (Flag::Freq, !pass.quota && pass.roles.iter().any(|role| role.core_ghz.is_some_and(clock_moved))),
    ] {
        if found {
            seen.set(flag);
        }
    }
    seen
}

/// Where time that a CPU lost is what was looked for, that it was lost casts no doubt on it.
pub(super) fn of_lost_time(mut flags: Flags) -> Flags {
    for found in [Flag::Steal, Flag::Preempted] {
        flags.clear(found);
    }
    flags
}

pub(super) fn busy(passes: &[&PassOutcome], roles: usize) -> Vec<Option<f64>> {
    let elapsed: f64 = passes.iter().map(|pass| pass.elapsed.ns()).sum();
    (0..roles)
        .map(|role| {
            let spent: Option<u64> =
                passes.iter().map(|pass| pass.roles.get(role).and_then(|role| role.cpu_ns)).sum();
            spent.filter(|_| elapsed > 0.0).map(|spent| spent as f64 / elapsed)
        })
        .collect()
}

pub(super) fn switches(passes: &[&PassOutcome]) -> Option<[u64; 2]> {
    let mut sum = [0u64; 2];
    for role in passes.iter().flat_map(|pass| &pass.roles) {
        sum[0] += u64::from(role.voluntary?);
        sum[1] += u64::from(role.involuntary?);
    }
    (!passes.is_empty()).then_some(sum)
}
