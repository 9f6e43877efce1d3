//! The screen of `advise`: the placement, what it costs beside others, how sure that is, and what to type.

mod proof;

use super::saved;
use super::text::{count, cut, ns, percent, plain};
use crate::advice::{AdviceView, Origin};
use crate::blocks::{Block, Column, Table};
use crate::snippets::Snippet;
use coretalk_model::advise::{Advice, Baseline, Bracket, Ground, Pattern};
use coretalk_model::{CpuId, CpuSet, Departure};

/// Threads whose CPUs are listed one by one, and snippets with them.
const MOST_LISTED: usize = 64;
/// Threads up to which XML of a line each is shown.
const MOST_IN_XML: usize = 16;

/// The screen.
pub fn blocks(view: &AdviceView) -> Vec<Block<'static>> {
    let simulated = view.simulated.as_deref().map(plain);
    let mut blocks: Vec<Block<'_>> = simulated
        .map(|name| Block::Headline(format!("SIMULATED {name}: this says nothing about hardware").into()))
        .into_iter()
        .collect();
    let says = match (view.recommended(), view.reason()) {
        (Some(advice), _) => recommendation(advice),
        (None, reason) => format!("No advice: {}.", reason.unwrap_or_default()),
    };
    blocks.extend([
        Block::Headline(title(view).into()),
        Block::Prose(origin(view).into()),
        Block::Gap,
        Block::Prose(says.into()),
    ]);
    if let Ok(advice) = &view.outcome
        && advice.mean.is_some()
    {
        blocks.extend([
            Block::Gap,
            Block::Table(prices(view, advice)),
            Block::Prose(certainty(advice).into()),
        ]);
    }
    if let Some(proof) = &view.proof {
        blocks.push(Block::Gap);
        blocks.extend(proof::blocks(proof, view.threads));
    }
    // Those that left while it was proved, after the advice was made.
    let is_used = |it: &&Departure| view.recommended().is_some_and(|advice| advice.cpus.contains(&it.cpu));
    let (used, avoided): (Vec<Departure>, Vec<Departure>) =
        view.departed.iter().cloned().partition(|it| is_used(&it));
    blocks.extend(saved::departures(&avoided, ", and no thread is placed there"));
    blocks.extend(saved::departures(&used, "; the advice was made before, and uses it"));
    blocks.extend(view.remarks.iter().cloned().map(|text| Block::Doubt(text.into())));
    if let Some(advice) = view.recommended() {
        blocks.push(Block::Gap);
        blocks.extend(what_to_type(advice, view.snippets()));
    }
    blocks
}

fn title(view: &AdviceView) -> String {
    let threads = count(view.threads as u64, "thread");
    match view.pattern {
        _ if view.threads == 1 => "Where one thread should run".to_owned(),
        Some(Pattern::Independent) => format!("Where {threads} that do not talk should run (independent)"),
        Some(Pattern::Pairs) => format!("Where {threads} that talk in pairs should run (pairs)"),
        Some(Pattern::Ring) => {
            format!("Where {threads} should run, each talking to the next and the last to the first (ring)")
        }
        Some(Pattern::Pipeline) => {
            format!("Where {threads} should run, each talking to the next (pipeline)")
        }
        Some(Pattern::AllToAll) => {
            format!("Where {threads} that all talk to each other should run (all-to-all)")
        }
        None => {
            let pairs = count(view.talking as u64, "pair");
            format!("Where {threads} should run, of which {pairs} talk, as in the graph")
        }
    }
}

fn origin(view: &AdviceView) -> String {
    let from = match &view.origin {
        Origin::Measurement => "From a measurement of a few seconds".to_owned(),
        Origin::Run(name) => format!("From the run {}", plain(name)),
        Origin::File(name, format) => format!("From {} ({format})", plain(name)),
    };
    let chosen = count(view.candidates.len() as u64, "CPU");
    format!("{from}; candidates: {chosen}, {}", cut(&view.candidates.to_string(), 60))
}

fn recommendation(advice: &Advice) -> String {
    let placed = placed(&advice.cpus);
    match advice.ground {
        Ground::Structure => format!(
            "{placed}: spread over groups of CPUs, so that they share as little as possible. Latencies predict \
             nothing for threads that do not talk."
        ),
        _ => format!("{placed}."),
    }
}

/// `Threads 0 to 5 on CPUs 0-5`, or one by one where the order is another.
fn placed(cpus: &[CpuId]) -> String {
    let set: CpuSet = cpus.iter().copied().collect();
    let threads = match cpus.len() {
        2 => "Threads 0 and 1".to_owned(),
        count => format!("Threads 0 to {}", count.saturating_sub(1)),
    };
    match cpus {
        [cpu] => format!("On CPU {cpu}"),
        _ if cpus.is_sorted() => format!("{threads} on CPUs {set}, in this order"),
        _ if cpus.len() > MOST_LISTED => {
            format!("{threads} on CPUs {set}; which thread goes where: --format json")
        }
        _ => {
            let listed: Vec<String> = cpus.iter().map(CpuId::to_string).collect();
            format!("{threads} on CPUs {}, in this order", listed.join(", "))
        }
    }
}

fn prices(view: &AdviceView, advice: &Advice) -> Table {
    let columns = [
        Column::words("placement"),
        Column::numbers(format!("{} per message", view.unit)),
        Column::words("between"),
        Column::words("compared with the advice"),
    ];
    let row = |name: &str, mean: &Bracket, against: String| {
        let bounds = format!("{} and {}", ns(mean.low), ns(mean.high));
        [name.to_owned(), ns(mean.point), bounds, against].map(Into::into)
    };
    let name = if view.recommended().is_some() { "advised" } else { "best found" };
    let worst =
        advice.worst.map_or(String::new(), |worst| format!("slowest pair {} {}", ns(worst), view.unit));
    let best = advice.mean.iter().map(|mean| row(name, mean, worst.clone()));
    let others = advice.baselines.iter().filter_map(|baseline| {
        Some(row(words(baseline.name), baseline.mean.as_ref()?, against(baseline, advice)))
    });
    Table::new(columns).with(best.chain(others))
}

/// A usual placement in words.
fn words(name: &str) -> &str {
    match name {
        "system-order" => "first CPUs by number",
        "compact" => "compact",
        "spread" => "spread",
        _ => "anywhere, on average",
    }
}

fn against(baseline: &Baseline, advice: &Advice) -> String {
    let Some(excess) = &baseline.excess else { return String::new() };
    if !baseline.cpus.is_empty() && baseline.cpus == advice.cpus {
        return "the same CPUs".to_owned();
    }
    if !baseline.is_worse() {
        return "no proven difference".to_owned();
    }
    if excess.point >= 1.0 {
        let times = |share: f64| format!("{:.1}", 1.0 + share);
        return format!("{} × ({} to {})", times(excess.point), times(excess.low), times(excess.high));
    }
    format!("{} more ({} to {})", percent(excess.point), percent(excess.low), percent(excess.high))
}

fn certainty(advice: &Advice) -> String {
    let Some(slack) = advice.slack else {
        return "How much better another placement could be is not known: the bounds are too wide."
            .to_owned();
    };
    let how = if advice.optimal {
        "all placements were compared; the margin is the uncertainty of the values"
    } else {
        "a bound over all placements; perhaps none reaches it"
    };
    let than = if advice.ground == Ground::Nothing { "the best found" } else { "the advised one" };
    format!("No placement is better than {than} by more than {}: {how}.", percent(slack))
}

fn what_to_type(advice: &Advice, snippets: Vec<Snippet>) -> Vec<Block<'static>> {
    let (each, together): (Vec<Snippet>, Vec<Snippet>) =
        snippets.into_iter().partition(|snippet| snippet.each);
    let mut blocks = Vec::new();
    if !together.is_empty() {
        let heading = "to pin the process to these CPUs (its threads may move among them):";
        blocks.extend([Block::Prose(heading.to_owned().into()), to_copy(together)]);
    }
    if advice.cpus.len() < 2 {
        return blocks;
    }
    if advice.cpus.len() > MOST_LISTED {
        let where_they_are = "to pin each thread to its own CPU: --format json has the lines for OpenMP, Slurm and \
            libvirt";
        blocks.push(Block::Prose(where_they_are.to_owned().into()));
        return blocks;
    }
    let brief = advice.cpus.len() <= MOST_IN_XML;
    let last = if brief { "libvirt" } else { "libvirt with --format json" };
    let heading = format!("to pin each thread to its own CPU (OpenMP, GNU OpenMP, Slurm tasks, {last}):");
    let shown = each.into_iter().filter(|snippet| brief || !snippet.text.contains('\n')).collect();
    blocks.extend([Block::Prose(heading.into()), to_copy(shown)]);
    blocks
}

/// Lines to be copied are never broken.
fn to_copy(snippets: Vec<Snippet>) -> Block<'static> {
    Block::drawing(move |_| {
        snippets.iter().flat_map(|snippet| snippet.text.lines()).map(|line| format!("   {line}")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal;
    use crate::report::Style;
    use crate::report::text::columns;
    use coretalk_model::advise::{CpuDistances, Graph, advise};

    /// Two halves of four, 20 and 85 ns.
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
    fn what_matters_comes_with_its_gain_and_what_to_type() {
        for width in [60, 80, 160] {
            let text = screen(&view(4, Pattern::AllToAll, 85.0), width);
            assert!(text.contains("on CPUs 0,2,4,6, in this order"), "{text}");
            assert!(text.contains("taskset -c 0,2,4,6 COMMAND"), "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("3.2 ×") && words.contains("by more than 0 %"), "{text}");
            let broken =
                text.lines().filter(|line| !line.starts_with("   ")).find(|line| columns(line) > width);
            assert_eq!(broken, None, "{text}");
        }
    }

    #[test]
    fn a_margin_that_says_nothing_is_not_printed() {
        let mut view = view(4, Pattern::AllToAll, 85.0);
        if let Ok(advice) = &mut view.outcome {
            advice.slack = None;
        }
        let text = screen(&view, 200);
        assert!(
            text.contains("is not known: the bounds are too wide") && !text.contains("by more than"),
            "{text}"
        );
    }

    #[test]
    fn without_a_ground_there_is_nothing_to_type() {
        for (view, said) in [
            (view(4, Pattern::AllToAll, 20.0), "shown to be better than another"),
            (view(4, Pattern::Independent, 20.0), "no threads talk"),
            (AdviceView { outcome: Err("it moved".into()), ..view(2, Pattern::Pairs, 85.0) }, "it moved"),
        ] {
            let text = screen(&view, 100);
            assert!(text.contains(said) && !text.contains("taskset"), "{text}");
        }
        let all = screen(&view(8, Pattern::Ring, 85.0), 100);
        assert!(
            all.contains("GOMP_CPU_AFFINITY") && !all.contains("taskset"),
            "all CPUs are no choice: {all}"
        );
        let spread = screen(&view(2, Pattern::Independent, 85.0), 100);
        assert!(spread.contains("on CPUs 0,1") && spread.contains("taskset -c 0,1"), "{spread}");
    }
}
