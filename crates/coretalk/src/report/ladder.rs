//! The ladder: everything that one CPU can do to reach another, a row for each relation and, where cores are
//! of several kinds, each combination of them; a column for each step.

use super::text::{columns, left, ns, plain, plus_minus, right, short_ns};
use coretalk_measure::probes::wake::LADDER_GAP_NS;
use coretalk_model::latency::{LadderRow, LatencyResult};
use coretalk_model::series::RUNGS;
use coretalk_model::stats::Estimate;
use coretalk_model::{KernelId, Level, Relation, Topology};

/// What the pairs of a relation share, in words that fit this machine: pairs that share a package but no L3 are
/// `across L3` where the package has several.
pub fn relation_words(relation: Relation, topology: &Topology) -> String {
    let across = |from: Level| {
        let inside = topology.levels().into_iter().take_while(move |&level| level != from).skip(1);
        inside.filter(|&level| topology.level(level).len() > 1).last()
    };
    let (same, split) = match relation {
        Relation::SameCpu => return "one CPU".into(),
        Relation::Smt => return "threads of a core".into(),
        Relation::L2 => return "same L2".into(),
        Relation::Cluster => return "same cluster".into(),
        Relation::L3 => return "same L3".into(),
        Relation::Die => ("same die", across(Level::Die)),
        Relation::Node => ("same node", across(Level::Node)),
        Relation::Package => ("same package", across(Level::Package)),
        Relation::Machine if topology.level(Level::Package).len() > 1 => return "across packages".into(),
        Relation::Machine => ("this machine", across(Level::Package)),
    };
    split.map_or(same.into(), |level| format!("across {}", level_words(level, 1)))
}

/// A level in words, for so many of them.
pub fn level_words(level: Level, number: usize) -> &'static str {
    match (level, number) {
        (Level::Core, 1) => "core",
        (Level::Core, _) => "cores",
        (Level::L2, _) => "L2",
        (Level::Cluster, 1) => "cluster",
        (Level::Cluster, _) => "clusters",
        (Level::L3, _) => "L3",
        (Level::Die, 1) => "die",
        (Level::Die, _) => "dies",
        (Level::Node, 1) => "node",
        (Level::Node, _) => "nodes",
        (Level::Package, 1) => "package",
        (Level::Package, _) => "packages",
    }
}

/// The table, as wide as allowed: steps that have no room stand in a second one. `line` is the code of the map above;
/// its rows alone come with interval and range. Without such rows every step is a plain column.
pub fn ladder(rows: &[LadderRow], line: Option<&KernelId>, topology: &Topology, width: usize) -> Vec<String> {
    let mut rungs: Vec<Rung> = Vec::new();
    for rung in rows.iter().map(rung) {
        if !rungs.contains(&rung) {
            rungs.push(rung);
        }
    }
    // Stable: kinds of cores keep the order of the rows.
    rungs.sort_by_key(|(relation, _)| topology.nearness(*relation));
    let mut steps: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| Some(&row.kernel) != line) {
        if !steps.contains(&(row.step.as_str(), row.kernel.as_str())) {
            steps.push((&row.step, row.kernel.as_str()));
        }
    }
    let cell = |of: Rung, (step, kernel): &(&str, &str)| {
        rows.iter().find(|row| rung(row) == of && row.step == *step && row.kernel.as_str() == *kernel)
    };
    let line = |of: Rung| {
        let row = rows.iter().find(|row| rung(row) == of && Some(&row.kernel) == line)?;
        Some((row, row.latency_ns.as_ref()?))
    };
    let mut shown = headline(&rungs, rows, line);
    shown.extend(steps.iter().map(|step| plain_column(&rungs, step, cell)));
    let stub = first_column(&rungs, topology);
    blocks(&stub, &shown, width)
}

/// What the pairs of a row have in common: what they share, and the kinds of their cores where there are several.
type Rung<'a> = (Relation, Option<&'a [String; 2]>);

fn rung(row: &LadderRow) -> Rung<'_> {
    (row.relation, row.classes.as_ref())
}

/// A column: two lines of heading and a cell for each relation.
type Column = Vec<String>;

fn first_column<'a>(rungs: &[Rung<'a>], topology: &Topology) -> Column {
    let clustered = |kinds: &'a [String; 2]| rungs.contains(&(Relation::Cluster, Some(kinds)));
    let name = |&(relation, kinds): &Rung<'a>| match kinds {
        None => relation_words(relation, topology),
        Some(kinds) => {
            format!("{}, {}", kind_words(kinds), shared_words(relation, clustered(kinds), topology))
        }
    };
    ["ladder, ns per hop".to_owned(), String::new()].into_iter().chain(rungs.iter().map(name)).collect()
}

/// `P–E`: the kinds of the cores of a pair.
pub fn kind_words([fast, slow]: &[String; 2]) -> String {
    format!("{}–{}", plain(fast), plain(slow))
}

/// What pairs of two kinds share; where these kinds have clusters of their own, what shares only more is in two of them.
pub fn shared_words(relation: Relation, clustered: bool, topology: &Topology) -> String {
    match relation {
        Relation::L3 if clustered => "other cluster".to_owned(),
        relation => relation_words(relation, topology),
    }
}

/// How many pairs, and the line of the map where it was climbed: a relation without it has no value there, and other
/// code never stands in for it.
fn headline<'a>(
    rungs: &[Rung<'a>],
    rows: &[LadderRow],
    line: impl Fn(Rung<'a>) -> Option<(&'a LadderRow, &'a Estimate)>,
) -> Vec<Column> {
    let column = |head: [&str; 2], text: &dyn Fn(Rung<'a>) -> String| -> Column {
        head.map(str::to_owned).into_iter().chain(rungs.iter().map(|&rung| text(rung))).collect()
    };
    let most = |of: Rung<'a>| rows.iter().filter(|row| rung(row) == of).map(|row| row.pairs).max();
    let mut shown = vec![column(["pairs", ""], &|rung| {
        line(rung).map(|(row, _)| row.pairs).or_else(|| most(rung)).unwrap_or(0).to_string()
    })];
    if !rungs.iter().any(|&rung| line(rung).is_some()) {
        return shown;
    }
    shown.push(column(["line", "(95 %)"], &|rung| {
        line(rung).map_or("·".to_owned(), |(_, latency)| {
            let interval = match latency.is_sure() {
                true => plus_minus(latency.point, latency.reach()),
                false => String::new(),
            };
            format!("{} {}", ns(latency.point), left(&interval, 5))
        })
    }));
    // One pair has no range.
    let range =
        |rung: Rung<'a>| line(rung).filter(|(row, _)| row.pairs > 1).and_then(|(row, _)| row.range_ns);
    if rungs.iter().any(|&rung| range(rung).is_some()) {
        shown.push(column(["range", ""], &|rung| {
            range(rung).map_or(String::new(), |[low, high]| format!("{}–{}", short_ns(low), short_ns(high)))
        }));
    }
    shown
}

fn plain_column<'a>(
    rungs: &[Rung],
    step: &(&str, &str),
    cell: impl Fn(Rung, &(&str, &str)) -> Option<&'a LadderRow>,
) -> Column {
    let point = |rung: &Rung| cell(*rung, step)?.latency_ns.map(|latency| ns(latency.point));
    let cells = rungs.iter().map(|rung| point(rung).unwrap_or_else(|| "·".to_owned()));
    step_heading(step).into_iter().chain(cells).collect()
}

/// The name of a step on two lines: other tools with `~`, as their numbers are reproduced and not ours.
fn step_heading((step, kernel): &(&str, &str)) -> [String; 2] {
    if let Some(tool) = step.strip_prefix("as:") {
        return match tool {
            "core-to-core-latency" => ["~core-to-".into(), "core-latency".into()],
            "coherency-latency" => ["~coherency-".into(), "latency".into()],
            tool => [format!("~{}", plain(tool)), String::new()],
        };
    }
    if RUNGS.iter().any(|rung| rung.step == *step) {
        return [plain(step), "wake-up".into()];
    }
    let hint = kernel.strip_prefix(step).filter(|hint| !hint.is_empty());
    let mechanism = match *step {
        "msg" => "mailbox",
        "xfer" => "read",
        step => step,
    };
    [plain(mechanism), hint.map(plain).unwrap_or_default()]
}

fn blocks(stub: &Column, shown: &[Column], width: usize) -> Vec<String> {
    let wide = |column: &Column| column.iter().map(|cell| columns(cell)).max().unwrap_or(0);
    let mut lines = Vec::new();
    let mut rest = shown;
    while !rest.is_empty() {
        let mut used = 1 + wide(stub);
        let fit = rest
            .iter()
            .take_while(|column| {
                used += 2 + wide(column);
                used <= width
            })
            .count()
            .max(1);
        for row in 0..stub.len() {
            let mut line = format!(" {}", left(&stub[row], wide(stub)));
            for column in &rest[..fit] {
                line.push_str("  ");
                line.push_str(&right(&column[row], wide(column)));
            }
            if row != 1 || !line.trim().is_empty() {
                lines.push(line.trim_end().to_owned());
            }
        }
        rest = &rest[fit..];
    }
    lines
}

/// What the numbers are, those of other tools and those of a machine that changed its state.
pub fn footnote(result: &LatencyResult) -> String {
    let rows = &result.ladder;
    let tools = rows.iter().any(|row| row.step.starts_with("as:"));
    let pairs = rows.iter().map(|row| u64::from(row.pairs)).max().unwrap_or(0);
    let kinds = if rows.iter().any(|row| row.classes.is_some()) { " and kinds of cores" } else { "" };
    let mut text = match pairs {
        0 | 1 => format!("medians of one pair of each relation{kinds}"),
        most => format!("medians over at most {most} representative pairs of each relation{kinds}"),
    };
    if tools {
        text.push_str("; ~ is what that tool would print, reproduced");
    }
    let woken: Vec<&str> =
        RUNGS.iter().map(|rung| rung.step).filter(|step| rows.iter().any(|row| row.step == *step)).collect();
    if !woken.is_empty() {
        let gap = super::text::duration(LADDER_GAP_NS * 1e-9);
        text.push_str(&format!("; {}: until a thread that slept {gap} runs again", woken.join(" and ")));
    }
    if result.watch.as_ref().is_some_and(|watch| watch.states.len() > 1) {
        text.push_str("; each pair in the state of the machine that its headline is from");
    }
    if rows.iter().any(|row| row.latency_ns.is_none()) {
        text.push_str(" (·: visited in others only)");
    }
    text
}
