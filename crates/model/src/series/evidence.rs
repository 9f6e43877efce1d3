//! What went on around the passes of a trial: flags, how busy its roles kept their CPUs, and switches of its threads.

use super::PassOutcome;
use super::headline::value_of_pass;
use crate::flags::TAINTED_SHARE;
use crate::recording::{clock_moved, was_stolen};
use crate::stats::Estimate;
use crate::{Flag, Flags, flags};

/// The flags of a trial: those that its passes report of themselves, and what went on around the `alike` ones that its
/// value is made of. `judged` is the name of that value with its interval.
pub(super) fn flags(
    all: &[&PassOutcome],
    alike: &[&PassOutcome],
    judged: Option<(&str, &Estimate)>,
) -> Flags {
    let value = |pass: &PassOutcome| value_of_pass(pass, judged?.0);
    let around = alike.iter().map(|pass| (evidence(pass), value(pass)));
    let mut flags = flags::of_passes(around, judged.map(|(_, interval)| interval), &mut Vec::new());
    for pass in all {
        flags = flags.union(pass.observed.flags);
        if pass.coordinator_shared {
            flags.set(Flag::CoordShared);
        }
    }
    flags
}

/// The passes of a trial that its number is taken from: all but those that hung on time slices, where these are not most. A
/// runtime that polls before it sleeps now and then hands over at the end of slices alone, which says nothing of its other
/// passes. Where most passes do, the trial is one of time slices, and all of them stay.
pub(super) fn without_slices<'a>(passes: &[&'a PassOutcome]) -> Vec<&'a PassOutcome> {
    let hangs = |pass: &PassOutcome| pass.observed.flags.contains(Flag::SharedSpin);
    let hanging = passes.iter().filter(|pass| hangs(pass)).count();
    passes.iter().copied().filter(|pass| 2 * hanging > passes.len() || !hangs(pass)).collect()
}

/// Whether most passes of a trial hang on time slices, which is no number of what was asked about.
pub(super) fn hangs_on_slices(passes: &[&PassOutcome]) -> bool {
    without_slices(passes).iter().any(|pass| pass.observed.flags.contains(Flag::SharedSpin))
}

/// Whether so many of the passes are left out that the others may be no fair sample of them.
pub(super) fn are_many_left_out(kept: usize, all: usize) -> bool {
    (all - kept) as f64 > TAINTED_SHARE * all as f64
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
