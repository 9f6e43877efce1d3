//! Tests that a lost CPU, or a lack of budget, costs only the work that needs it. The CPU behaves as on Linux:
//! it first refuses threads, then is missing from the cpuset, then is offline; concurrent work is delayed.

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
use coretalk_model::latency::{LatencySettings, MissingReason, PairOutcome, Parallel};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::{
    CpuId, CpuLoss, CpuSet, DoctorFinding, Environment, LossReason, Picos, Recording, TickRate, Tool,
    Topology, TrialFailure,
};

const LEAVER: CpuId = CpuId(3);
/// Time for which the system reports nothing, and usual time until it reports the CPU offline.
const UNREPORTED: Picos = Picos::from_ms(90);
const OFFLINE_AFTER: Picos = Picos::from_ms(220);

/// A simulated machine that loses `LEAVER` in these steps.
struct LosingMachine {
    machine: SimMachine,
    /// Time until the system reports the CPU offline.
    offline_after: Picos,
    missed: Option<Picos>,
    /// The queue whose passes get no time.
    starved_queue: Option<&'static str>,
}

impl LosingMachine {
    fn leaving_at(ms: u32) -> LosingMachine {
        let text = format!("based_on = 'laptop-smt'\n[failures]\ndepartures = [{{ cpu = 3, at_ms = {ms} }}]");
        LosingMachine {
            machine: open(toml(&text), 3),
            offline_after: OFFLINE_AFTER,
            missed: None,
            starved_queue: None,
        }
    }

    /// Records a trial that missed the CPU; returns whether it is the first, which delays the concurrent ones.
    fn record_miss<'a>(
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

fn time_out_others<T>(outcomes: &mut [Result<T, TrialFailure>]) {
    for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
        *outcome = Err(TrialFailure::TimedOut { limit: Picos::from_ms(2_000) });
    }
}

impl Machine for LosingMachine {
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        let missed = &mut self.missed;
        self.machine.perform_each(batch, stop, &mut |mut round| {
            let failures = round.trials.iter().filter_map(|trial| trial.as_ref().err());
            if LosingMachine::record_miss(missed, round.started, failures) {
                time_out_others(&mut round.trials);
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
            if self.starved_queue.is_some() && order.spec.parameters.text("queue") == self.starved_queue {
                *outcome = Err(TrialFailure::Interrupted);
            }
        }
        let failures = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        if LosingMachine::record_miss(&mut self.missed, self.machine.now(), failures) {
            time_out_others(&mut outcomes);
        }
        outcomes
    }
    fn absent(&self, cpus: &CpuSet) -> Vec<(CpuId, LossReason)> {
        let absent = self.machine.absent(cpus).into_iter();
        match self.missed.map(|missed| self.now() - missed) {
            Some(since) if since >= self.offline_after => absent.collect(),
            Some(since) if since >= UNREPORTED => absent.map(|(cpu, _)| (cpu, LossReason::Cpuset)).collect(),
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
fn pairs_disturbed_by_a_lost_cpu_are_measured_again() {
    // Times in the pilot, in the gate and in the map.
    for at_ms in [4, 40, 350, 700] {
        let mut slow = LosingMachine::leaving_at(at_ms);
        let settings = LatencySettings { parallel: Parallel::AtMost(4), ..defaults(&slow.machine, 3) };
        let pairs = coretalk_model::latency::cells(slow.topology(), &settings);
        let mut kept = Kept::default();
        let (resumed, stop) = (ResumedState::default(), Stop::new());
        let (result, ended) = latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
        assert!(slow.missed.is_some(), "{at_ms}: nothing missed the CPU");
        assert_eq!((ended, result.complete), (Ended::Complete, false), "{at_ms}");
        let departed: Vec<&str> = kept.decisions.iter().map(|it| it.key.as_str()).collect();
        assert!(departed.contains(&"departed:0:3"), "{at_ms}: {departed:?}");
        let loss = kept.decisions.iter().find(|it| it.key == "departed:0:3").unwrap();
        assert!(loss.value.contains("offline"), "{at_ms}: {}", loss.value);
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
            let is_measured = matches!(cell, PairOutcome::Measured(_));
            assert!(is_measured || is_of_leaver, "{at_ms}: {row} {column} has no value");
        }
    }
}

#[test]
fn a_tool_visit_aborted_by_a_lost_cpu_is_repeated_once_it_is_back() {
    let tools = vec![Tool::CoreToCoreLatency, Tool::C2clat];
    let run_with = |failures: &str, resumed: ResumedState| {
        let machine = open(toml(&format!("based_on = 'laptop-smt'\n[failures]\n{failures}")), 3);
        let settings = LatencySettings { imitate: tools.clone(), ..defaults(&machine, 3) };
        measure(machine, settings, resumed)
    };
    // Times in the visits of either tool, of pairs with and without the CPU.
    let whole_ms = run_with("", ResumedState::default()).took.secs() * 1e3;
    for tenths in [1.0, 2.0, 4.0, 6.0, 8.0] {
        let at_ms = (whole_ms * tenths / 10.0) as u32;
        let first =
            run_with(&format!("departures = [{{ cpu = 3, at_ms = {at_ms} }}]"), ResumedState::default());
        let missing = |run: &Run| {
            let cells = run.result.imitated.iter().flat_map(|tool| tool.cells.iter());
            cells.filter(|(row, column, cell)| row != column && cell.is_err()).count()
        };
        assert!(!first.result.complete && missing(&first) > 0, "{at_ms}: it missed nothing");
        let second = run_with("", Kept::resumed(&[&first.kept]));
        assert!(second.result.complete);
        assert_eq!(missing(&second), 0, "{at_ms}: pairs are left without a value");
    }
}

#[test]
fn a_cpu_that_returns_before_the_check_counts_as_offline() {
    let text = |failures: &str| toml(&format!("based_on = 'laptop-smt'\n[failures]\n{failures}"));
    let blink = open(text("departures = [{ cpu = 3, at_ms = 500, back_ms = 510 }]"), 3);
    let settings = defaults(&blink, 3);
    let first = measure(blink, settings, ResumedState::default());
    let loss = first.kept.decisions.iter().find(|it| it.key == "departed:0:3").unwrap();
    assert!(loss.value.contains("offline") && !first.result.complete, "{}", loss.value);
    let machine = open(text(""), 3);
    let settings = defaults(&machine, 3);
    let second = measure(machine, settings, Kept::resumed(&[&first.kept]));
    assert!(second.result.complete);
    assert!(
        second.result.maps[0].cells.iter().all(|(row, column, cell)| row == column || cell.value().is_some())
    );
}

#[test]
fn a_failed_tool_visit_reports_the_reason() {
    let machine = open(toml("based_on = 'laptop-smt'\n[failures]\nmiscount = '3'"), 3);
    let settings = LatencySettings { imitate: vec![Tool::C2clat], ..defaults(&machine, 3) };
    let run = measure(machine, settings, ResumedState::default());
    let cells = &run.result.imitated[0].cells;
    let of_three = cells.position(LEAVER).and_then(|three| cells.get(three, 0)).unwrap();
    assert!(matches!(of_three, Err(MissingReason::Failed(TrialFailure::Unverified { .. }))), "{of_three:?}");
}

#[test]
fn a_cpu_listed_late_is_finally_reported_as_offline() {
    let mut slow = LosingMachine { offline_after: Picos::from_ms(1_200), ..LosingMachine::leaving_at(40) };
    let settings = defaults(&slow.machine, 3);
    let mut kept = Kept::default();
    let (resumed, stop) = (ResumedState::default(), Stop::new());
    latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
    let reports = kept.decisions.iter().filter(|it| it.key == "departed:0:3").map(|it| it.value.as_str());
    let [first, last] = reports.collect::<Vec<_>>().try_into().unwrap();
    assert!(first.contains("cpuset") && last.contains("offline"), "{first}, {last}");
    assert_eq!(first.replace("cpuset", ""), last.replace("offline", ""), "the time is when it was missed");
}

#[test]
fn a_later_part_updates_the_loss_reported_by_a_map() {
    let mut slow = LosingMachine { offline_after: Picos::from_ms(1_200), ..LosingMachine::leaving_at(40) };
    let settings = defaults(&slow.machine, 3);
    let earlier_loss = CpuLoss { cpu: LEAVER, after: Picos::from_ms(1), why: LossReason::Cpuset };
    let earlier = Some(Earlier { began: slow.now(), departed: vec![earlier_loss] });
    let mut kept = Kept::default();
    let (resumed, stop) = (ResumedState { earlier, ..ResumedState::default() }, Stop::new());
    latency::run(&mut slow, &settings, resumed, &mut kept, &mut (), &stop).unwrap();
    let reports: Vec<_> = kept.decisions.iter().filter(|it| it.key.starts_with("departed")).collect();
    let (key, value) = CpuLoss { why: LossReason::Offline, ..earlier_loss }.to_decision(0);
    assert_eq!(reports, [&Decision { key, value }]);
}

#[test]
fn trials_disturbed_by_a_lost_cpu_are_measured_again() {
    for (probe, at_ms) in [("wait", 150), ("jitter", 1_200), ("queue", 400)] {
        let mut slow = LosingMachine::leaving_at(at_ms);
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
fn trials_without_budget_are_left_out_and_others_complete() {
    let mut slow = LosingMachine { starved_queue: Some("spsc"), ..LosingMachine::leaving_at(900_000) };
    let options = Parameters::default().with("queue", "spsc,slots").with("capacity", "10");
    let cpus = vec![CpuId(0), CpuId(1)];
    let settings = settings_of(&slow, "queue", (cpus, &[[CpuId(0), CpuId(1)]]), options, 0.02, 20);
    let mut slots = Slots::default();
    let (resumed, stop) = (SeriesResumedState::default(), Stop::new());
    let (result, ended) = series::run(&mut slow, &settings, resumed, &mut slots, &mut (), &stop).unwrap();
    assert_eq!((ended, result.complete, result.budget_ended), (Ended::Budget, true, true));
    let is_late = |spec: &TrialSpec| spec.parameters.text("queue") == slow.starved_queue;
    let late = settings.trials.iter().filter(|spec| is_late(spec)).count();
    assert_eq!((late, result.left_out()), (settings.trials.len() / 2, late));
    for trial in &result.trials {
        // No failure of the others is stored, so a resumed run tries them again.
        assert_eq!(trial.passes >= 8, !is_late(&trial.spec), "{}: {:?}", trial.spec.label(), trial.reason);
    }
    assert!(slots.0.iter().flatten().all(|entry| entry.outcome.is_ok()));
}
