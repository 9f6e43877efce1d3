//! Guard: a level stays only where its inside stands out against the scatter of the outside.
//!
//! A tree groups noise as readily as structure; what it finds in noise is the lower edge of one distribution.

use super::distances::Distances;
use super::partition::{ALONE, Partition};
use crate::stats::elementary::ln;
use crate::stats::{MadScale, mad, median_in_place};

/// So many deviations of the outside lie between its median and that of the inside.
const LEAST_DEVIATIONS: f64 = 3.5;
/// In groups that leave CPUs out, fewer cells than this may be the lower edge of noise: two or three pairs of CPUs that
/// happen to be the nearest of fifteen made nine of ten invented levels …
const FEW: usize = 8;
/// … unless every way out of the groups is longer than each of these cells by this factor.
const LEAST_RATIO_OF_FEW: f64 = 1.18;
/// No scatter is believed to be smaller: intervals end at about 1 %, and a few cells may tie by chance.
const LEAST_SCATTER: f64 = 0.02;

/// Whether the level stands out inside the next coarser one that stands.
pub(super) fn stands_out(
    level: &Partition,
    finer: Option<&Partition>,
    coarser: Option<&Partition>,
    distances: &Distances,
) -> bool {
    let cells = Cells::of(level, finer, coarser, distances);
    if !level.covers_all() && cells.inside.len() < FEW && cells.gap(distances) < ln(LEAST_RATIO_OF_FEW) {
        return false;
    }
    let plain = cells.deviations(&vec![0.0; distances.len()], distances);
    if plain.is_some_and(|deviations| deviations >= LEAST_DEVIATIONS) {
        return true;
    }
    // A core with a lower clock is slower to everybody. Where every CPU has a group that can be taken out; else the
    // CPUs without one are what the groups are compared with.
    level.covers_all()
        && cells
            .deviations(&cells.offsets(distances), distances)
            .is_some_and(|deviations| deviations >= LEAST_DEVIATIONS)
}

struct Cells {
    inside: Vec<(u32, u32)>,
    outside: Vec<(u32, u32)>,
}

impl Cells {
    fn of(
        level: &Partition,
        finer: Option<&Partition>,
        coarser: Option<&Partition>,
        distances: &Distances,
    ) -> Cells {
        let mut cells = Cells { inside: Vec::new(), outside: Vec::new() };
        let together =
            |within: Option<&Partition>, a: usize, b: usize| within.is_some_and(|within| within.joins(a, b));
        for high in 0..distances.len() {
            for low in 0..high {
                let pair = (low as u32, high as u32);
                if level.joins(low, high) {
                    if !together(finer, low, high) {
                        cells.inside.push(pair);
                    }
                } else if (level.of(low) != ALONE || level.of(high) != ALONE)
                    && coarser.is_none_or(|coarser| coarser.joins(low, high))
                {
                    cells.outside.push(pair);
                }
            }
        }
        cells
    }

    /// Distance of the two medians in deviations of the outside, after the offsets are taken out.
    fn deviations(&self, offsets: &[f64], distances: &Distances) -> Option<f64> {
        let net = |cells: &[(u32, u32)]| -> Vec<f64> {
            let value = |&(low, high): &(u32, u32)| {
                let (low, high) = (low as usize, high as usize);
                distances.at(low, high) - offsets[low] - offsets[high]
            };
            cells.iter().map(value).collect()
        };
        let outside = net(&self.outside);
        let scatter = mad(&outside, MadScale::Normal)?.max(LEAST_SCATTER);
        Some((median_in_place(&mut outside.clone())? - median_in_place(&mut net(&self.inside))?) / scatter)
    }

    /// From the slowest cell inside up to the fastest outside.
    fn gap(&self, distances: &Distances) -> f64 {
        let at = |&(low, high): &(u32, u32)| distances.at(low as usize, high as usize);
        let slowest = self.inside.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
        self.outside.iter().map(at).fold(f64::INFINITY, f64::min) - slowest
    }

    /// Each CPU's median over its outside cells.
    fn offsets(&self, distances: &Distances) -> Vec<f64> {
        let mut of: Vec<Vec<f64>> = vec![Vec::new(); distances.len()];
        for &(low, high) in &self.outside {
            let value = distances.at(low as usize, high as usize);
            of[low as usize].push(value);
            of[high as usize].push(value);
        }
        of.iter_mut().map(|values| median_in_place(values).unwrap_or(0.0)).collect()
    }
}
