//! [`Record`]: everything that the visits of a run said, compactly, and the list of cells they speak about.

use super::{LatencySettings, PairChoice, Purpose, Visit};
use crate::{CpuId, Recording, Relation, Topology, TrialFailure};
use std::collections::BTreeMap;

/// The pairs of a run in the order of the plan: `from` stands before `to` in the order of the settings' CPUs. A
/// visit's `cell` is a position in this list.
pub fn cells(topology: &Topology, settings: &LatencySettings) -> Vec<[CpuId; 2]> {
    let cpus = &settings.cpus;
    let every = || (0..cpus.len()).flat_map(|high| (0..high).map(move |low| [cpus[low], cpus[high]]));
    match &settings.pairs {
        PairChoice::All => every().collect(),
        PairChoice::Siblings => every().filter(|[a, b]| topology.relation(*a, *b) == Relation::Smt).collect(),
        PairChoice::Representatives => representatives(topology, every()),
        PairChoice::Listed(pairs) => pairs.clone(),
    }
}

/// Pairs of one relation that stand for all of it.
pub const REPRESENTATIVES_PER_RELATION: usize = 4;

/// A few pairs of each relation, spread over the list: the first, the last, and evenly between.
pub fn representatives(topology: &Topology, pairs: impl Iterator<Item = [CpuId; 2]>) -> Vec<[CpuId; 2]> {
    let mut by_relation: BTreeMap<Relation, Vec<[CpuId; 2]>> = BTreeMap::new();
    for pair in pairs {
        by_relation.entry(topology.relation(pair[0], pair[1])).or_default().push(pair);
    }
    by_relation
        .into_values()
        .flat_map(|of_relation| {
            let take = REPRESENTATIVES_PER_RELATION.min(of_relation.len());
            let last = of_relation.len() - 1;
            (0..take).map(move |index| of_relation[index * last / (take - 1).max(1)]).collect::<Vec<_>>()
        })
        .collect()
}

/// Everything that the visits of a run said. Built while measuring and when a run file is read; [`analyse`] makes the
/// result from it, so both say the same.
///
/// [`analyse`]: super::analyse
#[derive(Debug, Clone, Default)]
pub struct Record {
    entries: Vec<Entry>,
    decisions: BTreeMap<String, String>,
    raw: Vec<(Purpose, u32, Recording)>,
}

/// One visit or failure, with where it belongs.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which sitting of the run: each resumption begins a new one with a time line of its own.
    pub segment: u32,
    /// Why it was made.
    pub purpose: Purpose,
    /// Pass number within the purpose.
    pub pass: u32,
    /// Position of the pair in the list of cells.
    pub cell: u32,
    /// What it said.
    pub outcome: Result<Visit, TrialFailure>,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Record {
        Record::default()
    }

    /// Adds what one trial said. Its recording is kept where the result needs single samples (tails, imitations).
    pub fn push(&mut self, entry: Entry, raw: Option<&Recording>) {
        if let (Some(raw), Purpose::Tails | Purpose::Imitation) = (raw, entry.purpose) {
            self.raw.push((entry.purpose, entry.cell, raw.clone()));
        }
        self.entries.push(entry);
    }

    /// Notes a choice.
    pub fn decide(&mut self, key: &str, value: &str) {
        self.decisions.insert(key.to_owned(), value.to_owned());
    }

    /// A choice noted before, as JSON.
    pub fn decision(&self, key: &str) -> Option<&str> {
        self.decisions.get(key).map(String::as_str)
    }

    /// What was said, in the order of the run.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
