//! How large run files get and how fast slots are kept, for machines of 32, 192 and 1,024 CPUs.
//!
//! The visits are synthetic, with the noise of real ones: lines differ by 5 %, batches by 3 % (together 6 %), the core
//! clock by 0.5 %. `cargo run -p coretalk --example run_file_size [DIR]` prints bytes, rates and ratios from one run;
//! DIR chooses the file system (the default is the temporary folder).

use coretalk::store::{NewRun, RawTicks, RunFile, RunWriter};
use coretalk::{RunHeader, RunSettings};
use coretalk_measure::session::sink::RecordedTrial;
use coretalk_measure::session::{RecordedRound, Sink, Slot};
use coretalk_model::latency::*;
use coretalk_model::stats::Estimate;
use coretalk_model::*;
use std::path::Path;
use std::time::Instant;

const PASSES: u32 = 8;
struct Shape {
    cpus: u32,
    /// Pairs at the same time.
    parallel: usize,
    raw: Raw,
    /// What half a second measures (5 s for 192 CPUs, 30 s for 1,024).
    trials_per_slot: usize,
    /// What was promised: 1 MB with raw ticks for 32 CPUs, 256 bytes a cell beyond 64.
    limit_bytes: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Raw {
    Kept,
    Reduced,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = match std::env::args_os().nth(1) {
        Some(folder) => folder.into(),
        None => std::env::temp_dir().join(format!("coretalk-size-{}", std::process::id())),
    };
    println!(
        "CPUs  raw   visits    file MB  of limit  B/visit  commit s  visits/s   finish s  read s  visits/s"
    );
    for shape in [
        Shape { cpus: 32, parallel: 1, raw: Raw::Reduced, trials_per_slot: 500, limit_bytes: 1_000_000 },
        Shape { cpus: 32, parallel: 1, raw: Raw::Kept, trials_per_slot: 500, limit_bytes: 1_000_000 },
        Shape {
            cpus: 192,
            parallel: 96,
            raw: Raw::Reduced,
            trials_per_slot: 14_668,
            limit_bytes: 30_000_000,
        },
        Shape {
            cpus: 1024,
            parallel: 512,
            raw: Raw::Reduced,
            trials_per_slot: 14_668,
            limit_bytes: 300_000_000,
        },
    ] {
        one(&folder, &shape)?;
    }
    std::fs::remove_dir(&folder)?;
    Ok(())
}

fn one(folder: &Path, shape: &Shape) -> Result<(), Box<dyn std::error::Error>> {
    let cpus: CpuSet = (0..shape.cpus).map(CpuId).collect();
    let topology = Topology::flat(cpus.clone());
    let settings = LatencySettings::of(cpus.iter().collect());
    let header = RunHeader { simulated: true, ..RunHeader::new(vec!["latency".into()], settings.seed) };
    let environment = Environment::default();
    let run = NewRun {
        header: &header,
        environment: &environment,
        findings: &[],
        topology: &topology,
        settings: RunSettings { latency: Some(&settings), ..RunSettings::default() },
        allowed: &cpus,
    };
    let mut writer = RunWriter::create(folder, &run)?;
    let pairs = u64::from(shape.cpus) * u64::from(shape.cpus - 1) / 2;
    let mut noise = Noise(7);
    let mut visits = 0u64;
    let mut commit_s = 0.0;
    for pass in 0..PASSES {
        let mut cells: Vec<u32> = (0..pairs as u32).collect();
        noise.shuffle(&mut cells);
        let mut slot = Slot::default();
        for (index, round) in cells.chunks(shape.parallel).enumerate() {
            slot.rounds.push(noise.round(pass, index as u64, round, shape.raw));
            visits += round.len() as u64;
            if slot.rounds.len() * shape.parallel >= shape.trials_per_slot {
                commit_s += seconds(|| writer.commit(&slot))?;
                slot.rounds.clear();
            }
        }
        commit_s += seconds(|| writer.commit(&slot))?;
    }
    let result = result(settings.cpus.clone());
    let finish_s = seconds(|| writer.finish(&result))?;
    let path = writer.close()?;
    let bytes = std::fs::metadata(&path)?.len();
    let mut read = 0u64;
    let read_s = seconds(|| {
        RunFile::open(&path)?.each_round(RawTicks::All, |_, round| read += round.trials.len() as u64)
    })?;
    if read != visits {
        return Err(format!("{visits} visits were written, {read} read").into());
    }
    println!(
        "{:>4}  {}  {visits:>8}  {:>8.2}  {:>7.0} %  {:>7.1}  {commit_s:>8.2}  {:>8.0}  {finish_s:>8.2}  {read_s:>6.2}  {:>8.0}",
        shape.cpus,
        if shape.raw == Raw::Kept { "kept" } else { "  no" },
        bytes as f64 / 1e6,
        100.0 * bytes as f64 / shape.limit_bytes as f64,
        bytes as f64 / visits as f64,
        visits as f64 / commit_s,
        visits as f64 / read_s,
    );
    std::fs::remove_file(path)?;
    Ok(())
}

/// A result of full size, so that the derived cells count.
fn result(cpus: Vec<CpuId>) -> LatencyResult {
    let estimate = |point: f64| Estimate {
        point,
        low: point * 0.99,
        high: point * 1.01,
        confidence: 0.95,
        effective_n: 8.0,
    };
    let cells = Matrix::symmetric(cpus, |row, column| {
        let latency_ns = 20.0 + (row * 31 + column * 17) as f64 % 997.0 / 7.0;
        Cell::Measured(CellValue {
            latency_ns: estimate(latency_ns),
            cycles: Some(estimate(latency_ns * 4.2)),
            core_ghz: Some(4.2),
            min_ns: latency_ns * 0.93,
            batches: 256,
            dropped: 3,
            passes: PASSES,
            home: Home(1),
            home_penalty: Some(1.13),
            line_spread: Some(1.07),
            states: Vec::new(),
            cas_ns: None,
            grade: Grade::A,
            flags: Flags::NONE.with(Flag::HomeSpread),
            reason: None,
        })
    });
    let map = LatencyMap {
        protocol: Protocol::Cas,
        kernel: KernelId::of(Protocol::Cas, Hint::Pause),
        hint: Hint::Pause,
        hint_reason: "asked".into(),
        regime: Regime::Serial,
        cells,
    };
    LatencyResult { maps: vec![map], complete: true, ..LatencyResult::default() }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same file every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Near enough to a normal deviate: the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }

    fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }

    fn round(&mut self, pass: u32, index: u64, cells: &[u32], raw: Raw) -> RecordedRound {
        let started = Picos(u64::from(pass) * 4_000_000_000_000 + index * 400_123_457);
        let trials = cells
            .iter()
            .map(|&cell| {
                let visit = self.visit(cell, started);
                let raw = (raw == Raw::Kept).then(|| self.recording(&visit));
                RecordedTrial { cell, outcome: Ok(visit), raw }
            })
            .collect();
        RecordedRound { purpose: Purpose::Map, pass, started, elapsed: Picos(390_000_000), trials }
    }

    /// Three spans: the headline's kernel on both homes, and the kernel that sees every state.
    fn visit(&mut self, cell: u32, started: Picos) -> Visit {
        let location = 20.0 + f64::from(cell % 251);
        let homes = [Home(cell % 8), Home(cell / 8 % 8)];
        let kernels = [(Hint::Pause, homes[0]), (Hint::Pause, homes[1]), (Hint::None, homes[0])];
        let spans = kernels
            .into_iter()
            .map(|(hint, home)| {
                let location_ns = location * (1.0 + 0.02 * self.normal());
                SpanSummary {
                    kernel: KernelId::of(Protocol::Cas, hint),
                    home,
                    location_ns: location_ns as f32,
                    line_error_ns: None,
                    floor_ns: (location_ns * (0.9 + 0.02 * self.normal())) as f32,
                    line_spread: Some((1.12 + 0.02 * self.normal()) as f32),
                    kept: 32 - u32::from(self.next().is_multiple_of(20)),
                    dropped: u32::from(self.next().is_multiple_of(20)),
                }
            })
            .collect();
        let core_ghz = Some((4.2 * (1.0 + 0.005 * self.normal())) as f32);
        Visit {
            cell,
            started: started + Picos(self.next() % 20_000_000),
            core_ghz,
            flags: Flags::NONE,
            spans,
        }
    }

    /// 64 lines of 3 visits, 1,500 ticks with 6 %.
    fn recording(&mut self, visit: &Visit) -> Recording {
        let mut ticks = Vec::with_capacity(192);
        for _ in 0..64 {
            let line = 1500.0 * (1.0 + 0.052 * self.normal());
            ticks.extend((0..3).map(|_| (line * (1.0 + 0.03 * self.normal())) as u32));
        }
        let first = &visit.spans[0];
        let samples = Samples::Batches { visits: 3, ticks };
        Recording {
            started: visit.started,
            elapsed: Picos(380_000_000),
            spans: vec![Span { kernel: first.kernel.clone(), home: first.home, round_trips: 16, samples }],
            core_ghz: vec![visit.core_ghz.map(|clock| [clock, clock]); 2],
            disturbance: Disturbance {
                involuntary_switches: Some(0),
                voluntary_switches: Some(0),
                steal_ms: Some(0.0),
                ..Disturbance::default()
            },
        }
    }
}

fn seconds<E>(work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
    let begun = Instant::now();
    work().map(|()| begun.elapsed().as_secs_f64())
}
