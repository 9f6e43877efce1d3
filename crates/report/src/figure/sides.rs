//! Throughput of a queue by its numbers of producers and consumers: one coloured field for each combination.

use super::{BODY, SMALL};
use crate::fmt;
use crate::fmt::digits::{fixed, million};
use crate::palette::Colors;
use crate::picture::{Anchor, Ink, Picture};
use crate::queue::sides::{mark, scale, title};
use coretalk_model::queue::{SideGrid, names, side_grids};
use coretalk_model::run::RunReport;

const FIELD: [f64; 2] = [110.0, 46.0];
const LEFT: f64 = 90.0;
const TOP: f64 = 44.0;

/// A map for each queue with several numbers of producers or consumers.
pub fn maps(report: &RunReport, width: f64) -> Vec<Picture> {
    let grids = report.series.iter().flat_map(|series| side_grids(&series.result));
    grids.filter(SideGrid::has_several).map(|grid| map(&grid, width)).collect()
}

fn map(grid: &SideGrid<'_>, width: f64) -> Picture {
    let [producers, consumers] = &grid.sides;
    let field_width = FIELD[0].min((width - LEFT) / consumers.len().max(1) as f64);
    let height = TOP + FIELD[1] * producers.len() as f64 + 4.0;
    let what = format!("{}: million messages per second", fmt::sentence(&title(grid)));
    let mut picture = Picture::new(
        what.clone(),
        (LEFT + field_width * consumers.len() as f64).max(width.min(420.0)),
        height,
    );
    picture.text([0.0, BODY.size], Anchor::Start, BODY.strong(), what);
    let faint = SMALL.in_ink(Ink::Faint);
    for (column, count) in consumers.iter().enumerate() {
        let at = [LEFT + field_width * (column as f64 + 0.5), TOP - 8.0];
        picture.text(at, Anchor::Middle, faint, words(*count, "consumer", field_width));
    }
    for (row, count) in producers.iter().enumerate() {
        let top = TOP + FIELD[1] * row as f64;
        let at = [LEFT - 8.0, top + FIELD[1] / 2.0 + 4.0];
        picture.text(at, Anchor::End, faint, words(*count, "producer", LEFT));
        for (column, other) in consumers.iter().enumerate() {
            let left = LEFT + field_width * column as f64;
            let area = [left + 1.0, top + 1.0, field_width - 2.0, FIELD[1] - 2.0];
            let trial = grid.at([*count, *other]);
            let rate = trial.and_then(|trial| Some((trial, trial.values.get(names::RATE)?.point)));
            let (Some((trial, rate)), Some(scale)) = (rate, scale(grid)) else {
                picture.rect(area, Ink::Line);
                continue;
            };
            let colors = Colors::Level(scale);
            picture.rect(area, Ink::Rgb(colors.rgb(1e9 / rate)));
            let ink = Ink::Rgb(if colors.wants_dark_text(1e9 / rate) { [0, 0, 0] } else { [255, 255, 255] });
            let middle = left + field_width / 2.0;
            let text = million(rate) + &mark(trial).map(String::from).unwrap_or_default();
            picture.text([middle, top + 20.0], Anchor::Middle, BODY.in_ink(ink), &text);
            let fair: Vec<f64> =
                names::FAIRNESS.iter().filter_map(|name| Some(trial.values.get(*name)?.point)).collect();
            if let Some(least) = fair.into_iter().reduce(f64::min) {
                picture.text(
                    [middle, top + 36.0],
                    Anchor::Middle,
                    SMALL.in_ink(ink),
                    format!("fair {}", fixed(least, 2)),
                );
            }
        }
    }
    picture
}

fn words(count: u32, noun: &str, room: f64) -> String {
    match room < 80.0 {
        true => count.to_string(),
        false => crate::fmt::digits::count(u64::from(count), noun),
    }
}
