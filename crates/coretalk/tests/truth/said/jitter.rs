//! Quiet and noisy CPUs.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::held;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("All CPUs are quiet: each lost {a%} to {b%} of its time", alike),
    held("All CPUs are quiet: each lost {a%} of its time", the_same),
    held("All CPUs are heavily disturbed: each lost {a%} to {b%} of its time", alike),
    held("No CPU stands out: each lost {a%} to {b%} of its time", alike),
    held("No CPU stands out: each lost {a%} of its time", the_same),
    held("Cannot tell which CPUs are quieter: each lost {a%} to {b%} of its time", alike),
    held("all CPUs are quiet: each lost {a%} to {b%} of its time", alike),
    held("all CPUs are quiet: each lost {a%} of its time", the_same),
    held("all CPUs are heavily disturbed: each lost {a%} to {b%} of its time", alike),
    held("no CPU stands out: each lost {a%} to {b%} of its time", alike),
    held("no CPU stands out: each lost {a%} of its time", the_same),
    held("cannot tell which CPUs are quieter: each lost {a%} to {b%} of its time", alike),
    held("longest gap {gap@} in {time@}", longest_gap),
    held("CPU {cpu#} lost {a%} of its time, longest gap {gap@} in {time@}", one_in_short),
    held("quiet CPU{s?} {quiet}", quiet),
    held("noisy {cpu#} ({a%} of its time lost, longest gap {gap@} in {time@})", noisy),
    held(
        "Use CPU{s?} {quiet} ({most%} or less of the time lost), and avoid CPU{t?} {noisy} ({a%} to {b%} lost, longest gap \
         {gap@})",
        both,
    ),
    held(
        "Use CPU{s?} {quiet} ({most%} or less of the time lost), and avoid CPU{t?} {noisy} ({a%} lost, longest gap {gap@})",
        both_of_one,
    ),
    held("use CPU{s?} {quiet} (longest gap {gap@})", use_those),
    held("avoid CPU{s?} {noisy} (longest gap {gap@} in {time@})", avoided),
    held(
        "CPU {noisy} had a gap of {gap@}, CPU{t?} {quiet} none longer than {least@}: use {these}, and avoid {those}, where a \
         single delay matters",
        stalled,
    ),
    held(
        "CPUs {noisy} had gaps of up to {gap@}, CPU{t?} {quiet} none longer than {least@}: use {these}, and avoid {those}, \
         where a single delay matters",
        stalled,
    ),
    held("cannot tell: watched for {time@} only", watched),
];

fn trials<'a>(reader: &Reader<'a>) -> Vec<&'a Value> {
    list(&reader.run.document["series"]).iter().filter(|trial| trial["probe"] == "jitter").collect()
}

fn lost(trial: &Value) -> f64 {
    trial["values"]["lost_share"].as_f64().unwrap_or(f64::NAN)
}

fn of_cpu<'a>(reader: &Reader<'a>, cpu: u32) -> Option<&'a Value> {
    trials(reader).into_iter().find(|trial| trial["placement"][0] == cpu)
}

fn longest(trial: &Value) -> Option<f64> {
    trial["percentiles"]["100"].as_f64().map(|ns| ns * 1e-9)
}

/// What all lost reads as one number.
fn the_same(reader: &mut Reader<'_>, said: &Said<'_>) {
    range(reader, said, ["a", "a"]);
}

fn alike(reader: &mut Reader<'_>, said: &Said<'_>) {
    range(reader, said, ["a", "b"]);
}

fn range(reader: &mut Reader<'_>, said: &Said<'_>, [least, most]: [&str; 2]) {
    let all: Vec<f64> = trials(reader).into_iter().map(lost).collect();
    reader.is("jitter", said.share(least), all.iter().copied().reduce(f64::min), "the least lost");
    reader.is("jitter", said.share(most), all.iter().copied().reduce(f64::max), "the most lost");
}

fn longest_gap(reader: &mut Reader<'_>, said: &Said<'_>) {
    let gap = trials(reader).into_iter().filter_map(longest).reduce(f64::max);
    reader.is("jitter", said.time("gap"), gap, "the longest gap of all");
    watched(reader, said);
}

fn one(reader: &mut Reader<'_>, said: &Said<'_>) {
    let trial = of_cpu(reader, said.cpu("cpu"));
    reader.is("jitter", said.share("a"), trial.map(lost), "what it lost");
    reader.is("jitter", said.time("gap"), trial.and_then(longest), "its longest gap");
}

fn one_in_short(reader: &mut Reader<'_>, said: &Said<'_>) {
    one(reader, said);
    watched(reader, said);
}

fn noisy(reader: &mut Reader<'_>, said: &Said<'_>) {
    one_in_short(reader, said);
    stands_out(reader);
}

/// The longest gap of some of the CPUs.
fn gap_of(reader: &Reader<'_>, named: &str) -> Option<f64> {
    let of = |cpu| of_cpu(reader, cpu).and_then(longest);
    cpus(named).into_iter().filter_map(of).reduce(f64::max)
}

fn use_those(reader: &mut Reader<'_>, said: &Said<'_>) {
    let gap = gap_of(reader, said.text("quiet"));
    reader.is("jitter", said.time("gap"), gap, "the longest gap of those to use");
}

fn avoided(reader: &mut Reader<'_>, said: &Said<'_>) {
    let gap = gap_of(reader, said.text("noisy"));
    reader.is("jitter", said.time("gap"), gap, "the longest gap of those to avoid");
    watched(reader, said);
}

fn stalled(reader: &mut Reader<'_>, said: &Said<'_>) {
    for (named, gap) in [("noisy", "gap"), ("quiet", "least")] {
        let longest = gap_of(reader, said.text(named));
        reader.is("jitter", said.time(gap), longest, "the longest gap of these CPUs");
    }
}

/// Every CPU of the simulated machines is held up alike: none is quieter, whatever chance says.
fn stands_out(reader: &mut Reader<'_>) {
    let own = reader.run.words.iter().any(|word| word.ends_with(".toml"));
    reader.holds("jitter", own, || "all CPUs of this machine are held up alike in truth".to_owned());
}

fn cpus(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect()
}

fn quiet(reader: &mut Reader<'_>, said: &Said<'_>) {
    let named = cpus(said.text("quiet"));
    let rest: Vec<f64> = trials(reader)
        .into_iter()
        .filter(|trial| !named.iter().any(|cpu| trial["placement"][0] == *cpu))
        .map(lost)
        .collect();
    let most = named.iter().filter_map(|cpu| of_cpu(reader, *cpu)).map(lost).fold(0.0, f64::max);
    let noisiest = rest.iter().copied().fold(0.0, f64::max);
    reader.holds("jitter", most < noisiest, || format!("they lose {most}, others at most {noisiest}"));
}

fn both(reader: &mut Reader<'_>, said: &Said<'_>) {
    use_and_avoid(reader, said, ["a", "b"]);
}

fn both_of_one(reader: &mut Reader<'_>, said: &Said<'_>) {
    use_and_avoid(reader, said, ["a", "a"]);
}

fn use_and_avoid(reader: &mut Reader<'_>, said: &Said<'_>, [least, most]: [&str; 2]) {
    quiet(reader, said);
    stands_out(reader);
    let of = |reader: &Reader<'_>, name: &str| -> Vec<f64> {
        cpus(said.text(name)).iter().filter_map(|cpu| of_cpu(reader, *cpu)).map(lost).collect()
    };
    let (quiet, noisy) = (of(reader, "quiet"), of(reader, "noisy"));
    let max = |of: &[f64]| of.iter().copied().reduce(f64::max);
    reader.is("jitter", said.share("most"), max(&quiet), "what the quiet lose at most");
    reader.is(
        "jitter",
        said.share(least),
        noisy.iter().copied().reduce(f64::min),
        "what the noisy lose at least",
    );
    reader.is("jitter", said.share(most), max(&noisy), "what the noisy lose at most");
    let gap = gap_of(reader, said.text("noisy"));
    reader.is("jitter", said.time("gap"), gap, "the longest gap of those to avoid");
}

fn watched(reader: &mut Reader<'_>, said: &Said<'_>) {
    let ms = trials(reader)
        .into_iter()
        .filter_map(|trial| trial["counts"]["watched_ms"].as_f64())
        .reduce(f64::max);
    reader.is("time", said.time("time"), ms.map(|ms| ms * 1e-3), "the time watched");
}

pub fn table(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows[1..] {
        let Some(trial) = row[0].parse().ok().and_then(|cpu| of_cpu(reader, cpu)) else {
            reader.fail("jitter", format!("no CPU {}", row[0]));
            continue;
        };
        let point = lost(trial);
        for (title, cell) in table.heading().to_vec().iter().zip(row).skip(1) {
            let share = |name: &str| trial["values"][name].as_f64().map(|part| part / point);
            let (number, exact) = match title.as_str() {
                "lost" => (Printed::read(cell), Some(point)),
                "±" => {
                    let interval = &trial["intervals"]["lost_share"];
                    let reach = interval[1]
                        .as_f64()
                        .zip(interval[0].as_f64())
                        .map(|(high, low)| (high - point).max(point - low));
                    (Printed::read(cell), reach)
                }
                "gaps/s" => (Printed::read(cell), trial["values"]["gaps_per_s"].as_f64()),
                "p50" | "p99.9" | "longest" => {
                    let key = match title.as_str() {
                        "longest" => "100",
                        percentile => percentile.trim_start_matches('p'),
                    };
                    (Printed::time(cell), trial["percentiles"][key].as_f64().map(|ns| ns * 1e-9))
                }
                cause => (Printed::read(cell), share(&format!("{cause}_share"))),
            };
            match number {
                // What is left of a share in a document of four digits is not exact to its last one.
                Some(number) if exact.is_some_and(|exact| number.is_near(exact, 0.002)) => reader.held += 1,
                Some(number) => reader.is("jitter", number, exact, title),
                None => reader.holds("jitter", exact.is_none_or(|exact| !exact.is_finite()), || {
                    format!("{title} is known")
                }),
            }
        }
    }
}
