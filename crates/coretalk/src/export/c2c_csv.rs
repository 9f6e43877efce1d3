//! `c2c-csv`: the bare matrix of core-to-core-latency.

use super::{Export, ExportError, Format, the_map, values};
use coretalk_model::formats::write_c2c_csv;
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let map = the_map(what, Format::C2cCsv)?;
    Ok(out.write_all(write_c2c_csv(&values(map)).as_bytes())?)
}
