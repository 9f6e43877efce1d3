//! [`Kinds`]: which levels of many sides may share a column of a table.
//!
//! A column means one thing. Two sides whose groups look alike share columns where [`Alignment`] would hold them against
//! each other; relations that systems report where both reports mean the same by them.

use super::alignment::is_one_relation;
use super::nest::Nest;
use super::seen::{Seen, cpus};
use super::{Alignment, Levels, Likeness, Pairing, Side};
use crate::Relation;
use std::collections::{BTreeMap, BTreeSet};

/// Sides by what their levels mean.
pub(super) struct Kinds<'a> {
    sides: &'a [(&'a Side, Levels)],
    /// For each side whose groups are those that its latencies show, the number of its kind, from 1.
    observed: Vec<Option<usize>>,
    /// For each column of relations, its sides by what these mean.
    reported: BTreeMap<String, Vec<Vec<usize>>>,
}

impl<'a> Kinds<'a> {
    /// Puts every side with the first kind all of which it is aligned with.
    pub fn of(sides: &'a [(&'a Side, Levels)]) -> Kinds<'a> {
        let mut kinds: Vec<Vec<(usize, Nest)>> = Vec::new();
        let mut observed = vec![None; sides.len()];
        for (position, (side, levels)) in sides.iter().enumerate() {
            let Some(nest) = levels.observed().and_then(|_| nest(side)) else { continue };
            let alike = kinds.iter().position(|kind| {
                kind.iter().all(|(other, known)| {
                    (*known == nest || known.is_like(&nest)) && are_aligned(sides[*other].0, side)
                })
            });
            let number = alike.unwrap_or_else(|| {
                kinds.push(Vec::new());
                kinds.len() - 1
            });
            kinds[number].push((position, nest));
            observed[position] = Some(number + 1);
        }
        Kinds { sides, observed, reported: BTreeMap::new() }
    }

    /// Takes down that a side has something in a column, in which CPUs lie to each other by these levels.
    pub fn note(&mut self, side: usize, column: &str, levels: &BTreeSet<String>) {
        let Some(topology) = self.sides[side].1.topology() else { return };
        let relations: Vec<Relation> = levels.iter().filter_map(|level| relation(level)).collect();
        let classes = self.reported.entry(column.to_owned()).or_default();
        if classes.iter().flatten().any(|known| *known == side) {
            return;
        }
        let means_the_same = |other: &usize| {
            let other = self.sides[*other].1.topology();
            other.is_some_and(|other| relations.iter().all(|of| is_one_relation(*of, topology, other)))
        };
        match classes.iter().position(|class| class.iter().all(means_the_same)) {
            Some(class) => classes[class].push(side),
            None => classes.push(vec![side]),
        }
    }

    /// The number of the kind of a side in a column, from 1; `None` where all that stands there means the same.
    pub fn number(&self, side: usize, column: &str, levels: &BTreeSet<String>) -> Option<usize> {
        match &self.sides[side].1 {
            known if known.topology().is_some() => {
                let classes = self.reported.get(column).filter(|classes| classes.len() > 1)?;
                Some(classes.iter().position(|class| class.contains(&side))? + 1)
            }
            // What a test has told is known by its name.
            _ if levels.iter().all(|level| relation(level).is_some()) => None,
            _ => self.observed[side].filter(|_| self.observed.iter().flatten().any(|kind| *kind > 1)),
        }
    }
}

fn relation(level: &str) -> Option<Relation> {
    Relation::ALL.into_iter().find(|relation| relation.name() == level)
}

fn nest(side: &Side) -> Option<Nest> {
    Some(Nest::of(&Seen::of(side, &cpus(side))?.ok()?.structure))
}

/// Whether every level of one side means what the other's does.
fn are_aligned(a: &Side, b: &Side) -> bool {
    match Alignment::between(a, b).pairing() {
        Pairing::Pairs => true,
        Pairing::Levels(likeness) => *likeness != Likeness::Threads,
        Pairing::Nothing(_) => false,
    }
}
