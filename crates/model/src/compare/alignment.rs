//! [`Alignment`]: what of one side is held against what of the other.
//!
//! A CPU's number says nothing by itself: two machines number theirs each in its own way, and one machine may number them
//! anew after a change of firmware or on another host. So pairs are held against the pairs of the same numbers only where
//! something shows that these are the same CPUs; else levels that mean the same are held against each other, and where
//! nothing is known to mean the same, nothing is.

use super::likeness::Nest;
use super::seen::{Numbering, Seen, cpus};
use super::side::{described, pair_up};
use super::{Doubt, Levels, ReadingKey, Side};
use crate::infer::InferError;
use crate::{CpuId, CpuSet, Level, Relation, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// What of one side is held against what of the other.
#[derive(Debug, Clone)]
pub struct Alignment {
    pairing: Pairing,
    levels: [Levels; 2],
    doubts: Vec<Doubt>,
    is_forced: bool,
}

/// A level where no pair is held against a pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnpairedLevel {
    /// Nearest first.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Whether a level of this name means the same on the other side.
    pub is_known: bool,
}

/// What is held against each other.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairing {
    /// Equal numbers are the same CPUs: every pair against itself, and levels over these pairs.
    Pairs,
    /// Levels that mean the same; no pair against a pair.
    Levels(Likeness),
    /// Nothing.
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

/// Why levels of two sides mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The systems of both report them by the same name.
    Reported,
    /// Groups of the same sizes lie in each other in the same way, under other numbers.
    Renumbered,
    /// As many levels and outermost groups, with smallest groups of the same size; there are more or fewer of them in
    /// the groups between.
    Kind,
    /// A test has shown in both that the CPUs of the smallest groups are threads of a core: this level, and no other.
    Threads,
    /// All pairs of each are alike.
    Flat,
}

/// Why nothing of two sides is known to mean the same.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// Groups of other sizes, or one shows groups and the other none.
    Groups,
    /// Neither shows groups, pairs differ by more than noise, and not by the same pattern.
    Patterns,
    /// Groups look alike, but nothing says that they are the same thing, and their times differ by more than those of one
    /// thing would.
    Meanings(Doubt),
    /// Of A, or of B, no groups can be inferred; `None` where they can, or where there are no latencies.
    Unseen([Option<InferError>; 2]),
}

/// One machine takes at most so many times as long as before, whatever its clock has done: beyond, pairs that lie alike
/// are no proof that it is one.
const MAX_OF_ONE_MACHINE: f64 = 3.0;

/// A name that a level has where a test has said so.
const THREADS: &str = "smt";

impl Alignment {
    /// Every pair against the pair of the same numbers, by these levels.
    pub fn by_number(levels: Levels) -> Alignment {
        Alignment::of(Pairing::Pairs, [levels.clone(), levels])
    }

    fn of(pairing: Pairing, levels: [Levels; 2]) -> Alignment {
        Alignment { pairing, levels, doubts: Vec::new(), is_forced: false }
    }

    /// What of two sides can be held against each other.
    ///
    /// Two runs whose systems report the same structure number the same CPUs alike, unless the latencies contradict it
    /// or nothing is reported that divides the CPUs; then, and of files, the latencies say: the same groups under the
    /// same numbers, or where nobody shows groups pairs that are all alike or resemble each other number by number.
    /// Else levels that the systems of both report, or groups that lie in each other in the same way. What only looks
    /// alike has to take about as long too (see [`Doubt`]).
    pub fn between(a: &Side, b: &Side) -> Alignment {
        let alignment = Alignment::by_likeness(a, b);
        if alignment.is_known(a, b) {
            return alignment;
        }
        let (doubts, plausible) = Doubt::between(a, b, &alignment.levels);
        let Some(doubt) = doubts.first().cloned() else { return alignment };
        let may_be_one = alignment.pairing == Pairing::Pairs && doubt.factor() <= MAX_OF_ONE_MACHINE;
        if may_be_one && is_one_machine(a, b, &alignment.levels[0]) {
            return alignment;
        }
        if plausible > 0 {
            return Alignment { doubts, ..alignment };
        }
        let seen = [a, b].map(|side| Seen::of(side, &cpus(side)).and_then(Result::ok));
        let (pairing, doubts) = match seen.each_ref().map(|seen| seen.as_ref().is_some_and(Seen::has_threads))
        {
            // Load tests know the threads of a core, whatever their times.
            [true, true] => {
                let others = doubts.into_iter().filter(|doubt| doubt.level != THREADS);
                (Pairing::Levels(Likeness::Threads), others.collect())
            }
            _ => (Pairing::Nothing(Obstacle::Meanings(doubt)), doubts),
        };
        Alignment { doubts, ..Alignment::of(pairing, [a, b].map(Levels::of)) }
    }

    /// The same, where somebody insists: what only looks alike is compared, too, whatever its times.
    pub fn forced(a: &Side, b: &Side) -> Alignment {
        let alignment = Alignment::between(a, b);
        if alignment.doubts.is_empty() {
            return alignment;
        }
        Alignment { doubts: alignment.doubts, is_forced: true, ..Alignment::by_likeness(a, b) }
    }

    /// Levels whose times differ by more than those of one thing would, farthest first: they are not compared unless
    /// somebody insists.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// Whether levels are compared in spite of [`Alignment::doubts`].
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Why a level is not compared.
    pub(super) fn doubts_of(&self, level: &str) -> Option<&Doubt> {
        self.doubts.iter().find(|doubt| !self.is_forced && doubt.level == level)
    }

    /// Whether more than likeness says that what is held against each other is the same.
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

    /// What is alike.
    fn by_likeness(a: &Side, b: &Side) -> Alignment {
        let sets = [cpus(a), cpus(b)];
        let common = &sets[0] & &sets[1];
        let seen = [a, b].map(|side| Seen::of(side, &common));
        let structure_of = |index: usize| seen[index].as_ref().and_then(|seen| seen.as_ref().ok());
        let is_contradicted = [0, 1].map(|index| structure_of(index).is_some_and(|seen| seen.contradicts));
        let numbering = structure_of(0).zip(structure_of(1)).map(|(left, right)| left.numbering(right));
        let reported = [a, b].map(|side| side.topology.as_ref());
        let trusted = [0, 1].map(|index| reported[index].filter(|_| !is_contradicted[index]));
        // By what is reported where that is trusted, else by levels that both show, else by what somebody reports.
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
            (_, [Some(left), Some(right)]) => Alignment::of(
                Pairing::Levels(Likeness::Reported),
                [left, right].map(|topology| Levels::reported(topology.clone())),
            ),
            ([Some(_), Some(_)], _) => Alignment::by_latencies(a, b),
            _ if is_identical(a, b) => by_number(trusted[0].or(trusted[1]).filter(dividing)),
            _ if !are_mostly_common(&sets, &common) => Alignment::by_latencies(a, b),
            _ => match numbering {
                Some(Numbering::Same) => by_number(trusted[0].or(trusted[1]).filter(dividing)),
                // A single pair of the same numbers is the whole of both.
                None if common.len() == 2 && sets[0] == sets[1] => by_number(None),
                _ => Alignment::by_latencies(a, b),
            },
        }
    }

    /// By what the latencies of each side show of its own CPUs, whatever their numbers.
    fn by_latencies(a: &Side, b: &Side) -> Alignment {
        let nothing =
            |obstacle: Obstacle, levels: [Levels; 2]| Alignment::of(Pairing::Nothing(obstacle), levels);
        let seen = [a, b].map(|side| Seen::of(side, &cpus(side)));
        let [Some(Ok(left)), Some(Ok(right))] = &seen else {
            let errors = seen.map(|seen| seen.and_then(Result::err));
            return nothing(Obstacle::Unseen(errors), [a, b].map(Levels::of));
        };
        let grouped = [left, right].map(|seen| !seen.structure.levels.is_empty());
        let levels = [left, right].map(|seen| Levels::observed_in(&seen.structure));
        let pairing = match grouped {
            [false, false] if left.is_uniform() && right.is_uniform() => Pairing::Levels(Likeness::Flat),
            [false, false] => return nothing(Obstacle::Patterns, levels),
            [true, true] => {
                let nests = [left, right].map(|seen| Nest::of(&seen.structure));
                let finest = [left, right].map(Seen::finest);
                let are_threads = [left, right].map(Seen::has_threads);
                // What tests tell apart is not the same, whatever it looks like.
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
        Alignment::of(pairing, Levels::under_common_names(levels))
    }

    /// What is held against each other.
    pub fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// The levels of A and of B; of pairs against themselves the same for both.
    pub fn levels(&self) -> &[Levels; 2] {
        &self.levels
    }

    /// Subjects of a side by level, where no pair is held against a pair. A series is at the level of its CPUs, whatever
    /// their numbers.
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
        let has_kinds =
            |levels: &Levels| levels.topology().is_some_and(|topology| topology.classes().len() > 1);
        let mut held: BTreeMap<UnpairedLevel, Vec<usize>> = BTreeMap::new();
        for (position, key) in keys.enumerate() {
            let (rank, name) = levels.of_key(key);
            let of = match key {
                ReadingKey::Pair(_) => UnpairedLevel { rank, is_known: means_the_same(&name), name },
                ReadingKey::Series(series) => {
                    let [relations, _] = levels.level_counts(series);
                    let is_known = match series.cpus.len() {
                        1 => !self.levels.iter().any(has_kinds),
                        _ => relations.keys().all(|(_, level)| means_the_same(level)),
                    };
                    UnpairedLevel {
                        rank,
                        name: if is_known { levels.name_by_relation(series) } else { name },
                        is_known,
                    }
                }
            };
            held.entry(of).or_default().push(position);
        }
        held
    }

    /// The relations that the reports of both sides mean the same by, where levels are held against each other by what
    /// they are reported as.
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

/// Whether pairs of the same numbers resemble each other inside levels, as those of one machine do whatever its clock
/// does.
fn is_one_machine(a: &Side, b: &Side, levels: &Levels) -> bool {
    let common = &cpus(a) & &cpus(b);
    let seen = [a, b].map(|side| Seen::of(side, &common).and_then(Result::ok));
    matches!(&seen, [Some(left), Some(right)] if left.resembles_inside(right, levels))
}

/// Whether a relation means the same in two reports: what is farther than a cache is so only where both say who shares
/// one. A level that tells no CPUs apart needs no report.
pub(super) fn is_one_relation(relation: Relation, left: &Topology, right: &Topology) -> bool {
    let reports = |topology: &Topology, level: Level| !topology.level(level).is_empty();
    let tells = |topology: &Topology, level: Level| {
        topology.level(level).iter().any(|domain| {
            let mut cpus = domain.cpus.iter();
            cpus.next()
                .is_some_and(|first| cpus.any(|cpu| topology.relation(first, cpu) == Relation::of(level)))
        })
    };
    let mut finer = Level::ALL.into_iter().filter(|&level| (Relation::of(level) as u32) < relation as u32);
    finer.all(|level| {
        (reports(right, level) || !tells(left, level)) && (reports(left, level) || !tells(right, level))
    })
}

/// Whether anything is reported that tells some of these CPUs from others.
fn divides(topology: &Topology, cpus: &CpuSet) -> bool {
    let seen = topology.restricted(cpus);
    let divides =
        |level: Level| seen.level(level).iter().any(|domain| (2..cpus.len()).contains(&domain.cpus.len()));
    Level::ALL.into_iter().any(divides)
}

/// Whether two sides number about the same CPUs: other files have other CPUs, and numbers in common by chance.
fn are_mostly_common(sets: &[BTreeSet<CpuId>; 2], common: &BTreeSet<CpuId>) -> bool {
    8 * common.len() >= 7 * sets[0].len().max(sets[1].len())
}

/// Whether two sides hold the very same numbers: then they are of the same CPUs.
fn is_identical(a: &Side, b: &Side) -> bool {
    let (pairs, _) = pair_up(a, b);
    let points = |dataset: &super::Dataset| -> Vec<_> {
        dataset.readings.iter().map(|(key, reading)| (key.clone(), reading.value.point)).collect()
    };
    !pairs.is_empty() && pairs.iter().all(|(left, right)| points(left) == points(right))
}
