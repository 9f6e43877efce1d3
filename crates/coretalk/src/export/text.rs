//! `text`: the screen.

use super::{Export, ExportError};
use crate::report::{Saved, Screen, latency_screen};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let screen = latency_screen(what.report, Screen::Shown(Saved::As(what.name)), &what.look);
    Ok(out.write_all(screen.as_bytes())?)
}
