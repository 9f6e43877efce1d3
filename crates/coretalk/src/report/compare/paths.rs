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

/// Where the document has the median of a level on a side: of several datasets with such a level that with this median.
pub fn median_source(comparison: &Comparison, level: &str, side: Letter, median: f64) -> Source {
    let key = if side == Letter::A { "a" } else { "b" };
    let of_dataset = |dataset: &DatasetComparison| {
        let both = dataset.levels.iter().enumerate().filter(|(_, of)| of.level == level);
        let both =
            both.map(|(row, of)| (row, if side == Letter::A { of.difference.a } else { of.difference.b }));
        let alone = (dataset.levels.len()..).zip(&dataset.alone);
        let alone = alone.filter(|(_, of)| of.level == level && of.of == side);
        let (row, found) = both.chain(alone.map(|(row, of)| (row, of.median))).next()?;
        Some(((found - median).abs(), Source::Field(path(dataset, comparison, row) + "/" + key)))
    };
    let all = comparison.datasets.iter().filter_map(of_dataset);
    all.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(Source::Unrecorded, |(_, source)| source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::compare::{Basis, LevelAlone, Unmatched};
    use coretalk_model::quantity::Better;

    #[test]
    fn a_median_is_that_of_the_dataset_that_has_it() {
        let dataset = |median| DatasetComparison {
            name: String::new(),
            quantity: String::new(),
            unit: String::new(),
            better: Better::Lower,
            basis: Basis::AsRead,
            levels: Vec::new(),
            together: None,
            alone: vec![LevelAlone { of: Letter::B, level: "group-1".into(), pairs: 1, median }],
            cells: Vec::new(),
            lonely: 0,
            without_ratio: Vec::new(),
        };
        let datasets = vec![dataset(36.9), dataset(18.5)];
        let comparison = Comparison { datasets, unmatched: Unmatched::default(), saturated: [0, 0] };
        let source = median_source(&comparison, "group-1", Letter::B, 18.5);
        assert_eq!(source, Source::Field("/differences/1/b".to_owned()));
        assert_eq!(median_source(&comparison, "group-1", Letter::A, 18.5), Source::Unrecorded);
    }
}
