//! Where the document of a comparison has its levels and pairs.

use crate::blocks::value::Source;
use coretalk_model::compare::{CellDifference, Comparison, DatasetComparison, Letter, ReadingKey};

/// The path of a row in the document, where a dataset has its levels, those of one side, and its pairs.
pub(super) fn path(dataset: &DatasetComparison, comparison: &Comparison, row: usize) -> String {
    let before = comparison.datasets.iter().take_while(|other| !std::ptr::eq(*other, dataset));
    let rows = |of: &DatasetComparison| of.levels.len() + of.alone.len() + of_pairs(of).count();
    format!("/differences/{}", before.map(rows).sum::<usize>() + row)
}

/// The cells of pairs of CPUs.
pub(super) fn of_pairs(dataset: &DatasetComparison) -> impl Iterator<Item = &CellDifference> {
    dataset.cells.iter().filter(|cell| matches!(cell.key, ReadingKey::Pair(_)))
}

/// The path of the shift of a level, or of all pairs.
pub(super) fn shift_path(comparison: &Comparison, dataset: usize, level: Option<usize>) -> String {
    let datasets = &comparison.datasets;
    match level {
        Some(level) => path(&datasets[dataset], comparison, level) + "/shift_percent",
        None => {
            let before = datasets[..dataset].iter().filter(|of| of.together.is_some());
            format!("/compared/together/{}/shift_percent", before.count())
        }
    }
}

/// The median of a level on a side.
pub fn median_source(comparison: &Comparison, level: &str, side: Letter) -> Source {
    let key = if side == Letter::A { "a" } else { "b" };
    let of_dataset = |dataset: &DatasetComparison| {
        let both = dataset.levels.iter().position(|of| of.level == level);
        let alone = || dataset.alone.iter().position(|of| of.level == level && of.of == side);
        let row = both.or_else(|| Some(dataset.levels.len() + alone()?))?;
        Some(Source::Field(path(dataset, comparison, row) + "/" + key))
    };
    comparison.datasets.iter().find_map(of_dataset).unwrap_or(Source::Unrecorded)
}
