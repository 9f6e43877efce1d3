//! [`Section`]: a part of the page, under its heading.

use super::escape::escaped;

/// Figures take the width of a section.
pub(super) const WIDTH: f64 = 940.0;

/// Which of several runs a part is about: its number and its machine.
pub(super) type Of<'a> = Option<(usize, &'a str)>;

/// A part of the page.
pub(super) struct Section {
    /// Where links lead.
    pub id: String,
    /// Its heading.
    pub title: String,
    body: String,
}

impl Section {
    /// A part; `of` tells several runs apart.
    pub fn new(id: &str, title: &str, of: Of<'_>, body: String) -> Section {
        match of {
            None => Section { id: id.to_owned(), title: title.to_owned(), body },
            Some((number, machine)) => {
                Section {
                    id: format!("{id}-{number}"), title: format!("{title} · {number} {machine}"), body
                }
            }
        }
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
