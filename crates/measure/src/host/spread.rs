//! [`Spread`]: the largest difference between the counters of CPUs.

/// Largest counter offset of CPU pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Number of pairs.
    pub pairs: usize,
    /// The offset that exceeds its error bound by most, in nanoseconds. If no offset exceeds its bound, it is that of
    /// the pair with the largest error.
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
