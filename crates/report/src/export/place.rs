//! Placement comparisons as a Markdown table, for pull requests and forums.

use super::ExportError;
use crate::blocks::{Cell, Column};
use crate::place::{Numbered, table};
use crate::render::markdown;
use coretalk_model::run::PlaceReport;
use std::io::Write;

pub(super) fn write_markdown(place: &PlaceReport, out: &mut dyn Write) -> Result<(), ExportError> {
    let comparisons = &place.result.comparisons;
    let mut of_all = table(Numbered::all(comparisons));
    of_all.columns.insert(0, Column::words("workload"));
    let works = comparisons.iter().flat_map(|of| of.arms.iter().map(|_| of.work.as_str()));
    of_all.rows.iter_mut().zip(works).for_each(|(row, work)| row.insert(0, Cell::name(work)));
    out.write_all(markdown::table(&of_all).as_bytes())?;
    Ok(())
}
