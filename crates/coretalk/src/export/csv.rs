//! `csv`: a metadata block, a header row with CPU ids, the full square.

use super::{Export, ExportError, Format, facts, the_map, values};
use coretalk_model::formats::{Unit, write_csv};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let map = the_map(what, Format::Csv)?;
    let mut metadata = vec![
        ("probe", "latency".to_owned()),
        ("protocol", map.protocol.name().to_owned()),
        ("kernel", map.kernel.to_string()),
        ("regime", map.regime.name().to_owned()),
    ];
    metadata.extend(facts(what.report));
    Ok(out.write_all(write_csv(&values(map), Unit::Ns, &metadata).as_bytes())?)
}
