//! Other tools' numbers, from recordings made with their kernels and counts.

use super::result::{Imitated, ImitatedCell};
use super::{LatencySettings, Purpose, Record};
use crate::stats;
use crate::{CpuId, KernelId, Matrix, Samples, TickRate, Tool};
use std::collections::BTreeMap;

/// One matrix for each tool asked, in the order asked.
pub fn imitated(
    settings: &LatencySettings,
    rate: TickRate,
    record: &Record,
    pairs: &[[CpuId; 2]],
) -> Vec<Imitated> {
    settings
        .imitate
        .iter()
        .map(|&tool| {
            let kernel = KernelId::imitating(tool);
            let mut samples: BTreeMap<[CpuId; 2], Vec<f64>> = BTreeMap::new();
            for kept in record.kept(Purpose::Imitation) {
                for span in kept.recording.spans.iter().filter(|span| span.kernel == kernel) {
                    let Samples::Batches { ticks, .. } = &span.samples else { continue };
                    let half =
                        |&ticks: &u32| rate.ns(f64::from(ticks)) / f64::from(span.round_trips.max(1)) / 2.0;
                    samples.entry(pairs[kept.cell as usize]).or_default().extend(ticks.iter().map(half));
                }
            }
            let cells = Matrix::symmetric(settings.cpus.clone(), |row, column| {
                let pair = [settings.cpus[column], settings.cpus[row]];
                let values = samples.get(&pair).or_else(|| samples.get(&[pair[1], pair[0]]))?;
                statistic(tool, values)
            });
            Imitated { tool, cells }
        })
        .collect()
}

/// The tool's own statistic over samples in time order, each the mean half round trip of one batch in nanoseconds.
///
/// core-to-core-latency prints the mean with its standard error; c2clat the minimum in whole nanoseconds; cpu-latency
/// and CoherencyLatency the mean; multichase the best of its five samples.
pub fn statistic(tool: Tool, samples_ns: &[f64]) -> Option<ImitatedCell> {
    let least = || samples_ns.iter().copied().min_by(f64::total_cmp);
    let plain = |value_ns: f64| ImitatedCell { value_ns, spread_ns: None };
    match tool {
        Tool::CoreToCoreLatency => {
            let value_ns = stats::mean(samples_ns)?;
            let error = |variance: f64| (variance / samples_ns.len() as f64).sqrt();
            Some(ImitatedCell { value_ns, spread_ns: stats::variance(samples_ns).map(error) })
        }
        Tool::C2clat | Tool::C2clatW => least().map(f64::floor).map(plain),
        Tool::Multichase => least().map(plain),
        Tool::CpuLatency | Tool::CoherencyLatency => stats::mean(samples_ns).map(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_its_own_statistic() {
        let samples = [24.6, 20.9, 31.0, 23.5];
        let of = |tool| statistic(tool, &samples).unwrap();
        assert_eq!(of(Tool::CoreToCoreLatency).value_ns, 25.0);
        assert!((of(Tool::CoreToCoreLatency).spread_ns.unwrap() - 2.145).abs() < 1e-3);
        assert_eq!(of(Tool::C2clat).value_ns, 20.0);
        assert_eq!(of(Tool::Multichase).value_ns, 20.9);
        assert_eq!(statistic(Tool::CpuLatency, &[]), None);
    }
}
