//! [`Levels`]: which level each pair belongs to, so that levels can be judged before cells.

use super::shown::{is_contradicted, shown};
use super::{Side, Subject};
use crate::{CpuSet, Topology};
use std::collections::BTreeMap;

/// Which level each subject belongs to.
#[derive(Debug, Clone)]
pub struct Levels {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The nearest thing that two CPUs share, as the system reports it.
    Reported(Box<Topology>),
    /// Groups that the latencies of both sides show, finest first.
    Shown(Vec<Vec<CpuSet>>),
    /// Nothing is known: all pairs are one level.
    One,
}

impl Levels {
    /// The relations that the system reports.
    pub fn reported(topology: Topology) -> Levels {
        Levels { source: Source::Reported(Box::new(topology)) }
    }

    /// All pairs in one level.
    pub fn one() -> Levels {
        Levels { source: Source::One }
    }

    /// The levels by which two sides are best judged: those that the system of either reports; where none is reported,
    /// or the latencies contradict them, those that the latencies of both show; else all pairs in one.
    pub fn between(a: &Side, b: &Side) -> Levels {
        let reported = a.topology.as_ref().or(b.topology.as_ref());
        match reported.filter(|topology| !topology.domains().is_empty()) {
            Some(topology) if !is_contradicted(a) && !is_contradicted(b) => {
                Levels::reported(topology.clone())
            }
            contradicted => match (shown(a, b), contradicted.or(reported)) {
                (levels, _) if !levels.is_empty() => Levels { source: Source::Shown(levels) },
                // What is reported may be false, and nothing better is known.
                (_, Some(topology)) => Levels::reported(topology.clone()),
                (_, None) => Levels::one(),
            },
        }
    }

    /// Groups that the latencies show, finest first, where these are the levels.
    pub fn shown(&self) -> Option<&[Vec<CpuSet>]> {
        match &self.source {
            Source::Shown(levels) => Some(levels),
            _ => None,
        }
    }

    /// Whether the levels are those of a system, and not all pairs in one.
    pub fn topology(&self) -> Option<&Topology> {
        match &self.source {
            Source::Reported(topology) => Some(topology),
            Source::Shown(_) | Source::One => None,
        }
    }

    /// The level of a subject: its rank, nearest first, and its name. A series is a level of its own.
    pub fn of(&self, subject: &Subject) -> (u32, String) {
        match (subject, &self.source) {
            (Subject::Series(name), _) => (u32::MAX, name.clone()),
            (Subject::Pair([a, b]), Source::Reported(topology)) => {
                let relation = topology.relation(*a, *b);
                (relation as u32, relation.name().to_owned())
            }
            (Subject::Pair([a, b]), Source::Shown(_)) if a == b => (0, "same-cpu".to_owned()),
            (Subject::Pair([a, b]), Source::Shown(levels)) => {
                let both = |group: &CpuSet| group.contains(*a) && group.contains(*b);
                match levels.iter().position(|level| level.iter().any(both)) {
                    Some(level) => (level as u32 + 1, format!("group-{}", level + 1)),
                    None => (u32::MAX - 1, "across".to_owned()),
                }
            }
            (Subject::Pair(_), Source::One) => (0, "all".to_owned()),
        }
    }

    /// The positions of subjects by level, nearest level first.
    pub(super) fn group<'a>(&self, subjects: impl Iterator<Item = &'a Subject>) -> Vec<(String, Vec<usize>)> {
        let mut groups: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
        for (position, subject) in subjects.enumerate() {
            groups.entry(self.of(subject)).or_default().push(position);
        }
        groups.into_iter().map(|((_, name), members)| (name, members)).collect()
    }
}
