//! A lost CPU behaves as on Linux: threads on it are refused before it is reported offline, meanwhile it is missing
//! from the cpuset, and concurrent work is delayed. It costs only the work that needs it; so does a lack of budget.

use crate::trials::{Slots, settings_of};
use crate::vocabulary::{Kept, Run, defaults, measure, open, toml};
use coretalk_measure::series::TrialOrder;
use coretalk_measure::session::Earlier;
use coretalk_measure::session::latency::{self, Ended, ResumedState};
use coretalk_measure::session::series::{self, SeriesResumedState};
use coretalk_measure::session::sink::Decision;
use coretalk_measure::{
    Allowance, Granted, Machine, MachineError, Round, RoundOutcome, SimMachine, Stop, WorkerSettings,
};
use coretalk_model::latency::{Cell, LatencySettings, MissingReason, Parallel};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::{
    CpuId, CpuLoss, CpuSet, DoctorFinding, Environment, LossReason, Picos, Recording, TickRate, Tool,
    Topology, TrialFailure,
};

const LEAVER: CpuId = CpuId(3);
/// Time for which the system reports nothing, and usual time until which the CPU is only missing from the cpuset.
const UNTOLD: Picos = Picos::from_ms(90);
const HALF_TOLD: Picos = Picos::from_ms(220);

/// A simulated machine that loses its CPU in this way.
struct Slow {
    machine: SimMachine,
    /// Time until the system reports the CPU offline.
    half_told: Picos,
    missed: Option<Picos>,
    /// The queue whose passes get no time.
    late: Option<&'static str>,
}

impl Slow {
    fn leaving_at(ms: u32) -> Slow {
        let text = format!("based_on = 'laptop-smt'\n[failures]\ndepartures = [{{ cpu = 3, at_ms = {ms} }}]");
        Slow { machine: open(toml(&text), 3), half_told: HALF_TOLD, missed: None, late: None }
    }

    /// Records a trial that missed the CPU; returns whether it is the first, which delays the concurrent ones.
    fn holds_up<'a>(
        missed: &mut Option<Picos>,
        now: Picos,
        mut failures: impl Iterator<Item = &'a TrialFailure>,
    ) -> bool {
        let is_first = missed.is_none() && failures.any(TrialFailure::missed_a_cpu);
        if is_first {
            *missed = Some(now);
        }
        is_first
    }
}

fn hold_up<T>(outcomes: &mut [Result<T, TrialFailure>]) {
    for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
        *outcome = Err(TrialFailure::TimedOut { limit: Picos::from_ms(2_000) });
    }
}

impl Machine for Slow {
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        let missed = &mut self.missed;
        self.machine.perform_each(batch, stop, &mut |mut round| {
            let failures = round.trials.iter().filter_map(|trial| trial.as_ref().err());
            if Slow::holds_up(missed, round.started, failures) {
                hold_up(&mut round.trials);
            }
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
        for (order, outcome) in orders.iter().zip(&mut outcomes) {
            if self.late.is_some() && order.spec.parameters.text("queue") == self.late {
                *outcome = Err(TrialFailure::Interrupted);
            }
        }
        let failures = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        if Slow::holds_up(&mut self.missed, self.machine.now(), failures) {
            hold_up(&mut outcomes);
        }
        outcomes
    }
    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, LossReason)> {
        let absent = self.machine.absent(of).into_iter();
        match self.missed.map(|missed| self.now() - missed) {
            Some(since) if since >= self.half_told => absent.collect(),
            Some(since) if since >= UNTOLD => absent.map(|(cpu, _)| (cpu, LossReason::Cpuset)).collect(),
            _ => Vec::new(),
        }
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

#[test]
fn pairs_beside_a_cpu_that_leaves_are_measured_again_and_its_own_are_missed_once() {
    // In the pilot, in the gate and in the map.
    for at_ms in [4, 40, 350, 700] {
        let mut slow = Slow::leaving_at(at_ms);
        let settings = LatencySettings { parallel: Parallel::AtMost(4), ..defaults(&slow.machine, 3) };
        let pairs = coretalk_model::latency::cells(slow.topology(), &settings);
        let mut kept = Kept::default();
        let (resumed, stop) = (ResumedState::default(), Stop::new());
        let (result, ended) = latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
        assert!(slow.missed.is_some(), "{at_ms}: nothing missed the CPU");
        assert_eq!((ended, result.complete), (Ended::Complete, false), "{at_ms}");
        let departed: Vec<&str> = kept.decisions.iter().map(|it| it.key.as_str()).collect();
        assert!(departed.contains(&"departed:0:3"), "{at_ms}: {departed:?}");
        let told = kept.decisions.iter().find(|it| it.key == "departed:0:3").unwrap();
        assert!(told.value.contains("offline"), "{at_ms}: {}", told.value);
        for trial in kept.rounds.iter().flat_map(|round| &round.trials) {
            let pair = pairs[trial.cell as usize];
            assert!(trial.outcome.is_ok() || pair.contains(&LEAVER), "{at_ms}: {pair:?} {:?}", trial.outcome);
        }
        let visits = kept.visits();
        for ((purpose, cell, pass), count) in &visits {
            let pair = pairs[*cell as usize];
            assert!(*count == 1 || pair.contains(&LEAVER), "{at_ms}: {purpose:?} {pass} of {pair:?} twice");
        }
        for (row, column, cell) in result.maps[0].cells.iter() {
            let is_of_leaver = [row, column].iter().any(|&cpu| result.maps[0].cells.cpus()[cpu] == LEAVER);
            let is_measured = matches!(cell, Cell::Measured(_));
            assert!(is_measured || is_of_leaver, "{at_ms}: {row} {column} has no value");
        }
    }
}

#[test]
fn the_visit_of_a_tool_that_a_cpu_broke_off_is_made_again_once_it_is_back() {
    let tools = vec![Tool::CoreToCoreLatency, Tool::C2clat];
    let begun = |failures: &str, resumed: ResumedState| {
        let machine = open(toml(&format!("based_on = 'laptop-smt'\n[failures]\n{failures}")), 3);
        let settings = LatencySettings { imitate: tools.clone(), ..defaults(&machine, 3) };
        measure(machine, settings, resumed)
    };
    // In the visits of either tool, of pairs with the CPU and of others.
    let whole_ms = begun("", ResumedState::default()).took.secs() * 1e3;
    for tenths in [1.0, 2.0, 4.0, 6.0, 8.0] {
        let at_ms = (whole_ms * tenths / 10.0) as u32;
        let first = begun(&format!("departures = [{{ cpu = 3, at_ms = {at_ms} }}]"), ResumedState::default());
        let missing = |run: &Run| {
            let cells = run.result.imitated.iter().flat_map(|tool| tool.cells.iter());
            cells.filter(|(row, column, cell)| row != column && cell.is_err()).count()
        };
        assert!(!first.result.complete && missing(&first) > 0, "{at_ms}: it missed nothing");
        let second = begun("", Kept::resumed(&[&first.kept]));
        assert!(second.result.complete);
        assert_eq!(missing(&second), 0, "{at_ms}: pairs are left without a value");
    }
}

#[test]
fn a_cpu_that_is_back_before_anybody_looks_was_offline_all_the_same() {
    let text = |failures: &str| toml(&format!("based_on = 'laptop-smt'\n[failures]\n{failures}"));
    let blink = open(text("departures = [{ cpu = 3, at_ms = 500, back_ms = 510 }]"), 3);
    let settings = defaults(&blink, 3);
    let first = measure(blink, settings, ResumedState::default());
    let told = first.kept.decisions.iter().find(|it| it.key == "departed:0:3").unwrap();
    assert!(told.value.contains("offline") && !first.result.complete, "{}", told.value);
    let machine = open(text(""), 3);
    let settings = defaults(&machine, 3);
    let second = measure(machine, settings, Kept::resumed(&[&first.kept]));
    assert!(second.result.complete);
    assert!(
        second.result.maps[0].cells.iter().all(|(row, column, cell)| row == column || cell.value().is_some())
    );
}

#[test]
fn the_visit_of_a_tool_that_failed_says_why() {
    let machine = open(toml("based_on = 'laptop-smt'\n[failures]\nmiscount = '3'"), 3);
    let settings = LatencySettings { imitate: vec![Tool::C2clat], ..defaults(&machine, 3) };
    let run = measure(machine, settings, ResumedState::default());
    let cells = &run.result.imitated[0].cells;
    let of_three = cells.position(LEAVER).and_then(|three| cells.get(three, 0)).unwrap();
    assert!(matches!(of_three, Err(MissingReason::Failed(TrialFailure::Unverified { .. }))), "{of_three:?}");
}

#[test]
fn a_cpu_that_is_listed_as_offline_late_is_said_to_be_offline_in_the_end() {
    let mut slow = Slow { half_told: Picos::from_ms(1_200), ..Slow::leaving_at(40) };
    let settings = defaults(&slow.machine, 3);
    let mut kept = Kept::default();
    let (resumed, stop) = (ResumedState::default(), Stop::new());
    latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
    let told = kept.decisions.iter().filter(|it| it.key == "departed:0:3").map(|it| it.value.as_str());
    let [first, last] = told.collect::<Vec<_>>().try_into().unwrap();
    assert!(first.contains("cpuset") && last.contains("offline"), "{first}, {last}");
    assert_eq!(first.replace("cpuset", ""), last.replace("offline", ""), "the time is when it was missed");
}

#[test]
fn what_follows_a_map_says_it_of_a_cpu_that_left_in_the_map() {
    let mut slow = Slow { half_told: Picos::from_ms(1_200), ..Slow::leaving_at(40) };
    let settings = defaults(&slow.machine, 3);
    let left = CpuLoss { cpu: LEAVER, after: Picos::from_ms(1), why: LossReason::Cpuset };
    let earlier = Some(Earlier { began: slow.now(), departed: vec![left] });
    let mut kept = Kept::default();
    let (resumed, stop) = (ResumedState { earlier, ..ResumedState::default() }, Stop::new());
    latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
    let told: Vec<_> = kept.decisions.iter().filter(|it| it.key.starts_with("departed")).collect();
    let (key, value) = CpuLoss { why: LossReason::Offline, ..left }.to_decision(0);
    assert_eq!(told, [&Decision { key, value }]);
}

#[test]
fn trials_beside_a_cpu_that_leaves_are_measured_again_and_its_own_are_missed_once() {
    for (probe, at_ms) in [("wait", 150), ("jitter", 1_200), ("queue", 400)] {
        let mut slow = Slow::leaving_at(at_ms);
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let pairs = [[CpuId(0), CpuId(1)], [CpuId(2), LEAVER], [CpuId(4), CpuId(5)]];
        let options = Parameters::default().with("pairs", "listed").with_parallel(Some(4));
        let settings = settings_of(&slow, probe, (cpus, &pairs), options, 0.02, 20);
        let mut slots = Slots::default();
        let (resumed, stop) = (SeriesResumedState::default(), Stop::new());
        let (result, ended) = series::run(&mut slow, &settings, resumed, &mut slots, &mut (), &stop).unwrap();
        assert!(slow.missed.is_some(), "{probe}: nothing missed the CPU");
        assert_ne!(ended, Ended::Interrupted, "{probe}");
        for entry in slots.0.iter().flatten() {
            let trial = &settings.trials[entry.trial as usize];
            let needs_it = probe != "jitter" && trial.placement.contains(&LEAVER);
            assert!(entry.outcome.is_ok() || needs_it, "{probe}: {} {:?}", trial.label(), entry.outcome);
        }
        for (trial, spec) in result.trials.iter().zip(&settings.trials) {
            let needs_it = probe != "jitter" && spec.placement.contains(&LEAVER);
            assert!(trial.passes > 0 || needs_it, "{probe}: {} has no pass", spec.label());
        }
    }
}

#[test]
fn what_the_budget_leaves_no_time_for_is_left_out_and_the_others_go_on() {
    let mut slow = Slow { late: Some("spsc"), ..Slow::leaving_at(900_000) };
    let options = Parameters::default().with("queue", "spsc,slots").with("capacity", "10");
    let cpus = vec![CpuId(0), CpuId(1)];
    let settings = settings_of(&slow, "queue", (cpus, &[[CpuId(0), CpuId(1)]]), options, 0.02, 20);
    let mut slots = Slots::default();
    let (resumed, stop) = (SeriesResumedState::default(), Stop::new());
    let (result, ended) = series::run(&mut slow, &settings, resumed, &mut slots, &mut (), &stop).unwrap();
    assert_eq!((ended, result.complete, result.budget_ended), (Ended::Budget, true, true));
    let is_late = |spec: &TrialSpec| spec.parameters.text("queue") == slow.late;
    let late = settings.trials.iter().filter(|spec| is_late(spec)).count();
    assert_eq!((late, result.left_out()), (settings.trials.len() / 2, late));
    for trial in &result.trials {
        // Nothing is kept of the others, so a resumed run tries them again.
        assert_eq!(trial.passes >= 8, !is_late(&trial.spec), "{}: {:?}", trial.spec.label(), trial.reason);
    }
    assert!(slots.0.iter().flatten().all(|entry| entry.outcome.is_ok()));
}
