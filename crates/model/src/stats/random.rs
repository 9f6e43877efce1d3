//! Counter-based random numbers: the value at (key, counter) is a pure function. Results do not depend on the order of
//! evaluation or on the number of threads, and are bit-identical on every platform.

use super::elementary::ln;
use super::normal;

/// A stream of random numbers, named by any number of words, such as seed, cell, round, line and batch.
///
/// ```
/// # use coretalk_model::stats::Key;
/// let cell = Key::from_words(&[42, 7]);
/// assert_eq!(cell.with(3), Key::from_words(&[42, 7, 3]));
/// assert_ne!(cell.bits(0), cell.bits(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

impl Key {
    /// The stream of these words. The order of the words matters.
    pub const fn from_words(words: &[u64]) -> Key {
        let mut key = Key(START);
        let mut index = 0;
        while index < words.len() {
            key = key.with(words[index]);
            index += 1;
        }
        key
    }

    /// The stream named by one more word.
    #[must_use]
    pub const fn with(self, word: u64) -> Key {
        // Mixed before the sum, so that small words do not yield neighbouring counters of one stream.
        Key(mix(self.0 ^ mix(word.wrapping_add(START))).wrapping_add(word))
    }

    /// 64 random bits: SplitMix64 (Steele, Lea, Flood 2014) read at a position.
    #[inline]
    pub const fn bits(self, counter: u64) -> u64 {
        mix(self.0.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// Uniform over the open interval (0, 1): 2⁵² equally spaced values, without the ends.
    #[inline]
    pub const fn uniform(self, counter: u64) -> f64 {
        ((self.bits(counter) >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
    }

    /// Standard normal, by inversion ([`normal::quantile_fast`]). One counter gives one value.
    #[inline]
    pub fn normal(self, counter: u64) -> f64 {
        normal::quantile_fast(self.uniform(counter))
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(self, counter: u64) -> f64 {
        -ln(self.uniform(counter))
    }

    /// Uniform over `0..bound` by multiplication (Lemire 2019, without rejection: bias below bound/2⁶⁴); 0 for bound 0.
    #[inline]
    pub const fn below(self, counter: u64, bound: u64) -> u64 {
        ((self.bits(counter) as u128 * bound as u128) >> 64) as u64
    }

    /// Shuffles the items (Fisher and Yates 1938, in Durstenfeld's form 1964).
    pub fn shuffle<T>(self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64, last as u64 + 1) as usize);
        }
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Digits of π. `mix` maps zero to itself, so any constant but zero works.
const START: u64 = 0x243f_6a88_85a3_08d3;

/// The finaliser of SplitMix64 (Stafford's mix 13): each input bit flips each output bit with probability ½.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{autocorrelation, mean, variance};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn the_generator_is_the_published_one() {
        // SplitMix64 from state 1234567: the reference sequence.
        let published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431];
        assert_eq!([0, 1, 2, 3].map(|counter| Key(1_234_567).bits(counter)), published);
    }

    #[test]
    fn the_bits_are_pinned() {
        let key = Key::from_words(&[1, 2, 3, 4, 5, 6]);
        let found =
            [key.bits(0), key.uniform(1).to_bits(), key.normal(2).to_bits(), key.exponential(3).to_bits()];
        assert_eq!(found, PINNED, "{found:#x?}");
        let mut order: Vec<u32> = (0..10).collect();
        key.shuffle(&mut order);
        assert_eq!(order, PINNED_ORDER);
    }

    const PINNED: [u64; 4] =
        [0x81f9_9414_1970_eeb6, 0x3fe5_b1b7_8b51_e4fb, 0xbfdf_0b60_51a3_3f93, 0x3ffd_fd80_439e_5de6];
    const PINNED_ORDER: [u32; 10] = [7, 9, 3, 8, 6, 0, 4, 2, 5, 1];

    #[test]
    fn moments_are_those_of_the_distributions() {
        const N: u64 = 200_000;
        let key = Key::from_words(&[11]);
        let draw = |value: fn(Key, u64) -> f64| (0..N).map(|i| value(key, i)).collect::<Vec<f64>>();
        for (name, values, center, spread) in [
            ("uniform", draw(Key::uniform), 0.5, 1.0 / 12.0),
            ("normal", draw(Key::normal), 0.0, 1.0),
            ("exponential", draw(Key::exponential), 1.0, 1.0),
        ] {
            // Five standard errors of a mean and of a variance.
            assert!((mean(&values).unwrap() - center).abs() < 0.012, "{name}");
            assert!((variance(&values).unwrap() - spread).abs() < 0.035, "{name}");
            assert!(autocorrelation::lag(&values, 1).unwrap().abs() < 0.012, "{name}");
        }
    }

    #[test]
    fn normals_pass_kolmogorovs_test_within_a_stream_and_across_streams() {
        const N: usize = 20_000;
        let reference = Normal::new(0.0, 1.0).unwrap();
        let within: Vec<f64> = (0..N as u64).map(|i| Key::from_words(&[5]).normal(i)).collect();
        let across: Vec<f64> = (0..N as u64).map(|i| Key::from_words(&[5, i]).normal(0)).collect();
        for mut values in [within, across] {
            assert!(autocorrelation::lag(&values, 1).unwrap().abs() < 0.03);
            values.sort_by(f64::total_cmp);
            let distance =
                |(i, value): (usize, &f64)| (reference.cdf(*value) - (i as f64 + 0.5) / N as f64).abs();
            let distance = values.iter().enumerate().map(distance).fold(0.0, f64::max);
            // 1.95 / √n is the 0.1 % point.
            assert!(distance < 1.95 / (N as f64).sqrt(), "{distance}");
        }
    }

    #[test]
    fn every_order_of_four_comes_up_equally_often() {
        let mut counts = std::collections::BTreeMap::new();
        for trial in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            Key::from_words(&[9, trial]).shuffle(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // Expected 1,000 each, standard deviation 31.
        assert!(counts.values().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }

    #[test]
    fn reordered_words_name_another_stream() {
        let keys = [&[][..], &[0], &[0, 0], &[0, 1], &[1, 0]].map(Key::from_words);
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|b| a != b), "{keys:?}");
        }
        assert_eq!(Key::from_words(&[3]).below(0, 0), 0);
    }
}
