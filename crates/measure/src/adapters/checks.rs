//! Verifies an adapter's answer against the request and the system's counters, and returns a [`AdapterPass`].

use super::answer::AdapterAnswer;
use super::error::AdapterError;
use super::pass::{AdapterPass, CLOCK, RoleAccount, RoleShare};
use super::protocol::{AdapterOperation, Events, OperationKind, Request};
use super::shares::{MIN_NS_PER_ADDITION, SLACK_NS, shares_of};
use super::tree::ProcessTree;
use coretalk_model::probes::spawn::names;
use coretalk_model::{Flag, Flags};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A pass gets `WorkedElsewhere` if more than this share of the CPU time was used outside the roles.
const ELSEWHERE: f64 = 0.1;
/// A pass gets `Unclaimed` above this share: the result says little about the measured CPUs.
const UNCLAIMED: f64 = 0.5;
/// Above this share the roles did not do the work. Requests, compiling and garbage collection took at most 0.75.
pub(super) const ALL_ELSEWHERE: f64 = 0.9;
/// Minimum CPU time of all threads for judging shares. Below it, reading requests takes a large part.
const JUDGED_NS: u64 = 5_000_000;
/// Relative tolerance for the time measured here, which begins earlier and ends later. [`SLACK_NS`] is added to it.
const SLACK_SHARE: f64 = 0.05;
/// Roles that share a CPU always delay each other. Their delays excuse at most half of a pass, or this time if it is
/// longer: other programs may use that CPU before both roles have started.
const SHARED_NS: u64 = 20_000_000;
/// Maximum ratio of a pass to its timed operations, without gaps, reported delays and `LOST_NS`. Little happens between
/// two operations, so a higher ratio means that one of the times is in the wrong unit.
const SHORT_EVENTS: u64 = 50;
/// Delay per pass that is excused without evidence from the system.
const LOST_NS: u64 = 5_000_000;
/// Minimum CPU time of a role per message in nanoseconds. It moves and adds eight bytes: 0.25 ns is 32 GB/s.
const MIN_OF_A_MESSAGE: f64 = 0.25;
/// Minimum per round trip: each role has two turns, each with a cache line from another CPU or a context switch.
const MIN_OF_A_ROUND_TRIP: f64 = 5.0;
/// Minimum per poll: a CPU may perform two polls per cycle.
const MIN_OF_A_CALL: f64 = 0.05;
/// Minimum per two clock reads, which take system calls or tens of cycles.
const MIN_OF_A_READ: f64 = 2.0;
/// Minimum per wake-up or creation: each role makes a system call or polls, or the runtime creates a thread.
const MIN_OF_A_WAKE_UP: f64 = 50.0;
/// Relative tolerance for reported times that are too long: clocks of one machine differ by parts per million.
const LONGER_SHARE: f64 = 0.001;

pub(super) struct PassEvidence {
    pub(super) roles: Vec<u32>,
    pub(super) before: ProcessTree,
    pub(super) after: ProcessTree,
    pub(super) began: Instant,
    /// Delay of this thread plus the time stolen by the hypervisor from all CPUs during the pass, in nanoseconds.
    pub(super) own_delay: u64,
}

pub(super) fn validate(
    request: &Request,
    answer: AdapterAnswer,
    evidence: &PassEvidence,
) -> Result<AdapterPass, AdapterError> {
    let missing = |missing| AdapterError::Incomplete { missing };
    let (ns, arrived) = answer.ns.ok_or_else(|| missing("`ns`"))?;
    let count = answer.count.ok_or_else(|| missing("`count`"))?;
    let sum = answer.sum.ok_or_else(|| missing("`sum`"))?;
    let is_contention = request.operation.kind() == OperationKind::Contend;
    let shares_of_roles = shares_of(request, &answer.shares, count, ns)?;
    if is_contention && sum != count {
        return Err(AdapterError::WrongTotal { made: count, found: sum });
    }
    if !is_contention && count != request.count {
        return Err(AdapterError::WrongCount { asked: request.count, said: count });
    }
    let expected = request.sum();
    if !is_contention && sum != expected {
        return Err(AdapterError::WrongSum { count, seed: request.seed, expected, said: sum });
    }
    distributions(request, &answer)?;
    let events_ns = events_ns(request, &answer)?;
    let timed = if request.events == Events::Each { count } else { 0 };
    // Saturating: the adapter may report any number.
    let with_slack_ns = ns.saturating_add(SLACK_NS + ns / 100);
    if events_ns > with_slack_ns {
        return Err(AdapterError::LongEvents { events_ns, ns });
    }
    let gaps_ns = request.gaps_ns();
    // Wake-ups and creations are timed from the end of their gap.
    if gaps_ns > 0 && with_slack_ns < gaps_ns.saturating_add(events_ns) {
        return Err(AdapterError::ShortGaps { ns, events_ns, gaps_ns });
    }
    let roles = accounts(evidence)?;
    let passed_ns = u64::try_from((arrived - evidence.began).as_nanos()).unwrap_or(u64::MAX);
    let excused_ns = excused(request, evidence, &roles, passed_ns);
    let without_gaps_ns = ns.saturating_sub(gaps_ns);
    // Both roles may be delayed at once, mostly within a timed operation. So at most half is excused.
    let lost_ns = LOST_NS + excused_ns.min(without_gaps_ns / 2);
    if timed >= SHORT_EVENTS
        && events_ns.saturating_mul(SHORT_EVENTS).saturating_add(lost_ns) < without_gaps_ns
    {
        return Err(AdapterError::ShortEvents { events_ns, ns: without_gaps_ns });
    }
    let mean_ns = (timed >= SHORT_EVENTS).then(|| events_ns as f64 / timed as f64);
    // A timed operation contains a clock read, so the read cannot take longer. A median of 0 (coarse clock) gives no
    // limit.
    let first = answer.events.get("");
    let median_ns = first.and_then(|events| events.percentile_ns(0.5)).filter(|median_ns| *median_ns > 0.0);
    let clock_limit_ns =
        mean_ns.map(|mean_ns| median_ns.map_or(mean_ns, |median_ns| mean_ns.min(2.0 * median_ns)));
    let clock = answer.notes.iter().find(|note| note.name == CLOCK);
    // For `clock` the timed operation is the read itself.
    if let Some(note) = clock.filter(|_| request.operation.kind() != OperationKind::Clock) {
        let is_possible =
            |clock_ns: f64| clock_ns >= 0.0 && clock_limit_ns.is_none_or(|limit_ns| clock_ns <= limit_ns);
        if !note.number().is_some_and(is_possible) {
            return Err(AdapterError::FalseClock { said: note.text.clone(), mean_ns: clock_limit_ns });
        }
    }
    if !is_plausible(ns, passed_ns, excused_ns) {
        return Err(AdapterError::FalseTime { said_ns: ns, passed_ns, times: 1 });
    }
    let shares = shares(request, evidence, &roles);
    // If neither role did the work, `WorkedElsewhere` is the right error.
    if shares.is_none_or(|[outside, _]| outside <= ALL_ELSEWHERE)
        && let Some(idle) = idle(request, &shares_of_roles, evidence, &roles, ns.saturating_sub(excused_ns))
    {
        return Err(idle);
    }
    let mut events_of = answer.events;
    let first = events_of.remove("").unwrap_or_default();
    let events = (request.events == Events::Each).then_some(first);
    let (outside, late) = (shares.map(|[outside, _]| outside), shares.map(|[_, late]| late));
    let flags = flags(outside);
    let elapsed = Duration::ZERO;
    Ok(AdapterPass {
        fork: 0,
        count,
        ns,
        events,
        events_of,
        roles,
        outside,
        late,
        flags,
        shares: shares_of_roles,
        notes: answer.notes,
        placement_samples: None,
        elapsed,
    })
}

fn distributions(request: &Request, answer: &AdapterAnswer) -> Result<(), AdapterError> {
    let asked: BTreeMap<&str, u64> = request.timed().into_iter().collect();
    let reported = answer.events.iter().map(|(name, events)| (name.as_str(), events.count()));
    let reported: BTreeMap<&str, u64> = reported.collect();
    for name in asked.keys().chain(reported.keys()) {
        let [asked, reported] =
            [&asked, &reported].map(|counts| counts.get(name).copied().unwrap_or_default());
        if asked != reported {
            return Err(AdapterError::WrongEvents { name: (*name).to_owned(), asked, said: reported });
        }
    }
    Ok(())
}

/// Total duration of the timed operations in nanoseconds. For creations it is `join`, which includes all other parts.
fn events_ns(request: &Request, answer: &AdapterAnswer) -> Result<u64, AdapterError> {
    if !matches!(request.operation, AdapterOperation::Spawn { .. }) {
        return Ok(answer.events_ns.values().fold(0, |sum, &ns| sum.saturating_add(ns)));
    }
    let total_ns = |name: &str| answer.events_ns.get(name).copied().unwrap_or_default();
    let join_ns = total_ns(names::JOIN);
    if let Some(name) = [names::COST, names::LATENCY].into_iter().find(|name| total_ns(name) > join_ns) {
        return Err(AdapterError::EarlyJoin { name, ns: total_ns(name), join_ns });
    }
    let latency_ns = total_ns(names::LATENCY);
    if request.count > SHORT_EVENTS
        && latency_ns.saturating_mul(SHORT_EVENTS).saturating_add(LOST_NS) < join_ns
    {
        return Err(AdapterError::ShortEvents { events_ns: latency_ns, ns: join_ns });
    }
    Ok(join_ns.saturating_add(total_ns(names::FIRST)))
}

fn accounts(evidence: &PassEvidence) -> Result<Vec<RoleAccount>, AdapterError> {
    let mut accounts = Vec::with_capacity(evidence.roles.len());
    for (role, &thread) in evidence.roles.iter().enumerate() {
        let threads = (evidence.after.threads.get(&thread), evidence.before.threads.get(&thread));
        let (Some(after), Some(before)) = threads else {
            return Err(AdapterError::RoleEnded { role, thread });
        };
        accounts.push(after.since(before));
    }
    Ok(accounts)
}

/// Nanoseconds that threads waited for a CPU. A pass may appear that much longer to this process. Roles that share a
/// CPU always delay each other, and their own times include these delays.
fn excused(request: &Request, evidence: &PassEvidence, roles: &[RoleAccount], passed_ns: u64) -> u64 {
    let delays: u64 = roles.iter().filter_map(|role| role.run_delay_ns).sum();
    let delays = if request.shares_a_cpu() { delays.min(SHARED_NS.max(passed_ns / 2)) } else { delays };
    delays + evidence.after.delays_since(&evidence.before, &evidence.roles) + evidence.own_delay
}

fn is_plausible(said_ns: u64, passed_ns: u64, excused_ns: u64) -> bool {
    let share = |share: f64| (share * passed_ns as f64) as u64;
    said_ns <= passed_ns + share(LONGER_SHARE) + SLACK_NS
        && said_ns.saturating_add(SLACK_NS + share(SLACK_SHARE) + excused_ns) >= passed_ns
}

/// Shares of the CPU time used outside the roles, and by threads that began after `go`. `None` if the system has no
/// counters or too little time was used. Threads that began during creations count as work of their role.
fn shares(request: &Request, evidence: &PassEvidence, roles: &[RoleAccount]) -> Option<[f64; 2]> {
    let all = evidence.after.used_since(&evidence.before)?;
    let by_roles: u64 = roles.iter().map(|role| role.cpu_ns).sum::<Option<u64>>()?;
    let by_known = evidence.after.used_by_known(&evidence.before)?;
    let share = |part: u64| 1.0 - part.min(all) as f64 / all as f64;
    let creates = matches!(request.operation, AdapterOperation::Spawn { .. });
    (all >= JUDGED_NS).then(|| match creates {
        true => [share(by_roles) - share(by_known).min(share(by_roles)), 0.0],
        false => [share(by_roles), share(by_known)],
    })
}

/// Error for a role that used too little CPU time for its reported operations. `None` if all roles did their work, the
/// system has no counters, too little time was used, or the role still runs. A role that performs its operations alone
/// must use its CPU most of the time.
fn idle(
    request: &Request,
    shares: &[RoleShare],
    evidence: &PassEvidence,
    roles: &[RoleAccount],
    had_cpu_ns: u64,
) -> Option<AdapterError> {
    let min_ns_per_operation = match request.operation.kind() {
        OperationKind::Queue => MIN_OF_A_MESSAGE,
        OperationKind::Wait | OperationKind::Alternate => MIN_OF_A_ROUND_TRIP,
        OperationKind::Cost => MIN_OF_A_CALL,
        OperationKind::Clock => MIN_OF_A_READ,
        OperationKind::Wake | OperationKind::Spawn => MIN_OF_A_WAKE_UP,
        OperationKind::Contend => MIN_NS_PER_ADDITION,
    };
    let is_alone = matches!(request.operation, AdapterOperation::Cost | AdapterOperation::Clock);
    let alone_ns = if is_alone { had_cpu_ns / 2 } else { 0 };
    let count = |role: usize| shares.get(role).map_or(request.count, |share| share.added);
    let least = |role: usize| alone_ns.max((min_ns_per_operation * count(role) as f64) as u64);
    let (role, used_ns) = (0..roles.len())
        .filter(|&role| evidence.after.threads.get(&evidence.roles[role]).is_some_and(|thread| thread.sleeps))
        .filter_map(|role| Some((role, roles[role].cpu_ns?)))
        .find(|(role, used_ns)| *used_ns < least(*role))?;
    let expected_ns = if is_alone { least(role) } else { 0 };
    let is_judged = evidence.after.used_since(&evidence.before)?.max(expected_ns) >= JUDGED_NS;
    let thread = evidence.roles[role];
    is_judged.then_some(AdapterError::IdleRole { role, thread, used_ns, count: count(role) })
}

fn flags(outside: Option<f64>) -> Flags {
    match outside {
        Some(outside) if outside > UNCLAIMED => Flags::NONE.with(Flag::Unclaimed),
        Some(outside) if outside > ELSEWHERE => Flags::NONE.with(Flag::WorkedElsewhere),
        _ => Flags::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Prepared;
    use super::super::pass::Note;
    use super::super::protocol;
    use super::super::tree::Thread;
    use super::*;
    use coretalk_model::{CpuId, Histogram};
    use proptest::prelude::*;

    fn request(count: u64) -> Request {
        Request { operation: AdapterOperation::Wait, ..protocol::tests::request(count) }
    }

    /// Evidence for two roles, older other threads and threads begun during the pass, with their CPU times in ms.
    fn evidence(roles_ms: u64, known_ms: u64, late_ms: u64) -> PassEvidence {
        let thread = |cpu_ms: u64| Thread {
            process: 1,
            cpu_ns: Some(cpu_ms * 1_000_000),
            run_delay_ns: Some(0),
            switches: Some([0, 0]),
            sleeps: true,
        };
        let tree = |all_ms: u64, threads: &[(u32, u64)]| ProcessTree {
            processes: [(1, Some(all_ms * 1_000_000))].into(),
            threads: threads.iter().map(|&(number, ms)| (number, thread(ms))).collect(),
        };
        let before = tree(100, &[(1, 80), (2, 10), (3, 10)]);
        let all = 100 + 2 * roles_ms + known_ms + late_ms;
        let after = tree(all, &[(1, 80 + known_ms), (2, 10 + roles_ms), (3, 10 + roles_ms), (9, late_ms)]);
        PassEvidence { roles: vec![2, 3], before, after, began: Instant::now(), own_delay: 0 }
    }

    const PASSED: Duration = Duration::from_millis(100);

    fn answer(request: &Request, ns: u64, evidence: &PassEvidence) -> AdapterAnswer {
        let ns = Some((ns, evidence.began + PASSED));
        AdapterAnswer { ns, count: Some(request.count), sum: Some(request.sum()), ..AdapterAnswer::default() }
    }

    /// An answer whose operations were timed one by one; they took `events_ns` in all.
    fn timed(answer: AdapterAnswer, events_ns: u64) -> AdapterAnswer {
        let count = answer.count.unwrap();
        let mut events = Histogram::new();
        events.record_ns(events_ns as f64 / count as f64, count);
        let events_ns = [(String::new(), events_ns)].into();
        AdapterAnswer { events: [(String::new(), events)].into(), events_ns, ..answer }
    }

    fn outcome(request: &Request, answer: AdapterAnswer, evidence: &PassEvidence) -> Result<(), String> {
        validate(request, answer, evidence).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn consistent_answers_are_accepted() {
        let evidence = evidence(50, 0, 0);
        let pass = validate(&request(5), answer(&request(5), 99_000_000, &evidence), &evidence).unwrap();
        assert_eq!((pass.count, pass.ns, pass.outside, pass.flags), (5, 99_000_000, Some(0.0), Flags::NONE));
        assert_eq!(pass.roles[0].cpu_ns, Some(50_000_000));
        assert_eq!(pass.events, None);
    }

    #[test]
    fn cpu_time_outside_the_roles_is_reported() {
        let accepted = |evidence: &PassEvidence| {
            validate(&request(5), answer(&request(5), 99_000_000, evidence), evidence).unwrap()
        };
        let some = accepted(&evidence(40, 20, 0));
        assert!((some.outside.unwrap() - 0.2).abs() < 1e-9 && some.late == Some(0.0));
        assert!(some.flags.contains(Flag::WorkedElsewhere) && !some.flags.contains(Flag::Unclaimed));
        let most = accepted(&evidence(10, 0, 80));
        assert!((most.outside.unwrap() - 0.8).abs() < 1e-9 && (most.late.unwrap() - 0.8).abs() < 1e-9);
        assert!(most.flags.contains(Flag::Unclaimed));
        assert_eq!(accepted(&evidence(0, 2, 0)).outside, None, "hardly anything was used");
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        const NUMBERS: [u64; 8] = [0, 1, 99_000_000, 1 << 32, 1 << 53, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let evidence = evidence(50, 0, 0);
        for operation in [AdapterOperation::Wait, AdapterOperation::Wake { gap_ns: 20_000 }] {
            let request = Request { operation, events: Events::Each, ..request(5) };
            for (ns, event_ns) in NUMBERS.into_iter().flat_map(|ns| NUMBERS.map(|event_ns| (ns, event_ns))) {
                let mut answer = answer(&request, ns, &evidence);
                let notes = format!("note gc {ns}\nnote clock_ns {ns}\nevents {event_ns}:5");
                for line in notes.lines() {
                    answer.take(line, Instant::now()).unwrap();
                }
                if let Ok(pass) = validate(&request, answer, &evidence) {
                    assert_eq!(pass.ns, 99_000_000, "{event_ns}");
                    let _ = pass.observed();
                }
            }
        }
    }

    #[test]
    fn contradictions_are_named() {
        let evidence = evidence(50, 0, 0);
        let error = |change: &dyn Fn(&mut AdapterAnswer)| {
            let mut answer = answer(&request(5), 99_000_000, &evidence);
            change(&mut answer);
            outcome(&request(5), answer, &evidence).unwrap_err()
        };
        assert_eq!(error(&|answer| answer.ns = None), "`done` came without `ns`");
        assert!(error(&|answer| answer.count = Some(4)).contains("counted 4 operations where 5"));
        assert!(error(&|answer| answer.sum = Some(1)).contains("add up to 1, and 5 from seed 3 to 47378177"));
        let five_events = || timed(answer(&request(5), 0, &evidence), 5).events;
        assert!(error(&|answer| answer.events = five_events()).contains("timed 5 single operations where 0"));
        let other = error(&|answer| answer.events = [("busy".to_owned(), five_events()[""].clone())].into());
        assert_eq!(other, "it timed 5 single operations of `busy` where 0 were asked for");
        let half = error(&|answer| answer.ns = answer.ns.map(|(ns, at)| (ns / 2, at)));
        assert_eq!(half, "it says that the pass took 49.5 ms, and 100 ms passed here (attempt 1)");
        assert!(error(&|answer| answer.ns = answer.ns.map(|(ns, at)| (2 * ns, at))).contains("198 ms"));
    }

    #[test]
    fn times_of_single_operations_and_gaps_fit_the_pass() {
        let mut evidence = evidence(50, 0, 0);
        let answered = |request: &Request, ns: u64, events_ns: u64| {
            // As long here as the adapter says.
            let mut answer = timed(answer(request, ns, &evidence), events_ns);
            answer.ns = Some((ns, evidence.began + Duration::from_nanos(ns)));
            outcome(request, answer, &evidence)
        };
        let wait = Request { events: Events::Each, ..request(100) };
        assert_eq!(answered(&wait, 99_000_000, 90_000_000), Ok(()));
        assert!(answered(&wait, 99_000_000, 1_000_000).is_err());
        let micro = answered(&wait, 99_000_000, 90_000).unwrap_err();
        assert!(micro.contains("90.0 µs in all, and the pass 99.0 ms: are both in nanoseconds?"), "{micro}");
        // 100 gaps of about 1 ms and 100 wake-ups of 50 µs.
        let wake = Request { operation: AdapterOperation::Wake { gap_ns: 1_000_000 }, ..wait.clone() };
        let gaps_ns = wake.gaps_ns();
        assert_eq!(answered(&wake, gaps_ns + 5_000_000, 5_000_000), Ok(()));
        let hasty = answered(&wake, gaps_ns, 5_000_000).unwrap_err();
        assert!(hasty.contains("role 0 has to let each gap pass"), "{hasty}");
        evidence.after.threads.get_mut(&2).unwrap().run_delay_ns = Some(60_000_000);
        let delayed = timed(answer(&wait, 99_000_000, &evidence), 1_000_000);
        assert_eq!(outcome(&wait, delayed, &evidence), Ok(()), "role 0 had no CPU between two operations");
    }

    #[test]
    fn joins_take_longest_and_created_threads_count_as_work_of_the_role() {
        // The creator used 10 ms, older threads 25 ms, created threads 60 ms.
        let evidence = PassEvidence { roles: vec![2], ..evidence(10, 15, 60) };
        let (operation, cpus) = (AdapterOperation::Spawn { gap_ns: 0 }, vec![CpuId(0)]);
        let request = Request { operation, events: Events::Each, cpus, ..request(101) };
        let validated = |cost_ns: u64, latency_ns: u64, joined: u64| {
            let mut answer = answer(&request, 99_000_000, &evidence);
            for line in [
                "events first 30000:1".to_owned(),
                format!("events cost {cost_ns}:100"),
                format!("events latency {latency_ns}:100"),
                format!("events join 900000:{joined}"),
            ] {
                answer.take(&line, evidence.began).unwrap();
            }
            validate(&request, answer, &evidence).map_err(|error| error.to_string())
        };
        let pass = validated(400_000, 700_000, 100).unwrap();
        assert!((pass.outside.unwrap() - 25.0 / 95.0).abs() < 1e-9 && pass.late == Some(0.0), "{pass:?}");
        assert_eq!(pass.events_of[names::LATENCY].count(), 100);
        let expected = "it timed 99 single operations of `join` where 100 were asked for";
        assert_eq!(validated(400_000, 700_000, 99).unwrap_err(), expected);
        let error = validated(400_000, 950_000, 100).unwrap_err();
        assert!(error.starts_with("of creations `latency` is 95.0 ms in all and `join` 90.0 ms"), "{error}");
    }

    #[test]
    fn only_roles_that_did_no_work_are_named() {
        // In 100 ms role 0 used 50 ms and role 1 `used_ns`.
        let worked = |count: u64, used_ns: u64, sleeps: bool| {
            let mut evidence = evidence(50, 0, 0);
            let role = evidence.after.threads.get_mut(&3).unwrap();
            (role.cpu_ns, role.sleeps) = (Some(10_000_000 + used_ns), sleeps);
            evidence.after.processes.insert(1, Some(150_000_000 + used_ns));
            let request = request(count);
            outcome(&request, answer(&request, 99_000_000, &evidence), &evidence)
        };
        let expected =
            "role 1, thread 3, used 0 ns of CPU time for 200000 operations: it did not do its part of them";
        assert_eq!(worked(200_000, 0, true), Err(expected.to_owned()));
        assert!(worked(200_000, 100_000, true).is_err(), "it only woke up and ended");
        assert_eq!(worked(200_000, 40_000_000, true), Ok(()));
        assert_eq!(worked(200_000, 0, false), Ok(()), "its CPU time is not counted completely yet");
        assert_eq!(worked(5, 30, true), Ok(()), "30 ns are enough for five round trips");
    }

    #[test]
    fn a_read_of_the_clock_costs_no_more_than_what_it_times() {
        let evidence = evidence(50, 0, 0);
        let noted = |clock: &str, events: Events| {
            let request = Request { events, ..request(100) };
            let mut answer = answer(&request, 1_000_000, &evidence);
            if events == Events::Each {
                answer = timed(answer, 40_000);
            }
            answer.ns = Some((1_000_000, evidence.began + Duration::from_millis(1)));
            answer.notes.push(Note { name: "clock_ns".into(), text: clock.into() });
            outcome(&request, answer, &evidence)
        };
        for clock in ["0", "21", "20.5", "400"] {
            assert_eq!(noted(clock, Events::Each), Ok(()), "{clock}");
        }
        let error = noted("100000", Events::Each).unwrap_err();
        let expected = "`note clock_ns 100000` cannot be what a read of the clock costs: it has to be from 0 to 400.0, \
                        as single operations show: are both in nanoseconds?";
        assert_eq!(error, expected);
        for clock in ["-7", "NaN", "inf", "401", "x", ""] {
            assert!(noted(clock, Events::Each).is_err(), "{clock}");
        }
        assert_eq!(noted("100000", Events::Together), Ok(()), "no clock cost is subtracted");
        assert!(noted("-7", Events::Together).unwrap_err().contains("it has to be a number from 0 on"));
    }

    #[test]
    fn scheduling_delays_excuse_a_short_reported_time() {
        for (reported, passed, excused, plausible) in [
            (100, 100, 0, true),
            (94, 100, 0, true),
            (93, 100, 0, false),
            (60, 100, 40, true),
            (50, 100, 40, false),
            (101, 100, 0, true),
            (102, 100, 0, false),
        ] {
            let [reported, passed, excused] = [reported, passed, excused].map(|ms| ms * 1_000_000);
            assert_eq!(is_plausible(reported, passed, excused), plausible, "{reported} of {passed}");
        }
    }

    #[test]
    fn roles_on_one_cpu_excuse_at_most_half_of_the_time() {
        let mut evidence = evidence(50, 0, 0);
        for role in evidence.roles.clone() {
            evidence.after.threads.get_mut(&role).unwrap().run_delay_ns = Some(50_000_000);
        }
        let shared = Request { cpus: vec![CpuId(0); 2], ..request(5) };
        assert!(outcome(&shared, answer(&shared, 40_000_000, &evidence), &evidence).is_err());
        assert_eq!(outcome(&shared, answer(&shared, 60_000_000, &evidence), &evidence), Ok(()));
        let mut timed = answer(&shared, 60_000_000, &evidence);
        timed.events_ns = [(String::new(), 70_000_000)].into();
        let error = validate(&shared, timed, &evidence).unwrap_err();
        assert!(matches!(error, AdapterError::LongEvents { .. }), "{error}");
    }

    fn a_number() -> impl Strategy<Value = String> {
        let extremes = ["0", "1", "5", "47378177", "99000000", "-1", "1.5", "", "x", "18446744073709551615"];
        prop_oneof![
            prop::sample::select(extremes.map(String::from).to_vec()),
            any::<u64>().prop_map(|number| number.to_string()),
            (0..64u32).prop_map(|shift| (1u64 << shift).to_string()),
        ]
    }

    fn a_line() -> impl Strategy<Value = String> {
        let words =
            ["ns", "count", "sum", "events", "note gc", "note clock_ns", "note x", "role 0", "done", "?"];
        (prop::sample::select(words.to_vec()), a_number(), a_number(), any::<bool>()).prop_map(
            |(word, number, other, is_pair)| match is_pair {
                true => format!("{word} {number}:{other} {other}:{number}"),
                false => format!("{word} {number}"),
            },
        )
    }

    proptest! {
        /// Any answer is accepted or refused without overflow or panic, and the kept notes are bounded by the input.
        #[test]
        fn any_answer_is_accepted_or_refused(
            lines in prop::collection::vec(a_line(), 0..12),
            right in any::<[bool; 3]>(),
            each in any::<bool>(),
            gap_ns in prop::sample::select(vec![0, 20_000, u64::MAX]),
            roles_ms in prop::sample::select(vec![0, 50, 1 << 40]),
        ) {
            let right_lines = ["ns 99000000", "count 5", "sum 47378177"];
            let wanted = right_lines.iter().zip(right).filter(|(_, is_included)| *is_included);
            let evidence = evidence(roles_ms, 3, 4);
            let (mut parsed, mut bytes) = (AdapterAnswer::default(), 0);
            for line in wanted.map(|(line, _)| (*line).to_owned()).chain(lines) {
                bytes += line.len();
                let _ = Prepared::read(&line);
                if !matches!(parsed.take(&line, evidence.began + PASSED), Ok(None)) {
                    break;
                }
            }
            prop_assert!(parsed.notes.iter().map(|note| note.text.len()).sum::<usize>() <= bytes);
            let events = if each { Events::Each } else { Events::Together };
            let operation = if gap_ns == 0 { AdapterOperation::Wait } else { AdapterOperation::Wake { gap_ns } };
            let asked = Request { events, operation, ..request(5) };
            match validate(&asked, parsed, &evidence) {
                Ok(pass) => {
                    pass.observed();
                    prop_assert_eq!(pass.count, 5);
                    prop_assert!(pass.ns_per_operation().is_finite());
                }
                Err(error) => prop_assert!(error.to_string().len() < 1_000, "{}", error),
            }
        }
    }
}
