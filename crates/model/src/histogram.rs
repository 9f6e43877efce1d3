//! [`Histogram`]: counts of durations with a declared unit, in the ranges of HdrHistogram.

use std::collections::BTreeMap;
use std::iter::Sum;

/// Significant bits of a stored value: 2,048 steps in each power of two, or three significant digits of HdrHistogram.
const KEPT_BITS: u32 = 11;

/// Counts of durations in units of 10 ps, to three significant digits. A value is stored as its range of equivalent
/// values in HdrHistogram (Tene, hdrhistogram.org). Only non-empty ranges take memory.
///
/// ```
/// # use coretalk_model::Histogram;
/// let mut waits = Histogram::new();
/// waits.record_ns(52_000.0, 3);
/// waits.record_ns(20.0, 1);
/// assert_eq!((waits.count(), waits.percentile_ns(0.25)), (4, Some(20.0)));
/// assert!((waits.percentile_ns(1.0).unwrap() / 52_000.0 - 1.0).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    ranges: Vec<Range>,
    many: BTreeMap<u16, u64>,
    count: u64,
}

/// A non-empty range of equivalent values, in 4 bytes, because runs hold tens of millions of ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    /// Position among all ranges, ascending from 0, as in HdrHistogram.
    position: u16,
    /// The count, or [`MANY`] if the count is too large.
    few: u16,
}

const MANY: u16 = u16::MAX;

impl Histogram {
    /// Picoseconds per unit.
    pub const UNIT_PS: u64 = 10;
    /// The longest duration: an hour. Longer durations count as an hour.
    pub const HIGHEST: u64 = 3_600 * 1_000_000_000_000 / Histogram::UNIT_PS;

    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// An empty histogram with memory for this number of ranges.
    pub fn with_capacity(ranges: usize) -> Histogram {
        Histogram { ranges: Vec::with_capacity(ranges), ..Histogram::new() }
    }

    /// Counts a number of equal durations in nanoseconds. Negative values and NaN count as zero.
    pub fn record_ns(&mut self, ns: f64, count: u64) {
        self.record((ns * (1_000 / Histogram::UNIT_PS) as f64).round() as u64, count);
    }

    /// Counts a number of equal durations in units.
    pub fn record(&mut self, units: u64, count: u64) {
        self.record_at(position(units.min(Histogram::HIGHEST)), count);
    }

    fn record_at(&mut self, position: u16, count: u64) {
        if count == 0 {
            return;
        }
        self.count = self.count.saturating_add(count);
        if self.ranges.last().is_none_or(|last| last.position < position) {
            let few = self.few(position, count);
            return self.ranges.push(Range { position, few });
        }
        let place = self.ranges.partition_point(|known| known.position < position);
        if self.ranges[place].position != position {
            self.ranges.insert(place, Range { position, few: 0 });
        }
        let sum = self.count_of(self.ranges[place]).saturating_add(count);
        self.ranges[place].few = self.few(position, sum);
    }

    fn few(&mut self, position: u16, count: u64) -> u16 {
        if count < u64::from(MANY) {
            return count as u16;
        }
        self.many.insert(position, count);
        MANY
    }

    fn count_of(&self, Range { position, few }: Range) -> u64 {
        match few {
            MANY => self.many[&position],
            few => few.into(),
        }
    }

    fn counts(&self) -> impl DoubleEndedIterator<Item = (u16, u64)> + ExactSizeIterator + '_ {
        self.ranges.iter().map(|range| (range.position, self.count_of(*range)))
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Histogram) {
        *self = [&*self, other].into_iter().sum();
    }

    /// Number of counted durations, at most `u64::MAX`.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The non-empty ranges, ascending: lowest value in units, and count.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.counts().map(|(position, count)| (lowest(position), count))
    }

    /// Serializes as HdrHistogram with three digits over 1 to [`HIGHEST`](Histogram::HIGHEST), V2 without compression.
    /// Returns `None` if a count is too large.
    pub fn to_v2(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(V2_HEADER + 3 * self.ranges.len());
        // Cookie, length (set below), offset of normalisation, digits, lowest and highest value, factor.
        for word in [V2_COOKIE, 0, 0, 3] {
            bytes.extend(word.to_be_bytes());
        }
        for word in [1, Histogram::HIGHEST, 1f64.to_bits()] {
            bytes.extend(word.to_be_bytes());
        }
        let mut next = 0;
        for (position, count) in self.counts() {
            match i64::from(position) - next {
                0 => {}
                1 => v2_number(&mut bytes, 0),
                zeros => v2_number(&mut bytes, -zeros),
            }
            v2_number(&mut bytes, i64::try_from(count).ok()?);
            next = i64::from(position) + 1;
        }
        if self.ranges.is_empty() {
            v2_number(&mut bytes, 0);
        }
        let length = (bytes.len() - V2_HEADER) as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        Some(bytes)
    }

    /// The mean in nanoseconds, with each count at the middle of its range; `None` if the histogram is empty.
    pub fn mean_ns(&self) -> Option<f64> {
        let sum: f64 = self.iter().map(|(units, count)| middle(units) * count as f64).sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64 * UNIT_NS)
    }

    /// The smallest value that at least this share of the values do not exceed, in nanoseconds. The value is the middle
    /// of its range. `None` if the histogram is empty.
    pub fn percentile_ns(&self, share: f64) -> Option<f64> {
        // The factor makes 0.99 of 100 the 99th value, although 0.99 × 100 rounds above 99.
        let rank = (share * self.count() as f64 * (1.0 - 1e-12)).ceil().max(1.0) as u64;
        let (mut counts, mut seen) = (self.counts(), 0u64);
        let mut reaches = |least: u64, count: u64| {
            seen = seen.saturating_add(count);
            seen >= least
        };
        let reached = match self.count.saturating_sub(rank) {
            above if above < rank => counts.rev().find(|(_, count)| reaches(above + 1, *count)),
            _ => counts.find(|(_, count)| reaches(rank, *count)),
        };
        reached.map(|(position, _)| middle(lowest(position)) * UNIT_NS)
    }

    /// As [`percentile_ns`](Histogram::percentile_ns), but `None` above the median if no value is beyond the
    /// percentile. That percentile would only repeat the maximum. The maximum itself (share 1) is always returned.
    ///
    /// ```
    /// # use coretalk_model::Histogram;
    /// let mut waits = Histogram::new();
    /// waits.record_ns(20.0, 200);
    /// assert_eq!((waits.supported_percentile_ns(0.99), waits.supported_percentile_ns(0.999)), (Some(20.0), None));
    /// ```
    pub fn supported_percentile_ns(&self, share: f64) -> Option<f64> {
        tells(self.count(), share).then(|| self.percentile_ns(share)).flatten()
    }
}

impl<'a> Sum<&'a Histogram> for Histogram {
    fn sum<I: Iterator<Item = &'a Histogram>>(histograms: I) -> Histogram {
        let all: Vec<&Histogram> = histograms.collect();
        if let [one] = all[..] {
            return one.clone();
        }
        let first = all.iter().filter_map(|one| one.ranges.first()).map(|range| range.position).min();
        let last = all.iter().filter_map(|one| one.ranges.last()).map(|range| range.position).max();
        let Some((first, last)) = first.zip(last) else { return Histogram::new() };
        // A dense table takes time proportional to the added ranges. Merging one by one would visit all each time.
        let mut counts = vec![0u64; usize::from(last - first) + 1];
        for (position, count) in all.iter().flat_map(|one| one.counts()) {
            let sum = &mut counts[usize::from(position - first)];
            *sum = sum.saturating_add(count);
        }
        let mut sum = Histogram::with_capacity(counts.iter().filter(|count| **count > 0).count());
        (first..=last).zip(counts).for_each(|(position, count)| sum.record_at(position, count));
        sum
    }
}

const V2_COOKIE: u32 = 0x1C84_9313;
const V2_HEADER: usize = 40;

fn v2_number(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn position(units: u64) -> u16 {
    let shift = shift(units);
    (shift << (KEPT_BITS - 1)) as u16 + (units >> shift) as u16
}

fn lowest(position: u16) -> u64 {
    let position = u64::from(position);
    let shift = (position >> (KEPT_BITS - 1)).saturating_sub(1);
    (position - (shift << (KEPT_BITS - 1))) << shift
}

/// Whether this number of values is enough for [`supported_percentile_ns`](Histogram::supported_percentile_ns).
pub fn tells(count: u64, share: f64) -> bool {
    share <= 0.5 || share >= 1.0 || count as f64 * (1.0 - share) >= 1.0 - 1e-9
}

const UNIT_NS: f64 = Histogram::UNIT_PS as f64 / 1e3;

/// The lowest value of the same range.
pub fn lowest_equivalent(units: u64) -> u64 {
    let shift = shift(units);
    units >> shift << shift
}

/// The highest value of the same range.
pub fn highest_equivalent(units: u64) -> u64 {
    lowest_equivalent(units) | ((1 << shift(units)) - 1)
}

fn middle(units: u64) -> f64 {
    lowest_equivalent(units) as f64 + ((1u64 << shift(units)) - 1) as f64 / 2.0
}

fn shift(units: u64) -> u32 {
    (u64::BITS - units.leading_zeros()).saturating_sub(KEPT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact_and_large_ones_keep_three_digits() {
        for (units, low, high) in [(0, 0, 0), (2047, 2047, 2047), (2048, 2048, 2049), (4097, 4096, 4099)] {
            assert_eq!((lowest_equivalent(units), highest_equivalent(units)), (low, high), "{units}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_mean_and_no_percentile() {
        let mut none = Histogram::new();
        none.record(5, 0);
        assert_eq!((none.mean_ns(), none.percentile_ns(0.5)), (None, None));
        assert!(none.is_empty() && none == Histogram::new());
        assert_eq!(none.to_v2().map(|bytes| bytes[V2_HEADER..].to_vec()), Some(vec![0]));
    }

    #[test]
    fn overflowing_counts_stay_at_the_maximum() {
        let mut many = Histogram::new();
        many.record(7, u64::MAX);
        many.record(7, 1);
        many.record(9, 1 << 60);
        many.add(&many.clone());
        assert_eq!((many.count(), many.percentile_ns(1.0), many.to_v2()), (u64::MAX, Some(0.09), None));
        assert_eq!(highest_equivalent(u64::MAX), u64::MAX);
        // Percentile tables stay short, too, where the step to the next level is too small to change it.
        let mut huge = Histogram::new();
        huge.record(1, 1 << 60);
        (1..2_000).for_each(|units| huge.record(units, 1));
        for histogram in [&many, &huge] {
            let table =
                crate::formats::hgrm::write_hgrm(histogram, &crate::formats::hgrm::HgrmStyle::default(), &[]);
            assert!(table.lines().count() < 400, "{}", table.lines().count());
            assert!(table.contains(&format!(" 1.000000000000 {}\n", histogram.count())), "{table}");
        }
    }

    #[test]
    fn durations_beyond_an_hour_count_as_an_hour() {
        let mut long = Histogram::new();
        long.record(u64::MAX, 1);
        assert!((long.percentile_ns(1.0).unwrap() / 3.6e12 - 1.0).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn merging_adds_counts_and_matches_the_library(
            left in proptest::collection::vec(0u64..1 << 44, 0..50), right in proptest::collection::vec(0u64..9_000, 1..50),
        ) {
            let recorded = |values: &[u64]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|&value| histogram.record(value, 1));
                histogram
            };
            let mut merged = recorded(&left);
            merged.add(&recorded(&right));
            let all: Vec<u64> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(&merged, &recorded(&all));
            let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(1, Histogram::HIGHEST, 3).unwrap();
            for &value in &all {
                library.record(value).unwrap();
                prop_assert_eq!(library.lowest_equivalent(value), lowest_equivalent(value));
                prop_assert_eq!(library.highest_equivalent(value), highest_equivalent(value));
            }
            library.record_n(all[0], 1 << 62).unwrap();
            merged.record(all[0], 1 << 62);
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&library, &mut bytes).unwrap();
            prop_assert_eq!(merged.to_v2(), Some(bytes));
        }
    }
}
