//! [`Spread`]: how far the counters of CPUs lie apart.

/// How far counters lie apart, of some pairs of CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Pairs compared.
    pub pairs: usize,
    /// The offset of the pair that surely lies farthest apart, in nanoseconds; of the pair that is known worst, where none
    /// is proven to.
    pub largest_ns: f64,
    /// How well this offset is known: the truth lies within this many nanoseconds of it.
    pub bound_ns: f64,
}

impl Spread {
    /// Whether it is a number.
    pub fn is_known(&self) -> bool {
        self.largest_ns.is_finite() && self.bound_ns.is_finite()
    }
}
