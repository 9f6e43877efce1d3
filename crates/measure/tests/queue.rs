//! Runs of queues on simulated machines: how long they take, and that a plan says so.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::probes;
use coretalk_measure::series::{SeriesRequest, TrialOrder, headlines};
use coretalk_measure::session::series::{SeriesResumedState, plan, run};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings};
use coretalk_model::queue::{matrices, rates};
use coretalk_model::series::{Headline, Parameters, SeriesResult, SeriesSettings, TrialResult};
use coretalk_model::{CpuId, Flag, Level, Picos, Relation};

/// The result, and the machine time that it took.
fn measure(machine: &mut SimMachine, settings: &SeriesSettings) -> (SeriesResult, Picos) {
    machine.engage(&WorkerSettings { cpus: settings.cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let began = machine.now();
    let (result, _) =
        run(machine, settings, SeriesResumedState::default(), &mut (), &mut (), &Stop::new()).unwrap();
    (result, machine.now() - began)
}

/// Of the first so many CPUs of each cluster.
fn settings(
    machine: &SimMachine,
    of_each: usize,
    options: Parameters,
    precision: f64,
    budget_s: u64,
) -> SeriesSettings {
    let (topology, probe) = (machine.topology(), probes::series_by_id("queue").unwrap());
    let clusters = topology.level(Level::L3).into_iter();
    let chosen = clusters.flat_map(|cluster| cluster.cpus.iter().take(of_each)).collect();
    let cpus = topology.order(&chosen);
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
        precision,
    }
}

/// A plan names the shortest and the longest that a run takes.
fn assert_planned(planned: [Picos; 2], took: Picos) {
    let [least, most] = planned.map(Picos::secs);
    assert!((0.9 * least..=1.1 * most).contains(&took.secs()), "{took} for a plan of {planned:?}");
}

fn open(scenario: &str) -> SimMachine {
    SimMachine::open(Scenario::builtin(scenario).unwrap(), 1)
}

/// Every pair of so many CPUs of each of two clusters, five capacities, at ± 5 %.
fn every_pair_of_two_clusters_takes_its_budget_at_most_as_planned(of_each: usize, budget_s: u64) {
    let mut machine = open("chiplet-16");
    let options =
        Parameters::default().with("queue", "semaphore").with("pairs", "all").with_parallel(Some(1));
    let settings = settings(&machine, of_each, options, 0.05, budget_s);
    assert_eq!(settings.trials.len(), (2 * of_each).pow(2) * 5);
    let planned = plan(&machine, &settings).machine_time;
    let (result, took) = measure(&mut machine, &settings);
    assert!(took <= Picos::from_ms(1_000 * (budget_s + 1)), "{took}");
    assert!(result.trials.iter().all(|trial| trial.passes >= 8), "every cell has its eight passes");
    assert_planned(planned, took);
    let is_narrow =
        |trial: &&TrialResult| trial.values["messages_per_s"].relative_half_width() <= 0.05 * (1.0 + 1e-9);
    let narrow = result.trials.iter().filter(is_narrow).count();
    let wide = result.trials.iter().filter(|trial| trial.flags.contains(Flag::WideCi)).count();
    assert_eq!(narrow + wide, result.trials.len(), "none is wide unsaid");
    println!("{wide} of {} cells are wider than asked for; planned {planned:?}, took {took}", narrow + wide);
    // Those of one relation at one capacity fall in and out of step: now both sides run, now they wake each other.
    assert!(wide * 20 <= result.trials.len(), "{wide} cells are wider than asked for");
    // The structure that was put in comes out: a die away is slower, one CPU loses at 1 and wins at 10 000.
    let shape = &rates(&matrices(&result), machine.topology())[0];
    let per_s = |capacity, relation| shape.at(capacity, relation).unwrap().per_s.unwrap().point;
    assert!(per_s(100, Relation::L3) > 2.0 * per_s(100, Relation::Package));
    assert!(per_s(10_000, Relation::SameCpu) > 50.0 * per_s(1, Relation::SameCpu));
}

#[test]
fn eight_cpus_and_five_capacities_take_a_quarter_of_a_minute_at_most_as_planned() {
    every_pair_of_two_clusters_takes_its_budget_at_most_as_planned(4, 15);
}

/// The whole of it, in release.
#[cfg(feature = "acceptance")]
#[test]
fn sixteen_cpus_and_five_capacities_take_a_minute_at_most_as_planned() {
    every_pair_of_two_clusters_takes_its_budget_at_most_as_planned(8, 59);
}

#[test]
fn a_machine_of_192_cpus_is_sampled_within_five_minutes() {
    let mut machine = open("epyc-2s-192");
    let settings = settings(&machine, 8, Parameters::default().with("queue", "spsc"), 0.05, 290);
    assert!(settings.trials.len() < 1_000, "{} trials", settings.trials.len());
    let planned = plan(&machine, &settings).machine_time;
    let (result, took) = measure(&mut machine, &settings);
    assert!(took <= Picos::from_ms(300_000), "{took}");
    assert_planned(planned, took);
    assert!(result.trials.iter().all(|trial| trial.passes >= 8));
}

/// Messages a second of `semaphore-slim` on one CPU, inside an L3 and across: from the costs of lines, switches and
/// wake-ups of the machine alone.
fn slim_per_s(capacities: &str, payload: &str) -> Vec<[f64; 3]> {
    let mut machine = open("chiplet-16");
    let [one, inside, across] = [(0, 0), (0, 1), (0, 8)].map(|(from, to)| [CpuId(from), CpuId(to)]);
    let pairs = [one, inside, across];
    let options = Parameters::default().with("queue", "semaphore-slim").with("pairs", "listed");
    let options = options.with("capacity", capacities).with("payload", payload);
    let cpus = [CpuId(0), CpuId(1), CpuId(8)].to_vec();
    let (topology, probe) = (machine.topology(), probes::series_by_id("queue").unwrap());
    let request = SeriesRequest { topology, cpus: &cpus, pairs: &pairs, options: &options };
    let settings = SeriesSettings {
        probes: vec!["queue".into()],
        trials: probe.trials(&request).unwrap(),
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: probes::quantities(),
        seed: 1,
        budget: Picos::from_ms(5_000),
        options,
        cpus,
        precision: 0.05,
    };
    let (result, _) = measure(&mut machine, &settings);
    let per_s = |trial: &TrialResult| trial.values["messages_per_s"].point;
    let found: Vec<f64> = result.trials.iter().map(per_s).collect();
    found.as_chunks().0.to_vec()
}

#[test]
fn semaphore_slim_shows_the_order_that_zen_5_and_csharp_have_shown() {
    for payload in ["u64", "string"] {
        let found = slim_per_s("1,10,100,1000", payload);
        let [at_1, _, at_100, at_1000] = [found[0], found[1], found[2], found[3]];
        println!("{payload}: one CPU, inside, across: {found:.0?}");
        // One CPU is last with one place, behind pairs a die apart. These were about five times as slow as those inside one;
        // here lines take 85 ns across and 18 inside, 4.7 times as long, and some of a hand-over is no line.
        let [one, inside, across] = at_1;
        assert!(one < across && across < inside, "{payload}, 1: {at_1:?}");
        assert!((2.5..4.7).contains(&(inside / across)), "{payload}, 1: {}", inside / across);
        // With a hundred it is first, and stays so.
        for at in [at_100, at_1000] {
            let [one, inside, across] = at;
            assert!(one > inside && inside > across, "{payload}: {at:?}");
        }
    }
}

#[test]
fn no_rate_passes_more_than_goes_without_one() {
    let mut machine = open("chiplet-16");
    let cpus = [CpuId(0), CpuId(1), CpuId(8)].to_vec();
    machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let probe = probes::series_by_id("queue").unwrap();
    let mut passed = |queue: &str, capacity: &str, rate: Option<f64>| -> Vec<f64> {
        let pairs = [(0, 0), (0, 1), (0, 8)].map(|(from, to)| [CpuId(from), CpuId(to)]);
        let options = Parameters::default().with("queue", queue).with("capacity", capacity);
        let options = options.with("pairs", "listed").with_some("rate_per_s", rate);
        let request =
            SeriesRequest { topology: machine.topology(), cpus: &cpus, pairs: &pairs, options: &options };
        let trials = probe.trials(&request).unwrap();
        let mut per_s = |spec| {
            let order = TrialOrder { probe, spec, options: &options, span: Picos::from_ms(20), key: 1 };
            machine.perform_trial(&order, &Stop::new()).unwrap().observed.numbers.values["messages_per_s"]
        };
        trials.iter().map(&mut per_s).collect()
    };
    for queue in ["semaphore", "semaphore-slim", "spsc"] {
        for capacity in ["1", "100"] {
            let closed = passed(queue, capacity, None);
            for (place, &most) in closed.iter().enumerate() {
                let open = passed(queue, capacity, Some(2.0 * most))[place];
                // Passes are some thousand messages long, and one that begins or ends with a wake-up shows it.
                assert!(open < 1.2 * most, "{queue} {capacity} {place}: {open} at a rate, {most} without");
            }
        }
    }
}
