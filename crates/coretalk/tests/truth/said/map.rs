//! The map of latencies: its title, question and legend, its cells, and its extremes.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::{held, unheld};
use coretalk_model::Flag;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("SIMULATED {scenario} · {rest}", title),
    held("How long until another core gets my cache line: {rest}", question),
    held("How long until another core sees my store: {rest}", question),
    held("How long until a message arrives: {rest}", question),
    held("How long it takes to read a line that another core wrote: {rest}", question),
    held("How much a one-way time stamp lags behind the fastest: {rest}", question),
    held("one pair at a time", serial),
    held("up to {n#} pair{s?} at the same time", parallel),
    held("±{width%} at 95 %{but?}", precision),
    held("no cell is within ±{width%} at 95 %{but?}", precision),
    held("each character shows the middle one of up to {rows#} × {columns#} cells", glyph),
    unheld("ns: {steps}", "the steps of a picture have no numbers in the document"),
];

/// How far a value may lie from the truth of its pair: the precision that is asked for, the clock read of a batch, and
/// the clock of the core.
pub const OFF: f64 = 0.05;

/// The matrices of the map that tell pairs of CPUs.
fn matrix<'a>(reader: &Reader<'a>) -> &'a Value {
    &reader.run.document["matrices"][reader.matrix]
}

/// `(from, to, ns)` of every cell with a value.
pub fn cells(matrix: &Value) -> Vec<(u32, u32, f64)> {
    let cell = |cell: &Value| {
        let cpu = |name: &str| cell[name].as_u64().map(|cpu| cpu as u32);
        Some((cpu("from")?, cpu("to")?, cell["median"].as_f64()?))
    };
    list(&matrix["cells"]).iter().filter_map(cell).filter(|(from, to, _)| from != to).collect()
}

fn is_doubt(flag: &Value) -> bool {
    Flag::ALL.iter().any(|known| flag == known.name() && known.may_be_wrong())
}

fn doubted(cell: &Value) -> bool {
    list(&cell["flags"]).iter().any(is_doubt)
}

fn title(reader: &mut Reader<'_>, said: &Said<'_>) {
    let run = reader.run;
    let scenario = run.document["environment"]["simulated"].as_str();
    reader.holds("title", scenario == Some(said.text("scenario")), || {
        format!("the document says {scenario:?}")
    });
    for part in said.text("rest").split([',', '·']).map(str::trim) {
        if let Some(time) = part.strip_prefix("watched for ") {
            let watched = run.document["watch"]["watched_s"].as_f64();
            let time = Printed::time(time).unwrap();
            // The run goes on for other purposes than the passes that tell of states.
            reader.holds("time", watched.is_none_or(|watched| time.value + time.half >= watched), || {
                format!("the passes of the document alone took {watched:?} s")
            });
            continue;
        }
        let Some((number, noun)) = part.split_once(' ') else { continue };
        let Some(number) = Printed::read(number) else { continue };
        let truth = run.machine.topology_of_title(noun);
        reader.holds("title", truth == Some(number.value as usize), || format!("{noun}: {truth:?} in truth"));
    }
}

/// How many there are of what a title counts.
trait Counted {
    fn topology_of_title(&self, noun: &str) -> Option<usize>;
}

impl Counted for coretalk_measure::SimMachine {
    fn topology_of_title(&self, noun: &str) -> Option<usize> {
        use coretalk_measure::Machine;
        use coretalk_model::Level;
        let topology = self.topology();
        match noun {
            "CPUs" | "CPU" => Some(topology.cpus().len()),
            "cores" | "core" => Some(topology.level(Level::Core).len()),
            "L3" => Some(topology.level(Level::L3).len()),
            "nodes" => Some(topology.level(Level::Node).len()),
            "packages" => Some(topology.level(Level::Package).len()),
            _ => None,
        }
    }
}

fn question(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.matrix = reader.questions;
    reader.questions += 1;
    reader.probe = "latency".to_owned();
    let matrix = matrix(reader);
    let asked = ["cas", "store", "msg", "xfer", "one-way"].into_iter().zip([
        "another core gets my cache line",
        "another core sees my store",
        "a message arrives",
        "to read a line",
        "a one-way time stamp",
    ]);
    let protocol =
        asked.clone().find(|(_, words)| said.sentence.contains(words)).map(|(protocol, _)| protocol);
    let told = matrix["protocol"].as_str();
    reader.holds("question", told == protocol, || format!("the document has {told:?} here"));
    let kernel = matrix["kernel"].as_str().unwrap_or_default();
    let rest = said.text("rest");
    for (words, pause) in [("with 1 pause", true), ("without pause", false)] {
        if rest.contains(words) {
            reader
                .holds("question", kernel.ends_with("+pause") == pause, || format!("the code was {kernel}"));
        }
    }
    let words =
        rest.contains(" pause") == (rest.contains(" with 1 pause") || rest.contains(" without pause"));
    reader.holds("question", words, || "no code has so many pauses".to_owned());
    if let Some((_, together)) = rest.split_once(", up to ") {
        let pairs = together.split(" pair").next().and_then(Printed::read).unwrap();
        at_the_same_time(reader, pairs);
    }
    if rest.contains("one pair at a time") {
        serial(reader, said);
    }
}

fn serial(reader: &mut Reader<'_>, _: &Said<'_>) {
    let regime = &matrix(reader)["regime"];
    reader.holds("question", regime == "serial", || "the regime was parallel".to_owned());
}

fn parallel(reader: &mut Reader<'_>, said: &Said<'_>) {
    at_the_same_time(reader, said.number("n"));
}

fn at_the_same_time(reader: &mut Reader<'_>, pairs: Printed) {
    let matrix = matrix(reader);
    let told = matrix["parameters"]["parallel_pairs"].as_str().and_then(|pairs| pairs.parse().ok());
    reader.is("question", pairs, told, "pairs at the same time");
    reader.holds("question", matrix["regime"] == "parallel", || "the regime was serial".to_owned());
}

/// What has no mark is as precise as the legend says.
fn precision(reader: &mut Reader<'_>, said: &Said<'_>) {
    let width = said.share("width");
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    // A variation is judged by a measure of its own.
    let asked = if matrix(reader)["protocol"] == "one-way" { 0.5 } else { asked };
    reader.is("precision", width, Some(asked), "the precision that was asked for");
    let is_wide = |cell: &&Value| {
        let flags = list(&cell["flags"]);
        !doubted(cell) && flags.iter().any(|flag| flag == "wide-ci")
    };
    let wide = list(&matrix(reader)["cells"]).iter().filter(is_wide).count();
    let said_wide = said.text("but").split(", ").find_map(|part| part.split_once(" of ")?.0.parse().ok());
    reader.holds("precision", said_wide.unwrap_or(0) == wide, || format!("{wide} intervals are wider"));
    for cell in list(&matrix(reader)["cells"]).iter().filter(|cell| !doubted(cell) && !is_wide(cell)) {
        let (Some(point), [Some(low), Some(high)]) =
            (cell["median"].as_f64(), [0, 1].map(|end| cell["ci"][end].as_f64()))
        else {
            continue;
        };
        let half = (high - point).max(point - low) / point;
        // An interval is judged in cycles of the core, and in nanoseconds the clock adds to it.
        let cycles = &cell["cycles"];
        let ends = cycles["ci"][1].as_f64().zip(cycles["ci"][0].as_f64()).zip(cycles["median"].as_f64());
        let in_cycles =
            ends.is_some_and(|((high, low), point)| (high - point).max(point - low) / point <= asked * 1.001);
        let is_narrow =
            half <= asked * 1.02 + 1e-4 || in_cycles && said.text("but").contains("or core cycles");
        reader.holds("precision", is_narrow, || {
            format!("CPUs {} and {}: ±{half:.4} without a mark", cell["from"], cell["to"])
        });
    }
}

fn glyph(reader: &mut Reader<'_>, said: &Said<'_>) {
    let most = list(&matrix(reader)["cpus"]).len() as f64;
    let several = said.number("rows").value * said.number("columns").value;
    reader.holds("legend", several > 1.0 && several < most * most, || {
        format!("{most} CPUs have no such glyphs")
    });
}

/// The state of a machine that a value comes from: the nearest.
pub fn nearest(states: &[f64], value: f64) -> f64 {
    let off = |ns: &f64| (ns / value).ln().abs();
    states.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(f64::NAN)
}
