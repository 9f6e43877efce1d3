//! Helpers for these tests: they measure scenarios through the whole session and compare results with the truth.

use coretalk_measure::probes::kernel_by_id;
use coretalk_measure::session::latency::{self, Ended, ResumedState};
use coretalk_measure::session::{Commit, Decision, Event, Observer, Sink, SinkError};
use coretalk_measure::{
    Allowance, Granted, Kernel, Machine, MachineError, Round, RoundOutcome, Scenario, SimMachine, Stop,
    TrialOrder, WorkerSettings,
};
use coretalk_model::latency::{
    CellValue, Entry, LatencyResult, LatencySettings, Purpose, Record, RecordedRound, cells,
};
use coretalk_model::plan::LatencyPlan;
use coretalk_model::series::PassOutcome;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, Flag, LossReason, Picos, Recording, Relation, TickRate,
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
            for round in &kept.rounds {
                for trial in &round.trials {
                    let entry = Entry {
                        segment,
                        purpose: round.purpose,
                        pass: round.pass,
                        cell: trial.cell,
                        outcome: trial.outcome.clone(),
                    };
                    record.push(entry, trial.raw.as_deref());
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
            let relation = self.machine.topology().relation(pair[0], pair[1]);
            ratios.entry(relation).or_default().push(value.latency_ns.point / self.true_ns(pair, value));
        }
        ratios
            .into_iter()
            .map(|(relation, ratios)| (relation, coretalk_model::stats::median(&ratios).unwrap()))
            .collect()
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

pub fn run(scenario: Scenario, seed: u64, change: impl FnOnce(&mut LatencySettings)) -> Run {
    let machine = open(scenario, seed);
    let mut settings = defaults(&machine, seed);
    change(&mut settings);
    measure(machine, settings, ResumedState::default())
}

/// Measures on a machine after earlier segments.
pub fn measure(machine: SimMachine, settings: LatencySettings, resumed: ResumedState) -> Run {
    let mut kept = Kept::default();
    let run = measure_into(machine, settings, resumed, &mut kept);
    Run { kept, ..run }
}

/// Measures and keeps only the result, for large machines.
pub fn measure_briefly(machine: SimMachine, settings: LatencySettings) -> Run {
    measure_into(machine, settings, ResumedState::default(), &mut ())
}

fn measure_into(
    machine: SimMachine,
    settings: LatencySettings,
    resumed: ResumedState,
    sink: &mut dyn Sink,
) -> Run {
    let phase = Rc::new(Shared::new(Purpose::Pilot));
    let mut watched = Watched { machine, phase: Rc::clone(&phase), bad: BTreeSet::new() };
    let began = watched.now();
    let (result, ended) =
        latency::run(&mut watched, &settings, resumed, sink, &mut Phases(phase), &Stop::new()).unwrap();
    let took = watched.now() - began;
    let Watched { machine, bad, .. } = watched;
    Run { result, ended, kept: Kept::default(), machine, settings, took, bad }
}

struct Phases(Rc<Shared<Purpose>>);

impl Observer for Phases {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Phase { purpose } = event {
            self.0.set(purpose);
        }
    }
}

/// A simulated machine that records the pairs that it contaminated during the map.
struct Watched {
    machine: SimMachine,
    phase: Rc<Shared<Purpose>>,
    bad: BTreeSet<[CpuId; 2]>,
}

impl Machine for Watched {
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        if self.phase.get() == Purpose::Map {
            let trials = batch.iter().flat_map(|round| &round.assignments);
            let bad = trials.filter(|trial| self.machine.contamination(trial).is_some());
            self.bad.extend(bad.map(|trial| [trial.placement[0], trial.placement[1]]));
        }
        self.machine.perform_each(batch, stop, take)
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
    fn absent(&self, cpus: &CpuSet) -> Vec<(CpuId, LossReason)> {
        self.machine.absent(cpus)
    }
    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        self.machine.perform_trial(order, stop)
    }
    fn is_busy(&self) -> Option<bool> {
        self.machine.is_busy()
    }
}

pub fn plan(scenario: Scenario, seed: u64, change: impl FnOnce(&mut LatencySettings)) -> LatencyPlan {
    let mut machine = open(scenario, seed);
    let mut settings = defaults(&machine, seed);
    change(&mut settings);
    latency::plan(&mut machine, &settings, &Stop::new()).unwrap()
}

/// Detection of contaminated cells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    /// Cells with a contaminated trial in the map.
    pub bad: usize,
    /// Contaminated cells that were flagged or measured again.
    pub found: usize,
    /// All cells that were flagged or measured again.
    pub flagged: usize,
}

impl Found {
    pub fn recall(self) -> f64 {
        self.found as f64 / self.bad.max(1) as f64
    }

    pub fn precision(self) -> f64 {
        self.found as f64 / self.flagged.max(1) as f64
    }
}

/// Compares the flags of the first map with the contaminated cells.
pub fn bad_cells(run: &Run) -> Found {
    let mut found = Found::default();
    for (pair, value) in run.values() {
        let bad = run.bad.contains(&pair);
        let flagged = value.flags.contains(Flag::Drift) || value.flags.contains(Flag::Remeasured);
        found.bad += usize::from(bad);
        found.flagged += usize::from(flagged);
        found.found += usize::from(bad && flagged);
    }
    found
}
