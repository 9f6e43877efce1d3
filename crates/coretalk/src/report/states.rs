//! One pair over time: a machine that changes its state has no single number, and one that held still says so.

use super::fmt;
use super::ladder::relation_words;
use super::style::Style;
use super::text::{HEIGHTS, count, duration, flow, grouped, ns, percent, plain, plus_minus, right};
use crate::RunReport;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, WatchNumber};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::infer::levels_changed;
use coretalk_model::latency::finding::MovingLevels;
use coretalk_model::latency::summary::{contradicting_state, state_contrast};
use coretalk_model::latency::{CellValue, StateWatch, WatchedState};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Flag, Picos, Relation, Topology};

/// States by letter, largest share first.
pub fn letter(index: usize) -> char {
    char::from(b'A' + (index.min(25) as u8))
}

/// One pair in one sentence: one number where it is stable, else its levels.
pub fn headline(report: &RunReport, pair: [CpuId; 2], value: &CellValue) -> String {
    let [a, b] = pair;
    match report.watch() {
        Some(watch) if watch.states.len() > 1 => match MovingLevels::of(watch) {
            Some(of) => fmt::sentence(&levels(&of, Some(pair))),
            None => format!("No single number between CPUs {a} and {b}"),
        },
        watch => {
            let mark = if value.flags.may_be_wrong() { " !" } else { "" };
            let stable = stability(value, watch);
            format!("{}{mark} ns between CPUs {a} and {b}: {stable}", interval(&value.latency_ns))
        }
    }
}

/// What stands behind that sentence: how the number came to be, or the levels over time.
pub fn story<'a>(report: &'a RunReport, pair: [CpuId; 2], value: &CellValue) -> Vec<Block<'a>> {
    match report.watch() {
        Some(watch) if watch.states.len() > 1 => changing(report, pair, watch),
        _ => still(report, pair, value),
    }
}

fn stability(value: &CellValue, watch: Option<&StateWatch>) -> String {
    let Some(watch) = watch else { return "too few passes to tell whether it is stable".to_owned() };
    let watched = duration(watch.watched.secs());
    if value.flags.contains(Flag::Quota) {
        return format!("a CPU quota stopped the process while it was watched for {watched}");
    }
    // Passes that are disturbed, and too few for a state of their own.
    let aside = [Flag::Drift, Flag::Remeasured].into_iter().any(|flag| value.flags.contains(flag));
    let but = if aside { "; a few outlying passes were excluded" } else { "" };
    format!("stable for {watched}{but}")
}

fn still(report: &RunReport, [a, b]: [CpuId; 2], value: &CellValue) -> Vec<Block<'static>> {
    let batches = count(value.batches, "batch");
    let over = match value.passes {
        passes if value.latency_ns.is_sure() => {
            format!("95 % over {batches} and {}", count(passes.into(), "pass"))
        }
        0 | 1 => format!("none: {batches} in one pass"),
        few => format!("none: {batches} in {} are too few", count(few.into(), "pass")),
    };
    let mut parts = vec![over, format!("fastest batch {} ns", ns(value.min_ns))];
    if let (Some(cycles), Some(ghz)) = (&value.cycles, value.core_ghz) {
        parts.push(format!("{} core cycles at {ghz:.2} GHz", interval(cycles)));
    }
    let shares = relation_words(report.topology.relation(a, b), &report.topology);
    let mut blocks = vec![
        Block::Fact("interval", parts.join(" · ").into()),
        Block::Fact("reported", format!("CPUs {a} and {b}: {shares}").into()),
    ];
    blocks.extend(value.home_penalty.map(|penalty| {
        let node = value.home.0;
        Block::Fact(
            "memory",
            format!("lines on the better node ({node}); {penalty:.2} × as long on the other").into(),
        )
    }));
    blocks.extend(doubts(value).map(|text| Block::Doubt(text.into())));
    blocks
}

fn changing<'a>(report: &RunReport, pair: [CpuId; 2], watch: &'a StateWatch) -> Vec<Block<'a>> {
    let mut blocks = vec![
        Block::sketch(|style| plot(watch, style)),
        Block::Gap,
        Block::Table(state_table(watch)),
        Block::Gap,
        Block::Fact("states", changes(report, watch).into()),
    ];
    blocks.extend(
        topology_words(&report.topology, pair, watch).map(|text| Block::Fact("reported", text.into())),
    );
    blocks
}

/// How often the pair changed its level, and what may be behind it.
fn changes(report: &RunReport, watch: &StateWatch) -> String {
    let changes: u32 = watch.states.iter().map(|state| state.visits).sum::<u32>().saturating_sub(1);
    let how_often = match changes {
        0 | 1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    };
    let contrast = state_contrast(watch);
    let everything_moved = contrast.is_none_or(|contrast| contrast.slowed == contrast.kernels);
    let cause = match contrast {
        Some(contrast) if !everything_moved => {
            format!(", but only for {} of {} kinds of exchange", contrast.slowed, contrast.kernels)
        }
        _ if report.environment.hypervisor.is_some() || report.header.simulated => {
            ", as when a host moves vCPUs or shares their cores".to_owned()
        }
        _ => String::new(),
    };
    let guest = match &report.environment.hypervisor {
        Some(_) => " · pinning inside the guest does not help",
        None => "",
    };
    format!("changed {how_often}{cause}{guest}")
}

/// `27.1 ns between CPUs 0 and 1 most of the time, up to 116 otherwise: plan for 116`.
pub(super) fn levels(levels: &MovingLevels, pair: Option<[CpuId; 2]>) -> Sentence {
    let MovingLevels { usual, share, planned, fastest, .. } = *levels;
    let value = |number: Estimate, of| DisplayValue {
        number: Number::Point(number.point),
        unit: DisplayUnit::OfColumn(1.0),
        source: Source::Watch(of),
    };
    let plan = value(planned, WatchNumber::Slowest);
    let whom = match pair {
        Some([a, b]) => Sentence::new("between CPUs {a} and {b} ").with("a", a).with("b", b),
        None => Sentence::new(""),
    };
    let often = match share > 0.5 {
        true => Sentence::new("most of the time"),
        false => Sentence::new("{share} of the time").with(
            "share",
            DisplayValue {
                number: Number::Point(share),
                unit: DisplayUnit::Own(Unit::Share),
                source: Source::Watch(WatchNumber::Share),
            },
        ),
    };
    let usual = value(usual, WatchNumber::Usual);
    let other = match fmt::value(&usual) == fmt::value(&plan) {
        true => Sentence::new("as little as {fastest}").with("fastest", value(fastest, WatchNumber::Fastest)),
        false => Sentence::new("up to {plan}").with("plan", plan.clone()),
    };
    Sentence::new("{usual} ns {whom}{often}, {other} otherwise: plan for {plan}")
        .with("usual", usual)
        .with("whom", whom)
        .with("often", often)
        .with("other", other)
        .with("plan", plan)
}

/// A row for each state from the slowest, a column for each stretch of time. A glyph shows one pass: its height is
/// the deviation from the state's median, ± 8 % from bottom to top.
pub fn plot(watch: &StateWatch, style: &Style) -> Vec<String> {
    let mut rows: Vec<(usize, f64)> = watch
        .states
        .iter()
        .enumerate()
        .filter_map(|(index, state)| Some((index, line_ns(state)?.point)))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (Some(first), Some(last)) = (watch.line.first(), watch.line.last()) else { return Vec::new() };
    // The letter is that of the table below: states may differ under another kernel than the one that is drawn.
    let label = |state: usize, level: f64| format!("{} {}", letter(state), right(&ns(level), 4));
    let labels = rows.iter().map(|&(state, level)| label(state, level).chars().count()).max().unwrap_or(4);
    let room = style.width.saturating_sub(labels + 3).clamp(8, 160);
    let span = last.0.saturating_sub(first.0);
    let column = |at: Picos| {
        let passed = at.saturating_sub(first.0).0 as f64 / span.0.max(1) as f64;
        ((passed * room as f64) as usize).min(room - 1)
    };
    let unit = right("ns", labels);
    let words = [unit.as_str()].into_iter().chain("half round trip; each character is one pass".split(' '));
    let mut lines = flow(words, " ", style.width, labels + 2);
    for (state, level) in &rows {
        let mut cells = vec![' '; room];
        for &(at, value, of) in &watch.line {
            if usize::from(of) == *state {
                let deviation = (value / level - 1.0) / 0.08;
                let height = (4.0 + 4.0 * deviation).clamp(0.0, 7.0) as usize;
                cells[column(at)] = HEIGHTS[height];
            }
        }
        let row: String = cells.into_iter().collect();
        lines.push(format!("{} ┤{}", right(&label(*state, *level), labels), row.trim_end()));
    }
    lines.push(time_axis(span.secs(), room, labels));
    lines
}

fn time_axis(seconds: f64, room: usize, labels: usize) -> String {
    let mut axis = vec![' '; room];
    let mut write = |column: usize, text: &str| {
        for (cell, c) in axis.iter_mut().skip(column).zip(text.chars()) {
            *cell = c;
        }
    };
    let end = duration(seconds);
    let last = room.saturating_sub(end.chars().count());
    write(last, &end);
    write(0, "0 s");
    // Round steps, ten columns apart or more.
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0]
        .into_iter()
        .find(|step| step / seconds * room as f64 >= 10.0);
    let mut at = step.unwrap_or(f64::INFINITY);
    while at < seconds {
        let column = (at / seconds * room as f64) as usize;
        let text = format!("{at:.0}");
        if column + text.len() + 2 <= last {
            write(column, &text);
        }
        at += step.unwrap_or(f64::INFINITY);
    }
    format!("{}  {}", " ".repeat(labels), axis.into_iter().collect::<String>().trim_end())
}

/// Share, visits, longest stay and the line's time in each state.
fn state_table(watch: &StateWatch) -> Table {
    let mut kernels: Vec<&str> = Vec::new();
    for (kernel, _) in watch.states.iter().flat_map(|state| &state.kernels) {
        if !kernels.contains(&kernel.as_str()) {
            kernels.push(kernel.as_str());
        }
    }
    let mut columns = vec![Column::words("state")];
    columns.extend(["share of passes", "visits", "longest stay"].map(Column::numbers));
    // What has no room is in the JSON document.
    let widths = (1..).map(|number| 46 + 16 * number);
    columns.extend(
        kernels
            .iter()
            .zip(widths)
            .map(|(kernel, least)| Column::numbers(format!("{} ns", plain(kernel))).from_width(least)),
    );
    let rows = watch.states.iter().enumerate().map(|(index, state)| {
        let mut row: Vec<Cell> = vec![
            letter(index).to_string().into(),
            percent(state.share).into(),
            state.visits.to_string().into(),
            duration(state.longest.secs()).into(),
        ];
        row.extend(kernels.iter().map(|kernel| {
            let of_kernel = state.kernels.iter().find(|(name, _)| name.as_str() == *kernel);
            Cell::known(of_kernel.map(|(_, latency)| interval(latency)))
        }));
        row
    });
    Table::new(columns).with(rows)
}

/// "Cannot tell" comes before any guess; that the states contradict what the system reports is said only where no pair
/// of that relation is known to be so slow.
fn topology_words(topology: &Topology, [a, b]: [CpuId; 2], watch: &StateWatch) -> Option<String> {
    let contrast = state_contrast(watch)?;
    let relation = topology.relation(a, b);
    let of = if contrast.of_headline { "" } else { ", which the headline does not show" };
    let differ = format!("the states differ by {:.1} ×{of}", contrast.ratio);
    Some(match contradicting_state(watch, relation) {
        Some(state) => {
            let who =
                if topology.cpus().len() == 2 { "both CPUs".to_owned() } else { format!("CPUs {a} and {b}") };
            let (reported, known) = match relation {
                Relation::SameCpu | Relation::Smt => {
                    ("one core", "no known threads of one core are this slow")
                }
                Relation::L2 => ("one L2", "no known cores of one L2 are this far apart"),
                Relation::Cluster => ("one cluster", "no known cores of one cluster are this far apart"),
                _ => ("one L3", "no known cores of one L3 are this far apart"),
            };
            format!(
                "cannot tell how they are connected: {differ}. The system reports {reported} for {who}, and state {} \
                 contradicts it: {known}.",
                letter(state)
            )
        }
        None => format!("cannot tell how they are connected: {differ}"),
    })
}

/// Several pairs on a machine that changed its state: how many of them, the states, and what they leave unknown.
/// `measured` is the number of pairs with a value.
pub fn of_map<'a>(watch: &'a StateWatch, measured: u64, topology: &Topology) -> Vec<Block<'a>> {
    if watch.states.len() < 2 {
        return Vec::new();
    }
    let mut blocks = vec![Block::Fact("states", change_of_map(watch, measured).into())];
    if !levels_changed(watch) {
        return blocks;
    }
    // The line over time is that of one pair: the one that changed most.
    if !watch.line.is_empty() {
        let who = watch.pair.map_or(String::new(), |[a, b]| format!(", CPU {a} ↔ CPU {b}"));
        blocks.push(Block::Prose(format!("The pair that changed most{who}:").into()));
        blocks.push(Block::sketch(|style| plot(watch, style)));
    }
    blocks.push(Block::Table(state_table(watch)));
    blocks.extend(
        watch
            .pair
            .and_then(|pair| topology_words(topology, pair, watch))
            .map(|text| Block::Fact("reported", text.into())),
    );
    blocks
}

/// How many pairs of a map changed their level, in a sentence or two; `measured` is the number of its pairs.
fn change_of_map(watch: &StateWatch, measured: u64) -> String {
    let changed = (watch.cells_changed * measured as f64).round() as u64;
    let how_many = format!("{} of {}", grouped(changed as i64), count(measured, "pair"));
    let watched = duration(watch.watched.secs());
    let shown = "Each cell shows its most frequent level; the others are in the JSON document.";
    if levels_changed(watch) {
        format!("{how_many} changed during the {watched} watched. {shown}")
    } else {
        format!("{how_many} changed for a while during the {watched} watched. {shown}")
    }
}

fn line_ns(state: &WatchedState) -> Option<Estimate> {
    state.kernels.first().map(|(_, latency)| *latency)
}

/// A point and how far its interval reaches; without one where too few passes have none.
pub fn interval(estimate: &Estimate) -> String {
    if !estimate.is_sure() {
        return ns(estimate.point);
    }
    format!("{} {}", ns(estimate.point), plus_minus(estimate.point, estimate.reach()))
}

/// The value of a cell and how far its interval reaches; a few passes have none.
pub fn cell_interval(value: &CellValue) -> String {
    if value.latency_ns.is_sure() {
        return interval(&value.latency_ns);
    }
    let passes = match value.passes {
        0 | 1 => "one pass".to_owned(),
        few => count(few.into(), "pass"),
    };
    format!("{}, {passes}, no interval", ns(value.latency_ns.point))
}

/// The doubts about one value in words.
pub fn doubts(value: &CellValue) -> Option<String> {
    let flags: Vec<&str> =
        value.flags.iter().filter(|flag| flag.is_doubt()).map(|flag| flag.name()).collect();
    let reason = value.reason.as_deref().map_or(String::new(), |reason| format!(": {}", plain(reason)));
    (!flags.is_empty()).then(|| format!("grade {}, {}{reason}", value.grade, flags.join(", ")))
}
