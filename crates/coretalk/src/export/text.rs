//! `text`: the screen.

use super::{Export, ExportError};
use crate::report::place::place_screen;
use crate::report::series::series_screen;
use crate::report::{Saved, Screen, latency_screen};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let shown = Screen::Shown(Saved::As(what.name));
    let screen = match (&what.report.series, &what.report.place) {
        (_, Some(place)) => place_screen(what.report, place, shown, what.look.width),
        (Some(series), None) => series_screen(what.report, series, shown, &what.look),
        (None, None) => latency_screen(what.report, shown, &what.look),
    };
    Ok(out.write_all(screen.as_bytes())?)
}
