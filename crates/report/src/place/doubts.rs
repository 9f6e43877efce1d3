//! Doubts about runs on placements, and the output of a failed run.

use super::numbers::{given, noun, of_doubt, quoted};
use crate::blocks::Block;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source};
use crate::text::{cut, plain};
use coretalk_model::Flag;
use coretalk_model::place::{COMMAND, Failed, PlacementConditions};
use coretalk_model::quantity::Unit;
use coretalk_model::run::PlaceReport;

pub(super) fn doubts<'a>(place: &PlaceReport, doubt: &PlacementConditions) -> Vec<Block<'a>> {
    let value = |field, number| DisplayValue::bare(number, of_doubt(place, doubt, field));
    let share = |field, known: Option<f64>| {
        known
            .map_or(Arg::from("some"), |share| value(field, Number::Point(share)).in_unit(Unit::Share).into())
    };
    let mut parts: Vec<Sentence> = Vec::new();
    if let Some(Failed { runs, reason, .. }) = &doubt.failed {
        let runs = value("failed/runs", Number::Count(u64::from(*runs)));
        parts
            .push(Sentence::pluralized("{number} run{s} failed: {reason}", runs).with_name("reason", reason));
    }
    let run_counts = |template, some: u32| {
        Sentence::pluralized(template, DisplayValue::listed(doubt.runs as usize))
            .with("some", DisplayValue::listed(some as usize))
    };
    if doubt.left > 0 {
        let template = "in at least {some} of {number} run{s} one of its processes or threads was allowed on other CPUs and \
            may have run there: the command changes its own affinity";
        parts.push(run_counts(template, doubt.left));
    }
    if doubt.narrowed > 0 {
        let template = "in at least {some} of {number} run{s} one of its processes or threads pinned itself to some of the \
            CPUs";
        parts.push(run_counts(template, doubt.narrowed));
    }
    if doubt.orphans > 0 {
        let template = "{some} of {number} run{s} left processes behind, which were killed";
        parts.push(run_counts(template, doubt.orphans));
    }
    if let Some(wall_s) = doubt.crowded_s {
        let template =
            "its runs last {time}, including their start by coretalk, which has no CPU of its own here";
        let time = DisplayValue::bare(Number::Duration(wall_s), Source::Listed);
        parts.push(Sentence::new(template).with("time", time));
    }
    if doubt.flags.contains(Flag::Quota) {
        parts.push("the CPU quota stopped it while it ran".into());
    }
    if doubt.flags.contains(Flag::Freq) {
        let clock = doubt.core_ghz.map(|ghz| {
            let unit = DisplayUnit::Decimals(2);
            let ghz = DisplayValue { unit, ..value("core_ghz", Number::Point(ghz)) };
            Sentence::new(" (here {ghz} GHz)").with("ghz", ghz)
        });
        let sentence = Sentence::new("the core clock changed or differs between {noun}s{clock}");
        parts.push(
            sentence.with("noun", noun(&place.settings)).with("clock", clock.unwrap_or_else(|| "".into())),
        );
    }
    if doubt.flags.contains(Flag::Preempted) {
        let sentence = Sentence::new(
            "other programs took {others} of the time of its CPUs, and its threads waited {waited} of the time that they \
             were ready to run; stop those programs and compare again",
        );
        let sentence = sentence.with("others", share("others_percent", doubt.others));
        parts.push(sentence.with("waited", share("waited_percent", doubt.waited)));
    }
    if doubt.flags.contains(Flag::Steal) {
        let stolen = doubt.stolen.map(|share| {
            let share = DisplayValue::bare(Number::Point(share), Source::Listed).in_unit(Unit::Share);
            Sentence::new(" {share}").with("share", share)
        });
        let sentence = Sentence::new("other guests or the host took{stolen} of the time of its CPUs");
        parts.push(sentence.with("stolen", stolen.unwrap_or_else(|| "".into())));
    }
    if doubt.flags.contains(Flag::Multimodal) {
        parts.push("its runs have several modes".into());
    }
    let work = if doubt.work == COMMAND { "command" } else { &doubt.work };
    let of_work = |part| {
        let template = match place.settings.versus {
            Some(_) => "arm {placement}: {part}",
            None => "{work} on {placement}: {part}",
        };
        let sentence = Sentence::new(template).with("work", given(work));
        Block::Doubt(sentence.with("placement", quoted(&doubt.placement)).with("part", part))
    };
    parts.into_iter().map(of_work).collect()
}

const SHOWN_LINES: usize = 20;

/// The output of the last failed run. Only the user's own terminal shows it, never a report.
pub(super) fn streams(doubt: &PlacementConditions) -> Vec<Block<'_>> {
    let Some(failed) = &doubt.failed else { return Vec::new() };
    let mut blocks = Vec::new();
    for (stream, text) in [("standard error", &failed.stderr), ("standard output", &failed.stdout)] {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let left_out = lines.len().saturating_sub(SHOWN_LINES);
        let template = match left_out {
            0 => "on {placement} it wrote to {stream}:",
            _ => "on {placement} it wrote to {stream}, its last {lines} lines:",
        };
        let sentence =
            Sentence::new(template).with("placement", quoted(&doubt.placement)).with("stream", stream);
        blocks.push(Block::Item(sentence.with("lines", DisplayValue::listed(SHOWN_LINES))));
        blocks.push(Block::drawing(move |style| {
            lines[left_out..]
                .iter()
                .map(|line| cut(&format!("     {}", plain(line)), style.width))
                .collect::<Vec<_>>()
        }));
    }
    blocks
}
