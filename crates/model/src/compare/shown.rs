//! [`shown`]: groups that the latencies of both sides show, for comparisons where nobody reports any or what is reported
//! contradicts the latencies.

use super::{Side, Subject};
use crate::infer::{Observation, Standing, Structure, agreement, infer};
use crate::{CpuId, CpuSet, Matrix};
use std::collections::{BTreeMap, BTreeSet};

/// Half a 95 % interval, in deviations.
const REACH: f64 = 1.96;

/// Levels that the latencies of both sides show with the very same groups, finest first; empty where they share none.
/// Levels of one side alone would be chosen by the noise, or the change, that is to be judged.
pub(super) fn shown(a: &Side, b: &Side) -> Vec<Vec<CpuSet>> {
    let common: BTreeSet<CpuId> = &cpus(a) & &cpus(b);
    let of = |side: &Side| infer(&latencies(side, &common)?).ok();
    let (Some(left), Some(right)) = (of(a), of(b)) else { return Vec::new() };
    let groups = |structure: Structure| structure.levels.into_iter().map(|level| level.groups);
    let theirs: Vec<Vec<CpuSet>> = groups(right).collect();
    groups(left).filter(|level| theirs.contains(level)).collect()
}

/// Levels of two sides that speak against holding their pairs against each other, as text: those that cut across each
/// other, so that CPU numbers cannot mean the same CPUs, or those of one side where the other shows none, so that pairs
/// have changed by different amounts. `None` where there are none.
pub(super) fn unlike(a: &Side, b: &Side) -> Option<[String; 2]> {
    let common: BTreeSet<CpuId> = &cpus(a) & &cpus(b);
    let of = |side: &Side| infer(&latencies(side, &common)?).ok();
    let (left, right) = (of(a)?, of(b)?);
    let none = || "none".to_owned();
    match (left.levels.last(), right.levels.last()) {
        (Some(level), None) => return Some([in_short(&level.groups), none()]),
        (None, Some(level)) => return Some([none(), in_short(&level.groups)]),
        _ => {}
    }
    let cut = |x: &CpuSet, y: &CpuSet| {
        let both = x.intersection(y).len();
        both > 0 && both < x.len() && both < y.len()
    };
    let pairs = left.levels.iter().flat_map(|mine| right.levels.iter().map(move |theirs| [mine, theirs]));
    let mut cutting = pairs.filter(|[mine, theirs]| {
        mine.groups.iter().any(|mine| theirs.groups.iter().any(|theirs| cut(mine, theirs)))
    });
    Some(cutting.next()?.map(|level| in_short(&level.groups)))
}

/// `0-7 8-15`; of many the first two and the last.
fn in_short(groups: &[CpuSet]) -> String {
    let all: Vec<String> = groups.iter().map(ToString::to_string).collect();
    match all.as_slice() {
        [first, second, _, .., last] if all.len() > 3 => format!("{first} {second} … {last}"),
        _ => all.join(" "),
    }
}

/// Whether the latencies of a side contradict what is reported of it.
pub(super) fn is_contradicted(side: &Side) -> bool {
    let Some(reported) = &side.topology else { return false };
    let Some(observed) = latencies(side, &cpus(side)) else { return false };
    let Ok(structure) = infer(&observed) else { return false };
    agreement(reported, &structure, &observed).iter().any(|held| held.standing == Standing::Conflict)
}

/// The CPUs of pairs.
fn cpus(side: &Side) -> BTreeSet<CpuId> {
    let subjects = side.sheets.iter().flat_map(|sheet| sheet.readings.keys());
    subjects.flat_map(Subject::cpus).collect()
}

/// The first matrix of latencies that a side has, without what changed during its run.
fn latencies(side: &Side, cpus: &BTreeSet<CpuId>) -> Option<Matrix<Option<Observation>>> {
    let sheet = side.sheets.iter().find(|sheet| sheet.name.starts_with("latency"))?;
    let seen: BTreeMap<[CpuId; 2], Observation> = sheet
        .readings
        .iter()
        .filter_map(|(subject, reading)| {
            let Subject::Pair([a, b]) = subject else { return None };
            let half_width = reading.value.deviation.map_or(0.0, |deviation| REACH * deviation);
            let known = Observation { value: reading.value.point, half_width };
            reading.steady.then_some(([*a.min(b), *a.max(b)], known))
        })
        .collect();
    let cpus: Vec<CpuId> = cpus.iter().copied().collect();
    (!seen.is_empty()).then(|| {
        let of = |row: usize, column: usize| {
            let (a, b) = (cpus[row], cpus[column]);
            seen.get(&[a.min(b), a.max(b)]).copied()
        };
        Matrix::symmetric(cpus.clone(), of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::of_import::of_import;
    use crate::formats::read_matrices;

    /// Eight CPUs whose latencies are 20 inside a group and 90 across.
    fn side(group: impl Fn(u32) -> u32) -> Side {
        let row = |row: u32| -> String {
            let cell = |column: u32| match column {
                _ if column >= row => String::new(),
                _ if group(row) == group(column) => "20.1".into(),
                _ => "90.1".to_string(),
            };
            (0..8).map(cell).collect::<Vec<_>>().join(",")
        };
        let text: String = (0..8).map(|index| row(index) + "\n").collect();
        of_import(&read_matrices(text.as_bytes()).unwrap())
    }

    #[test]
    fn groups_that_cut_across_each_other_or_stand_alone_are_named() {
        let (halves, turns) = (side(|cpu| cpu / 4), side(|cpu| cpu % 2));
        assert_eq!(unlike(&halves, &turns), Some(["0-3 4-7".to_owned(), "0,2,4,6 1,3,5,7".to_owned()]));
        assert_eq!(unlike(&halves, &side(|cpu| cpu / 2)), None);
        assert_eq!(unlike(&halves, &halves), None);
        assert_eq!(unlike(&side(|_| 0), &halves), Some(["none".to_owned(), "0-3 4-7".to_owned()]));
    }
}
