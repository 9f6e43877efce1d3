//! [`Overview`]: many runs or files in one table, a row for each and a column for each group of pairs.

use super::{Levels, Side};
use crate::stats::{median_in_place, quantile_of_sorted};
use std::collections::BTreeMap;

/// Many sides in one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Groups of pairs, nearest first.
    pub groups: Vec<String>,
    /// One row for each sheet of each side, in the order given.
    pub rows: Vec<OverviewRow>,
}

/// A sheet of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct OverviewRow {
    /// Position of the side in the order given.
    pub side: usize,
    /// Name of the sheet.
    pub sheet: String,
    /// Unit of its numbers.
    pub unit: String,
    /// The code that ran, where it is known.
    pub kernel: Option<String>,
    /// In the order of [`Overview::groups`]; `None` where it has no such pair.
    pub medians: Vec<Option<GroupMedian>>,
}

/// The pairs of one group in one sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupMedian {
    /// Median over the pairs.
    pub median: f64,
    /// From the 5th to the 95th percentile of the pairs: the spread of the machine, no error.
    pub range: [f64; 2],
    /// Pairs.
    pub pairs: usize,
}

/// Tabulates sides, each by its own levels. Descriptive only: whether two rows differ is for
/// [`compare`](fn@super::compare) to say.
pub fn overview(sides: &[(&Side, Levels)]) -> Overview {
    let mut names: BTreeMap<(u32, String), ()> = BTreeMap::new();
    let mut tables = Vec::new();
    for (position, (side, levels)) in sides.iter().enumerate() {
        for sheet in &side.sheets {
            let mut groups: BTreeMap<(u32, String), Vec<f64>> = BTreeMap::new();
            for (subject, reading) in &sheet.readings {
                groups.entry(levels.of(subject)).or_default().push(reading.value.point);
            }
            names.extend(groups.keys().cloned().map(|name| (name, ())));
            tables.push((position, sheet, groups));
        }
    }
    let rows = tables.into_iter().map(|(side, sheet, mut groups)| OverviewRow {
        side,
        sheet: sheet.name.clone(),
        unit: sheet.unit.clone(),
        kernel: sheet.traits.iter().find(|(name, _)| *name == "kernel").map(|(_, kernel)| kernel.clone()),
        medians: names.keys().map(|name| groups.get_mut(name).and_then(|values| of_group(values))).collect(),
    });
    let rows = rows.collect();
    Overview { groups: names.into_keys().map(|(_, name)| name).collect(), rows }
}

fn of_group(values: &mut [f64]) -> Option<GroupMedian> {
    values.sort_unstable_by(f64::total_cmp);
    let range = [quantile_of_sorted(values, 0.05)?, quantile_of_sorted(values, 0.95)?];
    Some(GroupMedian { median: median_in_place(values)?, range, pairs: values.len() })
}
