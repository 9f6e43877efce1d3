//! The ladder: everything that one CPU can do to reach another, a row for each relation and, where cores are
//! of several kinds, each combination of them; a column for each step.

use super::text::{left, ns, plain, plus_minus, short_ns};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_measure::probes::wake::LADDER_GAP_NS;
use coretalk_model::latency::{LadderRow, LatencyResult};
use coretalk_model::series::RUNGS;
use coretalk_model::stats::Estimate;
use coretalk_model::{KernelId, Level, Relation, Topology};

/// What the pairs of a relation share, in words that fit this machine: pairs that share a package but no L3 are
/// `across L3` where the package has several.
pub fn relation_words(relation: Relation, topology: &Topology) -> String {
    let across = |from: Level| {
        let inside = topology.levels().into_iter().take_while(move |&level| level != from).skip(1);
        inside.filter(|&level| topology.level(level).len() > 1).last()
    };
    let (same, split) = match relation {
        Relation::SameCpu => return "one CPU".into(),
        Relation::Smt => return "threads of a core".into(),
        Relation::L2 => return "same L2".into(),
        Relation::Cluster => return "same cluster".into(),
        Relation::L3 => return "same L3".into(),
        Relation::Die => ("same die", across(Level::Die)),
        Relation::Node => ("same node", across(Level::Node)),
        Relation::Package => ("same package", across(Level::Package)),
        Relation::Machine if topology.level(Level::Package).len() > 1 => return "across packages".into(),
        Relation::Machine => ("this machine", across(Level::Package)),
    };
    split.map_or(same.into(), |level| format!("across {}", level_words(level, 1)))
}

/// A level in words, for so many of them.
pub fn level_words(level: Level, number: usize) -> &'static str {
    match (level, number) {
        (Level::Core, 1) => "core",
        (Level::Core, _) => "cores",
        (Level::L2, _) => "L2",
        (Level::Cluster, 1) => "cluster",
        (Level::Cluster, _) => "clusters",
        (Level::L3, _) => "L3",
        (Level::Die, 1) => "die",
        (Level::Die, _) => "dies",
        (Level::Node, 1) => "node",
        (Level::Node, _) => "nodes",
        (Level::Package, 1) => "package",
        (Level::Package, _) => "packages",
    }
}

/// The table and what its numbers are. The rows of the code of the map above alone come with interval and range; without
/// such rows every step is a plain column.
pub fn blocks(result: &LatencyResult, topology: &Topology) -> Vec<Block<'static>> {
    let line = result.maps.first().map(|map| &map.kernel);
    vec![Block::Table(table(&result.ladder, line, topology)), Block::Prose(footnote(result))]
}

fn table(rows: &[LadderRow], line: Option<&KernelId>, topology: &Topology) -> Table {
    let mut rungs: Vec<Rung> = Vec::new();
    for rung in rows.iter().map(rung) {
        if !rungs.contains(&rung) {
            rungs.push(rung);
        }
    }
    // Stable: kinds of cores keep the order of the rows.
    rungs.sort_by_key(|(relation, _)| topology.nearness(*relation));
    let mut steps: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| Some(&row.kernel) != line) {
        if !steps.contains(&(row.step.as_str(), row.kernel.as_str())) {
            steps.push((&row.step, row.kernel.as_str()));
        }
    }
    let of_line = |of: Rung| {
        let row = rows.iter().find(|row| rung(row) == of && Some(&row.kernel) == line)?;
        Some((row, row.latency_ns.as_ref()?))
    };
    // One pair has no range.
    let range = |of: Rung| of_line(of).filter(|(row, _)| row.pairs > 1).and_then(|(row, _)| row.range_ns);
    // A relation without the line of the map has no value there, and other code never stands in for it.
    let has_line = rungs.iter().any(|&of| of_line(of).is_some());
    let has_range = rungs.iter().any(|&of| range(of).is_some());
    let mut columns = vec![Column::words("ladder, ns per hop"), Column::numbers("pairs")];
    columns.extend(has_line.then(|| Column::numbers("line\n(95 %)")));
    columns.extend(has_range.then(|| Column::numbers("range")));
    columns.extend(steps.iter().map(|step| Column::numbers(step_heading(step))));
    let row = |&of: &Rung<'_>| {
        let alike = || rows.iter().filter(|row| rung(row) == of);
        let pairs = of_line(of).map(|(row, _)| row.pairs).or_else(|| alike().map(|row| row.pairs).max());
        let mut cells =
            vec![Cell::from(rung_words(of, &rungs, topology)), pairs.unwrap_or(0).to_string().into()];
        cells.extend(has_line.then(|| Cell::known(of_line(of).map(|(_, latency)| line_words(latency)))));
        cells.extend(has_range.then(|| match range(of) {
            Some([low, high]) => format!("{}–{}", short_ns(low), short_ns(high)).into(),
            None => Cell::Blank,
        }));
        cells.extend(steps.iter().map(|(step, kernel)| {
            let row = alike().find(|row| row.step == *step && row.kernel.as_str() == *kernel);
            Cell::known(row.and_then(|row| row.latency_ns).map(|latency| ns(latency.point)))
        }));
        cells
    };
    Table::new(columns).with(rungs.iter().map(row))
}

/// What the pairs of a row have in common: what they share, and the kinds of their cores where there are several.
type Rung<'a> = (Relation, Option<&'a [String; 2]>);

fn rung(row: &LadderRow) -> Rung<'_> {
    (row.relation, row.classes.as_ref())
}

fn rung_words((relation, kinds): Rung<'_>, rungs: &[Rung<'_>], topology: &Topology) -> String {
    let clustered = rungs.contains(&(Relation::Cluster, kinds));
    match kinds {
        None => relation_words(relation, topology),
        Some(kinds) => format!("{}, {}", kind_words(kinds), shared_words(relation, clustered, topology)),
    }
}

/// Intervals take the same room, so that points stand below each other.
fn line_words(latency: &Estimate) -> String {
    let sure = latency.is_sure().then(|| plus_minus(latency.point, latency.reach()));
    format!("{} {}", ns(latency.point), left(&sure.unwrap_or_default(), 5))
}

/// `P–E`: the kinds of the cores of a pair.
pub fn kind_words([fast, slow]: &[String; 2]) -> String {
    format!("{}–{}", plain(fast), plain(slow))
}

/// What pairs of two kinds share; where these kinds have clusters of their own, what shares only more is in two of them.
pub fn shared_words(relation: Relation, clustered: bool, topology: &Topology) -> String {
    match relation {
        Relation::L3 if clustered => "other cluster".to_owned(),
        relation => relation_words(relation, topology),
    }
}

/// The name of a step, of two lines where it is long: other tools with `~`, as their numbers are reproduced and not ours.
fn step_heading((step, kernel): &(&str, &str)) -> String {
    if let Some(tool) = step.strip_prefix("as:") {
        return match tool {
            "core-to-core-latency" => "~core-to-\ncore-latency".into(),
            "coherency-latency" => "~coherency-\nlatency".into(),
            tool => format!("~{}", plain(tool)),
        };
    }
    if RUNGS.iter().any(|rung| rung.step == *step) {
        return format!("{}\nwake-up", plain(step));
    }
    let hint = kernel.strip_prefix(step).filter(|hint| !hint.is_empty());
    let mechanism = match *step {
        "msg" => "mailbox",
        "xfer" => "read",
        step => step,
    };
    match hint {
        Some(hint) => format!("{}\n{}", plain(mechanism), plain(hint)),
        None => plain(mechanism),
    }
}

/// What the numbers are, those of other tools and those of a machine that changed its state.
pub fn footnote(result: &LatencyResult) -> String {
    let rows = &result.ladder;
    let tools = rows.iter().any(|row| row.step.starts_with("as:"));
    let pairs = rows.iter().map(|row| u64::from(row.pairs)).max().unwrap_or(0);
    let kinds = if rows.iter().any(|row| row.classes.is_some()) { " and kinds of cores" } else { "" };
    let mut text = match pairs {
        0 | 1 => format!("medians of one pair of each relation{kinds}"),
        most => format!("medians over at most {most} representative pairs of each relation{kinds}"),
    };
    if tools {
        text.push_str("; ~ is what that tool would print, reproduced");
    }
    let woken: Vec<&str> =
        RUNGS.iter().map(|rung| rung.step).filter(|step| rows.iter().any(|row| row.step == *step)).collect();
    if !woken.is_empty() {
        let gap = super::text::duration(LADDER_GAP_NS * 1e-9);
        text.push_str(&format!("; {}: until a thread that slept {gap} runs again", woken.join(" and ")));
    }
    if result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1) {
        text.push_str("; each pair in the state of the machine that its headline is from");
    }
    if rows.iter().any(|row| row.latency_ns.is_none()) {
        text.push_str(" (·: visited in others only)");
    }
    text
}
