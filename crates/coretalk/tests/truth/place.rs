//! Comparisons of placements: numbers of CPUs and messages, recomputed from the topology, and the words of the screen.

use super::fields::raw;
use super::run::{Run, cpu_set, cpus, list};
use coretalk_model::{CpuId, CpuSet, Level};
use coretalk_report::blocks::value::{PlacementNumber, Source};
use serde_json::Value;
use std::collections::BTreeSet;

/// A number of a placement, from its CPUs and the reported topology.
pub fn number(run: &Run, cpu_list: &Value, number: &PlacementNumber) -> Option<f64> {
    let (cpus, topology) = (cpus(cpu_list), &run.reported);
    let set: CpuSet = cpus.iter().copied().collect();
    // A CPU outside all groups of a level is its own group.
    let group = |level: Level, cpu: CpuId| {
        topology.domain_of(cpu, level).map_or_else(|| CpuSet::from_iter([cpu]), |domain| domain.cpus.clone())
    };
    let is_of = |cpu: &CpuId, kind: &str| topology.class_of(*cpu).is_some_and(|class| class.name == kind);
    let count = match number {
        PlacementNumber::Cpus => set.len(),
        PlacementNumber::Groups(level) => {
            set.iter().map(|cpu| group(*level, cpu).to_string()).collect::<BTreeSet<_>>().len()
        }
        PlacementNumber::Class(name) => set.iter().filter(|cpu| is_of(cpu, name)).count(),
        PlacementNumber::Messages(workload) => workload.communicating_pairs(&cpus).first()?.len(),
        PlacementNumber::Crossings(level, workload) => {
            let crosses = |(one, other): &&(CpuId, CpuId)| group(*level, *one) != group(*level, *other);
            let steps = workload.communicating_pairs(&cpus).into_iter();
            steps.map(|pairs| pairs.iter().filter(crosses).count()).max()?
        }
    };
    Some(count as f64)
}

/// Whether the total of a part is right: all messages of the placement, or the CPUs of one of the placements.
pub fn has_all(run: &Run, cpu_list: &Source, kind: &PlacementNumber, all: u64) -> bool {
    let count = |cpu_list: &Value, kind: &PlacementNumber| number(run, cpu_list, kind) == Some(all as f64);
    let mut placements = list(&run.document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
    match kind {
        PlacementNumber::Crossings(_, workload) => {
            raw(run, cpu_list).is_some_and(|cpu_list| count(cpu_list, &PlacementNumber::Messages(*workload)))
        }
        _ => placements.any(|one| count(&one["cpus"], kind)),
    }
}

/// Expected words that the screen of a comparison lacks: the winners, and the CPUs of each placement.
pub fn unprinted(run: &Run) -> Vec<String> {
    let comparisons = list(&run.document["comparisons"]);
    let Some(first) = comparisons.first() else { return Vec::new() };
    let lines: Vec<&str> = run.printed.lines().map(str::trim).collect();
    let text = run.printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut missing: Vec<String> = Vec::new();
    let mut workloads = BTreeSet::new();
    for comparison in comparisons.iter().filter(|it| workloads.insert(it["workload"].as_str())) {
        let conclusion = match (comparison["verdict"].as_str(), comparison["winner"].as_str()) {
            (Some("winner"), winner) => format!("`{}` wins in ", winner.unwrap_or_default()),
            (Some("same"), _) => "The placement does not matter here: ".to_owned(),
            _ => "Cannot tell which placement wins in ".to_owned(),
        };
        let start = format!("{}: {conclusion}", comparison["workload"].as_str().unwrap_or_default());
        missing.extend((!lines.iter().any(|line| line.starts_with(&start))).then_some(start));
    }
    let won = lines.iter().filter_map(|line| line.strip_suffix(" wins")?.rsplit("  ").next());
    let winners = comparisons.iter().filter_map(|comparison| comparison["winner"].as_str());
    missing.extend((!won.eq(winners)).then(|| "winners in the table".to_owned()));
    // The order of interchangeable threads is not printed.
    let mut done = 0;
    let is_ordered = run.printed.contains("threads on CPUs");
    for placement in list(&first["placements"]) {
        let name = placement["name"].as_str().unwrap_or_default();
        let roles = if is_ordered { list(&placement["roles"]) } else { &[] };
        let roles: Vec<String> = roles.iter().map(Value::to_string).collect();
        let set = cpu_set(&placement["cpus"]);
        let end =
            if placement["taskset"].is_string() { format!("taskset -c {set}") } else { "unbound".into() };
        let is_row =
            |line: &&str| line.starts_with(name) && line.ends_with(&end) && line.contains(&roles.join(", "));
        // The rows have the order of the document.
        let row = lines[done..].iter().position(is_row);
        done += row.map_or(0, |at| at + 1);
        missing.extend(row.is_none().then(|| format!("row of {name}")));
        let (number, places) = (roles.len(), roles.join("},{"));
        let command =
            format!("{name}: OMP_NUM_THREADS={number} OMP_PROC_BIND=close OMP_PLACES='{{{places}}}'");
        missing.extend((number > 0 && !text.contains(&command)).then_some(command));
        let merged =
            name.split_once('+').map(|(one, other)| format!("`{one}` and `{other}` use the same CPUs here"));
        missing.extend(merged.filter(|merged| !text.contains(merged)));
    }
    missing.into_iter().map(|words| format!("`{words}` is not on the screen")).collect()
}
