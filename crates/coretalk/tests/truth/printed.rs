//! [`Printed`]: a number as a screen prints it, with what rounding leaves open.

/// A number that was read from a screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// What it says; percents as shares, times in seconds.
    pub value: f64,
    /// How far what it stands for may lie from that: half a unit of its last digit.
    pub half: f64,
}

impl Printed {
    /// `1 300`, `7.8`, `+5.0 %`, `−2 %`, `<0.001`, `37.36 M`, each with what may stand around it: `±0.4`, `23!`, `928s`.
    pub fn read(text: &str) -> Option<Printed> {
        let text = text.trim().trim_start_matches(['±', '~', '×']).trim_start();
        let text = text.trim_end_matches(['!', 's', '.', ',', ';']).trim_end();
        if let Some(below) = text.strip_prefix('<') {
            let most = Printed::read(below)?.value;
            return Some(Printed { value: most / 2.0, half: most / 2.0 });
        }
        if let Some(percent) = text.strip_suffix('%') {
            let number = Printed::read(percent)?;
            let decimals = decimals(percent.trim());
            // A share below ten percent has a digit behind the point, which is left out where it is a zero.
            let half = if decimals == 0 && number.value.abs() < 9.95 { 0.05 } else { number.half };
            return Some(Printed { value: number.value / 100.0, half: half / 100.0 });
        }
        for (letter, scale) in [(" k", 1e3), (" M", 1e6), (" G", 1e9)] {
            if let Some(number) = text.strip_suffix(letter) {
                let number = Printed::read(number)?;
                return Some(Printed { value: number.value * scale, half: number.half * scale });
            }
        }
        let sign = if text.starts_with(['-', '−']) { -1.0 } else { 1.0 };
        let digits: String = text.trim_start_matches(['-', '−', '+']).chars().filter(|c| *c != ' ').collect();
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        let value: f64 = digits.parse().ok().filter(|_| is_number)?;
        Some(Printed { value: sign * value, half: 0.5 * 10f64.powi(-decimals(&digits)) })
    }

    /// `38 µs`, `6.4 s`, `3 min 20 s`, `2 h 5 min`, in seconds.
    pub fn time(text: &str) -> Option<Printed> {
        const UNITS: [(&str, f64); 6] =
            [(" ns", 1e-9), (" µs", 1e-6), (" ms", 1e-3), (" min", 60.0), (" h", 3600.0), (" s", 1.0)];
        let text = text.trim();
        for (major, minor) in [(" min ", 60.0), (" h ", 3600.0)] {
            if let Some((whole, rest)) = text.split_once(major) {
                let (whole, rest) = (Printed::read(whole)?, Printed::time(rest)?);
                return Some(Printed { value: whole.value * minor + rest.value, half: rest.half });
            }
        }
        let (unit, scale) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit))?;
        let number = Printed::read(&text[..text.len() - unit.len()])?;
        Some(Printed { value: number.value * scale, half: number.half * scale })
    }

    /// Whether this is how that number reads. A document keeps four digits behind the point, so the last of the screen
    /// may have been rounded from a fifth.
    pub fn reads(&self, exact: f64) -> bool {
        let slack = 0.02 * self.half + 1e-9 * exact.abs() + 6e-7_f64.min(self.half);
        (self.value - exact).abs() <= self.half + slack
    }
}

fn decimals(digits: &str) -> i32 {
    digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32)
}

#[test]
fn numbers_are_read_as_they_are_printed() {
    let near = |found: Printed, value: f64, half: f64| {
        assert!((found.value - value).abs() < 1e-12 * value.abs().max(1.0), "{found:?}");
        assert!((found.half - half).abs() < 1e-9 * half, "{found:?}");
    };
    for (text, value, half) in [
        ("1 300", 1300.0, 0.5),
        ("7.83", 7.83, 0.005),
        ("23!", 23.0, 0.5),
        ("±0.4", 0.4, 0.05),
        ("+5.0 %", 0.05, 0.0005),
        ("2 %", 0.02, 0.0005),
        ("91 %", 0.91, 0.005),
        ("−0.95 %", -0.0095, 0.00005),
        ("37.36 M", 37.36e6, 5e3),
    ] {
        near(Printed::read(text).unwrap(), value, half);
    }
    for (text, value, half) in
        [("6.4 s", 6.4, 0.05), ("3 µs", 3e-6, 0.5e-6), ("3 min 20 s", 200.0, 0.5), ("896 ms", 0.896, 0.5e-3)]
    {
        near(Printed::time(text).unwrap(), value, half);
    }
    for text in ["·", "", "s", "CPU 3", "one", "0-3"] {
        assert_eq!(Printed::read(text), None, "{text}");
    }
    assert!(Printed::read("18.2").unwrap().reads(18.2499) && !Printed::read("18.2").unwrap().reads(18.27));
}
