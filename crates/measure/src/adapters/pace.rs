//! [`Pace`]: the number of operations per pass. [`Warmth`]: whether the speed of a runtime has settled.

use super::pass::AdapterPass;
use super::protocol::{OperationKind, Request};
use std::collections::VecDeque;
use std::time::Duration;

/// Operations of the first pass. They are few, since two spinning threads on one CPU took up to 74 ms per round trip.
const FIRST: u64 = 8;
/// Maximum growth from pass to pass. It limits the duration of a pass when a queue fills or garbage collection begins.
const GROWTH: u64 = 8;
/// Minimum share of the requested span for a pass that counts. Shorter passes are pilots.
const ENOUGH: f64 = 0.5;

/// Minimum creations per pass, however long they take: two besides the first.
const MIN_CREATIONS: u64 = 3;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    last: Option<(u64, u64)>,
}

impl Pace {
    /// The request of the next pass. It takes about `span`, with at most the operations of `request`.
    pub(super) fn sized(&self, request: &Request, span: Duration) -> Request {
        let count = match request.operation.kind() {
            OperationKind::Contend => (span.as_nanos() as u64).clamp(1, request.count),
            // The first creation is cold and has a distribution of its own.
            OperationKind::Spawn => self.count(span, request.count).max(MIN_CREATIONS).min(request.count),
            _ => self.count(span, request.count),
        };
        Request { count, ..request.clone() }
    }

    fn count(&self, span: Duration, most: u64) -> u64 {
        let Some((count, ns)) = self.last else { return FIRST.min(most) };
        let wished = span.as_nanos() as f64 * count as f64 / ns.max(1) as f64;
        (wished as u64).clamp(1, GROWTH * count).clamp(1, most)
    }

    pub(super) fn note(&mut self, pass: &AdapterPass, span: Duration, most: u64) -> bool {
        self.last = Some((pass.count, pass.ns));
        pass.count == most || pass.ns as f64 >= ENOUGH * span.as_nanos() as f64
    }
}

/// Minimum run time until a runtime counts as settled.
const WARM_NS: u64 = 1_000_000_000;
/// Minimum number of operations until a runtime counts as settled.
const WARM_OPERATIONS: u64 = 500_000;
/// Minimum number of wake-ups or creations, which take much longer than other operations.
const WARM_WAKE_UPS: u64 = 20_000;
/// Number of recent passes tested for a trend.
const PASSES: usize = 12;
/// Minimum number of passes to test. If this many passes are quiet, only quiet ones are tested.
const MIN_QUIET: usize = 8;
/// Maximum share of a quiet pass during which its roles waited for a CPU.
const QUIET: f64 = 0.05;
/// Critical value of Kendall's S in standard deviations. Without a trend, S exceeds it with a probability of 0.5 %.
const CRITICAL_VALUE: f64 = 2.576;

#[derive(Debug, Clone, Default)]
pub(super) struct Warmth {
    operations: u64,
    ns: u64,
    recent: VecDeque<(f64, bool)>,
    has_settled: bool,
}

impl Warmth {
    /// Records a pass. `shared` says that both roles have the same CPU.
    pub(super) fn note(&mut self, pass: &AdapterPass, kind: OperationKind, shared: bool) {
        self.operations += pass.count;
        self.ns += pass.ns;
        let delay: u64 = pass.roles.iter().filter_map(|role| role.run_delay_ns).sum();
        let is_quiet = shared || delay as f64 <= QUIET * pass.ns as f64;
        self.recent.push_back((pass.ns_per_operation(), is_quiet));
        if self.recent.len() > PASSES {
            self.recent.pop_front();
        }
        let is_long = matches!(kind, OperationKind::Wake | OperationKind::Spawn);
        let enough = if is_long { WARM_WAKE_UPS } else { WARM_OPERATIONS };
        self.has_settled |= self.ns >= WARM_NS && self.operations >= enough && !self.has_trend();
    }

    /// Whether the runtime has settled. The answer stays true.
    pub(super) fn has_settled(&self) -> bool {
        self.has_settled
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// Whether passes get faster, by the test of Mann (Econometrica 13, 1945) with Kendall's S. With too few passes the
    /// answer is true.
    fn has_trend(&self) -> bool {
        let quiet: Vec<f64> = self.recent.iter().filter(|(_, quiet)| *quiet).map(|(ns, _)| *ns).collect();
        let all: Vec<f64> = self.recent.iter().map(|(ns, _)| *ns).collect();
        let passes = if quiet.len() >= MIN_QUIET { quiet } else { all };
        if passes.len() < MIN_QUIET {
            return true;
        }
        let pairs = (1..passes.len()).flat_map(|late| (0..late).map(move |early| (early, late)));
        let sign = |(early, late): (usize, usize)| match passes[early].partial_cmp(&passes[late]) {
            Some(std::cmp::Ordering::Greater) => 1.0,
            Some(std::cmp::Ordering::Less) => -1.0,
            _ => 0.0,
        };
        let s: f64 = pairs.map(sign).sum();
        let n = passes.len() as f64;
        s > CRITICAL_VALUE * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pass::tests::pass;
    use super::*;

    #[test]
    fn counts_grow_eightfold_until_the_time_is_filled() {
        let (span, most) = (Duration::from_millis(20), 1_000_000_000);
        let (mut pace, mut counts) = (Pace::default(), Vec::new());
        loop {
            let count = pace.count(span, most);
            counts.push(count);
            if pace.note(&pass(count, 100 * count), span, most) {
                break;
            }
        }
        assert_eq!(counts, [8, 64, 512, 4_096, 32_768, 200_000]);
        assert_eq!(pace.count(span, 50), 50, "never more than asked");
    }

    #[test]
    fn slow_operations_get_smaller_counts() {
        let (span, mut pace) = (Duration::from_millis(20), Pace::default());
        assert!(pace.note(&pass(8, 592_000_000), span, 1_000));
        assert_eq!(pace.count(span, 1_000), 1);
    }

    /// Neither sorted nor drifting: multiples of 7 modulo 31.
    fn steady(at: u64) -> u64 {
        40_000_000 + 10_000 * (at * 7 % 31)
    }

    #[test]
    fn a_runtime_is_warm_once_it_has_run_and_gets_no_faster() {
        let settles = |ns: &dyn Fn(u64) -> u64, passes: u64| {
            let mut warmth = Warmth::default();
            (0..passes).for_each(|at| warmth.note(&pass(20_000, ns(at)), OperationKind::Queue, false));
            warmth.has_settled()
        };
        assert!(settles(&steady, 40));
        assert!(!settles(&steady, 20), "less than a second");
        assert!(!settles(&|at| 90_000_000 - 1_000_000 * at, 60), "faster from pass to pass");
        assert!(!settles(&|at| steady(at) / 40, 60), "too few ns");
    }

    #[test]
    fn passes_that_were_disturbed_show_no_trend() {
        let mut warmth = Warmth::default();
        for at in 0..40u64 {
            let mut one = pass(20_000, steady(at));
            if at % 4 == 0 {
                one.ns += 90_000_000 - 2_000_000 * at;
                one.roles[0].run_delay_ns = Some(one.ns / 2);
            }
            warmth.note(&one, OperationKind::Queue, false);
        }
        assert!(warmth.has_settled());
    }
}
