//! What the finest level is, where a test says more than latencies do.

use super::Structure;
use crate::latency::execution::{Execution, ExecutionTest, Reason, verdicts};

/// Threads of one core.
pub const SMT: &str = "smt";

/// Names the finest level after threads of a core where every pair tested in it shares the units that execute.
pub fn name_levels(structure: &mut Structure, tests: &[ExecutionTest]) {
    let tested = |(test, verdict): (&ExecutionTest, Execution)| {
        let [a, b] = test.pair;
        let is_inside = test.reason != Reason::Control && structure.nearest_level(a, b) == Some(0);
        is_inside.then_some(verdict)
    };
    let verdicts: Vec<Execution> = tests.iter().zip(verdicts(tests)).filter_map(tested).collect();
    let Some(finest) = structure.levels.first_mut() else { return };
    finest.execution = match verdicts.split_first() {
        Some((&first, others)) if others.iter().all(|&other| other == first) => Some(first),
        _ => None,
    };
    if finest.execution == Some(Execution::Shared) {
        finest.name = SMT.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{Observation, infer};
    use crate::latency::execution::ExecutionPass;
    use crate::{CpuId, Matrix};

    fn named(kept: &[(u32, u32, f64)]) -> (String, Option<Execution>) {
        let cpus: Vec<CpuId> = (0..16).map(CpuId).collect();
        // Pairs 0 and 8, 1 and 9, ….
        let ns = |row: usize, column: usize| if row % 8 == column % 8 { 7.0 } else { 30.0 };
        let seen = Matrix::symmetric(cpus, |row, column| Some(Observation::bare(ns(row, column))));
        let mut structure = infer(&seen).unwrap();
        let test = |&(a, b, kept): &(u32, u32, f64)| ExecutionTest {
            pair: [CpuId(a), CpuId(b)],
            reason: Reason::Closest,
            passes: vec![ExecutionPass { kept: [[kept; 2]; 2] }; 12],
        };
        name_levels(&mut structure, &kept.iter().map(test).collect::<Vec<_>>());
        let finest = &structure.levels[0];
        (finest.name.clone(), finest.execution)
    }

    #[test]
    fn a_level_is_called_smt_where_all_of_its_tested_pairs_share() {
        assert_eq!(named(&[(0, 8, 0.5), (7, 15, 0.5)]), ("smt".into(), Some(Execution::Shared)));
        assert_eq!(named(&[(0, 8, 1.0), (7, 15, 1.0)]), ("group-1".into(), Some(Execution::Apart)));
        assert_eq!(named(&[(0, 8, 0.5), (7, 15, 1.0)]), ("group-1".into(), None));
        // A pair of no group says nothing about groups.
        assert_eq!(named(&[(0, 1, 0.5)]), ("group-1".into(), None));
        assert_eq!(named(&[]), ("group-1".into(), None));
    }
}
