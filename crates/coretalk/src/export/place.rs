//! `markdown` of a run that compares placements.

use super::{Export, ExportError};
use crate::blocks::Column;
use crate::render::markdown;
use crate::report::place::table;
use std::io::Write;

/// A table for pull requests and forums: a row for each metric on each placement.
pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let Some(place) = &what.report.place else { return Err(ExportError::NoComparisons) };
    let comparisons = &place.result.comparisons;
    let mut of_all = table(comparisons);
    of_all.columns.insert(0, Column::words("workload"));
    let works = comparisons.iter().flat_map(|of| of.arms.iter().map(|_| of.work.as_str()));
    of_all.rows.iter_mut().zip(works).for_each(|(row, work)| row.insert(0, work.into()));
    out.write_all(markdown::table(&of_all).as_bytes())?;
    Ok(())
}
