//! `csv`: a metadata block, a header row with CPU ids, the full square.

use super::{Export, ExportError, Format, the_map, values};
use coretalk_model::formats::{Unit, write_csv};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let map = the_map(what, Format::Csv)?;
    let report = what.report;
    let environment = &report.environment;
    let mut metadata = vec![
        ("probe", "latency".to_owned()),
        ("protocol", map.protocol.name().to_owned()),
        ("kernel", map.kernel.to_string()),
        ("regime", map.regime.name().to_owned()),
        ("run", report.header.id.clone()),
        ("started", report.header.started.clone()),
        ("simulated", report.header.simulated.to_string()),
        ("tool", format!("coretalk {}", report.header.tool_version)),
    ];
    let known = [
        ("label", &environment.label),
        ("machine", &environment.simulated),
        ("cpu", &environment.cpu_model),
        ("hypervisor", &environment.hypervisor),
        ("os", &environment.kernel),
    ];
    metadata.extend(known.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))));
    Ok(out.write_all(write_csv(&values(map), Unit::Ns, &metadata).as_bytes())?)
}
