//! `one-way`: the delay of a time stamp relative to the fastest, in each direction.
//!
//! A difference between the clocks of two CPUs contains their offset, which is known only to half a round trip. The
//! offset cancels in the distance from the minimum, so only this variation is reported.

use super::record::KeptRecording;
use super::{
    CellValue, LatencyMap, LatencySettings, MissingReason, PairOutcome, Purpose, Record, Regime, cell,
};
use crate::flags::TAINTED_SHARE;
use crate::stats::{CellPass, Estimate, MIN_PASSES};
use crate::{
    CpuId, Flag, Flags, Grade, Hint, KernelId, Matrix, OrNan, Picos, Protocol, Samples, TickRate,
    TrialFailure,
};
use std::collections::BTreeMap;

/// Required relative interval of a variation: a factor of two. The requested precision of a run applies to latencies.
pub const PRECISION: f64 = 0.5;

/// One message as counted in [`Samples::Counts`]: a signed difference of two clocks, and its direction.
///
/// Packed as zigzag with the direction in the lowest bit, so that small differences are small numbers in the buckets.
///
/// ```
/// use coretalk_model::latency::one_way::{OneWay, Direction};
/// let back = OneWay { way: Direction::Back, ticks: -7 };
/// assert_eq!(back.pack(), 27);
/// assert_eq!(OneWay::unpack(27), back);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWay {
    /// The direction.
    pub way: Direction,
    /// Clock of the receiver on arrival − clock of the sender on sending, in ticks; between −2⁶² and 2⁶².
    pub ticks: i64,
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the initiator to the responder.
    Out,
    /// From the responder to the initiator.
    Back,
}

impl OneWay {
    /// Encodes the message as a number for the buckets.
    #[inline(always)]
    pub fn pack(self) -> u64 {
        let zigzag = (self.ticks << 1 ^ self.ticks >> 63) as u64;
        zigzag << 1 | u64::from(self.way == Direction::Back)
    }

    /// Decodes the index of a bucket, or a value beyond the buckets.
    pub fn unpack(code: u64) -> OneWay {
        let zigzag = code >> 1;
        OneWay {
            way: if code & 1 == 0 { Direction::Out } else { Direction::Back },
            ticks: (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64),
        }
    }
}

/// The directed map of variation, from row to column: the median over visits of the median minus minimum delay.
pub fn map(settings: &LatencySettings, rate: TickRate, record: &Record, pairs: &[[CpuId; 2]]) -> LatencyMap {
    let mut passes: BTreeMap<[CpuId; 2], Vec<Delays>> = BTreeMap::new();
    for kept in record.kept(Purpose::Tails) {
        let [from, to] = pairs[kept.cell as usize];
        for (way, placement) in [(Direction::Out, [from, to]), (Direction::Back, [to, from])] {
            passes.entry(placement).or_default().extend(Delays::from_recording(kept, way, rate));
        }
    }
    let failed: BTreeMap<[CpuId; 2], &TrialFailure> = pairs
        .iter()
        .enumerate()
        .filter_map(|(cell, pair)| Some((*pair, record.passes(cell)?.failure?)))
        .collect();
    let missing = |placement: [CpuId; 2]| {
        let failure = failed.get(&placement).or_else(|| failed.get(&[placement[1], placement[0]]));
        let as_reason = |failure: &&TrialFailure| MissingReason::Failed((*failure).clone());
        PairOutcome::Missing { reason: failure.map_or(MissingReason::NotReached, as_reason) }
    };
    let cpus = &settings.cpus;
    let cells = Matrix::directed(cpus.clone(), |row, column| {
        if row == column {
            return PairOutcome::Missing { reason: MissingReason::SameCpu };
        }
        let [out, back] = [[row, column], [column, row]].map(|way| {
            let delays = passes.get(&way.map(|position| cpus[position]));
            delays.map_or(&[][..], Vec::as_slice)
        });
        judge(settings, rate, out, back).unwrap_or_else(|| missing([cpus[row], cpus[column]]))
    });
    LatencyMap {
        protocol: Protocol::OneWay,
        kernel: KernelId::new(Protocol::OneWay, Hint::None),
        hint: Hint::None,
        hint_reason: "this protocol does not spin".into(),
        regime: Regime::Serial,
        cells,
    }
}

#[derive(Debug, Clone, Copy)]
struct Delays {
    at_s: f64,
    median_ns: f64,
    least_ticks: i64,
    messages: u64,
}

impl Delays {
    fn from_recording(kept: &KeptRecording, way: Direction, rate: TickRate) -> Option<Delays> {
        let one_way = |kernel: &KernelId| *kernel == KernelId::new(Protocol::OneWay, Hint::None);
        let span = kept.recording.spans.iter().find(|span| one_way(&span.kernel))?;
        let Samples::Counts { counts } = &span.samples else { return None };
        let mut ticks: Vec<(i64, u64)> = counts
            .iter()
            .map(|&(code, count)| (OneWay::unpack(code), count))
            .filter(|(message, _)| message.way == way)
            .map(|(message, count)| (message.ticks, count))
            .collect();
        ticks.sort_unstable();
        let messages: u64 = ticks.iter().map(|&(_, count)| count).sum();
        let least = ticks.first()?.0;
        let mut seen = 0;
        let median = ticks.iter().find(|&&(_, count)| {
            seen += count;
            2 * seen >= messages
        })?;
        let median_ns = rate.ns((median.0 - least) as f64);
        Some(Delays { at_s: kept.recording.started.secs(), median_ns, least_ticks: least, messages })
    }
}

fn interval(settings: &LatencySettings, delays: &[Delays]) -> Option<Estimate> {
    let pass = |visit: &Delays| CellPass { at_s: visit.at_s, value: visit.median_ns, line_error: 0.0 };
    cell::interval(&delays.iter().map(pass).collect::<Vec<_>>(), settings)
}

fn early_share(delays: &[Delays]) -> f64 {
    let early = delays.iter().filter(|visit| visit.least_ticks < 0).count();
    early as f64 / delays.len().max(1) as f64
}

fn judge(
    settings: &LatencySettings,
    rate: TickRate,
    delays: &[Delays],
    back: &[Delays],
) -> Option<PairOutcome> {
    let variation = interval(settings, delays)?;
    // The error of a difference of two clock readings is less than one step either way.
    let step_ns = rate.ns(1.0);
    if variation.point < step_ns {
        return Some(PairOutcome::Missing {
            reason: MissingReason::WithinClockStep(Picos::from_ns(step_ns)),
        });
    }
    let latency_ns =
        Estimate { low: (variation.low - step_ns).max(0.0), high: variation.high + step_ns, ..variation };
    let mut flags = Flags::NONE;
    if delays.len() < MIN_PASSES {
        flags.set(Flag::FewPasses);
    } else if interval(settings, back).is_some_and(|back| !back.overlaps(&latency_ns)) {
        flags.set(Flag::Asym);
    }
    // The offset shortens one direction by as much as it lengthens the other, so either direction shows it.
    if early_share(delays).max(early_share(back)) > TAINTED_SHARE {
        flags.set(Flag::TscUnsync);
    }
    if latency_ns.relative_reach() > PRECISION {
        flags.set(Flag::WideCi);
    }
    let mut value = CellValue {
        latency_ns,
        cycles: OrNan::NONE,
        core_ghz: OrNan::NONE,
        min_ns: 0.0,
        batches: delays.iter().map(|visit| visit.messages).sum(),
        dropped: 0,
        passes: delays.len() as u32,
        home: crate::Home(0),
        home_penalty: OrNan::NONE,
        line_spread: OrNan::NONE,
        cas_ns: OrNan::NONE,
        grade: Grade::D,
        flags,
        rare: None,
    };
    cell::grade(&mut value, || false);
    Some(PairOutcome::Measured(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_differences_of_either_sign_are_small_numbers() {
        let packed = [0, -1, 1, -2, 2].map(|ticks| OneWay { way: Direction::Out, ticks }.pack());
        assert_eq!(packed, [0, 2, 4, 6, 8]);
    }

    #[test]
    fn ways_that_vary_differently_are_flagged() {
        let settings = LatencySettings::for_cpus(vec![CpuId(0), CpuId(1)]);
        let visits = |median_ns: f64| -> Vec<Delays> {
            let visit = |pass: u32| Delays {
                at_s: f64::from(pass),
                median_ns: median_ns + f64::from(pass % 3),
                least_ticks: 10,
                messages: 1_000,
            };
            (0..24).map(visit).collect()
        };
        let rate = |hz| TickRate { hz };
        let flags = |out: f64, back: f64| {
            judge(&settings, rate(1e9), &visits(out), &visits(back)).unwrap().value().unwrap().flags
        };
        let coarse = |out: f64| judge(&settings, rate(24e6), &visits(out), &visits(out)).unwrap();
        let within = MissingReason::WithinClockStep(Picos(41_667));
        assert!(matches!(coarse(0.0), PairOutcome::Missing { reason } if reason == within));
        let outcome = coarse(50.0);
        let value = outcome.value().unwrap();
        assert!(value.latency_ns.low < 10.0 && value.flags.contains(Flag::WideCi), "{value:?}");
        assert!(flags(50.0, 80.0).contains(Flag::Asym) && !flags(50.0, 80.0).has_doubt());
        assert!(!flags(50.0, 50.0).contains(Flag::Asym));
    }

    proptest! {
        #[test]
        fn signed_differences_survive_packing(ticks in -(1_i64 << 62)..1 << 62, back: bool) {
            let message = OneWay { way: if back { Direction::Back } else { Direction::Out }, ticks };
            prop_assert_eq!(OneWay::unpack(message.pack()), message);
        }
    }
}
