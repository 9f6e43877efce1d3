//! What stands around the results: how a run ended, what to type next, and remarks.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::{held, unheld};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held(
        "guest of {hypervisor}: the host may move its CPUs, and the reported topology may be wrong{more?}",
        finding,
    ),
    held("the clock advances in steps of {step#} ns: batches must be longer{more?}", finding),
    held("SMT siblings, such as that of CPU {cpu#}, are sometimes busy with other work{more?}", finding),
    held("other programs take {share%} of the CPUs: values may be too high{more?}", finding),
    held("The budget of {time@} ended before {rest}", budget),
    held("The budget of {time@} for the map ended before {rest}", part_of_budget),
    unheld("saved as {rest}", "names of runs and commands to type"),
    unheld("not saved (--no-save)", "no number"),
];

/// The document has that finding, and so many that are as grave; that the machine is simulated stands in the title.
fn finding(reader: &mut Reader<'_>, said: &Said<'_>) {
    let grave = |finding: &&Value| {
        finding["id"] != "simulated"
            && finding["verdict"].as_str().is_some_and(|verdict| ["warn", "fail"].contains(&verdict))
    };
    let all: Vec<&Value> = list(&reader.run.document["environment"]["doctor"]).iter().filter(grave).collect();
    let text = said.sentence.strip_suffix(said.text("more")).unwrap_or(said.sentence);
    let is_told =
        |finding: &&Value| finding["text"].as_str().is_some_and(|of| of.trim_end_matches('.') == text);
    reader.holds("finding", all.iter().any(is_told), || format!("no finding of {} says that", all.len()));
    let more = said.text("more").strip_prefix(" · ").and_then(|more| more.strip_suffix(" more"));
    let more = more.and_then(Printed::read).map_or(0.0, |more| more.value);
    reader.holds("count", more + 1.0 == all.len() as f64, || format!("{} findings are grave", all.len()));
}

/// The budget that was asked for, where one was.
fn asked(reader: &Reader<'_>) -> Option<f64> {
    let text = reader.run.words.iter().skip_while(|word| *word != "--budget").nth(1)?;
    text.trim_end_matches('s').parse().ok()
}

fn budget(reader: &mut Reader<'_>, said: &Said<'_>) {
    if let Some(asked) = asked(reader) {
        reader.is("budget", said.time("time"), Some(asked), "the budget");
    }
    let ended = reader.run.document["run"]["budget_ended"].clone();
    let placed = !list(&reader.run.document["comparisons"]).is_empty();
    reader.holds("budget", ended == true || placed, || format!("budget_ended: {ended}"));
}

fn part_of_budget(reader: &mut Reader<'_>, said: &Said<'_>) {
    if let Some(asked) = asked(reader) {
        reader.holds("budget", said.time("time").value < asked, || format!("the whole budget is {asked} s"));
    }
}
