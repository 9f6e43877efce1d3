//! `markdown`: every map as a table under its title.

use super::{Export, ExportError, values};
use crate::report::{plain, words};
use coretalk_model::formats::{Unit, write_markdown};
use std::io::Write;

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let report = what.report;
    let maps =
        || report.maps().iter().filter(|map| what.protocol.is_none_or(|wanted| map.protocol == wanted));
    writeln!(out, "{}", escaped(&words::title(report).join(" · ")))?;
    for map in maps() {
        writeln!(out, "\n{}\n", escaped(&words::question(map)))?;
        out.write_all(write_markdown(&values(map), Unit::Ns).as_bytes())?;
    }
    Ok(())
}

/// Text from outside without a meaning in Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in plain(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}
