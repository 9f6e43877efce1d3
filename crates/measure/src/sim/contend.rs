//! The pattern of contention: threads compete for a line or for the lock on it.
//!
//! The simulation goes operation by operation. The line moves between owners. A thread that waits longer than it polls
//! sleeps and must be woken. Threads that share a CPU alternate with every quantum.

use crate::pricing::{QUANTUM_NS, SimContext};
use coretalk_model::CpuId;
use std::collections::BTreeMap;

/// The cost of one operation in machine events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContendCost {
    /// Line transfers from one owner to the next.
    pub transfers: f64,
    /// Line transfers per operation of an owner while others poll. The owner has to fetch back the line that they copy.
    pub disturbed: f64,
    /// Core cycles of an operation with a cached line.
    pub alone_cycles: f64,
    /// The order of owners.
    pub turn: Turn,
    /// Time in nanoseconds for which a thread polls before it sleeps. Infinite if it never sleeps.
    pub spin_limit_ns: f64,
    /// System calls per release, whether a thread sleeps or not.
    pub release_calls: f64,
    /// Whether the owner excludes others. A descheduled owner then delays all polling threads.
    pub keeps_out: bool,
}

/// The order of owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// No waiting.
    Apart,
    /// First come, first served.
    Arrival,
    /// The same thread up to this many times in a row while others wait. Then any waiter, preferably a near one.
    Nearest(u32),
}

/// The work of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sections {
    /// Inside the critical section.
    pub critical_ns: f64,
    /// Outside the critical section.
    pub parallel_ns: f64,
}

/// The result of a simulation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contended {
    /// Operations of each thread.
    pub operations: Vec<u64>,
    /// End of the last operation.
    pub elapsed_ns: f64,
    /// Changes of the owner.
    pub runs: u64,
    /// Changes requested before the previous owner had finished.
    pub crossed: u64,
    /// CPU time of each thread.
    pub busy_ns: Vec<f64>,
    /// Number of sleeps of each thread.
    pub sleeps: Vec<u64>,
}

/// Golden ratio. It spreads the phases of CPUs evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Minimum relative variation of parallel work. It keeps threads out of lockstep.
const OUT_OF_STEP: f64 = 0.15;

#[derive(Debug, Clone, Copy)]
struct Thread {
    cpu: CpuId,
    /// Time of the current or next request for a turn.
    wants_ns: f64,
    /// Time of the last wake-up; `None` after the next turn.
    woken_ns: Option<f64>,
    /// Index among the threads of its CPU, and the number of these threads.
    slot: [u32; 2],
    /// Initial phase of the rotation on the CPU.
    phase_ns: f64,
}

struct Simulation<'s, 'w> {
    stage: &'s mut dyn SimContext<'w>,
    cost: ContendCost,
    sections: Sections,
    threads: Vec<Thread>,
    travels_ns: Vec<Option<f64>>,
}

/// Simulates a span of time or a number of operations, whichever ends first. `acquire` receives the wait of each turn.
pub fn run(
    stage: &mut dyn SimContext<'_>,
    cost: ContendCost,
    sections: Sections,
    span_ns: f64,
    most: u64,
    acquire: &mut dyn FnMut(&mut dyn SimContext<'_>, f64),
) -> Contended {
    let placement = stage.placement();
    let mut on_cpu: BTreeMap<CpuId, u32> = BTreeMap::new();
    let mut slots: Vec<u32> = Vec::with_capacity(placement.len());
    for &cpu in placement {
        let before = on_cpu.entry(cpu).or_default();
        slots.push(*before);
        *before += 1;
    }
    let threads: Vec<Thread> = placement
        .iter()
        .zip(slots)
        .map(|(&cpu, slot)| {
            let slot = [slot, on_cpu[&cpu]];
            let phase_ns = f64::from(slot[1]) * QUANTUM_NS * (f64::from(cpu.0) * GOLDEN).fract();
            Thread { cpu, wants_ns: 0.0, woken_ns: None, slot, phase_ns }
        })
        .collect();
    let travels_ns = vec![None; threads.len() * threads.len()];
    let mut simulation = Simulation { stage, cost, sections, threads, travels_ns };
    simulation.stagger();
    match cost.turn {
        Turn::Apart => simulation.apart(span_ns, most, acquire),
        _ => simulation.in_turn(span_ns, most, acquire),
    }
}

impl Simulation<'_, '_> {
    fn alone_ns(&self, thread: usize) -> f64 {
        self.cost.alone_cycles * self.stage.cycle_ns(self.threads[thread].cpu)
    }

    fn travel_ns(&mut self, from: usize, to: usize) -> f64 {
        let (stage, transfers) = (&*self.stage, self.cost.transfers);
        let [from_cpu, to_cpu] = [from, to].map(|thread| self.threads[thread].cpu);
        *self.travels_ns[from * self.threads.len() + to]
            .get_or_insert_with(|| transfers * stage.transfer_ns(from_cpu, to_cpu))
    }

    fn stagger(&mut self) {
        let count = self.threads.len() as f64;
        let round_ns = self.sections.critical_ns + self.sections.parallel_ns + 1.0;
        for index in 0..self.threads.len() {
            self.threads[index].wants_ns = self.on_cpu(index, round_ns * index as f64 / count);
        }
    }

    /// Whether threads on one CPU delay each other by quanta. Sleepers free the CPU. Without mutual exclusion each
    /// thread gets its share of the CPU.
    fn rotates_by_quanta(&self) -> bool {
        self.cost.keeps_out && self.cost.spin_limit_ns == f64::INFINITY
    }

    /// First time at or after `at_ns` at which a thread has its CPU.
    fn on_cpu(&self, thread: usize, at_ns: f64) -> f64 {
        let [slot, sharers] = self.threads[thread].slot.map(f64::from);
        if sharers == 1.0 || !self.rotates_by_quanta() {
            return at_ns;
        }
        let round_ns = sharers * QUANTUM_NS;
        let offset_ns = (at_ns + self.threads[thread].phase_ns).rem_euclid(round_ns);
        let [begin, end] = [slot * QUANTUM_NS, (slot + 1.0) * QUANTUM_NS];
        match offset_ns {
            _ if offset_ns < begin => at_ns + (begin - offset_ns),
            _ if offset_ns < end => at_ns,
            _ => at_ns + (round_ns - offset_ns) + begin,
        }
    }

    fn work_end_ns(&self, thread: usize, at_ns: f64, mut work_ns: f64) -> f64 {
        let sharers = f64::from(self.threads[thread].slot[1]);
        if sharers == 1.0 {
            return at_ns + work_ns;
        }
        if !self.rotates_by_quanta() {
            return at_ns + work_ns * sharers;
        }
        let mut now_ns = self.on_cpu(thread, at_ns);
        loop {
            let left_ns = QUANTUM_NS - (now_ns + self.threads[thread].phase_ns).rem_euclid(QUANTUM_NS);
            if work_ns < left_ns {
                return now_ns + work_ns;
            }
            work_ns -= left_ns;
            // Slightly beyond the end of this quantum, so that the next quantum is found.
            now_ns = self.on_cpu(thread, now_ns + left_ns + 1e-3);
        }
    }

    fn apart(
        self,
        span_ns: f64,
        most: u64,
        acquire: &mut dyn FnMut(&mut dyn SimContext<'_>, f64),
    ) -> Contended {
        let count = self.threads.len();
        let each = (most / count as u64).max(1);
        let mut out = Contended::for_threads(count);
        let mut lasted_ns = Vec::with_capacity(count);
        for thread in 0..count {
            let began_ns = self.threads[thread].wants_ns;
            let mut now_ns = began_ns;
            while out.operations[thread] < each && now_ns < span_ns {
                let alone_ns = self.alone_ns(thread);
                let own_ns = self.stage.event(alone_ns);
                acquire(self.stage, own_ns);
                let sections_ns = self.stage.event(self.sections.critical_ns + self.sections.parallel_ns);
                now_ns = self.work_end_ns(thread, now_ns, own_ns + sections_ns);
                out.operations[thread] += 1;
                out.busy_ns[thread] += own_ns + sections_ns;
            }
            lasted_ns.push(now_ns - began_ns);
            out.elapsed_ns = out.elapsed_ns.max(now_ns - began_ns);
        }
        // Threads on CPUs of their own continue while others share one.
        for (thread, lasted_ns) in
            lasted_ns.into_iter().enumerate().filter(|(_, lasted_ns): &(usize, f64)| *lasted_ns > 0.0)
        {
            let times = out.elapsed_ns / lasted_ns;
            out.operations[thread] = (out.operations[thread] as f64 * times).round() as u64;
            out.busy_ns[thread] *= times;
        }
        out.runs = count as u64;
        out
    }

    fn in_turn(
        mut self,
        span_ns: f64,
        most: u64,
        acquire: &mut dyn FnMut(&mut dyn SimContext<'_>, f64),
    ) -> Contended {
        let mut out = Contended::for_threads(self.threads.len());
        let (mut free_ns, mut owner, mut in_row) = (0.0f64, None::<usize>, 0u32);
        for _ in 0..most {
            let Some((thread, take_ns, travel_ns)) = self.next(free_ns, owner, in_row) else { break };
            let requested_ns = self.threads[thread].wants_ns;
            let take_ns = take_ns + self.stage.event(travel_ns) - travel_ns;
            acquire(self.stage, take_ns - requested_ns);
            in_row = if owner == Some(thread) { in_row + 1 } else { 1 };
            let changes = owner != Some(thread);
            out.runs += u64::from(changes);
            out.crossed += u64::from(changes && owner.is_some() && requested_ns < free_ns);
            let mut inside_ns = self.alone_ns(thread) + self.sections.critical_ns;
            if !changes && self.cost.disturbed > 0.0 {
                inside_ns += self.disturbed_ns(thread, take_ns);
            }
            let inside_ns = self.stage.event(inside_ns);
            free_ns = self.work_end_ns(thread, take_ns, inside_ns);
            let out_of_step = 1.0 + OUT_OF_STEP * (2.0 * self.stage.unit() - 1.0);
            let release_ns = self.cost.release_calls * self.stage.costs().syscall_ns;
            let mut outside_ns = self.stage.event(self.sections.parallel_ns * out_of_step + release_ns);
            self.threads[thread].woken_ns = None;
            owner = Some(thread);
            // The thread does not wait for the line that it has just released.
            self.threads[thread].wants_ns = free_ns;
            outside_ns += self.wake_one(free_ns, &mut out);
            self.threads[thread].wants_ns = self.work_end_ns(thread, free_ns, outside_ns);
            out.operations[thread] += 1;
            let waited_ns = (take_ns - requested_ns).min(self.cost.spin_limit_ns);
            out.busy_ns[thread] += waited_ns + inside_ns + outside_ns;
            out.elapsed_ns = free_ns;
            if free_ns > span_ns {
                break;
            }
        }
        out
    }

    /// Cost per operation of an owner, caused by the nearest thread that polls its line.
    fn disturbed_ns(&mut self, owner: usize, now_ns: f64) -> f64 {
        let mut nearest_ns = f64::INFINITY;
        for index in (0..self.threads.len()).filter(|&index| index != owner) {
            let thread = self.threads[index];
            let arrived_ns = thread.woken_ns.unwrap_or(thread.wants_ns);
            if arrived_ns <= now_ns && now_ns - arrived_ns <= self.cost.spin_limit_ns {
                nearest_ns = nearest_ns.min(self.travel_ns(index, owner));
            }
        }
        // The cached time covers all transfers of a hand-off.
        if nearest_ns.is_finite() { nearest_ns * self.cost.disturbed / self.cost.transfers } else { 0.0 }
    }

    /// Wakes the longest sleeper, unless a woken thread has yet to take its turn. Returns the waker's cost.
    fn wake_one(&mut self, now_ns: f64, out: &mut Contended) -> f64 {
        if self.threads.iter().any(|thread| thread.woken_ns.is_some()) {
            return 0.0;
        }
        let asleep = |thread: &Thread| now_ns - thread.wants_ns > self.cost.spin_limit_ns;
        let longest = (0..self.threads.len())
            .filter(|&index| asleep(&self.threads[index]))
            .min_by(|&a, &b| self.threads[a].wants_ns.total_cmp(&self.threads[b].wants_ns));
        let Some(index) = longest else { return 0.0 };
        let costs = self.stage.costs();
        let slept_ns = now_ns - self.threads[index].wants_ns - self.cost.spin_limit_ns;
        let wake_ns = costs.wake_ns + self.stage.idle_exit_ns(slept_ns) + costs.syscall_ns;
        self.threads[index].woken_ns = Some(now_ns + self.stage.event(wake_ns));
        out.sleeps[index] += 1;
        costs.syscall_ns + costs.wake_ns / 3.0
    }

    /// The next owner, its start, and the part of the wait in which the line moved.
    fn next(&mut self, free_ns: f64, owner: Option<usize>, in_row: u32) -> Option<(usize, f64, f64)> {
        let mut best: Option<(f64, usize, f64, f64)> = None;
        let mut repeated: Option<(usize, f64, f64)> = None;
        for index in 0..self.threads.len() {
            let thread = self.threads[index];
            let arrived_ns = match thread.woken_ns {
                Some(woken_ns) => woken_ns,
                None if free_ns - thread.wants_ns > self.cost.spin_limit_ns => continue,
                None => thread.wants_ns,
            };
            let from = owner.unwrap_or(index);
            let travel_ns = if owner == Some(index) { 0.0 } else { self.travel_ns(from, index) };
            let take_ns = self.on_cpu(index, arrived_ns.max(free_ns)) + travel_ns;
            let rank_ns = match self.cost.turn {
                Turn::Arrival => arrived_ns,
                _ => take_ns,
            };
            // After its maximum number of turns in a row, a thread ranks behind all waiting threads.
            if let Turn::Nearest(most) = self.cost.turn
                && owner == Some(index)
                && in_row >= most
            {
                repeated = Some((index, take_ns, travel_ns));
                continue;
            }
            if best.is_none_or(|(rank, ..)| rank_ns < rank) {
                best = Some((rank_ns, index, take_ns, travel_ns));
            }
        }
        let best = best.map(|(_, index, take_ns, travel_ns)| (index, take_ns, travel_ns));
        let best = match (self.cost.turn, best) {
            (Turn::Nearest(_), Some((index, ..))) if owner != Some(index) => {
                self.draw(free_ns, owner).or(best)
            }
            _ => best,
        };
        match (best, repeated) {
            (Some(other), Some(repeated)) if other.1 - other.2 > repeated.1 => Some(repeated),
            (None, repeated) => repeated,
            (best, _) => best,
        }
    }
}

impl Simulation<'_, '_> {
    /// Draws a waiting thread when the owner releases the line, weighted by the speed of the transfer. If the nearest
    /// thread always won, two neighbours would exclude all others forever. No known machine does this.
    fn draw(&mut self, free_ns: f64, owner: Option<usize>) -> Option<(usize, f64, f64)> {
        let owner = owner?;
        let mut waiting: Vec<(usize, f64, f64)> = Vec::new();
        for index in (0..self.threads.len()).filter(|&index| index != owner) {
            let thread = self.threads[index];
            let awake = thread.woken_ns.is_some() || free_ns - thread.wants_ns <= self.cost.spin_limit_ns;
            let arrived_ns = thread.woken_ns.unwrap_or(thread.wants_ns);
            if awake && arrived_ns <= free_ns && self.on_cpu(index, free_ns) == free_ns {
                let travel_ns = self.travel_ns(owner, index);
                waiting.push((index, free_ns + travel_ns, travel_ns));
            }
        }
        let chance = |travel_ns: f64| 1.0 / travel_ns.max(1.0);
        let all: f64 = waiting.iter().map(|&(.., travel_ns)| chance(travel_ns)).sum();
        let mut ticket = match waiting.len() {
            0 | 1 => 0.0,
            _ => self.stage.unit() * all,
        };
        let last = waiting.last().copied();
        let found = waiting.into_iter().find(|&(.., travel_ns)| {
            ticket -= chance(travel_ns);
            ticket < 0.0
        });
        found.or(last)
    }
}

impl Contended {
    fn for_threads(threads: usize) -> Contended {
        Contended {
            operations: vec![0; threads],
            busy_ns: vec![0.0; threads],
            sleeps: vec![0; threads],
            ..Contended::default()
        }
    }

    /// Operations of all threads.
    pub fn total(&self) -> u64 {
        self.operations.iter().sum()
    }
}
