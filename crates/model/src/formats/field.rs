//! One field of a file: a latency ([`Number`]) or a CPU id ([`read_label`], [`CpuLabels`]).

use super::import_error::excerpt;
use super::{MAX_CPUS, Printed, Problem, Unit};
use crate::CpuId;
use crate::cpu::MAX_CPU;
use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub printed: Printed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecimalMark {
    Point,
    Comma,
}

/// Reads a cell; `None` if it is empty or means "not measured": NaN, `x` (CoherencyLatency), `-`, NA, null. The caller
/// checks the sign. Fails with [`Problem::NotANumber`] or [`Problem::Thousands`].
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

/// The words of a name in lower case. `Latency (Nanoseconds)`, `latency_ns_med` and `AverageCycles` have several words.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (after_small && c.is_uppercase()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphabetic(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        after_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The unit in a title, a heading or the text after a number, if any. Fails with [`Problem::Unit`] if unsupported.
pub(super) fn read_unit(text: &str) -> Result<Option<Unit>, Problem> {
    for word in words_of(text) {
        match word.as_str() {
            "ns" | "nsec" | "nanosecond" | "nanoseconds" | "latencyns" => return Ok(Some(Unit::Ns)),
            "cycle" | "cycles" | "clocks" | "ticks" => return Ok(Some(Unit::Cycles)),
            "us" | "µs" | "μs" | "ms" | "s" | "ps" | "microseconds" | "milliseconds" | "seconds"
            | "picoseconds" => return Err(Problem::Unit { text: excerpt(text) }),
            _ => {}
        }
    }
    Ok(None)
}

/// The unit in a title or a row of names, if any. In prose, `us` and `s` are seldom units. They count only in brackets,
/// between bars, after `in` or a measured quantity, or alone. Fails with [`Problem::Unit`] if unsupported.
pub(super) fn unit_of(title: &str) -> Result<Option<Unit>, Problem> {
    const BEFORE: [&str; 7] = ["in", "latency", "latencies", "time", "times", "median", "mean"];
    let is_stated = |word: &str| {
        let at = word.as_ptr() as usize - title.as_ptr() as usize;
        let (before, after) = (title[..at].trim_end(), &title[at + word.len()..]);
        let last = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        word.chars().all(char::is_lowercase)
            && (before.ends_with(['(', '[', '_', '/', ',', ':', '|', '│'])
                || BEFORE.iter().any(|known| last.eq_ignore_ascii_case(known))
                || (before.is_empty() && !after.contains(char::is_alphabetic)))
    };
    for word in title.split(|c: char| !c.is_alphabetic()) {
        match read_unit(word) {
            Ok(None) => {}
            Err(_) if word.chars().count() <= 2 && !is_stated(word) => {}
            Err(_) => return Err(Problem::Unit { text: excerpt(title.trim()) }),
            known => return known,
        }
    }
    Ok(None)
}

/// Whether all characters may belong to a number, so that a comma can be a decimal mark.
pub(super) fn is_numeric(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'+' | b'-' | b'e' | b'E'))
}

/// Reads `5`, `CPU 5`, `cpu5`, `Core #5`. Fails with [`Problem::NotACpu`].
pub(super) fn read_label(text: &str) -> Result<CpuId, Problem> {
    let trimmed = text.trim();
    let word = trimmed.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let kind = &trimmed[..trimmed.len() - word.len()];
    const KINDS: [&str; 7] = ["", "cpu", "core", "thread", "pu", "hwc", "c"];
    let known = KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known));
    let digits = if kind.is_empty() { word } else { word.trim_start_matches([' ', '#', '_', '-']) };
    let id = is_whole(digits).then(|| digits.parse().ok()).flatten();
    match id {
        Some(id) if known && id <= MAX_CPU => Ok(CpuId(id)),
        _ => Err(Problem::NotACpu { label: excerpt(trimmed) }),
    }
}

pub(super) fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[derive(Debug, Clone, Default)]
pub(super) struct CpuLabels {
    cpus: Vec<CpuId>,
    positions: HashMap<CpuId, usize>,
}

impl CpuLabels {
    pub(super) fn numbered(n: usize) -> CpuLabels {
        let cpus: Vec<_> = (0..n as u32).map(CpuId).collect();
        let positions = cpus.iter().map(|&cpu| (cpu, cpu.index())).collect();
        CpuLabels { cpus, positions }
    }

    pub(super) fn push(&mut self, cpu: CpuId) -> Result<(), Problem> {
        if self.cpus.len() == MAX_CPUS {
            return Err(Problem::TooManyCpus);
        }
        if self.positions.insert(cpu, self.cpus.len()).is_some() {
            return Err(Problem::DuplicateCpu { cpu });
        }
        self.cpus.push(cpu);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }

    pub(super) fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    pub(super) fn position(&self, cpu: CpuId) -> Result<usize, Problem> {
        self.positions.get(&cpu).copied().ok_or(Problem::UnknownRow { cpu })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_other_text_is_rejected() {
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

    #[test]
    fn units_in_titles_are_read_or_refused_and_prose_is_neither() {
        for (title, unit) in [
            ("Median Core-to-core latency (ns)", Some(Unit::Ns)),
            ("Latency after 5 s in ns", Some(Unit::Ns)),
            ("AverageCycles", Some(Unit::Cycles)),
            ("Here's what it told us about the CPU's latency (US model, PS 5)", None),
            ("| cpu | 0 | 1 |", None),
        ] {
            assert_eq!(unit_of(title), Ok(unit), "from {title:?}");
        }
        for title in [
            "Latency in us",
            "Latency (us)",
            "latency_us",
            "LatencyUs",
            "Latency, µs",
            "latency ms",
            "us",
            "| us | 0 | 1 |",
            "in us, from the cycle counter",
            "Microseconds per hop",
        ] {
            assert!(matches!(unit_of(title), Err(Problem::Unit { .. })), "{title:?} was accepted");
        }
    }

    #[test]
    fn cpu_names_in_use_are_read_and_others_are_not() {
        for text in ["5", " 5 ", "CPU 5", "cpu5", "Core #5", "core_5", "c5", "HWC 5"] {
            assert_eq!(read_label(text), Ok(CpuId(5)), "from {text:?}");
        }
        for text in ["", "x", "5.0", "-5", "latency 5", "CPU", "99999999999", "1048576", "é5"] {
            assert!(read_label(text).is_err(), "{text:?} was accepted");
        }
    }
}
