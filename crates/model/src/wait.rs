//! Ways of waiting: names of the numbers of `wait`, and the wait above which sleeping costs less.

pub mod names;

use crate::CpuId;
use crate::series::{SeriesResult, TrialResult, side_by_side};
use crate::stats::Estimate;

/// Sleeping compared with the best way of polling, on one pair of CPUs.
///
/// Polling costs CPU time for the whole wait. Sleeping costs a fixed CPU time on both sides and adds latency. Polling
/// is therefore cheaper for waits shorter than the CPU time of a sleep. Polling for that time before sleeping never
/// costs more than twice the best choice (Karlin, Manasse, McGeoch, Owicki 1994, "Competitive randomized algorithms for
/// nonuniform problems", the deterministic case).
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// The CPUs, in role order.
    pub placement: Vec<CpuId>,
    /// The fastest way of polling that neither sleeps nor yields.
    pub spinning: String,
    /// CPU time of a sleep and its wake-up on both sides, below which a wait should poll. Point and interval in ns.
    pub spin_ns: [f64; 3],
    /// Additional latency of sleeping over polling. Point and interval in nanoseconds. May be negative.
    pub later_ns: [f64; 3],
}

/// Minimum sleeps per round trip. With fewer, most waits ended before the sleep, whose cost is then unknown.
const MIN_SLEEPS: f64 = 1.0;
const YIELD_CPU: [&str; 4] = ["yield", "spin-futex", "backoff", "futex"];

/// The crossover of each pair of CPUs on which `futex` slept and a polling strategy was measured.
pub fn crossovers(result: &SeriesResult) -> Vec<Crossover> {
    result.trials.iter().filter_map(|sleeping| crossover(sleeping, result)).collect()
}

fn crossover(sleeping: &TrialResult, result: &SeriesResult) -> Option<Crossover> {
    let is_native_pair = |trial: &TrialResult| {
        let is_wait_trial =
            trial.spec.probe == names::PROBE && trial.spec.parameters.text("partner").is_none();
        let is_round_trip_mode =
            trial.spec.parameters.text("mode").is_none_or(|mode| mode == names::NO_CLOCK);
        // A runtime has its own way of sleeping and waking, which the measurements of this program do not describe.
        let is_native = trial.processes.is_empty();
        is_wait_trial
            && is_round_trip_mode
            && is_native
            && trial.spec.placement.len() == 2
            && trial.spec.placement[0] != trial.spec.placement[1]
    };
    let strategy = |trial: &TrialResult| trial.spec.parameters.text("strategy").map(str::to_owned);
    if !is_native_pair(sleeping) || strategy(sleeping).as_deref() != Some("futex") {
        return None;
    }
    let comparable = result.trials.iter().filter(|trial| {
        is_native_pair(trial)
            && trial.spec.placement == sleeping.spec.placement
            && trial.spec.parameters.text("mode") == sleeping.spec.parameters.text("mode")
    });
    let comparable: Vec<&TrialResult> = comparable.collect();
    let in_state = side_by_side(&comparable);
    let sleeping = comparable.iter().position(|trial| std::ptr::eq(*trial, sleeping))?;
    let sleeping = in_state[sleeping].as_deref()?;
    let comparable = in_state.iter().filter_map(Option::as_deref);
    // A loop of many trips is timed as a whole. For single trips, the cost of the clock is subtracted.
    let trip = |trial: &TrialResult| {
        trial.values.get(names::NET_NS).or_else(|| trial.values.get(names::LOOP_NS)).copied()
    };
    let is_polling = |trial: &&TrialResult| {
        let sleeps = trial.values.get(names::SLEEPS).is_none_or(|sleeps| sleeps.point > 0.01);
        let yields_cpu = |name: &str| YIELD_CPU.iter().any(|prefix| name.starts_with(prefix));
        strategy(trial).is_some_and(|name| !yields_cpu(&name)) && !sleeps
    };
    let (best, spinning) = comparable
        .filter(is_polling)
        .filter_map(|trial| Some((trip(trial)?, strategy(trial)?)))
        .min_by(|a, b| a.0.point.total_cmp(&b.0.point))?;
    let [cpu, sleeps] = [names::CPU_NS, names::SLEEPS].map(|name| sleeping.values.get(name));
    let (cpu, sleeps, slept) = (cpu?, sleeps?, trip(sleeping)?);
    if sleeps.point < MIN_SLEEPS || sleeps.low <= 0.0 {
        return None;
    }
    let found = Crossover {
        placement: sleeping.spec.placement.clone(),
        spinning,
        spin_ns: [cpu.point / sleeps.point, cpu.low / sleeps.high, cpu.high / sleeps.low],
        later_ns: difference(&slept, &best).map(|ns| ns / 2.0),
    };
    // With too few passes, the interval is unbounded.
    found.spin_ns.iter().chain(&found.later_ns).all(|ns| ns.is_finite()).then_some(found)
}

fn difference(a: &Estimate, b: &Estimate) -> [f64; 3] {
    [a.point - b.point, a.low - b.high, a.high - b.low]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::{around, spec};

    fn trial(strategy: &str, net: f64, cpu: f64, sleeps: f64) -> TrialResult {
        let values = [(names::NET_NS, net), (names::CPU_NS, cpu), (names::SLEEPS, sleeps)];
        let trial_spec = spec(names::PROBE, Parameters::default().with("strategy", strategy), &[0, 1]);
        TrialResult {
            passes: 8,
            values: values.map(|(name, point)| (name.to_owned(), around(point, 0.1))).into(),
            ..TrialResult::empty(trial_spec)
        }
    }

    #[test]
    fn the_cpu_time_of_a_sleep_is_where_polling_stops_being_cheaper() {
        let trials = vec![
            trial("busy", 100.0, 200.0, 0.0),
            trial("pause", 60.0, 120.0, 0.0),
            trial("yield", 40.0, 120.0, 0.0),
            trial("futex", 8_060.0, 6_000.0, 2.0),
        ];
        let found = crossovers(&SeriesResult { trials, ..SeriesResult::default() });
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((&*found.spinning, found.spin_ns[0], found.later_ns[0]), ("pause", 3_000.0, 4_000.0));
        assert!(found.spin_ns[1] < 3_000.0 && found.spin_ns[2] > 3_000.0);
    }

    #[test]
    fn a_futex_that_never_slept_has_no_crossover() {
        let trials = vec![trial("pause", 60.0, 120.0, 0.0), trial("futex", 500.0, 900.0, 0.2)];
        assert_eq!(crossovers(&SeriesResult { trials, ..SeriesResult::default() }), []);
    }
}
