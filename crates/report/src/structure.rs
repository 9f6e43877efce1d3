//! The structure that the latencies show: a sentence for the first screen, a table for `topology`.

use super::agreement;
use super::fmt::range;
use super::lists::{self, cpus, enumerated, lists, named};
use super::scope::level_words;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::reasons::Worded;
use coretalk_model::CpuSet;
use coretalk_model::infer::{
    self, Agreement, AgreementVerdict, Findings, InferError, InferredLevel, LoneCpu, Refusal, Structure,
    Suspect, ValueShape,
};
use coretalk_model::latency::Execution;
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;

const MAX_SUSPECTS: usize = 6;
const MAX_GROUPS: usize = 8;

fn field(part: &str, at: usize, key: &str, number: Number) -> DisplayValue {
    DisplayValue::field(pointer!("/topology/inferred/{part}/{at}/{key}"), number)
}

/// The structure inferred from latencies alone, and whether it agrees with the reported structure. Empty with too few
/// values or after a change of the machine state; other sentences report these cases.
pub fn sentence(findings: &Findings) -> Vec<Block<'static>> {
    let structure = match &findings.structure {
        Ok(structure) => structure,
        Err(Refusal::Moved { .. } | Refusal::Matrix(InferError::TooFew { .. })) => return Vec::new(),
        Err(refusal) => {
            let text = Sentence::new("cannot tell: {refusal}").with("refusal", self::refusal(refusal));
            return vec![Block::Fact("inferred", text)];
        }
    };
    let text =
        Sentence::new("from latencies alone: {found}").with("found", groups_found(structure, findings));
    [Block::Fact("inferred", text)].into_iter().chain(agreement::doubts(findings, "ns")).collect()
}

/// Why the structure is unknown.
pub fn refusal(refusal: &Refusal) -> Sentence {
    refusal.sentence(&|key| match key {
        "cells_changed" => Source::Field("/watch/cells_changed".to_owned()),
        _ => Source::Unrecorded,
    })
}

/// States that latencies alone show exactly the reported groups; `None` if anything differs or a CPU is in no group.
pub fn same_as_reported(findings: &Findings) -> Option<Sentence> {
    let structure = findings.structure.as_ref().ok()?;
    let agree =
        |agreement: &Agreement| agreement.standing == AgreementVerdict::Agree && agreement.against.is_some();
    let is_reported =
        |index: usize| findings.agreement.iter().any(|agreement| agreement.against == Some(index));
    let is_whole = structure.levels.iter().all(|level| level.single.is_empty() && level.open.is_empty());
    let is_same = is_whole
        && !structure.levels.is_empty()
        && (0..structure.levels.len()).all(is_reported)
        && findings.agreement.iter().all(agree)
        && findings.lone_cpus().is_empty();
    let names = findings.agreement.iter().rev().map(|agreement| level_words(agreement.level, 2).into());
    is_same.then(|| {
        Sentence::new("the latencies alone show the same {names}").with("names", enumerated(names.collect()))
    })
}

/// The groups of each level, coarsest first. Groups that are also reported have the name of the reported level.
fn groups_found(structure: &Structure, findings: &Findings) -> Sentence {
    if structure.levels.is_empty() {
        return why_no_levels(structure, findings, "ns");
    }
    let (mut reported, mut others) = (Vec::new(), Vec::new());
    for (index, level) in structure.levels.iter().enumerate().rev() {
        let same =
            findings.agreement.iter().filter(|agreement| agreement.standing == AgreementVerdict::Agree);
        let same = same.filter(|agreement| agreement.against == Some(index));
        let names: Vec<Sentence> = same.map(|agreement| level_words(agreement.level, 2).into()).collect();
        let groups = groups_of(index, level);
        if names.is_empty() {
            let all =
                level.groups.iter().cloned().chain(level.single.iter().map(|cpu| CpuSet::from_iter([cpu])));
            others.push(
                Sentence::new("{groups}, {cpus}").with("groups", groups).with("cpus", named(all.collect())),
            );
        } else {
            let names = Sentence::joined(names, ", ");
            reported.push(Sentence::new("{groups} ({names})").with("groups", groups).with("names", names));
        }
    }
    let mut parts = Vec::new();
    if !reported.is_empty() {
        parts.push(Sentence::new("{all}, as reported").with("all", Sentence::joined(reported, " and ")));
    }
    if !others.is_empty() {
        let all = Sentence::joined(others, "; ");
        parts.push(Sentence::new("{all}, not reported by the system").with("all", all));
    }
    parts.extend(lone_cpu_sentences(findings, "ns"));
    parts.extend(contradictions(structure));
    Sentence::joined(parts, "; ")
}

/// CPUs that are either far from all others or slow. The reported levels may show which of the two applies.
fn lone_cpu_sentences(findings: &Findings, unit: &'static str) -> Vec<Sentence> {
    let describe = |(at, lone): (usize, &LoneCpu<'_>)| {
        let number = |key, value: Option<f64>| {
            value.map_or(Sentence::from("?"), |value| {
                Sentence::new("{value}").with("value", field("all_but_one", at, key, Number::Point(value)))
            })
        };
        let far = lone.group.far_inside().map_or(Sentence::new(""), |most| {
            Sentence::new("; up to {most}").with("most", number("far_inside", Some(most)))
        });
        Sentence::new(
            "CPU {cpu} takes {across} {unit} to CPUs {group}, which take {inside} to each other (medians{far}): {why}",
        )
        .with("cpu", lone.cpu)
        .with("across", number("across", lone.group.across))
        .with("unit", unit)
        .with("group", lone.group.cpus.clone())
        .with("inside", number("inside", lone.group.inside))
        .with("far", far)
        .with("why", why_alone(lone))
    };
    findings.lone_cpus().iter().enumerate().map(describe).collect()
}

fn why_alone(lone: &LoneCpu<'_>) -> Sentence {
    match (&lone.reported[..], &lone.group.slower_group) {
        ([], Some(nearest)) => Sentence::new("it is slow, also to CPUs {cpus}, the group nearest to it")
            .with("cpus", nearest.clone()),
        ([], None) => "it is far away or slow; one CPU alone cannot show which".into(),
        (levels, _) => {
            let names = levels.iter().map(|level| level_words(*level, 2).into());
            Sentence::new("a group of its own, as the system reports ({names})")
                .with("names", Sentence::joined(names, ", "))
        }
    }
}

fn why_no_levels(structure: &Structure, findings: &Findings, unit: &'static str) -> Sentence {
    if let Some(contradictions) = contradictions(structure) {
        return Sentence::new("cannot tell the groups: {hidden}").with("hidden", contradictions);
    }
    let scatter = |share: f64| {
        DisplayValue::field("/topology/inferred/scatter", Number::Point(share)).in_unit(Unit::Share)
    };
    match &structure.shape {
        ValueShape::Continuous { .. } | ValueShape::Uniform { .. }
            if !structure.dropped.is_empty() || structure.step > 0.0 =>
        {
            "no groups that its clock can show".into()
        }
        ValueShape::TooFew => {
            let lone_cpus = lone_cpu_sentences(findings, unit);
            if lone_cpus.is_empty() {
                let number = Number::Count(structure.cpus.len() as u64);
                Sentence::new("{number} CPUs are too few to find groups")
                    .with("number", DisplayValue::field("/topology/cpus", number))
            } else {
                Sentence::joined(lone_cpus, "; ")
            }
        }
        ValueShape::Uniform { scatter } if *scatter < 1e-4 => "no groups, all pairs are equal".into(),
        ValueShape::Uniform { scatter: share } => {
            let but = match structure.unfit().count() {
                0 => Sentence::new(""),
                unlike => Sentence::new(" but {number}").with("number", count_of_unfit(unlike)),
            };
            Sentence::new("no groups, all pairs{but} are alike, with a scatter of {scatter}")
                .with("but", but)
                .with("scatter", scatter(*share))
        }
        ValueShape::Continuous { scatter: share, .. } => Sentence::new(
            "no groups; values scatter by {scatter} without forming any, as on a mesh or a ring, between kinds of \
             cores, or where threads were not pinned",
        )
        .with("scatter", scatter(*share)),
        ValueShape::Grouped => "".into(),
    }
}

fn count_of_unfit(pairs: usize) -> DisplayValue {
    let matching = vec![("/doubt", "outlier".to_owned())];
    let source = Source::Count { list: "/topology/inferred/suspects", matching };
    DisplayValue::bare(Number::Count(pairs as u64), source)
}

fn groups_of(at: usize, level: &InferredLevel) -> Sentence {
    let field = |key: &str, number: usize| field("levels", at, key, Number::Count(number as u64));
    let size = |(group, cpus): (usize, &CpuSet)| field(&format!("groups/{group}"), cpus.len());
    let sizes = || level.groups.iter().enumerate();
    let ends = [sizes().min_by_key(|group| group.1.len()), sizes().max_by_key(|group| group.1.len())];
    let size = match ends.map(|end| end.map(size)) {
        [Some(least), Some(most)] => range([least, most]),
        _ => Sentence::new(""),
    };
    let groups = Sentence::pluralized("{number} group{s} of {size}", field("groups", level.groups.len()))
        .with("size", size);
    let single = match level.single.len() {
        0 => Sentence::new(""),
        single => Sentence::pluralized(" and {number} single CPU{s}", field("single", single)),
    };
    let open = match level.open.is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(" (not known: {cpus})").with("cpus", level.open.clone()),
    };
    Sentence::joined([groups, single, open], "")
}

/// All blocks for the screen of `topology`; `unit` is that of the matrix.
pub fn blocks<'a>(findings: &'a Findings, unit: &'static str) -> Vec<Block<'a>> {
    let structure = match &findings.structure {
        Ok(structure) => structure,
        Err(refusal) => {
            let sentence = Sentence::new("Structure from the latencies: cannot tell: {refusal}.");
            return vec![Block::Prose(sentence.with("refusal", self::refusal(refusal)))];
        }
    };
    let mut blocks = Vec::new();
    if structure.levels.is_empty() {
        let found = why_no_levels(structure, findings, unit);
        blocks.push(Block::Prose(Sentence::new("From the latencies alone: {found}.").with("found", found)));
    } else {
        blocks.push(Block::Table(level_table(structure, unit)));
    }
    blocks.extend(remarks(structure, findings, unit).into_iter().map(Block::Prose));
    if !findings.agreement.is_empty() {
        blocks.extend([Block::Gap, Block::Table(agreement::table(structure, &findings.agreement, unit))]);
        blocks.extend(agreement::doubts(findings, unit));
    }
    if structure.unfit().next().is_some() {
        blocks.push(Block::Gap);
        blocks.extend(suspects(structure));
    }
    blocks
}

const MIN_WIDTH_FOR_INTERVALS: usize = 100;

fn level_table(structure: &Structure, unit: &'static str) -> Table {
    let columns = [
        Column::words("from the latencies"),
        Column::numbers(Sentence::new("inside, {unit}").with("unit", unit)),
        Column::numbers("± (95 %)").from_width(MIN_WIDTH_FOR_INTERVALS),
        Column::numbers(Sentence::new("next level, {unit}").with("unit", unit)),
        Column::numbers("stability"),
        Column::words("groups"),
    ];
    let rows = structure.levels.iter().enumerate().rev().map(|(at, level)| {
        let field = |key, number| field("levels", at, key, number);
        let point = |key, value: Option<f64>| {
            value.map_or("?".into(), |value| field(key, Number::Point(value)).into())
        };
        let sure = level.inside.filter(Estimate::is_sure);
        let repeats = |share| field("repeats", Number::Point(share)).in_unit(Unit::Share).into();
        [
            Cell::name(&level.name),
            point("median", level.inside.map(|inside| inside.point)),
            sure.map_or(Cell::Blank, |inside| field("median", Number::PlusMinus(inside)).into()),
            point("across", level.across),
            level.repeats.map_or(Cell::Blank, repeats),
            Sentence::new("{number}: {groups}")
                .with("number", field("groups", Number::Count(level.groups.len() as u64)))
                .with("groups", group_lists(level))
                .into(),
        ]
    });
    Table::new(columns).with(rows)
}

fn group_lists(level: &InferredLevel) -> Sentence {
    let optional = |template, cpus: &CpuSet| match cpus.is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(template).with("cpus", cpus.clone()),
    };
    Sentence::new("{shown}{single}{open}")
        .with("shown", lists(&level.groups, MAX_GROUPS))
        .with("single", optional("  single: {cpus}", &level.single))
        .with("open", optional("  not known: {cpus}", &level.open))
}

/// Latency alone cannot show whether pairs are threads of a core.
fn pairs_remark(structure: &Structure) -> Option<Sentence> {
    let are_pairs = |level: &&InferredLevel| level.groups.iter().all(|group| group.len() == 2);
    let is_undecided =
        |level: &&InferredLevel| !matches!(level.execution, Some(Execution::Shared | Execution::Apart));
    let finest = structure.levels.first().filter(are_pairs).filter(is_undecided)?;
    let sentence = Sentence::new(
        "{level} has the closest pairs: threads of one core, or cores that share a cache; latency alone cannot show \
         which.",
    );
    Some(sentence.with_name("level", &finest.name))
}

fn contradictions(structure: &Structure) -> Option<Sentence> {
    (structure.contradictory > 0).then(|| contradictory_words(structure.contradictory))
}

/// States that pairs contradict each other, and the consequence.
pub fn contradictory_words(pairs: usize) -> Sentence {
    let number = DisplayValue::field("/topology/inferred/contradictory", Number::Count(pairs as u64));
    let template = match pairs {
        1 => {
            "{number} pair lies nearer than the other pairs of their CPUs allow, and nothing shows which values are wrong: \
             groups may be hidden"
        }
        _ => {
            "{number} pairs lie nearer than the other pairs of their CPUs allow, and nothing shows which values are wrong: \
             groups may be hidden"
        }
    };
    Sentence::new(template).with("number", number)
}

fn remarks(structure: &Structure, findings: &Findings, unit: &'static str) -> Vec<Sentence> {
    let ended = |sentence| Sentence::new("{sentence}.").with("sentence", sentence);
    let mut sentences: Vec<Sentence> = pairs_remark(structure).into_iter().collect();
    let is_grouped = !structure.levels.is_empty();
    sentences.extend(lone_cpu_sentences(findings, unit).into_iter().filter(|_| is_grouped).map(ended));
    sentences.extend(structure.dropped.iter().enumerate().map(|(at, level)| dropped_level(at, level, unit)));
    sentences.extend(contradictions(structure).filter(|_| is_grouped).map(ended));
    for hint in structure.hints.iter().filter(|hint| hint.but.is_none()) {
        let sentence = Sentence::new("One group stands out (a hint, not a level): {cpus}.");
        sentences.push(sentence.with("cpus", hint.cpus.clone()));
    }
    let levels = structure.levels.iter().enumerate();
    for (at, level) in levels.filter(|(_, level)| !level.by_elimination.is_empty()) {
        let number = Number::Count(level.by_elimination.len() as u64);
        let number = field("levels", at, "by_elimination", number);
        let sentence = Sentence::pluralized(
            "{level}: {number} pair{s} grouped by elimination, because their own latency is missing: {pairs}.",
            number,
        );
        let pairs = lists::pairs(level.by_elimination.iter().copied());
        sentences.push(sentence.with_name("level", &level.name).with("pairs", pairs));
    }
    let left_out: CpuSet = structure.left_out.iter().copied().collect();
    if !left_out.is_empty() {
        let sentence = Sentence::new(match left_out.len() {
            1 => "Nothing is known about {cpus}: none of its pairs has a value.",
            _ => "Nothing is known about {cpus}: none of their pairs has a value.",
        });
        sentences.push(sentence.with("cpus", cpus(&left_out)));
    }
    sentences
}

fn dropped_level(at: usize, level: &InferredLevel, unit: &'static str) -> Sentence {
    let field = |key, number| field("dropped", at, key, number);
    let why = match level.inside.zip(level.across) {
        Some((inside, across)) => Sentence::new(
            "{inside} {unit} inside and {across} outside are one step of the clock apart, which proves nothing",
        )
        .with("inside", field("median", Number::Point(inside.point)))
        .with("unit", unit)
        .with("across", field("across", Number::Point(across))),
        None => "all of their pairs read 0, which is no latency".into(),
    };
    let number = field("groups", Number::Count(level.groups.len() as u64));
    Sentence::pluralized("No level: {number} group{s} ({lists}); {why}.", number)
        .with("lists", group_lists(level))
        .with("why", why)
}

fn suspects(structure: &Structure) -> Vec<Block<'static>> {
    let all = structure.suspects.iter().enumerate();
    let outliers: Vec<(usize, &Suspect)> =
        all.filter(|(_, suspect)| suspect.doubt == infer::SuspectReason::Outlier).collect();
    let what = unfit_words(outliers.len(), !structure.levels.is_empty());
    let mut blocks = vec![Block::Prose(Sentence::new("{what}:").with("what", what))];
    blocks.extend(outliers.iter().take(MAX_SUSPECTS).map(|&(at, suspect)| {
        let [a, b] = suspect.pair;
        let sentence = match suspect.ratio {
            Some(ratio) => {
                let ratio = field("suspects", at, "ratio", Number::Point(ratio));
                Sentence::new("{ratio} × what would fit: CPUs {a} and {b}")
                    .with("ratio", DisplayValue { unit: DisplayUnit::Decimals(2), ..ratio })
            }
            None => Sentence::new("CPUs {a} and {b}"),
        };
        Block::Item(sentence.with("a", a).with("b", b))
    }));
    let more = outliers.len().saturating_sub(MAX_SUSPECTS);
    let source = count_of_unfit(outliers.len()).source.unlisted(MAX_SUSPECTS);
    let number = DisplayValue::bare(Number::Count(more as u64), source);
    blocks.extend((more > 0).then(|| Block::Item(Sentence::pluralized("{number} more pair{s}", number))));
    blocks
}

pub(super) fn unfit_words(pairs: usize, has_groups: bool) -> Sentence {
    Sentence::new(match (has_groups, pairs) {
        (true, 1) => "{number} pair does not fit the groups",
        (true, _) => "{number} pairs do not fit the groups",
        (false, 1) => "{number} pair is unlike the rest",
        (false, _) => "{number} pairs are unlike the rest",
    })
    .with("number", count_of_unfit(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt;
    use crate::render::terminal;
    use crate::style::Style;
    use crate::text::columns;
    use coretalk_model::infer::Observation;
    use coretalk_model::topology::Domain;
    use coretalk_model::{CpuId, Level, Matrix, Topology};

    fn sentence(findings: &Findings, width: usize) -> Vec<String> {
        terminal::lines(&super::sentence(findings), &Style::of_width(width))
    }

    fn table(findings: &Findings, unit: &'static str, width: usize) -> Vec<String> {
        terminal::lines(&blocks(findings, unit), &Style::of_width(width))
    }

    /// Findings for these CPUs and reported last-level caches, from the latency of each pair.
    fn inferred(cpus: &[u32], reported: &[&str], ns: impl Fn(u32, u32) -> f64) -> Findings {
        let ids: Vec<CpuId> = cpus.iter().copied().map(CpuId).collect();
        let domain = |cpus: &&str| Domain { level: Level::L3, cpus: cpus.parse().unwrap(), os_id: None };
        let domains = reported.iter().map(domain).collect();
        let topology = Topology::new(ids.iter().copied().collect(), domains, Default::default());
        let seen = |row: usize, column: usize| Some(Observation::bare(ns(cpus[row], cpus[column])));
        Findings::of_matrix(&Matrix::symmetric(ids, seen), &topology)
    }

    /// Two groups of 8 CPUs: 20 ns inside and 85 ns across.
    fn findings(reported: &[&str]) -> Findings {
        let cpus: Vec<u32> = (0..16).collect();
        inferred(&cpus, reported, |a, b| if a / 8 == b / 8 { 20.0 } else { 85.0 })
    }

    #[test]
    fn the_first_screen_compares_inferred_and_reported_groups() {
        for (reported, expected) in [
            (&["0-7", "8-15"][..], " inferred  from latencies alone: 2 groups of 8 (L3), as reported"),
            (&[], " inferred  from latencies alone: 2 groups of 8, 0-7 and 8-15, not reported by the system"),
        ] {
            assert_eq!(sentence(&findings(reported), 200), [expected]);
        }
        let same = same_as_reported(&findings(&["0-7", "8-15"])).unwrap();
        assert_eq!(fmt::sentence(&same), "the latencies alone show the same L3");
        for other in [&[][..], &["0-8", "9-15"]] {
            assert!(same_as_reported(&findings(other)).is_none(), "{other:?}");
        }
        let hidden = sentence(&findings(&["0-15"]), 200);
        assert_eq!(hidden[1], " ! the reported L3 contain groups that the system does not report");
        let conflict = sentence(&findings(&["0-8", "9-15"]), 200);
        let text = " ! CONFLICT: the latencies contradict the reported L3: CPUs 0 and 8";
        assert!(conflict[1].starts_with(text), "{conflict:?}");
        assert!(conflict[1].contains("85.0 ns where 20.0 would be usual"), "{conflict:?}");
    }

    #[test]
    fn single_cpus_are_stated_and_possibly_slow_ones_explained() {
        let screens = |cpus: &[u32], reported: &[&str]| {
            let findings = inferred(cpus, reported, |a, b| if a / 8 == b / 8 { 18.0 } else { 85.0 });
            [sentence(&findings, 300).concat(), table(&findings, "ns", 300).join("\n")]
        };
        let [first, table] = screens(&[0, 1, 2, 3, 8], &["0-3", "8"]);
        let text = "CPU 8 takes 85.0 ns to CPUs 0-3, which take 18.0 to each other (medians): a group of its own, as \
                    the system reports (L3)";
        assert!(first.ends_with(text), "{first}");
        assert!(table.contains("agree, as far as one CPU can show"), "{table}");
        let [first, _] = screens(&[0, 1, 2, 3, 8], &[]);
        assert!(first.ends_with("it is far away or slow; one CPU alone cannot show which"), "{first}");
        let twelve: Vec<u32> = (0..12).collect();
        let slow = inferred(&twelve, &[], |a, b| {
            let slow = if a == 5 || b == 5 { 20.0 } else { 0.0 };
            slow + if a / 4 == b / 4 { 20.0 } else { 30.0 }
        });
        let first = sentence(&slow, 400).concat();
        assert!(first.contains("it is slow, also to CPUs 4,6,7, the group nearest to it"), "{first}");
        let [first, table] = screens(&[0, 1, 2, 3, 8, 16], &["0-3", "8", "16"]);
        assert_eq!(
            first,
            " inferred  from latencies alone: 1 group of 4 and 2 single CPUs (L3), as reported"
        );
        assert!(table.contains("1: 0-3 single: 8,16") && table.contains("agree: group-1"), "{table}");
        let [first, _] = screens(&[0, 1, 8, 16], &[]);
        assert!(first.contains("1 group of 2 and 2 single CPUs, 0,1, 8 and 16, not reported"), "{first}");
        let [first, _] = screens(&[0, 8, 16], &["0", "8", "16"]);
        assert_eq!(first, " inferred  from latencies alone: 3 CPUs are too few to find groups");
    }

    #[test]
    fn the_table_says_how_each_level_agrees_and_fits() {
        for width in [60, 80, 160] {
            let lines = table(&findings(&["0-8", "9-15"]), "ns", width);
            assert!(lines.iter().all(|line| columns(line) <= width), "{lines:#?}");
            assert!(lines.iter().any(|line| line.contains("CONFLICT")), "{lines:#?}");
        }
        let lines = table(&findings(&["0-7", "8-15"]), "ns", 100);
        assert!(lines.iter().any(|line| line.contains("agree: group-1")), "{lines:#?}");
    }

    #[test]
    fn a_matrix_without_structure_says_why() {
        let findings = inferred(&[0, 1], &[], |_, _| 20.0);
        assert!(table(&findings, "ns", 200)[0].contains("cannot tell: 2 CPUs have 1 pair"));
        assert!(sentence(&findings, 200).is_empty());
    }
}
