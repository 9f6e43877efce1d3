//! [`LatencyResult`]: what follows from all passes. Derived from visits by [`analyse`](crate::latency), never stored
//! as the only truth.

use super::{EmptyRung, ExecutionTest, LatencySettings};
use crate::stats::Estimate;
use crate::{
    CpuId, Flags, Grade, Hint, Home, KernelId, Matrix, Picos, Protocol, Reason, Relation, Tool, TrialFailure,
};

/// Everything a latency run found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencyResult {
    /// One map per protocol, in the order asked.
    pub maps: Vec<LatencyMap>,
    /// The ladder, by relation from the nearest, then by kinds of cores from the fastest.
    pub ladder: Vec<LadderRow>,
    /// Distributions of single round trips.
    pub tails: Vec<TailSeries>,
    /// Other tools' numbers, one for each tool asked.
    pub imitated: Vec<Imitated>,
    /// What the machine did while it was watched; `None` where too few passes were made to say.
    pub watch: Option<StateWatch>,
    /// Which CPUs share the units that execute, of the pairs that were tested.
    pub execution: Vec<ExecutionTest>,
    /// Every planned trial has an outcome, or the budget ended.
    pub complete: bool,
    /// The budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
    /// Passes over the map.
    pub passes: u32,
    /// Machine time that its passes were made in; that of all trials where too few passes were made to say.
    pub watched: Picos,
}

impl LatencyResult {
    /// What the budget left no time for, of these pairs; nothing where it did not end the run.
    pub fn left_out(&self, settings: &LatencySettings, pairs: &[[CpuId; 2]]) -> Vec<LeftOut> {
        if !self.budget_ended {
            return Vec::new();
        }
        let count =
            |is_missing: &dyn Fn([CpuId; 2]) -> bool| pairs.iter().filter(|pair| is_missing(**pair)).count();
        let of_map = |map: &LatencyMap| {
            count(&|pair| match at(&map.cells, pair) {
                Some(Cell::Missing { reason }) => *reason == MissingReason::NotReached,
                Some(Cell::Measured(_)) | None => false,
            })
        };
        let of_tool = |imitated: &Imitated| count(&|pair| imitated.misses(pair));
        let missing = self.maps.iter().map(of_map).chain(self.imitated.iter().map(of_tool)).max();
        let has_tail = |pair| self.tails.iter().any(|series| series.placement == pair);
        // Of a CPU that left and of a pair that failed the reason is another one than time.
        let is_lost = |pair| {
            let cell = self.maps.first().and_then(|map| at(&map.cells, pair));
            matches!(cell, Some(Cell::Missing { reason }) if *reason != MissingReason::NotReached)
        };
        let tails = match settings.tails {
            Some(_) => count(&|pair| !has_tail(pair) && !is_lost(pair)),
            None => 0,
        };
        [
            (missing.unwrap_or(0) > 0).then(|| LeftOut::Pairs(missing.unwrap_or(0))),
            (settings.ladder && self.ladder.is_empty()).then_some(LeftOut::Ladder),
            (tails > 0).then_some(LeftOut::SingleRoundTrips(tails)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The first map of round trips, which groups and placements follow from: not of one way.
    pub fn round_trips(&self) -> Option<&LatencyMap> {
        self.maps.iter().find(|map| map.protocol != Protocol::OneWay)
    }
}

impl Imitated {
    /// Whether a run ended before the pair was measured, in either direction.
    pub fn misses(&self, [a, b]: [CpuId; 2]) -> bool {
        let is_missing = |pair| at(&self.cells, pair) == Some(&Err(MissingReason::NotReached));
        is_missing([a, b]) || is_missing([b, a])
    }

    /// Why the pair has no value in one of its directions although it was visited; `None` where it has all.
    pub fn failed(&self, [a, b]: [CpuId; 2]) -> Option<&MissingReason> {
        let errors = [[a, b], [b, a]].into_iter().filter_map(|pair| at(&self.cells, pair)?.as_ref().err());
        errors.into_iter().find(|error| **error != MissingReason::NotReached)
    }
}

fn at<T>(cells: &Matrix<T>, [a, b]: [CpuId; 2]) -> Option<&T> {
    cells.get(cells.position(a)?, cells.position(b)?)
}

/// What a run left out because its budget ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Number of pairs without a value, of the map or tool that lacks most.
    Pairs(usize),
    /// All of the ladder.
    Ladder,
    /// Number of pairs without single round trips.
    SingleRoundTrips(usize),
    /// Number of trials.
    Trials(usize),
}

impl LeftOut {
    /// Its stable name, and how many there are.
    pub fn parts(self) -> (&'static str, usize) {
        match self {
            LeftOut::Pairs(pairs) => ("pairs", pairs),
            LeftOut::Ladder => ("ladder", 1),
            LeftOut::SingleRoundTrips(pairs) => ("single-round-trips", pairs),
            LeftOut::Trials(trials) => ("trials", trials),
        }
    }
}

/// A square table under one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyMap {
    /// The protocol.
    pub protocol: Protocol,
    /// The code of every cell: one kernel per map.
    pub kernel: KernelId,
    /// The hint in it.
    pub hint: Hint,
    /// Why this hint: `asked`, or what the pilot found.
    pub hint_reason: String,
    /// How pairs were measured.
    pub regime: Regime,
    /// The cells: half round trips.
    pub cells: Matrix<Cell>,
}

impl LatencyMap {
    /// Whether some cell is as precise as this (a share) in core cycles alone: where the core clock moves, nanoseconds
    /// move with it, whatever the number of passes.
    pub fn needs_cycles(&self, precision: f64) -> bool {
        let is_wide = |estimate: &Estimate| estimate.relative_reach() > precision * (1.0 + 1e-9);
        let values = self.cells.iter().filter_map(|(_, _, cell)| cell.value());
        let mut values = values.filter(|value| is_wide(&value.latency_ns));
        values.any(|value| value.cycles.is_some_and(|cycles| !is_wide(&cycles)))
    }
}

/// How pairs were measured: alone, or several at the same time with proof of what that changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Regime {
    /// One pair at a time on an otherwise idle machine: the reference condition.
    #[default]
    Serial,
    /// Disjoint pairs at the same time.
    Parallel {
        /// At most so many pairs.
        pairs: u32,
        /// What the equivalence gate said, per relation.
        gate: Vec<GateOutcome>,
    },
}

impl Regime {
    /// The stable name used in JSON and titles.
    pub fn name(&self) -> &'static str {
        match self {
            Regime::Serial => "serial",
            Regime::Parallel { .. } => "parallel",
        }
    }
}

/// What the equivalence gate said about one relation.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GateOutcome {
    /// The relation.
    pub relation: Relation,
    /// Pairs at the same time that were allowed in the end; 1 is serial.
    pub pairs: u32,
    /// Shift of parallel against serial, relative (0.01 is 1 % more), with its 90 % interval.
    pub bias: Estimate,
    /// Cells measured both ways.
    pub cells: u32,
    /// Whether the shift is proven to lie within the margin: ± 1 %, of series ± the precision asked for where that is
    /// more.
    pub equivalent: bool,
}

impl GateOutcome {
    /// No cell was measured both ways (yet): nothing is known of the bias. Finite, because decisions travel as JSON,
    /// which has no infinity; the confidence of zero says it.
    pub const UNKNOWN: Estimate =
        Estimate { point: 0.0, low: -1.0, high: 1.0, confidence: 0.0, effective_n: 0.0 };

    /// Whether the shift is known: cells have values of both ways, enough for an interval.
    pub fn is_compared(&self) -> bool {
        self.cells > 0 && self.bias.confidence > 0.0
    }
}

/// One pair: a value, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
// Nearly all of half a million are measured, and a box costs 32 bytes for each.
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Cell {
    /// Measured.
    Measured(CellValue),
    /// Not measured, and why.
    Missing {
        /// The reason.
        reason: MissingReason,
    },
}

impl Cell {
    /// The value, where there is one.
    pub fn value(&self) -> Option<&CellValue> {
        match self {
            Cell::Measured(value) => Some(value),
            Cell::Missing { .. } => None,
        }
    }
}

/// What is known about one pair under the map's kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct CellValue {
    /// Half round trip in nanoseconds as read: that of the largest state.
    pub latency_ns: Estimate,
    /// The same in core cycles, scaled pass by pass by the measured core clock.
    pub cycles: Option<Estimate>,
    /// Median core clock of its passes in GHz.
    pub core_ghz: Option<f64>,
    /// Fastest batch in nanoseconds: a floor, no location.
    pub min_ns: f64,
    /// Batches kept in all passes.
    pub batches: u64,
    /// Batches dropped as gaps.
    pub dropped: u64,
    /// Passes.
    pub passes: u32,
    /// The home of the headline.
    pub home: Home,
    /// Worse home ÷ better home, where the CPUs live on different nodes.
    pub home_penalty: Option<f64>,
    /// p90 ÷ p10 over lines, median over passes.
    pub line_spread: Option<f64>,
    /// Plateaus by falling share; empty where the machine held still.
    pub states: Vec<CellState>,
    /// Least and most that CAS without pause took in the passes that count, in nanoseconds: which state of the machine the
    /// value is from. `None` where it was not timed.
    pub cas_ns: Option<[f64; 2]>,
    /// How far it may be trusted.
    pub grade: Grade,
    /// Doubts and remarks.
    pub flags: Flags,
    /// The gravest doubt.
    pub reason: Option<Reason>,
}

/// One plateau of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellState {
    /// Share of the passes, 0 to 1.
    pub share: f64,
    /// Half round trip in nanoseconds.
    pub latency_ns: Estimate,
}

/// One number of the ladder: a step under a relation, of one combination of kinds of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRow {
    /// The relation of the pairs.
    pub relation: Relation,
    /// The kinds of their cores, the faster first; `None` on a machine with one kind.
    pub classes: Option<[String; 2]>,
    /// The code that ran: its [step](KernelId::step) and its hint.
    pub kernel: KernelId,
    /// Median over representative pairs of the half round trip in nanoseconds; interval over the pairs and passes. All in
    /// the state of the machine that the cell of each pair is from; `None` where a pair was not visited in it.
    pub latency_ns: Option<Estimate>,
    /// Lowest and highest pair.
    pub range_ns: Option<[f64; 2]>,
    /// Representative pairs that it is from.
    pub pairs: u32,
    /// Why there is no value.
    pub reason: Option<EmptyRung>,
}

/// The distribution of single round trips of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct TailSeries {
    /// Initiator and responder.
    pub placement: [CpuId; 2],
    /// The code that ran.
    pub kernel: KernelId,
    /// Counts of single half round trips by value in picoseconds, rising: raw, the clock's cost inside.
    pub raw: Vec<(u64, u64)>,
    /// Median cost of reading the clock once in a round trip, in nanoseconds: half of it is in each raw value.
    pub clock_ns: f64,
    /// What messages at a steady rate would have seen, in picoseconds: corrected from the recorded gaps.
    pub at_rate: Vec<(u64, u64)>,
    /// That rate in messages per second.
    pub rate_per_s: f64,
    /// How long it was observed.
    pub observed: Picos,
    /// Round trips whose time net of the clock would be negative.
    pub negative_net: u64,
}

impl TailSeries {
    /// A percentile net of the clock, in nanoseconds: with its sign, since what is clipped lies. The clock is read once in
    /// a round trip, so that half of its cost is in each half.
    pub fn net_ns(&self, share: f64) -> Option<f64> {
        super::summary::counts_percentile(&self.raw, share).map(|ps| ps as f64 / 1e3 - self.clock_ns / 2.0)
    }
}

/// Another tool's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Imitated {
    /// The tool.
    pub tool: Tool,
    /// Its statistic for every pair, or why there is none.
    pub cells: Matrix<Result<ImitatedCell, MissingReason>>,
}

/// Why a pair has no value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissingReason {
    /// Its visits failed.
    Failed(TrialFailure),
    /// The run ended before the first visit.
    NotReached,
    /// The run measures other pairs.
    NotRequested,
    /// Both CPUs are the same.
    SameCpu,
    /// No batch took a step of the clock.
    CoarseClock,
    /// The number of another tool cannot be distinguished from zero.
    CoarseToolClock,
    /// The variation is less than this step of the clock.
    WithinClockStep(Picos),
}

/// One cell as another tool would print it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImitatedCell {
    /// Its number, in nanoseconds.
    pub value_ns: f64,
    /// Its ± where it prints one, in nanoseconds (for core-to-core-latency a standard error, not a spread).
    pub spread_ns: Option<f64>,
}

/// What the machine did while it was watched, from the kernel that shows states best.
#[derive(Debug, Clone, PartialEq)]
pub struct StateWatch {
    /// From the first to the last pass that tells of states, summed over segments.
    pub watched: Picos,
    /// The pair whose states are told: the only one, or the one that changed most. `None` where no pair changed and
    /// there are several.
    pub pair: Option<[CpuId; 2]>,
    /// The states by falling share; one means that the machine held still.
    pub states: Vec<WatchedState>,
    /// The pass values in time order: when, half round trip in nanoseconds, index of the state. Empty
    /// where `pair` is `None`.
    pub line: Vec<(Picos, f64, u8)>,
    /// Share of the cells that changed state.
    pub cells_changed: f64,
}

/// One state of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedState {
    /// Share of the passes, 0 to 1.
    pub share: f64,
    /// How often it was entered.
    pub visits: u32,
    /// Longest stay, as far as the passes show.
    pub longest: Picos,
    /// Half round trips in this state per kernel, for one pair; the headline's first.
    pub kernels: Vec<(KernelId, Estimate)>,
}
