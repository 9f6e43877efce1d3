//! The pattern of a queue: one role sends messages, another receives them, and each waits when it must. The simulation
//! goes event by event and does not use the closed formulas that check it.

use std::collections::VecDeque;

/// Costs of the machine and the queue per message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Capacity in messages.
    pub capacity: u64,
    /// Whether both roles share one CPU.
    pub one_cpu: bool,
    /// The way of waiting.
    pub waiting: Waiting,
    /// Thread switch on one CPU.
    pub switch_ns: f64,
    /// Quantum: time for which a spinning role keeps a shared CPU.
    pub slice_ns: f64,
    /// Time until a polling role sees a sent message or a freed slot.
    pub sight_ns: f64,
    /// Cost for producer and consumer to read the other side's index after their cached copy is used up.
    pub refresh_ns: [f64; 2],
}

/// The way in which a role waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waiting {
    /// The role spins.
    Awake,
    /// The role polls for a while, then sleeps.
    Asleep {
        /// Time of polling.
        spin_limit_ns: f64,
        /// Time from the waker's call until the sleeper runs again.
        wake_ns: f64,
        /// Cost of a wake-up for the waker.
        waker_ns: f64,
    },
    /// The role polls for a while, then alternates between yields and polls. For a shared CPU.
    Yielding {
        /// Time of polling before a yield.
        spin_limit_ns: f64,
    },
}

/// The due times of messages, and the receiver of their results.
pub struct Schedule<'a> {
    /// Due time of a message by its number; 0 at full speed.
    pub due_ns: &'a dyn Fn(u64) -> f64,
    /// Called for each received message.
    pub each: &'a mut dyn FnMut(Timed),
}

/// The totals of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Passed {
    /// Received messages.
    pub messages: u64,
    /// Elapsed time.
    pub elapsed_ns: f64,
    /// Number of times that the producer found the queue full.
    pub full: u64,
    /// Number of times that the consumer found the queue empty.
    pub empty: u64,
    /// Voluntary switches of producer and consumer.
    pub sleeps: [u64; 2],
    /// Involuntary switches of producer and consumer.
    pub preempted: [u64; 2],
    /// CPU time of producer and consumer, including polls.
    pub busy_ns: [f64; 2],
}

/// Simulates while `more` returns true. No message is sent before it is due. `work` returns the nanoseconds of a role's
/// own work on the next message (0 produces, 1 consumes). A message leaves its slot before the work on it.
pub fn run(
    flow: &Flow,
    more: &mut dyn FnMut(&Passed) -> bool,
    work: &mut dyn FnMut(usize) -> f64,
    schedule: &mut Schedule<'_>,
) -> Passed {
    if flow.one_cpu {
        alternate(flow, more, work, schedule)
    } else {
        side_by_side(flow, more, work, schedule)
    }
}

/// The messages that a producer has begun and the consumer has not received, with due and start times.
#[derive(Debug, Default)]
struct Begun {
    number: u64,
    waiting: VecDeque<[f64; 2]>,
}

impl Begun {
    /// Begins the next message, but not before it is due. Returns its start.
    fn next(&mut self, now_ns: f64, schedule: &Schedule<'_>) -> f64 {
        let due_ns = (schedule.due_ns)(self.number);
        self.number += 1;
        let begun_ns = now_ns.max(due_ns);
        self.waiting.push_back([due_ns, begun_ns]);
        begun_ns
    }

    fn due_ns(&self, schedule: &Schedule<'_>) -> f64 {
        (schedule.due_ns)(self.number)
    }

    fn received(&mut self, now_ns: f64, schedule: &mut Schedule<'_>) {
        if let Some([intended_ns, sent_ns]) = self.waiting.pop_front() {
            (schedule.each)(Timed { intended_ns, sent_ns, received_ns: now_ns });
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct StreamSide {
    at_ns: f64,
    waits_since: Option<f64>,
    /// Steps that the role may take before it has to read the other side's index again.
    known_steps: u64,
}

fn side_by_side(
    flow: &Flow,
    more: &mut dyn FnMut(&Passed) -> bool,
    work: &mut dyn FnMut(usize) -> f64,
    schedule: &mut Schedule<'_>,
) -> Passed {
    let mut passed = Passed::default();
    let mut begun = Begun::default();
    let mut sides = [StreamSide::default(); 2];
    passed.busy_ns[0] = work(0);
    sides[0].at_ns = begun.next(0.0, schedule) + passed.busy_ns[0];
    let mut queued = 0;
    while more(&passed) {
        let role = match [sides[0].waits_since, sides[1].waits_since] {
            [None, None] => usize::from(sides[1].at_ns < sides[0].at_ns),
            [None, Some(_)] => 0,
            // Role 0 waits. The roles never both wait, since a queue is not full and empty at once.
            _ => 1,
        };
        let now_ns = sides[role].at_ns;
        // The consumer needs messages, and the producer needs slots.
        let available = if role == 0 { flow.capacity - queued } else { queued };
        if available == 0 {
            *if role == 0 { &mut passed.full } else { &mut passed.empty } += 1;
            sides[role].waits_since = Some(now_ns);
            sides[role].known_steps = 0;
            continue;
        }
        let mut step_ns = 0.0;
        if sides[role].known_steps == 0 {
            step_ns += flow.refresh_ns[role];
            sides[role].known_steps = available;
        }
        sides[role].known_steps -= 1;
        if role == 0 {
            queued += 1
        } else {
            queued -= 1
        }
        passed.elapsed_ns = now_ns;
        if role == 1 {
            passed.messages += 1;
            begun.received(now_ns, schedule);
        }
        let other = 1 - role;
        if let Some(since) = sides[other].waits_since.take() {
            step_ns += wake(flow, &mut sides[other], since, now_ns, other, &mut passed);
        }
        let work_ns = work(role);
        passed.busy_ns[role] += step_ns + work_ns;
        let free_ns = now_ns + step_ns;
        sides[role].at_ns = if role == 0 { begun.next(free_ns, schedule) } else { free_ns } + work_ns;
    }
    passed
}

/// Lets a waiting role continue. Returns the cost for the waking role.
fn wake(
    flow: &Flow,
    side: &mut StreamSide,
    since_ns: f64,
    now_ns: f64,
    role: usize,
    passed: &mut Passed,
) -> f64 {
    // The role has seen the other side's index, so no further read is due.
    side.known_steps = 1;
    let spun_ns = (now_ns - since_ns).max(0.0);
    match flow.waiting {
        Waiting::Asleep { spin_limit_ns, wake_ns, waker_ns } if spun_ns >= spin_limit_ns => {
            passed.sleeps[role] += 1;
            passed.busy_ns[role] += spin_limit_ns;
            side.at_ns = now_ns + wake_ns;
            waker_ns
        }
        _ => {
            passed.busy_ns[role] += spun_ns + flow.sight_ns;
            side.at_ns = now_ns.max(since_ns) + flow.sight_ns;
            0.0
        }
    }
}

/// Simulates one role at a time on a shared CPU, each until it is blocked. A spinning role keeps the CPU until its
/// quantum ends, and spends the rest of the quantum on waits for due times.
fn alternate(
    flow: &Flow,
    more: &mut dyn FnMut(&Passed) -> bool,
    work: &mut dyn FnMut(usize) -> f64,
    schedule: &mut Schedule<'_>,
) -> Passed {
    let mut passed = Passed::default();
    let mut begun = Begun::default();
    let mut queued = 0;
    let spins = flow.waiting == Waiting::Awake;
    let most_ns = if spins { flow.slice_ns } else { f64::INFINITY };
    // The producer makes a message before it checks for room.
    let mut in_hand = false;
    while more(&passed) {
        // Without due or queued messages the CPU is idle.
        if !in_hand && queued == 0 && !spins {
            passed.elapsed_ns = passed.elapsed_ns.max(begun.due_ns(schedule));
        }
        let mut slice_ns = 0.0;
        while slice_ns < most_ns {
            if !in_hand {
                let due_ns = begun.due_ns(schedule) - passed.elapsed_ns;
                if due_ns > slice_ns && !(spins && due_ns < most_ns) {
                    break;
                }
                slice_ns = begun.next(passed.elapsed_ns + slice_ns, schedule) - passed.elapsed_ns + work(0);
            }
            in_hand = queued == flow.capacity;
            if in_hand {
                passed.full += 1;
                break;
            }
            queued += 1;
        }
        hand_over(flow, 0, slice_ns, in_hand, &mut passed);
        let mut slice_ns = 0.0;
        while queued > 0 && slice_ns < most_ns && more(&passed) {
            begun.received(passed.elapsed_ns + slice_ns, schedule);
            slice_ns += work(1);
            queued -= 1;
            passed.messages += 1;
        }
        passed.empty += u64::from(queued == 0);
        hand_over(flow, 1, slice_ns, true, &mut passed);
    }
    passed
}

/// A blocked role yields the shared CPU, or keeps it to the end of its quantum. It polls first if it waits for the
/// queue.
fn hand_over(flow: &Flow, role: usize, worked_ns: f64, polls: bool, passed: &mut Passed) {
    let spun_ns = |spin_limit_ns: f64| if polls { spin_limit_ns.min(flow.slice_ns) } else { 0.0 };
    let spent_ns = match flow.waiting {
        Waiting::Awake => worked_ns.max(flow.slice_ns),
        Waiting::Asleep { spin_limit_ns, .. } | Waiting::Yielding { spin_limit_ns } => {
            worked_ns + spun_ns(spin_limit_ns)
        }
    };
    match flow.waiting {
        Waiting::Asleep { .. } => passed.sleeps[role] += 1,
        // The kernel counts a yield as an involuntary switch.
        _ => passed.preempted[role] += 1,
    }
    // The switch is system time of the thread that caused it.
    passed.busy_ns[role] += spent_ns + flow.switch_ns;
    passed.elapsed_ns += spent_ns + flow.switch_ns;
}

/// The times of one message with a due time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// Due time.
    pub intended_ns: f64,
    /// Time of sending.
    pub sent_ns: f64,
    /// Time of reception.
    pub received_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::super::rng::Stream;
    use super::*;

    fn pass(flow: &Flow, messages: u64, work: &mut dyn FnMut(usize) -> f64) -> Passed {
        paced(flow, 0.0, messages, work, &mut |_| ())
    }

    fn paced(
        flow: &Flow,
        every_ns: f64,
        messages: u64,
        work: &mut dyn FnMut(usize) -> f64,
        each: &mut dyn FnMut(Timed),
    ) -> Passed {
        let due_ns = |number: u64| number as f64 * every_ns;
        run(flow, &mut |passed| passed.messages < messages, work, &mut Schedule { due_ns: &due_ns, each })
    }

    const AWAKE: Flow = Flow {
        capacity: 1,
        one_cpu: false,
        waiting: Waiting::Awake,
        switch_ns: 1_500.0,
        slice_ns: 4e6,
        sight_ns: 0.0,
        refresh_ns: [0.0; 2],
    };

    fn exponential(stream: &mut Stream, mean_ns: f64) -> f64 {
        -mean_ns * (1.0 - stream.unit()).ln()
    }

    fn rate(flow: &Flow, messages: u64, work: &mut dyn FnMut(usize) -> f64) -> f64 {
        let passed = pass(flow, messages, work);
        passed.messages as f64 / passed.elapsed_ns
    }

    fn close(found: f64, expected: f64, within: f64, what: &str) {
        assert!((found / expected - 1.0).abs() <= within, "{what}: {found} for {expected}");
    }

    #[test]
    fn random_work_matches_the_formula_of_a_bounded_queue() {
        for capacity in [1, 2, 8, 64] {
            for (producer, consumer) in [(1.0, 0.8), (0.8, 1.0), (1.0, 1.0)] {
                let (lambda, mu) = (1.0 / producer, 1.0 / consumer);
                let rho: f64 = lambda / mu;
                let k = capacity as f64;
                let formula = if rho == 1.0 {
                    mu * (k + 2.0) / (k + 3.0)
                } else {
                    mu * (1.0 - (1.0 - rho) / (1.0 - rho.powf(k + 3.0)))
                };
                let mut stream = Stream::from_key(7 + capacity);
                let mut work = |role: usize| exponential(&mut stream, [producer, consumer][role]);
                let found = rate(&Flow { capacity, ..AWAKE }, 400_000, &mut work);
                close(found, formula, 0.02, &format!("capacity {capacity}, {producer} against {consumer}"));
            }
        }
    }

    #[test]
    fn constant_work_runs_at_the_pace_of_the_slower_side() {
        for capacity in [1, 2, 100] {
            for (producer, consumer) in [(30.0, 50.0), (50.0, 30.0), (40.0, 40.0)] {
                let mut work = |role: usize| [producer, consumer][role];
                let found = rate(&Flow { capacity, ..AWAKE }, 10_000, &mut work);
                close(found, 1.0 / f64::max(producer, consumer), 0.02, &format!("capacity {capacity}"));
            }
        }
    }

    #[test]
    fn a_shared_cpu_pays_two_switches_for_each_lap() {
        let waiting = Waiting::Asleep { spin_limit_ns: 0.0, wake_ns: 5_000.0, waker_ns: 500.0 };
        for capacity in [1u64, 8, 64, 512] {
            let k = capacity as f64;
            let formula = k / (k * 60.0 + 2.0 * 1_500.0);
            let flow = Flow { capacity, one_cpu: true, waiting, ..AWAKE };
            let found = rate(&flow, 200 * capacity, &mut |_| 30.0);
            // The message in the producer's hand when it first finds the queue full is made before the first lap.
            close(found, formula, 0.02, &format!("capacity {capacity}"));
        }
    }

    #[test]
    fn spinning_on_a_shared_cpu_hands_over_once_per_quantum() {
        let passed = pass(&Flow { capacity: 10, one_cpu: true, ..AWAKE }, 1_000, &mut |_| 30.0);
        close(passed.messages as f64 / passed.elapsed_ns, 10.0 / 8e6, 0.02, "capacity 10");
        assert_eq!((passed.sleeps, passed.preempted), ([0, 0], [100, 100]));
    }

    #[test]
    fn each_sleep_of_the_consumer_costs_the_producer_a_wake_up() {
        let waiting = Waiting::Asleep { spin_limit_ns: 0.0, wake_ns: 2_000.0, waker_ns: 300.0 };
        let flow = Flow { capacity: 1_000, waiting, ..AWAKE };
        let passed = pass(&flow, 50_000, &mut |role| [100.0, 20.0][role]);
        let share = passed.empty as f64 / passed.messages as f64;
        assert!(share > 0.01 && share < 0.9, "found empty for {share} of the messages");
        close(passed.messages as f64 / passed.elapsed_ns, 1.0 / (100.0 + share * 300.0), 0.02, "wake-ups");
        assert_eq!(passed.full, 0);
    }

    #[test]
    fn with_one_slot_both_sides_wait_for_wake_ups() {
        let waiting = Waiting::Asleep { spin_limit_ns: 0.0, wake_ns: 20_000.0, waker_ns: 500.0 };
        let passed = pass(&Flow { waiting, ..AWAKE }, 10_000, &mut |_| 30.0);
        // Each message waits until the consumer is awake, and its slot until the producer is.
        close(passed.messages as f64 / passed.elapsed_ns, 1.0 / 40_000.0, 0.02, "one place");
        assert_eq!(passed.sleeps[0] / 100, passed.sleeps[1] / 100);
    }

    #[test]
    fn long_enough_polling_avoids_the_wake_up() {
        let sleepy = |spin_limit_ns| Waiting::Asleep { spin_limit_ns, wake_ns: 20_000.0, waker_ns: 500.0 };
        let flow = |spin_limit_ns| Flow { waiting: sleepy(spin_limit_ns), sight_ns: 60.0, ..AWAKE };
        let sees = pass(&flow(10_000.0), 10_000, &mut |_| 30.0);
        assert_eq!(sees.sleeps, [0, 0]);
        let sleeps = pass(&flow(0.0), 10_000, &mut |_| 30.0);
        assert!(sleeps.elapsed_ns > 50.0 * sees.elapsed_ns, "{sleeps:?} against {sees:?}");
    }

    #[test]
    fn an_index_is_read_once_per_run_of_messages() {
        let flow = Flow { capacity: 100, refresh_ns: [80.0; 2], sight_ns: 80.0, ..AWAKE };
        let slow_consumer = pass(&flow, 100_000, &mut |role| [10.0, 20.0][role]);
        // The consumer never waits, and each read of the index shows it a hundred messages, or the few that are new.
        let per_message = slow_consumer.elapsed_ns / 100_000.0;
        assert!((20.0..24.0).contains(&per_message), "{per_message} ns");
        assert!(slow_consumer.empty < 10, "{slow_consumer:?}");
    }

    #[test]
    fn a_rate_above_the_throughput_falls_behind_and_one_below_does_not() {
        let late = |every_ns: f64| {
            let mut last = 0.0;
            let flow = Flow { capacity: 10, sight_ns: 60.0, ..AWAKE };
            paced(&flow, every_ns, 10_000, &mut |_| 50.0, &mut |message| {
                assert!(message.sent_ns >= message.intended_ns && message.received_ns > message.sent_ns);
                last = message.received_ns - message.intended_ns;
            });
            last
        };
        assert!((late(200.0) - 110.0).abs() < 1e-9, "work, then sight");
        assert!(late(40.0) > 10_000.0 * 5.0, "each message adds to the delay of the next");
    }

    #[test]
    fn rates_above_capacity_reach_full_throughput() {
        let asleep = Waiting::Asleep { spin_limit_ns: 0.0, wake_ns: 2_000.0, waker_ns: 600.0 };
        for (one_cpu, waiting) in [
            (false, asleep),
            (true, asleep),
            (false, Waiting::Awake),
            (true, Waiting::Awake),
            (true, Waiting::Yielding { spin_limit_ns: 2_000.0 }),
        ] {
            for capacity in [1, 10, 100] {
                let flow = Flow { capacity, one_cpu, waiting, sight_ns: 60.0, ..AWAKE };
                let closed = rate(&flow, 20_000, &mut |_| 30.0);
                let mut last_ns = 0.0;
                // Twice the rate that the pair can sustain.
                let mut each = |message: Timed| last_ns = message.received_ns;
                paced(&flow, 0.5 / closed, 20_000, &mut |_| 30.0, &mut each);
                close(20_000.0 / last_ns, closed, 0.02, &format!("{one_cpu} {waiting:?} {capacity}"));
            }
        }
    }

    #[test]
    fn on_one_cpu_a_paced_message_arrives_after_one_switch() {
        let waiting = Waiting::Asleep { spin_limit_ns: 0.0, wake_ns: 2_000.0, waker_ns: 600.0 };
        let flow = Flow { capacity: 10, one_cpu: true, waiting, ..AWAKE };
        paced(&flow, 50_000.0, 100, &mut |_| 30.0, &mut |message| {
            assert_eq!(message.sent_ns, message.intended_ns);
            assert!((message.received_ns - message.intended_ns - 30.0 - flow.switch_ns).abs() < 1e-6);
        });
    }
}
