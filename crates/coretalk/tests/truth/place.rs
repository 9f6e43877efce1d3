//! Checks of comparisons of placements: verdicts, CPUs and messages against the document and the simulated machine.

use super::fields::raw;
use super::plants::{Fault, plant};
use super::run::{Run, cpus, list};
use crate::cli::tool::Tool;
use coretalk::blocks::value::{PlacementNumber, Source};
use coretalk_model::place::{ALPHA, MIN_EFFECT, Workload, effect};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Level};
use serde_json::Value;
use std::collections::BTreeSet;

/// The least number of runs for an interval of their median.
const MIN_RUNS: usize = 6;

/// A number of a placement, from its CPUs and the machine.
pub fn number(run: &Run, list_of: &Value, number: &PlacementNumber) -> Option<f64> {
    let (cpus, topology) = (cpus(list_of), run.truth());
    let set: CpuSet = cpus.iter().copied().collect();
    // A CPU outside all groups of a level is its own group.
    let group = |level: Level, cpu: CpuId| {
        let groups = topology.level(level);
        let found = groups.iter().find(|domain| domain.cpus.contains(cpu));
        found.map_or_else(|| CpuSet::from_iter([cpu]), |domain| domain.cpus.clone())
    };
    let is_of = |cpu: &CpuId, kind: &str| topology.class_of(*cpu).is_some_and(|class| class.name == kind);
    let count = match number {
        PlacementNumber::Cpus => set.len(),
        PlacementNumber::Groups(level) => {
            set.iter().map(|cpu| group(*level, cpu).to_string()).collect::<BTreeSet<_>>().len()
        }
        PlacementNumber::Class(name) => set.iter().filter(|cpu| is_of(cpu, name)).count(),
        PlacementNumber::Messages(of) => of.communicating_pairs(&cpus).first()?.len(),
        PlacementNumber::Crossings(level, of) => {
            let crosses = |(one, other): &&(CpuId, CpuId)| group(*level, *one) != group(*level, *other);
            of.communicating_pairs(&cpus).iter().map(|of| of.iter().filter(crosses).count()).max()?
        }
    };
    Some(count as f64)
}

/// Whether the whole of a part is right: all messages of the placement, or the CPUs of one of the placements.
pub fn has_all(run: &Run, list_of: &Source, of_all: &PlacementNumber, all: u64) -> bool {
    let count = |list_of: &Value, of_all: &PlacementNumber| number(run, list_of, of_all) == Some(all as f64);
    match of_all {
        PlacementNumber::Crossings(_, of) => {
            raw(run, list_of).is_some_and(|list_of| count(list_of, &PlacementNumber::Messages(*of)))
        }
        _ => {
            let placements =
                list(&run.document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
            placements.into_iter().any(|one| count(&one["cpus"], of_all))
        }
    }
}

/// A relative difference in percent, as a share.
fn share(of: &Value) -> Option<f64> {
    Some(of.as_f64()? / 100.0)
}

/// The relative difference of the other placement of a pair from this one.
fn lead(pair: &Value, from: &Value) -> Option<f64> {
    let share = share(&pair["delta_percent"])?;
    Some(if pair["a"] == *from { share } else { 1.0 / (1.0 + share) - 1.0 })
}

fn pairs_of<'a>(of: &'a Value, name: &Value) -> Vec<&'a Value> {
    list(&of["pairs"]).iter().filter(|pair| pair["a"] == *name || pair["b"] == *name).collect()
}

/// The placement that is significantly better than every other in its pairs.
fn winner(of: &Value) -> Option<&Value> {
    let beats = |name: &Value, pair: &Value| {
        let loser = lead(pair, name).filter(|share| effect(*share) >= MIN_EFFECT);
        loser.is_some_and(|share| (share < 0.0) == (of["better"] == "higher"))
            && pair["p_value"].as_f64().is_some_and(|p| p <= ALPHA)
    };
    let names = list(&of["placements"]).iter().map(|placement| &placement["name"]);
    let mut all = names.map(|name| (name, pairs_of(of, name)));
    all.find(|(name, own)| !own.is_empty() && own.iter().all(|pair| beats(name, pair))).map(|(name, _)| name)
}

/// Parts of a comparison that do not follow from its pairs and runs.
fn untrue_verdict(of: &Value) -> Vec<&'static str> {
    let (pairs, found) = (list(&of["pairs"]), winner(of));
    let runs = || list(&of["placements"]).iter().flat_map(|placement| list(&placement["runs"]));
    let is_untested = |pair: &Value| pair["p_value"].is_null() || pair["ci"].is_null();
    let reason = match of["reason"].as_str() {
        _ if of["verdict"] != "cannot-tell" => None,
        _ if runs().next().is_none() => Some("no run has a value"),
        _ if runs().any(|run| run.as_f64() < Some(0.0)) => Some("values below zero have no ratio"),
        _ if pairs.iter().all(is_untested) => Some("too few runs for a test"),
        other => other.filter(|reason| !reason.contains("too few") && !reason.contains("value")).or(Some("")),
    };
    let is_alike =
        pairs.iter().all(|pair| share(&pair["delta_percent"]).is_some_and(|it| effect(it) < MIN_EFFECT));
    let is_withheld =
        reason.is_some_and(|reason| reason.contains("disturbed") || reason.contains("contradict"));
    let is_so = match of["verdict"].as_str() {
        Some("told") => pairs.is_empty(),
        Some("winner") => found == Some(&of["winner"]),
        Some("same") => found.is_none() && is_alike,
        _ => found.is_none() || is_withheld,
    };
    let own = pairs_of(of, &of["winner"]);
    let p_value = own.iter().filter_map(|pair| pair["p_value"].as_f64()).reduce(f64::max);
    let stated = share(&of["delta_percent"]);
    let nearest = own.iter().filter_map(|pair| lead(pair, &of["winner"]));
    let nearest = nearest.min_by(|one, other| effect(*one).total_cmp(&effect(*other)));
    let is_inside = |pair: &Value| {
        let [low, high] = [0, 1].map(|end| pair["ci"][end].as_f64());
        let point = pair["delta_percent"].as_f64();
        low.is_none_or(|low| Some(low) <= point) && high.is_none_or(|high| point <= Some(high))
    };
    let within = share(&of["within_percent"]);
    let is_near = |one: f64, other: Option<f64>| other.is_some_and(|other| (one - other).abs() < 1e-5);
    let checks = [
        ("the verdict", is_so && (of["verdict"] == "winner") == of["winner"].is_string()),
        ("the p-value", of["p_value"].as_f64() == p_value),
        ("the lead", stated.map_or(nearest.is_none(), |stated| is_near(stated, nearest))),
        ("the bound of a tie", within.map_or(of["verdict"] != "same", |it| is_near(it, Some(MIN_EFFECT)))),
        ("the reason", of["reason"].as_str() == reason),
        ("an interval of a pair", pairs.iter().all(is_inside)),
    ];
    checks.into_iter().filter(|(_, is_so)| !is_so).map(|(what, _)| what).collect()
}

/// Parts of a placement that do not follow from its runs and its CPUs.
fn untrue_placement(of: &Value) -> Vec<&'static str> {
    let runs: Vec<f64> = list(&of["runs"]).iter().filter_map(Value::as_f64).collect();
    let (own, roles) = (cpus(&of["cpus"]), cpus(&of["roles"]));
    let set: CpuSet = own.iter().copied().collect();
    let checks = [
        ("the median", median(&runs) == of["median"].as_f64()),
        ("the interval", of["ci"].is_array() == (runs.len() >= MIN_RUNS)),
        ("the repetitions", list(&of["repetitions"]).len() == runs.len()),
        ("the taskset", of["taskset"].is_null() || of["taskset"] == format!("taskset -c {set}")),
        ("the threads", roles.iter().zip(own.iter().cycle()).all(|(role, cpu)| role == cpu)),
    ];
    checks.into_iter().filter(|(_, is_so)| !is_so).map(|(what, _)| what).collect()
}

/// Parts of a comparison that contradict the machine: medians, the best placement and its lead.
fn untrue_work(run: &Run, of: &Value) -> Vec<&'static str> {
    let asked = run.option("threads");
    let truth = |placement: &Value| {
        let work: Workload = of["workload"].as_str()?.parse().ok()?;
        let threads = asked.map_or(Ok(list(&placement["roles"]).len()), |text| text.parse()).ok()?;
        run.machine.true_headline(work, &cpus(&placement["cpus"]), threads).filter(|_| threads > 0)
    };
    let known = |one: &Value| Some((one["name"].clone(), one["median"].as_f64()?, truth(one)?));
    let known: Vec<(Value, f64, f64)> = list(&of["placements"]).iter().filter_map(known).collect();
    let best = known.iter().find(|(name, ..)| *name == of["winner"]).map(|(.., rate)| *rate);
    let leads =
        known.iter().map(|(.., rate)| rate / best.unwrap_or(*rate) - 1.0).filter(|share| *share != 0.0);
    let nearest = leads.clone().min_by(|one, other| effect(*one).total_cmp(&effect(*other)));
    let is_lead = |(stated, truth): (f64, f64)| (stated - truth).abs() <= 0.1 * (1.0 + truth.abs());
    let ends = [f64::min, f64::max].map(|end| known.iter().map(|(.., rate)| *rate).reduce(end));
    let apart = ends[1].zip(ends[0]).map_or(0.0, |(most, least)| most / least - 1.0);
    let checks = [
        ("a median", known.iter().all(|(_, median, rate)| (median / rate - 1.0).abs() <= 0.08)),
        (
            "the best",
            leads.clone().all(|share| best.is_none() || (share < 0.0) == (of["better"] == "higher")),
        ),
        ("the lead", share(&of["delta_percent"]).zip(nearest.filter(|_| best.is_some())).is_none_or(is_lead)),
        ("a tie", share(&of["within_percent"]).is_none_or(|within| apart <= within + 0.01)),
    ];
    checks.into_iter().filter(|(_, is_so)| !is_so).map(|(what, _)| what).collect()
}

/// Expected words that a screen lacks: the winners, and the CPUs of each placement.
fn unprinted(run: &Run, comparisons: &[Value]) -> Vec<String> {
    let lines: Vec<&str> = run.printed.lines().map(str::trim).collect();
    let text = run.printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lacking = Vec::new();
    let mut works = BTreeSet::new();
    for of in comparisons.iter().filter(|of| works.insert(of["workload"].as_str())) {
        let said = match (of["winner"].as_str(), of["verdict"].as_str()) {
            (Some(winner), _) => format!("`{winner}` wins in "),
            (None, Some("same")) => "The placement does not matter here: ".to_owned(),
            _ => "Cannot tell which placement wins in ".to_owned(),
        };
        let start = format!("{}: {said}", of["workload"].as_str().unwrap_or_default());
        lacking.extend((!lines.iter().any(|line| line.starts_with(&start))).then_some(start));
    }
    let won = lines.iter().filter_map(|line| line.strip_suffix(" wins")?.rsplit("  ").next());
    let winners = comparisons.iter().filter_map(|of| of["winner"].as_str());
    lacking.extend((!won.eq(winners)).then(|| "winners in the table".to_owned()));
    // The order of interchangeable threads is not printed.
    let is_ordered = run.printed.contains("threads on CPUs");
    for placement in list(&comparisons[0]["placements"]) {
        let name = placement["name"].as_str().unwrap_or_default();
        let roles = list(&placement["roles"]).iter().filter(|_| is_ordered).map(Value::to_string);
        let roles: Vec<String> = roles.collect();
        let end = placement["taskset"].as_str().unwrap_or("unbound");
        let is_row =
            |line: &&str| line.starts_with(name) && line.ends_with(end) && line.contains(&roles.join(", "));
        lacking.extend((!lines.iter().any(is_row)).then(|| format!("row of {name}")));
        let (number, places) = (roles.len(), roles.join("},{"));
        let command =
            format!("{name}: OMP_NUM_THREADS={number} OMP_PROC_BIND=close OMP_PLACES='{{{places}}}'");
        lacking.extend((number > 0 && !text.contains(&command)).then_some(command));
        let both =
            name.split_once('+').map(|(one, other)| format!("`{one}` and `{other}` use the same CPUs here"));
        lacking.extend(both.filter(|both| !text.contains(both)));
    }
    lacking
}

/// Errors in the comparisons of a run.
pub fn untrue(run: &Run) -> Vec<String> {
    let comparisons = list(&run.document["comparisons"]);
    let Some(first) = comparisons.first() else { return Vec::new() };
    let names =
        |of: &Value| list(&of["placements"]).iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    let lacking =
        unprinted(run, comparisons).into_iter().map(|words| format!("`{words}` is not on the screen"));
    let mut wrong: Vec<String> = lacking.collect();
    let mut works = BTreeSet::new();
    for of in comparisons {
        let mut found = untrue_verdict(of);
        found.extend((names(of) != names(first)).then_some("the order of placements"));
        found.extend(list(&of["placements"]).iter().flat_map(untrue_placement));
        if works.insert(of["workload"].as_str()) {
            found.extend(untrue_work(run, of));
        }
        wrong.extend(
            found.iter().map(|what| format!("{} by {}: {what} is not so", of["workload"], of["metric"])),
        );
    }
    wrong
}

#[test]
fn faults_in_comparisons_of_placements_are_found() {
    let words = "place --workload ring,integer --threads 4 --budget 300s --seed 1";
    let run = Run::of(&Tool::new(), "chiplet-16-smt", words, "placed");
    fn field(run: &mut Run, path: &str, value: impl Into<Value>) {
        run.set(&format!("/comparisons/0/{path}"), value);
    }
    fn list_of(run: &mut Run, path: &str, change: fn(&mut Vec<Value>)) {
        run.edit_list(&format!("/comparisons/0/{path}"), change);
    }
    fn text(run: &mut Run, from: &str, to: &str) {
        assert!(run.printed.contains(from), "{}", run.printed);
        run.printed = run.printed.replace(from, to);
    }
    let faults: [Fault; 20] = [
        ("winner", |run| field(run, "winner", "across-l3"), "the verdict is not so"),
        ("verdict", |run| field(run, "verdict", "cannot-tell"), "the verdict is not so"),
        ("p-value", |run| field(run, "p_value", 0.001), "the p-value is not so"),
        ("p-value of a pair", |run| field(run, "pairs/0/p_value", 0.02), "the p-value is not so"),
        ("sign", |run| run.scale("/comparisons/0/delta_percent", -1.0), "the lead is not so"),
        ("pair", |run| field(run, "pairs/0/delta_percent", -60.0), "is not so"),
        ("interval of a pair", |run| field(run, "pairs/0/ci/0", 1000), "an interval of a pair is not so"),
        ("median", |run| field(run, "placements/0/median", 19e6), "the median is not so"),
        ("interval", |run| field(run, "placements/0/ci", Value::Null), "the interval is not so"),
        ("run", |run| list_of(run, "placements/0/runs", |all| drop(all.pop())), "the repetitions is not so"),
        ("CPUs", |run| field(run, "placements/0/cpus/3", 10), "is not so"),
        ("threads", |run| list_of(run, "placements/1/roles", |all| all.swap(0, 1)), "the threads is not so"),
        ("taskset", |run| field(run, "placements/1/taskset", "taskset -c 0-3"), "the taskset is not so"),
        ("order", |run| list_of(run, "placements", |all| all.reverse()), "the order of placements is not so"),
        ("better", |run| field(run, "better", "lower"), "is not so"),
        (
            "winner of work",
            |run| text(run, "ring: `smt-packed`", "ring: `across-l3`"),
            "is not on the screen",
        ),
        (
            "winner of a row",
            |run| text(run, "0.0020  smt-packed", "0.0020  across-l3"),
            "winners in the table",
        ),
        ("CPUs to type", |run| text(run, "taskset -c 0,1,16,17", "taskset -c 0,1,2,3"), "row of smt-packed"),
        ("threads of a row", |run| text(run, "0, 16, 1, 17", "0, 1, 16, 17"), "row of smt-packed"),
        ("places to type", |run| text(run, "'{0},{16},{1},{17}'", "'{0},{1},{16},{17}'"), "OMP_PLACES"),
    ];
    plant(&[run], untrue, &faults);
}
