//! The picture to share: one run in 1,200 × 630 pixels, readable as a small preview.

use super::curves::{self, Room};
use super::heat_map::{SmallMap, small_map};
use super::key_numbers::{answer_of, key_numbers, main_map, said_of};
use super::{MARK, cut, doubtful, ladder, paragraph, placements, queue, spread, timeline, wrapped};
use crate::answer::KeyNumber;
use crate::fmt;
use crate::fmt::digits::with_letter;
use crate::input::{Drawing, Map, ReportInput};
use crate::palette::Colors;
use crate::picture::{Anchor, Ink, Picture, Shape, Type, Weight, text_width};
use crate::text::plain;
use crate::trial_words::question_text;
use coretalk_model::probes;
use std::collections::BTreeSet;

/// Size in units; a PNG has two pixels per unit. Text of size 11 stays readable at half that scale.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 315.0;
const MARGIN: f64 = 20.0;
const FOOTER_TOP: f64 = HEIGHT - MARGIN - 32.0;
const GAP: f64 = 20.0;
const ROW: f64 = 38.0;

const TITLE: Type = Type::with_size(22.0).strong();
const SMALL_TITLE: Type = Type::with_size(17.0).strong();
const SENTENCE: Type = Type::with_size(13.0);
const FAINT: Type = Type::with_size(11.0).in_ink(Ink::Faint);
const FOOT: Type = Type::with_size(10.0).in_ink(Ink::Faint);

pub(super) fn card(input: &ReportInput<'_>, drawing: Drawing) -> Option<Picture> {
    if let Some(axis) = drawing.cdf {
        return of_chart(input, |room| {
            fullest(input, curves::curves(&input.outline.series, room).cdfs(axis))
        });
    }
    if queue::is_one(input)
        && let Some(picture) =
            of_chart(input, |room| fullest(input, queue::over_capacities(input, room.chart)))
    {
        return Some(picture);
    }
    if let Some(map) = main_map(input) {
        return Some(of_map(input, map, drawing));
    }
    // If all cells are missing, the hatched map shows that.
    let hatched = || input.maps.iter().find(|map| map.columns.cpus.len() > 1);
    of_chart(input, |room| chart(input, room)).or_else(|| Some(of_map(input, hatched()?, drawing)))
}

fn of_map(input: &ReportInput<'_>, map: &Map, drawing: Drawing) -> Picture {
    let answer = answer_of(input, map);
    let sentence =
        answer.as_ref().map_or_else(|| map.question.clone(), |answer| fmt::sentence(&answer.sentence));
    let mut picture = Picture::new(format!("{}: {sentence}", titled(input)), WIDTH, HEIGHT);
    let SmallMap { picture: drawn, colors, words } =
        small_map(input, map, drawing, FOOTER_TOP - 16.0 - MARGIN);
    let left = MARGIN + drawn.width + GAP;
    let width = WIDTH - MARGIN - left;
    picture.insert_within(drawn, [MARGIN, MARGIN, WIDTH, HEIGHT]);
    let mut baseline = head(&mut picture, input, [left, MARGIN - 6.0], width, 4);
    let numbers = key_numbers(input, map, answer.as_ref());
    if numbers.is_empty() {
        baseline =
            paragraph(&mut picture, [left, baseline + 4.0], SENTENCE, &wrapped(&sentence, width, SENTENCE));
    }
    let doubt = answer.and_then(|answer| answer.doubt).map(|doubt| format!("! {doubt}"));
    let spread = spread(map).map(|words| (words, doubtful(map) > 0));
    for (words, is_doubt) in spread.into_iter().chain(doubt.map(|doubt| (doubt, true))) {
        let style = if is_doubt { FAINT.in_ink(MARK) } else { FAINT };
        baseline = paragraph(&mut picture, [left, baseline + 2.0], style, &wrapped(&words, width, style));
    }
    let top = FOOTER_TOP - 16.0 - ROW * numbers.len() as f64;
    draw_numbers(&mut picture, &numbers, map, colors, [left, top.max(baseline + 6.0)], width);
    let maps = input.maps.iter().filter(|map| map.columns.measured() > 0).count();
    let others = (maps > 1).then(|| format!("one of {maps} maps of this run"));
    let notes: Vec<String> = words.into_iter().chain(others).collect();
    foot(&mut picture, input, &map.question, &notes.join("; "));
    picture
}

/// A figure as wide as the picture, below the name of the machine; `None` if nothing fits into the rest.
fn of_chart(
    input: &ReportInput<'_>,
    draw: impl FnOnce(Room) -> Option<(Picture, String)>,
) -> Option<Picture> {
    let mut picture = Picture::new(titled(input), WIDTH, HEIGHT);
    let width = WIDTH - 2.0 * MARGIN;
    let mut baseline = head(&mut picture, input, [MARGIN, MARGIN - 12.0], width, 2);
    if let Some(sentence) = input.run().and_then(said_of) {
        baseline = paragraph(
            &mut picture,
            [MARGIN, baseline + 4.0],
            SENTENCE,
            &lines(&sentence, width, SENTENCE, 2),
        );
    }
    let method = method_of(input);
    let (top, bottom) =
        (baseline + 8.0, if method.is_empty() { FOOTER_TOP + 26.0 } else { FOOTER_TOP - 2.0 });
    let height = bottom - top;
    let room = Room {
        width,
        most_rows: rows_in(height),
        chart: [width, height],
        is_one_chart: true,
        is_chosen: !input.chosen.is_empty(),
    };
    let (figure, notes) = draw(room)?;
    picture.title = format!("{}: {}", picture.title, figure.title);
    picture.insert_within(figure, [MARGIN, top, width, height]);
    foot(&mut picture, input, &method, &notes);
    Some(picture)
}

fn rows_in(height: f64) -> usize {
    ((height - 78.0) / 22.0).max(1.0) as usize
}

/// The figure of a run without a map, and a note on others: one pair over time, else the ladder, else the chart with
/// most curves, else comparisons of placements, else queues.
fn chart(input: &ReportInput<'_>, room: Room) -> Option<(Picture, String)> {
    let [width, height] = room.chart;
    let watch = || input.watch().and_then(|watch| timeline::timeline(watch, width, height));
    let steps = || {
        let steps = input.ladder();
        // One row is the heading of the pairs.
        let fitting = steps.len().min(room.most_rows.saturating_sub(1));
        ladder::ladder(&steps[..fitting], input.topology(), width)
    };
    let curves = || fullest(input, curves::curves(&input.outline.series, room).headline);
    let compared = || {
        // Only the first comparison; the picture file of a run stacks all of them.
        placements::all(input.run()?.place.as_ref()?, width).next()
    };
    let queues = || {
        let maps = input.maps.len();
        let note = format!("drawn from {maps} maps");
        Some((queue::beside_each_other(input, room.chart)?, if maps > 1 { note } else { String::new() }))
    };
    let without_note = |picture| (picture, String::new());
    watch()
        .or_else(steps)
        .map(without_note)
        .or_else(curves)
        .or_else(|| compared().map(without_note))
        .or_else(queues)
}

/// The chart with most curves among those that show most of the chosen series, and a note if there are others.
pub(super) fn fullest(input: &ReportInput<'_>, mut charts: Vec<Picture>) -> Option<(Picture, String)> {
    let note = match charts.len() {
        0 | 1 => String::new(),
        all => format!("one of {all} charts of this run"),
    };
    charts.reverse();
    let shown_chosen =
        |chart: &Picture| chart.shows.iter().map(|name| input.chosen_by(name)).collect::<BTreeSet<_>>().len();
    Some((charts.into_iter().max_by_key(|chart| (shown_chosen(chart), drawn_in(chart)))?, note))
}

fn method_of(input: &ReportInput<'_>) -> String {
    let of_map = || match &input.maps[..] {
        [map] => Some(map.question.clone()),
        _ => None,
    };
    let probe = || probes::declaration(input.run()?.series.as_ref()?.settings.probes.first()?);
    let of_probe = || Some(fmt::sentence(&question_text(probe()?)));
    of_map().or_else(of_probe).unwrap_or_default()
}

fn drawn_in(chart: &Picture) -> usize {
    let is_drawn = |shape: &&Shape| {
        matches!(shape, Shape::Line(_, Ink::Series(_), _) | Shape::Disc(_, _, Ink::Series(_)))
    };
    chart.shapes.iter().filter(is_drawn).count()
}

fn draw_numbers(
    picture: &mut Picture,
    numbers: &[KeyNumber],
    map: &Map,
    colors: Colors,
    [left, top]: [f64; 2],
    width: f64,
) {
    let digits = Type::with_size(26.0).strong();
    let width_of = |number: &KeyNumber| text_width(&with_letter(number.ns), digits.size, digits.weight);
    let begin = left + 12.0;
    let unit_at = begin + numbers.iter().map(width_of).fold(0.0, f64::max) + 4.0;
    let words_at = unit_at + text_width(&map.unit, SENTENCE.size, SENTENCE.weight) + 10.0;
    for (row, number) in (0..).zip(numbers) {
        let middle = top + ROW * (f64::from(row) + 0.5);
        picture.rect([left, middle - 14.0, 5.0, 28.0], Ink::Rgb(colors.rgb(number.ns)));
        picture.text([begin, middle + 9.0], Anchor::Start, digits, with_letter(number.ns));
        picture.text([unit_at, middle + 9.0], Anchor::Start, SENTENCE.in_ink(Ink::Faint), &map.unit);
        let room = left + width - words_at;
        let mut lines = wrapped(&number.words, room, SENTENCE);
        lines.truncate(2);
        let first = middle + 4.0
            - if lines.len() > 1 { SENTENCE.size * 1.35 / 2.0 } else { 0.0 }
            - SENTENCE.size * 1.35;
        paragraph(picture, [words_at, first + if lines.len() > 1 { 0.0 } else { 5.0 }], SENTENCE, &lines);
    }
}

/// Draws the machine, then marks, size, system and time in at most `most` lines. Returns the last baseline.
fn head(
    picture: &mut Picture,
    input: &ReportInput<'_>,
    [left, mut baseline]: [f64; 2],
    width: f64,
    most: usize,
) -> f64 {
    let machine = input.machine();
    let fits = text_width(&machine, TITLE.size, TITLE.weight) <= width;
    let style = if fits { TITLE } else { SMALL_TITLE };
    baseline = paragraph(picture, [left, baseline], style, &lines(&machine, width, style, 2));
    let (marks, about) = (input.marks().join(" · "), input.about());
    let mark_style = FAINT.strong().in_ink(MARK);
    let marks_width = match marks.as_str() {
        "" => 0.0,
        marks => text_width(marks, mark_style.size, mark_style.weight) + 8.0,
    };
    let first = baseline + 2.0 + mark_style.size * 1.35;
    picture.text([left, first], Anchor::Start, mark_style, marks);
    if marks_width + text_width(&about, FAINT.size, FAINT.weight) <= width {
        picture.text([left + marks_width, first], Anchor::Start, FAINT, about);
        return first;
    }
    let above = if marks_width > 0.0 { first } else { baseline + 2.0 };
    paragraph(picture, [left, above], FAINT, &lines(&about, width, FAINT, most))
}

fn lines(text: &str, width: f64, style: Type, most: usize) -> Vec<String> {
    // `cut` measures regular letters; bold letters are wider.
    let width = if style.weight == Weight::Medium { 0.96 * width } else { width };
    let mut lines = wrapped(text, width, style);
    if lines.len() > most {
        let rest = lines.split_off(most - 1).join(" ");
        lines.push(rest);
    }
    // A word may be wider than the picture.
    lines.iter().map(|line| cut(line, width, style.size)).collect()
}

fn foot(picture: &mut Picture, input: &ReportInput<'_>, method: &str, notes: &str) {
    let (width, origin) = (WIDTH - 2.0 * MARGIN, plain(&input.origin()));
    let mut below = lines(method, width, FOOT, 1);
    let notes = wrapped(notes, width, FOOT);
    if let Some((first, rest)) = notes.split_first() {
        below.push(first.clone());
        let room = width - text_width(&origin, FOOT.size, FOOT.weight) - 16.0;
        below.extend(lines(&rest.join(" "), room, FOOT, 1));
    }
    paragraph(picture, [MARGIN, FOOTER_TOP], FOOT, &below);
    picture.text([WIDTH - MARGIN, FOOTER_TOP + 3.0 * 1.35 * FOOT.size], Anchor::End, FOOT, origin);
}

fn titled(input: &ReportInput<'_>) -> String {
    let marks: String = input.marks().iter().map(|mark| format!("{mark} ")).collect();
    marks + &input.machine()
}
