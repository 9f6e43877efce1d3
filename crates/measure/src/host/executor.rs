//! [`HostExecutor`]: runs a pass of a trial in new pinned threads. [`TrialRunner`]: runs passes of several trials.

use super::clock::sources;
use super::evidence::Switches;
use super::priority::{self, Priority};
use super::{affinity, core_clock, evidence};
use crate::counter;
use crate::kernel_context::{Guard, Halt};
use crate::series::TrialOrder;
use crate::stop::Stop;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::{Executor, RoleContext, RoleOrder, SpinBarrier, TrialContext};
use coretalk_model::series::{PassOutcome, RoleEvidence};
use coretalk_model::{CpuId, CpuSet, Picos, TickRate, Topology, TrialFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

const UNBLOCK_INTERVAL: Duration = Duration::from_millis(1);

/// Time after which threads of a given-up pass may run on any CPU. A thread of real-time priority may occupy their CPU.
/// Then they would never notice that they have to leave.
const RELEASED_AFTER: Duration = Duration::from_secs(2);

/// Creates new threads for each pass. They cost 0.1 ms and carry no state of another trial.
#[derive(Debug)]
pub struct HostExecutor<'a> {
    pub rate: TickRate,
    pub priority: Priority,
    pub stop: &'a Stop,
}

impl Executor for HostExecutor<'_> {
    fn run(&self, order: &RoleOrder<'_>) -> Result<Vec<RoleEvidence>, TrialFailure> {
        let halt = AtomicU64::new(0);
        let guard = Guard {
            halt: &halt,
            deadline_ticks: counter::now_ticks() + self.rate.ticks(order.limit.ns()) as u64,
            now_ticks: counter::now_ticks,
        };
        let barrier = SpinBarrier::new(order.cpus.len());
        let cpu_losses = CpuLosses::default();
        let distinct_cpus = order.cpus.iter().collect::<BTreeSet<_>>().len() == order.cpus.len();
        std::thread::scope(|scope| {
            let mut running = Vec::with_capacity(order.cpus.len());
            for (number, &cpu) in order.cpus.iter().enumerate() {
                let (guard, barrier, cpu_losses) = (&guard, &barrier, &cpu_losses);
                let thread_body = move || {
                    cpu_losses.begin(number);
                    let role = RoleContext::new(number, cpu, guard, !distinct_cpus, barrier, self);
                    let outcome = self.run_role(&role, order.body, distinct_cpus);
                    if outcome.is_err() {
                        guard.give_up(Halt::Partner);
                    }
                    cpu_losses.end(number);
                    outcome
                };
                let started = std::thread::Builder::new()
                    .name(format!("role {number}"))
                    .spawn_scoped(scope, thread_body);
                match started {
                    Ok(thread) => running.push((cpu, thread)),
                    Err(error) => {
                        guard.give_up(Halt::Partner);
                        self.watch(order, guard, cpu_losses, running.len());
                        return Err(not_started(order.cpus.len(), &error));
                    }
                }
            }
            self.watch(order, &guard, &cpu_losses, running.len());
            let lost = |cpu| TrialFailure::PartnerLost { cpu };
            let outcomes: Vec<_> = running
                .into_iter()
                .map(|(cpu, thread)| thread.join().unwrap_or_else(|_| Err(lost(cpu))))
                .collect();
            // A refused pin explains the failures of the other roles.
            let refused = outcomes.iter().find(|it| matches!(it, Err(TrialFailure::NotPinned { .. })));
            match refused {
                Some(Err(failure)) => Err(failure.clone()),
                _ => outcomes.into_iter().collect(),
            }
        })
    }

    fn switches(&self) -> Option<[u32; 2]> {
        Switches::of_this_thread().map(|switches| [switches.voluntary, switches.involuntary])
    }

    fn cpu_ns(&self) -> Option<u64> {
        thread_cpu_ns()
    }

    fn current_cpu(&self) -> Option<CpuId> {
        affinity::current_cpu().ok()
    }

    fn set_mask(&self, cpus: &CpuSet) -> Result<(), i32> {
        affinity::set_mask(cpus).map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    }
}

/// The failure of a pass if one of its `threads` threads could not be started.
pub fn not_started(threads: usize, error: &std::io::Error) -> TrialFailure {
    let threads = if threads == 1 { "a thread".to_owned() } else { format!("one of {threads} threads") };
    TrialFailure::refused(&format!("start {threads}"), error.raw_os_error().unwrap_or_default())
}

impl HostExecutor<'_> {
    fn run_role(
        &self,
        role: &RoleContext<'_>,
        body: &(dyn Fn(&RoleContext<'_>) + Sync),
        distinct_cpus: bool,
    ) -> Result<RoleEvidence, TrialFailure> {
        let cpu = role.cpu;
        affinity::pin_current_thread(cpu)
            .map_err(|error| TrialFailure::NotPinned { cpu, errno: error.errno() })?;
        // A refused priority was reported when the workers were engaged. The thread runs without it.
        let _ = priority::apply(self.priority);
        // Roles that share a CPU would disturb each other's probe.
        let probe = || core_clock::probe(self.rate).filter(|_| distinct_cpus).map(|ghz| ghz as f32);
        let ghz_before = probe();
        let (switches, cpu_ns) = (Switches::of_this_thread(), thread_cpu_ns());
        let ended = catch_unwind(AssertUnwindSafe(|| body(role)));
        let spent = cpu_ns.zip(thread_cpu_ns()).map(|(before, after)| after.saturating_sub(before));
        let since = switches.zip(Switches::of_this_thread()).map(|(before, after)| after.since(before));
        ended.map_err(|_| TrialFailure::PartnerLost { cpu })?;
        let ghz = ghz_before.and_then(|before| Some([before, probe()?]));
        Ok(RoleEvidence {
            cpu_ns: spent,
            voluntary: since.map(|since| since.voluntary),
            involuntary: since.map(|since| since.involuntary),
            core_ghz: ghz,
            migrated: !is_on(cpu),
        })
    }

    /// Sleeps until all roles have left. Tells them to leave on stop or at the deadline.
    fn watch(&self, order: &RoleOrder<'_>, guard: &Guard<'_>, cpu_losses: &CpuLosses, roles: usize) {
        let mut nap = Duration::from_nanos(order.nap.ns() as u64);
        let mut given_up = None;
        while !cpu_losses.wait_for_all(roles, nap) {
            if self.stop.is_raised() {
                guard.give_up(Halt::Stopped);
            }
            if counter::now_ticks() > guard.deadline_ticks {
                guard.give_up(Halt::Deadline);
            }
            // Relaxed: only the flag matters. `unblock` reads nothing that the roles wrote.
            if guard.halt.load(Relaxed) != 0 {
                (order.unblock)();
                nap = UNBLOCK_INTERVAL;
                if given_up.get_or_insert_with(Instant::now).elapsed() > RELEASED_AFTER {
                    cpu_losses.release();
                }
            }
        }
    }
}

#[derive(Debug, Default)]
struct CpuLosses {
    roles: Mutex<RoleThreads>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct RoleThreads {
    departed: usize,
    /// Thread ids by role. An id is removed before its thread ends, since the id may be reused.
    present: BTreeMap<usize, i32>,
}

impl CpuLosses {
    fn roles(&self) -> MutexGuard<'_, RoleThreads> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, role: usize) {
        self.roles().present.insert(role, affinity::current_thread());
    }

    fn end(&self, role: usize) {
        let mut roles = self.roles();
        roles.present.remove(&role);
        roles.departed += 1;
        self.changed.notify_all();
    }

    /// Lets the threads of the remaining roles run on the CPUs of the calling thread.
    fn release(&self) {
        let Ok(mask) = affinity::current_mask() else { return };
        for &thread in self.roles().present.values() {
            let _ = affinity::set_mask_of(thread, &mask);
        }
    }

    fn wait_for_all(&self, roles: usize, nap: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.roles(), nap, |it| it.departed < roles);
        waited.unwrap_or_else(PoisonError::into_inner).0.departed >= roles
    }
}

fn is_on(cpu: CpuId) -> bool {
    let is_pinned = affinity::current_mask().is_ok_and(|mask| mask.len() == 1 && mask.contains(cpu));
    is_pinned && affinity::current_cpu().is_ok_and(|found| found == cpu)
}

fn thread_cpu_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Facts of the machine for passes. They are `Copy`, so that several threads can each coordinate a pass.
#[derive(Debug, Clone, Copy)]
pub struct TrialRunner<'a> {
    pub topology: &'a Topology,
    pub rate: TickRate,
    pub clock_ns: f64,
    pub priority: Priority,
    pub guest: bool,
    pub opened: Picos,
    pub coordinator_shared: bool,
    pub others: u32,
}

impl TrialRunner<'_> {
    pub fn perform(&self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let executor = HostExecutor { rate: self.rate, priority: self.priority, stop };
        let cpus = &order.spec.placement;
        let context = TrialContext::new(&executor, cpus, self.rate, self.clock_ns)
            .in_guest(self.guest)
            .with_topology(self.topology);
        let (started, before) = (self.now(), evidence::cpu_times());
        let observed = order.probe.perform(&context, order)?;
        let spent = before.and_then(|before| Some(evidence::cpu_times()?.since(&before)));
        let stolen = spent.and_then(|spent| spent.stolen_ms(&cpus.iter().copied().collect()));
        Ok(PassOutcome {
            started,
            elapsed: self.now().saturating_sub(started),
            observed,
            roles: context.evidence(),
            steal_ms: stolen.map(|ms| ms as f32),
            coordinator_shared: self.coordinator_shared,
            concurrent: self.others,
            others_busy: false,
            quota: false,
            sentinel_ns: None,
            process: None,
        })
    }

    /// Performs one pass of each trial at the same time. Each trial has a coordinating thread that mostly sleeps. It
    /// inherits the affinity of the calling thread, which excludes measured CPUs where possible.
    pub fn perform_all(
        &self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        std::thread::scope(|scope| {
            let begin = |order| {
                let coordinator = Builder::new().name("coordinator".to_owned());
                coordinator.spawn_scoped(scope, move || self.perform(order, stop))
            };
            let begun: Vec<_> = orders.iter().map(begin).collect();
            let ended = begun.into_iter().zip(orders).map(|(thread, order)| {
                let cpu = order.spec.placement.first().copied().unwrap_or(CpuId(0));
                let thread = thread.map_err(|error| not_started(orders.len(), &error))?;
                thread.join().unwrap_or(Err(TrialFailure::PartnerLost { cpu }))
            });
            ended.collect()
        })
    }

    fn now(&self) -> Picos {
        sources::monotonic().saturating_sub(self.opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::ends::{Ends, Implementation, NoMessage, QueueParameters, Receiver, Refusal};
    use crate::queues::exchange::{RoleSettings, roles};
    use crate::queues::limits::RoleLimits;
    use crate::queues::message::Message;
    use crate::queues::spsc::Spsc;
    use crate::trial_context::TrialContext;
    use coretalk_model::Picos;

    fn run<R: Send>(
        cpus: &[CpuId],
        stop: &Stop,
        limit: Picos,
        run_role: impl Fn(&RoleContext<'_>) -> Result<R, Halt> + Sync,
    ) -> Result<Vec<R>, TrialFailure> {
        let executor = HostExecutor { rate: TickRate { hz: 1e9 }, priority: Priority::Inherited, stop };
        TrialContext::new(&executor, cpus, executor.rate, 0.0).run(limit, run_role, || ())
    }

    fn here() -> CpuId {
        affinity::current_mask().unwrap().first().unwrap()
    }

    #[test]
    fn roles_meet_even_on_one_cpu_and_answer_in_order() {
        let outcome = run(&[here(); 3], &Stop::new(), Picos::from_ms(60_000), |role| {
            role.wait_for_all()?;
            Ok((role.number, affinity::current_cpu().unwrap()))
        });
        assert_eq!(outcome.unwrap(), [0, 1, 2].map(|number| (number, here())));
    }

    #[test]
    fn a_role_whose_partner_never_comes_leaves_at_the_limit() {
        let limit = Picos::from_ms(50);
        let waiting = run(&[here(); 2], &Stop::new(), limit, |role| match role.number {
            0 => role.wait_for_all(),
            _ => Ok(()),
        });
        assert_eq!(waiting, Err(TrialFailure::TimedOut { limit }));
    }

    #[test]
    fn a_raised_stop_interrupts_and_a_refused_cpu_is_named() {
        let stop = Stop::new();
        stop.raise();
        let interrupted = run(&[here()], &stop, Picos::from_ms(60_000), |role| {
            loop {
                role.guard.check()?;
            }
        });
        assert_eq!(interrupted, Err::<Vec<()>, _>(TrialFailure::Interrupted));
        let refused =
            run(&[here(), CpuId(9999)], &Stop::new(), Picos::from_ms(60_000), |role| role.wait_for_all());
        assert!(matches!(refused, Err(TrialFailure::NotPinned { cpu: CpuId(9999), .. })), "{refused:?}");
    }

    #[test]
    fn a_thread_that_is_released_may_run_wherever_its_coordinator_may() {
        let (everywhere, cpu_losses) = (affinity::current_mask().unwrap(), CpuLosses::default());
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                affinity::pin_current_thread(here()).unwrap();
                cpu_losses.begin(0);
                while affinity::current_mask().unwrap() != everywhere {
                    std::thread::yield_now();
                }
                cpu_losses.end(0);
            });
            while !cpu_losses.wait_for_all(1, Duration::from_millis(1)) {
                cpu_losses.release();
            }
            thread.join().unwrap();
        });
        assert!(cpu_losses.roles().present.is_empty());
    }

    struct Breaks;

    struct Breaking<R>(R, u32);

    impl Implementation for Breaks {
        type Sender<M: Message> = <Spsc as Implementation>::Sender<M>;
        type Receiver<M: Message> = Breaking<<Spsc as Implementation>::Receiver<M>>;

        fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
            Spsc::open(shape).map(|(sender, receiver)| (sender, Breaking(receiver, 0)))
        }
    }

    impl<M, R: Receiver<M>> Receiver<M> for Breaking<R> {
        fn try_receive(&mut self) -> Result<M, NoMessage> {
            self.1 += 1;
            assert!(self.1 < 10, "on purpose");
            self.0.try_receive()
        }

        fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
            self.0.receive(guard)
        }
    }

    #[test]
    fn a_queue_that_panics_fails_its_trial_and_no_role_waits_forever() {
        let roles =
            roles::<Breaks, u64>(&QueueParameters { capacity: 4, spins: 0 }, &RoleSettings::pair()).unwrap();
        let producer = Mutex::new(roles.producers.into_iter().next());
        let consumer = Mutex::new(roles.consumers.into_iter().next());
        let outcome = run(&[here(); 2], &Stop::new(), Picos::from_ms(60_000), |role| {
            let limits =
                RoleLimits { guard: role.guard, until_ticks: u64::MAX, messages: u64::MAX, apart_ticks: 1 };
            role.wait_for_all()?;
            match role.number {
                0 => producer.lock().unwrap().take().unwrap()(&limits).map(|sent| sent.messages),
                _ => consumer.lock().unwrap().take().unwrap()(&limits).map(|received| received.messages),
            }
        });
        let failure = outcome.unwrap_err();
        assert_eq!(failure, TrialFailure::PartnerLost { cpu: here() });
        assert_eq!(failure.to_string(), format!("the thread on CPU {} stopped responding", here()));
    }
}
