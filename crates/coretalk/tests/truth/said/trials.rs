//! Trials: where they run, tables and maps of percentiles, and their doubts.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{Run, list, relation_words};
use super::{held, unheld};
use coretalk_model::{CpuId, CpuSet};
use serde_json::Value;
use std::collections::BTreeSet;

pub const PATTERNS: &[Pattern] = &[
    held("CPUs {from#} → {to#}, {relation}, with {more#} more", placed_with),
    held(
        "producers on {producers}, consumers on {consumers}; {threads#} threads share {cpus#} CPU{s?}",
        sides_that_share,
    ),
    held("producers on {producers}, consumers on {consumers}", sides),
    held("CPUs {from#} → {to#}, {relation}", placed_here),
    held("CPU {cpu#} writes; readers are the first of CPUs {readers}", writer),
    held("CPU {cpu#} writes; reader is CPU {readers}", writer),
    held("CPU {cpu#}", one_cpu),
    held("Any of CPUs {mask}", unbound),
    held("Where the waiter ran relative to the waker when it resumed: {rest}", unbound_trials),
    held("Pad to {bytes#} bytes: closer writers take {slowdowns}", padding),
    held(
        "Cannot tell how far to pad: writers up to {bytes#} bytes apart take {slowdowns}, and no larger distance is shown to be \
         free of it",
        padding_unknown,
    ),
    held("Cannot tell whether padding pays ({relations}): no interval decides it", no_padding),
    held("Polling receiver, half a round trip: {found}", after_gaps),
    held("{k#} of {n#} results missed ±{width%} (worst ±{worst%}); first: {trial}", missed),
    held(
        "{k#} of {n#} results missed ±{width%}, for which the clock is too coarse (worst ±{worst%}); first: {trial}",
        missed,
    ),
    held("{k#} of {n#} results missed ±{width%} (worst too wide to state); first: {trial}", doubts),
    held(
        "{k#} of {n#} results missed ±{width%}, for which the clock is too coarse (worst too wide to state); first: {trial}",
        doubts,
    ),
    held("{k#} of {n#} results: {reason}; first: {trial}", doubts),
    held("{n#} more doubtful result{s?}; see `flags` and `reason` in the data", more_doubts),
    unheld("{trial}: ± {width%} is wider than requested", "one trial and its reason, as the document has it"),
    held("{trial}: the interval is wider than the value", wider_than_itself),
    unheld("{trial}: only {passes#} passes", "one trial and its reason, as the document has it"),
    unheld(
        "Every CPU reads the clock all the time; two reads more than 0.5 µs apart are a gap. {rest}",
        "a heading",
    ),
    unheld(
        "{modes} on {any?}CPUs {cpus}, {view}: {shares}; {explained}",
        "modes of a distribution are in no document",
    ),
    unheld("{kind}: median in {unit}, {roles}", "the title of a map"),
    unheld("{relation} {x#} µs ({n#} pairs){rest?}", "maps of trials of many pairs are held by their cells"),
];

/// The CPUs of a trial, in role order; the ends of its mask where both of its threads are not bound.
pub fn placed(trial: &Value) -> String {
    if let Some(mask) = trial["parameters"]["mask"].as_str().filter(|_| list(&trial["placement"]).len() > 1) {
        return mask.replace('-', " ");
    }
    list(&trial["placement"]).iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// Every word that a question is known by: the probe whose tables come.
pub fn question(line: &str) -> Option<&'static str> {
    let lower = |text: &str| text.to_lowercase();
    coretalk_measure::probes::REGISTRY
        .iter()
        .find(|probe| {
            lower(line).trim_end_matches('?').starts_with(lower(probe.spec().question).trim_end_matches('?'))
        })
        .map(|probe| probe.spec().id)
}

/// Whether a line says what a name in the tables means.
pub fn is_meaning(run: &Run, line: &str) -> bool {
    list(&run.document["series"])
        .iter()
        .filter_map(|trial| trial["parameters"].as_object())
        .flat_map(|parameters| parameters.values())
        .filter_map(Value::as_str)
        .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")))
}

fn placed_here(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (from, to) = (said.cpu("from"), said.cpu("to"));
    reader.place = format!("{from} {to}");
    let words = relation_words(reader.run.reported.relation(CpuId(from), CpuId(to)), &reader.run.reported);
    reader.holds("place of trials", words == said.text("relation"), || format!("they share: {words}"));
}

fn placed_with(reader: &mut Reader<'_>, said: &Said<'_>) {
    placed_here(reader, said);
}

fn sides_that_share(reader: &mut Reader<'_>, said: &Said<'_>) {
    hold_sides(reader, said, Some(["threads", "cpus"].map(|name| said.number(name).value as usize)));
}

fn sides(reader: &mut Reader<'_>, said: &Said<'_>) {
    hold_sides(reader, said, None);
}

/// Some trial has these producers and these consumers, and as many threads on as many CPUs where there are fewer of those.
fn hold_sides(reader: &mut Reader<'_>, said: &Said<'_>, shares: Option<[usize; 2]>) {
    let set = |name: &str| {
        let list = said.text(name).trim_start_matches("CPUs ").trim_start_matches("CPU ");
        CpuSet::from_list(list).unwrap_or_default()
    };
    let told = ["producers", "consumers"].map(set);
    let of = |cpus: &[u64]| cpus.iter().map(|&cpu| CpuId(cpu as u32)).collect::<CpuSet>();
    let fits = |trial: &&Value| {
        let placement: Vec<u64> = list(&trial["placement"]).iter().filter_map(Value::as_u64).collect();
        let first = trial["parameters"]["producers"].as_u64().unwrap_or_default() as usize;
        let Some((producers, consumers)) = placement.split_at_checked(first) else { return false };
        let all = of(&placement).len();
        [of(producers), of(consumers)] == told
            && shares == (all < placement.len()).then_some([placement.len(), all])
    };
    let is_there = list(&reader.run.document["series"]).iter().any(|trial| fits(&trial));
    reader.holds("sides", is_there, || "no trial has these producers and consumers".to_owned());
}

fn writer(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("cpu").to_owned();
}

fn one_cpu(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("cpu").to_owned();
}

fn unbound_trials(reader: &mut Reader<'_>, _said: &Said<'_>) {
    let has_mask = |trial: &Value| trial["parameters"]["mask"].is_string();
    let is_so = list(&reader.run.document["series"]).iter().any(has_mask);
    reader.holds("places", is_so, || "every trial is bound".to_owned());
}

fn unbound(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("mask").replace('-', " ");
}

/// Where waiters ran: shares with their intervals.
pub fn places(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows[1..] {
        let named = row[0].rsplit(", ").next().unwrap_or_default();
        let trial = list(&reader.run.document["series"]).iter().find(|trial| {
            trial["parameters"]["primitive"] == named && !trial["values"]["same_cpu_share"].is_null()
        });
        let Some(trial) = trial else {
            reader.fail("places", format!("no trial is called {named}"));
            continue;
        };
        for (title, cell) in table.heading().iter().zip(row).skip(1) {
            let name = format!("{}_share", title.to_lowercase().replace(' ', "_"));
            let numbers = cell
                .trim_end_matches(']')
                .split(" [")
                .flat_map(|part| part.split(" .. "))
                .filter_map(Printed::read);
            let [low, high] = [0, 1].map(|end| trial["intervals"][&name][end].as_f64());
            let exact = [trial["values"][&name].as_f64(), low, high];
            let is_so = numbers.clone().count() == 3
                && numbers.zip(exact).all(|(number, exact)| exact.is_some_and(|share| number.reads(share)));
            reader.holds("places", is_so, || format!("{title} of {named}: {exact:?}"));
        }
    }
}

/// How a parameter reads in a table.
pub fn reads_as(name: &str, value: &Value) -> String {
    match value.as_f64() {
        Some(ns) if name.ends_with("_ns") => match ns {
            ns if ns < 1e3 => format!("{ns} ns"),
            ns if ns < 1e6 => format!("{} µs", ns / 1e3),
            ns if ns < 1e9 => format!("{} ms", ns / 1e6),
            ns => format!("{} s", ns / 1e9),
        },
        Some(number) => format!("{number}"),
        None => value.as_str().unwrap_or_default().to_owned(),
    }
}

/// Compares a printed width with the interval of a number; `?` and what is too wide to be told are left.
pub fn width(reader: &mut Reader<'_>, cell: &str, point: Option<f64>, interval: &Value) {
    let Some(number) = Printed::read(cell).filter(|_| !cell.starts_with('>')) else { return };
    let ends = interval[0].as_f64().zip(interval[1].as_f64());
    let exact =
        ends.zip(point).map_or(f64::NAN, |((low, high), point)| (high - point).max(point - low) / point);
    // Both ends and the point of a document are rounded.
    reader.is_near("width", number, exact, 0.03, "the longer side of its interval");
}

/// Percentiles by row and view, and values with their intervals.
pub fn percentiles(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let unit = heading.iter().position(|title| title == "µs" || title == "ns");
    let scale = unit.map_or(1.0, |at| if heading[at] == "µs" { 1e3 } else { 1.0 });
    // What stands before the views, or before the first number, tells the trial.
    let numbers = heading
        .iter()
        .position(|title| title.starts_with("ns ") || title == "slowdown" || title.contains("idle"));
    let told_by = unit.or(numbers).unwrap_or(1);
    let mut told: Vec<String> = Vec::new();
    for row in &table.rows[1..] {
        if row[..told_by].iter().any(|cell| !cell.is_empty()) {
            told = row[..told_by]
                .iter()
                .map(|cell| cell.split(", ").next().unwrap_or_default().to_owned())
                .collect();
        }
        let view = unit.map(|at| row[at].clone());
        let fits = |trial: &&Value| {
            let parameters = trial["parameters"].as_object();
            let words: Vec<String> =
                parameters.into_iter().flatten().map(|(name, value)| reads_as(name, value)).collect();
            let all =
                told.iter().filter(|cell| !cell.is_empty() && *cell != "·").all(|cell| words.contains(cell));
            let at = placed(trial);
            let same_view = match (&view, trial["parameters"]["view"].as_str()) {
                (Some(view), Some(of)) => of == view || of.replace('_', " ") == *view,
                (Some(_), None) => trial["count"].as_f64() > Some(0.0),
                (None, _) => true,
            };
            trial["probe"] == reader.probe.as_str()
                && all
                && same_view
                && (at == reader.place || at.starts_with(&format!("{} ", reader.place)))
        };
        let fitting: Vec<&Value> = list(&reader.run.document["series"]).iter().filter(fits).collect();
        if fitting.is_empty() {
            reader.fail("trials", format!("the document has no {told:?} {view:?} on {}", reader.place));
            continue;
        }
        for (title, cell) in heading.iter().zip(row).skip(told_by) {
            let (point, wide) = cell.split_once('±').unwrap_or((cell, ""));
            if title == "ns both" || title == "ns alone" || title == "slowdown" {
                let name = if title == "slowdown" {
                    "slowdown"
                } else if title == "ns both" {
                    "shared_ns"
                } else {
                    "alone_ns"
                };
                width(reader, wide, fitting[0]["values"][name].as_f64(), &fitting[0]["intervals"][name]);
            }
            let Some(number) = Printed::read(point) else { continue };
            let number = Printed { value: number.value * scale, half: number.half * scale };
            let of = |key: &str| -> Vec<f64> {
                fitting.iter().filter_map(|trial| trial["percentiles"][key].as_f64()).collect()
            };
            let exact: Vec<f64> = match title.as_str() {
                "±" => {
                    let near = fitting.iter().any(|trial| {
                        let mut aside = reader.aside();
                        width(
                            &mut aside,
                            cell,
                            trial["percentiles"]["50"].as_f64(),
                            &trial["intervals"]["median_ns"],
                        );
                        aside.wrong.is_empty()
                    });
                    reader.holds("width", near, || format!("± of {told:?} {view:?}"));
                    continue;
                }
                "events" => {
                    let counts: Vec<f64> =
                        fitting.iter().filter_map(|trial| trial["count"].as_f64()).collect();
                    let bare = Printed::read(cell).unwrap();
                    reader.holds("trials", counts.iter().any(|count| bare.reads(*count)), || {
                        format!("{counts:?} events")
                    });
                    continue;
                }
                "mean" => fitting.iter().filter_map(|trial| trial["mean"].as_f64()).collect(),
                "p50" | "p90" | "p99" | "p99.9" => of(title.trim_start_matches('p')),
                "max" => of("100"),
                _ => {
                    let bare = Printed::read(point).unwrap();
                    let key = match title.as_str() {
                        "ns both" => Some("shared_ns"),
                        "ns alone" => Some("alone_ns"),
                        "slowdown" => Some("slowdown"),
                        _ => None,
                    };
                    let values =
                        fitting.iter().flat_map(|trial| trial["values"].as_object().into_iter().flatten());
                    let values: Vec<f64> = values
                        .filter(|(name, _)| key.is_none_or(|key| *name == key))
                        .filter_map(|(_, value)| value.as_f64())
                        .collect();
                    reader.holds("trials", values.iter().any(|value| bare.reads(*value)), || {
                        format!("{title}: {values:?}")
                    });
                    continue;
                }
            };
            reader.holds("trials", exact.iter().any(|exact| number.reads(*exact)), || {
                format!("{title} of {told:?} {view:?}: {exact:?} ns")
            });
        }
    }
}

fn no_padding(reader: &mut Reader<'_>, _: &Said<'_>) {
    let known = list(&reader.run.document["series"]).iter().filter(|trial| {
        trial["probe"] == "sharing" && trial["intervals"]["slowdown"][0].as_f64() > Some(1.1)
    });
    let known = known.filter(|trial| !trial["flags"].to_string().contains("\"load\"")).count();
    reader.holds("sharing", known == 0, || format!("{known} distances surely slow writers down"));
}

/// `18.0 ns ±2 % after 1 µs, cannot tell after 1 s; sleeping receiver, time until it runs: 2.17 µs ±2 % after 1 µs (same L3)`:
/// each value is that of a trial of its receiver after that gap, or after any from one to another.
fn after_gaps(reader: &mut Reader<'_>, said: &Said<'_>) {
    let found = said.text("found").split(" (same ").next().unwrap_or_default().to_owned();
    for (index, of_receiver) in found.split("; ").enumerate() {
        let receiver = ["looks", "semaphore"][index.min(1)];
        let values = of_receiver.split(", ").filter(|part| !part.starts_with("cannot tell"));
        for part in values.filter_map(|part| part.split_once(" after ")) {
            let number =
                part.0.rsplit(": ").next().unwrap_or_default().split(" ±").next().unwrap_or_default();
            let (Some(number), gaps) = (Printed::time(number), part.1.trim_start_matches("any gap from "))
            else {
                return reader.fail("gaps", format!("`{}` is no time", part.0));
            };
            let (first, last) = gaps.trim_end_matches(" (alike)").split_once(" to ").unwrap_or((gaps, gaps));
            let ends = [first, last].map(|gap| Printed::time(gap).map_or(f64::NAN, |gap| gap.value * 1e9));
            let is_here = |trial: &&Value| {
                let gap = trial["parameters"]["gap_ns"].as_f64();
                trial["parameters"]["receiver"] == receiver
                    && gap.is_some_and(|gap| gap >= 0.999 * ends[0] && gap <= 1.001 * ends[1])
            };
            let mut values =
                list(&reader.run.document["series"]).iter().filter(is_here).filter_map(|trial| {
                    trial["values"]["half_net_ns"].as_f64().or(trial["percentiles"]["50"].as_f64())
                });
            let is_found = values.any(|ns| number.reads(ns * 1e-9));
            reader.holds("gaps", is_found, || format!("no trial of {receiver} has `{}`", part.0));
        }
    }
}

/// What pairs of each relation are slowed down by at distances below a limit, against the document.
fn slowdowns(reader: &mut Reader<'_>, said: &Said<'_>, is_near: impl Fn(f64) -> bool) {
    for part in said.text("slowdowns").split("), ") {
        let Some((times, relation)) = part.trim_end_matches(')').split_once(" (") else {
            return reader.fail("sharing", format!("no relation in `{part}`"));
        };
        let ends = times.trim_end_matches(" as long as a lone writer").trim_end_matches(" times");
        let of: Vec<f64> = list(&reader.run.document["series"])
            .iter()
            .filter(|trial| {
                let cpus = [0, 1].map(|at| CpuId(trial["placement"][at].as_u64().unwrap_or_default() as u32));
                let reported = &reader.run.reported;
                trial["probe"] == "sharing"
                    && trial["intervals"]["slowdown"].is_array()
                    && relation_words(reported.relation(cpus[0], cpus[1]), reported) == relation
                    && trial["parameters"]["distance_bytes"].as_f64().is_some_and(&is_near)
            })
            .filter_map(|trial| trial["values"]["slowdown"].as_f64())
            .collect();
        let (low, high) = ends.split_once(" to ").unwrap_or((ends, ends));
        let expected = [of.iter().copied().reduce(f64::min), of.iter().copied().reduce(f64::max)];
        for (number, expected) in [low, high].into_iter().zip(expected) {
            match Printed::read(number) {
                Some(number) => reader.is("sharing", number, expected, "the slowdown"),
                None => reader.fail("sharing", format!("`{number}` is no number")),
            }
        }
    }
}

/// The farthest distance shown to be too short lies inside a line of 64 bytes.
fn padding_unknown(reader: &mut Reader<'_>, said: &Said<'_>) {
    let bytes = said.number("bytes").value;
    reader.holds("sharing", bytes < 64.0, || "no distance within a line of 64 bytes".to_owned());
    slowdowns(reader, said, |at| at <= bytes);
}

fn padding(reader: &mut Reader<'_>, said: &Said<'_>) {
    let bytes = said.number("bytes").value;
    // Lines of these machines hold 64 bytes.
    reader.holds("sharing", bytes == 64.0, || "lines hold 64 bytes in truth".to_owned());
    slowdowns(reader, said, |at| at < bytes);
}

/// Trials, each once whatever its views.
fn trials(reader: &Reader<'_>) -> usize {
    let mut seen = BTreeSet::new();
    for trial in list(&reader.run.document["series"]) {
        let mut parameters = trial["parameters"].clone();
        parameters.as_object_mut().map(|of| of.remove("view"));
        seen.insert(format!("{} {parameters} {}", trial["probe"], placed(trial)));
    }
    for matrix in list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue") {
        for cell in list(&matrix["cells"]) {
            seen.insert(format!("{} {} {}", matrix["parameters"], cell["from"], cell["to"]));
        }
    }
    seen.len()
}

fn doubts(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = trials(reader);
    reader.is("count", said.number("n"), Some(all as f64), "the number of trials");
    reader.holds("count", said.number("k").value <= all as f64, || format!("there are {all} trials"));
    let trial = said.text("trial").to_owned();
    let of_probe = |of: &&Value| trial.split(',').next().is_some_and(|probe| of["probe"] == probe);
    let of_probe: Vec<&Value> = list(&reader.run.document["series"]).iter().filter(of_probe).collect();
    if let Some((_, cpus)) = trial.rsplit_once("CPUs ").filter(|_| !of_probe.is_empty()) {
        let is_here = of_probe.iter().any(|of| is_on(of, cpus));
        reader.holds("count", is_here, || format!("no trial of that probe is on CPUs {cpus}"));
    }
}

/// Whether a trial is on these CPUs, in role order: `0-4-1`; a long list is cut short.
fn is_on(trial: &Value, cpus: &str) -> bool {
    let cpus = cpus.replace('-', " ");
    match cpus.strip_suffix(" …") {
        Some(beginning) => placed(trial).starts_with(beginning),
        None => placed(trial) == cpus,
    }
}

/// Results that were not as narrow as requested: how many at most, and which is the widest.
fn missed(reader: &mut Reader<'_>, said: &Said<'_>) {
    doubts(reader, said);
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    reader.is("precision", said.share("width"), Some(asked), "the precision that was asked for");
    reader.holds("precision", said.share("worst").value > asked, || "the worst is narrow enough".to_owned());
}

/// A trial of the document on these CPUs has that reason.
fn wider_than_itself(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cpus = said.text("trial").rsplit_once("CPUs ").map_or("", |(_, cpus)| cpus).to_owned();
    let is_it = |trial: &Value| {
        let reason = trial["reason"].as_str().unwrap_or_default();
        is_on(trial, &cpus) && reason.contains("the interval is wider than the value")
    };
    let found = list(&reader.run.document["series"]).iter().any(is_it);
    reader.holds("width", found, || "no trial of the document says so of itself".to_owned());
}

fn more_doubts(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = trials(reader) as f64;
    reader.holds("count", said.number("n").value < all, || format!("there are {all} trials"));
}

/// Whether a table is of cells that stand out in a comparison.
pub fn is_cells_of_pairs(table: &Table) -> bool {
    table.rows.iter().all(|row| row[0].starts_with("CPUs ") && row[0].contains(" and "))
}
