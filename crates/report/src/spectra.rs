//! Distributions from files: a table of percentiles, and a plot on a nines axis.

use super::fmt::digits::count;
use super::plot::{Plot, ValueAxis};
use super::text::{cut, plain};
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::formats::{Percentile, Spectrum, TOLD_SHARES};
use std::collections::BTreeSet;

/// A distribution and its title.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectrumView {
    /// The title above the column and in the legend.
    pub title: String,
    /// The distribution.
    pub spectrum: Spectrum,
}

pub(super) fn name(views: &[SpectrumView]) -> String {
    match views {
        [one] => plain(&one.title),
        [one, other] => format!("{} and {}", plain(&one.title), plain(&other.title)),
        several => count(several.len() as u64, "distribution"),
    }
}

const NAMES: [&str; 8] = ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "max"];
const HEIGHT: usize = 16;
const MAX_TITLE_COLUMNS: usize = 24;
pub(super) const BOUNDS: &str = "≤: the file skips this percentile; it is at or below this value.";

/// The screen.
pub fn blocks(views: &[SpectrumView]) -> Vec<Block<'_>> {
    let values = Sentence::new("Values {words}").with("words", values_words(views));
    let mut blocks = vec![Block::Prose(values), Block::Gap, Block::Table(table(views))];
    if views.len() > 1 && units(views).len() == 1 {
        let first = Sentence::new("%: difference from {first}.").with_name("first", &views[0].title);
        blocks.push(Block::Prose(first));
    }
    if views.iter().any(has_bounds) {
        blocks.push(Block::Prose(BOUNDS.into()));
    }
    blocks.extend([Block::Gap, Block::drawing(|style| plot(views, style.width))]);
    blocks
}

/// The distinct units of some distributions; `None` stands for a file without a unit.
pub(super) fn units(views: &[SpectrumView]) -> BTreeSet<Option<&str>> {
    views.iter().map(|view| view.spectrum.unit.as_deref()).collect()
}

pub(super) fn unit_words(views: &[&SpectrumView]) -> String {
    let unit = views.first().and_then(|view| view.spectrum.unit.as_deref()).unwrap_or("unit of the file");
    let is_assumed = views.iter().any(|view| view.spectrum.is_assumed);
    format!("{}{}", plain(unit), if is_assumed { ", assumed" } else { "" })
}

pub(super) fn values_words(views: &[SpectrumView]) -> Sentence {
    let assumed = views.iter().filter(|view| view.spectrum.is_assumed);
    let assumed: Vec<Sentence> = assumed.map(|view| Sentence::name(&view.title)).collect();
    let units = units(views);
    let unit = units.first().copied().flatten();
    let template = match unit {
        _ if units.len() != 1 => "each in the unit of its own file; units may differ",
        Some(_) if assumed.is_empty() => "in {unit}",
        Some(_) if assumed.len() == views.len() => "in {unit}, assumed",
        Some(_) => "in {unit}, which is assumed of {titles}",
        None if views.len() > 1 => "in a unit that their files do not give",
        None => "in a unit that the file does not give",
    };
    Sentence::new(template)
        .with_name("unit", unit.unwrap_or_default())
        .with("titles", Sentence::joined(assumed, ", "))
}

pub(super) fn has_bounds(view: &SpectrumView) -> bool {
    TOLD_SHARES.iter().any(|share| matches!(view.spectrum.percentile(*share), Some(Percentile::AtMost(_))))
}

fn table(views: &[SpectrumView]) -> Table {
    let titles = views
        .iter()
        .map(|view| Column::numbers(Sentence::name(&cut(&plain(&view.title), MAX_TITLE_COLUMNS))));
    let columns: Vec<Column> = [Column::words("")].into_iter().chain(titles).collect();
    let rows = table_rows(views).into_iter();
    let row = |(name, cells): (_, Vec<Cell>)| [Cell::from(name)].into_iter().chain(cells).collect::<Vec<_>>();
    Table::new(columns).with(rows.map(row))
}

/// A name and one cell for each distribution; `·` if its file lacks the number. With equal units, percentiles include
/// the difference from the first distribution.
pub(super) fn table_rows(views: &[SpectrumView]) -> Vec<(&'static str, Vec<Cell>)> {
    let mut rows = Vec::new();
    let has_one_unit = units(views).len() == 1;
    for (name, share) in NAMES.into_iter().zip(TOLD_SHARES) {
        let found: Vec<Option<Percentile>> =
            views.iter().map(|view| view.spectrum.percentile(share)).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let first = found[0];
        let cell = |(index, found): (usize, Option<Percentile>)| {
            let value = |value| file_value(value, views[index].spectrum.digits);
            match (found, first) {
                (None, _) => Cell::Unknown,
                (Some(Percentile::Exact(point)), Some(Percentile::Exact(reference)))
                    if index > 0 && has_one_unit && reference > 0.0 =>
                {
                    let difference =
                        DisplayValue::bare(Number::Difference(point / reference - 1.0), Source::Unrecorded);
                    Sentence::new("{value} {difference}")
                        .with("value", value(point))
                        .with("difference", difference)
                        .into()
                }
                (Some(Percentile::Exact(point)), _) => value(point).into(),
                (Some(Percentile::AtMost(bound)), _) => {
                    Sentence::new("≤{value}").with("value", value(bound)).into()
                }
            }
        };
        rows.push((name, found.into_iter().enumerate().map(cell).collect()));
    }
    // The mean of whole numbers may have decimals.
    let number = |view: &SpectrumView, value: Option<f64>| {
        Cell::known(value.map(|value| file_value(value, view.spectrum.digits.max(1))))
    };
    let mut row =
        |name, cell: &dyn Fn(&SpectrumView) -> Cell| rows.push((name, views.iter().map(cell).collect()));
    if views.iter().any(|view| view.spectrum.mean.is_some()) {
        row("mean", &|view| number(view, view.spectrum.mean));
        row("deviation", &|view| number(view, view.spectrum.deviation));
    }
    row("count", &|view| match view.spectrum.total() {
        0 => "no events".into(),
        total => DisplayValue::bare(Number::Count(total), Source::Unrecorded).into(),
    });
    rows
}

fn file_value(value: f64, decimals: usize) -> DisplayValue {
    let unit = DisplayUnit::AsInFile(decimals);
    DisplayValue { unit, ..DisplayValue::bare(Number::Point(value), Source::Unrecorded) }
}

fn plot(views: &[SpectrumView], width: usize) -> Vec<String> {
    let rows = || views.iter().flat_map(|view| &view.spectrum.rows);
    let most = views.iter().map(|view| view.spectrum.total()).max().unwrap_or(0);
    let values: Vec<f64> = rows().map(|row| row.value).collect();
    let Some(values) = ValueAxis::over(&values).filter(|_| most > 0) else { return Vec::new() };
    // Number of nines at the right end: 3 is 99.9 %.
    let nines = (most as f64).log10().max(1.0);
    let curves = views.iter().map(|view| {
        let value_at = move |position: f64, _: f64| {
            let share = 1.0 - 10f64.powf(-nines * position);
            Some(view.spectrum.rows.iter().find(|row| row.share >= share)?.value)
        };
        (plain(&view.title), Box::new(value_at) as Box<dyn Fn(f64, f64) -> Option<f64>>)
    });
    let ticks = (0..=nines as usize).map(|tick| {
        let name = match tick {
            0 => "0".to_owned(),
            1 => "90".to_owned(),
            2 => "99".to_owned(),
            more => format!("99.{}", "9".repeat(more - 2)),
        };
        (tick as f64 / nines, name)
    });
    Plot { values, curves: curves.collect(), ticks: ticks.collect(), unit: "%", height: HEIGHT }.lines(width)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Style;
    use crate::render::terminal;
    use crate::text::columns;
    use coretalk_model::formats::SpectrumRow;

    fn screen(views: &[SpectrumView], width: usize) -> String {
        terminal::screen(&blocks(views), &Style::of_width(width))
    }

    /// A distribution with these rows: value, share, count.
    pub fn view(title: &str, values: &[(f64, f64, u64)]) -> SpectrumView {
        let rows = values.iter().map(|&(value, share, count)| SpectrumRow { value, share, count }).collect();
        let (name, unit, mean, deviation) = (None, None, None, None);
        let warnings = Vec::new();
        let spectrum = Spectrum { name, unit, is_assumed: false, digits: 1, rows, mean, deviation, warnings };
        SpectrumView { title: title.to_owned(), spectrum }
    }

    #[test]
    fn tables_and_plots_fit_and_overlay() {
        let one = view("first", &[(10.0, 0.0, 1), (20.0, 0.5, 50), (30.0, 0.9, 90), (5_000.0, 1.0, 1_000)]);
        let other =
            view("a name that is far too long for a column of a table", &[(15.0, 0.5, 5), (16.0, 1.0, 900)]);
        for width in [40, 80, 160] {
            let views = vec![one.clone(), other.clone(), one.clone(), other.clone(), one.clone()];
            let screen = screen(&views, width);
            assert!(screen.lines().all(|line| columns(line) <= width), "{screen}");
            assert!(["5000.0", "99.9", " o "].iter().all(|part| screen.contains(part)), "{screen}");
        }
    }

    #[test]
    fn narrow_ranges_start_at_zero_and_empty_plots_are_omitted() {
        let flat = view("flat", &[(7.0, 0.0, 1), (7.0, 1.0, 100)]);
        let screen = screen(std::slice::from_ref(&flat), 60);
        assert!(screen.contains("7.00 ┤*") && screen.contains("0 ┤"), "{screen}");
        assert_eq!(plot(&[view("none", &[])], 60), Vec::<String>::new());
    }

    #[test]
    fn huge_values_take_few_columns() {
        let odd = view("odd", &[(1.0, 0.5, 50), (1e300, 1.0, 100)]);
        let screen = screen(std::slice::from_ref(&odd), 60);
        assert!(screen.contains("1.000e300") && screen.lines().all(|line| columns(line) <= 60), "{screen}");
    }
}
