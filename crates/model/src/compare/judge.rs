//! [`compare`]: judges levels first, then cells.
//!
//! Values are compared as logarithms: a shift of 0.05 is about 5 % at 8 ns and at 200 ns. If both sides have the same
//! pairs, the shift of a level is the median of the Walsh averages over its pairs (Hodges and Lehmann 1963). The random
//! error is estimated from the spread of the pairs of the two runs (an empirical null, Efron 2004), or, with few pairs,
//! from the intervals of the cells. The error common to all pairs of a run is added. If the sides have different pairs,
//! only medians of levels are compared.
//!
//! Level verdicts are corrected for their number after Holm (family-wise error 1 %). Levels that changed alike count as
//! one. Cells are corrected after Benjamini and Hochberg (false discovery rate 5 %). A difference must also exceed the
//! margin. The common error is no evidence about a single pair. A pair therefore differs only if its level does, or if
//! it departs from its level by more than the spread of pairs.

use super::alignment::UnpairedLevel;
use super::shift::{
    Joined, Members, ShiftNoise, basis, informative_members, join, judge_apart, judge_cell, judge_departure,
    judge_level, judge_together, location, steady,
};
use super::side::pair_up;
use super::verdict::Judged;
use super::{
    Alignment, Basis, CellDifference, Comparison, Dataset, DatasetComparison, LeastEffect, Letter,
    LevelAlone, LevelDifference, NoRatio, Pairing, ReadingKey, Side,
};
use crate::quantity::Better;
use crate::stats::compare::paired_location;
use crate::stats::{median, multiple};
use std::collections::BTreeMap;

const FAMILY_ERROR: f64 = 0.01;
const FALSE_DISCOVERIES: f64 = 0.05;
/// Lower than for other cells: no common error widens the null distribution, and pairs have long tails.
const FALSE_DEPARTURES: f64 = 0.01;

/// Compares two sides. Datasets with equal names correspond. Without equal names, the only dataset of each side does.
/// Datasets without values are left out. Comparisons by pair also leave out levels without a common pair.
pub fn compare(a: &Side, b: &Side, alignment: &Alignment, least: LeastEffect) -> Comparison {
    let (pairs, unmatched) = pair_up(a, b);
    let guest = a.guest || b.guest;
    let mut drafts: Vec<Draft<'_>> = pairs
        .into_iter()
        .filter(|(left, right)| !(left.readings.is_empty() && right.readings.is_empty()))
        .map(|(left, right)| match alignment.pairing() {
            Pairing::Pairs => Draft::of_pairs(left, right, alignment, least, guest),
            Pairing::Levels(_) | Pairing::Nothing(_) => {
                Draft::of_levels(left, right, alignment, least, guest)
            }
        })
        .collect();
    correct(drafts.iter_mut().flat_map(Draft::level_questions), multiple::holm, FAMILY_ERROR);
    correct(
        drafts.iter_mut().flat_map(Draft::cell_questions),
        multiple::benjamini_hochberg,
        FALSE_DISCOVERIES,
    );
    correct(
        drafts.iter_mut().flat_map(Draft::departure_questions),
        multiple::benjamini_hochberg,
        FALSE_DEPARTURES,
    );
    drafts.iter_mut().for_each(Draft::bind_cells);
    let saturated = [a, b].map(|side| side.saturated);
    Comparison { datasets: drafts.into_iter().map(Draft::finish).collect(), unmatched, saturated }
}

/// The verdicts that one p-value decides. The first verdict provides the p-value.
type Question<'d> = (Better, Vec<&'d mut Judged>);

fn correct<'d>(
    questions: impl Iterator<Item = Question<'d>>,
    method: impl Fn(&[f64]) -> Vec<f64>,
    error: f64,
) {
    let questions: Vec<Question<'_>> = questions.collect();
    let p_values: Vec<f64> =
        questions.iter().map(|(_, verdicts)| verdicts.first().map_or(1.0, |first| first.p_value())).collect();
    for ((better, verdicts), adjusted) in questions.into_iter().zip(method(&p_values)) {
        verdicts.into_iter().for_each(|judged| judged.conclude(adjusted, error, better));
    }
}

struct LevelFacts {
    level: String,
    pairs: [usize; 2],
    left_out: usize,
    as_read: Option<f64>,
}

struct Draft<'a> {
    a: &'a Dataset,
    basis: Basis,
    level_facts: Vec<LevelFacts>,
    levels: Vec<Judged>,
    together: Option<Judged>,
    alone: Vec<LevelAlone>,
    keys: Vec<(&'a ReadingKey, usize)>,
    cells: Vec<Judged>,
    departures: Vec<Judged>,
    lonely: usize,
    without_ratio: Vec<NoRatio>,
}

impl<'a> Draft<'a> {
    fn empty(a: &'a Dataset, b: &'a Dataset, basis: Basis) -> Draft<'a> {
        let without = |of: Letter, dataset: &'a Dataset| {
            let readings = dataset.readings.iter().map(|(key, reading)| (key, reading.value.point));
            readings.filter(|(_, value)| !dataset.has_ratio(*value)).map(move |(key, value)| NoRatio {
                of,
                key: key.clone(),
                value,
            })
        };
        Draft {
            a,
            basis,
            level_facts: Vec::new(),
            levels: Vec::new(),
            together: None,
            alone: Vec::new(),
            keys: Vec::new(),
            cells: Vec::new(),
            departures: Vec::new(),
            lonely: 0,
            without_ratio: without(Letter::A, a).chain(without(Letter::B, b)).collect(),
        }
    }

    fn level_questions(&mut self) -> Vec<Question<'_>> {
        let better = self.a.better;
        match &mut self.together {
            // An irrelevant common shift must not decide the verdicts of the levels.
            Some(together) if together.counts() => {
                vec![(better, [together].into_iter().chain(&mut self.levels).collect())]
            }
            _ => self.levels.iter_mut().map(|level| (better, vec![level])).collect(),
        }
    }

    fn cell_questions(&mut self) -> Vec<Question<'_>> {
        let better = self.a.better;
        self.cells.iter_mut().map(|cell| (better, vec![cell])).collect()
    }

    fn departure_questions(&mut self) -> Vec<Question<'_>> {
        let better = self.a.better;
        self.departures.iter_mut().map(|departure| (better, vec![departure])).collect()
    }

    /// Withdraws the verdict of a cell that disagrees with its level without departing from it.
    fn bind_cells(&mut self) {
        for ((cell, departure), (_, level)) in self.cells.iter_mut().zip(&self.departures).zip(&self.keys) {
            if !departure.verdict().is_different() {
                cell.defer_to(self.levels[*level].verdict());
            }
        }
    }

    fn of_pairs(
        a: &'a Dataset,
        b: &'a Dataset,
        alignment: &Alignment,
        least: LeastEffect,
        guest: bool,
    ) -> Draft<'a> {
        let (joined, basis) = join(a, b);
        let shared = a.readings.keys().filter(|key| b.readings.contains_key(key)).count();
        let mut draft =
            Draft { lonely: a.readings.len() + b.readings.len() - 2 * shared, ..Draft::empty(a, b, basis) };
        let resolution = a.resolution.max(b.resolution);
        let negligible = a.negligible.max(b.negligible);
        let margin = |value: f64| least.margin(value, resolution, negligible);
        // A shift that is irrelevant for one pair is relevant as the mean of many: 5 % of 5 ns are less than 0.3 ns.
        let margin_of_level = |value: f64| least.margin(value, resolution, 0.0);
        let [levels, _] = alignment.levels();
        let mut by_level: Vec<Vec<&Joined<'_>>> = Vec::new();
        for ((_, level), members) in levels.group(joined.iter().map(|joined| joined.key)) {
            let members: Vec<&Joined<'_>> = members.into_iter().map(|index| &joined[index]).collect();
            if alignment.doubts_of(&level).is_some() {
                for (of, value) in [
                    (Letter::A, (|cell| cell.a.value.point) as fn(&Joined<'_>) -> f64),
                    (Letter::B, |cell| cell.b.value.point),
                ] {
                    let values: Vec<f64> = members.iter().map(|cell| value(cell)).collect();
                    let median = median(&values).unwrap_or(f64::NAN);
                    draft.alone.push(LevelAlone { of, level: level.clone(), pairs: members.len(), median });
                }
                continue;
            }
            let noise = ShiftNoise::from_members(&members);
            let informative = informative_members(&members);
            let middle = location(&informative);
            let as_read = (basis == Basis::Cycles).then(|| {
                let shifts: Vec<f64> =
                    steady(&members).map(|cell| (cell.b.value.point / cell.a.value.point).ln()).collect();
                paired_location(&shifts).map_or(f64::NAN, |shift| shift.exp() - 1.0)
            });
            for cell in &members {
                draft.keys.push((cell.key, draft.level_facts.len()));
                draft.cells.push(judge_cell(cell, &noise, &margin, guest));
                draft.departures.push(judge_departure(cell, middle, &noise, &margin, guest));
            }
            draft.levels.push(judge_level(&members, &noise, &margin_of_level, guest));
            let (pairs, left_out) = ([members.len(); 2], members.len() - informative.len());
            draft.level_facts.push(LevelFacts { level, pairs, left_out, as_read });
            by_level.push(members);
        }
        draft.together = judge_together(&by_level, &margin_of_level, guest).map(|mut together| {
            // A difference below the margin counts as none, whatever its p-value. Only larger differences are tested.
            together.conclude(1.0, FAMILY_ERROR, a.better);
            together
        });
        draft
    }

    fn of_levels(
        a: &'a Dataset,
        b: &'a Dataset,
        alignment: &Alignment,
        least: LeastEffect,
        guest: bool,
    ) -> Draft<'a> {
        let members = [a, b].map(|dataset| dataset.comparable().collect::<Members<'_>>());
        let basis = basis(members.iter().flatten().map(|(_, reading)| *reading));
        let resolution = a.resolution.max(b.resolution);
        let margin = |value: f64| least.margin(value, resolution, 0.0);
        let members_at = |index: usize, positions: &[usize]| -> Members<'a> {
            positions.iter().map(|&position| members[index][position]).collect()
        };
        let by_level = |index: usize| alignment.by_level(index, members[index].iter().map(|(key, _)| *key));
        let (of_a, mut of_b) = (by_level(0), by_level(1));
        let mut draft = Draft::empty(a, b, basis);
        let alone = |of: Letter, level: String, members: &Members<'_>| LevelAlone {
            of,
            level,
            pairs: members.len(),
            median: median(&members.iter().map(|(_, reading)| reading.value.point).collect::<Vec<_>>())
                .unwrap_or(f64::NAN),
        };
        for (UnpairedLevel { name: level, is_known, .. }, positions) in of_a {
            let mine = members_at(0, &positions);
            let same = is_known.then(|| take(&mut of_b, &level)).flatten();
            let Some(theirs) = same.map(|positions| members_at(1, &positions)) else {
                draft.alone.push(alone(Letter::A, level, &mine));
                continue;
            };
            let found = judge_apart(&mine, &theirs, basis, &margin, guest);
            let as_read = (basis == Basis::Cycles).then_some(found.as_read);
            draft.levels.push(found.judged);
            let (pairs, left_out) = ([mine.len(), theirs.len()], found.left_out);
            draft.level_facts.push(LevelFacts { level, pairs, left_out, as_read });
        }
        for (UnpairedLevel { name: level, .. }, positions) in of_b {
            draft.alone.push(alone(Letter::B, level, &members_at(1, &positions)));
        }
        draft
    }

    fn finish(self) -> DatasetComparison {
        let better = self.a.better;
        let levels = self.level_facts.into_iter().zip(self.levels);
        let cells = self.keys.into_iter().zip(self.cells).zip(self.departures);
        let mut cells: Vec<CellDifference> = cells
            .map(|(((key, level), cell), departure)| CellDifference {
                key: key.clone(),
                level,
                difference: cell.difference(better),
                departs: departure.verdict().is_different(),
            })
            .collect();
        cells.sort_by(|x, y| x.key.cmp(&y.key));
        DatasetComparison {
            name: self.a.name.clone(),
            subject: self.a.subject.clone(),
            quantity: self.a.quantity.clone(),
            unit: self.a.unit.clone(),
            better,
            basis: self.basis,
            levels: levels
                .map(|(LevelFacts { level, pairs, left_out, as_read }, judged)| LevelDifference {
                    level,
                    pairs,
                    left_out,
                    difference: judged.difference(better),
                    as_read,
                })
                .collect(),
            together: self.together.map(|judged| judged.difference(better)),
            alone: self.alone,
            cells,
            lonely: self.lonely,
            without_ratio: self.without_ratio,
        }
    }
}

fn take(levels: &mut BTreeMap<UnpairedLevel, Vec<usize>>, name: &str) -> Option<Vec<usize>> {
    let key = levels.keys().find(|level| level.is_known && level.name == name)?.clone();
    levels.remove(&key)
}
