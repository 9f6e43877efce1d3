//! [`processes_interval`]: the interval of passes made by several processes, with the process as the outer unit.

use super::estimate::Estimate;
use super::interval::{passes_interval, student};
use super::location::{mean, median, variance};
use super::stopping::Analysis;
use std::collections::BTreeMap;

/// The mean of the median passes of each process, with its interval by Student's t over processes. `passes` are pairs
/// of a process and a value, in the order made; `analysis` and `floor_relative` as in [`passes_interval`]. `None` for
/// no passes.
///
/// Each process of a runtime settles at its own speed (three processes of one program took 80, 109 and 125 ns), so its
/// passes agree with each other but not with those of the next: an interval over passes would be narrow around the mean
/// of a few processes. Processes are independent, and their medians include the scatter of passes (Kalibera and Jones
/// 2013, "Rigorous benchmarking in reasonable time": the outermost level decides). The interval is not below zero if no
/// process is. A single process gets the interval of its passes, which holds only for it.
///
/// ```
/// use coretalk_model::stats::{Analysis, processes_interval};
///
/// let passes = [(0, 80.0), (1, 109.0), (2, 125.0), (0, 80.2), (1, 108.8), (2, 125.1)];
/// let found = processes_interval(&passes, Analysis::FIRST, 0.0).unwrap();
/// assert!((found.point - 104.7).abs() < 0.1 && found.low < 80.0 && found.high > 125.0);
/// assert_eq!(found.effective_n, 3.0);
/// ```
pub fn processes_interval(
    passes: &[(u32, f64)],
    analysis: Analysis,
    floor_relative: f64,
) -> Option<Estimate> {
    let mut processes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (process, value) in passes {
        processes.entry(*process).or_default().push(*value);
    }
    if processes.len() < 2 {
        let values: Vec<f64> = passes.iter().map(|(_, value)| *value).collect();
        return passes_interval(&values, analysis, 1.0, floor_relative);
    }
    let medians: Vec<f64> = processes.values().filter_map(|values| median(values)).collect();
    let (point, n) = (mean(&medians)?, medians.len() as f64);
    let reach = student(1.0 - analysis.alpha() / 2.0, n - 1.0) * (variance(&medians)? / n).sqrt();
    // Without this limit, the interval of a few distant processes could extend below zero.
    let least = if medians.iter().all(|median| *median >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let (low, high) = ((point - reach).max(least), point + reach);
    Some(Estimate { point, low, high, confidence: 0.95, effective_n: n }.widened_to(floor_relative))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    /// Passes of processes with speeds spread by `apart` around 100, taking turns; passes scatter by 1 %.
    fn passes(key: Key, processes: u32, apart: f64) -> Vec<(u32, f64)> {
        let of = |process: u32| 100.0 * (1.0 + apart * key.normal(u64::from(process)));
        let pass = |pass: u32| {
            let process = pass % processes;
            (process, of(process) * (1.0 + 0.01 * key.with(7).normal(u64::from(pass))))
        };
        (0..24).map(pass).collect()
    }

    #[test]
    fn the_interval_holds_what_all_processes_would_say_and_that_of_passes_does_not() {
        let (mut held, mut held_by_passes) = (0, 0);
        for seed in 0..400 {
            let passes = passes(Key::of(&[seed]), 5, 0.1);
            let found = processes_interval(&passes, Analysis::SECOND, 0.0).unwrap();
            held += u32::from(found.contains(100.0));
            let values: Vec<f64> = passes.iter().map(|(_, value)| *value).collect();
            let plain = passes_interval(&values, Analysis::SECOND, 1.0, 0.0).unwrap();
            held_by_passes += u32::from(plain.contains(100.0));
        }
        assert!(held >= 380, "{held} of 400");
        assert!(held_by_passes < 360, "{held_by_passes} of 400: the test shows nothing");
    }

    #[test]
    fn one_process_speaks_for_itself_and_none_says_nothing() {
        let alone: Vec<(u32, f64)> =
            [22.0, 22.4, 21.7, 22.1, 22.2, 21.9, 22.3, 22.05].map(|ns| (3, ns)).to_vec();
        let found = processes_interval(&alone, Analysis::FIRST, 0.0).unwrap();
        assert_eq!((found.low, found.high), (21.7, 22.4));
        assert_eq!(processes_interval(&[], Analysis::FIRST, 0.0), None);
    }

    #[test]
    fn two_processes_are_few() {
        let found = processes_interval(&[(0, 100.0), (1, 101.0)], Analysis::FIRST, 0.0).unwrap();
        assert!(found.half_width() > 10.0, "two say little of others: {found:?}");
        let far = processes_interval(&[(0, 100.0), (1, 900.0)], Analysis::FIRST, 0.0).unwrap();
        assert!(far.low == 0.0 && far.high > 1_000.0, "no time is less than nothing: {far:?}");
        let same = processes_interval(&[(0, 100.0), (1, 100.0)], Analysis::FIRST, 0.02).unwrap();
        assert_eq!((same.low, same.high), (98.0, 102.0), "and the floor holds for them too");
    }
}
