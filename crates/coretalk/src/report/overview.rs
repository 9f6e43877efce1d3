//! Many runs and files in one table: a row for each, a column for each group of pairs.

use super::table::{Align, Columns};
use super::text::{ns, plain, wrap};
use coretalk_model::compare::{GroupMedian, Overview, OverviewRow};

/// The table as text.
pub fn screen(table: &Overview, names: &[(String, String)], width: usize) -> String {
    let mut lines = wrap(
        "Median over the pairs of each group, 5th to 95th percentile of the pairs below; whether two differ: coretalk \
         compare A B",
        width,
        2,
    );
    let mut heading: Vec<(&str, Align)> = vec![("", Align::Left)];
    heading.extend(table.groups.iter().map(|group| (group_words(group), Align::Right)));
    let mut columns = Columns::new(&heading);
    for row in &table.rows {
        let (name, machine) = &names[row.side];
        let medians = row.medians.iter().map(|group| group.map_or_else(dash, |group| ns(group.median)));
        columns.row(std::iter::once(cut(&format!("{name}  {machine}"))).chain(medians).collect());
        let spread = row.medians.iter().map(|group| group.map_or_else(String::new, range));
        columns.row(std::iter::once(format!("  {}", cut(&about(row)))).chain(spread).collect());
    }
    lines.extend(columns.lines(width));
    lines.join("\n") + "\n"
}

/// The table as Markdown.
pub fn markdown(table: &Overview, names: &[(String, String)]) -> String {
    let groups: Vec<&str> = table.groups.iter().map(|group| group_words(group)).collect();
    let mut text = format!("| | | {} |\n|---|---|{}\n", groups.join(" | "), "---:|".repeat(groups.len()));
    for row in &table.rows {
        let (name, machine) = &names[row.side];
        let cells: Vec<String> = row
            .medians
            .iter()
            .map(|group| group.map_or_else(dash, |group| format!("{} ({})", ns(group.median), range(group))))
            .collect();
        let escaped = |text: &str| plain(text).replace('|', "\\|").replace('<', "&lt;");
        let what = format!("{machine}: {}", about(row));
        text.push_str(&format!("| {} | {} | {} |\n", escaped(name), escaped(&what), cells.join(" | ")));
    }
    text
}

/// What the numbers of a row are.
fn about(row: &OverviewRow) -> String {
    let kernel = row.kernel.as_ref().map_or(String::new(), |kernel| format!(", {kernel}"));
    plain(&format!("{}{kernel}, {}", row.sheet, row.unit))
}

fn cut(text: &str) -> String {
    super::text::cut(&plain(text), 44)
}

fn dash() -> String {
    "–".to_owned()
}

fn range(group: GroupMedian) -> String {
    format!("{}–{}", ns(group.range[0]), ns(group.range[1]))
}

fn group_words(name: &str) -> &str {
    if name == "all" { "all pairs" } else { name }
}
