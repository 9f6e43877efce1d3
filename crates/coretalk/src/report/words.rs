//! Sentences about a run: what it is, what it found, what to doubt, what to type next.

mod groups;
mod heading;

pub use self::groups::{Holding, groups, groups_alone};
pub use self::heading::{atomics, disturbance, emulation, heading, size, title, virtualization};

use super::fmt;
use super::heat_map::MapFormat;
use super::ladder::{kind_words, shared_words};
use super::scope::level_words;
use super::text::{count, grouped, percent, plain};
use crate::RunReport;
use crate::blocks::value::{Arg, DisplayValue, MatrixNumber, Number, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::latency::summary::{ClassPair, Overall};
use coretalk_model::latency::{Counts, GateOutcome, LatencyMap, LatencySettings, Regime};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::WIDEST_STATED;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Hint, KernelId, Level, Protocol, Relation, Scope, Topology, Verdict,
};

/// The finding that a machine is simulated.
const SIMULATED: &str = "simulated";

/// What a map shows: the question, the quantity, the code and the regime.
pub fn question_alone(map: &LatencyMap) -> String {
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
    format!("{what}{hint}")
}

/// How many pairs were measured at a time; nothing of two CPUs, whose pair has none beside it.
fn at_a_time(map: &LatencyMap) -> Option<String> {
    match &map.regime {
        Regime::Serial if map.cells.len() <= 2 => None,
        Regime::Serial => Some("one pair at a time".to_owned()),
        Regime::Parallel { pairs, .. } => {
            Some(format!("up to {} at the same time", count(u64::from(*pairs), "pair")))
        }
    }
}

/// The question and how it was asked, where no legend says that.
pub fn question(map: &LatencyMap) -> String {
    [Some(question_alone(map)), at_a_time(map)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a cell is, and how exact.
pub fn legend(
    settings: &LatencySettings,
    topology: &Topology,
    map: &LatencyMap,
    threads_per_core: usize,
    format: MapFormat,
) -> Vec<String> {
    let precision = settings.precision_of(map.protocol);
    let mut parts: Vec<String> = at_a_time(map).into_iter().collect();
    if threads_per_core > 1 {
        parts.push("each cell: median over the thread pairs of two cores".to_owned());
        // A part holds several cores, and the reading in its middle is hardly ever one between threads.
        parts.push(match format {
            MapFormat::Parts { rows, columns, .. } if rows.max(columns) > 1 => {
                "threads of one core are not shown".to_owned()
            }
            _ => "diagonal: the threads of one core".to_owned(),
        });
    }
    if let MapFormat::Parts { what, rows, columns } = format
        && rows > 1
    {
        parts.push(format!("each {what} shows the middle one of up to {rows} × {columns} cells"));
        parts.extend(hidden_words(topology, rows, what));
    }
    // A pixel has no room for a mark: doubtful pairs are counted in words below the picture.
    let marked = format == MapFormat::Numbers;
    parts.push(match settings.counts {
        Counts::Adaptive => {
            let all = coretalk_model::latency::summary::overall(map);
            let of = if map.needs_cycles(precision) { " in ns or core cycles" } else { "" };
            let mark = match (marked, all.doubtful) {
                (_, 0) => "",
                (true, _) => "; !: may be wrong",
                (false, _) => "; pairs that may be wrong are counted below",
            };
            format!("{}{mark}", widths(precision, of, &all.wide, all.measured - all.doubtful))
        }
        Counts::Fixed { samples, iterations } => {
            let (samples, trips) = (count(samples.into(), "sample"), count(iterations.into(), "round trip"));
            let doubtful =
                if marked { "!: may be wrong" } else { "pairs that may be wrong are counted below" };
            format!("fixed counts: {samples} of {trips}; {doubtful}")
        }
    });
    parts
}

/// `±2 % at 95 % in ns, 3 of 6 up to ±4.1 %`: what was asked for, where `wide` of so many sound cells reach further. A
/// heading that none of them keeps says so; so does one above cells that may all be wrong.
pub fn widths(precision: f64, scale: &str, wide: &[f64], sound: u64) -> String {
    let none = if wide.len() as u64 >= sound { "no cell is within " } else { "" };
    format!("{none}±{} at 95 %{scale}{}", percent(precision), wider(wide, sound))
}

/// `, 3 of 6 up to ±4.1 %, 1 too wide to state`: how many intervals reach further than asked for, and the furthest that
/// says something; empty where none does.
fn wider(wide: &[f64], of: u64) -> String {
    let (stated, rest): (Vec<f64>, Vec<f64>) = wide.iter().partition(|reach| **reach < WIDEST_STATED);
    let furthest = stated.iter().copied().reduce(f64::max);
    let some = grouped(stated.len() as i64);
    let stated =
        furthest.map(|furthest| format!(", {some} of {} up to ±{}", grouped(of as i64), percent(furthest)));
    let rest = (!rest.is_empty()).then(|| format!(", {} too wide to state", grouped(rest.len() as i64)));
    [stated, rest].into_iter().flatten().collect()
}

/// The reported levels whose groups are so small that no pixel shows what is inside one.
fn hidden_words(topology: &Topology, rows: usize, what: &str) -> Option<String> {
    let hidden = |&level: &Level| {
        let groups = topology.level(level);
        let cores = |cpus: &CpuSet| topology.one_per_core(cpus).len();
        level > Level::Core && groups.len() > 1 && groups.iter().all(|group| cores(&group.cpus) < rows)
    };
    let levels: Vec<&str> =
        topology.levels().into_iter().filter(hidden).map(|level| level_words(level, 2)).collect();
    (!levels.is_empty()).then(|| format!("a {what} may contain several {}", levels.join(" and ")))
}

/// Whether a map has one middle worth telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Middle {
    /// Mean and median are told.
    Shown,
    /// Kinds of cores differ: no number stands for all.
    LeftOut,
}

/// Minimum, median and maximum with the CPUs of the extremes.
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
    let said = Sentence::new("min {low} {lows}{middle} · max {high} ns {highs} · {pairs}")
        .with("low", value(min.ns, MatrixNumber::Least(min.pair)))
        .with("lows", pair(min.pair))
        .with("middle", middle)
        .with("high", value(max.ns, MatrixNumber::Most(max.pair)))
        .with("highs", pair(max.pair))
        .with("pairs", pairs(kernel, all.measured, MatrixNumber::Pairs));
    Block::Fact("range", said)
}

/// `3 pairs` of a matrix.
fn pairs(kernel: &KernelId, number: u64, of: MatrixNumber) -> Sentence {
    Sentence::counted(number, Source::of_matrix(kernel, of), ["pair", "pairs"])
}

/// The kinds of cores of a hybrid machine against each other: never one number for all.
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
            kernel: map.kernel.to_string(),
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
            Sentence::new("{kinds}").with_name("kinds", &kind_words(&pair.classes)).into(),
            shared_words(pair.relation, clustered(classes, pair), topology).into(),
            value(Number::Count(pair.pairs), Statistic::Count).into(),
            value(Number::Point(pair.median_ns), Statistic::Percentile(0.5)).into(),
            range,
        ]
    });
    Table::new(columns).with(rows)
}

fn clustered(classes: &[ClassPair], pair: &ClassPair) -> bool {
    classes.iter().any(|other| other.classes == pair.classes && other.relation == Relation::Cluster)
}

/// Cells without a value by reason, and cells with a doubt by flag.
pub fn cell_doubts(kernel: &KernelId, all: &Overall) -> Vec<Block<'static>> {
    let missing = |(reason, cells): &(String, u64)| {
        Sentence::new("· {pairs} not measured: {reason}")
            .with("pairs", pairs(kernel, *cells, MatrixNumber::Missing(reason.clone())))
            .with_name("reason", reason)
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
        let said = Sentence::new("{doubtful} of {pairs} may be wrong: {flags}")
            .with("doubtful", DisplayValue::bare(Number::Count(all.doubtful), doubtful))
            .with("pairs", pairs(kernel, all.measured, MatrixNumber::Pairs))
            .with("flags", Sentence::joined(flags, ", "));
        blocks.push(Block::Doubt(said));
    }
    blocks
}

/// The gravest doubt about the machine with its fix; more are left to `doctor`.
pub fn doubt(report: &RunReport) -> Option<Block<'static>> {
    // The title says of a simulated machine that it is one.
    let is_said = |finding: &DoctorFinding| report.header.simulated && finding.id == SIMULATED;
    let mut doubts: Vec<&DoctorFinding> = report
        .doctor
        .iter()
        .filter(|finding| finding.verdict >= Verdict::Warn && !is_said(finding))
        .collect();
    // Stable: among equals the first check stands first.
    doubts.sort_by_key(|finding| std::cmp::Reverse((finding.verdict, finding.fix.is_some())));
    let (worst, rest) = doubts.split_first()?;
    let mut text = plain(&worst.text).trim_end_matches('.').to_owned();
    if let Some(fix) = &worst.fix {
        text.push_str(&format!(" · fix: {}", plain(fix)));
    }
    if !rest.is_empty() {
        let command = if report.header.simulated { "" } else { ": coretalk doctor" };
        text.push_str(&format!(" · {} more{command}", rest.len()));
    }
    Some(Block::Doubt(text.into()))
}

/// CPUs that the scheduler leaves alone and that this run left out: the command that measures them.
pub fn isolated(report: &RunReport) -> Option<Block<'static>> {
    let measured: CpuSet = report.cpus().into_iter().collect();
    let left_out = report.environment.isolated.difference(&measured);
    let text = match left_out.len() {
        0 => return None,
        1 => format!(
            "CPU {left_out} is isolated and was left out; to measure it: coretalk latency --cpus LIST"
        ),
        _ => format!("CPUs {left_out} are isolated and were left out: coretalk latency --cpus {left_out}"),
    };
    Some(Block::Prose(text.into()))
}

/// What the equivalence gate said of the matrix at this place in the document, where pairs ran at the same time; `margin`
/// is what it allowed.
pub fn regime(regime: &Regime, at: usize, margin: f64, topology: &Topology) -> Option<Block<'static>> {
    let Regime::Parallel { gate, .. } = regime else { return None };
    let part = |(index, outcome): (usize, &GateOutcome)| {
        let field =
            |key: &str, number| DisplayValue::field(format!("/matrices/{at}/gate/{index}/{key}"), number);
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
        let pairs = Source::Field(format!("/matrices/{at}/gate/{index}/pairs"));
        Sentence::new("{relation} {verdict}, {pairs} at once")
            .with("relation", Arg::Shared(Scope::of(outcome.relation, topology)))
            .with("verdict", verdict)
            .with("pairs", Sentence::counted(outcome.pairs.into(), pairs, ["pair", "pairs"]))
    };
    let parts = gate.iter().enumerate().map(part);
    (!gate.is_empty()).then(|| Block::Fact("parallel", Sentence::joined(parts, " · ")))
}

#[cfg(test)]
mod tests {
    use super::{regime, wider, widths};
    use crate::render::terminal;
    use crate::report::Style;
    use coretalk_model::latency::{GateOutcome, Regime};
    use coretalk_model::{Relation, Topology};

    #[test]
    fn what_was_not_compared_with_serial_has_no_percentage() {
        let outcome = |cells| GateOutcome {
            relation: Relation::L3,
            pairs: 2,
            bias: GateOutcome::UNKNOWN,
            cells,
            equivalent: false,
        };
        for cells in [0, 3] {
            let parallel = Regime::Parallel { pairs: 2, gate: vec![outcome(cells)] };
            let block = regime(&parallel, 0, 0.01, &Topology::flat("0-3".parse().unwrap())).unwrap();
            let text = terminal::screen(&[block], &Style::of_width(120));
            assert!(text.contains("not compared with serial") && !text.contains('%'), "{text}");
        }
    }

    #[test]
    fn a_legend_states_no_width_that_a_table_does_not() {
        assert_eq!(wider(&[], 6), "");
        assert_eq!(wider(&[0.03, 0.041], 6), ", 2 of 6 up to ±4.1 %");
        assert_eq!(wider(&[0.03, 13.11, 4.8], 50), ", 2 of 50 up to ±480 %, 1 too wide to state");
        assert_eq!(wider(&[13.11], 50), ", 1 too wide to state");
        assert_eq!(widths(0.02, " in ns", &[0.03], 6), "±2 % at 95 % in ns, 1 of 6 up to ±3 %");
        assert_eq!(widths(0.02, "", &[0.03, 0.5], 2), "no cell is within ±2 % at 95 %, 2 of 2 up to ±50 %");
        assert_eq!(widths(0.02, "", &[], 0), "no cell is within ±2 % at 95 %");
    }
}
