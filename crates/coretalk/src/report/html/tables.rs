//! Tables, lists and figures of the page as HTML.

use super::escape::escaped;
use crate::report::picture::{Medium, Picture};

/// A cell of a table.
pub(super) enum Cell {
    /// Numbers and short words, to the right.
    Number(String),
    /// Sentences, to the left.
    Words(String),
}

/// A table that scrolls in its own frame where it is wide.
pub(super) fn table(caption: &str, heads: &[&str], rows: &[Vec<Cell>]) -> String {
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><caption>{}</caption><thead><tr>",
        escaped(caption),
        escaped(caption)
    );
    for (column, head) in heads.iter().enumerate() {
        let words = rows.first().is_some_and(|row| matches!(row.get(column), Some(Cell::Words(_))));
        let class = if words { " class=\"words\"" } else { "" };
        html.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escaped(head)));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            html.push_str(&match cell {
                Cell::Number(text) | Cell::Words(text) if column == 0 => {
                    format!("<th scope=\"row\">{}</th>", escaped(text))
                }
                Cell::Number(text) => format!("<td>{}</td>", escaped(text)),
                Cell::Words(text) => format!("<td class=\"words\">{}</td>", escaped(text)),
            });
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

/// Names and what they stand for; what is unknown is left out.
pub(super) fn facts(rows: &[(&str, Option<String>)]) -> String {
    let known = rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let items = known.map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value)));
    format!("<dl>{}</dl>\n", items.collect::<String>())
}

/// Sentences, a paragraph each.
pub(super) fn paragraphs(lines: impl IntoIterator<Item = String>) -> String {
    lines
        .into_iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("<p>{}</p>\n", escaped(&line)))
        .collect()
}

/// A drawing inside the page.
pub(super) fn figure(picture: &Picture) -> String {
    format!("<figure>{}</figure>\n", picture.to_svg(Medium::Page))
}
