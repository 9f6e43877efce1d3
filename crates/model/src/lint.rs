//! Checks of matrices of other tools, from the numbers alone.
//!
//! Checks report nothing if they cannot decide. Thresholds separate the published files that are known to be clean from
//! those known to be faulty, with a margin on both sides.

mod checks;
pub mod comb;
mod finding;

pub use finding::{Kind, LintFinding};

use crate::formats::{ImportedMatrix, Printed};
use crate::infer::{Observation, Structure, Suspect, infer, infer_of_step};
use crate::stats::median_of_sorted;
use crate::{CpuId, CpuSet, Matrix};

/// All problems of a matrix, most severe kinds first.
///
/// ```
/// # use coretalk_model::{formats::read_matrices, lint::{Kind, lint}};
/// let file = b",,\n0,,\n51.7,53.3,\n";
/// let doubts = lint(&read_matrices(file).unwrap()[0]);
/// assert_eq!(doubts[0].kind(), Kind::Impossible);
/// ```
pub fn lint(imported: &ImportedMatrix) -> Vec<LintFinding> {
    let view = View::new(imported);
    let mut doubts = checks::cells(&view, imported.unit);
    if view.sorted.is_empty() {
        return doubts;
    }
    let observed = imported.matrix.map(|cell| cell.map(Observation::bare));
    let plain = infer(&observed).ok();
    let step = step_given(plain.as_ref(), &view, imported.printed);
    let structure = step.map_or(plain, |step| infer_of_step(&observed, step).ok());
    doubts.extend(step.map(|step| LintFinding::ClockComb { step, least: view.sorted[0] }));
    doubts.extend(checks::homes(&view));
    doubts.extend(checks::directions(&view, imported.printed));
    doubts.extend(checks::unpinned(&view, structure.as_ref()));
    doubts.extend(checks::first_cpu(&view, step));
    doubts.extend(checks::odd_cpus(&view, structure.as_ref()));
    doubts.extend(checks::copied(&view));
    let contradictory = structure.as_ref().map_or(0, |structure| structure.contradictory);
    doubts.extend((contradictory > 0).then_some(LintFinding::Contradictory { pairs: contradictory }));
    doubts.extend(structure.as_ref().and_then(unfit));
    doubts
}

/// The clock step that [`lint`] reports for a matrix, in the unit of the matrix; `None` if the values show no step.
pub fn clock_step(imported: &ImportedMatrix) -> Option<f64> {
    let structure = infer(imported.matrix.map(|cell| cell.map(Observation::bare))).ok();
    step_given(structure.as_ref(), &View::new(imported), imported.printed)
}

/// The clock step that the findings state, if any.
pub fn step_of(doubts: &[LintFinding]) -> Option<f64> {
    doubts.iter().find_map(|doubt| match doubt {
        LintFinding::ClockComb { step, .. } => Some(*step),
        _ => None,
    })
}

/// Levels may be multiples of a step by coincidence, so a step needs more multiples than there are levels. One or two
/// CPUs with slow or unfit pairs have other latencies on each level.
fn step_given(structure: Option<&Structure>, view: &View<'_>, printed: Printed) -> Option<f64> {
    let Some(structure) = structure else { return comb::step(&view.sorted, printed, 1) };
    let odd = match checks::odd_cpus(view, Some(structure)) {
        Some(LintFinding::OddCpu { cpus, .. }) => cpus,
        _ => CpuSet::new(),
    };
    let unfit = |cpu: CpuId| structure.unfit().filter(|cell| cell.pair.contains(&cpu)).count();
    let is_unusual = |cpu: CpuId| odd.contains(cpu) || 2 * unfit(cpu) >= structure.cpus.len();
    let unusual = structure.cpus.iter().filter(|&&cpu| is_unusual(cpu)).count();
    let unusual = if unusual > checks::MAX_ODD { 0 } else { unusual };
    comb::step(&view.sorted, printed, (structure.levels.len() + 1) * (1 + unusual))
}

fn unfit(structure: &Structure) -> Option<LintFinding> {
    let cells: Vec<Suspect> = structure.unfit().copied().collect();
    (!cells.is_empty()).then_some(LintFinding::Unfit { cells, has_groups: !structure.levels.is_empty() })
}

struct View<'a> {
    matrix: &'a Matrix<Option<f64>>,
    both: Vec<Vec<f64>>,
    sorted: Vec<f64>,
    median: f64,
}

impl<'a> View<'a> {
    fn new(imported: &'a ImportedMatrix) -> View<'a> {
        let matrix = &imported.matrix;
        let n = matrix.len();
        let value = |row: usize, column: usize| {
            let directions = [matrix.get(row, column), matrix.get(column, row)];
            let known: Vec<f64> =
                directions.into_iter().filter_map(|cell| *cell?).filter(|ns| *ns > 0.0).collect();
            if row == column || known.is_empty() {
                f64::NAN
            } else {
                known.iter().sum::<f64>() / known.len() as f64
            }
        };
        let both: Vec<Vec<f64>> =
            (0..n).map(|row| (0..n).map(|column| value(row, column)).collect()).collect();
        let mut sorted: Vec<f64> =
            (0..n).flat_map(|row| both[row][..row].iter().copied()).filter(|ns| ns.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = median_of_sorted(&sorted).unwrap_or(f64::NAN);
        View { matrix, both, sorted, median }
    }

    fn len(&self) -> usize {
        self.both.len()
    }

    fn cpu(&self, position: usize) -> CpuId {
        self.matrix.cpus()[position]
    }

    fn pair(&self, a: usize, b: usize) -> [CpuId; 2] {
        [self.cpu(a.min(b)), self.cpu(a.max(b))]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.len())
            .flat_map(|row| (0..row).map(move |column| (row, column)))
            .map(|(row, column)| (row, column, self.both[row][column]))
            .filter(|(_, _, ns)| ns.is_finite())
    }

    fn row(&self, position: usize) -> Vec<f64> {
        let mut row: Vec<f64> = self.both[position].iter().copied().filter(|ns| ns.is_finite()).collect();
        row.sort_unstable_by(f64::total_cmp);
        row
    }

    fn nearest(&self, position: usize) -> Option<(usize, f64)> {
        let row = self.both[position].iter().copied().enumerate().filter(|(_, ns)| ns.is_finite());
        row.min_by(|x, y| x.1.total_cmp(&y.1))
    }
}
