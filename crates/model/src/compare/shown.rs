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
