//! The text of a typed number, read back, and whether a heading states its unit.

use super::printed::Printed;
use coretalk::blocks::value::{DisplayUnit, DisplayValue, Number, SeriesNumber, Source};
use coretalk::report::fmt;
use coretalk_model::quantity::Unit;
use coretalk_model::series::TimeUnit;
use coretalk_model::stats::Estimate;

/// The number that a text begins with, in the base unit, and half a step of its last digit.
fn read_back(text: &str) -> Option<[f64; 2]> {
    let is_digit = |c: char| c.is_ascii_digit() || ".-e".contains(c);
    if text.starts_with('<') {
        return Printed::read(text).map(|below| [below.value, below.half]);
    }
    let words: Vec<&str> = text.trim_start_matches('+').split(' ').collect();
    let digits = words.iter().take_while(|word| !word.is_empty() && word.chars().all(is_digit)).count();
    let number = words[..digits].concat();
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len()) as i32;
    let scale = match words.get(digits).map(|unit| unit.trim_end_matches("/s")) {
        Some("µs" | "k" | "kB") => 1e3,
        Some("ms" | "M" | "MB") => 1e6,
        Some("s" | "G" | "GB") => 1e9,
        Some("%") => 1e-2,
        _ => 1.0,
    };
    Some([number.parse::<f64>().ok()? * scale, 0.5 * 10f64.powi(-decimals) * scale])
}

/// What is wrong with the text of a number, if it reads as another one.
pub fn misread(value: &DisplayValue) -> Option<String> {
    let text = fmt::value(value);
    let reads = |text: &str, exact| Printed::read(text).is_some_and(|read| read.reads(exact));
    let is_read = match value.number {
        Number::Size(of) => {
            let (size, reach) = text.split_once(" ±").unwrap_or((&text, ""));
            reads(size, of.point.abs()) && (!of.reach().is_finite() || reads(reach, of.reach()))
        }
        Number::Relative(share) => !share.is_finite() || reads(&text, share),
        Number::Difference(share) => reads(&text, share),
        Number::PlusMinus(of) => reads(&text, of.reach()),
        Number::Ends(of) => {
            let (low, high) = text.split_once('–').unwrap_or((&text, ""));
            // Both ends have the letter of the second.
            let low = low.to_owned() + high.find(char::is_alphabetic).map_or("", |at| &high[at - 1..]);
            reads(&low, of.low) && reads(high, of.high)
        }
        Number::Part { number: 0, .. } => text == "none",
        Number::Part { number, of } if number == of => text == "all",
        Number::Part { number, .. } => text == number.to_string(),
        Number::Duration(number) => {
            let seconds = if value.unit == DisplayUnit::Own(Unit::Ns) { number * 1e-9 } else { number };
            Printed::time(&text).is_some_and(|read| read.reads(seconds))
        }
        Number::Probability(p) => {
            let read = text.trim_start_matches("= ").parse::<f64>();
            read.map_or(text == "< 0.0001" && p < 1e-4, |read| (read - p).abs() <= 0.5e-4)
        }
        _ => written(value).map_or(text == "?", |written| is_written(value, &text, written)),
    };
    (!is_read).then(|| format!("`{text}` is not {:?}", value.number))
}

/// The number that a text states in its unit; `None` of an unknown interval.
fn written(value: &DisplayValue) -> Option<f64> {
    Some(match value.number {
        Number::Count(count) => count as f64,
        Number::Setting(number) => number,
        Number::HalfWidth { of, stated } => return of.stated_reach(stated),
        Number::Reach(of) => match value.unit {
            DisplayUnit::OfColumn(divisor) => of.reach() / divisor,
            _ => return of.is_sure().then(|| of.reach()),
        },
        Number::Point(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Figure(number)
        | Number::Estimate(Estimate { point: number, .. }) => match value.unit {
            DisplayUnit::OfColumn(divisor) => number / divisor,
            DisplayUnit::Millions => number / 1e6,
            DisplayUnit::Percents => 100.0 * number,
            _ => number,
        },
        Number::WithEnds(of) | Number::Shift(of) => of.point,
        _ => return None,
    })
}

/// Whether a text reads as this number.
fn is_written(value: &DisplayValue, text: &str, written: f64) -> bool {
    let read = match value.unit {
        DisplayUnit::Duration(seconds) => {
            Printed::time(text).map(|time| [time.value / seconds, time.half / seconds])
        }
        // Whole thousands are cut, not rounded.
        DisplayUnit::Letter if text.ends_with('k') => read_back(text).map(|[read, step]| [read + step, step]),
        _ => read_back(text),
    };
    read.is_some_and(|[read, step]| {
        let step = match value.number {
            Number::Coarse(_) => f64::max(step, 0.05 * 10f64.powf(written.abs().log10().floor())),
            _ => step,
        };
        (read - written).abs() <= 1.01 * step
    })
}

/// What is wrong with the unit of a column, if no heading of its table states it.
pub fn unstated(headings: &[String], value: &DisplayValue) -> Option<String> {
    if matches!(
        value.source,
        Source::Watch(_)
            | Source::Field(_)
            | Source::Pair { .. }
            | Source::Pairs { .. }
            | Source::Matrix { .. }
            | Source::Ratio(..)
            | Source::Method
    ) {
        return None;
    }
    if let Source::Series { number, .. } = &value.source {
        let expected = match number {
            SeriesNumber::Events => "count".to_owned(),
            SeriesNumber::Percentile("100") => "max ns".to_owned(),
            SeriesNumber::Percentile(name) => format!("p{name} ns"),
            SeriesNumber::Value(name) | SeriesNumber::Count(name) => name.replace('_', " "),
            SeriesNumber::Parameter(_) => "what".to_owned(),
        };
        return (headings != [expected]).then(|| format!("a number below {headings:?}"));
    }
    let is_of_map = matches!(value.source, Source::Cell { .. });
    let DisplayUnit::OfColumn(divisor) = value.unit else { return None };
    // A sentence states it itself.
    if headings.is_empty()
        || !is_of_map && !matches!(value.number, Number::Point(_))
        || is_of_map && headings == [""]
    {
        return None;
    }
    let [ns, us] = [TimeUnit::NANOSECONDS, TimeUnit::MICROSECONDS];
    let states =
        |unit: TimeUnit| headings.iter().any(|heading| heading.split(' ').any(|word| word == unit.name));
    // What is no time needs no unit, and sentences above a table state nanoseconds.
    let is_stated = divisor == us.ns && states(us)
        || divisor == ns.ns && !headings.iter().any(|it| it == us.name) && (!is_of_map || states(ns));
    (!is_stated).then(|| format!("a number divided by {divisor} below {headings:?}"))
}
