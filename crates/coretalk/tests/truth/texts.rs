//! Checks of the text of a number and of the unit in its heading.

use super::printed::Printed;
use super::sources::stated;
use coretalk_model::quantity::Unit;
use coretalk_model::series::TimeUnit;
use coretalk_report::blocks::value::{DisplayUnit, DisplayValue, Number, Source};
use coretalk_report::fmt;

/// An error in the text of a number, which must read as the number.
pub fn misread(value: &DisplayValue) -> Option<String> {
    let (text, interval) = (fmt::point(value).join(" ").trim_end().to_owned(), fmt::interval(value));
    let is_read = match value.number {
        Number::Size(estimate) => reads(&text, estimate.point.abs()),
        Number::Relative(share) => !share.is_finite() || reads(&text, share),
        Number::Difference(share) => reads(&text, share),
        Number::PlusMinus(estimate) => reads(&text, estimate.reach()),
        Number::Ends(estimate) => {
            let (low, high) = text.split_once('–').unwrap_or((&text, ""));
            // The unit letter after the upper end applies to both ends.
            let low = low.to_owned() + high.find(char::is_alphabetic).map_or("", |at| &high[at - 1..]);
            reads(&low, estimate.low) && reads(high, estimate.high)
        }
        Number::Part { number: 0, .. } => text == "none",
        Number::Part { number, of } if number == of => text == "all",
        Number::Part { number, .. } => text == number.to_string(),
        Number::Duration(number) if value.unit == DisplayUnit::Own(Unit::Ns) => reads(&text, number),
        Number::Duration(seconds) => reads(&text, seconds * 1e9),
        Number::Probability(p) => {
            let read = text.trim_start_matches("= ").parse::<f64>();
            read.map_or(text == "< 0.0001" && p < 1e-4, |read| (read - p).abs() <= 0.5e-4)
        }
        _ => number_in_unit(value).map_or(text == "?", |written| is_written(value, &text, written)),
    };
    (!is_read || !is_interval(value, &interval))
        .then(|| format!("`{text}{interval}` is not {:?}", value.number))
}

fn reads(text: &str, exact: f64) -> bool {
    Printed::read(text).is_some_and(|read| read.reads(exact))
}

fn is_interval(value: &DisplayValue, text: &str) -> bool {
    use Number::{Estimate, Shift, Size, WithEnds};
    let (Estimate(interval) | Shift(interval) | Size(interval) | WithEnds(interval)) = value.number else {
        return text.is_empty();
    };
    if let Some(reach) = text.strip_prefix(" ±") {
        let is_share = matches!(value.number, Estimate(_)) && !matches!(value.unit, DisplayUnit::Decimals(_));
        let exact = if is_share { interval.stated_reach(interval.point) } else { Some(interval.reach()) };
        return exact.map_or(reach == "?", |exact| reads(reach, exact));
    }
    let ends = text.trim_matches([' ', '(', ')', '[', ']']);
    let divisor = if let DisplayUnit::OfColumn(divisor) = value.unit { divisor } else { 1.0 };
    match ends.split_once(" to ").or(ends.split_once(" .. ")) {
        Some((low, high)) => reads(low, interval.low / divisor) && reads(high, interval.high / divisor),
        None => !interval.is_sure() || !interval.reach().is_finite(),
    }
}

/// The number that a text states, in the unit of the text; `None` for an unknown interval.
fn number_in_unit(value: &DisplayValue) -> Option<f64> {
    let number = stated(value.number).0;
    Some(match (value.number, value.unit) {
        (Number::HalfWidth { of, stated }, _) => return of.stated_reach(stated),
        (Number::Reach(interval), DisplayUnit::OfColumn(divisor)) => interval.reach() / divisor,
        (Number::Reach(interval), _) => return interval.is_sure().then(|| interval.reach()),
        (Number::Count(_) | Number::Setting(_) | Number::WithEnds(_) | Number::Shift(_), _) => number,
        (_, DisplayUnit::OfColumn(divisor)) => number / divisor,
        (_, DisplayUnit::Millions) => number / 1e6,
        (_, DisplayUnit::Percents) => 100.0 * number,
        _ => number,
    })
}

fn is_written(shown: &DisplayValue, text: &str, written: f64) -> bool {
    let Some(Printed { mut value, mut half }) = Printed::read(text) else { return false };
    match (shown.unit, shown.number) {
        (DisplayUnit::Duration(seconds), _) => [value, half] = [value, half].map(|ns| ns * 1e-9 / seconds),
        // Whole thousands are truncated.
        (DisplayUnit::Letter, _) if text.ends_with('k') => value += half,
        (_, Number::Coarse(_)) => half = half.max(0.05 * 10f64.powf(written.abs().log10().floor())),
        _ => {}
    }
    Printed { value, half }.reads(written)
}

/// An error in the heading of a number, which must state its unit.
pub fn unstated(headings: &[String], value: &DisplayValue) -> Option<String> {
    if let Source::Field(path) = &value.source {
        let (object, key) = path.rsplit_once('/')?;
        let expected = match object.rsplit_once('/')?.1 {
            "percentiles" if key == "100" => "max ns".to_owned(),
            "percentiles" => format!("p{key} ns"),
            "values" | "counts" => key.replace('_', " "),
            "parameters" => "what".to_owned(),
            _ => key.to_owned(),
        };
        let is_of_page = headings.len() == 1 && path.starts_with("/series/");
        return (is_of_page && *headings != [expected]).then(|| format!("a number below {headings:?}"));
    }
    let is_of_map = matches!(value.source, Source::Cell { .. });
    let DisplayUnit::OfColumn(divisor) = value.unit else { return None };
    // A sentence states the unit itself.
    let is_free = if is_of_map { headings == [""] } else { !matches!(value.number, Number::Point(_)) };
    if headings.is_empty() || is_free {
        return None;
    }
    let [ns, us] = [TimeUnit::NANOSECONDS, TimeUnit::MICROSECONDS];
    let states =
        |unit: TimeUnit| headings.iter().any(|heading| heading.split(' ').any(|word| word == unit.name));
    // Numbers other than times have no unit; a sentence above the table may state nanoseconds.
    let is_stated = divisor == us.ns && states(us)
        || divisor == ns.ns && !headings.iter().any(|it| it == us.name) && (!is_of_map || states(ns));
    (!is_stated).then(|| format!("a number divided by {divisor} below {headings:?}"))
}
