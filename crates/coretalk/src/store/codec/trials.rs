//! Trials of one round: a summary, a recording or a failure for each visit.

use super::CLOCK_START_GHZ;
use super::Shapes;
use super::bytes::{Damage, Events, Reader, Writer, core_clock, latency, number};
use super::recordings::{Evidence, read_recording, saying_all, shape_of, write_recording};
use coretalk_model::latency::{RecordedTrial, Reducer, SpanSummary, Visit};
use coretalk_model::{CommandEnd, Flags, Hint, KernelId, Picos, Protocol, Recording, TrialFailure};

const VERSION: u8 = 3;
/// Last version that stores the bits of a recording's `Disturbance` in one byte.
const DISTURBANCE_IN_A_BYTE: u8 = 2;
/// Version that stored a summary for every trial and no recordings.
const ONLY_SUMMARIES: u8 = 1;

/// Encodes the trials of a round that began at `started`. A visit takes about 6 bytes, and 10 to 13 for each span.
///
/// Only the location of a span (4 bytes) is stored as it is. Other values are differences: floor from location, spread
/// from 1, cell and clock from the previous trial, start from `started`. A recording replaces the summary that it
/// determines. Other recordings are returned with the index of their trial.
pub fn encode_trials<'a>(
    trials: &'a [RecordedTrial],
    started: Picos,
    shapes: &mut Shapes,
    reducer: &mut Reducer,
    context: &[u8],
) -> (Vec<u8>, Vec<(usize, &'a Recording)>) {
    let mut out = Writer::new(VERSION);
    let mut separate = Vec::new();
    out.varint(trials.len() as u64);
    let (mut last_cell, mut last_clock) = (0, CLOCK_START_GHZ);
    for (position, trial) in trials.iter().enumerate() {
        out.signed(i64::from(trial.cell) - i64::from(last_cell));
        last_cell = trial.cell;
        if let Some(recording) = saying_all(trial, reducer) {
            out.varint(2 * u64::from(shape_of(recording, shapes)) + 2);
            write_recording(&mut out, recording, started);
            continue;
        }
        separate.extend(trial.raw.as_deref().map(|recording| (position, recording)));
        match &trial.outcome {
            Err(failure) => {
                out.varint(0);
                write_failure(&mut out, failure);
            }
            Ok(visit) => {
                let shape = shapes.number(visit.spans.iter().map(|span| (span.kernel.clone(), span.home)));
                out.varint(2 * u64::from(shape) + 1);
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
    (out.seal(context), separate)
}

/// Decodes what [`encode_trials`] wrote, without the returned recordings. A cell number ≥ `cells` is damage. `reducer`
/// belongs to the segment of the round; `None` if the file lacks that segment.
pub fn decode_trials(
    blob: &[u8],
    started: Picos,
    shapes: &Shapes,
    cells: u32,
    mut reducer: Option<&mut Reducer>,
    events: &mut Events,
    context: &[u8],
) -> Result<Vec<RecordedTrial>, Damage> {
    let mut from = Reader::open(blob, context, VERSION)?;
    let evidence = Evidence::read(&from, DISTURBANCE_IN_A_BYTE);
    let only_summaries = blob.first() == Some(&ONLY_SUMMARIES);
    let count = from.count("the number of trials", 3 * 8)?;
    let mut trials = Vec::with_capacity(count);
    let (mut last_cell, mut last_clock) = (0i64, CLOCK_START_GHZ);
    for _ in 0..count {
        last_cell = last_cell.wrapping_add(from.signed()?);
        let cell = u32::try_from(last_cell)
            .ok()
            .filter(|&cell| cell < cells)
            .ok_or(Damage::Value { what: "the number of a cell", value: last_cell as u64 })?;
        let Some(kind_and_shape) = from.varint()?.checked_sub(1) else {
            trials.push(RecordedTrial { cell, outcome: Err(read_failure(&mut from)?), raw: None });
            continue;
        };
        let (shape, is_recording) = match only_summaries {
            true => (kind_and_shape, false),
            false => (kind_and_shape / 2, kind_and_shape % 2 == 1),
        };
        let kernels = u32::try_from(shape)
            .ok()
            .and_then(|number| shapes.get(number))
            .ok_or(Damage::Value { what: "the number of a shape", value: shape })?;
        if is_recording {
            let recording = read_recording(&mut from, evidence, started, kernels, events)?;
            let damage = Damage::Value { what: "the segment of a recording", value: 0 };
            let visit = reducer.as_mut().ok_or(damage)?.visit(cell, &recording);
            visit.spans.iter().try_for_each(check_span)?;
            trials.push(RecordedTrial { cell, outcome: Ok(visit), raw: Some(Box::new(recording)) });
            continue;
        }
        let visit_started = from.moment_near(started)?;
        let flags = Flags(from.varint32("a set of flags")?);
        let core_ghz = from.float_near(last_clock)?.map(core_clock).transpose()?;
        last_clock = core_ghz.unwrap_or(last_clock);
        // A span takes at least 8 bytes, so a shape cannot reserve more than the blob holds.
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
        spans.iter().try_for_each(check_span)?;
        let visit = Visit { cell, started: visit_started, core_ghz, flags, spans };
        trials.push(RecordedTrial { cell, outcome: Ok(visit), raw: None });
    }
    from.finish()?;
    Ok(trials)
}

/// Checks the numbers of a span. A damaged clock rate in the file also damages numbers that are computed from ticks.
fn check_span(span: &SpanSummary) -> Result<(), Damage> {
    // A one-way message is a packed difference of two clocks. Its median has no meaning and is not used.
    if span.kernel != KernelId::new(Protocol::OneWay, Hint::None) {
        latency("a latency in ns", span.location_ns)?;
        latency("the fastest batch in ns", span.floor_ns)?;
    }
    span.line_error_ns.map(|error| latency("the error of a latency in ns", error)).transpose()?;
    // No upper bound: the spread is the ratio of a slow to a fast line, and a line of 0 ticks counts as half a tick.
    span.line_spread.map(|spread| number("the spread of lines", spread, 0.0..=f32::MAX)).transpose()?;
    Ok(())
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
        TrialFailure::Damaged => out.byte(9),
        TrialFailure::NoResources { errno } => {
            out.byte(10);
            out.signed(i64::from(*errno));
        }
        TrialFailure::Command { reason, end, stdout, stderr } => {
            match end {
                None => out.byte(6),
                Some(CommandEnd::Status(status)) => {
                    out.byte(7);
                    out.signed(i64::from(*status));
                }
                Some(CommandEnd::Signal(signal)) => {
                    out.byte(8);
                    out.signed(i64::from(*signal));
                }
            }
            for text in [&reason.to_string(), stdout, stderr] {
                out.varint(text.len() as u64);
                text.bytes().for_each(|byte| out.byte(byte));
            }
        }
    }
}

fn text(from: &mut Reader<'_>) -> Result<String, Damage> {
    let length = from.varint()?;
    // Bytes are read one by one, so that a damaged length cannot allocate more than the blob.
    let bytes: Vec<u8> = (0..length).map(|_| from.byte()).collect::<Result<_, _>>()?;
    String::from_utf8(bytes)
        .map_err(|error| Damage::Value { what: "a letter", value: error.utf8_error().valid_up_to() as u64 })
}

fn errno(from: &mut Reader<'_>) -> Result<i32, Damage> {
    let errno = from.signed()?;
    i32::try_from(errno).map_err(|_| Damage::Value { what: "an error number", value: errno as u64 })
}

fn read_failure(from: &mut Reader<'_>) -> Result<TrialFailure, Damage> {
    Ok(match from.byte()? {
        0 => {
            let cpu = from.cpu()?;
            TrialFailure::NotPinned { cpu, errno: errno(from)? }
        }
        1 => TrialFailure::CpuLost { cpu: from.cpu()? },
        2 => TrialFailure::TimedOut { limit: from.time()? },
        3 => TrialFailure::PartnerLost { cpu: from.cpu()? },
        4 => TrialFailure::Unverified { sent: from.varint()?, received: from.varint()? },
        5 => TrialFailure::Interrupted,
        code @ 6..=8 => {
            let number = if code == 6 { 0 } else { from.signed()? };
            let number = i32::try_from(number)
                .map_err(|_| Damage::Value { what: "the end of a command", value: number as u64 })?;
            let end = match code {
                7 => Some(CommandEnd::Status(number)),
                8 => Some(CommandEnd::Signal(number)),
                _ => None,
            };
            TrialFailure::Command {
                reason: text(from)?.into(),
                end,
                stdout: text(from)?,
                stderr: text(from)?,
            }
        }
        9 => TrialFailure::Damaged,
        10 => TrialFailure::NoResources { errno: errno(from)? },
        code => return Err(Damage::Value { what: "the kind of a failure", value: u64::from(code) }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::reader::RoundKey;
    use super::*;
    use coretalk_model::latency::{Counts, Scale};
    use coretalk_model::{Disturbance, Home, Samples, Span, TickRate};

    fn shape() -> Vec<(KernelId, Home)> {
        [Hint::Pause, Hint::None].map(|hint| (KernelId::new(Protocol::Cas, hint), Home(0))).to_vec()
    }

    fn decoded(
        blob: &[u8],
        started: Picos,
        shapes: &Shapes,
        cells: u32,
        reducer: Option<&mut Reducer>,
        key: &[u8],
    ) -> Result<Vec<RecordedTrial>, Damage> {
        decode_trials(blob, started, shapes, cells, reducer, &mut Events::default(), key)
    }

    /// One trial from a file of schema 2, as that version encoded it.
    const OLD: &str =
        "0101A6020200009388FF03E8F8A942009493FB0195A3BC024000CCE7B54200F098F801C7EFA90210004A014DFD";

    #[test]
    fn trials_of_older_files_are_read_as_they_were_written() {
        let blob: Vec<u8> =
            (0..OLD.len()).step_by(2).map(|at| u8::from_str_radix(&OLD[at..at + 2], 16).unwrap()).collect();
        let key =
            RoundKey { segment: 0, purpose: 1, pass: 1, started: 256_047_348_383, elapsed: 312_427_515 };
        let shapes = Shapes::stored(vec![Vec::new(), shape()]);
        let started = Picos(key.started);
        let trials = decoded(&blob, started, &shapes, 496, None, &key.bytes()).unwrap();
        let [RecordedTrial { cell: 147, outcome: Ok(visit), raw: None }] = &trials[..] else {
            panic!("{trials:?}")
        };
        assert_eq!((visit.started, visit.core_ghz.map(|ghz| ghz > 3.0)), (started, Some(true)));
        let spans: Vec<(f32, u32, u32)> =
            visit.spans.iter().map(|span| (span.location_ns.round(), span.kept, span.dropped)).collect();
        assert_eq!(spans, [(85.0, 64, 0), (91.0, 16, 0)]);
    }

    #[test]
    fn impossible_numbers_are_named() {
        let read = |visit: &Visit| {
            let mut shapes = Shapes::default();
            let mut reducer =
                Reducer::new(Scale { rate: TickRate { hz: 2.5e9 }, step_ns: None }, Counts::Adaptive);
            let trial = RecordedTrial { cell: 0, outcome: Ok(visit.clone()), raw: None };
            let (blob, _) = encode_trials(&[trial], Picos(0), &mut shapes, &mut reducer, b"");
            decoded(&blob, Picos(0), &shapes, 1, None, b"")
        };
        let visit = |protocol| {
            let span = SpanSummary {
                kernel: KernelId::new(protocol, Hint::None),
                home: Home(0),
                location_ns: 22.0,
                line_error_ns: Some(0.5),
                floor_ns: 20.0,
                line_spread: Some(1.0),
                kept: 64,
                dropped: 0,
            };
            let (started, core_ghz, flags) = (Picos(0), Some(4.0), Flags::NONE);
            Visit { cell: 0, started, core_ghz, flags, spans: vec![span] }
        };
        assert!(read(&visit(Protocol::Cas)).is_ok());
        for impossible in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -5.0, 1e38] {
            type Change = fn(&mut Visit, f32);
            let changes: [(&str, Change); 5] = [
                ("a latency in ns", |visit, to| visit.spans[0].location_ns = to),
                ("the fastest batch in ns", |visit, to| visit.spans[0].floor_ns = to),
                ("the error of a latency in ns", |visit, to| visit.spans[0].line_error_ns = Some(to)),
                ("the spread of lines", |visit, to| visit.spans[0].line_spread = Some(-to.abs())),
                ("a core clock", |visit, to| visit.core_ghz = Some(to)),
            ];
            for (name, change) in changes {
                let mut changed = visit(Protocol::Cas);
                change(&mut changed, impossible);
                let refused = read(&changed).unwrap_err();
                assert!(matches!(refused, Damage::Number { what, .. } if what == name), "{name}: {refused}");
            }
        }
        let mut packed = visit(Protocol::OneWay);
        packed.spans[0].location_ns = 1e18;
        assert!(read(&packed).is_ok(), "two clocks and a direction in one number");
        let late = Visit { started: Picos(u64::MAX), ..visit(Protocol::Cas) };
        assert!(matches!(read(&late), Err(Damage::Value { what: "a time in ps", .. })));
    }

    #[test]
    fn a_recording_replaces_only_a_summary_that_follows_from_it() {
        let scale = Scale { rate: TickRate { hz: 2.5e9 }, step_ns: Some(0.4) };
        let mut reducer = Reducer::new(scale, Counts::Adaptive);
        let span = |(kernel, home): (KernelId, Home)| {
            let samples = Samples::Batches { visits: 1, ticks: (1400..1464).collect() };
            Span { kernel, home, round_trips: 16, samples }
        };
        let recording = Recording {
            started: Picos(5_000),
            elapsed: Picos(70),
            spans: shape().into_iter().map(span).collect(),
            core_ghz: vec![Some([4.0, 4.1]), None],
            disturbance: Disturbance { voluntary_switches: Some(3), ..Disturbance::default() },
        };
        let follows = reducer.visit(7, &recording);
        let differs = Visit { flags: Flags(1), ..follows.clone() };
        let raw = Some(Box::new(recording.clone()));
        let trials =
            [follows, differs].map(|visit| RecordedTrial { cell: 7, outcome: Ok(visit), raw: raw.clone() });
        let mut shapes = Shapes::default();
        let (blob, separate) = encode_trials(&trials, Picos(4_000), &mut shapes, &mut reducer, b"key");
        assert_eq!(separate, [(1, &recording)]);
        let mut read = decoded(&blob, Picos(4_000), &shapes, 8, Some(&mut reducer), b"key").unwrap();
        assert_eq!(read[1].raw, None);
        read[1].raw = raw;
        assert_eq!(read, trials);
        let lost = decoded(&blob, Picos(4_000), &shapes, 8, None, b"key");
        assert!(matches!(lost, Err(Damage::Value { what: "the segment of a recording", .. })));
    }
}
