//! [`TimeUnit`]: what the times of a table or a map are told in.

/// A unit of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeUnit {
    /// Its symbol.
    pub name: &'static str,
    /// Nanoseconds in it.
    pub ns: f64,
}

/// A median below this loses its digits in microseconds: 50 ns would read 0.1 µs in a map, and 40 ns nothing at all.
const LEAST_NS: f64 = 100.0;
/// Where no median reaches a microsecond and a half all of them are told in nanoseconds.
const FEW_NS: f64 = 1_500.0;

impl TimeUnit {
    /// 1 ns.
    pub const NANOSECONDS: TimeUnit = TimeUnit { name: "ns", ns: 1.0 };
    /// 1 µs.
    pub const MICROSECONDS: TimeUnit = TimeUnit { name: "µs", ns: 1e3 };

    /// The unit in which the smallest of some medians keeps its digits: microseconds, where all of them can be told so.
    /// Microseconds where there is none.
    ///
    /// ```
    /// # use coretalk_model::series::TimeUnit;
    /// assert_eq!(TimeUnit::of([19e3, 20e3].into_iter()).name, "µs");
    /// assert_eq!(TimeUnit::of([45.0, 20e3].into_iter()).name, "ns");
    /// ```
    pub fn of(medians_ns: impl Iterator<Item = f64>) -> TimeUnit {
        let [least, most] = medians_ns
            .filter(|ns| *ns > 0.0)
            .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], ns| [least.min(ns), most.max(ns)]);
        match least < LEAST_NS || (most > 0.0 && most < FEW_NS) {
            true => TimeUnit::NANOSECONDS,
            false => TimeUnit::MICROSECONDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_median_keeps_its_digits() {
        for (medians, name) in [
            (&[][..], "µs"),
            (&[40.0, 900.0], "ns"),
            (&[400.0, 1_400.0], "ns"),
            (&[400.0, 1_600.0], "µs"),
            (&[99.0, 20_000.0], "ns"),
            (&[0.0, 20_000.0], "µs"),
        ] {
            assert_eq!(TimeUnit::of(medians.iter().copied()).name, name, "{medians:?}");
        }
    }
}
