//! Helpers for these tests: they measure scenarios through the whole session and compare results with the truth.

use coretalk_measure::probes::kernel_by_id;
use coretalk_measure::session::latency::{self, Ended, ResumedState};
use coretalk_measure::session::{Commit, Decision, Event, Observer, Sink, SinkError};
use coretalk_measure::{
    Allowance, Granted, Kernel, Machine, MachineError, Round, RoundOutcome, Scenario, SimMachine, Stop,
    TrialOrder, WorkerSettings,
};
use coretalk_model::latency::{
    CellValue, Entry, LatencyResult, LatencySettings, Purpose, Record, RecordedRound, RecordedTrial, cells,
};
use coretalk_model::plan::LatencyPlan;
use coretalk_model::series::PassOutcome;
use coretalk_model::stats::median;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, Flag, Flags, LossReason, Picos, Recording, Relation, TickRate,
    Topology, TrialFailure,
};
use std::cell::Cell as Shared;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

#[derive(Debug, Default, Clone)]
pub struct Kept {
    pub rounds: Vec<RecordedRound>,
    /// Number of rounds at each commit.
    pub slots: Vec<usize>,
    pub decisions: Vec<Decision>,
    pub finished: Vec<LatencyResult>,
}

impl Sink for Kept {
    fn commit(&mut self, commit: &Commit) -> Result<(), SinkError> {
        self.rounds.extend(commit.rounds.iter().cloned());
        self.slots.push(self.rounds.len());
        Ok(())
    }
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError> {
        self.decisions.push(decision.clone());
        Ok(())
    }
    fn finish(&mut self, result: &LatencyResult) -> Result<(), SinkError> {
        self.finished.push(result.clone());
        Ok(())
    }
}

impl Kept {
    /// The contents of a run file with these segments: trials and decisions only.
    pub fn resumed(segments: &[&Kept]) -> ResumedState {
        let mut record = Record::new();
        for (segment, kept) in (0..).zip(segments) {
            for RecordedRound { purpose, pass, trials, .. } in &kept.rounds {
                for RecordedTrial { cell, outcome, raw } in trials {
                    let outcome = outcome.clone();
                    let entry = Entry { segment, purpose: *purpose, pass: *pass, cell: *cell, outcome };
                    record.push(entry, raw.as_deref());
                }
            }
            for decision in &kept.decisions {
                record.decide(&decision.key, &decision.value);
            }
        }
        ResumedState { record, segments: segments.len() as u32, earlier: None }
    }

    pub fn trials(&self, purpose: Purpose) -> usize {
        self.rounds.iter().filter(|round| round.purpose == purpose).map(|round| round.trials.len()).sum()
    }

    /// Number of trials of each visit.
    pub fn visits(&self) -> BTreeMap<(Purpose, u32, u32), u32> {
        let mut visits = BTreeMap::new();
        for round in &self.rounds {
            for trial in &round.trials {
                *visits.entry((round.purpose, trial.cell, round.pass)).or_default() += 1;
            }
        }
        visits
    }
}

pub struct Run {
    pub result: LatencyResult,
    pub ended: Ended,
    pub kept: Kept,
    pub machine: SimMachine,
    pub settings: LatencySettings,
    pub took: Picos,
    /// Pairs with a contaminated trial in the map.
    pub bad: BTreeSet<[CpuId; 2]>,
}

impl Run {
    /// Every measured cell of the first map, with its CPUs.
    pub fn values(&self) -> Vec<([CpuId; 2], &CellValue)> {
        let map = &self.result.maps[0].cells;
        map.iter()
            .filter_map(|(row, column, cell)| Some(([map.cpus()[column], map.cpus()[row]], cell.value()?)))
            .collect()
    }

    pub fn count_flagged(&self, flag: Flag) -> usize {
        self.values().iter().filter(|(_, value)| value.flags.contains(flag)).count()
    }

    /// Checks that every value differs from the truth by at most this share.
    #[track_caller]
    pub fn check_values(&self, max_error: f64, label: &str) {
        for (pair, value) in self.values() {
            let ratio = value.latency_ns.point / self.true_ns(pair, value);
            assert!((ratio - 1.0).abs() < max_error, "{label} {pair:?}: {ratio}");
        }
    }

    /// Checks that the median of every relation differs from the truth by at most this share.
    #[track_caller]
    pub fn check_relations(&self, max_error: f64, label: &str) {
        for (relation, ratio) in self.relations() {
            assert!((ratio - 1.0).abs() < max_error, "{label} {relation:?}: {ratio}");
        }
    }

    pub fn kernel(&self) -> &'static Kernel {
        kernel_by_id(self.result.maps[0].kernel.as_str()).unwrap()
    }

    pub fn true_ns(&self, pair: [CpuId; 2], value: &CellValue) -> f64 {
        self.machine.true_ns(pair[0], pair[1], self.kernel(), value.home)
    }

    /// Median of measured ÷ true over the cells of each reported relation.
    pub fn relations(&self) -> BTreeMap<Relation, f64> {
        let mut ratios: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
        for (pair, value) in self.values() {
            let ratio = value.latency_ns.point / self.true_ns(pair, value);
            ratios.entry(self.relation(pair)).or_default().push(ratio);
        }
        ratios.into_iter().map(|(relation, ratios)| (relation, median(&ratios).unwrap())).collect()
    }

    pub fn relation(&self, pair: [CpuId; 2]) -> Relation {
        self.machine.topology().relation(pair[0], pair[1])
    }

    pub fn pairs(&self) -> Vec<[CpuId; 2]> {
        cells(self.machine.topology(), &self.settings)
    }
}

pub fn builtin(name: &str) -> Scenario {
    Scenario::builtin(name).unwrap()
}

pub fn toml(text: &str) -> Scenario {
    Scenario::from_toml(text).unwrap_or_else(|error| panic!("failed to {error}\n{text}"))
}

/// A built-in scenario with changes.
pub fn changed(base: &str, changes: &str) -> Scenario {
    toml(&format!("based_on = '{base}'\n{changes}"))
}

/// Changes for a package of dies with eight cores each, with this noise.
pub fn dies(count: u32, noise: &str) -> String {
    format!(
        "[structure]\nkind = 'tree'\nlevels = [{{ level = 'package', count = 1 }}, {{ level = 'l3', count = {count} }}, \
         {{ level = 'core', count = 8 }}]\n[noise]\n{noise}"
    )
}

/// A built-in scenario without random variation except its states, with further changes.
pub fn noiseless(base: &str, changes: &str) -> Scenario {
    const NOISELESS: &str = "stalls = []\n[core_clock]\ndrift_sd = 0\nstep_share = 0\n[noise]\nbatch_sd = 0\nevent_sd = 0\n\
         spike_share = 0\nar_sd = 0\ndrift_sd = 0\nbad_share = 0\nsibling_share = 0\nparallel_bias = 0\n";
    changed(base, &[NOISELESS, changes].concat())
}

/// The machine of a scenario with workers on every allowed CPU.
pub fn open(scenario: Scenario, seed: u64) -> SimMachine {
    let mut machine = SimMachine::open(scenario, seed);
    let cpus = machine.allowance().cpuset.iter().collect();
    machine.engage(&WorkerSettings { cpus, ..WorkerSettings::default() }).unwrap();
    machine
}

pub fn defaults(machine: &SimMachine, seed: u64) -> LatencySettings {
    LatencySettings { seed, ..LatencySettings::for_cpus(machine.allowance().cpuset.iter().collect()) }
}

fn prepare(
    scenario: Scenario,
    seed: u64,
    change: impl FnOnce(&mut LatencySettings),
) -> (SimMachine, LatencySettings) {
    let machine = open(scenario, seed);
    let mut settings = defaults(&machine, seed);
    change(&mut settings);
    (machine, settings)
}

pub fn plan(scenario: Scenario, seed: u64, change: impl FnOnce(&mut LatencySettings)) -> LatencyPlan {
    let (mut machine, settings) = prepare(scenario, seed, change);
    latency::plan(&mut machine, &settings, &Stop::new()).unwrap()
}

pub fn run(scenario: Scenario, seed: u64, change: impl FnOnce(&mut LatencySettings)) -> Run {
    let (machine, settings) = prepare(scenario, seed, change);
    measure(machine, settings, ResumedState::default())
}

/// Measures and keeps only the result, for large machines.
pub fn run_briefly(scenario: Scenario, seed: u64, change: impl FnOnce(&mut LatencySettings)) -> Run {
    let (machine, settings) = prepare(scenario, seed, change);
    measure_into(machine, settings, ResumedState::default(), &mut ())
}

/// Measures on a machine after earlier segments.
pub fn measure(machine: SimMachine, settings: LatencySettings, resumed: ResumedState) -> Run {
    let mut kept = Kept::default();
    let run = measure_into(machine, settings, resumed, &mut kept);
    Run { kept, ..run }
}

fn measure_into(
    machine: SimMachine,
    settings: LatencySettings,
    resumed: ResumedState,
    sink: &mut dyn Sink,
) -> Run {
    let phase = Rc::new(Shared::new(Purpose::Pilot));
    let wrapper = Contaminations { phase: Rc::clone(&phase), pairs: BTreeSet::new() };
    let mut wrapped = Wrapped { machine, wrapper };
    let began = wrapped.now();
    let (result, ended) =
        latency::run(&mut wrapped, &settings, resumed, sink, &mut Phases(phase), &Stop::new()).unwrap();
    let took = wrapped.now() - began;
    let Wrapped { machine, wrapper } = wrapped;
    Run { result, ended, kept: Kept::default(), machine, settings, took, bad: wrapper.pairs }
}

struct Phases(Rc<Shared<Purpose>>);

impl Observer for Phases {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Phase { purpose } = event {
            self.0.set(purpose);
        }
    }
}

/// Records the pairs that the machine contaminates during the map.
struct Contaminations {
    phase: Rc<Shared<Purpose>>,
    pairs: BTreeSet<[CpuId; 2]>,
}

impl Wrapper for Contaminations {
    fn before_rounds(&mut self, machine: &SimMachine, batch: &[Round]) {
        if self.phase.get() == Purpose::Map {
            let trials = batch.iter().flat_map(|round| &round.assignments);
            let bad = trials.filter(|trial| machine.contamination(trial).is_some());
            self.pairs.extend(bad.map(|trial| trial.placement));
        }
    }
}

/// A simulated machine whose work a test observes or changes.
pub struct Wrapped<W> {
    pub machine: SimMachine,
    pub wrapper: W,
}

pub trait Wrapper {
    fn before_rounds(&mut self, _: &SimMachine, _batch: &[Round]) {}
    fn after_round(&mut self, _: &mut RoundOutcome) {}
    fn after_trials(
        &mut self,
        _now: Picos,
        _: &[TrialOrder<'_>],
        _: &mut [Result<PassOutcome, TrialFailure>],
    ) {
    }
    /// What the machine reports of these absent CPUs.
    fn reported(&self, _now: Picos, absent: Vec<(CpuId, LossReason)>) -> Vec<(CpuId, LossReason)> {
        absent
    }
}

impl<W: Wrapper> Machine for Wrapped<W> {
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        self.wrapper.before_rounds(&self.machine, batch);
        self.machine.perform_each(batch, stop, &mut |mut round| {
            self.wrapper.after_round(&mut round);
            take(round)
        })
    }
    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        self.perform_trials(&[*order], stop).remove(0)
    }
    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        let mut outcomes = self.machine.perform_trials(orders, stop);
        self.wrapper.after_trials(self.machine.now(), orders, &mut outcomes);
        outcomes
    }
    fn absent(&self, cpus: &CpuSet) -> Vec<(CpuId, LossReason)> {
        self.wrapper.reported(self.now(), self.machine.absent(cpus))
    }
    fn has_worker(&self, cpu: CpuId) -> bool {
        self.machine.has_worker(cpu)
    }
    fn topology(&self) -> &Topology {
        self.machine.topology()
    }
    fn allowance(&self) -> &Allowance {
        self.machine.allowance()
    }
    fn environment(&self) -> &Environment {
        self.machine.environment()
    }
    fn examine(&mut self, cpus: &CpuSet, budget: Option<Picos>) -> Vec<DoctorFinding> {
        self.machine.examine(cpus, budget)
    }
    fn rate(&self) -> TickRate {
        self.machine.rate()
    }
    fn now(&self) -> Picos {
        self.machine.now()
    }
    fn pause(&mut self, span: Picos, stop: &Stop) {
        self.machine.pause(span, stop);
    }
    fn end_by(&mut self, deadline: Option<Picos>) {
        self.machine.end_by(deadline);
    }
    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError> {
        self.machine.engage(settings)
    }
    fn is_busy(&self) -> Option<bool> {
        self.machine.is_busy()
    }
}

/// Detection of contaminated cells: cells with a contaminated trial in the map, the share of them that was flagged or
/// measured again, and the share of them among all such cells.
#[derive(Debug)]
pub struct Detection {
    pub bad: usize,
    pub recall: f64,
    pub precision: f64,
}

pub fn detection(run: &Run) -> Detection {
    let is_flagged = |flags: Flags| flags.contains(Flag::Drift) || flags.contains(Flag::Remeasured);
    let flagged = run.values().into_iter().filter(|(_, value)| is_flagged(value.flags));
    let flagged: BTreeSet<[CpuId; 2]> = flagged.map(|(pair, _)| pair).collect();
    let found = flagged.intersection(&run.bad).count() as f64;
    let [recall, precision] = [&run.bad, &flagged].map(|all| found / all.len().max(1) as f64);
    Detection { bad: run.bad.len(), recall, precision }
}
