//! [`Levels`]: the level of each pair of a side. Levels are judged before cells.

use super::seen::{ObservedStructure, cpus};
use super::{ReadingKey, Series, Side};
use crate::infer::{InferredLevel, Structure};
use crate::series::SeriesName;
use crate::{CpuSet, Relation, Topology};
use std::collections::BTreeMap;
use std::fmt;

/// The level of each subject of a side.
#[derive(Debug, Clone)]
pub struct Levels {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The nearest domain that two CPUs share, as reported by the system.
    Reported(Box<Topology>),
    /// Groups inferred from the latencies, finest first.
    Observed(Vec<ObservedLevel>),
    /// Nothing is known: all pairs form one level.
    One,
}

/// A level inferred from latencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedLevel {
    /// `group-1` for the finest level, or `smt` if its pairs are known to be threads of a core.
    pub name: String,
    /// The groups, ordered by their lowest CPU.
    pub groups: Vec<CpuSet>,
    /// Number of CPUs in no group.
    pub alone: usize,
}

/// The level of the pairs in a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupLevel {
    /// All pairs, without distinction.
    All,
    /// Inferred groups of two CPUs.
    Twos,
    /// Larger inferred groups, numbered from the finest.
    Larger(usize),
    /// The name of a reported relation or of a series, or `across`.
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

const ACROSS: &str = "across";
/// The level of all pairs, if nothing distinguishes them.
pub const ALL: &str = "all";
const RANKS: u32 = 64;

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

    /// The reported levels of a side, unless the latencies contradict them; then the inferred levels, or one level.
    pub fn from_side(side: &Side) -> Levels {
        let seen = ObservedStructure::infer(side, &cpus(side)).and_then(Result::ok);
        let reported = side.topology.as_ref();
        let is_trusted = !seen.as_ref().is_some_and(|seen| seen.contradicts);
        match (reported.filter(|topology| !topology.domains().is_empty() && is_trusted), seen) {
            (Some(topology), _) => Levels::reported(topology.clone()),
            (None, Some(seen)) if !seen.structure.levels.is_empty() => Levels::observed_in(&seen.structure),
            // The report may be wrong, but there is no better evidence.
            (None, _) => reported.map_or_else(Levels::one, |topology| Levels::reported(topology.clone())),
        }
    }

    pub(super) fn observed_in(structure: &Structure) -> Levels {
        Levels::of_some(structure, structure.levels.iter())
    }

    pub(super) fn of_some<'a>(
        structure: &Structure,
        levels: impl Iterator<Item = &'a InferredLevel>,
    ) -> Levels {
        let observed_level = |level: &InferredLevel| {
            let grouped: usize = level.groups.iter().map(CpuSet::len).sum();
            ObservedLevel {
                name: level.name.clone(),
                groups: level.groups.clone(),
                alone: structure.cpus.len().saturating_sub(grouped),
            }
        };
        let levels: Vec<ObservedLevel> = levels.map(observed_level).collect();
        Levels { source: if levels.is_empty() { Source::One } else { Source::Observed(levels) } }
    }

    /// Renames corresponding levels of two sides to `group-N`, unless their names already agree.
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

    /// The inferred groups, finest first; `None` for other levels.
    pub fn observed(&self) -> Option<&[ObservedLevel]> {
        match &self.source {
            Source::Observed(levels) => Some(levels),
            _ => None,
        }
    }

    /// The topology that the system reports, if the levels follow it.
    pub fn topology(&self) -> Option<&Topology> {
        match &self.source {
            Source::Reported(topology) => Some(topology),
            Source::Observed(_) | Source::One => None,
        }
    }

    /// The rank (nearest first) and the name of the level of a subject. Each series is its own level.
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
                let holds_both = |group: &CpuSet| group.contains(*a) && group.contains(*b);
                match levels.iter().position(|level| level.groups.iter().any(holds_both)) {
                    Some(level) => (level as u32 + 1, levels[level].name.clone()),
                    None => (u32::MAX - 1, ACROSS.to_owned()),
                }
            }
            (ReadingKey::Pair(_), Source::One) => (0, ALL.to_owned()),
        }
    }

    /// Numbers of pairs of a series' CPUs by level: all pairs, and those with the first CPU, which has its own role.
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

    /// The name of a series with the relation of its CPUs instead of their numbers: `kind=mutex relation=l3`.
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
        match series.label.is_empty() || SeriesName::parse(&series.label).is_some() {
            true => format!("{} relation={relation}", series.label).trim().to_owned(),
            false => format!("{} ({relation})", series.label),
        }
    }

    /// The rank (nearest first) and the column of a level in a table of many sides. The number of an inferred level
    /// states only its position: the finest groups may be threads of a core on one machine and a die on another. Groups
    /// of two may be threads, and have their own column.
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

    pub(super) fn sizes(&self, level: &str) -> Vec<usize> {
        let known = self.observed().and_then(|observed| observed.iter().find(|known| known.name == level));
        let mut sizes: Vec<usize> =
            known.map_or(Vec::new(), |level| level.groups.iter().map(CpuSet::len).collect());
        sizes.sort_unstable();
        sizes
    }

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
