//! Idle gaps: the pauses before each event of a trial.

use crate::series::RequestError;

/// Minimum and maximum idle gap in nanoseconds.
const MIN_GAP_NS: f64 = 100.0;
const MAX_GAP_NS: f64 = 1e9;

/// Parses a list of gaps in nanoseconds; empty for `None`. Fails if a gap is out of range or is listed twice.
pub fn gaps(listed: Option<&str>) -> Result<Vec<f64>, RequestError> {
    let mut gaps: Vec<f64> = Vec::new();
    for text in listed.into_iter().flat_map(|listed| listed.split(',')) {
        let gap = text.parse().ok().filter(|gap| (MIN_GAP_NS..=MAX_GAP_NS).contains(gap));
        let gap =
            gap.ok_or_else(|| RequestError::out_of_range("--gap", "a gap must be between 100ns and 1s"))?;
        if gaps.contains(&gap) {
            return Err(RequestError::twice("--gap", "a gap"));
        }
        gaps.push(gap);
    }
    Ok(gaps)
}

/// The gaps of a range such as `1us..1s`. Each gap is ten times the previous one; the end of the range is the last.
///
/// ```
/// # use coretalk_measure::probes::gaps::decades;
/// assert_eq!(decades(1e3, 1e6), [1e3, 1e4, 1e5, 1e6]);
/// assert_eq!(decades(1e3, 5e3), [1e3, 5e3]);
/// ```
pub fn decades(from_ns: f64, to_ns: f64) -> Vec<f64> {
    let mut gaps: Vec<f64> =
        (0..).map(|power| (from_ns * 10f64.powi(power)).round()).take_while(|&gap| gap < to_ns).collect();
    gaps.push(to_ns);
    gaps
}
