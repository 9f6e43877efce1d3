//! The view of `topology`: boxes within boxes, as the system reports them. Levels that it does not report have none.

use super::scope::level_words;
use super::text::{bytes, columns, left, plain};
use super::words::size;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::infer::OtherCpus;
use coretalk_model::topology::{MemoryNode, Same};
use coretalk_model::{CpuId, CpuSet, Domain, Level, Topology};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The reported structure as a picture in characters, and the same in words.
pub fn blocks(topology: &Topology) -> Vec<Block<'_>> {
    let mut blocks = vec![
        Block::Headline(format!("{}, as the system reports", size(topology)).into()),
        Block::sketch(|style| boxes(topology, topology.cpus(), &boxed(topology), style.width)),
        Block::Gap,
    ];
    blocks.extend(in_words(topology));
    blocks
}

/// That a report and the latencies beside it are of different CPUs.
pub fn other_cpus(others: &OtherCpus) -> Block<'static> {
    Block::Doubt(format!(
        "the report is of {}, the latencies are of {}: the sets of CPUs differ, so the two are not compared",
        others.reported.named(),
        others.measured.named()
    ).into())
}

/// The groups of each level that is reported, and what else is.
pub fn in_words(topology: &Topology) -> Vec<Block<'static>> {
    let rows = levels(topology).into_iter().map(|level| {
        let groups = topology.level(level);
        let lists: Vec<String> = groups.iter().map(|domain| domain.cpus.to_string()).collect();
        let shown = if lists.len() > 16 {
            format!("{} … {}", lists[..3].join("  "), lists[lists.len() - 1])
        } else {
            lists.join("  ")
        };
        [left(level.name(), 8), format!("{} {shown}", lists.len())].map(Cell::from)
    });
    let table = Table::new(["", ""].map(Column::words)).with(rows);
    [Block::Table(table)]
        .into_iter()
        .chain(beside(topology).into_iter().map(|text| Block::Prose(text.into())))
        .collect()
}

/// What is reported and no box can show, and what is not reported.
fn beside(topology: &Topology) -> Vec<String> {
    let mut sentences: Vec<String> =
        topology.crossing_words().map(|words| format!("No box: {words}.")).into_iter().collect();
    let unclassified = topology.unclassified();
    if !unclassified.is_empty() {
        sentences.push(format!("Kind of core not reported: {}.", unclassified.named()));
    }
    if let Some(beside) = topology.beside() {
        sentences.extend(beside.memory_nodes.iter().map(memory_words));
        let same: Vec<String> =
            beside.same.iter().map(|(level, same)| same_words(topology, *level, *same)).collect();
        if !same.is_empty() {
            sentences.push(format!("Reported, but no separate level: {}.", same.join("; ")));
        }
    }
    let missing: Vec<&str> =
        topology.unreported().unwrap_or_default().into_iter().map(|level| level_words(level, 2)).collect();
    if !missing.is_empty() {
        sentences.push(format!("Not reported: {}.", missing.join(", ")));
    }
    sentences
}

/// `Node 2 has memory and no CPUs of its own: 17.2 GB, at distance 14 from node 0 and 24 from node 1.`
fn memory_words(node: &MemoryNode) -> String {
    let distances: Vec<String> =
        node.distances.iter().map(|(from, distance)| format!("{distance} from node {from}")).collect();
    let distance = match distances.as_slice() {
        [] => String::new(),
        [one] => format!(", at distance {one}"),
        [inner @ .., last] => format!(", at distance {} and {last}", inner.join(", ")),
    };
    match node.memory_bytes {
        Some(0) => format!("Node {} has neither CPUs of its own nor memory.", node.number),
        Some(memory) => {
            format!("Node {} has memory and no CPUs of its own: {}{distance}.", node.number, bytes(memory))
        }
        None => format!("Node {} has no CPUs of its own: memory of unknown size{distance}.", node.number),
    }
}

fn same_words(topology: &Topology, level: Level, same: Same) -> String {
    match same {
        Same::Machine => format!("one {} contains all CPUs", level_words(level, 1)),
        Same::Level(other) => {
            let number = topology.level(other).len();
            let verb = if number == 1 { "is" } else { "are" };
            format!("the {} {verb} the {}", level_words(level, number), level_words(other, number))
        }
        Same::Several => format!("the {} add no further groups", level_words(level, 2)),
    }
}

/// Levels that have groups, outermost first.
fn levels(topology: &Topology) -> Vec<Level> {
    topology.levels().into_iter().rev().filter(|&level| !topology.level(level).is_empty()).collect()
}

/// The groups that have a box, the outermost first. One that crosses another has none, and neither has a core that nothing
/// divides.
fn boxed(topology: &Topology) -> Vec<&Domain> {
    let crossing = topology.crossing().concat();
    let is_divided = |core: &Domain| {
        let first = core.cpus.first();
        let inside = topology.levels().into_iter().take_while(|&level| level != Level::Core);
        inside
            .filter_map(|level| topology.domain_of(first?, level))
            .any(|inner| inner.cpus.len() < core.cpus.len())
    };
    let mut groups: Vec<&Domain> =
        topology.levels().into_iter().rev().flat_map(|level| topology.level(level)).collect();
    groups.retain(|group| !crossing.contains(group) && (group.level != Level::Core || is_divided(group)));
    // Stable: groups of the same CPUs stay in the order of their levels.
    groups.sort_by_cached_key(|group| Reverse(group.cpus.len()));
    groups
}

fn boxes(topology: &Topology, cpus: &CpuSet, groups: &[&Domain], width: usize) -> Vec<String> {
    // Each box with the groups that have it in common, and those inside it.
    let mut tops: Vec<(Vec<&Domain>, Vec<&Domain>)> = Vec::new();
    // The box of each CPU: groups nest, so that one CPU finds the box of its group.
    let mut boxed: HashMap<CpuId, usize> = HashMap::new();
    for &group in groups {
        match group.cpus.first().and_then(|cpu| boxed.get(&cpu)).map(|&top| &mut tops[top]) {
            Some((top, _)) if top[0].cpus == group.cpus => top.push(group),
            Some((_, inner)) => inner.push(group),
            None => {
                boxed.extend(group.cpus.iter().map(|cpu| (cpu, tops.len())));
                tops.push((vec![group], Vec::new()));
            }
        }
    }
    let alone: CpuSet = cpus.iter().filter(|cpu| !boxed.contains_key(cpu)).collect();
    tops.sort_by_key(|(top, _)| top[0].cpus.first());
    let draw = |(top, inner): &(Vec<&Domain>, Vec<&Domain>)| {
        let names: Vec<String> = top.iter().map(|group| box_name(group)).collect();
        let members = &top[0].cpus;
        let body = boxes(topology, members, inner, width.saturating_sub(4).max(12));
        (format!("{} · {members}", names.join(" = ")), body)
    };
    let boxes = match tops.as_slice() {
        [first, second, between @ .., last] if tops.len() > most_boxes(topology) => {
            summary(&[first, second, last].map(draw), between.len(), width)
        }
        tops => shelves(&tops.iter().map(draw).collect::<Vec<_>>(), width),
    };
    let outside = if alone.is_empty() { Vec::new() } else { leaves(topology, &alone, width) };
    // CPUs in no group stand where their ids put them.
    if alone.first() < cpus.difference(&alone).first() {
        [outside, boxes].concat()
    } else {
        [boxes, outside].concat()
    }
}

fn box_name(domain: &Domain) -> String {
    let number = domain.os_id.map_or(String::new(), |id| format!(" {id}"));
    format!("{}{number}", level_words(domain.level, 1))
}

/// More boxes inside another than this are not drawn one by one: every one up to 256 CPUs, and on
/// larger machines as many as show the pattern.
fn most_boxes(topology: &Topology) -> usize {
    if topology.cpus().len() > 256 { 3 } else { 16 }
}

/// The first two and the last; so many stand between them.
fn summary(shown: &[(String, Vec<String>); 3], between: usize, width: usize) -> Vec<String> {
    let mut lines = shelves(&shown[..2], width);
    lines.push(super::text::cut(&format!("… {between} more of them …"), width));
    lines.extend(shelves(&shown[2..], width));
    lines
}

/// Boxes side by side as far as they fit, then on the next shelf.
fn shelves(drawn: &[(String, Vec<String>)], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shelf: Vec<Vec<String>> = Vec::new();
    let mut used = 0;
    for (title, body) in drawn {
        let framed = frame(title, body, width);
        let needs = framed.first().map_or(0, |line| columns(line));
        if !shelf.is_empty() && used + 1 + needs > width {
            lines.extend(side_by_side(&shelf));
            shelf.clear();
            used = 0;
        }
        used += needs + usize::from(!shelf.is_empty());
        shelf.push(framed);
    }
    lines.extend(side_by_side(&shelf));
    lines
}

fn frame(title: &str, body: &[String], width: usize) -> Vec<String> {
    let title = super::text::cut(title, width.saturating_sub(6));
    let inner = body.iter().map(|line| columns(line)).max().unwrap_or(0).max(columns(&title) + 1);
    let mut lines = vec![format!("┌ {title} {}┐", "─".repeat(inner - columns(&title)))];
    lines.extend(body.iter().map(|line| format!("│ {} │", left(line, inner))));
    lines.push(format!("└{}┘", "─".repeat(inner + 2)));
    lines
}

fn side_by_side(shelf: &[Vec<String>]) -> Vec<String> {
    let height = shelf.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|row| {
            let mut line = String::new();
            for framed in shelf {
                let width = framed.first().map_or(0, |first| columns(first));
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&left(framed.get(row).map_or("", String::as_str), width));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// Cores as `[0 16]`, CPUs of cores that are not reported or have one thread as bare ids; kinds of cores by name.
fn leaves(topology: &Topology, cpus: &CpuSet, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut class: Option<String> = None;
    for core in topology.one_per_core(cpus).iter() {
        let of_core = topology.class_of(core).map(|class| plain(&class.name));
        if of_core != class {
            words.extend(of_core.as_ref().map(|name| format!("{name}:")));
            class = of_core;
        }
        let threads: Vec<String> =
            topology.siblings(core).intersection(cpus).iter().map(|cpu: CpuId| cpu.to_string()).collect();
        words.push(if threads.len() > 1 { format!("[{}]", threads.join(" ")) } else { threads.concat() });
    }
    // A square shelf reads better than one long line.
    let longest = words.iter().map(|word| columns(word) + 1).max().unwrap_or(4);
    let most = (longest * 8).max(24).min(width);
    super::text::flow(words.iter().map(String::as_str), " ", most, 0)
}
