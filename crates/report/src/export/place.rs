//! Comparisons of placements and commands as CSV, and as a Markdown table for pull requests and forums.

use super::ExportError;
use super::quoted;
use crate::blocks::{Cell, Column};
use crate::place::{Numbered, noun, table};
use crate::render::markdown;
use coretalk_model::run::PlaceReport;
use std::io::Write;

pub(super) fn write_markdown(place: &PlaceReport, out: &mut dyn Write) -> Result<(), ExportError> {
    let comparisons = &place.result.comparisons;
    let mut joint_table = table(place, Numbered::all(comparisons));
    joint_table.columns.insert(0, Column::words("workload"));
    let works =
        comparisons.iter().flat_map(|comparison| comparison.arms.iter().map(|_| comparison.work.as_str()));
    joint_table.rows.iter_mut().zip(works).for_each(|(row, work)| row.insert(0, Cell::name(work)));
    out.write_all(markdown::table(&joint_table).as_bytes())?;
    Ok(())
}

/// One row per round, arm and metric.
pub(super) fn write_csv(place: &PlaceReport, out: &mut dyn Write) -> Result<(), ExportError> {
    writeln!(out, "workload,round,{},metric,unit,value", noun(&place.settings))?;
    for comparison in &place.result.comparisons {
        let metric = [&*comparison.metric.name, comparison.metric.unit].map(quoted).join(",");
        for arm in &comparison.arms {
            let [work, name] = [&*comparison.work, &*arm.placement.name].map(quoted);
            for (round, value) in arm.repetitions.iter().zip(&arm.runs) {
                writeln!(out, "{work},{round},{name},{metric},{value}")?;
            }
        }
    }
    Ok(())
}
