//! A queue at increasing rates: the highest sustained rate, the delays at each rate, and a plot.

use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use crate::fmt::digits::chosen_rate;
use crate::fmt::{self, with_unit};
use crate::style::Style;
use crate::text::{columns, cut, left, right};
use crate::trial_cells::{self, median_width, percentile};
use crate::trial_words::placement_sentence;
use coretalk_model::CpuId;
use coretalk_model::quantity::Unit;
use coretalk_model::queue::{Knee, RateLimit, Step, Sweep, names};
use coretalk_model::run::RunReport;
use coretalk_model::series::TimeUnit;

const MAX_DETAILED: usize = 8;
const MAX_PRINTED: usize = 3;
const WIDE_TERMINAL: usize = 90;
const HEIGHT: usize = 13;
const MAX_PLOT_WIDTH: usize = 84;
/// Percentiles of a plot with their marks. Earlier marks cover later ones.
pub const SHARES: [(&str, f64, char); 3] = [("p50", 0.5, 'o'), ("p99", 0.99, 'x'), ("p99.9", 0.999, '+')];
const NOT_KEPT: char = '░';

pub(crate) fn answer(report: &RunReport, sweeps: &[Sweep<'_>]) -> Sentence {
    let limit = |sweep| {
        Sentence::new("{name} {limit}")
            .with("name", name(report, sweep, sweeps))
            .with("limit", limit_sentence(sweep))
    };
    let mut limits: Vec<Sentence> = sweeps.iter().take(MAX_PRINTED).map(limit).collect();
    let more = sweeps.len().saturating_sub(MAX_PRINTED);
    limits.extend(
        (more > 0).then(|| Sentence::new("{number} more below").with("number", DisplayValue::listed(more))),
    );
    Sentence::new("{limits}").with("limits", Arg::Parts(limits, "; "))
}

/// The knees (highest sustained rates) of the sweeps, then a table and a plot for each; empty without sweeps.
pub(crate) fn blocks<'a>(report: &RunReport, found: Vec<Sweep<'a>>) -> Vec<Block<'a>> {
    if found.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    if found.len() > 1 {
        blocks.extend([Block::Table(knees(report, &found)), Block::Gap]);
    }
    if found.len() > MAX_DETAILED {
        blocks.push(Block::Prose("Delays at each rate: coretalk export RUN --format csv".into()));
        return blocks;
    }
    blocks.push(Block::Prose(
        "Delay of a message from when it was due until it was received, so that one that is sent late counts as late; \
         offered and reached: messages per second. A pass keeps a rate if it reaches 99 % of it; passes are counted over \
         all states of the machine, and delays are of passes that kept it in the most frequent one. !: some passes did \
         not; where most did not, no delay is shown. p99 once sent: from the actual send, which hides lateness."
            .into(),
    ));
    let titles: Vec<Sentence> = found.iter().map(|sweep| title_sentence(report, sweep)).collect();
    for (sweep, title) in found.into_iter().zip(titles) {
        blocks.extend([Block::Gap, Block::Heading(title), Block::Table(table(&sweep)), Block::Gap]);
        blocks.extend(words(&sweep).into_iter().map(Block::Conclusion));
        blocks.push(Block::drawing(move |style| plot(&sweep, style)));
    }
    blocks
}

/// A title: `spsc, u64, capacity 1 000; CPUs 0 → 1, same L3`.
pub fn title(report: &RunReport, sweep: &Sweep<'_>) -> String {
    fmt::sentence(&title_sentence(report, sweep))
}

fn title_sentence(report: &RunReport, sweep: &Sweep<'_>) -> Sentence {
    let Sweep { queue, payload, capacity, placement, .. } = *sweep;
    titled(report, queue, payload, capacity, placement)
}

pub(super) fn titled(
    report: &RunReport,
    queue: &str,
    payload: &str,
    capacity: u64,
    placement: &[CpuId],
) -> Sentence {
    Sentence::new("{queue}, {payload}, {capacity}, {placement}")
        .with_name("queue", queue)
        .with_name("payload", payload)
        .with("capacity", capacity_sentence(capacity))
        .with("placement", placement_sentence(&report.topology, placement))
}

fn capacity_sentence(capacity: u64) -> Sentence {
    Sentence::new("capacity {capacity}").with("capacity", chosen_count(capacity, "capacity"))
}

pub(super) fn chosen_count(number: u64, parameter: &'static str) -> DisplayValue {
    DisplayValue {
        number: Number::Count(number),
        unit: DisplayUnit::Own(Unit::Number),
        source: Source::Parameter { trial: None, name: parameter.to_owned() },
    }
}

fn offered(per_s: f64) -> DisplayValue {
    DisplayValue {
        number: Number::Setting(per_s),
        unit: DisplayUnit::InSentence(Unit::PerSecond("messages")),
        source: Source::Parameter { trial: None, name: "rate_per_s".to_owned() },
    }
}

fn least_p99(sweep: &Sweep<'_>) -> Option<DisplayValue> {
    let (rate, least) = sweep.least_p99()?;
    let step = sweep.steps.iter().find(|step| step.rate_per_s == rate)?;
    let (p99, unit) = (Statistic::Percentile(0.99), DisplayUnit::Own(Unit::Ns));
    Some(trial_cells::display_value(step.trial, names::CORRECTED, p99, Number::Point(least), unit))
}

fn name(report: &RunReport, sweep: &Sweep<'_>, all: &[Sweep<'_>]) -> Arg {
    let mut parts = vec![Sentence::name(sweep.queue)];
    if all.iter().any(|other| other.payload != sweep.payload) {
        parts.push(Sentence::name(sweep.payload));
    }
    if all.iter().any(|other| other.capacity != sweep.capacity) {
        parts.push(capacity_sentence(sweep.capacity));
    }
    if all.iter().any(|other| other.placement != sweep.placement) {
        parts.push(placement_sentence(&report.topology, sweep.placement));
    }
    Arg::Parts(parts, ", ")
}

fn knees(report: &RunReport, found: &[Sweep<'_>]) -> Table {
    let columns = [
        Column::words("queue"),
        super::payload_column(found.iter().map(|sweep| sweep.payload), WIDE_TERMINAL),
        Column::numbers("capacity"),
        Column::words("CPUs").naming(),
        Column::numbers("keeps").meaning("the highest rate that it keeps"),
        Column::numbers("fails").continuing("the lowest that it does not"),
        Column::numbers("p99 least").meaning("the smallest p99"),
        Column::numbers("doubles").meaning("the rates between which it doubles"),
    ];
    let rate = |rate: Option<f64>| Cell::number(rate.map(offered));
    let rows = found.iter().map(|sweep| {
        let knee = sweep.knee();
        [
            Cell::name(sweep.queue),
            Cell::name(sweep.payload),
            chosen_count(sweep.capacity, "capacity").into(),
            placement_sentence(&report.topology, sweep.placement).into(),
            rate(knee.holds_at),
            rate(knee.ends_by),
            Cell::number(least_p99(sweep)),
            match sweep.doubling() {
                Knee { holds_at: Some(holds), ends_by: Some(ends) } => Sentence::new("{holds} to {ends}")
                    .with("holds", offered(holds))
                    .with("ends", offered(ends))
                    .into(),
                _ => Cell::Unknown,
            },
        ]
    });
    Table::new(columns).about("Each queue at rising rates, in messages per second").with(rows)
}

fn table(sweep: &Sweep<'_>) -> Table {
    let times = TimeUnit::for_values(sweep.steps.iter().filter_map(|step| step.percentile_ns(0.5)));
    let columns = [
        Column::numbers("offered"),
        Column::numbers("reached"),
        Column::numbers("passes kept"),
        Column::numbers(Sentence::new("p50 {unit}").with("unit", times.name)),
        Column::numbers("±"),
        Column::numbers("p99").marked(),
        Column::numbers("p99.9").marked(),
        Column::numbers("max").marked(),
        Column::numbers("p99 once sent").from_width(WIDE_TERMINAL),
    ];
    let rows = sweep.steps.iter().map(|step| {
        let [kept, missed] = step.passes();
        // If some passes kept the rate and others did not, no number represents all of them.
        let passes_agree = kept == 0 || missed == 0;
        let is_known = !step.mostly_fell_behind();
        let mark = step.fell_behind().then_some('!');
        let (trial, unit) = (step.trial, DisplayUnit::OfColumn(times.ns));
        let where_known = |cell: Cell| if is_known { cell } else { Cell::Unknown };
        let delay_at = |share: f64| where_known(percentile(trial, names::CORRECTED, share, unit));
        let pass_sources =
            [names::KEPT, names::MISSED].map(|name| Source::of_trial(trial, name, Statistic::Count));
        let passes = |number, source| DisplayValue {
            number: Number::Count(number),
            unit: DisplayUnit::Own(Unit::Number),
            source,
        };
        let reached = trial_cells::value(trial, names::RATE, DisplayUnit::Own(Unit::PerSecond("messages")));
        [
            offered(step.rate_per_s).into(),
            if passes_agree { reached } else { Cell::Unknown },
            Sentence::new("{kept} of {all}")
                .with("kept", passes(kept, pass_sources[0].clone()))
                .with("all", passes(kept + missed, Operation::Sum.on(pass_sources.to_vec())))
                .into(),
            delay_at(0.5),
            if delay_at(0.5) == Cell::Unknown {
                Cell::Unknown
            } else {
                median_width(trial, names::CORRECTED)
            },
            delay_at(0.99).marked(mark),
            delay_at(0.999).marked(mark),
            delay_at(1.0).marked(mark),
            where_known(percentile(trial, names::UNCORRECTED, 0.99, unit)),
        ]
    });
    Table::new(columns).with(rows)
}

fn words(sweep: &Sweep<'_>) -> Vec<Sentence> {
    let keeping = |template, keeps| Sentence::new(template).with("keeps", offered(keeps));
    let knee = match sweep.limit() {
        RateLimit::TimeSlices => {
            return vec![Sentence::new(
                "Both ends poll on one CPU and hand over once per time slice: these rates are those of the scheduler. For \
                 those of the queue, name two CPUs with --pairs.",
            )];
        }
        RateLimit::Between(keeps, fails) => keeping(
            "It keeps up with {keeps} messages/s and does not with {fails}: the knee lies between them. Each is \
             what most passes show (sign test, 95 %).",
            keeps,
        )
        .with("fails", offered(fails)),
        RateLimit::Unclear(keeps) => keeping(
            "It keeps up with {keeps} messages/s; at higher rates passes fell behind, though none is shown to be too high \
             (sign test, 95 %). For the knee, try a longer --budget.",
            keeps,
        ),
        RateLimit::NotReached(keeps) => keeping(
            "It keeps up with {keeps} messages/s; no rate was shown to be too high. For the knee, end --rate-sweep at a \
             higher rate.",
            keeps,
        ),
        RateLimit::Below(fails) => Sentence::new(
            "It does not keep up with {fails} messages/s; no lower rate was shown to be kept. For the knee, begin \
             --rate-sweep at a lower rate.",
        )
        .with("fails", offered(fails)),
        RateLimit::Unknown => Sentence::new(
            "Cannot tell which rates it keeps: that takes five passes of a rate that all say the same, or more of which \
             most do (sign test, 95 %); try a longer --budget.",
        ),
    };
    std::iter::once(knee).chain(doubling_sentence(sweep)).collect()
}

fn doubling_sentence(sweep: &Sweep<'_>) -> Option<Sentence> {
    let (rate, _) = sweep.least_p99()?;
    let Knee { holds_at: Some(holds), ends_by } = sweep.doubling() else { return None };
    let within = match holds > rate {
        true => Sentence::new("it is at most twice that at every rate from there to {holds}")
            .with("holds", offered(holds)),
        false => Sentence::new("at the next rate it is more than twice that, or passes fell behind"),
    };
    let beyond = ends_by.map_or(Sentence::new(""), |ends| {
        Sentence::new(match holds > rate {
            true => ", and more than twice that, or not known, at every rate from {ends} on",
            false => ", and so at every rate from {ends} on",
        })
        .with("ends", offered(ends))
    });
    Some(
        Sentence::new(
            "Where no pass fell behind, its p99 is smallest at {rate} messages/s, {least}; {within}{beyond}.",
        )
        .with("rate", offered(rate))
        .with("least", least_p99(sweep)?)
        .with("within", within)
        .with("beyond", beyond),
    )
}

/// The highest rate that a queue sustains, as a clause after its name.
pub fn limit_sentence(sweep: &Sweep<'_>) -> Sentence {
    let rate = offered;
    match sweep.limit() {
        RateLimit::TimeSlices => {
            Sentence::new("polls at both ends of one CPU, whose time slices its rates show")
        }
        RateLimit::Between(keeps, fails) => {
            Sentence::new("keeps up with {keeps} messages/s, not with {fails}")
                .with("keeps", rate(keeps))
                .with("fails", rate(fails))
        }
        RateLimit::Unclear(keeps) => {
            Sentence::new("keeps up with {keeps} messages/s; where it no longer does cannot be told")
                .with("keeps", rate(keeps))
        }
        RateLimit::NotReached(keeps) => {
            Sentence::new("keeps up with {keeps} messages/s; its limit was not reached")
                .with("keeps", rate(keeps))
        }
        RateLimit::Below(fails) => {
            Sentence::new("does not keep up with {fails} messages/s, the lowest rate with enough passes")
                .with("fails", rate(fails))
        }
        RateLimit::Unknown => Sentence::new("has too few passes that agree to tell which rates it keeps"),
    }
}

fn plot(sweep: &Sweep<'_>, style: &Style) -> Vec<String> {
    let value =
        |step: &Step<'_>, share: f64| step.percentile_ns(share).filter(|_| !step.mostly_fell_behind());
    let delays = sweep.steps.iter().flat_map(|step| SHARES.map(|(_, share, _)| value(step, share)));
    let [low, high] = delays
        .flatten()
        .fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], value| [low.min(value), high.max(value)]);
    let low = low.max(1.0);
    if high <= low {
        return Vec::new();
    }
    let at_line = |line: usize| high * (low / high).powf(line as f64 / (HEIGHT - 1) as f64);
    let labels: Vec<String> = (0..HEIGHT).map(|line| with_unit(at_line(line), Unit::Ns)).collect();
    let gutter = labels.iter().map(|label| columns(label)).max().unwrap_or(0) + 2;
    let width = style.width.saturating_sub(gutter + 4).clamp(20, MAX_PLOT_WIDTH);
    let [first, last] =
        [sweep.steps.first(), sweep.steps.last()].map(|step| step.map_or(1.0, |step| step.rate_per_s));
    let column =
        |rate: f64| ((rate / first).ln() / (last / first).ln() * (width - 1) as f64).round() as usize;
    let line = |value: f64| {
        ((high / value.max(low)).ln() / (high / low).ln() * (HEIGHT - 1) as f64).round() as usize
    };
    let mut canvas = vec![vec![' '; width]; HEIGHT];
    for step in &sweep.steps {
        let at = column(step.rate_per_s).min(width - 1);
        if step.mostly_fell_behind() {
            canvas.iter_mut().for_each(|cells| cells[at] = NOT_KEPT);
        }
        for (_, share, mark) in SHARES.iter().rev() {
            if let Some(value) = value(step, *share) {
                canvas[line(value).min(HEIGHT - 1)][at] = *mark;
            }
        }
    }
    let drawn = canvas.iter().zip(&labels).enumerate().map(|(line, (cells, label))| {
        let is_tick = line % 4 == 0;
        let cells: String = cells.iter().collect();
        let label = if is_tick { label.as_str() } else { "" };
        format!("{} {}{}", right(label, gutter - 1), if is_tick { '┤' } else { '│' }, cells.trim_end())
    });
    let mut lines: Vec<String> = drawn.collect();
    let (mut ticks, mut names) = (vec!['─'; width], String::new());
    for step in &sweep.steps {
        let (at, name) = (column(step.rate_per_s).min(width - 1), chosen_rate(step.rate_per_s));
        let from = at.saturating_sub(columns(&name) / 2);
        let is_free = from >= columns(&names) + 2 || names.is_empty();
        if is_free && from + columns(&name) <= width + 2 {
            ticks[at] = '┴';
            names = left(&names, from) + &name;
        }
    }
    let pad = " ".repeat(gutter);
    lines.push(format!("{pad}└{}", ticks.into_iter().collect::<String>()));
    lines.push(format!("{pad} {names}"));
    let marks = SHARES.map(|(name, _, mark)| format!("{mark} {name}")).join("  ");
    let legend = format!("{pad} {marks}  over messages/s offered; {NOT_KEPT} most passes fell behind");
    lines.push(cut(&legend, style.width));
    lines
}
