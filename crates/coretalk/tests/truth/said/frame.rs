//! What stands around the results: how a run ended, what to type next, and remarks.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::{held, unheld};
use coretalk_model::stats::gate::GATE_MARGIN;

pub const PATTERNS: &[Pattern] = &[
    held(
        "the machine is simulated from the scenario `{scenario}` ({n#} CPU{s?}): its numbers say nothing about this computer{more?}",
        scenario,
    ),
    held("{gates} vs. serial, {rest}", gates),
    held("The budget of {time@} ended before {rest}", budget),
    held("The budget of {time@} for the map ended before {rest}", part_of_budget),
    unheld("saved as {rest}", "names of runs and commands to type"),
    unheld("not saved (--no-save)", "no number"),
];

fn scenario(reader: &mut Reader<'_>, said: &Said<'_>) {
    use coretalk_measure::Machine;
    let all = reader.run.machine.topology().cpus().len();
    reader.is("title", said.number("n"), Some(all as f64), "CPUs of the machine");
    let told = reader.run.document["environment"]["simulated"].as_str();
    reader.holds("title", told == Some(said.text("scenario")), || format!("the document says {told:?}"));
    if let Some(more) = said.text("more").strip_prefix(" · ").and_then(|more| more.strip_suffix(" more")) {
        let grave = ["warn", "bad", "cannot-tell"];
        let doubts = list(&reader.run.document["environment"]["doctor"]);
        let doubts = doubts
            .iter()
            .filter(|finding| finding["verdict"].as_str().is_some_and(|verdict| grave.contains(&verdict)))
            .count();
        reader.holds(
            "count",
            Printed::read(more).is_some_and(|more| more.value < doubts.max(1) as f64 + 0.5),
            || format!("{doubts} findings are grave"),
        );
    }
}

/// `same L3 +0.4 % vs. serial, proven within ±1 %, 96 pairs at once`.
fn gates(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = list(&reader.run.document["matrices"][reader.matrix]["gate"]);
    let parts: Vec<&str> = said.sentence.split(" · ").collect();
    reader.holds("gate", parts.len() == told.len(), || format!("the document has {} gates", told.len()));
    for (part, gate) in parts.iter().zip(told) {
        let words: Vec<&str> = part.split(", ").collect();
        let bias: Vec<&str> = words[0].trim_end_matches(" vs. serial").rsplitn(3, ' ').collect();
        let bias = format!("{} {}", bias[1], bias[0]);
        reader.is("gate", Printed::read(&bias).unwrap(), gate["bias"].as_f64(), "the bias");
        let margin = words[1].split('±').nth(1).and_then(Printed::read);
        if let Some(margin) = margin.filter(|_| reader.probe == "latency") {
            reader.is("gate", margin, Some(GATE_MARGIN), "the margin");
        }
        let proven = !words[1].starts_with("not ");
        reader.holds("gate", gate["equivalent"] == proven, || format!("equivalent: {}", gate["equivalent"]));
        let pairs = words[2].split(" pair").next().and_then(Printed::read).unwrap();
        reader.is("gate", pairs, gate["pairs"].as_f64(), "pairs at once");
    }
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
