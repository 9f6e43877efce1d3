//! Tests every kernel between two threads: it ends, verifies its hand-offs and records. Times are not tested.

use crate::counter;
use crate::kernel::Kernel;
use crate::kernel_context::{Guard, Halt, KernelContext, Line, Recorder};
use crate::sync::AtomicU64;

struct Trace {
    ended: Result<(), Halt>,
    verified: u64,
    ticks: Vec<u32>,
    buckets: Vec<u32>,
    beyond: Vec<u64>,
}

#[derive(Clone, Copy)]
enum Plan {
    Batches { visits: u32, round_trips: u32 },
    Events { round_trips: u64, buckets: usize },
}

/// A tick count that no kernel records, so that unwritten batches show.
const UNWRITTEN: u32 = u32::MAX - 1;

fn run_kernel_role(
    kernel: &Kernel,
    role: usize,
    lines: &[Line],
    places: usize,
    warm_up: u32,
    plan: Plan,
    guard: &Guard<'_>,
) -> Trace {
    let lines: Vec<&Line> = lines.iter().collect();
    let records = role == 0;
    let (mut ticks, mut buckets, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    let recorder = match plan {
        Plan::Batches { visits, round_trips } => {
            // Maximum batches that are kept, enough for every test. Kernels write only where there is room.
            ticks = vec![UNWRITTEN; if records { (places * visits as usize).min(1_000) } else { 0 }];
            Recorder::Batches { visits, round_trips, ticks: &mut ticks }
        }
        Plan::Events { round_trips, buckets: n } => {
            buckets = vec![0; if records { n } else { 0 }];
            beyond = Vec::with_capacity(if records { 4 * round_trips as usize } else { 0 });
            Recorder::Events { round_trips, buckets: &mut buckets, beyond: &mut beyond }
        }
    };
    let mut context = KernelContext { lines: &lines, warm_up, recorder, guard, verified: 0 };
    let ended = kernel.roles[role](&mut context);
    let verified = context.verified;
    Trace { ended, verified, ticks, buckets, beyond }
}

#[cfg(not(loom))]
mod threads {
    use super::*;
    use crate::probes::kernels;
    use crate::probes::latency_one_way::{Direction, OneWay};
    use std::time::Duration;

    /// Enough for threads that share one CPU; only a hang waits this long.
    fn far_deadline_ticks() -> u64 {
        // 2³⁵ ticks are 11 s at 3 GHz, and longer with a slower counter.
        counter::now_ticks() + (1 << 35)
    }

    fn run_two_threads(
        kernel: &'static Kernel,
        places: usize,
        warm_up: u32,
        plan: Plan,
        guard: &Guard<'_>,
    ) -> [Trace; 2] {
        let lines: Vec<Line> = (0..places * kernel.lines_per_place as usize).map(|_| Line::new()).collect();
        std::thread::scope(|scope| {
            let responder = scope.spawn(|| run_kernel_role(kernel, 1, &lines, places, warm_up, plan, guard));
            let initiator = run_kernel_role(kernel, 0, &lines, places, warm_up, plan, guard);
            [initiator, responder.join().unwrap()]
        })
    }

    fn run_unhindered(kernel: &'static Kernel, places: usize, warm_up: u32, plan: Plan) -> [Trace; 2] {
        let halt = AtomicU64::new(0);
        let guard =
            Guard { halt: &halt, deadline_ticks: far_deadline_ticks(), now_ticks: counter::now_ticks };
        let traces = run_two_threads(kernel, places, warm_up, plan, &guard);
        for trace in &traces {
            assert_eq!(trace.ended, Ok(()), "{}", kernel.id);
        }
        assert!(traces[0].verified > 0, "{} verified nothing", kernel.id);
        assert_eq!(traces[0].verified, traces[1].verified, "{}: the sides count differently", kernel.id);
        traces
    }

    #[test]
    fn every_kernel_ends_agrees_and_writes_every_batch() {
        for kernel in kernels() {
            for (places, warm_up, visits, round_trips) in [(1, 0, 1, 1), (3, 2, 2, 3), (2, 0, 1, 5)] {
                let [initiator, responder] =
                    run_unhindered(kernel, places, warm_up, Plan::Batches { visits, round_trips });
                assert_eq!(initiator.ticks.len(), places * visits as usize);
                assert!(!initiator.ticks.contains(&UNWRITTEN), "{}: {:?}", kernel.id, initiator.ticks);
                assert!(responder.ticks.is_empty());
            }
        }
    }

    #[test]
    fn every_kernel_counts_every_event() {
        for kernel in kernels() {
            let (places, round_trips) = (2, 5);
            // With one bucket all events go to `beyond`.
            let [initiator, responder] =
                run_unhindered(kernel, places, 0, Plan::Events { round_trips, buckets: 1 });
            let expected = match kernel.id.as_str() {
                "one-way" => 2 * round_trips,
                id if id.starts_with("as:") => places as u64 * round_trips,
                _ => round_trips,
            };
            assert_eq!(u64::from(initiator.buckets[0]), expected, "{}", kernel.id);
            assert_eq!(initiator.beyond.len() as u64, expected, "{}", kernel.id);
            assert!(responder.buckets.is_empty() && responder.beyond.is_empty());
            if kernel.id.as_str() == "one-way" {
                let ways = initiator.beyond.iter().map(|&code| OneWay::unpack(code).way);
                let turns = [Direction::Out, Direction::Back].into_iter().cycle();
                assert!(ways.eq(turns.take(expected as usize)));
            }
        }
    }

    #[test]
    fn every_role_leaves_when_its_partner_never_comes() {
        for kernel in kernels() {
            for role in [0, 1] {
                let halt = AtomicU64::new(0);
                let deadline_ticks = counter::now_ticks() + 1_000;
                let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
                let lines: Vec<Line> = (0..kernel.lines_per_place).map(|_| Line::new()).collect();
                let plan = Plan::Batches { visits: 1, round_trips: 9 };
                let trace = run_kernel_role(kernel, role, &lines, 1, 0, plan, &guard);
                assert_eq!(trace.ended, Err(Halt::Deadline), "{} role {role}", kernel.id);
                assert_eq!(guard.check(), Err(Halt::Deadline), "the partner is not told");
            }
        }
    }

    #[test]
    fn a_raised_stop_a_lost_partner_and_a_passed_deadline_end_both_sides() {
        // Never finishes by itself: one batch that takes hours, or as many short batches.
        let endless = [(1, u32::MAX), (u32::MAX, 1)];
        for kernel in kernels() {
            for (visits, round_trips) in endless {
                for reason in [Halt::Stopped, Halt::Partner, Halt::Deadline] {
                    let halt = AtomicU64::new(0);
                    let deadline_ticks =
                        if reason == Halt::Deadline { counter::now_ticks() + 2_000_000 } else { u64::MAX };
                    let guard = Guard { halt: &halt, deadline_ticks, now_ticks: counter::now_ticks };
                    let lines: Vec<Line> = (0..kernel.lines_per_place).map(|_| Line::new()).collect();
                    let plan = Plan::Batches { visits, round_trips };
                    let run_role = &|role| run_kernel_role(kernel, role, &lines, 1, 0, plan, &guard).ended;
                    std::thread::scope(|scope| {
                        let roles = [0, 1].map(|role| scope.spawn(move || run_role(role)));
                        std::thread::sleep(Duration::from_millis(1));
                        if reason != Halt::Deadline {
                            guard.give_up(reason);
                        }
                        for role in roles {
                            assert_eq!(role.join().unwrap(), Err(reason), "{}", kernel.id);
                        }
                    });
                }
            }
        }
    }
}

#[cfg(loom)]
mod loomed {
    use super::*;
    use crate::probes::imitation::{C2CLAT, C2CLAT_W, COHERENCY_LATENCY, CORE_TO_CORE_LATENCY};
    use crate::probes::latency_one_way::ONE_WAY;
    use crate::probes::latency_turns::CAS;
    use crate::probes::latency_turns::MSG;
    use crate::probes::latency_turns::RING_PAUSE;
    use crate::probes::latency_turns::STORE;
    use crate::probes::latency_xfer::XFER;
    use loom::sync::Arc;

    /// Explores all executions of `visits` × `round_trips` that the memory model allows for two threads.
    fn explore(kernel: &'static Kernel, visits: u32, round_trips: u32) {
        // After a yield, loom never shows a thread its own earlier writes, so the creator of the lines never sees their
        // initial values. Therefore each role also runs on the other thread.
        for spawned in [0, 1] {
            loom::model(move || {
                let lines: Vec<Line> = (0..kernel.lines_per_place).map(|_| Line::new()).collect();
                let shared = Arc::new((lines, AtomicU64::new(0)));
                let run_role = move |role: usize, (lines, halt): &(Vec<Line>, AtomicU64)| {
                    let guard = Guard { halt, deadline_ticks: u64::MAX, now_ticks: counter::now_ticks };
                    let trace = run_kernel_role(
                        kernel,
                        role,
                        lines,
                        1,
                        0,
                        Plan::Batches { visits, round_trips },
                        &guard,
                    );
                    assert_eq!(trace.ended, Ok(()));
                    assert!(trace.buckets.is_empty() && trace.beyond.is_empty());
                    // A stale stamp would differ by far more than the few steps of the counting clock.
                    assert!(trace.ticks.iter().all(|&ticks| ticks < 1_000_000), "{:?}", trace.ticks);
                    trace.verified
                };
                let theirs = Arc::clone(&shared);
                let other = loom::thread::spawn(move || run_role(spawned, &theirs));
                let own = run_role(1 - spawned, &shared);
                assert_eq!(other.join().unwrap(), own);
            });
        }
    }

    #[test]
    fn loom_cas_hands_over_in_every_order() {
        explore(&CAS, 1, 2);
    }

    #[test]
    fn loom_store_hands_over_in_every_order() {
        explore(&STORE, 1, 2);
    }

    #[test]
    fn loom_msg_hands_over_in_every_order() {
        explore(&MSG, 1, 2);
    }

    #[test]
    fn loom_ring_passes_messages_in_every_order() {
        explore(&RING_PAUSE, 1, 2);
    }

    #[test]
    fn loom_xfer_reads_what_was_written_in_every_order() {
        explore(&XFER, 1, 1);
    }

    #[test]
    fn loom_one_way_carries_its_stamps_in_every_order() {
        explore(&ONE_WAY, 1, 1);
    }

    #[test]
    fn loom_imitations_hand_over_in_every_order() {
        for kernel in [&CORE_TO_CORE_LATENCY, &C2CLAT, &C2CLAT_W, &COHERENCY_LATENCY] {
            // Two samples, so that the resets between them are explored.
            explore(kernel, 2, 1);
        }
    }
}
