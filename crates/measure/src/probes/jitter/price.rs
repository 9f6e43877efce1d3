//! What a pass sees on a simulated machine: whatever holds a CPU up.

use super::account::Account;
use super::note_span;
use crate::interrupts::Evidence;
use crate::pricing::{HeldAs, Pricing};
use crate::series::TrialOrder;
use coretalk_model::series::Observed;

/// Between two looks.
const POLL_NS: f64 = 10.0;

/// Prices one pass.
pub fn simulate(stage: &mut dyn Pricing<'_>, order: &TrialOrder<'_>) -> Observed {
    let mut observed = Observed::default();
    let span_ns = order.span.ns();
    for (role, &cpu) in stage.placement().iter().enumerate() {
        let mut account = Account::new();
        let mut evidence =
            Evidence { ticks: Some(0), interrupts: Some(0), stolen_ms: Some(0.0), throttled_ms: Some(0.0) };
        let mut lost_ns = 0.0;
        for (ns, held) in stage.holds(cpu, span_ns) {
            lost_ns += ns;
            account.gap(stage.ticks(ns), matches!(held, HeldAs::Switch | HeldAs::Quota));
            match held {
                HeldAs::Tick => evidence.ticks = evidence.ticks.map(|count| count + 1),
                HeldAs::Steal => evidence.stolen_ms = evidence.stolen_ms.map(|ms| ms + ns / 1e6),
                HeldAs::Quota => evidence.throttled_ms = evidence.throttled_ms.map(|ms| ms + ns / 1e6),
                HeldAs::Switch | HeldAs::Nothing => {}
            }
        }
        account.watched = stage.rate().ticks(span_ns) as u64;
        account.polls = ((span_ns - lost_ns) / POLL_NS) as u64;
        account.observe(&mut observed, role, stage.rate(), &evidence);
        stage.spend(role, span_ns, 0);
    }
    stage.pass(span_ns);
    note_span(&mut observed, span_ns, span_ns);
    observed
}
