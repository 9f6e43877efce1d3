//! [`Differing`]: the comparison of two runs of a report, level by level in words and pair by pair as maps.

use super::compare::{CompareView, SideView, called, verdict_words};
use super::fmt;
use super::input::{Map, ReportInput};
use super::text::{cut, plain};
use crate::blocks::value::Sentence;
use crate::document::Columns;
use coretalk_model::CpuId;
use coretalk_model::compare::{
    self, Alignment, CellDifference, Comparison, DatasetComparison, LeastEffect, Mismatch, Pairing, Weight,
    compare, mismatches,
};
use std::collections::BTreeMap;

/// Factor that makes the colour of an unproven difference paler. The shown number keeps its full value.
pub const PALE: f64 = 0.15;

/// Two runs, B compared with A.
#[derive(Debug)]
pub struct Differing<'a> {
    a: &'a ReportInput<'a>,
    b: &'a ReportInput<'a>,
    mismatches: Vec<Mismatch>,
    /// `None` for two different experiments.
    comparison: Option<Comparison>,
    alignment: Alignment,
}

/// The difference of two maps.
#[derive(Debug)]
pub struct DifferenceMap<'a> {
    /// The map of A. It defines CPUs, order and rows.
    pub of: &'a Map,
    /// B ÷ A - 1 in percent for the cells of A; empty where a side was not measured.
    pub columns: Columns,
    /// For each cell, whether the difference is proven.
    pub shown: Vec<bool>,
    /// The verdict on each cell, in words.
    pub verdicts: Vec<String>,
    /// The title of the map, in one line.
    pub question: String,
}

impl<'a> Differing<'a> {
    /// Compares the second of two runs with the first; `None` for another number of runs, or if one holds no map.
    pub fn from_inputs(inputs: &'a [ReportInput<'a>]) -> Option<Differing<'a>> {
        let [a, b] = inputs else { return None };
        let [left, right] = [a, b].map(ReportInput::side);
        if left.datasets.is_empty() || right.datasets.is_empty() {
            return None;
        }
        let mismatches = mismatches(&left, &right);
        let is_same_experiment = mismatches.iter().all(|mismatch| mismatch.weight == Weight::Warns);
        let alignment = Alignment::between(&left, &right);
        let comparison = is_same_experiment.then(|| compare(&left, &right, &alignment, LeastEffect::DEFAULT));
        Some(Differing { a, b, mismatches, alignment, comparison })
    }

    /// A run has the name of its first tag.
    fn sides(&self) -> [SideView; 2] {
        [self.a, self.b].map(|input| SideView {
            name: input.name.to_owned(),
            machine: [input.marks().join(" "), input.machine()].join(" ").trim().to_owned(),
            started: input.run().map(|report| super::text::started(&report.header.started)),
            cpus: input.topology().cpus().len(),
            is_public: true,
            given: match input.run() {
                Some(report) => report.header.tags.first().cloned(),
                None => Some(input.name.to_owned()),
            },
        })
    }

    /// Why nothing is compared; `None` if there is a comparison.
    pub fn refusal(&self) -> Option<Sentence> {
        if self.comparison.is_some() {
            return None;
        }
        let grave = self.mismatches.iter().filter(|mismatch| mismatch.weight != Weight::Warns);
        let shown =
            |text: &Option<String>| text.as_deref().map_or("unknown".into(), |text| cut(&plain(text), 60));
        let parts = grave.map(|mismatch| {
            Sentence::new("{what} ({a} and {b})")
                .with_name("what", &mismatch.what)
                .with_name("a", &shown(&mismatch.a))
                .with_name("b", &shown(&mismatch.b))
        });
        let template =
            "{a} and {b} are different experiments: they differ in {parts}. No difference is shown.";
        let [a, b] = called(&self.sides());
        let refusal = Sentence::new(template).with_name("a", &a).with_name("b", &b);
        Some(refusal.with("parts", Sentence::joined(parts, ", ")))
    }

    /// The comparison for sentences; `None` if nothing is compared.
    pub fn words(&self) -> Option<CompareView<'_>> {
        Some(CompareView {
            sides: self.sides(),
            mismatches: &self.mismatches,
            comparison: self.comparison.as_ref()?,
            alignment: &self.alignment,
            is_forced: false,
            files: self.a.file().or(self.b.file()).is_some(),
            least: LeastEffect::DEFAULT.0,
        })
    }

    /// A difference map for each map of A that B also has; empty if equal CPU numbers may mean different pairs.
    pub fn maps(&self) -> Vec<DifferenceMap<'a>> {
        let Some(comparison) =
            self.comparison.as_ref().filter(|_| *self.alignment.pairing() == Pairing::Pairs)
        else {
            return Vec::new();
        };
        let called = called(&self.sides());
        let datasets = self.a.side().datasets.into_iter().zip(&self.a.maps);
        datasets
            .filter_map(|(side, drawn)| {
                let dataset = comparison.datasets.iter().find(|dataset| dataset.name == side.name)?;
                Some(difference_map(drawn, dataset, &called))
            })
            .collect()
    }
}

fn difference_map<'a>(map: &'a Map, dataset: &DatasetComparison, [a, b]: &[String; 2]) -> DifferenceMap<'a> {
    let by_pair: BTreeMap<[CpuId; 2], &CellDifference> = dataset
        .cells
        .iter()
        .filter_map(|cell| match &cell.key {
            compare::ReadingKey::Pair(pair) => Some((*pair, cell)),
            compare::ReadingKey::Series(_) => None,
        })
        .collect();
    let columns_a = &map.columns;
    let found: Vec<Option<&CellDifference>> = columns_a
        .positions
        .iter()
        .map(|&[row, column]| {
            let [row, column] = [row, column].map(|position| CpuId(columns_a.cpus[position as usize]));
            let pair = if columns_a.symmetric { [row.min(column), row.max(column)] } else { [row, column] };
            // A file holds both directions of a pair, but the comparison has one value for the pair.
            let unordered = [pair[0].min(pair[1]), pair[0].max(pair[1])];
            by_pair.get(&pair).or_else(|| by_pair.get(&unordered)).copied()
        })
        .collect();
    let n = found.len();
    let finite =
        |low: f64, high: f64| (low.is_finite() && high.is_finite()).then_some([100.0 * low, 100.0 * high]);
    let columns = Columns {
        cpus: columns_a.cpus.clone(),
        symmetric: columns_a.symmetric,
        positions: columns_a.positions.clone(),
        median: found.iter().map(|cell| cell.map(|cell| 100.0 * cell.difference.shift.point)).collect(),
        interval: found
            .iter()
            .map(|cell| cell.and_then(|cell| finite(cell.difference.shift.low, cell.difference.shift.high)))
            .collect(),
        slices: vec![false; n],
        min: vec![None; n],
        home_penalty: vec![None; n],
        line_spread: vec![None; n],
        passes: vec![0; n],
        grade: vec![None; n],
        flags: vec![0; n],
        reason: vec![None; n],
        reasons: Vec::new(),
    };
    let basis = match dataset.basis {
        compare::Basis::Cycles => "in core cycles",
        compare::Basis::AsRead => "as measured",
    };
    DifferenceMap {
        of: map,
        columns,
        shown: found
            .iter()
            .map(|cell| cell.is_some_and(|cell| cell.difference.verdict.is_different()))
            .collect(),
        verdicts: found
            .iter()
            .map(|cell| {
                cell.map_or_else(
                    || "not compared, or not measured in both runs".to_owned(),
                    |cell| fmt::sentence(&verdict_words(&cell.difference, dataset, "")),
                )
            })
            .collect(),
        question: format!(
            "{}: {b} ÷ {a} - 1 in percent, {basis}; positive is {}",
            plain(&dataset.name),
            dataset.called_above()
        ),
    }
}
