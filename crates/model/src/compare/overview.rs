//! [`Overview`]: many runs or files in one table, with a row for each dataset and a column for each group of pairs.
//!
//! Each column has one meaning: groups and relations share a column only if they mean the same on both sides.

use super::alignment::is_one_relation;
use super::levels::GroupLevel;
use super::likeness::Nest;
use super::seen::{ObservedStructure, cpus};
use super::side::described;
use super::{Alignment, Levels, Likeness, Pairing, ReadingKey, Side};
use crate::Relation;
use crate::stats::{median_in_place, quantile_of_sorted};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Many sides in one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Columns, nearest pairs first: reported relations; `groups-of-2`, `larger-groups-1` and so on, and `across` for
    /// inferred groups; `all`; series. Levels that may differ in meaning have separate columns: `groups-of-2-kind-1`.
    pub groups: Vec<OverviewGroup>,
    /// One row for each dataset of each side, in the given order.
    pub rows: Vec<OverviewRow>,
}

/// A column of an [`Overview`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverviewGroup {
    /// The level of the pairs.
    pub level: GroupLevel,
    /// Which of several meanings the levels have, from 1; `None` if all levels of this name have one meaning.
    pub kind: Option<usize>,
}

impl fmt::Display for OverviewGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        self.kind.map_or(Ok(()), |kind| write!(f, "-kind-{kind}"))
    }
}

/// A dataset of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct OverviewRow {
    /// Index of the side in the given order.
    pub side: usize,
    /// Name of the dataset.
    pub dataset: String,
    /// Unit of its numbers.
    pub unit: String,
    /// The kernel that was measured, if known.
    pub kernel: Option<String>,
    /// Medians in the order of [`Overview::groups`]; `None` for a column without a pair of the dataset.
    pub medians: Vec<Option<GroupMedian>>,
}

/// The pairs of one group in one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMedian {
    /// Name of the level on its side: a relation, `group-1` and so on, `across`, `all`, or the name of a series.
    pub level: String,
    /// Sizes of the inferred groups, ascending; empty for other levels.
    pub sizes: Vec<usize>,
    /// Median over the pairs.
    pub median: f64,
    /// The 5th and the 95th percentile of the pairs: the spread over the machine, not an error.
    pub range: [f64; 2],
    /// Number of pairs.
    pub pairs: usize,
}

type Column = (u32, OverviewGroup);

struct Members {
    level: String,
    levels: BTreeSet<String>,
    values: Vec<f64>,
}

/// Tabulates sides, each by its own levels. [`compare`](fn@super::compare) decides whether rows differ.
pub fn overview(sides: &[(&Side, Levels)]) -> Overview {
    let mut kinds = Kinds::new(sides);
    let by_number = have_equal_reports(sides);
    let mut datasets = Vec::new();
    for (position, (side, levels)) in sides.iter().enumerate() {
        for dataset in &side.datasets {
            let mut members: BTreeMap<(u32, String), Members> = BTreeMap::new();
            for (key, reading) in &dataset.readings {
                let (rank, name) = levels.of_key(key);
                let (name, level_names) = match key {
                    ReadingKey::Series(series) if !by_number => {
                        let [counts, _] = levels.level_counts(series);
                        (
                            levels.name_by_relation(series),
                            counts.into_keys().map(|(_, level)| level).collect(),
                        )
                    }
                    ReadingKey::Series(_) => (name, BTreeSet::new()),
                    ReadingKey::Pair(_) => (name.clone(), BTreeSet::from([name])),
                };
                let entry = members.entry((rank, name.clone()));
                let of_level =
                    entry.or_insert_with(|| Members { level: name, levels: level_names, values: Vec::new() });
                of_level.values.push(reading.value.point);
            }
            for of_level in members.values() {
                kinds.note(position, &levels.column(&of_level.level).1, &of_level.levels);
            }
            datasets.push((position, dataset, members));
        }
    }
    let mut columns: BTreeSet<Column> = BTreeSet::new();
    let mut tables = Vec::new();
    for (position, dataset, members) in datasets {
        let levels = &sides[position].1;
        let entry_of = |of_level: Members| {
            let (rank, level) = levels.column(&of_level.level);
            let kind = kinds.number(position, &level, &of_level.levels);
            Some((
                (rank, OverviewGroup { level, kind }),
                group_median(of_level.values, levels.sizes(&of_level.level), of_level.level)?,
            ))
        };
        let groups: BTreeMap<Column, GroupMedian> = members.into_values().filter_map(entry_of).collect();
        columns.extend(groups.keys().cloned());
        tables.push((position, dataset, groups));
    }
    let rows = tables.into_iter().map(|(side, dataset, mut groups)| OverviewRow {
        side,
        dataset: dataset.name.clone(),
        unit: dataset.unit.clone(),
        kernel: dataset.traits.iter().find(|(name, _)| *name == "kernel").map(|(_, kernel)| kernel.clone()),
        medians: columns.iter().map(|column| groups.remove(column)).collect(),
    });
    let rows = rows.collect();
    Overview { groups: columns.into_iter().map(|(_, group)| group).collect(), rows }
}

/// Whether all reports agree that equal numbers are the same CPUs, so that CPUs can name series.
fn have_equal_reports(sides: &[(&Side, Levels)]) -> bool {
    let mut reports = sides.iter().map(|(side, _)| {
        let topology = side.topology.as_ref()?;
        Some(described(topology, topology.cpus()))
    });
    let first = reports.next();
    reports.all(|report| Some(&report) == first.as_ref())
}

fn group_median(mut values: Vec<f64>, sizes: Vec<usize>, level: String) -> Option<GroupMedian> {
    values.sort_unstable_by(f64::total_cmp);
    let range = [quantile_of_sorted(&values, 0.05)?, quantile_of_sorted(&values, 0.95)?];
    let pairs = values.len();
    Some(GroupMedian { level, sizes, median: median_in_place(&mut values)?, range, pairs })
}

pub(super) struct Kinds<'a> {
    sides: &'a [(&'a Side, Levels)],
    observed: Vec<Option<usize>>,
    reported: BTreeMap<GroupLevel, Vec<Vec<usize>>>,
}

impl<'a> Kinds<'a> {
    /// Assigns every side to the first kind whose members are all aligned with the side.
    pub fn new(sides: &'a [(&'a Side, Levels)]) -> Kinds<'a> {
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

    pub fn note(&mut self, side: usize, column: &GroupLevel, levels: &BTreeSet<String>) {
        let Some(topology) = self.sides[side].1.topology() else { return };
        let relations: Vec<Relation> = levels.iter().filter_map(|level| Relation::named(level)).collect();
        let classes = self.reported.entry(column.clone()).or_default();
        if classes.iter().flatten().any(|known| *known == side) {
            return;
        }
        let means_the_same = |other: &usize| {
            let other = self.sides[*other].1.topology();
            other.is_some_and(|other| {
                relations.iter().all(|relation| is_one_relation(*relation, topology, other))
            })
        };
        match classes.iter().position(|class| class.iter().all(means_the_same)) {
            Some(class) => classes[class].push(side),
            None => classes.push(vec![side]),
        }
    }

    /// Number of the kind of a side in a column, from 1; `None` if all sides of the column have the same meaning.
    pub fn number(&self, side: usize, column: &GroupLevel, levels: &BTreeSet<String>) -> Option<usize> {
        match &self.sides[side].1 {
            known if known.topology().is_some() => {
                let classes = self.reported.get(column).filter(|classes| classes.len() > 1)?;
                Some(classes.iter().position(|class| class.contains(&side))? + 1)
            }
            // A test named this inferred level after a relation, so it has one meaning.
            _ if levels.iter().all(|level| Relation::named(level).is_some()) => None,
            _ => self.observed[side].filter(|_| self.observed.iter().flatten().any(|kind| *kind > 1)),
        }
    }
}

fn nest(side: &Side) -> Option<Nest> {
    Some(Nest::from_structure(&ObservedStructure::infer(side, &cpus(side))?.ok()?.structure))
}

fn are_aligned(a: &Side, b: &Side) -> bool {
    let alignment = Alignment::between(a, b);
    match alignment.pairing() {
        _ if !alignment.doubts().is_empty() => false,
        Pairing::Pairs => true,
        Pairing::Levels(likeness) => *likeness != Likeness::Threads,
        Pairing::Nothing(_) => false,
    }
}
