//! [`compare`]: levels first, then cells.
//!
//! Values are compared as logarithms, so that a shift of 0.05 is about 5 % at 8 ns and at 200. Where pairs are held against
//! themselves, the shift of a level is the median of the Walsh averages over its pairs (Hodges and Lehmann 1963). What it
//! could be by chance comes from the spread between the pairs of the level where there are many, which is measured on the
//! very two runs (an empirical null, Efron 2004), and from the intervals of the cells where there are few; to both is
//! added what all pairs of a run share. Levels are corrected for their number after Holm (family-wise error 0.1 %),
//! cells after Benjamini and Hochberg (false discovery rate 5 %), and a difference has to be large enough to matter.
//! Where pairs are not the same pairs, medians of levels are held against each other, and no pair against a pair.

use super::alignment::UnpairedLevel;
use super::shift::{
    Joined, Members, Noise, basis, comparable, join, judge_apart, judge_cell, judge_level, steady,
};
use super::side::pair_up;
use super::verdict::Judged;
use super::{
    Alignment, Basis, CellDifference, Comparison, Dataset, DatasetComparison, LeastEffect, Letter,
    LevelAlone, LevelDifference, Pairing, ReadingKey, Side,
};
use crate::stats::compare::paired_location;
use crate::stats::{median, multiple};
use std::collections::BTreeMap;

/// Error that all level verdicts of a comparison may make together.
const FAMILY_ERROR: f64 = 0.001;
/// Share of the cells called different that may be wrong.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Holds two sides against each other. Datasets of one name belong together; where each side has a single one they do so
/// whatever their names. Datasets without a value on either side are left out, and where pairs are held against themselves
/// levels without a pair on both sides.
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
    correct(&mut drafts, |draft| &mut draft.levels, multiple::holm, FAMILY_ERROR);
    correct(&mut drafts, |draft| &mut draft.cells, multiple::benjamini_hochberg, FALSE_DISCOVERIES);
    let saturated = [a, b].map(|side| side.saturated);
    Comparison { datasets: drafts.into_iter().map(Draft::finish).collect(), unmatched, saturated }
}

/// Corrects the p-values of every dataset together and draws the verdicts.
fn correct<'a>(
    drafts: &mut [Draft<'a>],
    of: impl for<'d> Fn(&'d mut Draft<'a>) -> &'d mut Vec<Judged>,
    method: impl Fn(&[f64]) -> Vec<f64>,
    error: f64,
) {
    let p_values: Vec<f64> = drafts
        .iter_mut()
        .flat_map(|draft| of(draft).iter().map(Judged::p_value).collect::<Vec<_>>())
        .collect();
    let mut adjusted = method(&p_values).into_iter();
    for draft in drafts {
        let better = draft.a.better;
        for judged in of(draft) {
            judged.conclude(adjusted.next().unwrap_or(1.0), error, better);
        }
    }
}

/// A level before it is judged.
struct Named {
    level: String,
    pairs: [usize; 2],
    moved: usize,
    as_read: Option<f64>,
}

/// A dataset in the making.
struct Draft<'a> {
    a: &'a Dataset,
    basis: Basis,
    names: Vec<Named>,
    levels: Vec<Judged>,
    alone: Vec<LevelAlone>,
    keys: Vec<(&'a ReadingKey, usize)>,
    cells: Vec<Judged>,
    lonely: usize,
    without_ratio: usize,
}

impl<'a> Draft<'a> {
    fn empty(a: &'a Dataset, basis: Basis) -> Draft<'a> {
        Draft {
            a,
            basis,
            names: Vec::new(),
            levels: Vec::new(),
            alone: Vec::new(),
            keys: Vec::new(),
            cells: Vec::new(),
            lonely: 0,
            without_ratio: 0,
        }
    }

    /// Every pair against itself.
    fn of_pairs(
        a: &'a Dataset,
        b: &'a Dataset,
        alignment: &Alignment,
        least: LeastEffect,
        guest: bool,
    ) -> Draft<'a> {
        let (joined, basis) = join(a, b);
        let shared = a.readings.keys().filter(|key| b.readings.contains_key(key)).count();
        let mut draft = Draft {
            lonely: a.readings.len() + b.readings.len() - 2 * shared,
            without_ratio: shared - joined.len(),
            ..Draft::empty(a, basis)
        };
        let resolution = a.resolution.max(b.resolution);
        let negligible = a.negligible.max(b.negligible);
        let margin = |value: f64| least.margin(value, resolution, negligible);
        // What is too little to matter in one pair matters in the mean of many: 5 % of 5 ns are less than 0.3 ns.
        let margin_of_level = |value: f64| least.margin(value, resolution, 0.0);
        let [levels, _] = alignment.levels();
        for ((_, level), members) in levels.group(joined.iter().map(|joined| joined.key)) {
            let members: Vec<&Joined<'_>> = members.into_iter().map(|index| &joined[index]).collect();
            let noise = Noise::of(&members);
            let moved = members.iter().filter(|joined| !joined.steady()).count();
            let as_read = (basis == Basis::Cycles).then(|| {
                let shifts: Vec<f64> =
                    steady(&members).map(|cell| (cell.b.value.point / cell.a.value.point).ln()).collect();
                paired_location(&shifts).map_or(f64::NAN, |shift| shift.exp() - 1.0)
            });
            for cell in &members {
                draft.keys.push((cell.key, draft.names.len()));
                draft.cells.push(judge_cell(cell, &noise, &margin, guest));
            }
            draft.levels.push(judge_level(&members, &noise, &margin_of_level, guest));
            draft.names.push(Named { level, pairs: [members.len(); 2], moved, as_read });
        }
        draft
    }

    /// Levels that mean the same against each other; the others stand alone.
    fn of_levels(
        a: &'a Dataset,
        b: &'a Dataset,
        alignment: &Alignment,
        least: LeastEffect,
        guest: bool,
    ) -> Draft<'a> {
        let members = [a, b].map(|dataset| comparable(dataset.readings.iter()));
        let basis = basis(members.iter().flatten().map(|(_, reading)| *reading));
        let resolution = a.resolution.max(b.resolution);
        let margin = |value: f64| least.margin(value, resolution, 0.0);
        let of = |index: usize, positions: &[usize]| -> Members<'a> {
            positions.iter().map(|&position| members[index][position]).collect()
        };
        let by_level = |index: usize| alignment.by_level(index, members[index].iter().map(|(key, _)| *key));
        let (of_a, mut of_b) = (by_level(0), by_level(1));
        let mut draft = Draft {
            without_ratio: a.readings.len() + b.readings.len() - members[0].len() - members[1].len(),
            ..Draft::empty(a, basis)
        };
        let alone = |of: Letter, level: String, members: &Members<'_>| LevelAlone {
            of,
            level,
            pairs: members.len(),
            median: median(&members.iter().map(|(_, reading)| reading.value.point).collect::<Vec<_>>())
                .unwrap_or(f64::NAN),
        };
        for (UnpairedLevel { name: level, is_known, .. }, positions) in of_a {
            let mine = of(0, &positions);
            let same = is_known.then(|| take(&mut of_b, &level)).flatten();
            let Some(theirs) = same.map(|positions| of(1, &positions)) else {
                draft.alone.push(alone(Letter::A, level, &mine));
                continue;
            };
            let found = judge_apart(&mine, &theirs, basis, &margin, guest);
            let as_read = (basis == Basis::Cycles).then_some(found.as_read);
            draft.levels.push(found.judged);
            draft.names.push(Named { level, pairs: [mine.len(), theirs.len()], moved: found.moved, as_read });
        }
        for (UnpairedLevel { name: level, .. }, positions) in of_b {
            draft.alone.push(alone(Letter::B, level, &of(1, &positions)));
        }
        draft
    }

    fn finish(self) -> DatasetComparison {
        let better = self.a.better;
        let levels = self.names.into_iter().zip(self.levels);
        let cells = self.keys.into_iter().zip(self.cells);
        let mut cells: Vec<CellDifference> = cells
            .map(|((key, level), cell)| CellDifference {
                key: key.clone(),
                level,
                difference: cell.difference(better),
            })
            .collect();
        cells.sort_by(|x, y| x.key.cmp(&y.key));
        DatasetComparison {
            name: self.a.name.clone(),
            quantity: self.a.quantity.clone(),
            unit: self.a.unit.clone(),
            better,
            basis: self.basis,
            levels: levels
                .map(|(Named { level, pairs, moved, as_read }, judged)| LevelDifference {
                    level,
                    pairs,
                    moved,
                    difference: judged.difference(better),
                    as_read,
                })
                .collect(),
            alone: self.alone,
            cells,
            lonely: self.lonely,
            without_ratio: self.without_ratio,
        }
    }
}

/// Takes the level of a name that means the same on both sides out of others.
fn take(levels: &mut BTreeMap<UnpairedLevel, Vec<usize>>, name: &str) -> Option<Vec<usize>> {
    let key = levels.keys().find(|held| held.is_known && held.name == name)?.clone();
    levels.remove(&key)
}
