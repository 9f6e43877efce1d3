//! A screen taken apart: sentences, tables, maps, and pictures made of characters.

/// Columns of every screen here: so wide that hardly a sentence wraps.
pub const WIDTH: usize = 400;

/// A piece of a screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A line of text, put together again where it was wrapped.
    Said(String),
    /// Rows of columns.
    Table(Table),
    /// A square of numbers, by the names of rows and columns.
    Map(Map),
    /// Glyphs: nothing that is read here but its labels.
    Picture(String),
}

/// Rows of columns; the heading is the first row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn heading(&self) -> &[String] {
        self.rows.first().map_or(&[], Vec::as_slice)
    }

    /// The column of this title.
    pub fn column(&self, title: &str) -> Option<usize> {
        self.heading().iter().position(|other| other == title)
    }
}

/// A square of numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    /// What stands above it, where several stand side by side.
    pub title: String,
    /// The CPUs of each row; columns are the same.
    pub cpus: Vec<Vec<u32>>,
    /// What rows and columns are called: CPUs, or cores by number.
    pub names: [Vec<u32>; 2],
    /// Cells as printed.
    pub cells: Vec<Vec<String>>,
}

/// Takes a screen apart.
pub fn parts(screen: &str) -> Vec<Part> {
    let lines: Vec<&str> = screen.lines().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let mut taken = 1;
        match () {
            () if line.trim().is_empty() => {}
            () if is_fact(&lines, at) => {
                let mut text = fact(line).to_owned();
                let mut last = line.chars().count();
                while let Some(next) = lines.get(at + taken).filter(|next| wraps(last, next)) {
                    text.push_str(&format!(" {}", next.trim()));
                    last = next.chars().count();
                    taken += 1;
                }
                parts.extend(text.split(" · ").map(|text| Part::Said(text.trim().to_owned())));
            }
            () if is_map_heading(line) => {
                taken += lines[at + 1..].iter().take_while(|line| is_map_row(line)).count();
                let above = if at > 0 { lines[at - 1] } else { "" };
                parts.extend(maps(above, &lines[at..at + taken]));
            }
            () if is_picture(line) => parts.push(Part::Picture(line.to_owned())),
            // The axis of time below a plot.
            () if line.trim().starts_with("0 s ") => parts.push(Part::Picture(line.to_owned())),
            () if titles_maps(line, lines.get(at + 1)) => {}
            () if has_columns(line) || heads_one_column(line, lines.get(at + 1)) => {
                taken += (at + 1..lines.len())
                    .take_while(|&at| goes_on(lines[at]) && !is_fact(&lines, at))
                    .count();
                parts.push(Part::Table(table(&lines[at..at + taken])));
            }
            () => {
                let mut text = line.trim_end().to_owned();
                let mut last = line.chars().count();
                while let Some(next) = lines.get(at + taken).filter(|next| wraps(last, next)) {
                    text.push_str(&format!(" {}", next.trim()));
                    last = next.chars().count();
                    taken += 1;
                }
                parts.push(Part::Said(text.trim().to_owned()));
            }
        }
        at += taken;
    }
    parts
}

/// Whether the next line begins with a word that had no room on one of this length.
fn wraps(columns: usize, next: &str) -> bool {
    next.starts_with(' ')
        && !has_columns(next)
        && next.split_whitespace().next().is_some_and(|word| columns + 1 + word.chars().count() > WIDTH)
}

/// Columns of the label of a fact, with the blank before it.
const LABEL: usize = 11;
const LABELS: [&str; 13] = [
    "reported",
    "groups",
    "inferred",
    "load test",
    "range",
    "in use",
    "compare",
    "noise",
    "states",
    "interval",
    "memory",
    "parallel",
    "",
];

/// A short label and what is said of it; facts with the label of the one before have none.
fn is_fact(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    let label: String = line.chars().take(LABEL).collect();
    let text: String = line.chars().skip(LABEL).collect();
    let is_labelled =
        line.starts_with(' ') && !text.is_empty() && !text.starts_with(' ') && !text.contains("  ");
    is_labelled
        && LABELS.contains(&label.trim())
        && (!label.trim().is_empty() || at > 0 && is_fact(lines, at - 1))
}

fn fact(line: &str) -> &str {
    line.char_indices().nth(LABEL).map_or("", |(start, _)| &line[start..])
}

fn has_columns(line: &str) -> bool {
    line.starts_with(' ') && line.trim().contains("  ")
}

/// A heading of one column, above rows that have names.
fn heads_one_column(line: &str, next: Option<&&str>) -> bool {
    line.starts_with(&" ".repeat(8)) && next.is_some_and(|next| has_columns(next))
}

fn goes_on(line: &str) -> bool {
    // A second line of a heading may hold one cell only.
    (has_columns(line) || line.starts_with(&" ".repeat(12))) && !is_map_heading(line) && !is_picture(line)
}

fn is_map_heading(line: &str) -> bool {
    let is_name = |word: &str| ["CPU", "CPUs", "core", "│"].contains(&word) || word.parse::<u32>().is_ok();
    let numbers = line.split_whitespace().filter(|word| word.parse::<u32>().is_ok()).count();
    let begins = line.starts_with(" CPU ") || line.starts_with("core CPUs ");
    begins && numbers > 1 && line.split_whitespace().all(is_name)
}

fn is_map_row(line: &str) -> bool {
    line.contains("─┼") || line.contains("──") || {
        let first = line.split_whitespace().next().unwrap_or_default();
        line.starts_with(' ') && first.parse::<u32>().is_ok()
    }
}

/// The line of titles above maps that stand side by side.
fn titles_maps(line: &str, next: Option<&&str>) -> bool {
    line.starts_with("  ") && next.is_some_and(|next| is_map_heading(next))
}

fn is_picture(line: &str) -> bool {
    line.contains(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█', '▒', '░', '▓', '┤'])
        || line.starts_with(['┌', '│', '└', '…'])
}

/// Columns are two blanks apart in every row.
fn table(lines: &[&str]) -> Table {
    let rows: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let blank = |at: usize| rows.iter().all(|row| row.get(at).is_none_or(|c| *c == ' '));
    let mut columns = Vec::new();
    let mut start = 0;
    for at in 0..=width {
        // A column ends before two blanks, or at the end of the line.
        if at == width || (blank(at) && blank(at + 1)) {
            if start < at && !(start..at).all(blank) {
                columns.push(start..at);
            }
            start = at + 1;
        }
    }
    let cell = |row: &[char], range: &std::ops::Range<usize>| -> String {
        let cut: String = row.iter().take(range.end).skip(range.start).collect();
        cut.trim().to_owned()
    };
    Table { rows: rows.iter().map(|row| columns.iter().map(|range| cell(row, range)).collect()).collect() }
}

/// One map, or several side by side, each with its heading `CPU`.
fn maps(above: &str, lines: &[&str]) -> Vec<Part> {
    let rows: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
    let heading = lines[0];
    let starts: Vec<usize> = heading
        .char_indices()
        .filter(|(at, _)| heading[*at..].starts_with("CPU") && !heading[*at..].starts_with("CPUs"))
        .map(|(at, _)| heading[..at].chars().count().saturating_sub(1))
        .collect();
    let starts = if starts.is_empty() { vec![0] } else { starts };
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let blocks = starts.iter().copied().zip(ends).map(|(start, end)| {
        let cut = |row: &Vec<char>| -> Vec<char> { row.iter().take(end).skip(start).copied().collect() };
        let title: String = cut(&above.chars().collect()).iter().collect();
        one_map(title.trim(), &rows.iter().map(cut).collect::<Vec<_>>())
    });
    blocks.collect()
}

fn one_map(title: &str, rows: &[Vec<char>]) -> Part {
    // The digits of a cell end where those of its heading do; a mark may follow.
    let mut ends = Vec::new();
    for (at, c) in rows[0].iter().enumerate() {
        let next = rows[0].get(at + 1);
        if c.is_ascii_digit() && next.is_none_or(|next| !next.is_ascii_digit()) {
            ends.push(at + 1);
        }
    }
    let heading: String = rows[0].iter().collect();
    let columns = heading.split_whitespace().filter_map(|name| name.parse().ok()).collect();
    let mut map = Map { title: title.to_owned(), names: [Vec::new(), columns], ..Map::default() };
    for row in rows[1..].iter().filter(|row| !row.contains(&'─')) {
        let text = |from: usize, to: usize| -> String {
            row.iter().take(to).skip(from).filter(|c| **c != '│').collect::<String>().trim().to_owned()
        };
        let line: String = row.iter().collect();
        // `3 3,19` is the number of a core, then its CPUs.
        let words = if rows[0].starts_with(&['c', 'o', 'r', 'e']) { 2 } else { 1 };
        let name = line.split_whitespace().nth(words - 1).unwrap_or_default();
        let mut from = 0;
        for word in line.split_whitespace().take(words) {
            from += line[from..].find(word).unwrap_or(0) + word.len();
        }
        let cpus: Vec<u32> = name.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
        let mut cells = Vec::new();
        for end in &ends {
            cells.push(text(from, end + 1));
            from = end + 1;
        }
        map.names[0].extend(line.split_whitespace().next().and_then(|name| name.parse::<u32>().ok()));
        map.cpus.push(cpus);
        map.cells.push(cells);
    }
    let is_number = |cell: &String| {
        cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '·' || c == 's')
    };
    match map.cells.iter().flatten().all(is_number) && map.cpus.len() == ends.len() {
        true => Part::Map(map),
        // Glyphs for several rows and columns.
        false => Part::Picture(
            rows.iter().map(|row| row.iter().collect::<String>()).collect::<Vec<_>>().join("\n"),
        ),
    }
}

#[test]
fn a_screen_is_taken_apart() {
    let screen = "\
title · of a run

core CPUs     0    1  │   2
   0 0,16   7.6   18  │  86
   1 1,17    18  7.5! │
          ────────────┼────
   2 8       86       │   s

 ladder, ns per hop  pairs        line  range
                                (95 %)
 same L3                 4  18.1 ±0.4   18–18
 across L3               4  86.3 ±1.7   85–88
 A sentence. And one.

  capacity 1         capacity 10
 CPU     0    16    CPU     0    16
   0  0.45  0.25      0     s  2.48!
  16  0.25  0.45     16  2.49  4.07
";
    let parts = parts(screen);
    let Part::Map(map) = &parts[1] else { panic!("{parts:#?}") };
    assert_eq!(map.cpus, [vec![0, 16], vec![1, 17], vec![8]]);
    assert_eq!(map.cells, [["7.6", "18", "86"], ["18", "7.5!", ""], ["86", "", "s"]]);
    let Part::Table(table) = &parts[2] else { panic!("{parts:#?}") };
    assert_eq!(table.rows[2], ["same L3", "4", "18.1 ±0.4", "18–18"]);
    assert_eq!(parts[3], Part::Said("A sentence. And one.".into()));
    let (Part::Map(one), Part::Map(ten)) = (&parts[4], &parts[5]) else { panic!("{parts:#?}") };
    assert_eq!((one.title.as_str(), ten.title.as_str()), ("capacity 1", "capacity 10"));
    assert_eq!(
        (one.cells[0][1].as_str(), ten.cells[0].as_slice()),
        ("0.25", &["s".to_owned(), "2.48!".to_owned()][..])
    );
}
