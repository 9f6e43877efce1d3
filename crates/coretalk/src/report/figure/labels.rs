//! Words and bars along a heat map: which rows are named, and where reported groups end.

use crate::report::heat_map::{Axis, bar_levels};
use crate::report::picture::{Weight, text_width};
use coretalk_model::{CpuId, CpuSet, Topology};
use std::ops::Range;

/// More levels of bars than this are a fence.
const MAX_LEVELS: usize = 3;
/// CPUs of a row that are named one by one.
const MAX_LISTED: usize = 4;

/// What stands along one side.
pub(super) struct Labels {
    /// Rows that are named, with their names.
    pub names: Vec<(usize, String)>,
    /// Rows of each group, level by level from the coarsest.
    pub groups: Vec<Vec<Range<usize>>>,
}

impl Labels {
    /// The names that have room where each row takes `cell` units.
    pub fn new(rows: &[Vec<CpuId>], topology: &Topology, cell: f64, size: f64) -> Labels {
        let levels: Vec<_> = bar_levels(rows, topology).into_iter().flatten().collect();
        let groups: Vec<Vec<Range<usize>>> = levels
            .into_iter()
            .rev()
            .take(MAX_LEVELS)
            .map(|level| Axis::of_rows(rows, topology, Some(level)).runs())
            .collect();
        let apart = (size * 1.15 / cell).ceil().max(1.0) as usize;
        let mut names = Vec::new();
        let mut free = 0;
        // The first row of a group is named before others.
        let starts = |row: usize| groups.iter().flatten().any(|group| group.start == row);
        let regular = groups.is_empty() || apart == 1;
        for (row, cpus) in rows.iter().enumerate() {
            if row >= free && (regular || starts(row)) {
                names.push((row, name(cpus)));
                free = row + apart;
            }
        }
        Labels { names, groups }
    }

    /// Width of the widest name.
    pub fn width(&self, size: f64) -> f64 {
        self.names.iter().map(|(_, name)| text_width(name, size, Weight::Regular)).fold(0.0, f64::max)
    }
}

/// The CPUs of a row; of a group its first ones, which tell it from others.
fn name(cpus: &[CpuId]) -> String {
    if cpus.len() > MAX_LISTED {
        let all = cpus.iter().copied().collect::<CpuSet>().to_string();
        return all.split_once(',').map_or(all.clone(), |(first, _)| format!("{first} …"));
    }
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",")
}
