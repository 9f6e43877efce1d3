//! Doubts about matrices of other tools, from the numbers alone.
//!
//! Each check says what it saw in which cells, and nothing where it cannot know: thresholds lie where the published
//! files that are known to be clean and those known to be spoilt come apart, with room on both sides.

mod asymmetry;
mod cells;
pub mod comb;
mod finding;
mod homes;
mod odd;
mod pinning;
mod view;

pub use finding::{Doubt, Kind};

use crate::formats::ImportedMatrix;
use crate::infer::{Observation, Structure, Suspect, infer};
use view::View;

/// Everything that is doubtful about a matrix, gravest kinds first; empty where nothing was found.
///
/// ```
/// # use coretalk_model::{formats::read_matrices, lint::{Kind, lint}};
/// let file = b",,\n0,,\n51.7,53.3,\n";
/// let doubts = lint(&read_matrices(file).unwrap()[0]);
/// assert_eq!(doubts[0].kind(), Kind::Impossible);
/// ```
pub fn lint(imported: &ImportedMatrix) -> Vec<Doubt> {
    let view = View::new(imported);
    let mut doubts = cells::check(&view, imported.unit);
    if view.sorted.is_empty() {
        return doubts;
    }
    // What `topology` says of the same numbers.
    let structure = infer(&imported.matrix.map(|cell| cell.map(Observation::bare))).ok();
    let step = comb::step(&view.sorted, imported.printed);
    doubts.extend(step.map(|step| Doubt::ClockComb { step, least: view.sorted[0] }));
    doubts.extend(homes::check(&view));
    doubts.extend(asymmetry::check(&view, imported.printed));
    doubts.extend(pinning::check(&view, structure.as_ref()));
    doubts.extend(odd::first(&view, step));
    doubts.extend(odd::rows(&view));
    doubts.extend(structure.as_ref().and_then(unfit));
    doubts
}

/// Pairs that the inference could not fit in.
fn unfit(structure: &Structure) -> Option<Doubt> {
    let cells: Vec<Suspect> = structure.unfit().copied().collect();
    (!cells.is_empty()).then_some(Doubt::Unfit { cells, has_groups: !structure.levels.is_empty() })
}
