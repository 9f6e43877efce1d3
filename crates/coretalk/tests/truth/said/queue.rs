//! Queues: maps of rates, rates by relation, what a message costs, and what follows in words.

use super::super::page::{Map, Table};
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words};
use super::{held, unheld};
use coretalk_measure::pricing::Pricing;
use coretalk_model::stats::{WIDEST_STATED, median};
use coretalk_model::{CpuId, Flag};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("Million messages per second; {rest} ±{width%} at 95 %{wider?}", precision),
    held("{queue}, u64", named),
    held("Cost of a message at capacity {capacity#}: {rest}", costs_at),
    held("Load of each CPU from the measured threads over the run: each column is {step@}, {rest}", load),
    held(
        "CPU {cpu#} switches between the two threads {rate#} thousand times per second{within?} with {queue}, {payload}, \
         capacity {capacity#}: {per#} switches per message, and at most {us#} µs per switch, queue included.",
        switches,
    ),
    held("The results rest on {all} messages, {least} to {most} in each cell.", passed),
    held("{queue}, {payload}, {relation}: two CPUs against one: {verdicts}.", balance),
    held("Fastest for {payload}, {relation}: {winners}.", most),
    unheld(
        "By relation, a column for each capacity: median over the pairs, million messages per second; !: at least one pair may be \
         wrong.",
        "a heading",
    ),
    unheld("Not every pair was measured. {rest}", "the document has no verification of pairs"),
];

/// The matrix of a queue at a capacity.
fn matrix<'a>(reader: &Reader<'a>, queue: &str, capacity: f64) -> Option<&'a Value> {
    list(&reader.run.document["matrices"]).iter().find(|matrix| {
        let of = &matrix["parameters"];
        matrix["probe"] == "queue" && of["queue"] == queue && of["capacity"].as_f64() == Some(capacity)
    })
}

fn has(cell: &Value, flag: &str) -> bool {
    list(&cell["flags"]).iter().any(|of| of == flag)
}

fn doubted(cell: &Value) -> bool {
    list(&cell["flags"])
        .iter()
        .any(|flag| Flag::ALL.iter().any(|known| flag == known.name() && known.may_be_wrong()))
}

/// The rate of a pair; a queue that looks on a shared CPU has none.
fn rate(cell: &Value) -> Option<f64> {
    cell["median"].as_f64().filter(|_| !has(cell, "shared-spin"))
}

fn relation_of(reader: &Reader<'_>, cell: &Value) -> String {
    let [from, to] = ["from", "to"].map(|name| CpuId(cell[name].as_u64().unwrap_or(0) as u32));
    relation_words(reader.run.reported.relation(from, to), &reader.run.reported)
}

/// The median over the pairs of a relation.
fn by_relation_of(reader: &Reader<'_>, queue: &str, capacity: f64, relation: &str) -> Option<f64> {
    let cells = list(&matrix(reader, queue, capacity)?["cells"]);
    let rates: Vec<f64> =
        cells.iter().filter(|cell| relation_of(reader, cell) == relation).filter_map(rate).collect();
    median(&rates)
}

fn precision(reader: &mut Reader<'_>, said: &Said<'_>) {
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    reader.is("precision", said.share("width"), Some(asked), "the precision that was asked for");
    let wider = said.text("wider").to_owned();
    let (mut wide, mut all) = (Vec::new(), 0);
    for matrix in list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue") {
        for cell in list(&matrix["cells"]).iter().filter(|cell| !doubted(cell) && !has(cell, "shared-spin")) {
            let Some((point, (low, high))) =
                cell["median"].as_f64().zip(cell["ci"][0].as_f64().zip(cell["ci"][1].as_f64()))
            else {
                continue;
            };
            let half = (high - point).max(point - low) / point;
            if has(cell, "wide-ci") {
                wide.push(half);
            } else {
                let width = said.share("width").value;
                reader.holds("precision", half <= width * 1.02 + 1e-4, || {
                    format!("CPUs {} → {}: ±{half:.4} and not flagged", cell["from"], cell["to"])
                });
            }
        }
        let cells = list(&matrix["cells"]).iter();
        all += cells.filter(|cell| cell["median"].is_number() && !has(cell, "shared-spin")).count();
    }
    let stated = wide.iter().filter(|half| **half < WIDEST_STATED).count();
    let expected = if stated == 0 { String::new() } else { format!(", {stated} of {all} up to ±") };
    reader.holds(
        "precision",
        wider.starts_with(&expected) && wider.is_empty() == (wide.is_empty() && !wider.contains('!')),
        || format!("{} of {all} are wider", wide.len()),
    );
}

fn named(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("queue").to_owned();
}

/// Every number of a map is that of the document.
pub fn map(reader: &mut Reader<'_>, map: &Map) {
    let (queue, capacity) = match map.title.strip_prefix("capacity ") {
        Some(capacity) => (reader.place.clone(), Printed::read(capacity).map(|number| number.value)),
        None => {
            let queue = map.title.split(',').next().unwrap_or_default().to_owned();
            let of = list(&reader.run.document["matrices"])
                .iter()
                .find(|matrix| matrix["parameters"]["queue"] == queue.as_str());
            (queue, of.and_then(|matrix| matrix["parameters"]["capacity"].as_f64()))
        }
    };
    let Some(matrix) = capacity.and_then(|capacity| matrix(reader, &queue, capacity)) else {
        return reader.fail("queue", format!("the document has no {queue} at {capacity:?}"));
    };
    for (row, from) in map.cpus.iter().enumerate() {
        for (column, to) in map.cpus.iter().enumerate() {
            let shown = map.cells[row][column].as_str();
            let cell =
                list(&matrix["cells"]).iter().find(|cell| cell["from"] == from[0] && cell["to"] == to[0]);
            let Some(cell) = cell else {
                reader.holds("queue", shown.is_empty(), || format!("nothing is known of {from:?} → {to:?}"));
                continue;
            };
            reader.holds("queue", (shown == "s") == has(cell, "shared-spin"), || {
                format!("{from:?} → {to:?} shows `{shown}`")
            });
            if shown == "s" {
                continue;
            }
            reader.holds("queue", shown.ends_with('!') == doubted(cell), || {
                format!("doubt in {from:?} → {to:?}: {}", doubted(cell))
            });
            if let Some(number) = Printed::read(shown) {
                reader.is("queue", number, rate(cell).map(|rate| rate / 1e6), &format!("{from:?} → {to:?}"));
                reader.holds("queue", number.value > 0.0, || "reads as nothing at all".to_owned());
            }
        }
    }
}

pub fn by_relation(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let titles: Vec<(usize, f64)> = heading
        .iter()
        .enumerate()
        .filter_map(|(at, title)| Some((at, Printed::read(title)?.value)))
        .collect();
    let first = titles.first().map_or(0, |(at, _)| *at);
    for row in &table.rows[1..] {
        let (queue, relation) = (row[0].clone(), row[2].clone());
        let cells: Vec<&Value> = titles
            .first()
            .and_then(|(_, capacity)| matrix(reader, &queue, *capacity))
            .map_or(Vec::new(), |matrix| {
                list(&matrix["cells"]).iter().filter(|cell| relation_of(reader, cell) == relation).collect()
            });
        if let Some(pairs) = Printed::read(&row[first - 1]) {
            reader.is("queue", pairs, Some(cells.len() as f64), "the number of pairs");
        }
        for (at, capacity) in &titles {
            let exact = by_relation_of(reader, &queue, *capacity, &relation);
            match Printed::read(&row[*at]) {
                Some(number) => {
                    reader.is("queue", number, exact.map(|rate| rate / 1e6), "the median of these pairs")
                }
                None => reader.holds("queue", exact.is_none(), || format!("it is {exact:?}")),
            }
        }
    }
}

fn costs_at(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.number("capacity").value.to_string();
}

pub fn costs(reader: &mut Reader<'_>, table: &Table) {
    let capacity: f64 = reader.place.parse().unwrap_or(f64::NAN);
    let heading = table.heading().to_vec();
    for row in &table.rows[1..] {
        let at = table.column("CPUs").unwrap();
        let Some((from, to)) = row[at].split_once(" → ") else { continue };
        let cell = matrix(reader, &row[0], capacity).and_then(|matrix| {
            list(&matrix["cells"]).iter().find(|cell| {
                cell["from"].as_u64() == from.parse().ok() && cell["to"].as_u64() == to.parse().ok()
            })
        });
        let Some(cell) = cell else {
            reader.fail("queue", format!("the document has no {} of {from} → {to}", row[0]));
            continue;
        };
        for (title, shown) in heading.iter().zip(row).skip(at + 1) {
            let key = match title.as_str() {
                "CPU ns in" => "cpu_ns_per_message_producer",
                "out" => "cpu_ns_per_message_consumer",
                "sleeps" => "voluntary_switches_per_message",
                "preempted" => "involuntary_switches_per_message",
                "full" => "full_ratio",
                "empty" => "empty_ratio",
                "batch" => "mean_batch",
                _ => "cpu_load",
            };
            if let Some(number) = Printed::read(shown) {
                reader.is("queue", number, cell[key].as_f64(), title);
            }
        }
    }
}

fn passed(reader: &mut Reader<'_>, said: &Said<'_>) {
    let matrices = list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue");
    let counts: Vec<f64> =
        matrices.flat_map(|matrix| list(&matrix["cells"])).filter_map(|cell| cell["n"].as_f64()).collect();
    let [least, most] =
        [f64::min, f64::max].map(|end: fn(f64, f64) -> f64| counts.iter().copied().reduce(end));
    for (hole, exact) in [("all", Some(counts.iter().sum())), ("least", least), ("most", most)] {
        match Printed::read(said.text(hole)) {
            Some(shown) => reader.is("queue", shown, exact, "messages"),
            None => reader.fail("queue", "a count of messages is no number"),
        }
    }
}

fn load(reader: &mut Reader<'_>, said: &Said<'_>) {
    let step = reader.run.document["load"]["step_s"].as_f64().unwrap_or(f64::NAN);
    let columns = (said.time("step").value / step).round().max(1.0);
    reader.is("time", said.time("step"), Some(step * columns), "the time of a column");
}

fn switches(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (capacity, cpu) = (said.number("capacity").value, said.cpu("cpu"));
    let cell = matrix(reader, said.text("queue"), capacity).and_then(|matrix| {
        list(&matrix["cells"]).iter().find(|cell| cell["from"] == cpu && cell["to"] == cpu)
    });
    let Some(cell) = cell else { return reader.fail("queue", "the document has no such cell") };
    let per = cell["switches_per_message"].as_f64().unwrap_or(f64::NAN);
    let rate = |value: &Value| value.as_f64().map(|rate| rate * per / 1e3);
    reader.is("queue", said.number("per"), Some(per), "switches a message");
    reader.is_near(
        "queue",
        said.number("rate"),
        rate(&cell["median"]).unwrap_or(f64::NAN),
        0.0005,
        "the rate of switches",
    );
    let within = said.text("within").trim_matches([' ', '(', ')']).to_owned();
    if let Some((low, high)) = within.split_once(" to ") {
        for (end, index) in [(low, 0), (high, 1)] {
            let exact = rate(&cell["ci"][index]).unwrap_or(f64::NAN);
            reader.is_near("queue", Printed::read(end).unwrap(), exact, 0.005, "an end of its interval");
        }
    }
    let least =
        within.split_once(" to ").and_then(|(low, _)| Printed::read(low)).unwrap_or(said.number("rate"));
    reader.is_near("queue", said.number("us"), 1e3 / least.value, 0.003, "the inverse of the least rate");
    let truth = reader.run.machine.bare_stage(&[]).costs().switch_ns / 1e3;
    let most = said.number("us");
    reader.holds("queue", most.value + most.half >= truth, || format!("a switch takes {truth} µs in truth"));
}

fn balance(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (queue, relation) = (said.text("queue").to_owned(), said.text("relation").to_owned());
    let mut capacities: Vec<f64> = list(&reader.run.document["matrices"])
        .iter()
        .filter(|matrix| matrix["parameters"]["queue"] == queue.as_str())
        .filter_map(|matrix| matrix["parameters"]["capacity"].as_f64())
        .collect();
    capacities.sort_by(f64::total_cmp);
    let of = |reader: &Reader<'_>, capacity: f64| {
        Some(
            by_relation_of(reader, &queue, capacity, &relation)?
                / by_relation_of(reader, &queue, capacity, "same CPU")?,
        )
    };
    let known: Vec<(f64, f64)> =
        capacities.iter().filter_map(|capacity| Some((*capacity, of(reader, *capacity)?))).collect();
    let mut intervals: Vec<(f64, [f64; 2])> = Vec::new();
    for verdict in said.text("verdicts").split("; ") {
        let Some((words, at)) = verdict.split_once(" at capacity ") else {
            for shown in verdict.split(", ") {
                let part = |begin: &str, end: &str| {
                    let (_, rest) = shown.split_once(begin)?;
                    Printed::read(rest.split(end).next()?)
                };
                let parts = (part("", " × "), part("(", " to "), part(" to ", ")"), part(") at ", "\n"));
                let (Some(ratio), Some(low), Some(high), Some(at)) = parts else {
                    reader.holds("queue", false, || format!("`{shown}` is no ratio"));
                    continue;
                };
                let exact = known.iter().find(|(capacity, _)| *capacity == at.value).map(|(_, exact)| *exact);
                reader.is("queue", ratio, exact, &format!("the ratio at {}", at.value));
                let around = low.value <= ratio.value && ratio.value <= high.value;
                reader.holds("queue", around, || format!("the interval of `{shown}`"));
                intervals.push((at.value, [low.value, high.value]));
            }
            continue;
        };
        for capacity in at.split(", ").filter_map(Printed::read) {
            let ratio = known
                .iter()
                .find(|(known, _)| *known == capacity.value)
                .map_or(f64::NAN, |(_, ratio)| *ratio);
            let is_so = match words {
                "one CPU is faster" => ratio < 1.0,
                "two are faster" => ratio > 1.0,
                // Without a ratio there was no interval.
                _ => {
                    let mut at = intervals.iter().filter(|(at, _)| *at == capacity.value);
                    !ratio.is_nan() && at.all(|(_, [low, high])| (*low..=*high).contains(&1.0))
                }
            };
            reader
                .holds("queue", is_so, || format!("at capacity {} the ratio is {ratio:.2}", capacity.value));
        }
    }
}

fn most(reader: &mut Reader<'_>, said: &Said<'_>) {
    let relation = said.text("relation").to_owned();
    let mut queues: Vec<&str> = list(&reader.run.document["matrices"])
        .iter()
        .filter_map(|matrix| matrix["parameters"]["queue"].as_str())
        .collect();
    queues.dedup();
    for winner in said.text("winners").split("; ") {
        let Some((queue, at)) = winner.split_once(" at ") else { continue };
        if matches!(queue, "all alike" | "cannot tell") {
            for capacity in at.split(", ").map(|text| Printed::read(text).map_or(f64::NAN, |it| it.value)) {
                let is_known = queues.iter().any(|queue| matrix(reader, queue, capacity).is_some());
                reader.holds("queue", is_known, || format!("no queue has capacity {capacity}"));
            }
            continue;
        }
        let (queue, like) =
            queue.split_once(" (alike: ").map_or((queue, None), |(queue, like)| (queue, Some(like)));
        for text in at.split(", ") {
            let capacity = Printed::read(text.trim_end_matches('!')).map_or(f64::NAN, |number| number.value);
            let of = |queue: &str| by_relation_of(reader, queue, capacity, &relation);
            let best = queues
                .iter()
                .filter_map(|queue| Some((*queue, of(queue)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let told = best.map(|(queue, _)| queue);
            let near = of(queue).zip(best).is_some_and(|(mine, best)| mine > 0.97 * best.1);
            reader.holds("queue", told == Some(queue) || like.is_some() && near, || {
                format!("at {capacity} {best:?} passes most")
            });
        }
    }
}
