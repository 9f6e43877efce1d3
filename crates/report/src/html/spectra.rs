//! The page of distributions from files: problems, curves, and a table.

use super::escape::escaped;
use super::section::{Section, figures};
use crate::blocks::value::Sentence;
use crate::blocks::{Cell, Column, Table};
use crate::figure::spectra::charts;
use crate::fmt::{self, digits::count};
use crate::render::html::table;
use crate::spectra::{BOUNDS, SpectrumView, has_bounds, name, table_rows, values_words};
use std::fmt::Write;

pub(super) fn title(views: &[SpectrumView]) -> String {
    format!("{} · coretalk", name(views))
}

pub(super) fn header(views: &[SpectrumView]) -> String {
    let (name, about) = (escaped(&name(views)), escaped(&about(views)));
    format!("<header>\n<h1>{name}</h1>\n<p class=\"about\">{about}</p>\n</header>")
}

fn about(views: &[SpectrumView]) -> String {
    let counted: u64 = views.iter().map(|view| view.spectrum.total()).fold(0, u64::saturating_add);
    let values = fmt::sentence(&values_words(views));
    format!("{}, as in the files · values {values}", count(counted, "value"))
}

pub(super) fn sections(views: &[SpectrumView]) -> Vec<Section> {
    let mut parts = Vec::new();
    let problems = warning_list(views);
    if !problems.is_empty() {
        parts.push(Section::new("doubts", "Problems in the files", None, problems));
    }
    let [percentiles, shares] = [0, 1].map(|which| figures(|width| charts(views, width)[which].clone()));
    if !percentiles.is_empty() {
        let mut body = percentiles;
        body.push_str("<details><summary>The same as cumulative shares</summary>\n");
        body.push_str(&shares);
        body.push_str("</details>\n");
        parts.push(Section::new("curves", "Curves", None, body));
    }
    parts.push(Section::new("percentiles", "Percentiles", None, whole_table(views)));
    parts
}

fn warning_list(views: &[SpectrumView]) -> String {
    let mut items = String::new();
    for view in views {
        for warning in &view.spectrum.warnings {
            let (title, warning) = (escaped(&view.title), escaped(warning));
            let _ = writeln!(items, "<li class=\"warn\"><strong>{title}</strong>: {warning}</li>");
        }
    }
    if items.is_empty() { items } else { format!("<ul class=\"doubts\">\n{items}</ul>\n") }
}

/// One row per distribution, because names may be long and distributions many.
fn whole_table(views: &[SpectrumView]) -> String {
    let columns = table_rows(views);
    let heads = columns.iter().map(|(head, _)| Column::numbers(Sentence::name(head)));
    let rows = views.iter().enumerate().map(|(at, view)| {
        let cells = columns.iter().map(|(_, cells)| cells[at].clone());
        [Cell::name(&view.title)].into_iter().chain(cells).collect::<Vec<_>>()
    });
    let heads = [Column::words("what")].into_iter().chain(heads).collect::<Vec<_>>();
    let values = fmt::sentence(&values_words(views));
    let mut body = table(&format!("Values {values}"), &Table::new(heads).with(rows));
    if views.iter().any(has_bounds) {
        let _ = writeln!(body, "<p class=\"note\">{}</p>", escaped(BOUNDS));
    }
    body
}
