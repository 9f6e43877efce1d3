//! The answer: what a map shows, in one sentence above it, and what to do with it.

use super::ladder::{distance_words, kind_words, relation_words, shared_words};
use super::saved::Saved;
use super::states;
use super::text::{plain, short_ns};
use super::words::VISIBLE_CONTRAST;
use crate::RunReport;
use crate::blocks::Block;
use coretalk_model::infer::levels_changed;
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{ClassPair, OfRelation, by_relation, class_pairs, contrasts, overall};
use coretalk_model::{CpuSet, Level, Relation, Topology};

/// Relations that are named one by one: of more the nearest and the farthest.
const MOST_NAMED: usize = 4;
/// From this ratio of the fastest and the slowest pair of a relation on, one number does not stand for it.
const WIDE_RANGE: f64 = 1.3;

/// What a map of several pairs shows; `None` where it has no value, or is of no latency.
pub(super) fn sentence(report: &RunReport, map: &LatencyMap) -> Option<String> {
    if !map.protocol.is_latency() {
        return None;
    }
    if let Some(watch) = report.watch().filter(|watch| levels_changed(watch)) {
        let who = watch.pair.map_or(String::new(), |[a, b]| format!("CPUs {a} and {b}: "));
        return states::levels(watch).map(|levels| format!("No single number. {who}{levels}"));
    }
    let classes = class_pairs(map, &report.topology);
    let said = match classes.is_empty() {
        true => by_distance(map, &report.topology),
        false => by_kinds(&classes, &report.topology),
    };
    let doubt = if is_in_doubt(map) { " · ! most pairs are in doubt" } else { "" };
    said.map(|said| said + doubt)
}

/// Whether more pairs than not cannot be trusted.
fn is_in_doubt(map: &LatencyMap) -> bool {
    let all = overall(map);
    2 * all.doubtful > all.measured
}

/// `36 ns P–P, 44 P–E, 52 E–E same cluster, 44 E–E other cluster: slower inside a cluster than out of it`.
fn by_kinds(classes: &[ClassPair], topology: &Topology) -> Option<String> {
    let cores: Vec<&ClassPair> = classes.iter().filter(|of| of.relation != Relation::Smt).collect();
    let alike = |of: &ClassPair| cores.iter().filter(|other| other.classes == of.classes).collect::<Vec<_>>();
    let in_cluster = |of: &&&ClassPair| of.relation == Relation::Cluster;
    let part = |(at, of): (usize, &&ClassPair)| {
        let (unit, alike) = (if at == 0 { " ns" } else { "" }, alike(of));
        let shared =
            shared_words(of.relation, alike.iter().any(|of| of.relation == Relation::Cluster), topology);
        let shared = if alike.len() > 1 { format!(" {shared}") } else { String::new() };
        format!("{}{unit} {}{shared}", short_ns(of.median_ns), kind_words(&of.classes))
    };
    let parts: Vec<String> = cores.iter().enumerate().map(part).collect();
    let slower_inside = cores.iter().filter(in_cluster).any(|inside| {
        alike(inside).iter().any(|of| !in_cluster(of) && inside.median_ns > VISIBLE_CONTRAST * of.median_ns)
    });
    let slower = if slower_inside { ": slower inside a cluster than out of it" } else { "" };
    (!parts.is_empty()).then(|| parts.join(", ") + slower)
}

/// `18 ns inside an L3, 86 across (4.7 ×), 7.5 between the threads of a core`.
fn by_distance(map: &LatencyMap, topology: &Topology) -> Option<String> {
    let rows = by_relation(map, topology);
    let siblings = rows.iter().find(|row| row.relation == Relation::Smt);
    let apart: Vec<&OfRelation> =
        rows.iter().filter(|row| !matches!(row.relation, Relation::SameCpu | Relation::Smt)).collect();
    let medians = || apart.iter().map(|row| row.median_ns);
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let mut parts = match apart[..] {
        [] => Vec::new(),
        [one] => vec![one_level(one, map, topology)],
        [first, ..] if most / least < VISIBLE_CONTRAST => {
            vec![format!("{} ns {}, near or far", short_ns(first.median_ns), whom(map, topology))]
        }
        _ => levels(&apart, topology),
    };
    let unit = if parts.is_empty() { " ns" } else { "" };
    parts.extend(
        siblings.map(|row| format!("{}{unit} between the threads of a core", short_ns(row.median_ns))),
    );
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Whom a value of all pairs speaks of: of the machine only where every pair of it has a value.
fn whom(map: &LatencyMap, topology: &Topology) -> &'static str {
    let cpus = topology.cpus().len() as u64;
    let is_whole = map.cells.len() as u64 == cpus && overall(map).measured == cpus * (cpus - 1) / 2;
    match (is_whole, topology.level(Level::Core).is_empty()) {
        (false, _) => "between these CPUs",
        (true, true) => "between any two CPUs",
        (true, false) => "between any two cores",
    }
}

fn one_level(row: &OfRelation, map: &LatencyMap, topology: &Topology) -> String {
    let [low, high] = row.range_ns;
    let whom = match (whom(map, topology), row.relation) {
        (whom @ "between these CPUs", Relation::Machine) => whom.to_owned(),
        ("between these CPUs", relation) => distance_words(relation, topology),
        (whom, _) => whom.to_owned(),
    };
    match high / low < WIDE_RANGE {
        true => format!("{} ns {whom}", short_ns(row.median_ns)),
        false => {
            format!("{} to {} ns {whom}, median {}", short_ns(low), short_ns(high), short_ns(row.median_ns))
        }
    }
}

fn levels(rows: &[&OfRelation], topology: &Topology) -> Vec<String> {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let named = if rows.len() > MOST_NAMED { vec![first, last] } else { rows.to_vec() };
    let inside = relation_words(first.relation, topology);
    let inside = inside.strip_prefix("same ").unwrap_or(&inside);
    let words = |row: &OfRelation| match distance_words(row.relation, topology) {
        words if named.len() == 2 && words.strip_prefix("across ") == Some(inside) => "across".to_owned(),
        words => words,
    };
    let part = |row: &&OfRelation| {
        let value = short_ns(row.median_ns);
        match (row.relation == first.relation, row.relation == last.relation) {
            (true, _) => format!("{value} ns {}", words(row)),
            (_, true) => format!("{value} {} ({:.1} ×)", words(row), row.median_ns / first.median_ns),
            _ => format!("{value} {}", words(row)),
        }
    };
    let mut parts: Vec<String> = named.iter().map(part).collect();
    if let Some(farthest) = parts.last_mut().filter(|_| last.median_ns * VISIBLE_CONTRAST <= first.median_ns)
    {
        farthest.push_str(&format!(": slower inside {} than out of it", one_of(inside)));
    }
    parts
}

/// `an L3`, `a cluster`.
fn one_of(thing: &str) -> String {
    format!("{} {thing}", if thing.starts_with('L') { "an" } else { "a" })
}

/// Where threads that talk should run, as far as this map shows it, and who knows more.
pub(super) fn what_to_do(report: &RunReport, saved: Saved<'_>) -> Option<Block<'static>> {
    let map = report.maps().first().filter(|map| map.protocol.is_latency())?;
    let moved = report.watch().is_some_and(levels_changed);
    let topology = &report.topology;
    let has_cores = |group: &&CpuSet| topology.one_per_core(group).len() > 1;
    let innermost = topology.levels().into_iter().find(|&level| {
        level > Level::Core
            && topology.level(level).len() > 1
            && topology.level(level).iter().any(|domain| has_cores(&&domain.cpus))
    });
    let near = contrasts(map, topology).into_iter().find_map(|contrast| {
        let group = contrast.groups.iter().find(has_cores)?;
        // Some CPUs of what lies further out are far from each other.
        let is_near = Some(contrast.level) == innermost
            || topology.level(contrast.level).iter().any(|domain| domain.cpus == *group);
        (is_near && contrast.across_ns / contrast.inside_ns >= VISIBLE_CONTRAST).then(|| group.clone())
    });
    let near = near.filter(|_| !moved && !is_in_doubt(map) && class_pairs(map, topology).is_empty());
    let bound = near.map(|near| format!("threads that talk to each other: taskset -c {near} COMMAND"));
    let cpus = map.cells.cpus().len() as u64;
    // An advice asks for as many CPUs, and for values of half of the pairs.
    let is_enough = cpus >= 4 && 4 * overall(map).measured >= cpus * (cpus - 1);
    let advice = saved.name().filter(|_| is_enough && !moved);
    let advice =
        advice.map(|id| format!("where 4 threads should live: coretalk advise -n 4 --from {}", plain(id)));
    let parts: Vec<String> = bound.into_iter().chain(advice).collect();
    (!parts.is_empty()).then_some(Block::Parts(parts))
}
