//! Idle states that CPUs entered between wake-ups, as counted by the kernel.

use crate::blocks::value::{DisplayValue, Number, Operation, Sentence, Source, pointer};
use coretalk_model::idle_gaps::names::{GAP_NS, IDLE_STATES};
use coretalk_model::probes::wake::names::IDLE;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{TrialId, TrialResult};
use std::collections::{BTreeMap, BTreeSet};

type Entered<'a> = (u64, BTreeMap<&'a str, u64>, Vec<TrialId>);

/// The entries into idle states per wake-up for each idle gap; `None` if no kernel counted them. The state that a CPU
/// leaves explains jumps of the latency between gaps.
pub(super) fn sentence(trials: &[&TrialResult]) -> Option<Sentence> {
    // The key is the gap in whole nanoseconds, and whether deep idle states were disabled.
    let mut by_gap: BTreeMap<(u64, bool), Entered<'_>> = BTreeMap::new();
    for trial in trials {
        let Some(gap_ns) = trial.spec.parameters.number(GAP_NS) else { continue };
        let deep_disabled = trial.spec.parameters.text(IDLE_STATES).is_some();
        let states = trial.counts.iter().filter_map(|(name, count)| Some((name.strip_prefix(IDLE)?, *count)));
        let mut states = states.peekable();
        let Some(events) = trial.counts.get("samples").filter(|_| states.peek().is_some()) else { continue };
        let (sum, entered, counted) = by_gap.entry((gap_ns as u64, deep_disabled)).or_default();
        *sum += events;
        counted.push(trial.spec.id());
        states.for_each(|(state, count)| *entered.entry(state).or_default() += count);
    }
    let gaps: Vec<Sentence> = by_gap
        .iter()
        .filter(|(_, (events, ..))| *events > 0)
        .map(|((gap_ns, deep_disabled), (events, entered, counted))| {
            let each = |(state, count): (&&str, &u64)| {
                let sum = |name: &str| {
                    let count_source = |trial: &TrialId| Source::of_any(*trial, pointer!("/counts/{name}"));
                    Operation::Sum.on(counted.iter().map(count_source).collect::<Vec<_>>())
                };
                let source = Operation::Ratio.on([sum(&pointer!("{IDLE}{state}")), sum("samples")]);
                Sentence::new("{state} {count}")
                    .with_name("state", state)
                    .with("count", DisplayValue::bare(Number::Point(*count as f64 / *events as f64), source))
            };
            let gap = Source::Parameter { trial: None, name: GAP_NS.to_owned() };
            Sentence::new("after {gap}{kept_out} {entered}")
                .with("gap", DisplayValue::bare(Number::Setting(*gap_ns as f64), gap).in_unit(Unit::Ns))
                .with("kept_out", if *deep_disabled { " with deep states disabled" } else { "" })
                .with("entered", Sentence::joined(entered.iter().map(each), ", "))
        })
        .collect();
    if gaps.is_empty() {
        return None;
    }
    let states: BTreeSet<&str> =
        by_gap.values().flat_map(|(_, entered, _)| entered.keys().copied()).collect();
    let why = if states.len() > 1 { " Deeper states take longer to leave." } else { "" };
    let template = "Idle states entered per wake-up by the CPUs of a pair, whatever woke them: {gaps}.{why}";
    Some(Sentence::new(template).with("gaps", Sentence::joined(gaps, "; ")).with("why", why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt;
    use coretalk_model::CpuId;
    use coretalk_model::series::{Parameters, TrialSpec};

    fn trial(gap_ns: f64, counts: &[(&str, u64)]) -> TrialResult {
        let spec = TrialSpec {
            probe: "wake".into(),
            parameters: Parameters::default().with("gap_ns", gap_ns),
            placement: vec![CpuId(0), CpuId(1)],
        };
        TrialResult {
            passes: 8,
            counts: counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            ..TrialResult::empty(spec)
        }
    }

    #[test]
    fn entries_are_counted_for_each_wake_up_of_a_gap() {
        let long = trial(1e6, &[("samples", 100), ("idle_c1", 50), ("idle_c6", 150)]);
        let short = trial(20e3, &[("samples", 1000), ("idle_poll", 900)]);
        let other = trial(20e3, &[("samples", 1000), ("idle_poll", 1100)]);
        let text = sentence(&[&long, &short, &other, &trial(1e3, &[("samples", 9)])]);
        let text = fmt::sentence(&text.unwrap());
        assert!(text.contains(": after 20 µs poll 1.00; after 1 ms c1 0.50, c6 1.50. Deeper"), "{text}");
        assert_eq!(sentence(&[&trial(1e3, &[("samples", 9)])]), None, "no kernel counted");
    }
}
