//! Compression of raw ticks. Each tick is predicted from its neighbours, and the residual is stored in a Rice code.
//!
//! The encoder tries three predictors and stores the number of the best. In some spans, all ticks differ by noise only.
//! In other spans, the batches of one line are similar while lines differ.
//! A Rice code writes the quotient by 2ᵏ in unary, then the k low bits (Rice, Plaunt 1971). Residuals of noise with a
//! standard deviation of σ ticks have an entropy of log₂(4.13 σ) bits; the code takes about 0.2 bit more. General byte
//! compression sees no numbers, so it does worse, and it would be another dependency.

use super::bytes::{Damage, Reader, Writer};

/// Quotients from here on are written as raw values. A gap of a millisecond would take a million bits in unary.
const ESCAPE: u32 = 24;
/// Bits of a raw value: the zigzag difference of two `u32`.
const RAW_BITS: u32 = 33;
const MAX_LOW_BITS: u32 = 32;

/// Appends ticks; each `ticks_per_line` consecutive ticks belong to one cache line.
pub fn write_ticks(out: &mut Writer, ticks: &[u32], ticks_per_line: usize) {
    out.varint(ticks.len() as u64);
    if ticks.is_empty() {
        return;
    }
    // Without this division, ticks of a counter with steps of 26 would waste log₂ 26 bits per value.
    let step = ticks.iter().fold(0, |step, &tick| gcd(step, tick)).max(1);
    let mut sorted = ticks.to_vec();
    let middle = sorted.len() / 2;
    let centre = *sorted.select_nth_unstable(middle).1 / step;
    let best = Predictor::ALL
        .into_iter()
        .map(|predictor| {
            let residuals = residuals(ticks, ticks_per_line, step, centre, predictor);
            let (low_bits, cost) = cheapest(&residuals);
            (cost, predictor, low_bits, residuals)
        })
        .min_by_key(|(cost, ..)| *cost);
    let Some((_, predictor, low_bits, residuals)) = best else { return };
    out.varint(u64::from(step));
    out.varint(u64::from(centre));
    out.byte(predictor as u8);
    out.byte(low_bits as u8);
    let mut bits = BitWriter::default();
    for residual in residuals {
        let quotient = residual >> low_bits;
        if quotient < u64::from(ESCAPE) {
            bits.push((1 << quotient) - 1, quotient as u32 + 1);
            bits.push(residual & ((1 << low_bits) - 1), low_bits);
        } else {
            bits.push((1 << ESCAPE) - 1, ESCAPE);
            bits.push(residual, RAW_BITS);
        }
    }
    out.bytes(&bits.finish());
}

pub fn read_ticks(from: &mut Reader<'_>, ticks_per_line: usize) -> Result<Vec<u32>, Damage> {
    // Each value takes at least one bit.
    let count = from.count("the number of ticks", 1)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let step = u64::from(from.varint32("the step of the counter")?);
    let centre = from.varint32("the middle of the ticks")?;
    let predictor = from.byte()?;
    let predictor = Predictor::ALL
        .into_iter()
        .find(|known| *known as u8 == predictor)
        .ok_or(Damage::Value { what: "the predictor of ticks", value: u64::from(predictor) })?;
    let low_bits = u32::from(from.byte()?);
    if low_bits > MAX_LOW_BITS {
        return Err(Damage::Value { what: "the parameter of a Rice code", value: u64::from(low_bits) });
    }
    let mut prediction = Prediction::new(centre, ticks_per_line, predictor);
    let mut bits = BitReader { from, word: 0, pending: 0 };
    let mut ticks = Vec::with_capacity(count);
    for _ in 0..count {
        let quotient = bits.ones(ESCAPE)?;
        let residual = if quotient < ESCAPE {
            u64::from(quotient) << low_bits | bits.take(low_bits)?
        } else {
            bits.take(RAW_BITS)?
        };
        let difference = (residual >> 1) as i64 ^ -((residual & 1) as i64);
        let damage = Damage::Value { what: "a residual of ticks", value: residual };
        let value = u32::try_from(i64::from(prediction.next()) + difference).map_err(|_| damage.clone())?;
        prediction.observe(value);
        ticks.push(u32::try_from(u64::from(value) * step).map_err(|_| damage)?);
    }
    Ok(ticks)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Predictor {
    /// Median of the span, for lines that do not differ.
    Centre = 0,
    /// Mean of the line so far, for lines that differ much more than batches.
    Line = 1,
    /// Mean of the line so far and the median, which counts as one batch, for lines and batches that differ.
    Mixed = 2,
}

impl Predictor {
    const ALL: [Predictor; 3] = [Predictor::Centre, Predictor::Line, Predictor::Mixed];
}

struct Prediction {
    centre: u64,
    ticks_per_line: usize,
    predictor: Predictor,
    seen: usize,
    sum: u64,
}

impl Prediction {
    fn new(centre: u32, ticks_per_line: usize, predictor: Predictor) -> Prediction {
        Prediction {
            centre: u64::from(centre),
            ticks_per_line: ticks_per_line.max(1),
            predictor,
            seen: 0,
            sum: 0,
        }
    }

    fn next(&self) -> u32 {
        let seen = self.seen as u64;
        (match self.predictor {
            Predictor::Line if seen > 0 => (self.sum + seen / 2) / seen,
            Predictor::Mixed => (self.sum + self.centre + seen.div_ceil(2)) / (seen + 1),
            _ => self.centre,
        }) as u32
    }

    fn observe(&mut self, value: u32) {
        self.seen += 1;
        self.sum += u64::from(value);
        if self.seen == self.ticks_per_line {
            (self.seen, self.sum) = (0, 0);
        }
    }
}

fn residuals(ticks: &[u32], ticks_per_line: usize, step: u32, centre: u32, predictor: Predictor) -> Vec<u64> {
    let mut prediction = Prediction::new(centre, ticks_per_line, predictor);
    ticks
        .iter()
        .map(|&tick| {
            let value = tick / step;
            let difference = i64::from(value) - i64::from(prediction.next());
            prediction.observe(value);
            (difference << 1 ^ difference >> 63) as u64
        })
        .collect()
}

/// Returns the best Rice parameter and its cost in bits. The parameter is near log₂ of the median.
fn cheapest(residuals: &[u64]) -> (u32, u64) {
    let mut sorted = residuals.to_vec();
    let middle = sorted.len() / 2;
    let median = *sorted.select_nth_unstable(middle).1;
    let near = (u64::BITS - median.leading_zeros()).min(MAX_LOW_BITS);
    let cost = |low_bits: u32| -> u64 {
        residuals
            .iter()
            .map(|residual| match residual >> low_bits {
                quotient if quotient < u64::from(ESCAPE) => quotient + 1 + u64::from(low_bits),
                _ => u64::from(ESCAPE + RAW_BITS),
            })
            .sum()
    };
    (near.saturating_sub(2)..=(near + 1).min(MAX_LOW_BITS))
        .map(|low_bits| (low_bits, cost(low_bits)))
        .min_by_key(|(_, cost)| *cost)
        .unwrap_or((0, 0))
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Writes bits, lowest first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    word: u64,
    pending: u32,
}

impl BitWriter {
    /// Appends the low `count` bits, at most 33.
    fn push(&mut self, value: u64, count: u32) {
        // At most 7 bits are pending, so the word holds at most 40.
        self.word |= value << self.pending;
        self.pending += count;
        while self.pending >= 8 {
            self.bytes.push(self.word as u8);
            self.word >>= 8;
            self.pending -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.pending > 0 {
            self.bytes.push(self.word as u8);
        }
        self.bytes
    }
}

struct BitReader<'r, 'a> {
    from: &'r mut Reader<'a>,
    word: u64,
    pending: u32,
}

impl BitReader<'_, '_> {
    /// Returns the next `count` bits, at most 33.
    fn take(&mut self, count: u32) -> Result<u64, Damage> {
        while self.pending < count {
            self.word |= u64::from(self.from.byte()?) << self.pending;
            self.pending += 8;
        }
        let value = self.word & ((1 << count) - 1);
        self.word >>= count;
        self.pending -= count;
        Ok(value)
    }

    /// Counts the following one bits, up to `most`. If there are fewer, also consumes the zero bit after them.
    fn ones(&mut self, most: u32) -> Result<u32, Damage> {
        for count in 0..most {
            if self.take(1)? == 0 {
                return Ok(count);
            }
        }
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(ticks: &[u32], ticks_per_line: usize) -> Vec<u8> {
        let mut out = Writer::new(1);
        write_ticks(&mut out, ticks, ticks_per_line);
        out.seal(b"")
    }

    fn decoded(blob: &[u8], ticks_per_line: usize) -> Vec<u32> {
        let mut from = Reader::open(blob, b"", 1).unwrap();
        let ticks = read_ticks(&mut from, ticks_per_line).unwrap();
        from.finish().unwrap();
        ticks
    }

    #[test]
    fn equal_ticks_take_one_bit_each_and_a_coarse_counter_costs_nothing() {
        assert!(encoded(&[1500; 800], 8).len() < 115);
        let fine: Vec<u32> = (0..256u32).map(|index| 1000 + index * 37 % 64).collect();
        let coarse: Vec<u32> = fine.iter().map(|tick| tick * 26).collect();
        assert!(encoded(&coarse, 4).len() <= encoded(&fine, 4).len() + 2);
    }

    #[test]
    fn one_long_gap_costs_a_few_bytes() {
        let mut ticks: Vec<u32> = (0..192u32).map(|index| 1500 + index * 53 % 90).collect();
        let quiet = encoded(&ticks, 3).len();
        ticks[100] = u32::MAX;
        assert!(encoded(&ticks, 3).len() < quiet + 40);
        assert_eq!(decoded(&encoded(&ticks, 3), 3), ticks);
    }

    proptest! {
        #[test]
        fn ticks_read_as_written(
            ticks in proptest::collection::vec(prop_oneof![4 => 1000u32..2000, 1 => any::<u32>()], 0..300),
            ticks_per_line in 0usize..9,
            step in 1u32..40,
        ) {
            let ticks: Vec<u32> = ticks.into_iter().map(|tick| tick / step * step).collect();
            prop_assert_eq!(decoded(&encoded(&ticks, ticks_per_line), ticks_per_line), ticks);
        }
    }
}
