//! [`Bracket`]: the cost of a placement, and its bounds according to the intervals of the cells.
//!
//! The best of many placements is usually one whose cells were measured too low (the winner's curse, Capen, Clapp and
//! Campbell 1971). A robust bound (Soyster 1973) holds for all placements at once while all cells are inside their
//! intervals.

use super::{CpuDistances, Graph};

/// A value, and its bounds while every cell is inside its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// The value for the measured cells.
    pub point: f64,
    /// Lower bound over the intervals.
    pub low: f64,
    /// Upper bound over the intervals.
    pub high: f64,
}

impl Bracket {
    pub(super) fn of_pair(distances: &CpuDistances, a: usize, b: usize) -> Bracket {
        Bracket { point: distances.ns(a, b), low: distances.low(a, b), high: distances.high(a, b) }
    }

    pub(super) fn with(self, other: Bracket, combine: impl Fn(f64, f64) -> f64) -> Bracket {
        Bracket {
            point: combine(self.point, other.point),
            low: combine(self.low, other.low),
            high: combine(self.high, other.high),
        }
    }
}

/// Share of each pair of CPUs in the communication, below the diagonal, row by row.
#[derive(Debug, Clone)]
pub(super) struct Traffic(Vec<f64>);

impl Traffic {
    pub fn new(graph: &Graph, distances: &CpuDistances, cpu_of: &[u32]) -> Option<Traffic> {
        let mut shares = vec![0.0; distances.len() * distances.len().saturating_sub(1) / 2];
        for (a, b, weight) in graph.edges() {
            let (a, b) = (cpu_of[a] as usize, cpu_of[b] as usize);
            shares[pair_index(a.max(b), a.min(b))] += weight / graph.total();
        }
        (graph.total() > 0.0).then_some(Traffic(shares))
    }

    /// Equal shares of all pairs, which is the mean over all placements and the expectation for random ones.
    pub fn anywhere(distances: &CpuDistances) -> Traffic {
        let pairs = distances.len() * distances.len().saturating_sub(1) / 2;
        Traffic(vec![1.0 / pairs as f64; pairs])
    }

    pub fn expected_ns(&self, distances: &CpuDistances) -> Bracket {
        Bracket {
            point: self.sum(distances, CpuDistances::ns),
            low: self.sum(distances, CpuDistances::low),
            high: self.sum(distances, CpuDistances::high),
        }
    }

    /// Relative additional cost of `other`; 0.5 means 50 % more. Errors of cells common to both placements cancel.
    pub fn excess(&self, other: &Traffic, distances: &CpuDistances) -> Bracket {
        let point = other.sum(distances, CpuDistances::ns) / self.sum(distances, CpuDistances::ns);
        let most = other.extreme(self, distances, point, CpuDistances::high, CpuDistances::low);
        let least = other.extreme(self, distances, point, CpuDistances::low, CpuDistances::high);
        Bracket { point: point - 1.0, low: least.min(point) - 1.0, high: most.max(point) - 1.0 }
    }

    /// An extreme of `self ÷ other`: each cell is at one end of its interval (fractional programme, Dinkelbach 1967).
    fn extreme(
        &self,
        other: &Traffic,
        distances: &CpuDistances,
        start: f64,
        raising: End,
        lowering: End,
    ) -> f64 {
        let mut quotient = start;
        for _ in 0..20 {
            let (mut numerator, mut denominator) = (0.0, 0.0);
            for high in 1..distances.len() {
                for low in 0..high {
                    let at = pair_index(high, low);
                    let (mine, theirs) = (self.0[at], other.0[at]);
                    if mine == 0.0 && theirs == 0.0 {
                        continue;
                    }
                    let end = if mine > quotient * theirs { raising } else { lowering };
                    let value = end(distances, high, low);
                    numerator += mine * value;
                    denominator += theirs * value;
                }
            }
            if denominator <= 0.0 || (numerator / denominator - quotient).abs() <= 1e-9 * quotient {
                break;
            }
            quotient = numerator / denominator;
        }
        quotient
    }

    fn sum(&self, distances: &CpuDistances, end: End) -> f64 {
        let mut sum = 0.0;
        for high in 1..distances.len() {
            for low in 0..high {
                let share = self.0[pair_index(high, low)];
                if share > 0.0 {
                    sum += share * end(distances, high, low);
                }
            }
        }
        sum
    }
}

type End = fn(&CpuDistances, usize, usize) -> f64;

fn pair_index(row: usize, column: usize) -> usize {
    row * (row - 1) / 2 + column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::Observation;
    use crate::{CpuId, Matrix};

    fn distances() -> CpuDistances {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        let observed = Matrix::symmetric(cpus.clone(), |a, b| {
            Some(Observation { value: if a / 2 == b / 2 { 20.0 } else { 80.0 }, half_width: 0.1 })
        });
        CpuDistances::of_observations(cpus, &observed, &[])
    }

    #[test]
    fn a_price_is_bounded_by_the_intervals_of_its_cells() {
        let (distances, graph) = (distances(), Graph::new(3, [(0, 1, 3.0), (1, 2, 1.0)]));
        let price = Traffic::new(&graph, &distances, &[0, 1, 2]).unwrap().expected_ns(&distances);
        for (found, expected) in [(price.point, 35.0), (price.low, 31.5), (price.high, 38.5)] {
            assert!((found - expected).abs() < 1e-9, "{price:?}");
        }
        assert!((Traffic::anywhere(&distances).expected_ns(&distances).point - 60.0).abs() < 1e-9);
        assert!(Traffic::new(&Graph::new(2, []), &distances, &[0, 1]).is_none());
    }

    #[test]
    fn common_cells_cancel() {
        let (distances, graph) = (distances(), Graph::new(3, [(0, 1, 1.0), (1, 2, 1.0)]));
        let traffic = |cpus: &[u32]| Traffic::new(&graph, &distances, cpus).unwrap();
        let same = traffic(&[0, 1, 2]).excess(&traffic(&[2, 1, 0]), &distances);
        assert_eq!((same.point, same.low, same.high), (0.0, 0.0, 0.0));
        // The cell 0–1 is common; 1–2 and 1–3 (80 each) may differ by 16 of about 100 in either direction.
        let near = traffic(&[0, 1, 2]).excess(&traffic(&[0, 1, 3]), &distances);
        assert!(near.point == 0.0 && near.low < -0.1 && near.high > 0.1, "{near:?}");
        let only_far = traffic(&[0, 1, 2]).excess(&traffic(&[0, 2, 1]), &distances);
        assert!((only_far.point - 0.6).abs() < 1e-9 && only_far.low > 0.4, "{only_far:?}");
    }
}
