//! Results of other tools, from recordings made with their kernels and counts.

use super::{Imitated, ImitatedCell, LatencySettings, MissingReason, Purpose, Record};
use crate::stats;
use crate::{CpuId, KernelId, Matrix, Samples, TickRate, Tool, TrialFailure};
use std::collections::BTreeMap;

/// One matrix for each requested tool, in the requested order.
pub fn imitated(
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
    pairs: &[[CpuId; 2]],
) -> Vec<Imitated> {
    if settings.imitate.is_empty() {
        return Vec::new();
    }
    let cells: BTreeMap<[CpuId; 2], usize> =
        pairs.iter().enumerate().map(|(cell, &pair)| (pair, cell)).collect();
    // The pass number is the index of the tool.
    let visits =
        [Purpose::Imitation, Purpose::ImitationBack].into_iter().flat_map(|purpose| record.others(purpose));
    let failures: BTreeMap<(u32, usize), &TrialFailure> = visits
        .filter(|visit| !record.is_due_again(visit))
        .filter_map(|visit| Some(((visit.pass, visit.cell as usize), visit.outcome.as_ref().err()?)))
        .collect();
    (0..)
        .zip(&settings.imitate)
        .map(|(pass, &tool)| {
            let kernel = KernelId::imitating(tool);
            let mut samples: BTreeMap<[CpuId; 2], Vec<f64>> = BTreeMap::new();
            let mut round_trips = 1;
            let forth = record.kept(Purpose::Imitation).map(|kept| (kept, pairs[kept.cell as usize]));
            let back = record.kept(Purpose::ImitationBack).map(|kept| {
                let [initiator, responder] = pairs[kept.cell as usize];
                (kept, [responder, initiator])
            });
            for (kept, pair) in forth.chain(back) {
                for span in kept.recording.spans.iter().filter(|span| span.kernel == kernel) {
                    let Samples::Batches { ticks, .. } = &span.samples else { continue };
                    round_trips = span.round_trips;
                    let half =
                        |&ticks: &u32| rate.ns(f64::from(ticks)) / f64::from(span.round_trips.max(1)) / 2.0;
                    samples.entry(pair).or_default().extend(ticks.iter().map(half));
                }
            }
            let cell_of = |[initiator, responder]: [CpuId; 2]| match samples.get(&[initiator, responder]) {
                Some(samples) => statistic(tool, samples, round_trips).ok_or(MissingReason::CoarseToolClock),
                None => {
                    let cell = cells.get(&[initiator, responder]).or(cells.get(&[responder, initiator]));
                    let failure_of_passes = |cell| record.passes(cell)?.failure;
                    let failure = cell.and_then(|&cell| {
                        failures.get(&(pass, cell)).copied().or_else(|| failure_of_passes(cell))
                    });
                    Err(failure.cloned().map_or(MissingReason::NotReached, MissingReason::Failed))
                }
            };
            let cpus = settings.cpus.clone();
            let cells = if tool.measures_both_directions() {
                Matrix::directed(cpus, |row, column| cell_of([settings.cpus[row], settings.cpus[column]]))
            } else {
                Matrix::symmetric(cpus, |row, column| {
                    let [one, other] = [settings.cpus[column], settings.cpus[row]];
                    cell_of([one, other]).or_else(|why| cell_of([other, one]).map_err(|_| why))
                })
            };
            Imitated { tool, cells }
        })
        .collect()
}

/// The statistic that a tool reports for its samples: half round trips in nanoseconds, one for each batch of
/// `round_trips`, in time order. `None` without samples, or if the clock of the tool cannot distinguish the result from
/// zero.
///
/// core-to-core-latency prints the mean with its standard error, and cpu-latency the mean. c2clat prints the fastest
/// sample, truncated to whole nanoseconds. multichase prints the best of five groups. CoherencyLatency prints the total
/// time, truncated to whole milliseconds, per hop.
///
/// ```
/// # use coretalk_model::latency::imitated::statistic;
/// # use coretalk_model::Tool;
/// assert_eq!(statistic(Tool::C2clat, &[31.2, 28.996, 30.0], 100).unwrap().value_ns, 28.0);
/// ```
pub fn statistic(tool: Tool, samples_ns: &[f64], round_trips: u32) -> Option<ImitatedCell> {
    let plain = |value_ns: f64| ImitatedCell { value_ns, spread_ns: None };
    match tool {
        Tool::CoreToCoreLatency => {
            let value_ns = stats::mean(samples_ns)?;
            let error = |variance: f64| (variance / samples_ns.len() as f64).sqrt();
            Some(ImitatedCell { value_ns, spread_ns: stats::variance(samples_ns).map(error) })
        }
        Tool::C2clat | Tool::C2clatW => {
            // (t / 100) / 2 in whole nanoseconds is t / 200, truncated once.
            let least = samples_ns.iter().copied().min_by(f64::total_cmp)?.floor();
            (least > 0.0).then(|| plain(least))
        }
        Tool::CpuLatency => stats::mean(samples_ns).map(plain),
        Tool::Multichase => {
            let size = samples_ns.len().div_ceil(MULTICHASE_GROUPS).max(1);
            samples_ns.chunks(size).filter_map(stats::mean).min_by(f64::total_cmp).map(plain)
        }
        Tool::CoherencyLatency => {
            let hops_per_sample = 2.0 * f64::from(round_trips);
            let total_ms = (samples_ns.iter().sum::<f64>() * hops_per_sample / 1e6).floor();
            (total_ms > 0.0).then(|| plain(total_ms * 1e6 / (hops_per_sample * samples_ns.len() as f64)))
        }
    }
}

const MULTICHASE_GROUPS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(tool: Tool, samples: &[f64]) -> Option<f64> {
        statistic(tool, samples, 10_000).map(|cell| cell.value_ns)
    }

    #[test]
    fn each_tool_has_its_own_statistic() {
        let samples = [30.0, 20.5, 40.0, 29.5];
        assert_eq!(ns(Tool::CoreToCoreLatency, &samples), Some(30.0));
        assert_eq!(ns(Tool::C2clat, &samples), Some(20.0));
        assert_eq!(ns(Tool::Multichase, &samples), Some(20.5), "groups of one");
        // 4 × 10,000 trips × 60 ns = 2.4 ms, which the clock shows as 2 ms.
        assert_eq!(ns(Tool::CoherencyLatency, &samples), Some(25.0));
    }

    #[test]
    fn the_best_group_counts_as_a_whole() {
        let samples = [10.0, 50.0, 20.0, 30.0, 90.0, 10.0, 40.0, 40.0, 60.0, 60.0];
        assert_eq!(ns(Tool::Multichase, &samples), Some(25.0));
    }

    #[test]
    fn the_error_is_that_of_the_mean() {
        let cell = statistic(Tool::CoreToCoreLatency, &[1.0, 2.0, 3.0, 4.0], 1_000).unwrap();
        assert!((cell.spread_ns.unwrap() - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(statistic(Tool::CoreToCoreLatency, &[1.0], 1_000).unwrap().spread_ns, None);
    }

    #[test]
    fn a_clock_too_coarse_gives_none_instead_of_zero() {
        for tool in Tool::ALL {
            assert_eq!(ns(tool, &[]), None, "{tool}");
        }
        assert_eq!(ns(Tool::CoherencyLatency, &[40.0]), None, "0.8 ms on a clock of milliseconds");
        assert_eq!(ns(Tool::C2clat, &[0.7]), None);
    }
}
