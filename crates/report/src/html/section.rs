//! [`Section`]: a part of the page with a heading.

use super::escape::escaped;
use crate::picture::Picture;
use crate::render::html::figure;

/// Widths of figures in a section on a desktop and on a phone, where a scaled-down picture would be illegible.
pub(super) const WIDTHS: [f64; 2] = [940.0, 336.0];

pub(super) fn figures(draw: impl Fn(f64) -> Vec<Picture>) -> String {
    figures_of(WIDTHS.map(draw).each_ref())
}

pub(super) fn figures_of([wide, narrow]: [&Vec<Picture>; 2]) -> String {
    let part = |class: &str, drawn: &[Picture]| match drawn.iter().map(figure).collect::<String>() {
        none if none.is_empty() => none,
        some => format!("<div class=\"{class}\">\n{some}</div>\n"),
    };
    part("wide", wide) + &part("narrow", narrow)
}

const MAX_OPEN: usize = 2;

/// The part of one probe in a section. With more than [`MAX_OPEN`] probes, it is folded except for its summary.
pub(super) fn part(probe: &str, id: Option<&str>, summary: &str, body: &str, probes: usize) -> String {
    let name = escaped(probe);
    let id = id.map_or(String::new(), |id| [" id=\"", id, "-", &name, "\""].concat());
    if probes <= MAX_OPEN {
        return format!("<h3{id}>{name}</h3>\n{body}");
    }
    // The id is inside, so that a link to the part unfolds it.
    let summary =
        ["<details class=\"part\"><summary><h3>", &name, "</h3> ", &escaped(summary), "</summary>\n"];
    let inside = ["<div", &id, ">\n", body, "</div></details>\n"];
    summary.concat() + &inside.concat()
}

/// Number and machine of the run that a section belongs to; `None` on the page of one run.
pub(super) type Of<'a> = Option<(usize, &'a str)>;

pub(super) const SUMMARY: &str = "summary";

pub(super) const MAPS: &str = "maps";

pub(super) struct Section {
    pub id: String,
    pub title: String,
    /// Whether the table of contents links to the section; with several runs, only to the summary of each run.
    pub is_linked: bool,
    body: String,
}

impl Section {
    pub fn new(id: &str, title: &str, of: Of<'_>, body: String) -> Section {
        let is_linked = of.is_none() || id == SUMMARY;
        let [id, title] = match of {
            None => [id.to_owned(), title.to_owned()],
            Some((number, machine)) => [format!("{id}-{number}"), format!("{title} · {number} {machine}")],
        };
        Section { id, title, is_linked, body }
    }

    pub fn html(&self) -> String {
        let (id, title) = (&self.id, escaped(&self.title));
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{}</section>\n",
            self.body
        )
    }
}
