//! [`Levels`]: which level each pair of a side belongs to, so that levels can be judged before cells.

use super::seen::{Seen, cpus};
use super::{ReadingKey, Series, Side};
use crate::infer::{InferredLevel, Structure};
use crate::series::SeriesName;
use crate::{CpuSet, Relation, Topology};
use std::collections::BTreeMap;
use std::fmt;

/// Which level each subject of a side belongs to.
#[derive(Debug, Clone)]
pub struct Levels {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The nearest thing that two CPUs share, as the system reports it.
    Reported(Box<Topology>),
    /// Groups that the latencies show, finest first.
    Observed(Vec<ObservedLevel>),
    /// Nothing is known: all pairs are one level.
    One,
}

/// A level that latencies show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedLevel {
    /// `group-1` the finest, or `smt` where its pairs are known to be threads of a core.
    pub name: String,
    /// Its groups, by lowest CPU.
    pub groups: Vec<CpuSet>,
    /// CPUs in none of them.
    pub alone: usize,
}

/// The level of the pairs of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupLevel {
    /// All pairs, where nothing tells them apart.
    All,
    /// Groups of two CPUs that latencies show.
    Twos,
    /// Larger groups that latencies show, numbered from the finest.
    Larger(usize),
    /// A relation that systems report, `across`, or a series; its name.
    Named(String),
}

impl fmt::Display for GroupLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupLevel::All => f.write_str(ALL),
            GroupLevel::Twos => f.write_str("groups-of-2"),
            GroupLevel::Larger(number) => write!(f, "larger-groups-{number}"),
            GroupLevel::Named(name) => f.write_str(name),
        }
    }
}

/// Pairs that share no group that the latencies show.
const ACROSS: &str = "across";
/// The level of all pairs, where nothing distinguishes them.
pub const ALL: &str = "all";
/// Columns of a table for each relation.
const RANKS: u32 = 64;

/// Whether threads of a core may be meant: pairs, and CPUs alone beside them.
fn is_of_twos(level: &ObservedLevel) -> bool {
    level.groups.iter().all(|group| group.len() <= 2)
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

    /// The levels of a side by itself: those that its system reports; where none is reported, or the latencies
    /// contradict them, those that the latencies show; else all pairs in one.
    pub fn of(side: &Side) -> Levels {
        let seen = Seen::of(side, &cpus(side)).and_then(Result::ok);
        let reported = side.topology.as_ref();
        let is_trusted = !seen.as_ref().is_some_and(|seen| seen.contradicts);
        match (reported.filter(|topology| !topology.domains().is_empty() && is_trusted), seen) {
            (Some(topology), _) => Levels::reported(topology.clone()),
            (None, Some(seen)) if !seen.structure.levels.is_empty() => Levels::observed_in(&seen.structure),
            // What is reported may be false, and nothing better is known.
            (None, _) => reported.map_or_else(Levels::one, |topology| Levels::reported(topology.clone())),
        }
    }

    /// The levels of a structure; all pairs in one where there are none.
    pub(super) fn observed_in(structure: &Structure) -> Levels {
        Levels::of_some(structure, structure.levels.iter())
    }

    /// Some levels of a structure, finest first, under their own names.
    pub(super) fn of_some<'a>(
        structure: &Structure,
        levels: impl Iterator<Item = &'a InferredLevel>,
    ) -> Levels {
        let of = |level: &InferredLevel| {
            let grouped: usize = level.groups.iter().map(CpuSet::len).sum();
            ObservedLevel {
                name: level.name.clone(),
                groups: level.groups.clone(),
                alone: structure.cpus.len().saturating_sub(grouped),
            }
        };
        let levels: Vec<ObservedLevel> = levels.map(of).collect();
        Levels { source: if levels.is_empty() { Source::One } else { Source::Observed(levels) } }
    }

    /// Two sides whose levels mean the same call them the same: by number, unless both have the same name for one.
    pub(super) fn under_common_names(mut levels: [Levels; 2]) -> [Levels; 2] {
        if let [Source::Observed(left), Source::Observed(right)] =
            levels.each_mut().map(|levels| &mut levels.source)
        {
            for ((left, right), number) in left.iter_mut().zip(right).zip(1..) {
                if left.name != right.name {
                    left.name = format!("group-{number}");
                    right.name.clone_from(&left.name);
                }
            }
        }
        levels
    }

    /// Groups that the latencies show, finest first, where these are the levels.
    pub fn observed(&self) -> Option<&[ObservedLevel]> {
        match &self.source {
            Source::Observed(levels) => Some(levels),
            _ => None,
        }
    }

    /// The topology, where the levels are those that a system reports.
    pub fn topology(&self) -> Option<&Topology> {
        match &self.source {
            Source::Reported(topology) => Some(topology),
            Source::Observed(_) | Source::One => None,
        }
    }

    /// The level of a subject: its rank, nearest first, and its name. A series is a level of its own.
    pub fn of_key(&self, key: &ReadingKey) -> (u32, String) {
        match (key, &self.source) {
            (ReadingKey::Series(series), _) => (u32::MAX, series.name.clone()),
            (ReadingKey::Pair([a, b]), Source::Observed(_) | Source::One) if a == b => {
                (0, "same-cpu".to_owned())
            }
            (ReadingKey::Pair([a, b]), Source::Reported(topology)) => {
                let relation = topology.relation(*a, *b);
                (topology.nearness(relation) as u32, relation.name().to_owned())
            }
            (ReadingKey::Pair([a, b]), Source::Observed(levels)) => {
                let both = |group: &CpuSet| group.contains(*a) && group.contains(*b);
                match levels.iter().position(|level| level.groups.iter().any(both)) {
                    Some(level) => (level as u32 + 1, levels[level].name.clone()),
                    None => (u32::MAX - 1, ACROSS.to_owned()),
                }
            }
            (ReadingKey::Pair(_), Source::One) => (0, ALL.to_owned()),
        }
    }

    /// How the CPUs of a series lie to each other: how many of their pairs there are at each level, among all and with the
    /// first, which has a role of its own.
    pub(super) fn level_counts(&self, series: &Series) -> [BTreeMap<(u32, String), usize>; 2] {
        let mut counts = [BTreeMap::new(), BTreeMap::new()];
        for (index, first) in series.cpus.iter().enumerate() {
            for second in &series.cpus[index + 1..] {
                let level = self.of_key(&ReadingKey::unordered(*first, *second));
                if index == 0 {
                    *counts[1].entry(level.clone()).or_default() += 1;
                }
                *counts[0].entry(level).or_default() += 1;
            }
        }
        counts
    }

    /// The name of a series that tells how its CPUs lie to each other instead of their numbers: `kind=mutex relation=l3`.
    pub(super) fn name_by_relation(&self, series: &Series) -> String {
        let [all, first] = self.level_counts(series);
        let words = |counts: &BTreeMap<(u32, String), usize>| {
            let words = counts.iter().map(|((_, level), count)| match series.cpus.len() {
                2 => level.clone(),
                _ => format!("{count}×{level}"),
            });
            words.collect::<Vec<_>>().join("+")
        };
        let relation = match (series.cpus.len(), all.len()) {
            (0, _) => return series.name.clone(),
            (1, _) => "one-cpu".to_owned(),
            (_, 1) => words(&all),
            _ => format!("{},first:{}", words(&all), words(&first)),
        };
        match series.label.is_empty() || SeriesName::of(&series.label).is_some() {
            true => format!("{} relation={relation}", series.label).trim().to_owned(),
            false => format!("{} ({relation})", series.label),
        }
    }

    /// Where a level of this side stands in a table of many: a rank, nearest first, and the name of the column. What
    /// systems report stands under its own name. Of groups that latencies show, a number says only how many are inside:
    /// the finest groups may be threads of a core on one machine and a die on the next. So groups of two, which can be
    /// threads of a core, have a column of their own, and larger ones follow in their order.
    pub(super) fn column(&self, level: &str) -> (u32, GroupLevel) {
        let known = self
            .observed()
            .and_then(|observed| Some((observed, observed.iter().position(|known| known.name == level)?)));
        match (Relation::named(level), known) {
            (Some(relation), _) => (RANKS * relation as u32, GroupLevel::Named(level.to_owned())),
            (None, Some((observed, position))) => {
                let has_twos = usize::from(is_of_twos(&observed[0]));
                match (position + 1).saturating_sub(has_twos) {
                    0 => (RANKS * Relation::Smt as u32 + 1, GroupLevel::Twos),
                    larger => (RANKS * Relation::Cluster as u32 + larger as u32, GroupLevel::Larger(larger)),
                }
            }
            (None, None) if level == ACROSS => (u32::MAX - 1, GroupLevel::Named(level.to_owned())),
            (None, None) if level == ALL => (0, GroupLevel::All),
            (None, None) => (u32::MAX, GroupLevel::Named(level.to_owned())),
        }
    }

    /// CPUs in each group of a level that latencies show, fewest first; empty for any other.
    pub(super) fn sizes(&self, level: &str) -> Vec<usize> {
        let known = self.observed().and_then(|observed| observed.iter().find(|known| known.name == level));
        let mut sizes: Vec<usize> =
            known.map_or(Vec::new(), |level| level.groups.iter().map(CpuSet::len).collect());
        sizes.sort_unstable();
        sizes
    }

    /// The positions of subjects by level, nearest level first.
    pub(super) fn group<'a>(
        &self,
        keys: impl Iterator<Item = &'a ReadingKey>,
    ) -> BTreeMap<(u32, String), Vec<usize>> {
        let mut groups: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
        for (position, key) in keys.enumerate() {
            groups.entry(self.of_key(key)).or_default().push(position);
        }
        groups
    }
}
