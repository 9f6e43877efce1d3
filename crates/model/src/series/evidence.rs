//! Disturbances around the passes of a trial, CPU utilisation of its roles, and context switches of its threads.

use super::PassOutcome;
use super::headline::value_of_pass;
use crate::flags::TAINTED_SHARE;
use crate::recording::{clock_moved, was_stolen};
use crate::stats::Estimate;
use crate::{Flag, Flags, flags};

/// The flags set by the passes of a trial, and those from disturbances around the `median_passes`. `judged` is the name
/// of the value with its interval.
pub(super) fn flags(
    all: &[&PassOutcome],
    median_passes: &[&PassOutcome],
    judged: Option<(&str, &Estimate)>,
) -> Flags {
    let value = |pass: &PassOutcome| value_of_pass(pass, judged?.0);
    let around = median_passes.iter().map(|&pass| (evidence(pass), pass));
    let mut flags = flags::of_passes(around, value, judged.map(|(_, interval)| interval), &mut Vec::new());
    for pass in all {
        flags = flags.union(pass.observed.flags);
        if pass.coordinator_shared {
            flags.set(Flag::CoordShared);
        }
    }
    flags
}

/// Removes a minority of passes that waited for time slices: a runtime that polls before sleeping may do so sometimes.
pub(super) fn without_slices<'a>(passes: &[&'a PassOutcome]) -> Vec<&'a PassOutcome> {
    let is_sliced = |pass: &PassOutcome| pass.observed.flags.contains(Flag::SharedSpin);
    let sliced = passes.iter().filter(|pass| is_sliced(pass)).count();
    passes.iter().copied().filter(|pass| 2 * sliced > passes.len() || !is_sliced(pass)).collect()
}

pub(super) fn waits_for_quanta(passes: &[&PassOutcome]) -> bool {
    without_slices(passes).iter().any(|pass| pass.observed.flags.contains(Flag::SharedSpin))
}

/// Whether too many passes were removed, so that the kept passes may be a biased sample.
pub(super) fn are_many_left_out(kept: usize, all: usize) -> bool {
    (all - kept) as f64 > TAINTED_SHARE * all as f64
}

fn evidence(pass: &PassOutcome) -> Flags {
    let mut seen = Flags::NONE;
    for (flag, found) in [
        (Flag::Migrated, pass.roles.iter().any(|role| role.migrated)),
        (Flag::Steal, was_stolen(pass.steal_ms, pass.elapsed)),
        (Flag::Load, pass.others_busy),
        (Flag::Quota, pass.quota),
        // A quota that stops the thread during the clock probe imitates a slow clock.
        (Flag::Freq, !pass.quota && pass.roles.iter().any(|role| role.core_ghz.is_some_and(clock_moved))),
    ] {
        if found {
            seen.set(flag);
        }
    }
    seen
}

pub(super) fn of_lost_time(mut flags: Flags) -> Flags {
    for flag in [Flag::Steal, Flag::Preempted] {
        flags.clear(flag);
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
