//! Runs of series on simulated machines, held against what the machine was made to cost.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::pricing::Pricing;
use coretalk_measure::probes;
use coretalk_measure::probes::wait::trials::{Mode, Trial};
use coretalk_measure::probes::wake::{PrimitiveKind, Variant};
use coretalk_measure::series::{SeriesRequest, TrialOrder, headlines, representative_pairs};
use coretalk_measure::session::latency::{Ended, RunError};
use coretalk_measure::session::series::{SeriesResumedState, run};
use coretalk_measure::session::{Decision, Kept, Sink, SinkError, Slot};
use coretalk_measure::sim::{wait, wake};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings};
use coretalk_model::Picos;
use coretalk_model::quantity::Aggregate;
use coretalk_model::series::{Headline, Parameters, SeriesEntry, SeriesRecord, SeriesResult, SeriesSettings};
use std::collections::BTreeSet;

/// Keeps slots in memory.
#[derive(Default)]
struct Slots(Vec<Vec<SeriesEntry>>);

impl Sink for Slots {
    fn commit(&mut self, slot: &Slot) -> Result<(), SinkError> {
        self.0.push(slot.passes.clone());
        Ok(())
    }
    fn decide(&mut self, _: &Decision) -> Result<(), SinkError> {
        Ok(())
    }
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        Ok(Kept::Everything)
    }
}

fn settings(machine: &dyn Machine, probe: &str, options: Parameters, budget: Picos) -> SeriesSettings {
    let (topology, probe) = (machine.topology(), probes::series_by_id(probe).unwrap());
    let cpus = topology.order(topology.cpus());
    let pairs = representative_pairs(topology, &cpus);
    let request = SeriesRequest { topology, cpus: &cpus, pairs: &pairs, options: &options };
    SeriesSettings {
        probes: vec![probe.spec().id.to_owned()],
        trials: probe.trials(&request).unwrap(),
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: probes::quantities(),
        precision: 0.02,
        seed: 1,
        options,
        budget,
        cpus,
    }
}

fn measure(
    machine: &mut SimMachine,
    settings: &SeriesSettings,
    resumed: SeriesResumedState,
) -> (Result<(SeriesResult, Ended), RunError>, Slots) {
    machine.engage(&WorkerSettings { cpus: settings.cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let mut slots = Slots::default();
    let ended = run(machine, settings, resumed, &mut slots, &mut (), &Stop::new());
    (ended, slots)
}

fn open(scenario: &str) -> SimMachine {
    SimMachine::open(Scenario::builtin(scenario).unwrap(), 1)
}

#[test]
fn wake_ups_are_recovered_within_three_percent() {
    for scenario in ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"] {
        let mut machine = open(scenario);
        let names = "semaphore,std-mutex,condvar-one-locked,pipe,ticket,uncontended:tas,notify-idle:park,notify-all:5,sleep-1ms";
        let options = Parameters::default().with("primitive", names);
        let settings = settings(&machine, "wake", options, Picos::from_ms(600_000));
        let (ended, _) = measure(&mut machine, &settings, SeriesResumedState::default());
        let (result, ended) = ended.unwrap();
        assert_eq!(ended, Ended::Complete, "{scenario}");
        for trial in &result.trials {
            let spec = &trial.spec;
            let stage = machine.bare_stage(&spec.placement);
            let gap_ns = spec.parameters.number("gap_ns").unwrap_or(1e6);
            let median =
                |view: &str| trial.histogram(view).unwrap().percentile_ns(0.5).unwrap() - stage.clock_ns();
            let near = |what: &str, found: f64, truth: f64| {
                let off = found / truth - 1.0;
                // Nothing is told finer than a step of the counter.
                let step_ns = stage.rate().ns(1.0);
                assert!(
                    off.abs() < 0.03 || (found - truth).abs() < step_ns,
                    "{scenario} {} {} {what}: {found} of {truth}",
                    spec.label(),
                    spec.cpu_list()
                );
            };
            match probes::wake::variant(spec.parameters.text("primitive").unwrap()).unwrap() {
                Variant::Wake(name) => {
                    let truth = wake::price(&stage, &probes::wake::cost(name), gap_ns);
                    near("wake", median(if truth.slept { "slept" } else { "hot" }), truth.wake_ns);
                    near("waker", median("waker"), truth.waker_ns);
                }
                Variant::Uncontended(name) | Variant::NotifyIdle(name) => {
                    near(
                        "alone",
                        trial.values["alone_ns"].point,
                        wake::alone_ns(&stage, &probes::wake::cost(name)),
                    );
                }
                Variant::NotifyAll(_) => {
                    let [first, last, waker] =
                        wake::price_all(&stage, &probes::wake::cost(PrimitiveKind::CondvarAll), gap_ns);
                    near("first", median("first-of-all"), first);
                    near("last", median("last-of-all"), last);
                    near("waker", median("waker"), waker);
                }
                Variant::Sleep => {
                    let late =
                        stage.costs().syscall_ns + stage.costs().wake_ns + stage.costs().idle_exit_ns(1e6);
                    near("late", median("slept") - 1e6, late);
                }
            }
        }
    }
}

#[test]
fn ways_of_waiting_are_recovered_within_three_percent() {
    for scenario in ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"] {
        for mode in [None, Some("no-clock"), Some("alternate"), Some("cost")] {
            let names =
                "pause,pause:8,fence,yield,spin-futex:1000,spin-futex:1,futex,backoff,tpause,umwait,mwaitx";
            let options = Parameters::default().with("strategy", names).with_some("mode", mode);
            let options = match mode {
                None => options.with("asym", "pause:futex,busy:yield"),
                Some(_) => options,
            };
            let mut machine = open(scenario);
            let settings = settings(&machine, "wait", options, Picos::from_ms(600_000));
            let (ended, _) = measure(&mut machine, &settings, SeriesResumedState::default());
            let (result, ended) = ended.unwrap();
            assert_eq!(ended, Ended::Complete, "{scenario}");
            for trial in &result.trials {
                let parsed = Trial::of(&trial.spec).unwrap();
                let costs = parsed.sides.map(|side| side.map(|side| side.cost()));
                let stage = machine.bare_stage(&trial.spec.placement);
                let near = |what: &str, found: f64, truth: f64| {
                    let off = found / truth - 1.0;
                    let step_ns = stage.rate().ns(1.0);
                    assert!(
                        off.abs() < 0.03 || (found - truth).abs() < step_ns,
                        "{scenario} {} {} {what}: {found} of {truth}",
                        trial.spec.label(),
                        trial.spec.cpu_list()
                    );
                };
                let median = |view: &str| {
                    trial.histogram(view).unwrap().percentile_ns(0.5).unwrap() - stage.clock_ns()
                };
                let trip = || wait::price(&stage, [costs[0].as_ref().unwrap(), costs[1].as_ref().unwrap()]);
                match parsed.mode {
                    Mode::Timed => {
                        near("trip", median("trip"), trip().ns);
                        near("spins", trial.values["spins_per_trip"].point, trip().spins);
                    }
                    Mode::NoClock => near("loop", trial.values["loop_ns"].point, trip().ns),
                    Mode::Alternate => near("hint", median("hint"), trip().ns),
                    Mode::Cost => {
                        let call_ns = wait::act_ns(&stage, costs[0].as_ref().unwrap());
                        near("call", trial.values["call_ns"].point, call_ns);
                    }
                    Mode::Sibling => {
                        let slowdown = wait::slowdown(&stage, costs[0].as_ref().unwrap());
                        near("slowdown", trial.values["sibling_slowdown"].point, slowdown);
                    }
                    Mode::Clock => {}
                }
            }
            let beside = result.trials.iter().any(|trial| trial.values.contains_key("sibling_slowdown"));
            assert_eq!(beside, mode.is_none() && scenario == "chiplet-16-smt", "{scenario}");
        }
    }
}

#[test]
fn slots_lie_at_most_half_a_second_apart_and_the_budget_holds() {
    let mut machine = open("chiplet-16");
    let options = Parameters::default().with("samples", 1e9);
    let budget = Picos::from_ms(5_000);
    let settings = settings(&machine, "wake", options, budget);
    let (ended, slots) = measure(&mut machine, &settings, SeriesResumedState::default());
    let (result, ended) = ended.unwrap();
    assert_eq!((ended, result.complete, result.budget_ended), (Ended::Budget, true, true));
    assert!(machine.now() < budget + Picos::from_ms(300), "{}", machine.now());
    let end = |entry: &SeriesEntry| entry.outcome.as_ref().map(|pass| pass.started + pass.elapsed).unwrap();
    let mut last = Picos::ZERO;
    for slot in &slots.0 {
        let committed = slot.iter().map(end).max().unwrap();
        assert!(committed - last <= Picos::from_ms(500), "{} after {last}", committed);
        last = committed;
    }
}

#[test]
fn a_sitting_goes_on_without_repeating_a_pass() {
    let scenario = "based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 1500";
    let mut machine = SimMachine::open(Scenario::from_toml(scenario).unwrap(), 1);
    let settings =
        settings(&machine, "wake", Parameters::default().with("primitive", "park"), Picos::from_ms(120_000));
    let (ended, first) = measure(&mut machine, &settings, SeriesResumedState::default());
    assert!(matches!(ended, Err(RunError::Interrupted)));
    let mut record = SeriesRecord::new();
    let before: Vec<SeriesEntry> = first.0.into_iter().flatten().collect();
    before.iter().cloned().for_each(|entry| record.push(entry));
    let mut machine = open("chiplet-16");
    let (ended, second) =
        measure(&mut machine, &settings, SeriesResumedState { record, segments: 1, earlier: None });
    assert_eq!(ended.unwrap().1, Ended::Complete);
    let mut made = BTreeSet::new();
    for entry in before.iter().chain(second.0.iter().flatten()) {
        assert!(made.insert((entry.trial, entry.pass)), "pass {} of trial {} twice", entry.pass, entry.trial);
    }
    assert!(second.0.iter().flatten().all(|entry| entry.segment == 1));
}

#[test]
fn the_seed_decides_everything() {
    let result = |seed: u64| {
        let mut machine = SimMachine::open(Scenario::builtin("noisy-vm").unwrap(), seed);
        let options = Parameters::default().with("primitive", "std-mutex,pipe");
        let settings = SeriesSettings { seed, ..settings(&machine, "wake", options, Picos::from_ms(3_000)) };
        measure(&mut machine, &settings, SeriesResumedState::default()).0.unwrap().0
    };
    assert_eq!(result(1), result(1));
    assert_ne!(result(1).trials[0].histograms, result(2).trials[0].histograms);
}

/// Every number that a probe says and every parameter of its trials is declared by it, and a parameter is the same wherever
/// several probes have it.
#[test]
fn what_probes_say_is_declared() {
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
    let topology = machine.topology().clone();
    let cpus = topology.order(topology.cpus());
    let pairs = representative_pairs(&topology, &cpus);
    machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let options = Parameters::default();
    let request = SeriesRequest { topology: &topology, cpus: &cpus, pairs: &pairs, options: &options };
    for probe in probes::REGISTRY.iter().filter_map(|probe| probe.series()) {
        let (id, declared) = (probe.spec().id, probe.quantities());
        for parameter in probe.parameters() {
            let of_any = probes::parameter_by_id(parameter.id).unwrap();
            assert_eq!(
                (parameter.unit, parameter.words),
                (of_any.unit, of_any.words),
                "{id}: {}",
                parameter.id
            );
        }
        for spec in probe.suite_trials(&request).unwrap() {
            for (name, _) in spec.parameters.iter() {
                assert!(probe.parameters().iter().any(|parameter| parameter.id == name), "{id}: {name}");
            }
            let order = TrialOrder { probe, spec: &spec, options: &options, span: Picos::from_ms(1), key: 1 };
            let Ok(pass) = machine.perform_trial(&order, &Stop::new()) else { continue };
            let observed = pass.observed;
            for numbers in [&observed.numbers].into_iter().chain(observed.by_role.values()) {
                let is = |name: &String, of: &[Aggregate]| {
                    let quantity = declared.iter().find(|quantity| quantity.id == name);
                    let known = quantity.is_some_and(|quantity| {
                        of.iter().any(|kind| {
                            std::mem::discriminant(kind) == std::mem::discriminant(&quantity.aggregate)
                        })
                    });
                    // Idle states have the names that the system gives them.
                    assert!(known || name.starts_with("idle_"), "{id}: {name}, {quantity:?}");
                };
                numbers.histograms.keys().for_each(|name| is(name, &[Aggregate::Events]));
                numbers.counts.keys().for_each(|name| is(name, &[Aggregate::Sum]));
                let of_values =
                    [Aggregate::MedianOverPasses, Aggregate::MeanOverPasses, Aggregate::MedianOverEvents("")];
                numbers.values.keys().for_each(|name| is(name, &of_values));
            }
        }
    }
}
