//! `json`: the document.

use super::{Export, ExportError};
use crate::document::Document;
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    Ok(Document::from_report(what.report, what.identity).write_to(out)?)
}
