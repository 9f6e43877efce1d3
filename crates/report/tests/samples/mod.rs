//! Synthetic runs for tests of screens and documents. Nothing is measured or random; small variations come from a fixed
//! hash of the pair.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a sample that cannot be built fails its test")]

use coretalk_model::latency::*;
use coretalk_model::run::{LatencyReport, RunHeader, RunReport};
use coretalk_model::stats::Estimate;
use coretalk_model::topology::{CacheSize, CoreClass, Domain, MemoryNode, OtherFacts, Same};
use coretalk_model::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub fn estimate(point: f64, relative: f64) -> Estimate {
    let (low, high) = (point * (1.0 - relative), point * (1.0 + relative));
    Estimate { point, low, high, confidence: 0.95, effective_n: 12.0 }
}

pub fn value(ns: f64) -> CellValue {
    CellValue {
        latency_ns: estimate(ns, 0.012),
        cycles: Some(estimate(ns * 4.2, 0.009)).into(),
        core_ghz: Some(4.2).into(),
        min_ns: ns * 0.94,
        batches: 2048,
        dropped: 3,
        passes: 24,
        home: Home(0),
        home_penalty: OrNan::NONE,
        line_spread: Some(1.03).into(),
        cas_ns: OrNan::NONE,
        grade: Grade::B,
        flags: Flags::NONE,
        rare: None,
    }
}

/// Returns a fixed variation of ±3 % for a pair.
fn wobble(a: u32, b: u32) -> f64 {
    let hash = (a ^ b.rotate_left(16)).wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    1.0 + 0.06 * (f64::from(hash >> 8) / f64::from(1u32 << 24) - 0.5)
}

pub fn map(cpus: u32, ns: impl Fn(u32, u32) -> f64) -> LatencyMap {
    let cpus: Vec<CpuId> = (0..cpus).map(CpuId).collect();
    LatencyMap {
        protocol: Protocol::Cas,
        kernel: KernelId::new(Protocol::Cas, Hint::Pause),
        hint: Hint::Pause,
        hint_reason: "1 pause gains 9 % on the pilot pairs".into(),
        regime: Regime::Serial,
        cells: Matrix::symmetric(cpus, |row, column| {
            let (a, b) = (column as u32, row as u32);
            PairOutcome::Measured(value(ns(a, b) * wobble(a, b)))
        }),
    }
}

pub fn domain(level: Level, cpus: impl IntoIterator<Item = u32>, os_id: u32) -> Domain {
    Domain { level, cpus: cpus.into_iter().map(CpuId).collect(), os_id: Some(os_id) }
}

/// Domains of `size` consecutive CPUs.
pub fn blocks(level: Level, cpus: u32, size: u32) -> Vec<Domain> {
    (0..cpus / size).map(|index| domain(level, size * index..size * (index + 1), index)).collect()
}

pub fn topology(cpus: u32, levels: &[Vec<Domain>]) -> Topology {
    Topology::new((0..cpus).map(CpuId).collect(), levels.concat(), BTreeMap::new())
}

pub fn result(report: &mut RunReport) -> &mut LatencyResult {
    &mut report.latency.as_mut().unwrap().result
}

pub fn cell(report: &mut RunReport, row: usize, column: usize) -> &mut PairOutcome {
    result(report).maps[0].cells.get_mut(row, column).unwrap()
}

pub fn cell_value(report: &mut RunReport, row: usize, column: usize) -> &mut CellValue {
    let PairOutcome::Measured(value) = cell(report, row, column) else {
        panic!("{row}, {column}: not measured")
    };
    value
}

pub fn failed(reason: &str) -> PairOutcome {
    PairOutcome::Missing { reason: MissingReason::Failed(TrialFailure::from_reason(reason)) }
}

pub fn report(topology: Topology, maps: Vec<LatencyMap>, simulated: Option<&str>) -> RunReport {
    let settings = LatencySettings {
        budget: Picos::from_secs(10.0),
        ..LatencySettings::for_cpus(topology.cpus().iter().collect())
    };
    let watched = Picos::from_secs(6.4);
    let state = WatchedState { share: 1.0, visits: 1, longest: watched, kernels: Vec::new() };
    let watch = StateWatch { watched, pair: None, states: vec![state], line: Vec::new(), cells_changed: 0.0 };
    let environment = Environment {
        bare_metal: Some(true),
        platform_evidence: Some("CPUID: no hypervisor".into()),
        simulated: simulated.map(str::to_owned),
        host: Some("secret-host".into()),
        clock: ClockFacts { source: "tsc".into(), hz: 2.596e9, cost_ns: Some(17.9), ..ClockFacts::default() },
        tool_version: "0.1.0".into(),
        ..Environment::default()
    };
    RunReport {
        header: RunHeader {
            id: "019aa3c1-7d2e-7a11-8c3f-0123456789ab".into(),
            started: "2026-11-21T03:23:58Z".into(),
            command: vec!["latency".into()],
            seed: 1,
            simulated: simulated.is_some(),
            complete: true,
            departed: Vec::new(),
            tags: Vec::new(),
            segments: 1,
            tool_version: "0.1.0".into(),
        },
        environment,
        doctor: Vec::new(),
        topology,
        latency: Some(LatencyReport {
            settings,
            result: LatencyResult {
                maps,
                complete: true,
                passes: 24,
                watched,
                watch: Some(watch),
                ..LatencyResult::default()
            },
        }),
        series: None,
        place: None,
    }
}

/// Makes a ladder with all steps for relations with a level in nanoseconds.
fn ladder(levels: &[(Relation, f64)]) -> Vec<LadderRow> {
    let steps = [
        ("cas+pause", 1.0),
        ("store+pause", 1.2),
        ("msg+pause", 1.9),
        ("xfer", 0.9),
        ("as:core-to-core-latency", 1.01),
        ("as:c2clat", 1.97),
        ("as:coherency-latency", 2.1),
    ];
    let rung = |relation, (kernel, ns): (&'static str, f64)| LadderRow {
        relation,
        classes: None,
        kernel: KernelId(kernel.into()),
        latency_ns: Some(estimate(ns, 0.01)),
        range_ns: Some([ns * 0.97, ns * 1.04]),
        pairs: 4,
        reason: None,
    };
    let rungs = |&(relation, ns)| steps.map(|(kernel, factor)| rung(relation, (kernel, ns * factor)));
    levels.iter().flat_map(rungs).collect()
}

/// `chiplet-16-smt`: 2 L3 × 8 cores × 2 threads, siblings i, i + 16; real machine, two doubts.
pub fn desktop() -> RunReport {
    let cores = (0..16).map(|core| domain(Level::Core, [core, core + 16], core)).collect();
    let l3 = |l3: u32| domain(Level::L3, (8 * l3..8 * l3 + 8).chain(8 * l3 + 16..8 * l3 + 24), l3);
    let topology = topology(32, &[cores, vec![l3(0), l3(1)], blocks(Level::Package, 32, 32)]);
    let map = map(32, |a, b| match (a % 16 == b % 16, a % 16 / 8 == b % 16 / 8) {
        (true, _) => 7.8,
        (_, true) => 18.1,
        _ => 85.2,
    });
    let mut report = report(topology, vec![map], None);
    let doubtful = cell_value(&mut report, 13, 3);
    doubtful.flags.set(Flag::Drift);
    doubtful.grade = Grade::C;
    *cell(&mut report, 9, 8) = failed("CPU 9 was taken away during the run");
    report.environment.cpu_model = Some("AMD Ryzen 9 5950X 16-Core Processor".into());
    report.environment.kernel = Some("Linux 6.12.9".into());
    let levels = [(Relation::Smt, 7.8), (Relation::L3, 18.1), (Relation::Package, 85.2)];
    result(&mut report).ladder = ladder(&levels);
    let finding = |id: &str, verdict, text: &str| DoctorFinding {
        id: id.into(),
        verdict,
        text: text.into(),
        fix: None,
    };
    let governor = "The governor is powersave: clocks rise slowly, and intervals are wider.";
    report.doctor = vec![
        finding("governor", Verdict::Warn, governor),
        finding("smt", Verdict::Ok, "2 threads a core."),
        finding("quota", Verdict::Warn, "A CPU quota of 400 % is set."),
        finding("microcode", Verdict::CannotTell, "The revision is not readable."),
    ];
    report.doctor[0].fix = Some("cpupower frequency-set -g performance".into());
    report
}

/// `laptop-smt`: 4 cores × 2 threads, siblings i, i + 4; one L3, simulated.
pub fn laptop() -> RunReport {
    let cores = (0..4).map(|core| domain(Level::Core, [core, core + 4], core)).collect();
    let topology = topology(8, &[cores, blocks(Level::L3, 8, 8), blocks(Level::Package, 8, 8)]);
    let map = map(8, |a, b| if a % 4 == b % 4 { 6.0 } else { 24.0 });
    let mut report = report(topology, vec![map], Some("laptop-smt"));
    result(&mut report).ladder = ladder(&[(Relation::Smt, 6.0), (Relation::L3, 24.0)]);
    report
}

/// `epyc-2s-192`: 2 sockets × 12 L3 × 8 cores, parallel, simulated.
pub fn epyc() -> RunReport {
    let levels = [(Level::L3, 8), (Level::Node, 96), (Level::Package, 96)];
    let topology = topology(192, &levels.map(|(level, size)| blocks(level, 192, size)));
    let mut map = map(192, |a, b| match (a / 8 == b / 8, a / 96 == b / 96) {
        (true, _) => 23.0,
        (_, true) => 105.0,
        _ => 200.0,
    });
    let interval = Estimate { confidence: 0.9, effective_n: 64.0, ..estimate(0.0, 0.0) };
    let gate = |relation, bias: f64| GateOutcome {
        relation,
        pairs: 12,
        bias: Estimate { point: bias, low: bias - 0.004, high: bias + 0.004, ..interval },
        cells: 64,
        equivalent: true,
    };
    map.regime = Regime::Parallel {
        pairs: 12,
        gate: vec![gate(Relation::L3, 0.001), gate(Relation::Node, 0.003), gate(Relation::Machine, -0.002)],
    };
    let mut report = report(topology, vec![map], Some("epyc-2s-192"));
    let levels = [(Relation::L3, 23.0), (Relation::Node, 105.0), (Relation::Machine, 200.0)];
    result(&mut report).ladder = ladder(&levels);
    report
}

/// Two clusters of four with an L2 for each pair (0–7), dies that are the package, and memory without CPUs.
pub fn nested() -> Topology {
    let levels = [(Level::L2, 2), (Level::Cluster, 4), (Level::L3, 8), (Level::Package, 8)];
    let same = [
        (Level::Core, Same::Several),
        (Level::Die, Same::Level(Level::Package)),
        (Level::Node, Same::Machine),
    ];
    let memory = |number, memory_bytes, distances| MemoryNode { number, memory_bytes, distances };
    let memory_nodes = vec![
        memory(1, Some(68_719_476_736), vec![(0, 14)]),
        memory(2, None, vec![(0, 17), (3, 28)]),
        memory(4, Some(0), vec![]),
    ];
    let cache = |name: &str, kib: u64, width: u32| CacheSize {
        name: name.into(),
        bytes: kib << 10,
        groups: (0..8 / width).map(|at| (width * at..width * (at + 1)).map(CpuId).collect()).collect(),
    };
    let caches = vec![cache("L1d", 48, 1), cache("L2", 1280, 2), cache("L3", 36_864, 8)];
    let other_facts = OtherFacts { same: same.into(), memory_nodes, caches };
    topology(8, &levels.map(|(level, size)| blocks(level, 8, size))).with(Some(other_facts))
}

/// `hybrid`: 6 fast cores with SMT (0–11), 2 modules of 4 efficiency cores (12–19).
pub fn hybrid() -> RunReport {
    let mut domains: Vec<Domain> =
        (0..6).map(|core| domain(Level::Core, [2 * core, 2 * core + 1], core)).collect();
    domains.extend((12..20).map(|core| domain(Level::Core, [core], core)));
    domains.extend((0..2).map(|module| domain(Level::Cluster, 12 + 4 * module..16 + 4 * module, module)));
    domains.push(domain(Level::L3, 0..20, 0));
    let class = |rank: u32| CoreClass { rank, name: ["E", "P"][rank as usize].into() };
    let classes = (0..20).map(|cpu| (CpuId(cpu), class(u32::from(cpu < 12)))).collect();
    let topology = Topology::new("0-19".parse().unwrap(), domains, classes);
    let map = map(20, |a, b| match (a < 12, b < 12) {
        (true, true) if a / 2 == b / 2 => 5.0,
        (true, true) => 36.0,
        (false, false) if a / 4 == b / 4 => 52.0,
        _ => 44.0,
    });
    let mut report = report(topology, vec![map], Some("hybrid"));
    for (relation, classes, ns) in [
        (Relation::Smt, ["P", "P"], 5.0),
        (Relation::Cluster, ["E", "E"], 52.0),
        (Relation::L3, ["P", "P"], 36.0),
        (Relation::L3, ["P", "E"], 44.0),
        (Relation::L3, ["E", "E"], 44.0),
    ] {
        let of_kinds = |row| LadderRow { classes: Some(classes.map(str::to_owned)), ..row };
        result(&mut report).ladder.extend(ladder(&[(relation, ns)]).into_iter().map(of_kinds));
    }
    report
}

/// `mesh-64`: one mesh of 8 × 8, 30–58 ns, no groups.
pub fn mesh() -> RunReport {
    let topology = topology(64, &[blocks(Level::L3, 64, 64), blocks(Level::Package, 64, 64)]);
    let map = map(64, |a, b| 30.0 + 2.0 * f64::from((a % 8).abs_diff(b % 8) + (a / 8).abs_diff(b / 8) - 1));
    report(topology, vec![map], Some("mesh-64"))
}

/// `huge-1024`: 4 sockets × 8 dies × 4 clusters × 8 cores.
pub static HUGE: LazyLock<RunReport> = LazyLock::new(|| {
    let levels = [(Level::L3, 8), (Level::Die, 32), (Level::Package, 256)];
    let topology = topology(1024, &levels.map(|(level, size)| blocks(level, 1024, size)));
    let map = map(1024, |a, b| match (a / 8 == b / 8, a / 32 == b / 32, a / 256 == b / 256) {
        (true, _, _) => 20.0,
        (_, true, _) => 60.0,
        (_, _, true) => 120.0,
        _ => 300.0,
    });
    let mut report = report(topology, vec![map], Some("huge-1024"));
    result(&mut report).budget_ended = true;
    report
});

/// A guest with two CPUs that changed its state twice within 24 s.
pub fn floating_guest() -> RunReport {
    let mut report = still_guest();
    let line: Vec<(Picos, f64, u8)> = (0..240)
        .map(|pass| {
            let state = u8::from((90..152).contains(&pass));
            let level = if state == 1 { 116.0 } else { 22.6 };
            (Picos::from_ms(100 * pass), level * wobble(pass as u32, 7), state)
        })
        .collect();
    let state = |share, visits, seconds, with_pause, without_pause| WatchedState {
        share,
        visits,
        longest: Picos::from_secs(seconds),
        kernels: vec![
            (KernelId("cas+pause".into()), estimate(with_pause, 0.02)),
            (KernelId("cas".into()), estimate(without_pause, 0.03)),
        ],
    };
    result(&mut report).watch = Some(StateWatch {
        watched: Picos::from_secs(24.0),
        pair: Some([CpuId(0), CpuId(1)]),
        states: vec![state(0.74, 2, 9.0, 22.6, 28.1), state(0.26, 1, 6.2, 116.0, 131.0)],
        line,
        cells_changed: 1.0,
    });
    let value = cell_value(&mut report, 1, 0);
    value.flags.set(Flag::Multimodal);
    value.grade = Grade::D;
    let state = |share, ns| CellState { share, latency_ns: estimate(ns, 0.02) };
    value.rare.get_or_insert_default().states = vec![state(0.74, 22.6), state(0.26, 116.0)];
    report
}

/// The same guest without state changes.
pub fn still_guest() -> RunReport {
    let levels = [(Level::Core, 1), (Level::L3, 2), (Level::Package, 2)];
    let topology = topology(2, &levels.map(|(level, size)| blocks(level, 2, size)));
    let mut report = report(topology, vec![map(2, |_, _| 22.6)], None);
    report.environment.cpu_model = Some("AMD EPYC (guest)".into());
    report.environment.hypervisor = Some("kvm".into());
    report.environment.bare_metal = Some(false);
    report.environment.platform_evidence = Some("CPUID leaf 0x40000000: `KVMKVMKVM`".into());
    report.environment.kernel = Some("Linux 6.18.1".into());
    let measured = result(&mut report);
    measured.watched = Picos::from_secs(24.0);
    measured.watch.as_mut().unwrap().watched = measured.watched;
    measured.ladder = ladder(&[(Relation::L3, 22.6)]);
    for row in &mut measured.ladder {
        row.pairs = 1;
        row.range_ns = row.latency_ns.map(|latency| [latency.point; 2]);
    }
    report
}

/// Tails of one pair on the guest.
pub fn tails() -> RunReport {
    let mut report = still_guest();
    result(&mut report).tails = vec![TailSeries {
        placement: [CpuId(0), CpuId(1)],
        kernel: KernelId("msg+pause".into()),
        raw: vec![(30_000, 900_000), (31_000, 90_000), (60_000, 9_900), (4_100_000, 100)],
        clock_ns: 9.0,
        at_rate: vec![(30_000, 890_000), (31_000, 90_000), (60_000, 9_900), (4_100_000, 10_100)],
        rate_per_s: 1e6,
        observed: Picos::from_secs(1.0),
        negative_net: 0,
    }];
    report
}

pub fn all() -> Vec<(&'static str, RunReport)> {
    vec![
        ("desktop", desktop()),
        ("laptop", laptop()),
        ("epyc", epyc()),
        ("hybrid", hybrid()),
        ("mesh", mesh()),
        ("floating-guest", floating_guest()),
        ("still-guest", still_guest()),
        ("tails", tails()),
    ]
}
