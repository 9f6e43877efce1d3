//! [`Record`]: everything that the visits of a run said, compactly, and the list of cells they speak about.

use super::{Kinds, LatencySettings, PairChoice, Purpose, Visit};
use crate::stats::LOOKS;
use crate::{CpuId, Flags, KernelId, Picos, Recording, Relation, Topology, TrialFailure};
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

/// Pairs of one relation that stand for all of it, and of one combination of kinds of cores where there are several.
pub const REPRESENTATIVES_PER_RELATION: usize = 4;

/// A few pairs of each relation and combination of kinds of cores, spread over the list: the first, the last, and
/// evenly between.
pub fn representatives(topology: &Topology, pairs: impl Iterator<Item = [CpuId; 2]>) -> Vec<[CpuId; 2]> {
    let mut alike: BTreeMap<(Relation, Option<Kinds>), Vec<[CpuId; 2]>> = BTreeMap::new();
    for pair in pairs {
        let relation = topology.relation(pair[0], pair[1]);
        alike.entry((relation, Kinds::of(topology, pair))).or_default().push(pair);
    }
    alike
        .into_values()
        .flat_map(|alike| {
            let take = REPRESENTATIVES_PER_RELATION.min(alike.len());
            let last = alike.len() - 1;
            (0..take).map(move |index| alike[index * last / (take - 1).max(1)]).collect::<Vec<_>>()
        })
        .collect()
}

/// Everything that the visits of a run said. Built while measuring and when a run file is read;
/// [`analyse`](fn@super::analyse) makes the result from it, so both say the same.
///
/// A map of 1,024 CPUs has more than four million visits, so those of the map are kept as columns; the few others
/// are kept as they came.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// What the columns of [`CellPasses`] mean.
    slots: Vec<SlotId>,
    /// By cell.
    map: Vec<CellPasses>,
    others: Vec<Entry>,
    decisions: BTreeMap<String, String>,
    raw: Vec<KeptRecording>,
    segments: Vec<SegmentTime>,
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

/// A recording whose single samples the result needs.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRecording {
    /// Why it was made.
    pub purpose: Purpose,
    /// Position of the pair in the list of cells.
    pub cell: u32,
    /// The samples.
    pub recording: Recording,
}

/// A column: the n-th span of a kernel within a visit. A cell whose CPUs live on two nodes has two spans of a kernel,
/// the first on the node of its `from`, the second on that of its `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotId {
    /// The code.
    pub kernel: KernelId,
    /// 0 for the home of the first role (or the only home), 1 for that of the second.
    pub home: u8,
}

/// The passes of the map over one cell, in the order of the run.
#[derive(Debug, Clone, Default)]
pub struct CellPasses {
    /// One for each pass.
    pub passes: Vec<PassHead>,
    /// Pass by pass, as many as `width` each; see [`CellPasses::slot`].
    values: Vec<Stored>,
    /// Beside `values`; empty where none is known, as for adaptive counts: 4 of 24 bytes, 12 million times.
    line_errors: Vec<f32>,
    /// The run's slots that this cell has room for in each pass.
    width: usize,
    /// Why the last visit gave nothing, if it did.
    pub failure: Option<TrialFailure>,
}

/// When and under what a pass was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassHead {
    /// Pass number.
    pub pass: u32,
    /// Sitting of the run.
    pub segment: u32,
    /// When it began, on the time line of the sitting.
    pub started: Picos,
    /// Mean core clock of both CPUs in GHz; not a number where unknown.
    pub core_ghz: f32,
    /// Evidence.
    pub flags: Flags,
}

/// What one pass said in one slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotValue {
    /// Half round trip in nanoseconds; not a number where the slot was not measured in this pass.
    pub location_ns: f32,
    /// Standard error of the location from the spread over lines, in nanoseconds; not a number where unknown.
    pub line_error_ns: f32,
    /// Fastest batch, half round trip in nanoseconds.
    pub floor_ns: f32,
    /// p90 ÷ p10 over lines; not a number where there were too few.
    pub line_spread: f32,
    /// Batches kept.
    pub kept: u32,
    /// Batches dropped.
    pub dropped: u32,
}

/// A [`SlotValue`] as it is kept.
#[derive(Debug, Clone, Copy)]
struct Stored {
    location_ns: f32,
    floor_ns: f32,
    line_spread: f32,
    kept: u32,
    dropped: u32,
}

impl Stored {
    const NONE: Stored =
        Stored { location_ns: f32::NAN, floor_ns: f32::NAN, line_spread: f32::NAN, kept: 0, dropped: 0 };
}

impl CellPasses {
    /// What a pass (by position in `passes`) said in a slot; `None` where it said nothing.
    pub fn slot(&self, pass: usize, slot: usize) -> Option<SlotValue> {
        if slot >= self.width {
            return None;
        }
        let at = pass * self.width + slot;
        let value = self.values.get(at).filter(|value| value.location_ns.is_finite())?;
        Some(SlotValue {
            location_ns: value.location_ns,
            line_error_ns: self.line_errors.get(at).copied().unwrap_or(f32::NAN),
            floor_ns: value.floor_ns,
            line_spread: value.line_spread,
            kept: value.kept,
            dropped: value.dropped,
        })
    }

    /// Adds a pass that says nothing yet.
    fn begin(&mut self, head: PassHead) {
        // Room for exactly the first look, in one piece: growing by doubling leaves a quarter of it unused.
        if self.passes.len() == self.passes.capacity() {
            let more = self.passes.len().max(LOOKS[0]);
            self.passes.reserve_exact(more);
            self.values.reserve_exact(more * self.width);
        }
        self.passes.push(head);
        self.values.resize(self.passes.len() * self.width, Stored::NONE);
        if !self.line_errors.is_empty() {
            self.line_errors.resize(self.values.len(), f32::NAN);
        }
    }

    /// Makes room for as many slots. Rare beyond the first pass: a run times the same kernels in each.
    fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let old = std::mem::take(self);
        *self = CellPasses { width, failure: old.failure.clone(), ..CellPasses::default() };
        for (pass, &head) in old.passes.iter().enumerate() {
            self.begin(head);
            (0..old.width)
                .filter_map(|slot| Some((slot, old.slot(pass, slot)?)))
                .for_each(|(slot, value)| self.set(slot, value));
        }
    }

    /// Says something in a slot of the last pass.
    fn set(&mut self, slot: usize, value: SlotValue) {
        let at = self.values.len() - self.width + slot;
        if value.line_error_ns.is_finite() {
            self.line_errors.resize(self.values.len(), f32::NAN);
            self.line_errors[at] = value.line_error_ns;
        }
        self.values[at] = Stored {
            location_ns: value.location_ns,
            floor_ns: value.floor_ns,
            line_spread: value.line_spread,
            kept: value.kept,
            dropped: value.dropped,
        };
    }
}

/// First and last moment of a sitting.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SegmentTime {
    segment: u32,
    first: Picos,
    last: Picos,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Record {
        Record::default()
    }

    /// Adds what one trial said. Its recording is kept where the result needs single samples (tails, imitations).
    pub fn push(&mut self, entry: Entry, raw: Option<&Recording>) {
        if entry.purpose == Purpose::Map {
            self.push_map(entry.segment, entry.pass, entry.cell, &entry.outcome);
            return;
        }
        if let (Some(raw), Purpose::Tails | Purpose::Imitation) = (raw, entry.purpose) {
            let recording = raw.clone();
            self.raw.push(KeptRecording { purpose: entry.purpose, cell: entry.cell, recording });
        }
        if let Ok(visit) = &entry.outcome {
            self.saw(entry.segment, visit.started);
        }
        self.others.push(entry);
    }

    /// [`push`](Record::push) for a trial of the map, whose outcome stays with the caller: it becomes numbers in
    /// columns here, and a map of 1,024 CPUs has four million.
    pub fn push_map(&mut self, segment: u32, pass: u32, cell: u32, outcome: &Result<Visit, TrialFailure>) {
        let cell = cell as usize;
        if self.map.len() <= cell {
            self.map.resize_with(cell + 1, CellPasses::default);
        }
        let visit = match outcome {
            Ok(visit) => visit,
            Err(failure) => {
                self.map[cell].failure = Some(failure.clone());
                return;
            }
        };
        self.saw(segment, visit.started);
        let passes = &mut self.map[cell];
        // Whatever was wrong is over.
        passes.failure = None;
        passes.widen(visit.spans.len());
        passes.begin(PassHead {
            pass,
            segment,
            started: visit.started,
            core_ghz: visit.core_ghz.unwrap_or(f32::NAN),
            flags: visit.flags,
        });
        for (index, span) in visit.spans.iter().enumerate() {
            let before = visit.spans[..index].iter().filter(|earlier| earlier.kernel == span.kernel).count();
            let slot = self.slot_or_new(&span.kernel, before as u8);
            let passes = &mut self.map[cell];
            passes.widen(slot + 1);
            passes.set(
                slot,
                SlotValue {
                    location_ns: span.location_ns,
                    line_error_ns: span.line_error_ns.unwrap_or(f32::NAN),
                    floor_ns: span.floor_ns,
                    line_spread: span.line_spread.unwrap_or(f32::NAN),
                    kept: span.kept,
                    dropped: span.dropped,
                },
            );
        }
    }

    fn slot_or_new(&mut self, kernel: &KernelId, home: u8) -> usize {
        self.slot(kernel, home).unwrap_or_else(|| {
            self.slots.push(SlotId { kernel: kernel.clone(), home });
            self.slots.len() - 1
        })
    }

    fn saw(&mut self, segment: u32, at: Picos) {
        match self.segments.iter_mut().find(|time| time.segment == segment) {
            Some(time) => {
                time.first = time.first.min(at);
                time.last = time.last.max(at);
            }
            None => self.segments.push(SegmentTime { segment, first: at, last: at }),
        }
    }

    /// The column of a kernel on the first (0) or second (1) home.
    pub fn slot(&self, kernel: &KernelId, home: u8) -> Option<usize> {
        self.slots.iter().position(|slot| slot.kernel == *kernel && slot.home == home)
    }

    /// The columns of the map.
    pub fn slots(&self) -> &[SlotId] {
        &self.slots
    }

    /// The passes of the map over a cell; `None` for a cell that nothing was said about.
    pub fn passes(&self, cell: usize) -> Option<&CellPasses> {
        self.map.get(cell)
    }

    /// What was said for other purposes than the map, in the order of the run.
    pub fn others(&self, purpose: Purpose) -> impl Iterator<Item = &Entry> {
        self.others.iter().filter(move |entry| entry.purpose == purpose)
    }

    /// The recordings kept for a purpose.
    pub fn kept(&self, purpose: Purpose) -> impl Iterator<Item = &KeptRecording> {
        self.raw.iter().filter(move |kept| kept.purpose == purpose)
    }

    /// Notes a choice; a later one of the same key replaces it.
    pub fn decide(&mut self, key: &str, value: &str) {
        self.decisions.insert(key.to_owned(), value.to_owned());
    }

    /// A choice noted before, as JSON.
    pub fn decision(&self, key: &str) -> Option<&str> {
        self.decisions.get(key).map(String::as_str)
    }

    /// Time from the first to the last trial, summed over sittings.
    pub fn watched(&self) -> Picos {
        self.segments.iter().fold(Picos::ZERO, |sum, time| sum + (time.last - time.first))
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty() && self.others.is_empty()
    }
}
