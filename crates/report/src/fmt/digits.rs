//! Numbers as text: significant digits, and the unit or letter after the number.

use coretalk_model::stats::Estimate;

/// Nanoseconds with three significant digits: `7.83`, `22.6`, `116`, `1 300`.
pub fn ns(value: f64) -> String {
    match value.abs() {
        0.0 => "0.00".to_owned(),
        magnitude if magnitude < 0.0095 => two_digits(value),
        magnitude if magnitude < 9.995 => format!("{value:.2}"),
        magnitude if magnitude < 99.95 => format!("{value:.1}"),
        _ => grouped(value.round() as i64),
    }
}

/// Millions per second with two or three significant digits.
pub fn million(per_s: f64) -> String {
    let value = per_s / 1e6;
    match value {
        // Three decimals would show a small rate as zero.
        value if value > 0.0 && value < 0.01 => {
            let decimals = (2.0 - value.log10().floor()).clamp(0.0, 9.0) as usize;
            format!("{value:.decimals$}")
        }
        value if value < 0.0995 => format!("{value:.3}"),
        value => ns(value),
    }
}

/// Nanoseconds with two significant digits, for cells and columns: `0.45`, `7.8`, `17`, `203`. Only zero reads as zero.
pub fn short_ns(value: f64) -> String {
    match value.abs() {
        0.0 => "0.0".to_owned(),
        magnitude if magnitude < 0.95 => two_digits(value),
        magnitude if magnitude < 9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A small number with two significant digits; never zero.
fn two_digits(value: f64) -> String {
    match 1.0 - value.abs().log10().floor() {
        decimals if decimals <= 12.0 => format!("{value:.*}", decimals as usize),
        _ => format!("{value:.1e}"),
    }
}

/// Half the width of an interval in the precision of its point: `±0.5`.
pub fn plus_minus(point: f64, half_width: f64) -> String {
    match point.abs() {
        magnitude if magnitude < 9.995 => format!("±{half_width:.2}"),
        magnitude if magnitude < 99.95 => format!("±{half_width:.1}"),
        _ if half_width < 0.95 => format!("±{half_width:.1}"),
        _ => format!("±{half_width:.0}"),
    }
}

/// A whole number in groups of three digits: `1 300`.
pub fn grouped(value: impl Into<i128>) -> String {
    let value = value.into();
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits with the letter of thousands, millions or billions; larger numbers as powers of ten.
pub fn figure(value: f64) -> String {
    let (scale, letter) = scale_of(value);
    format!("{}{letter}", digits(value / scale))
}

/// The two ends of an interval, `432.1–434.4 M`: both with the letter of the end farther from zero.
pub fn interval(low: f64, high: f64) -> String {
    let (scale, letter) = scale_of(if low.abs() > high.abs() { low } else { high });
    format!("{}–{}{letter}", digits(low / scale), digits(high / scale))
}

/// A value of any magnitude: three digits; four below 0.1; four and a letter from ten million on.
pub fn of_any_size(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(0.0995..1e7).contains(&size) => figure(value),
        _ => ns(value),
    }
}

/// A number too small for its decimals: `<0.01`, `>-0.01`. `least` is the smallest step of the decimals.
fn tiny(number: f64, least: f64) -> String {
    if number < 0.0 { format!(">-{least}") } else { format!("<{least}") }
}

/// A number with these decimals: `0`, `<0.01`, `0.25`. Only zero reads as zero.
pub fn fixed(number: f64, decimals: usize) -> String {
    let least = 10f64.powi(-(decimals as i32));
    match decimals {
        _ if number == 0.0 => "0".to_owned(),
        _ if number.abs() < 0.5 * least => tiny(number, least),
        0 => grouped(number.round() as i64),
        _ => format!("{number:.decimals$}"),
    }
}

/// A value with the decimals of its file; from 1e15 on (11 days in nanoseconds), a power of ten.
pub fn as_in_file(value: f64, decimals: usize) -> String {
    if value.abs() < 1e15 { format!("{value:.decimals$}") } else { format!("{value:.3e}") }
}

/// A value at the axis of a text plot: three digits, a power of ten from 1e15 on, and `0`.
pub fn plotted(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        magnitude if magnitude < 0.01 => format!("{value:.4}"),
        magnitude if magnitude < 0.1 => format!("{value:.3}"),
        magnitude if magnitude >= 1e15 => format!("{value:.2e}"),
        _ => ns(value),
    }
}

/// A round value at an axis: `0.5`, `20`, `1 000`, `2 M`.
pub fn axis(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1e15 => format!("{value:.2e}"),
        magnitude if magnitude >= 999_999.5 => format!("{} M", (value / 1e4).round() / 100.0),
        magnitude if magnitude >= 100.0 => grouped(value.round() as i64),
        magnitude if magnitude > 0.0 && magnitude < 1e-3 => format!("{value:.1e}"),
        _ => format!("{}", (value * 1e4).round() / 1e4),
    }
}

/// A share at an axis, with all its nines: `99.999 %`.
pub fn nines(share: f64) -> String {
    format!("{} %", (share * 1e10).round() / 1e8)
}

/// Two significant digits with the letter of thousands or millions: `17`, `26k`, `4.5M`.
pub fn with_letter(value: f64) -> String {
    match value {
        value if value >= 999_500.0 => format!("{}M", short_ns(value / 1e6)),
        value if value >= 9_999.5 => format!("{}k", short_ns(value / 1e3)),
        value => short_ns(value),
    }
}

/// A point and the half width of its interval, `7.83 ±0.05`; only the point without a known interval.
pub fn with_reach(of: &Estimate) -> String {
    match of.is_sure() {
        true => format!("{} {}", ns(of.point), plus_minus(of.point, of.reach())),
        false => ns(of.point),
    }
}

fn scale_of(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v >= 9_999.5e9 => (1.0, ""),
        v if v >= 9_999.5e6 => (1e9, " G"),
        v if v >= 9_999.5e3 => (1e6, " M"),
        v if v >= 99_995.0 => (1e3, " k"),
        _ => (1.0, ""),
    }
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99_995.0 => format!("{value:.3e}"),
        v if v >= 1000.0 => grouped(value.round() as i64),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        v if v >= 1.0 => format!("{value:.3}"),
        v if v >= 0.1 => format!("{value:.4}"),
        v if v >= 0.01 => format!("{value:.5}"),
        v if v >= 0.001 => format!("{value:.6}"),
        _ => format!("{value:.2e}"),
    }
}

/// Seconds in readable units: `38 µs`, `1.5 ms`, `6.4 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 9.95e-3 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{s:.0} s"),
        s if s < 7170.0 => {
            let whole = s.round() as u64;
            if whole.is_multiple_of(60) {
                format!("{} min", whole / 60)
            } else {
                format!("{} min {} s", whole / 60, whole % 60)
            }
        }
        s => format!("{:.0} h {:.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

/// A time setting with all its digits: `100 ns`, `1.5 µs`, `1 ms`. Different times never have the same text.
pub fn chosen_time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{} ms", ns / 1e6),
        ns => format!("{} s", ns / 1e9),
    }
}

/// A rate setting per second, with at most six digits: `25 M`, `63 k`, `333.333 k`, `500`.
pub fn chosen_rate(rate: f64) -> String {
    let digits = 10f64.powi(5 - rate.max(1.0).log10() as i32);
    let rate = (rate * digits).round() / digits;
    let (scale, letter) = match rate {
        rate if rate >= 1e9 => (1e9, " G"),
        rate if rate >= 1e6 => (1e6, " M"),
        rate if rate >= 1e3 => (1e3, " k"),
        _ => (1.0, ""),
    };
    format!("{}{letter}", rate / scale)
}

/// A share in percent: `74 %`, `2.6 %`, `0.04 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        // Rounding errors of equal shares must not show a sign.
        p if p < 1e-6 => "0 %".to_owned(),
        p if p < 0.005 => tiny(percent, 0.01) + " %",
        p if p >= 9.95 => format!("{percent:.0} %"),
        p if p >= 0.95 => format!("{} %", (percent * 10.0).round() / 10.0),
        _ => format!("{percent:.2} %"),
    }
}

/// A difference in percent with its sign; zero has none: `+5.0 %`, `-12.3 %`, `0.0 %`.
pub fn signed_percent(percent: f64) -> String {
    if percent.abs() < 0.05 { "0.0 %".to_owned() } else { format!("{percent:+.1} %") }
}

/// A whole number with its sign; zero has none: `+5`, `-12`, `0`.
pub fn signed_whole(value: f64) -> String {
    if value.abs() < 0.5 { "0".to_owned() } else { format!("{value:+.0}") }
}

/// A p-value and its relation: `= 0.0020`, `< 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

/// A count with its noun: `1 pair`, `2 pairs`, `24 passes`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = match number {
        1 => "",
        _ if noun.ends_with('s') || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", grouped(number as i64))
}

/// A size in bytes: `640 kB`, `12 MB`.
pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 9.95e5 => format!("{:.0} kB", b / 1e3),
        b if b < 9.95e6 => format!("{:.1} MB", b / 1e6),
        b if b < 9.995e8 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A size in binary units, with at most two decimals: `48 KiB`, `1.25 MiB`.
pub fn binary_bytes(bytes: u64) -> String {
    let (size, unit) = if bytes < 1 << 20 { (1024.0, "KiB") } else { (1_048_576.0, "MiB") };
    format!("{} {unit}", (bytes as f64 / size * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the text of each number; texts are separated by bars.
    #[track_caller]
    fn check(text: impl Fn(f64) -> String, numbers: &[f64], expected: &str) {
        assert_eq!(numbers.iter().copied().map(text).collect::<Vec<_>>().join("|"), expected);
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        check(ns, &[7.834, 22.64, 116.2, 1300.4, 9.996], "7.83|22.6|116|1 300|10.0");
        check(ns, &[-0.0, 0.0, 0.0041, 0.04], "0.00|0.00|0.0041|0.04");
        check(short_ns, &[7.84, 9.96, 84.6, -0.0, 0.0, -0.04], "7.8|10|85|0.0|0.0|-0.040");
        check(short_ns, &[0.041, -0.45, 0.96, 3e-20], "0.041|-0.45|1.0|3.0e-20");
        check(signed_percent, &[0.0, -1e-9, -0.04, 0.04], "0.0 %|0.0 %|0.0 %|0.0 %");
        check(signed_percent, &[-0.06, 104.2], "-0.1 %|+104.2 %");
        check(|value| fixed(value, 2), &[0.0, -0.003, 0.003, -0.25], "0|>-0.01|<0.01|-0.25");
        let rates = [63e3, 1e6 / 3.0, 999_999.7, 500.0, 1_000_050.0];
        check(chosen_rate, &rates, "63 k|333.333 k|1 M|500|1.00005 M");
        let seconds = [3.8e-5, 0.0041, 0.38, 6.44, 24.0, 200.0, 7500.0];
        check(duration, &seconds, "38 µs|4.1 ms|380 ms|6.4 s|24 s|3 min 20 s|2 h 5 min");
        check(chosen_time, &[100.0, 1_500.0, 20e3, 1e6, 1e9], "100 ns|1.5 µs|20 µs|1 ms|1 s");
        check(percent, &[0.74, 0.026, 0.02, 0.0004, 0.0], "74 %|2.6 %|2 %|0.04 %|0 %");
        check(percent, &[-0.0, -1e-17, 4e-5, -4e-5, -6e-5], "0 %|0 %|<0.01 %|>-0.01 %|-0.01 %");
        assert_eq!([48, 1280, 32_768].map(|kib| binary_bytes(kib << 10)), ["48 KiB", "1.25 MiB", "32 MiB"]);
        assert_eq!((grouped(-1_234_567), count(1, "pair")), ("-1 234 567".into(), "1 pair".into()));
        assert_eq!([1, 2].map(|n| count(n, "pass")), ["1 pass", "2 passes"]);
        assert_eq!([1, 2].map(|n| count(n, "batch")), ["1 batch", "2 batches"]);
    }

    #[test]
    fn figures_have_four_digits_and_a_letter_for_their_size() {
        for (value, text) in [
            (0.0, "0"),
            (0.001_234_56, "0.001235"),
            (0.054_2, "0.05420"),
            (1.234_56, "1.235"),
            (99.994, "99.99"),
            (12_345.6, "12 346"),
            (100_004.0, "100.0 k"),
            (8_007_244.0, "8 007 k"),
            (433_788_782.0, "433.8 M"),
            (12_345_678_901.0, "12.35 G"),
            (-8_007_244.0, "-8 007 k"),
            (123_456_789_012_345.0, "1.235e14"),
            (1e300, "1.000e300"),
            (f64::MAX, "1.798e308"),
        ] {
            assert_eq!(figure(value), text, "{value}");
        }
        assert_eq!(interval(432_090_345.0, 434_401_434.0), "432.1–434.4 M");
        assert_eq!(interval(9.5e6, 10.5e6), "9.500–10.50 M");
        assert_eq!(interval(-8e9, 2.0), "-8 000–2.00e-6 M");
        assert_eq!(interval(1e300, 2e300), "1.000e300–2.000e300");
    }
}
