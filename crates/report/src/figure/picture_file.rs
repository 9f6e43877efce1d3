//! The picture file of `report -o FILE.svg` and `.png`: one run, or several runs in a grid.

use super::curves::{self, Room};
use super::heat_map::{difference_map, heat_map};
use super::{MARK, card, ladder, paragraph, placements, spread, timeline, wrapped};
use crate::alignment::pairing_words;
use crate::compare::answer;
use crate::difference::Differing;
use crate::fmt;
use crate::fmt::digits::{ns, plus_minus};
use crate::input::{Drawing, Map, ReportInput};
use crate::picture::{Anchor, Ink, Picture, SeriesName, Type};
use crate::text::plain;

const SIDE: f64 = 720.0;
const SMALL_SIDE: f64 = 400.0;
const MARGIN: f64 = 24.0;
const COLUMNS: usize = 3;
const COMPARISON_GAP: f64 = 12.0;

const TITLE: Type = Type::with_size(20.0).strong();
const SUBTITLE: Type = Type::with_size(13.0);

/// The picture file of one run; `None` without anything to draw.
pub fn picture_file(input: &ReportInput<'_>, drawing: Drawing) -> Option<Picture> {
    match input.run().and_then(|report| report.place.as_ref()) {
        // The rows of all tables do not fit into a card.
        Some(place) if place.result.comparisons.len() > 1 => {
            Some(framed(with_head_and_foot(input, drawing, SIDE)?))
        }
        _ => card::card(input, drawing),
    }
}

fn with_head_and_foot(input: &ReportInput<'_>, drawing: Drawing, side: f64) -> Option<Picture> {
    let main = main_figure(input, drawing, side)?;
    let width = main.width.max(side);
    Some(Picture::stacked(title_of(input), vec![head(input, width), main, foot(input)], 12.0))
}

/// The series and maps of a run that the picture shows; `runs` is the number of runs in the picture.
pub(super) fn shows(input: &ReportInput<'_>, drawing: Drawing, runs: usize) -> Vec<SeriesName> {
    let drawn = match runs {
        1 => picture_file(input, drawing),
        _ => main_figure(input, drawing, SMALL_SIDE),
    };
    drawn.map_or(Vec::new(), |picture| picture.shows)
}

/// Several runs, one map each, in the given order; for two runs also their difference.
pub fn picture_file_of_several(inputs: &[ReportInput<'_>], drawing: Drawing) -> Option<Picture> {
    let side = if inputs.len() == 2 { SIDE * 0.75 } else { SMALL_SIDE };
    let mut parts: Vec<Picture> =
        inputs.iter().filter_map(|input| with_head_and_foot(input, drawing, side)).collect();
    let title = parts.iter().map(|part| part.title.clone()).collect::<Vec<_>>().join(" beside ");
    if parts.len() == 2 {
        parts.extend(difference(inputs, drawing, side));
    }
    (!parts.is_empty()).then(|| framed(Picture::tiled(title, parts, COLUMNS, 32.0)))
}

/// The difference between two runs in words. If the first maps have the same pairs, their difference is added as a map.
fn difference(inputs: &[ReportInput<'_>], drawing: Drawing, side: f64) -> Option<Picture> {
    let differing = Differing::from_inputs(inputs)?;
    let maps = differing.maps();
    let map = maps.first().filter(|map| map.columns.measured() > 0 && map.columns.cpus.len() > 2);
    let words = differing.words()?;
    let drawn = map.map(|map| difference_map(&inputs[0], map, drawing, side));
    let width = drawn.as_ref().map_or(side, |drawn| drawn.width);
    let mut head = Picture::new("", width, 0.0);
    let called = words.called();
    let [first, second] = &called;
    let title = format!("Difference: {second} (second) compared with {first} (first)");
    let mut baseline = paragraph(&mut head, [0.0, 0.0], TITLE, &wrapped(&title, width, TITLE));
    let question = map.map(|map| map.question.clone());
    let explanation = question.clone().or_else(|| {
        pairing_words(words.alignment, words.comparison, &called).map(|sentence| fmt::sentence(&sentence))
    });
    for words in explanation.into_iter().chain([fmt::sentence(&answer(&words))]) {
        baseline = paragraph(&mut head, [0.0, baseline + 4.0], SUBTITLE, &wrapped(&words, width, SUBTITLE));
    }
    head.height = baseline + 4.0;
    let title = question.unwrap_or(title);
    Some(Picture::stacked(title, std::iter::once(head).chain(drawn).collect(), 12.0))
}

pub(super) fn title_of(input: &ReportInput<'_>) -> String {
    let marks: String = input.marks().iter().map(|mark| format!("{mark} ")).collect();
    let question = input.maps.first().map_or(String::new(), |map| format!(": {}", map.question));
    format!("{marks}{}{question}", input.machine())
}

/// The main figure of a run: map, one pair over time, ladder, curves or comparisons, whichever exists first.
fn main_figure(input: &ReportInput<'_>, drawing: Drawing, side: f64) -> Option<Picture> {
    let room = Room { is_chosen: !input.chosen.is_empty(), ..Room::PAGE };
    if let Some(axis) = drawing.cdf {
        let drawn = curves::curves(&input.outline.series, room).cdfs(axis);
        return card::fullest(input, drawn).map(|(picture, _)| picture);
    }
    let drawable = |map: &&Map| map.columns.measured() > 0 && map.columns.cpus.len() > 2;
    if let Some(map) = input.maps.iter().find(drawable) {
        return Some(heat_map(input, map, drawing, side));
    }
    let watch = || input.watch().and_then(|watch| timeline::timeline(watch, side, 320.0));
    let steps = || ladder::ladder(input.ladder(), input.topology(), side);
    let series = || {
        let drawn = curves::curves(&input.outline.series, Room { width: side, ..room }).headline;
        card::fullest(input, drawn).map(|(picture, _)| picture)
    };
    let compared = || {
        let drawn: Vec<Picture> = placements::all(input.run()?.place.as_ref()?, side).collect();
        Some(Picture::stacked(drawn.first()?.title.clone(), drawn, COMPARISON_GAP))
    };
    // If all cells are missing, the hatched map shows that.
    let hatched = || input.maps.iter().find(|map| map.columns.cpus.len() > 1);
    let cells = || hatched().map(|map| heat_map(input, map, drawing, side));
    watch().or_else(steps).or_else(series).or_else(compared).or_else(cells)
}

fn head(input: &ReportInput<'_>, width: f64) -> Picture {
    let mut picture = Picture::new("", width, 0.0);
    let mut baseline = 0.0;
    if let marks @ [_, ..] = input.marks().as_slice() {
        baseline += 13.0;
        picture.text(
            [0.0, baseline],
            Anchor::Start,
            Type::with_size(12.0).strong().in_ink(MARK),
            marks.join(" · "),
        );
    }
    baseline = paragraph(&mut picture, [0.0, baseline], TITLE, &wrapped(&input.machine(), width, TITLE));
    let faint = SUBTITLE.in_ink(Ink::Faint);
    baseline = paragraph(&mut picture, [0.0, baseline + 2.0], faint, &wrapped(&input.about(), width, faint));
    if let Some(map) = input.maps.first() {
        baseline = paragraph(
            &mut picture,
            [0.0, baseline + 4.0],
            SUBTITLE,
            &wrapped(&map.question, width, SUBTITLE),
        );
        if let Some(words) = only_pair(map).or_else(|| spread(map)) {
            let lines = wrapped(&words, width, SUBTITLE);
            baseline = paragraph(&mut picture, [0.0, baseline], SUBTITLE, &lines);
        }
    }
    picture.height = baseline + 4.0;
    picture
}

fn only_pair(map: &Map) -> Option<String> {
    let [from, to] = map.columns.cpus[..] else { return None };
    let median = (*map.columns.median.first()?)?;
    let words = match map.columns.interval.first().copied().flatten() {
        Some([low, high]) => {
            format!("{} {}", ns(median), plus_minus(median, (high - median).max(median - low)))
        }
        None => format!("{}, no interval", ns(median)),
    };
    Some(format!("CPU {from} ↔ CPU {to}: {words} {}", map.unit))
}

fn foot(input: &ReportInput<'_>) -> Picture {
    let mut picture = Picture::new("", 0.0, 14.0);
    picture.text(
        [0.0, 11.0],
        Anchor::Start,
        Type::with_size(11.0).in_ink(Ink::Faint),
        plain(&input.origin()),
    );
    picture
}

pub(super) fn framed(inner: Picture) -> Picture {
    let (width, height) = (inner.width + 2.0 * MARGIN, inner.height + 2.0 * MARGIN);
    let mut picture = Picture::new(inner.title.clone(), width, height);
    picture.insert(inner, [MARGIN, MARGIN]);
    picture
}
