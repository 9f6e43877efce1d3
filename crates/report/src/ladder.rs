//! The ladder: all ways for one CPU to reach another. A row is a relation and, if cores differ, a combination of kinds
//! of cores. A column is a step.

use super::fmt;
use super::text::{columns, plain};
use crate::blocks::value::{Arg, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::reasons::{Worded, unrecorded};
use coretalk_model::latency::{EmptyRung, LadderRow, LatencyResult};
use coretalk_model::probes::wake::LADDER_GAP_NS;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{self, RUNGS};
use coretalk_model::stats::Estimate;
use coretalk_model::{Hint, KernelId, LadderStep, Protocol, Relation, Scope, Tool, Topology};

/// The ladder in short, for the nearest and the farthest pairs except threads of one core. It states the cost of a
/// message and of a wake-up, and predicts the numbers of other tools.
///
/// `disturbance` is the share of the CPUs that other programs took. In a disturbed run, no numbers of other tools are
/// predicted, because they would be disturbed by an unknown amount, too.
pub fn in_short(
    result: &LatencyResult,
    topology: &Topology,
    disturbance: Option<f64>,
) -> Vec<Block<'static>> {
    let ladder = Ends::new(&result.ladder, topology);
    let in_ns = |ns| Sentence::new("{ns} ns").with("ns", ns);
    let bare = |ns| Sentence::new("{ns}").with("ns", ns);
    let messages = |pauses: bool| {
        let is_message_step = |row: &LadderRow| {
            row.kernel == KernelId::new(Protocol::Msg, if pauses { Hint::Pause } else { Hint::None })
        };
        ladder.costs(is_message_step, in_ns)
    };
    // Uses the wait hint of the map, or the faster hint if the map does not spin.
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
    let message =
        message.map(|costs| Sentence::new("a message through a mailbox {costs}").with("costs", costs));
    let woken = RUNGS.iter().find_map(|wake| {
        let time = |ns: DisplayValue| match ns.number {
            Number::Point(point) => {
                let ns = DisplayValue { number: Number::Duration(point), ..ns }.in_unit(Unit::Ns);
                Sentence::new("{time}").with("time", ns)
            }
            _ => bare(ns),
        };
        let costs = ladder.words(&ladder.costs(|row| is_wake_step(row, wake), time))?;
        let sentence = Sentence::new("waking a sleeping thread ({step}) {costs}").with("step", wake.step);
        Some(sentence.with("costs", costs))
    });
    let in_use: Vec<Sentence> = message.into_iter().chain(woken).collect();
    let mut tools: Vec<Tool> = Vec::new();
    for tool in result.ladder.iter().filter_map(tool_of) {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let mut printed: Vec<Sentence> = Vec::new();
    if let (Some(share), false) = (disturbance, tools.is_empty()) {
        let share =
            DisplayValue::field("/environment/others_share", Number::Point(share)).in_unit(Unit::Share);
        let template = "cannot tell what other tools would print: other programs took {share} of the CPUs";
        printed.push(Sentence::new(template).with("share", share));
        tools.clear();
    }
    for tool in tools {
        let is_tool = |row: &LadderRow| tool_of(row) == Some(tool);
        let mut numbers: Vec<Sentence> =
            ladder.costs(is_tool, bare).into_iter().map(|cost| cost.words).collect();
        let is_one_end = numbers.len() == 1 && ladder.rungs.len() > 1;
        numbers.dedup_by_key(|number| fmt::sentence(number));
        let sentence = match (printed.is_empty(), numbers.is_empty()) {
            (_, true) => continue,
            // With kinds of cores, or with a single end, each number needs the name of its pairs.
            (true, _) if ladder.has_kinds() || is_one_end => {
                let Some(costs) = ladder.words(&ladder.costs(is_tool, in_ns)) else { continue };
                Sentence::new("{tool} would print {costs}").with("costs", costs)
            }
            (first, _) => {
                Sentence::new(if first { "{tool} would print {costs} ns" } else { "{tool} {costs}" })
                    .with("costs", Sentence::joined(numbers, " and "))
            }
        };
        printed.push(sentence.with_name("tool", &tool.to_string()));
    }
    if !printed.is_empty()
        && disturbance.is_none()
        && result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1)
    {
        printed.push(Sentence::new("each in the state of its headline"));
    }
    [("in use", in_use), ("compare", printed)]
        .into_iter()
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(label, parts)| Block::Fact(label, Sentence::joined(parts, " · ")))
        .collect()
}

fn tool_of(row: &LadderRow) -> Option<Tool> {
    if let LadderStep::Imitated(tool) = row.kernel.step() { Some(tool) } else { None }
}

fn is_wake_step(row: &LadderRow, wake: &series::TrialRung) -> bool {
    row.kernel.step() == LadderStep::Other(wake.step)
}

struct Cost<'a> {
    ns: f64,
    words: Sentence,
    rung: Rung<'a>,
}

/// The nearest and the farthest pairs of a ladder; with several kinds of cores, the fastest and the slowest pairs.
struct Ends<'a> {
    rows: &'a [LadderRow],
    /// From near to far; kinds of cores in the order of the rows.
    rungs: Vec<Rung<'a>>,
    topology: &'a Topology,
}

impl<'a> Ends<'a> {
    fn new(rows: &'a [LadderRow], topology: &'a Topology) -> Ends<'a> {
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

    /// The cost of a step at each end. A rung whose pairs differ too much for one number is left out.
    fn costs(
        &self,
        is_step: impl Fn(&LadderRow) -> bool,
        words: impl Fn(DisplayValue) -> Sentence,
    ) -> Vec<Cost<'a>> {
        let cost = |&end: &Rung<'a>| {
            let mut rows = self.rows.iter().enumerate();
            let (at, row) = rows.find(|(_, row)| rung(row) == end && is_step(row))?;
            let is_consistent = row.range_ns.is_none_or(|[low, high]| high < MAX_RANGE * low);
            let ns = row.latency_ns.filter(|_| is_consistent)?.point;
            let words = words(DisplayValue::field(median_of(at), Number::Point(ns)));
            Some(Cost { ns, words, rung: end })
        };
        let mut costs: Vec<Cost<'a>> = self.rungs.iter().filter_map(cost).collect();
        if self.has_kinds() {
            costs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        }
        let last = costs.len().saturating_sub(1);
        let ends = costs.into_iter().enumerate().filter(|(at, _)| *at == 0 || *at == last);
        ends.map(|(_, cost)| cost).collect()
    }

    fn words(&self, costs: &[Cost<'a>]) -> Option<Sentence> {
        let first = costs.first()?;
        let is_alike = |cost: &Cost<'_>| fmt::sentence(&cost.words) == fmt::sentence(&first.words);
        if self.rungs.len() == 1 || costs.len() > 1 && costs.iter().all(is_alike) {
            return Some(first.words.clone());
        }
        let words = |cost: &Cost<'a>| {
            let sentence = Sentence::new("{cost} {pairs}").with("cost", cost.words.clone());
            match cost.rung.1 {
                Some(_) => {
                    let kinds =
                        fmt::sentence(&rung_words(cost.rung, &self.rungs, self.topology)).replace(',', "");
                    sentence.with_name("pairs", &kinds)
                }
                None => sentence.with("pairs", Arg::Place(Scope::from_relation(cost.rung.0, self.topology))),
            }
        };
        Some(Sentence::joined(costs.iter().map(words), ", "))
    }
}

/// Pairs of one rung whose range exceeds this ratio are of several kinds.
const MAX_RANGE: f64 = 2.0;

/// The table and its footnote. Only the kernel of the first map has columns for interval and range.
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
    rungs.sort_by_key(|(relation, _)| topology.nearness(*relation));
    let mut steps: Vec<&KernelId> = Vec::new();
    for row in rows.iter().filter(|row| Some(&row.kernel) != line) {
        if !steps.contains(&&row.kernel) {
            steps.push(&row.kernel);
        }
    }
    let line_row = |group: Rung| {
        let mut all = rows.iter().enumerate();
        let (at, row) = all.find(|(_, row)| rung(row) == group && Some(&row.kernel) == line)?;
        Some((at, row, row.latency_ns?))
    };
    let range = |group: Rung| {
        let (at, row, _) = line_row(group).filter(|(_, row, _)| row.pairs > 1)?;
        let sources = [0, 1].map(|end| Source::Field(pointer!("/ladder/{at}/range/{end}")));
        Some(fmt::span(row.range_ns?, sources))
    };
    // A relation without the kernel of the map has no value in this column; other kernels never replace it.
    let has_line = rungs.iter().any(|&group| line_row(group).is_some());
    let has_range = rungs.iter().any(|&group| range(group).is_some());
    let mut columns = vec![Column::words("ladder, ns per hop"), Column::numbers("pairs")];
    columns.extend(has_line.then(|| Column::numbers("line\n(95 %)")));
    columns.extend(has_range.then(|| Column::numbers("range")));
    columns.extend(steps.iter().map(|step| Column::numbers(step_heading(step))));
    let row = |&group: &Rung<'_>| {
        let alike = || rows.iter().enumerate().filter(|(_, row)| rung(row) == group);
        let largest = || alike().max_by_key(|(_, row)| row.pairs);
        let pairs = line_row(group).map(|(at, row, _)| (at, row)).or_else(largest);
        let pairs = pairs.map(|(at, row)| {
            DisplayValue::field(pointer!("/ladder/{at}/pairs"), Number::Count(row.pairs.into()))
        });
        let mut cells = vec![Cell::from(rung_words(group, &rungs, topology)), Cell::number(pairs)];
        let line =
            || line_row(group).map_or(Cell::Unknown, |(at, _, latency)| line_words(at, latency).into());
        cells.extend(has_line.then(line));
        cells.extend(has_range.then(|| range(group).map_or(Cell::Blank, Cell::from)));
        cells.extend(steps.iter().map(|step| {
            let row = alike().find(|(_, row)| row.kernel == **step);
            let value =
                |at, latency: Estimate| DisplayValue::field(median_of(at), Number::Point(latency.point));
            Cell::number(row.and_then(|(at, row)| Some(value(at, row.latency_ns?))))
        }));
        cells
    };
    Table::new(columns).with(rungs.iter().map(row))
}

/// Properties of all pairs of a row: their relation, and their kinds of cores if there are several.
type Rung<'a> = (Relation, Option<&'a [String; 2]>);

fn rung(row: &LadderRow) -> Rung<'_> {
    (row.relation, row.classes.as_ref())
}

fn rung_words((relation, kinds): Rung<'_>, rungs: &[Rung<'_>], topology: &Topology) -> Sentence {
    let clustered = rungs.contains(&(Relation::Cluster, kinds));
    match kinds {
        None => shared_words(relation, false, topology),
        Some(kinds) => Sentence::new("{kinds}, {shared}")
            .with_name("kinds", &kind_words(kinds))
            .with("shared", shared_words(relation, clustered, topology)),
    }
}

fn line_words(at: usize, latency: Estimate) -> Sentence {
    let line = fmt::with_reach(Source::Field(median_of(at)), latency);
    let reach = line.values().get(1).map_or(0, |reach| columns(&fmt::value(reach)) + 1);
    let blanks = "      ";
    Sentence::new("{line}{blanks}").with("line", line).with("blanks", &blanks[reach.min(6)..])
}

fn median_of(at: usize) -> String {
    format!("/ladder/{at}/median")
}

/// The kinds of the cores of a pair: `P–E`.
pub fn kind_words([fast, slow]: &[String; 2]) -> String {
    format!("{}–{}", plain(fast), plain(slow))
}

/// The scope that the pairs of a relation share; for `clustered` kinds of cores, L3 means different clusters.
pub fn shared_words(relation: Relation, clustered: bool, topology: &Topology) -> Sentence {
    match relation {
        Relation::L3 if clustered => Sentence::new("other cluster"),
        relation => {
            Sentence::new("{shared}").with("shared", Arg::Shared(Scope::from_relation(relation, topology)))
        }
    }
}

/// The name of a step, on two lines if it is long; `~` marks the reproduced loop of another tool.
fn step_heading(kernel: &KernelId) -> Sentence {
    let mechanism = match kernel.step() {
        LadderStep::Imitated(Tool::CoreToCoreLatency) => return "~core-to-\ncore-latency".into(),
        LadderStep::Imitated(Tool::CoherencyLatency) => return "~coherency-\nlatency".into(),
        LadderStep::Imitated(tool) => return Sentence::new("~{tool}").with("tool", tool.name()),
        LadderStep::Other(step) if RUNGS.iter().any(|rung| rung.step == step) => {
            return Sentence::new("{step}\nwake-up").with_name("step", step);
        }
        LadderStep::Protocol(Protocol::Msg) => "mailbox",
        LadderStep::Protocol(Protocol::Xfer) => "read",
        LadderStep::Protocol(protocol) => protocol.name(),
        LadderStep::Other(step) => step,
    };
    let template = match kernel.hint() {
        Hint::Pause => "{mechanism}\n+pause",
        Hint::None => "{mechanism}",
    };
    Sentence::new(template).with_name("mechanism", mechanism)
}

/// Explains the numbers and changed machine states, and in an undisturbed run the numbers of other tools.
pub fn footnote(result: &LatencyResult, disturbance: Option<f64>) -> Sentence {
    let rows = &result.ladder;
    let tools = rows.iter().any(|row| tool_of(row).is_some());
    let kinds = if rows.iter().any(|row| row.classes.is_some()) { " and core class" } else { "" };
    let pairs = match rows.iter().enumerate().max_by_key(|(_, row)| row.pairs) {
        Some((at, row)) if row.pairs > 1 => {
            let pairs = DisplayValue::field(pointer!("/ladder/{at}/pairs"), Number::Count(row.pairs.into()));
            Sentence::new("medians over at most {pairs} representative pairs per relation{kinds}")
                .with("pairs", pairs)
        }
        _ => Sentence::new("one pair per relation{kinds}"),
    };
    let mut parts = vec![pairs.with("kinds", kinds)];
    parts.extend(tools.then(|| match disturbance {
        None => Sentence::new("~ is what that tool would print"),
        Some(_) => Sentence::new("~ is measured as that tool does, while other programs used the CPUs"),
    }));
    let was_measured = |rung: &&series::TrialRung| rows.iter().any(|row| is_wake_step(row, rung));
    let woken: Vec<Sentence> =
        RUNGS.iter().filter(was_measured).map(|rung| Sentence::new(rung.step)).collect();
    if !woken.is_empty() {
        let gap_source = Source::Parameter { trial: None, name: "gap_ns".to_owned() };
        let gap = DisplayValue::bare(Number::Duration(LADDER_GAP_NS), gap_source).in_unit(Unit::Ns);
        let sentence = Sentence::new("{woken}: until a thread that slept {gap} runs again").with("gap", gap);
        parts.push(sentence.with("woken", Sentence::joined(woken, " and ")));
    }
    if result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1) {
        parts.push(Sentence::new("each pair in the state of its headline"));
    }
    let why = rows.iter().find(|row| row.latency_ns.is_none()).map(|row| {
        let reason = row.reason.as_ref().unwrap_or(&EmptyRung::NotMeasured);
        Sentence::new(" (·: {reason})").with("reason", reason.sentence(&unrecorded))
    });
    Sentence::new("{parts}{why}")
        .with("parts", Sentence::joined(parts, "; "))
        .with("why", why.unwrap_or(Sentence::new("")))
}
