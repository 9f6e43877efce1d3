//! Lines of `jsonl`: one for each trial or pass, written when it completes.

use super::{PercentilesDoc, known, write_json};
use coretalk_model::latency::{RecordedRound, RecordedTrial};
use coretalk_model::series::{Parameters, PassOutcome, SeriesEntry, TrialSpec};
use coretalk_model::{CpuId, Flag};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Fields are added, never renamed.
#[derive(Debug, Serialize)]
struct TrialLine<'a> {
    schema: &'static str,
    segment: u32,
    purpose: &'static str,
    pass: u32,
    from: Option<u32>,
    to: Option<u32>,
    /// Start time in this segment in seconds; null if the trial failed.
    started_s: Option<f64>,
    core_ghz: Option<f64>,
    spans: Vec<SpanLine<'a>>,
    flags: Vec<&'static str>,
    reason: Option<String>,
}

/// Result of one kernel on the cache lines of one NUMA node.
#[derive(Debug, Serialize)]
struct SpanLine<'a> {
    kernel: &'a str,
    home: u32,
    /// Half round trip in nanoseconds.
    median: Option<f64>,
    min: Option<f64>,
    n: u32,
    dropped: u32,
    line_spread: Option<f64>,
}

fn line(value: &impl Serialize) -> io::Result<String> {
    let mut bytes = Vec::new();
    write_json(value, &mut bytes)?;
    bytes.pop_if(|last| *last == b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Formats the line of one completed trial of a round, without a line end. `cells` is in the order of
/// [`cells`](coretalk_model::latency::cells).
pub fn trial_line(
    round: &RecordedRound,
    trial: &RecordedTrial,
    segment: u32,
    cells: &[[CpuId; 2]],
) -> io::Result<String> {
    let RecordedTrial { cell, outcome, .. } = trial;
    let pair = cells.get(*cell as usize);
    let visit = outcome.as_ref().ok();
    let float = |value: f32| known(f64::from(value));
    line(&TrialLine {
        schema: "coretalk.trial/1",
        segment,
        purpose: round.purpose.name(),
        pass: round.pass,
        from: pair.map(|pair| pair[0].0),
        to: pair.map(|pair| pair[1].0),
        started_s: visit.map(|visit| visit.started.secs()),
        core_ghz: visit.and_then(|visit| visit.core_ghz).and_then(float),
        spans: visit
            .map_or(&[][..], |visit| &visit.spans)
            .iter()
            .map(|span| SpanLine {
                kernel: span.kernel.as_str(),
                home: span.home.0,
                median: float(span.location_ns),
                min: float(span.floor_ns),
                n: span.kept,
                dropped: span.dropped,
                line_spread: span.line_spread.and_then(float),
            })
            .collect(),
        flags: visit.map_or(Vec::new(), |visit| visit.flags.iter().map(Flag::name).collect()),
        reason: outcome.as_ref().err().map(ToString::to_string),
    })
}

/// Fields are added, never renamed.
#[derive(Debug, Serialize)]
struct PassLine<'a> {
    schema: &'static str,
    segment: u32,
    pass: u32,
    /// Id of the trial, the same in every run that measures it.
    trial: String,
    probe: &'a str,
    parameters: &'a Parameters,
    placement: Vec<u32>,
    /// Start time in this segment in seconds; null if the pass failed.
    started_s: Option<f64>,
    elapsed_s: Option<f64>,
    /// Number of concurrent trials; 0 if the trial ran alone.
    company: u32,
    /// Latency of CAS without pause between the CPUs, before and after the pass, in nanoseconds; null if not timed.
    cas_ns: Option<[f32; 2]>,
    values: BTreeMap<&'a str, Option<f64>>,
    counts: BTreeMap<&'a str, u64>,
    /// Percentiles in nanoseconds and number of events, by distribution.
    distributions: BTreeMap<&'a str, DistributionLine>,
    flags: Vec<&'static str>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct DistributionLine {
    count: u64,
    percentiles: PercentilesDoc,
}

/// Formats the line of one pass of a series, without a line end. `trials` is in the order of the settings.
///
/// # Errors
/// Errors of the serializer; none occur for such lines.
pub fn pass_line(entry: &SeriesEntry, trials: &[TrialSpec]) -> io::Result<String> {
    let nothing = PassOutcome::default();
    let (spec, outcome) = (trials.get(entry.trial as usize), entry.outcome.as_ref());
    let pass = outcome.unwrap_or(&nothing);
    let (unknown, numbers) = (Parameters::default(), pass.observed.flat());
    line(&PassLine {
        schema: "coretalk.pass/1",
        segment: entry.segment,
        pass: entry.pass,
        trial: spec.map_or_else(String::new, |spec| spec.id().to_string()),
        probe: spec.map_or("", |spec| &spec.probe),
        parameters: spec.map_or(&unknown, |spec| &spec.parameters),
        placement: spec.map_or(Vec::new(), |spec| spec.placement.iter().map(|cpu| cpu.0).collect()),
        started_s: outcome.ok().map(|outcome| outcome.started.secs()),
        elapsed_s: outcome.ok().map(|outcome| outcome.elapsed.secs()),
        company: pass.concurrent,
        cas_ns: pass.sentinel_ns,
        values: numbers
            .values
            .iter()
            .map(|(name, &value)| (name.as_str(), Some(value).filter(|value| value.is_finite())))
            .collect(),
        counts: numbers.counts.iter().map(|(name, &count)| (name.as_str(), count)).collect(),
        distributions: numbers
            .histograms
            .iter()
            .map(|(name, histogram)| {
                let percentiles = PercentilesDoc::of_histogram(histogram);
                (name.as_str(), DistributionLine { count: histogram.count(), percentiles })
            })
            .collect(),
        flags: pass.observed.flags.iter().map(Flag::name).collect(),
        reason: outcome.err().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::latency::{Purpose, SpanSummary, Visit};
    use coretalk_model::{Flags, Home, KernelId, Picos, TrialFailure};

    const CELLS: [[CpuId; 2]; 2] = [[CpuId(0), CpuId(4)], [CpuId(0), CpuId(8)]];

    fn round(outcome: Result<Visit, TrialFailure>) -> RecordedRound {
        let trials = vec![RecordedTrial { cell: 1, outcome, raw: None }];
        let (started, elapsed) = (Picos::ZERO, Picos::ZERO);
        RecordedRound { purpose: Purpose::Map, pass: 3, started, elapsed, trials }
    }

    #[test]
    fn a_trial_is_one_line_with_its_pair_and_every_span() {
        let span = SpanSummary {
            kernel: KernelId("cas".into()),
            home: Home(0),
            location_ns: 22.5,
            line_error_ns: None,
            floor_ns: 21.0,
            line_spread: None,
            kept: 64,
            dropped: 1,
        };
        let flags = Flags::NONE.with(Flag::Steal);
        let visit =
            Visit { cell: 1, started: Picos::from_ms(1500), core_ghz: Some(4.25), flags, spans: vec![span] };
        let round = round(Ok(visit));
        let line = trial_line(&round, &round.trials[0], 1, &CELLS).unwrap();
        let expected = r#"{"schema":"coretalk.trial/1","segment":1,"purpose":"map","pass":3,"from":0,"to":8,"started_s":1.5,"core_ghz":4.25,"spans":[{"kernel":"cas","home":0,"median":22.5,"min":21.0,"n":64,"dropped":1,"line_spread":null}],"flags":["steal"],"reason":null}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn a_failed_trial_has_a_reason_and_no_number() {
        let round = round(Err(TrialFailure::CpuLost { cpu: CpuId(8) }));
        let line = trial_line(&round, &round.trials[0], 1, &CELLS).unwrap();
        let end = r#""spans":[],"flags":[],"reason":"CPU 8 was taken away during the run"}"#;
        assert!(line.ends_with(end), "{line}");
        assert!(line.contains(r#""started_s":null,"core_ghz":null"#), "{line}");
    }
}
