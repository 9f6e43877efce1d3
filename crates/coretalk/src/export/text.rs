//! `text`: the screen.

use super::{Export, ExportError};
use crate::report::{Saved, Screen, screen};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let shown = Screen::Shown(Saved::As(what.name));
    let screen = screen::of(what.report, shown, &what.style);
    Ok(out.write_all(screen.as_bytes())?)
}
