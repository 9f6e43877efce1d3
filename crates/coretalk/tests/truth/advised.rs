//! Checks of advice against its map and against the true latencies of the simulated machine.

use super::cases;
use super::maps::{OFF, cells};
use super::plants::{Fault, plant};
use super::run::{Run, cpus as ids, list};
use super::sources::is_near;
use crate::cli::tool::Tool;
use coretalk_model::{CpuId, CpuSet, Relation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An advice and the measured latencies of its map.
struct Advised<'a> {
    run: &'a Run,
    of: &'a Value,
    pattern: &'a str,
    known: BTreeMap<[u32; 2], f64>,
}

fn cpus(value: &Value) -> Vec<u32> {
    ids(value).into_iter().map(|cpu| cpu.0).collect()
}

fn set(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().map(CpuId).collect()
}

/// The pairs of threads that communicate in a pattern.
fn edges(pattern: &str, threads: usize) -> Vec<[usize; 2]> {
    match pattern {
        "pairs" => (0..threads / 2).map(|pair| [2 * pair, 2 * pair + 1]).collect(),
        "pipeline" => (1..threads).map(|thread| [thread - 1, thread]).collect(),
        "ring" => (0..threads).map(|thread| [thread, (thread + 1) % threads]).collect(),
        "all-to-all" => (0..threads).flat_map(|a| (a + 1..threads).map(move |b| [a, b])).collect(),
        _ => Vec::new(),
    }
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

impl Advised<'_> {
    /// The latency of each communicating pair of threads on these CPUs.
    fn prices(&self, placed: &[u32], ns: impl Fn(u32, u32) -> f64) -> Vec<f64> {
        edges(self.pattern, placed.len()).into_iter().map(|[a, b]| ns(placed[a], placed[b])).collect()
    }

    fn measured(&self, a: u32, b: u32) -> f64 {
        self.known.get(&[a.min(b), a.max(b)]).copied().unwrap_or(f64::NAN)
    }

    fn truth(&self, a: u32, b: u32) -> f64 {
        self.run.true_ns("cas+pause", a, b)[0]
    }

    fn measured_cpus(&self) -> CpuSet {
        self.known.keys().flatten().copied().map(CpuId).collect()
    }

    fn candidates(&self) -> CpuSet {
        self.of["candidates"].as_str().unwrap().parse().unwrap()
    }

    /// An error in the mean latency of an advice or of a baseline placement.
    fn untrue_price(&self, of: &Value) -> Option<&'static str> {
        let placed = cpus(&of["cpus"]);
        let (price, bounds) = (of["mean"].as_f64()?, [0, 1].map(|end| of["bounds"][end].as_f64().unwrap()));
        let (measured, truth) =
            (self.prices(&placed, |a, b| self.measured(a, b)), self.prices(&placed, |a, b| self.truth(a, b)));
        let is_off = |mean: f64, share: f64| (price / mean - 1.0).abs() > share;
        match () {
            () if !(bounds[0]..=bounds[1]).contains(&price) => Some("a price outside its bounds"),
            () if placed.is_empty() => None,
            () if is_off(mean(&measured), 0.002) => Some("a price that is not the mean of its cells"),
            () if is_off(mean(&truth), OFF) => Some("a price that is not true"),
            () if of["worst"]
                .as_f64()
                .is_some_and(|worst| !is_near(worst, measured.iter().copied().fold(0.0, f64::max))) =>
            {
                Some("another slowest pair")
            }
            () => None,
        }
    }

    /// An error in the excess of a baseline placement over the advice.
    fn untrue_excess(&self, of: &Value) -> Option<&'static str> {
        let percent = of["excess_percent"].as_f64()?;
        let excess = 100.0 * (of["mean"].as_f64()? / self.of["mean"].as_f64()? - 1.0);
        let is_worse = of["excess_bounds_percent"][0].as_f64()? > 1e-4;
        match () {
            () if (percent - excess).abs() > 0.1 => Some("an excess of other prices"),
            () if of["worse"] != is_worse => Some("a verdict against its bounds"),
            () => None,
        }
    }

    /// The least true mean latency of the placements that consist of a CPU and its nearest neighbours.
    fn best(&self, threads: usize) -> f64 {
        let all: Vec<u32> = self.candidates().iter().map(|cpu| cpu.0).collect();
        let placed = all.iter().map(|first| {
            let mut near = all.clone();
            let ns = |cpu: u32| if cpu == *first { 0.0 } else { self.truth(*first, cpu) };
            near.sort_by(|a, b| ns(*a).total_cmp(&ns(*b)));
            near.truncate(threads);
            mean(&self.prices(&near, |a, b| self.truth(a, b)))
        });
        placed.fold(f64::INFINITY, f64::min)
    }

    /// Whether the command lines name the advised CPUs: as a set, or one for each thread in order.
    fn has_true_snippets(&self, advised: &[u32]) -> bool {
        list(&self.of["snippets"]).iter().all(|snippet| {
            let (name, text) = (snippet["name"].as_str().unwrap(), snippet["text"].as_str().unwrap());
            let numbers = |text: &str| -> Vec<u32> {
                text.split(|c: char| !c.is_ascii_digit()).filter_map(|cpu| cpu.parse().ok()).collect()
            };
            let behind = |mark: &str| text.split(mark).nth(1).unwrap_or_default();
            let shown = match name {
                "taskset" => behind("taskset -c "),
                "systemd" => behind("CPUAffinity="),
                "container" => behind("--cpuset-cpus="),
                "openmp" => behind("OMP_PLACES="),
                "gomp" => behind("GOMP_CPU_AFFINITY="),
                "slurm" => behind("map_cpu:"),
                _ => {
                    let pinned: Vec<u32> =
                        text.split("cpuset=").skip(1).flat_map(|of| numbers(of).into_iter().next()).collect();
                    return pinned == advised && numbers(text)[0] as usize == advised.len();
                }
            };
            match snippet["each_thread"] == true {
                true => {
                    let count = if name == "slurm" { "--ntasks=" } else { "OMP_NUM_THREADS=" };
                    numbers(shown) == advised && text.contains(&format!("{count}{} ", advised.len()))
                }
                false => {
                    shown.split(' ').next().and_then(|set| set.parse::<CpuSet>().ok()) == Some(set(advised))
                }
            }
        })
    }

    /// Whether each thread has its own core if there are enough cores.
    fn has_own_cores(&self, advised: &[u32]) -> bool {
        let (truth, known) = (self.run.truth(), self.measured_cpus());
        let is_shared = |a: CpuId, b: CpuId| truth.relation(a, b) == Relation::Smt;
        let is_first = |cpu: &CpuId| !known.iter().any(|other| other < *cpu && is_shared(other, *cpu));
        let cores = known.iter().filter(is_first).count();
        let mut pairs = advised.iter().flat_map(|a| advised.iter().map(move |b| [CpuId(*a), CpuId(*b)]));
        cores < advised.len() || !pairs.any(|[a, b]| a < b && is_shared(a, b))
    }

    fn untrue_placement(&self, advised: &[u32]) -> Option<&'static str> {
        let worse = || list(&self.of["baselines"]).iter().any(|baseline| baseline["worse"] == true);
        let slack = self.of["at_most_better_percent"].as_f64();
        let price = mean(&self.prices(advised, |a, b| self.truth(a, b)));
        match () {
            () if self.of["threads"] != advised.len() => Some("another number of threads"),
            () if set(advised).len() != advised.len() => Some("a CPU with two threads"),
            () if !set(advised).difference(&self.candidates()).is_empty() => {
                Some("a CPU that is no candidate")
            }
            () if self.of["ground"] == "latency" && !worse() => Some("no placement is worse"),
            () if !self.has_own_cores(advised) => Some("threads that share a core"),
            () if !self.has_true_snippets(advised) => Some("CPUs to type that are not advised"),
            // The bound is of measured latencies, which differ from the true ones by a few percent.
            () if slack
                .is_some_and(|slack| price / self.best(advised.len()) - 1.0 > slack / 100.0 + 0.03) =>
            {
                Some("a placement that is better by more")
            }
            () => None,
        }
    }

    /// Whether the screen shows no CPU set but the advised CPUs, the candidates and the excluded CPUs.
    fn has_own_sets(&self, advised: &[u32]) -> bool {
        let (advised, candidates) = (set(advised), self.candidates());
        let known = self.measured_cpus();
        self.run.cpus.iter().all(|shown| {
            let is_thread = shown.len() == 1 && shown.difference(&advised).is_empty();
            is_thread || [&advised, &candidates, &known.difference(&candidates)].contains(&shown)
        })
    }
}

/// An error in the advice of a document.
pub fn untrue(run: &Run) -> Option<&'static str> {
    let of = &run.document["advice"][0];
    let source = run.sources.first().filter(|_| run.words[0] == "advise")?;
    let known = cells(&source["matrices"][0]).into_iter().map(|(a, b, ns)| ([a.min(b), a.max(b)], ns));
    let pattern = of["pattern"].as_str().unwrap_or_default();
    let advised = Advised { run, of, pattern, known: known.collect() };
    let placed = cpus(&of["cpus"]);
    let is_placed = of["ground"] != "none";
    let own = || (is_placed).then(|| advised.untrue_placement(&placed)).flatten();
    let baselines = || list(&of["baselines"]).iter();
    match () {
        () if is_placed == placed.is_empty() || is_placed != of["reason"].is_null() => {
            Some("a ground for nothing")
        }
        () if !advised.candidates().difference(&advised.measured_cpus()).is_empty() => {
            Some("a candidate that was not measured")
        }
        () if !advised.has_own_sets(&placed) => Some("CPUs that the document does not have"),
        () => own()
            .or_else(|| advised.untrue_price(of))
            .or_else(|| baselines().find_map(|of| advised.untrue_price(of)))
            .or_else(|| baselines().find_map(|of| advised.untrue_excess(of))),
    }
}

/// Changes the text of each snippet.
fn snippets(run: &mut Run, change: fn(&str) -> String) {
    run.edit_list("/advice/0/snippets", |all| {
        all.iter_mut().for_each(|one| one["text"] = change(one["text"].as_str().unwrap()).into());
    });
}

/// Replaces the advice by other measured CPUs, without command lines.
fn advise(run: &mut Run, other: Value) {
    let candidates = set(&cpus(&run.sources[0]["topology"]["cpus"])).to_string();
    run.edit("/advice/0", |of| {
        other.as_object().unwrap().iter().for_each(|(key, value)| of[key] = value.clone());
        ["worst", "snippets"].iter().for_each(|key| of[key] = Value::Null);
        of["candidates"] = candidates.clone().into();
    });
    run.cpus.clear();
}

#[test]
fn an_advice_that_is_changed_is_found() {
    let faults: [Fault; 14] = [
        ("order", |run| run.edit_list("/advice/0/cpus", |cpus| cpus.reverse()), "CPUs to type"),
        (
            "lines to copy",
            |run| snippets(run, |text| text.replace("-c ", "-c 15,").replace('{', "{1")),
            "CPUs to type",
        ),
        ("threads to copy", |run| snippets(run, |text| text.replace("ntasks=", "ntasks=1")), "CPUs to type"),
        ("candidates", |run| run.set("/advice/0/candidates", "15"), "CPU"),
        (
            "threads",
            |run| {
                if run.document["advice"][0]["cpus"].is_array() {
                    run.set("/advice/0/threads", 99);
                }
            },
            "another number of threads",
        ),
        ("price", |run| run.scale("/advice/0/mean", 1.02), "a price"),
        ("bounds", |run| run.scale("/advice/0/bounds/1", 0.5), "a price outside its bounds"),
        ("slowest pair", |run| run.scale("/advice/0/worst", 1.5), "another slowest pair"),
        ("excess", |run| run.scale("/advice/0/baselines/3/excess_percent", 1.2), "an excess of other prices"),
        (
            "worse",
            |run| {
                run.edit_list("/advice/0/baselines", |all| {
                    let known = all.iter_mut().filter(|of| of["excess_percent"].is_number());
                    known.for_each(|of| of["worse"] = (of["worse"] == false).into());
                });
            },
            "a verdict against its bounds",
        ),
        (
            "ground",
            |run| {
                run.edit("/advice/0/ground", |of| *of = if *of == "none" { "latency" } else { "none" }.into())
            },
            "a ground for nothing",
        ),
        // The worst baseline placement as the advice.
        (
            "a better placement",
            |run| {
                let all = list(&run.document["advice"][0]["baselines"]).iter();
                let all = all.filter(|one| one["worse"] == true && one["cpus"].is_array());
                let excess = |one: &&Value| one["excess_percent"].as_f64().unwrap_or(0.0) as u64;
                if let Some(of) = all.max_by_key(excess) {
                    let other = json!({ "cpus": of["cpus"], "mean": of["mean"], "bounds": of["bounds"] });
                    advise(run, other);
                }
            },
            "a placement that is better by more",
        ),
        (
            "CPUs of the screen",
            |run| run.cpus.push("0,9,10".parse().unwrap()),
            "CPUs that the document does not have",
        ),
        (
            "a core with two threads",
            |run| {
                let is_smt = run.truth().relation(CpuId(0), CpuId(16)) == Relation::Smt;
                if is_smt && run.document["advice"][0]["pattern"] == "independent" {
                    advise(run, json!({ "cpus": [0, 16, 1, 2, 3, 8] }));
                }
            },
            "threads that share a core",
        ),
    ];
    plant(&cases::advice(&Tool::new()), untrue, &faults);
}
