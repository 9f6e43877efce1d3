//! Idle gaps, loads, distances and broadcasts: on real threads passes end and did their work; on simulated machines what
//! comes out is what the machine was made to cost.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::pricing::Pricing;
use coretalk_measure::probes::latency_under_load::{Load, names, price_load};
use coretalk_measure::probes::{broadcast, sharing};
use coretalk_measure::series::{SeriesRequest, TrialOrder, representative_pairs};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings, probes};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Picos, TrialFailure};

fn trials(machine: &dyn Machine, cpus: &[CpuId], probe: &str, options: &Parameters) -> Vec<TrialSpec> {
    let topology = machine.topology();
    let pairs = representative_pairs(topology, cpus);
    let request = SeriesRequest { topology, cpus, pairs: &pairs, options };
    probes::series_by_id(probe).unwrap().trials(&request).unwrap()
}

fn pass(
    machine: &mut dyn Machine,
    spec: &TrialSpec,
    ms: u64,
    key: u64,
    stop: &Stop,
) -> Result<PassOutcome, TrialFailure> {
    let (options, probe) = (Parameters::default(), probes::series_by_id(&spec.probe).unwrap());
    machine.perform_trial(&TrialOrder { probe, spec, options: &options, span: Picos::from_ms(ms), key }, stop)
}

/// What a trial says and what is true of it: names with both.
fn held_against(machine: &SimMachine, spec: &TrialSpec) -> Vec<(&'static str, f64)> {
    let stage = machine.bare_stage(&spec.placement);
    match spec.probe.as_str() {
        "sharing" => {
            let bytes = spec.parameters.number(sharing::names::DISTANCE).unwrap() as u32;
            let (shared, alone) = sharing::price(&stage, &sharing::cost(bytes));
            vec![(sharing::names::SHARED_NS, shared), (sharing::names::ALONE_NS, alone)]
        }
        "broadcast" => {
            let [first, last] = broadcast::price(&stage);
            vec![(broadcast::names::FIRST, first), (broadcast::names::LAST, last)]
        }
        _ => match Load::of(spec) {
            Some(load) => {
                let [idle, loaded] = price_load(load, &stage);
                vec![(names::IDLE_NS, idle), (names::RATIO, loaded / idle)]
            }
            None => vec![(names::HALF_NET_NS, stage.transfer_ns(spec.placement[0], spec.placement[1]))],
        },
    }
}

#[test]
fn costs_are_recovered_within_three_percent() {
    for scenario in ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"] {
        let mut machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), 1);
        let cpus = machine.topology().order(machine.topology().cpus());
        machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
        let loaded = Parameters::default()
            .with(names::GAP_NS, "1000,1000000")
            .with(names::LOAD, "none,compute,stream,pingpong");
        let mut all = trials(&machine, &cpus, "latency", &loaded);
        all.retain(|spec| spec.parameters.text(names::RECEIVER) != Some(names::SLEEPS));
        all.extend(trials(&machine, &cpus, "sharing", &Parameters::default()));
        all.extend(trials(&machine, &cpus, "broadcast", &Parameters::default()));
        let mut off = Vec::new();
        for spec in all {
            let said: Vec<PassOutcome> =
                (0..9).map(|key| pass(&mut machine, &spec, 20, key, &Stop::new()).unwrap()).collect();
            let clock_ns = machine.bare_stage(&spec.placement).clock_ns();
            for (name, truth) in held_against(&machine, &spec) {
                let of = |outcome: &PassOutcome| {
                    let observed = &outcome.observed;
                    let net = |ns: f64| ns - clock_ns;
                    let event =
                        observed.numbers.histograms.get(name).and_then(|it| it.percentile_ns(0.5)).map(net);
                    event.or(observed.numbers.values.get(name).copied()).unwrap()
                };
                let found = median(&said.iter().map(of).collect::<Vec<_>>()).unwrap();
                if (found / truth - 1.0).abs() >= 0.03 {
                    off.push(format!(
                        "{scenario} {} {} {name}: {found} of {truth}",
                        spec.label(),
                        spec.cpu_list()
                    ));
                }
            }
        }
        assert!(off.is_empty(), "{}", off.join("\n"));
    }
}

#[test]
fn neighbours_are_others_and_no_place_is_asked_twice() {
    let machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
    let cpus = machine.topology().order(machine.topology().cpus());
    let options = Parameters::default().with(names::LOAD, "compute");
    let all = trials(&machine, &cpus, "latency", &options);
    let of_l3: Vec<&TrialSpec> =
        all.iter().filter(|spec| spec.placement[..2] == [CpuId(0), CpuId(1)]).collect();
    let places: Vec<(&str, usize)> = of_l3
        .iter()
        .map(|spec| (spec.parameters.text(names::WHERE).unwrap(), spec.placement.len() - 2))
        .collect();
    assert_eq!(places, [("siblings", 2), ("same-l3", 14), ("all-cpus", 30)]);
    let alone = SimMachine::open(Scenario::builtin("chiplet-16").unwrap(), 1);
    let (topology, pair) = (alone.topology(), [[CpuId(0), CpuId(1)]]);
    let request = SeriesRequest { topology, cpus: &pair[0], pairs: &pair, options: &options };
    let refused = probes::series_by_id("latency").unwrap().trials(&request).unwrap_err().to_string();
    assert!(refused.contains("too few are selected for compute"), "{refused}");
}

#[cfg(target_os = "linux")]
#[test]
fn every_pass_on_real_threads_ends_and_a_raised_stop_leaves_nobody_behind() {
    use coretalk_measure::host::HostMachine;
    let mut host = HostMachine::open().unwrap();
    let allowed = host.allowance().mask.intersection(&host.allowance().cpuset);
    let cpus: Vec<CpuId> = allowed.iter().take(2).collect();
    if cpus.len() < 2 {
        eprintln!("skipped: this needs two CPUs");
        return;
    }
    host.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    let options = Parameters::default().with(names::GAP_NS, "1000,1000000").with(names::LOAD, "none");
    let mut all = trials(&host, &cpus, "latency", &options);
    all.extend(trials(&host, &cpus, "sharing", &Parameters::default()));
    all.extend(trials(&host, &cpus, "broadcast", &Parameters::default()));
    // Neighbours take CPUs by turns where there are only two: what they do has to end all the same.
    for load in ["compute", "pingpong", "stream"] {
        all.push(TrialSpec {
            probe: "latency".into(),
            parameters: Parameters::default().with(names::LOAD, load),
            placement: vec![cpus[0], cpus[1], cpus[0], cpus[1]],
        });
    }
    for spec in &all {
        let outcome = pass(&mut host, spec, 4, 1, &Stop::new()).unwrap();
        let counted = |name| outcome.observed.numbers.counts.get(name).copied().unwrap_or(0);
        assert!(counted("samples") + counted("negative") > 0, "{} {}", spec.probe, spec.label());
        assert!(!outcome.observed.flags.contains(coretalk_model::Flag::Invalid), "{}", spec.label());
        let stop = Stop::new();
        stop.raise();
        let ended = pass(&mut host, spec, 60_000, 1, &stop);
        assert_eq!(ended.unwrap_err(), TrialFailure::Interrupted, "{} {}", spec.probe, spec.label());
    }
}
