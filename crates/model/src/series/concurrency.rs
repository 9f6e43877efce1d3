//! [`ConcurrencyGate`]: decides by relation whether passes that ran concurrently with other trials count.

use super::evidence::waits_for_quanta;
use super::headline::headline_of_pass;
use super::{PassOutcome, SeriesRecord, SeriesSettings};
use crate::latency::{GateOutcome, Regime};
use crate::stats::compare::Equivalence;
use crate::stats::gate::{GATE_MARGIN, parallel_bias};
use crate::stats::{ANALYSES, Estimate, median};
use crate::{Relation, Topology};
use std::collections::BTreeMap;

/// Largest accepted difference between concurrent passes and passes alone: the margin of a map, or a wider requested
/// precision. Trials of milliseconds provide too little evidence for the margin of a map.
pub fn concurrency_margin(settings: &SeriesSettings) -> f64 {
    settings.precision.max(GATE_MARGIN)
}

/// Whether concurrent passes agree with passes made alone, decided only by passes of the first analysis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConcurrencyGate {
    /// The relation of each two-role trial; `None` if it depends on time slices, which concurrency does not affect.
    relations: Vec<Option<Relation>>,
    outcomes: Vec<GateOutcome>,
    bounded: Vec<Relation>,
    max_concurrent: u32,
}

/// The passes that determine the numbers of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CountedPasses<'a> {
    /// The passes, in the order of execution.
    pub passes: Vec<&'a PassOutcome>,
    /// Effect of concurrency; `None` if proven harmless, or if the passes ran alone.
    pub bias: Option<Bias>,
}

/// Possible bias of concurrent passes, if it is not proven harmless and too few passes ran alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bias {
    /// No significant difference. The logarithm of (concurrent ÷ alone) is in this 90 % interval.
    Bounded(Estimate),
    /// Some trials differ significantly, or nothing was measured both ways.
    Unbounded,
}

impl ConcurrencyGate {
    /// Judges the concurrent passes of a record.
    pub fn from_record(
        topology: &Topology,
        settings: &SeriesSettings,
        record: &SeriesRecord,
    ) -> ConcurrencyGate {
        let concurrent_of =
            |trial: usize| record.outcomes(trial).map(|pass| pass.concurrent).max().unwrap_or(0);
        let concurrent: Vec<u32> = (0..settings.trials.len()).map(concurrent_of).collect();
        if concurrent.iter().all(|&others| others == 0) {
            return ConcurrencyGate::default();
        }
        let relation_of = |trial: usize| match *settings.trials[trial].placement {
            [from, to] if !waits_for_quanta(&record.outcomes(trial).collect::<Vec<_>>()) => {
                Some(topology.relation(from, to))
            }
            _ => None,
        };
        let relations: Vec<Option<Relation>> = (0..settings.trials.len()).map(relation_of).collect();
        let mut groups: BTreeMap<Relation, Vec<usize>> = BTreeMap::new();
        for (trial, relation) in relations.iter().enumerate() {
            if let Some(relation) = relation {
                groups.entry(*relation).or_default().push(trial);
            }
        }
        let max_others =
            |trials: &Vec<usize>| trials.iter().map(|&trial| concurrent[trial]).max().unwrap_or(0);
        let judged: Vec<(GateOutcome, bool)> = groups
            .iter()
            .filter(|(_, trials)| max_others(trials) > 0)
            .map(|(&relation, trials)| judge(settings, record, relation, trials, max_others(trials)))
            .collect();
        let bounded = judged.iter().filter(|(_, bounded)| *bounded).map(|(it, _)| it.relation).collect();
        let outcomes = judged.into_iter().map(|(outcome, _)| outcome).collect();
        ConcurrencyGate {
            relations,
            outcomes,
            bounded,
            max_concurrent: 1 + concurrent.iter().max().unwrap_or(&0),
        }
    }

    /// Whether trials ran serially or in parallel.
    pub fn regime(&self) -> Regime {
        match self.max_concurrent {
            0 | 1 => Regime::Serial,
            pairs => Regime::Parallel { pairs, gate: self.outcomes.clone() },
        }
    }

    /// Whether only passes made alone count for a trial.
    pub fn refuses(&self, trial: usize) -> bool {
        self.refusal(trial).is_some()
    }

    fn refusal(&self, trial: usize) -> Option<&GateOutcome> {
        let relation = self.relations.get(trial).copied().flatten()?;
        self.outcomes.iter().find(|outcome| outcome.relation == relation && !outcome.equivalent)
    }

    /// The passes of a trial that count: all if concurrency is proven harmless, otherwise those made alone. Before
    /// these suffice for a first analysis, the concurrent passes count.
    pub fn counted<'a>(&self, record: &'a SeriesRecord, trial: usize) -> CountedPasses<'a> {
        let passes: Vec<&PassOutcome> = record.outcomes(trial).collect();
        let Some(refusal) = self.refusal(trial) else { return CountedPasses { passes, bias: None } };
        let (alone, concurrent): (Vec<_>, Vec<_>) = passes.into_iter().partition(|pass| pass.concurrent == 0);
        if alone.len() >= ANALYSES[0] || concurrent.is_empty() {
            return CountedPasses { passes: alone, bias: None };
        }
        let bias = match self.bounded.contains(&refusal.relation) {
            true => Bias::Bounded(refusal.bias),
            false => Bias::Unbounded,
        };
        CountedPasses { passes: concurrent, bias: Some(bias) }
    }
}

/// Compares, trial by trial, the concurrent passes of a relation with those that ran alone.
///
/// An effect on a minority of trials (another queue, another capacity) would not be visible in all trials together. No
/// kind of trial may therefore differ *significantly*. The second value is whether the bias bounds each effect.
fn judge(
    settings: &SeriesSettings,
    record: &SeriesRecord,
    relation: Relation,
    trials: &[usize],
    max_others: u32,
) -> (GateOutcome, bool) {
    let margin = concurrency_margin(settings);
    let mut kinds: BTreeMap<String, [Vec<f64>; 2]> = BTreeMap::new();
    for &trial in trials {
        let Some(both) = medians_both_ways(settings, record, trial) else { continue };
        let kind = kinds.entry(settings.trials[trial].label()).or_default();
        for (values, value) in kind.iter_mut().zip(both) {
            values.push(value);
        }
    }
    let all = |way: usize| kinds.values().flat_map(|kind| kind[way].iter().copied()).collect::<Vec<f64>>();
    let concurrent = all(0);
    let bias = parallel_bias(&concurrent, &all(1), margin);
    let differs = |[concurrent, alone]: &[Vec<f64>; 2]| {
        parallel_bias(concurrent, alone, margin).is_some_and(|bias| bias.verdict == Equivalence::Different)
    };
    let no_kind_differs = !kinds.values().any(differs);
    let equivalent = no_kind_differs && bias.is_some_and(|bias| bias.verdict == Equivalence::Equivalent);
    let outcome = GateOutcome {
        relation,
        pairs: if equivalent { 1 + max_others } else { 1 },
        bias: bias.map_or(GateOutcome::UNKNOWN, |bias| bias.log_ratio),
        cells: concurrent.len() as u32,
        equivalent,
    };
    (outcome, no_kind_differs && bias.is_some_and(|bias| bias.is_bounded()))
}

fn medians_both_ways(settings: &SeriesSettings, record: &SeriesRecord, trial: usize) -> Option<[f64; 2]> {
    let first = record.passes(trial).iter().filter(|entry| (entry.pass as usize) < ANALYSES[0]);
    let passes: Vec<&PassOutcome> = first.filter_map(|entry| entry.outcome.as_ref().ok()).collect();
    let probe = settings.trials.get(trial)?.probe.as_str();
    let median_of = |alone: bool| {
        let passes = passes.iter().filter(|pass| (pass.concurrent == 0) == alone);
        let values: Vec<f64> = passes.filter_map(|pass| headline_of_pass(settings, probe, pass)).collect();
        median(&values)
    };
    Some([median_of(false)?, median_of(true)?])
}

#[cfg(test)]
mod tests {
    use super::super::{Parameters, SentinelWatch, SeriesEntry, analyse_series, is_done};
    use super::*;
    use crate::stats::Key;
    use crate::tests::spec;
    use crate::{CpuId, Flag, Picos};

    const PAIRS: u32 = 16;
    const CAPACITIES: [f64; 5] = [1.0, 10.0, 100.0, 1e3, 1e4];

    fn settings() -> SeriesSettings {
        let pairs = (0..PAIRS).flat_map(|pair| CAPACITIES.map(|capacity| (pair, capacity)));
        let trial = |(pair, capacity): (u32, f64)| {
            spec("queue", Parameters::default().with("capacity", capacity), &[2 * pair, 2 * pair + 1])
        };
        SeriesSettings {
            trials: pairs.map(trial).collect(),
            headlines: vec!["messages_per_s".into()],
            precision: 0.05,
            ..SeriesSettings::default()
        }
    }

    fn topology() -> Topology {
        Topology::flat((0..2 * PAIRS).map(CpuId).collect())
    }

    /// `passes` passes per trial; `alone` returns whether a pass ran alone, and `factor` the effect of concurrency by
    /// capacity.
    fn record(passes: u32, alone: impl Fn(u32) -> bool, factor: impl Fn(f64) -> f64) -> SeriesRecord {
        let mut record = SeriesRecord::new();
        for pass in 0..passes {
            for (index, trial) in settings().trials.iter().enumerate() {
                let concurrent = if alone(pass) { 0 } else { 7 };
                let capacity = trial.parameters.number("capacity").unwrap_or_default();
                let noise = 1.0 + 0.01 * Key::from_words(&[3, u64::from(pass)]).normal(index as u64);
                let rate = 1e6 * noise * if concurrent > 0 { factor(capacity) } else { 1.0 };
                let mut outcome =
                    PassOutcome { concurrent, elapsed: Picos::from_ms(9), ..PassOutcome::default() };
                outcome.observed.value("messages_per_s", rate);
                record.push(SeriesEntry { segment: 0, pass, trial: index as u32, outcome: Ok(outcome) });
            }
        }
        record
    }

    fn alone_in_two_of_eight(pass: u32) -> bool {
        pass.is_multiple_of(4)
    }

    #[test]
    fn passes_under_harmless_concurrency_count() {
        let record = record(8, alone_in_two_of_eight, |_| 1.0);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &record);
        let Regime::Parallel { pairs: 8, gate: outcomes } = gate.regime() else { panic!("{gate:?}") };
        assert!(matches!(outcomes[..], [GateOutcome { pairs: 8, cells: 80, equivalent: true, .. }]));
        assert_eq!(gate.counted(&record, 0).passes.len(), 8);
        let result = analyse_series(&topology(), &settings(), &record);
        assert!(result.trials.iter().all(|trial| !trial.flags.contains(Flag::ParBias)));
        assert!(is_done(&settings(), &gate, &SentinelWatch::default(), &record, 0));
    }

    #[test]
    fn biased_concurrent_passes_are_flagged_until_enough_ran_alone() {
        let slower = |_| 0.9;
        let early = record(8, alone_in_two_of_eight, slower);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &early);
        assert!(gate.refuses(0) && !is_done(&settings(), &gate, &SentinelWatch::default(), &early, 0));
        let flagged = &analyse_series(&topology(), &settings(), &early).trials[0];
        assert_eq!((flagged.passes, flagged.flags.contains(Flag::ParBias)), (6, true));
        assert!((flagged.values["messages_per_s"].point / 0.9e6 - 1.0).abs() < 0.02);
        let late = record(14, |pass| alone_in_two_of_eight(pass) || pass >= 8, slower);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &late);
        assert!(is_done(&settings(), &gate, &SentinelWatch::default(), &late, 0));
        let alone = &analyse_series(&topology(), &settings(), &late).trials[0];
        assert_eq!((alone.passes, alone.flags.contains(Flag::ParBias)), (8, false));
        assert!((alone.values["messages_per_s"].point / 1e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_bounded_effect_of_concurrency_widens_the_interval() {
        let record = record(8, alone_in_two_of_eight, |_| 0.952);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &record);
        assert!(matches!(gate.counted(&record, 0).bias, Some(Bias::Bounded(_))), "{gate:?}");
        assert!(!is_done(&settings(), &gate, &SentinelWatch::default(), &record, 0));
        for trial in analyse_series(&topology(), &settings(), &record).trials {
            let rate = trial.values["messages_per_s"];
            assert!(!trial.flags.contains(Flag::ParBias) && rate.contains(1e6), "{rate:?}");
            assert!(rate.high < 1.04e6 && (rate.point / 0.952e6 - 1.0).abs() < 0.02, "{rate:?}");
        }
    }

    #[test]
    fn one_affected_kind_of_trial_refuses_its_relation() {
        let factor = |capacity| if capacity > 5e3 { 0.9 } else { 1.0 };
        let record = record(8, alone_in_two_of_eight, factor);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &record);
        let Regime::Parallel { gate: outcomes, .. } = gate.regime() else { panic!("{gate:?}") };
        assert!(outcomes[0].bias.low > -0.02, "the others hide it: {:?}", outcomes[0].bias);
        assert!(gate.refuses(0));
    }

    #[test]
    fn trials_never_alone_are_refused_and_trials_always_alone_need_no_gate() {
        let never = record(8, |_| false, |_| 1.0);
        let gate = ConcurrencyGate::from_record(&topology(), &settings(), &never);
        let Regime::Parallel { gate: outcomes, .. } = gate.regime() else { panic!("{gate:?}") };
        assert_eq!((outcomes[0].bias, outcomes[0].cells), (GateOutcome::UNKNOWN, 0));
        assert!(gate.refuses(0));
        let always = record(8, |_| true, |_| 1.0);
        assert_eq!(ConcurrencyGate::from_record(&topology(), &settings(), &always).regime(), Regime::Serial);
    }
}
