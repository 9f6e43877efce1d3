//! What to doubt about runs on placements, and what a run that failed wrote.

use crate::blocks::Block;
use crate::report::text::{count, cut, duration, percent, plain};
use coretalk_model::Flag;
use coretalk_model::place::{COMMAND, Doubt, Failed};

/// What a reader has to know of the runs of a piece of work on a placement.
pub(super) fn doubts<'a>(doubt: &Doubt) -> Vec<Block<'a>> {
    let mut parts = Vec::new();
    if let Some(Failed { runs, reason, .. }) = &doubt.failed {
        parts.push(format!("{} failed: {}", count(u64::from(*runs), "run"), plain(reason)));
    }
    let runs = |some: u32| format!("{some} of {}", count(u64::from(doubt.runs), "run"));
    if doubt.left > 0 {
        parts.push(format!(
            "in at least {} one of its processes or threads was allowed on other CPUs and may have run there: \
             the command changes its own affinity",
            runs(doubt.left)
        ));
    }
    if doubt.narrowed > 0 {
        parts.push(format!(
            "in at least {} one of its processes or threads pinned itself to some of the CPUs",
            runs(doubt.narrowed)
        ));
    }
    if doubt.orphans > 0 {
        parts.push(format!("{} left processes behind, which were killed", runs(doubt.orphans)));
    }
    if let Some(wall_s) = doubt.crowded_s {
        parts.push(format!(
            "its runs last {}, including their start by coretalk, which has no CPU of its own here",
            duration(wall_s)
        ));
    }
    if doubt.flags.contains(Flag::Quota) {
        parts.push("the CPU quota stopped it while it ran".to_owned());
    }
    if doubt.flags.contains(Flag::Freq) {
        let clock = doubt.core_ghz.map_or(String::new(), |ghz| format!(" (here {ghz:.2} GHz)"));
        parts.push(format!("the core clock changed or differs between placements{clock}"));
    }
    if doubt.flags.contains(Flag::Preempted) {
        let share = |of: Option<f64>| of.map_or_else(|| "some".to_owned(), percent);
        parts.push(format!(
            "other programs took {} of the time of its CPUs, and its threads waited {} of the time that they were \
             ready to run; stop those programs and compare again",
            share(doubt.others),
            share(doubt.waited)
        ));
    }
    if doubt.flags.contains(Flag::Steal) {
        let stolen = doubt.stolen.map_or(String::new(), |share| format!(" {}", percent(share)));
        parts.push(format!("other guests or the host took{stolen} of the time of its CPUs"));
    }
    if doubt.flags.contains(Flag::Multimodal) {
        parts.push("its runs have several modes".to_owned());
    }
    let work = if doubt.work == COMMAND { "command" } else { &doubt.work };
    let of = format!("{work} on `{}`", plain(&doubt.placement));
    parts.into_iter().map(|part| Block::Doubt(format!("{of}: {part}").into())).collect()
}

/// Lines of each stream of a run that failed that are shown.
const SHOWN_LINES: usize = 20;

/// What the last run that failed wrote: for whoever looks at the run on the own terminal, and in no report.
pub(super) fn streams(doubt: &Doubt) -> Vec<Block<'_>> {
    let Some(failed) = &doubt.failed else { return Vec::new() };
    let mut blocks = Vec::new();
    for (stream, text) in [("standard error", &failed.stderr), ("standard output", &failed.stdout)] {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let left_out = lines.len().saturating_sub(SHOWN_LINES);
        let last = if left_out > 0 { format!(", its last {SHOWN_LINES} lines") } else { String::new() };
        blocks.push(Block::Item(
            format!("on `{}` it wrote to {stream}{last}:", plain(&doubt.placement)).into(),
        ));
        blocks.push(Block::drawing(move |style| {
            lines[left_out..].iter().map(|line| cut(&format!("     {}", plain(line)), style.width)).collect()
        }));
    }
    blocks
}
