//! Checks of inferred structure against the simulated machine: levels, their agreement with reported levels, CPUs that
//! share execution units, and doubts about a matrix.

use super::fields::path_of;
use super::maps::{OFF, cells};
use super::plants::{Fault, plant};
use super::run::{Run, ends_of, groups_among, list, pairs, sorted};
use super::sources::wrong;
use crate::cli::tool::Tool;
use coretalk::blocks::value::{DisplayUnit, DisplayValue};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Level, Relation};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn cpus_of(list: &Value) -> CpuSet {
    list.as_str().unwrap_or_default().parse().unwrap_or_default()
}

/// The groups of an inferred level; a CPU outside all is its own group.
fn groups_of(level: &Value) -> Vec<CpuSet> {
    let single = cpus_of(&level["single"]);
    let groups = list(&level["groups"]).iter().map(cpus_of);
    sorted(groups.chain(single.iter().map(|cpu| CpuSet::from_iter([cpu]))).collect())
}

/// The groups with two CPUs or more.
fn without_single(groups: &[CpuSet]) -> Vec<CpuSet> {
    groups.iter().filter(|group| group.len() > 1).cloned().collect()
}

fn is_together(groups: &[CpuSet], pair: [CpuId; 2]) -> bool {
    groups.iter().any(|group| pair.iter().all(|cpu| group.contains(*cpu)))
}

/// Errors in the structure of a document.
pub fn untrue(run: &Run) -> Vec<String> {
    let topology = &run.document["topology"];
    let measured = run.measured();
    let all = list(&topology["execution"]).iter().filter_map(|test| untrue_test(run, test));
    let is_some = run.words.iter().any(|word| word == "--pairs");
    // Only these doubts can be true of a simulated machine.
    let is_other = |doubt: &&Value| !["unfit", "contradictory"].map(Value::from).contains(&doubt["kind"]);
    let doubts = list(&topology["doubts"]).iter().filter(is_other).map(|doubt| format!("doubt {doubt}"));
    let mut wrong: Vec<String> = all.chain(doubts).collect();
    if topology["inferred"].is_null() {
        let is_moved = topology["reason"].as_str().is_some_and(|why| why.contains("changed level"));
        let is_still = is_moved && run.machine.states().len() < 2;
        wrong.extend(is_still.then(|| "the machine has one state only".to_owned()));
        return wrong;
    }
    // Groups need all pairs.
    if is_some {
        return wrong;
    }
    let truth = run.true_groups(&measured);
    wrong.extend(untrue_levels(run, &truth));
    wrong.extend(untrue_agreement(run, &measured, &truth));
    wrong
}

/// An error in the unit of a number of the structure or of its column.
pub fn unit_of_another(run: &Run, headings: &[String], value: &DisplayValue) -> Option<String> {
    let path = path_of(&value.source)?.strip_prefix("/topology/")?;
    let is_share = path.ends_with("scatter") || path.ends_with("repeats") || path.contains("_kept/");
    let is_its = match value.unit {
        DisplayUnit::Own(unit) => unit == Unit::Share && is_share || unit == Unit::Bytes,
        DisplayUnit::Decimals(_) => path.ends_with("ratio"),
        unit => unit == DisplayUnit::OfColumn(1.0) && !is_share,
    };
    let unit = run.document["topology"]["inferred"]["levels"][0]["unit"].as_str();
    let is_other = |heading: &String| {
        heading.strip_prefix("inside, ").zip(unit).is_some_and(|(of_column, unit)| of_column != unit)
    };
    (!is_its || headings.iter().any(is_other)).then(|| format!("the unit of {value:?} below {headings:?}"))
}

/// Errors in the inferred levels.
fn untrue_levels(run: &Run, truth: &[Vec<CpuSet>]) -> Vec<String> {
    let inferred = &run.document["topology"]["inferred"];
    let levels: Vec<Vec<CpuSet>> = list(&inferred["levels"]).iter().map(groups_of).collect();
    let mut wrong = Vec::new();
    for (level, groups) in list(&inferred["levels"]).iter().zip(&levels) {
        match truth.iter().position(|known| known == groups) {
            None => wrong.push(format!("{} is none of {truth:?}", level["groups"])),
            Some(at) => wrong.extend(untrue_median(run, level, truth, at)),
        }
    }
    let is_inside = |inner: &[CpuSet], outer: &[CpuSet]| {
        inner.iter().all(|group| outer.iter().any(|other| group.is_subset(other)))
    };
    if !levels.is_sorted_by(|inner, outer| is_inside(inner, outer)) {
        wrong.push("the levels are not from the finest".to_owned());
    }
    let lone: Vec<CpuSet> = list(&inferred["all_but_one"]).iter().map(|of| cpus_of(&of["group"])).collect();
    // A true group is a level, or all CPUs but one.
    let is_told = |groups: &&Vec<CpuSet>| {
        levels.contains(groups) || groups.len() == 2 && lone.iter().any(|group| groups.contains(group))
    };
    let is_hidden = inferred["contradictory"] != 0 || !list(&inferred["dropped"]).is_empty();
    let absent = truth.iter().filter(|groups| !is_hidden && !is_told(groups));
    wrong.extend(absent.map(|groups| format!("{groups:?} is left out")));
    let hints = list(&inferred["hints"]).iter().map(cpus_of);
    let hints =
        hints.filter(|hint| !truth.iter().any(|groups| groups.contains(hint)) && !lone.contains(hint));
    wrong.extend(hints.map(|hint| format!("{hint} is no group of {truth:?}")));
    wrong.extend(untrue_scatter(run, inferred));
    // The screen names every level, or none if all agree with the report.
    let prefix = "/topology/inferred/levels/";
    let paths = run.values.iter().filter_map(|(_, value)| path_of(&value.source));
    let named: BTreeSet<&str> =
        paths.filter_map(|path| path.strip_prefix(prefix)?.strip_suffix("/groups")).collect();
    let is_asked = run.words[0] == "topology";
    if named.len() != levels.len() && (is_asked || !named.is_empty()) {
        wrong.push(format!("the screen names the levels {named:?} of {}", levels.len()));
    }
    wrong
}

/// An error in the median of the pairs inside a group of a level but not of a finer level.
fn untrue_median(run: &Run, level: &Value, truth: &[Vec<CpuSet>], at: usize) -> Option<String> {
    let kernel = &run.document["matrices"][0]["kernel"];
    let told = level["median"].as_f64().filter(|_| kernel.is_null() || kernel == "cas+pause")?;
    let finer = at.checked_sub(1).map_or(&[][..], |finer| &truth[finer]);
    let inside = pairs(&run.measured())
        .into_iter()
        .filter(|pair| is_together(&truth[at], *pair) && !is_together(finer, *pair));
    let ns: Vec<f64> = inside.map(|[a, b]| run.true_ns("cas+pause", a.0, b.0)[0]).collect();
    let is = median(&ns)?;
    ((told / is - 1.0).abs() > OFF + 0.02).then(|| format!("{told} ns inside a group is truly {is:.1}"))
}

/// An error in the scatter of a map without groups: the farthest pair lies within a few times the scatter.
fn untrue_scatter(run: &Run, inferred: &Value) -> Option<String> {
    let scatter = inferred["scatter"].as_f64().filter(|_| inferred["continuous"] == false)?;
    let mut documents = [&run.document].into_iter().chain(&run.sources);
    let matrix = documents.find_map(|document| list(&document["matrices"]).first())?;
    let values: Vec<f64> = cells(matrix).into_iter().map(|(_, _, ns)| ns).collect();
    let middle = median(&values)?;
    let far = values.iter().map(|ns| (ns / middle - 1.0).abs()).fold(0.0, f64::max);
    (far > 5.0 * scatter + 0.02).then(|| format!("some pair lies {far} from the median, not {scatter}"))
}

/// Errors in the agreement of reported and inferred levels.
fn untrue_agreement(run: &Run, measured: &CpuSet, truth: &[Vec<CpuSet>]) -> Vec<String> {
    let topology = &run.document["topology"];
    let rows = list(&topology["agreement"]);
    let inferred = &topology["inferred"];
    let levels: Vec<Vec<CpuSet>> =
        list(&inferred["levels"]).iter().map(|level| without_single(&groups_of(level))).collect();
    let lone: Vec<CpuSet> = list(&inferred["all_but_one"]).iter().map(|of| cpus_of(&of["group"])).collect();
    let mut wrong = Vec::new();
    for level in Level::ALL {
        let told = without_single(&groups_among(&run.reported, level, measured));
        let row = rows.iter().find(|row| row["level"] == level.name());
        let Some(row) = row else {
            let is_divided = told.iter().any(|group| group.len() < measured.len());
            wrong.extend(is_divided.then(|| format!("{level} is left out")));
            continue;
        };
        let is_shown = levels.contains(&told) || told.len() == 1 && lone.contains(&told[0]);
        let is_so = match row["verdict"].as_str().unwrap_or_default() {
            "agree" => is_shown && truth.iter().any(|groups| without_single(groups) == told),
            "coarser" => truth.iter().flatten().any(|group| {
                let is_inside = |of: &CpuSet| group.is_subset(of) && group.len() < of.len();
                group.len() > 1 && told.iter().any(is_inside)
            }),
            "conflict" => told != without_single(&groups_among(&run.truth(), level, measured)),
            _ => !is_shown,
        };
        wrong.extend((!is_so).then(|| format!("{level} {told:?}: {}", row["verdict"])));
        let is_shown = |group: &&CpuSet| levels.iter().any(|level| level.contains(group));
        let shown = told.iter().filter(|group| is_shown(group) || lone.contains(group)).count();
        wrong.extend((row["shown"] != shown).then(|| format!("{shown} groups of {level} are shown")));
    }
    wrong
}

/// An error in a test of whether two CPUs share a core.
fn untrue_test(run: &Run, test: &Value) -> Option<String> {
    let [a, b] = ends_of(test);
    let is_shared = run.truth().relation(a, b) == Relation::Smt;
    let is_so = match test["verdict"].as_str()? {
        "shared" => is_shared,
        "apart" => !is_shared,
        _ => true,
    };
    (!is_so).then(|| format!("CPUs {a} and {b} are threads of one core: {is_shared}"))
}

#[test]
fn a_structure_that_is_changed_is_found() {
    let tool = Tool::new();
    let untrue = |run: &Run| {
        let numbers = run.values.iter().filter_map(|value| wrong(run, value));
        untrue(run).into_iter().chain(numbers).collect::<Vec<_>>()
    };
    let asked = |machine: &str, cpus: &str, name: &str| {
        let words = format!("latency --cpus {cpus} --seed 1 --budget 4s");
        let source = Run::of(&tool, machine, &words, name).document;
        Run::asked(&tool, machine, &format!("topology --from {name}"), vec![source])
    };
    const LEVELS: &str = "/topology/inferred/levels";
    let faults: [Fault; 20] = [
        ("CPU set", |run| run.set("/topology/inferred/levels/1/groups/0", "0-3,8,16-19"), "is none of"),
        ("single CPU", |run| run.set("/topology/inferred/levels/0/single", "8-10"), "is none of"),
        (
            "missing group",
            |run| run.set("/topology/inferred/levels/1/groups", json!(["0-3,16-19"])),
            "is none of",
        ),
        ("missing level", |run| run.edit_list(LEVELS, |all| drop(all.pop())), "is left out"),
        ("order of levels", |run| run.edit_list(LEVELS, |all| all.reverse()), "from the finest"),
        ("median", |run| run.set("/topology/inferred/levels/1/median", 40.0), "inside a group is truly"),
        ("interval", |run| run.set("/topology/inferred/levels/1/ci/1", 40.0), "the interval is"),
        ("next level", |run| run.set("/topology/inferred/levels/0/across", 40.0), ", not "),
        ("stability", |run| run.set("/topology/inferred/levels/0/repeats", 0.5), ", not "),
        ("hint", |run| run.set("/topology/inferred/hints", json!(["0,1"])), "is no group of"),
        ("verdict", |run| run.set("/topology/agreement/0/verdict", "not-visible"), "not-visible"),
        ("conflict", |run| run.set("/topology/agreement/0/verdict", "conflict"), "conflict"),
        ("coarser level", |run| run.set("/topology/agreement/0/verdict", "coarser"), "coarser"),
        ("missing row", |run| run.set("/topology/agreement", json!([])), "is left out"),
        ("shown groups", |run| run.set("/topology/agreement/0/shown", 0), "are shown"),
        ("Rand index", |run| run.set("/topology/agreement/0/rand_index", 0.5), ", not "),
        ("report", |run| run.set("/topology/reported/levels/0/groups", json!(["0,16"])), ", not "),
        ("test", |run| run.set("/topology/execution/0/verdict", "apart"), "are threads of one core"),
        ("doubt", |run| run.set("/topology/doubts", json!([{ "kind": "odd-cpu", "pairs": [] }])), "odd-cpu"),
        ("refusal", |run| run.set("/topology/inferred", Value::Null), "None, not "),
    ];
    plant(&[asked("chiplet-16-smt", "0-3,8-11,16-19", "threads")], untrue, &faults);
    let faults: [Fault; 2] = [
        ("lone CPU", |run| run.set("/topology/inferred/all_but_one", json!([])), "is left out"),
        ("its distance", |run| run.set("/topology/inferred/all_but_one/0/across", 20.0), ", not "),
    ];
    plant(&[asked("chiplet-16", "0-3,8", "lone")], untrue, &faults);
    let faults: [Fault; 2] = [
        ("scatter", |run| run.set("/topology/inferred/scatter", 0.5), ", not "),
        ("level", |run| run.set(LEVELS, json!([{ "groups": ["0-5", "6-11"], "single": "" }])), "is none of"),
    ];
    plant(&[asked("mesh-64", "0-11", "mesh")], untrue, &faults);
}
