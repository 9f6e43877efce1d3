//! [`Description`]: the runtime of an adapter, and what the adapter offers.

use super::protocol::{OperationKind, Payload, VERSIONS, cut};
use coretalk_model::external::is_word;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Parsed output of `describe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Index of the protocol version in `VERSIONS`.
    pub(super) version: usize,
    /// Runtime and version as the adapter names them: `.NET 8.0.4`.
    pub runtime: String,
    /// Offers, in the order of the adapter.
    pub offers: Vec<Offer>,
}

/// One item that an adapter can perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Kind.
    pub kind: OperationKind,
    /// Name without the runtime prefix: `semaphoreslim`.
    pub name: String,
    /// Payloads of a queue; empty for other kinds.
    pub payloads: Vec<Payload>,
    /// Capacities of a queue; any for other kinds.
    pub capacities: RangeInclusive<u64>,
}

pub(crate) const MAX_CAPACITY: u64 = u32::MAX as u64;
const ANY: RangeInclusive<u64> = 1..=MAX_CAPACITY;

/// Maximum number of offers, more than any runtime has.
const MAX_OFFERS: usize = 1_000;
const MAX_NAME: usize = 64;

/// Why a description is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// The first line is not a known version.
    #[error("the first line of `describe` is {found}, and has to be `{}` or `{}`", VERSIONS[0], VERSIONS[1])]
    Version {
        /// The line, or that it is missing.
        found: String,
    },
    /// The runtime is not named.
    #[error("`describe` does not name its runtime: add a line like `runtime .NET 8.0.4`")]
    NoRuntime,
    /// There are no offers.
    #[error(
        "`describe` offers nothing: add a line that begins with `queue`, `wait`, `wake`, `contend` or `spawn`"
    )]
    Nothing,
    /// A line is invalid.
    #[error("line {number} of `describe` cannot be read: {reason}: {line:?}")]
    Line {
        /// Line number, from 1.
        number: usize,
        /// The fault.
        reason: &'static str,
        /// The line, truncated.
        line: String,
    },
    /// There are too many offers.
    #[error("`describe` offers more than {MAX_OFFERS} things")]
    TooMany,
    /// A name is offered twice.
    #[error("`describe` offers {} `{name}` twice", .kind.word())]
    Twice {
        /// Kind.
        kind: OperationKind,
        /// The name.
        name: String,
    },
}

impl Description {
    /// Reads what `describe` prints.
    ///
    /// ```
    /// # use coretalk_measure::adapters::{Description, OperationKind};
    /// let text = "coretalk-adapter 1\nruntime Go 1.22\nqueue channel payload=u64 capacity=1..64\nwait busy,yield\n";
    /// let description = Description::parse(text).unwrap();
    /// assert_eq!(description.runtime, "Go 1.22");
    /// assert_eq!(description.find(OperationKind::Queue, "channel").unwrap().capacities, 1..=64);
    /// assert!(description.find(OperationKind::Wait, "yield").is_some());
    /// ```
    pub fn parse(text: &str) -> Result<Description, DescriptionError> {
        let mut lines = text.lines().map(str::trim_end).enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(DescriptionError::Version { found: "missing".to_owned() });
        };
        let Some(version) = VERSIONS.iter().position(|version| *version == first) else {
            return Err(DescriptionError::Version { found: format!("{:?}", cut(first)) });
        };
        let mut runtime = String::new();
        let (mut offers, mut names) = (Vec::new(), BTreeSet::new());
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let wrong = |reason| DescriptionError::Line { number: index + 1, reason, line: cut(line) };
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim();
            if word == "runtime" {
                if !runtime.is_empty() {
                    return Err(wrong("the runtime has been named before"));
                }
                runtime = rest.to_owned();
                continue;
            }
            let kind = OperationKind::ALL.into_iter().find(|kind| kind.word() == word);
            let kind = kind.ok_or_else(|| wrong("it begins with no known word"))?;
            if kind.version() > version {
                return Err(wrong("it is of a later version of the protocol than the first line says"));
            }
            let new_offers = match kind {
                OperationKind::Queue => vec![queue(rest).map_err(wrong)?],
                OperationKind::Clock if rest.is_empty() => {
                    vec![named_offer(kind, kind.word()).map_err(wrong)?]
                }
                OperationKind::Clock => return Err(wrong("`clock` stands alone: a runtime has one")),
                OperationKind::Wait
                | OperationKind::Alternate
                | OperationKind::Cost
                | OperationKind::Wake
                | OperationKind::Contend
                | OperationKind::Spawn => rest
                    .split(',')
                    .map(|name| named_offer(kind, name))
                    .collect::<Result<_, _>>()
                    .map_err(wrong)?,
            };
            for offer in new_offers {
                if !names.insert((kind, offer.name.clone())) {
                    return Err(DescriptionError::Twice { kind, name: offer.name });
                }
                if names.len() > MAX_OFFERS {
                    return Err(DescriptionError::TooMany);
                }
                offers.push(offer);
            }
        }
        match (runtime.is_empty(), offers.is_empty()) {
            (true, _) => Err(DescriptionError::NoRuntime),
            (_, true) => Err(DescriptionError::Nothing),
            _ => Ok(Description { version, runtime, offers }),
        }
    }

    /// The offer with this kind and name.
    pub fn find(&self, kind: OperationKind, name: &str) -> Option<&Offer> {
        self.offers(kind).find(|offer| offer.name == name)
    }

    /// All offers of a kind.
    pub fn offers(&self, kind: OperationKind) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(move |offer| offer.kind == kind)
    }
}

/// Reason why a queue with these payloads and capacities cannot perform a request; `None` if it can.
pub(crate) fn lack_of_queue(
    name: &str,
    payloads: &[Payload],
    capacities: &RangeInclusive<u64>,
    payload: Payload,
    capacity: u64,
) -> Option<String> {
    if !payloads.contains(&payload) {
        let known: Vec<&str> = payloads.iter().map(|payload| payload.word()).collect();
        return Some(format!("`{name}` with {}: its messages are {}", payload.word(), known.join(" or ")));
    }
    let allowed = match (capacities.start(), capacities.end()) {
        (least, most) if least == most => format!("it is always {least}"),
        (least, most) => format!("it may be {least} to {most}"),
    };
    (!capacities.contains(&capacity)).then(|| format!("`{name}` with capacity {capacity}: {allowed}"))
}

fn named_offer(kind: OperationKind, name: &str) -> Result<Offer, &'static str> {
    let name = name.trim();
    if !is_word(name) || name.len() > MAX_NAME {
        return Err("a name has letters a to z, digits and `-`, 64 at most, and begins with a letter");
    }
    Ok(Offer { kind, name: name.to_owned(), payloads: Vec::new(), capacities: ANY })
}

fn queue(text: &str) -> Result<Offer, &'static str> {
    let mut words = text.split_whitespace();
    let mut offer = named_offer(OperationKind::Queue, words.next().unwrap_or_default())?;
    let mut capacities = None;
    for word in words {
        match word.split_once('=') {
            Some(("payload", list)) => {
                let known = |word: &str| Payload::ALL.into_iter().find(|payload| payload.word() == word);
                for payload in list.split(',').map(known) {
                    let payload = payload.ok_or("a payload is `u64` or `string`")?;
                    if offer.payloads.contains(&payload) {
                        return Err("a payload is listed twice");
                    }
                    offer.payloads.push(payload);
                }
            }
            Some(("capacity", range)) => {
                let range = capacity(range).ok_or("a capacity is `any`, a number, or `A..B`, from 1 on")?;
                if capacities.replace(range).is_some() {
                    return Err("a queue has one `capacity=`");
                }
            }
            _ => return Err("a queue has `payload=` and `capacity=`"),
        }
    }
    match capacities {
        Some(capacities) if !offer.payloads.is_empty() => Ok(Offer { capacities, ..offer }),
        _ => Err("a queue has `payload=` and `capacity=`"),
    }
}

fn capacity(text: &str) -> Option<RangeInclusive<u64>> {
    if text == "any" {
        return Some(ANY);
    }
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most): (u64, u64) = (least.parse().ok()?, most.parse().ok()?);
    (1 <= least && least <= most && most <= MAX_CAPACITY).then_some(least..=most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "coretalk-adapter 1\nruntime X 1\n";

    #[test]
    fn the_documented_description_is_parsed() {
        let document =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adapters.md")).unwrap();
        let shown = document.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
        let description = Description::parse(shown).unwrap();
        assert_eq!(description.runtime, ".NET 8.0.4");
        let channel = description.find(OperationKind::Queue, "channel").unwrap();
        assert_eq!((channel.payloads.as_slice(), &channel.capacities), (&[Payload::U64][..], &(1..=65_536)));
        assert_eq!(description.offers(OperationKind::Wait).count(), 4);
        assert!(description.find(OperationKind::Wake, "busy").is_none());
    }

    #[test]
    fn a_description_without_end_is_refused_at_once_and_quoted_in_part() {
        let many = |offers: usize| {
            let names: Vec<String> = (0..offers).map(|number| format!("a{number}")).collect();
            Description::parse(&format!("{HEAD}wait {}\n", names.join(",")))
        };
        assert_eq!(many(MAX_OFFERS).unwrap().offers.len(), MAX_OFFERS);
        // A set of names keeps this linear: with a list it would take minutes.
        assert_eq!(many(120_000), Err(DescriptionError::TooMany));
        for before in ["", HEAD, &format!("{HEAD}wait "), &format!("{HEAD}queue ")] {
            let text = format!("{before}{}\n", "a".repeat(1_000_000));
            let error = Description::parse(&text).unwrap_err().to_string();
            assert!(error.len() < 300, "{} bytes", error.len());
        }
    }

    #[test]
    fn errors_in_a_description_are_reported() {
        let refused = |text: &str, expected: &str| {
            let error = Description::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        for (text, expected) in [
            (
                "",
                "the first line of `describe` is missing, and has to be `coretalk-adapter 1` or `coretalk-adapter 2`",
            ),
            ("coretalk-adapter 3\n", "is \"coretalk-adapter 3\", and has to be"),
            ("hello\n", "the first line of `describe` is \"hello\""),
            ("coretalk-adapter 1\nwait busy\n", "does not name its runtime"),
            ("coretalk-adapter 2\nruntime X\nclock a\n", "`clock` stands alone: a runtime has one"),
            (HEAD, "offers nothing"),
        ] {
            refused(text, expected);
        }
        for (line, expected) in [
            ("cost busy", "line 3 of `describe` cannot be read: it is of a later version"),
            ("contend mutex", "line 3 of `describe` cannot be read: it is of a later version"),
            ("wait busy,busy", "offers wait `busy` twice"),
            ("lock spin", "line 3 of `describe` cannot be read: it begins with no known word"),
            ("wait Busy", "a name has letters a to z"),
            ("queue q payload=u64", "a queue has `payload=` and `capacity=`"),
            ("queue q payload=u32 capacity=any", "a payload is `u64` or `string`"),
            ("queue q payload=u64 capacity=0..4", "a capacity is `any`"),
            ("queue q payload=u64 capacity=9..4", "a capacity is `any`"),
            ("queue q payload=u64,u64 capacity=4", "a payload is listed twice"),
            ("queue q payload=u64 payload=u64 capacity=4", "a payload is listed twice"),
            ("queue q payload=u64 capacity=4 capacity=any", "a queue has one `capacity=`"),
            ("runtime Y", "line 3 of `describe` cannot be read: the runtime has been named before"),
        ] {
            refused(&format!("{HEAD}{line}\n"), expected);
        }
    }
}
