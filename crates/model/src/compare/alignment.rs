//! [`Alignment`]: what of one side is held against what of the other.
//!
//! A CPU's number says nothing by itself: two machines number theirs each in its own way, and one machine may number them
//! anew after a change of firmware or on another host. So pairs are held against the pairs of the same numbers only where
//! something shows that these are the same CPUs; else levels that mean the same are held against each other, and where
//! nothing is known to mean the same, nothing is.

use super::conditions::described;
use super::judge::pair_up;
use super::nest::Nest;
use super::seen::{Numbering, Seen, cpus};
use super::{Levels, Side};
use crate::infer::InferError;
use crate::latency::Execution;
use crate::{CpuId, CpuSet, Level, Topology};
use std::collections::BTreeSet;

/// What of one side is held against what of the other.
#[derive(Debug, Clone)]
pub struct Alignment {
    pairing: Pairing,
    levels: [Levels; 2],
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
    /// Of A, or of B, no groups can be inferred; `None` where they can, or where there are no latencies.
    Unseen([Option<InferError>; 2]),
}

/// A name that a level has where a test has said so.
const THREADS: &str = "smt";

impl Alignment {
    /// Every pair against the pair of the same numbers, by these levels.
    pub fn by_number(levels: Levels) -> Alignment {
        Alignment { pairing: Pairing::Pairs, levels: [levels.clone(), levels] }
    }

    /// What of two sides can be held against each other.
    ///
    /// Two runs whose systems report the same structure number the same CPUs alike, unless the latencies contradict it
    /// or nothing is reported that divides the CPUs; then, and of files, the latencies say: the same groups under the
    /// same numbers, or where nobody shows groups pairs that are all alike or resemble each other number by number.
    /// Else levels that the systems of both report, or groups that lie in each other in the same way.
    pub fn between(a: &Side, b: &Side) -> Alignment {
        let sets = [cpus(a), cpus(b)];
        let common = &sets[0] & &sets[1];
        let seen = [a, b].map(|side| Seen::of(side, &common));
        let shown = |index: usize| seen[index].as_ref().and_then(|seen| seen.as_ref().ok());
        let is_contradicted = [0, 1].map(|index| shown(index).is_some_and(|seen| seen.contradicts));
        let numbering = shown(0).zip(shown(1)).map(|(left, right)| left.numbering(right));
        let reported = [a, b].map(|side| side.topology.as_ref());
        let trusted = [0, 1].map(|index| reported[index].filter(|_| !is_contradicted[index]));
        // By what is reported where that is trusted, else by levels that both show, else by what somebody reports.
        let by_number = |trusted: Option<&Topology>| {
            let levels = shown(0).zip(shown(1)).map(|(left, right)| left.common_levels(right));
            let levels = levels.filter(|levels| levels.shown().is_some());
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
            (_, [Some(left), Some(right)]) => Alignment {
                pairing: Pairing::Levels(Likeness::Reported),
                levels: [left, right].map(|topology| Levels::reported(topology.clone())),
            },
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
        let nothing = |obstacle: Obstacle, levels: [Levels; 2]| Alignment {
            pairing: Pairing::Nothing(obstacle),
            levels,
        };
        let seen = [a, b].map(|side| Seen::of(side, &cpus(side)));
        let [Some(Ok(left)), Some(Ok(right))] = &seen else {
            let errors = seen.map(|seen| seen.and_then(Result::err));
            return nothing(Obstacle::Unseen(errors), [a, b].map(Levels::of));
        };
        let grouped = [left, right].map(|seen| !seen.structure.levels.is_empty());
        let levels = [left, right].map(|seen| Levels::shown_by(&seen.structure));
        let pairing = match grouped {
            [false, false] if left.is_uniform() && right.is_uniform() => Pairing::Levels(Likeness::Flat),
            [false, false] => return nothing(Obstacle::Patterns, levels),
            [true, true] => {
                let nests = [left, right].map(|seen| Nest::of(&seen.structure));
                let finest = [left, right].map(|seen| seen.structure.levels[0].execution);
                let are_threads = finest.map(|execution| execution == Some(Execution::Shared));
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
        Alignment { pairing, levels: Levels::under_common_names(levels) }
    }

    /// What is held against each other.
    pub fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// The levels of A and of B; of pairs against themselves the same for both.
    pub fn levels(&self) -> &[Levels; 2] {
        &self.levels
    }

    /// Whether the levels of this name mean the same on both sides.
    pub(super) fn means_the_same(&self, level: &str) -> bool {
        match self.pairing {
            Pairing::Nothing(_) => false,
            Pairing::Levels(Likeness::Threads) => level == THREADS,
            Pairing::Pairs | Pairing::Levels(_) => true,
        }
    }
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
    let points = |sheet: &super::Sheet| -> Vec<_> {
        sheet.readings.iter().map(|(subject, reading)| (subject.clone(), reading.value.point)).collect()
    };
    !pairs.is_empty() && pairs.iter().all(|(left, right)| points(left) == points(right))
}
