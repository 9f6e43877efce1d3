//! Several runs on one page: what they share, their maps beside each other, and a table of machines and relations.

use super::machine;
use super::sections::{Maps, Section, heat_map_body, results};
use super::tables::{Cell, paragraphs, table};
use crate::report::compare::{conclusion, heading, level_row, mismatch_words, remarks, side_words, tally};
use crate::report::difference::Differing;
use crate::report::subject::Subject;
use crate::report::text::{count, ns, plain, short_ns};
use coretalk_model::Relation;
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{OfRelation, by_relation};

/// The sections of a page of several runs.
pub(super) fn sections(subjects: &[Subject<'_>], differing: Option<&Differing<'_>>) -> Vec<Section> {
    let mut parts: Vec<Section> = relations(subjects).into_iter().collect();
    parts.extend(differing.map(difference));
    if subjects.iter().any(|subject| subject.maps.iter().any(|map| map.columns.cpus.len() > 1)) {
        let all: Vec<&Subject<'_>> = subjects.iter().collect();
        parts.push(Section::new("maps", "Heat maps", None, heat_map_body(&all, true)));
    }
    for (number, subject) in (1..).zip(subjects) {
        let machine = subject.machine();
        let of = Some((number, machine.as_str()));
        parts.extend(results(subject, of, Maps::Elsewhere));
        parts.extend(machine::sections(subject, of));
    }
    parts
}

/// A sentence where runs of different kinds stand beside each other; empty where they are alike.
pub(super) fn mixed(subjects: &[Subject<'_>]) -> String {
    let differ =
        |of: &dyn Fn(&Subject<'_>) -> String| subjects.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]));
    let mut sentences = Vec::new();
    if differ(&|subject| subject.report.header.simulated.to_string()) {
        sentences.push("Simulated and real machines stand beside each other here: simulated numbers say nothing about any computer.");
    }
    if differ(&|subject| subject.maps.first().map_or(String::new(), |map| map.about.kernel.clone())) {
        sentences.push(
            "The first maps were measured with different kernels: their numbers are different quantities.",
        );
    }
    if subjects.iter().any(|subject| !subject.report.header.complete) {
        sentences.push("A run that is marked as incomplete was interrupted: not everything was measured.");
    }
    sentences.iter().map(|sentence| format!("<p class=\"note\">! {sentence}</p>")).collect()
}

/// Two runs against each other: what follows, the conditions that differ, and the levels.
fn difference(differing: &Differing<'_>) -> Section {
    let Some(view) = differing.words() else {
        return Section::new("difference", "Difference", None, paragraphs(differing.refusal()));
    };
    let mut lines = vec![conclusion(&view)];
    lines.extend(
        ["A", "B"]
            .into_iter()
            .zip(&view.sides)
            .map(|(letter, side)| format!("{letter}: {}", side_words(side))),
    );
    lines.extend(view.mismatches.iter().map(|mismatch| format!("! {}", mismatch_words(mismatch))));
    let mut body = paragraphs(lines);
    for sheet in &view.comparison.sheets {
        let rows = sheet.levels.iter().map(|level| {
            let mut row = level_row(level, view.levels.topology());
            let verdict = row.pop().map(Cell::Words);
            row.into_iter().map(Cell::Number).chain(verdict).collect()
        });
        let (a, b) = (format!("A {}", sheet.unit), format!("B {}", sheet.unit));
        let heads = ["level", "pairs", &a, &b, "shift", "95 %", "verdict"];
        body.push_str(&table(&heading(sheet), &heads, &rows.collect::<Vec<_>>()));
        body.push_str(&paragraphs(remarks(sheet).into_iter().chain([tally(sheet)])));
    }
    Section::new("difference", "Difference", None, body)
}

/// Machines × relations: medians of the first map of each run.
fn relations(subjects: &[Subject<'_>]) -> Option<Section> {
    let of = |subject: &Subject<'_>| {
        let map: &LatencyMap = subject.report.result.maps.first()?;
        Some(by_relation(map, &subject.report.topology))
    };
    let known: Vec<Vec<OfRelation>> =
        subjects.iter().map(|subject| of(subject).unwrap_or_default()).collect();
    let shown: Vec<Relation> = Relation::ALL
        .into_iter()
        .filter(|relation| known.iter().flatten().any(|row| row.relation == *relation))
        .collect();
    if shown.is_empty() {
        return None;
    }
    let rows = subjects.iter().zip(&known).map(|(subject, known)| {
        let mut row = vec![
            Cell::Words([subject.marks().join(" "), subject.machine()].join(" ")),
            Cell::Words(
                subject.report.result.maps.first().map_or(String::new(), |map| plain(map.kernel.as_str())),
            ),
        ];
        row.extend(shown.iter().map(|relation| {
            let found = known.iter().find(|row| row.relation == *relation);
            Cell::Number(found.map_or("·".into(), |row| {
                let range = format!("{}–{}", short_ns(row.range_ns[0]), short_ns(row.range_ns[1]));
                format!("{} ({range}, {})", ns(row.median_ns), count(row.pairs, "pair"))
            }))
        }));
        row
    });
    let mut heads = vec!["machine".to_owned(), "kernel".to_owned()];
    heads.extend(shown.iter().map(|relation| format!("{} ns", relation.name().replace('-', " "))));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let caption = "Median of the pairs by what they share at most, with the least and the most of them";
    Some(Section::new("relations", "Side by side", None, table(caption, &heads, &rows.collect::<Vec<_>>())))
}
