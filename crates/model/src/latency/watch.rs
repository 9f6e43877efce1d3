//! The states of the machine during the run.

use super::cell::interval;
use super::record::CellPasses;
use super::{LatencyMap, LatencySettings, Record, StateWatch, WatchedState};
use crate::stats::{CellPass, Detector, MIN_PASSES, State, holds_still, split_states};
use crate::{CpuId, Hint, KernelId, Picos, Protocol};
use std::collections::BTreeMap;

/// The states of the machine, from the kernel that shows them best. `None` with too few passes.
pub fn watch(
    record: &Record,
    settings: &LatencySettings,
    pairs: &[[CpuId; 2]],
    map: &LatencyMap,
) -> Option<StateWatch> {
    let sensitive_kernel = KernelId::new(Protocol::Cas, Hint::None);
    let column = record.column(&sensitive_kernel, 0).or_else(|| record.column(&map.kernel, 0))?;
    let mut judged = 0;
    let mut changed = 0;
    let mut clearest: Option<(usize, Vec<State>, f64)> = None;
    let mut values: Vec<f64> = Vec::new();
    let mut watched_by_segment: BTreeMap<u32, [Picos; 2]> = BTreeMap::new();
    for cell in 0..pairs.len() {
        let Some(passes) = record.passes(cell) else { continue };
        values.clear();
        values.extend(series(passes, column).map(|value| value.1));
        if values.len() < MIN_PASSES {
            continue;
        }
        for (pass, _) in series(passes, column) {
            let head = passes.head(pass);
            let [first, last] = watched_by_segment.entry(head.segment).or_insert([head.started; 2]);
            (*first, *last) = ((*first).min(head.started), (*last).max(head.started));
        }
        judged += 1;
        if pairs.len() > 1 && holds_still(&values, Detector::CAS) {
            continue;
        }
        let states = split_states(&values, Detector::CAS);
        let spread = range(&values);
        changed += usize::from(states.len() > 1);
        let is_clearer = clearest.as_ref().is_none_or(|(_, _, widest)| spread > *widest);
        if states.len() > 1 && is_clearer || pairs.len() == 1 {
            clearest = Some((cell, states, spread));
        }
    }
    if judged == 0 {
        return None;
    }
    let mut watch = StateWatch {
        // Visits for other purposes, before and after the map, do not show states.
        watched: watched_by_segment.values().fold(Picos::ZERO, |sum, [first, last]| sum + (*last - *first)),
        pair: clearest.as_ref().map(|clearest| pairs[clearest.0]),
        states: Vec::new(),
        line: Vec::new(),
        cells_changed: changed as f64 / judged as f64,
    };
    if let Some((cell, states, _)) = clearest
        && let Some(passes) = record.passes(cell)
    {
        describe(&mut watch, record, settings, passes, column, states, &map.kernel);
    }
    Some(watch)
}

fn series(passes: CellPasses<'_>, column: usize) -> impl Iterator<Item = (usize, f64)> {
    (0..passes.len()).filter_map(move |pass| Some((pass, f64::from(passes.location(pass, column)?))))
}

fn range(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
    high / low
}

fn describe(
    watch: &mut StateWatch,
    record: &Record,
    settings: &LatencySettings,
    passes: CellPasses<'_>,
    column: usize,
    mut states: Vec<State>,
    headline: &KernelId,
) {
    let values: Vec<(usize, f64)> = series(passes, column).collect();
    states.sort_by(|a, b| b.share.total_cmp(&a.share));
    let headline_column = record.column(headline, 0);
    let begin = passes.heads().next().map_or(Picos::ZERO, |head| head.started);
    let mut label = vec![0u8; values.len()];
    for (index, state) in states.iter().enumerate() {
        for &member in &state.passes {
            label[member] = index as u8;
        }
    }
    watch.line = values
        .iter()
        .zip(&label)
        .map(|(&(pass, own_ns), &state)| {
            let value = headline_column.and_then(|column| passes.location(pass, column));
            let ns = value.map_or(own_ns, f64::from);
            (passes.head(pass).started - begin, ns, state)
        })
        .collect();
    watch.states = states
        .iter()
        .map(|state| WatchedState {
            share: state.share,
            visits: state.visits as u32,
            longest: longest(&watch.line, &label, label[state.passes[0]]),
            kernels: kernels(record, settings, passes, &values, state, headline),
        })
        .collect();
}

fn longest(line: &[(Picos, f64, u8)], label: &[u8], state: u8) -> Picos {
    let mut longest = Picos::ZERO;
    let mut entered = None;
    for (index, &here) in label.iter().enumerate() {
        match (here == state, entered) {
            (true, None) => entered = Some(line[index].0),
            (false, Some(since)) => {
                longest = longest.max(line[index].0 - since);
                entered = None;
            }
            _ => {}
        }
    }
    match (entered, line.last()) {
        (Some(since), Some(last)) => longest.max(last.0 - since),
        _ => longest,
    }
}

fn kernels(
    record: &Record,
    settings: &LatencySettings,
    passes: CellPasses<'_>,
    values: &[(usize, f64)],
    state: &State,
    headline: &KernelId,
) -> Vec<(KernelId, crate::stats::Estimate)> {
    let mut kernels: Vec<_> = record
        .columns()
        .iter()
        .enumerate()
        .filter(|(_, column)| column.home == 0)
        .filter_map(|(index, column)| {
            let ns: Vec<CellPass> = state
                .passes
                .iter()
                .filter_map(|&member| {
                    let pass = values[member].0;
                    let value = passes.column(pass, index)?;
                    let line_error =
                        if value.line_error_ns.is_finite() { f64::from(value.line_error_ns) } else { 0.0 };
                    let at_s = passes.head(pass).started.secs();
                    Some(CellPass { at_s, value: f64::from(value.location_ns), line_error })
                })
                .collect();
            Some((column.kernel.clone(), interval(&ns, settings)?))
        })
        .collect();
    kernels.sort_by_key(|(kernel, _)| kernel != headline);
    kernels
}
