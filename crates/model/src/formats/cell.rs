//! [`Number`]: one latency as a file prints it.

use super::{Printed, Problem, import_error::excerpt};

/// A number and how it was printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub printed: Printed,
}

/// The character between whole part and decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecimalMark {
    Point,
    Comma,
}

/// Reads a cell; `None` is one of the ways to say "not measured": nothing at all, NaN, `x` (CoherencyLatency), `-`,
/// NA, null. The sign is left to whoever knows whether the cell is on the diagonal.
///
/// # Errors
/// [`Problem::NotANumber`] and [`Problem::Thousands`].
pub(super) fn read_cell(text: &str, mark: DecimalMark) -> Result<Option<Number>, Problem> {
    let text = text.trim();
    const UNKNOWN: [&str; 9] = ["", "nan", "x", "-", "--", "na", "n/a", "null", "none"];
    if UNKNOWN.iter().any(|unknown| text.eq_ignore_ascii_case(unknown)) {
        return Ok(None);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["inf", "infinity", "∞"].iter().any(|infinite| unsigned.eq_ignore_ascii_case(infinite)) {
        return Ok(Some(Number { value: f64::INFINITY, printed: Printed::Decimals }));
    }
    if !is_numeric(text) {
        return Err(Problem::NotANumber { cell: excerpt(text) });
    }
    let foreign = match mark {
        DecimalMark::Point => text.contains(','),
        DecimalMark::Comma => text.contains('.') || text.matches(',').count() > 1,
    };
    if foreign {
        return Err(Problem::Thousands { cell: excerpt(text) });
    }
    let value = match mark {
        DecimalMark::Point => text.parse::<f64>(),
        DecimalMark::Comma => text.replace(',', ".").parse::<f64>(),
    };
    let printed =
        if unsigned.bytes().all(|b| b.is_ascii_digit()) { Printed::WholeNumbers } else { Printed::Decimals };
    // Adding zero turns -0 into 0.
    value
        .map(|value| Some(Number { value: value + 0.0, printed }))
        .map_err(|_| Problem::NotANumber { cell: excerpt(text) })
}

/// Whether only the characters of numbers occur, so that a comma in it can be a decimal mark.
pub(super) fn is_numeric(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'+' | b'-' | b'e' | b'E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_printed_and_nothing_else_does() {
        use DecimalMark::{Comma, Point};
        use Printed::{Decimals, WholeNumbers};
        for (text, mark, value, printed) in [
            ("52", Point, 52.0, WholeNumbers),
            (" 6.930 ", Point, 6.93, Decimals),
            ("1.986e+01", Point, 19.86, Decimals),
            ("6,930", Comma, 6.93, Decimals),
            ("-7.1", Point, -7.1, Decimals),
            ("-0", Point, 0.0, WholeNumbers),
        ] {
            assert_eq!(read_cell(text, mark), Ok(Some(Number { value, printed })), "from {text:?}");
        }
        for text in ["", "NaN", "x", "X", "-", "n/a", "null"] {
            assert_eq!(read_cell(text, Point), Ok(None), "from {text:?}");
        }
        for text in ["timeout", "52ns", "0x10", "1_000", "1 000", "--5", "1.2.3", "e", "5e", "."] {
            let problem = read_cell(text, Point).unwrap_err();
            assert!(matches!(problem, Problem::NotANumber { .. }), "{text:?}: {problem}");
        }
        for (text, mark) in [("1,019.22", Point), ("1,019", Point), ("1.019,22", Comma), ("1,019,220", Comma)]
        {
            let problem = read_cell(text, mark).unwrap_err();
            assert!(matches!(problem, Problem::Thousands { .. }), "{text:?}: {problem}");
        }
    }
}
