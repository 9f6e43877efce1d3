//! The screens of `doctor`, `clock`, `probes`, `selftest` and `--version -v`.

use super::fmt::digits::{fixed, grouped, ns};
use super::saved;
use super::text::{cut, right};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::clock::ClockView;
use coretalk_model::clock::ClockAgreement;
use coretalk_model::environment::{BuildFacts, FirstStep, Linking};
use coretalk_model::quantity::Unit;
use coretalk_model::{CpuId, CpuLoss, DoctorFinding, Hint, KernelId, LadderStep, Matrix, Protocol, Verdict};

/// An entry in the list of probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRow {
    /// Stable name of the probe.
    pub id: String,
    /// The question that the probe answers.
    pub question: String,
    /// The unit of the result.
    pub unit: String,
    /// The stable names of the kernels.
    pub kernels: Vec<String>,
    /// For a probe of trials: the name and the description of each measured variant.
    pub variants: Vec<(String, String)>,
}

/// Lists probes and their kernels, in the order of the registry.
pub fn probes(rows: &[ProbeRow]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for row in rows {
        let question = Sentence::new("{id}, in {unit}: {question}")
            .with_name("id", &row.id)
            .with_name("unit", &row.unit)
            .with_name("question", &row.question);
        blocks.push(Block::Headline(question));
        let heading =
            if row.kernels.is_empty() { ["name", "what it does"] } else { ["kernel", "what is timed"] };
        let kernels = row.kernels.iter().map(|kernel| [Cell::name(kernel), timed(kernel).into()]);
        let variants = row.variants.iter().map(|(name, does)| [name, does].map(|text| Cell::name(text)));
        let table = Table::new(heading.map(Column::words)).with(kernels.chain(variants));
        blocks.push(match table.rows.is_empty() {
            true => Block::Prose(Sentence::new("see coretalk {id} --help").with_name("id", &row.id)),
            false => Block::Table(table),
        });
        blocks.push(Block::Gap);
    }
    blocks.push(Block::Prose(Sentence::new("machine code of a timed loop: coretalk probes --asm NAME, a kernel, or one of wait:NAME, queue:NAME, contend:NAME and wake:NAME")));
    blocks
}

/// A kernel of the ladder; no map uses this protocol.
const RING: &str = "ring";

fn timed(kernel: &str) -> Sentence {
    let kernel = KernelId(kernel.to_owned().into());
    let protocol = match kernel.step() {
        LadderStep::Imitated(tool) => {
            return Sentence::new("what {tool} times: its loop, counts and statistic")
                .with_name("tool", &tool.to_string());
        }
        LadderStep::Other(RING) => {
            return "a message each way, through one ring per direction; waiting with a pause".into();
        }
        LadderStep::Other(_) => return "".into(),
        LadderStep::Protocol(protocol) => protocol,
    };
    let what = match protocol {
        Protocol::Cas => "both sides compare-and-swap one line, in turn",
        Protocol::Store => "both sides load and store one line, in turn",
        Protocol::Msg => "a message each way, one mailbox line per direction",
        Protocol::Xfer => "reads of lines that the other CPU wrote, no spinning",
        Protocol::OneWay => "a time stamp sent one way, compared with the fastest in the same pass",
    };
    let hint = match kernel.hint() {
        Hint::None => "",
        Hint::Pause => "; waiting with a pause",
    };
    Sentence::new("{what}{hint}").with("what", what).with("hint", hint)
}

/// The first problem to fix, all findings by decreasing severity, and their counts.
pub fn doctor(findings: &[DoctorFinding]) -> Vec<Block<'static>> {
    let mut sorted: Vec<&DoctorFinding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let mut table = Table::new(["", "", ""].map(Column::words));
    for finding in &sorted {
        let text = match &finding.fix {
            Some(fix) => Sentence::new("{text}. Fix: {fix}")
                .with("text", clause(findings, finding))
                .with_name("fix", fix),
            None => Sentence::new("{text}").with("text", recorded(DOCTOR, findings, finding, &finding.text)),
        };
        table.row([verdict_word(finding.verdict).into(), Cell::name(&finding.id), text.into()]);
    }
    let count_of = |verdict| sorted.iter().filter(|finding| finding.verdict == verdict).count();
    // After a failure, warnings must not claim that numbers are valid.
    let [failed, warned] = match count_of(Verdict::Fail) {
        0 => ["", " (numbers are valid, but may be worse than the hardware allows)"],
        _ => [" (numbers cannot be trusted, or none can be had)", ""],
    };
    let words = [
        (Verdict::Fail, ["failure", "failures"], failed),
        (Verdict::Warn, ["warning", "warnings"], warned),
        (Verdict::CannotTell, ["unknown"; 2], ""),
        (Verdict::Ok, ["OK"; 2], ""),
    ];
    let part = |(verdict, words, why)| {
        let number = count_of(verdict) as u64;
        let counted = Sentence::counted(number, Source::Listed, words);
        (number > 0).then(|| Sentence::new("{counted}{why}").with("counted", counted).with("why", why))
    };
    let parts: Vec<Sentence> = words.into_iter().filter_map(part).collect();
    let counted = match parts.is_empty() {
        true => Sentence::new("nothing was checked."),
        false => Sentence::new("{parts}.").with("parts", Sentence::joined(parts, ", ")),
    };
    let first = (!findings.is_empty()).then(|| Block::Answer(first_step(findings)));
    let rest =
        [Block::Table(table), Block::Gap, Block::Prose(counted), Block::Prose("Nothing was changed.".into())];
    first.into_iter().chain([Block::Gap]).chain(rest).collect()
}

const DOCTOR: &str = "/environment/doctor";

fn recorded(list: &str, findings: &[DoctorFinding], finding: &DoctorFinding, words: &str) -> Arg {
    let at = findings.iter().take_while(|other| !std::ptr::eq(*other, finding)).count();
    Arg::Recorded(words.to_owned(), Source::Field(format!("{list}/{at}/text")))
}

pub(super) fn clause(findings: &[DoctorFinding], finding: &DoctorFinding) -> Arg {
    recorded(DOCTOR, findings, finding, finding.text.trim_end().trim_end_matches('.'))
}

fn first_step(findings: &[DoctorFinding]) -> Sentence {
    match FirstStep::from_findings(findings) {
        FirstStep::Fix(finding) => {
            let sentence = match &finding.fix {
                Some(fix) => Sentence::new("Fix first: {found} ({fix})").with_name("fix", fix),
                None => Sentence::new("Fix first: {found}."),
            };
            sentence.with("found", clause(findings, finding))
        }
        FirstStep::Expect(finding) => Sentence::new("Nothing to fix, but this cannot be changed: {found}.")
            .with("found", clause(findings, finding)),
        FirstStep::Nothing { passed, unknown } => {
            let passed = DisplayValue::listed(passed);
            match unknown {
                0 => Sentence::new("Nothing to fix: all {passed} checks passed.").with("passed", passed),
                _ => Sentence::pluralized(
                    "Nothing to fix: {number} check{s} passed, {unknown} could not be made.",
                    passed,
                )
                .with("unknown", DisplayValue::listed(unknown)),
            }
        }
    }
}

/// The result of each check, and a summary.
pub fn selftest(findings: &[DoctorFinding], seconds: f64) -> Vec<Block<'static>> {
    let mut table = Table::new(["", "", ""].map(Column::words));
    for finding in findings {
        let word = match finding.verdict {
            Verdict::Ok | Verdict::Warn => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::CannotTell => "cannot tell",
        };
        let text =
            Sentence::new("{text}").with("text", recorded("/checks", findings, finding, &finding.text));
        table.row([word.into(), Cell::name(&finding.id), text.into()]);
    }
    let count_of = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let conclusion = match (count_of(Verdict::Fail), count_of(Verdict::CannotTell)) {
        (0, 0) => "Every check passed: measurements on this machine can be trusted.".into(),
        (0, open) => Sentence::pluralized(
            "Nothing failed, but {number} check{s} could not decide.",
            DisplayValue::listed(open),
        ),
        (failed, _) => Sentence::pluralized(
            "{number} check{s} failed: do not trust measurements on this machine until the cause is known.",
            DisplayValue::listed(failed),
        ),
    };
    let seconds = DisplayValue::bare(Number::Count(seconds.round() as u64), Source::Unrecorded);
    let took = Sentence::new("{conclusion} Took {seconds} s.")
        .with("conclusion", conclusion)
        .with("seconds", seconds);
    vec![Block::Table(table), Block::Gap, Block::Prose(took)]
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "  ok",
        Verdict::CannotTell => "? cannot tell",
        Verdict::Warn => "! warn",
        Verdict::Fail => "✗ fail",
    }
}

/// Build facts, shown below the version.
pub fn build(facts: &BuildFacts, compiler: Option<&str>, libc: Option<&str>) -> Vec<Block<'static>> {
    let known = |fact: Option<&str>| fact.map_or("unknown".into(), Sentence::name);
    let linked = Sentence::new(match facts.linking {
        Linking::Static => "statically: {libc} is part of the program",
        Linking::Dynamic => "dynamically: it uses {libc} of this system",
    });
    let profile = Sentence::new("{profile}, timed loops with opt-level {level}");
    let rows = [
        ("target", Sentence::name(&facts.target)),
        ("features", Sentence::name(&facts.features.join(" "))),
        ("linked", linked.with_name("libc", libc.unwrap_or("the C library"))),
        ("profile", profile.with_name("profile", &facts.profile).with_name("level", &facts.opt_level)),
        ("commit", known(facts.commit.as_deref())),
        ("compiler", known(compiler)),
        ("SQLite", known(facts.sqlite.as_deref())),
        (
            "lock file",
            facts
                .lock_date
                .as_deref()
                .map_or_else(|| known(None), |day| Sentence::new("of {day}").with_name("day", day)),
        ),
    ];
    let rows = rows.map(|(name, text)| [Cell::from(name), text.into()]);
    let table = Table::new(["", ""].map(Column::words)).with(rows);
    vec![Block::Prose(concat!("coretalk ", env!("CARGO_PKG_VERSION")).into()), Block::Table(table)]
}

/// Whether the clocks of CPUs agree, then facts, a histogram of costs, and offsets.
pub fn clock(view: &ClockView) -> Vec<Block<'_>> {
    let facts = &view.facts;
    let field = |name: &str, number| DisplayValue::field(pointer!("/environment/clock/{name}"), number);
    let ns = |template, name: &str, ns: Option<f64>| match ns {
        Some(ns) => Sentence::new(template).with("ns", field(name, Number::Point(ns))),
        None => "unknown".into(),
    };
    let mut table = Table::new(["", ""].map(Column::words));
    let mut fact = |name: &'static str, text: Sentence| table.row([name.into(), text.into()]);
    fact("clock", Sentence::name(&facts.source));
    let error = match facts.hz_error_ppm {
        Some(ppm) => Sentence::new("± {ppm} ppm").with(
            "ppm",
            DisplayValue { unit: DisplayUnit::Decimals(1), ..field("hz_error_ppm", Number::Point(ppm)) },
        ),
        None => "error unknown".into(),
    };
    let frequency = Sentence::new("{hz} Hz, {error}").with("error", error);
    fact("frequency", frequency.with("hz", field("hz", Number::Count(facts.hz.round() as u64))));
    fact("smallest step", ns("{ns} ns", "step_ns", facts.step_ns));
    fact("cost of two reads", ns("{ns} ns, median", "cost_ns", facts.cost_ns));
    let invariant = match facts.invariant {
        Some(true) => "same rate in every power state",
        Some(false) => "not guaranteed to be the same in every power state",
        None => "unknown",
    };
    fact("rate", invariant.into());
    let kernel = facts.kernel_source.as_deref();
    fact("kernel's own clock", kernel.map_or("unknown".into(), Sentence::name));
    let hint = ns("{ns} ns", "hint_ns", facts.hint_ns);
    fact(
        "one wait hint",
        match facts.hint_cycles.filter(|_| facts.hint_ns.is_some()) {
            Some(cycles) => Sentence::new("{hint} = {cycles} core cycles").with("hint", hint).with(
                "cycles",
                DisplayValue {
                    unit: DisplayUnit::Decimals(0),
                    ..field("hint_cycles", Number::Point(cycles))
                },
            ),
            None => hint,
        },
    );
    let agreement = agreement(ClockAgreement::from_offsets(view.offsets.as_ref()));
    let mut blocks = vec![Block::Answer(agreement), Block::Gap, Block::Table(table)];
    if !view.cost.is_empty() {
        blocks.extend([Block::Gap, Block::drawing(|style| histogram(&view.cost, style.width))]);
    }
    blocks.extend(view.offsets.iter().flat_map(|compared| offsets(compared, &view.departed)));
    if view.left_out > 0 {
        let left_out = DisplayValue::listed(view.left_out);
        blocks.push(Block::Prose(Sentence::pluralized("{number} further CPU{s} not compared.", left_out)));
    }
    blocks
}

fn agreement(agreement: ClockAgreement) -> Sentence {
    let value = |time_ns: f64, cpus: Option<[CpuId; 2]>| DisplayValue {
        number: Number::Point(time_ns),
        unit: DisplayUnit::Own(Unit::Ns),
        source: Source::ClockOffset { cpus },
    };
    match agreement {
        ClockAgreement::NotCompared => {
            Sentence::new("Cannot tell whether the clocks of different CPUs agree: they were not compared.")
        }
        ClockAgreement::NoPair => {
            Sentence::new("Cannot tell whether the clocks of different CPUs agree: no pair could be compared.")
        }
        ClockAgreement::Differ { cpus, bounds_ns: [low, high] } => Sentence::new(
            "The clocks of CPUs differ: that of CPU {ahead} shows {low} to {high} more than that of CPU {behind}. \
             This affects one-way times only, not round trips.",
        )
        .with("ahead", cpus[0])
        .with("behind", cpus[1])
        .with("low", value(low, Some(cpus)))
        .with("high", value(high, Some(cpus))),
        ClockAgreement::Agree { within_ns } => Sentence::new(
            "The clocks of the CPUs agree within {within}: the bounds of every compared pair include \
             zero, and none are wider.",
        )
        .with("within", value(within_ns, None)),
    }
}

/// One bar for each cost; the highest costs share the last line.
fn histogram(cost: &[(f64, u64)], width: usize) -> Vec<String> {
    const MAX_BARS: usize = 12;
    let most = cost.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let mut lines = vec![" cost of two reads, ns      how often".to_owned()];
    let room = width.saturating_sub(26).clamp(8, 60);
    let bar = |count: u64| {
        let length = (count as f64 / most as f64 * room as f64).round() as usize;
        if length == 0 && count > 0 { "▏".to_owned() } else { "█".repeat(length) }
    };
    for (value, count) in cost.iter().take(MAX_BARS) {
        let line =
            format!("{} {} {}", right(&ns(*value), 9), right(&grouped(*count as i64), 12), bar(*count));
        lines.push(cut(&line, width));
    }
    if let Some((from, _)) = cost.get(MAX_BARS) {
        let rest: u64 = cost[MAX_BARS..].iter().map(|(_, count)| count).sum();
        let line = format!(
            "{} {} {}",
            right(&format!("≥ {}", ns(*from)), 9),
            right(&grouped(rest as i64), 12),
            bar(rest)
        );
        lines.push(cut(&line, width));
    }
    lines
}

fn offsets<'a>(offsets: &'a Matrix<Option<[f64; 2]>>, departed: &[CpuLoss]) -> Vec<Block<'a>> {
    let cpus = offsets.cpus();
    // Lost CPUs are not counted as missing: more time would not have measured them.
    let has_stayed = |cpu: &&CpuId| departed.iter().all(|departure| departure.cpu != **cpu);
    let (compared, stayed) = (
        offsets
            .iter()
            .filter(|(row, column, bounds)| {
                bounds.is_some() && [*row, *column].iter().all(|at| has_stayed(&&cpus[*at]))
            })
            .count()
            / 2,
        cpus.iter().filter(has_stayed).count(),
    );
    let all = stayed * stayed.saturating_sub(1) / 2;
    let incomplete = (compared < all).then(|| {
        let template =
            "{compared} of {number} pair{s} were compared before the time ran out; try a longer --budget.";
        let sentence = Sentence::pluralized(template, DisplayValue::listed(all));
        Block::Prose(sentence.with("compared", DisplayValue::listed(compared)))
    });
    let square = Block::drawing(|style| square(offsets, style.width));
    let departed = saved::departures(departed.iter().enumerate(), "");
    [Block::Gap].into_iter().chain(departed).chain(incomplete).chain([square]).collect()
}

fn square(offsets: &Matrix<Option<[f64; 2]>>, width: usize) -> Vec<String> {
    let cpus = offsets.cpus();
    let middle = |[low, high]: [f64; 2]| fixed(((low + high) / 2.0).round(), 0);
    let values = offsets.iter().filter_map(|(_, _, bounds)| bounds.map(|bounds| middle(bounds).len()));
    let names = cpus.iter().map(|cpu| cpu.to_string().len());
    let cell = 1 + values.chain(names).max().unwrap_or(1).max(5);
    if cpus.len() < 2 || 6 + cpus.len() * cell > width {
        return Vec::new();
    }
    let head: String = cpus.iter().map(|cpu: &CpuId| right(&cpu.to_string(), cell)).collect();
    let mut lines = vec![format!("  CPU {head}")];
    for (row, cpu) in cpus.iter().enumerate() {
        let text = |column: usize| match offsets.get(row, column) {
            _ if row == column => String::new(),
            Some(Some(bounds)) => middle(*bounds),
            _ => "·".to_owned(),
        };
        let cells: String = (0..cpus.len()).map(|column| right(&text(column), cell)).collect();
        lines.push(format!("{} {}", right(&cpu.to_string(), 5), cells.trim_end()));
    }
    lines.push(" offset in ns (middle of its bounds), row minus column".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt;

    #[test]
    fn numbers_are_not_called_valid_after_a_failure() {
        let finding = |verdict| DoctorFinding { id: "load".into(), verdict, text: "x".into(), fix: None };
        let text = |verdicts: &[Verdict]| {
            let findings: Vec<DoctorFinding> = verdicts.iter().copied().map(finding).collect();
            crate::render::terminal::lines(&doctor(&findings), &crate::Style::of_width(400)).join(" ")
        };
        assert!(text(&[Verdict::Warn]).contains("numbers are valid"));
        let both = text(&[Verdict::Warn, Verdict::Fail]);
        assert!(both.contains("cannot be trusted") && !both.contains("are valid"), "{both}");
    }

    #[test]
    fn every_protocol_and_tool_has_its_own_description() {
        let names = Protocol::ALL.map(|protocol| protocol.name().to_owned());
        let tools = coretalk_model::Tool::ALL.map(|tool| KernelId::imitating(tool).to_string());
        let timed = |kernel: &str| fmt::sentence(&timed(kernel));
        let mut texts: Vec<String> = names.iter().chain(&tools).map(|kernel| timed(kernel)).collect();
        texts.extend(["cas+pause", "ring+pause"].map(timed));
        let count = texts.len();
        texts.sort();
        texts.dedup();
        assert!(texts.len() == count && !texts[0].is_empty(), "{texts:?}");
        assert_eq!(timed("unheard-of"), "");
    }
}
