//! Texts: matrices of every known tool, histograms, hwloc XML, scenarios, lists and output of adapters.

use super::Output;
use super::random::Random;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk_measure::adapters::Description;
use coretalk_measure::adapters::catalogue::{AdapterOrigin, Catalogue};
use coretalk_measure::adapters::sources;
use coretalk_measure::{Machine, Scenario, SimMachine};
use coretalk_model::formats::hgrm::{HgrmStyle, write_hgrm};
use coretalk_model::formats::{
    Unit, is_hlog, read_hgrm, read_hlog, read_hwloc, read_matrices, write_c2c_csv, write_csv, write_markdown,
};
use coretalk_model::infer::{Findings, Observation};
use coretalk_model::lint::lint;
use coretalk_model::{CpuId, Histogram, Matrix};
use coretalk_report::Style;
use coretalk_report::imported::ImportedFile;
use coretalk_report::render::terminal::screen;
use coretalk_report::spectra::{self, SpectrumView};
use std::path::Path;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/model/tests/integration/samples");

pub fn matrix(random: &mut Random) -> Vec<u8> {
    let text = if random.one_in(3) { generated_matrix(random) } else { sample(random) };
    random.change(&text).into_bytes()
}

fn sample(random: &mut Random) -> String {
    let mut files: Vec<_> = std::fs::read_dir(SAMPLES).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    std::fs::read_to_string(random.of_slice(&files)).unwrap()
}

fn generated_matrix(random: &mut Random) -> String {
    let (cpus, step) = (2 + random.below(15) as u32, 1 + random.below(2) as u32);
    let (group, base) = (1 + random.below(8), random.below(500) as f64 / 10.0);
    let cpus: Vec<CpuId> = (0..cpus).map(|cpu| CpuId(cpu * step)).collect();
    let noise = random.below(100);
    let value = |row: usize, column: usize| {
        let far = if row / group == column / group { 1.0 } else { 3.0 };
        Some(base + 20.0 * far + (row * noise + column) as f64 % 7.0 / 10.0)
    };
    let symmetric = Matrix::symmetric(cpus.clone(), value);
    match random.below(4) {
        0 => write_csv(&symmetric, Unit::Ns, &[("probe", "cas")]),
        1 => write_csv(&Matrix::directed(cpus, value), Unit::Cycles, &[("probe", "cas")]),
        2 => write_c2c_csv(&symmetric),
        _ => write_markdown(&symmetric, Unit::Ns),
    }
}

pub fn read_matrix(_: &Path, bytes: &[u8]) -> Output {
    let read = read_matrices(bytes)?;
    let doubts: usize = read.iter().map(|one| format!("{:?}", lint(one)).len()).sum();
    let written: usize = read.iter().map(|one| write_csv(&one.matrix, one.unit, &one.metadata).len()).sum();
    let file = ImportedFile::new("file".to_owned(), read);
    let mut document = Vec::new();
    file.document().write_to(&mut document).unwrap();
    Ok(doubts + written + document.len() + screen(&file.summary(), &Style::default()).len())
}

pub fn hgrm(random: &mut Random) -> Vec<u8> {
    let mut histogram = Histogram::new();
    for _ in 0..random.below(40) {
        let (units, count) = (random.number() >> (24 + random.below(40)), 1 + random.number() % 1000);
        histogram.record(units, count);
    }
    let style = HgrmStyle { ticks: 1 + random.below(7) as u32, ..HgrmStyle::default() };
    random.change(&write_hgrm(&histogram, &style, &[])).into_bytes()
}

/// Makes an interval log with arbitrary headers and counts, as uncompressed V2, which every reader supports.
pub fn hlog(random: &mut Random) -> Vec<u8> {
    let mut text = "#[Histogram log format version 1.3]\n".to_owned();
    text += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    for _ in 0..1 + random.below(4) {
        let mut counts = Vec::new();
        for _ in 0..random.below(30) {
            let count = if random.one_in(6) { random.integer(7) } else { random.below(2_000) as i64 };
            varint(if random.one_in(3) { -count.saturating_abs() } else { count }, &mut counts);
        }
        let odd = random.one_in(8);
        let digits = if odd { random.integer(3) as i32 } else { 1 + random.below(5) as i32 };
        let highest = if odd { random.integer(1) } else { 3_600_000_000_000 };
        let ratio = if odd { random.float() } else { *random.of_slice(&[1.0, 1e6]) };
        let length = if random.one_in(8) { random.integer(0) as u32 } else { counts.len() as u32 };
        let mut bytes = 0x1c84_9313u32.to_be_bytes().to_vec();
        bytes.extend([length.to_be_bytes(), 0u32.to_be_bytes(), digits.to_be_bytes()].concat());
        bytes.extend([1i64.to_be_bytes(), highest.to_be_bytes(), ratio.to_be_bytes()].concat());
        bytes.extend(counts);
        text += &format!("0.127,1.007,{}.769,{}\n", random.below(9), STANDARD.encode(bytes));
    }
    if random.one_in(3) { random.change(&text).into_bytes() } else { text.into_bytes() }
}

/// Appends ZigZag LEB128-64b9B, the encoding of counts in HdrHistogram.
fn varint(count: i64, into: &mut Vec<u8>) {
    let mut rest = ((count << 1) ^ (count >> 63)) as u64;
    let end = into.len() + 8;
    while rest >= 0x80 && into.len() < end {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

pub fn read_spectrum(_: &Path, bytes: &[u8]) -> Output {
    let is_log = std::str::from_utf8(bytes).is_ok_and(is_hlog);
    let read = if is_log { read_hlog(bytes) } else { read_hgrm(bytes) }?;
    let rows: usize = read.iter().map(|spectrum| spectrum.rows.len()).sum();
    let view = |spectrum| SpectrumView { title: "file".to_owned(), spectrum };
    let views: Vec<SpectrumView> = read.into_iter().map(view).collect();
    Ok(32 * rows + screen(&spectra::blocks(&views), &Style::default()).len())
}

/// Makes a tree of objects with CPU sets, some deep, some wide.
pub fn hwloc(random: &mut Random) -> Vec<u8> {
    const KINDS: [&str; 10] =
        ["Package", "Die", "L3Cache", "L2Cache", "L1Cache", "Core", "Group", "NUMANode", "Module", "Misc"];
    let mut text = "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\">\n".to_owned();
    let (mut open, mut next) = (0, 0);
    for _ in 0..random.below(60) {
        match random.below(3) {
            0 if open > 0 => {
                text += "</object>\n";
                open -= 1;
            }
            1 => {
                let set = 1u128 << (next % 100);
                text += &format!("<object type=\"PU\" os_index=\"{next}\" cpuset=\"{set:#x}\"/>\n");
                next += 1;
            }
            _ => {
                let (kind, set) = (random.of_slice(&KINDS), random.number() >> random.below(64));
                let attributes =
                    format!("type=\"{kind}\" os_index=\"{next}\" depth=\"3\" cpuset=\"{set:#x}\"");
                text += &format!("<object {attributes}>\n");
                open += 1;
            }
        }
    }
    let ends = "</object>\n".repeat(open + 1);
    text += &format!("{ends}<cpukind cpuset=\"0x3\" forced_efficiency=\"0\"/>\n</topology>\n");
    random.change(&text).into_bytes()
}

pub fn read_topology(_: &Path, bytes: &[u8]) -> Output {
    let topology = read_hwloc(bytes)?;
    let cpus: Vec<CpuId> = topology.cpus().iter().take(64).collect();
    let observed =
        Matrix::symmetric(cpus, |row, column| Some(Observation::bare((10 * (row + column)) as f64)));
    let findings = Findings::of_stepped_matrix(&observed, &topology, None);
    Ok(topology.cpus().to_string().len() + format!("{:?}{:?}", topology.domains(), findings.structure).len())
}

pub fn scenario(random: &mut Random) -> Vec<u8> {
    let text = match random.one_in(4) {
        true => sources::LIST.to_owned(),
        false => Scenario::builtin(random.of_slice::<&str>(Scenario::names())).unwrap().to_toml(),
    };
    random.change(&text).into_bytes()
}

pub fn read_scenario(_: &Path, bytes: &[u8]) -> Output {
    let text = std::str::from_utf8(bytes)?;
    let list = match Catalogue::parse(text, AdapterOrigin::Users) {
        Ok(catalogue) => format!("{:?}", catalogue.specs()).len(),
        Err(error) => error.to_string().len(),
    };
    let domains = |scenario| format!("{:?}", SimMachine::open(scenario, 1).topology().domains());
    Ok(list + Scenario::from_toml(text).map_or_else(|error| error.to_string(), domains).len())
}

/// Makes the description that an adapter of another language prints.
pub fn adapter(random: &mut Random) -> Vec<u8> {
    let text = "coretalk-adapter 1\nruntime Go 1.22\nqueue channel payload=u64 capacity=1..64\n\
                queue ring payload=string capacity=1,2,4\nwait busy,yield\nwake park,lock\n";
    random.change(text).into_bytes()
}

pub fn read_adapter(_: &Path, bytes: &[u8]) -> Output {
    Ok(format!("{:?}", Description::parse(&String::from_utf8_lossy(bytes))?).len())
}
