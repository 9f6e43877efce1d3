//! Names of rows and bars at the ends of reported groups, along a heat map.

use crate::heat_map::{Axis, bar_levels};
use crate::picture::{Weight, text_width};
use coretalk_model::{CpuId, CpuSet, Topology};
use std::ops::Range;

const MAX_LEVELS: usize = 3;
const MAX_LISTED: usize = 4;

pub(super) struct Labels {
    pub names: Vec<(usize, String)>,
    pub groups: Vec<Vec<Range<usize>>>,
}

impl Labels {
    /// Selects the names that fit if each row takes `cell` units.
    pub fn new(rows: &[Vec<CpuId>], topology: &Topology, cell: f64, size: f64) -> Labels {
        let levels: Vec<_> = bar_levels(rows, topology).into_iter().flatten().collect();
        let groups: Vec<Vec<Range<usize>>> = levels
            .into_iter()
            .rev()
            .take(MAX_LEVELS)
            .map(|level| Axis::of_rows(rows, topology, Some(level)).runs())
            .collect();
        let rows_per_name = (size * 1.15 / cell).ceil().max(1.0) as usize;
        let mut names = Vec::new();
        let mut first_free = 0;
        let starts = |row: usize| groups.iter().flatten().any(|group| group.start == row);
        let names_any_row = groups.is_empty() || rows_per_name == 1;
        for (row, cpus) in rows.iter().enumerate() {
            if row >= first_free && (names_any_row || starts(row)) {
                names.push((row, name(cpus)));
                first_free = row + rows_per_name;
            }
        }
        Labels { names, groups }
    }

    pub fn width(&self, size: f64) -> f64 {
        self.names.iter().map(|(_, name)| text_width(name, size, Weight::Regular)).fold(0.0, f64::max)
    }
}

/// The CPUs of a row; for a large group, only the first CPUs, which identify it.
fn name(cpus: &[CpuId]) -> String {
    if cpus.len() > MAX_LISTED {
        let all = cpus.iter().copied().collect::<CpuSet>().to_string();
        return all.split_once(',').map_or(all.clone(), |(first, _)| format!("{first} …"));
    }
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",")
}
