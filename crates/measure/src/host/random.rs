//! [`Draws`]: random choices that follow from a key, so that a run can be repeated with the same ones.

/// A stream of numbers that depends on nothing but its key.
///
/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// The stream number `stream` of a key.
    pub fn new(key: u64, stream: u64) -> Draws {
        let mut mixed = Draws(key ^ stream.wrapping_mul(0xA076_1D64_78BD_642F));
        mixed.bits();
        mixed
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where `end` is 0. The bias is below `end / 2⁶⁴`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Brings the items into random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_a_stream_decide_everything() {
        let of = |key, stream| {
            let mut draws = Draws::new(key, stream);
            [draws.bits(), draws.bits()]
        };
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_reaches_every_place() {
        let mut first_places = [0; 8];
        for key in 0..400 {
            let mut items: Vec<usize> = (0..8).collect();
            Draws::new(key, 0).shuffle(&mut items);
            first_places[items[0]] += 1;
            items.sort();
            assert_eq!(items, (0..8).collect::<Vec<_>>());
        }
        assert!(first_places.iter().all(|&count| count > 20), "{first_places:?}");
    }
}
