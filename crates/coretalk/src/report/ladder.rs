//! The ladder: everything that one CPU can do to reach another, a row for each relation and, where cores are
//! of several kinds, each combination of them; a column for each step.

use super::text::{duration, left, ns, percent, plain, plus_minus, short_ns};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_measure::probes::wake::LADDER_GAP_NS;
use coretalk_model::latency::{EmptyRung, LadderRow, LatencyResult};
use coretalk_model::series::{self, RUNGS};
use coretalk_model::stats::Estimate;
use coretalk_model::{Hint, KernelId, LadderStep, Level, Protocol, Relation, Scope, Tool, Topology};

/// What pairs share: `same L3`, `across L3`; `same L3, across nodes`.
pub fn shared(scope: Scope) -> String {
    match scope {
        Scope::SameCpu => "same CPU".to_owned(),
        Scope::Threads(beyond) => format!("threads of a core{}", beyond_words(beyond)),
        Scope::Inside(level, beyond) => {
            format!("same {}{}", level_words(level, 1), beyond_words(beyond))
        }
        Scope::Across(level) => format!("across {}", level_words(level, 2)),
        Scope::Machine => "this machine".to_owned(),
    }
}

/// The same as a place: `both on one CPU`, `inside an L3`, `across L3`.
pub fn place(scope: Scope) -> String {
    match scope {
        Scope::SameCpu => "both on one CPU".to_owned(),
        Scope::Inside(level, beyond) => {
            let article = if matches!(level, Level::L2 | Level::L3) { "an" } else { "a" };
            format!("inside {article} {}{}", level_words(level, 1), beyond_words(beyond))
        }
        _ => shared(scope),
    }
}

fn beyond_words(beyond: Option<Level>) -> String {
    beyond.map_or_else(String::new, |level| format!(", across {}", level_words(level, 2)))
}

/// What the pairs of a relation share: [`shared`].
pub fn relation_words(relation: Relation, topology: &Topology) -> String {
    shared(Scope::of(relation, topology))
}

/// The same as a place: [`place`].
pub fn distance_words(relation: Relation, topology: &Topology) -> String {
    place(Scope::of(relation, topology))
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
        let is_one = |row: &LadderRow| {
            row.kernel == KernelId::of(Protocol::Msg, if pauses { Hint::Pause } else { Hint::None })
        };
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
        let costs = ladder.costs(|row| is_woken(row, woken), |value| duration(value * 1e-9));
        Some(format!("waking a sleeping thread ({}) {}", woken.step, ladder.words(&costs)?))
    });
    let in_use: Vec<String> = message.into_iter().chain(woken).collect();
    let mut tools: Vec<Tool> = Vec::new();
    for tool in result.ladder.iter().filter_map(tool_of) {
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
        let is_tool = |row: &LadderRow| tool_of(row) == Some(tool);
        let costs = ladder.costs(is_tool, ns);
        let mut numbers: Vec<&str> = costs.iter().map(|cost| cost.words.as_str()).collect();
        let is_one_end = numbers.len() == 1 && ladder.rungs.len() > 1;
        numbers.dedup();
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
        .map(|(label, parts)| Block::Fact(label, parts.join(" · ").into()))
        .collect()
}

/// The tool that a row imitates.
fn tool_of(row: &LadderRow) -> Option<Tool> {
    if let LadderStep::Imitated(tool) = row.kernel.step() { Some(tool) } else { None }
}

fn is_woken(row: &LadderRow, woken: &series::Rung) -> bool {
    row.kernel.step() == LadderStep::Other(woken.step)
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
    vec![
        Block::Table(table(&result.ladder, line, topology)),
        Block::Prose(footnote(result, disturbance).into()),
    ]
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
    let mut steps: Vec<&KernelId> = Vec::new();
    for row in rows.iter().filter(|row| Some(&row.kernel) != line) {
        if !steps.contains(&&row.kernel) {
            steps.push(&row.kernel);
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
        cells.extend(steps.iter().map(|step| {
            let row = alike().find(|row| row.kernel == **step);
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
fn step_heading(kernel: &KernelId) -> String {
    let mechanism = match kernel.step() {
        LadderStep::Imitated(Tool::CoreToCoreLatency) => return "~core-to-\ncore-latency".into(),
        LadderStep::Imitated(Tool::CoherencyLatency) => return "~coherency-\nlatency".into(),
        LadderStep::Imitated(tool) => return format!("~{tool}"),
        LadderStep::Other(step) if RUNGS.iter().any(|rung| rung.step == step) => {
            return format!("{step}\nwake-up");
        }
        LadderStep::Protocol(Protocol::Msg) => "mailbox",
        LadderStep::Protocol(Protocol::Xfer) => "read",
        LadderStep::Protocol(protocol) => protocol.name(),
        LadderStep::Other(step) => step,
    };
    match kernel.hint() {
        Hint::Pause => format!("{}\n+pause", plain(mechanism)),
        Hint::None => plain(mechanism),
    }
}

/// What the numbers are, those of other tools and those of a machine that changed its state. A run that other programs
/// disturbed predicts nothing that a tool would print.
pub fn footnote(result: &LatencyResult, disturbance: Option<f64>) -> String {
    let rows = &result.ladder;
    let tools = rows.iter().any(|row| tool_of(row).is_some());
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
    let is_there = |rung: &&series::Rung| rows.iter().any(|row| is_woken(row, rung));
    let woken: Vec<&str> = RUNGS.iter().filter(is_there).map(|rung| rung.step).collect();
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
