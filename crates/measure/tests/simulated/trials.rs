//! Helpers for trials on simulated machines: lists of trials, single passes, and whole runs with their commits.

use crate::vocabulary;
use coretalk_measure::pricing::SimContext;
use coretalk_measure::probes;
use coretalk_measure::series::{SeriesRequest, TrialOrder, headlines, representative_pairs};
use coretalk_measure::session::latency::{Ended, RunError};
use coretalk_measure::session::series::{SeriesResumedState, run};
use coretalk_measure::session::{Commit, Decision, Kept, Sink, SinkError};
use coretalk_measure::{Machine, SimMachine, Stop, WorkerSettings};
use coretalk_model::series::{
    Headline, Observed, Parameters, SeriesEntry, SeriesResult, SeriesSettings, TrialSpec,
};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Picos};

/// The machine of a built-in scenario with workers on every CPU, in the order of its structure.
pub fn open(scenario: &str) -> SimMachine {
    with_workers(SimMachine::open(vocabulary::builtin(scenario), 1))
}

pub fn open_toml(text: &str) -> SimMachine {
    with_workers(SimMachine::open(vocabulary::toml(text), 1))
}

fn with_workers(mut machine: SimMachine) -> SimMachine {
    let cpus = all_cpus(&machine);
    engage(&mut machine, cpus);
    machine
}

/// Options from words such as `queue=spsc capacity=1000`.
pub fn options(words: &str) -> Parameters {
    let options = words.split_whitespace().map(|word| word.split_once('=').unwrap());
    options.fold(Parameters::default(), |all, (name, value)| all.with(name, value))
}

/// Cost of a transfer of a line between two CPUs.
pub fn line_ns(machine: &SimMachine, [a, b]: [CpuId; 2]) -> f64 {
    machine.bare_stage(&[a, b]).transfer_ns(a, b)
}

pub fn engage(machine: &mut SimMachine, cpus: Vec<CpuId>) {
    machine.engage(&WorkerSettings { cpus, ..WorkerSettings::default() }).unwrap();
}

pub fn all_cpus(machine: &dyn Machine) -> Vec<CpuId> {
    machine.topology().order(machine.topology().cpus())
}

/// The trials of a probe on all CPUs, with a pair of each relation, that the machine supports.
pub fn trials(machine: &dyn Machine, probe: &str, options: &Parameters) -> Vec<TrialSpec> {
    let (topology, cpus) = (machine.topology(), all_cpus(machine));
    let pairs = representative_pairs(topology, &cpus);
    let request = SeriesRequest { topology, cpus: &cpus, pairs: &pairs, options };
    let probe = probes::series_by_id(probe).unwrap();
    let all = probe.trials(&request).unwrap().into_iter();
    all.filter(|trial| machine.lacks(probe, trial).is_none()).collect()
}

pub fn pass(machine: &mut SimMachine, spec: &TrialSpec, ms: u64, key: u64) -> Observed {
    let (options, probe) = (Parameters::default(), probes::series_by_id(&spec.probe).unwrap());
    let order = TrialOrder { probe, spec, options: &options, span: Picos::from_ms(ms), key, process: 0 };
    machine.perform_trial(&order, &Stop::new()).unwrap().observed
}

/// Median over passes of a value, or of the medians of events without the clock.
pub fn middle(passes: &[Observed], name: &str, clock_ns: f64) -> f64 {
    let value_of = |observed: &Observed| {
        let histogram = observed.numbers.histograms.get(name);
        let event_ns = histogram.and_then(|histogram| histogram.percentile_ns(0.5)).map(|ns| ns - clock_ns);
        event_ns.or_else(|| observed.numbers.values.get(name).copied())
    };
    median(&passes.iter().filter_map(value_of).collect::<Vec<_>>()).unwrap()
}

/// Settings for a probe over these CPUs and pairs, for at most `budget_s` seconds.
pub fn settings_of(
    machine: &dyn Machine,
    probe: &str,
    (cpus, pairs): (Vec<CpuId>, &[[CpuId; 2]]),
    options: Parameters,
    precision: f64,
    budget_s: u64,
) -> SeriesSettings {
    let probe = probes::series_by_id(probe).unwrap();
    let request = SeriesRequest { topology: machine.topology(), cpus: &cpus, pairs, options: &options };
    SeriesSettings {
        probes: vec![probe.declaration().id.to_owned()],
        trials: probe.trials(&request).unwrap(),
        headlines: headlines(probe).into_iter().map(Headline::from).collect(),
        quantities: coretalk_model::probes::quantities(),
        seed: 1,
        budget: Picos::from_ms(1_000 * budget_s),
        options,
        cpus,
        precision,
    }
}

pub fn settings(machine: &dyn Machine, probe: &str, options: Parameters, budget_s: u64) -> SeriesSettings {
    let cpus = all_cpus(machine);
    let pairs = representative_pairs(machine.topology(), &cpus);
    settings_of(machine, probe, (cpus, &pairs), options, 0.02, budget_s)
}

#[derive(Default)]
pub struct Slots(pub Vec<Vec<SeriesEntry>>);

impl Sink for Slots {
    fn commit(&mut self, commit: &Commit) -> Result<(), SinkError> {
        self.0.push(commit.passes.clone());
        Ok(())
    }
    fn decide(&mut self, _: &Decision) -> Result<(), SinkError> {
        Ok(())
    }
    fn interrupt(&mut self) -> Result<Kept, SinkError> {
        Ok(Kept::Everything)
    }
}

/// Runs after earlier segments; returns the commits too.
pub fn measure_from(
    machine: &mut SimMachine,
    settings: &SeriesSettings,
    resumed: SeriesResumedState,
) -> (Result<(SeriesResult, Ended), RunError>, Slots) {
    engage(machine, settings.cpus.clone());
    let mut slots = Slots::default();
    let ended = run(machine, settings, resumed, &mut slots, &mut (), &Stop::new());
    (ended, slots)
}

/// Runs from the beginning; returns the result, the end of the run, and its machine time.
pub fn measure(machine: &mut SimMachine, settings: &SeriesSettings) -> (SeriesResult, Ended, Picos) {
    let began = machine.now();
    let (result, ended) = measure_from(machine, settings, SeriesResumedState::default()).0.unwrap();
    (result, ended, machine.now() - began)
}
