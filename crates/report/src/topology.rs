//! The screen of `topology`: nested boxes of the reported structure. Levels that are not reported have no boxes.

use super::fmt::digits::binary_bytes;
use super::lists::{cpus, enumerated, lists};
use super::scope::level_words;
use super::text::{columns, left, plain};
use super::words::size;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::infer::OtherCpus;
use coretalk_model::quantity::Unit;
use coretalk_model::topology::{CacheSize, MemoryNode, Same};
use coretalk_model::{CpuId, CpuSet, Domain, Level, Topology};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The reported structure as a text drawing and in words.
pub fn blocks(topology: &Topology) -> Vec<Block<'_>> {
    let size = Sentence::new("{size}, as the system reports").with("size", size(topology));
    let mut blocks = vec![
        Block::Headline(size),
        Block::sketch(|style| boxes(topology, topology.cpus(), &boxed(topology), style.width)),
        Block::Gap,
    ];
    blocks.extend(in_words(topology));
    blocks
}

/// States that the reported and the measured CPUs differ.
pub fn other_cpus(others: &OtherCpus) -> Block<'static> {
    let sentence = Sentence::new(
        "the report is of {reported}, the latencies are of {measured}: the sets of CPUs differ, so the two are not \
         compared",
    );
    Block::Doubt(sentence.with("reported", cpus(&others.reported)).with("measured", cpus(&others.measured)))
}

const MAX_GROUPS: usize = 16;

/// The groups of each reported level, and other reported facts.
pub fn in_words(topology: &Topology) -> Vec<Block<'static>> {
    let rows = levels(topology).into_iter().map(|level| {
        let groups: Vec<CpuSet> = topology.level(level).iter().map(|domain| domain.cpus.clone()).collect();
        let number = Number::Count(groups.len() as u64);
        let listed = Sentence::new("{number} {groups}")
            .with("number", DisplayValue::bare(number, Source::of_level(topology, level)))
            .with("groups", lists(&groups, MAX_GROUPS));
        let name = Sentence::new("{level}{space}").with("level", level.name());
        [name.with("space", &"        "[level.name().len()..]), listed].map(Cell::from)
    });
    let table = Table::new(["", ""].map(Column::words)).with(rows);
    [Block::Table(table)].into_iter().chain(remarks(topology).into_iter().map(Block::Prose)).collect()
}

fn remarks(topology: &Topology) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = crossing(topology).into_iter().collect();
    let unclassified = topology.unclassified();
    if !unclassified.is_empty() {
        sentences.push(Sentence::new("Kind of core not reported: {cpus}.").with("cpus", cpus(&unclassified)));
    }
    if let Some(other_facts) = topology.other_facts() {
        let caches: Vec<Sentence> = other_facts.caches.iter().enumerate().map(cache_words).collect();
        let sentence = Sentence::new("Caches: {caches}.");
        sentences
            .extend((!caches.is_empty()).then(|| sentence.with("caches", Sentence::joined(caches, ", "))));
        sentences
            .extend(other_facts.memory_nodes.iter().enumerate().map(|(at, node)| memory_words(at, node)));
        let same = other_facts.same.iter().map(|(level, same)| same_words(topology, *level, *same));
        let sentence = Sentence::new("Reported, but no separate level: {levels}.");
        sentences.extend(
            (!other_facts.same.is_empty()).then(|| sentence.with("levels", Sentence::joined(same, "; "))),
        );
    }
    let missing = topology.unreported().unwrap_or_default();
    if !missing.is_empty() {
        let names = missing.into_iter().map(|level| Sentence::from(level_words(level, 2)));
        sentences
            .push(Sentence::new("Not reported: {levels}.").with("levels", Sentence::joined(names, ", ")));
    }
    sentences
}

fn crossing(topology: &Topology) -> Option<Sentence> {
    let all = topology.crossing();
    let [inner, outer] = all.first()?.map(|group| {
        let words = Sentence::new("{level}{number} ({cpus})").with("level", level_words(group.level, 1));
        let number = group.os_id.map_or(Sentence::new(""), |id| {
            let number = DisplayValue::bare(Number::Count(id.into()), Source::Unrecorded);
            Sentence::new(" {number}").with("number", number)
        });
        words.with("number", number).with("cpus", cpus(&group.cpus))
    });
    let more = all.len() as u64 - 1;
    let length = Source::Field("/topology/reported/crossing".to_owned());
    let more = DisplayValue::bare(Number::Count(more), length.unlisted(1));
    let template = match all.len() {
        1 => "No box: {inner} and {outer} share CPUs and neither contains the other.",
        2 => {
            "No box: {inner} and {outer} share CPUs and neither contains the other; so does {more} more pair of groups."
        }
        _ => {
            "No box: {inner} and {outer} share CPUs and neither contains the other; so do {more} more pairs of groups."
        }
    };
    let sentence = Sentence::new(template).with("inner", inner).with("outer", outer);
    Some(if all.len() > 1 { sentence.with("more", more) } else { sentence })
}

fn memory_words(at: usize, node: &MemoryNode) -> Sentence {
    let field = |path: &str, number: u64| {
        DisplayValue::field(pointer!("/topology/reported/memory_nodes/{at}/{path}"), Number::Count(number))
    };
    let distances = node.distances.iter().enumerate().map(|(index, &(from, distance))| {
        let field = |key, number: u32| field(&format!("distances/{index}/{key}"), number.into());
        Sentence::new("{distance} from node {node}")
            .with("distance", field("distance", distance))
            .with("node", field("from", from))
    });
    let distances = match node.distances.is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(", at distance {all}").with("all", enumerated(distances.collect())),
    };
    let sentence = Sentence::new(match node.memory_bytes {
        Some(0) => "Node {node} has neither CPUs of its own nor memory.",
        Some(_) => "Node {node} has memory and no CPUs of its own: {bytes}{distances}.",
        None => "Node {node} has no CPUs of its own: memory of unknown size{distances}.",
    });
    let bytes = node.memory_bytes.map(|bytes| field("memory_bytes", bytes).in_unit(Unit::Bytes));
    let sentence = sentence.with("node", field("node", node.number.into())).with("distances", distances);
    bytes.into_iter().fold(sentence, |sentence, bytes| sentence.with("bytes", bytes))
}

fn cache_words((at, cache): (usize, &CacheSize)) -> Sentence {
    let field = |path: &str, number: u64| {
        DisplayValue::field(pointer!("/topology/reported/caches/{at}/{path}"), Number::Count(number))
    };
    Sentence::new("{number} × {name} of {size}")
        .with("number", field("groups", cache.groups.len() as u64))
        .with_name("name", &cache.name)
        .with("size", DisplayValue { unit: DisplayUnit::BinaryBytes, ..field("bytes", cache.bytes) })
}

fn same_words(topology: &Topology, level: Level, same: Same) -> Sentence {
    match same {
        Same::Machine => Sentence::new("one {level} contains all CPUs").with("level", level_words(level, 1)),
        Same::Level(other) => {
            let number = topology.level(other).len();
            Sentence::new(if number == 1 {
                "the {level} is the {other}"
            } else {
                "the {level} are the {other}"
            })
            .with("level", level_words(level, number))
            .with("other", level_words(other, number))
        }
        Same::Several => {
            Sentence::new("the {level} add no further groups").with("level", level_words(level, 2))
        }
    }
}

fn levels(topology: &Topology) -> Vec<Level> {
    topology.levels().into_iter().rev().filter(|&level| !topology.level(level).is_empty()).collect()
}

/// The groups that have a box, outermost first. Groups that cross others and cores without subdivision have no box.
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
    // The sort is stable, so groups of the same CPUs stay in the order of their levels.
    groups.sort_by_cached_key(|group| Reverse(group.cpus.len()));
    groups
}

fn boxes(topology: &Topology, cpus: &CpuSet, groups: &[&Domain], width: usize) -> Vec<String> {
    let mut tops: Vec<(Vec<&Domain>, Vec<&Domain>)> = Vec::new();
    // The box of each CPU. Groups nest, so one CPU determines the box of its group.
    let mut box_of_cpu: HashMap<CpuId, usize> = HashMap::new();
    for &group in groups {
        match group.cpus.first().and_then(|cpu| box_of_cpu.get(&cpu)).map(|&top| &mut tops[top]) {
            Some((top, _)) if top[0].cpus == group.cpus => top.push(group),
            Some((_, inner)) => inner.push(group),
            None => {
                box_of_cpu.extend(group.cpus.iter().map(|cpu| (cpu, tops.len())));
                tops.push((vec![group], Vec::new()));
            }
        }
    }
    let ungrouped: CpuSet = cpus.iter().filter(|cpu| !box_of_cpu.contains_key(cpu)).collect();
    tops.sort_by_key(|(top, _)| top[0].cpus.first());
    let draw = |(top, inner): &(Vec<&Domain>, Vec<&Domain>)| {
        let names: Vec<String> = top.iter().map(|group| box_name(topology, group)).collect();
        let members = &top[0].cpus;
        let body = boxes(topology, members, inner, width.saturating_sub(4).max(12));
        (format!("{} · {members}", names.join(" = ")), body)
    };
    let boxes = match tops.as_slice() {
        [first, second, between @ .., last] if tops.len() > max_boxes(topology) => {
            summary(&[first, second, last].map(draw), between.len(), width)
        }
        tops => shelves(&tops.iter().map(draw).collect::<Vec<_>>(), width),
    };
    let outside = if ungrouped.is_empty() { Vec::new() } else { leaves(topology, &ungrouped, width) };
    // The lowest id decides whether CPUs in no group come first.
    if ungrouped.first() < cpus.difference(&ungrouped).first() {
        [outside, boxes].concat()
    } else {
        [boxes, outside].concat()
    }
}

fn box_name(topology: &Topology, domain: &Domain) -> String {
    let is_cache = matches!(domain.level, Level::L2 | Level::Cluster | Level::L3);
    let matches_cpus = |cache: &&CacheSize| {
        cache.groups.iter().any(|cpus| cpus.intersection(topology.cpus()) == domain.cpus)
    };
    let cache =
        topology.other_facts().and_then(|other_facts| other_facts.caches.iter().rev().find(matches_cpus));
    let size = cache.filter(|_| is_cache).map(|cache| format!("({})", binary_bytes(cache.bytes)));
    let name = [level_words(domain.level, 1).to_owned()].into_iter();
    name.chain(domain.os_id.map(|id| id.to_string())).chain(size).collect::<Vec<_>>().join(" ")
}

/// Maximum number of boxes inside a box. On large machines, three boxes show the pattern.
fn max_boxes(topology: &Topology) -> usize {
    if topology.cpus().len() > 256 { 3 } else { 16 }
}

fn summary(shown: &[(String, Vec<String>); 3], between: usize, width: usize) -> Vec<String> {
    let mut lines = shelves(&shown[..2], width);
    lines.push(super::text::cut(&format!("… {between} more of them …"), width));
    lines.extend(shelves(&shown[2..], width));
    lines
}

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

/// Cores as `[0 16]`; CPUs of single-threaded or unreported cores as ids alone; kinds of cores by name.
fn leaves(topology: &Topology, cpus: &CpuSet, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut class: Option<String> = None;
    for core in topology.one_per_core(cpus).iter() {
        let core_class = topology.class_of(core).map(|class| plain(&class.name));
        if core_class != class {
            words.extend(core_class.as_ref().map(|name| format!("{name}:")));
            class = core_class;
        }
        let threads: Vec<String> =
            topology.siblings(core).intersection(cpus).iter().map(|cpu: CpuId| cpu.to_string()).collect();
        words.push(if threads.len() > 1 { format!("[{}]", threads.join(" ")) } else { threads.concat() });
    }
    let longest = words.iter().map(|word| columns(word) + 1).max().unwrap_or(4);
    let line_width = (longest * 8).max(24).min(width);
    super::text::flow(words.iter().map(String::as_str), " ", line_width, 0)
}
