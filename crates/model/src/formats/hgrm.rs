//! Percentile tables of HdrHistogram: [`Spectrum`] and a writer of `.hgrm` identical to `outputPercentileDistribution`.

use crate::Histogram;
use crate::histogram::{highest_equivalent, lowest_equivalent};
use std::fmt::Write;

/// One row: a value with its cumulative count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumRow {
    /// The value, in the unit of the file.
    pub value: f64,
    /// Share of all values up to this value, 0 to 1.
    pub share: f64,
    /// Number of values up to this value.
    pub count: u64,
}

/// A distribution from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Name of the distribution within the file; `None` if the file has only one.
    pub name: Option<String>,
    /// Unit of the values, if the file states a unit.
    pub unit: Option<String>,
    /// Whether the unit is assumed from the usual scale of such files.
    pub is_assumed: bool,
    /// Number of decimals of the values in the file.
    pub digits: usize,
    /// Rows by rising value. The last row has the share 1 unless the file is truncated.
    pub rows: Vec<SpectrumRow>,
    /// The mean, if the file states it.
    pub mean: Option<f64>,
    /// The standard deviation, if the file states it.
    pub deviation: Option<f64>,
    /// Warnings about the file.
    pub warnings: Vec<String>,
}

pub(super) const NO_EVENTS: &str = "no events: nothing was counted";

/// Shares with a reported value for every distribution, the maximum last.
pub const TOLD_SHARES: [f64; 8] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 1.0];

/// A percentile derived from rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Percentile {
    /// The exact value.
    Exact(f64),
    /// An upper bound of the value, because the share is between two rows.
    AtMost(f64),
}

impl Spectrum {
    /// Number of values.
    pub fn total(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.count)
    }

    /// The value at a share; `None` if the file ends before the share or has too few values.
    pub fn percentile(&self, share: f64) -> Option<Percentile> {
        let total = self.total() as f64;
        if share < 1.0 && total * (1.0 - share) < 1.0 - 1e-9 {
            return None;
        }
        // The tolerance accepts shares with twelve decimals. Only the last row is certain to be the maximum.
        let is_met = |row: &SpectrumRow| row.share >= share - 1e-12;
        let index =
            if share < 1.0 { self.rows.iter().position(is_met) } else { self.rows.iter().rposition(is_met) }?;
        let row = self.rows[index];
        let before = index.checked_sub(1).map(|before| self.rows[before]);
        // If two rows have the same value, all values between them are equal, too.
        let exact =
            (row.share - share).abs() < 1e-9 || before.is_some_and(|before| before.value == row.value);
        Some(if exact { Percentile::Exact(row.value) } else { Percentile::AtMost(row.value) })
    }
}

/// Format of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HgrmStyle {
    /// Number of decimals of the values.
    pub digits: usize,
    /// Rows per halving of the distance to 100 %.
    pub ticks: u32,
    /// Units of the histogram per unit of the table: 100 converts 10 ps to nanoseconds.
    pub scale: f64,
    /// Buckets and sub-buckets for the footer.
    pub buckets: [u32; 2],
}

impl Default for HgrmStyle {
    /// The buckets are those of a histogram with three significant digits up to an hour, in units of 10 ps.
    fn default() -> HgrmStyle {
        HgrmStyle { digits: 3, ticks: 5, scale: 100.0, buckets: [39, 2048] }
    }
}

/// Formats a distribution as a table, after `heading` as comment lines.
///
/// ```
/// # use coretalk_model::{Histogram, formats::hgrm::{HgrmStyle, write_hgrm}};
/// let mut waits = Histogram::new();
/// waits.record_ns(10.0, 9);
/// waits.record_ns(20.0, 1);
/// let table = write_hgrm(&waits, &HgrmStyle::default(), &[]);
/// assert!(table.contains("#[Max     =       20.000, Total count    =           10]"));
/// ```
pub fn write_hgrm(histogram: &Histogram, style: &HgrmStyle, heading: &[String]) -> String {
    let counts: Vec<HgrmCount> = histogram
        .iter()
        .map(|(units, count)| HgrmCount {
            highest: highest_equivalent(units) as f64,
            middle: (lowest_equivalent(units) + highest_equivalent(units)) as f64 / 2.0,
            count,
        })
        .collect();
    write_counts(&counts, style, heading)
}

/// One bucket of a histogram, in the units of the histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HgrmCount {
    /// The highest value of the bucket.
    pub highest: f64,
    /// The middle of the bucket.
    pub middle: f64,
    /// Number of values in the bucket.
    pub count: u64,
}

/// Formats the buckets of any histogram, by rising value.
pub fn write_counts(counts: &[HgrmCount], style: &HgrmStyle, heading: &[String]) -> String {
    let HgrmStyle { digits, ticks, scale, buckets } = *style;
    let mut text = String::new();
    for line in heading {
        let _ = writeln!(text, "#{}", line.replace(['\n', '\r'], " "));
    }
    let _ = writeln!(
        text,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let total = total(counts);
    for row in rows(counts, total, ticks) {
        let value = row.value / scale;
        let _ = write!(text, "{value:>12.digits$} {:>14.12} {:>10}", row.share, row.count);
        let _ = match row.share {
            1.0 => writeln!(text),
            share => writeln!(text, " {:>14.2}", 1.0 / (1.0 - share)),
        };
    }
    let [mean, deviation] = moments(counts).unwrap_or_default();
    let max = counts.last().map_or(0.0, |bucket| bucket.highest);
    let _ = writeln!(
        text,
        "#[Mean    = {:>12.digits$}, StdDeviation   = {:>12.digits$}]",
        mean / scale,
        deviation / scale
    );
    let _ = writeln!(text, "#[Max     = {:>12.digits$}, Total count    = {total:>12}]", max / scale);
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", buckets[0], buckets[1]);
    text
}

fn total(counts: &[HgrmCount]) -> u64 {
    counts.iter().fold(0, |total, bucket| total.saturating_add(bucket.count))
}

pub(super) fn moments(counts: &[HgrmCount]) -> Option<[f64; 2]> {
    let total = total(counts);
    let moment = |term: &dyn Fn(f64) -> f64| {
        let sum: f64 = counts.iter().map(|bucket| term(bucket.middle) * bucket.count as f64).sum();
        (total > 0).then(|| sum / total as f64)
    };
    let mean = moment(&|value| value)?;
    Some([mean, moment(&|value| (value - mean) * (value - mean))?.sqrt()])
}

/// The rows of a table, with an additional exact row for each of [`TOLD_SHARES`].
pub(super) fn exact_rows(counts: &[HgrmCount], total: u64, ticks: u32) -> Vec<SpectrumRow> {
    let mut all = rows(counts, total, ticks);
    let (mut cumulative, mut pending) = (0, TOLD_SHARES.iter().filter(|share| **share < 1.0).peekable());
    for bucket in counts {
        cumulative = bucket.count.saturating_add(cumulative);
        // The same tolerance as in `Histogram::percentile_ns`.
        let is_reached = |share: &&f64| (**share * total as f64 * (1.0 - 1e-12)).ceil() <= cumulative as f64;
        while let Some(&share) = pending.next_if(is_reached) {
            all.push(SpectrumRow { value: bucket.highest, share, count: cumulative });
        }
    }
    // The sort is stable: a row of the table precedes an additional row with the same share.
    all.sort_by(|a, b| a.share.total_cmp(&b.share).then(a.value.total_cmp(&b.value)));
    all
}

/// The rows of a table. Their shares become denser towards 100 %: `ticks` per halving of the distance. The rounding is
/// visible in the last column, so the floating-point operations are those of HdrHistogram's `PercentileIterator`.
pub(super) fn rows(counts: &[HgrmCount], total: u64, ticks: u32) -> Vec<SpectrumRow> {
    let mut rows = Vec::new();
    let (mut level, mut cumulative) = (0.0f64, 0u64);
    // With very many values, the next level equals the last one or 100 %. Then only the last row remains.
    let mut is_last = false;
    for bucket in counts.iter().filter(|bucket| bucket.count > 0) {
        cumulative = cumulative.saturating_add(bucket.count);
        let share = 100.0 * cumulative as f64 / total as f64;
        while level <= share && (!is_last || cumulative == total) {
            rows.push(SpectrumRow { value: bucket.highest, share: level / 100.0, count: cumulative });
            if cumulative == total {
                rows.push(SpectrumRow { value: bucket.highest, share: 1.0, count: cumulative });
                return rows;
            }
            let halvings = (100.0 / (100.0 - level)).log2().floor() as i32 + 1;
            let next = level + 100.0 / (f64::from(ticks) * 2f64.powi(halvings));
            if next <= level || next >= 100.0 {
                is_last = true;
            } else {
                level = next;
            }
        }
    }
    rows
}
