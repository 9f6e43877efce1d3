//! Many runs and files in one table: their medians by group of pairs.

use super::compare::SideView;
use super::compare::number;
use super::table::{Align, Columns};
use super::text::{plain, wrap};
use coretalk_model::compare::{GroupMedian, Overview, OverviewRow};
use std::ops::Range;

/// The table as text: a row for each run where all groups fit beside each other, else a row for each group.
pub fn screen(table: &Overview, sides: &[SideView], width: usize) -> String {
    let mut lines = wrap(
        "Median over the pairs of each group, with the 5th to 95th percentile of the pairs; whether two differ: coretalk \
         compare A B",
        width,
        2,
    );
    let across = across(table, sides);
    match across.is_within(width) {
        true => lines.extend(across.lines(width)),
        false => lines.extend(down(table, sides, width)),
    }
    lines.join("\n") + "\n"
}

fn across(table: &Overview, sides: &[SideView]) -> Columns {
    let mut heading: Vec<(&str, Align)> = vec![("", Align::Left)];
    heading.extend(table.groups.iter().map(|group| (group_words(group), Align::Right)));
    let mut columns = Columns::new(&heading);
    for row in &table.rows {
        let SideView { name, machine, .. } = &sides[row.side];
        let medians = row.medians.iter().map(|group| group.map_or_else(dash, |group| number(group.median)));
        columns.row(std::iter::once(cut(&format!("{name}  {machine}"))).chain(medians).collect());
        let spread = row.medians.iter().map(|group| group.map_or_else(String::new, range));
        columns.row(std::iter::once(format!("  {}", cut(&about(row)))).chain(spread).collect());
    }
    columns
}

/// Runs by number, in as many tables as it takes.
fn down(table: &Overview, sides: &[SideView], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, row) in (1..).zip(&table.rows) {
        let SideView { name, machine, .. } = &sides[row.side];
        let legend = format!(" {number} = {} · {} · {}", plain(name), plain(machine), about(row));
        lines.extend(wrap(&legend, width, 4));
    }
    let mut from = 0;
    while from < table.rows.len() {
        let fits = |until: &usize| some(table, from..*until, width).is_within(width);
        let until = (from + 2..=table.rows.len()).take_while(fits).last().unwrap_or(from + 1);
        lines.push(String::new());
        lines.extend(some(table, from..until, width).lines(width));
        from = until;
    }
    lines
}

/// The groups that some rows have.
fn some(table: &Overview, rows: Range<usize>, width: usize) -> Columns {
    let numbers: Vec<String> = rows.clone().map(|row| (row + 1).to_string()).collect();
    let mut heading: Vec<(&str, Align)> = vec![("group", Align::Left)];
    heading.extend(numbers.iter().map(|number| (number.as_str(), Align::Right)));
    let mut columns = Columns::new(&heading);
    let both = |group: GroupMedian| match group.pairs {
        1 => number(group.median),
        _ => format!("{} ({})", number(group.median), range(group)),
    };
    for (index, group) in table.groups.iter().enumerate() {
        let medians: Vec<Option<GroupMedian>> =
            table.rows[rows.clone()].iter().map(|row| row.medians[index]).collect();
        if medians.iter().any(Option::is_some) {
            let name = super::text::cut(&plain(group_words(group)), (width / 2 + 10).saturating_sub(2));
            let cells = medians.into_iter().map(|group| group.map_or_else(dash, both));
            columns.row(std::iter::once(name).chain(cells).collect());
        }
    }
    columns
}

/// The table as Markdown.
pub fn markdown(table: &Overview, sides: &[SideView]) -> String {
    let groups: Vec<&str> = table.groups.iter().map(|group| group_words(group)).collect();
    let mut text = format!("| | | {} |\n|---|---|{}\n", groups.join(" | "), "---:|".repeat(groups.len()));
    for row in &table.rows {
        let SideView { name, machine, .. } = &sides[row.side];
        let cells: Vec<String> = row
            .medians
            .iter()
            .map(|group| {
                group.map_or_else(dash, |group| format!("{} ({})", number(group.median), range(group)))
            })
            .collect();
        let escaped = |text: &str| plain(text).replace('|', "\\|").replace('<', "&lt;");
        let what = format!("{machine}: {}", about(row));
        text.push_str(&format!("| {} | {} | {} |\n", escaped(name), escaped(&what), cells.join(" | ")));
    }
    text
}

/// What the numbers of a row are.
pub(super) fn about(row: &OverviewRow) -> String {
    let parts = [Some(&row.sheet), row.kernel.as_ref(), Some(&row.unit)].into_iter().flatten();
    plain(&parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", "))
}

fn cut(text: &str) -> String {
    super::text::cut(&plain(text), 44)
}

fn dash() -> String {
    "–".to_owned()
}

fn range(group: GroupMedian) -> String {
    format!("{}–{}", number(group.range[0]), number(group.range[1]))
}

/// The name of a group as a heading.
pub(super) fn group_words(name: &str) -> &str {
    if name == "all" { "all pairs" } else { name }
}
