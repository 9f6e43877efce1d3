//! Parsers of option values, each with its error message.

use clap::builder::{OsStringValueParser, TypedValueParser};
use coretalk_model::external::{External, SAME};
use coretalk_model::selection::SelectionError;
use coretalk_model::{CpuId, CpuSelection, CpuSet, Picos, time};
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;

/// Valid range of the relative half-width.
const PRECISION: RangeInclusive<f64> = 0.001..=0.5;

/// Maximum samples per pair. Their ticks are held in memory and, for few CPUs, in the run file.
pub const MAX_SAMPLES: i64 = 1_000_000;
/// Maximum round trips per sample. At 500 ns each, they take 0.5 s, which fits the 32 bits of a sample on any clock.
pub const MAX_ITERATIONS: i64 = 1_000_000;

/// Shortest machine time: enough for a pilot and one pass over a pair, with pauses.
const MIN_BUDGET: Picos = Picos::from_ms(100);
/// Longest machine time: a day.
const MAX_BUDGET: Picos = Picos(86_400_000_000_000_000);

/// Parses `0-3,8`, `l3:0,!core:0` and the like.
pub fn cpus(text: &str) -> Result<CpuSelection, String> {
    CpuSelection::parse(text).map_err(|error| match error {
        SelectionError::List(error) => format!("failed to {error}"),
        error => error.to_string(),
    })
}

/// `--adapter` as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterWord {
    /// Runtime name before the colon.
    pub name: String,
    /// Program and arguments.
    pub words: Vec<String>,
}

impl std::fmt::Display for AdapterWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.words.join(" "))
    }
}

/// Parses `lua=luajit adapter.lua`.
pub fn adapter(text: &str) -> Result<AdapterWord, String> {
    let expected = "expected NAME=COMMAND, such as `lua=luajit adapter.lua`";
    let (name, command) = text.split_once('=').ok_or(expected)?;
    if !External::is_runtime(name) {
        return Err(format!(
            "`{name}` cannot be a name: use letters a to z, digits and `-`, a letter first, and no word that stands \
             before a colon already"
        ));
    }
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() { Err(expected.into()) } else { Ok(AdapterWord { name: name.to_owned(), words }) }
}

/// `--helpers` as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelpersWord {
    /// The measured CPUs.
    Same,
    /// These CPUs.
    On(CpuSelection),
}

/// Parses `same` or a selection of CPUs.
pub fn helpers(text: &str) -> Result<HelpersWord, String> {
    match text {
        SAME => Ok(HelpersWord::Same),
        selection => cpus(selection).map(HelpersWord::On),
    }
}

/// Parses `2%` as a share of 1.
pub fn precision(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.ok_or("expected a percentage such as `2%`")? / 100.0;
    if PRECISION.contains(&share) {
        Ok(share)
    } else {
        Err("the precision must be between 0.1% and 50%".into())
    }
}

/// Parses the minimum relevant difference of a comparison as a share of 1.
pub fn min_effect(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.ok_or("expected a percentage such as `3%`")? / 100.0;
    if (0.001..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err("the smallest difference must be between 0.1% and 100%".into())
    }
}

/// Parses `60s`; from 100 ms to a day.
pub fn budget(text: &str) -> Result<Picos, String> {
    let budget = Picos::parse(text).map_err(|error| format!("failed to {error}"))?;
    if budget < MIN_BUDGET {
        Err("nothing can be measured in less than `100ms`".into())
    } else if budget > MAX_BUDGET {
        Err("the longest budget is a day (`24h`)".into())
    } else {
        Ok(budget)
    }
}

/// Parses `500ns`, or `0` for none, into nanoseconds.
pub fn section(text: &str) -> Result<f64, String> {
    if text.trim() == "0" {
        return Ok(0.0);
    }
    let ns = Picos::parse(text).map_err(|error| format!("failed to {error}"))?.ns();
    let most_ns = coretalk_measure::probes::contend::MAX_SECTION_NS;
    if ns <= most_ns { Ok(ns) } else { Err("a section lasts at most `1ms`".into()) }
}

/// Idle gaps in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaps(pub Vec<f64>);

/// Parses `1us..1s` in powers of ten, or a list such as `1us,5ms`.
pub fn gaps(text: &str) -> Result<Gaps, String> {
    let ns = |text: &str| -> Result<f64, String> {
        let gap_ns = Picos::parse(text.trim()).map_err(|error| format!("failed to {error}"))?.ns();
        if (100.0..=1e9).contains(&gap_ns) {
            Ok(gap_ns)
        } else {
            Err("a gap must be between `100ns` and `1s`".into())
        }
    };
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (ns(from)?, ns(to)?);
            if from > to {
                return Err("put the shorter gap first, as in `1us..1s`".into());
            }
            Ok(Gaps(coretalk_measure::probes::gaps::decades(from, to)))
        }
        None => text.split(',').map(ns).collect::<Result<_, _>>().map(Gaps),
    }
}

/// Parses `90%` as a share of 1.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.ok_or("expected a percentage such as `90%`")? / 100.0;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share must be between 0% and 100%".into()) }
}

/// Parses `25M`; at most ten billion messages.
pub fn messages(text: &str) -> Result<u64, String> {
    const MAX_MESSAGES: f64 = 1e10;
    let text = text.trim();
    let (number, scale) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1e3),
        Some('M') => (&text[..text.len() - 1], 1e6),
        Some('G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let number = number.trim().parse::<f64>().ok().map(|number| number * scale);
    match number.ok_or("expected a number of messages such as `25M`, `100k` or `800`")? {
        number if number.fract() != 0.0 => Err("the number of messages must be whole".into()),
        number if (1.0..=MAX_MESSAGES).contains(&number) => Ok(number as u64),
        _ => Err("the number of messages must be between 1 and `10G`".into()),
    }
}

/// Parses `10k/s` into messages per second.
pub fn rate(text: &str) -> Result<f64, String> {
    time::parse_rate(text).map_err(|error| format!("failed to {error}"))
}

/// `--rate-sweep` as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RatesWord {
    /// The default range, which suits most queues.
    Auto,
    /// From the first to the second rate, in messages per second.
    Between([f64; 2]),
}

impl std::fmt::Display for RatesWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RatesWord::Auto => f.write_str("auto"),
            RatesWord::Between([from, to]) => write!(f, "{from}..{to}"),
        }
    }
}

/// Parses `auto` or `100k..10M/s`.
pub fn rates(text: &str) -> Result<RatesWord, String> {
    if text == "auto" {
        return Ok(RatesWord::Auto);
    }
    let ends = text.split_once("..").filter(|(from, to)| !from.trim().is_empty() && !to.trim().is_empty());
    let (from, to) = ends.ok_or("expected FROM..TO, both of them, for example `100k..10M/s`")?;
    let (from, to) = (rate(from)?, rate(to)?);
    match from < to {
        true => Ok(RatesWord::Between([from, to])),
        false => Err("the first rate must be below the second".into()),
    }
}

/// Parses `KEY=VALUE`.
pub fn note(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, for example `fabric=1800MHz`".into()),
    }
}

/// `--pairs` as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairsWord {
    /// Every pair.
    All,
    /// A few for each relation.
    Representatives,
    /// These pairs, in the order typed.
    Listed(Vec<[CpuId; 2]>),
}

/// Parses `all`, `representatives` or `0-1,4-9`.
pub fn pairs(text: &str) -> Result<PairsWord, String> {
    match text {
        "all" => return Ok(PairsWord::All),
        "representatives" => return Ok(PairsWord::Representatives),
        _ => {}
    }
    let mut listed: Vec<[CpuId; 2]> = Vec::new();
    for part in text.split(',') {
        let ids = part.split_once('-').and_then(|(a, b)| Some([cpu(a)?, cpu(b)?]));
        let Some(pair) = ids else {
            return Err(format!(
                "`{part}` is not a pair (expected `all`, `representatives`, or pairs such as `0-1,4-9`)"
            ));
        };
        if listed.contains(&pair) {
            return Err(format!("`{part}` lists a pair for the second time"));
        }
        listed.push(pair);
    }
    Ok(PairsWord::Listed(listed))
}

fn cpu(text: &str) -> Option<CpuId> {
    let set = CpuSet::from_list(text.trim()).ok()?;
    if set.len() == 1 { set.first() } else { None }
}

/// `auto` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoOr {
    /// Chosen by the program.
    Auto,
    /// This number.
    Number(u32),
}

/// Parses `auto` or the number of a NUMA node.
pub fn node(text: &str) -> Result<AutoOr, String> {
    match text {
        "auto" => Ok(AutoOr::Auto),
        _ => text
            .parse()
            .map(AutoOr::Number)
            .map_err(|_| "expected `auto` or the number of a NUMA node".into()),
    }
}

/// Parses `auto` or a number of pairs from 1.
pub fn parallel(text: &str) -> Result<AutoOr, String> {
    match text {
        "auto" => Ok(AutoOr::Auto),
        _ => match text.parse() {
            Ok(pairs @ 1..) => Ok(AutoOr::Number(pairs)),
            _ => Err("expected `auto`, or a number of simultaneous pairs from 1 (serial)".into()),
        },
    }
}

/// `--machine` as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineWord {
    /// This machine.
    Host,
    /// A simulated machine, by name or file.
    Sim(OsString),
}

/// Parser of `host`, `sim:NAME` and `sim:FILE`.
pub fn machine() -> impl TypedValueParser<Value = MachineWord> {
    OsStringValueParser::new().try_map(|word| machine_of(&word))
}

fn machine_of(word: &OsStr) -> Result<MachineWord, String> {
    match split_once(word, ':') {
        Some(("sim", what)) if !what.is_empty() => Ok(MachineWord::Sim(what.to_owned())),
        None if word == "host" => Ok(MachineWord::Host),
        _ => Err("expected `host`, `sim:NAME`, `sim:FILE.toml` or `sim:FILE.csv`".into()),
    }
}

/// Splits at the first `separator`. The rest may be a file name that is not valid UTF-8.
pub fn split_once(word: &OsStr, separator: char) -> Option<(&str, &OsStr)> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let bytes = word.as_bytes();
        let position = bytes.iter().position(|&byte| char::from(byte) == separator)?;
        Some((std::str::from_utf8(&bytes[..position]).ok()?, OsStr::from_bytes(&bytes[position + 1..])))
    }
    #[cfg(not(unix))]
    {
        let (before, after) = word.to_str()?.split_once(separator)?;
        Some((before, OsStr::new(after)))
    }
}

/// Parses a tag: at least one character and no control characters.
pub fn tag(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("a tag needs at least one character and no control characters".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_cpus_are_refused() {
        for text in ["0,0", "0-3,2", "4-7/2,6", "1,0-8", "l3:0,1,1"] {
            assert!(cpus(text).unwrap_err().contains("listed twice"), "{text:?}");
        }
    }

    #[test]
    fn percentages_have_a_sign_and_a_range() {
        assert_eq!(precision("2%"), Ok(0.02));
        assert_eq!(precision("0.1 %"), Ok(0.001));
        for text in ["", "%", "2", "0%", "0.09%", "51%", "-2%", "NaN%", "inf%", "2 percent"] {
            assert!(precision(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn pairs_have_two_cpus_and_no_repetition() {
        assert_eq!(pairs("all"), Ok(PairsWord::All));
        assert_eq!(pairs("3-3"), Ok(PairsWord::Listed(vec![[CpuId(3); 2]])), "two threads may share a CPU");
        let listed = PairsWord::Listed(vec![[CpuId(1), CpuId(0)], [CpuId(4), CpuId(9)]]);
        assert_eq!(pairs("1-0,4-9"), Ok(listed));
        for text in ["", "0", "0-0,0-0", "0-1,0-1", "0-1,", "0--1", "0-1-2", "a-b", "+0-1", "0-99999999"] {
            assert!(pairs(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn budgets_range_from_100_ms_to_a_day() {
        assert_eq!(budget("24h"), Ok(MAX_BUDGET));
        for text in ["0s", "99ms", "25h", "-1s", "60", "soon"] {
            assert!(budget(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn machines_are_the_host_or_simulated() {
        assert_eq!(machine_of(OsStr::new("sim:hybrid")), Ok(MachineWord::Sim("hybrid".into())));
        for text in ["", "sim:", "hosts", "hybrid"] {
            assert!(machine_of(OsStr::new(text)).is_err(), "{text:?} was accepted");
        }
    }
}
