//! Sections about the machine, the doubts, the method, and how to repeat the run.

use super::escape::escaped;
use super::section::{Of, Section};
use crate::fmt::digits::{bytes, duration, fixed, percent};
use crate::input::ReportInput;
use crate::render::html::facts;
use crate::text::{plain, started};
use coretalk_model::Verdict;
use coretalk_model::run::RunReport;
use std::collections::BTreeMap;

pub(super) fn sections(input: &ReportInput<'_>, of: Of<'_>) -> Vec<Section> {
    match input.run() {
        Some(report) => {
            vec![environment(input, report, of), method(input, report, of), reproduction(input, report, of)]
        }
        None => vec![other_tools(of)],
    }
}

fn environment(input: &ReportInput<'_>, report: &RunReport, of: Of<'_>) -> Section {
    let Some(environment) = &input.outline.environment else {
        return Section::new("machine", "Machine and environment", of, String::new());
    };
    let clock = &environment.clock;
    let text = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(plain);
    let answer = |known: Option<bool>| known.map(|yes| if yes { "yes" } else { "no" }.to_owned());
    let pairs = |pairs: &BTreeMap<String, String>| {
        let words =
            pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(" · ");
        Some(words).filter(|words| !words.is_empty())
    };
    let built = environment.build_facts.as_ref();
    let rows = [
        ("label", text(&environment.label)),
        ("host", text(&environment.host)),
        ("simulated from", text(&environment.simulated)),
        ("CPU", text(&environment.cpu_model)),
        ("hypervisor", text(&environment.hypervisor)),
        ("bare metal", answer(environment.bare_metal)),
        ("evidence", text(&environment.platform_evidence)),
        ("emulator", text(&environment.emulator)),
        ("atomic operations", environment.atomics.map(str::to_owned)),
        ("kernel", text(&environment.kernel)),
        ("architecture", text(&environment.arch)),
        ("microcode", text(&environment.microcode)),
        ("firmware", text(&environment.firmware)),
        ("memory", environment.memory_bytes.map(bytes)),
        ("page size", environment.page_bytes.map(bytes)),
        ("governor", text(&environment.governor)),
        ("frequency driver", text(&environment.frequency_driver)),
        ("boost", answer(environment.boost)),
        ("idle driver", text(&environment.idle_driver)),
        ("isolated CPUs", text(&Some(environment.isolated.clone()))),
        ("load before the run", environment.load_1min.map(|load| load.to_string())),
        ("other programs", environment.others_share.map(|share| format!("{} of the CPUs", percent(share)))),
        (
            "stopped by a CPU quota",
            environment.throttled.as_ref().map(|quota| format!("{} times", quota.times)),
        ),
        ("mitigations", pairs(&environment.mitigations)),
        ("C library", text(&environment.libc)),
        ("clock", text(&clock.source)),
        ("clock rate", clock.hz.map(|hz| format!("{} GHz", fixed(hz / 1e9, 6)))),
        ("cost of a clock read", clock.cost_ns.map(|ns| fixed(ns, 1) + " ns")),
        ("step", clock.step_ns.map(|ns| fixed(ns, 2) + " ns")),
        ("wait hint", clock.hint_ns.map(|ns| fixed(ns, 1) + " ns")),
        ("compiler", text(&environment.compiler)),
        ("build", text(&environment.build)),
        ("linked", built.map(|facts| facts.linking.to_owned())),
        ("commit", built.and_then(|facts| text(&facts.commit))),
        ("SQLite", built.and_then(|facts| text(&facts.sqlite))),
        ("lock file of", built.and_then(|facts| text(&facts.lock_date))),
        ("libraries", pairs(&environment.libraries)),
        ("runtimes", pairs(&environment.runtimes)),
        ("priority", text(&environment.priority)),
        ("notes", pairs(&environment.notes)),
    ];
    let mut body = facts(&rows);
    if !report.doctor.is_empty() {
        body.push_str("<h3>What the checks found</h3>\n");
        body.push_str(&findings(report, Verdict::Ok));
    }
    Section::new("machine", "Machine and environment", of, body)
}

pub(super) fn findings(report: &RunReport, least: Verdict) -> String {
    let mut findings: Vec<_> = report.doctor.iter().filter(|finding| finding.verdict >= least).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let items = findings.iter().map(|finding| {
        let fix = finding
            .fix
            .as_ref()
            .map(|fix| format!(" · fix: <code>{}</code>", escaped(fix)))
            .unwrap_or_default();
        let (name, text) = (finding.verdict.name(), escaped(&finding.text));
        format!(
            "<li class=\"{name}\"><span class=\"verdict\">{}</span> {text}{fix}</li>",
            name.replace('-', " ")
        )
    });
    format!("<ul class=\"doubts\">{}</ul>\n", items.collect::<String>())
}

fn method(input: &ReportInput<'_>, report: &RunReport, of: Of<'_>) -> Section {
    let mut lines: Vec<&str> = Vec::new();
    let has = |quantity: &str| input.maps.iter().any(|map| map.quantity == quantity);
    if has("half_round_trip") {
        lines.push(
            "A cell is half a round trip: two pinned threads hand one cache line to each other, many times, \
             on many lines in many page frames, in several passes spread over time. The value is the median over the passes, with its 95 % interval.",
        );
        lines.push(
            "The number depends on the kernel (the timed loop) and its wait hint, which the title names: \
             numbers with different titles are different quantities. A queue sees about twice the latency of a contended compare-exchange.",
        );
        lines.push(
            "Latency follows the core clock, which moves by several percent within minutes: compare runs in core \
             cycles where both have them. A cell that may be wrong is marked, and its flag says why.",
        );
    }
    if has("as_printed") {
        lines.push(
            "Numbers of other tools are reproduced with their kernels, counts and statistics; they \
                    are not coretalk's own.",
        );
    }
    if input.outline.series.iter().any(|series| series.kind == "event") {
        lines.push(
            "Percentiles are of single events and include the cost of the clock, unless they are marked as \
             net. Means of batches are a different quantity and are never shown as tail latency.",
        );
    }
    match report.place.as_ref().map(|place| &place.settings.versus) {
        Some(None) => lines.push(
            "Placements ran interleaved; a winner beats every other placement, after correction for \
                    multiple tests.",
        ),
        Some(Some(_)) => lines.push(
            "Commands ran interleaved; each is compared with the first, after correction for multiple tests and looks.",
        ),
        None => {}
    }
    if input.is_simulated() {
        lines.push("The machine is simulated: its numbers say nothing about any computer.");
    }
    lines.push(
        "In the coretalk repository, docs/method.md has the formulas, docs/probes says what can \
                mislead, and docs/evidence.md how often intervals contain the true value.",
    );
    let mut body: String = lines.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    let hints = input.maps.iter().filter_map(|map| {
        let reason = map.parameters.text("hint_reason")?;
        Some(format!("{}: {}", map.label(), plain(reason)))
    });
    let hints: Vec<String> = hints.collect();
    if !hints.is_empty() {
        body.push_str(&facts(&[("wait hint", Some(hints.join(" · ")))]));
    }
    Section::new("method", "Method and limits", of, body)
}

fn other_tools(of: Of<'_>) -> Section {
    let lines = [
        "Numbers marked as imported were measured by another tool and read from a file. The file does not \
         say on which machine, how, or in which state; coretalk checked none of it.",
        "Tools count different things, such as a round trip or half of one: numbers of two tools are \
         different quantities unless shown otherwise.",
    ];
    let body = lines.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    Section::new("elsewhere", "Files of other tools", of, body)
}

fn reproduction(input: &ReportInput<'_>, report: &RunReport, of: Of<'_>) -> Section {
    let header = &report.header;
    let mut words = vec!["coretalk".to_owned()];
    words.extend(input.outline.run.iter().flat_map(|run| &run.command).map(|word| plain(word)));
    if !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {}", header.seed));
    }
    let command = format!("<p class=\"command\">{}</p>\n", escaped(&words.join(" ")));
    let result = report.latencies();
    let rows = [
        ("run", Some(plain(&header.id))),
        ("started", Some(started(&header.started))),
        ("watched for", result.map(|it| it.watched.secs()).filter(|&secs| secs > 0.0).map(duration)),
        (
            "segments",
            Some(header.segments).filter(|&segments| segments > 1).map(|segments| segments.to_string()),
        ),
        (
            "tags",
            Some(header.tags.iter().map(|tag| plain(tag)).collect::<Vec<_>>().join(", "))
                .filter(|tags| !tags.is_empty()),
        ),
        ("seed", Some(header.seed.to_string())),
        ("measured by", Some(format!("coretalk {}", plain(&header.tool_version)))),
        ("passes", result.map(|it| it.passes).filter(|&passes| passes > 0).map(|passes| passes.to_string())),
    ];
    let body = command + &facts(&rows);
    Section::new("again", "How to reproduce it", of, body)
}
