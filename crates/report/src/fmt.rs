//! Formats numbers and sentences: [`DisplayValue`], [`Sentence`] and [`Cell`] become text here.

pub mod digits;

use super::scope;
use super::text::{capitalized, plain};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, PlainText, Sentence, Source};
use crate::blocks::{Cell, Drawing, DrawnNumber, Table};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use digits::{
    as_in_file, binary_bytes, bytes, chosen_rate, chosen_time, duration, figure, fixed, grouped, million, ns,
    of_any_size, p_value, percent, plus_minus, short_ns, signed_percent,
};

/// A number with its interval and its unit, unless the column states the unit.
pub fn value(value: &DisplayValue) -> String {
    point(value).join(" ").trim_end().to_owned() + &interval(value)
}

/// A number without its interval, and its unit: `["3.61", "µs"]`, `["74.2", "M"]`. The unit may be empty.
pub fn point(value: &DisplayValue) -> [String; 2] {
    let DisplayValue { number, unit, .. } = value;
    let (text, unit) = match (number, unit) {
        (Number::Count(count), DisplayUnit::Duration(seconds)) => (duration(*count as f64 * seconds), ""),
        (Number::Count(count), DisplayUnit::Letter) => match count {
            ..10_000 => (grouped(*count), ""),
            10_000..1_000_000 => (grouped(*count / 1_000), "k"),
            _ => (ns(*count as f64 / 1e6), "M"),
        },
        (Number::Count(count), DisplayUnit::Own(Unit::Bytes)) => (bytes(*count), ""),
        (Number::Count(count), DisplayUnit::BinaryBytes) => (binary_bytes(*count), ""),
        (Number::Count(count), _) => (grouped(*count), ""),
        (Number::Reach(estimate), _) if !estimate.is_sure() => ("?".to_owned(), ""),
        (Number::Reach(estimate), DisplayUnit::OfColumn(divisor)) => (ns(estimate.reach() / divisor), ""),
        (Number::Reach(estimate), _) => (percent(estimate.reach()), ""),
        (Number::HalfWidth { of, stated }, _) => {
            (of.stated_reach(*stated).map_or("?".to_owned(), percent), "")
        }
        (Number::Short(number), DisplayUnit::OfColumn(divisor)) => (short_ns(number / divisor), ""),
        (Number::Short(number), DisplayUnit::Own(unit) | DisplayUnit::InSentence(unit)) => {
            (short_ns(*number), amount(*number, *unit).1)
        }
        (Number::Short(number), _) => (short_ns(*number), ""),
        (Number::Duration(ns), DisplayUnit::Own(Unit::Ns)) => (duration(ns * 1e-9), ""),
        (Number::Duration(seconds), _) => (duration(*seconds), ""),
        (Number::PlusMinus(estimate), _) => (plus_minus(estimate.point, estimate.reach()), ""),
        (Number::Difference(share), _) => (signed_percent(100.0 * share), ""),
        (Number::Shift(shift), _) => (signed_percent(100.0 * shift.point), ""),
        (Number::WithEnds(share), _) => (percent(share.point), ""),
        (Number::Size(size), _) => (percent(size.point.abs()), ""),
        // In a column, a p-value is shown without `=`.
        (Number::Probability(p), DisplayUnit::OfColumn(_)) if *p >= 0.0001 => (format!("{p:.4}"), ""),
        (Number::Probability(p), _) => (p_value(*p), ""),
        (Number::Ends(estimate), _) => (digits::interval(estimate.low, estimate.high), ""),
        (Number::Relative(share), _) => (relative(*share), ""),
        (Number::Part { number: 0, .. }, _) => ("none".to_owned(), ""),
        (Number::Part { number, of }, _) if number == of => ("all".to_owned(), ""),
        (Number::Part { number, .. }, _) => (grouped(*number), ""),
        (Number::Figure(number), _) => (of_any_size(*number), ""),
        (Number::Coarse(number), DisplayUnit::Millions) => (coarse(number / 1e6), ""),
        (Number::Coarse(number), DisplayUnit::Own(unit)) => scaled(*number, *unit, coarse),
        (Number::Coarse(number), _) => (coarse(*number), ""),
        (Number::Setting(number), DisplayUnit::Own(Unit::Ns)) => (chosen_time(*number), ""),
        (Number::Setting(number), DisplayUnit::Own(Unit::PerSecond(_))) => (chosen_rate(*number) + "/s", ""),
        (Number::Setting(number), DisplayUnit::InSentence(Unit::PerSecond(_))) => (chosen_rate(*number), ""),
        (Number::Setting(number), _) => (number.to_string(), ""),
        (Number::Point(number) | Number::Estimate(Estimate { point: number, .. }), unit) => match unit {
            DisplayUnit::AsInFile(decimals) => (as_in_file(*number, *decimals), ""),
            DisplayUnit::OfColumn(divisor) => (ns(number / divisor), ""),
            DisplayUnit::InSentence(Unit::Ratio) | DisplayUnit::Letter | DisplayUnit::BinaryBytes => {
                (ns(*number), "")
            }
            DisplayUnit::Millions => (million(*number), ""),
            DisplayUnit::Figure => (figure(*number), ""),
            DisplayUnit::Decimals(decimals) => (fixed(*number, *decimals), ""),
            DisplayUnit::Percents => (format!("{:.1}", 100.0 * number), ""),
            DisplayUnit::Duration(seconds) => (duration(*number * seconds), ""),
            DisplayUnit::Own(unit) | DisplayUnit::InSentence(unit) => amount(*number, *unit),
        },
    };
    [text, unit.to_owned()]
}

fn relative(share: f64) -> String {
    match share {
        share if !share.is_finite() => if share < 0.0 { "-∞" } else { "+∞" }.to_owned(),
        // Rounding errors of equal numbers must not show a sign.
        share if share.abs() < 1e-8 => percent(0.0),
        share if share.abs() < 5e-5 => if share < 0.0 { "-0.00 %" } else { "+0.00 %" }.to_owned(),
        share if share < 0.0 => percent(share),
        share => "+".to_owned() + &percent(share),
    }
}

/// The interval of a number: ` ±2 %`; beyond ten times the number its two ends, ` (1.2 µs to 60 µs)`.
pub fn interval(value: &DisplayValue) -> String {
    let estimate = match value.number {
        Number::Estimate(estimate) => estimate,
        Number::Shift(share) | Number::Size(share) if share.reach().is_finite() => {
            return format!(" ±{}", percent(share.reach()));
        }
        Number::WithEnds(share) if share.is_sure() => {
            return format!(" [{} .. {}]", percent(share.low), percent(share.high));
        }
        Number::WithEnds(_) => return " ?".to_owned(),
        _ => return String::new(),
    };
    let ends = [estimate.low, estimate.high];
    match (estimate.stated_reach(estimate.point), value.unit) {
        (None, DisplayUnit::Own(unit)) => {
            let [low, high] = ends.map(|end| with_unit(end, unit));
            format!(" ({low} to {high})")
        }
        (None, DisplayUnit::OfColumn(divisor)) if estimate.is_sure() => {
            let [low, high] = ends.map(|end| ns(end / divisor));
            format!(" ({low} to {high})")
        }
        (_, DisplayUnit::Decimals(_)) if !estimate.is_sure() => " (no interval)".to_owned(),
        (_, DisplayUnit::Decimals(decimals)) => format!(" ±{:.decimals$}", estimate.reach()),
        _ => format!(" ±{}", half_width(&estimate)),
    }
}

/// Formats a number and records it in a drawing.
pub fn drawn(drawing: &mut Drawing, number: DisplayValue) -> String {
    let text = value(&number);
    drawing.numbers.push(DrawnNumber { value: number, doubtful: false });
    text
}

/// Fills in a sentence; terminal control sequences are removed from untrusted names.
pub fn sentence(sentence: &Sentence) -> String {
    filled(sentence, plain)
}

/// Fills in a sentence for a document; untrusted names stay as they are.
pub fn text(sentence: &Sentence) -> String {
    filled(sentence, str::to_owned)
}

fn filled(sentence: &Sentence, name: fn(&str) -> String) -> String {
    let mut written = String::new();
    let mut rest = sentence.template;
    while let Some((before, after)) = rest.split_once('{') {
        let (hole, after) = after.split_once('}').unwrap_or((after, ""));
        written.push_str(before);
        let arg = sentence.args.iter().find(|(known, _)| *known == hole);
        debug_assert!(arg.is_some(), "`{}` has nothing for `{hole}`", sentence.template);
        match arg.map(|(_, arg)| arg) {
            Some(Arg::Value(number)) => written.push_str(&value(number)),
            Some(Arg::Place(scope)) => written.push_str(&scope::place(*scope)),
            Some(Arg::Shared(scope)) => written.push_str(&scope::shared(*scope)),
            Some(Arg::CpuSet(cpus)) => written.push_str(&cpus.to_string()),
            Some(Arg::Text(PlainText::Literal(text))) => written.push_str(text),
            Some(Arg::Text(PlainText::Untrusted(text)) | Arg::Recorded(text, _)) => {
                written.push_str(&name(text));
            }
            Some(Arg::Parts(parts, between)) => {
                let parts: Vec<String> = parts.iter().map(|part| filled(part, name)).collect();
                written.push_str(&parts.join(between));
            }
            Some(Arg::Capitalized(part)) => written.push_str(&capitalized(&filled(part, name))),
            Some(Arg::Cpus(cpus)) => {
                written.push_str(&cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            }
            None => {}
        }
        rest = after;
    }
    written + rest
}

/// A number and half its interval; an estimate from few passes has no interval.
pub fn with_reach(source: Source, estimate: Estimate) -> Sentence {
    let point = DisplayValue::bare(Number::Point(estimate.point), source.clone());
    match estimate.is_sure() {
        true => Sentence::new("{point} {reach}")
            .with("point", point)
            .with("reach", DisplayValue::bare(Number::PlusMinus(estimate), source)),
        false => Sentence::new("{point}").with("point", point),
    }
}

/// The two ends of a range in short form: `18–23`.
pub fn span(ends: [f64; 2], sources: [Source; 2]) -> Sentence {
    let [low, high] = ends.map(Number::Short);
    let [low_source, high_source] = sources;
    let [low, high] = [DisplayValue::bare(low, low_source), DisplayValue::bare(high, high_source)];
    Sentence::new("{low}–{high}").with("low", low).with("high", high)
}

/// The two ends of a range; a single number if both have the same text.
pub fn range(ends: [DisplayValue; 2]) -> Sentence {
    let [least, most] = ends;
    if value(&least) == value(&most) {
        return Sentence::new("{number}").with("number", most);
    }
    Sentence::new("{least} to {most}").with("least", least).with("most", most)
}

/// The legend of a table: its introduction, then the meanings of its columns.
pub fn legend(table: &Table) -> Option<String> {
    let about = table.about.as_ref().filter(|_| !table.rows.is_empty())?;
    let mut legend = format!("{}:", sentence(about));
    let explained = table.columns.iter().filter(|column| !column.meaning.is_empty());
    for (index, column) in explained.enumerate() {
        legend.push_str(match (index, column.is_continued) {
            (_, true) => " and ",
            (0, false) => " ",
            (_, false) => "; ",
        });
        legend.push_str(column.meaning);
    }
    Some(legend + ".")
}

/// The text of a cell without its mark; empty for a blank cell.
pub fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Value(number, _) => value(number),
        Cell::Sentence(words) => sentence(words),
        Cell::Unknown => "·".to_owned(),
        Cell::Blank => String::new(),
    }
}

/// Half the width of an interval, as a share of the point; `?` if unknown.
pub fn half_width(estimate: &Estimate) -> String {
    estimate.stated_reach(estimate.point).map_or("?".to_owned(), percent)
}

/// A number with its unit: `3.45 M`, `112 ns`.
pub fn with_unit(value: f64, unit: Unit) -> String {
    let (value, unit) = amount(value, unit);
    format!("{value} {unit}").trim_end().to_owned()
}

/// A number with three significant digits, and the unit that is most readable; for rates the letter of the magnitude.
pub fn amount(value: f64, unit: Unit) -> (String, &'static str) {
    scaled(value, unit, ns)
}

fn scaled(value: f64, unit: Unit, digits: impl Fn(f64) -> String) -> (String, &'static str) {
    match unit {
        Unit::Ns if value < 1e3 => (digits(value), "ns"),
        Unit::Ns if value < 1e6 => (digits(value / 1e3), "µs"),
        Unit::Ns => (digits(value / 1e6), "ms"),
        Unit::Share => (percent(value).trim_end_matches(" %").to_owned(), "%"),
        Unit::Ratio => (digits(value), "×"),
        Unit::PerSecond(_) if value >= 1e6 => (digits(value / 1e6), "M"),
        Unit::PerSecond(_) if value >= 1e4 => (digits(value / 1e3), "k"),
        Unit::Cycles => (digits(value), "cycles"),
        _ => (digits(value), ""),
    }
}

fn coarse(value: f64) -> String {
    let unit = 10f64.powf(value.abs().log10().floor() - 1.0);
    let decimals = (-unit.log10()).max(0.0).round() as usize;
    format!("{:.decimals$}", (value / unit).round() * unit)
}
