//! Raw recordings. A recording replaces the summary that it determines. Other recordings of a round share one blob.

use super::CLOCK_START_GHZ;
use super::bytes::{Damage, Events, Reader, Writer, core_clock, number};
use super::ticks::{read_ticks, write_ticks};
use super::{Shape, Shapes};
use coretalk_model::latency::{RecordedTrial, Reducer};
use coretalk_model::{Disturbance, Picos, Recording, Samples, Span};

const VERSION: u8 = 2;
/// Last version that stores the bits of a [`Disturbance`] in one byte.
const DISTURBANCE_IN_A_BYTE: u8 = 1;

/// Maximum counted value in ticks. A packed `OneWay` is about four times its difference in ticks.
const MAX_TICKS: u64 = 1 << 62;

/// Maximum time that the host took, in milliseconds: one day of 10,000 CPUs. Also limits negative values, because
/// counters of a guest may step back.
const STOLEN_MS: f32 = 86_400e3 * 10_000.0;

/// Encodes recordings whose trials also have a summary, each with the index of its trial in the round.
pub fn encode_recordings(
    kept: &[(usize, &Recording)],
    started: Picos,
    shapes: &mut Shapes,
    context: &[u8],
) -> Option<Vec<u8>> {
    if kept.is_empty() {
        return None;
    }
    let mut out = Writer::new(VERSION);
    out.varint(kept.len() as u64);
    for &(position, recording) in kept {
        out.varint(position as u64);
        out.varint(u64::from(shape_of(recording, shapes)));
        write_recording(&mut out, recording, started);
    }
    Some(out.seal(context))
}

/// Returns the recording of a trial if it determines the summary. Then only the recording is stored.
pub fn saying_all<'a>(trial: &'a RecordedTrial, reducer: &mut Reducer) -> Option<&'a Recording> {
    let raw = trial.raw.as_ref()?;
    let visit = trial.outcome.as_ref().ok()?;
    (reducer.visit(trial.cell, raw) == *visit).then_some(raw)
}

pub fn shape_of(recording: &Recording, shapes: &mut Shapes) -> u32 {
    shapes.number(recording.spans.iter().map(|span| (span.kernel.clone(), span.home)))
}

/// Appends a recording of a round that began at `started`, without its shape.
pub fn write_recording(out: &mut Writer, recording: &Recording, started: Picos) {
    out.signed(recording.started.0.wrapping_sub(started.0) as i64);
    out.varint(recording.elapsed.0);
    write_disturbance(out, &recording.disturbance);
    out.varint(recording.core_ghz.len() as u64);
    let mut near = CLOCK_START_GHZ;
    for clock in &recording.core_ghz {
        out.float_near(clock.map(|[before, _]| before), near);
        if let Some([before, after]) = *clock {
            out.float_near(Some(after), before);
            near = after;
        }
    }
    for span in &recording.spans {
        out.varint(u64::from(span.round_trips));
        write_samples(out, &span.samples);
    }
}

/// Decodes what [`encode_recordings`] wrote.
pub fn decode_recordings(
    blob: &[u8],
    started: Picos,
    shapes: &Shapes,
    events: &mut Events,
    context: &[u8],
) -> Result<Vec<(usize, Recording)>, Damage> {
    let mut from = Reader::open(blob, context, VERSION)?;
    let evidence = Evidence::read(&from, DISTURBANCE_IN_A_BYTE);
    let count = from.count("the number of recordings", 6 * 8)?;
    let mut recordings = Vec::with_capacity(count);
    for _ in 0..count {
        let position = from.varint32("the position of a trial")? as usize;
        let shape = from.varint32("the number of a shape")?;
        let kernels = shapes
            .get(shape)
            .ok_or(Damage::Value { what: "the number of a shape", value: u64::from(shape) })?;
        recordings.push((position, read_recording(&mut from, evidence, started, kernels, events)?));
    }
    from.finish()?;
    Ok(recordings)
}

/// Encoding of the bits of a [`Disturbance`]. The first versions used a single byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    Byte,
    Varint,
}

impl Evidence {
    /// Returns the encoding of a blob. Versions up to `last` use a byte.
    pub fn read(from: &Reader<'_>, last: u8) -> Evidence {
        if from.version() <= last { Evidence::Byte } else { Evidence::Varint }
    }
}

/// Reads what [`write_recording`] wrote for a trial with the shape `kernels`.
pub fn read_recording(
    from: &mut Reader<'_>,
    evidence: Evidence,
    started: Picos,
    kernels: &Shape,
    events: &mut Events,
) -> Result<Recording, Damage> {
    let started = from.moment_near(started)?;
    let elapsed = from.time()?;
    let disturbance = read_disturbance(from, evidence)?;
    let roles = from.count("the number of roles", 8)?;
    let mut near = CLOCK_START_GHZ;
    let mut core_ghz = Vec::with_capacity(roles);
    for _ in 0..roles {
        let clock =
            from.float_near(near)?.map(|before| read_known(from, before).map(|after| [before, after]));
        let clock = clock.transpose()?;
        clock.iter().flatten().try_for_each(|&ghz| core_clock(ghz).map(drop))?;
        near = clock.map_or(near, |[_, after]| after);
        core_ghz.push(clock);
    }
    let spans = kernels
        .iter()
        .map(|(kernel, home)| {
            Ok(Span {
                kernel: kernel.clone(),
                home: *home,
                round_trips: from.varint32("the round trips of a batch")?,
                samples: read_samples(from, events)?,
            })
        })
        .collect::<Result<Vec<_>, Damage>>()?;
    Ok(Recording { started, elapsed, spans, core_ghz, disturbance })
}

fn write_samples(out: &mut Writer, samples: &Samples) {
    match samples {
        Samples::Batches { visits, ticks } => {
            out.byte(0);
            out.varint(u64::from(*visits));
            write_ticks(out, ticks, *visits as usize);
        }
        Samples::Events { ticks } => {
            out.byte(1);
            write_ticks(out, ticks, ticks.len());
        }
        Samples::Counts { counts } => {
            out.byte(2);
            out.varint(counts.len() as u64);
            let mut last = 0;
            for &(ticks, count) in counts {
                out.signed(ticks.wrapping_sub(last) as i64);
                out.varint(count);
                last = ticks;
            }
        }
    }
}

fn read_samples(from: &mut Reader<'_>, events: &mut Events) -> Result<Samples, Damage> {
    Ok(match from.byte()? {
        0 => {
            let visits = from.varint32("the visits of a line")?;
            Samples::Batches { visits, ticks: read_ticks(from, visits as usize)? }
        }
        // Events belong to no cache line, so the line length exceeds any number of events.
        1 => Samples::Events { ticks: read_ticks(from, usize::MAX)? },
        2 => {
            let count = from.count("the number of values", 2 * 8)?;
            let mut counts = Vec::with_capacity(count);
            let mut last = 0u64;
            for _ in 0..count {
                last = last.wrapping_add(from.signed()? as u64);
                if last > MAX_TICKS {
                    return Err(Damage::Value { what: "a number of ticks", value: last });
                }
                counts.push((last, events.add("the count of a value", from.varint()?)?));
            }
            Samples::Counts { counts }
        }
        kind => return Err(Damage::Value { what: "the kind of samples", value: u64::from(kind) }),
    })
}

fn write_disturbance(out: &mut Writer, found: &Disturbance) {
    let known = [
        found.involuntary_switches.is_some(),
        found.voluntary_switches.is_some(),
        found.steal_ms.is_some(),
        found.migrated,
        found.coordinator_shared,
        found.sibling_busy,
        found.throttled,
        found.others_busy,
        found.quota,
        found.lines_elsewhere,
    ];
    out.varint(known.iter().enumerate().fold(0, |bits, (bit, &set)| bits | u64::from(set) << bit));
    for count in [found.involuntary_switches, found.voluntary_switches].into_iter().flatten() {
        out.varint(u64::from(count));
    }
    if let Some(steal_ms) = found.steal_ms {
        out.float_near(Some(steal_ms), 0.0);
    }
}

fn read_known(from: &mut Reader<'_>, near: f32) -> Result<f32, Damage> {
    from.float_near(near)?.ok_or(Damage::Value { what: "a float that must be known", value: 0 })
}

fn read_disturbance(from: &mut Reader<'_>, evidence: Evidence) -> Result<Disturbance, Damage> {
    let bits = match evidence {
        Evidence::Byte => u64::from(from.byte()?),
        Evidence::Varint => from.varint()?,
    };
    let set = |bit: u8| bits >> bit & 1 == 1;
    let switches = "the number of context switches";
    Ok(Disturbance {
        involuntary_switches: set(0).then(|| from.varint32(switches)).transpose()?,
        voluntary_switches: set(1).then(|| from.varint32(switches)).transpose()?,
        steal_ms: set(2)
            .then(|| number("stolen time in ms", read_known(from, 0.0)?, -STOLEN_MS..=STOLEN_MS))
            .transpose()?,
        migrated: set(3),
        coordinator_shared: set(4),
        sibling_busy: set(5),
        throttled: set(6),
        others_busy: set(7),
        quota: set(8),
        lines_elsewhere: set(9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbance_in_one_byte_is_read() {
        // Only the bit of busy other programs is set: encoded as in version 1, and as a varint.
        for (version, bits) in [(1, vec![0x80]), (2, vec![0x80, 0x01])] {
            let mut out = Writer::new(version);
            out.varint(1);
            out.varint(0);
            out.varint(0);
            out.signed(0);
            out.varint(1_000);
            bits.iter().for_each(|&byte| out.byte(byte));
            out.varint(0);
            let mut shapes = Shapes::default();
            assert_eq!(shapes.number(std::iter::empty()), 0);
            let recordings =
                decode_recordings(&out.seal(b""), Picos::ZERO, &shapes, &mut Events::default(), b"").unwrap();
            let expected = Disturbance { others_busy: true, ..Disturbance::default() };
            assert_eq!(recordings[0].1.disturbance, expected, "version {version}");
        }
    }
}
