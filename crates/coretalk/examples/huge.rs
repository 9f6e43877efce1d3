//! Measures the time of each part of a whole run (session, store, analysis, screen, JSON, read-back) and peak memory.
//!
//! `cargo run --release -p coretalk --example huge [SCENARIO [JSON]]` measures a simulated machine (`huge-1024`,
//! 523,776 pairs) as `coretalk latency` would, keeps the run in a temporary folder, and writes the document to the file
//! JSON or discards it. The time of the simulation is reported separately, because it is not work of the program. The
//! session works while the simulation continues: the session's row shows its work as CPU time, and how long the
//! simulation waited for it as wall-clock time.

use coretalk::store::{NewRun, RunFile, RunWriter, stamp};
use coretalk_measure::machine::{Allowance, Granted, MachineError, RoundOutcome};
use coretalk_measure::session::latency::{self, ResumedState};
use coretalk_measure::session::{Commit, Decision, Sink, SinkError};
use coretalk_measure::{Machine, Round, Scenario, SimMachine, Stop, TrialOrder, WorkerSettings};
use coretalk_model::latency::*;
use coretalk_model::run::{LatencyReport, RunHeader, RunReport, RunSettings};
use coretalk_model::series::PassOutcome;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, LossReason, Picos, Recording, TickRate, Topology, TrialFailure,
};
use coretalk_report::Saved;
use coretalk_report::document::{Document, Identity};
use coretalk_report::{ColorDepth, Screen, Style, latency_screen};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::OnceLock;
use std::time::Instant;

/// Threads of the simulation: one, so that its CPU time can be distinguished from that of the session.
const THREADS: usize = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "huge-1024".into());
    let json = arguments.next();
    let scenario = Scenario::builtin(&name).ok_or_else(|| format!("no scenario {name}"))?;
    let begun = Cost::now();
    let mut machine =
        Timed { machine: SimMachine::open(scenario, 1).with_threads(THREADS), simulation: Cost::ZERO };
    let cpus: Vec<CpuId> = machine.allowance().mask.iter().collect();
    machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() })?;
    let settings = LatencySettings::for_cpus(cpus);
    // The document has a fixed id and time, so that two versions of the program can be compared.
    let command = vec!["latency".into(), "--machine".into(), format!("sim:{name}")];
    let stored_header = RunHeader { simulated: true, ..stamp::header(command, settings.seed) };
    let document_header =
        RunHeader { id: "huge".into(), started: "2026-01-01T00:00:00Z".into(), ..stored_header.clone() };
    let folder = std::env::temp_dir().join(format!("coretalk-huge-{}", std::process::id()));
    let new_run = NewRun {
        header: &stored_header,
        environment: machine.environment(),
        findings: &[],
        topology: machine.topology(),
        settings: RunSettings { latency: Some(&settings), ..RunSettings::default() },
        allowed: machine.topology().cpus(),
    };
    let writer = RunWriter::create(&folder, &new_run)?;
    let opened = Cost::now() - begun;

    let begun = Cost::now();
    let mut sink = TimedSink { writer, store: Cost::ZERO, analysis: Cost::ZERO, last_return: begun };
    let (result, ended) =
        latency::run(&mut machine, &settings, ResumedState::default(), &mut sink, &mut (), &Stop::new())?;
    let run = Cost::now() - begun;
    let (store, analysis, simulation) = (sink.store, sink.analysis, machine.simulation);
    let file = sink.writer.close()?;
    let bytes = std::fs::metadata(&file)?.len();
    let begun = Cost::now();
    RunFile::open(&file)?.report()?;
    let reading = Cost::now() - begun;
    std::fs::remove_dir_all(&folder)?;

    let (passes, watched, machine_time) = (result.passes, result.watched, machine.now());
    let report = RunReport {
        header: RunHeader { complete: result.complete, ..document_header },
        environment: machine.environment().clone(),
        doctor: Vec::new(),
        topology: machine.topology().clone(),
        latency: Some(LatencyReport { settings, result }),
        series: None,
        place: None,
    };
    drop(machine);
    let begun = Cost::now();
    let style = Style { depth: ColorDepth::TrueColor, ..Style::default() };
    let screen = latency_screen(&report, Screen::Measured(Saved::Not), &style);
    let screen_cost = Cost::now() - begun;
    let begun = Cost::now();
    let mut out = BufWriter::new(File::create(json.as_deref().unwrap_or("/dev/null"))?);
    Document::from_report(&report, Identity::Hidden).write_to(&mut out)?;
    out.flush()?;
    let document = Cost::now() - begun;

    let session = run - simulation - store - analysis;
    println!("{name}: {ended:?} after {passes} passes, {machine_time} of machine time ({watched} watched)");
    println!("                        wall s    CPU s");
    let own_work = opened + session + store + analysis + screen_cost + document;
    for (what, cost) in [
        ("opening", opened),
        ("session, statistics", session),
        ("store", store),
        ("analysis", analysis),
        ("screen", screen_cost),
        ("JSON", document),
        ("own work", own_work),
        ("reading the file", reading),
        ("simulation", simulation),
    ] {
        println!("{what:<22}{:>8.2} {:>8.2}", cost.wall_s, cost.cpu_s);
    }
    let peak = peak_mb().map_or_else(|| "unknown".into(), |mb| format!("{mb:.0} MB"));
    println!("peak memory {peak}, run file {:.1} MB, screen {} bytes", bytes as f64 / 1e6, screen.len());
    Ok(())
}

/// Wall-clock time, and CPU time of all threads.
#[derive(Clone, Copy)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
}

impl Cost {
    const ZERO: Cost = Cost { wall_s: 0.0, cpu_s: 0.0 };

    /// Reads the CPU time of this thread in nanoseconds (first field in Documentation/scheduler/sched-stats).
    fn of_thread() -> Cost {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let ran_ns: f64 = stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0);
        Cost { wall_s: wall_s(), cpu_s: ran_ns / 1e9 }
    }

    fn now() -> Cost {
        // User and system time of the process including ended threads, in hundredths of a second (proc(5)).
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields = after_name.split_whitespace().skip(11).take(2);
        let ticks: f64 = fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        Cost { wall_s: wall_s(), cpu_s: ticks / 100.0 }
    }
}

fn wall_s() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

impl std::ops::Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost { wall_s: self.wall_s + other.wall_s, cpu_s: self.cpu_s + other.cpu_s }
    }
}

impl std::ops::Sub for Cost {
    type Output = Cost;
    fn sub(self, other: Cost) -> Cost {
        Cost { wall_s: self.wall_s - other.wall_s, cpu_s: self.cpu_s - other.cpu_s }
    }
}

fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

/// A machine that times its own work.
struct Timed {
    machine: SimMachine,
    simulation: Cost,
}

impl Machine for Timed {
    fn topology(&self) -> &Topology {
        self.machine.topology()
    }
    fn allowance(&self) -> &Allowance {
        self.machine.allowance()
    }
    fn environment(&self) -> &Environment {
        self.machine.environment()
    }
    fn examine(&mut self, cpus: &CpuSet, budget: Option<Picos>) -> Vec<DoctorFinding> {
        self.machine.examine(cpus, budget)
    }
    fn rate(&self) -> TickRate {
        self.machine.rate()
    }
    fn now(&self) -> Picos {
        self.machine.now()
    }
    fn pause(&mut self, span: Picos, stop: &Stop) {
        self.machine.pause(span, stop);
    }
    fn end_by(&mut self, deadline: Option<Picos>) {
        self.machine.end_by(deadline);
    }
    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError> {
        self.machine.engage(settings)
    }
    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, LossReason)> {
        self.machine.absent(of)
    }
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        // Time in the callback is not work of the machine.
        let mut since = Cost::of_thread();
        let simulation = &mut self.simulation;
        let done = self.machine.perform_each(batch, stop, &mut |outcome| {
            *simulation = *simulation + (Cost::of_thread() - since);
            let spent = take(outcome);
            since = Cost::of_thread();
            spent
        });
        self.simulation = self.simulation + (Cost::of_thread() - since);
        done
    }
    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        self.machine.perform_trial(order, stop)
    }
    fn is_busy(&self) -> Option<bool> {
        self.machine.is_busy()
    }
}

/// A run file that times its own work. The session analyses between the last `commit` or `decide` and `finish`.
struct TimedSink {
    writer: RunWriter,
    store: Cost,
    analysis: Cost,
    last_return: Cost,
}

impl TimedSink {
    fn timed(&mut self, work: impl FnOnce(&mut RunWriter) -> Result<(), SinkError>) -> Result<(), SinkError> {
        let begun = Cost::now();
        let done = work(&mut self.writer);
        self.last_return = Cost::now();
        self.store = self.store + (self.last_return - begun);
        done
    }
}

impl Sink for TimedSink {
    fn commit(&mut self, slot: &Commit) -> Result<(), SinkError> {
        self.timed(|writer| writer.commit(slot))
    }
    fn decide(&mut self, decision: &Decision) -> Result<(), SinkError> {
        self.timed(|writer| writer.decide(decision))
    }
    fn finish(&mut self, result: &LatencyResult) -> Result<(), SinkError> {
        self.analysis = Cost::now() - self.last_return;
        self.timed(|writer| writer.finish(result))
    }
}
