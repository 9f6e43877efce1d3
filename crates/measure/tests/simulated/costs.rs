//! Results of trials on simulated machines against their true costs: within 3 %.

use crate::contend::all_methods;
use crate::trials::{all_cpus, measure, middle, open, open_toml, pass, settings, trials};
use coretalk_measure::pricing::SimContext;
use coretalk_measure::probes::latency_under_load::{Load, names, price_load};
use coretalk_measure::probes::wait::trials::{Mode, Trial};
use coretalk_measure::probes::wake::{self as wake_probe, PrimitiveKind, Variant};
use coretalk_measure::probes::{self, broadcast, contend, sharing, spawn};
use coretalk_measure::series::SeriesRequest;
use coretalk_measure::session::latency::Ended;
use coretalk_measure::sim::{self, wait, wake};
use coretalk_measure::{Machine, SimMachine};
use coretalk_model::series::{Observed, Parameters, TrialResult, TrialSpec};
use coretalk_model::{CpuId, contend as contend_model, jitter};

const MACHINES: [&str; 3] = ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"];

/// Results that differ from the truth, with their trials.
#[derive(Default)]
struct Deviations(Vec<String>);

impl Deviations {
    /// Differences below a step of the counter are ignored.
    fn check(&mut self, spec: &TrialSpec, name: &str, [found, truth, step_ns]: [f64; 3]) {
        if (found / truth - 1.0).abs() >= 0.03 && (found - truth).abs() >= step_ns {
            let (probe, label, cpus) = (&spec.probe, spec.label(), spec.cpu_list());
            self.0.push(format!("{probe} {label} {cpus} {name}: {found} of {truth}"));
        }
    }
}

impl Drop for Deviations {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || std::thread::panicking(), "{}", self.0.join("\n"));
    }
}

fn passes(machine: &mut SimMachine, spec: &TrialSpec, ms: u64) -> Vec<Observed> {
    (0..9).map(|key| pass(machine, spec, ms, key)).collect()
}

/// Compares passes of these trials with the true values of some quantities.
fn compare_passes<N: AsRef<str>>(
    machine: &mut SimMachine,
    all: Vec<TrialSpec>,
    ms: u64,
    truth: impl Fn(&SimMachine, &TrialSpec) -> Vec<(N, f64)>,
) {
    let mut deviations = Deviations::default();
    for spec in all {
        let observed = passes(machine, &spec, ms);
        let clock_ns = machine.bare_stage(&spec.placement).clock_ns();
        for (name, truth) in truth(machine, &spec) {
            deviations.check(&spec, name.as_ref(), [middle(&observed, name.as_ref(), clock_ns), truth, 0.0]);
        }
    }
}

#[test]
fn gaps_loads_distances_and_broadcasts() {
    for scenario in MACHINES {
        let mut machine = open(scenario);
        let loaded = Parameters::default()
            .with(names::GAP_NS, "1000,1000000")
            .with(names::LOAD, "none,compute,stream,pingpong");
        let mut all = trials(&machine, "latency", &loaded);
        all.retain(|spec| spec.parameters.text(names::RECEIVER) != Some(names::SLEEPS));
        all.extend(trials(&machine, "sharing", &Parameters::default()));
        all.extend(trials(&machine, "broadcast", &Parameters::default()));
        compare_passes(&mut machine, all, 20, |machine, spec| {
            let stage = machine.bare_stage(&spec.placement);
            match (spec.probe.as_str(), Load::from_spec(spec)) {
                ("sharing", _) => {
                    let bytes = spec.parameters.number(sharing::names::DISTANCE).unwrap() as u32;
                    let (shared, alone) = sharing::expected_ns(&stage, &sharing::cost(bytes));
                    vec![(sharing::names::SHARED_NS, shared), (sharing::names::ALONE_NS, alone)]
                }
                ("broadcast", _) => {
                    let [first, last] = broadcast::expected_ns(&stage);
                    vec![(broadcast::names::FIRST, first), (broadcast::names::LAST, last)]
                }
                (_, Some(load)) => {
                    let [idle, loaded] = price_load(load, &stage);
                    vec![(names::IDLE_NS, idle), (names::RATIO, loaded / idle)]
                }
                (_, None) => {
                    vec![(names::HALF_NET_NS, stage.transfer_ns(spec.placement[0], spec.placement[1]))]
                }
            }
        });
    }
}

#[test]
fn creations() {
    for scenario in MACHINES {
        let mut machine = open(scenario);
        let all = trials(&machine, "spawn", &Parameters::default());
        compare_passes(&mut machine, all, 60, |machine, spec| {
            let config = spawn::Config::from_spec(spec).unwrap();
            let stage = machine.bare_stage(&spec.placement);
            let truth = sim::spawn::expected_event(&stage, &config.kind.cost(), config.pause_ns);
            vec![("cost", truth.cost_ns), ("latency", truth.latency_ns), ("join", truth.join_ns)]
        });
    }
}

#[test]
fn contention() {
    for scenario in MACHINES {
        let mut machine = open(scenario);
        let options = Parameters::default().with("method", all_methods()).with("threads", "1,2,8");
        let mut all = trials(&machine, "contend", &options);
        all.retain(|spec| {
            let config = contend::Config::from_spec(spec).unwrap();
            // If threads sleep at once or overwrite each other, the least noise changes the order of events and slows
            // them by up to a sixth, so one simulation is no reference. These methods are only checked with one thread.
            let chaotic =
                ["pthread-mutex", "flag-wait", "flag-wait-always", "racy"].contains(&config.method.id);
            // Eight threads with ten times as much parallel as critical work are at the onset of waiting, where noise
            // decides.
            let at_the_edge = spec.placement.len() == 8 && config.method.locks && config.sections_ns[1] > 0.0;
            !(chaotic && spec.placement.len() > 1 || at_the_edge)
        });
        compare_passes(&mut machine, all, 4, |machine, spec| {
            let config = contend::Config::from_spec(spec).unwrap();
            let (cost, sections) = (config.method.cost, contend::sections(&config));
            let mut stage = machine.bare_stage(&spec.placement);
            let bare = sim::contend::run(&mut stage, cost, sections, 4e6, 4_000, &mut |_, _| ());
            vec![(contend_model::names::WALL_NS, bare.elapsed_ns / bare.total() as f64)]
        });
    }
}

/// Runs a probe and compares its trials with the truth.
fn compare_run(
    scenario: &str,
    probe: &str,
    options: Parameters,
    mut truth: impl FnMut(&SimMachine, &TrialResult) -> Vec<(&'static str, f64, f64)>,
) {
    let mut machine = open(scenario);
    let settings = settings(&machine, probe, options, 600);
    let (result, ended, _) = measure(&mut machine, &settings);
    assert_eq!(ended, Ended::Complete, "{scenario}");
    let mut deviations = Deviations::default();
    for trial in &result.trials {
        let step_ns = machine.rate().ns(1.0);
        for (name, found, truth) in truth(&machine, trial) {
            deviations.check(&trial.spec, name, [found, truth, step_ns]);
        }
    }
}

/// The median of a trial's events without the clock.
fn median_ns(machine: &SimMachine, trial: &TrialResult, view: &str) -> f64 {
    let clock_ns = machine.bare_stage(&trial.spec.placement).clock_ns();
    trial.histogram(view).unwrap().percentile_ns(0.5).unwrap() - clock_ns
}

#[test]
fn wake_ups() {
    let names = "semaphore,std-mutex,condvar-one-locked,pipe,ticket,uncontended:tas,notify-idle:park,notify-all:5,sleep-1ms";
    for scenario in MACHINES {
        let options = Parameters::default().with("primitive", names);
        compare_run(scenario, "wake", options, |machine, trial| {
            let stage = machine.bare_stage(&trial.spec.placement);
            let gap_ns = trial.spec.parameters.number("gap_ns").unwrap_or(1e6);
            let median = |view| median_ns(machine, trial, view);
            match wake_probe::variant(trial.spec.parameters.text("primitive").unwrap()).unwrap() {
                Variant::Wake(name) => {
                    let truth = wake::expected_event(
                        &stage,
                        &name.cost(),
                        gap_ns,
                        [trial.spec.placement[0], trial.spec.placement[1]],
                    );
                    let woken = median(if truth.slept { "slept" } else { "hot" });
                    vec![("wake", woken, truth.wake_ns), ("waker", median("waker"), truth.waker_ns)]
                }
                Variant::Uncontended(name) | Variant::NotifyIdle(name) => {
                    let truth = wake::alone_ns(&stage, &name.cost());
                    vec![("alone", trial.values["alone_ns"].point, truth)]
                }
                Variant::NotifyAll(_) => {
                    let cost = PrimitiveKind::CondvarAll.cost();
                    let truth = wake::price_all(&stage, &cost, gap_ns);
                    let all = ["first-of-all", "last-of-all", "waker"].into_iter().zip(truth);
                    all.map(|(view, truth)| (view, median(view), truth)).collect()
                }
                Variant::Sleep => {
                    let costs = stage.costs();
                    let late = costs.syscall_ns + costs.wake_ns + costs.idle_exit_ns(1e6);
                    vec![("late", median("slept"), late)]
                }
            }
        });
    }
}

#[test]
fn ways_of_waiting() {
    let names = "pause,pause:8,fence,yield,spin-futex:1000,spin-futex:1,futex,backoff,tpause,umwait,mwaitx";
    for scenario in MACHINES {
        for mode in [None, Some("no-clock"), Some("alternate"), Some("cost")] {
            let asym = mode.is_none().then_some("pause:futex,busy:yield");
            let options = Parameters::default().with("strategy", names).with_some("mode", mode);
            let mut sibling_measured = false;
            compare_run(scenario, "wait", options.with_some("asym", asym), |machine, trial| {
                let parsed = Trial::from_spec(&trial.spec).unwrap();
                let costs = parsed.sides.map(|side| side.map(|side| side.cost()));
                let stage = machine.bare_stage(&trial.spec.placement);
                let [one, other] = [&costs[0], &costs[1]].map(|cost| move || cost.as_ref().unwrap());
                let (point, median) =
                    (|name| trial.values[name].point, |view| median_ns(machine, trial, view));
                let trip = || wait::expected_trip(&stage, [one(), other()]);
                sibling_measured |= trial.values.contains_key("sibling_slowdown");
                match parsed.mode {
                    Mode::Timed => vec![
                        ("trip", median("trip"), trip().ns),
                        ("spins", point("spins_per_trip"), trip().spins),
                    ],
                    Mode::NoClock => vec![("loop", point("loop_ns"), trip().ns)],
                    Mode::Alternate => vec![("hint", median("hint"), trip().ns)],
                    Mode::Cost => vec![("call", point("call_ns"), wait::act_ns(&stage, one()))],
                    Mode::Sibling => {
                        vec![("slowdown", point("sibling_slowdown"), wait::slowdown(&stage, one()))]
                    }
                    Mode::Clock => Vec::new(),
                }
            });
            assert_eq!(sibling_measured, mode.is_none() && scenario == "chiplet-16-smt", "{scenario}");
        }
    }
}

#[test]
fn lost_time_is_found_with_its_cause() {
    for scenario in MACHINES {
        let more = "[[stalls]]\nname = 'tick'\nper_second = 250.0\nus = [1.0, 3.0]\nrhythm = 'periodic'\nseen_as = 'nothing'\n\
                    [[stalls]]\nname = 'others'\nper_second = 40.0\nus = [20.0, 30.0]\nrhythm = 'random'\nseen_as = 'switch'\n";
        let mut machine = open_toml(&format!("based_on = '{scenario}'\n{more}"));
        let spec = trials(&machine, "jitter", &Parameters::default()).remove(0);
        let cpus = all_cpus(&machine).len();
        // Rare events need ten thousand occurrences.
        let count = (1536 / cpus as u64).max(8);
        let passes: Vec<Observed> = (0..count).map(|key| pass(&mut machine, &spec, 250, key)).collect();
        let mean = |name: &str| -> f64 {
            let sum_of =
                |pass: &Observed| (0..cpus).map(|role| pass.by_role[&role].values[name]).sum::<f64>();
            passes.iter().map(sum_of).sum::<f64>() / (passes.len() * cpus) as f64
        };
        // The durations of stalls are uniform in the logarithm.
        let mean_us = |[low, high]: [f64; 2]| (high - low) / (high / low).ln();
        let mut deviations = Deviations::default();
        for (name, truth) in [
            (jitter::names::TICK, 250.0 * mean_us([1.0, 3.0]) * 1e-6),
            (jitter::names::SWITCH, 40.0 * mean_us([20.0, 30.0]) * 1e-6),
            (jitter::names::RATE, 290.0),
        ] {
            deviations.check(&spec, name, [mean(name), truth, 0.0]);
        }
        assert!(mean(jitter::names::UNEXPLAINED) < 1e-9);
    }
}

#[test]
fn loads_run_on_other_cpus_and_no_place_repeats() {
    let options = Parameters::default().with(names::LOAD, "compute");
    let mut all = trials(&open("chiplet-16-smt"), "latency", &options);
    all.retain(|spec| spec.placement[..2] == [CpuId(0), CpuId(1)]);
    let places: Vec<(&str, usize)> = all
        .iter()
        .map(|spec| (spec.parameters.text(names::WHERE).unwrap(), spec.placement.len() - 2))
        .collect();
    assert_eq!(places, [("siblings", 2), ("same-l3", 14), ("all-cpus", 30)]);
    let (alone, pair) = (open("chiplet-16"), [[CpuId(0), CpuId(1)]]);
    let request =
        SeriesRequest { topology: alone.topology(), cpus: &pair[0], pairs: &pair, options: &options };
    let refused = probes::series_by_id("latency").unwrap().trials(&request).unwrap_err().to_string();
    assert!(refused.contains("too few are selected for compute"), "{refused}");
}
