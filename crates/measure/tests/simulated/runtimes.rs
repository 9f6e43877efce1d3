//! Runtimes on simulated machines: stand-ins take their stated factor longer, intervals are computed over processes,
//! and passes alternate with native ones.

use crate::trials::{measure_from, open, options, settings};
use coretalk_measure::probes;
use coretalk_measure::series::TrialOrder;
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_model::runtime::names;
use coretalk_model::series::{Observed, Parameters, SeriesEntry, TrialSpec};
use coretalk_model::{CpuId, Picos};
use std::collections::BTreeSet;

fn truth(probe: &str, parameters: Parameters, ms: f64) -> Observed {
    let probe = probes::series_by_id(probe).unwrap();
    let placement = vec![CpuId(0), CpuId(8)];
    let spec = TrialSpec { probe: probe.declaration().id.to_owned(), parameters, placement };
    let (options, span) = (Parameters::default(), Picos::from_ns(ms * 1e6));
    let order = TrialOrder { probe, spec: &spec, options: &options, span, key: 1, process: 3 };
    open("chiplet-16").bare_stage(&spec.placement).simulate(&order).unwrap()
}

#[test]
fn every_stand_in_exists_and_takes_its_factor_longer() {
    for (probe, others, name) in [
        ("queue", options("payload=u64").with("capacity", 10.0), "messages_per_s"),
        ("wait", options("mode=no-clock"), "loop_ns"),
        ("wake", options("").with("gap_ns", 20e3), "slept"),
        ("contend", options(""), "ns_per_op_wall"),
    ] {
        let declared = probes::series_by_id(probe).unwrap();
        let parameter = declared.declaration().named_by.unwrap();
        assert!(!declared.stand_ins().is_empty());
        for stand_in in declared.stand_ins() {
            // Clock reads have no strategy.
            let is_clock = stand_in.native == "clock";
            let others = if is_clock { others.clone().with("mode", "clock") } else { others.clone() };
            let measured = |what: &str, ms: f64| {
                let observed = truth(probe, others.clone().with(parameter, what), ms);
                let numbers = &observed.numbers;
                // A thread that waits for a spinning lock never sleeps, so its times are in `hot`.
                let median = [name, "hot", "clock"]
                    .iter()
                    .find_map(|name| numbers.histograms.get(*name)?.percentile_ns(0.5));
                let number = median.or(numbers.values.get(name).copied());
                (number.unwrap_or_else(|| panic!("{what} has no {name}: {observed:?}")), observed)
            };
            // The native trial gets a span for the same amount of work, so that both simulations start equally.
            let (slower, observed) = measured(stand_in.external, 20.0);
            let (native, _) = measured(stand_in.native, 20.0 / stand_in.factor);
            let ratio = if name == "messages_per_s" { native / slower } else { slower / native };
            assert!((ratio / stand_in.factor - 1.0).abs() < 0.02, "{}: {ratio}", stand_in.external);
            let outside = observed.numbers.values[names::OUTSIDE];
            assert!((outside - stand_in.outside).abs() < 1e-9, "{}: {outside}", stand_in.external);
        }
    }
}

/// The process of a successful pass.
fn process(entry: &SeriesEntry) -> Option<Option<u32>> {
    entry.outcome.as_ref().ok().map(|pass| pass.process)
}

#[test]
fn passes_of_runtimes_alternate_with_native_ones_and_use_every_process() {
    for (probe, option, names) in [
        ("wait", "strategy", "busy,dotnet:spinwait,pause,java:onspinwait"),
        ("queue", "queue", "spsc,go:channel"),
        ("wake", "primitive", "park,java:park"),
    ] {
        let mut machine = open("chiplet-16");
        let options = options("capacity=10").with(option, names).with("forks", 4.0);
        let settings = settings(&machine, probe, options, 20);
        let (ended, slots) = measure_from(&mut machine, &settings, SeriesResumedState::default());
        let (result, _) = ended.unwrap();
        let entries: Vec<SeriesEntry> = slots.0.into_iter().flatten().collect();
        let series = probes::series_by_id(probe).unwrap();
        let is_external =
            |entry: &SeriesEntry| series.external(&settings.trials[entry.trial as usize]).is_some();
        // Every sweep of the first analysis has native passes and passes of runtimes; neither kind precedes the other.
        for pass in 0..8 {
            let sweep = entries.iter().filter(|entry| entry.pass == pass);
            let kinds: BTreeSet<bool> = sweep.map(is_external).collect();
            assert_eq!(kinds.len(), 2, "{probe}, pass {pass}");
        }
        let is_kind = |kind: bool| move |entry: &SeriesEntry| is_external(entry) == kind;
        let [first_native, first] = [false, true].map(|kind| entries.iter().position(is_kind(kind)));
        let [last_native, last] = [false, true].map(|kind| entries.iter().rposition(is_kind(kind)));
        assert!(first < last_native && first_native < last, "{probe}");
        for (trial, spec) in settings.trials.iter().enumerate() {
            let made = entries.iter().filter(|entry| entry.trial as usize == trial);
            let processes: Vec<Option<u32>> = made.filter_map(process).collect();
            let found = result.trials.iter().find(|found| found.spec == *spec).unwrap();
            if series.external(spec).is_none() {
                assert!(processes.iter().all(Option::is_none) && found.processes.is_empty(), "{probe}");
                continue;
            }
            let known: BTreeSet<u32> = processes.into_iter().flatten().collect();
            assert_eq!((known.len(), found.processes.len()), (4, 4), "{probe}: {known:?}");
            let judged = found.medians_ns.values().chain(found.values.values());
            assert!(judged.into_iter().any(|estimate| estimate.effective_n == 4.0), "{probe}: {found:?}");
        }
    }
}

#[test]
fn processes_of_another_segment_have_other_numbers() {
    let mut machine = open("chiplet-16");
    let options = options("queue=dotnet:semaphoreslim capacity=1").with("forks", 2.0);
    let settings = settings(&machine, "queue", options, 5);
    let resumed = SeriesResumedState { segments: 1, ..SeriesResumedState::default() };
    let (_, slots) = measure_from(&mut machine, &settings, resumed);
    let processes: BTreeSet<Option<u32>> = slots.0.iter().flatten().filter_map(process).collect();
    assert_eq!(processes, [1 << 16, (1 << 16) + 1].map(Some).into());
}
