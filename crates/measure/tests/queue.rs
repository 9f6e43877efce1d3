//! Runs of queues on simulated machines: how long they take, and that a plan says so.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::probes;
use coretalk_measure::series::SeriesRequest;
use coretalk_measure::session::series::{SeriesPast, plan, run};
use coretalk_measure::session::{Decision, Kept, SeriesSink, Sink, SinkError, Slot};
use coretalk_measure::{Crew, Machine, Scenario, SimMachine, Stop};
use coretalk_model::latency::LatencyResult;
use coretalk_model::queue::{matrices, rates};
use coretalk_model::series::{Parameters, SeriesEntry, SeriesResult, SeriesSettings, TrialResult};
use coretalk_model::{Flag, Level, Picos, Relation};

/// Keeps nothing.
struct Nothing;

impl Sink for Nothing {
    fn commit(&mut self, _: &Slot) -> Result<(), SinkError> {
        Ok(())
    }
    fn decide(&mut self, _: &Decision) -> Result<(), SinkError> {
        Ok(())
    }
    fn finish(&mut self, _: &LatencyResult) -> Result<(), SinkError> {
        Ok(())
    }
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        Ok(Kept::Everything)
    }
}

impl SeriesSink for Nothing {
    fn commit_passes(&mut self, _: &[SeriesEntry]) -> Result<(), SinkError> {
        Ok(())
    }
    fn finish_series(&mut self, _: &SeriesResult) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The result, and the machine time that it took.
fn measure(machine: &mut SimMachine, settings: &SeriesSettings) -> (SeriesResult, Picos) {
    machine.engage(&Crew { cpus: settings.cpus.clone(), ..Crew::default() }).unwrap();
    let began = machine.now();
    let (result, _) =
        run(machine, settings, SeriesPast::default(), &mut Nothing, &mut (), &Stop::new()).unwrap();
    (result, machine.now() - began)
}

/// Of the first so many CPUs of each cluster.
fn settings(
    machine: &SimMachine,
    of_each: usize,
    asked: Parameters,
    precision: f64,
    budget_s: u64,
) -> SeriesSettings {
    let (topology, probe) = (machine.topology(), probes::series_by_id("queue").unwrap());
    let clusters = topology.level(Level::L3).into_iter();
    let chosen = clusters.flat_map(|cluster| cluster.cpus.iter().take(of_each)).collect();
    let cpus = topology.order(&chosen);
    let request = SeriesRequest { topology, cpus: &cpus, pairs: &[], asked: &asked };
    SeriesSettings {
        probes: vec!["queue".into()],
        trials: probe.trials(&request).unwrap(),
        headlines: probe.headlines().iter().map(|name| (*name).to_owned()).collect(),
        seed: 1,
        budget: Picos::from_ms(1_000 * budget_s),
        asked,
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
    let asked = Parameters::default().with("queue", "semaphore").with("pairs", "all").with_parallel(Some(1));
    let settings = settings(&machine, of_each, asked, 0.05, budget_s);
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
