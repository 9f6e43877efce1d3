//! What screens say: the patterns of their sentences by what they speak of, and how each claim is held.

mod advice;
mod answer;
mod difference;
mod frame;
mod groups;
mod level_tables;
mod lint;
pub mod map;
mod picture;
mod place;
mod queue;
mod shared_units;
mod structure;
mod trials;

pub use picture::picture;
pub use trials::{is_meaning, placed, question};

use super::page::{Map, Table};
use super::reader::{Check, Pattern, Reader, Said};

/// Every pattern, those that fit least first.
pub fn patterns() -> impl Iterator<Item = &'static Pattern> {
    [
        answer::PATTERNS,
        map::PATTERNS,
        groups::PATTERNS,
        structure::PATTERNS,
        shared_units::PATTERNS,
        queue::PATTERNS,
        place::PATTERNS,
        advice::PATTERNS,
        difference::PATTERNS,
        lint::PATTERNS,
        trials::PATTERNS,
        frame::PATTERNS,
    ]
    .into_iter()
    .flatten()
}

const fn held(text: &'static str, check: fn(&mut Reader<'_>, &Said<'_>)) -> Pattern {
    Pattern { text, check: Check::By(check) }
}

/// A sentence whose numbers are held against nothing, and why.
const fn unheld(text: &'static str, reason: &'static str) -> Pattern {
    Pattern { text, check: Check::Unheld(reason) }
}

/// Holds a table against the document, by its heading.
pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let heading: Vec<&str> = table.heading().iter().map(String::as_str).collect();
    let has = |title: &str| heading.contains(&title);
    match () {
        () if has("wake-ups") => trials::places(reader, table),
        () if has("placement") && has("uses") => place::placements(reader, table),
        () if has("metric") && has("verdict") => place::comparison(reader, table),
        () if has("compared with the advice") => advice::prices(reader, table),
        () if has("level") && has("verdict") => difference::levels(reader, table),
        () if has("from the latencies") => level_tables::levels(reader, table),
        () if has("Rand index") => level_tables::agreement(reader, table),
        () if reader.probe == "lint" => {
            for row in &table.rows {
                reader.line(&row[1..].join(" "));
            }
        }
        () if level_tables::is_listing(table) => level_tables::listing(reader, table),
        () if trials::is_cells_of_pairs(table) => difference::cells(reader, table),
        () => reader.fail("unread", "nothing reads this table"),
    }
}

/// Holds a map against the document.
pub fn map(reader: &mut Reader<'_>, map: &Map) {
    reader.holds("map", map.names[0] == map.names[1], || format!("rows and columns are {:?}", map.names));
    queue::map(reader, map);
}

/// What is held against nothing stays a short list, and each says why.
#[test]
fn few_sentences_are_held_against_nothing() {
    let reasons = patterns().filter_map(|pattern| match pattern.check {
        Check::Unheld(reason) => Some((pattern.text, reason)),
        Check::By(_) => None,
    });
    let reasons: Vec<_> = reasons.collect();
    assert!(reasons.len() <= 20 && reasons.iter().all(|(_, reason)| !reason.is_empty()), "{reasons:#?}");
}
