//! JSON pointers to the levels and pairs in the document of a comparison.

use crate::blocks::value::Source;
use coretalk_model::compare::{
    CellDifference, Comparison, DatasetComparison, Letter, LevelMismatch, ReadingKey,
};

/// The path of a row. A dataset lists its levels, then levels of only one side, then its pairs.
pub(super) fn path(dataset: &DatasetComparison, comparison: &Comparison, row: usize) -> String {
    let before = comparison.datasets.iter().take_while(|other| !std::ptr::eq(*other, dataset));
    let rows = |other: &DatasetComparison| other.levels.len() + other.alone.len() + of_pairs(other).count();
    format!("/differences/{}", before.map(rows).sum::<usize>() + row)
}

pub(super) fn of_pairs(dataset: &DatasetComparison) -> impl Iterator<Item = &CellDifference> {
    dataset.cells.iter().filter(|cell| matches!(cell.key, ReadingKey::Pair(_)))
}

pub(super) fn shift_path(comparison: &Comparison, dataset: usize, level: Option<usize>) -> String {
    let datasets = &comparison.datasets;
    match level {
        Some(level) => path(&datasets[dataset], comparison, level) + "/shift_percent",
        None => {
            let before = datasets[..dataset].iter().filter(|other| other.together.is_some());
            format!("/compared/together/{}/shift_percent", before.count())
        }
    }
}

pub fn median_source(comparison: &Comparison, doubt: &LevelMismatch, side: Letter) -> Source {
    let path_of = |dataset: &DatasetComparison| {
        let shared = dataset.levels.iter().position(|level| level.level == doubt.level);
        let mut alone = (dataset.levels.len()..).zip(&dataset.alone);
        let alone =
            alone.find(|(_, level)| level.level == doubt.level && level.of == side).map(|(row, _)| row);
        Some(path(dataset, comparison, shared.or(alone)?))
    };
    let dataset = comparison.datasets.iter().find(|dataset| dataset.name == doubt.dataset);
    let key = if side == Letter::A { "a" } else { "b" };
    dataset.and_then(path_of).map_or(Source::Unrecorded, |path| Source::Field(format!("{path}/{key}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::compare::{Basis, LevelAlone, Unmatched};
    use coretalk_model::quantity::Better;

    #[test]
    fn median_sources_point_to_the_dataset_of_the_doubt() {
        let dataset = |name: &str| DatasetComparison {
            name: name.to_owned(),
            subject: String::new(),
            quantity: String::new(),
            unit: String::new(),
            better: Better::Lower,
            basis: Basis::AsRead,
            levels: Vec::new(),
            together: None,
            alone: vec![LevelAlone { of: Letter::B, level: "group-1".into(), pairs: 1, median: 18.5 }],
            cells: Vec::new(),
            lonely: 0,
            without_ratio: Vec::new(),
        };
        let datasets = vec![dataset("cas"), dataset("store")];
        let comparison = Comparison { datasets, unmatched: Unmatched::default(), saturated: [0, 0] };
        let doubt = |dataset: &str| {
            let [dataset, level, unit] = [dataset, "group-1", "ns"].map(str::to_owned);
            LevelMismatch { dataset, level, a: 36.9, b: 18.5, unit }
        };
        let source = |dataset, side| median_source(&comparison, &doubt(dataset), side);
        assert_eq!(source("store", Letter::B), Source::Field("/differences/1/b".to_owned()));
        assert_eq!(source("store", Letter::A), Source::Unrecorded);
        assert_eq!(source("msg", Letter::B), Source::Unrecorded);
    }
}
