//! [`Findings`]: conclusions about the structure of a machine, or the reason why there are none.

use super::{
    Agreement, AgreementVerdict, InferError, LoneGroup, Observation, Structure, agreement, infer_of_step,
    observations, repeatability,
};
use crate::latency::execution::{Execution, TestReason, verdicts};
use crate::latency::{ExecutionTest, LatencyResult, StateWatch};
use crate::stats::Key;
use crate::{CpuId, Level, Matrix, Topology};

/// Nothing is inferred if this share of the monitored cells changed state.
const FEW_CELLS: f64 = 0.01;

/// The reason for results without a structure.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The matrix has too few values, or values that no measurement gives.
    Matrix(InferError),
    /// CPUs changed their distance while monitored. A host that moves virtual CPUs has this effect.
    Moved {
        /// Share of the cells that changed.
        cells: f64,
    },
}

/// Conclusions about the structure of a machine and about its reported levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The structure, or why there is none.
    pub structure: Result<Structure, Refusal>,
    /// The comparison of each reported level with the structure; empty without a structure.
    pub agreement: Vec<Agreement>,
}

/// The only CPU outside a group that contains all others.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneCpu<'a> {
    /// The CPU.
    pub cpu: CpuId,
    /// The group.
    pub group: &'a LoneGroup,
    /// Reported levels in which the CPU is alone, which show that it is far away; empty if it may be slow.
    pub reported: Vec<Level>,
}

impl Findings {
    /// All single CPUs outside a group of all others: in the matrix, or in the group of the next coarser level.
    pub fn lone_cpus(&self) -> Vec<LoneCpu<'_>> {
        let Ok(structure) = &self.structure else { return Vec::new() };
        let is_settled =
            |found: &&Agreement| found.standing == AgreementVerdict::Agree && found.against.is_none();
        let settled: Vec<Level> = self.agreement.iter().filter(is_settled).map(|found| found.level).collect();
        let lone = structure.all_but_one().map(|(group, cpu)| LoneCpu {
            cpu,
            group,
            reported: match group.cpus.len() + 1 == structure.cpus.len() {
                true => settled.clone(),
                false => Vec::new(),
            },
        });
        lone.collect()
    }

    /// Analyses a matrix.
    pub fn of_matrix(observed: &Matrix<Option<Observation>>, reported: &Topology) -> Findings {
        Findings::of_stepped_matrix(observed, reported, None)
    }

    /// Analyses a matrix whose values are multiples of a step, given in the unit of the values if known.
    pub fn of_stepped_matrix(
        observed: &Matrix<Option<Observation>>,
        reported: &Topology,
        step: Option<f64>,
    ) -> Findings {
        match infer_of_step(observed, step.unwrap_or(0.0)) {
            Ok(structure) => {
                let agreement = agreement(reported, &structure, observed);
                Findings { structure: Ok(structure), agreement }
            }
            Err(error) => Findings { structure: Err(Refusal::Matrix(error)), agreement: Vec::new() },
        }
    }

    /// Analyses the first round-trip map of a run. `None` if the run has no such map of at least three CPUs.
    pub fn of_run(result: &LatencyResult, reported: &Topology) -> Option<Findings> {
        let map = result.round_trips()?;
        if map.cells.len() < 3 {
            return None;
        }
        if let Some(watch) = result.watch.as_ref().filter(|watch| levels_changed(watch)) {
            let refusal = Refusal::Moved { cells: watch.cells_changed };
            return Some(Findings { structure: Err(refusal), agreement: Vec::new() });
        }
        Some(Findings::of_matrix(&observations(map), reported).tested(&result.execution))
    }

    /// Applies the results of execution tests to the finest level.
    #[must_use]
    pub fn tested(mut self, tests: &[ExecutionTest]) -> Findings {
        if let Ok(structure) = &mut self.structure {
            name_levels(structure, tests);
        }
        self
    }

    /// Adds the repeatability of each level over this number of repetitions.
    #[must_use]
    pub fn graded(mut self, observed: &Matrix<Option<Observation>>, repetitions: u64) -> Findings {
        if let Ok(structure) = &mut self.structure {
            let keys = (0..repetitions).map(|repetition| Key::from_words(&[repetition]));
            let outcomes = repeatability(observed, structure, keys).unwrap_or_default();
            for (index, level) in structure.levels.iter_mut().enumerate() {
                let reproduced = outcomes.iter().filter(|repeated| repeated[index]).count();
                level.repeats = (repetitions > 0).then(|| reproduced as f64 / repetitions as f64);
            }
        }
        self
    }
}

/// Whether so many pairs changed state that values are no evidence of groups.
pub fn levels_changed(watch: &StateWatch) -> bool {
    watch.cells_changed >= FEW_CELLS && watch.states.len() > 1
}

/// Name of a level whose groups are threads of one core.
pub const SMT: &str = "smt";

/// Names the finest level `smt` if every tested pair in the level shares execution units.
pub fn name_levels(structure: &mut Structure, tests: &[ExecutionTest]) {
    let tested = |(test, verdict): (&ExecutionTest, Execution)| {
        let [a, b] = test.pair;
        let is_inside = test.reason != TestReason::Control && structure.nearest_level(a, b) == Some(0);
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
    use super::super::infer;
    use super::*;
    use crate::Picos;
    use crate::latency::execution::ExecutionPass;
    use crate::latency::summary::tests_map;
    use crate::latency::{MissingReason, PairOutcome, WatchedState};
    use crate::tests::observed;

    #[test]
    fn a_machine_whose_cpus_move_gets_no_structure() {
        let state = WatchedState { share: 0.5, visits: 2, longest: Picos::ZERO, kernels: Vec::new() };
        let mut map = tests_map(4, |_, _| 0.0);
        map.cells = map.cells.map(|_| PairOutcome::Missing { reason: MissingReason::NotReached });
        let watch = StateWatch {
            watched: Picos::ZERO,
            pair: None,
            states: vec![state.clone(), state],
            line: Vec::new(),
            cells_changed: 0.5,
        };
        let mut result = LatencyResult { maps: vec![map], watch: Some(watch), ..LatencyResult::default() };
        let flat = Topology::flat("0-3".parse().unwrap());
        let moved = Findings::of_run(&result, &flat).unwrap().structure.unwrap_err();
        assert_eq!(moved, Refusal::Moved { cells: 0.5 });
        result.watch = None;
        let empty = Findings::of_run(&result, &flat).unwrap().structure;
        assert!(matches!(empty, Err(Refusal::Matrix(InferError::TooFew { cpus: 0 }))), "{empty:?}");
    }

    #[test]
    fn each_level_is_graded() {
        let observed = observed(8, |row, column| if row / 4 == column / 4 { 20.0 } else { 90.0 });
        let flat = Topology::flat("0-7".parse().unwrap());
        let findings = Findings::of_matrix(&observed, &flat).graded(&observed, 5);
        assert_eq!(findings.structure.unwrap().levels[0].repeats, Some(1.0));
        assert!(findings.agreement.is_empty());
    }

    fn named(kept: &[(u32, u32, f64)]) -> (String, Option<Execution>) {
        let seen = observed(16, |row, column| if row % 8 == column % 8 { 7.0 } else { 30.0 });
        let mut structure = infer(&seen).unwrap();
        let test = |&(a, b, kept): &(u32, u32, f64)| ExecutionTest {
            pair: [CpuId(a), CpuId(b)],
            reason: TestReason::Closest,
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
        // A pair outside all groups provides no evidence about groups.
        assert_eq!(named(&[(0, 1, 0.5)]), ("group-1".into(), None));
        assert_eq!(named(&[]), ("group-1".into(), None));
    }
}
