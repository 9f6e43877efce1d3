//! Sentences about a run: its title, findings, doubts, and the commands to type next.

mod groups;
mod heading;

pub use self::groups::{Holding, groups, groups_alone};
pub use self::heading::{atomics, disturbance, emulation, heading, size, title, virtualization};

use super::facts::clause;
use super::fmt;
use super::heat_map::MapFormat;
use super::ladder::{kind_words, shared_words};
use super::scope::level_words;
use crate::blocks::value::{
    Arg, DisplayValue, MapSource, MatrixNumber, Number, Sentence, Source, Statistic, WideNumber, pointer,
};
use crate::blocks::{Block, Cell, Column, Table};
use crate::reasons::{Worded, unrecorded};
use coretalk_model::latency::summary::{ClassPair, Overall};
use coretalk_model::latency::{Counts, GateOutcome, LatencyMap, LatencySettings, MissingReason, Regime};
use coretalk_model::quantity::Unit;
use coretalk_model::run::RunReport;
use coretalk_model::stats::WIDEST_STATED;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Hint, KernelId, Level, Protocol, Relation, Scope, Topology, Verdict,
};

const SIMULATED: &str = "simulated";

/// The title of a map: question, quantity and kernel.
pub fn question_alone(map: &LatencyMap) -> Sentence {
    let what = match map.protocol {
        Protocol::Cas => "How long until another core gets my cache line: half round trip in ns, CAS",
        Protocol::Store => "How long until another core sees my store: half round trip in ns, load and store",
        Protocol::Msg => "How long until a message arrives: half round trip in ns, one mailbox line each way",
        Protocol::Xfer => "How long it takes to read a line that another core wrote: ns, no spinning",
        Protocol::OneWay => "How much a one-way time stamp lags behind the fastest: ns",
    };
    let hint = match (map.protocol.spins(), map.hint) {
        (true, Hint::Pause) => " with 1 pause",
        (true, Hint::None) => " without pause",
        (false, _) => "",
    };
    Sentence::new("{what}{hint}").with("what", what).with("hint", hint)
}

/// The number of pairs measured at the same time; `None` for two CPUs, which are one pair.
fn at_a_time(map: &LatencyMap) -> Option<Sentence> {
    match &map.regime {
        Regime::Serial if map.cells.len() <= 2 => None,
        Regime::Serial => Some(Sentence::new("one pair at a time")),
        Regime::Parallel { pairs, .. } => Some(pairs_at_once("up to {pairs} at once", *pairs)),
    }
}

pub(super) fn pairs_at_once(template: &'static str, pairs: u32) -> Sentence {
    Sentence::new(template)
        .with("pairs", Sentence::counted(pairs.into(), Source::Option("parallel"), ["pair", "pairs"]))
}

/// The question and the number of pairs measured at the same time, for a map without a legend.
pub fn question(map: &LatencyMap) -> Sentence {
    Sentence::joined([question_alone(map)].into_iter().chain(at_a_time(map)), ", ")
}

/// The meaning of a cell, and its precision.
pub fn legend(
    settings: &LatencySettings,
    topology: &Topology,
    map: &LatencyMap,
    threads_per_core: usize,
    format: MapFormat,
) -> Vec<Sentence> {
    let precision = settings.precision_of(map.protocol);
    let mut parts: Vec<Sentence> = at_a_time(map).into_iter().collect();
    if threads_per_core > 1 {
        parts.push(Sentence::new("cells: medians of thread pairs"));
        // A pixel or character combines several cores; its median is rarely a latency between threads of a core.
        if matches!(format, MapFormat::Parts { rows, columns, .. } if rows.max(columns) > 1) {
            parts.push(Sentence::new("threads of one core are not shown"));
        }
    }
    if let MapFormat::Parts { what, rows, columns } = format
        && rows > 1
    {
        parts.push(
            Sentence::new("each {what}: median of ≤ {rows} × {columns} cells")
                .with("what", what)
                .with("rows", DisplayValue::listed(rows))
                .with("columns", DisplayValue::listed(columns)),
        );
        parts.extend(hidden_levels(topology, rows, what));
    }
    // A pixel has no room for a mark, so doubtful pairs are counted below the picture.
    let marked = format == MapFormat::Numbers;
    parts.push(match settings.counts {
        Counts::Adaptive => {
            let all = coretalk_model::latency::summary::overall(map);
            let units = if map.needs_cycles(precision) { " in ns or cycles" } else { "" };
            let mark = match (marked, all.doubtful) {
                (_, 0) => "",
                (true, _) => "; !: may be wrong",
                (false, _) => "; pairs that may be wrong are counted below",
            };
            let source = MapSource::Kernel(map.kernel.to_string());
            let precision_source =
                if map.protocol.is_latency() { Source::Option("precision") } else { Source::Method };
            let precision =
                DisplayValue::bare(Number::Point(precision), precision_source).in_unit(Unit::Share);
            let widths = widths(precision, units, &all.wide, all.measured - all.doubtful, source);
            Sentence::new("{widths}{mark}").with("widths", widths).with("mark", mark)
        }
        Counts::Fixed { samples, iterations } => {
            let counted =
                |number: u32, option, words| Sentence::counted(number.into(), Source::Option(option), words);
            let doubtful =
                if marked { "!: may be wrong" } else { "pairs that may be wrong are counted below" };
            Sentence::new("fixed counts: {samples} of {trips}; {doubtful}")
                .with("samples", counted(samples, "samples", ["sample", "samples"]))
                .with("trips", counted(iterations, "iterations", ["round trip", "round trips"]))
                .with("doubtful", doubtful)
        }
    });
    parts
}

/// The requested half width, and the intervals wider than it: `±2 % at 95 % in ns, 3 of 6 up to ±4.1 %`.
pub fn widths(
    precision: DisplayValue,
    units: &'static str,
    wide: &[f64],
    sound: u64,
    map: MapSource,
) -> Sentence {
    let none = if wide.len() as u64 >= sound { "no cell is within " } else { "" };
    Sentence::new("{none}±{precision} at 95 %{scale}{wider}")
        .with("none", none)
        .with("precision", precision)
        .with("scale", units)
        .with("wider", wider(wide, sound, &map))
}

fn wider(wide: &[f64], sound: u64, map: &MapSource) -> Sentence {
    let source = |number| Source::Wide { map: map.clone(), number };
    let count = |count: u64, number| DisplayValue::bare(Number::Count(count), source(number));
    let (stated, rest): (Vec<f64>, Vec<f64>) = wide.iter().partition(|reach| **reach < WIDEST_STATED);
    let widest = stated.iter().copied().reduce(f64::max).map(|widest| {
        let widest = DisplayValue::bare(Number::Point(widest), source(WideNumber::Widest));
        Sentence::new(", {some} of {all} up to ±{widest}")
            .with("some", count(stated.len() as u64, WideNumber::Stated))
            .with("all", count(sound, WideNumber::Sound))
            .with("widest", widest.in_unit(Unit::Share))
    });
    let rest = (!rest.is_empty()).then(|| {
        Sentence::new(", {rest} too wide to state")
            .with("rest", count(rest.len() as u64, WideNumber::Unstated))
    });
    Sentence::joined(widest.into_iter().chain(rest), "")
}

fn hidden_levels(topology: &Topology, rows: usize, what: &'static str) -> Option<Sentence> {
    let hidden = |&level: &Level| {
        let groups = topology.level(level);
        let cores = |cpus: &CpuSet| topology.one_per_core(cpus).len();
        level > Level::Core && groups.len() > 1 && groups.iter().all(|group| cores(&group.cpus) < rows)
    };
    let levels: Vec<Sentence> = topology
        .levels()
        .into_iter()
        .filter(hidden)
        .map(|level| Sentence::new(level_words(level, 2)))
        .collect();
    (!levels.is_empty()).then(|| {
        Sentence::new("a {what} may contain several {levels}")
            .with("what", what)
            .with("levels", Sentence::joined(levels, " and "))
    })
}

/// Whether to show the median of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Middle {
    /// The median is shown.
    Shown,
    /// The median is left out: kinds of cores differ, and no number represents all pairs.
    LeftOut,
}

/// Minimum, median and maximum, with the CPUs of the extremes.
pub fn extremes(kernel: &KernelId, all: &Overall, middle: Middle) -> Block<'static> {
    let (Some(min), Some(max), Some(median)) = (all.min, all.max, all.median_ns) else {
        return Block::Prose(Sentence::new("No cell has a value."));
    };
    let value = |ns, of| DisplayValue::bare(Number::Point(ns), Source::of_matrix(kernel, of));
    let pair = |[a, b]: [CpuId; 2]| Sentence::new("(CPUs {a} and {b})").with("a", a).with("b", b);
    let middle = match middle {
        Middle::Shown => {
            Sentence::new(" · median {median}").with("median", value(median, MatrixNumber::Median))
        }
        Middle::LeftOut => Sentence::new(""),
    };
    let sentence = Sentence::new("min {low} {lows}{middle} · max {high} ns {highs} · {pairs}")
        .with("low", value(min.ns, MatrixNumber::Least(min.pair)))
        .with("lows", pair(min.pair))
        .with("middle", middle)
        .with("high", value(max.ns, MatrixNumber::Most(max.pair)))
        .with("highs", pair(max.pair))
        .with("pairs", pairs(kernel, all.measured, MatrixNumber::Pairs));
    Block::Fact("range", sentence)
}

fn pairs(kernel: &KernelId, number: u64, of: MatrixNumber) -> Sentence {
    Sentence::counted(number, Source::of_matrix(kernel, of), ["pair", "pairs"])
}

/// Compares the kinds of cores of a hybrid machine; no single number represents all of them.
pub fn class_table(map: &LatencyMap, classes: &[ClassPair], topology: &Topology) -> Table {
    let columns = [
        Column::words("core classes, ns"),
        Column::words("relation"),
        Column::numbers("pairs"),
        Column::numbers("median"),
        Column::numbers("range"),
    ];
    let rows = classes.iter().map(|pair| {
        let source = |statistic| Source::Pairs {
            map: MapSource::Kernel(map.kernel.to_string()),
            relation: pair.relation,
            classes: Some(pair.classes.clone()),
            statistic,
        };
        let value = |number, statistic| DisplayValue::bare(number, source(statistic));
        let range = match pair.pairs {
            1 => Cell::Blank,
            _ => fmt::span(pair.range_ns, [0.0, 1.0].map(|end| source(Statistic::Percentile(end)))).into(),
        };
        [
            Cell::name(&kind_words(&pair.classes)),
            shared_words(pair.relation, has_cluster(classes, pair), topology).into(),
            value(Number::Count(pair.pairs), Statistic::Count).into(),
            value(Number::Point(pair.median_ns), Statistic::Percentile(0.5)).into(),
            range,
        ]
    });
    Table::new(columns).with(rows)
}

fn has_cluster(classes: &[ClassPair], pair: &ClassPair) -> bool {
    classes.iter().any(|other| other.classes == pair.classes && other.relation == Relation::Cluster)
}

/// Cells without a value by reason, and doubtful cells by flag.
pub fn cell_doubts(kernel: &KernelId, all: &Overall) -> Vec<Block<'static>> {
    let missing = |(reason, cells): &(MissingReason, u64)| {
        Sentence::new("· {pairs} not measured: {reason}")
            .with("pairs", pairs(kernel, *cells, MatrixNumber::Missing(reason.text())))
            .with("reason", reason.sentence(&unrecorded))
    };
    let mut blocks: Vec<Block<'_>> = all.missing.iter().take(3).map(missing).map(Block::Remark).collect();
    if all.missing.len() > 3 {
        let rest = all.missing[3..].iter().map(|(_, cells)| cells).sum();
        let rest = Sentence::counted(rest, Source::Listed, ["pair", "pairs"]);
        let rest = Sentence::new("· {rest} not measured for other reasons").with("rest", rest);
        blocks.push(Block::Remark(rest));
    }
    if all.doubtful > 0 {
        let flags = all.doubts.iter().map(|(flag, cells)| {
            Sentence::new("{flag} {pairs}")
                .with("flag", flag.name())
                .with("pairs", pairs(kernel, *cells, MatrixNumber::Flagged(flag.name())))
        });
        let doubtful = Source::of_matrix(kernel, MatrixNumber::Doubtful);
        let sentence = Sentence::new("{doubtful} of {pairs} may be wrong: {flags}")
            .with("doubtful", DisplayValue::bare(Number::Count(all.doubtful), doubtful))
            .with("pairs", pairs(kernel, all.measured, MatrixNumber::Pairs))
            .with("flags", Sentence::joined(flags, ", "));
        blocks.push(Block::Doubt(sentence));
    }
    blocks
}

/// The worst doubt about the machine, with its remedy. `doctor` lists all doubts.
pub fn doubt(report: &RunReport) -> Option<Block<'static>> {
    // The title already states that a machine is simulated.
    let is_in_title = |finding: &DoctorFinding| report.header.simulated && finding.id == SIMULATED;
    let mut doubts: Vec<&DoctorFinding> = report
        .doctor
        .iter()
        .filter(|finding| finding.verdict >= Verdict::Warn && !is_in_title(finding))
        .collect();
    doubts.sort_by_key(|finding| std::cmp::Reverse((finding.verdict, finding.fix.is_some())));
    let (worst, rest) = doubts.split_first()?;
    let fix = worst
        .fix
        .as_ref()
        .map_or(Sentence::new(""), |fix| Sentence::new(" · fix: {fix}").with_name("fix", fix));
    let more = match (rest.len(), report.header.simulated) {
        (0, _) => Sentence::new(""),
        (_, true) => Sentence::new(" · {more} more"),
        (_, false) => Sentence::new(" · {more} more: coretalk doctor"),
    };
    let sentence = Sentence::new("{text}{fix}{more}").with("text", clause(&report.doctor, worst));
    Some(Block::Doubt(
        sentence.with("fix", fix).with("more", more.with("more", DisplayValue::listed(rest.len()))),
    ))
}

/// The isolated CPUs that this run left out, and the command that measures them.
pub fn isolated(report: &RunReport) -> Option<Block<'static>> {
    let measured: CpuSet = report.cpus().into_iter().collect();
    let left_out = report.environment.isolated.difference(&measured);
    let template = match left_out.len() {
        0 => return None,
        1 => "CPU {cpus} is isolated and was left out; to measure it: coretalk latency --cpus LIST",
        _ => "CPUs {cpus} are isolated and were left out: coretalk latency --cpus {cpus}",
    };
    Some(Block::Prose(Sentence::new(template).with("cpus", left_out)))
}

/// The latency of pairs measured in parallel compared with pairs measured alone. `at` is the index of the matrix in the
/// document; `margin` is the allowed bias.
pub fn regime(regime: &Regime, at: usize, margin: f64, topology: &Topology) -> Option<Block<'static>> {
    let Regime::Parallel { gate, .. } = regime else { return None };
    let part = |(index, outcome): (usize, &GateOutcome)| {
        let field =
            |key: &str, number| DisplayValue::field(pointer!("/matrices/{at}/gate/{index}/{key}"), number);
        let bias = || field("bias", Number::Difference(outcome.bias.point));
        let margin = DisplayValue::bare(Number::Point(margin), Source::Method).in_unit(Unit::Share);
        let within = Sentence::new("proven within ±{margin}").with("margin", margin);
        let verdict = match outcome {
            outcome if !outcome.is_compared() => Sentence::new("not compared with serial"),
            outcome if outcome.equivalent => {
                Sentence::new("{bias} vs. serial, {within}").with("bias", bias()).with("within", within)
            }
            _ => Sentence::new("{bias} ({low} to {high}) vs. serial, not {within}")
                .with("bias", bias())
                .with("low", field("ci/0", Number::Difference(outcome.bias.low)))
                .with("high", field("ci/1", Number::Difference(outcome.bias.high)))
                .with("within", within),
        };
        let pairs = Source::Field(pointer!("/matrices/{at}/gate/{index}/pairs"));
        Sentence::new("{relation} {verdict}, {pairs} at once")
            .with("relation", Arg::Shared(Scope::from_relation(outcome.relation, topology)))
            .with("verdict", verdict)
            .with("pairs", Sentence::counted(outcome.pairs.into(), pairs, ["pair", "pairs"]))
    };
    let parts = gate.iter().enumerate().map(part);
    (!gate.is_empty()).then(|| Block::Fact("parallel", Sentence::joined(parts, " · ")))
}

#[cfg(test)]
mod tests {
    use super::{DisplayValue, MapSource, Number, Source, Unit, fmt, regime, widths};
    use crate::Style;
    use crate::render::terminal;
    use coretalk_model::latency::{GateOutcome, Regime};
    use coretalk_model::{Relation, Topology};

    #[test]
    fn regimes_without_serial_comparison_have_no_percentage() {
        for cells in [0, 3] {
            let (relation, bias) = (Relation::L3, GateOutcome::UNKNOWN);
            let outcome = GateOutcome { relation, pairs: 2, bias, cells, equivalent: false };
            let parallel = Regime::Parallel { pairs: 2, gate: vec![outcome] };
            let block = regime(&parallel, 0, 0.01, &Topology::flat("0-3".parse().unwrap())).unwrap();
            let text = terminal::screen(&[block], &Style::of_width(120));
            assert!(text.contains("not compared with serial") && !text.contains('%'), "{text}");
        }
    }

    #[test]
    fn legend_widths_omit_unstatable_intervals() {
        let precision =
            || DisplayValue::bare(Number::Point(0.02), Source::Option("precision")).in_unit(Unit::Share);
        let text =
            |wide: &[f64], sound| fmt::sentence(&widths(precision(), "", wide, sound, MapSource::Queues));
        assert_eq!(text(&[], 6), "±2 % at 95 %");
        assert_eq!(text(&[0.03, 0.041], 6), "±2 % at 95 %, 2 of 6 up to ±4.1 %");
        assert_eq!(text(&[0.03, 13.11, 4.8], 50), "±2 % at 95 %, 2 of 50 up to ±480 %, 1 too wide to state");
        assert_eq!(text(&[13.11], 50), "±2 % at 95 %, 1 too wide to state");
        assert_eq!(text(&[0.03, 0.5], 2), "no cell is within ±2 % at 95 %, 2 of 2 up to ±50 %");
        assert_eq!(text(&[], 0), "no cell is within ±2 % at 95 %");
    }
}
