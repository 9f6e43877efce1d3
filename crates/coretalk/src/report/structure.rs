//! What the latencies say about the structure of a machine: one sentence for the first screen, a table for `topology`.

use super::fmt;
use super::scope::level_words;
use super::text::{count, ns, percent};
use crate::blocks::value::{Arg, DisplayValue, Number, Sentence};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::infer::{
    Agreement, Findings, InferError, InferredLevel, LoneCpu, Refusal, Shape, Standing, Structure, Suspect,
};
use coretalk_model::latency::Execution;
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuSet, Level};

/// Suspects that are listed one by one.
const MOST_SUSPECTS: usize = 6;
/// Groups that are listed one by one.
const MOST_GROUPS: usize = 8;

/// What follows from the latencies alone, and how it stands to what the system reports. Nothing where a run has too few
/// values; a machine that changed its state says so elsewhere.
pub fn sentence(findings: &Findings) -> Vec<Block<'static>> {
    let structure = match &findings.structure {
        Ok(structure) => structure,
        Err(Refusal::Moved { .. } | Refusal::Matrix(InferError::TooFew { .. })) => return Vec::new(),
        Err(refusal) => return vec![Block::Fact("inferred", format!("cannot tell: {refusal}").into())],
    };
    let found =
        Block::Fact("inferred", format!("from latencies alone: {}", found(structure, findings)).into());
    [found].into_iter().chain(doubts(findings, "ns")).collect()
}

/// That the latencies alone show the groups that the system reports and no others: one part of a sentence about those.
/// `None` where anything differs, or stands alone.
pub fn same_as_reported(findings: &Findings) -> Option<Sentence> {
    let structure = findings.structure.as_ref().ok()?;
    let agree = |held: &Agreement| held.standing == Standing::Agree && held.against.is_some();
    let is_reported = |index: usize| findings.agreement.iter().any(|held| held.against == Some(index));
    let is_whole = structure.levels.iter().all(|level| level.single.is_empty() && level.open.is_empty());
    let is_same = is_whole
        && !structure.levels.is_empty()
        && (0..structure.levels.len()).all(is_reported)
        && findings.agreement.iter().all(agree)
        && findings.lone_cpus().is_empty();
    let mut names: Vec<Sentence> =
        findings.agreement.iter().rev().map(|held| level_words(held.level, 2).into()).collect();
    let last = names.pop()?;
    let names = match names.is_empty() {
        true => last,
        false => Sentence::joined([Sentence::joined(names, ", "), last], " and "),
    };
    is_same.then(|| Sentence::new("the latencies alone show the same {names}").with("names", names))
}

/// The groups of each level, coarsest first. Those that the system reports too are named after it.
fn found(structure: &Structure, findings: &Findings) -> String {
    if structure.levels.is_empty() {
        return no_levels(structure, findings, "ns");
    }
    let (mut reported, mut others) = (Vec::new(), Vec::new());
    for (index, level) in structure.levels.iter().enumerate().rev() {
        let same = findings.agreement.iter().filter(|held| held.standing == Standing::Agree);
        let same = same.filter(|held| held.against == Some(index)).map(|held| level_words(held.level, 2));
        let names: Vec<&str> = same.collect();
        if names.is_empty() {
            others.push(groups_in_short(level));
        } else {
            reported.push(format!("{} ({})", groups_of(level), names.join(", ")));
        }
    }
    let mut parts = Vec::new();
    if !reported.is_empty() {
        parts.push(format!("{}, as reported", reported.join(" and ")));
    }
    if !others.is_empty() {
        parts.push(format!("{}, not reported by the system", others.join("; ")));
    }
    parts.extend(all_but_one(findings, "ns"));
    parts.extend(hidden(structure));
    parts.join("; ")
}

/// A CPU that is far from all others, or slow: what the system reports may tell which.
fn all_but_one(findings: &Findings, unit: &str) -> Vec<String> {
    let one = |lone: &LoneCpu<'_>| {
        let value = |value: Option<f64>| value.map_or("?".to_owned(), ns);
        format!(
            "CPU {} takes {} {unit} to CPUs {}, which take {} to each other (medians{}): {}",
            lone.cpu,
            value(lone.group.across),
            lone.group.cpus,
            value(lone.group.inside),
            far_inside(lone.group.far_inside()),
            why_alone(lone),
        )
    };
    findings.lone_cpus().iter().map(one).collect()
}

/// What the median of a group hides.
fn far_inside(most: Option<f64>) -> String {
    most.map_or(String::new(), |most| format!("; up to {}", ns(most)))
}

/// What one CPU beside all others is, by the reported levels that settle it, or by its row.
fn why_alone(lone: &LoneCpu<'_>) -> String {
    match (&lone.reported[..], &lone.group.slow_beside) {
        ([], Some(beside)) => format!("it is slow, also to CPUs {beside}, the group nearest to it"),
        ([], None) => "it is far away or slow; one CPU alone cannot show which".to_owned(),
        (levels, _) => {
            let names: Vec<&str> = levels.iter().map(|level| level_words(*level, 2)).collect();
            format!("a group of its own, as the system reports ({})", names.join(", "))
        }
    }
}

fn no_levels(structure: &Structure, findings: &Findings, unit: &str) -> String {
    if let Some(hidden) = hidden(structure) {
        return format!("cannot tell the groups: {hidden}");
    }
    match &structure.shape {
        Shape::Continuous { .. } | Shape::Uniform { .. }
            if !structure.dropped.is_empty() || structure.step > 0.0 =>
        {
            "no groups that its clock can show".into()
        }
        Shape::TooFew => {
            let told = all_but_one(findings, unit);
            if told.is_empty() {
                format!("{} CPUs are too few to find groups", structure.cpus.len())
            } else {
                told.join("; ")
            }
        }
        Shape::Uniform { scatter } if *scatter < 1e-4 => "no groups, all pairs are equal".into(),
        Shape::Uniform { scatter } => {
            let but = match structure.unfit().count() {
                0 => String::new(),
                unlike => format!(" but {unlike}"),
            };
            format!("no groups, all pairs{but} are alike, with a scatter of {}", percent(*scatter))
        }
        Shape::Continuous { scatter, .. } => format!(
            "no groups; values scatter by {} without forming any, as on a mesh or a ring, between kinds of cores, or \
             where threads were not pinned",
            percent(*scatter)
        ),
        Shape::Grouped => String::new(),
    }
}

/// `16 groups of 2`; with CPUs in none `3 groups of 2 to 4 and 2 single CPUs`.
fn groups_of(level: &InferredLevel) -> String {
    let sizes = level.groups.iter().map(CpuSet::len);
    let (least, most) = sizes.fold((usize::MAX, 0), |(l, m), n| (l.min(n), m.max(n)));
    let size = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let groups = format!("{} of {size}", count(level.groups.len() as u64, "group"));
    let groups = match level.single.len() {
        0 => groups,
        single => format!("{groups} and {}", count(single as u64, "single CPU")),
    };
    if level.open.is_empty() { groups } else { format!("{groups} (not known: {})", level.open) }
}

/// `2 groups of 16, 0-7,16-23 and 8-15,24-31`; of many the first two and the last.
fn groups_in_short(level: &InferredLevel) -> String {
    let mut all: Vec<String> = level.groups.iter().map(ToString::to_string).collect();
    all.extend(level.single.iter().map(|cpu| cpu.to_string()));
    let who = match &all[..] {
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [first, second, .., last] => format!("{first}, {second} … {last}"),
        _ => all.concat(),
    };
    format!("{}, {who}", groups_of(level))
}

/// What the system reports and the latencies contradict, one line each.
fn doubts(findings: &Findings, unit: &str) -> impl Iterator<Item = Block<'static>> {
    let against = findings.agreement.iter().filter_map(|held| match held.standing {
        Standing::Conflict => Some(conflict(held, unit)),
        Standing::Coarser => Some(format!(
            "the reported {} contain groups that the system does not \
                report",
            level_words(held.level, 2)
        )),
        _ => None,
    });
    against.map(|text| Block::Doubt(text.into()))
}

fn conflict(held: &Agreement, unit: &str) -> String {
    let what = level_words(held.level, 2);
    let evidence = held.evidence.iter().take(2).map(|cell| {
        let [a, b] = cell.pair;
        format!("CPUs {a} and {b} take {} {unit} where {} would be usual", ns(cell.value), ns(cell.expected))
    });
    let evidence: Vec<String> = evidence.collect();
    format!("CONFLICT: the latencies contradict the reported {what}: {}", evidence.join("; "))
}

/// Everything for the screen of `topology`. `unit` is that of the matrix.
pub fn blocks<'a>(findings: &'a Findings, unit: &str) -> Vec<Block<'a>> {
    let structure = match &findings.structure {
        Ok(structure) => structure,
        Err(refusal) => {
            return vec![Block::Prose(
                format!("Structure from the latencies: cannot tell: {refusal}.").into(),
            )];
        }
    };
    let mut blocks = Vec::new();
    if structure.levels.is_empty() {
        let found = no_levels(structure, findings, unit);
        blocks.push(Block::Prose(format!("From the latencies alone: {found}.").into()));
    } else {
        blocks.push(Block::Table(level_table(structure, unit)));
    }
    blocks.extend(remarks(structure, findings, unit).into_iter().map(|text| Block::Prose(text.into())));
    if !findings.agreement.is_empty() {
        blocks.extend([Block::Gap, Block::Table(agreement_table(structure, &findings.agreement, unit))]);
        blocks.extend(doubts(findings, unit).collect::<Vec<_>>());
    }
    if structure.unfit().next().is_some() {
        blocks.push(Block::Gap);
        blocks.extend(suspects(structure));
    }
    blocks
}

/// Terminals with fewer columns show no intervals of levels.
const WITH_INTERVALS: usize = 100;

fn level_table(structure: &Structure, unit: &str) -> Table {
    let columns = [
        Column::words("from the latencies"),
        Column::numbers(format!("inside, {unit}")),
        Column::numbers("± (95 %)").from_width(WITH_INTERVALS),
        Column::numbers(format!("next level, {unit}")),
        Column::numbers("stability"),
        Column::words("groups"),
    ];
    let rows = structure.levels.iter().enumerate().rev().map(|(at, level)| {
        let field =
            |key, number| DisplayValue::field(format!("/topology/inferred/levels/{at}/{key}"), number);
        let point = |key, value: Option<f64>| {
            value.map_or("?".into(), |value| field(key, Number::Point(value)).into())
        };
        let sure = level.inside.filter(Estimate::is_sure);
        let repeats = |share| field("repeats", Number::Point(share)).in_unit(Unit::Share).into();
        [
            Cell::from(level.name.clone()),
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
    let list = |cpus: &CpuSet| Sentence::new("{cpus}").with("cpus", cpus.clone());
    let lists = |groups: &[CpuSet]| Arg::Parts(groups.iter().map(list).collect(), "  ");
    let shown = match &level.groups[..] {
        [first @ .., last] if first.len() >= MOST_GROUPS => {
            Sentence::new("{first} … {last}").with("first", lists(&first[..3])).with("last", list(last))
        }
        all => Sentence::new("{all}").with("all", lists(all)),
    };
    let named = |template, cpus: &CpuSet| match cpus.is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(template).with("cpus", cpus.clone()),
    };
    Sentence::new("{shown}{single}{open}")
        .with("shown", shown)
        .with("single", named("  single: {cpus}", &level.single))
        .with("open", named("  not known: {cpus}", &level.open))
}

/// Pairs are not called threads of a core: latency cannot tell.
fn pairs_remark(structure: &Structure) -> Option<String> {
    let are_pairs = |level: &&InferredLevel| level.groups.iter().all(|group| group.len() == 2);
    let untold =
        |level: &&InferredLevel| !matches!(level.execution, Some(Execution::Shared | Execution::Apart));
    let finest = structure.levels.first().filter(are_pairs).filter(untold)?;
    Some(format!(
        "{} has the closest pairs: threads of one core, or cores that share a cache; latency alone cannot show \
         which.",
        finest.name
    ))
}

/// That groups may be hidden, where they may.
fn hidden(structure: &Structure) -> Option<String> {
    (structure.contradictory > 0).then(|| contradictory_words(structure.contradictory))
}

/// That pairs do not go together, and what follows from it.
pub fn contradictory_words(pairs: usize) -> String {
    format!(
        "{} lie{} nearer than the other pairs of their CPUs allow, and nothing shows which values are wrong: groups may be \
         hidden",
        count(pairs as u64, "pair"),
        if pairs == 1 { "s" } else { "" }
    )
}

fn remarks(structure: &Structure, findings: &Findings, unit: &str) -> Vec<String> {
    let mut sentences: Vec<String> = pairs_remark(structure).into_iter().collect();
    if !structure.levels.is_empty() {
        sentences.extend(all_but_one(findings, unit).iter().map(|text| format!("{text}.")));
    }
    for level in &structure.dropped {
        let why = match level.inside.zip(level.across) {
            Some((inside, across)) => format!(
                "{} {unit} inside and {} outside are one step of the clock apart, which proves nothing",
                ns(inside.point),
                ns(across)
            ),
            None => "all of their pairs read 0, which is no latency".to_owned(),
        };
        let groups = count(level.groups.len() as u64, "group");
        let lists = fmt::sentence(&group_lists(level));
        sentences.push(format!("No level: {groups} ({lists}); {why}."));
    }
    if !structure.levels.is_empty() {
        sentences.extend(hidden(structure).map(|hidden| format!("{hidden}.")));
    }
    for hint in structure.hints.iter().filter(|hint| hint.but.is_none()) {
        sentences.push(format!("One group stands out (a hint, not a level): {}.", hint.cpus));
    }
    for level in structure.levels.iter().filter(|level| !level.by_elimination.is_empty()) {
        let pairs: Vec<String> = level.by_elimination.iter().map(|[a, b]| format!("{a} and {b}")).collect();
        sentences.push(format!(
            "{}: {} grouped by elimination, because their own latency is missing: {}.",
            level.name,
            count(pairs.len() as u64, "pair"),
            pairs.join(", ")
        ));
    }
    let cpus: CpuSet = structure.left_out.iter().copied().collect();
    match cpus.len() {
        0 => {}
        1 => sentences.push(format!("Nothing is known about CPU {cpus}: none of its pairs has a value.")),
        _ => sentences.push(format!("Nothing is known about CPUs {cpus}: none of their pairs has a value.")),
    }
    sentences
}

fn agreement_table(structure: &Structure, agreement: &[Agreement], unit: &str) -> Table {
    let columns = [
        Column::words("reported"),
        Column::numbers("groups"),
        Column::numbers(format!("inside, {unit}")),
        Column::numbers(format!("outside, {unit}")),
        Column::numbers("Rand index"),
        Column::words("the latencies"),
    ];
    let rows = agreement.iter().enumerate().rev().map(|(at, held)| {
        let point = |key, value: Option<f64>| {
            let field =
                |value| DisplayValue::field(format!("/topology/agreement/{at}/{key}"), Number::Point(value));
            value.map_or(Cell::Blank, |value| field(value).into())
        };
        [
            Cell::from(held.level.name()),
            DisplayValue::listed(held.groups.len()).into(),
            point("inside", held.inside),
            point("across", held.across),
            point("rand_index", held.rand_index),
            standing_words(held, structure).into(),
        ]
    });
    Table::new(columns).with(rows)
}

fn standing_words(held: &Agreement, structure: &Structure) -> String {
    let against = held.against.and_then(|index| structure.levels.get(index)).map_or("", |level| &level.name);
    match held.standing {
        Standing::Agree if held.against.is_none() => "agree, as far as one CPU can show".into(),
        Standing::Agree => format!("agree: {against}"),
        Standing::Coarser => format!("show unreported groups inside these: {against}"),
        Standing::Finer | Standing::NotVisible if is_slower_inside(held) => {
            "are higher inside these than outside".into()
        }
        Standing::Finer if held.matched > 0 => format!("show {} of the {}", held.matched, held.groups.len()),
        Standing::Finer => "show no such division".into(),
        Standing::NotVisible => "neither confirm nor contradict this".into(),
        Standing::Conflict => {
            format!("CONFLICT with {against}: {} would have to move", cpus_words(&held.moved, held.level))
        }
    }
}

/// As modules of small cores are, by more than the scatter of a level.
fn is_slower_inside(held: &Agreement) -> bool {
    matches!((held.inside, held.across), (Some(inside), Some(across)) if inside > 1.05 * across)
}

fn cpus_words(moved: &CpuSet, level: Level) -> String {
    if moved.is_empty() { format!("the {}", level_words(level, 2)) } else { moved.named() }
}

/// Cells that a file cannot measure again.
fn suspects(structure: &Structure) -> Vec<Block<'static>> {
    let off: Vec<&Suspect> = structure.unfit().collect();
    let what = unfit_words(off.len(), !structure.levels.is_empty());
    let mut blocks = vec![Block::Prose(format!("{what}:").into())];
    blocks.extend(off.iter().take(MOST_SUSPECTS).map(|suspect| {
        let [a, b] = suspect.pair;
        let ratio = suspect.ratio.map_or(String::new(), |ratio| format!("{ratio:.2} × what would fit: "));
        Block::Item(format!("{ratio}CPUs {a} and {b}").into())
    }));
    let more = off.len().saturating_sub(MOST_SUSPECTS) as u64;
    blocks.extend((more > 0).then(|| Block::Item(count(more, "more pair").into())));
    blocks
}

/// How many pairs do not fit, and what.
pub(super) fn unfit_words(pairs: usize, has_groups: bool) -> String {
    let what = match (has_groups, pairs) {
        (true, 1) => "does not fit the groups",
        (true, _) => "do not fit the groups",
        (false, 1) => "is unlike the rest",
        (false, _) => "are unlike the rest",
    };
    format!("{} {what}", count(pairs as u64, "pair"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal;
    use crate::report::style::Style;
    use crate::report::text::columns;
    use coretalk_model::infer::Observation;
    use coretalk_model::topology::Domain;
    use coretalk_model::{CpuId, Matrix, Topology};

    fn sentence(findings: &Findings, width: usize) -> Vec<String> {
        terminal::lines(&super::sentence(findings), &Style::of_width(width))
    }

    fn table(findings: &Findings, unit: &str, width: usize) -> Vec<String> {
        terminal::lines(&blocks(findings, unit), &Style::of_width(width))
    }

    /// Two halves of 8 CPUs, 20 ns inside and 85 ns across; `reported` as last-level caches.
    fn findings(reported: &[&str]) -> Findings {
        let observed = Matrix::symmetric((0..16).map(CpuId).collect(), |row, column| {
            Some(Observation::bare(if row / 8 == column / 8 { 20.0 } else { 85.0 }))
        });
        let domain = |cpus: &&str| Domain { level: Level::L3, cpus: cpus.parse().unwrap(), os_id: None };
        let domains = reported.iter().map(domain).collect();
        let topology = Topology::new("0-15".parse().unwrap(), domains, Default::default());
        Findings::of_matrix(&observed, &topology)
    }

    #[test]
    fn the_first_screen_says_whether_the_system_reports_what_shows() {
        for (reported, said) in [
            (&["0-7", "8-15"][..], " inferred  from latencies alone: 2 groups of 8 (L3), as reported"),
            (&[], " inferred  from latencies alone: 2 groups of 8, 0-7 and 8-15, not reported by the system"),
        ] {
            assert_eq!(sentence(&findings(reported), 200), [said]);
        }
        let same = [&["0-7", "8-15"][..], &[], &["0-8", "9-15"]].map(|of| same_as_reported(&findings(of)));
        let same = same.map(|said| said.map(|said| fmt::sentence(&said)));
        assert_eq!(same, [Some("the latencies alone show the same L3".to_owned()), None, None]);
        let hidden = sentence(&findings(&["0-15"]), 200);
        assert_eq!(hidden[1], " ! the reported L3 contain groups that the system does not report");
        let conflict = sentence(&findings(&["0-8", "9-15"]), 200);
        assert!(
            conflict[1].starts_with(" ! CONFLICT: the latencies contradict the reported L3: CPUs 0 and 8")
        );
        assert!(conflict[1].contains("85.0 ns where 20.0 would be usual"), "{conflict:?}");
    }

    #[test]
    fn groups_of_one_are_said_and_one_cpu_that_could_be_slow_is_not_called_alike() {
        let said = |cpus: &[u32], reported: &[&str]| {
            let observed = Matrix::symmetric(cpus.iter().copied().map(CpuId).collect(), |row, column| {
                Some(Observation::bare(if cpus[row] / 8 == cpus[column] / 8 { 18.0 } else { 85.0 }))
            });
            let domain = |cpus: &&str| Domain { level: Level::L3, cpus: cpus.parse().unwrap(), os_id: None };
            let all = cpus.iter().copied().map(CpuId).collect();
            let topology = Topology::new(all, reported.iter().map(domain).collect(), Default::default());
            let findings = Findings::of_matrix(&observed, &topology);
            [sentence(&findings, 300).concat(), table(&findings, "ns", 300).join("\n")]
        };
        let [first, table] = said(&[0, 1, 2, 3, 8], &["0-3", "8"]);
        assert_eq!(
            first,
            " inferred  from latencies alone: CPU 8 takes 85.0 ns to CPUs 0-3, which take 18.0 to each other (medians): a group \
             of its own, as the system reports (L3)"
        );
        assert!(table.contains("agree, as far as one CPU can show"), "{table}");
        let [first, _] = said(&[0, 1, 2, 3, 8], &[]);
        assert!(first.ends_with("it is far away or slow; one CPU alone cannot show which"), "{first}");
        let slow = Matrix::symmetric((0..12).map(CpuId).collect(), |row, column| {
            let slow = if row == 5 || column == 5 { 20.0 } else { 0.0 };
            Some(Observation::bare(slow + if row / 4 == column / 4 { 20.0 } else { 30.0 }))
        });
        let flat = Topology::flat((0..12).map(CpuId).collect());
        let first = sentence(&Findings::of_matrix(&slow, &flat), 400).concat();
        assert!(first.contains("it is slow, also to CPUs 4,6,7, the group nearest to it"), "{first}");
        let [first, table] = said(&[0, 1, 2, 3, 8, 16], &["0-3", "8", "16"]);
        assert_eq!(
            first,
            " inferred  from latencies alone: 1 group of 4 and 2 single CPUs (L3), as reported"
        );
        assert!(table.contains("1: 0-3 single: 8,16") && table.contains("agree: group-1"), "{table}");
        let [first, _] = said(&[0, 1, 8, 16], &[]);
        assert!(first.contains("1 group of 2 and 2 single CPUs, 0,1, 8 and 16, not reported"), "{first}");
        let [first, _] = said(&[0, 8, 16], &["0", "8", "16"]);
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
        let few = Matrix::symmetric(vec![CpuId(0), CpuId(1)], |_, _| Some(Observation::bare(20.0)));
        let findings = Findings::of_matrix(&few, &Topology::flat("0,1".parse().unwrap()));
        assert!(table(&findings, "ns", 200)[0].contains("cannot tell: 2 CPUs have 1 pair"));
        assert!(sentence(&findings, 200).is_empty());
    }
}
