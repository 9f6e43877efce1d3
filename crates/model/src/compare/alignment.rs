//! [`Alignment`]: which values of side A are compared with which values of side B.
//!
//! Machines number their CPUs differently, and a firmware change may renumber CPUs. Pairs are compared by CPU number
//! only with evidence that the numbers mean the same CPUs. Otherwise, levels with the same meaning are compared.

use super::likeness::Nest;
use super::seen::{Numbering, ObservedStructure, cpus};
use super::side::{described, pair_up};
use super::{LevelMismatch, Levels, ReadingKey, Side};
use crate::infer::InferError;
use crate::{CpuId, CpuSet, Level, Relation, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// How the values of two sides correspond, by pair or by level.
#[derive(Debug, Clone)]
pub struct Alignment {
    pairing: Pairing,
    levels: [Levels; 2],
    doubts: Vec<LevelMismatch>,
    is_forced: bool,
}

/// A level without a comparison of individual pairs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnpairedLevel {
    pub rank: u32,
    pub name: String,
    /// Whether a level of this name has the same meaning on the other side.
    pub is_known: bool,
}

/// How the values of two sides correspond.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairing {
    /// Equal numbers are the same CPUs. Pairs are compared one by one, and levels consist of these pairs.
    Pairs,
    /// Levels with the same meaning are compared, but not individual pairs.
    Levels(Likeness),
    /// No values correspond.
    Nothing(Obstacle),
}

impl Pairing {
    /// The stable name used in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Pairing::Pairs => "pairs",
            Pairing::Levels(_) => "levels",
            Pairing::Nothing(_) => "nothing",
        }
    }
}

/// Why levels of two sides have the same meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The systems of both sides report the levels by the same name.
    Reported,
    /// Groups of the same sizes are nested in the same way, with other CPU numbers.
    Renumbered,
    /// Equal numbers of levels and outermost groups, and equal sizes of smallest groups. Intermediate groups differ.
    Kind,
    /// Tests on both sides show that the smallest groups are threads of a core. Only this level corresponds.
    Threads,
    /// On each side, all pairs are alike.
    Flat,
}

/// Why no values of two sides are known to have the same meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// The groups have different sizes, or only one side shows groups.
    Groups,
    /// Neither side shows groups. The pairs differ by more than noise, and the two patterns differ.
    Patterns,
    /// Groups have the same shape, but their times differ too much, and nothing else shows the same meaning.
    Meanings(LevelMismatch),
    /// Why no groups can be inferred for A and for B; `None` for a side with groups or without latencies.
    Unseen([Option<InferError>; 2]),
}

/// Largest slowdown of one machine. Beyond this ratio, similar patterns do not prove that both sides are one machine.
const MAX_OF_ONE_MACHINE: f64 = 3.0;

const THREADS: &str = "smt";

impl Alignment {
    /// Compares each pair with the pair of the same CPU numbers, grouped by these levels.
    pub fn by_number(levels: Levels) -> Alignment {
        Alignment::new(Pairing::Pairs, [levels.clone(), levels])
    }

    fn new(pairing: Pairing, levels: [Levels; 2]) -> Alignment {
        Alignment { pairing, levels, doubts: Vec::new(), is_forced: false }
    }

    /// Determines which values of two sides can be compared.
    ///
    /// Two runs with the same reported structure have equal CPU numbers, unless the latencies contradict the report or
    /// the report has no groups among these CPUs. In these cases, and for files, the latencies decide. The numbers
    /// match if both sides show the same groups under the same numbers. Without groups, they match if all pairs are
    /// alike or resemble each other number by number. Otherwise, levels are compared that both systems report, or whose
    /// groups are nested alike. Levels that agree only in shape must have similar times: see [`LevelMismatch`].
    pub fn between(a: &Side, b: &Side) -> Alignment {
        let alignment = Alignment::by_likeness(a, b);
        if alignment.is_known(a, b) {
            return alignment;
        }
        let (doubts, plausible) = LevelMismatch::between(a, b, &alignment.levels);
        let Some(doubt) = doubts.first().cloned() else { return alignment };
        let may_be_one = alignment.pairing == Pairing::Pairs && doubt.factor() <= MAX_OF_ONE_MACHINE;
        if may_be_one && is_one_machine(a, b, &alignment.levels[0]) {
            return alignment;
        }
        if plausible > 0 {
            return Alignment { doubts, ..alignment };
        }
        let seen = [a, b].map(|side| ObservedStructure::infer(side, &cpus(side)).and_then(Result::ok));
        let (pairing, doubts) =
            match seen.each_ref().map(|seen| seen.as_ref().is_some_and(ObservedStructure::has_threads)) {
                // Execution tests identify the threads of a core, whatever the latencies.
                [true, true] => {
                    let others = doubts.into_iter().filter(|doubt| doubt.level != THREADS);
                    (Pairing::Levels(Likeness::Threads), others.collect())
                }
                _ => (Pairing::Nothing(Obstacle::Meanings(doubt)), doubts),
            };
        Alignment { doubts, ..Alignment::new(pairing, [a, b].map(Levels::from_side)) }
    }

    /// As `between`, but compares levels at the user's request even if their times differ too much.
    pub fn forced(a: &Side, b: &Side) -> Alignment {
        let alignment = Alignment::between(a, b);
        if alignment.doubts.is_empty() {
            return alignment;
        }
        Alignment { doubts: alignment.doubts, is_forced: true, ..Alignment::by_likeness(a, b) }
    }

    /// Levels whose times differ too much, largest factor first. They are compared only if the user requests it.
    pub fn doubts(&self) -> &[LevelMismatch] {
        &self.doubts
    }

    /// Whether levels are compared in spite of [`Alignment::doubts`].
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    pub(super) fn doubts_of(&self, level: &str) -> Option<&LevelMismatch> {
        self.doubts.iter().find(|doubt| !self.is_forced && doubt.level == level)
    }

    fn is_known(&self, a: &Side, b: &Side) -> bool {
        let common: CpuSet = (&cpus(a) & &cpus(b)).into_iter().collect();
        let reports = |side: &Side| side.topology.as_ref().is_some_and(|topology| divides(topology, &common));
        match self.pairing {
            Pairing::Pairs => {
                reports(a) && reports(b) && self.levels[0].topology().is_some() || is_identical(a, b)
            }
            Pairing::Levels(likeness) => matches!(likeness, Likeness::Reported | Likeness::Threads),
            Pairing::Nothing(_) => true,
        }
    }

    fn by_likeness(a: &Side, b: &Side) -> Alignment {
        let sets = [cpus(a), cpus(b)];
        let common = &sets[0] & &sets[1];
        let seen = [a, b].map(|side| ObservedStructure::infer(side, &common));
        let structure_of = |index: usize| seen[index].as_ref().and_then(|seen| seen.as_ref().ok());
        let is_contradicted = [0, 1].map(|index| structure_of(index).is_some_and(|seen| seen.contradicts));
        let numbering = structure_of(0).zip(structure_of(1)).map(|(left, right)| left.numbering(right));
        let reported = [a, b].map(|side| side.topology.as_ref());
        let trusted = [0, 1].map(|index| reported[index].filter(|_| !is_contradicted[index]));
        let by_number = |trusted: Option<&Topology>| {
            let levels = structure_of(0).zip(structure_of(1)).map(|(left, right)| left.common_levels(right));
            let levels = levels.filter(|levels| levels.observed().is_some());
            let reported = reported[0].or(reported[1]).filter(|topology| !topology.domains().is_empty());
            Alignment::by_number(match (trusted, levels, reported) {
                (Some(topology), ..) | (None, None, Some(topology)) => Levels::reported(topology.clone()),
                (None, Some(levels), _) => levels,
                (None, None, None) => Levels::one(),
            })
        };
        let common_set: CpuSet = common.iter().copied().collect();
        let dividing = |topology: &&Topology| divides(topology, &common_set);
        match (reported, trusted) {
            ([Some(left), Some(right)], _)
                if described(left, &common_set) == described(right, &common_set) =>
            {
                match ((trusted[0].filter(dividing), trusted[1]), numbering) {
                    ((Some(topology), Some(_)), _) => by_number(Some(topology)),
                    (_, Some(Numbering::Other)) => Alignment::by_latencies(a, b),
                    _ => by_number(None),
                }
            }
            (_, [Some(left), Some(right)]) => Alignment::new(
                Pairing::Levels(Likeness::Reported),
                [left, right].map(|topology| Levels::reported(topology.clone())),
            ),
            ([Some(_), Some(_)], _) => Alignment::by_latencies(a, b),
            _ if is_identical(a, b) => by_number(trusted[0].or(trusted[1]).filter(dividing)),
            _ if !are_mostly_common(&sets, &common) => Alignment::by_latencies(a, b),
            _ => match numbering {
                Some(Numbering::Same) => by_number(trusted[0].or(trusted[1]).filter(dividing)),
                None if common.len() == 2 && sets[0] == sets[1] => by_number(None),
                _ => Alignment::by_latencies(a, b),
            },
        }
    }

    fn by_latencies(a: &Side, b: &Side) -> Alignment {
        let nothing =
            |obstacle: Obstacle, levels: [Levels; 2]| Alignment::new(Pairing::Nothing(obstacle), levels);
        let seen = [a, b].map(|side| ObservedStructure::infer(side, &cpus(side)));
        let [Some(Ok(left)), Some(Ok(right))] = &seen else {
            let errors = seen.map(|seen| seen.and_then(Result::err));
            return nothing(Obstacle::Unseen(errors), [a, b].map(Levels::from_side));
        };
        let grouped = [left, right].map(|seen| !seen.structure.levels.is_empty());
        let levels = [left, right].map(|seen| Levels::observed_in(&seen.structure));
        let pairing = match grouped {
            [false, false] if left.is_uniform() && right.is_uniform() => Pairing::Levels(Likeness::Flat),
            [false, false] => return nothing(Obstacle::Patterns, levels),
            [true, true] => {
                let nests = [left, right].map(|seen| Nest::from_structure(&seen.structure));
                let finest = [left, right].map(ObservedStructure::finest);
                let are_threads = [left, right].map(ObservedStructure::has_threads);
                // A test has shown that the groups have different meanings in spite of their equal shape.
                let differ = matches!(finest, [Some(left), Some(right)] if left != right);
                match (nests[0] == nests[1], nests[0].is_like(&nests[1])) {
                    (true, _) if !differ => Pairing::Levels(Likeness::Renumbered),
                    (_, true) if !differ => Pairing::Levels(Likeness::Kind),
                    _ if are_threads == [true, true] => Pairing::Levels(Likeness::Threads),
                    _ => return nothing(Obstacle::Groups, levels),
                }
            }
            _ => return nothing(Obstacle::Groups, levels),
        };
        Alignment::new(pairing, Levels::under_common_names(levels))
    }

    /// How the values of the two sides correspond.
    pub fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// The levels of A and of B, which are equal for [`Pairing::Pairs`].
    pub fn levels(&self) -> &[Levels; 2] {
        &self.levels
    }

    /// Positions of the subjects by level, for levels without common pairs. A series belongs to the level of its CPUs.
    pub(super) fn by_level<'a>(
        &self,
        side: usize,
        keys: impl Iterator<Item = &'a ReadingKey>,
    ) -> BTreeMap<UnpairedLevel, Vec<usize>> {
        let same = self.same_relations();
        let levels = &self.levels[side];
        let means_the_same = |level: &str| {
            self.doubts_of(level).is_none()
                && match (&self.pairing, &same) {
                    (Pairing::Nothing(_), _) => false,
                    (Pairing::Levels(Likeness::Threads), _) => level == THREADS,
                    (_, Some(same)) => same.iter().any(|relation| relation.name() == level),
                    (Pairing::Pairs | Pairing::Levels(_), None) => true,
                }
        };
        let has_core_classes =
            |levels: &Levels| levels.topology().is_some_and(|topology| topology.classes().len() > 1);
        let mut positions_by_level: BTreeMap<UnpairedLevel, Vec<usize>> = BTreeMap::new();
        for (position, key) in keys.enumerate() {
            let (rank, name) = levels.of_key(key);
            let level = match key {
                ReadingKey::Pair(_) => UnpairedLevel { rank, is_known: means_the_same(&name), name },
                ReadingKey::Series(series) => {
                    let [relations, _] = levels.level_counts(series);
                    let is_known = match series.cpus.len() {
                        1 => !self.levels.iter().any(has_core_classes),
                        _ => relations.keys().all(|(_, level)| means_the_same(level)),
                    };
                    UnpairedLevel {
                        rank,
                        name: if is_known { levels.name_by_relation(series) } else { name },
                        is_known,
                    }
                }
            };
            positions_by_level.entry(level).or_default().push(position);
        }
        positions_by_level
    }

    fn same_relations(&self) -> Option<Vec<Relation>> {
        let [left, right] = self.levels.each_ref().map(Levels::topology);
        let (true, Some(left), Some(right)) =
            (matches!(self.pairing, Pairing::Levels(Likeness::Reported)), left, right)
        else {
            return None;
        };
        Some(Relation::ALL.into_iter().filter(|&relation| is_one_relation(relation, left, right)).collect())
    }
}

fn is_one_machine(a: &Side, b: &Side, levels: &Levels) -> bool {
    let common = &cpus(a) & &cpus(b);
    let seen = [a, b].map(|side| ObservedStructure::infer(side, &common).and_then(Result::ok));
    matches!(&seen, [Some(left), Some(right)] if left.resembles_inside(right, levels))
}

/// A relation beyond a cache is comparable only if both reports state which CPUs share that cache. A level that
/// separates no CPUs may be missing.
pub(super) fn is_one_relation(relation: Relation, left: &Topology, right: &Topology) -> bool {
    let reports = |topology: &Topology, level: Level| !topology.level(level).is_empty();
    let separates = |topology: &Topology, level: Level| {
        topology.level(level).iter().any(|domain| {
            let mut cpus = domain.cpus.iter();
            cpus.next().is_some_and(|first| {
                cpus.any(|cpu| topology.relation(first, cpu) == Relation::from_level(level))
            })
        })
    };
    let mut finer =
        Level::ALL.into_iter().filter(|&level| (Relation::from_level(level) as u32) < relation as u32);
    finer.all(|level| {
        (reports(right, level) || !separates(left, level))
            && (reports(left, level) || !separates(right, level))
    })
}

fn divides(topology: &Topology, cpus: &CpuSet) -> bool {
    let seen = topology.restricted(cpus);
    let divides =
        |level: Level| seen.level(level).iter().any(|domain| (2..cpus.len()).contains(&domain.cpus.len()));
    Level::ALL.into_iter().any(divides)
}

/// Files of different machines share some CPU numbers by chance.
fn are_mostly_common(sets: &[BTreeSet<CpuId>; 2], common: &BTreeSet<CpuId>) -> bool {
    8 * common.len() >= 7 * sets[0].len().max(sets[1].len())
}

fn is_identical(a: &Side, b: &Side) -> bool {
    let (pairs, _) = pair_up(a, b);
    let points = |dataset: &super::Dataset| -> Vec<_> {
        dataset.readings.iter().map(|(key, reading)| (key.clone(), reading.value.point)).collect()
    };
    !pairs.is_empty() && pairs.iter().all(|(left, right)| points(left) == points(right))
}
