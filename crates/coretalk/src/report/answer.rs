//! The answer: what a map shows, in one sentence above it, and what to do with it.

use super::ladder::{Scope, distance_words, kind_words, shared_words};
use super::saved::Saved;
use super::states;
use super::text::{ns, plain, short_ns};
use super::words::VISIBLE_CONTRAST;
use crate::RunReport;
use crate::blocks::Block;
use coretalk_model::infer::levels_changed;
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{ClassPair, OfRelation, by_relation, class_pairs, contrasts, overall};
use coretalk_model::{CpuId, CpuSet, Level, Relation, Topology};

/// Relations that are named one by one: of more the nearest and the farthest.
const MOST_NAMED: usize = 4;
/// From this ratio of the fastest and the slowest pair of a relation on, one number does not stand for it.
const WIDE_RANGE: f64 = 1.3;

/// What a map of several pairs shows: a sentence, and the numbers in it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The sentence without its doubt.
    said: String,
    /// The numbers, in the order said; none where no number stands for the map.
    pub numbers: Vec<Number>,
    /// Why it should not be trusted.
    pub doubt: Option<&'static str>,
}

/// A number of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub ns: f64,
    /// What it is of: `inside an L3`.
    pub words: String,
}

impl Answer {
    /// The sentence.
    pub fn sentence(&self) -> String {
        self.doubt.iter().fold(self.said.clone(), |said, doubt| format!("{said} · ! {doubt}"))
    }

    /// Says a number: the first with its unit.
    fn say(&mut self, number: Number) {
        let (comma, unit) = if self.said.is_empty() { ("", " ns") } else { (", ", "") };
        self.said.push_str(&format!("{comma}{}{unit} {}", short_ns(number.ns), number.words));
        self.numbers.push(number);
    }

    /// Says something about the last number.
    fn add(&mut self, words: &str) {
        self.said.push_str(words);
        self.numbers.iter_mut().last().into_iter().for_each(|number| number.words.push_str(words));
    }
}

/// What a map of several pairs shows; `None` where it has no value, or is of no latency.
pub(super) fn answer(report: &RunReport, map: &LatencyMap) -> Option<Answer> {
    if !map.protocol.is_latency() {
        return None;
    }
    let classes = class_pairs(map, &report.topology);
    let answer = match classes.is_empty() {
        true => by_distance(map, &report.topology),
        false => by_kinds(&classes, &report.topology),
    };
    if let Some(watch) = report.watch().filter(|watch| levels_changed(watch)) {
        // Each cell is the most frequent level of its pair.
        let usual = match answer.numbers[..] {
            [_] if all_alike(map) => format!("Usually {}", answer.said),
            _ => "No single number".to_owned(),
        };
        let who = watch.pair.map_or(String::new(), |[a, b]| format!("CPUs {a} and {b}: "));
        let said = format!("{usual}. {who}{}", states::levels(watch, "")?);
        // The other levels are the doubt.
        return Some(Answer { said, ..Answer::default() });
    }
    let doubt = is_in_doubt(map).then_some("most pairs are doubtful");
    (!answer.said.is_empty()).then_some(Answer { doubt, ..answer })
}

/// What a map of several pairs shows, in one sentence.
pub(super) fn sentence(report: &RunReport, map: &LatencyMap) -> Option<String> {
    answer(report, map).map(|answer| answer.sentence())
}

/// Whether one number stands for every pair.
fn all_alike(map: &LatencyMap) -> bool {
    let all = overall(map);
    all.min.zip(all.max).is_some_and(|(min, max)| max.ns / min.ns < WIDE_RANGE)
}

/// Whether more pairs than not cannot be trusted.
fn is_in_doubt(map: &LatencyMap) -> bool {
    let all = overall(map);
    2 * all.doubtful > all.measured
}

/// `36 ns P–P, 44 P–E, 52 E–E same cluster, 44 E–E other cluster: slower inside a cluster than out of it`.
fn by_kinds(classes: &[ClassPair], topology: &Topology) -> Answer {
    let cores: Vec<&ClassPair> = classes.iter().filter(|of| of.relation != Relation::Smt).collect();
    let alike = |of: &ClassPair| cores.iter().filter(|other| other.classes == of.classes).collect::<Vec<_>>();
    let in_cluster = |of: &&&ClassPair| of.relation == Relation::Cluster;
    let mut answer = Answer::default();
    for of in &cores {
        let alike = alike(of);
        let shared =
            shared_words(of.relation, alike.iter().any(|of| of.relation == Relation::Cluster), topology);
        let shared = if alike.len() > 1 { format!(" {shared}") } else { String::new() };
        answer.say(Number { ns: of.median_ns, words: kind_words(&of.classes) + &shared });
    }
    let slower_inside = cores.iter().filter(in_cluster).any(|inside| {
        alike(inside).iter().any(|of| !in_cluster(of) && inside.median_ns > VISIBLE_CONTRAST * of.median_ns)
    });
    if slower_inside {
        answer.add(": slower inside a cluster than out of it");
    }
    answer
}

/// `18 ns inside an L3, 86 across (4.7 ×), 7.5 between the threads of a core`.
fn by_distance(map: &LatencyMap, topology: &Topology) -> Answer {
    let rows = by_relation(map, topology);
    let siblings = rows.iter().find(|row| row.relation == Relation::Smt);
    let apart: Vec<&OfRelation> =
        rows.iter().filter(|row| !matches!(row.relation, Relation::SameCpu | Relation::Smt)).collect();
    let medians = || apart.iter().map(|row| row.median_ns);
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let mut answer = Answer::default();
    match apart[..] {
        [] => {}
        [one] => one_level(&mut answer, one, map, topology),
        [first, ..] if most / least < VISIBLE_CONTRAST => {
            let words = format!("{}, near or far", all_pairs(map, topology));
            answer.say(Number { ns: first.median_ns, words });
        }
        _ => levels(&mut answer, &apart, topology),
    }
    if let Some(row) = siblings {
        answer.say(Number { ns: row.median_ns, words: "between the threads of a core".to_owned() });
    }
    answer
}

/// The pairs that a value of all pairs is of: those of the machine only where every pair of it has a value.
fn all_pairs(map: &LatencyMap, topology: &Topology) -> &'static str {
    match (is_whole(map, topology), topology.level(Level::Core).is_empty()) {
        (false, _) => "between these CPUs",
        (true, true) => "between any two CPUs",
        (true, false) => "between any two cores",
    }
}

/// Whether every pair of the machine has a value.
fn is_whole(map: &LatencyMap, topology: &Topology) -> bool {
    let cpus = topology.cpus().len() as u64;
    map.cells.len() as u64 == cpus && overall(map).measured == cpus * (cpus - 1) / 2
}

fn one_level(answer: &mut Answer, row: &OfRelation, map: &LatencyMap, topology: &Topology) {
    let [low, high] = row.range_ns;
    let pairs = match row.relation {
        relation if relation != Relation::Machine && !is_whole(map, topology) => {
            distance_words(relation, topology)
        }
        _ => all_pairs(map, topology).to_owned(),
    };
    if high / low < WIDE_RANGE {
        return answer.say(Number { ns: row.median_ns, words: pairs });
    }
    let [nearest, median, farthest] = [low, row.median_ns, high].map(short_ns);
    answer.said = format!("{nearest} to {farthest} ns {pairs}, median {median}");
    let median = format!("median {pairs}");
    let numbers = [(low, "fastest pair"), (row.median_ns, median.as_str()), (high, "slowest pair")];
    answer.numbers.extend(numbers.map(|(ns, words)| Number { ns, words: words.to_owned() }));
}

fn levels(answer: &mut Answer, rows: &[&OfRelation], topology: &Topology) {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let named = if rows.len() > MOST_NAMED { vec![first, last] } else { rows.to_vec() };
    let nearest = Scope::of(first.relation, topology);
    let words = |row: &OfRelation| match Scope::of(row.relation, topology) {
        // A cache has one name for one and several.
        Scope::Across(level @ (Level::L2 | Level::L3))
            if named.len() == 2 && nearest == Scope::Inside(level, None) =>
        {
            "across".to_owned()
        }
        scope => scope.place(),
    };
    for row in &named {
        answer.say(Number { ns: row.median_ns, words: words(row) });
    }
    answer.add(&format!(" ({:.1} ×)", last.median_ns / first.median_ns));
    if last.median_ns * VISIBLE_CONTRAST <= first.median_ns {
        answer.add(&format!(": slower {} than out of it", nearest.place()));
    }
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
    let classes = class_pairs(map, topology);
    let where_to = if moved {
        elsewhere(report)
    } else if is_in_doubt(map) {
        None
    } else if !classes.is_empty() {
        nearest_kind(&classes, map, topology)
    } else {
        near.map(|near| format!("taskset -c {near} COMMAND")).or_else(|| anywhere(map, topology))
    };
    let bound = where_to.map(|where_to| format!("threads that talk to each other: {where_to}"));
    let cpus = map.cells.cpus().len() as u64;
    // An advice asks for as many CPUs, and for values of half of the pairs.
    let is_enough = cpus >= 4 && 4 * overall(map).measured >= cpus * (cpus - 1);
    let advice = saved.name().filter(|_| is_enough && !moved);
    let advice =
        advice.map(|id| format!("where 4 threads should run: coretalk advise -n 4 --from {}", plain(id)));
    let parts: Vec<String> = bound.into_iter().chain(advice).collect();
    (!parts.is_empty()).then_some(Block::Parts(parts))
}

/// A guest whose host moves it has no CPUs that stay near each other.
fn elsewhere(report: &RunReport) -> Option<String> {
    report.environment.hypervisor.as_ref()?;
    let worst = states::planned_ns(report.watch()?)?;
    Some(format!("if {} ns is too slow, ask for dedicated cores or another host", ns(worst)))
}

/// The kind of core of a hybrid whose cores are visibly nearer to each other than any other two are.
fn nearest_kind(classes: &[ClassPair], map: &LatencyMap, topology: &Topology) -> Option<String> {
    let cores = || classes.iter().filter(|of| of.relation != Relation::Smt);
    let nearest = cores().min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))?;
    let [kind, other] = &nearest.classes;
    let slowest_inside = cores().filter(|of| of.classes == nearest.classes).map(|of| of.median_ns);
    let fastest_outside = cores().filter(|of| of.classes != nearest.classes).map(|of| of.median_ns);
    let inside = slowest_inside.fold(0.0, f64::max);
    if kind != other || fastest_outside.fold(f64::INFINITY, f64::min) < VISIBLE_CONTRAST * inside {
        return None;
    }
    let is_of_kind = |cpu: &CpuId| topology.class_of(*cpu).is_some_and(|class| class.name == *kind);
    let cpus: CpuSet = map.cells.cpus().iter().copied().filter(is_of_kind).collect();
    Some(format!("the {kind} cores, taskset -c {cpus} COMMAND"))
}

/// Where all cores of a machine are about as near, none are better.
fn anywhere(map: &LatencyMap, topology: &Topology) -> Option<String> {
    let mut apart = by_relation(map, topology);
    apart.retain(|row| !matches!(row.relation, Relation::SameCpu | Relation::Smt));
    let low = apart.iter().map(|row| row.range_ns[0]).fold(f64::INFINITY, f64::min);
    let high = apart.iter().map(|row| row.range_ns[1]).fold(0.0, f64::max);
    (is_whole(map, topology) && map.cells.cpus().len() > 2 && high / low < WIDE_RANGE)
        .then(|| "any cores (all are about equally close)".to_owned())
}
