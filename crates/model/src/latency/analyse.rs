//! Derives the results of a run from its visits.

use super::cell::{self, CellColumns, Context, Scratch};
use super::choices::{Choices, ChosenRegime};
use super::{
    CellValue, ChosenHint, Counts, Entry, GateOutcome, HomeSetting, LatencyMap, LatencyResult,
    LatencySettings, MissingReason, PairChoice, PairOutcome, Purpose, Record, Regime, cells, hint, imitated,
    ladder, one_way, tails, watch,
};
use crate::grade;
use crate::stats::{self, ANALYSES, CellPass, Correlation, Estimate, MadScale, Pool};
use crate::{
    CpuId, Flag, Flags, Grade, Hint, Home, KernelId, Matrix, Protocol, Relation, TickRate, Topology,
    TrialFailure,
};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Analyses a record. A run that has just ended and its file give the same result.
pub fn analyse(
    topology: &Topology,
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
) -> LatencyResult {
    analyse_while(topology, settings, rate, record, Vec::new(), &|| true).unwrap_or_default()
}

/// As [`analyse`], but returns `None` as soon as `go_on` returns false. Half a million cells take a second or two.
/// Cells in `judged` are judged again only if other passes count than before.
pub fn analyse_while(
    topology: &Topology,
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
    mut judged: Vec<JudgedCells>,
    go_on: &dyn Fn() -> bool,
) -> Option<LatencyResult> {
    let choices = Choices::from_record(record);
    let pairs = cells(topology, settings);
    let protocols = if settings.imitate.is_empty() { &settings.protocols[..] } else { &[] };
    let mut cells_of = |survey: &Survey<'_>| {
        let known = judged.iter().position(|cells| cells.are_of(survey));
        let cells = known.map(|index| judged.swap_remove(index)).or_else(|| survey.judge_all(go_on))?;
        settle_all(survey, cells, go_on)
    };
    let mut maps: Vec<LatencyMap> = Vec::with_capacity(protocols.len());
    for &protocol in protocols {
        if !go_on() {
            return None;
        }
        maps.push(match protocol {
            Protocol::OneWay => one_way::map(settings, rate, record, &pairs),
            _ => map(topology, settings, record, &choices, &pairs, protocol, &mut cells_of)?,
        });
    }
    if !go_on() {
        return None;
    }
    let watch = maps.first().and_then(|map| watch::watch(record, settings, &pairs, map));
    Some(LatencyResult {
        ladder: ladder::ladder(topology, record, &pairs, &maps),
        tails: tails::tails(settings, rate, record, &choices, &pairs),
        imitated: imitated::imitated(settings, rate, record, &pairs),
        execution: choices.execution,
        complete: choices.complete,
        budget_ended: choices.budget_ended,
        passes: passes_made(record, pairs.len()),
        watched: watch.as_ref().map_or(record.watched(), |watch| watch.watched),
        watch,
        maps,
    })
}

fn passes_made(record: &Record, cells: usize) -> u32 {
    (0..cells).filter_map(|cell| record.passes(cell)).map(|cell| cell.len() as u32).max().unwrap_or(0)
}

fn map(
    topology: &Topology,
    settings: &LatencySettings,
    record: &Record,
    choices: &Choices,
    pairs: &[[CpuId; 2]],
    protocol: Protocol,
    cells_of: &mut dyn FnMut(&Survey<'_>) -> Option<Vec<PairOutcome>>,
) -> Option<LatencyMap> {
    let chosen =
        choices.hints.get(&protocol).cloned().unwrap_or_else(|| hint::choose(settings, record, protocol));
    let kernel = KernelId::new(protocol, chosen.hint);
    let regime = choices.regime.clone().unwrap_or_default();
    let survey = Survey::new(topology, settings, record, &regime, pairs, &kernel);
    let judged = cells_of(&survey)?;
    let cpus = settings.cpus.clone();
    let cells = if settings.pairs == PairChoice::All {
        // `judged` is already in storage order, which avoids a second copy of half a million cells.
        Matrix::of_symmetric(cpus, judged)
    } else {
        let cell_of: BTreeMap<[CpuId; 2], usize> =
            pairs.iter().enumerate().map(|(cell, &pair)| (pair, cell)).collect();
        let mut judged: Vec<Option<PairOutcome>> = judged.into_iter().map(Some).collect();
        Matrix::symmetric(cpus, |row, column| {
            let pair = [settings.cpus[column], settings.cpus[row]];
            let cell = cell_of.get(&pair).or_else(|| cell_of.get(&[pair[1], pair[0]]));
            let not_requested = || PairOutcome::Missing { reason: MissingReason::NotRequested };
            cell.and_then(|&cell| judged[cell].take()).unwrap_or_else(not_requested)
        })
    };
    let ChosenHint { hint, reason: hint_reason } = chosen;
    let regime = match regime.pairs {
        0 | 1 => Regime::Serial,
        pairs => Regime::Parallel { pairs, gate: regime.gate },
    };
    Some(LatencyMap { protocol, kernel, hint, hint_reason, regime, cells })
}

/// The cells of one kernel, with the context needed to judge them or to select them for more passes.
pub struct Survey<'a> {
    kernel: KernelId,
    settings: &'a LatencySettings,
    record: &'a Record,
    regime: &'a ChosenRegime,
    columns: Option<CellColumns>,
    relations: Vec<Relation>,
    kinds: Vec<[Option<u32>; 2]>,
    homes: Vec<[Home; 2]>,
    pass_scale: BTreeMap<Relation, f64>,
    correlation: BTreeMap<Relation, [Correlation; 2]>,
}

impl<'a> Survey<'a> {
    /// Collects the context of all cells under a kernel.
    pub fn new(
        topology: &Topology,
        settings: &'a LatencySettings,
        record: &'a Record,
        regime: &'a ChosenRegime,
        pairs: &[[CpuId; 2]],
        kernel: &KernelId,
    ) -> Survey<'a> {
        let columns = record.column(kernel, 0).map(|first| CellColumns {
            first,
            second: record.column(kernel, 1),
            sentinel: record.column(&KernelId::new(Protocol::Cas, Hint::None), 0),
        });
        let kinds = |pair: &[CpuId; 2]| {
            let mut ranks = pair.map(|cpu| topology.class_of(cpu).map(|class| class.rank));
            ranks.sort_unstable();
            ranks
        };
        let mut survey = Survey {
            kernel: kernel.clone(),
            settings,
            record,
            regime,
            columns,
            relations: pairs.iter().map(|pair| topology.relation(pair[0], pair[1])).collect(),
            kinds: if topology.classes().is_empty() { Vec::new() } else { pairs.iter().map(kinds).collect() },
            homes: pairs.iter().map(|pair| homes(topology, settings, *pair)).collect(),
            pass_scale: BTreeMap::new(),
            correlation: BTreeMap::new(),
        };
        survey.pass_scale = survey.pass_scales();
        survey.correlation = survey.correlations();
        survey
    }

    fn pass_scales(&self) -> BTreeMap<Relation, f64> {
        let Some(columns) = self.columns else { return BTreeMap::new() };
        let mut residuals: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
        for (cell, &relation) in self.relations.iter().enumerate() {
            let Some(passes) = self.record.passes(cell) else { continue };
            let into = residuals.entry(relation).or_default();
            if into.len() < 100_000 {
                cell::pass_residuals(passes, columns.first, self.valid_from(relation), into);
            }
        }
        let scale = |values: &Vec<f64>| stats::mad(values, MadScale::Normal).unwrap_or(0.0);
        residuals.iter().map(|(&relation, values)| (relation, scale(values))).collect()
    }

    fn correlations(&self) -> BTreeMap<Relation, [Correlation; 2]> {
        let Some(columns) = self.columns.filter(|_| self.settings.counts == Counts::Adaptive) else {
            return BTreeMap::new();
        };
        let mut pools: BTreeMap<Relation, [Pool; 2]> = BTreeMap::new();
        for (cell, &relation) in self.relations.iter().enumerate() {
            let Some(passes) = self.record.passes(cell) else { continue };
            let pools = pools.entry(relation).or_default();
            if pools.iter().all(Pool::is_full) {
                continue;
            }
            let scale = self.pass_scale.get(&relation).copied().unwrap_or(0.0);
            let limit = cell::disturbed_from(scale);
            cell::pool_passes(passes, columns.first, self.valid_from(relation), limit, pools);
        }
        pools.iter().map(|(&relation, pools)| (relation, pools.each_ref().map(Pool::correlation))).collect()
    }

    fn valid_from(&self, relation: Relation) -> u32 {
        self.regime.valid_from.get(&relation).copied().unwrap_or(0)
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.relations.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// The relation of each cell.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Typical relative deviation of a pass from the value of its cell, over all cells of the relation of `cell`.
    /// `None` before the first measurement.
    pub fn pass_scale(&self, cell: usize) -> Option<f64> {
        self.pass_scale.get(&self.relations[cell]).copied()
    }

    fn context(&self, cell: usize) -> Option<Context<'_>> {
        let relation = self.relations[cell];
        Some(Context {
            settings: self.settings,
            columns: self.columns?,
            homes: self.homes[cell],
            valid_from: self.valid_from(relation),
            pass_scale: self.pass_scale.get(&relation).copied().unwrap_or(0.0),
            correlation: self.correlation.get(&relation).copied().unwrap_or([Correlation::NONE; 2]),
        })
    }

    /// Judges one cell, without a grade; `None` if no pass has a value.
    pub fn judge(&self, cell: usize) -> Option<CellValue> {
        self.judge_with(cell, &mut Scratch::default())
    }

    /// As [`judge`](Survey::judge), for many cells in sequence.
    pub fn judge_with(&self, cell: usize, scratch: &mut Scratch) -> Option<CellValue> {
        cell::judge(self.record.passes(cell)?, &self.context(cell)?, scratch)
    }

    /// As [`cell::width_of`], for a cell by its index.
    pub fn width_of(&self, cell: usize, enough: f64, scratch: &mut Scratch) -> Option<f64> {
        cell::width_of(self.record.passes(cell)?, &self.context(cell)?, enough, scratch)
    }

    /// Judges all cells, and flags those that do not fit their relation. `None` as soon as `go_on` returns false.
    pub fn judge_all(&self, go_on: &dyn Fn() -> bool) -> Option<JudgedCells> {
        let mut scratch = Scratch::default();
        let mut cells: Vec<PairOutcome> = Vec::with_capacity(self.len());
        for cell in 0..self.len() {
            if cell.is_multiple_of(1024) && !go_on() {
                return None;
            }
            cells.push(match self.judge_with(cell, &mut scratch) {
                Some(value) => PairOutcome::Measured(value),
                None => PairOutcome::Missing { reason: missing(self, cell) },
            });
        }
        for cell in outliers(self, |cell| Some(&cells[cell].value()?.latency_ns)) {
            if let PairOutcome::Measured(value) = &mut cells[cell] {
                value.flags.set(Flag::ModelOutlier);
            }
        }
        Some(JudgedCells {
            kernel: self.kernel.clone(),
            map_revision: self.record.map_revision(),
            valid_from: self.regime.valid_from.clone(),
            cells,
        })
    }
}

/// The cells of one kernel by the passes of the map alone, without second measurements and grades.
#[derive(Debug)]
pub struct JudgedCells {
    kernel: KernelId,
    map_revision: u64,
    valid_from: BTreeMap<Relation, u32>,
    cells: Vec<PairOutcome>,
}

impl JudgedCells {
    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The value of a cell; `None` without a value.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn value(&self, cell: usize) -> Option<&CellValue> {
        self.cells[cell].value()
    }

    fn are_of(&self, survey: &Survey<'_>) -> bool {
        self.kernel == survey.kernel
            && self.map_revision == survey.record.map_revision()
            && self.valid_from == survey.regime.valid_from
    }
}

/// The nodes that hold the lines of a pair: the nodes of its CPUs, or the requested node.
pub fn homes(topology: &Topology, settings: &LatencySettings, pair: [CpuId; 2]) -> [Home; 2] {
    match settings.home {
        HomeSetting::Node(node) => [node; 2],
        HomeSetting::Auto => pair.map(|cpu| Home(topology.node_of(cpu).unwrap_or(0))),
    }
}

fn settle_all(
    survey: &Survey<'_>,
    JudgedCells { mut cells, .. }: JudgedCells,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<PairOutcome>> {
    let second_measurements = second_measurements(survey, |_| true);
    let mut scratch = Scratch::default();
    let refused: BTreeMap<Relation, &GateOutcome> = survey
        .regime
        .gate
        .iter()
        .filter(|outcome| !outcome.equivalent)
        .map(|outcome| (outcome.relation, outcome))
        .collect();
    for (index, cell) in cells.iter_mut().enumerate() {
        if index.is_multiple_of(1024) && !go_on() {
            return None;
        }
        let PairOutcome::Measured(value) = cell else { continue };
        let second = second_measurements.get(&index).map(|second| settle(value, second, survey.settings));
        if refused.contains_key(&survey.relations[index]) {
            value.flags.set(Flag::ParBias);
        }
        let (number, is_outlier) = (value.latency_ns.point, value.flags.contains(Flag::ModelOutlier));
        let repeats = || match second {
            Some(repeats) => repeats,
            // Repeating the measurement of an outlier on the same cache lines would only reproduce the outlier.
            None if is_outlier => false,
            // Few grades depend on this, so the passes are selected again instead of being kept.
            None => survey.judge_with(index, &mut scratch).is_some() && scratch.repeats(number),
        };
        cell::grade(value, repeats);
        if let Some(failure) =
            permanent_failure(survey, index).filter(|_| (value.passes as usize) < ANALYSES[0])
        {
            value.grade = Grade::D;
            value.flags.set(Flag::FewPasses);
            value.rare.get_or_insert_default().lost = Some(failure.clone());
        }
    }
    Some(cells)
}

fn permanent_failure<'a>(survey: &Survey<'a>, cell: usize) -> Option<&'a TrialFailure> {
    let failure = survey.record.passes(cell)?.failure?;
    failure.missed_a_cpu().then_some(failure)
}

fn missing(survey: &Survey<'_>, cell: usize) -> MissingReason {
    match survey.record.passes(cell).and_then(|passes| passes.failure) {
        Some(failure) => MissingReason::Failed(failure.clone()),
        None if survey.record.passes(cell).is_some_and(|passes| !passes.is_empty()) => {
            MissingReason::CoarseClock
        }
        None => MissingReason::NotReached,
    }
}

fn second_measurements(
    survey: &Survey<'_>,
    wanted: impl Fn(&Entry) -> bool,
) -> BTreeMap<usize, Vec<CellPass>> {
    let mut values: BTreeMap<usize, Vec<CellPass>> = BTreeMap::new();
    let Some(columns) = survey.columns else { return values };
    let kernel = &survey.record.columns()[columns.first].kernel;
    for entry in survey.record.others(Purpose::Again).filter(|entry| wanted(entry)) {
        let Ok(visit) = &entry.outcome else { continue };
        let of_kernel = visit.spans.iter().filter(|span| span.kernel == *kernel);
        if let Some(best) = of_kernel.min_by(|a, b| a.location_ns.total_cmp(&b.location_ns)) {
            values.entry(entry.cell as usize).or_default().push(CellPass {
                at_s: visit.started.secs(),
                value: f64::from(best.location_ns),
                line_error: best.line_error_ns.map_or(0.0, f64::from),
            });
        }
    }
    values
}

const OUTLIER: f64 = 4.0;
const CELLS_FOR_A_MODEL: usize = 8;

/// Cells that do not fit their relation: r = |ln value − ln median| ÷ max(1.48 MAD, interval, 2 %). On a hybrid
/// machine, a cell is compared only with pairs of the same kinds, because fast cores are nearer to each other. If more
/// than a tenth do not fit, the machine has an unreported structure (a mesh, a die), and no cell is an outlier.
pub fn outliers<E: Borrow<Estimate>>(
    survey: &Survey<'_>,
    estimate: impl Fn(usize) -> Option<E>,
) -> Vec<usize> {
    let kinds = |cell: usize| survey.kinds.get(cell).copied().unwrap_or_default();
    let group_of = |cell: usize| (survey.relations[cell], kinds(cell));
    let mut logs: BTreeMap<(Relation, [Option<u32>; 2]), Vec<f64>> = BTreeMap::new();
    for cell in 0..survey.len() {
        let log = estimate(cell).map(|value| value.borrow().point.ln());
        logs.entry(group_of(cell)).or_default().extend(log);
    }
    let mut outliers = Vec::new();
    for (group, logs) in logs.into_iter().filter(|(_, logs)| logs.len() >= CELLS_FOR_A_MODEL) {
        let (Some(median), Some(deviation)) = (stats::median(&logs), stats::mad(&logs, MadScale::Normal))
        else {
            continue;
        };
        let is_out = |value: E| {
            let value = value.borrow();
            let width = value.relative_reach();
            (value.point.ln() - median).abs() / deviation.max(width).max(0.02) > OUTLIER
        };
        let of_these = (0..survey.len()).filter(|&cell| group_of(cell) == group);
        let out: Vec<usize> = of_these.filter(|&cell| estimate(cell).is_some_and(is_out)).collect();
        if out.len() * 10 <= logs.len() {
            outliers.extend(out);
        }
    }
    outliers
}

/// Cells with second measurements selected by `wanted`, combined with these. `flags` returns earlier flags of a cell.
pub fn settled(
    survey: &Survey<'_>,
    flags: impl Fn(usize) -> Flags,
    wanted: impl Fn(&Entry) -> bool,
) -> Vec<(usize, CellValue)> {
    let measured = second_measurements(survey, wanted).into_iter();
    let settled = measured.filter_map(|(cell, second)| {
        let mut value = survey.judge(cell)?;
        value.flags = flags(cell);
        settle(&mut value, &second, survey.settings);
        Some((cell, value))
    });
    settled.collect()
}

/// The second value replaces the first only if the interval of the second is below the first value. Otherwise, the
/// value counts as reproduced if both halves of the second measurement agree with it. Both measurements stay in the run
/// file. Returns whether the value was reproduced.
fn settle(value: &mut CellValue, second: &[CellPass], settings: &LatencySettings) -> bool {
    value.flags.set(Flag::Remeasured);
    let Some(fresh) = cell::interval(second, settings) else { return false };
    let lower = fresh.high < value.latency_ns.point;
    if value.flags.contains(Flag::Drift) && !lower && fresh.overlaps(&value.latency_ns) {
        value.flags.clear(Flag::Drift);
    }
    if lower {
        let ratio = fresh.point / value.latency_ns.point;
        value.latency_ns = fresh;
        value.cycles = value.cycles.map(|cycles| {
            let ghz = cycles.point / (fresh.point / ratio);
            fresh.scaled(ghz)
        });
        value.flags.clear(Flag::ModelOutlier);
        value.flags.clear(Flag::Drift);
        value.flags.clear(Flag::WideCi);
        if fresh.relative_reach() > settings.precision * (1.0 + 1e-9) {
            value.flags.set(Flag::WideCi);
        }
        return false;
    }
    let second: Vec<f64> = second.iter().map(|pass| pass.value).collect();
    grade::repeats(&second, value.latency_ns.point)
}
