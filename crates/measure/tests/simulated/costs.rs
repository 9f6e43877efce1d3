//! Results of trials on simulated machines against their true values: costs within 3 %, shares within 0.02.

use crate::contend::all_methods;
use crate::trials::{all_cpus, measure, middle, open, open_toml, options, pass, settings, trials};
use coretalk_measure::pricing::SimContext;
use coretalk_measure::probes::latency_under_load::{Load, names, price_load};
use coretalk_measure::probes::wait::trials::{Mode, WaitTrial};
use coretalk_measure::probes::wake::{self as wake_probe, PrimitiveKind, Variant, Wake};
use coretalk_measure::probes::{self, broadcast, contend, sharing, spawn};
use coretalk_measure::series::{SeriesProbe, SeriesRequest};
use coretalk_measure::session::latency::Ended;
use coretalk_measure::sim::{self, wait, wake};
use coretalk_measure::{Machine, SimMachine};
use coretalk_model::series::{Observed, Parameters, TrialResult, TrialSpec};
use coretalk_model::wake::RanOn;
use coretalk_model::{CpuId, contend as contend_model, jitter};

const MACHINES: [&str; 3] = ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"];

/// The found values of a trial that differ from the truth by 3 % and by a step of the counter.
fn deviations(spec: &TrialSpec, step_ns: f64, values: Vec<(&str, f64, f64)>) -> Vec<String> {
    let is_off =
        |found: f64, truth: f64| (found / truth - 1.0).abs() >= 0.03 && (found - truth).abs() >= step_ns;
    let off = values.into_iter().filter(|(_, found, truth)| is_off(*found, *truth));
    let (probe, label, cpus) = (&spec.probe, spec.label(), spec.cpu_list());
    off.map(|(name, found, truth)| format!("{probe} {label} {cpus} {name}: {found} of {truth}")).collect()
}

fn assert_none(deviations: Vec<String>) {
    assert!(deviations.is_empty(), "{}", deviations.join("\n"));
}

/// Compares passes of these trials with the true values of some quantities.
fn compare_passes(
    machine: &mut SimMachine,
    all: Vec<TrialSpec>,
    ms: u64,
    truth: impl Fn(&SimMachine, &TrialSpec) -> Vec<(&'static str, f64)>,
) {
    let mut all_deviations = Vec::new();
    for spec in all {
        let observed: Vec<Observed> = (0..9).map(|key| pass(machine, &spec, ms, key)).collect();
        let clock_ns = machine.bare_stage(&spec.placement).clock_ns();
        let truth = truth(machine, &spec).into_iter();
        let values = truth.map(|(name, truth)| (name, middle(&observed, name, clock_ns), truth)).collect();
        all_deviations.extend(deviations(&spec, 0.0, values));
    }
    assert_none(all_deviations);
}

#[test]
fn gaps_loads_distances_and_broadcasts() {
    for scenario in MACHINES {
        let mut machine = open(scenario);
        let loaded = options("gap_ns=1000,1000000 load=none,compute,stream,pingpong");
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
            let config = spawn::CreationConfig::from_spec(spec).unwrap();
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
        let options = options("threads=1,2,8").with("method", all_methods());
        let mut all = trials(&machine, "contend", &options);
        all.retain(|spec| {
            let config = contend::ContendConfig::from_spec(spec).unwrap();
            // If threads sleep at once or overwrite each other, the least noise changes the order of events and slows
            // them by up to a sixth, so one simulation is no reference. These methods are only checked with one thread.
            let chaotic = ["pthread-mutex", "flag-wait", "flag-wait-always", "racy"];
            let is_chaotic = spec.placement.len() > 1 && chaotic.contains(&config.method.id);
            // Eight threads with ten times as much parallel as critical work are at the onset of waiting, where noise
            // decides.
            let at_the_edge = spec.placement.len() == 8 && config.method.locks && config.sections_ns[1] > 0.0;
            !is_chaotic && !at_the_edge
        });
        compare_passes(&mut machine, all, 4, |machine, spec| {
            let config = contend::ContendConfig::from_spec(spec).unwrap();
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
    let step_ns = machine.rate().ns(1.0);
    let all = result.trials.iter();
    assert_none(all.flat_map(|trial| deviations(&trial.spec, step_ns, truth(&machine, trial))).collect());
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
        compare_run(scenario, "wake", options("").with("primitive", names), |machine, trial| {
            let stage = machine.bare_stage(&trial.spec.placement);
            let gap_ns = trial.spec.parameters.number("gap_ns").unwrap_or(1e6);
            let median = |view| median_ns(machine, trial, view);
            match wake_probe::variant(trial.spec.parameters.text("primitive").unwrap()).unwrap() {
                Variant::Wake(name) => {
                    let pair = [trial.spec.placement[0], trial.spec.placement[1]];
                    let truth = wake::expected_event(&stage, &name.cost(), gap_ns, pair);
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
            let options = options("").with("strategy", names).with_some("mode", mode);
            let mut sibling_measured = false;
            compare_run(scenario, "wait", options.with_some("asym", asym), |machine, trial| {
                let parsed = WaitTrial::from_spec(&trial.spec).unwrap();
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
            let roles = passes.iter().flat_map(|pass| pass.by_role.values());
            roles.map(|numbers| numbers.values[name]).sum::<f64>() / (passes.len() * cpus) as f64
        };
        // The durations of stalls are uniform in the logarithm.
        let mean_us = |[low, high]: [f64; 2]| (high - low) / (high / low).ln();
        let values = [
            (jitter::names::TICK, 250.0 * mean_us([1.0, 3.0]) * 1e-6),
            (jitter::names::SWITCH, 40.0 * mean_us([20.0, 30.0]) * 1e-6),
            (jitter::names::RATE, 290.0),
        ];
        let values = values.map(|(name, truth)| (name, mean(name), truth)).to_vec();
        assert_none(deviations(&spec, 0.0, values));
        assert!(mean(jitter::names::UNEXPLAINED) < 1e-9);
    }
}

#[test]
fn loads_run_on_other_cpus_and_no_place_repeats() {
    let options = options("load=compute");
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

/// Wake-ups of unbound threads, for which the simulated scheduler chooses CPUs by a stated rule.
fn unpinned(primitive: &str) -> Parameters {
    options("gap_ns=20000").with("primitive", primitive).with("unpinned", 1.0)
}

#[test]
fn waiters_run_at_the_shares_of_the_scheduler() {
    // Without hardware threads, waiters have no sibling to run on; with a single L3, no CPU elsewhere.
    for (scenario, places) in [
        ("chiplet-16-smt", &RanOn::ALL[..]),
        ("chiplet-16", &[RanOn::SameCpu, RanOn::SameL3, RanOn::Elsewhere]),
        ("laptop-smt", &[RanOn::SameCpu, RanOn::Sibling, RanOn::SameL3]),
    ] {
        let mut machine = open(scenario);
        let weight = |place: RanOn| wake::PLACES.iter().find(|(known, _)| *known == place).unwrap().1;
        let all: f64 = places.iter().map(|&place| weight(place)).sum();
        for spec in trials(&machine, "wake", &unpinned("semaphore,ttas")) {
            let passes: Vec<_> = (0..4).map(|key| pass(&mut machine, &spec, 100, key)).collect();
            for place in RanOn::ALL {
                let shares = passes.iter().filter_map(|pass| pass.numbers.values.get(place.share()));
                if !places.contains(&place) {
                    assert_eq!(shares.count(), 0, "{scenario} {place:?}");
                    continue;
                }
                let (found, truth) = (shares.sum::<f64>() / 4.0, weight(place) / all);
                assert!((found - truth).abs() < 0.02, "{scenario} {place:?}: {found} of {truth}");
            }
        }
    }
}

#[test]
fn an_unbound_trial_needs_every_cpu_of_its_mask_and_a_bound_one_its_own() {
    let machine = open("chiplet-16");
    for (options, cpus, mask) in
        [(unpinned("pipe"), 16, Some("0-15".to_owned())), (options("primitive=pipe"), 2, None)]
    {
        let spec = trials(&machine, "wake", &options).remove(0);
        assert_eq!((Wake.cpus(&spec).len(), spec.mask().map(|mask| mask.to_string())), (cpus, mask));
    }
}
