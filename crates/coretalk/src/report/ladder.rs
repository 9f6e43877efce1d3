//! The ladder: everything that one CPU can do to reach another, a row for each relation and, where cores are
//! of several kinds, each combination of them; a column for each step.

use super::text::{duration, left, ns, percent, plain, plus_minus, short_ns};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_measure::probes::wake::LADDER_GAP_NS;
use coretalk_model::latency::{EmptyRung, LadderRow, LatencyResult};
use coretalk_model::series::RUNGS;
use coretalk_model::stats::Estimate;
use coretalk_model::{Hint, KernelId, Level, Relation, Topology};

/// What the pairs of a relation share, in words that fit this machine: pairs that share a package but no L3 are
/// `across L3` where the package has several. Where nodes divide an L3, its pairs have the `same L3, across nodes`.
pub fn relation_words(relation: Relation, topology: &Topology) -> String {
    let level = topology.levels().into_iter().find(|&level| Relation::of(level) == relation);
    let same = match (relation, level) {
        (Relation::SameCpu, _) => return "same CPU".into(),
        (Relation::Smt, _) => "threads of a core".into(),
        (_, Some(level)) => format!("same {}", level_words(level, 1)),
        (_, None) => "this machine".into(),
    };
    let inside = topology.levels().into_iter().take_while(|&inner| Some(inner) != level);
    match inside.filter(|&inner| inner != Level::Core && topology.level(inner).len() > 1).last() {
        Some(split) if level.is_some_and(|level| level < split) => {
            format!("{same}, across {}", level_words(split, 2))
        }
        Some(split) if level.is_none_or(|level| level > Level::L3) => {
            format!("across {}", level_words(split, 2))
        }
        _ => same,
    }
}

/// The same as a place: `both on one CPU`, `inside an L3`, `across L3`.
pub fn distance_words(relation: Relation, topology: &Topology) -> String {
    if relation == Relation::SameCpu {
        return "both on one CPU".to_owned();
    }
    let words = relation_words(relation, topology);
    match words.strip_prefix("same ") {
        Some(thing) => format!("inside {} {thing}", if thing.starts_with('L') { "an" } else { "a" }),
        None => words,
    }
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
        (Level::Book, 1) => "book",
        (Level::Book, _) => "books",
        (Level::Drawer, 1) => "drawer",
        (Level::Drawer, _) => "drawers",
    }
}

/// What the ladder means to somebody who writes threads: what a message costs and a wake-up, and what other tools would
/// print; nearest and farthest pairs, but for threads of one core.
///
/// Of a run that other programs disturbed (`disturbance` is their share of the CPUs) no other tool's numbers are predicted:
/// that tool would be disturbed as well, and nobody knows by how much.
pub fn in_short(
    result: &LatencyResult,
    topology: &Topology,
    disturbance: Option<f64>,
) -> Vec<Block<'static>> {
    let ladder = Ends::of(&result.ladder, topology);
    let in_ns = |value: f64| format!("{} ns", ns(value));
    let messages = |pauses: bool| {
        let is_one = |row: &LadderRow| row.step == "msg" && row.kernel.as_str().ends_with("+pause") == pauses;
        ladder.costs(is_one, in_ns)
    };
    // With the hint of the map; where that has none, as what does not spin, with the better.
    let spins = result.maps.first().filter(|map| map.protocol.spins());
    let message = match spins {
        Some(map) => messages(map.hint == Hint::Pause),
        None => [messages(true), messages(false)]
            .into_iter()
            .min_by(|a, b| {
                let first = |costs: &[Cost<'_>]| costs.first().map_or(f64::INFINITY, |cost| cost.ns);
                first(a).total_cmp(&first(b))
            })
            .unwrap_or_default(),
    };
    let message = ladder.words(&message);
    let message = message.map(|costs| format!("a message through a mailbox {costs}"));
    let woken = RUNGS.iter().find_map(|woken| {
        let costs = ladder.costs(|row| row.step == woken.step, |value| duration(value * 1e-9));
        Some(format!("waking a sleeping thread ({}) {}", woken.step, ladder.words(&costs)?))
    });
    let in_use: Vec<String> = message.into_iter().chain(woken).collect();
    let mut tools: Vec<&str> = Vec::new();
    for tool in result.ladder.iter().filter_map(|row| row.step.strip_prefix("as:")) {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let mut printed: Vec<String> = Vec::new();
    if let (Some(share), false) = (disturbance, tools.is_empty()) {
        let told = format!(
            "cannot tell what other tools would print: other programs took {} of the CPUs",
            percent(share)
        );
        printed.push(told);
        tools.clear();
    }
    for tool in tools {
        let is_tool = |row: &LadderRow| row.step.strip_prefix("as:") == Some(tool);
        let costs = ladder.costs(is_tool, ns);
        let mut numbers: Vec<&str> = costs.iter().map(|cost| cost.words.as_str()).collect();
        let is_one_end = numbers.len() == 1 && ladder.rungs.len() > 1;
        numbers.dedup();
        let tool = plain(tool);
        printed.extend(match (printed.is_empty(), numbers.is_empty()) {
            (_, true) => None,
            // Kinds of cores have an order of their own, and one end of several has to be named.
            (true, _) if ladder.has_kinds() || is_one_end => {
                ladder.words(&ladder.costs(is_tool, in_ns)).map(|costs| format!("{tool} would print {costs}"))
            }
            // In the order of the answer: from near to far.
            (true, _) => Some(format!("{tool} would print {} ns", numbers.join(" and "))),
            (false, _) => Some(format!("{tool} {}", numbers.join(" and "))),
        });
    }
    if !printed.is_empty()
        && disturbance.is_none()
        && result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1)
    {
        printed.push("each in the state of its headline".to_owned());
    }
    [("in use", in_use), ("compare", printed)]
        .into_iter()
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(label, parts)| Block::Fact(label, parts.join(" · ")))
        .collect()
}

/// What a step costs the pairs of a rung.
struct Cost<'a> {
    ns: f64,
    words: String,
    rung: Rung<'a>,
}

/// The nearest and the farthest pairs of a ladder; of kinds of cores the quickest and the slowest.
struct Ends<'a> {
    rows: &'a [LadderRow],
    /// From near to far; kinds of cores in the order of the rows.
    rungs: Vec<Rung<'a>>,
    topology: &'a Topology,
}

impl<'a> Ends<'a> {
    fn of(rows: &'a [LadderRow], topology: &'a Topology) -> Ends<'a> {
        let mut rungs: Vec<Rung<'a>> = Vec::new();
        for rung in rows.iter().map(rung).filter(|(relation, _)| *relation != Relation::Smt) {
            if !rungs.contains(&rung) {
                rungs.push(rung);
            }
        }
        if rungs.iter().all(|(_, kinds)| kinds.is_none()) {
            rungs.sort_by_key(|(relation, _)| topology.nearness(*relation));
        }
        Ends { rows, rungs, topology }
    }

    fn has_kinds(&self) -> bool {
        self.rungs.iter().any(|(_, kinds)| kinds.is_some())
    }

    /// What a step costs at either end. Nothing where pairs of one rung differ so much that no number stands for them.
    fn costs(&self, is_meant: impl Fn(&LadderRow) -> bool, words: impl Fn(f64) -> String) -> Vec<Cost<'a>> {
        let cost = |&end: &Rung<'a>| {
            let row = self.rows.iter().find(|row| rung(row) == end && is_meant(row))?;
            let is_one = row.range_ns.is_none_or(|[low, high]| high < MOST_RANGE * low);
            let ns = row.latency_ns.filter(|_| is_one)?.point;
            Some(Cost { ns, words: words(ns), rung: end })
        };
        let mut costs: Vec<Cost<'a>> = self.rungs.iter().filter_map(cost).collect();
        if self.has_kinds() {
            costs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        }
        let last = costs.len().saturating_sub(1);
        let ends = costs.into_iter().enumerate().filter(|(at, _)| *at == 0 || *at == last);
        ends.map(|(_, cost)| cost).collect()
    }

    /// `36.1 ns inside an L3, 172 ns across L3`; what costs the same near and far is said once.
    fn words(&self, costs: &[Cost<'a>]) -> Option<String> {
        let first = costs.first()?;
        if self.rungs.len() == 1 || costs.len() > 1 && costs.iter().all(|cost| cost.words == first.words) {
            return Some(first.words.clone());
        }
        let words = |cost: &Cost<'a>| match cost.rung.1 {
            Some(_) => format!(
                "{} {}",
                cost.words,
                rung_words(cost.rung, &self.rungs, self.topology).replace(',', "")
            ),
            None => format!("{} {}", cost.words, distance_words(cost.rung.0, self.topology)),
        };
        Some(costs.iter().map(words).collect::<Vec<_>>().join(", "))
    }
}

/// Pairs of one rung whose ends lie further apart than this are of several kinds.
const MOST_RANGE: f64 = 2.0;

/// The table and what its numbers are. The rows of the code of the map above alone come with interval and range; without
/// such rows every step is a plain column.
pub fn blocks(result: &LatencyResult, topology: &Topology, disturbance: Option<f64>) -> Vec<Block<'static>> {
    let line = result.maps.first().map(|map| &map.kernel);
    vec![Block::Table(table(&result.ladder, line, topology)), Block::Prose(footnote(result, disturbance))]
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

/// What the numbers are, those of other tools and those of a machine that changed its state. A run that other programs
/// disturbed predicts nothing that a tool would print.
pub fn footnote(result: &LatencyResult, disturbance: Option<f64>) -> String {
    let rows = &result.ladder;
    let tools = rows.iter().any(|row| row.step.starts_with("as:"));
    let pairs = rows.iter().map(|row| u64::from(row.pairs)).max().unwrap_or(0);
    let kinds = if rows.iter().any(|row| row.classes.is_some()) { " and core class" } else { "" };
    let mut text = match pairs {
        0 | 1 => format!("one pair per relation{kinds}"),
        most => format!("medians over at most {most} representative pairs per relation{kinds}"),
    };
    if tools {
        text.push_str(match disturbance {
            None => "; ~ is what that tool would print",
            Some(_) => "; ~ is measured as that tool does, while other programs used the CPUs",
        });
    }
    let woken: Vec<&str> =
        RUNGS.iter().map(|rung| rung.step).filter(|step| rows.iter().any(|row| row.step == *step)).collect();
    if !woken.is_empty() {
        let gap = duration(LADDER_GAP_NS * 1e-9);
        text.push_str(&format!("; {}: until a thread that slept {gap} runs again", woken.join(" and ")));
    }
    if result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1) {
        text.push_str("; each pair in the state of its headline");
    }
    if let Some(row) = rows.iter().find(|row| row.latency_ns.is_none()) {
        text.push_str(&format!(" (·: {})", row.reason.as_ref().unwrap_or(&EmptyRung::NotMeasured)));
    }
    text
}
