//! The answer: what a map shows ([`MapFinding`]) as one sentence, and the recommendation that follows from it.

use super::fmt;
use super::ladder::kind_words;
use super::saved::Saved;
use super::states;

use crate::blocks::Block;
use crate::blocks::value::{
    Arg, DisplayUnit, DisplayValue, MapSource, Number, Operation, PlainText, Sentence, Source, Statistic,
    pointer,
};
use coretalk_model::infer::levels_changed;
use coretalk_model::latency::finding::{MapFinding, MapShape, MovingLevels, PairGroup, TailFinding, is_flat};
use coretalk_model::latency::summary::{ClassPair, VISIBLE_CONTRAST, class_pairs, contrasts, overall};
use coretalk_model::latency::{LatencyMap, TailSeries};
use coretalk_model::quantity::Unit;
use coretalk_model::run::RunReport;
use coretalk_model::{CpuId, CpuSet, Level, Relation, Scope, Topology};

#[derive(Debug)]
pub(super) struct Answer {
    pub sentence: Sentence,
    /// The numbers in the order of the sentence; empty if no number represents the map.
    pub numbers: Vec<KeyNumber>,
    pub doubt: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeyNumber {
    pub ns: f64,
    pub words: String,
}

/// What a map of several pairs shows; `None` for a map without values or without latencies.
pub(super) fn answer(report: &RunReport, map: &LatencyMap) -> Option<Answer> {
    let finding = MapFinding::find(map, report.watch(), &report.topology)?;
    let words = Words { kernel: map.kernel.to_string(), finding: &finding, topology: &report.topology };
    let (groups, numbers) = words.groups();
    if let Some(levels) = &finding.levels {
        // Each cell holds the most frequent level of its pair.
        let usual = match numbers[..] {
            [_] if finding.is_uniform => Sentence::new("Usually {groups}").with("groups", groups),
            _ => Sentence::new("No single number"),
        };
        let pair = levels.pair.map_or_else(
            || Sentence::new(""),
            |[a, b]| Sentence::new("CPUs {a} and {b}: ").with("a", a).with("b", b),
        );
        let sentence = Sentence::new("{usual}. {pair}{levels}")
            .with("usual", usual)
            .with("pair", pair)
            .with("levels", states::levels(levels, None));
        // The other levels are the doubt, which the sentence already states.
        return Some(Answer { sentence, numbers: Vec::new(), doubt: None });
    }
    let doubt = finding.is_doubtful.then_some("most pairs are doubtful");
    let sentence = match doubt {
        Some(doubt) => Sentence::new("{groups} · ! {doubt}").with("groups", groups).with("doubt", doubt),
        None => groups,
    };
    Some(Answer { sentence, numbers, doubt })
}

pub(super) fn sentence(report: &RunReport, map: &LatencyMap) -> Option<Sentence> {
    answer(report, map).map(|answer| answer.sentence)
}

pub(super) fn tail(tails: &[TailSeries]) -> Option<Sentence> {
    let TailFinding { pair, p99_9_ns, events, beyond, slowest_pair, slowest_ns } = TailFinding::find(tails)?;
    // Each pair has two series: one of round trips and one at a rate.
    let field = |pair, key| {
        let at = tails.iter().position(|tail| tail.placement == pair).unwrap_or(tails.len());
        Source::Field(pointer!("/series/{}/{key}", 2 * at))
    };
    let time = |ns, pair, key| DisplayValue::bare(Number::Point(ns), field(pair, key)).in_unit(Unit::Ns);
    let count = |count, source| DisplayValue::bare(Number::Count(count), source).in_unit(Unit::Number);
    let all = field(pair, "count");
    let thousands = Operation::Ratio.on([all.clone(), Source::Constant(1e3)]);
    let arrow = |[a, b]: [CpuId; 2]| Sentence::new("CPUs {a} → {b}").with("a", a).with("b", b);
    Some(
        Sentence::new(
            "Tail, net of the clock: up to {p99_9} on {pair} but for {beyond} of {events} hops (0.1 %), at most \
             {slowest} ({slowest_pair})",
        )
        .with("p99_9", time(p99_9_ns, pair, "values/net_p99_9"))
        .with("pair", arrow(pair))
        .with("beyond", count(beyond, Operation::Whole.on([thousands])))
        .with("events", count(events, all))
        .with("slowest", time(slowest_ns, slowest_pair, "values/net_max"))
        .with("slowest_pair", arrow(slowest_pair)),
    )
}

struct Words<'a> {
    kernel: String,
    finding: &'a MapFinding,
    topology: &'a Topology,
}

impl Words<'_> {
    /// For example `18 ns inside an L3, 86 across (4.7 ×), 7.5 between the threads of a core`, or `36 ns P–P, 44 P–E,
    /// 52 E–E same cluster, 44 E–E other cluster: slower inside a cluster than out of it`.
    fn groups(&self) -> (Sentence, Vec<KeyNumber>) {
        let MapFinding { shape, groups, siblings, .. } = self.finding;
        let mut numbers = Vec::new();
        let mut parts = Vec::new();
        let mut add = |group: &PairGroup, words: Sentence| {
            let value = self.value(group, Statistic::Percentile(0.5), group.median_ns);
            numbers.push(KeyNumber { ns: group.median_ns, words: fmt::sentence(&words) });
            let part = match parts.is_empty() {
                true => Sentence::new("{value} ns {words}"),
                false => Sentence::new("{value} {words}"),
            };
            parts.push(part.with("value", value).with("words", words));
        };
        match (shape, &groups[..]) {
            (MapShape::Spread, [one]) => return (self.spread(one), self.spread_numbers(one)),
            _ => {
                for (index, group) in groups.iter().enumerate() {
                    let mut words = self.words(group);
                    if index + 1 == groups.len() {
                        words = self.with_comparison(words);
                    }
                    add(group, words);
                }
            }
        }
        if let Some(siblings) = siblings {
            add(siblings, Sentence::new("between the threads of a core"));
        }
        (Sentence::new("{parts}").with("parts", Arg::Parts(parts, ", ")), numbers)
    }

    fn words(&self, group: &PairGroup) -> Sentence {
        let MapFinding { shape, groups, .. } = self.finding;
        match (shape, &group.classes) {
            (_, Some(classes)) => {
                let same_kinds = || groups.iter().filter(|other| other.classes.as_ref() == Some(classes));
                let clustered = same_kinds().any(|other| other.relation == Relation::Cluster);
                let kinds = PlainText::untrusted(&kind_words(classes));
                match same_kinds().count() {
                    1 => Sentence::new("{kinds}").with("kinds", kinds),
                    // If these kinds of cores have clusters, pairs that share only an L3 are in different clusters.
                    _ if clustered && group.relation == Relation::L3 => {
                        Sentence::new("{kinds} other cluster").with("kinds", kinds)
                    }
                    _ => Sentence::new("{kinds} {shared}")
                        .with("kinds", kinds)
                        .with("shared", Arg::Shared(Scope::from_relation(group.relation, self.topology))),
                }
            }
            (MapShape::NearAndFarAlike, None) => {
                Sentence::new("{pairs}, near or far").with("pairs", self.all_pairs())
            }
            (MapShape::Levels { .. }, None) => {
                let nearest = Scope::from_relation(groups[0].relation, self.topology);
                match Scope::from_relation(group.relation, self.topology) {
                    // The name of a cache is the same in singular and plural.
                    Scope::Across(level @ (Level::L2 | Level::L3))
                        if groups.len() == 2 && nearest == Scope::Inside(level, None) =>
                    {
                        Sentence::new("across")
                    }
                    scope => place(scope),
                }
            }
            _ => self.pairs_of(group),
        }
    }

    fn pairs_of(&self, group: &PairGroup) -> Sentence {
        match group.relation {
            relation if relation != Relation::Machine && !self.finding.is_whole => {
                place(Scope::from_relation(relation, self.topology))
            }
            _ => Sentence::new(self.all_pairs()),
        }
    }

    /// Describes the pairs of all groups; names the whole machine only if every pair has a value.
    fn all_pairs(&self) -> &'static str {
        match (self.finding.is_whole, self.topology.level(Level::Core).is_empty()) {
            (false, _) => "between these CPUs",
            (true, true) => "between any two CPUs",
            (true, false) => "between any two cores",
        }
    }

    fn with_comparison(&self, words: Sentence) -> Sentence {
        let MapFinding { shape, groups, .. } = self.finding;
        match (shape, self.finding.ratio()) {
            (MapShape::Kinds { slower_inside: true }, _) => {
                Sentence::new("{words}: slower inside a cluster than out of it").with("words", words)
            }
            (MapShape::Levels { slower_inside }, Some(ratio)) => {
                let median_source = |group| self.source(group, Statistic::Percentile(0.5));
                let source = Operation::Ratio
                    .on([median_source(&groups[groups.len() - 1]), median_source(&groups[0])]);
                let unit = DisplayUnit::Own(Unit::Ratio);
                let ratio = DisplayValue { number: Number::Short(ratio), unit, source };
                let compared = match slower_inside {
                    true => Sentence::new("{words} ({ratio}): slower {nearest} than out of it")
                        .with("nearest", place(Scope::from_relation(groups[0].relation, self.topology))),
                    false => Sentence::new("{words} ({ratio})"),
                };
                compared.with("words", words).with("ratio", ratio)
            }
            _ => words,
        }
    }

    fn spread(&self, one: &PairGroup) -> Sentence {
        let [low, high] = one.range_ns;
        Sentence::new("{low} to {high} ns {pairs}, median {median}")
            .with("low", self.value(one, Statistic::Percentile(0.0), low))
            .with("high", self.value(one, Statistic::Percentile(1.0), high))
            .with("pairs", self.pairs_of(one))
            .with("median", self.value(one, Statistic::Percentile(0.5), one.median_ns))
    }

    fn spread_numbers(&self, one: &PairGroup) -> Vec<KeyNumber> {
        let [low, high] = one.range_ns;
        let median = Sentence::new("median {pairs}").with("pairs", self.pairs_of(one));
        let numbers = [
            (low, Sentence::new("fastest pair")),
            (one.median_ns, median),
            (high, Sentence::new("slowest pair")),
        ];
        numbers.map(|(ns, words)| KeyNumber { ns, words: fmt::sentence(&words) }).to_vec()
    }

    /// A number of a group, without the unit, which the first number of the sentence states.
    fn value(&self, group: &PairGroup, statistic: Statistic, ns: f64) -> DisplayValue {
        let source = self.source(group, statistic);
        DisplayValue { number: Number::Short(ns), unit: DisplayUnit::OfColumn(1.0), source }
    }

    fn source(&self, group: &PairGroup, statistic: Statistic) -> Source {
        let PairGroup { relation, classes, .. } = group;
        Source::Pairs {
            map: MapSource::Kernel(self.kernel.clone()),
            relation: *relation,
            classes: classes.clone(),
            statistic,
        }
    }
}

fn place(scope: Scope) -> Sentence {
    Sentence::new("{pairs}").with("pairs", Arg::Place(scope))
}

/// The recommended CPUs for communicating threads according to this map, and the command for more detail.
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
        // CPUs in a group of an outer level may be far apart unless the group is one domain.
        let is_near = Some(contrast.level) == innermost
            || topology.level(contrast.level).iter().any(|domain| domain.cpus == *group);
        (is_near && contrast.across_ns / contrast.inside_ns >= VISIBLE_CONTRAST).then(|| group.clone())
    });
    let classes = class_pairs(map, topology);
    let where_to = if moved {
        advice_for_moving_guest(report)
    } else if MapFinding::find(map, None, topology).is_some_and(|found| found.is_doubtful) {
        None
    } else if !classes.is_empty() {
        nearest_kind(&classes, map, topology)
    } else {
        near.map(|near| Sentence::new("taskset -c {near} COMMAND").with("near", near))
            .or_else(|| any_cores(map, topology))
    };
    let bound =
        where_to.map(|where_to| Sentence::new("threads that talk to each other: {to}").with("to", where_to));
    let cpus = map.cells.cpus().len() as u64;
    // `advise` needs at least four CPUs and values for half of the pairs.
    let is_enough = cpus >= 4 && 4 * overall(map).measured >= cpus * (cpus - 1);
    let advice = saved.name().filter(|_| is_enough && !moved);
    let advice = advice.map(|id| {
        Sentence::new("where 4 threads should run: coretalk advise -n 4 --from {id}").with_name("id", id)
    });
    let parts: Vec<Sentence> = bound.into_iter().chain(advice).collect();
    (!parts.is_empty()).then_some(Block::Parts(parts))
}

/// Advice for a guest whose host migrates its CPUs: no CPUs stay near each other.
fn advice_for_moving_guest(report: &RunReport) -> Option<Sentence> {
    report.environment.hypervisor.as_ref()?;
    let worst = MovingLevels::from_watch(report.watch()?)?.planned.point;
    let worst = DisplayValue::bare(
        Number::Point(worst),
        Operation::Most.on([Source::Field(states::LEVELS.to_owned())]),
    );
    let advice = Sentence::new("if {worst} ns is too slow, ask for dedicated cores or another host");
    Some(advice.with("worst", worst))
}

/// The kind of cores of a hybrid machine that are clearly nearer to each other than any other pair of cores.
fn nearest_kind(classes: &[ClassPair], map: &LatencyMap, topology: &Topology) -> Option<Sentence> {
    let cores = || classes.iter().filter(|pair| pair.relation != Relation::Smt);
    let nearest = cores().min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))?;
    let [kind, other] = &nearest.classes;
    let slowest_inside = cores().filter(|pair| pair.classes == nearest.classes).map(|pair| pair.median_ns);
    let fastest_outside = cores().filter(|pair| pair.classes != nearest.classes).map(|pair| pair.median_ns);
    let inside = slowest_inside.fold(0.0, f64::max);
    if kind != other || fastest_outside.fold(f64::INFINITY, f64::min) < VISIBLE_CONTRAST * inside {
        return None;
    }
    let is_of_kind = |cpu: &CpuId| topology.class_of(*cpu).is_some_and(|class| class.name == *kind);
    let cpus: CpuSet = map.cells.cpus().iter().copied().filter(is_of_kind).collect();
    let advice = Sentence::new("the {kind} cores, taskset -c {cpus} COMMAND");
    Some(advice.with_name("kind", kind).with("cpus", cpus))
}

/// The advice to use any cores; `None` unless all cores of the machine are about equally near.
fn any_cores(map: &LatencyMap, topology: &Topology) -> Option<Sentence> {
    let is_whole = MapFinding::find(map, None, topology)?.is_whole;
    (is_whole && map.cells.cpus().len() > 2 && is_flat(map, topology))
        .then(|| Sentence::new("any cores (all are about equally close)"))
}
