//! [`TickHistogram`]: counts single events by their ticks while they happen, without allocating.

use coretalk_model::{Histogram, TickRate};

/// Values below this have slots of their own. Above, each power of two has half as many slots, so a value is exact to 1
/// part in 4,096. This is finer than the histogram of durations made from it.
const EXACT: u64 = 1 << 13;
const EXACT_BITS: u32 = EXACT.trailing_zeros();
/// Maximum bits of a value. Events longer than 2⁴⁴ ticks (an hour at 4.9 GHz) are counted as 2⁴⁴.
const MAX_BITS: u32 = 44;
const SLOTS: usize = (EXACT + (MAX_BITS - EXACT_BITS) as u64 * EXACT / 2) as usize;
/// Slots in the smallest page size, 4 KiB.
const SLOTS_PER_PAGE: usize = 1024;
/// Slots scanned together. Divides `SLOTS`.
const BLOCK: usize = 64;
const _: () = assert!(SLOTS.is_multiple_of(BLOCK));

/// Counts events by their ticks. All memory is allocated and touched at construction.
///
/// ```
/// # use coretalk_measure::tick_histogram::TickHistogram;
/// # use coretalk_model::TickRate;
/// let mut trips = TickHistogram::new();
/// for ticks in [15, 17, 15, 90_000] {
///     trips.count(ticks);
/// }
/// let histogram = trips.histogram(TickRate { hz: 1e9 });
/// assert_eq!((histogram.count(), histogram.percentile_ns(0.5)), (4, Some(15.0)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TickHistogram {
    slots: Box<[u32]>,
    sum: f64,
    count: u64,
}

impl Default for TickHistogram {
    fn default() -> TickHistogram {
        TickHistogram::new()
    }
}

impl TickHistogram {
    /// An empty histogram. Allocates 600 kB and touches every page.
    pub fn new() -> TickHistogram {
        let mut slots = vec![0u32; SLOTS].into_boxed_slice();
        // Zeroed memory may be one shared page until it is written. The first events must not pay for the page faults.
        slots.iter_mut().step_by(SLOTS_PER_PAGE).for_each(|slot| *slot = std::hint::black_box(0));
        slots[SLOTS - 1] = std::hint::black_box(0);
        std::hint::black_box(&mut slots);
        TickHistogram { slots, sum: 0.0, count: 0 }
    }

    /// Counts an event in a few ns. Never allocates.
    #[inline]
    pub fn count(&mut self, ticks: u64) {
        let slot = &mut self.slots[slot_of(ticks)];
        *slot = slot.saturating_add(1);
        self.sum += ticks as f64;
        self.count += 1;
    }

    /// Number of counted events.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether no event was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of events shorter than this, to the resolution of a slot.
    pub fn count_below(&self, ticks: u64) -> u64 {
        self.slots[..slot_of(ticks)].iter().map(|&count| u64::from(count)).sum()
    }

    /// Adds all events of another histogram.
    pub fn add(&mut self, other: &TickHistogram) {
        for (slot, &more) in self.slots.iter_mut().zip(&other.slots) {
            *slot = slot.saturating_add(more);
        }
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Exact mean in nanoseconds; `None` if empty.
    pub fn mean_ns(&self, rate: TickRate) -> Option<f64> {
        (self.count > 0).then(|| rate.ns(self.sum / self.count as f64))
    }

    /// Converts ticks to a histogram of durations.
    pub fn histogram(&self, rate: TickRate) -> Histogram {
        let mut histogram = Histogram::new();
        // Empty blocks are skipped. A few hundred of 135 thousand slots are used, and a scan takes longer than a
        // wake-up.
        let blocks = self.slots.chunks(BLOCK).enumerate().filter(|(_, slots)| **slots != [0; BLOCK]);
        for (block, slots) in blocks {
            for (slot, &count) in slots.iter().enumerate().filter(|(_, count)| **count > 0) {
                histogram.record_ns(rate.ns(middle_of(block * BLOCK + slot)), u64::from(count));
            }
        }
        histogram
    }
}

#[inline]
fn slot_of(ticks: u64) -> usize {
    if ticks < EXACT {
        return ticks as usize;
    }
    let ticks = ticks.min((1 << MAX_BITS) - 1);
    // At least 1, since the highest bit is at EXACT_BITS or above.
    let shift = u64::BITS - ticks.leading_zeros() - EXACT_BITS;
    // The shifted value is in EXACT / 2 .. EXACT.
    (EXACT + u64::from(shift - 1) * (EXACT / 2) + (ticks >> shift) - EXACT / 2) as usize
}

fn middle_of(slot: usize) -> f64 {
    let slot = slot as u64;
    if slot < EXACT {
        return slot as f64;
    }
    let (shift, step) = ((slot - EXACT) / (EXACT / 2) + 1, (slot - EXACT) % (EXACT / 2) + EXACT / 2);
    (step << shift) as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_near_the_middle_of_its_slot_and_slots_increase() {
        let mut last = 0;
        let mut ticks = 0u64;
        while ticks < 1 << MAX_BITS {
            let slot = slot_of(ticks);
            assert!(slot >= last && slot < SLOTS, "{ticks}: {slot} after {last}");
            let off = (middle_of(slot) - ticks as f64).abs();
            assert!(off <= ticks as f64 / 4096.0, "{ticks} is counted as {}", middle_of(slot));
            last = slot;
            ticks += 1 + ticks / 3000;
        }
        assert_eq!((slot_of(EXACT - 1) + 1, slot_of(u64::MAX)), (slot_of(EXACT), SLOTS - 1));
    }

    #[test]
    fn a_histogram_keeps_count_and_mean() {
        let mut events = TickHistogram::new();
        assert_eq!(events.mean_ns(TickRate { hz: 1e9 }), None);
        for ticks in [10, 20, 1_000_000] {
            events.count(ticks);
        }
        let rate = TickRate { hz: 2e9 };
        assert_eq!((events.len(), events.histogram(rate).count()), (3, 3));
        assert_eq!([10, 11, 21, u64::MAX].map(|ticks| events.count_below(ticks)), [0, 1, 2, 3]);
        assert!((events.mean_ns(rate).unwrap() - 1_000_030.0 / 6.0).abs() < 1e-9);
    }
}
