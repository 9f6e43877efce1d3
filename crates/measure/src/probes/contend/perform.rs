//! One pass of a trial on real threads: a phase without a clock in the loop, then a phase with it.

use super::observation::{ContendObservation, Memory, acquired, rates, verify};
use super::trials::{ContendConfig, STAMPED_SHARE};
use crate::counter;
use crate::counters::catalogue::{CounterTask, METHODS, MethodKind};
use crate::counters::{Counter, Setup, Step, atomic};
use crate::kernel_context::Halt;
use crate::room;
use crate::series::{PATIENCE, TrialOrder};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{CachePadded, RoleContext, TrialContext};
use coretalk_model::series::{Observed, TrialSpec};
use coretalk_model::{CpuId, Flag, Picos, TrialFailure};
use std::collections::BTreeMap;
use std::hint::black_box;

/// Additional time limit per thread on the most crowded CPU: about ten quanta of 3 ms.
const PATIENCE_PER_THREAD: Picos = Picos::from_ms(30);
/// Warm-up as a share of a phase, at most 5 ms. All threads are loaded when the windows begin.
const WARM_SHARE: f64 = 0.1;
const MAX_WARM_NS: f64 = 5e6;
/// Intended time between two clock reads. A read costs 0.2 % of it.
const BATCH_NS: f64 = 10_000.0;
const MAX_BATCH: u32 = 1 << 20;
const MAX_BATCH_ON_SHARED_CPU: u32 = 8;
/// Length of the windows for short-time fairness.
const PART_NS: f64 = 1e6;

/// What this machine lacks for a trial: an instruction, or room for threads.
pub fn lacks(spec: &TrialSpec) -> Option<String> {
    // Only the first x86-64 CPUs lack it. On other architectures a lock replaces the method, and the legend says so.
    let name = spec.parameters.text("method");
    let is_wide = || METHODS.iter().any(|method| method.kind == MethodKind::Wide && name == Some(method.id));
    if cfg!(target_arch = "x86_64") && !atomic::is_native() && is_wide() {
        return Some("CMPXCHG16B".to_owned());
    }
    room::lacking_for_threads(spec.placement.len())
}

pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    // A plan of another version may hold unknown names.
    let config = ContendConfig::from_spec(order.spec)?;
    config.method.kind.run(ContendPass { context, config, span: order.span })
}

/// Addresses of a thread's loops for a method: without a clock, and with one around each addition.
pub fn loops(method: MethodKind) -> [usize; 2] {
    struct Loops;
    impl CounterTask for Loops {
        type Output = [usize; 2];
        fn with<C: Counter>(self) -> [usize; 2] {
            [act::<C, false> as *const (), act::<C, true> as *const ()].map(|at| at as usize)
        }
    }
    method.run(Loops)
}

/// One pass with any counter.
pub struct ContendPass<'a> {
    /// Threads of the trial.
    pub context: &'a TrialContext<'a>,
    /// Parameters of the trial.
    pub config: ContendConfig,
    /// Length of the pass.
    pub span: Picos,
}

struct Plan {
    sections_ticks: [f64; 2],
    warm_ticks: u64,
    span_ticks: u64,
    batch_ticks: u64,
    part_ticks: u64,
}

#[derive(Default)]
struct Shared {
    /// Steps of the critical and the parallel section, calibrated by the first thread.
    steps: CachePadded<[AtomicU64; 2]>,
    finished: CachePadded<AtomicU64>,
}

impl CounterTask for ContendPass<'_> {
    type Output = Result<Observed, TrialFailure>;
    fn with<C: Counter>(self) -> Result<Observed, TrialFailure> {
        self.perform::<C>()
    }
}

impl ContendPass<'_> {
    /// Performs the pass with this counter.
    pub fn perform<C: Counter>(&self) -> Result<Observed, TrialFailure> {
        let rate = self.context.rate();
        let (plain, plain_memory) = self.run_phase::<C, false>(1.0 - STAMPED_SHARE)?;
        let (stamped, stamped_memory) = self.run_phase::<C, true>(STAMPED_SHARE)?;
        let mut observed = Observed::default();
        rates(&mut observed, &plain, rate);
        acquired(&mut observed, &stamped, rate);
        verify(&mut observed, &self.config, &[(&plain, plain_memory), (&stamped, stamped_memory)]);
        if self.max_threads_per_cpu() > 1 && self.config.spins() {
            observed.flags.set(Flag::SharedSpin);
        }
        Ok(observed)
    }

    fn max_threads_per_cpu(&self) -> u64 {
        let mut threads: BTreeMap<CpuId, u64> = BTreeMap::new();
        for &cpu in self.context.cpus() {
            *threads.entry(cpu).or_default() += 1;
        }
        threads.into_values().max().unwrap_or(0)
    }

    fn run_phase<C: Counter, const STAMPED: bool>(
        &self,
        share: f64,
    ) -> Result<(Vec<ContendObservation>, Memory), TrialFailure> {
        let rate = self.context.rate();
        let setup = Setup { threads: self.context.cpus().len(), read_share: self.config.read_share };
        let counter = CachePadded(C::new(&setup));
        let shared = Shared::default();
        let span_ns = self.span.ns() * share;
        let warm_ns = (span_ns * WARM_SHARE).min(MAX_WARM_NS);
        let ticks = |ns: f64| rate.ticks(ns) as u64;
        let plan = Plan {
            sections_ticks: self.config.sections_ns.map(|ns| rate.ticks(ns)),
            warm_ticks: ticks(warm_ns),
            span_ticks: ticks(span_ns - warm_ns),
            batch_ticks: ticks(BATCH_NS),
            part_ticks: ticks(PART_NS),
        };
        let limit = self.span + PATIENCE + Picos(PATIENCE_PER_THREAD.0 * self.max_threads_per_cpu());
        let run_role = |role: &RoleContext<'_>| {
            act::<C, STAMPED>(role, &counter.0, &shared, &plan, setup.threads as u64)
        };
        // A lock holder releases the lock before it checks whether to continue. So no thread sleeps forever.
        let observations = self.context.run(limit, run_role, || ())?;
        Ok((observations, Memory { total: counter.0.total(), sound: counter.0.is_sound() }))
    }
}

/// One thread: warms up, measures, and keeps up the load until all windows are over. Not inlined, so that `probes
/// --asm` shows the code that ran.
#[inline(never)]
fn act<C: Counter, const STAMPED: bool>(
    role: &RoleContext<'_>,
    counter: &C,
    shared: &Shared,
    plan: &Plan,
    threads: u64,
) -> Result<ContendObservation, Halt> {
    if role.number == 0 {
        let step = step_ticks();
        for (steps, ticks) in shared.steps.iter().zip(plan.sections_ticks) {
            // Relaxed: the barrier orders this before the reads of the other threads.
            steps.store((ticks / step).round() as u64, Relaxed);
        }
    }
    let mut observation = ContendObservation {
        acquire: STAMPED.then(TickHistogram::new),
        ordered: true,
        // Twice the window, since a thread that shares its CPU may end late.
        parts: Vec::with_capacity(2 * (plan.span_ticks / plan.part_ticks) as usize + 16),
        ..ContendObservation::default()
    };
    role.wait_for_all()?;
    let [critical, parallel] = [0, 1].map(|section| shared.steps[section].load(Relaxed) as u32);
    let mut worker: Worker<'_, '_, C> =
        Worker { role, counter, handle: counter.handle(role.number), critical, parallel, next: 0 };
    let mut batch = 1u32;
    let warm_until = counter::now_ticks() + plan.warm_ticks;
    let mut last = counter::now_ticks();
    while last < warm_until {
        worker.work::<false>(batch, &mut observation)?;
        last = worker.choose_batch(last, &mut batch, plan.batch_ticks)?;
    }
    let (cpu_ns, switches) = (role.cpu_ns(), role.switches());
    observation.window[0] = counter::now_ticks();
    last = observation.window[0];
    while last - observation.window[0] < plan.span_ticks {
        worker.work::<STAMPED>(batch, &mut observation)?;
        observation.operations += u64::from(batch);
        let made = batch;
        last = worker.choose_batch(last, &mut batch, plan.batch_ticks)?;
        let index = ((last - observation.window[0]) / plan.part_ticks) as usize;
        if index < observation.parts.capacity() {
            if index >= observation.parts.len() {
                observation.parts.resize(index + 1, 0);
            }
            observation.parts[index] += made;
        }
    }
    observation.window[1] = last;
    observation.cpu_ns = cpu_ns.zip(role.cpu_ns()).map(|(before, after)| after.saturating_sub(before));
    let since = |[a, b]: [[u32; 2]; 2]| [0, 1].map(|kind| b[kind].saturating_sub(a[kind]));
    observation.switches = switches.zip(role.switches()).map(|(before, after)| since([before, after]));
    // AcqRel and Acquire: a thread that sees all windows finished may leave. No other data depends on the count.
    shared.finished.fetch_add(1, AcqRel);
    while shared.finished.load(Acquire) < threads {
        worker.work::<false>(batch, &mut observation)?;
        last = worker.choose_batch(last, &mut batch, plan.batch_ticks)?;
        // A thread on the same CPU may not have begun its window.
        role.give_way();
    }
    Ok(observation)
}

struct Worker<'a, 'b, C: Counter + 'a> {
    role: &'a RoleContext<'b>,
    counter: &'a C,
    handle: C::Handle<'a>,
    critical: u32,
    parallel: u32,
    /// The number that the next addition finds, unless another thread adds in between.
    next: u64,
}

impl<C: Counter> Worker<'_, '_, C> {
    #[inline(always)]
    fn work<const STAMPED: bool>(
        &mut self,
        operations: u32,
        observation: &mut ContendObservation,
    ) -> Result<(), Halt> {
        let (critical, guard) = (self.critical, self.role.guard);
        for _ in 0..operations {
            let step = if STAMPED {
                let requested = counter::start();
                let mut acquired = requested;
                let step = self.counter.step(&mut self.handle, guard, || {
                    acquired = counter::stop();
                    work(critical);
                })?;
                if let Some(tally) = &mut observation.acquire {
                    tally.count(acquired - requested);
                }
                step
            } else {
                self.counter.step(&mut self.handle, guard, || work(critical))?
            };
            match step {
                Step::Added(before) => {
                    observation.added += 1;
                    observation.runs += u64::from(before != self.next || before == 0);
                    self.next = before + 1;
                }
                Step::AddedSomewhere => {
                    observation.added += 1;
                    observation.ordered = false;
                }
                Step::Looked => {}
            }
            work(self.parallel);
        }
        Ok(())
    }

    /// Reads the clock and chooses the length of the batch until the next read.
    #[inline(always)]
    fn choose_batch(&self, last: u64, batch: &mut u32, batch_ticks: u64) -> Result<u64, Halt> {
        let now = counter::now_ticks();
        self.role.guard.check_at(now)?;
        let took = now.saturating_sub(last);
        if took < batch_ticks / 2 {
            // Threads that share CPUs may wait for a quantum in every operation.
            *batch = batch.saturating_mul(2).min(if self.role.shared {
                MAX_BATCH_ON_SHARED_CPU
            } else {
                MAX_BATCH
            });
        } else if took > batch_ticks * 2 {
            *batch = (*batch / 2).max(1);
        }
        Ok(now)
    }
}

/// Steps of one calibration run: tens of microseconds.
const STEPS: u32 = 20_000;
/// Calibration runs. The fastest counts, since an interrupt can only lengthen a run.
const RUNS: usize = 5;

/// Executes this many dependent steps in registers only. Their times add up.
#[inline(always)]
pub fn work(steps: u32) {
    if steps == 0 {
        return;
    }
    let mut value = black_box(1u64);
    for _ in 0..steps {
        // The multiplier of Knuth's MMIX generator. No compiler shortens the chain.
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
}

/// Current duration of one step on this CPU, in ticks.
pub fn step_ticks() -> f64 {
    let runs = (0..RUNS).map(|_| {
        let began = counter::start();
        work(STEPS);
        counter::stop() - began
    });
    runs.min().unwrap_or(0).max(1) as f64 / f64::from(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_a_step_has_a_length() {
        let step = step_ticks();
        assert!(step > 0.0 && step.is_finite());
        work(0);
    }
}
