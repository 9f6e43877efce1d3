//! Many runs and files in one table: their medians by group of pairs.

use super::compare::SideView;
use super::text::plain;
use crate::blocks::value::{DisplayValue, Number, Sentence, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::render::markdown;
use coretalk_model::compare::{GroupLevel, GroupMedian, Overview, OverviewGroup, OverviewRow};

const MAX_NAME_COLUMNS: usize = 16;

pub(super) struct Found<'a> {
    group: &'a GroupMedian,
    path: String,
}

pub(super) fn found(row: &OverviewRow, index: usize) -> Vec<Option<Found<'_>>> {
    let mut paths = (0..).map(|group| format!("/overview/{index}/groups/{group}"));
    row.medians
        .iter()
        .map(|group| Some((group.as_ref()?, paths.next()?)))
        .map(|known| known.map(|(group, path)| Found { group, path }))
        .collect()
}

impl Found<'_> {
    fn field(&self, key: &str, number: Number) -> DisplayValue {
        DisplayValue::field(pointer!("{}/{key}", self.path), number)
    }

    fn median(&self) -> DisplayValue {
        self.field("median", Number::Figure(self.group.median))
    }

    fn range(&self) -> Sentence {
        let [low, high] = self.group.range;
        Sentence::new("{low}–{high}")
            .with("low", self.field("range/0", Number::Figure(low)))
            .with("high", self.field("range/1", Number::Figure(high)))
    }

    /// Number and sizes of the groups: `2 × 4–8`.
    pub(super) fn makeup(&self) -> Option<Sentence> {
        let sizes = &self.group.sizes;
        let size = |at: usize| self.field(&format!("sizes/{at}"), Number::Count(sizes[at] as u64));
        let last = sizes.len().checked_sub(1)?;
        let template =
            if sizes[0] == sizes[last] { "{groups} × {least}" } else { "{groups} × {least}–{most}" };
        let groups = self.field("sizes", Number::Count(sizes.len() as u64));
        Some(Sentence::new(template).with("groups", groups).with("least", size(0)).with("most", size(last)))
    }

    pub(super) fn in_short(&self) -> Sentence {
        let [low, high] =
            [0, 1].map(|end| self.field(&format!("range/{end}"), Number::Short(self.group.range[end])));
        let pairs = self.field("pairs", Number::Count(self.group.pairs as u64));
        let range = Sentence::new("{low}–{high}").with("low", low).with("high", high);
        let parts = [range, Sentence::pluralized("{number} pair{s}", pairs)];
        Sentence::new("{median} ({parts})")
            .with("median", self.field("median", Number::Point(self.group.median)))
            .with("parts", Sentence::joined(parts.into_iter().chain(self.makeup()), ", "))
    }

    fn in_full(&self, makeup: Option<Sentence>) -> Sentence {
        Sentence::new("{median} ({parts})")
            .with("median", self.median())
            .with("parts", Sentence::joined([self.range()].into_iter().chain(makeup), "; "))
    }
}

/// The screen: one row for each run if all groups fit side by side, otherwise one row for each group.
pub fn blocks(table: &Overview, sides: &[SideView]) -> Vec<Block<'static>> {
    let about = "Median over the pairs of each group, with the 5th to 95th percentile of the pairs; to test a \
        difference: coretalk compare A B";
    let headlines = [about].into_iter().chain(kinds_words(table));
    let mut blocks: Vec<Block<'_>> = headlines.map(|words| Block::Headline(words.into())).collect();
    blocks.push(Block::Wide(across(table, sides), down(table, sides)));
    blocks
}

fn across(table: &Overview, sides: &[SideView]) -> Table {
    let groups = table.groups.iter().map(|group| Column::numbers(group_words(group)));
    let mut across = Table::new([Column::words("")].into_iter().chain(groups).collect::<Vec<_>>());
    for (index, row) in table.rows.iter().enumerate() {
        let SideView { name, machine, .. } = &sides[row.side];
        let groups = found(row, index);
        let mut line = |first: Cell, value: &dyn Fn(&Found<'_>) -> Cell, none: Cell| {
            let cells = groups.iter().map(|group| group.as_ref().map_or_else(|| none.clone(), value));
            across.row([first].into_iter().chain(cells).collect::<Vec<_>>());
        };
        let second = Sentence::new("  {about}").with_name("about", &cut(&about(row)));
        line(Cell::name(&cut(&format!("{name}  {machine}"))), &|group| group.median().into(), "–".into());
        line(second.into(), &|group| group.range().into(), Cell::Blank);
        if row.medians.iter().flatten().any(|group| !group.sizes.is_empty()) {
            let makeup = |group: &Found<'_>| group.makeup().map_or(Cell::Blank, Cell::from);
            line("  groups × CPUs".into(), &makeup, Cell::Blank);
        }
    }
    across
}

fn down(table: &Overview, sides: &[SideView]) -> Vec<Block<'static>> {
    // Runs have the names given by the user if these are unique, otherwise numbers.
    let given: Vec<&String> = table.rows.iter().filter_map(|row| sides[row.side].given.as_ref()).collect();
    let is_unique = |name: &&String| given.iter().filter(|other| *other == name).count() == 1;
    let has_names = given.len() == table.rows.len() && given.iter().all(is_unique);
    let named = |index: usize| match has_names {
        true => Sentence::name(&super::text::cut(&plain(given[index]), MAX_NAME_COLUMNS)),
        false => Sentence::new("{number}").with("number", DisplayValue::listed(index + 1)),
    };
    let legend = table.rows.iter().enumerate().map(|(index, row)| {
        let side = &sides[row.side];
        let groups: Vec<Sentence> = found(row, index).iter().flatten().filter_map(Found::makeup).collect();
        let mut parts: Vec<Sentence> = (!has_names).then(|| Sentence::name(&side.name)).into_iter().collect();
        parts.extend([&side.machine, &about(row)].map(|text| Sentence::name(text)));
        if !groups.is_empty() {
            let sizes = Sentence::new("groups × CPUs: {groups}");
            parts.push(sizes.with("groups", Sentence::joined(groups, ", ")));
        }
        let line = Sentence::new("{named} = {parts}").with("named", named(index));
        Block::Remark(line.with("parts", Sentence::joined(parts, " · ")))
    });
    let all: Vec<Vec<Option<Found<'_>>>> =
        table.rows.iter().enumerate().map(|(index, row)| found(row, index)).collect();
    let value = |found: &Found<'_>| match found.group.pairs {
        1 => found.median().into(),
        _ => found.in_full(None).into(),
    };
    let numbers = (0..table.rows.len()).map(|index| Column::numbers(named(index)));
    let columns: Vec<Column> = [Column::words("group")].into_iter().chain(numbers).collect();
    let rows = table.groups.iter().enumerate().map(|(index, group)| {
        let cells = all.iter().map(|row| row[index].as_ref().map_or(Cell::Blank, value));
        [Cell::from(group_words(group))].into_iter().chain(cells).collect::<Vec<_>>()
    });
    let by_number = Table::new(columns).with(rows);
    legend.chain([Block::Gap, Block::Table(by_number)]).collect()
}

/// The table as Markdown: one column for each group or, if most cells would be empty, one row for each number.
pub fn markdown(table: &Overview, sides: &[SideView]) -> String {
    let cell = |found: &Found<'_>| Cell::from(found.in_full(found.makeup()));
    let known = table.rows.iter().flat_map(|row| &row.medians).flatten().count();
    let is_sparse = 2 * known < table.rows.len() * table.groups.len();
    let of_group = |group| Column::numbers(group_words(group));
    let columns: Vec<Column> = ["", ""].map(Column::words).into_iter().collect();
    let value_columns = if is_sparse {
        vec![Column::words("group"), Column::numbers("median (range)")]
    } else {
        table.groups.iter().map(of_group).collect()
    };
    let rows = table.rows.iter().enumerate().flat_map(|(index, row)| {
        let side = &sides[row.side];
        let what = Sentence::new("{machine}: {about}").with_name("machine", &side.machine);
        let first = [Cell::name(&side.name), what.with_name("about", &about(row)).into()];
        let line = |values: Vec<Cell>| first.iter().cloned().chain(values).collect();
        let groups = found(row, index);
        let lines: Vec<Vec<Cell>> = if is_sparse {
            let known = table.groups.iter().zip(&groups);
            let known = known.filter_map(|(group, found)| Some((group, found.as_ref()?)));
            known.map(|(group, found)| line(vec![group_words(group).into(), cell(found)])).collect()
        } else {
            vec![line(groups.iter().map(|found| found.as_ref().map_or("–".into(), cell)).collect())]
        };
        lines
    });
    let mut text = markdown::table(&Table::new([columns, value_columns].concat()).with(rows));
    if let Some(words) = kinds_words(table) {
        text.push_str(&format!("\n{words}.\n"));
    }
    text
}

pub(super) fn about(row: &OverviewRow) -> String {
    let parts = [Some(&row.dataset), row.kernel.as_ref(), Some(&row.unit)].into_iter().flatten();
    plain(&parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", "))
}

fn cut(text: &str) -> String {
    super::text::cut(&plain(text), 44)
}

fn group_words(group: &OverviewGroup) -> Sentence {
    let level = level_words(&group.level);
    match group.kind {
        Some(kind) => Sentence::new("{level}, kind {kind}")
            .with("level", level)
            .with("kind", DisplayValue::listed(kind)),
        None => level,
    }
}

pub(super) fn level_words(level: &GroupLevel) -> Sentence {
    match level {
        GroupLevel::All => "all pairs".into(),
        GroupLevel::Twos => "groups of 2".into(),
        GroupLevel::Larger(1) => "larger groups".into(),
        GroupLevel::Larger(number) => {
            Sentence::new("larger groups, {number}").with("number", DisplayValue::listed(*number))
        }
        GroupLevel::Named(level) => Sentence::name(level),
    }
}

pub(super) fn kinds_words(table: &Overview) -> Option<&'static str> {
    let has_kinds = table.groups.iter().any(|group| group.kind.is_some());
    has_kinds.then_some(
        "Groups of different kinds, such as cores of a cluster and threads of a core, cannot be compared",
    )
}
