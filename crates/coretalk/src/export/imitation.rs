//! Output of imitated tools, in their own formats.

use super::ExportError;
use crate::RunReport;
use crate::report::plain;
use coretalk_model::latency::Imitated;
use std::io::Write;

/// Writes what each imitated tool would have printed, in the order asked. Of a simulated machine a line before it says
/// so: nobody should take it for what the tool printed somewhere. So does one of each CPU that went away. `render` knows the formats of the tools and
/// lives beside their kernels.
///
/// # Errors
/// Those of the writer.
pub fn write_imitations(
    report: &RunReport,
    render: &dyn Fn(&Imitated) -> String,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    if report.header.simulated {
        let machine = plain(report.environment.simulated.as_deref().unwrap_or("machine"));
        writeln!(out, "SIMULATED {machine}: these numbers say nothing about this computer")?;
    }
    for departure in &report.header.departed {
        writeln!(out, "! {departure}: pairs with it are not measured to the end")?;
    }
    for imitated in report.imitated() {
        out.write_all(render(imitated).as_bytes())?;
    }
    Ok(())
}
