use super::estimate::Estimate;
use super::interval::{passes_interval, student};
use super::location::{mean, median, variance};
use super::stopping::Analysis;
use std::collections::BTreeMap;

/// The mean of the median passes of each process, with its interval by Student's t over processes. `passes` are pairs
/// of a process and a value, in the order made. `analysis` and `floor_relative` are those of [`passes_interval`].
/// `None` without passes.
///
/// Each process of a runtime settles at its own speed: three processes of one program took 80, 109 and 125 ns. An
/// interval over passes would be narrow around the mean of a few processes. The outermost level decides (Kalibera and
/// Jones 2013, "Rigorous benchmarking in reasonable time"). A single process gets the interval of its passes, which is
/// valid only for this process.
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
    let lower_limit = if medians.iter().all(|median| *median >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let (low, high) = ((point - reach).max(lower_limit), point + reach);
    Some(Estimate { point, low, high, confidence: 0.95, effective_n: n }.widened_to(floor_relative))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    /// Passes of alternating processes whose speeds vary by `spread` around 100; passes scatter by 1 %.
    fn passes(key: Key, processes: u32, spread: f64) -> Vec<(u32, f64)> {
        let mean_of = |process: u32| 100.0 * (1.0 + spread * key.normal(u64::from(process)));
        let pass = |pass: u32| {
            let process = pass % processes;
            (process, mean_of(process) * (1.0 + 0.01 * key.with(7).normal(u64::from(pass))))
        };
        (0..24).map(pass).collect()
    }

    #[test]
    fn the_interval_covers_the_mean_of_all_processes_and_that_of_passes_does_not() {
        let (mut covered, mut covered_by_passes) = (0, 0);
        for seed in 0..400 {
            let passes = passes(Key::from_words(&[seed]), 5, 0.1);
            let found = processes_interval(&passes, Analysis::SECOND, 0.0).unwrap();
            covered += u32::from(found.contains(100.0));
            let values: Vec<f64> = passes.iter().map(|(_, value)| *value).collect();
            let plain = passes_interval(&values, Analysis::SECOND, 1.0, 0.0).unwrap();
            covered_by_passes += u32::from(plain.contains(100.0));
        }
        assert!(covered >= 380, "{covered} of 400");
        assert!(covered_by_passes < 360, "{covered_by_passes} of 400: the test shows nothing");
    }

    #[test]
    fn a_single_process_gets_the_interval_of_its_passes() {
        let alone: Vec<(u32, f64)> =
            [22.0, 22.4, 21.7, 22.1, 22.2, 21.9, 22.3, 22.05].map(|ns| (3, ns)).to_vec();
        let found = processes_interval(&alone, Analysis::FIRST, 0.0).unwrap();
        assert_eq!((found.low, found.high), (21.7, 22.4));
        assert_eq!(processes_interval(&[], Analysis::FIRST, 0.0), None);
    }

    #[test]
    fn two_processes_get_a_wide_interval() {
        let found = processes_interval(&[(0, 100.0), (1, 101.0)], Analysis::FIRST, 0.0).unwrap();
        assert!(found.half_width() > 10.0, "two processes determine little: {found:?}");
        let far = processes_interval(&[(0, 100.0), (1, 900.0)], Analysis::FIRST, 0.0).unwrap();
        assert!(far.low == 0.0 && far.high > 1_000.0, "no time is negative: {far:?}");
        let same = processes_interval(&[(0, 100.0), (1, 100.0)], Analysis::FIRST, 0.02).unwrap();
        assert_eq!((same.low, same.high), (98.0, 102.0), "the floor applies");
    }
}
