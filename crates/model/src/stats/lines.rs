//! Location of one cell in one pass: median of the batches within a line, then the mean over lines.
//!
//! Line effects are multimodal (period 8 lines, 24 to 31 ns on one pair), so a median over lines jumps between modes. A
//! stall of 4 ms among 64 batches of 2 µs would multiply the mean by 32, so stalls must be removed first.

/// Summary of one cell in one pass, in ticks per batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineSummary {
    /// Mean over lines of the medians within a line.
    pub location: f64,
    /// The smallest batch.
    pub floor: f64,
    /// p90 ÷ p10 over the line medians (nearest rank); 1 for a single line.
    pub line_spread: f64,
    /// Standard error of `location` from the spread over lines; 0 for a single line. Only an upper bound if aligned
    /// groups of 16 lines cover every cache slice. `None` with [`LineScratch::without_errors`].
    pub line_error: Option<f64>,
    /// Number of lines with at least one kept batch.
    pub lines: u32,
    /// Number of batches kept.
    pub n: u32,
    /// Number of batches above the fence, which no other value includes.
    pub dropped: u32,
}

/// Reusable memory of [`summarize_lines`], which allocates only for a larger cell than before.
#[derive(Debug, Default)]
pub struct LineScratch {
    sorted: Vec<u32>,
    /// Twice the median of each line, which is also a whole number for an even number of batches.
    doubled: Vec<u64>,
    line: Vec<u32>,
    omits_errors: bool,
}

impl LineScratch {
    /// Memory for summaries without standard errors.
    pub fn without_errors() -> LineScratch {
        LineScratch { omits_errors: true, ..LineScratch::default() }
    }
}

/// Summarizes `ticks`: `visits` batches per line; the last line may be shorter. `None` without batches or visits.
///
/// Batches above the fence are dropped *and counted*. The fence exceeds the median of all batches by 8 median absolute
/// deviations (5.4 standard deviations of normal noise), and by at least half the median. Modes of one kernel are less
/// than a factor of 1.5 apart except for load/store. More than one batch in eight (and more than one at all) above the
/// fence are a mode with its own fence. A line above the fence at each of several visits is slow, and kept.
///
/// ```
/// # use coretalk_model::stats::{summarize_lines, LineScratch};
/// let ticks = [100, 104, 110, 9_000_000, 120, 122];
/// let summary = summarize_lines(&ticks, 2, &mut LineScratch::default()).unwrap();
/// assert_eq!(summary.location, (102.0 + 110.0 + 121.0) / 3.0);
/// assert_eq!((summary.lines, summary.n, summary.dropped), (3, 5, 1));
/// ```
pub fn summarize_lines(ticks: &[u32], visits: usize, scratch: &mut LineScratch) -> Option<LineSummary> {
    if ticks.is_empty() || visits == 0 {
        return None;
    }
    if visits == 1
        && scratch.omits_errors
        && let Some(summary) = summarize_by_ranks(ticks)
    {
        return Some(summary);
    }
    let LineScratch { sorted, doubled, line, omits_errors } = scratch;
    sorted.clear();
    sorted.extend_from_slice(ticks);
    sorted.sort_unstable();
    let kept = count_kept(sorted);
    let fence = sorted[kept - 1];
    let mut n = kept;
    doubled.clear();
    if visits == 1 {
        doubled.extend(sorted[..kept].iter().map(|&batch| 2 * u64::from(batch)));
    } else {
        for batches in ticks.chunks(visits) {
            line.clear();
            line.extend(batches.iter().filter(|&&batch| batch <= fence));
            if line.is_empty() && batches.len() > 1 {
                line.extend(batches);
                n += batches.len();
            }
            if !line.is_empty() {
                doubled.push(doubled_median(line));
            }
        }
        doubled.sort_unstable();
    }
    let count = doubled.len();
    let mean = doubled.iter().sum::<u64>() as f64 / count as f64;
    let squares = || -> f64 { doubled.iter().map(|&line| (line as f64 - mean) * (line as f64 - mean)).sum() };
    let error = |squares: f64| (squares / (count * (count - 1)) as f64).sqrt() / 2.0;
    let spread = doubled[rank(count, 9)] as f64 / doubled[rank(count, 1)].max(1) as f64;
    Some(LineSummary {
        location: mean / 2.0,
        floor: f64::from(sorted[0]),
        line_spread: spread,
        line_error: (!*omits_errors).then(|| if count < 2 { 0.0 } else { error(squares()) }),
        lines: count as u32,
        n: n as u32,
        dropped: (ticks.len() - n) as u32,
    })
}

const MAX_COMPARED: usize = 64;

/// The summary of one batch per line without an error, if all batches are below the lowest possible fence.
///
/// A CPU compares eight numbers of 16 bits at once. Counting the smaller batches of each takes two thirds of the time
/// of sorting for 32 batches, and half for 64.
fn summarize_by_ranks(ticks: &[u32]) -> Option<LineSummary> {
    let (mut floor, mut slowest, mut sum) = (u32::MAX, 0, 0);
    for &batch in ticks {
        (floor, slowest) = (floor.min(batch), slowest.max(batch));
        sum += u64::from(batch);
    }
    let count = ticks.len();
    if count > MAX_COMPARED || slowest - floor >= i16::MAX as u32 {
        return None;
    }
    // Above the floor. Unused places have the highest rank.
    let mut batches = [i16::MAX; MAX_COMPARED];
    for (place, &batch) in batches.iter_mut().zip(ticks) {
        *place = (batch - floor) as i16;
    }
    let mut ranks = [0i16; MAX_COMPARED];
    for batch in &batches[..count] {
        for (rank, other) in ranks.iter_mut().zip(&batches) {
            *rank += i16::from(batch < other);
        }
    }
    // The batch at a rank is the largest with at most as many smaller batches. Equal batches share the lowest rank.
    let at_rank = |limit: usize| {
        let mut largest = 0;
        for (&batch, &rank) in batches.iter().zip(&ranks) {
            largest = largest.max(if rank <= limit as i16 { batch } else { 0 });
        }
        floor + largest as u32
    };
    if !is_below_fence(slowest, at_rank(count / 2)) {
        return None;
    }
    let [p10, p90] = [1, 9].map(|tenths| 2 * u64::from(at_rank(rank(count, tenths))));
    Some(LineSummary {
        location: (2 * sum) as f64 / count as f64 / 2.0,
        floor: f64::from(floor),
        line_spread: p90 as f64 / p10.max(1) as f64,
        line_error: None,
        lines: count as u32,
        n: count as u32,
        dropped: 0,
    })
}

fn is_below_fence(slowest: u32, median: u32) -> bool {
    let median = u64::from(median);
    u64::from(slowest) <= median + median / 2
}

fn count_kept(sorted: &[u32]) -> usize {
    let center = sorted[sorted.len() / 2];
    if sorted.last().is_some_and(|&slowest| is_below_fence(slowest, center)) {
        return sorted.len();
    }
    let mut begin = 0;
    loop {
        let fence = fence(&sorted[begin..]);
        let kept = sorted.partition_point(|&batch| u64::from(batch) <= fence);
        // The slower mode loses at least half its size in every iteration, so the loop ends.
        if sorted.len() - kept <= (sorted.len() / MODE_DIVISOR).max(1) {
            return kept;
        }
        begin = kept;
    }
}

/// If 2 % of all batches stall at random, this misjudges 1 of 10⁵ cells with 64 batches, and 1 of 2,000 with 32.
const MODE_DIVISOR: usize = 8;

fn fence(sorted: &[u32]) -> u64 {
    let center = sorted[sorted.len() / 2];
    let far = 8 * u64::from(deviation(sorted, center));
    u64::from(center) + far.max(u64::from(center) / 2)
}

/// Median distance from `center`, found from the middle of the sorted values outwards, without a second sort.
fn deviation(sorted: &[u32], center: u32) -> u32 {
    let middle = sorted.len() / 2;
    let (mut below, mut above) = (middle, middle + 1);
    let mut reached = 0;
    for _ in 0..middle {
        let down = if below > 0 { center - sorted[below - 1] } else { u32::MAX };
        let up = if above < sorted.len() { sorted[above] - center } else { u32::MAX };
        if down <= up {
            below -= 1;
        } else {
            above += 1;
        }
        reached = down.min(up);
    }
    reached
}

fn doubled_median(line: &mut [u32]) -> u64 {
    line.sort_unstable();
    let middle = line.len() / 2;
    if line.len() % 2 == 1 {
        2 * u64::from(line[middle])
    } else {
        u64::from(line[middle - 1]) + u64::from(line[middle])
    }
}

fn rank(count: usize, tenths: usize) -> usize {
    ((count - 1) * tenths + 5) / 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Key, mean, median};
    use proptest::prelude::*;

    fn summary(ticks: &[u32], visits: usize) -> LineSummary {
        summarize_lines(ticks, visits, &mut LineScratch::default()).unwrap()
    }

    fn quiet(lines: u64) -> Vec<u32> {
        (0..lines).map(|i| (2000.0 * (1.0 + 0.08 * Key::from_words(&[1]).normal(i))) as u32).collect()
    }

    #[test]
    fn one_stall_of_4_ms_changes_neither_location_nor_spread() {
        for lines in [16, 32, 64] {
            let calm = quiet(lines);
            for position in [0, lines as usize / 2, lines as usize - 1] {
                let mut stalled = calm.clone();
                stalled[position] += 10_400_000; // 4 ms at 2.6 GHz
                let (before, after) = (summary(&calm, 1), summary(&stalled, 1));
                assert_eq!((before.dropped, after.dropped), (0, 1));
                let shift = after.location / before.location - 1.0;
                assert!(shift.abs() < 0.02, "{lines} lines: {shift}");
            }
        }
    }

    #[test]
    fn a_slow_mode_of_lines_is_kept_and_its_own_stall_is_not() {
        // Load/store between lines of one pair: 27 and 61 ns. A third of the lines are slow.
        let mut ticks: Vec<u32> =
            (0..64).map(|i| if i % 3 == 0 { 4500 + i % 7 } else { 2000 + i % 5 }).collect();
        let expected = mean(&ticks.iter().map(|&t| f64::from(t)).collect::<Vec<_>>()).unwrap();
        let all = summary(&ticks, 1);
        assert_eq!((all.location, all.dropped), (expected, 0));
        ticks[9] = 4_000_000;
        let stalled = summary(&ticks, 1);
        assert_eq!(stalled.dropped, 1);
        assert!((stalled.location / expected - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_line_that_is_slow_at_every_visit_is_kept() {
        let mut ticks: Vec<u32> = quiet(64).into_iter().flat_map(|t| [t, t + 3]).collect();
        let calm = summary(&ticks, 2);
        ticks[20..22].fill(6000);
        let slow = summary(&ticks, 2);
        assert_eq!((slow.lines, slow.dropped), (64, 0));
        assert!(slow.location > calm.location * 1.02);
        ticks[20] = 2000;
        assert_eq!(summary(&ticks, 2).dropped, 1);
    }

    #[test]
    fn equal_batches_and_empty_input_are_defined() {
        let flat = summary(&[7; 32], 1);
        assert_eq!([flat.location, flat.floor, flat.line_spread], [7.0, 7.0, 1.0]);
        assert_eq!(flat.line_error, Some(0.0));
        assert_eq!(summary(&[9], 3).lines, 1);
        assert_eq!(summary(&[0, 0], 1).location, 0.0);
        assert_eq!(summarize_lines(&[], 1, &mut LineScratch::default()), None);
        assert_eq!(summarize_lines(&[1], 0, &mut LineScratch::default()), None);
        assert_eq!(summary(&[u32::MAX; 64], 2).location, f64::from(u32::MAX));
    }

    #[test]
    fn the_error_over_lines_is_that_of_the_textbook() {
        let lines = quiet(64);
        let values: Vec<f64> = lines.iter().map(|&t| f64::from(t)).collect();
        let expected = (crate::stats::variance(&values).unwrap() / 64.0).sqrt();
        assert!((summary(&lines, 1).line_error.unwrap() - expected).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn without_outliers_the_location_is_the_mean_of_medians(
            ticks in proptest::collection::vec(1000u32..1500, 1..200), visits in 1usize..9,
        ) {
            let found = summary(&ticks, visits);
            let lines: Vec<f64> = ticks
                .chunks(visits)
                .map(|line| median(&line.iter().map(|&t| f64::from(t)).collect::<Vec<_>>()).unwrap())
                .collect();
            prop_assert!((found.location - mean(&lines).unwrap()).abs() < 1e-6);
            prop_assert_eq!(found.lines as usize, lines.len());
            prop_assert_eq!((found.dropped, found.n as usize), (0, ticks.len()));
        }

        #[test]
        fn the_location_lies_within_the_batches_and_at_least_half_are_kept(
            ticks in prop_oneof![
                proptest::collection::vec(any::<u32>(), 1..100),
                proptest::collection::vec(1000u32..1500, 1..100),
                proptest::collection::vec(0u32..6, 1..20),
                proptest::collection::vec(60_000u32..95_000, 1..40),
            ],
            visits in 1usize..5,
        ) {
            let found = summary(&ticks, visits);
            let (low, high) = (*ticks.iter().min().unwrap(), *ticks.iter().max().unwrap());
            prop_assert!((f64::from(low)..=f64::from(high)).contains(&found.location));
            prop_assert!(found.dropped * 2 <= ticks.len() as u32);
            prop_assert_eq!((found.n + found.dropped) as usize, ticks.len());
            prop_assert!(found.line_spread >= 1.0 || low == 0);
            let without = summarize_lines(&ticks, visits, &mut LineScratch::without_errors());
            prop_assert_eq!(without, Some(LineSummary { line_error: None, ..found }));
        }
    }
}
