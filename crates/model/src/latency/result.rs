//! [`LatencyResult`]: the results of all passes, derived from stored visits by [`analyse`](crate::latency).

use super::{EmptyRung, ExecutionTest, LatencySettings};
use crate::stats::Estimate;
use crate::{
    CpuId, Flags, Grade, Hint, Home, KernelId, Matrix, OrNan, Picos, Protocol, Relation, Tool, TrialFailure,
};

/// All results of a latency run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencyResult {
    /// One map per protocol, in the requested order.
    pub maps: Vec<LatencyMap>,
    /// The ladder, by relation from the nearest, then by kinds of cores from the fastest.
    pub ladder: Vec<LadderRow>,
    /// Distributions of single round trips.
    pub tails: Vec<TailSeries>,
    /// Results of the imitated tools.
    pub imitated: Vec<Imitated>,
    /// The states of the machine during the run; `None` with too few passes.
    pub watch: Option<StateWatch>,
    /// Tests for execution units that pairs of CPUs share.
    pub execution: Vec<ExecutionTest>,
    /// Whether every planned trial has an outcome, or the budget ended.
    pub complete: bool,
    /// Whether the budget ended before the precision was reached everywhere.
    pub budget_ended: bool,
    /// Number of passes over the map.
    pub passes: u32,
    /// Time from the first to the last pass (or trial, if there are too few passes for states), summed over segments.
    pub watched: Picos,
}

impl LatencyResult {
    /// The parts for these pairs that were left out for lack of time; empty if the budget did not end the run.
    pub fn left_out(&self, settings: &LatencySettings, pairs: &[[CpuId; 2]]) -> Vec<LeftOut> {
        if !self.budget_ended {
            return Vec::new();
        }
        let count =
            |is_missing: &dyn Fn([CpuId; 2]) -> bool| pairs.iter().filter(|pair| is_missing(**pair)).count();
        let of_map = |map: &LatencyMap| {
            count(&|pair| match at(&map.cells, pair) {
                Some(PairOutcome::Missing { reason }) => *reason == MissingReason::NotReached,
                Some(PairOutcome::Measured(_)) | None => false,
            })
        };
        let of_tool = |imitated: &Imitated| count(&|pair| imitated.misses(pair));
        let missing = self.maps.iter().map(of_map).chain(self.imitated.iter().map(of_tool)).max();
        let has_tail = |pair| self.tails.iter().any(|series| series.placement == pair);
        let is_lost = |pair| {
            let cell = self.maps.first().and_then(|map| at(&map.cells, pair));
            matches!(cell, Some(PairOutcome::Missing { reason }) if *reason != MissingReason::NotReached)
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

    /// The first map of round trips, the source of groups and placements. Never a map of one way.
    pub fn round_trips(&self) -> Option<&LatencyMap> {
        self.maps.iter().find(|map| map.protocol != Protocol::OneWay)
    }
}

impl Imitated {
    /// Whether the run ended before the pair was measured in both directions.
    pub fn misses(&self, [a, b]: [CpuId; 2]) -> bool {
        let is_missing = |pair| at(&self.cells, pair) == Some(&Err(MissingReason::NotReached));
        is_missing([a, b]) || is_missing([b, a])
    }

    /// Why a visited direction of the pair has no value; `None` without such a direction.
    pub fn failed(&self, [a, b]: [CpuId; 2]) -> Option<&MissingReason> {
        let errors = [[a, b], [b, a]].into_iter().filter_map(|pair| at(&self.cells, pair)?.as_ref().err());
        errors.into_iter().find(|error| **error != MissingReason::NotReached)
    }
}

fn at<T>(cells: &Matrix<T>, [a, b]: [CpuId; 2]) -> Option<&T> {
    cells.get(cells.position(a)?, cells.position(b)?)
}

/// A part of a run without results, because the budget ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Number of pairs without a value, in the map or tool that lacks most.
    Pairs(usize),
    /// The whole ladder.
    Ladder,
    /// Number of pairs without single round trips.
    SingleRoundTrips(usize),
    /// Number of trials.
    Trials(usize),
}

impl LeftOut {
    /// The stable name of the part, and the number left out.
    pub fn parts(self) -> (&'static str, usize) {
        match self {
            LeftOut::Pairs(pairs) => ("pairs", pairs),
            LeftOut::Ladder => ("ladder", 1),
            LeftOut::SingleRoundTrips(pairs) => ("single-round-trips", pairs),
            LeftOut::Trials(trials) => ("trials", trials),
        }
    }
}

/// The matrix of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyMap {
    /// The protocol.
    pub protocol: Protocol,
    /// The kernel of all cells.
    pub kernel: KernelId,
    /// The hint of the kernel.
    pub hint: Hint,
    /// Why this hint was chosen: `requested`, or the result of the pilot.
    pub hint_reason: String,
    /// How pairs were measured.
    pub regime: Regime,
    /// The cells: half round trips.
    pub cells: Matrix<PairOutcome>,
}

impl LatencyMap {
    /// Whether some cell reaches this precision (a share) only in core cycles, because the core clock varies.
    pub fn needs_cycles(&self, precision: f64) -> bool {
        let is_wide = |estimate: &Estimate| estimate.relative_reach() > precision * (1.0 + 1e-9);
        let values = self.cells.iter().filter_map(|(_, _, cell)| cell.value());
        let mut values = values.filter(|value| is_wide(&value.latency_ns));
        values.any(|value| value.cycles.get().is_some_and(|cycles| !is_wide(&cycles)))
    }
}

/// How pairs were measured: alone, or several at the same time after a check of the effect.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Regime {
    /// One pair at a time on an otherwise idle machine: the reference condition.
    #[default]
    Serial,
    /// Disjoint pairs at the same time.
    Parallel {
        /// Maximum number of pairs.
        pairs: u32,
        /// Results of the equivalence gate, per relation.
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

/// The result of the equivalence gate for one relation.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GateOutcome {
    /// The relation.
    pub relation: Relation,
    /// Finally allowed number of simultaneous pairs; 1 is serial.
    pub pairs: u32,
    /// Relative shift of parallel against serial (0.01 is 1 % more), with its 90 % interval.
    pub bias: Estimate,
    /// Number of cells measured in both regimes.
    pub cells: u32,
    /// Whether the shift is proven to be within ± 1 %, or, for series, within a wider requested precision.
    pub equivalent: bool,
}

impl GateOutcome {
    /// The bias if no cell was measured in both regimes. JSON has no infinity, so a confidence of zero marks it.
    pub const UNKNOWN: Estimate =
        Estimate { point: 0.0, low: -1.0, high: 1.0, confidence: 0.0, effective_n: 0.0 };

    /// Whether enough cells were measured in both regimes for an interval of the shift.
    pub fn is_compared(&self) -> bool {
        self.cells > 0 && self.bias.confidence > 0.0
    }
}

/// One pair: a value, or the reason for a missing value.
#[derive(Debug, Clone, PartialEq)]
// Nearly all of half a million pairs are measured, and a box costs 32 bytes for each.
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum PairOutcome {
    /// Measured.
    Measured(CellValue),
    /// Not measured.
    Missing {
        /// The reason.
        reason: MissingReason,
    },
}

impl PairOutcome {
    /// The value, if measured.
    pub fn value(&self) -> Option<&CellValue> {
        match self {
            PairOutcome::Measured(value) => Some(value),
            PairOutcome::Missing { .. } => None,
        }
    }
}

/// The result of one pair under the map's kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct CellValue {
    /// Half round trip in nanoseconds, in the most frequent state.
    pub latency_ns: Estimate,
    /// Half round trip in core cycles, scaled pass by pass by the measured core clock.
    pub cycles: OrNan<Estimate>,
    /// Median core clock of the passes in GHz.
    pub core_ghz: OrNan<f64>,
    /// Fastest batch in nanoseconds. A lower bound, not a location.
    pub min_ns: f64,
    /// Number of batches kept in all passes.
    pub batches: u64,
    /// Number of batches dropped as stalls.
    pub dropped: u64,
    /// Number of passes.
    pub passes: u32,
    /// The home node of the lines for `latency_ns`.
    pub home: Home,
    /// Worse home ÷ better home, if the CPUs are on different nodes.
    pub home_penalty: OrNan<f64>,
    /// p90 ÷ p10 over lines, median over passes.
    pub line_spread: OrNan<f64>,
    /// Range of CAS without pause in the passes that count, in nanoseconds, which identifies the machine state.
    pub cas_ns: OrNan<[f32; 2]>,
    /// The grade of reliability.
    pub grade: Grade,
    /// Doubts and notices.
    pub flags: Flags,
    /// Facts that few cells have.
    pub rare: Option<Box<RareFacts>>,
}

/// The facts about a cell that few cells have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RareFacts {
    /// Plateaus by descending share; empty for a single plateau.
    pub states: Vec<CellState>,
    /// The failure that ended the passes of the cell, if there are too few passes.
    pub lost: Option<TrialFailure>,
}

impl CellValue {
    /// Plateaus by descending share; empty for a single plateau.
    pub fn states(&self) -> &[CellState] {
        self.rare.as_deref().map_or(&[], |rare| &rare.states)
    }

    /// [`CellValue::cas_ns`] as `f64`.
    pub fn cas_range_ns(&self) -> Option<[f64; 2]> {
        self.cas_ns.get().map(|range| range.map(f64::from))
    }
}

/// One plateau of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellState {
    /// Share of the passes, 0 to 1.
    pub share: f64,
    /// Half round trip in nanoseconds.
    pub latency_ns: Estimate,
}

/// One value of the ladder: one step for the pairs of one relation and one combination of kinds of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRow {
    /// The relation of the pairs.
    pub relation: Relation,
    /// The kinds of the two cores, the faster first; `None` on a machine with one kind.
    pub classes: Option<[String; 2]>,
    /// The kernel, with its [step](KernelId::step) and its hint.
    pub kernel: KernelId,
    /// Median over representative pairs of the half round trip in nanoseconds. The interval covers pairs and passes.
    /// `None` if a pair was not visited in the machine state of its cell in the map.
    pub latency_ns: Option<Estimate>,
    /// Values of the fastest and the slowest pair.
    pub range_ns: Option<[f64; 2]>,
    /// Number of representative pairs.
    pub pairs: u32,
    /// Why there is no value.
    pub reason: Option<EmptyRung>,
}

/// The distribution of single round trips of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct TailSeries {
    /// Initiator and responder.
    pub placement: [CpuId; 2],
    /// The kernel.
    pub kernel: KernelId,
    /// Counts of single half round trips by value in picoseconds, ascending, including the cost of the clock.
    pub raw: Vec<(u64, u64)>,
    /// Median cost of one clock read per round trip, in nanoseconds. Each raw value includes half of it.
    pub clock_ns: f64,
    /// Latencies of messages at a steady rate, in picoseconds, derived from the recorded round trips.
    pub at_rate: Vec<(u64, u64)>,
    /// The steady rate in messages per second.
    pub rate_per_s: f64,
    /// Observation time.
    pub observed: Picos,
    /// Number of round trips shorter than the cost of the clock.
    pub negative_net: u64,
}

impl TailSeries {
    /// A percentile in nanoseconds less half a clock read; may be negative.
    pub fn net_ns(&self, share: f64) -> Option<f64> {
        super::summary::counts_percentile(&self.raw, share).map(|ps| ps as f64 / 1e3 - self.clock_ns / 2.0)
    }
}

/// Results of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Imitated {
    /// The tool.
    pub tool: Tool,
    /// Statistic of the tool for every pair, or the reason for its absence.
    pub cells: Matrix<Result<ImitatedCell, MissingReason>>,
}

/// Why a pair has no value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissingReason {
    /// The visits of the pair failed.
    Failed(TrialFailure),
    /// The run ended before the first visit.
    NotReached,
    /// The run measures other pairs.
    NotRequested,
    /// Both CPUs are the same.
    SameCpu,
    /// No batch lasted longer than one step of the clock.
    CoarseClock,
    /// The clock of another tool cannot distinguish the result from zero.
    CoarseToolClock,
    /// The variation is less than this step of the clock.
    WithinClockStep(Picos),
}

/// One cell as another tool would print it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImitatedCell {
    /// The result of the tool, in nanoseconds.
    pub value_ns: f64,
    /// The printed ± in nanoseconds, if any. For core-to-core-latency a standard error, not a spread.
    pub spread_ns: Option<f64>,
}

/// The states of the machine during the run, from the kernel that shows them best.
#[derive(Debug, Clone, PartialEq)]
pub struct StateWatch {
    /// Time from the first to the last pass that shows states, summed over segments.
    pub watched: Picos,
    /// The pair whose states are listed: the only pair, or the pair that changed most; `None` if none changed.
    pub pair: Option<[CpuId; 2]>,
    /// The states by descending share; a single state if the machine did not change.
    pub states: Vec<WatchedState>,
    /// Time, half round trip in nanoseconds and index of the state of each pass, in time order. Empty without `pair`.
    pub line: Vec<(Picos, f64, u8)>,
    /// Share of the cells that changed state.
    pub cells_changed: f64,
}

/// One state of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedState {
    /// Share of the passes, 0 to 1.
    pub share: f64,
    /// Number of times the state was entered.
    pub visits: u32,
    /// Longest stay, as far as the passes show.
    pub longest: Picos,
    /// Half round trips in this state per kernel, for one pair, starting with the kernel of the headline.
    pub kernels: Vec<(KernelId, Estimate)>,
}
