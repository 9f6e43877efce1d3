//! One pair over time: its levels on a machine that changes its state, a single number on a stable machine.

use super::fmt;
use super::fmt::digits::{duration, fixed};
use super::style::Style;
use super::text::{HEIGHTS, flow, right};
use crate::blocks::value::{Arg, DisplayValue, MatrixNumber, Number, Operation, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Drawing, Table};
use crate::reasons::{Sources, Worded};
use coretalk_model::infer::levels_changed;
use coretalk_model::latency::finding::MovingLevels;
use coretalk_model::latency::summary::{contradicting_state, state_contrast};
use coretalk_model::latency::{CellValue, StateWatch, WatchedState};
use coretalk_model::quantity::Unit;
use coretalk_model::run::RunReport;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Flag, KernelId, Picos, Relation, Scope, Topology};

pub(super) const LEVELS: &str = "/watch/states/*/kernels/0/median";

/// The letter of a state; A has the largest share.
pub fn letter(index: usize) -> char {
    char::from(b'A' + (index.min(25) as u8))
}

/// A pair in one sentence: one number if it is stable, else its levels.
pub fn headline(report: &RunReport, kernel: &KernelId, pair: [CpuId; 2], value: &CellValue) -> Sentence {
    let [a, b] = pair;
    let sentence = match report.watch() {
        Some(watch) if watch.states.len() > 1 => match MovingLevels::from_watch(watch) {
            Some(moving) => return levels(&moving, Some(pair)),
            None => Sentence::new("No single number between CPUs {a} and {b}"),
        },
        watch => Sentence::new("{value}{mark} ns between CPUs {a} and {b}: {stable}")
            .with("value", fmt::with_reach(Source::of_pair(kernel, pair)("/median"), value.latency_ns))
            .with("mark", if value.flags.may_be_wrong() { " !" } else { "" })
            .with("stable", stability(value, watch)),
    };
    sentence.with("a", a).with("b", b)
}

/// The details of [`headline`]: the origin of the number, or the levels over time.
pub fn story<'a>(
    report: &'a RunReport,
    kernel: &KernelId,
    pair: [CpuId; 2],
    value: &CellValue,
) -> Vec<Block<'a>> {
    match report.watch() {
        Some(watch) if watch.states.len() > 1 => changing_blocks(report, pair, watch),
        _ => stable_blocks(report, kernel, pair, value),
    }
}

fn watched(watch: &StateWatch) -> DisplayValue {
    DisplayValue::field("/watch/watched_s", Number::Duration(watch.watched.secs()))
}

fn stability(value: &CellValue, watch: Option<&StateWatch>) -> Sentence {
    let Some(watch) = watch else { return Sentence::new("too few passes to tell whether it is stable") };
    // These flags mark disturbed passes that are too few to form a state.
    let has_outliers = [Flag::Drift, Flag::Remeasured].into_iter().any(|flag| value.flags.contains(flag));
    Sentence::new(match has_outliers {
        _ if value.flags.contains(Flag::Quota) => {
            "a CPU quota stopped the process while it was watched for {watched}"
        }
        true => "stable for {watched}; a few outlying passes were excluded",
        false => "stable for {watched}",
    })
    .with("watched", watched(watch))
}

fn stable_blocks(
    report: &RunReport,
    kernel: &KernelId,
    pair @ [a, b]: [CpuId; 2],
    value: &CellValue,
) -> Vec<Block<'static>> {
    let cell_source = Source::of_pair(kernel, pair);
    let passes = || Sentence::counted(value.passes.into(), cell_source("/passes"), ["pass", "passes"]);
    let basis = match value.passes {
        _ if value.latency_ns.is_sure() => {
            Sentence::new("95 % over {batches} and {passes}").with("passes", passes())
        }
        0 | 1 => Sentence::new("none: {batches} in one pass"),
        _ => Sentence::new("none: {batches} in {passes} are too few").with("passes", passes()),
    };
    let basis =
        basis.with("batches", Sentence::counted(value.batches, cell_source("/n"), ["batch", "batches"]));
    let point = |field, number| DisplayValue::bare(Number::Point(number), cell_source(field));
    let fastest = Sentence::new("fastest batch {min} ns").with("min", point("/min", value.min_ns));
    let cycles = value.cycles.get().zip(value.core_ghz.get()).map(|(cycles, ghz)| {
        Sentence::new("{cycles} core cycles at {ghz} GHz")
            .with("cycles", fmt::with_reach(cell_source("/cycles/median"), cycles))
            .with("ghz", point("/core_ghz", ghz))
    });
    let shares = Sentence::new("CPUs {a} and {b}: {shares}")
        .with("a", a)
        .with("b", b)
        .with("shares", Arg::Shared(Scope::from_relation(report.topology.relation(a, b), &report.topology)));
    let mut blocks = vec![
        Block::Fact("interval", Sentence::joined([basis, fastest].into_iter().chain(cycles), " · ")),
        Block::Fact("reported", shares),
    ];
    blocks.extend(value.home_penalty.get().map(|penalty| {
        let node = DisplayValue::bare(Number::Count(value.home.0.into()), cell_source("/home"));
        let sentence = Sentence::new("lines on the better node ({node}); {penalty} × as long on the other")
            .with("node", node)
            .with("penalty", point("/home_penalty", penalty));
        Block::Fact("memory", sentence)
    }));
    let of_reason = |key| if key == "passes" { cell_source("/passes") } else { Source::Unrecorded };
    blocks.extend(doubts(value, &of_reason).map(Block::Doubt));
    blocks
}

fn changing_blocks<'a>(report: &RunReport, pair: [CpuId; 2], watch: &'a StateWatch) -> Vec<Block<'a>> {
    let mut blocks = vec![
        Block::sketch(|style| plot(watch, style)),
        Block::Gap,
        Block::Table(state_table(watch)),
        Block::Gap,
        Block::Fact("states", changes(report, watch)),
    ];
    blocks.extend(
        topology_words(&report.topology, pair, watch).map(|sentence| Block::Fact("reported", sentence)),
    );
    blocks
}

fn changes(report: &RunReport, watch: &StateWatch) -> Sentence {
    let changes: u32 = watch.states.iter().map(|state| state.visits).sum::<u32>().saturating_sub(1);
    let how_often = match changes {
        0 | 1 => Sentence::new("once"),
        2 => Sentence::new("twice"),
        more => {
            let visits = Operation::Sum.on([Source::Field("/watch/states/*/visits".to_owned())]);
            let number = DisplayValue::bare(Number::Count(more.into()), visits.unlisted(1));
            Sentence::new("{number} times").with("number", number)
        }
    };
    let contrast = state_contrast(watch);
    let all_slowed = contrast.is_none_or(|contrast| contrast.slowed == contrast.kernels);
    let cause = match contrast {
        Some(contrast) if !all_slowed => {
            Sentence::new(", but only for {slowed} of {kernels} kinds of exchange")
                .with("slowed", DisplayValue::listed(contrast.slowed))
                .with("kernels", DisplayValue::listed(contrast.kernels))
        }
        _ if report.environment.hypervisor.is_some() || report.header.simulated => {
            Sentence::new(", as when a host moves vCPUs or shares their cores")
        }
        _ => Sentence::new(""),
    };
    let guest = match &report.environment.hypervisor {
        Some(_) => " · pinning inside the guest does not help",
        None => "",
    };
    Sentence::new("changed {how_often}{cause}{guest}")
        .with("how_often", how_often)
        .with("cause", cause)
        .with("guest", guest)
}

pub(super) fn levels(levels: &MovingLevels, pair: Option<[CpuId; 2]>) -> Sentence {
    let MovingLevels { usual, share, planned, fastest, .. } = *levels;
    let value = |number: Estimate, source| DisplayValue::bare(Number::Point(number.point), source);
    let end = |end: Operation| end.on([Source::Field(LEVELS.to_owned())]);
    let plan = value(planned, end(Operation::Most));
    let pair_sentence = match pair {
        Some([a, b]) => Sentence::new("between CPUs {a} and {b} ").with("a", a).with("b", b),
        None => Sentence::new(""),
    };
    let often = match share > 0.5 {
        true => Sentence::new("most of the time"),
        false => Sentence::new("{share} of the time").with(
            "share",
            DisplayValue::field("/watch/states/0/share", Number::Point(share)).in_unit(Unit::Share),
        ),
    };
    let usual = value(usual, Source::Field(LEVELS.replace('*', "0")));
    let other = match fmt::value(&usual) == fmt::value(&plan) {
        true => {
            Sentence::new("as little as {fastest}").with("fastest", value(fastest, end(Operation::Least)))
        }
        false => Sentence::new("up to {plan}").with("plan", plan.clone()),
    };
    Sentence::new("{usual} ns {whom}{often}, {other} otherwise: plan for {plan}")
        .with("usual", usual)
        .with("whom", pair_sentence)
        .with("often", often)
        .with("other", other)
        .with("plan", plan)
}

/// One row for each state, slowest first; time runs to the right. A glyph shows one pass: its height is the deviation
/// from the median of the state, ±8 % from bottom to top.
pub fn plot(watch: &StateWatch, style: &Style) -> Drawing {
    let mut rows: Vec<(usize, f64)> = watch
        .states
        .iter()
        .enumerate()
        .filter_map(|(index, state)| Some((index, first_kernel_ns(state)?.point)))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (Some(first), Some(last)) = (watch.line.first(), watch.line.last()) else {
        return Drawing::default();
    };
    let mut drawing = Drawing::default();
    // The letters are those of the table below, because another kernel may show different states than the drawn one.
    let mut label = |state: usize, level: f64| {
        let field = format!("/watch/states/{state}/kernels/0/median");
        let level = fmt::drawn(&mut drawing, DisplayValue::field(field, Number::Point(level)));
        format!("{} {}", letter(state), right(&level, 4))
    };
    let names: Vec<String> = rows.iter().map(|&(state, level)| label(state, level)).collect();
    let label_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(4);
    let plot_width = style.width.saturating_sub(label_width + 3).clamp(8, 160);
    let span = last.0.saturating_sub(first.0);
    let column = |at: Picos| {
        let passed = at.saturating_sub(first.0).0 as f64 / span.0.max(1) as f64;
        ((passed * plot_width as f64) as usize).min(plot_width - 1)
    };
    let unit = right("ns", label_width);
    let words = [unit.as_str()].into_iter().chain("half round trip; each character is one pass".split(' '));
    drawing.lines = flow(words, " ", style.width, label_width + 2);
    for ((state, level), name) in rows.iter().zip(&names) {
        let mut cells = vec![' '; plot_width];
        for &(at, value, pass_state) in &watch.line {
            if usize::from(pass_state) == *state {
                let deviation = (value / level - 1.0) / 0.08;
                let height = (4.0 + 4.0 * deviation).clamp(0.0, 7.0) as usize;
                cells[column(at)] = HEIGHTS[height];
            }
        }
        let row: String = cells.into_iter().collect();
        drawing.lines.push(format!("{} ┤{}", right(name, label_width), row.trim_end()));
    }
    drawing.lines.push(time_axis(span.secs(), plot_width, label_width));
    drawing.unit = "ns".to_owned();
    drawing
}

fn time_axis(seconds: f64, plot_width: usize, label_width: usize) -> String {
    let mut axis = vec![' '; plot_width];
    let mut write = |column: usize, text: &str| {
        for (cell, c) in axis.iter_mut().skip(column).zip(text.chars()) {
            *cell = c;
        }
    };
    let end = duration(seconds);
    let last = plot_width.saturating_sub(end.chars().count());
    write(last, &end);
    write(0, "0 s");
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0]
        .into_iter()
        .find(|step| step / seconds * plot_width as f64 >= 10.0);
    let mut at = step.unwrap_or(f64::INFINITY);
    while at < seconds {
        let column = (at / seconds * plot_width as f64) as usize;
        let text = fixed(at, 0);
        if column + text.len() + 2 <= last {
            write(column, &text);
        }
        at += step.unwrap_or(f64::INFINITY);
    }
    format!("{}  {}", " ".repeat(label_width), axis.into_iter().collect::<String>().trim_end())
}

fn state_table(watch: &StateWatch) -> Table {
    let mut kernels: Vec<&str> = Vec::new();
    for (kernel, _) in watch.states.iter().flat_map(|state| &state.kernels) {
        if !kernels.contains(&kernel.as_str()) {
            kernels.push(kernel.as_str());
        }
    }
    let mut columns = vec![Column::words("state")];
    columns.extend(["share of passes", "visits", "longest stay"].map(Column::numbers));
    let widths = (1..).map(|number| 46 + 16 * number);
    columns.extend(kernels.iter().zip(widths).map(|(kernel, least)| {
        Column::numbers(Sentence::new("{kernel} ns").with_name("kernel", kernel)).from_width(least)
    }));
    let rows = watch.states.iter().enumerate().map(|(index, state)| {
        let field = |key, number| DisplayValue::field(pointer!("/watch/states/{index}/{key}"), number);
        let mut row: Vec<Cell> = vec![
            Cell::name(&letter(index).to_string()),
            field("share", Number::Point(state.share)).in_unit(Unit::Share).into(),
            field("visits", Number::Count(state.visits.into())).into(),
            field("longest_s", Number::Duration(state.longest.secs())).into(),
        ];
        row.extend(kernels.iter().map(|kernel| {
            let of_kernel = state.kernels.iter().enumerate().find(|(_, (name, _))| name.as_str() == *kernel);
            of_kernel.map_or(Cell::Unknown, |(at, (_, latency))| {
                let path = pointer!("/watch/states/{index}/kernels/{at}/median");
                fmt::with_reach(Source::Field(path), *latency).into()
            })
        }));
        row
    });
    Table::new(columns).with(rows)
}

/// States the uncertainty, and a contradiction with the topology only if no known pair of the relation is so slow.
fn topology_words(topology: &Topology, [a, b]: [CpuId; 2], watch: &StateWatch) -> Option<Sentence> {
    let contrast = state_contrast(watch)?;
    let relation = topology.relation(a, b);
    let of_kernel = |at: usize| {
        let levels = Source::Field(pointer!("/watch/states/*/kernels/{at}/median"));
        let [slowest, fastest] = [Operation::Most, Operation::Least].map(|end| end.on([levels.clone()]));
        Operation::Ratio.on([slowest, fastest])
    };
    let kernels = watch.states.first().map_or(0, |state| state.kernels.len());
    let (source, note) = match contrast.of_headline {
        true => (of_kernel(0), ""),
        false => {
            let widest = Operation::Most.on((0..kernels).map(of_kernel).collect::<Vec<_>>());
            (widest, ", which the headline does not show")
        }
    };
    let differ = Sentence::new("cannot tell how they are connected: the states differ by {ratio} ×{of}")
        .with("ratio", DisplayValue::bare(Number::Short(contrast.ratio), source))
        .with("of", note);
    let Some(state) = contradicting_state(watch, relation) else { return Some(differ) };
    let subject = match topology.cpus().len() {
        2 => Sentence::new("both CPUs"),
        _ => Sentence::new("CPUs {a} and {b}").with("a", a).with("b", b),
    };
    let (reported, known) = match relation {
        Relation::SameCpu | Relation::Smt => ("one core", "no known threads of one core are this slow"),
        Relation::L2 => ("one L2", "no known cores of one L2 are this far apart"),
        Relation::Cluster => ("one cluster", "no known cores of one cluster are this far apart"),
        _ => ("one L3", "no known cores of one L3 are this far apart"),
    };
    let template =
        "{differ}. The system reports {reported} for {who}, and state {letter} contradicts it: {known}.";
    let sentence = Sentence::new(template)
        .with("differ", differ)
        .with("reported", reported)
        .with("who", subject)
        .with_name("letter", &letter(state).to_string())
        .with("known", known);
    Some(sentence)
}

/// Several pairs on a machine that changed its state: the number of changed pairs, the states, and what is unknown.
/// `measured` is the number of pairs with a value.
pub fn of_map<'a>(
    watch: &'a StateWatch,
    kernel: &KernelId,
    measured: u64,
    topology: &Topology,
) -> Vec<Block<'a>> {
    if watch.states.len() < 2 {
        return Vec::new();
    }
    let mut blocks = vec![Block::Fact("states", change_of_map(watch, kernel, measured))];
    if !levels_changed(watch) {
        return blocks;
    }
    // The time line shows the pair that changed most.
    if !watch.line.is_empty() {
        let pair_sentence = watch.pair.map_or(Sentence::new(""), |[a, b]| {
            Sentence::new(", CPU {a} ↔ CPU {b}").with("a", a).with("b", b)
        });
        blocks
            .push(Block::Prose(Sentence::new("The pair that changed most{who}:").with("who", pair_sentence)));
        blocks.push(Block::sketch(|style| plot(watch, style)));
    }
    blocks.push(Block::Table(state_table(watch)));
    blocks.extend(
        watch
            .pair
            .and_then(|pair| topology_words(topology, pair, watch))
            .map(|sentence| Block::Fact("reported", sentence)),
    );
    blocks
}

fn change_of_map(watch: &StateWatch, kernel: &KernelId, measured: u64) -> Sentence {
    let changed = (watch.cells_changed * measured as f64).round() as u64;
    let moved = Source::of_matrix(kernel, MatrixNumber::Moved);
    let all = Source::of_matrix(kernel, MatrixNumber::Pairs);
    let template = "{changed} of {pairs} changed {long}during the {watched} watched. Each cell shows its most frequent \
                    level; the others are in the JSON document.";
    Sentence::new(template)
        .with("changed", DisplayValue::bare(Number::Count(changed), moved))
        .with("pairs", Sentence::counted(measured, all, ["pair", "pairs"]))
        .with("long", if levels_changed(watch) { "" } else { "for a while " })
        .with("watched", watched(watch))
}

fn first_kernel_ns(state: &WatchedState) -> Option<Estimate> {
    state.kernels.first().map(|(_, latency)| *latency)
}

/// The value of a cell and half its interval; a value from few passes has no interval.
pub fn cell_interval(value: &CellValue, source: impl Fn(&'static str) -> Source) -> Sentence {
    let point = fmt::with_reach(source("/median"), value.latency_ns);
    let passes = match value.passes {
        _ if value.latency_ns.is_sure() => return point,
        0 | 1 => Sentence::new("one pass"),
        few => Sentence::new("{few} passes")
            .with("few", DisplayValue::bare(Number::Count(few.into()), source("/passes"))),
    };
    Sentence::new("{point}, {passes}, no interval").with("point", point).with("passes", passes)
}

/// The doubts about one value, in words.
pub fn doubts(value: &CellValue, source: Sources<'_>) -> Option<Sentence> {
    let flags = value.flags.iter().filter(|flag| flag.is_doubt()).map(|flag| Sentence::new(flag.name()));
    let flags: Vec<Sentence> = flags.collect();
    let reason =
        value.reason().map(|reason| Sentence::new(": {reason}").with("reason", reason.sentence(source)));
    let sentence =
        Sentence::new("grade {grade}, {flags}{reason}").with_name("grade", &value.grade.to_string());
    (!flags.is_empty()).then(|| {
        sentence.with("flags", Sentence::joined(flags, ", ")).with("reason", Sentence::joined(reason, ""))
    })
}
