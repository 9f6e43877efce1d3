//! The trials of one round: what each visit said, or why it said nothing.

use super::bytes::{Damage, Reader, Writer};
use super::shapes::Shapes;
use coretalk_measure::session::sink::RecordedTrial;
use coretalk_model::latency::{SpanSummary, Visit};
use coretalk_model::{CpuId, Flags, Picos, TrialFailure};

const VERSION: u8 = 1;

/// Where differences of core clocks begin: any value of the usual size would do.
pub(super) const CLOCK_START_GHZ: f32 = 3.0;

/// Encodes the trials of a round that began at `started`.
///
/// A visit takes 10 to 13 bytes for each span and about 6 besides: four for the location, the rest as differences
/// (floor from location, spread from 1, cell and clock from the trial before, start from that of the round).
pub fn encode_trials(
    trials: &[RecordedTrial],
    started: Picos,
    shapes: &mut Shapes,
    context: &[u8],
) -> Vec<u8> {
    let mut out = Writer::new(VERSION);
    out.varint(trials.len() as u64);
    let (mut last_cell, mut last_clock) = (0, CLOCK_START_GHZ);
    for trial in trials {
        out.signed(i64::from(trial.cell) - i64::from(last_cell));
        last_cell = trial.cell;
        match &trial.outcome {
            Err(failure) => {
                out.varint(0);
                write_failure(&mut out, failure);
            }
            Ok(visit) => {
                let shape = shapes.number(visit.spans.iter().map(|span| (span.kernel.clone(), span.home)));
                out.varint(u64::from(shape) + 1);
                out.signed(visit.started.0.wrapping_sub(started.0) as i64);
                out.varint(u64::from(visit.flags.0));
                out.float_near(visit.core_ghz, last_clock);
                last_clock = visit.core_ghz.unwrap_or(last_clock);
                for span in &visit.spans {
                    write_span(&mut out, span);
                }
            }
        }
    }
    out.seal(context)
}

/// Decodes what [`encode_trials`] wrote, without recordings. Every cell is below `cells`.
pub fn decode_trials(
    blob: &[u8],
    started: Picos,
    shapes: &Shapes,
    cells: u32,
    context: &[u8],
) -> Result<Vec<RecordedTrial>, Damage> {
    let mut from = Reader::open(blob, context, VERSION)?;
    let count = from.count("the number of trials", 3 * 8)?;
    let mut trials = Vec::with_capacity(count);
    let (mut last_cell, mut last_clock) = (0i64, CLOCK_START_GHZ);
    for _ in 0..count {
        last_cell = last_cell.wrapping_add(from.signed()?);
        let cell = u32::try_from(last_cell)
            .ok()
            .filter(|&cell| cell < cells)
            .ok_or(Damage::Value { what: "the number of a cell", value: last_cell as u64 })?;
        let Some(shape) = from.varint()?.checked_sub(1) else {
            trials.push(RecordedTrial { cell, outcome: Err(read_failure(&mut from)?), raw: None });
            continue;
        };
        let kernels = u32::try_from(shape)
            .ok()
            .and_then(|number| shapes.get(number))
            .ok_or(Damage::Value { what: "the number of a shape", value: shape })?;
        let visit_started = Picos(started.0.wrapping_add(from.signed()? as u64));
        let flags = Flags(from.varint32("a set of flags")?);
        let core_ghz = from.float_near(last_clock)?;
        last_clock = core_ghz.unwrap_or(last_clock);
        // A span takes at least 8 bytes: a shape cannot ask for more room than the blob has.
        if kernels.len() * 8 > from.left() {
            return Err(Damage::Short);
        }
        let mut spans = Vec::with_capacity(kernels.len());
        for (kernel, home) in kernels {
            let location_ns = from.float()?;
            spans.push(SpanSummary {
                kernel: kernel.clone(),
                home: *home,
                location_ns,
                line_error_ns: from.float_near(0.0)?,
                floor_ns: from
                    .float_near(location_ns)?
                    .ok_or(Damage::Value { what: "the fastest batch", value: 0 })?,
                line_spread: from.float_near(1.0)?,
                kept: from.varint32("the number of batches kept")?,
                dropped: from.varint32("the number of batches dropped")?,
            });
        }
        let visit = Visit { cell, started: visit_started, core_ghz, flags, spans };
        trials.push(RecordedTrial { cell, outcome: Ok(visit), raw: None });
    }
    from.finish()?;
    Ok(trials)
}

fn write_span(out: &mut Writer, span: &SpanSummary) {
    out.float(span.location_ns);
    out.float_near(span.line_error_ns, 0.0);
    out.float_near(Some(span.floor_ns), span.location_ns);
    out.float_near(span.line_spread, 1.0);
    out.varint(u64::from(span.kept));
    out.varint(u64::from(span.dropped));
}

fn write_failure(out: &mut Writer, failure: &TrialFailure) {
    match failure {
        TrialFailure::NotPinned { cpu, errno } => {
            out.byte(0);
            out.varint(u64::from(cpu.0));
            out.signed(i64::from(*errno));
        }
        TrialFailure::CpuLost { cpu } => {
            out.byte(1);
            out.varint(u64::from(cpu.0));
        }
        TrialFailure::TimedOut { limit } => {
            out.byte(2);
            out.varint(limit.0);
        }
        TrialFailure::PartnerLost { cpu } => {
            out.byte(3);
            out.varint(u64::from(cpu.0));
        }
        TrialFailure::Unverified { sent, received } => {
            out.byte(4);
            out.varint(*sent);
            out.varint(*received);
        }
        TrialFailure::Interrupted => out.byte(5),
        TrialFailure::Command { reason, stdout, stderr } => {
            out.byte(6);
            for text in [reason, stdout, stderr] {
                out.varint(text.len() as u64);
                text.bytes().for_each(|byte| out.byte(byte));
            }
        }
    }
}

fn text(from: &mut Reader<'_>) -> Result<String, Damage> {
    let length = from.varint()?;
    // Byte by byte: a damaged length ends at the end of the blob, before it asks for memory.
    let bytes: Vec<u8> = (0..length).map(|_| from.byte()).collect::<Result<_, _>>()?;
    String::from_utf8(bytes)
        .map_err(|error| Damage::Value { what: "a letter", value: error.utf8_error().valid_up_to() as u64 })
}

fn read_failure(from: &mut Reader<'_>) -> Result<TrialFailure, Damage> {
    let cpu = |from: &mut Reader<'_>| from.varint32("a CPU").map(CpuId);
    Ok(match from.byte()? {
        0 => {
            let cpu = cpu(from)?;
            let errno = from.signed()?;
            let errno = i32::try_from(errno)
                .map_err(|_| Damage::Value { what: "an error number", value: errno as u64 })?;
            TrialFailure::NotPinned { cpu, errno }
        }
        1 => TrialFailure::CpuLost { cpu: cpu(from)? },
        2 => TrialFailure::TimedOut { limit: Picos(from.varint()?) },
        3 => TrialFailure::PartnerLost { cpu: cpu(from)? },
        4 => TrialFailure::Unverified { sent: from.varint()?, received: from.varint()? },
        5 => TrialFailure::Interrupted,
        6 => TrialFailure::Command { reason: text(from)?, stdout: text(from)?, stderr: text(from)? },
        code => return Err(Damage::Value { what: "the kind of a failure", value: u64::from(code) }),
    })
}
