//! Advice: where threads should run, what that gains, and what to type.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::map::{OFF, cells};
use super::{held, unheld};
use coretalk_model::{CpuId, CpuSet, Relation};
use serde_json::Value;
use std::collections::BTreeSet;

pub const PATTERNS: &[Pattern] = &[
    held("Where {threads#} threads should run, {how} ({pattern})", title),
    held("Where {threads#} threads that {how} should run ({pattern})", title),
    held("From the run {name}; candidates: {n#} CPU{s?}, {cpus}", origin),
    held("From a measurement of a few seconds; candidates: {n#} CPU{s?}, {cpus}", origin),
    held("Threads 0 to {last#} on CPUs {cpus}, in this order.", placed),
    held("Threads 0 and 1 on CPUs {cpus}, in this order.", placed),
    held(
        "Threads 0 to {last#} on CPUs {cpus}, in this order: spread over groups of CPUs, so that they share as \
         little as possible. Latencies predict nothing for threads that do not talk.",
        placed,
    ),
    held(
        "Threads 0 and 1 on CPUs {cpus}, in this order: spread over groups of CPUs, so that they share as little as \
         possible. Latencies predict nothing for threads that do not talk.",
        placed,
    ),
    held("No placement is better than {which} by more than {share%}: {how}.", bound),
    held("No advice: {share%} of the pairs changed level during the run, {rest}", nothing),
    held(
        "SMT siblings (CPUs {cpus}) are left out: there are enough cores, and two threads of one core compute at about \
         half speed",
        left_out,
    ),
    held("taskset -c {cpus} COMMAND", set),
    held("CPUAffinity={cpus}", set),
    held("docker run --cpuset-cpus={cpus} IMAGE", set),
    held("OMP_NUM_THREADS={n#} OMP_PROC_BIND=close OMP_PLACES='{cpus}' COMMAND", each),
    held("OMP_NUM_THREADS={n#} GOMP_CPU_AFFINITY='{cpus}' COMMAND", each),
    held("srun --ntasks={n#} --cpu-bind=map_cpu:{cpus} COMMAND", each),
    held("<vcpu placement='static'>{n#}</vcpu>", many),
    held("<vcpupin vcpu='{thread#}' cpuset='{cpus}'/>", pinned),
    unheld("SIMULATED {scenario}: these numbers say nothing about this computer", "no claim"),
];

fn advice<'a>(reader: &Reader<'a>) -> &'a Value {
    &reader.run.document["advice"][0]
}

fn cpus(value: &Value) -> Vec<u32> {
    list(value).iter().filter_map(|cpu| Some(cpu.as_u64()? as u32)).collect()
}

fn title(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = advice(reader);
    reader.is("advice", said.number("threads"), told["threads"].as_f64(), "threads");
    reader.holds("advice", told["pattern"] == said.text("pattern"), || {
        format!("the pattern is {}", told["pattern"])
    });
}

/// Each of them runs on a core of which another thread may be chosen.
fn left_out(reader: &mut Reader<'_>, said: &Said<'_>) {
    let left: CpuSet = said.text("cpus").parse().unwrap_or_default();
    let chosen = cpus(&advice(reader)["cpus"]);
    let truth = reader.run.truth();
    reader.holds("advice", !left.is_empty(), || "no CPU is named".to_owned());
    for cpu in left.iter() {
        reader.holds("advice", !chosen.contains(&cpu.0), || format!("CPU {cpu} is advised"));
        let siblings = || truth.cpus().iter().filter(|other| truth.relation(cpu, *other) == Relation::Smt);
        let is_second = siblings().any(|other| !left.contains(other));
        reader.holds("advice", is_second, || format!("no other thread of the core of CPU {cpu} is left"));
    }
}

fn origin(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told: Option<CpuSet> = advice(reader)["candidates"].as_str().and_then(|cpus| cpus.parse().ok());
    reader.is("advice", said.number("n"), told.as_ref().map(|cpus| cpus.len() as f64), "CPUs to choose from");
    let shown = said.text("cpus").parse::<CpuSet>().ok();
    reader.holds("advice", shown == told || said.text("cpus").ends_with('…'), || {
        format!("they are {told:?}")
    });
}

fn placed(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = cpus(&advice(reader)["cpus"]);
    let text = said.text("cpus");
    // A set where the order rises, else one by one.
    let shown: Vec<u32> = match text.parse::<CpuSet>() {
        Ok(set) if !text.contains(", ") => set.iter().map(|cpu| cpu.0).collect(),
        _ => text.split(", ").filter_map(|cpu| cpu.parse().ok()).collect(),
    };
    reader.holds("advice", shown == told, || format!("the document says {told:?}"));
    if said.sentence.contains("Threads 0 to") {
        reader.is("advice", said.number("last"), Some(told.len() as f64 - 1.0), "the last thread");
    }
}

/// Pairs of threads that talk, by the pattern.
fn edges(pattern: &str, threads: usize) -> Vec<[usize; 2]> {
    match pattern {
        "pairs" => (0..threads / 2).map(|pair| [2 * pair, 2 * pair + 1]).collect(),
        "pipeline" => (1..threads).map(|thread| [thread - 1, thread]).collect(),
        "ring" => (0..threads).map(|thread| [thread, (thread + 1) % threads]).collect(),
        "all-to-all" => (0..threads).flat_map(|a| (a + 1..threads).map(move |b| [a, b])).collect(),
        _ => Vec::new(),
    }
}

/// What a placement costs a message on average, in the source and in truth.
fn mean(reader: &Reader<'_>, placed: &[u32]) -> Option<[f64; 2]> {
    let edges = edges(advice(reader)["pattern"].as_str()?, placed.len());
    let known = reader.run.sources.first().map(|source| cells(&source["matrices"][0]));
    let (mut told, mut truth) = (0.0, 0.0);
    for [a, b] in &edges {
        let (a, b) = (placed[*a], placed[*b]);
        let cell = known
            .as_ref()
            .and_then(|cells| cells.iter().find(|(p, q, _)| (*p, *q) == (a, b) || (*q, *p) == (a, b)));
        told += cell.map_or(f64::NAN, |cell| cell.2);
        truth += reader.run.true_ns("cas+pause", a, b)[0];
    }
    (!edges.is_empty()).then(|| [told, truth].map(|sum| sum / edges.len() as f64))
}

pub fn prices(reader: &mut Reader<'_>, table: &Table) {
    let told = advice(reader);
    for row in &table.rows[1..] {
        let of = match row[0].as_str() {
            "advised" | "best found" => Some(told),
            name => {
                let name = match name {
                    "first CPUs by number" => "system-order",
                    "anywhere, on average" => "anywhere",
                    name => name,
                };
                list(&told["baselines"]).iter().find(|baseline| baseline["name"] == name)
            }
        };
        let Some(of) = of else {
            reader.fail("advice", format!("the document has no {}", row[0]));
            continue;
        };
        let price = Printed::read(&row[1]).unwrap();
        reader.is("advice", price, of["mean"].as_f64(), "the price");
        if let Some([source, truth]) =
            mean(reader, &cpus(&of["cpus"])).filter(|_| !cpus(&of["cpus"]).is_empty())
        {
            if source.is_finite() {
                reader.is_near("advice", price, source, 0.002, "the mean of its cells");
            }
            reader.is_near("advice", price, truth, OFF, "the mean of its pairs");
        }
        if let Some((low, high)) = row[2].split_once(" and ") {
            reader.is("advice", Printed::read(low).unwrap(), of["bounds"][0].as_f64(), "the lower bound");
            reader.is("advice", Printed::read(high).unwrap(), of["bounds"][1].as_f64(), "the upper bound");
        }
        let against = row.get(3).cloned().unwrap_or_default();
        let excess = of["excess_percent"].as_f64().map(|percent| percent / 100.0);
        match () {
            () if against.starts_with("slowest pair") => {
                let worst = against.split_whitespace().nth(2).and_then(Printed::read).unwrap();
                reader.is("advice", worst, told["worst"].as_f64(), "the slowest pair");
            }
            () if against == "the same CPUs" => {
                let [theirs, ours] =
                    [of, told].map(|of| cpus(&of["cpus"]).into_iter().collect::<BTreeSet<u32>>());
                // What was found and is not advised has no CPUs in the document, but its price.
                let is_so = if ours.is_empty() { of["mean"] == told["mean"] } else { theirs == ours };
                reader.holds("advice", is_so, || format!("they are {theirs:?}, not {ours:?}"));
            }
            () if against == "no proven difference" => {
                reader.holds("advice", of["worse"] == false, || "the document says worse".to_owned());
            }
            () => {
                reader.holds("advice", of["worse"] == true, || "the document does not say worse".to_owned());
                let (text, plus) = match against.split_once(" × ") {
                    Some((times, _)) => (times.to_owned(), 1.0),
                    None => (against.split(" more").next().unwrap_or_default().to_owned(), 0.0),
                };
                reader.is(
                    "advice",
                    Printed::read(&text).unwrap(),
                    excess.map(|excess| excess + plus),
                    "what it costs more",
                );
                let ends = against
                    .split_once('(')
                    .and_then(|(_, ends)| ends.trim_end_matches(')').split_once(" to "));
                for (end, index) in ends.into_iter().flat_map(|(low, high)| [(low, 0), (high, 1)]) {
                    let exact =
                        of["excess_bounds_percent"][index].as_f64().map(|percent| percent / 100.0 + plus);
                    reader.is("advice", Printed::read(end).unwrap(), exact, "an end of what it costs more");
                }
            }
        }
    }
}

/// No placement that is tried here is truly better by more.
fn bound(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = advice(reader);
    let share = said.share("share");
    reader.is(
        "advice",
        share,
        told["at_most_better_percent"].as_f64().map(|percent| percent / 100.0),
        "the bound",
    );
    let advised = cpus(&told["cpus"]);
    let Some([_, mine]) = mean(reader, &advised) else { return };
    let candidates: CpuSet =
        told["candidates"].as_str().and_then(|cpus| cpus.parse().ok()).unwrap_or_default();
    let all: Vec<CpuId> = candidates.iter().collect();
    let mut best = f64::INFINITY;
    // Each CPU with those that are nearest to it in truth, in turns over the threads.
    for first in &all {
        let mut near = all.clone();
        near.sort_by(|a, b| {
            let ns = |cpu: &CpuId| {
                if cpu == first { 0.0 } else { reader.run.true_ns("cas+pause", first.0, cpu.0)[0] }
            };
            ns(a).total_cmp(&ns(b))
        });
        let placed: Vec<u32> = near.iter().take(advised.len()).map(|cpu| cpu.0).collect();
        best = best.min(mean(reader, &placed).map_or(f64::INFINITY, |[_, truth]| truth));
    }
    // The bound holds for what was measured, which lies some percent from the truth.
    reader.holds("advice", mine / best - 1.0 <= share.value + share.half + 0.03, || {
        format!("another placement takes {best:.2} ns in truth, and this one {mine:.2}")
    });
}

fn nothing(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.holds("advice", cpus(&advice(reader)["cpus"]).is_empty(), || {
        "the document has a placement".to_owned()
    });
    let told = reader.run.sources.first().and_then(|source| source["watch"]["cells_changed"].as_f64());
    if told.is_some() {
        reader.is("states", said.share("share"), told, "the share of pairs that changed level");
    }
}

fn set(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told: CpuSet = cpus(&advice(reader)["cpus"]).into_iter().map(CpuId).collect();
    let shown = said.text("cpus").parse::<CpuSet>().ok();
    reader.holds("to type", shown.as_ref() == Some(&told), || format!("the advised CPUs are {told}"));
}

fn each(reader: &mut Reader<'_>, said: &Said<'_>) {
    many(reader, said);
    let told = cpus(&advice(reader)["cpus"]);
    let shown: Vec<u32> =
        said.text("cpus").split(|c: char| !c.is_ascii_digit()).filter_map(|cpu| cpu.parse().ok()).collect();
    reader.holds("to type", shown == told, || format!("the advised CPUs are {told:?}"));
}

fn many(reader: &mut Reader<'_>, said: &Said<'_>) {
    let threads = advice(reader)["threads"].as_f64();
    reader.is("to type", said.number("n"), threads, "threads");
}

fn pinned(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = cpus(&advice(reader)["cpus"]);
    let of = told.get(said.number("thread").value as usize).copied();
    reader.holds("to type", of.is_some() && of == said.text("cpus").parse().ok(), || format!("it is {of:?}"));
}
