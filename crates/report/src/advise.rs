//! The screen of `advise`: the placement, its cost compared with others, the uncertainty, and commands to type.

mod proof;

use super::saved;
use super::text::{columns, cut};
use crate::advice::{AdviceView, Origin};
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::snippets::Snippet;
use coretalk_model::advise::{Advice, Baseline, Bracket, Ground, Pattern};
use coretalk_model::quantity::Unit;
use coretalk_model::{CpuId, CpuLoss, CpuSet};

/// Maximum number of threads for which CPUs are listed one by one and snippets are shown.
const MAX_LISTED: usize = 64;
const MAX_IN_XML: usize = 16;
const MAX_CANDIDATES_WIDTH: usize = 60;

/// The screen.
pub fn blocks(view: &AdviceView) -> Vec<Block<'static>> {
    let simulated = view.simulated.iter().map(|name| {
        let sentence = Sentence::new("SIMULATED {name}: this says nothing about hardware");
        Block::Headline(sentence.with_name("name", name))
    });
    let mut blocks: Vec<Block<'_>> = simulated.collect();
    let no_advice = |reason| Sentence::new("No advice: {reason}.").with("reason", reason);
    let statements = view.recommended().map(recommendation).into_iter().chain(view.reason().map(no_advice));
    blocks.extend([Block::Headline(title(view)), Block::Prose(origin(view)), Block::Gap]);
    blocks.extend(statements.map(Block::Prose));
    if let Ok(advice) = &view.outcome
        && advice.mean.is_some()
    {
        blocks.extend([Block::Gap, Block::Table(prices(view, advice)), Block::Prose(certainty(advice))]);
    }
    if let Some(proof) = &view.proof {
        blocks.push(Block::Gap);
        blocks.extend(proof::blocks(proof, view.threads));
    }
    // CPUs lost during the proof may be part of the advice, which is older.
    let is_used = |it: &CpuLoss| view.recommended().is_some_and(|advice| advice.cpus.contains(&it.cpu));
    let departed = view.departed.iter().enumerate();
    let (used, avoided): (Vec<_>, Vec<_>) = departed.partition(|(_, it)| is_used(it));
    blocks.extend(saved::departures(avoided, ", and no thread is placed there"));
    blocks.extend(saved::departures(used, "; the advice was made before, and uses it"));
    blocks.extend(view.remarks.iter().cloned().map(Block::Doubt));
    if let Some(advice) = view.recommended() {
        blocks.push(Block::Gap);
        blocks.extend(what_to_type(advice, view.snippets()));
    }
    blocks
}

fn title(view: &AdviceView) -> Sentence {
    let template = match view.pattern {
        _ if view.threads == 1 => return "Where one thread should run".into(),
        Some(Pattern::Independent) => "Where {number} thread{s} that do not talk should run (independent)",
        Some(Pattern::Pairs) => "Where {number} thread{s} that talk in pairs should run (pairs)",
        Some(Pattern::Ring) => {
            "Where {number} thread{s} should run, each talking to the next and the last to the first (ring)"
        }
        Some(Pattern::Pipeline) => "Where {number} thread{s} should run, each talking to the next (pipeline)",
        Some(Pattern::AllToAll) => {
            "Where {number} thread{s} that all talk to each other should run (all-to-all)"
        }
        None => "Where {number} thread{s} should run, of which {pairs} talk, as in the graph",
    };
    let pairs = counted("talking_pairs", view.talking);
    Sentence::pluralized(template, counted("threads", view.threads))
        .with("pairs", Sentence::pluralized("{number} pair{s}", pairs))
}

fn origin(view: &AdviceView) -> Sentence {
    let from = match &view.origin {
        Origin::Measurement => "From a measurement of a few seconds".into(),
        Origin::Run(name) => Sentence::new("From the run {name}").with_name("name", name),
        Origin::File(name, format) => {
            Sentence::new("From {name} ({format})").with_name("name", name).with_name("format", format)
        }
    };
    let number = counted("candidates", view.candidates.len());
    let sentence =
        Sentence::pluralized("{from}; candidates: {number} CPU{s}, {cpus}", number).with("from", from);
    let cpus = view.candidates.to_string();
    match columns(&cpus) <= MAX_CANDIDATES_WIDTH {
        true => sentence.with("cpus", view.candidates.clone()),
        false => sentence.with_name("cpus", &cut(&cpus, MAX_CANDIDATES_WIDTH)),
    }
}

fn recommendation(advice: &Advice) -> Sentence {
    let template = match advice.ground {
        Ground::Structure => {
            "{placed}: spread over groups of CPUs, so that they share as little as possible. Latencies predict \
             nothing for threads that do not talk."
        }
        _ => "{placed}.",
    };
    Sentence::new(template).with("placed", placed(&advice.cpus))
}

fn placed(cpus: &[CpuId]) -> Sentence {
    let set: CpuSet = cpus.iter().copied().collect();
    let source = field("cpus").unlisted(1);
    let last = DisplayValue::bare(Number::Count(cpus.len().saturating_sub(1) as u64), source);
    let threads = match cpus.len() {
        2 => "Threads 0 and 1".into(),
        _ => Sentence::new("Threads 0 to {last}").with("last", last),
    };
    match cpus {
        [cpu] => Sentence::new("On CPU {cpu}").with("cpu", *cpu),
        _ if cpus.is_sorted() => Sentence::new("{threads} on CPUs {set}, in this order").with("set", set),
        _ if cpus.len() > MAX_LISTED => {
            Sentence::new("{threads} on CPUs {set}; which thread goes where: --format json").with("set", set)
        }
        _ => {
            let listed = cpus.iter().map(|cpu| Sentence::new("{cpu}").with("cpu", *cpu));
            Sentence::new("{threads} on CPUs {all}, in this order")
                .with("all", Sentence::joined(listed, ", "))
        }
    }
    .with("threads", threads)
}

fn field(key: &str) -> Source {
    Source::Field(pointer!("/advice/0/{key}"))
}

fn counted(key: &str, count: usize) -> DisplayValue {
    DisplayValue::bare(Number::Count(count as u64), field(key))
}

fn bounds(key: &str, bracket: &Bracket, value: impl Fn(&str, f64) -> DisplayValue) -> [DisplayValue; 2] {
    [("0", bracket.low), ("1", bracket.high)].map(|(end, number)| value(&format!("{key}/{end}"), number))
}

fn prices(view: &AdviceView, advice: &Advice) -> Table {
    let columns = [
        Column::words("placement"),
        Column::numbers(Sentence::new("{unit} per message").with("unit", view.unit)),
        Column::words("between"),
        Column::words("compared with the advice"),
    ];
    let value = |key: &str, ns: f64| DisplayValue::bare(Number::Point(ns), field(key));
    let row = |name: &'static str, path: &str, mean: &Bracket, against: Sentence| -> [Cell; 4] {
        let [low, high] = bounds(&format!("{path}bounds"), mean, value);
        let bounds = Sentence::new("{low} and {high}").with("low", low).with("high", high);
        [name.into(), value(&format!("{path}mean"), mean.point).into(), bounds.into(), against.into()]
    };
    let name = if view.recommended().is_some() { "advised" } else { "best found" };
    let worst = advice.worst.map_or("".into(), |worst| {
        let sentence = Sentence::new("slowest pair {worst} {unit}").with("worst", value("worst", worst));
        sentence.with("unit", view.unit)
    });
    let best = advice.mean.iter().map(|mean| row(name, "", mean, worst.clone()));
    let others = advice.baselines.iter().enumerate().filter_map(|(index, baseline)| {
        let path = format!("baselines/{index}/");
        let against = excess_words(baseline, advice, &path);
        Some(row(baseline_words(baseline.name), &path, baseline.mean.as_ref()?, against))
    });
    Table::new(columns).with(best.chain(others))
}

fn baseline_words(name: &str) -> &'static str {
    match name {
        "system-order" => "first CPUs by number",
        "compact" => "compact",
        "spread" => "spread",
        _ => "anywhere, on average",
    }
}

fn excess_words(baseline: &Baseline, advice: &Advice, path: &str) -> Sentence {
    let Some(excess) = &baseline.excess else { return "".into() };
    if !baseline.cpus.is_empty() && baseline.cpus == advice.cpus {
        return "the same CPUs".into();
    }
    if !baseline.is_worse() {
        return "no proven difference".into();
    }
    let share = |key: &str, share| DisplayValue::bare(Number::Point(share), field(key)).in_unit(Unit::Share);
    let times = |key: &str, share: f64| DisplayValue {
        number: Number::Point(1.0 + share),
        unit: DisplayUnit::Decimals(1),
        source: Operation::Sum.on([Source::Constant(1.0), field(key)]),
    };
    let value: &dyn Fn(&str, f64) -> DisplayValue = if excess.point >= 1.0 { &times } else { &share };
    let template = match excess.point >= 1.0 {
        true => "{point} × ({low} to {high})",
        false => "{point} more ({low} to {high})",
    };
    let [low, high] = bounds(&format!("{path}excess_bounds_percent"), excess, value);
    let point = value(&format!("{path}excess_percent"), excess.point);
    Sentence::new(template).with("point", point).with("low", low).with("high", high)
}

fn certainty(advice: &Advice) -> Sentence {
    let Some(slack) = advice.slack else {
        return "How much better another placement could be is not known: the bounds are too wide.".into();
    };
    let how = if advice.optimal {
        "all placements were compared; the margin is the uncertainty of the values"
    } else {
        "a bound over all placements; perhaps none reaches it"
    };
    let than = if advice.ground == Ground::Nothing { "the best found" } else { "the advised one" };
    let slack = DisplayValue::bare(Number::Point(slack), field("at_most_better_percent"));
    Sentence::new("No placement is better than {than} by more than {slack}: {how}.")
        .with("than", than)
        .with("slack", slack.in_unit(Unit::Share))
        .with("how", how)
}

fn what_to_type(advice: &Advice, snippets: Vec<Snippet>) -> Vec<Block<'static>> {
    let (each, together): (Vec<Snippet>, Vec<Snippet>) =
        snippets.into_iter().partition(|snippet| snippet.each);
    let mut blocks = Vec::new();
    if !together.is_empty() {
        let heading = "to pin the process to these CPUs (its threads may move among them):";
        blocks.extend([Block::Prose(heading.into()), to_copy(together)]);
    }
    if advice.cpus.len() < 2 {
        return blocks;
    }
    if advice.cpus.len() > MAX_LISTED {
        let hint = "to pin each thread to its own CPU: --format json has the lines for OpenMP, Slurm and \
            libvirt";
        blocks.push(Block::Prose(hint.into()));
        return blocks;
    }
    let is_short = advice.cpus.len() <= MAX_IN_XML;
    let last = if is_short { "libvirt" } else { "libvirt with --format json" };
    let heading =
        Sentence::new("to pin each thread to its own CPU (OpenMP, GNU OpenMP, Slurm tasks, {last}):");
    let shown = each.into_iter().filter(|snippet| is_short || !snippet.text.contains('\n')).collect();
    blocks.extend([Block::Prose(heading.with("last", last)), to_copy(shown)]);
    blocks
}

fn to_copy(snippets: Vec<Snippet>) -> Block<'static> {
    Block::drawing(move |_| {
        snippets
            .iter()
            .flat_map(|snippet| snippet.text.lines())
            .map(|line| format!("   {line}"))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::render::terminal;
    use coretalk_model::advise::{CpuDistances, Graph, advise};

    /// Two groups of four CPUs: 20 ns inside, `across` between them.
    fn view(threads: usize, pattern: Pattern, across: f64) -> AdviceView {
        let halves = ["0,2,4,6", "1,3,5,7"].map(|list| list.parse::<CpuSet>().unwrap());
        let ns = |a: CpuId, b: CpuId| Some(if a.0 % 2 == b.0 % 2 { 20.0 } else { across });
        let groups = if across > 20.0 { vec![halves.to_vec()] } else { Vec::new() };
        let distances = CpuDistances::new((0..8).map(CpuId).collect(), ns, &groups);
        let graph = Graph::of_pattern(pattern, threads);
        AdviceView {
            origin: Origin::Measurement,
            simulated: None,
            unit: "ns",
            threads,
            pattern: Some(pattern),
            talking: graph.edges().count(),
            candidates: "0-7".parse().unwrap(),
            known: 8,
            outcome: Ok(advise(&graph, &distances, 1)),
            departed: Vec::new(),
            remarks: Vec::new(),
            proof: None,
        }
    }

    fn screen(view: &AdviceView, width: usize) -> String {
        terminal::screen(&blocks(view), &Style::of_width(width))
    }

    #[test]
    fn the_screen_shows_placement_gain_and_commands() {
        for width in [60, 80, 160] {
            let text = screen(&view(4, Pattern::AllToAll, 85.0), width);
            assert!(text.contains("on CPUs 0,2,4,6, in this order"), "{text}");
            assert!(text.contains("taskset -c 0,2,4,6 COMMAND"), "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("3.2 ×") && words.contains("by more than 0 %"), "{text}");
            let fits = |line: &str| line.starts_with("   ") || columns(line) <= width;
            assert!(text.lines().all(fits), "{text}");
        }
    }

    #[test]
    fn an_unknown_margin_is_not_printed() {
        let mut view = view(4, Pattern::AllToAll, 85.0);
        view.outcome.as_mut().unwrap().slack = None;
        let text = screen(&view, 200);
        let is_unknown = text.contains("is not known: the bounds are too wide");
        assert!(is_unknown && !text.contains("by more than"), "{text}");
    }

    #[test]
    fn without_a_recommendation_no_commands_are_shown() {
        for (view, expected) in [
            (view(4, Pattern::AllToAll, 20.0), "shown to be better than another"),
            (view(4, Pattern::Independent, 20.0), "no threads talk"),
            (AdviceView { outcome: Err("it moved".into()), ..view(2, Pattern::Pairs, 85.0) }, "it moved"),
        ] {
            let text = screen(&view, 100);
            assert!(text.contains(expected) && !text.contains("taskset"), "{text}");
        }
        // No command selects all CPUs.
        let all = screen(&view(8, Pattern::Ring, 85.0), 100);
        assert!(all.contains("GOMP_CPU_AFFINITY") && !all.contains("taskset"), "{all}");
        let spread = screen(&view(2, Pattern::Independent, 85.0), 100);
        assert!(spread.contains("on CPUs 0,1") && spread.contains("taskset -c 0,1"), "{spread}");
    }
}
