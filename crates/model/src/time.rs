//! Time in whole picoseconds, counter ticks, and the rate between them.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Whether a latency in nanoseconds or cycles is plausible: 0 (below the step of the clock), or between 0.01 (10 ps, a
/// tenth of a cycle at 10 GHz) and 10¹¹ (100 s). Means and ratios are then finite.
///
/// ```
/// # use coretalk_model::time::is_measurable;
/// assert!(is_measurable(0.0) && is_measurable(51.7));
/// assert!(![-1.0, 0.0099, 1e-320, 1.01e11, 9e307, f64::NAN].into_iter().any(is_measurable));
/// ```
pub fn is_measurable(latency: f64) -> bool {
    latency == 0.0 || (0.01..=1e11).contains(&latency)
}

/// Time in whole picoseconds, up to 213 days. Nanoseconds would round one tick at 3 GHz (333 ps) to 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Picos(pub u64);

/// Error in a duration or rate given by the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The input is not a number with one of the known units.
    #[error("read `{text}` as {what}")]
    Syntax {
        /// The input.
        text: String,
        /// The expected form, with examples.
        what: &'static str,
    },
    /// The value does not fit the range of the type.
    #[error("use `{text}`: it is out of range ({what})")]
    Range {
        /// The input.
        text: String,
        /// The range.
        what: &'static str,
    },
}

impl Picos {
    /// Zero duration.
    pub const ZERO: Picos = Picos(0);

    /// Converts nanoseconds. Negative values and NaN give zero, too large values the maximum.
    pub fn from_ns(ns: f64) -> Picos {
        Picos((ns * 1e3).round() as u64)
    }
    /// Converts milliseconds.
    pub const fn from_ms(ms: u64) -> Picos {
        Picos(ms * 1_000_000_000)
    }
    /// Converts microseconds.
    pub const fn from_us(us: u64) -> Picos {
        Picos(us * 1_000_000)
    }
    /// Converts seconds.
    pub fn from_secs(seconds: f64) -> Picos {
        Picos((seconds * 1e12).round() as u64)
    }
    /// The time in nanoseconds.
    pub fn ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// The time in seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// The time as a standard duration, rounded down to nanoseconds.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0 / 1000)
    }
    /// The difference, or zero if it would be negative.
    pub fn saturating_sub(self, other: Picos) -> Picos {
        Picos(self.0.saturating_sub(other.0))
    }

    /// Parses a duration with its unit: `200ms`, `1us`, `5s`, `1.5s`, `250ns`, `2min`.
    ///
    /// # Errors
    /// [`QuantityError`] for a missing or unknown unit, a negative or infinite number, or more than 200 days.
    ///
    /// ```
    /// # use coretalk_model::Picos;
    /// assert_eq!(Picos::parse("200ms").unwrap(), Picos::from_ms(200));
    /// assert!(Picos::parse("200").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Picos, QuantityError> {
        const WHAT: &str = "a duration (a number with ns, us, ms, s or min, for example `200ms`)";
        let syntax = || QuantityError::Syntax { text: text.to_owned(), what: WHAT };
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').ok_or_else(syntax)?;
        let (number, unit) = trimmed.split_at(split);
        let per_unit = match unit {
            "ps" => 1.0,
            "ns" => 1e3,
            "us" | "µs" => 1e6,
            "ms" => 1e9,
            "s" => 1e12,
            "min" | "m" => 60e12,
            "h" => 3600e12,
            _ => return Err(syntax()),
        };
        let value: f64 = number.trim().parse().map_err(|_| syntax())?;
        let picos = value * per_unit;
        if !(0.0..=200.0 * 86_400e12).contains(&picos) {
            return Err(QuantityError::Range { text: text.to_owned(), what: "0 to 200 days" });
        }
        Ok(Picos(picos.round() as u64))
    }
}

/// Parses a rate in events per second: `1M/s`, `250k/s`, `1000/s`, `0.5M/s`. `/s` may be left out.
///
/// # Errors
/// [`QuantityError`] for anything else, zero, or more than 10¹² per second.
///
/// ```
/// assert_eq!(coretalk_model::time::parse_rate("1M/s").unwrap(), 1e6);
/// ```
pub fn parse_rate(text: &str) -> Result<f64, QuantityError> {
    const WHAT: &str = "a rate (for example `1M/s`, `250k/s` or `1000/s`)";
    let syntax = || QuantityError::Syntax { text: text.to_owned(), what: WHAT };
    let per_second = text.trim();
    let per_second = per_second.strip_suffix("/s").unwrap_or(per_second);
    let (number, scale) = match per_second.chars().last() {
        Some('k' | 'K') => (&per_second[..per_second.len() - 1], 1e3),
        Some('M') => (&per_second[..per_second.len() - 1], 1e6),
        Some('G') => (&per_second[..per_second.len() - 1], 1e9),
        _ => (per_second, 1.0),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| syntax())? * scale;
    if rate.is_finite() && rate > 0.0 && rate <= 1e12 {
        Ok(rate)
    } else {
        Err(QuantityError::Range { text: text.to_owned(), what: "above 0 up to 1000G/s" })
    }
}

impl Add for Picos {
    type Output = Picos;
    fn add(self, other: Picos) -> Picos {
        Picos(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Picos {
    fn add_assign(&mut self, other: Picos) {
        *self = *self + other;
    }
}
impl Sub for Picos {
    type Output = Picos;
    fn sub(self, other: Picos) -> Picos {
        self.saturating_sub(other)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ps", self.0),
            1_000..1_000_000 => (self.ns(), "ns"),
            1_000_000..1_000_000_000 => (self.ns() / 1e3, "µs"),
            1_000_000_000..1_000_000_000_000 => (self.ns() / 1e6, "ms"),
            _ => (self.secs(), "s"),
        };
        let decimals = if value < 9.995 {
            2
        } else if value < 99.95 {
            1
        } else {
            0
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// Counts of the time-stamp counter, without unit until converted with a [`TickRate`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Ticks(pub u64);

/// Frequency of the counter.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TickRate {
    /// Ticks per second.
    pub hz: f64,
}

impl TickRate {
    /// Converts ticks, or a mean of ticks, to nanoseconds.
    pub fn ns(self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hz
    }
    /// Converts nanoseconds to ticks.
    pub fn ticks(self, ns: f64) -> f64 {
        ns * self.hz / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_require_units() {
        for (text, picos) in [
            ("1us", 1_000_000),
            ("1.5s", 1_500_000_000_000),
            ("250 ns", 250_000),
            ("2min", 120_000_000_000_000),
        ] {
            assert_eq!(Picos::parse(text), Ok(Picos(picos)), "{text}");
        }
        for text in ["", "5", "s", "-1s", "1e400s", "NaNs", "infs", "1 parsec", "1000000000s"] {
            assert!(Picos::parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn the_unit_of_rates_is_optional() {
        assert_eq!([parse_rate("250k/s"), parse_rate(" 250k ")], [Ok(250_000.0), Ok(250_000.0)]);
        for text in ["", "5/m", "5s", "/s", "s", "0/s", "-1/s", "1e400/s", "NaN/s", "2T/s"] {
            assert!(parse_rate(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn times_print_with_three_digits() {
        for (picos, text) in [
            (999, "999 ps"),
            (22_400, "22.4 ns"),
            (9_999, "10.0 ns"),
            (1_500_000_000_000, "1.50 s"),
            (60_000_000_000, "60.0 ms"),
        ] {
            assert_eq!(Picos(picos).to_string(), text);
        }
    }
}
