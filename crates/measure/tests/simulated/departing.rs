//! Tests that a lost CPU, or a lack of budget, costs only the work that needs it. The CPU behaves as on Linux:
//! it first refuses threads, then is missing from the cpuset, then is offline; concurrent work is delayed.

use crate::trials::{Slots, settings_of};
use crate::vocabulary::{Kept, Run, Wrapped, Wrapper, changed, defaults, measure, open};
use coretalk_measure::series::TrialOrder;
use coretalk_measure::session::Earlier;
use coretalk_measure::session::latency::{self, Ended, ResumedState};
use coretalk_measure::session::series::{self, SeriesResumedState};
use coretalk_measure::session::sink::Decision;
use coretalk_measure::{Machine, RoundOutcome, SimMachine, Stop};
use coretalk_model::latency::{LatencyResult, LatencySettings, MissingReason, Parallel, cells};
use coretalk_model::series::{Parameters, PassOutcome, SeriesResult, SeriesSettings, TrialSpec};
use coretalk_model::{CpuId, CpuLoss, LossReason, Picos, Tool, TrialFailure};

const LEAVER: CpuId = CpuId(3);
/// Time for which the system reports nothing, and usual time until it reports the CPU offline.
const UNREPORTED: Picos = Picos::from_ms(90);
const OFFLINE_AFTER: Picos = Picos::from_ms(220);

fn machine(failures: &str) -> SimMachine {
    open(changed("laptop-smt", &format!("[failures]\n{failures}")), 3)
}

fn run_with(failures: &str, imitated: &[Tool], resumed: ResumedState) -> Run {
    let machine = machine(failures);
    let settings = LatencySettings { imitate: imitated.to_vec(), ..defaults(&machine, 3) };
    measure(machine, settings, resumed)
}

/// The steps in which a machine loses `LEAVER`.
struct Loss {
    /// Time until the system reports the CPU offline.
    offline_after: Picos,
    missed: Option<Picos>,
    /// The queue whose passes get no time.
    starved_queue: Option<&'static str>,
}

type LosingMachine = Wrapped<Loss>;

impl LosingMachine {
    fn leaving_at(ms: u32) -> LosingMachine {
        let wrapper = Loss { offline_after: OFFLINE_AFTER, missed: None, starved_queue: None };
        Wrapped { machine: machine(&format!("departures = [{{ cpu = 3, at_ms = {ms} }}]")), wrapper }
    }

    fn listed_late() -> LosingMachine {
        let mut slow = LosingMachine::leaving_at(40);
        slow.wrapper.offline_after = Picos::from_ms(1_200);
        slow
    }

    fn run_map(&mut self, settings: &LatencySettings, resumed: ResumedState) -> (Kept, LatencyResult, Ended) {
        let mut kept = Kept::default();
        let (result, ended) =
            latency::run(self, settings, resumed, &mut kept, &mut (), &Stop::new()).unwrap();
        (kept, result, ended)
    }

    fn run_trials(&mut self, settings: &SeriesSettings) -> (Slots, SeriesResult, Ended) {
        let mut slots = Slots::default();
        let resumed = SeriesResumedState::default();
        let (result, ended) =
            series::run(self, settings, resumed, &mut slots, &mut (), &Stop::new()).unwrap();
        (slots, result, ended)
    }
}

impl Loss {
    /// The first trial that misses the CPU delays the concurrent ones.
    fn time_out_others<T>(&mut self, now: Picos, outcomes: &mut [Result<T, TrialFailure>]) {
        let mut failures = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        if self.missed.is_none() && failures.any(TrialFailure::missed_a_cpu) {
            self.missed = Some(now);
            for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
                *outcome = Err(TrialFailure::TimedOut { limit: Picos::from_ms(2_000) });
            }
        }
    }
}

impl Wrapper for Loss {
    fn after_round(&mut self, round: &mut RoundOutcome) {
        self.time_out_others(round.started, &mut round.trials);
    }
    fn after_trials(
        &mut self,
        now: Picos,
        orders: &[TrialOrder<'_>],
        outcomes: &mut [Result<PassOutcome, TrialFailure>],
    ) {
        for (order, outcome) in orders.iter().zip(&mut *outcomes) {
            if self.starved_queue.is_some() && order.spec.parameters.text("queue") == self.starved_queue {
                *outcome = Err(TrialFailure::Interrupted);
            }
        }
        self.time_out_others(now, outcomes);
    }
    fn reported(&self, now: Picos, absent: Vec<(CpuId, LossReason)>) -> Vec<(CpuId, LossReason)> {
        match self.missed.map(|missed| now - missed) {
            Some(since) if since >= self.offline_after => absent,
            Some(since) if since >= UNREPORTED => {
                absent.into_iter().map(|(cpu, _)| (cpu, LossReason::Cpuset)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The reported losses of `LEAVER`, in order.
fn losses(kept: &Kept) -> Vec<&str> {
    let of_leaver = kept.decisions.iter().filter(|decision| decision.key == "departed:0:3");
    of_leaver.map(|decision| decision.value.as_str()).collect()
}

#[test]
fn pairs_disturbed_by_a_lost_cpu_are_measured_again() {
    // Times in the pilot, in the gate and in the map.
    for at_ms in [4, 40, 350, 700] {
        let mut slow = LosingMachine::leaving_at(at_ms);
        let settings = LatencySettings { parallel: Parallel::AtMost(4), ..defaults(&slow.machine, 3) };
        let pairs = cells(slow.topology(), &settings);
        let (kept, result, ended) = slow.run_map(&settings, ResumedState::default());
        assert!(slow.wrapper.missed.is_some(), "{at_ms}: nothing missed the CPU");
        assert_eq!((ended, result.complete), (Ended::Complete, false), "{at_ms}");
        assert!(losses(&kept)[0].contains("offline"), "{at_ms}: {:?}", losses(&kept));
        for trial in kept.rounds.iter().flat_map(|round| &round.trials) {
            let pair = pairs[trial.cell as usize];
            assert!(trial.outcome.is_ok() || pair.contains(&LEAVER), "{at_ms}: {pair:?} {:?}", trial.outcome);
        }
        for ((purpose, cell, pass), count) in kept.visits() {
            let pair = pairs[cell as usize];
            assert!(count == 1 || pair.contains(&LEAVER), "{at_ms}: {purpose:?} {pass} of {pair:?} twice");
        }
        let map = &result.maps[0].cells;
        for (row, column, cell) in map.iter() {
            let is_of_leaver = [row, column].iter().any(|&cpu| map.cpus()[cpu] == LEAVER);
            assert!(cell.value().is_some() || is_of_leaver, "{at_ms}: {row} {column} has no value");
        }
    }
}

#[test]
fn a_tool_visit_aborted_by_a_lost_cpu_is_repeated_once_it_is_back() {
    let run_with =
        |failures: &str, resumed| run_with(failures, &[Tool::CoreToCoreLatency, Tool::C2clat], resumed);
    let missing = |run: &Run| {
        let cells = run.result.imitated.iter().flat_map(|tool| tool.cells.iter());
        cells.filter(|(row, column, cell)| row != column && cell.is_err()).count()
    };
    // Times in the visits of either tool, of pairs with and without the CPU.
    let whole_ms = run_with("", ResumedState::default()).took.secs() * 1e3;
    for share in [0.1, 0.2, 0.4, 0.6, 0.8] {
        let at_ms = (whole_ms * share) as u32;
        let lost = format!("departures = [{{ cpu = 3, at_ms = {at_ms} }}]");
        let first = run_with(&lost, ResumedState::default());
        assert!(!first.result.complete && missing(&first) > 0, "{at_ms}: it missed nothing");
        let second = run_with("", Kept::resumed(&[&first.kept]));
        assert!(second.result.complete);
        assert_eq!(missing(&second), 0, "{at_ms}: pairs are left without a value");
    }
}

#[test]
fn a_cpu_that_returns_before_the_check_counts_as_offline() {
    let blink = "departures = [{ cpu = 3, at_ms = 500, back_ms = 510 }]";
    let first = run_with(blink, &[], ResumedState::default());
    assert!(
        losses(&first.kept)[0].contains("offline") && !first.result.complete,
        "{:?}",
        losses(&first.kept)
    );
    let second = run_with("", &[], Kept::resumed(&[&first.kept]));
    assert!(second.result.complete);
    assert_eq!(second.values().len(), second.pairs().len(), "a pair has no value");
}

#[test]
fn a_failed_tool_visit_reports_the_reason() {
    let run = run_with("miscount = '3'", &[Tool::C2clat], ResumedState::default());
    let cells = &run.result.imitated[0].cells;
    let of_three = cells.position(LEAVER).and_then(|three| cells.get(three, 0)).unwrap();
    assert!(matches!(of_three, Err(MissingReason::Failed(TrialFailure::Unverified { .. }))), "{of_three:?}");
}

#[test]
fn a_cpu_listed_late_is_finally_reported_as_offline() {
    let mut slow = LosingMachine::listed_late();
    let (kept, ..) = slow.run_map(&defaults(&slow.machine, 3), ResumedState::default());
    let [first, last] = losses(&kept).try_into().unwrap();
    assert!(first.contains("cpuset") && last.contains("offline"), "{first}, {last}");
    assert_eq!(first.replace("cpuset", ""), last.replace("offline", ""), "the time is when it was missed");
}

#[test]
fn a_later_part_updates_the_loss_reported_by_a_map() {
    let mut slow = LosingMachine::listed_late();
    let earlier_loss = CpuLoss { cpu: LEAVER, after: Picos::from_ms(1), why: LossReason::Cpuset };
    let earlier = Some(Earlier { began: slow.now(), departed: vec![earlier_loss] });
    let resumed = ResumedState { earlier, ..ResumedState::default() };
    let (kept, ..) = slow.run_map(&defaults(&slow.machine, 3), resumed);
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
        let (slots, result, ended) = slow.run_trials(&settings);
        assert!(slow.wrapper.missed.is_some(), "{probe}: nothing missed the CPU");
        assert_ne!(ended, Ended::Interrupted, "{probe}");
        let needs_it = |spec: &TrialSpec| probe != "jitter" && spec.placement.contains(&LEAVER);
        for entry in slots.0.iter().flatten() {
            let spec = &settings.trials[entry.trial as usize];
            assert!(entry.outcome.is_ok() || needs_it(spec), "{probe}: {} {:?}", spec.label(), entry.outcome);
        }
        for (trial, spec) in result.trials.iter().zip(&settings.trials) {
            assert!(trial.passes > 0 || needs_it(spec), "{probe}: {} has no pass", spec.label());
        }
    }
}

#[test]
fn trials_without_budget_are_left_out_and_others_complete() {
    let mut slow = LosingMachine::leaving_at(900_000);
    slow.wrapper.starved_queue = Some("spsc");
    let options = Parameters::default().with("queue", "spsc,slots").with("capacity", "10");
    let pair = [CpuId(0), CpuId(1)];
    let settings = settings_of(&slow, "queue", (pair.to_vec(), &[pair]), options, 0.02, 20);
    let (slots, result, ended) = slow.run_trials(&settings);
    assert_eq!((ended, result.complete, result.budget_ended), (Ended::Budget, true, true));
    let is_late = |spec: &TrialSpec| spec.parameters.text("queue") == Some("spsc");
    let late = settings.trials.iter().filter(|spec| is_late(spec)).count();
    assert_eq!((late, result.left_out()), (settings.trials.len() / 2, late));
    for trial in &result.trials {
        // No failure of the others is stored, so a resumed run tries them again.
        assert_eq!(trial.passes >= 8, !is_late(&trial.spec), "{}: {:?}", trial.spec.label(), trial.reason);
    }
    assert!(slots.0.iter().flatten().all(|entry| entry.outcome.is_ok()));
}
