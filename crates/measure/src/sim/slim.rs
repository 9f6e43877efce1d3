//! The pattern of a ring between two semaphores where every call takes a lock and both sides run concurrently.
//! Simulated line by line, since contention for the locks is most of the cost.
//!
//! Each semaphore is two lines, its lock and its counts. A reader gets a copy of a line, and a writer takes it away;
//! requests for one line are served one after another.

use super::stream::{Begun, Passed, Schedule};
use crate::queues::slim::{POLLS, Rest, Rests};

/// Costs of the machine per step.
#[derive(Debug, Clone, Copy)]
pub struct SlimFlow {
    /// Capacity in messages.
    pub capacity: u64,
    /// Line transfer between the two CPUs.
    pub transfer_ns: f64,
    /// Line transfers per message.
    pub message_lines: f64,
    /// Instruction time of one semaphore call with cached lines.
    pub call_ns: f64,
    /// One wait hint.
    pub hint_ns: f64,
    /// A system call without effect, such as a yield on an uncontended CPU.
    pub yield_ns: f64,
    /// Time from the waker's call until the sleeper runs again.
    pub wake_ns: f64,
    /// Cost of a wake-up for the waker.
    pub waker_ns: f64,
}

impl SlimFlow {
    /// Duration of the pause after a poll.
    pub fn rest_ns(&self, poll: u32) -> f64 {
        match Rests::of(self.hint_ns).after(poll) {
            Rest::Hints(hints) => f64::from(hints) * self.hint_ns,
            Rest::Yield => self.yield_ns,
        }
    }

    /// Time from the first unsuccessful poll to the first yield.
    pub fn unyielding_ns(&self) -> f64 {
        let rests = Rests::of(self.hint_ns);
        (0..POLLS).take_while(|&poll| rests.after(poll) != Rest::Yield).map(|poll| self.rest_ns(poll)).sum()
    }

    /// Time of all polls before the sleep.
    pub fn looks_ns(&self) -> f64 {
        (0..POLLS).map(|poll| self.rest_ns(poll)).sum()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Only(usize),
    Both,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    holder: Holder,
    there_ns: f64,
}

impl Line {
    fn of(role: usize) -> Line {
        Line { holder: Holder::Only(role), there_ns: 0.0 }
    }

    /// Time at which a reading side gets a copy.
    fn read(&mut self, role: usize, now_ns: f64, transfer_ns: f64) -> f64 {
        if self.holder == Holder::Only(1 - role) {
            self.there_ns = self.there_ns.max(now_ns) + transfer_ns;
            self.holder = Holder::Both;
        }
        now_ns.max(self.there_ns)
    }

    /// Time at which a writing side gets the line.
    fn write(&mut self, role: usize, now_ns: f64, transfer_ns: f64) -> f64 {
        if self.holder != Holder::Only(role) {
            self.there_ns = self.there_ns.max(now_ns) + transfer_ns;
            self.holder = Holder::Only(role);
        }
        now_ns.max(self.there_ns)
    }
}

#[derive(Debug, Clone, Copy)]
struct Semaphore {
    permits: u64,
    locked: bool,
    lock: Line,
    counts: Line,
    sleeps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Polls for a permit, after this many polls.
    Look(u32),
    /// Takes the lock of the semaphore that it waits for or releases.
    Lock { releases: bool },
    /// Holds that lock and writes the counts.
    Inside { releases: bool },
    /// Releases the lock.
    Unlock { releases: bool },
    /// Moves the message, and reads the lock of the semaphore that it releases.
    Move,
    /// Sleeps until it is pulsed.
    Asleep,
}

struct Simulation<'a> {
    flow: &'a SlimFlow,
    /// Free slots, which the producer waits for, and items.
    semaphores: [Semaphore; 2],
    steps: [Step; 2],
    at_ns: [f64; 2],
    /// Noise factor on all costs of the current message.
    factor: [f64; 2],
    begun: Begun,
    passed: Passed,
}

/// Costs that differ between messages.
pub struct SlimCosts<'a> {
    /// A role's own work on the next message.
    pub work: &'a mut dyn FnMut(usize) -> f64,
    /// Noise factor on its other costs.
    pub factor: &'a mut dyn FnMut() -> f64,
}

/// Simulates while `more` returns true; no message is sent before it is due.
pub fn run_while(
    flow: &SlimFlow,
    more: &mut dyn FnMut(&Passed) -> bool,
    costs: &mut SlimCosts<'_>,
    schedule: &mut Schedule<'_>,
) -> Passed {
    let semaphore = |permits, role| Semaphore {
        permits,
        locked: false,
        lock: Line::of(role),
        counts: Line::of(role),
        sleeps: false,
    };
    let mut simulation = Simulation {
        flow,
        semaphores: [semaphore(flow.capacity, 0), semaphore(0, 1)],
        steps: [Step::Look(0); 2],
        at_ns: [0.0; 2],
        factor: [1.0; 2],
        begun: Begun::default(),
        passed: Passed::default(),
    };
    let work_ns = (costs.work)(0);
    simulation.passed.busy_ns[0] = work_ns;
    simulation.at_ns[0] = simulation.begun.next(0.0, schedule) + work_ns;
    while more(&simulation.passed) {
        let role = match simulation.steps {
            [Step::Asleep, _] => 1,
            [_, Step::Asleep] => 0,
            _ => usize::from(simulation.at_ns[1] < simulation.at_ns[0]),
        };
        let (began_ns, was) = (simulation.at_ns[role], simulation.steps[role]);
        simulation.step(role);
        if simulation.steps[role] != Step::Asleep {
            simulation.passed.busy_ns[role] += simulation.at_ns[role] - began_ns;
        }
        match was {
            Step::Move if role == 1 => simulation.begun.received(simulation.passed.elapsed_ns, schedule),
            Step::Unlock { releases: true } => {
                let work_ns = (costs.work)(role);
                if role == 0 {
                    simulation.at_ns[0] = simulation.begun.next(simulation.at_ns[0], schedule);
                }
                simulation.at_ns[role] += work_ns;
                simulation.passed.busy_ns[role] += work_ns;
                simulation.factor[role] = (costs.factor)();
            }
            _ => (),
        }
    }
    simulation.passed
}

impl Simulation<'_> {
    fn step(&mut self, role: usize) {
        let (flow, now_ns, factor) = (self.flow, self.at_ns[role], self.factor[role]);
        let transfer_ns = flow.transfer_ns * factor;
        // Each side waits for its own semaphore and releases the other's.
        let of = |releases: bool| if releases { 1 - role } else { role };
        let (at_ns, next) = match self.steps[role] {
            Step::Look(looked) => {
                let semaphore = &mut self.semaphores[role];
                let seen_ns = semaphore.counts.read(role, now_ns, transfer_ns);
                if semaphore.permits == 0 && looked == 0 {
                    *if role == 0 { &mut self.passed.full } else { &mut self.passed.empty } += 1;
                }
                if semaphore.permits > 0 || looked == POLLS {
                    (seen_ns, Step::Lock { releases: false })
                } else {
                    (seen_ns + factor * flow.rest_ns(looked), Step::Look(looked + 1))
                }
            }
            Step::Lock { releases } => {
                let semaphore = &mut self.semaphores[of(releases)];
                if semaphore.locked {
                    // Polls the lock until it is free, then tries again.
                    let seen_ns = semaphore.lock.read(role, now_ns, transfer_ns);
                    (seen_ns + flow.hint_ns, Step::Lock { releases })
                } else {
                    semaphore.locked = true;
                    let taken_ns = semaphore.lock.write(role, now_ns, transfer_ns);
                    (taken_ns + factor * flow.call_ns / 2.0, Step::Inside { releases })
                }
            }
            Step::Inside { releases: false } => {
                let semaphore = &mut self.semaphores[role];
                let written_ns = semaphore.counts.write(role, now_ns, transfer_ns);
                if semaphore.permits == 0 {
                    semaphore.locked = false;
                    semaphore.sleeps = true;
                    self.passed.sleeps[role] += 1;
                    (written_ns, Step::Asleep)
                } else {
                    semaphore.permits -= 1;
                    (written_ns, Step::Unlock { releases: false })
                }
            }
            Step::Inside { releases: true } => {
                let semaphore = &mut self.semaphores[1 - role];
                let mut written_ns = semaphore.counts.write(role, now_ns, transfer_ns);
                if std::mem::take(&mut semaphore.sleeps) {
                    // The waiter wakes up while the lock is held, and has to take it.
                    self.steps[1 - role] = Step::Lock { releases: false };
                    self.at_ns[1 - role] = written_ns + flow.wake_ns;
                    written_ns += flow.waker_ns;
                }
                semaphore.permits += 1;
                (written_ns, Step::Unlock { releases: true })
            }
            Step::Unlock { releases } => {
                let semaphore = &mut self.semaphores[of(releases)];
                let written_ns = semaphore.lock.write(role, now_ns, transfer_ns);
                semaphore.locked = false;
                let left_ns = written_ns + factor * flow.call_ns / 2.0;
                (left_ns, if releases { Step::Look(0) } else { Step::Move })
            }
            Step::Move => {
                let moved_ns = now_ns + flow.message_lines * transfer_ns;
                self.passed.messages += u64::from(role == 1);
                self.passed.elapsed_ns = moved_ns;
                // The reference to the lock is stored with the counts.
                let found_ns = self.semaphores[1 - role].counts.read(role, moved_ns, transfer_ns);
                (found_ns, Step::Lock { releases: true })
            }
            Step::Asleep => (now_ns, Step::Asleep),
        };
        self.at_ns[role] = at_ns;
        self.steps[role] = next;
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::Timed;
    use super::*;

    const FLOW: SlimFlow = SlimFlow {
        capacity: 1,
        transfer_ns: 20.0,
        message_lines: 0.0,
        call_ns: 0.0,
        hint_ns: 10.0,
        yield_ns: 100.0,
        wake_ns: 2_000.0,
        waker_ns: 600.0,
    };

    fn run(flow: &SlimFlow, messages: u64, work: [f64; 2]) -> Passed {
        let mut costs = SlimCosts { work: &mut |role| work[role], factor: &mut || 1.0 };
        let mut schedule = Schedule { due_ns: &|_| 0.0, each: &mut |_| () };
        run_while(flow, &mut |passed| passed.messages < messages, &mut costs, &mut schedule)
    }

    #[test]
    fn every_message_is_taken_once_and_the_slower_side_sets_the_pace() {
        for capacity in [1, 10, 1_000] {
            for work in [[5_000.0, 10.0], [10.0, 5_000.0]] {
                let passed = run(&SlimFlow { capacity, ..FLOW }, 2_000, work);
                let per_message_ns = passed.elapsed_ns / passed.messages as f64;
                // Plus the line transfers of a message, and wake-ups and overlong pauses of the other side.
                assert!(
                    (5_000.0..6_500.0).contains(&per_message_ns),
                    "{capacity} {work:?}: {per_message_ns}"
                );
                // The faster side waits for almost every message.
                let waits = if work[0] > work[1] { passed.empty } else { passed.full };
                assert!(waits >= passed.messages - capacity - 2, "{passed:?}");
            }
        }
    }

    #[test]
    fn a_wait_longer_than_all_looks_is_slept_and_a_shorter_one_is_not() {
        // 10 + 65 pauses with hints, 65 yields: 160 + 56 … about 25 µs.
        let looks_ns = FLOW.looks_ns();
        let sleeps = |producer_ns: f64| run(&FLOW, 500, [producer_ns, 0.0]).sleeps;
        assert_eq!(sleeps(0.8 * looks_ns), [0, 0]);
        let [producer, consumer] = sleeps(1.5 * looks_ns);
        assert_eq!(producer, 0);
        assert!(consumer >= 498, "{consumer}");
    }

    #[test]
    fn with_one_place_a_hand_over_is_a_number_of_lines() {
        // Only line transfers cost time.
        let flow = SlimFlow { hint_ns: 1e-3, transfer_ns: 100.0, ..FLOW };
        let passed = run(&flow, 1_000, [0.0; 2]);
        let lines = passed.elapsed_ns / 1_000.0 / 100.0;
        assert!((6.0..16.0).contains(&lines), "{lines} transfers a message");
        let twice = run(&SlimFlow { transfer_ns: 200.0, ..flow }, 1_000, [0.0; 2]);
        assert!((twice.elapsed_ns / passed.elapsed_ns - 2.0).abs() < 0.1, "{}", twice.elapsed_ns);
    }

    #[test]
    fn no_message_is_sent_before_it_is_due_and_no_rate_passes_more_than_goes_without_one() {
        let received = |every_ns: f64| {
            let (mut late_ns, mut last_ns) = (0.0f64, 0.0);
            let mut costs = SlimCosts { work: &mut |_| 10.0, factor: &mut || 1.0 };
            let due_ns = |number: u64| number as f64 * every_ns;
            let mut each = |message: Timed| {
                assert!(message.sent_ns >= message.intended_ns && message.received_ns > message.sent_ns);
                (late_ns, last_ns) = (message.received_ns - message.intended_ns, message.received_ns);
            };
            let mut schedule = Schedule { due_ns: &due_ns, each: &mut each };
            run_while(&FLOW, &mut |passed| passed.messages < 5_000, &mut costs, &mut schedule);
            (late_ns, last_ns)
        };
        let closed_ns = run(&FLOW, 5_000, [10.0; 2]).elapsed_ns;
        let (_, flooded_ns) = received(closed_ns / 10_000.0);
        assert!((flooded_ns / closed_ns - 1.0).abs() < 0.02, "{flooded_ns} against {closed_ns}");
        let (late_ns, _) = received(2.0 * closed_ns / 5_000.0);
        assert!(late_ns < closed_ns / 5_000.0, "{late_ns}");
    }
}
