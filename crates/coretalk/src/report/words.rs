//! Sentences about a run: what it is, what it found, what to doubt, what to type next.

use super::heat_map::MapFormat;
use super::ladder::{kind_words, level_words, relation_words, shared_words};
use super::saved::Screen;
use super::text::{count, duration, grouped, ns, percent, plain, short_ns, signed_percent, started};
use crate::RunReport;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::environment::{Atomics, Virtualization, hypervisor_words};
use coretalk_model::latency::summary::{ClassPair, Contrast, Overall};
use coretalk_model::latency::{Counts, LatencyMap, LatencySettings, Regime};
use coretalk_model::stats::Estimate;
use coretalk_model::stats::gaps::{GapRule, ValueGroup, value_groups};
use coretalk_model::{CpuSet, Environment, Finding, Hint, Level, Protocol, Relation, Topology, Verdict};

/// A level shows where the way out costs at least this much more than staying inside. Below, the difference is of the
/// size of the spread between cells of one relation.
pub(super) const VISIBLE_CONTRAST: f64 = 1.15;

/// The finding that a machine is simulated.
const SIMULATED: &str = "simulated";

/// `= 0.0020`, `< 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

/// What was measured: tool, machine, size, system, time.
pub fn title(report: &RunReport) -> Vec<String> {
    let environment = &report.environment;
    let mut parts: Vec<String> = Vec::new();
    if report.header.simulated {
        parts.push(format!("SIMULATED {}", plain(environment.simulated.as_deref().unwrap_or("machine"))));
    }
    parts.extend(environment.label.as_deref().map(plain));
    let model = environment.cpu_model.as_deref();
    // A scenario names its CPU after itself; once is enough.
    if !report.header.simulated || model.is_some_and(|model| !model.starts_with("simulated ")) {
        parts.push(model.map_or("unknown CPU".into(), short_model));
    }
    parts.push(size(&report.topology));
    if !report.header.simulated {
        parts.push(virtualization(environment));
        parts.extend(environment.atomics.map(atomics).map(str::to_owned));
        parts.extend(environment.kernel.as_deref().map(plain));
    }
    // A run of series says with each number from how many events it is.
    let watched = report.latency.as_ref().map(|latency| latency.result.watched.secs());
    parts.extend(watched.map(|secs| format!("watched for {}", duration(secs))));
    parts.push(format!("coretalk {}", plain(&report.header.tool_version)));
    parts
}

/// The name of a CPU as people say it: without marks of ownership, its number of cores, which stands beside it, and its
/// nominal clock, which is not the one that it has.
fn short_model(model: &str) -> String {
    let mut name = plain(model);
    ["(R)", "(r)", "(TM)", "(tm)"].iter().for_each(|mark| name = name.replace(mark, ""));
    if let Some(at) = name.find(" @ ") {
        name.truncate(at);
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_told = |word: &&&str| !matches!(**word, "CPU" | "Processor") && !word.ends_with("-Core");
    let told: Vec<&str> = words.iter().filter(is_told).copied().collect();
    if told.is_empty() { name } else { told.join(" ") }
}

/// How every screen of a run begins: what disturbed it, its title, and of a run from a file when it was measured.
pub fn heading(report: &RunReport, screen: Screen<'_>) -> Vec<Block<'static>> {
    // Whoever reads one line more has to know it.
    let disturbed = disturbance(&report.environment).map(|disturbed| {
        let again = match report.environment.disturbance() {
            Some(_) => "on an idle machine",
            None => "with a larger CPU quota",
        };
        Block::Headline(format!("{disturbed}; numbers may be wrong: measure again {again}"))
    });
    let mut blocks: Vec<Block<'_>> = disturbed.into_iter().chain([Block::Title(title(report))]).collect();
    if let Screen::Shown(_) | Screen::Whole(_) = screen {
        blocks.push(Block::Question(format!("measured {}", started(&report.header.started))));
    }
    blocks
}

/// What other programs or a CPU quota did to a run, where that casts doubt on it.
pub fn disturbance(environment: &Environment) -> Option<String> {
    let others = environment.disturbance();
    let others = others.map(|share| format!("other programs took {} of the CPUs", percent(share)));
    let quota = environment.throttled.filter(|throttled| throttled.times > 0).map(|throttled| {
        let long =
            throttled.seconds.map_or(String::new(), |seconds| format!(", {} in all", duration(seconds)));
        let from = throttled.from_s.filter(|from_s| *from_s >= 1.0);
        let from = from.map_or(String::new(), |from_s| format!(", from {} on", duration(from_s)));
        format!("the CPU quota stopped this process {}{long}{from}", times(throttled.times))
    });
    let parts: Vec<String> = others.into_iter().chain(quota).collect();
    (!parts.is_empty()).then(|| format!("disturbed: {}", parts.join("; ")))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count as i64)) }
}

/// What the system stands on: only what there is evidence of.
pub fn virtualization(environment: &Environment) -> String {
    match environment.virtualization() {
        Virtualization::Guest(hypervisor) => format!("guest of {}", plain(hypervisor_words(hypervisor))),
        Virtualization::Emulated(by) => format!("emulated by {}", plain(by)),
        Virtualization::BareMetal => "bare metal".to_owned(),
        Virtualization::Unknown => "hypervisor unknown".to_owned(),
    }
}

/// How a compare-and-swap is executed, which its time depends on.
pub fn atomics(atomics: Atomics) -> &'static str {
    match atomics {
        Atomics::Lse => "LSE atomics",
        Atomics::LlSc => "LL/SC atomics",
    }
}

/// `16 cores, 32 CPUs, 2 L3`: what the system reports, and only that.
pub fn size(topology: &Topology) -> String {
    let number = |level| topology.level(level).len();
    let cpus = topology.cpus().len();
    let cores = number(Level::Core);
    let mut parts = Vec::new();
    if cores > 0 && cores < cpus {
        parts.push(count(cores as u64, "core"));
    }
    parts.push(count(cpus as u64, "CPU"));
    for level in [Level::L3, Level::Node, Level::Package] {
        let groups = number(level);
        if groups > 1 {
            parts.push(format!("{groups} {}", level_words(level, groups)));
        }
    }
    parts.join(", ")
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
        parts.push("diagonal: the threads of one core".to_owned());
    }
    if let MapFormat::Pixels { rows, columns } = format
        && rows > 1
    {
        let what = if rows == columns { "pixel" } else { "character" };
        parts.push(format!("each {what} is the median of up to {rows} × {columns} cells"));
        parts.extend(hidden_words(topology, rows, what));
    }
    // A pixel has no room for a mark: doubtful pairs are counted in words below the picture.
    let marked = format == MapFormat::Numbers;
    parts.push(match settings.counts {
        Counts::Adaptive => {
            let doubtful = coretalk_model::latency::summary::overall(map).doubtful > 0;
            let but = match (marked, doubtful) {
                (true, _) => " unless marked !",
                (false, true) => " except doubtful pairs, counted below",
                (false, false) => "",
            };
            let of = if map.needs_cycles(precision) { " in ns or core cycles" } else { "" };
            format!("±{} at 95 %{of}{but}", percent(precision))
        }
        Counts::Fixed { samples, iterations } => {
            let (samples, trips) = (count(samples.into(), "sample"), count(iterations.into(), "round trip"));
            let doubtful = if marked { "! marks doubtful pairs" } else { "doubtful pairs are counted below" };
            format!("fixed counts: {samples} of {trips}; {doubtful}")
        }
    });
    parts
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
        return Block::Prose("No cell has a value.".to_owned());
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
    Block::Fact("range", text)
}

/// Whether the cells kept their levels while they were watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// None is known to have changed.
    Still,
    /// Some changed: what a value shows of a group may be gone with the next state.
    Changed,
}

/// Groups as the system reports them, and nothing else.
pub fn groups_alone(contrasts: &[Contrast]) -> Vec<String> {
    contrasts.iter().map(contrast_groups).collect()
}

/// Groups as the system reports them, with what staying inside gains; or, where it reports none, values only. Where
/// cells changed their level, values only, and no verdict on the groups: what the states contradict stands with them.
pub fn groups(
    all: &Overall,
    contrasts: &[Contrast],
    topology: &Topology,
    holding: Holding,
    apart: Option<Level>,
    by_distance: Option<Estimate>,
) -> Vec<String> {
    let words = match holding {
        Holding::Still => contrast_words,
        Holding::Changed => contrast_values,
    };
    if all.measured < 2 || !contrasts.is_empty() || holding == Holding::Changed {
        return contrasts.iter().map(words).collect();
    }
    // Threads of a core are a reported group too: what they explain is not left to the values.
    let found = value_groups(&all.sorted_ns, GapRule::LATENCY_NS);
    let explained = topology.has_smt(topology.cpus()) && found.len() == 2;
    let text = match found.as_slice() {
        [one] => format!(
            "no groups: values range from {} to {} ns without a gap, and {}{}",
            ns(one.min),
            ns(one.max),
            match apart {
                Some(level) =>
                    format!("the system reports that each CPU has its own {}", level_words(level, 1)),
                None => "the system reports one group".to_owned(),
            },
            by_distance.map_or(String::new(), distance_words)
        ),
        _ if explained => "one group of cores; the values have no other gap".to_owned(),
        several => format!(
            "{} levels by value alone ({}): {}",
            several.len(),
            match apart {
                Some(level) => format!("each CPU has its own {}", level_words(level, 1)),
                None => "the system reports no groups".to_owned(),
            },
            several.iter().take(5).map(value_words).collect::<Vec<_>>().join(", ")
        ),
    };
    vec![text]
}

/// Whether neighbours by id are neighbours by latency, as on a mesh whose CPUs are counted along its rows.
fn distance_words(correlation: Estimate) -> String {
    let verdict = match correlation {
        Estimate { low, .. } if low > 0.0 => "CPUs with near ids tend to be faster",
        Estimate { high, .. } if high < 0.0 => "CPUs with distant ids tend to be faster",
        _ => "too weak to call",
    };
    format!(
        " · correlation with the distance between CPU ids {:.2} ({:.2} to {:.2} at 95 %): {verdict}",
        correlation.point, correlation.low, correlation.high
    )
}

fn value_words(group: &ValueGroup) -> String {
    let (low, high) = (short_ns(group.min), short_ns(group.max));
    let range = if group.count == 1 { format!("{low} ns") } else { format!("{low}–{high} ns") };
    format!("{range} ({})", count(group.count as u64, "pair"))
}

fn contrast_groups(contrast: &Contrast) -> String {
    let number = contrast.groups.len();
    let level = level_words(contrast.level, number);
    let who = match contrast.groups.as_slice() {
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [first, second, .., last] => format!("{first}, {second} … {last}"),
        _ => String::new(),
    };
    format!("{number} {level}: {who}")
}

fn contrast_values(contrast: &Contrast) -> String {
    format!(
        "{} · in their most frequent state {} ns inside, {} ns to the nearest other",
        contrast_groups(contrast),
        ns(contrast.inside_ns),
        ns(contrast.across_ns)
    )
}

fn contrast_words(contrast: &Contrast) -> String {
    let ratio = contrast.across_ns / contrast.inside_ns;
    if !ratio.is_finite() {
        return contrast_groups(contrast);
    }
    let (inside, across) = (ns(contrast.inside_ns), ns(contrast.across_ns));
    if !contrast.protocol.is_latency() {
        let verdict = if ratio >= VISIBLE_CONTRAST {
            "time stamps from the same group vary less"
        } else if ratio <= 1.0 / VISIBLE_CONTRAST {
            "time stamps from the same group vary more"
        } else {
            "the variation does not show these groups"
        };
        let groups = contrast_groups(contrast);
        return format!(
            "{groups} · {verdict}: {inside} ns behind the fastest, {across} ns from the nearest other"
        );
    }
    let verdict = if ratio >= VISIBLE_CONTRAST {
        format!("{inside} ns inside, {across} ns to the nearest other: {ratio:.1} × faster inside")
    } else if ratio <= 1.0 / VISIBLE_CONTRAST {
        format!("{inside} ns inside, {across} ns to the nearest other: slower inside")
    } else {
        format!("no visible difference: {inside} ns inside, {across} ns to the nearest other")
    };
    format!("{} · {verdict}", contrast_groups(contrast))
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
    let mut blocks: Vec<Block<'_>> = missing.into_iter().map(Block::Remark).collect();
    if all.doubtful > 0 {
        let flags: Vec<String> = all
            .doubts
            .iter()
            .map(|(flag, cells)| format!("{} {}", flag.name(), count(*cells, "pair")))
            .collect();
        blocks.push(Block::Doubt(format!(
            "{} of {} doubtful: {}",
            grouped(all.doubtful as i64),
            count(all.measured, "pair"),
            flags.join(", ")
        )));
    }
    blocks
}

/// The gravest doubt about the machine with its fix; more are left to `doctor`.
pub fn doubt(report: &RunReport) -> Option<Block<'static>> {
    // The title says of a simulated machine that it is one.
    let is_said = |finding: &Finding| report.header.simulated && finding.id == SIMULATED;
    let mut doubts: Vec<&Finding> = report
        .findings
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
    Some(Block::Doubt(text))
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
    Some(Block::Prose(text))
}

/// What the equivalence gate said, where pairs ran at the same time; `margin` is what it allowed.
pub fn regime(regime: &Regime, margin: f64, topology: &Topology) -> Option<Block<'static>> {
    let Regime::Parallel { gate, .. } = regime else { return None };
    let within = format!("proven within ±{}", percent(margin));
    let parts: Vec<String> = gate
        .iter()
        .map(|outcome| {
            let verdict = if outcome.equivalent { within.clone() } else { format!("not {within}") };
            format!(
                "{} {} vs. serial, {verdict}, {} at once",
                relation_words(outcome.relation, topology),
                signed_percent(100.0 * outcome.bias.point),
                count(u64::from(outcome.pairs), "pair"),
            )
        })
        .collect();
    (!parts.is_empty()).then(|| Block::Fact("parallel", parts.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_called_what_people_call_it() {
        for (model, name) in [
            ("AMD Ryzen 9 5950X 16-Core Processor", "AMD Ryzen 9 5950X"),
            ("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "Intel Core i7-8700"),
            ("Intel(R) Xeon(R) Processor @ 2.10GHz", "Intel Xeon"),
            ("Processor", "Processor"),
            ("Neoverse-N1", "Neoverse-N1"),
        ] {
            assert_eq!(short_model(model), name);
        }
    }
}
