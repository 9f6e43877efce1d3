//! The figures of a report: heat map, curves, time line, intervals. Each figure is a [`Picture`].

pub mod batches;
mod card;
pub mod chart;
pub mod curves;
mod distribution;
pub mod heat_map;
pub mod intervals;
pub(super) mod key_numbers;
mod labels;
pub mod ladder;
pub mod load;
pub mod multiples;
pub mod picture_file;
pub mod placements;
pub mod queue;
pub mod sides;
pub mod spectra;
pub mod sweep;
pub mod timeline;
pub mod undrawn;

use super::fmt::digits::{count, grouped};
use super::input::Map;
use super::picture::{Ink, Picture, Type, Weight, text_width};

const BODY: Type = Type::with_size(12.0);
const SMALL: Type = Type::with_size(11.0);

const MARK: Ink = Ink::Rgb([0xb4, 0x3c, 0x00]);

fn wrapped(text: &str, width: f64, style: Type) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), style.size, style.weight) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn cut(text: &str, width: f64, size: f64) -> String {
    if text_width(text, size, Weight::Regular) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept, size, Weight::Regular) + text_width("…", size, Weight::Regular) > width {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

fn paragraph(picture: &mut Picture, [left, mut baseline]: [f64; 2], style: Type, lines: &[String]) -> f64 {
    for line in lines {
        baseline += style.size * 1.35;
        picture.text([left, baseline], super::picture::Anchor::Start, style, line);
    }
    baseline
}

fn spread(map: &Map) -> Option<String> {
    let columns = &map.columns;
    let doubtful = doubtful(map);
    let missing = columns.missing();
    let mut words = vec![count(columns.measured() as u64, "pair")];
    words.extend((doubtful > 0).then(|| format!("{} may be wrong (!)", grouped(doubtful as i64))));
    words.extend((missing > 0).then(|| format!("{} not measured (hatched)", grouped(missing as i64))));
    (!columns.median.is_empty()).then(|| words.join(" · "))
}

fn doubtful(map: &Map) -> usize {
    (0..map.columns.median.len()).filter(|&cell| map.columns.doubtful(cell)).count()
}
