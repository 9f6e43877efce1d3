//! [`Spread`]: differences between the counters of CPUs.

/// Largest counter offset of some CPU pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Number of pairs.
    pub pairs: usize,
    /// Offset of the pair whose offset is certainly largest, in nanoseconds; if none is proven, of the pair with the
    /// largest error.
    pub largest_ns: f64,
    /// Error bound of that offset in nanoseconds.
    pub bound_ns: f64,
}

impl Spread {
    /// Whether both values are finite.
    pub fn is_known(&self) -> bool {
        self.largest_ns.is_finite() && self.bound_ns.is_finite()
    }
}
