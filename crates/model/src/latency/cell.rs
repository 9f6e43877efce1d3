//! The result of one pair from its passes: location, interval, states, flags, grade.

use super::record::{CellPasses, PassHead};
use super::{CellState, CellValue, Counts, LatencySettings, RareFacts};
use crate::stats::{
    self, Analysis, CellPass, Correlation, Detector, Estimate, MIN_PASSES, Pool, drift_interval, holds_still,
    passes_interval, split_states_jointly,
};
use crate::{Flag, Grade, Home, Reason, flags, grade};

/// The columns of a cell in the record.
#[derive(Debug, Clone, Copy)]
pub struct CellColumns {
    /// The kernel of the map on the first home.
    pub first: usize,
    /// The kernel of the map on the second home, if there is one.
    pub second: Option<usize>,
    /// CAS without pause, which shows every state of the machine.
    pub sentinel: Option<usize>,
}

/// Context for judging a cell.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Settings of the run.
    pub settings: &'a LatencySettings,
    /// Columns of the map.
    pub columns: CellColumns,
    /// Homes of the first and of the second column.
    pub homes: [Home; 2],
    /// First pass that counts.
    pub valid_from: u32,
    /// Relative typical deviation of a pass from its cell in this relation (1.48 MAD over all cells of the relation).
    pub pass_scale: f64,
    /// Correlation of neighbouring passes of this relation: in nanoseconds, and in core cycles.
    pub correlation: [Correlation; 2],
}

/// Minimum interval, for the variation between runs, which a run of seconds cannot observe. Fresh processes varied by
/// 1.0 to 1.6 %; twice that covers it. The minimum never exceeds the requested precision.
pub const FLOOR: f64 = 0.02;

/// Minimum distance of a disturbed pass from its cell, in typical deviations and as a share. 5 % is five deviations of
/// a quiet pass of 64 lines, and half the effect of 16 disturbed lines (× 1.3) among them.
const DISTURBED_DEVIATIONS: f64 = 6.0;
const DISTURBED_LEAST: f64 = 0.05;
/// Minimum number of passes at which a rare disturbed pass is excluded without replacement.
pub const PASSES_TO_SPARE: usize = 16;
const HOME_SPREAD: f64 = 1.05;

#[derive(Debug, Clone, Copy)]
struct PassValue {
    head: PassHead,
    ns: f64,
    line_error_ns: f64,
    sentinel: Option<f64>,
}

impl PassValue {
    fn pass(&self, scale: f64) -> CellPass {
        let at_s = self.head.started.secs();
        CellPass { at_s, value: self.ns * scale, line_error: self.line_error_ns * scale }
    }
}

/// Reusable memory of [`judge`], so that half a million cells allocate only for their results.
#[derive(Debug, Default)]
pub struct Scratch {
    numbers: Vec<f64>,
    others: Vec<f64>,
    spreads: Vec<f64>,
    values: Vec<PassValue>,
    kept: Vec<PassValue>,
    passes: Vec<CellPass>,
}

fn location(passes: CellPasses<'_>, column: usize, valid_from: u32, numbers: &mut Vec<f64>) -> Option<f64> {
    numbers.clear();
    numbers.extend(locations(passes, column, valid_from));
    stats::median_in_place(numbers)
}

/// Logarithms of the passes relative to the location of their cell, for [`Context::pass_scale`].
pub fn pass_residuals(passes: CellPasses<'_>, column: usize, valid_from: u32, into: &mut Vec<f64>) {
    let Some(location) = location(passes, column, valid_from, &mut Vec::new()) else { return };
    into.extend(locations(passes, column, valid_from).map(|ns| (ns / location).ln()));
}

/// Adds the passes of a cell to the pools for nanoseconds and core cycles, which estimate the correlation of passes.
pub fn pool_passes(
    passes: CellPasses<'_>,
    column: usize,
    valid_from: u32,
    limit: f64,
    pools: &mut [Pool; 2],
) {
    let logarithms = |clock: fn(PassHead) -> f32| -> Vec<f64> {
        let known = valid(passes, valid_from).filter_map(|(index, head)| {
            Some(f64::from(passes.location(index, column)?) * f64::from(clock(head)))
        });
        known.map(f64::ln).collect()
    };
    pools[0].add(&logarithms(|_| 1.0), limit);
    pools[1].add(&logarithms(|head| head.core_ghz), limit);
}

/// Minimum relative distance of a disturbed pass from its cell, given the typical distance `pass_scale`.
pub fn disturbed_from(pass_scale: f64) -> f64 {
    (DISTURBED_DEVIATIONS * pass_scale).max(DISTURBED_LEAST)
}

fn valid(passes: CellPasses<'_>, from: u32) -> impl Iterator<Item = (usize, PassHead)> {
    passes.heads().enumerate().filter(move |(_, head)| head.pass >= from)
}

fn locations(passes: CellPasses<'_>, column: usize, valid_from: u32) -> impl Iterator<Item = f64> {
    // Usually all passes count, so their heads need not be read.
    let is_valid = move |index: &usize| valid_from == 0 || passes.head(*index).pass >= valid_from;
    let counting = (0..passes.len()).filter(is_valid);
    counting.filter_map(move |index| passes.location(index, column).map(f64::from))
}

fn disturbance(values: &[f64], pass_scale: f64) -> impl Fn(f64) -> bool + use<> {
    let median = stats::median(values).unwrap_or(f64::NAN);
    let limit = disturbed_from(pass_scale);
    move |value| (value / median).ln().abs() > limit
}

/// The undisturbed passes of the main state of a cell on its better home.
struct Selected {
    home: Home,
    penalty: Option<f64>,
    states: Vec<Vec<usize>>,
    main_passes: usize,
    latency_ns: Estimate,
    min_ns: f64,
    batches: u64,
    dropped: u64,
}

fn select(passes: CellPasses<'_>, context: &Context<'_>, scratch: &mut Scratch) -> Option<Selected> {
    let Scratch { numbers, others, spreads, values, kept, passes: timed } = scratch;
    let mut home_of = |column: Option<usize>, home: Home| {
        Some((column?, home, location(passes, column?, context.valid_from, numbers)?))
    };
    let first = home_of(Some(context.columns.first), context.homes[0]);
    let second = home_of(context.columns.second, context.homes[1]);
    let (column, home, best) = match (first, second) {
        (Some(first), Some(second)) if second.2.total_cmp(&first.2).is_lt() => second,
        (first, second) => first.or(second)?,
    };
    let penalty = first.zip(second).map(|(first, second)| first.2.max(second.2) / best);
    values.clear();
    let (mut batches, mut dropped, mut min_ns) = (0, 0, f64::INFINITY);
    spreads.clear();
    for (index, head) in valid(passes, context.valid_from) {
        let Some(value) = passes.column(index, column) else { continue };
        batches += u64::from(value.kept);
        dropped += u64::from(value.dropped);
        min_ns = min_ns.min(f64::from(value.floor_ns));
        spreads.extend(known(value.line_spread));
        let sentinel = context.columns.sentinel.and_then(|column| passes.location(index, column));
        values.push(PassValue {
            head,
            ns: f64::from(value.location_ns),
            line_error_ns: known(value.line_error_ns).unwrap_or(0.0),
            sentinel: sentinel.map(f64::from),
        });
    }
    let states = states_of(values, numbers, others);
    kept.clear();
    match states.iter().max_by_key(|state| state.len()) {
        Some(main) => kept.extend(main.iter().map(|&index| values[index])),
        None => kept.extend_from_slice(values),
    }
    let main_passes = kept.len();
    numbers.clear();
    numbers.extend(kept.iter().map(|value| value.ns));
    let is_disturbed = disturbance(numbers, context.pass_scale);
    let disturbed = numbers.iter().filter(|&&ns| is_disturbed(ns)).count();
    // If more than a quarter of the passes are "disturbed", none is excluded.
    if disturbed > 0 && 4 * disturbed <= main_passes {
        kept.retain(|value| !is_disturbed(value.ns));
    }
    timed.clear();
    timed.extend(kept.iter().map(|value| value.pass(1.0)));
    let latency_ns = interval_of(timed, context.settings, context.correlation[0], others)?;
    Some(Selected { home, penalty, states, main_passes, latency_ns, min_ns, batches, dropped })
}

fn cycles(context: &Context<'_>, scratch: &mut Scratch) -> (Option<Estimate>, Option<f64>) {
    let Scratch { numbers, others, kept, passes: timed, .. } = scratch;
    numbers.clear();
    numbers.extend(kept.iter().map_while(|value| known(value.head.core_ghz)));
    if numbers.len() < kept.len() {
        return (None, None);
    }
    timed.clear();
    timed.extend(kept.iter().zip(&*numbers).map(|(value, &ghz)| value.pass(ghz)));
    let cycles = interval_of(timed, context.settings, context.correlation[1], others);
    (cycles, stats::median_in_place(numbers))
}

/// The [`width`] of a cell by its passes. The interval in core cycles counts only if that in nanoseconds is wider than
/// `enough`. `None` if no pass has a value.
pub fn width_of(
    passes: CellPasses<'_>,
    context: &Context<'_>,
    enough: f64,
    scratch: &mut Scratch,
) -> Option<f64> {
    let latency_ns = select(passes, context, scratch)?.latency_ns;
    let is_enough = latency_ns.relative_reach() <= enough;
    let cycles = if is_enough { None } else { cycles(context, scratch).0 };
    Some(narrower(&latency_ns, cycles.as_ref()))
}

/// Judges one cell by its passes, without a [grade](grade()). `None` if no pass has a value.
pub fn judge(passes: CellPasses<'_>, context: &Context<'_>, scratch: &mut Scratch) -> Option<CellValue> {
    let Selected { home, penalty, states, main_passes, latency_ns, min_ns, batches, dropped } =
        select(passes, context, scratch)?;
    let (cycles, core_ghz) = cycles(context, scratch);
    let Scratch { numbers, spreads, values, kept, .. } = scratch;
    numbers.clear();
    numbers.extend(kept.iter().filter_map(|value| value.sentinel));
    let cas_ns = (!numbers.is_empty()).then(|| {
        let sentinels = numbers.iter().map(|&ns| ns as f32);
        sentinels.fold([f32::INFINITY, 0.0], |[low, high], ns| [low.min(ns), high.max(ns)])
    });
    let of_kept = kept.iter().map(|value| (value.head.flags, value.ns));
    let mut flags = flags::of_passes(of_kept, Some, Some(&latency_ns), numbers);
    if passes.failed.all > 0 {
        flags.set(Flag::FailedPasses);
    }
    if passes.failed.wrong > 0 {
        flags.set(Flag::Invalid);
    }
    numbers.clear();
    numbers.extend(valid(passes, context.valid_from).map_while(|(_, head)| known(head.core_ghz)));
    if slowed_down(numbers) {
        flags.set(Flag::Throttled);
    }
    if states.len() > 1 {
        flags.set(Flag::Multimodal);
    }
    if penalty.is_some_and(|penalty| penalty > HOME_SPREAD) {
        flags.set(Flag::HomeSpread);
    }
    if kept.len() < MIN_PASSES {
        flags.set(Flag::FewPasses);
    }
    if narrower(&latency_ns, cycles.as_ref()) > context.settings.precision * (1.0 + 1e-9) {
        flags.set(Flag::WideCi);
    }
    if kept.len() < main_passes {
        // Some passes were excluded. Other passes have replaced them, or the session will measure again.
        flags.set(if kept.len() < PASSES_TO_SPARE { Flag::Drift } else { Flag::Remeasured });
    }
    Some(CellValue {
        latency_ns,
        cycles: cycles.into(),
        core_ghz: core_ghz.into(),
        min_ns,
        batches,
        dropped,
        passes: values.len() as u32,
        home,
        home_penalty: penalty.into(),
        line_spread: stats::median_in_place(spreads).into(),
        cas_ns: cas_ns.into(),
        grade: Grade::D,
        flags,
        rare: cell_states(&states, values, context.settings),
    })
}

impl Scratch {
    /// Whether both halves of the counted passes of the last judged cell agree with a number, as for trials.
    pub fn repeats(&self, number: f64) -> bool {
        let values: Vec<f64> = self.kept.iter().map(|value| value.ns).collect();
        grade::repeats(&values, number)
    }
}

fn known(value: f32) -> Option<f64> {
    value.is_finite().then_some(f64::from(value))
}

/// The width to compare with the requested precision: the narrower of nanoseconds and core cycles.
pub fn width(value: &CellValue) -> f64 {
    narrower(&value.latency_ns, value.cycles.get().as_ref())
}

fn narrower(latency_ns: &Estimate, cycles: Option<&Estimate>) -> f64 {
    cycles.map_or(f64::INFINITY, Estimate::relative_reach).min(latency_ns.relative_reach())
}

/// The interval over passes in time order according to the settings of the run, without known correlation.
pub fn interval(passes: &[CellPass], settings: &LatencySettings) -> Option<Estimate> {
    interval_of(passes, settings, Correlation::NONE, &mut Vec::new())
}

fn interval_of(
    passes: &[CellPass],
    settings: &LatencySettings,
    correlation: Correlation,
    values: &mut Vec<f64>,
) -> Option<Estimate> {
    match settings.counts {
        Counts::Adaptive => {
            values.clear();
            values.extend(passes.iter().map(|pass| pass.value));
            let design_effect = correlation.design_effect(values.len());
            passes_interval(
                values,
                Analysis::at(values.len(), settings.analyses),
                design_effect,
                FLOOR.min(settings.precision),
            )
        }
        Counts::Fixed { .. } => drift_interval(passes),
    }
}

/// The sentinel shows states that the kernel of the map does not show. That kernel replaces a missing sentinel.
fn states_of(values: &[PassValue], ns: &mut Vec<f64>, sentinel: &mut Vec<f64>) -> Vec<Vec<usize>> {
    ns.clear();
    ns.extend(values.iter().map(|value| value.ns));
    sentinel.clear();
    sentinel.extend(values.iter().map_while(|value| value.sentinel));
    let by_ns = (&ns[..], Detector::OTHERS);
    let by_sentinel = (&sentinel[..], Detector::CAS);
    let watched = sentinel.len() == values.len();
    if holds_still(by_ns.0, by_ns.1) && (!watched || holds_still(by_sentinel.0, by_sentinel.1)) {
        return Vec::new();
    }
    let split =
        if watched { split_states_jointly(&[by_sentinel, by_ns]) } else { split_states_jointly(&[by_ns]) };
    split.into_iter().map(|state| state.passes).collect()
}

fn cell_states(
    states: &[Vec<usize>],
    values: &[PassValue],
    settings: &LatencySettings,
) -> Option<Box<RareFacts>> {
    if states.len() < 2 {
        return None;
    }
    let mut ordered: Vec<CellState> = states
        .iter()
        .filter_map(|passes| {
            let ns: Vec<CellPass> = passes.iter().map(|&pass| values[pass].pass(1.0)).collect();
            let share = passes.len() as f64 / values.len() as f64;
            Some(CellState { share, latency_ns: interval(&ns, settings)? })
        })
        .collect();
    ordered.sort_by(|a, b| b.share.total_cmp(&a.share));
    Some(Box::new(RareFacts { states: ordered, lost: None }))
}

/// Throttling lowers the core clock below this ratio from the first to the last third of the passes. Fluctuating turbo
/// stays above it, and the clock of a guest moved by 12 % in minutes.
const SLOWED: f64 = 0.90;

fn slowed_down(ghz: &[f64]) -> bool {
    let third = ghz.len() / 3;
    if third < 2 {
        return false;
    }
    let (early, late) = (&ghz[..third], &ghz[ghz.len() - third..]);
    let highest = late.iter().copied().fold(0.0, f64::max);
    stats::median(early).is_some_and(|early| highest < SLOWED * early)
}

/// Grades a cell by its flags and interval. `repeats` returns whether other measurements agree.
pub fn grade(value: &mut CellValue, repeats: impl FnOnce() -> bool) {
    value.grade = Grade::decide(value.flags, width(value), repeats);
}

impl CellValue {
    /// The gravest doubt, if any.
    pub fn reason(&self) -> Option<Reason> {
        if let Some(failure) = self.rare.as_ref().and_then(|rare| rare.lost.as_ref()) {
            return Some(Reason::Lost(Box::new(failure.clone())));
        }
        // Steps of the clock look like states of the machine.
        let coarse = Some(Flag::CoarseClock).filter(|flag| self.flags.contains(*flag));
        coarse.or_else(|| self.flags.gravest()).map(|flag| reason(flag, self))
    }
}

fn reason(flag: Flag, value: &CellValue) -> Reason {
    match flag {
        Flag::Preempted => "the scheduler preempted the threads again and again".into(),
        Flag::Migrated => "a thread was found on another CPU".into(),
        Flag::Steal => "the hypervisor or interrupts took CPU time".into(),
        Flag::SmtBusy => "an SMT sibling was busy".into(),
        Flag::Throttled => "throttling: the core clock fell during the run".into(),
        Flag::Quota => "the CPU quota stopped the process".into(),
        Flag::Drift => "passes disagree, and the budget ended before measuring again".into(),
        Flag::Multimodal => Reason::States(value.states().len()),
        Flag::WideCi => Reason::Wide(width(value)),
        Flag::ModelOutlier => "does not fit the other pairs of its relation".into(),
        Flag::ParBias => "measured in parallel, which changes values of this relation".into(),
        Flag::CoarseClock => "the clock is too coarse for the batches".into(),
        Flag::TscUnsync => "the CPUs' counters differ by more than a message takes".into(),
        Flag::Invalid => "in some passes the two sides disagreed about what was done".into(),
        Flag::LostUpdates => "updates were lost".into(),
        Flag::FewPasses => Reason::FewPasses(value.passes),
        Flag::FailedPasses => "some passes failed".into(),
        Flag::Load => "other programs used the CPUs during the measurement".into(),
        Flag::Saturated => "the send rate exceeds the throughput".into(),
        Flag::Freq
        | Flag::HomeSpread
        | Flag::Home
        | Flag::Asym
        | Flag::Remeasured
        | Flag::CoordShared
        | Flag::SharedSpin
        | Flag::PauseExits
        | Flag::Cold
        | Flag::WorkedElsewhere
        | Flag::Unclaimed
        | Flag::VcpuUnpinned
        | Flag::OneProcess => flag.name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permanent_clock_drop_is_distinguished_from_fluctuation() {
        let fallen: Vec<f64> = [4.0; 12].into_iter().chain([3.4; 12]).collect();
        assert!(slowed_down(&fallen));
        let back: Vec<f64> = fallen.iter().copied().chain([4.0]).collect();
        assert!(!slowed_down(&back), "it came back");
        assert!(!slowed_down(&[4.2, 4.1, 4.0, 3.9, 3.85, 3.85, 3.8, 3.8]), "turbo");
        assert!(!slowed_down(&[4.0, 3.0, 3.0, 3.0, 3.0]) && !slowed_down(&[]), "too few to say");
    }
}
