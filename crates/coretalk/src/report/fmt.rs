//! Numbers and sentences as text: what a medium writes of a [`DisplayValue`], a [`Sentence`] or a [`Cell`].

use super::text::{chosen_rate, chosen_time, grouped, ns, percent, signed_percent};
use super::words::p_value;
use crate::blocks::Cell;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;

/// A number with its unit, where that is not the unit of its column, and with its interval.
pub fn value(value: &DisplayValue) -> String {
    point(value).join(" ").trim_end().to_owned() + &interval(value)
}

/// A number without its interval, and its unit: `["3.61", "µs"]`, `["74.2", "M"]`. The unit is empty where the number has
/// none or its column states it.
pub fn point(value: &DisplayValue) -> [String; 2] {
    let DisplayValue { number, unit, .. } = value;
    let (text, unit) = match (number, unit) {
        (Number::Count(count), _) => (grouped(*count), ""),
        (Number::HalfWidth { of, stated }, _) => {
            (of.stated_reach(*stated).map_or("?".to_owned(), percent), "")
        }
        (Number::Shift(shift), _) => (signed_percent(100.0 * shift.point), ""),
        (Number::Size(size), _) => (percent(size.point), ""),
        (Number::Probability(p), _) => (p_value(*p), ""),
        (Number::Setting(number), DisplayUnit::Own(Unit::Ns)) => (chosen_time(*number), ""),
        (Number::Setting(number), DisplayUnit::Own(Unit::PerSecond(_))) => (chosen_rate(*number) + "/s", ""),
        (Number::Setting(number), _) => (number.to_string(), ""),
        (Number::Point(number) | Number::Estimate(Estimate { point: number, .. }), unit) => match unit {
            DisplayUnit::OfColumn(divisor) => (ns(number / divisor), ""),
            DisplayUnit::Own(unit) => amount(*number, *unit),
        },
    };
    [text, unit.to_owned()]
}

/// The interval of a number: ` ±2 %`, or its ends, ` (1.2 µs to 60 µs)`, where it reaches more than ten times the number.
pub fn interval(value: &DisplayValue) -> String {
    let estimate = match value.number {
        Number::Estimate(estimate) => estimate,
        Number::Shift(of) | Number::Size(of) if of.reach().is_finite() => {
            return format!(" ±{}", percent(of.reach()));
        }
        _ => return String::new(),
    };
    match (estimate.stated_reach(estimate.point), value.unit) {
        (None, DisplayUnit::Own(unit)) => {
            format!(" ({} to {})", with_unit(estimate.low, unit), with_unit(estimate.high, unit))
        }
        _ => format!(" ±{}", half_width(&estimate)),
    }
}

/// A sentence with its holes filled.
pub fn sentence(sentence: &Sentence) -> String {
    let mut written = String::new();
    let mut rest = sentence.template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        written.push_str(before);
        let arg = sentence.args.iter().find(|(known, _)| *known == name);
        debug_assert!(arg.is_some(), "`{}` has nothing for `{name}`", sentence.template);
        match arg.map(|(_, arg)| arg) {
            Some(Arg::Value(number)) => written.push_str(&value(number)),
            Some(Arg::Cpus(cpus)) => written.push_str(&cpus.to_string()),
            Some(Arg::Text(text)) => text.write_to(&mut written),
            Some(Arg::Parts(parts, between)) => {
                written.push_str(&parts.iter().map(self::sentence).collect::<Vec<_>>().join(between));
            }
            None => {}
        }
        rest = after;
    }
    written + rest
}

/// A cell without its mark; empty where it is blank.
pub fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Marked(text, _) => text.clone(),
        Cell::Value(number) => value(number),
        Cell::Unknown => "·".to_owned(),
        Cell::Blank => String::new(),
    }
}

/// Half the width of an interval, as a share of its point; `?` where none is known.
pub fn half_width(estimate: &Estimate) -> String {
    estimate.stated_reach(estimate.point).map_or("?".to_owned(), percent)
}

/// `3.45 M`, `112 ns`.
pub fn with_unit(value: f64, unit: Unit) -> String {
    let (value, of) = amount(value, unit);
    format!("{value} {of}").trim_end().to_owned()
}

/// Three significant digits and the unit that reads best; of what happens in a second the letter of its size.
pub fn amount(value: f64, unit: Unit) -> (String, &'static str) {
    match unit {
        Unit::Ns if value < 1e3 => (ns(value), "ns"),
        Unit::Ns if value < 1e6 => (ns(value / 1e3), "µs"),
        Unit::Ns => (ns(value / 1e6), "ms"),
        Unit::Share => (percent(value).trim_end_matches(" %").to_owned(), "%"),
        Unit::Ratio => (ns(value), "×"),
        Unit::PerSecond(_) if value >= 1e6 => (ns(value / 1e6), "M"),
        Unit::PerSecond(_) if value >= 1e4 => (ns(value / 1e3), "k"),
        Unit::Cycles => (ns(value), "cycles"),
        _ => (ns(value), ""),
    }
}
