//! [`Printed`]: a number as printed, with its rounding error.

/// A number that was read from a screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// In the base unit: nanoseconds for times, a fraction for percentages.
    pub value: f64,
    /// Maximum rounding error: half a unit of the last digit.
    pub half: f64,
}

/// Units and prefixes after a number, with their factors.
const UNITS: [(&str, f64); 17] = [
    ("", 1.0),
    ("×", 1.0),
    ("cycles", 1.0),
    ("B", 1.0),
    ("%", 1e-2),
    ("k", 1e3),
    ("kB", 1e3),
    ("M", 1e6),
    ("MB", 1e6),
    ("G", 1e9),
    ("GB", 1e9),
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];

impl Printed {
    /// Reads a number with its unit: `1 300`, `+5.0 %`, `-2 %`, `<0.001`, `37.36 M/s`, `±0.4`, `3 min 20 s`.
    pub fn read(text: &str) -> Option<Printed> {
        let text = text.trim_start_matches(['±', '×', '+', ' ']).trim_end_matches('!');
        if let Some(limit) =
            text.strip_prefix('<').or(text.strip_prefix('>').filter(|limit| limit.starts_with('-')))
        {
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
        let scale = UNITS.iter().find(|(name, _)| *name == unit)?.1;
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
    for (text, [small, zero]) in [("<0.01", [0.001, 0.0]), (">-0.01 %", [-0.00001, 0.0])] {
        assert!(
            Printed::read(text).unwrap().reads(small) && !Printed::read(text).unwrap().reads(zero),
            "{text}"
        );
    }
    assert!(Printed::read("18.2").unwrap().reads(18.2499) && !Printed::read("18.2").unwrap().reads(18.27));
}
