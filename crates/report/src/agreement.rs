//! Compares the levels that the system reports with those that the latencies show.

use super::lists::cpus;
use super::scope::level_words;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::infer::{Agreement, AgreementVerdict, Findings, Structure};

fn field(at: usize, key: &str, number: Number) -> DisplayValue {
    DisplayValue::field(pointer!("/topology/agreement/{at}/{key}"), number)
}

/// Reported levels that the latencies contradict, one line for each level.
pub fn doubts(findings: &Findings, unit: &'static str) -> Vec<Block<'static>> {
    let contradicted =
        findings.agreement.iter().enumerate().filter_map(|(at, agreement)| match agreement.standing {
            AgreementVerdict::Conflict => Some(conflict(at, agreement, unit)),
            AgreementVerdict::Coarser => Some(
                Sentence::new("the reported {level} contain groups that the system does not report")
                    .with("level", level_words(agreement.level, 2)),
            ),
            _ => None,
        });
    contradicted.map(Block::Doubt).collect()
}

fn conflict(at: usize, agreement: &Agreement, unit: &'static str) -> Sentence {
    let evidence = agreement.evidence.iter().enumerate().take(2).map(|(index, cell)| {
        let field = |key, number| field(at, &format!("evidence/{index}/{key}"), Number::Point(number));
        let [a, b] = cell.pair;
        Sentence::new("CPUs {a} and {b} take {value} {unit} where {expected} would be usual")
            .with("a", a)
            .with("b", b)
            .with("value", field("value", cell.value))
            .with("unit", unit)
            .with("expected", field("expected", cell.expected))
    });
    Sentence::new("CONFLICT: the latencies contradict the reported {level}: {evidence}")
        .with("level", level_words(agreement.level, 2))
        .with("evidence", Sentence::joined(evidence, "; "))
}

/// A table of the reported levels and what the latencies show about each.
pub fn table(structure: &Structure, agreement: &[Agreement], unit: &'static str) -> Table {
    let columns = [
        Column::words("reported"),
        Column::numbers("groups"),
        Column::numbers(Sentence::new("inside, {unit}").with("unit", unit)),
        Column::numbers(Sentence::new("outside, {unit}").with("unit", unit)),
        Column::numbers("Rand index"),
        Column::words("the latencies"),
    ];
    let rows = agreement.iter().enumerate().rev().map(|(at, row)| {
        let point = |key, value: Option<f64>| {
            value.map_or(Cell::Blank, |value| field(at, key, Number::Point(value)).into())
        };
        [
            Sentence::from(row.level.name()).into(),
            count_of_groups(row).into(),
            point("inside", row.inside),
            point("across", row.across),
            point("rand_index", row.rand_index),
            standing_words(at, row, structure).into(),
        ]
    });
    Table::new(columns).with(rows)
}

fn count_of_groups(agreement: &Agreement) -> DisplayValue {
    DisplayValue::bare(Number::Count(agreement.groups.len() as u64), Source::Groups(agreement.level, 2))
}

fn standing_words(at: usize, agreement: &Agreement, structure: &Structure) -> Sentence {
    let against =
        agreement.against.and_then(|index| structure.levels.get(index)).map_or("", |level| &level.name);
    match agreement.standing {
        AgreementVerdict::Agree if agreement.against.is_none() => "agree, as far as one CPU can show".into(),
        AgreementVerdict::Agree => Sentence::new("agree: {level}").with_name("level", against),
        AgreementVerdict::Coarser => {
            Sentence::new("show unreported groups inside these: {level}").with_name("level", against)
        }
        AgreementVerdict::Finer | AgreementVerdict::NotVisible if is_slower_inside(agreement) => {
            "are higher inside these than outside".into()
        }
        AgreementVerdict::Finer if agreement.matched > 0 => Sentence::new("show {shown} of the {all}")
            .with("shown", field(at, "shown", Number::Count(agreement.matched as u64)))
            .with("all", count_of_groups(agreement)),
        AgreementVerdict::Finer => "show no such division".into(),
        AgreementVerdict::NotVisible => "neither confirm nor contradict this".into(),
        AgreementVerdict::Conflict => {
            let moved = match agreement.moved.is_empty() {
                true => Sentence::new("the {level}").with("level", level_words(agreement.level, 2)),
                false => cpus(&agreement.moved),
            };
            Sentence::new("CONFLICT with {level}: {moved} would have to move")
                .with_name("level", against)
                .with("moved", moved)
        }
    }
}

/// Slower by more than the scatter of a level, as in modules of small cores.
fn is_slower_inside(agreement: &Agreement) -> bool {
    matches!((agreement.inside, agreement.across), (Some(inside), Some(across)) if inside > 1.05 * across)
}
