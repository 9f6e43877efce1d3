//! Sentences about a run: what it is, what it found, what to doubt, what to type next.

mod groups;
mod heading;

pub use self::groups::{Holding, groups, groups_alone};
pub use self::heading::{atomics, disturbance, emulation, heading, size, title, virtualization};

use super::heat_map::MapFormat;
use super::ladder::{kind_words, level_words, relation_words, shared_words};
use super::text::{count, grouped, ns, percent, plain, short_ns, signed_percent};
use crate::RunReport;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::latency::summary::{ClassPair, Overall};
use coretalk_model::latency::{Counts, LatencyMap, LatencySettings, Regime};
use coretalk_model::stats::WIDEST_STATED;
use coretalk_model::{CpuSet, DoctorFinding, Hint, Level, Protocol, Relation, Topology, Verdict};

/// The finding that a machine is simulated.
const SIMULATED: &str = "simulated";

/// `= 0.0020`, `< 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

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

/// Minimum, median, mean and maximum with the CPUs of the extremes.
pub fn extremes(all: &Overall, middle: Middle) -> Block<'static> {
    let (Some(min), Some(max), Some(median)) = (all.min, all.max, all.median_ns) else {
        return Block::Prose("No cell has a value.".to_owned().into());
    };
    let pair = |[a, b]: [coretalk_model::CpuId; 2]| format!("(CPUs {a} and {b})");
    let (low, high) =
        (format!("{} {}", ns(min.ns), pair(min.pair)), format!("{} ns {}", ns(max.ns), pair(max.pair)));
    let pairs = count(all.measured, "pair");
    let text = match middle {
        Middle::Shown => {
            format!("min {low} · median {} · max {high} · {pairs}", ns(median))
        }
        Middle::LeftOut => format!("min {low} · max {high} · {pairs}"),
    };
    Block::Fact("range", text.into())
}

/// The kinds of cores of a hybrid machine against each other: never one number for all.
pub fn class_table(classes: &[ClassPair], topology: &Topology) -> Table {
    let columns = [
        Column::words("core classes, ns"),
        Column::words("relation"),
        Column::numbers("pairs"),
        Column::numbers("median"),
        Column::numbers("range"),
    ];
    let rows = classes.iter().map(|pair| {
        let range = match pair.pairs {
            1 => Cell::Blank,
            _ => format!("{}–{}", short_ns(pair.range_ns[0]), short_ns(pair.range_ns[1])).into(),
        };
        [
            kind_words(&pair.classes).into(),
            shared_words(pair.relation, clustered(classes, pair), topology).into(),
            pair.pairs.to_string().into(),
            ns(pair.median_ns).into(),
            range,
        ]
    });
    Table::new(columns).with(rows)
}

fn clustered(classes: &[ClassPair], pair: &ClassPair) -> bool {
    classes.iter().any(|other| other.classes == pair.classes && other.relation == Relation::Cluster)
}

/// Cells without a value by reason, and cells with a doubt by flag.
pub fn cell_doubts(all: &Overall) -> Vec<Block<'static>> {
    let told = all.missing.iter().take(3);
    let mut missing: Vec<String> = told
        .map(|(reason, cells)| format!("· {} not measured: {}", count(*cells, "pair"), plain(reason)))
        .collect();
    if all.missing.len() > 3 {
        let rest: u64 = all.missing[3..].iter().map(|(_, cells)| cells).sum();
        missing.push(format!("· {} not measured for other reasons", count(rest, "pair")));
    }
    let mut blocks: Vec<Block<'_>> = missing.into_iter().map(|text| Block::Remark(text.into())).collect();
    if all.doubtful > 0 {
        let flags: Vec<String> = all
            .doubts
            .iter()
            .map(|(flag, cells)| format!("{} {}", flag.name(), count(*cells, "pair")))
            .collect();
        blocks.push(Block::Doubt(
            format!(
                "{} of {} may be wrong: {}",
                grouped(all.doubtful as i64),
                count(all.measured, "pair"),
                flags.join(", ")
            )
            .into(),
        ));
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

/// What the equivalence gate said, where pairs ran at the same time; `margin` is what it allowed.
pub fn regime(regime: &Regime, margin: f64, topology: &Topology) -> Option<Block<'static>> {
    let Regime::Parallel { gate, .. } = regime else { return None };
    let within = format!("proven within ±{}", percent(margin));
    let parts: Vec<String> = gate
        .iter()
        .map(|outcome| {
            let [bias, low, high] = [outcome.bias.point, outcome.bias.low, outcome.bias.high]
                .map(|it| signed_percent(100.0 * it));
            let verdict = match outcome {
                outcome if !outcome.is_compared() => "not compared with serial".to_owned(),
                outcome if outcome.equivalent => format!("{bias} vs. serial, {within}"),
                _ => format!("{bias} ({low} to {high}) vs. serial, not {within}"),
            };
            let pairs = count(u64::from(outcome.pairs), "pair");
            format!("{} {verdict}, {pairs} at once", relation_words(outcome.relation, topology))
        })
        .collect();
    (!parts.is_empty()).then(|| Block::Fact("parallel", parts.join(" · ").into()))
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
            let block = regime(&parallel, 0.01, &Topology::flat("0-3".parse().unwrap())).unwrap();
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
