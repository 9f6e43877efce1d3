//! Runs of trials on simulated machines: commits, budgets, segments, seeds, and declared quantities.

use crate::trials::{all_cpus, measure, measure_from, open, open_toml, options, settings};
use crate::vocabulary::builtin;
use coretalk_measure::probes;
use coretalk_measure::series::{SeriesRequest, TrialOrder, representative_pairs};
use coretalk_measure::session::latency::{Ended, RunError};
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::{Machine, SimMachine, Stop};
use coretalk_model::probes::ProbeDeclaration;
use coretalk_model::quantity::Aggregate;
use coretalk_model::series::{Parameters, SeriesEntry, SeriesRecord, SeriesSettings};
use coretalk_model::{CpuId, Picos, TrialFailure};
use std::collections::BTreeSet;
use std::mem::discriminant;

#[test]
fn commits_are_at_most_half_a_second_apart_and_the_budget_is_kept() {
    let mut machine = open("chiplet-16");
    let settings = settings(&machine, "wake", Parameters::default().with("samples", 1e9), 5);
    let (ended, slots) = measure_from(&mut machine, &settings, SeriesResumedState::default());
    let (result, ended) = ended.unwrap();
    assert_eq!((ended, result.complete, result.budget_ended), (Ended::Budget, true, true));
    assert!(machine.now() < settings.budget + Picos::from_ms(300), "{}", machine.now());
    let end = |entry: &SeriesEntry| entry.outcome.as_ref().map(|pass| pass.started + pass.elapsed).unwrap();
    let mut last = Picos::ZERO;
    for slot in &slots.0 {
        let committed = slot.iter().map(end).max().unwrap();
        assert!(committed - last <= Picos::from_ms(500), "{} after {last}", committed);
        last = committed;
    }
}

#[test]
fn a_resumed_run_repeats_no_pass() {
    let mut machine = open_toml("based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 1500");
    let settings = settings(&machine, "wake", options("primitive=park"), 120);
    let (ended, first) = measure_from(&mut machine, &settings, SeriesResumedState::default());
    assert!(matches!(ended, Err(RunError::Interrupted)));
    let mut record = SeriesRecord::new();
    let before: Vec<SeriesEntry> = first.0.into_iter().flatten().collect();
    before.iter().cloned().for_each(|entry| record.push(entry));
    let resumed = SeriesResumedState { record, segments: 1, earlier: None };
    let (ended, second) = measure_from(&mut open("chiplet-16"), &settings, resumed);
    assert_eq!(ended.unwrap().1, Ended::Complete);
    let mut made = BTreeSet::new();
    for entry in before.iter().chain(second.0.iter().flatten()) {
        assert!(made.insert((entry.trial, entry.pass)), "pass {} of trial {} twice", entry.pass, entry.trial);
    }
    assert!(second.0.iter().flatten().all(|entry| entry.segment == 1));
}

#[test]
fn a_resumed_run_does_not_retry_failed_trials() {
    let passes_after = |failure: TrialFailure| {
        let mut machine = open("chiplet-16");
        let settings = settings(&machine, "wake", options("primitive=park"), 20);
        let mut record = SeriesRecord::new();
        for pass in 0..3 {
            record.push(SeriesEntry { segment: 0, pass, trial: 0, outcome: Err(failure.clone()) });
        }
        let resumed = SeriesResumedState { record, segments: 1, earlier: None };
        let (ended, slots) = measure_from(&mut machine, &settings, resumed);
        assert_eq!(ended.unwrap().1, Ended::Complete);
        slots.0.iter().flatten().filter(|entry| entry.trial == 0).count()
    };
    assert_eq!(passes_after(TrialFailure::Damaged), 0);
    assert!(passes_after(TrialFailure::CpuLost { cpu: CpuId(1) }) >= 8, "the CPU is back");
}

#[test]
fn the_seed_decides_everything() {
    let result = |seed: u64| {
        let mut machine = SimMachine::open(builtin("noisy-vm"), seed);
        let usual = settings(&machine, "wake", options("primitive=std-mutex,pipe"), 3);
        let settings = SeriesSettings { seed, ..usual };
        measure(&mut machine, &settings).0
    };
    assert_eq!(result(1), result(1));
    assert_ne!(result(1).trials[0].histograms, result(2).trials[0].histograms);
}

/// Probes declare every number and parameter that they report, and agree on the declaration of shared parameters.
#[test]
fn reported_quantities_and_parameters_are_declared() {
    let mut machine = open("chiplet-16-smt");
    let (topology, cpus) = (machine.topology().clone(), all_cpus(&machine));
    let pairs = representative_pairs(&topology, &cpus);
    let options = Parameters::default();
    let request = SeriesRequest { topology: &topology, cpus: &cpus, pairs: &pairs, options: &options };
    let same_kind = |a: &Aggregate, b: &Aggregate| discriminant(a) == discriminant(b);
    for &probe in probes::REGISTRY {
        let ProbeDeclaration { id, quantities, parameters, .. } = probe.declaration();
        for parameter in *parameters {
            let registered = coretalk_model::probes::parameter(parameter.id).unwrap();
            let of_both = [parameter, registered].map(|parameter| (parameter.unit, parameter.words));
            assert_eq!(of_both[0], of_both[1], "{id}: {}", parameter.id);
        }
        for spec in probe.suite_trials(&request).unwrap() {
            for (name, _) in spec.parameters.iter() {
                assert!(parameters.iter().any(|parameter| parameter.id == name), "{id}: {name}");
            }
            let (spec, options, span) = (&spec, &options, Picos::from_ms(1));
            let order = TrialOrder { probe, spec, options, span, key: 1, process: 0 };
            let Ok(pass) = machine.perform_trial(&order, &Stop::new()) else { continue };
            let observed = pass.observed;
            for numbers in [&observed.numbers].into_iter().chain(observed.by_role.values()) {
                let check = |name: &String, kinds: &[Aggregate]| {
                    let quantity = quantities.iter().find(|quantity| quantity.id == name);
                    let is_known = quantity
                        .is_some_and(|known| kinds.iter().any(|kind| same_kind(kind, &known.aggregate)));
                    // Idle states have the system's names.
                    assert!(is_known || name.starts_with("idle_"), "{id}: {name}, {quantity:?}");
                };
                numbers.histograms.keys().for_each(|name| check(name, &[Aggregate::Events]));
                let of_counts = [Aggregate::Sum, Aggregate::SumOverStates];
                numbers.counts.keys().for_each(|name| check(name, &of_counts));
                let of_values = [
                    Aggregate::MedianOverPasses,
                    Aggregate::MeanOverPasses,
                    Aggregate::ShareOverPasses,
                    Aggregate::MedianOverEvents(""),
                ];
                numbers.values.keys().for_each(|name| check(name, &of_values));
            }
        }
    }
}
