//! [`reduce`]: converts a recording in ticks to a summary of a cell.

use super::{Counts, SpanSummary, Visit};
use crate::recording::{clock_moved, was_stolen};
use crate::stats::{LineScratch, summarize_lines};
use crate::{Flag, Flags, Picos, Recording, Samples, Span, TickRate};

/// The clock of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Ticks per second.
    pub rate: TickRate,
    /// Smallest visible step of the counter in nanoseconds; `None` if unknown.
    pub step_ns: Option<f64>,
}

/// Share of dropped batches above which, after a preemption, the kept batches are not trusted either.
const DROPPED_SHARE: f64 = 0.10;
const COARSE_SHARE: f64 = 0.01;
const LINES_FOR_SPREAD: u32 = 8;

/// Reduces the recordings of one segment, identically in the session and from its file.
#[derive(Debug)]
pub struct Reducer {
    scale: Scale,
    scratch: LineScratch,
}

impl Reducer {
    /// A reducer for a segment with this clock, in a run with these counts.
    pub fn new(scale: Scale, counts: Counts) -> Reducer {
        // Only the intervals of fixed counts need line errors.
        let scratch = match counts {
            Counts::Adaptive => LineScratch::without_errors(),
            Counts::Fixed { .. } => LineScratch::default(),
        };
        Reducer { scale, scratch }
    }

    /// The longest batch that a sample can hold, if a batch of the recording was longer. A lower bound, not a latency.
    pub fn overrun(&self, recording: &Recording) -> Option<Picos> {
        let is_over = |span: &Span| match &span.samples {
            // Without an early exit, so that the processor can compare several values at once.
            Samples::Batches { ticks, .. } => {
                ticks.iter().fold(false, |over, &ticks| over | (ticks == u32::MAX))
            }
            Samples::Events { .. } | Samples::Counts { .. } => false,
        };
        let longest = Picos::from_ns(self.scale.rate.ns(f64::from(u32::MAX)));
        recording.spans.iter().any(is_over).then_some(longest)
    }

    /// Reduces a recording to a visit of a cell.
    pub fn visit(&mut self, cell: u32, recording: &Recording) -> Visit {
        reduce(cell, recording, self.scale, &mut self.scratch)
    }
}

/// Reduces a recording. Spans of single events are represented by their median and minimum. Values are rounded to `f32`
/// only here, so that results from memory and from a run file are identical.
pub fn reduce(cell: u32, recording: &Recording, scale: Scale, scratch: &mut LineScratch) -> Visit {
    let mut spans = Vec::with_capacity(recording.spans.len());
    spans.extend(recording.spans.iter().filter_map(|span| summarize(span, scale, scratch)));
    let flags = evidence(recording, &spans, scale);
    Visit { cell, started: recording.started, core_ghz: core_clock(recording), flags, spans }
}

/// A batch of at most one clock step has no measurable length.
fn is_resolved(ticks: f64, scale: Scale) -> bool {
    let step_ns = scale.step_ns.filter(|step| step.is_finite()).unwrap_or(0.0);
    ticks > 0.0 && scale.rate.ns(ticks) >= 1.5 * step_ns
}

fn summarize(span: &Span, scale: Scale, scratch: &mut LineScratch) -> Option<SpanSummary> {
    let hops = f64::from(span.kernel.hops());
    let per_hop = |ticks: f64| (scale.rate.ns(ticks) / (f64::from(span.round_trips.max(1)) * hops)) as f32;
    let summary = |location: f64, floor: f64, kept: u32, dropped: u32| SpanSummary {
        kernel: span.kernel.clone(),
        home: span.home,
        location_ns: per_hop(location),
        line_error_ns: None,
        floor_ns: per_hop(floor),
        line_spread: None,
        kept,
        dropped,
    };
    match &span.samples {
        Samples::Batches { visits, ticks } => {
            let lines = summarize_lines(ticks, *visits as usize, scratch)?;
            if !is_resolved(lines.location, scale) {
                return None;
            }
            let spread = (lines.lines >= LINES_FOR_SPREAD).then_some(lines.line_spread);
            Some(SpanSummary {
                line_error_ns: lines.line_error.filter(|_| lines.lines > 1).map(per_hop),
                line_spread: spread.map(|spread| spread as f32),
                ..summary(lines.location, lines.floor, lines.n, lines.dropped)
            })
        }
        Samples::Events { ticks } => {
            let mut sorted = ticks.clone();
            sorted.sort_unstable();
            let floor = *sorted.first()?;
            let median = sorted[sorted.len() / 2];
            Some(summary(f64::from(median), f64::from(floor), sorted.len() as u32, 0))
        }
        Samples::Counts { counts } => {
            // 128-bit sums, because a file can hold any counts.
            let total: u128 = counts.iter().map(|&(_, count)| u128::from(count)).sum();
            let mut below = 0;
            let median = counts.iter().find(|&&(_, count)| {
                below += u128::from(count);
                2 * below >= total
            })?;
            let floor = counts.iter().find(|&&(_, count)| count > 0)?;
            let kept = u32::try_from(total).unwrap_or(u32::MAX);
            Some(summary(median.0 as f64, floor.0 as f64, kept, 0))
        }
    }
}

fn core_clock(recording: &Recording) -> Option<f32> {
    let roles = &recording.core_ghz;
    if roles.is_empty() || roles.iter().any(Option::is_none) {
        return None;
    }
    Some(roles.iter().flatten().flatten().sum::<f32>() / (2 * roles.len()) as f32)
}

fn evidence(recording: &Recording, spans: &[SpanSummary], scale: Scale) -> Flags {
    let disturbance = &recording.disturbance;
    let mut flags = Flags::NONE;
    let kept: u64 = spans.iter().map(|span| u64::from(span.kept)).sum();
    let dropped: u64 = spans.iter().map(|span| u64::from(span.dropped)).sum();
    if disturbance.involuntary_switches.unwrap_or(0) > 0
        && dropped as f64 > DROPPED_SHARE * (kept + dropped) as f64
    {
        flags.set(Flag::Preempted);
    }
    if disturbance.migrated {
        flags.set(Flag::Migrated);
    }
    if was_stolen(disturbance.steal_ms, recording.elapsed) {
        flags.set(Flag::Steal);
    }
    if disturbance.coordinator_shared {
        flags.set(Flag::CoordShared);
    }
    if disturbance.sibling_busy {
        flags.set(Flag::SmtBusy);
    }
    if disturbance.throttled {
        flags.set(Flag::Throttled);
    }
    if disturbance.quota {
        flags.set(Flag::Quota);
    }
    if disturbance.others_busy {
        flags.set(Flag::Load);
    }
    if disturbance.lines_elsewhere {
        flags.set(Flag::Home);
    }
    // A thread stopped by a quota while its clock is probed reads a slow clock.
    if !disturbance.quota && recording.core_ghz.iter().flatten().any(|&ghz| clock_moved(ghz)) {
        flags.set(Flag::Freq);
    }
    let coarse = scale.step_ns.is_some_and(|step| {
        spans.iter().zip(&recording.spans).any(|(summary, span)| {
            step > COARSE_SHARE * f64::from(summary.location_ns) * 2.0 * f64::from(span.round_trips)
        })
    });
    if coarse {
        flags.set(Flag::CoarseClock);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disturbance, Home, KernelId, Picos};

    fn recording(kernel: &'static str, samples: Samples) -> Recording {
        Recording {
            started: Picos::from_ms(5),
            elapsed: Picos::from_us(80),
            spans: vec![Span { kernel: KernelId(kernel.into()), home: Home(0), round_trips: 16, samples }],
            core_ghz: vec![Some([4.0, 4.0]), Some([4.2, 4.2])],
            disturbance: Disturbance::default(),
        }
    }

    const SCALE: Scale = Scale { rate: TickRate { hz: 2e9 }, step_ns: Some(0.5) };

    fn visit(recording: &Recording) -> Visit {
        reduce(3, recording, SCALE, &mut LineScratch::default())
    }

    #[test]
    fn a_batch_of_round_trips_is_read_as_half_round_trips() {
        // 16 round trips in 1,280 ticks at 2 GHz: 640 ns, 40 a round trip, 20 a hop.
        let ticks = vec![1280; 10];
        let seen = visit(&recording("cas", Samples::Batches { visits: 1, ticks: ticks.clone() }));
        assert_eq!((seen.spans[0].location_ns, seen.spans[0].floor_ns), (20.0, 20.0));
        assert_eq!((seen.spans[0].kept, seen.spans[0].line_spread), (10, Some(1.0)));
        assert_eq!(seen.core_ghz, Some(4.1));
        let read = visit(&recording("xfer", Samples::Batches { visits: 1, ticks }));
        assert_eq!(read.spans[0].location_ns, 40.0);
    }

    #[test]
    fn evidence_becomes_flags_only_where_it_explains_something() {
        let batches = || Samples::Batches { visits: 1, ticks: vec![1280; 10] };
        let mut calm = recording("cas", batches());
        calm.disturbance.involuntary_switches = Some(3);
        assert!(visit(&calm).flags.is_empty(), "no batch was lost");
        let mut moved = recording("cas", batches());
        moved.disturbance.migrated = true;
        moved.core_ghz[0] = Some([4.0, 4.2]);
        let flags = visit(&moved).flags;
        assert!(flags.contains(Flag::Migrated) && flags.contains(Flag::Freq));
        let coarse = Scale { step_ns: Some(41.7), ..SCALE };
        let seen = reduce(0, &recording("cas", batches()), coarse, &mut LineScratch::default());
        assert!(seen.flags.contains(Flag::CoarseClock));
    }

    #[test]
    fn single_events_stand_for_their_median() {
        let seen = visit(&recording("cas", Samples::Counts { counts: vec![(32, 1), (64, 5), (9000, 1)] }));
        assert_eq!((seen.spans[0].location_ns, seen.spans[0].floor_ns), (1.0, 0.5));
        assert_eq!(visit(&recording("cas", Samples::Counts { counts: vec![] })).spans.len(), 0);
    }
}
