//! The words of [`Why`]: possible reasons why a placement is better, and the structure of a placement.

use crate::blocks::value::{DisplayValue, Number, PlacementNumber, PlainText, Sentence, Source, pointer};
use crate::scope::level_words;
use coretalk_model::place::{Communication, Placement, PlacementReason, UsedGroups, Why};
use coretalk_model::{Level, Topology};

fn number(count: usize, cpus: &Source, number: PlacementNumber) -> DisplayValue {
    let source = Source::Placement { cpus: Box::new(cpus.clone()), number };
    DisplayValue::bare(Number::Count(count as u64), source)
}

fn groups(count: usize, cpus: &Source, level: Level) -> Sentence {
    Sentence::new("{number} {level}")
        .with("number", number(count, cpus, PlacementNumber::Groups(level)))
        .with("level", level_words(level, count))
}

fn cpu_count(count: usize, cpus: &Source) -> Sentence {
    Sentence::pluralized("{number} CPU{s}", number(count, cpus, PlacementNumber::Cpus))
}

pub fn structure(topology: &Topology, index: usize, placement: &Placement) -> Sentence {
    let reported = UsedGroups::new(topology, placement);
    let cpus = Source::Field(pointer!("/comparisons/0/placements/{index}/cpus"));
    let mut parts = vec![cpu_count(reported.cpus, &cpus)];
    // A level with a single group is the same for every placement.
    let several = |level| topology.level(level).len() > 1;
    let counts = [
        (Level::Core, reported.shares_cores().then_some(reported.cores)),
        (Level::L2, reported.shared_l2.filter(|l2| several(Level::L2) && *l2 > 0)),
        (Level::Cluster, reported.clusters.filter(|clusters| several(Level::Cluster) && *clusters > 0)),
        (Level::L3, reported.caches.filter(|_| several(Level::L3))),
        (Level::Node, reported.nodes.filter(|nodes| *nodes > 1)),
        (Level::Package, reported.packages.filter(|packages| *packages > 1)),
    ];
    parts.extend(counts.into_iter().filter_map(|(level, count)| Some(groups(count?, &cpus, level))));
    if !reported.classes.is_empty() {
        let names = reported.classes.iter().map(|name| Sentence::name(name));
        parts.push(Sentence::new("{names} cores").with("names", Sentence::joined(names, " and ")));
    }
    Sentence::joined(parts, ", ")
}

pub struct Sides<'a> {
    pub topology: &'a Topology,
    pub names: [PlainText; 2],
    /// The sources of the lists of CPUs that run work.
    pub cpus: [Source; 2],
}

/// The advantages of the winner over the runner-up. They are "possible" reasons, because no cause is proven.
pub fn reasons(sides: &Sides<'_>, why: &Why) -> Sentence {
    let template = match why {
        Why::Unbound => {
            "The reason is unknown: nothing records where the system runs threads that are not pinned."
        }
        Why::Nothing => "Nothing in the reported structure explains why `{winner}` beats `{next}`.",
        Why::Could(reasons) if reasons.len() == 1 => "A possible reason why `{winner}` wins: {reasons}.",
        Why::Could(_) => "Possible reasons why `{winner}` wins: {reasons}.",
    };
    let reasons = if let Why::Could(reasons) = why { reasons.as_slice() } else { &[] };
    let [winner, next] = sides.names.clone();
    let reasons = reasons.iter().map(|reason| words(sides, reason).with("next", next.clone()));
    let reasons = Sentence::joined(reasons, "; ");
    Sentence::new(template).with("winner", winner).with("next", next.clone()).with("reasons", reasons)
}

const MINE_AND_THEIRS: &str = "it has {mine}, where `{next}` has {theirs}";

fn words(sides: &Sides<'_>, reason: &PlacementReason) -> Sentence {
    let [winner_cpus, next_cpus] = &sides.cpus;
    match *reason {
        PlacementReason::MoreCpus { mine, theirs } => Sentence::new(MINE_AND_THEIRS)
            .with("mine", cpu_count(mine, winner_cpus))
            .with("theirs", number(theirs, next_cpus, PlacementNumber::Cpus)),
        PlacementReason::FewerCpus { mine, several } => {
            let template = match (several, mine) {
                (false, _) => "on {cpus} it moves less from CPU to CPU",
                (true, 1) => "on {cpus} no thread is woken on another CPU, and caches are shared",
                (true, _) => "on {cpus} less data moves between CPUs",
            };
            Sentence::new(template).with("cpus", cpu_count(mine, winner_cpus))
        }
        PlacementReason::Crossings { level, communication, mine, theirs, of } => {
            crossings(sides, level, communication, [mine, theirs, of])
        }
        PlacementReason::Groups { level, mine, theirs } => level_sentence(
            sides,
            "its CPUs are in {mine}, the CPUs of `{next}` in {theirs}",
            level,
            [mine, theirs],
        ),
        PlacementReason::Cores { mine, theirs } => {
            level_sentence(sides, MINE_AND_THEIRS, Level::Core, [mine, theirs])
        }
        PlacementReason::Room { level: Level::Node, mine, theirs } => {
            let template = "it can use the memory of {mine}, where `{next}` can use {theirs}";
            level_sentence(sides, template, Level::Node, [mine, theirs])
        }
        PlacementReason::Room { level, mine, theirs } => {
            level_sentence(sides, MINE_AND_THEIRS, level, [mine, theirs])
        }
        PlacementReason::Faster { kind, mine, theirs } => {
            let name =
                sides.topology.classes().get(kind).map_or_else(String::new, |class| class.name.clone());
            let template = "it has {mine} CPUs of the faster kind {name}, where `{next}` has {theirs}";
            let kind = || PlacementNumber::Class(name.clone());
            Sentence::new(template)
                .with("mine", number(mine, winner_cpus, kind()))
                .with("theirs", part(number(theirs, next_cpus, kind()), theirs, mine))
                .with_name("name", &name)
        }
    }
}

fn level_sentence(
    sides: &Sides<'_>,
    template: &'static str,
    level: Level,
    [mine, theirs]: [usize; 2],
) -> Sentence {
    let [winner_cpus, next_cpus] = &sides.cpus;
    Sentence::new(template)
        .with("mine", groups(mine, winner_cpus, level))
        .with("theirs", number(theirs, next_cpus, PlacementNumber::Groups(level)))
}

/// The number, shown as `none` if it is 0 and as `all` if it is `of`.
fn part(value: DisplayValue, number: usize, of: usize) -> DisplayValue {
    DisplayValue { number: Number::Part { number: number as u64, of: of as u64 }, ..value }
}

fn crossings(
    sides: &Sides<'_>,
    level: Level,
    communication: Communication,
    [mine, theirs, of]: [usize; 3],
) -> Sentence {
    let template = match communication {
        _ if of == if communication == Communication::Round { 2 } else { 1 } => {
            "its two threads share {article} {level}, but the threads of `{next}` do not"
        }
        Communication::Round => {
            "{mine} of its {of} hops cross from one {level} to another, against {theirs} for `{next}`"
        }
        Communication::Along => {
            "{mine} of its {of} links cross from one {level} to another, against {theirs} for `{next}`"
        }
        Communication::Phases if mine == 0 => {
            "{mine} of the {of} threads that each one talks to run {within} another {level}, against up to {theirs} for \
             `{next}`"
        }
        Communication::Phases => {
            "at most {mine} of the {of} threads that each one talks to run {within} another {level}, against {theirs} for \
             `{next}`"
        }
        Communication::All | Communication::Nobody => {
            "{mine} of its {of} pairs of threads run {within} different {level}s, against {theirs} for `{next}`"
        }
    };
    let crossings = |crossings, cpus| {
        let found = number(crossings, cpus, PlacementNumber::Crossings(level, communication));
        part(found, crossings, of)
    };
    let [winner_cpus, next_cpus] = &sides.cpus;
    Sentence::new(template)
        .with("mine", crossings(mine, winner_cpus))
        .with("theirs", crossings(theirs, next_cpus))
        .with("of", number(of, winner_cpus, PlacementNumber::Messages(communication)))
        .with("level", level_words(level, 1))
        // The name of a cache starts with a vowel: an L3.
        .with("article", if matches!(level, Level::L2 | Level::L3) { "an" } else { "a" })
        .with("within", if level == Level::Core { "on" } else { "in" })
}
