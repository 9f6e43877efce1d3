//! Output of imitated tools, in their own formats.

use super::ExportError;
use crate::RunReport;
use coretalk_model::latency::Imitated;
use std::io::Write;

/// Writes what each imitated tool would have printed, in the order asked. `render` knows the formats of the tools and
/// lives beside their kernels.
///
/// # Errors
/// Those of the writer.
pub fn write_imitations(
    report: &RunReport,
    render: &dyn Fn(&Imitated) -> String,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    for imitated in &report.result.imitated {
        out.write_all(render(imitated).as_bytes())?;
    }
    Ok(())
}
