//! [`Levels`]: which level each pair belongs to, so that levels can be judged before cells.

use super::Subject;
use crate::Topology;
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

    /// Whether the levels are those of a system, and not all pairs in one.
    pub fn topology(&self) -> Option<&Topology> {
        match &self.source {
            Source::Reported(topology) => Some(topology),
            Source::One => None,
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
