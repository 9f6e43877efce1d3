//! [`Record`]: the compact results of all visits of a run. [`Kinds`]: the kinds of cores of a pair on a hybrid machine.

use super::pass_rows::ColumnKind;
use super::passes::PassTable;
pub use super::passes::{CellPasses, ColumnValue, PassHead};
use super::{LatencySettings, PairChoice, Purpose, SpanSummary, Visit};
use crate::{CpuId, KernelId, Picos, Recording, Relation, Topology, TrialFailure};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The pairs of a run. `cell` of a visit is an index into this list. Each pair is in the CPU order of the settings.
pub fn cells(topology: &Topology, settings: &LatencySettings) -> Vec<[CpuId; 2]> {
    let cpus = &settings.cpus;
    let every = || (0..cpus.len()).flat_map(|high| (0..high).map(move |low| [cpus[low], cpus[high]]));
    match &settings.pairs {
        PairChoice::All => every().collect(),
        PairChoice::Siblings => every().filter(|[a, b]| topology.are_siblings(*a, *b)).collect(),
        PairChoice::Representatives => representatives(topology, every()),
        PairChoice::Listed(pairs) => pairs.clone(),
    }
}

/// Maximum number of representative pairs of one relation and combination of kinds of cores.
pub const REPRESENTATIVES_PER_RELATION: usize = 4;

/// A few pairs of each relation and combination of kinds of cores: first, last, and evenly spaced between.
pub fn representatives(topology: &Topology, pairs: impl Iterator<Item = [CpuId; 2]>) -> Vec<[CpuId; 2]> {
    let mut groups: BTreeMap<(Relation, Option<Kinds>), Vec<[CpuId; 2]>> = BTreeMap::new();
    for pair in pairs {
        let relation = topology.relation(pair[0], pair[1]);
        groups.entry((relation, Kinds::new(topology, pair))).or_default().push(pair);
    }
    groups
        .into_values()
        .flat_map(|group| {
            let take = REPRESENTATIVES_PER_RELATION.min(group.len());
            let last = group.len() - 1;
            (0..take).map(move |index| group[index * last / (take - 1).max(1)]).collect::<Vec<_>>()
        })
        .collect()
}

const MAX_LAYOUTS: usize = 8;

/// The results of all visits of a run, for [`analyse`](fn@super::analyse). Visits of the map are stored in columns: a
/// map of 1,024 CPUs has more than four million.
#[derive(Debug, Clone, Default)]
pub struct Record {
    columns: Vec<SpanColumn>,
    map: PassTable,
    map_revision: u64,
    located: Vec<KernelId>,
    scratch_rows: Vec<usize>,
    layouts: Vec<Vec<usize>>,
    others: Vec<Entry>,
    decisions: BTreeMap<String, String>,
    raw: Vec<KeptRecording>,
    segments: Vec<SegmentTime>,
    segment: u32,
}

/// One visit or failure, with its context.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The segment of the run. Each resumption begins a new segment with its own start of time.
    pub segment: u32,
    /// Purpose of the visit.
    pub purpose: Purpose,
    /// Pass number within the purpose.
    pub pass: u32,
    /// Index of the pair in the list of cells.
    pub cell: u32,
    /// The result.
    pub outcome: Result<Visit, TrialFailure>,
}

/// A recording kept because the result needs its individual samples.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRecording {
    /// Purpose of the visit.
    pub purpose: Purpose,
    /// Index of the pair in the list of cells.
    pub cell: u32,
    /// The samples.
    pub recording: Recording,
}

/// A column: the n-th span of a kernel within a visit. The CPUs of a cell on two nodes have two spans of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanColumn {
    /// The kernel.
    pub kernel: KernelId,
    /// 0 for the home of the first role (or the only home), 1 for the home of the second role.
    pub home: u8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct SegmentTime {
    segment: u32,
    first: Picos,
    last: Picos,
}

impl Record {
    /// An empty record.
    pub fn new() -> Record {
        Record::default()
    }

    /// Adds the result of one trial. The recording is kept if the result needs single samples (tails, imitations).
    pub fn push(&mut self, entry: Entry, raw: Option<&Recording>) {
        if entry.purpose == Purpose::Map {
            self.push_map(entry.segment, entry.pass, std::iter::once((entry.cell, &entry.outcome)));
            return;
        }
        self.begin_segment(entry.segment);
        if let Some(raw) = raw.filter(|_| entry.purpose.keeps_recordings()) {
            let recording = raw.clone();
            self.raw.push(KeptRecording { purpose: entry.purpose, cell: entry.cell, recording });
        }
        if let Ok(visit) = &entry.outcome {
            self.extend_segment(entry.segment, visit.started);
        }
        self.others.push(entry);
    }

    /// As [`push`](Record::push), for trials of the map on different cells. A map of 1,024 CPUs has four million
    /// outcomes, which are therefore borrowed and stored as numbers in columns.
    pub fn push_map<'a>(
        &mut self,
        segment: u32,
        pass: u32,
        trials: impl Iterator<Item = (u32, &'a Result<Visit, TrialFailure>)> + Clone,
    ) {
        self.begin_segment(segment);
        self.map_revision += 1;
        // Cells come in random order, so each is a cache miss. A short loop overlaps these misses.
        let mut rows = std::mem::take(&mut self.scratch_rows);
        rows.clear();
        for (cell, outcome) in trials.clone() {
            match outcome {
                Ok(visit) => {
                    let (started, core_ghz) = (visit.started, visit.core_ghz.unwrap_or(f32::NAN));
                    let head = PassHead { pass, segment, started, core_ghz, flags: visit.flags };
                    rows.push(self.map.begin(cell as usize, head));
                }
                Err(failure) => self.map.fail(cell as usize, failure),
            }
        }
        let visits = trials.filter_map(|(cell, outcome)| Some((cell, outcome.as_ref().ok()?)));
        for (&row, (cell, visit)) in rows.iter().zip(visits) {
            self.extend_segment(segment, visit.started);
            self.store_values(cell as usize, row, visit);
        }
        self.scratch_rows = rows;
    }

    /// Stores only the location in new columns of these kernels from now on.
    pub fn keep_locations_of(&mut self, kernels: &[KernelId]) {
        self.located = kernels.to_vec();
    }

    fn store_values(&mut self, cell: usize, row: usize, visit: &Visit) {
        let of_kernel = |(&column, span): (&usize, &SpanSummary)| self.columns[column].kernel == span.kernel;
        let fits = |layout: &Vec<usize>| {
            layout.len() == visit.spans.len() && layout.iter().zip(&visit.spans).all(of_kernel)
        };
        let known = self.layouts.iter().position(fits).unwrap_or_else(|| self.add_layout(visit));
        for (span, &column) in visit.spans.iter().zip(&self.layouts[known]) {
            let value = ColumnValue {
                location_ns: span.location_ns,
                line_error_ns: span.line_error_ns.unwrap_or(f32::NAN),
                floor_ns: span.floor_ns,
                line_spread: span.line_spread.unwrap_or(f32::NAN),
                kept: span.kept,
                dropped: span.dropped,
            };
            self.map.set(cell, row, column, value);
        }
    }

    fn add_layout(&mut self, visit: &Visit) -> usize {
        let mut layout = Vec::with_capacity(visit.spans.len());
        for (index, span) in visit.spans.iter().enumerate() {
            let before = visit.spans[..index].iter().filter(|earlier| earlier.kernel == span.kernel).count();
            layout.push(self.column_or_new(&span.kernel, before as u8));
        }
        // Visits of a map have two layouts: pairs on one node, and on two.
        if self.layouts.len() == MAX_LAYOUTS {
            self.layouts.clear();
        }
        self.layouts.push(layout);
        self.layouts.len() - 1
    }

    fn column_or_new(&mut self, kernel: &KernelId, home: u8) -> usize {
        self.column(kernel, home).unwrap_or_else(|| {
            self.columns.push(SpanColumn { kernel: kernel.clone(), home });
            let is_located = self.located.contains(kernel);
            self.map.add_column(if is_located { ColumnKind::Location } else { ColumnKind::Whole });
            self.columns.len() - 1
        })
    }

    /// Begins or continues a segment. Removes failures for lack of a CPU, which recur if the CPU is still lost.
    pub fn begin_segment(&mut self, segment: u32) {
        if segment > self.segment {
            self.segment = segment;
            self.map_revision += 1;
            self.map.forget(TrialFailure::missed_a_cpu);
        }
    }

    fn extend_segment(&mut self, segment: u32, at: Picos) {
        match self.segments.iter_mut().find(|time| time.segment == segment) {
            Some(time) => {
                time.first = time.first.min(at);
                time.last = time.last.max(at);
            }
            None => self.segments.push(SegmentTime { segment, first: at, last: at }),
        }
    }

    /// The column of a kernel on the first (0) or second (1) home.
    pub fn column(&self, kernel: &KernelId, home: u8) -> Option<usize> {
        self.columns.iter().position(|column| column.kernel == *kernel && column.home == home)
    }

    /// The columns of the map.
    pub fn columns(&self) -> &[SpanColumn] {
        &self.columns
    }

    /// The passes of the map over a cell; `None` for a cell without results.
    pub fn passes(&self, cell: usize) -> Option<CellPasses<'_>> {
        self.map.cell(cell)
    }

    /// A number that rises with every change of the passes of the map.
    pub fn map_revision(&self) -> u64 {
        self.map_revision
    }

    /// Results for other purposes than the map, in the order of the run.
    pub fn others(&self, purpose: Purpose) -> impl Iterator<Item = &Entry> {
        self.others.iter().filter(move |entry| entry.purpose == purpose)
    }

    /// Whether a visit lacked a CPU in an earlier segment and must be repeated.
    pub fn is_due_again(&self, entry: &Entry) -> bool {
        entry.segment < self.segment && entry.outcome.as_ref().is_err_and(TrialFailure::missed_a_cpu)
    }

    /// The recordings kept for a purpose.
    pub fn kept(&self, purpose: Purpose) -> impl Iterator<Item = &KeptRecording> {
        self.raw.iter().filter(move |kept| kept.purpose == purpose)
    }

    /// Stores a decision. A later decision with the same key replaces it.
    pub fn decide(&mut self, key: &str, value: &str) {
        self.decisions.insert(key.to_owned(), value.to_owned());
    }

    /// A stored decision, as JSON.
    pub fn decision(&self, key: &str) -> Option<&str> {
        self.decisions.get(key).map(String::as_str)
    }

    /// Time from the first to the last trial, summed over segments.
    pub fn watched(&self) -> Picos {
        self.segments.iter().fold(Picos::ZERO, |sum, time| sum + (time.last - time.first))
    }

    /// Whether the record has no results.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty() && self.others.is_empty()
    }
}

/// The kinds of the two cores of a pair. Pairs of fast cores sort before pairs of slow cores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kinds {
    ranks: [Reverse<u32>; 2],
    names: [String; 2],
}

impl Kinds {
    /// The kinds of a pair; `None` on a machine with one kind of core, or if a kind is unknown.
    pub fn new(topology: &Topology, [a, b]: [CpuId; 2]) -> Option<Kinds> {
        let (mut fast, mut slow) = (topology.class_of(a)?, topology.class_of(b)?);
        if topology.classes().len() < 2 {
            return None;
        }
        if fast.rank < slow.rank {
            std::mem::swap(&mut fast, &mut slow);
        }
        Some(Kinds {
            ranks: [Reverse(fast.rank), Reverse(slow.rank)],
            names: [fast.name.clone(), slow.name.clone()],
        })
    }

    /// The names of the kinds, the faster first.
    pub fn names(&self) -> &[String; 2] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::CoreClass;
    use std::collections::BTreeMap;

    fn machine(kinds: &[(u32, &str)]) -> Topology {
        let class = |&(rank, name): &(u32, &str)| CoreClass { rank, name: name.into() };
        let classes: BTreeMap<CpuId, CoreClass> =
            kinds.iter().enumerate().map(|(cpu, kind)| (CpuId(cpu as u32), class(kind))).collect();
        Topology::new((0..4).map(CpuId).collect(), Vec::new(), classes)
    }

    #[test]
    fn the_faster_kind_stands_first_whatever_the_order_of_the_pair() {
        let hybrid = machine(&[(0, "E"), (1, "P"), (0, "E"), (1, "P")]);
        let of = |a, b| Kinds::new(&hybrid, [CpuId(a), CpuId(b)]).unwrap();
        assert_eq!((of(0, 1), of(0, 1).names().join("–")), (of(1, 0), "P–E".to_owned()));
        assert!(of(1, 3) < of(0, 1) && of(0, 1) < of(0, 2));
    }

    #[test]
    fn a_single_or_unknown_kind_of_core_gives_no_kinds() {
        let pair = [CpuId(0), CpuId(1)];
        assert_eq!(Kinds::new(&machine(&[(0, "P"), (0, "P")]), pair), None);
        assert_eq!(Kinds::new(&machine(&[(0, "P")]), pair), None);
    }
}
