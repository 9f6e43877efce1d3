//! Renders blocks, and the tables, lists and figures of a page, as HTML.

use crate::blocks::{Align, Block, Cell, Column, Table};
use crate::fmt::{self, sentence as written};
use crate::html::escape::escaped;
use crate::picture::{Medium, Picture};
use crate::style::{By, ColorDepth, Order, Style};
use crate::text::columns;

const DRAWING: Style = Style { width: 116, depth: ColorDepth::None, order: Order::Topology, by: By::Core };
const NOTE: &str = " class=\"note\"";
/// Maximum length of a cell of words that is not wrapped, in characters.
const MAX_UNBROKEN: usize = 40;

/// The HTML elements of these blocks, in order.
pub fn blocks(blocks: &[Block<'_>]) -> String {
    let mut html = String::new();
    let mut name = String::new();
    let mut last = None;
    let mut item = |html: &mut String, list: List, item: &str| {
        match last == Some((list, html.len())) {
            true => html.truncate(html.len() - list.end().len()),
            false => html.push_str(list.open()),
        }
        html.push_str(item);
        html.push_str(list.end());
        last = Some((list, html.len()));
    };
    for block in blocks {
        match block {
            Block::Question(text) => html.push_str(&paragraph(" class=\"question\"", &written(text))),
            Block::Headline(text) | Block::Answer(text) => {
                html.push_str(&format!("<p><strong>{}</strong></p>\n", escaped(&written(text))));
            }
            Block::Heading(text) => {
                name = written(text);
                html.push_str(&format!("<h4>{}</h4>\n", escaped(&name)));
            }
            Block::Prose(text) => html.push_str(&paragraph("", &written(text))),
            Block::Remark(text) => html.push_str(&paragraph(NOTE, &written(text))),
            Block::Item(text) => {
                item(&mut html, List::Items, &format!("<li>{}</li>", escaped(&written(text))))
            }
            Block::Fact(label, text) => {
                let text = format!("<dt>{label}</dt><dd>{}</dd>", escaped(&written(text)));
                item(&mut html, List::Facts, &text);
            }
            Block::Command(name, line) => {
                let text = format!("<dt>{}</dt><dd><code>{}</code></dd>", escaped(name), escaped(line));
                item(&mut html, List::Facts, &text);
            }
            Block::Doubt(text) => {
                let text = format!("<li class=\"warn\">! {}</li>", escaped(&written(text)));
                item(&mut html, List::Doubts, &text);
            }
            Block::Conclusion(text) => html.push_str(&paragraph("", &format!("→ {}", written(text)))),
            Block::Title(parts) | Block::Parts(parts) => {
                let class = if matches!(block, Block::Parts(_)) { " class=\"parts\"" } else { "" };
                let parts: Vec<String> = parts.iter().map(written).collect();
                html.push_str(&paragraph(class, &parts.join(" · ")));
            }
            Block::Table(table) | Block::Wide(table, _) if table.rows.is_empty() => {}
            Block::Table(table) | Block::Wide(table, _) => {
                html.extend(fmt::legend(table).map(|legend| paragraph(NOTE, &legend)));
                html.push_str(&framed(&name, "", table));
            }
            Block::Drawing(draw) => html.push_str(&drawing(&draw(&DRAWING).lines)),
            // Shown only without scripts; with scripts, the page has a better picture.
            Block::Sketch(draw) => html.push_str(&sketch(&draw(&DRAWING).lines)),
            Block::Gap => {}
        }
    }
    html
}

#[derive(Clone, Copy, PartialEq)]
enum List {
    Items,
    Facts,
    Doubts,
}

impl List {
    fn open(self) -> &'static str {
        match self {
            List::Items => "<ul>",
            List::Facts => "<dl>",
            List::Doubts => "<ul class=\"doubts\">",
        }
    }

    fn end(self) -> &'static str {
        if self == List::Facts { "</dl>\n" } else { "</ul>\n" }
    }
}

fn paragraph(class: &str, text: &str) -> String {
    match escaped(text).as_str() {
        "" => String::new(),
        text => format!("<p{class}>{text}</p>\n"),
    }
}

fn sketch(lines: &[String]) -> String {
    match drawing(lines).as_str() {
        "" => String::new(),
        drawn => format!("<noscript>{drawn}</noscript>\n"),
    }
}

fn drawing(lines: &[String]) -> String {
    // Escaping trims blanks, but the indentation is needed to align columns.
    let indented = |line: &String| {
        let words = line.trim_start();
        format!("{}{}", " ".repeat(line.len() - words.len()), escaped(words))
    };
    let text = lines.iter().map(indented).collect::<Vec<_>>().join("\n");
    match text.trim_matches('\n') {
        "" => String::new(),
        text => format!("<pre class=\"terminal\" tabindex=\"0\">{text}</pre>\n"),
    }
}

/// A table with its caption.
pub fn table(caption: &str, table: &Table) -> String {
    framed(caption, &format!("<caption>{}</caption>", escaped(caption)), table)
}

fn framed(name: &str, caption: &str, table: &Table) -> String {
    let classes: Vec<&str> = (0..table.columns.len()).map(|column| class(table, column)).collect();
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>{caption}",
        escaped(if name.is_empty() { "table" } else { name })
    );
    let titles: Vec<String> = table.columns.iter().map(|column| fmt::sentence(&column.title)).collect();
    let has_titles = titles.iter().any(|title| !title.is_empty());
    html.push_str(if has_titles { "<thead><tr>" } else { "" });
    let columns = titles.iter().zip(&table.columns).zip(&classes);
    for ((title, column), class) in columns.filter(|_| has_titles) {
        html.push_str(&match title.as_str() {
            "" => "<td></td>".to_owned(),
            title => {
                let title: Vec<String> = title.lines().map(escaped).collect();
                format!("<th scope=\"col\"{class}>{}{}</th>", title.join("<br>"), mark_place(column, ""))
            }
        });
    }
    html.push_str(if has_titles { "</tr></thead><tbody>" } else { "<tbody>" });
    for row in &table.rows {
        html.push_str("<tr>");
        for (index, ((cell, column), class)) in row.iter().zip(&table.columns).zip(&classes).enumerate() {
            let text = cell_html(cell, column);
            html.push_str(&match index {
                0 if *cell != Cell::Blank => format!("<th scope=\"row\"{class}>{text}</th>"),
                _ => format!("<td{class}>{text}</td>"),
            });
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

/// Words and the first column are aligned left; long words wrap.
fn class(table: &Table, column: usize) -> &'static str {
    let length = |row: &Vec<Cell>| match row.get(column) {
        None | Some(Cell::Unknown) => 0,
        Some(cell) => columns(&fmt::cell(cell)),
    };
    match (table.columns[column].align, column) {
        (Align::Right, 0) => " class=\"number\"",
        (Align::Right, _) | (Align::Left, 0) => "",
        _ if table.rows.iter().any(|row| length(row) > MAX_UNBROKEN) => " class=\"words\"",
        _ => " class=\"text\"",
    }
}

fn cell_html(cell: &Cell, column: &Column) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Value(_, Some(mark)) => escaped(&fmt::cell(cell)) + &mark_place(column, &mark.to_string()),
        // Two blanks separate the parts of a cell; HTML would collapse them into one.
        _ => escaped(&fmt::cell(cell)).replace("  ", "&emsp;") + &mark_place(column, ""),
    }
}

/// A mark after a value, or an empty space of the same width, so that digits align.
fn mark_place(column: &Column, mark: &str) -> String {
    if column.is_marked { format!("<span class=\"mark\">{mark}</span>") } else { mark.to_owned() }
}

/// A list of names and values without the unknown values.
pub fn facts(rows: &[(&str, Option<String>)]) -> String {
    let known = rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let items = known.map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value)));
    format!("<dl>{}</dl>\n", items.collect::<String>())
}

/// A drawing embedded in the page.
pub fn figure(picture: &Picture) -> String {
    format!("<figure>{}</figure>\n", picture.to_svg(Medium::Page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Source};

    #[test]
    fn blocks_become_elements_with_columns_that_line_up() {
        let mut table =
            Table::new([Column::words("method"), Column::numbers("4 threads").marked()]).about("ns");
        let (number, unit) = (Number::Point(12.3), DisplayUnit::OfColumn(1.0));
        let value = DisplayValue { number, unit, source: Source::Listed };
        table.row([Cell::from("<mcs>"), Cell::Value(value, Some('!'))]);
        table.row([Cell::from("ttas"), Cell::Unknown]);
        let drawn =
            Block::drawing(|style| vec![String::new(), format!("  {} <", style.width), String::new()]);
        let html = blocks(&[Block::Heading("A & B".into()), Block::Table(table), Block::Gap, drawn]);
        for part in [
            "<h4>A &amp; B</h4>",
            "aria-label=\"A &amp; B\"",
            "<th scope=\"col\">method</th><th scope=\"col\">4 threads<span class=\"mark\"></span></th>",
            "<th scope=\"row\">&lt;mcs&gt;</th><td>12.3<span class=\"mark\">!</span></td>",
            "<td>·<span class=\"mark\"></span></td>",
            "<pre class=\"terminal\" tabindex=\"0\">  116 &lt;</pre>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(blocks(&[Block::Table(Table::new([Column::words("x")]).about("y")), Block::Gap]), "");
        let copied = Block::Command("a".into(), "OMP_PLACES=\"{0},{4}\" <b>".into());
        let lines = "<dl><dt>a</dt><dd><code>OMP_PLACES=&quot;{0},{4}&quot; &lt;b&gt;</code></dd></dl>\n";
        assert_eq!(blocks(&[copied]), lines);
        let list = [Block::Item("a".into()), Block::Doubt("b".into()), Block::Doubt("c".into())];
        let doubts = "<ul class=\"doubts\"><li class=\"warn\">! b</li><li class=\"warn\">! c</li></ul>";
        assert_eq!(blocks(&list), format!("<ul><li>a</li></ul>\n{doubts}\n"));
    }
}
