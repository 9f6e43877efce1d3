//! Trials made at the same time: what that saves on simulated machines, what it must not change, and that real threads
//! bring it to an end.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::probes;
use coretalk_measure::series::{SeriesRequest, headlines};
use coretalk_measure::session::series::{SeriesResumedState, plan, run};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings};
use coretalk_model::latency::Regime;
use coretalk_model::queue::names;
use coretalk_model::series::{Headline, Parameters, SeriesResult, SeriesSettings, TrialResult};
use coretalk_model::stats::median;
use coretalk_model::{Flag, Picos, Relation, TrialFailure};

/// A machine on which each further pair slows the transfers of a pair down by so much.
fn open(scenario: &str, bias: f64) -> SimMachine {
    let text = Scenario::builtin(scenario).unwrap().to_toml();
    let known = text.lines().find(|line| line.starts_with("parallel_bias")).unwrap();
    let text = text.replace(known, &format!("parallel_bias = {bias:?}"));
    SimMachine::open(Scenario::from_toml(&text).unwrap(), 1)
}

/// Every pair of a machine at ± 5 %, so many of them at the same time at most.
fn settings(
    machine: &SimMachine,
    queue: &str,
    capacity: &str,
    parallel: Option<u32>,
    budget_s: u64,
) -> SeriesSettings {
    let (topology, probe) = (machine.topology(), probes::series_by_id("queue").unwrap());
    let cpus = topology.order(topology.cpus());
    let options =
        Parameters::default().with("queue", queue).with("capacity", capacity).with_parallel(parallel);
    let request = SeriesRequest { topology, cpus: &cpus, pairs: &[], options: &options };
    SeriesSettings {
        probes: vec!["queue".into()],
        trials: probe.trials(&request).unwrap(),
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: probes::quantities(),
        seed: 1,
        budget: Picos::from_ms(1_000 * budget_s),
        options,
        cpus,
        precision: 0.05,
    }
}

/// The result, and the machine time that it took in seconds.
fn measure(machine: &mut SimMachine, settings: &SeriesSettings) -> (SeriesResult, f64) {
    machine.engage(&WorkerSettings { cpus: settings.cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let began = machine.now();
    let resumed = SeriesResumedState::default();
    let (result, _) = run(machine, settings, resumed, &mut (), &mut (), &Stop::new()).unwrap();
    (result, (machine.now() - began).secs())
}

fn wide(result: &SeriesResult) -> usize {
    result.trials.iter().filter(|trial| trial.flags.contains(Flag::WideCi)).count()
}

/// Rates of the second ÷ those of the first, trial by trial, of trials that have one.
fn ratios(alone: &SeriesResult, together: &SeriesResult) -> Vec<f64> {
    let rate = |trial: &TrialResult| Some(trial.values.get(names::RATE)?.point);
    let both = alone.trials.iter().zip(&together.trials);
    both.filter(|(alone, _)| !alone.flags.contains(Flag::SharedSpin))
        .filter_map(|(alone, together)| Some(rate(together)? / rate(alone)?))
        .collect()
}

/// The relations that the gate let pass, and those that it did not.
fn verdicts(result: &SeriesResult) -> [Vec<Relation>; 2] {
    let Regime::Parallel { gate, .. } = &result.regime else { return [Vec::new(), Vec::new()] };
    [true, false].map(|wanted| {
        gate.iter().filter(|outcome| outcome.equivalent == wanted).map(|outcome| outcome.relation).collect()
    })
}

#[test]
fn concurrency_that_changes_nothing_saves_time_and_says_the_same() {
    let of = |parallel| {
        let mut machine = open("chiplet-16", 0.0);
        let settings = settings(&machine, "array-queue,spsc", "1,10,100", parallel, 40);
        let planned = plan(&machine, &settings);
        let (result, took) = measure(&mut machine, &settings);
        let [least, most] = planned.machine_time.map(Picos::secs);
        assert!((0.9 * least..=1.1 * most).contains(&took), "{took} s for a plan of {planned:?}");
        (result, took, planned.parallel)
    };
    let (alone, took_alone, one) = of(Some(1));
    let (together, took, eight) = of(None);
    assert_eq!((one, eight, &alone.regime), (1, 8, &Regime::Serial));
    assert!(matches!(together.regime, Regime::Parallel { pairs: 8, .. }));
    assert_eq!(verdicts(&together), [vec![Relation::L3, Relation::Package], vec![]]);
    assert!(took < 0.7 * took_alone, "{took} s for {took_alone} s");
    assert!(wide(&together) <= wide(&alone), "{} for {}", wide(&together), wide(&alone));
    let mut ratios = ratios(&alone, &together);
    ratios.sort_unstable_by(f64::total_cmp);
    assert!((median(&ratios).unwrap() - 1.0).abs() < 0.002, "{:?}", median(&ratios));
    let within = ratios.iter().filter(|ratio| (0.98..=1.02).contains(*ratio)).count();
    assert!(within * 100 >= 98 * ratios.len(), "{within} of {}", ratios.len());
}

#[test]
fn concurrency_that_slows_is_refused_and_pairs_are_measured_alone() {
    let of = |parallel| {
        let mut machine = open("chiplet-16", 0.05);
        let settings = settings(&machine, "array-queue", "1,10", parallel, 30);
        measure(&mut machine, &settings).0
    };
    let (alone, together) = (of(Some(1)), of(Some(8)));
    assert_eq!(verdicts(&together), [vec![], vec![Relation::L3, Relation::Package]]);
    assert!(together.trials.iter().all(|trial| !trial.flags.contains(Flag::ParBias)));
    let ratios = ratios(&alone, &together);
    assert!((median(&ratios).unwrap() - 1.0).abs() < 0.002, "{:?}", median(&ratios));
    let within = ratios.iter().filter(|ratio| (0.97..=1.03).contains(*ratio)).count();
    assert!(within * 100 >= 98 * ratios.len(), "{within} of {}", ratios.len());
}

#[test]
fn where_the_budget_ends_first_what_was_made_concurrently_stands_and_says_so() {
    let mut machine = open("chiplet-16", 0.05);
    let settings = settings(&machine, "array-queue,spsc", "1,10,100", Some(8), 5);
    let (result, _) = measure(&mut machine, &settings);
    let of = |trial: &&TrialResult| {
        trial.spec.placement[0] != trial.spec.placement[1] && trial.flags.contains(Flag::ParBias)
    };
    let flagged: Vec<&TrialResult> = result.trials.iter().filter(of).collect();
    assert!(flagged.len() > 100 && result.budget_ended, "{}", flagged.len());
    assert!(flagged.iter().all(|trial| trial.reason.is_some() && trial.values.contains_key(names::RATE)));
}

#[test]
fn a_queue_that_sleeps_is_measured_concurrently_on_one_cpu_too() {
    let mut machine = open("chiplet-16", 0.0);
    let settings = settings(&machine, "semaphore", "1,100", Some(8), 6);
    let (result, _) = measure(&mut machine, &settings);
    assert_eq!(verdicts(&result), [vec![Relation::SameCpu, Relation::L3, Relation::Package], vec![]]);
}

#[test]
fn few_trials_long_passes_and_small_machines_are_measured_one_pair_at_a_time() {
    let parallel = |scenario: &str, options, budget_s, most| {
        let machine = open(scenario, 0.0);
        let mut settings = settings(&machine, "spsc", "1,10,100", options, budget_s);
        settings.trials.truncate(most);
        plan(&machine, &settings).parallel
    };
    assert_eq!(parallel("chiplet-16", None, 40, 1_000), 8);
    assert_eq!(parallel("laptop-smt", None, 4, 1_000), 2, "pairs of cores, not of threads");
    assert_eq!(parallel("chiplet-16", Some(3), 40, 1_000), 3);
    assert_eq!(parallel("chiplet-16", None, 600, 1_000), 1, "passes are long enough alone");
    assert_eq!(
        parallel("chiplet-16", Some(8), 1, 30),
        1,
        "no relation has pairs enough to judge concurrency"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn two_trials_on_real_threads_end_together_and_every_message_arrives() {
    use coretalk_measure::series::TrialOrder;
    use coretalk_model::series::TrialSpec;

    let mut host = coretalk_measure::host::HostMachine::open().unwrap();
    let cpus: Vec<_> = host.allowance().mask.intersection(&host.allowance().cpuset).iter().take(2).collect();
    host.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let options = Parameters::default();
    let parameters = Parameters::default().with("queue", "semaphore").with("capacity", 10.0);
    let spec = |&cpu: &_| TrialSpec {
        probe: "queue".into(),
        parameters: parameters.clone(),
        placement: vec![cpu, cpu],
    };
    let specs: Vec<TrialSpec> = cpus.iter().map(spec).collect();
    let probe = probes::series_by_id("queue").unwrap();
    let orders = |ms: u64| -> Vec<TrialOrder<'_>> {
        let order = |spec| TrialOrder { probe, spec, options: &options, span: Picos::from_ms(ms), key: 1 };
        specs.iter().map(order).collect()
    };
    let outcomes = host.perform_trials(&orders(20), &Stop::new());
    assert_eq!(outcomes.len(), cpus.len());
    for outcome in outcomes {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.concurrent as usize, cpus.len() - 1);
        assert!(
            outcome.observed.numbers.counts[names::MESSAGES] > 0
                && outcome.observed.numbers.values[names::RATE] > 0.0
        );
        assert!(outcome.observed.flags.is_empty(), "{:?}", outcome.observed.flags);
    }
    let stop = Stop::new();
    stop.raise();
    let stopped = host.perform_trials(&orders(60_000), &stop);
    assert!(stopped.iter().all(|outcome| *outcome == Err(TrialFailure::Interrupted)), "{stopped:?}");
}
