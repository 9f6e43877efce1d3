//! [`Overview`]: many runs or files in one table, a row for each and a column for each group of pairs.

use super::conditions::described;
use super::{Levels, Side, Subject};
use crate::stats::{median_in_place, quantile_of_sorted};
use std::collections::BTreeMap;

/// Many sides in one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Columns, nearest pairs first: relations that systems report; `groups-of-2`, `larger-groups-1` and so on and
    /// `across` of those that latencies show; `all`; series.
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
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMedian {
    /// What the level is called on its side: a relation, `group-1` and so on, `across`, `all`, or the name of a series.
    pub level: String,
    /// CPUs in each of its groups, fewest first, where the latencies show them; else empty.
    pub sizes: Vec<usize>,
    /// Median over the pairs.
    pub median: f64,
    /// From the 5th to the 95th percentile of the pairs: the spread of the machine, no error.
    pub range: [f64; 2],
    /// Pairs.
    pub pairs: usize,
}

/// Tabulates sides, each by its own levels, in columns by what a level is known to be. Descriptive only: whether two rows differ is for
/// [`compare`](fn@super::compare) to say.
pub fn overview(sides: &[(&Side, Levels)]) -> Overview {
    let mut names: BTreeMap<(u32, String), ()> = BTreeMap::new();
    let mut tables = Vec::new();
    let by_number = are_alike(sides);
    for (position, (side, levels)) in sides.iter().enumerate() {
        for sheet in &side.sheets {
            let mut by_level: BTreeMap<(u32, String), Vec<f64>> = BTreeMap::new();
            for (subject, reading) in &sheet.readings {
                let (rank, name) = levels.of_subject(subject);
                let name = match subject {
                    Subject::Series(series) if !by_number => levels.name_by_relation(series),
                    _ => name,
                };
                by_level.entry((rank, name)).or_default().push(reading.value.point);
            }
            let groups: BTreeMap<(u32, String), GroupMedian> = by_level
                .into_iter()
                .filter_map(|((_, level), values)| {
                    let column = levels.column(&level);
                    Some((column, of_group(values, levels.sizes(&level), level)?))
                })
                .collect();
            names.extend(groups.keys().cloned().map(|name| (name, ())));
            tables.push((position, sheet, groups));
        }
    }
    let rows = tables.into_iter().map(|(side, sheet, mut groups)| OverviewRow {
        side,
        sheet: sheet.name.clone(),
        unit: sheet.unit.clone(),
        kernel: sheet.traits.iter().find(|(name, _)| *name == "kernel").map(|(_, kernel)| kernel.clone()),
        medians: names.keys().map(|name| groups.remove(name)).collect(),
    });
    let rows = rows.collect();
    Overview { groups: names.into_keys().map(|(_, name)| name).collect(), rows }
}

/// Whether equal numbers are the same CPUs everywhere as far as reports tell: then series stand under their own names, else
/// under how their CPUs lie to each other.
fn are_alike(sides: &[(&Side, Levels)]) -> bool {
    let mut reports = sides.iter().map(|(side, _)| {
        let topology = side.topology.as_ref()?;
        Some(described(topology, topology.cpus()))
    });
    let first = reports.next();
    reports.all(|report| Some(&report) == first.as_ref())
}

fn of_group(mut values: Vec<f64>, sizes: Vec<usize>, level: String) -> Option<GroupMedian> {
    values.sort_unstable_by(f64::total_cmp);
    let range = [quantile_of_sorted(&values, 0.05)?, quantile_of_sorted(&values, 0.95)?];
    let pairs = values.len();
    Some(GroupMedian { level, sizes, median: median_in_place(&mut values)?, range, pairs })
}
