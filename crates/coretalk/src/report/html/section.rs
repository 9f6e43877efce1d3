//! [`Section`]: a part of the page, under its heading.

use super::escape::escaped;
use crate::render::html::figure;
use crate::report::picture::Picture;

/// Widths of figures: of a section, and on a phone, where a smaller picture could not be read.
pub(super) const WIDTHS: [f64; 2] = [940.0, 336.0];

/// Figures drawn for a wide window and again for a narrow one.
pub(super) fn figures(draw: impl Fn(f64) -> Vec<Picture>) -> String {
    figures_of(WIDTHS.map(draw).each_ref())
}

/// The same of figures that are drawn already, in the order of [`WIDTHS`].
pub(super) fn figures_of([wide, narrow]: [&Vec<Picture>; 2]) -> String {
    let part = |class: &str, drawn: &[Picture]| match drawn.iter().map(figure).collect::<String>() {
        none if none.is_empty() => none,
        some => format!("<div class=\"{class}\">\n{some}</div>\n"),
    };
    part("wide", wide) + &part("narrow", narrow)
}

/// Which of several runs a part is about: its number and its machine.
pub(super) type Of<'a> = Option<(usize, &'a str)>;

/// The first section of a run.
pub(super) const SUMMARY: &str = "summary";

/// A part of the page.
pub(super) struct Section {
    /// Where links lead.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// The contents of the page have a link to it; of several runs to the summary of each only.
    pub is_linked: bool,
    body: String,
}

impl Section {
    /// A part; `of` tells several runs apart.
    pub fn new(id: &str, title: &str, of: Of<'_>, body: String) -> Section {
        let is_linked = of.is_none() || id == SUMMARY;
        let [id, title] = match of {
            None => [id.to_owned(), title.to_owned()],
            Some((number, machine)) => [format!("{id}-{number}"), format!("{title} · {number} {machine}")],
        };
        Section { id, title, is_linked, body }
    }

    /// Its HTML.
    pub fn html(&self) -> String {
        let (id, title) = (&self.id, escaped(&self.title));
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{}</section>\n",
            self.body
        )
    }
}
