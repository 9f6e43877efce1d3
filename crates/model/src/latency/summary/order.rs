//! The order of CPUs that a matrix itself suggests.

use super::table::Reading;
use crate::{CpuId, Matrix};

/// A chain of nearest neighbours: begins with the first CPU, and each next one is the CPU, of those left, that the
/// last one reaches soonest. Groups that are faster inside than across come out together; it claims no group. CPUs
/// without any value stand last.
pub fn measured_order(readings: &Matrix<Option<Reading>>) -> Vec<CpuId> {
    let cpus = readings.cpus();
    let mut left: Vec<usize> = (0..cpus.len()).collect();
    let mut order = Vec::with_capacity(cpus.len());
    let mut last = None;
    while !left.is_empty() {
        let distance = |to: usize| {
            let reading = last.and_then(|from| *readings.get(from, to)?);
            reading.map_or(f64::INFINITY, |reading: Reading| reading.ns)
        };
        let mut nearest = 0;
        for candidate in 1..left.len() {
            if distance(left[candidate]) < distance(left[nearest]) {
                nearest = candidate;
            }
        }
        let next = left.remove(nearest);
        order.push(cpus[next]);
        last = Some(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_groups_come_out_together() {
        let cpus: Vec<CpuId> = (0..6).map(CpuId).collect();
        let even_and_odd = Matrix::symmetric(cpus, |row, column| {
            let ns = if (row + column) % 2 == 0 { 20.0 } else { 90.0 };
            Some(Reading { ns, doubtful: false })
        });
        assert_eq!(measured_order(&even_and_odd), [0, 2, 4, 1, 3, 5].map(CpuId));
    }

    #[test]
    fn every_cpu_stays_even_without_a_value() {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        assert_eq!(measured_order(&Matrix::symmetric(cpus.clone(), |_, _| None)), cpus);
    }
}
