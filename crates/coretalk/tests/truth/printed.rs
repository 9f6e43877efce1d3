//! [`Printed`]: a number as printed, with its rounding error.

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// In the base unit: nanoseconds for times, a fraction for percentages.
    pub value: f64,
    /// Maximum rounding error: half a unit of the last digit.
    pub half: f64,
}

/// The factor of a unit or a prefix after a number.
fn scale(unit: &str) -> Option<f64> {
    match unit {
        "" | "×" | "cycles" | "B" | "ns" => Some(1.0),
        "%" => Some(1e-2),
        "k" | "kB" | "µs" => Some(1e3),
        "M" | "MB" | "ms" => Some(1e6),
        "G" | "GB" | "s" => Some(1e9),
        "min" => Some(60e9),
        "h" => Some(3600e9),
        _ => None,
    }
}

impl Printed {
    /// Reads a number with its unit: `1 300`, `+5.0 %`, `-2 %`, `<0.001`, `37.36 M/s`, `±0.4`, `3 min 20 s`.
    pub fn read(text: &str) -> Option<Printed> {
        let text = text.trim_start_matches(['±', '×', '+', ' ']).trim_end_matches('!');
        let above = text.strip_prefix('>').filter(|limit| limit.starts_with('-'));
        if let Some(limit) = text.strip_prefix('<').or(above) {
            let half = Printed::read(limit)?.value / 2.0;
            return Some(Printed { value: half, half: half.abs() });
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_digit = |c: char| c.is_ascii_digit() || ".-e".contains(c);
        let digits = words.iter().take_while(|word| word.chars().all(is_digit)).count();
        let number = words[..digits].concat();
        let value: f64 = number.parse().ok()?;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let unit = words.get(digits).map_or("", |unit| unit.trim_end_matches("/s"));
        let scale = scale(unit)?;
        // Percentages below ten have one decimal, which is omitted if it is zero.
        let is_short = unit == "%" && decimals == 0 && value.abs() < 9.95;
        let half = if is_short { 0.05 } else { 0.5 * 10f64.powi(-decimals) };
        match (unit, words.get(digits + 1..)) {
            ("min" | "h", Some(smaller @ [_, ..])) => {
                let smaller = Printed::read(&smaller.join(" "))?;
                Some(Printed { value: value * scale + smaller.value, ..smaller })
            }
            (_, None | Some([])) => Some(Printed { value: value * scale, half: half * scale }),
            _ => None,
        }
    }

    /// Whether an exact number may be printed like this. A limit (`<0.01`), whose `half` is its value, excludes zero.
    pub fn reads(&self, exact: f64) -> bool {
        let is_zero = exact == 0.0 && self.value != 0.0 && self.half == self.value.abs();
        !is_zero && (self.value - exact).abs() <= 1.02 * self.half + 1e-9 * exact.abs()
    }
}

#[test]
fn numbers_are_read_as_they_are_printed() {
    for (text, value, half) in [
        ("1 300", 1300.0, 0.5),
        ("7.83", 7.83, 0.005),
        ("23!", 23.0, 0.5),
        ("±0.4", 0.4, 0.05),
        ("+5.0 %", 0.05, 0.0005),
        ("2 %", 0.02, 0.0005),
        ("91 %", 0.91, 0.005),
        ("-0.95 %", -0.0095, 0.00005),
        (">-0.01 %", -0.00005, 0.00005),
        ("37.36 M", 37.36e6, 5e3),
        ("6.4 s", 6.4e9, 0.05e9),
        ("3 µs", 3e3, 0.5e3),
        ("3 min 20 s", 200e9, 0.5e9),
        ("896 ms", 0.896e9, 0.5e6),
    ] {
        let found = Printed::read(text).unwrap();
        assert!((found.value - value).abs() < 1e-12 * value.abs().max(1.0), "{found:?}");
        assert!((found.half - half).abs() < 1e-9 * half, "{found:?}");
    }
    for text in ["·", "", "s", "CPU 3", "one", "0-3", "3 µS", "5 min 3 furlongs", "7 ns or so"] {
        assert_eq!(Printed::read(text), None, "{text}");
    }
    for (text, exact, other) in [("<0.01", 0.001, 0.0), (">-0.01 %", -0.00001, 0.0), ("18.2", 18.2499, 18.27)]
    {
        let read = Printed::read(text).unwrap();
        assert!(read.reads(exact) && !read.reads(other), "{text}");
    }
}
