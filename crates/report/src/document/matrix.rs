//! Matrices and their cells.

mod columns;

pub use columns::Columns;

use super::runtime::RuntimeDoc;
use super::series::ValueDoc;
use super::trials::QueueCellDoc;
use super::{Ci, ci, known};
use crate::reasons::Worded;
use coretalk_model::latency::{
    self, CellValue, GateOutcome, Imitated, ImitatedCell, LatencyMap, MissingReason, PairOutcome, Regime,
};
use coretalk_model::queue::{QueueCell, QueueMatrix, names};
use coretalk_model::series::Parameters;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Flag, KernelId, Matrix, Protocol};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A square matrix of CPU pairs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MatrixDoc<'a> {
    /// Probe: `latency`, `queue`, `clock` or `imported`.
    pub(crate) probe: &'static str,
    /// Protocol; null for numbers of other tools, queues and clock offsets.
    pub(crate) protocol: Option<&'static str>,
    pub(crate) kernel: String,
    /// `serial` or `parallel`; null if unknown.
    pub(crate) regime: Option<&'static str>,
    pub(crate) parameters: BTreeMap<&'static str, ValueDoc<'a>>,
    /// `half_round_trip`, `read`, `one_way_variation`, `throughput` from producer to consumer (both on one CPU on the
    /// diagonal), `as_printed` by another tool, or `clock_offset`: lead of the counter of `from` over that of `to`,
    /// with its bounds as `ci`.
    pub(crate) quantity: &'static str,
    pub(crate) unit: &'static str,
    /// Whether there is one cell per unordered pair, with `from` before `to` in the order of `cpus`.
    symmetric: bool,
    /// Results of the equivalence gate, which compares parallel with serial passes; empty if all were serial.
    gate: Vec<GateDoc>,
    /// CPU numbers in matrix order.
    cpus: Vec<u32>,
    #[schemars(with = "Vec<CellDoc<'static>>")]
    cells: CellList<'a>,
}

/// Result of the equivalence gate for one relation.
#[derive(Debug, Serialize, JsonSchema)]
struct GateDoc {
    relation: &'static str,
    /// Number of concurrent pairs in the end.
    pairs: u32,
    /// Relative shift of parallel against serial values: 0.01 is 1 % more, which is slower, or faster for a throughput.
    bias: Option<f64>,
    /// 90 % interval of `bias`.
    ci: Option<Ci>,
    cells: u32,
    /// Whether parallel values are shown to be equivalent to serial ones.
    equivalent: bool,
}

/// The cells of a matrix, converted one by one while they are written.
#[derive(Debug)]
pub enum CellList<'a> {
    /// Cells of a map.
    Map(&'a Matrix<PairOutcome>),
    /// Cells of an imitated tool.
    Imitated(&'a Matrix<Result<ImitatedCell, MissingReason>>),
    /// Values without details.
    Plain(Matrix<Option<Plain>>),
    /// Left out, because they are written elsewhere.
    Elsewhere,
    /// Measured cells of a queue.
    Queue(Vec<QueueCell<'a>>),
}

/// A value without details, possibly with bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plain {
    pub value: f64,
    pub bounds: Option<Ci>,
}

#[derive(Debug)]
pub(super) struct PlainMatrix {
    pub probe: &'static str,
    pub kernel: String,
    pub quantity: &'static str,
    pub unit: &'static str,
    pub parameters: Vec<(&'static str, String)>,
    pub cells: Matrix<Option<Plain>>,
}

/// One pair of CPUs.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CellDoc<'a> {
    from: u32,
    to: u32,
    /// Value in the unit of the matrix, as read, in the most frequent state; null if not measured.
    median: Option<f64>,
    /// 95 % interval of `median`.
    ci: Option<Ci>,
    /// `median` in core cycles; null if the core clock could not be measured.
    cycles: Option<CyclesDoc>,
    /// Median core clock over passes, in GHz.
    core_ghz: Option<f64>,
    /// Fastest batch: a lower bound.
    min: Option<f64>,
    /// Number of batches kept; for a queue, number of messages.
    n: u64,
    /// Number of batches dropped as stalls.
    dropped: u64,
    passes: u32,
    /// NUMA node of the cache lines of the headline; null if not measured.
    home: Option<u32>,
    /// Worse home ÷ better home, if the CPUs are on different nodes.
    home_penalty: Option<f64>,
    /// p90 ÷ p10 over cache lines, median over passes.
    line_spread: Option<f64>,
    /// States by descending share; empty if there is only one.
    states: Vec<StateDoc>,
    /// Reliability, `A` to `D`.
    grade: Option<String>,
    /// Names of flags, in kebab case.
    flags: Vec<&'static str>,
    /// The gravest doubt, or why there is no value.
    reason: Option<Cow<'a, str>>,
    /// Spread (±) as printed by another tool; null if it prints none.
    spread: Option<f64>,
    /// Additional results of a queue of a runtime of another language; null otherwise.
    runtime: Option<RuntimeDoc>,
    /// Additional results of a queue.
    #[serde(flatten)]
    queue: Option<QueueCellDoc>,
    /// Whether the cell measured the scheduler quantum: the value does not describe the pair, and maps leave it out.
    #[serde(skip)]
    slices: bool,
}

/// A latency in core cycles.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CyclesDoc {
    median: Option<f64>,
    ci: Option<Ci>,
}

/// One state of a cell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateDoc {
    /// Share of the passes, 0 to 1.
    share: Option<f64>,
    median: Option<f64>,
    ci: Option<Ci>,
}

impl StateDoc {
    fn new(share: f64, value: &Estimate) -> StateDoc {
        StateDoc { share: known(share), median: known(value.point), ci: ci(value) }
    }
}

impl<'a> MatrixDoc<'a> {
    pub(super) fn of_map(map: &'a LatencyMap) -> MatrixDoc<'a> {
        let mut parameters = BTreeMap::new();
        parameters.insert("hint_reason", ValueDoc::Text(Cow::Borrowed(&map.hint_reason)));
        parameters.extend(parallel_pairs(&map.regime));
        MatrixDoc {
            probe: latency::PROBE,
            protocol: Some(map.protocol.name()),
            kernel: map.kernel.to_string(),
            regime: Some(map.regime.name()),
            parameters,
            quantity: match map.protocol {
                Protocol::Cas | Protocol::Store | Protocol::Msg => "half_round_trip",
                Protocol::Xfer => "read",
                Protocol::OneWay => "one_way_variation",
            },
            unit: "ns",
            symmetric: map.cells.is_symmetric(),
            gate: GateDoc::of_regime(&map.regime),
            cpus: map.cells.cpus().iter().map(|cpu| cpu.0).collect(),
            cells: CellList::Map(&map.cells),
        }
    }

    pub(crate) fn parameters(&self) -> Parameters {
        let named = self.parameters.iter().map(|(name, value)| ((*name).to_owned(), value.into()));
        Parameters(named.collect())
    }

    pub(super) fn leave_out_cells(&mut self) {
        self.cells = CellList::Elsewhere;
    }

    pub(super) fn of_imitation(imitated: &'a Imitated) -> MatrixDoc<'a> {
        MatrixDoc {
            probe: latency::PROBE,
            protocol: None,
            kernel: KernelId::imitating(imitated.tool).to_string(),
            regime: Some(Regime::Serial.name()),
            parameters: BTreeMap::from([("as", ValueDoc::Text(imitated.tool.name().into()))]),
            quantity: "as_printed",
            unit: "ns",
            symmetric: imitated.cells.is_symmetric(),
            gate: Vec::new(),
            cpus: imitated.cells.cpus().iter().map(|cpu| cpu.0).collect(),
            cells: CellList::Imitated(&imitated.cells),
        }
    }

    pub(super) fn of_queue(matrix: QueueMatrix<'a>, cpus: &[CpuId], regime: &Regime) -> MatrixDoc<'a> {
        let mut parameters = BTreeMap::from([
            ("queue", ValueDoc::Text(matrix.queue.into())),
            ("payload", ValueDoc::Text(matrix.payload.into())),
            ("capacity", ValueDoc::Number(matrix.capacity as f64)),
        ]);
        parameters.extend(parallel_pairs(regime));
        MatrixDoc {
            probe: "queue",
            protocol: None,
            kernel: matrix.queue.to_owned(),
            regime: Some(regime.name()),
            parameters,
            quantity: "throughput",
            unit: "messages/s",
            symmetric: false,
            gate: GateDoc::of_regime(regime),
            cpus: cpus.iter().map(|cpu| cpu.0).collect(),
            cells: CellList::Queue(matrix.cells),
        }
    }
}

impl MatrixDoc<'_> {
    pub(super) fn plain(matrix: PlainMatrix) -> MatrixDoc<'static> {
        MatrixDoc {
            probe: matrix.probe,
            protocol: None,
            kernel: matrix.kernel,
            regime: None,
            parameters: matrix
                .parameters
                .into_iter()
                .map(|(name, text)| (name, ValueDoc::Text(text.into())))
                .collect(),
            quantity: matrix.quantity,
            unit: matrix.unit,
            symmetric: matrix.cells.is_symmetric(),
            gate: Vec::new(),
            cpus: matrix.cells.cpus().iter().map(|cpu| cpu.0).collect(),
            cells: CellList::Plain(matrix.cells),
        }
    }
}

fn parallel_pairs(regime: &Regime) -> Option<(&'static str, ValueDoc<'static>)> {
    let Regime::Parallel { pairs, .. } = regime else { return None };
    Some(("parallel_pairs", ValueDoc::Text(pairs.to_string().into())))
}

impl GateDoc {
    fn of_regime(regime: &Regime) -> Vec<GateDoc> {
        match regime {
            Regime::Serial => Vec::new(),
            Regime::Parallel { gate, .. } => gate.iter().map(GateDoc::new).collect(),
        }
    }

    fn new(outcome: &GateOutcome) -> GateDoc {
        // Two one-sided tests at 5 % correspond to a 90 % interval, which exists only with a cell measured both ways.
        let Estimate { point, low, high, confidence, .. } = outcome.bias;
        let [point, low, high] = [point, low, high].map(|end| known(end).filter(|_| confidence > 0.0));
        GateDoc {
            relation: outcome.relation.name(),
            pairs: outcome.pairs,
            bias: point,
            ci: low.zip(high).map(|(low, high)| [low, high]),
            cells: outcome.cells,
            equivalent: outcome.equivalent,
        }
    }
}

impl CellList<'_> {
    /// Converts all cells one by one.
    pub fn iter(&self) -> Box<dyn Iterator<Item = CellDoc<'_>> + '_> {
        match self {
            CellList::Map(cells) => Box::new(pairs(cells).map(|(pair, cell)| CellDoc::new(pair, cell))),
            CellList::Imitated(cells) => {
                Box::new(pairs(cells).map(|(pair, cell)| CellDoc::imitated(pair, cell)))
            }
            CellList::Plain(cells) => Box::new(pairs(cells).map(|(pair, cell)| CellDoc::plain(pair, *cell))),
            CellList::Queue(cells) => Box::new(cells.iter().map(CellDoc::of_queue)),
            CellList::Elsewhere => Box::new(std::iter::empty()),
        }
    }
}

impl Serialize for CellList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// All pairs of different CPUs: in a symmetric matrix the earlier CPU first, otherwise the initiator first.
fn pairs<T>(cells: &Matrix<T>) -> impl Iterator<Item = ([u32; 2], &T)> {
    let cpus = cells.cpus();
    cells.iter().filter(|(row, column, _)| row != column).map(|(row, column, cell)| {
        let [from, to] = if cells.is_symmetric() { [column, row] } else { [row, column] };
        ([cpus[from].0, cpus[to].0], cell)
    })
}

impl<'a> CellDoc<'a> {
    fn of_queue(cell: &QueueCell<'a>) -> CellDoc<'a> {
        let [from, to] = cell.pair();
        let trial = cell.trial;
        CellDoc {
            from: from.0,
            to: to.0,
            median: cell.rate().and_then(|rate| known(rate.point)),
            ci: cell.rate().and_then(ci),
            n: trial.counts.get(names::MESSAGES).copied().unwrap_or(0),
            passes: trial.passes,
            states: trial.states.iter().map(|state| StateDoc::new(state.share, &state.value)).collect(),
            grade: trial.grade.map(|grade| grade.to_string()),
            flags: trial.flags.iter().map(Flag::name).collect(),
            reason: trial.reason.as_ref().map(|reason| reason.text().into()),
            runtime: RuntimeDoc::new(trial),
            queue: Some(QueueCellDoc::new(cell)),
            slices: cell.rate().is_some() && cell.rate_of_pair().is_none(),
            ..CellDoc::default()
        }
    }

    fn new([from, to]: [u32; 2], cell: &'a PairOutcome) -> CellDoc<'a> {
        match cell {
            PairOutcome::Missing { reason } => {
                CellDoc { from, to, reason: Some(reason.text().into()), ..CellDoc::default() }
            }
            PairOutcome::Measured(value) => CellDoc { from, to, ..CellDoc::measured(value) },
        }
    }

    fn measured(value: &'a CellValue) -> CellDoc<'a> {
        CellDoc {
            median: known(value.latency_ns.point),
            ci: ci(&value.latency_ns),
            cycles: value
                .cycles
                .get()
                .map(|cycles| CyclesDoc { median: known(cycles.point), ci: ci(&cycles) }),
            core_ghz: value.core_ghz.get().and_then(known),
            min: known(value.min_ns),
            n: value.batches,
            dropped: value.dropped,
            passes: value.passes,
            home: Some(value.home.0),
            home_penalty: value.home_penalty.get().and_then(known),
            line_spread: value.line_spread.get().and_then(known),
            states: value
                .states()
                .iter()
                .map(|state| StateDoc::new(state.share, &state.latency_ns))
                .collect(),
            grade: Some(value.grade.to_string()),
            flags: value.flags.iter().map(Flag::name).collect(),
            reason: value.reason().map(|reason| reason.text().into()),
            ..CellDoc::default()
        }
    }

    fn plain([from, to]: [u32; 2], cell: Option<Plain>) -> CellDoc<'a> {
        match cell {
            None => CellDoc { from, to, reason: Some("no value".into()), ..CellDoc::default() },
            Some(Plain { value, bounds }) => {
                let ci = bounds.and_then(|[low, high]| Some([known(low)?, known(high)?]));
                CellDoc { from, to, median: known(value), ci, ..CellDoc::default() }
            }
        }
    }

    fn imitated([from, to]: [u32; 2], cell: &'a Result<ImitatedCell, MissingReason>) -> CellDoc<'a> {
        match cell {
            Err(reason) => CellDoc { from, to, reason: Some(reason.text().into()), ..CellDoc::default() },
            Ok(cell) => CellDoc {
                from,
                to,
                median: known(cell.value_ns),
                spread: cell.spread_ns.and_then(known),
                ..CellDoc::default()
            },
        }
    }
}
