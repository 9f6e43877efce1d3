//! Pictures made of characters: what stands beside their glyphs.

use super::super::printed::Printed;
use super::super::reader::Reader;
use super::super::run::list;
use super::groups::level_of;
use coretalk_model::CpuSet;
use regex::Regex;
use std::sync::LazyLock;

/// `L3 1 · 8-15`: a box of the view of a topology.
static BOX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"┌ ([^┌·]+) · ([\d,-]+) ").unwrap());
/// `   16 ▄▃ 29 %`: how busy a CPU was.
static BUSY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^ +(\d+) [ ▁▂▃▄▅▆▇█·]+ ([\d.]+ %)$").unwrap());
/// `B  120 ┤  ▅`: a state over time.
static STATE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^([A-Z]) +([\d. ]+) ┤").unwrap());

/// Holds the labels of a line of a picture.
pub fn picture(reader: &mut Reader<'_>, line: &str) {
    for found in BOX.captures_iter(line) {
        boxed(reader, &found[1], &found[2]);
    }
    if let Some(found) = BUSY.captures(line) {
        busy(reader, &found[1], &found[2]);
    }
    if let Some(found) = STATE.captures(line) {
        let state = found[1].as_bytes()[0] - b'A';
        let told = &reader.run.document["watch"]["states"][usize::from(state)]["kernels"][0]["median"];
        reader.is("states", Printed::read(&found[2]).unwrap(), told.as_f64(), "the time of this state");
    }
}

/// `package 0 = L3 0`, and its CPUs.
fn boxed(reader: &mut Reader<'_>, names: &str, cpus: &str) {
    let cpus: Option<CpuSet> = cpus.parse().ok();
    for name in names.split(" = ") {
        let (level, id) = name.trim().split_once(' ').unwrap_or((name.trim(), ""));
        let groups: Vec<CpuSet> = level_of(level).map_or(Vec::new(), |level| {
            reader.run.reported.level(level).iter().map(|domain| domain.cpus.clone()).collect()
        });
        let of = id.parse::<usize>().ok().and_then(|id| groups.get(id)).cloned();
        reader.holds("groups", of.is_some() && of == cpus, || format!("{name} is {of:?}"));
    }
}

fn busy(reader: &mut Reader<'_>, cpu: &str, mean: &str) {
    let of =
        list(&reader.run.document["load"]["cpus"]).iter().find(|of| of["cpu"].as_u64() == cpu.parse().ok());
    let shares: Vec<f64> =
        of.map_or(&[][..], |of| list(&of["load"])).iter().filter_map(|share| share.as_f64()).collect();
    let told = shares.iter().sum::<f64>() / shares.len() as f64;
    reader.is("load", Printed::read(mean).unwrap(), told.is_finite().then_some(told), "the mean of this CPU");
}
