//! Many runs and files in one table: their medians by group of pairs.

use super::compare::SideView;
use super::compare::number;
use super::text::plain;
use crate::blocks::{Block, Cell, Column, Table};
use crate::render::markdown;
use coretalk_model::compare::{GroupLevel, GroupMedian, Overview, OverviewGroup, OverviewRow};

/// Characters of a name in a heading.
const MOST_OF_A_NAME: usize = 16;

/// The screen: a row for each run where all groups fit beside each other, else a row for each group.
pub fn blocks(table: &Overview, sides: &[SideView]) -> Vec<Block<'static>> {
    let about = "Median over the pairs of each group, with the 5th to 95th percentile of the pairs; to test a \
        difference: coretalk compare A B";
    let headlines = [about].into_iter().chain(kinds_words(table));
    let mut blocks: Vec<Block<'_>> =
        headlines.map(|words| Block::Headline(words.to_owned().into())).collect();
    blocks.push(Block::Wide(across(table, sides), down(table, sides)));
    blocks
}

fn across(table: &Overview, sides: &[SideView]) -> Table {
    let groups = table.groups.iter().map(|group| Column::numbers(group_words(group)));
    let mut across = Table::new([Column::words("")].into_iter().chain(groups).collect::<Vec<_>>());
    for row in &table.rows {
        let SideView { name, machine, .. } = &sides[row.side];
        let mut line = |first: String, of: &dyn Fn(&GroupMedian) -> String, none: &dyn Fn() -> String| {
            let cells = row.medians.iter().map(|group| group.as_ref().map_or_else(none, of));
            across.row([first].into_iter().chain(cells).map(Cell::from).collect::<Vec<_>>());
        };
        line(cut(&format!("{name}  {machine}")), &|group| number(group.median), &dash);
        line(format!("  {}", cut(&about(row))), &range, &String::new);
        if row.medians.iter().flatten().any(|group| !group.sizes.is_empty()) {
            line("  groups × CPUs".to_owned(), &makeup, &String::new);
        }
    }
    across
}

/// How many groups there are, of how many CPUs; empty where latencies show none.
pub(super) fn makeup(group: &GroupMedian) -> String {
    match group.sizes.as_slice() {
        [] => String::new(),
        [least, .., most] if least != most => format!("{} × {least}–{most}", group.sizes.len()),
        [size, ..] => format!("{} × {size}", group.sizes.len()),
    }
}

/// Runs by number, and a column for each.
fn down(table: &Overview, sides: &[SideView]) -> Vec<Block<'static>> {
    // Rows are called as the user named them, where each has a name of its own; else by number.
    let given: Vec<&String> = table.rows.iter().filter_map(|row| sides[row.side].given.as_ref()).collect();
    let is_own = |name: &&String| given.iter().filter(|other| *other == name).count() == 1;
    let has_names = given.len() == table.rows.len() && given.iter().all(is_own);
    let named = |number: usize| match has_names {
        true => super::text::cut(&plain(given[number - 1]), MOST_OF_A_NAME),
        false => number.to_string(),
    };
    let legend = (1..).zip(&table.rows).map(|(number, row)| {
        let SideView { name, machine, .. } = &sides[row.side];
        let groups: Vec<String> =
            row.medians.iter().flatten().map(makeup).filter(|makeup| !makeup.is_empty()).collect();
        let groups = if groups.is_empty() {
            String::new()
        } else {
            format!(" · groups × CPUs: {}", groups.join(", "))
        };
        let name = if has_names { String::new() } else { format!("{} · ", plain(name)) };
        Block::Remark(format!("{} = {name}{} · {}{groups}", named(number), plain(machine), about(row)).into())
    });
    let both = |group: &GroupMedian| match group.pairs {
        1 => number(group.median),
        _ => format!("{} ({})", number(group.median), range(group)),
    };
    let numbers = (1..=table.rows.len()).map(|number| Column::numbers(named(number)));
    let columns: Vec<Column> = [Column::words("group")].into_iter().chain(numbers).collect();
    let rows = table.groups.iter().enumerate().map(|(index, group)| {
        let cells = table
            .rows
            .iter()
            .map(|row| row.medians[index].as_ref().map_or(Cell::Blank, |of| both(of).into()));
        [Cell::from(plain(&group_words(group)))].into_iter().chain(cells).collect::<Vec<_>>()
    });
    let by_number = Table::new(columns).with(rows);
    legend.chain([Block::Gap, Block::Table(by_number)]).collect()
}

/// The table as Markdown: a column for each group, or where most cells would be empty a row for each number.
pub fn markdown(table: &Overview, sides: &[SideView]) -> String {
    let cell = |group: &GroupMedian| match group.sizes.is_empty() {
        true => format!("{} ({})", number(group.median), range(group)),
        false => format!("{} ({}; {})", number(group.median), range(group), makeup(group)),
    };
    let known = table.rows.iter().flat_map(|row| &row.medians).flatten().count();
    let is_sparse = 2 * known < table.rows.len() * table.groups.len();
    let of_group = |group| Column::numbers(group_words(group));
    let columns: Vec<Column> = ["", ""].map(Column::words).into_iter().collect();
    let more = if is_sparse {
        vec![Column::words("group"), Column::numbers("median (range)")]
    } else {
        table.groups.iter().map(of_group).collect()
    };
    let rows = table.rows.iter().flat_map(|row| {
        let SideView { name, machine, .. } = &sides[row.side];
        let first = [plain(name), format!("{}: {}", plain(machine), about(row))];
        let line = |more: Vec<String>| first.clone().into_iter().chain(more).map(Cell::from).collect();
        let cells = table.groups.iter().zip(&row.medians);
        let lines: Vec<Vec<Cell>> = if is_sparse {
            let known = cells.filter_map(|(group, median)| Some((group, median.as_ref()?)));
            known.map(|(group, median)| line(vec![group_words(group), cell(median)])).collect()
        } else {
            vec![line(cells.map(|(_, median)| median.as_ref().map_or_else(dash, cell)).collect())]
        };
        lines
    });
    let mut text = markdown::table(&Table::new([columns, more].concat()).with(rows));
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

/// A column as a heading.
fn group_words(group: &OverviewGroup) -> String {
    let level = level_words(&group.level);
    match group.kind {
        Some(kind) => format!("{level}, kind {kind}"),
        None => level,
    }
}

/// The level of a column as a heading.
pub(super) fn level_words(level: &GroupLevel) -> String {
    match level {
        GroupLevel::All => "all pairs".to_owned(),
        GroupLevel::Twos => "groups of 2".to_owned(),
        GroupLevel::Larger(1) => "larger groups".to_owned(),
        GroupLevel::Larger(number) => format!("larger groups, {number}"),
        GroupLevel::Named(name) => name.clone(),
    }
}

/// What kinds of columns are, where there are several.
pub(super) fn kinds_words(table: &Overview) -> Option<&'static str> {
    let has_kinds = table.groups.iter().any(|group| group.kind.is_some());
    has_kinds.then_some(
        "Groups of different kinds, such as cores of a cluster and threads of a core, cannot be compared",
    )
}
