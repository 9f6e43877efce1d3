//! [`statistic`]: what a tool makes of its samples.

use super::Imitation;

/// What a tool makes of its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Arithmetic mean, with its standard error.
    Mean,
    /// The fastest sample, cut to whole nanoseconds after division, as integer arithmetic does.
    MinimumWholeNs,
    /// The mean of the fastest of so many equal groups.
    BestOf {
        /// How many.
        groups: usize,
    },
    /// All time together, cut to whole milliseconds, per hop.
    TotalWholeMs,
}

/// The number that a tool prints for a pair: a half round trip in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Nanoseconds.
    pub ns: f64,
    /// Standard error in nanoseconds, for the tool that prints one.
    pub standard_error_ns: Option<f64>,
}

/// What the tool would print for these samples: half round trips in nanoseconds, one for each batch, in the order
/// taken. `None` without samples, and where its clock is too coarse to tell the number from zero.
///
/// ```
/// use coretalk_measure::probes::imitation::{Imitation, statistic};
/// use coretalk_model::Tool;
/// let figure = statistic(&Imitation::of(Tool::C2clat), &[31.2, 28.996, 30.0]).unwrap();
/// assert_eq!(figure.ns, 28.0);
/// ```
pub fn statistic(imitation: &Imitation, half_round_trips_ns: &[f64]) -> Option<Figure> {
    let samples = half_round_trips_ns;
    if samples.is_empty() {
        return None;
    }
    let exactly = |ns: f64| Figure { ns, standard_error_ns: None };
    match imitation.statistic {
        Statistic::Mean => Some(Figure { ns: mean(samples), standard_error_ns: standard_error(samples) }),
        Statistic::MinimumWholeNs => {
            // (t / 100) / 2 in whole nanoseconds is t / 200, cut once.
            Some(exactly(samples.iter().copied().fold(f64::INFINITY, f64::min).floor()))
                .filter(|figure| figure.ns > 0.0)
        }
        Statistic::BestOf { groups } => {
            let size = samples.len().div_ceil(groups.max(1));
            samples.chunks(size).map(mean).reduce(f64::min).map(exactly)
        }
        Statistic::TotalWholeMs => {
            let hops_per_sample = 2.0 * f64::from(imitation.round_trips);
            let total_ms = (samples.iter().sum::<f64>() * hops_per_sample / 1e6).floor();
            (total_ms > 0.0).then(|| exactly(total_ms * 1e6 / (hops_per_sample * samples.len() as f64)))
        }
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Of the mean, from the deviations within the sample; a single sample has none.
fn standard_error(samples: &[f64]) -> Option<f64> {
    let n = samples.len() as f64;
    let mean = mean(samples);
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (samples.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use coretalk_model::Tool;

    fn ns(tool: Tool, samples: &[f64]) -> Option<f64> {
        statistic(&Imitation::of(tool), samples).map(|figure| figure.ns)
    }

    #[test]
    fn each_tool_makes_its_own_number_of_the_same_samples() {
        let samples = [30.0, 20.5, 40.0, 29.5];
        assert_eq!(ns(Tool::CoreToCoreLatency, &samples), Some(30.0));
        assert_eq!(ns(Tool::C2clat, &samples), Some(20.0));
        assert_eq!(ns(Tool::Multichase, &samples), Some(20.5), "groups of one");
        // 4 × 10,000 trips × 60 ns = 2.4 ms, of which the clock sees 2.
        assert_eq!(ns(Tool::CoherencyLatency, &samples), Some(25.0));
    }

    #[test]
    fn the_best_group_counts_as_a_whole() {
        let imitation =
            Imitation { statistic: Statistic::BestOf { groups: 2 }, ..Imitation::of(Tool::Multichase) };
        assert_eq!(statistic(&imitation, &[10.0, 50.0, 20.0, 30.0]).unwrap().ns, 25.0);
    }

    #[test]
    fn the_error_is_that_of_the_mean() {
        let figure = statistic(&Imitation::of(Tool::CoreToCoreLatency), &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((figure.standard_error_ns.unwrap() - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        let single = statistic(&Imitation::of(Tool::CoreToCoreLatency), &[1.0]).unwrap();
        assert_eq!(single.standard_error_ns, None);
    }

    #[test]
    fn a_clock_too_coarse_gives_nothing_instead_of_zero() {
        for tool in Tool::ALL {
            assert_eq!(ns(tool, &[]), None, "{tool}");
        }
        assert_eq!(ns(Tool::CoherencyLatency, &[40.0]), None, "0.8 ms on a clock of milliseconds");
        assert_eq!(ns(Tool::C2clat, &[0.7]), None);
    }
}
