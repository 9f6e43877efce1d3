//! One pass on threads of this machine: every CPU looks at the counter.

use super::account::Account;
use super::{GAP_NS, note_span};
use crate::counter;
use crate::interrupts::Reading;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(5_000);

/// Performs one pass.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let (span_ticks, gap_ticks) = (rate.ticks(order.span.ns()) as u64, rate.ticks(GAP_NS) as u64);
    let before = Reading::now();
    let run_role = |role: &RoleContext<'_>| watch(role, span_ticks, gap_ticks);
    let accounts = context.run_undisturbed(order.span + PATIENCE, run_role, || ())?;
    let after = Reading::now();
    let mut observed = Observed::default();
    let mut watched = u64::MAX;
    for (role, (account, &cpu)) in accounts.into_iter().zip(context.cpus()).enumerate() {
        watched = watched.min(account.watched);
        account.observe(&mut observed, role, rate, &after.since(&before, cpu));
    }
    note_span(&mut observed, rate.ns(watched as f64), order.span.ns());
    Ok(observed)
}

fn watch(role: &RoleContext<'_>, span_ticks: u64, gap_ticks: u64) -> Result<Account, Halt> {
    let mut account = Account::new();
    let switches = |role: &RoleContext<'_>| role.switches().map_or(0, |[given, taken]| given + taken);
    role.wait_for_all()?;
    let mut known = switches(role);
    let began = counter::now_ticks();
    let mut last = began;
    while last - began < span_ticks {
        let now = counter::now_ticks();
        let apart = now.saturating_sub(last);
        account.polls += 1;
        if apart > gap_ticks {
            let count = switches(role);
            account.gap(apart, count != known);
            known = count;
            role.guard.check_at(now)?;
            // Counting took a moment that is nobody's gap.
            last = counter::now_ticks();
            account.aside += last - now;
            continue;
        }
        last = now.max(last);
    }
    account.watched = (last - began) - account.aside;
    Ok(account)
}
