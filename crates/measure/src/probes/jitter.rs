//! `jitter`: interruptions of each CPU.

mod account;

use crate::interrupts::SystemCounts;
use crate::pricing::{HeldAs, SimContext};
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use account::JitterAccount;
use coretalk_model::TrialFailure;
use coretalk_model::jitter::names;
use coretalk_model::probes::{ProbeDeclaration, jitter::DECLARATION};
use coretalk_model::series::{Observed, TrialSpec};

/// The `jitter` probe.
#[derive(Debug, Clone, Copy)]
pub struct Jitter;

/// Minimum time between two counter reads that counts as a gap. A read takes about 10 to 30 ns and a cache miss 100 ns.
/// An interrupt takes at least a microsecond.
pub const GAP_NS: f64 = 500.0;
/// Default observation time.
pub const WATCHED_MS: f64 = 5_000.0;

impl SeriesProbe for Jitter {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        // All CPUs at once, so that each CPU observes disturbances of the whole machine.
        Ok(vec![TrialSpec {
            probe: DECLARATION.id.to_owned(),
            parameters: Default::default(),
            placement: request.cpus.to_vec(),
        }])
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        Ok(simulate(sim, order))
    }

    fn ends_with_samples(&self) -> bool {
        true
    }

    fn watches_each_cpu(&self) -> bool {
        true
    }
}

/// Records the observation time of all CPUs. The run ends at the requested time.
fn note_span(observed: &mut Observed, watched_ns: f64, asked_ns: f64) {
    observed.count(names::SAMPLES, (watched_ns / 1e6).round() as u64);
    observed.value(names::WATCHED_SHARE, watched_ns / asked_ns);
}

const POLL_NS: f64 = 10.0;

/// Prices one pass.
pub fn simulate(sim: &mut dyn SimContext<'_>, order: &TrialOrder<'_>) -> Observed {
    let mut observed = Observed::default();
    let span_ns = order.span.ns();
    for (role, &cpu) in sim.placement().iter().enumerate() {
        let mut account = JitterAccount::new();
        let mut evidence = SystemCounts {
            ticks: Some(0),
            interrupts: Some(0),
            stolen_ms: Some(0.0),
            throttled_ms: Some(0.0),
        };
        let mut lost_ns = 0.0;
        for (ns, cause) in sim.holds(cpu, span_ns) {
            lost_ns += ns;
            account.gap(sim.ticks(ns), matches!(cause, HeldAs::Switch | HeldAs::Quota));
            match cause {
                HeldAs::Tick => evidence.ticks = evidence.ticks.map(|count| count + 1),
                HeldAs::Steal => evidence.stolen_ms = evidence.stolen_ms.map(|ms| ms + ns / 1e6),
                HeldAs::Quota => evidence.throttled_ms = evidence.throttled_ms.map(|ms| ms + ns / 1e6),
                HeldAs::Switch | HeldAs::Nothing => {}
            }
        }
        account.watched = sim.rate().ticks(span_ns) as u64;
        account.polls = ((span_ns - lost_ns) / POLL_NS) as u64;
        account.observe(&mut observed, role, sim.rate(), &evidence);
        sim.spend(role, span_ns, 0);
    }
    sim.pass(span_ns);
    note_span(&mut observed, span_ns, span_ns);
    observed
}

/// One pass on threads of this machine. Every CPU polls the counter.
#[cfg(all(target_os = "linux", not(miri)))]
mod perform {
    use super::*;
    use crate::counter;
    use crate::interrupts::InterruptReading;
    use crate::kernel_context::Halt;
    use crate::trial_context::RoleContext;

    pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let rate = context.rate();
        let (span_ticks, gap_ticks) = (rate.ticks(order.span.ns()) as u64, rate.ticks(GAP_NS) as u64);
        let before = InterruptReading::now();
        let run_role = |role: &RoleContext<'_>| watch(role, span_ticks, gap_ticks);
        let accounts = context.run_undisturbed(order.limit(), run_role, || ())?;
        let after = InterruptReading::now();
        let mut observed = Observed::default();
        let mut watched = u64::MAX;
        for (role, (account, &cpu)) in accounts.into_iter().zip(context.cpus()).enumerate() {
            watched = watched.min(account.watched);
            account.observe(&mut observed, role, rate, &after.since(&before, cpu));
        }
        note_span(&mut observed, rate.ns(watched as f64), order.span.ns());
        Ok(observed)
    }

    fn watch(role: &RoleContext<'_>, span_ticks: u64, gap_ticks: u64) -> Result<JitterAccount, Halt> {
        let mut account = JitterAccount::new();
        let switches = |role: &RoleContext<'_>| role.switches().map_or(0, |[given, taken]| given + taken);
        role.wait_for_all()?;
        let mut last_switches = switches(role);
        let began = counter::now_ticks();
        let mut last = began;
        while last - began < span_ticks {
            let now = counter::now_ticks();
            let elapsed = now.saturating_sub(last);
            account.polls += 1;
            if elapsed > gap_ticks {
                let count = switches(role);
                account.gap(elapsed, count != last_switches);
                last_switches = count;
                role.guard.check_at(now)?;
                // The time to record a gap is not part of any gap.
                last = counter::now_ticks();
                account.aside += last - now;
                continue;
            }
            last = now.max(last);
        }
        account.watched = (last - began) - account.aside;
        Ok(account)
    }
}
