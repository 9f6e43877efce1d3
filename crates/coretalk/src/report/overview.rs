//! Many runs and files in one table: their medians by group of pairs.

use super::compare::SideView;
use super::compare::number;
use super::text::{plain, wrap};
use crate::blocks::Align;
use crate::render::terminal::Columns;
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
    lines.extend(kinds_words(table).into_iter().flat_map(|words| wrap(words, width, 2)));
    let across = across(table, sides);
    match across.is_within(width) {
        true => lines.extend(across.lines(width)),
        false => lines.extend(down(table, sides, width)),
    }
    lines.join("\n") + "\n"
}

fn across(table: &Overview, sides: &[SideView]) -> Columns {
    let mut heading: Vec<(&str, Align)> = vec![("", Align::Left)];
    let names: Vec<String> = table.groups.iter().map(|group| group_words(group)).collect();
    heading.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut columns = Columns::new(&heading);
    for row in &table.rows {
        let SideView { name, machine, .. } = &sides[row.side];
        let cells = |of: &dyn Fn(&GroupMedian) -> String, none: &dyn Fn() -> String| -> Vec<String> {
            row.medians.iter().map(|group| group.as_ref().map_or_else(none, of)).collect()
        };
        let line = |first: String, cells: Vec<String>| std::iter::once(first).chain(cells).collect();
        let medians = cells(&|group| number(group.median), &dash);
        columns.row(line(cut(&format!("{name}  {machine}")), medians));
        columns.row(line(format!("  {}", cut(&about(row))), cells(&range, &String::new)));
        if row.medians.iter().flatten().any(|group| !group.sizes.is_empty()) {
            columns.row(line("  groups × CPUs".to_owned(), cells(&makeup, &String::new)));
        }
    }
    columns
}

/// How many groups there are, of how many CPUs; empty where latencies show none.
pub(super) fn makeup(group: &GroupMedian) -> String {
    match group.sizes.as_slice() {
        [] => String::new(),
        [least, .., most] if least != most => format!("{} × {least}–{most}", group.sizes.len()),
        [size, ..] => format!("{} × {size}", group.sizes.len()),
    }
}

/// Runs by number, in as many tables as it takes.
fn down(table: &Overview, sides: &[SideView], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, row) in (1..).zip(&table.rows) {
        let SideView { name, machine, .. } = &sides[row.side];
        let groups: Vec<String> =
            row.medians.iter().flatten().map(makeup).filter(|makeup| !makeup.is_empty()).collect();
        let groups = if groups.is_empty() {
            String::new()
        } else {
            format!(" · groups × CPUs: {}", groups.join(", "))
        };
        let legend = format!(" {number} = {} · {} · {}{groups}", plain(name), plain(machine), about(row));
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
    let both = |group: &GroupMedian| match group.pairs {
        1 => number(group.median),
        _ => format!("{} ({})", number(group.median), range(group)),
    };
    for (index, group) in table.groups.iter().enumerate() {
        let medians: Vec<Option<&GroupMedian>> =
            table.rows[rows.clone()].iter().map(|row| row.medians[index].as_ref()).collect();
        if medians.iter().any(Option::is_some) {
            let name = super::text::cut(&plain(&group_words(group)), (width / 2 + 10).saturating_sub(2));
            let cells = medians.into_iter().map(|group| group.map_or_else(dash, both));
            columns.row(std::iter::once(name).chain(cells).collect());
        }
    }
    columns
}

/// The table as Markdown.
pub fn markdown(table: &Overview, sides: &[SideView]) -> String {
    let groups: Vec<String> = table.groups.iter().map(|group| group_words(group)).collect();
    let mut text = format!("| | | {} |\n|---|---|{}\n", groups.join(" | "), "---:|".repeat(groups.len()));
    for row in &table.rows {
        let SideView { name, machine, .. } = &sides[row.side];
        let cells: Vec<String> = row
            .medians
            .iter()
            .map(|group| match group {
                None => dash(),
                Some(group) if group.sizes.is_empty() => {
                    format!("{} ({})", number(group.median), range(group))
                }
                Some(group) => format!("{} ({}; {})", number(group.median), range(group), makeup(group)),
            })
            .collect();
        let escaped = |text: &str| plain(text).replace('|', "\\|").replace('<', "&lt;");
        let what = format!("{machine}: {}", about(row));
        text.push_str(&format!("| {} | {} | {} |\n", escaped(name), escaped(&what), cells.join(" | ")));
    }
    if let Some(words) = kinds_words(table) {
        text.push_str(&format!("\n{words}.\n"));
    }
    text
}

/// What the numbers of a row are.
pub(super) fn about(row: &OverviewRow) -> String {
    let parts = [Some(&row.dataset), row.kernel.as_ref(), Some(&row.unit)].into_iter().flatten();
    plain(&parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", "))
}

fn cut(text: &str) -> String {
    super::text::cut(&plain(text), 44)
}

fn dash() -> String {
    "–".to_owned()
}

fn range(group: &GroupMedian) -> String {
    format!("{}–{}", number(group.range[0]), number(group.range[1]))
}

/// The name of a column as a heading.
pub(super) fn group_words(name: &str) -> String {
    if let Some((name, kind)) = name.rsplit_once("-kind-") {
        return format!("{}, kind {kind}", group_words(name));
    }
    match name.strip_prefix("larger-groups-") {
        Some("1") => "larger groups".to_owned(),
        Some(number) => format!("larger groups, {number}"),
        None if name == "all" => "all pairs".to_owned(),
        None if name == "groups-of-2" => "groups of 2".to_owned(),
        None => name.to_owned(),
    }
}

/// What kinds of columns are, where there are several.
pub(super) fn kinds_words(table: &Overview) -> Option<&'static str> {
    let has_kinds = table.groups.iter().any(|name| name.contains("-kind-"));
    has_kinds.then_some(
        "Groups of different kinds are not known to mean the same thing, such as cores of a cluster and threads of a \
         core: they cannot be compared",
    )
}
