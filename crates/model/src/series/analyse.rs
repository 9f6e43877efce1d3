use super::aggregates::PassScope::{Role, Whole};
use super::aggregates::{count_over_states, fill, median_passes, medians, of_part, values};
use super::concurrency::Bias;
use super::evidence::{are_many_left_out, busy, flags, of_lost_time, switches, without_slices};
use super::headline::{named_headline, named_headline_of_passes};
use super::judge::{judge, remove_bias, widen};
use super::processes::by_process;
use super::states::{SentinelWatch, StatePart, split};
use super::{
    ConcurrencyGate, CountedPasses, PassOutcome, SeriesRecord, SeriesResult, SeriesSettings, TrialResult,
    TrialSpec, TrialState, load_curve,
};
use crate::runtime::{helpers, names};
use crate::{CpuId, Flag, Reason, Topology};

/// Derives the result of a run. A run that has just ended and its file give the same result.
pub fn analyse_series(topology: &Topology, settings: &SeriesSettings, record: &SeriesRecord) -> SeriesResult {
    let gate = ConcurrencyGate::from_record(topology, settings, record);
    let watch = SentinelWatch::from_record(settings, record);
    let trials = settings.trials.iter().enumerate();
    SeriesResult {
        trials: trials
            .flat_map(|(index, spec)| trial(settings, &gate, &watch, record, index, spec))
            .collect(),
        load: load_curve(settings, record),
        regime: gate.regime(),
        complete: record.complete,
        budget_ended: record.budget_ended,
    }
}

fn trial(
    settings: &SeriesSettings,
    gate: &ConcurrencyGate,
    watch: &SentinelWatch,
    record: &SeriesRecord,
    index: usize,
    spec: &TrialSpec,
) -> Vec<TrialResult> {
    let CountedPasses { passes: counted, bias } = gate.counted(record, index);
    let all = without_slices(&counted);
    let parts = split(settings, watch, spec, &all, &median_passes(&all));
    let passes: Vec<&PassOutcome> = parts[0].passes.iter().map(|&pass| all[pass]).collect();
    let median_passes = of_part(&all, &parts[0]);
    let mut result = TrialResult {
        passes: all.len() as u32,
        busy: busy(&passes, spec.placement.len()),
        switches: switches(&passes),
        states: trial_states(settings, spec, &all, &parts),
        processes: by_process(settings, &spec.probe, &median_passes),
        cas_ns: parts[0].cas_ns.clone(),
        ..TrialResult::empty(spec.clone())
    };
    fill(settings, &passes, &median_passes, Whole, &mut result);
    count_over_states(settings, &all, &mut result);
    let judged = named_headline(settings, &spec.probe, &result.medians_ns, &result.values);
    let flags = flags(&all, &median_passes, judged);
    result.flags =
        if settings.quantities.measures_lost_time(&spec.probe) { of_lost_time(flags) } else { flags };
    let outside = result.values.get(names::OUTSIDE).map_or(0.0, |share| share.point);
    result.flags = result.flags.union(helpers(outside));
    match bias {
        Some(Bias::Bounded(log_ratio)) => remove_bias(settings, &log_ratio, &mut result),
        Some(Bias::Unbounded) => result.flags.set(Flag::ParBias),
        None => {}
    }
    if are_many_left_out(all.len(), counted.len()) {
        result.flags.set(Flag::FailedPasses);
    }
    if result.states.len() > 1 {
        result.flags.set(Flag::Multimodal);
    }
    judge(settings, record, index, &median_passes, passes.len() as u32, &mut result);
    if passes.iter().all(|pass| pass.observed.by_role.is_empty()) {
        return vec![result];
    }
    if settings.quantities.of_probe(&spec.probe).iter().any(|quantity| quantity.of_each_role) {
        let values_of = |role| values(settings, &spec.probe, &median_passes, Role(role));
        result.of_roles = (0..spec.placement.len()).map(values_of).collect();
        return vec![result];
    }
    let result_of = |(role, &cpu): (usize, &CpuId)| {
        let mut role_numbers = TrialResult::empty(spec.clone());
        fill(settings, &passes, &median_passes, Role(role), &mut role_numbers);
        widen(
            settings,
            &spec.probe,
            &role_numbers.histograms,
            &mut role_numbers.medians_ns,
            &mut role_numbers.values,
        );
        let mut role_result = result.clone();
        role_result.spec.placement = vec![cpu];
        role_result.busy = result.busy.get(role).copied().into_iter().collect();
        role_result.values.extend(role_numbers.values);
        role_result.medians_ns.extend(role_numbers.medians_ns);
        role_result.histograms.extend(role_numbers.histograms);
        role_result.counts.extend(role_numbers.counts);
        if !passes.iter().any(|pass| pass.observed.by_role.contains_key(&role)) {
            (role_result.passes, role_result.grade) = (0, None);
            role_result.reason = Some(Reason::Away(cpu));
        }
        role_result
    };
    spec.placement.iter().enumerate().map(result_of).collect()
}

fn trial_states(
    settings: &SeriesSettings,
    spec: &TrialSpec,
    all: &[&PassOutcome],
    parts: &[StatePart],
) -> Vec<TrialState> {
    if parts.len() < 2 {
        return Vec::new();
    }
    let known: usize = parts.iter().map(|part| part.passes.len()).sum();
    let name = named_headline_of_passes(settings, &spec.probe, all).map_or("", |(name, _)| name);
    let state = |part: &StatePart| {
        let passes = of_part(all, part);
        let (medians_ns, values) =
            (medians(settings, &passes, Whole), values(settings, &spec.probe, &passes, Whole));
        Some(TrialState {
            share: part.passes.len() as f64 / known as f64,
            passes: part.passes.len() as u32,
            value: *medians_ns.get(name).or_else(|| values.get(name))?,
            values,
            medians_ns,
            cas_ns: part.cas_ns.clone(),
        })
    };
    parts.iter().filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::super::headline::headline;
    use super::super::{Parameters, RoleEvidence, SeriesEntry, is_done};
    use super::*;
    use crate::quantity::{Aggregate, Quantities, Quantity, Unit};
    use crate::tests::{histogram, record, spec};
    use crate::{CpuLoss, CpuSet, Grade, LossReason, Picos, TrialFailure};

    const DECLARED: &[Quantity] = &[
        Quantity::value("after_return_ns", "", Unit::Ns).aggregate(Aggregate::MedianOverEvents("samples")),
        Quantity::value("lost_share", "", Unit::Share)
            .within([0.0, 1.0])
            .aggregate(Aggregate::MeanOverPasses),
        Quantity::value("jain", "", Unit::Number).within([0.0, 1.0]),
    ];

    fn flat() -> Topology {
        Topology::flat(CpuSet::new())
    }

    fn settings() -> SeriesSettings {
        let trial = spec("wake", Parameters::default(), &[0, 1]);
        let quantities = Quantities::new([("wake", DECLARED)]);
        SeriesSettings { trials: vec![trial; 2], precision: 0.02, quantities, ..SeriesSettings::default() }
    }

    const QUIET: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.2, 99.8];

    fn outcome() -> PassOutcome {
        PassOutcome { elapsed: Picos::from_ms(10), ..PassOutcome::default() }
    }

    fn woken(value: f64) -> PassOutcome {
        let mut outcome = outcome();
        outcome.observed.value("waker_ns", value);
        outcome.observed.count("samples", 3);
        outcome.observed.count("full", u64::MAX);
        outcome.observed.histogram("wake", histogram(&[(value, 3)]));
        outcome
    }

    fn record_of(values: &[f64]) -> SeriesRecord {
        record(values.iter().copied().map(woken))
    }

    fn analysed(record: &SeriesRecord) -> TrialResult {
        analyse_series(&flat(), &settings(), record).trials.remove(0)
    }

    /// The result of passes with these values after a change of each outcome.
    fn changed(values: &[f64], change: impl Fn(usize, &mut PassOutcome)) -> TrialResult {
        let mut outcomes: Vec<PassOutcome> = values.iter().copied().map(woken).collect();
        outcomes.iter_mut().enumerate().for_each(|(pass, outcome)| change(pass, outcome));
        analysed(&record(outcomes))
    }

    fn done(record: &SeriesRecord, trial: usize) -> bool {
        is_done(&settings(), &ConcurrencyGate::default(), &SentinelWatch::default(), record, trial)
    }

    #[test]
    fn values_are_medians_over_passes_and_histograms_and_counts_add_up() {
        let record = record_of(&QUIET);
        let trial = analysed(&record);
        assert!((trial.values["waker_ns"].point - 100.0).abs() < 0.1);
        assert_eq!((trial.counts["samples"], trial.histograms["wake"].count(), trial.passes), (24, 24, 8));
        assert_eq!(trial.counts["full"], u64::MAX);
        assert_eq!((trial.grade, trial.flags.is_empty()), (Some(Grade::B), true));
        assert!(done(&record, 0) && !done(&record, 1));
    }

    #[test]
    fn passes_in_one_histogram_bucket_are_no_exact_median() {
        let trial = analysed(&record_of(&[100.0; 8]));
        let median = &trial.medians_ns["wake"];
        assert!((median.relative_reach() - 0.02).abs() < 1e-9, "{median:?}");
        assert_eq!(trial.values["waker_ns"].relative_reach(), 0.0, "a value that never changes is exact");
    }

    #[test]
    fn a_clock_change_keeps_the_grade_and_steal_lowers_it() {
        let clocked = changed(&QUIET, |_, pass| {
            let core_ghz = Some([4.0, 3.8]);
            pass.roles = vec![RoleEvidence { core_ghz, ..RoleEvidence::default() }];
        });
        assert!(clocked.flags.contains(Flag::Freq) && clocked.reason.is_none());
        assert_eq!(clocked.grade, Some(Grade::B), "the interval holds for any clock");
        let stolen = |_: usize, pass: &mut PassOutcome| pass.steal_ms = Some(1.0);
        assert_eq!(changed(&QUIET, stolen).grade, Some(Grade::C), "both halves of the passes agree");
        let higher = [100.0, 101.0, 99.0, 100.5, 119.5, 120.0, 120.2, 119.8];
        assert_eq!(changed(&higher, stolen).grade, Some(Grade::D));
        let in_one_pass = |pass: usize, outcome: &mut PassOutcome| {
            outcome.steal_ms = Some(if pass == 3 { 1.0 } else { 0.0 });
        };
        assert!(changed(&QUIET.repeat(3), in_one_pass).flags.is_empty(), "one pass of 24 decides no median");
    }

    #[test]
    fn passes_of_time_slices_are_left_out_unless_most_are() {
        for (sliced, passes, slices, doubt) in
            [(0, 24, false, false), (1, 23, false, false), (5, 19, false, true), (13, 24, true, false)]
        {
            let trial = changed(&[100.0; 24], |pass, outcome| {
                if pass < sliced {
                    outcome.observed.flags.set(Flag::SharedSpin);
                    outcome.observed.value("waker_ns", 3e6);
                }
            });
            let has = |flag| trial.flags.contains(flag);
            assert_eq!((trial.passes, has(Flag::SharedSpin)), (passes, slices), "{sliced}");
            assert_eq!(has(Flag::FailedPasses), doubt, "{sliced}");
            if !slices {
                assert_eq!(trial.values["waker_ns"].point, 100.0, "{sliced}");
            }
            if doubt {
                let left_out = "passes that handed over at the end of time slices are left out";
                assert_eq!(trial.reason, Some(left_out.into()));
            }
        }
    }

    #[test]
    fn a_missed_rate_precedes_other_reasons() {
        let none = "no pass kept the send rate: no latency";
        for (passes, kept, reason) in
            [(3, 0, none), (24, 0, none), (24, 1, "some passes did not keep the send rate")]
        {
            let trial = changed(&vec![100.0; passes], |pass, outcome| {
                outcome.steal_ms = Some(1.0);
                if pass >= kept {
                    outcome.observed.flags.set(Flag::Saturated);
                }
            });
            let has = |flag| trial.flags.contains(flag);
            assert_eq!((has(Flag::Steal), has(Flag::FewPasses)), (true, passes < 6), "{passes}");
            assert_eq!(trial.reason, Some(reason.into()), "{passes}");
        }
    }

    #[test]
    fn median_differences_are_weighted_by_events() {
        // Three passes with a thousand creations that run at once, five with a handful that wait for a time slice.
        let outcomes = (0..8).map(|pass| {
            let mut outcome = outcome();
            let (events, runs_ns) = if pass < 3 { (1_000, 10_000.0) } else { (5, 3_800_000.0) };
            for (name, ns) in [("cost", 7_000.0), ("latency", runs_ns)] {
                outcome.observed.histogram(name, histogram(&[(ns, events)]));
            }
            outcome.observed.count("samples", events);
            outcome.observed.value("after_return_ns", runs_ns - 7_000.0);
            outcome
        });
        let trial = analysed(&record(outcomes));
        let median = |name: &str| trial.histograms[name].percentile_ns(0.5).unwrap();
        let after = &trial.values["after_return_ns"];
        assert!((after.point / (median("latency") - median("cost")) - 1.0).abs() < 0.01, "{after:?}");
        // The interval still covers the slow passes.
        assert!(after.low <= after.point && after.high > 3_700_000.0, "{after:?}");
    }

    #[test]
    fn a_headline_of_one_probe_does_not_apply_to_others() {
        let settings =
            SeriesSettings { headlines: vec!["wait/wake".into(), "wake/waker_ns".into()], ..settings() };
        let trial = &analyse_series(&flat(), &settings, &record_of(&QUIET)).trials[0];
        let found = headline(&settings, "wake", &trial.medians_ns, &trial.values);
        assert_eq!(found, trial.values.get("waker_ns"));
    }

    #[test]
    fn few_passes_and_wide_intervals_are_flagged() {
        assert_eq!(analysed(&record_of(&[100.0, 101.0])).reason, Some(Reason::FewPasses(2)));
        let wide = record_of(&[100.0, 140.0, 80.0, 100.0, 120.0, 90.0, 100.0, 110.0]);
        assert!(analysed(&wide).flags.contains(Flag::WideCi));
        assert!(!done(&wide, 0), "a second analysis is due");
    }

    #[test]
    fn medians_use_only_long_second_passes_and_counts_use_all() {
        let with_late = |late: &[(f64, u64)]| {
            let early = [100.0, 140.0, 60.0, 100.0, 130.0, 70.0, 100.0, 90.0].map(woken);
            let late =
                late.iter().map(|&(value, ms)| PassOutcome { elapsed: Picos::from_ms(ms), ..woken(value) });
            analysed(&record(early.into_iter().chain(late)))
        };
        let low = |late: &[(f64, u64)]| with_late(late).values["waker_ns"].low;
        let long = with_late(&[(105.0, 40); 16]);
        let value = &long.values["waker_ns"];
        assert_eq!((value.low, value.high, long.passes, long.counts["samples"]), (105.0, 105.0, 24, 72));
        // One delayed pass does not make the others short, and a few long passes are no second analysis.
        assert!(low(&[[(105.0, 10); 15].as_slice(), &[(104.0, 5_000)]].concat()) < 101.0);
        assert!(low(&[(105.0, 40); 7]) < 101.0);
    }

    #[test]
    fn roles_with_numbers_of_their_own_have_a_result_each() {
        let mut outcome = outcome();
        for role in 0..2 {
            let numbers = outcome.observed.by_role.entry(role).or_default();
            numbers.value("lost_share", 0.1 + role as f64);
            numbers.count("watched_ms", 7);
        }
        outcome.observed.count("samples", 5);
        let result = analyse_series(&flat(), &settings(), &record([outcome]));
        assert_eq!(result.trials.len(), 3, "one for each role of the first, and the second trial");
        let second = &result.trials[1];
        assert_eq!(second.spec.placement, [CpuId(1)]);
        assert!((second.values["lost_share"].point - 1.1).abs() < 1e-12);
        assert_eq!((second.counts["samples"], second.counts["watched_ms"]), (5, 7));
    }

    #[test]
    fn a_clock_with_steps_is_to_blame_only_where_passes_agree() {
        let read = |medians: [f64; 8]| {
            analysed(&record(medians.map(|median| {
                let mut outcome = outcome();
                let events = [(median - 10.0, 30), (median, 60), (median + 10.0, 30)];
                outcome.observed.histogram("wake", histogram(&events));
                outcome
            })))
        };
        let is_of_the_clock = |trial: &TrialResult| {
            assert!(trial.flags.contains(Flag::WideCi), "{:?}", trial.flags);
            matches!(trial.reason, Some(Reason::Steps(_)))
        };
        let alike = read([60.0; 8]);
        assert!(is_of_the_clock(&alike));
        let median = &alike.medians_ns["wake"];
        assert!(median.low < 55.1 && median.high > 64.9 && alike.grade == Some(Grade::C), "{median:?}");
        assert!(!is_of_the_clock(&read([60.0, 120.0, 60.0, 120.0, 60.0, 120.0, 60.0, 120.0])));
        assert!(read([60_000.0; 8]).flags.is_empty(), "ten in 60,000 are nothing");
    }

    #[test]
    fn a_run_without_results_states_the_reason() {
        let failed = |trials: &[u32]| {
            let mut record = SeriesRecord::new();
            for &trial in trials {
                let outcome = Err(TrialFailure::from_reason("no thread"));
                record.push(SeriesEntry { segment: 0, pass: 0, trial, outcome });
            }
            analyse_series(&flat(), &settings(), &record)
        };
        let no_thread = Reason::failed(None, &TrialFailure::from_reason("no thread"));
        assert_eq!(failed(&[1]).reason_for_no_result(&[]), Some(&no_thread));
        assert_eq!(failed(&[]).reason_for_no_result(&[]), None, "the run ended before");
        let measured = analyse_series(&flat(), &settings(), &record_of(&[100.0]));
        assert_eq!(measured.reason_for_no_result(&[]), None);
        let lost_cpus = [CpuLoss { cpu: CpuId(1), after: Picos::from_ms(5), why: LossReason::Offline }];
        let short = SeriesResult { budget_ended: true, ..failed(&[1]) };
        assert_eq!(failed(&[1]).reason_for_no_result(&lost_cpus), Some(&no_thread));
        assert_eq!(short.reason_for_no_result(&lost_cpus), None);
        assert_eq!(short.reason_for_no_result(&[]), Some(&no_thread), "no CPU left");
    }

    #[test]
    fn accumulated_amounts_are_means_and_shares_keep_their_bounds() {
        let outcomes = (0..8).map(|pass| {
            let mut outcome = outcome();
            outcome.observed.value("lost_share", if pass == 3 { 0.8 } else { 0.0 });
            outcome.observed.value("jain", if pass == 3 { 0.9 } else { 0.999 });
            outcome
        });
        let values = analysed(&record(outcomes)).values;
        assert!((values["lost_share"].point - 0.1).abs() < 1e-12 && values["lost_share"].low == 0.0);
        assert!(values["jain"].point > 0.99 && values["jain"].high <= 1.0, "{:?}", values["jain"]);
    }

    #[test]
    fn a_trial_without_a_pass_has_a_reason_and_no_number() {
        let mut record = record_of(&[100.0]);
        let failure = TrialFailure::PartnerLost { cpu: CpuId(1) };
        record.push(SeriesEntry { segment: 0, pass: 0, trial: 1, outcome: Err(failure.clone()) });
        let lost = &analyse_series(&flat(), &settings(), &record).trials[1];
        assert_eq!((lost.passes, lost.grade, lost.switches), (0, None, None));
        assert_eq!(lost.reason, Some(Reason::failed(None, &failure)));
    }
}
