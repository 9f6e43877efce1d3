//! [`TrialRunner`]: passes of trials on this machine, one or several at the same time.

use super::clock::os;
use super::evidence;
use super::executor::{self, HostExecutor};
use super::priority::Priority;
use crate::series::TrialOrder;
use crate::stop::Stop;
use crate::trial_context::TrialContext;
use coretalk_model::series::PassOutcome;
use coretalk_model::{CpuId, Picos, TickRate, TrialFailure};
use std::thread::Builder;

/// What passes need of the machine. All of it is plain, so that several threads can coordinate one pass each.
#[derive(Debug, Clone, Copy)]
pub struct TrialRunner {
    /// The rate of the counter.
    pub rate: TickRate,
    /// What a start-stop pair of its reads costs.
    pub clock_ns: f64,
    /// What priority each role asks for.
    pub priority: Priority,
    /// Whether a hypervisor runs this machine.
    pub guest: bool,
    /// When the machine was opened.
    pub opened: Picos,
    /// Whether threads that coordinate have to share measured CPUs.
    pub coordinator_shared: bool,
    /// Other trials at the same time.
    pub others: u32,
}

impl TrialRunner {
    /// One pass of one trial, coordinated by the calling thread.
    pub fn perform(&self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        let executor = HostExecutor { rate: self.rate, priority: self.priority, stop };
        let cpus = &order.spec.placement;
        let context = TrialContext::new(&executor, cpus, self.rate, self.clock_ns).in_guest(self.guest);
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
        })
    }

    /// One pass of each trial, all at the same time. Every pass has a thread that coordinates it; these sleep most of
    /// the time, and stay on the CPUs of the calling thread, away from measured ones where that is.
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
                let thread = thread.map_err(|error| executor::not_started(orders.len(), &error))?;
                thread.join().unwrap_or(Err(TrialFailure::PartnerLost { cpu }))
            });
            ended.collect()
        })
    }

    fn now(&self) -> Picos {
        os::monotonic().saturating_sub(self.opened)
    }
}
