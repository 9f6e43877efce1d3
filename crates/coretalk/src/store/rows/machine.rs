//! Rows that describe the machine of a run: `environment`, `findings`, `cpus`, `domains` and `beside`.

use super::{COUNTERS_HZ, conversion, named, read_keys, within, write_keys};
use coretalk_model::environment::{Atomics, BuildFacts, Throttled};
use coretalk_model::selection::CpuUse;
use coretalk_model::topology::{CacheSize, MemoryNode, OtherFacts, Same};
use coretalk_model::{
    ClockFacts, CoreClass, CpuId, CpuSet, DoctorFinding, Domain, Environment, Level, Topology, Verdict,
    excerpt,
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One key per field; an absent key is unknown. Repeats the fields of `Environment`, so that the compiler demands a
/// place in the format for each new field.
#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "Environment", rename_all = "kebab-case", default)]
struct EnvironmentRow {
    label: Option<String>,
    host: Option<String>,
    simulated: Option<String>,
    cpu_model: Option<String>,
    microcode: Option<String>,
    firmware: Option<String>,
    kernel: Option<String>,
    arch: Option<String>,
    mitigations: BTreeMap<String, String>,
    memory_bytes: Option<u64>,
    page_bytes: Option<u64>,
    governor: Option<String>,
    frequency_driver: Option<String>,
    boost: Option<bool>,
    idle_driver: Option<String>,
    hypervisor: Option<String>,
    bare_metal: Option<bool>,
    platform_evidence: Option<String>,
    emulator: Option<String>,
    atomics: Option<Atomics>,
    libc: Option<String>,
    #[serde(flatten, with = "ClockRow")]
    clock: ClockFacts,
    isolated: CpuSet,
    cpu_use: Option<CpuUse>,
    load_1min: Option<f64>,
    others_share: Option<f64>,
    /// Stored in the decisions, because the value is known only after the measurement.
    #[serde(skip)]
    throttled: Option<Throttled>,
    compiler: Option<String>,
    build: Option<String>,
    build_facts: Option<BuildFacts>,
    tool_version: String,
    libraries: BTreeMap<String, String>,
    runtimes: BTreeMap<String, String>,
    priority: Option<String>,
    notes: BTreeMap<String, String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "ClockFacts", default)]
struct ClockRow {
    #[serde(rename = "clock-source")]
    source: String,
    #[serde(rename = "clock-hz")]
    hz: f64,
    #[serde(rename = "clock-hz-error-ppm")]
    hz_error_ppm: Option<f64>,
    #[serde(rename = "clock-cost-ns")]
    cost_ns: Option<f64>,
    #[serde(rename = "clock-step-ns")]
    step_ns: Option<f64>,
    #[serde(rename = "clock-invariant")]
    invariant: Option<bool>,
    #[serde(rename = "clock-kernel-source")]
    kernel_source: Option<String>,
    #[serde(rename = "clock-hint-ns")]
    hint_ns: Option<f64>,
    #[serde(rename = "clock-hint-cycles")]
    hint_cycles: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Row(#[serde(with = "EnvironmentRow")] Environment);

pub fn write_environment(db: &Connection, environment: &Environment) -> rusqlite::Result<()> {
    write_keys(db, "environment", &Row(environment.clone()))
}

pub fn read_environment(db: &Connection) -> rusqlite::Result<Environment> {
    let Row(mut environment) = read_keys(db, "environment")?;
    let ClockFacts { hz, hz_error_ppm, cost_ns, step_ns, hint_ns, hint_cycles, .. } = &environment.clock;
    within("the clock rate in Hz", *hz, COUNTERS_HZ)?;
    for (what, value) in [
        ("the error of the clock rate in ppm", hz_error_ppm),
        ("the cost of a clock reading in ns", cost_ns),
        ("the step of the clock in ns", step_ns),
        ("the cost of a wait hint in ns", hint_ns),
        ("the cost of a wait hint in cycles", hint_cycles),
    ] {
        value.map_or(Ok(0.0), |value| within(what, value, 0.0..=1e9))?;
    }
    let others = max_known(environment.others_share, others_of_segments(db)?);
    // Older versions derived this share from the load average, which has no upper limit.
    environment.others_share = others.filter(|share| (0.0..=1.0).contains(share));
    environment.throttled = throttled_of_segments(db)?;
    Ok(environment)
}

/// Returns the largest share that other programs took in any segment.
fn others_of_segments(db: &Connection) -> rusqlite::Result<Option<f64>> {
    let mut select = db.prepare("SELECT value FROM decisions WHERE key LIKE 'others-share:%'")?;
    let shares = select.query_map([], |row| row.get::<_, String>(0))?;
    let mut all = None;
    for share in shares {
        all = max_known(all, share?.parse().ok());
    }
    Ok(all)
}

/// Combines the throttling by a CPU quota over all segments.
fn throttled_of_segments(db: &Connection) -> rusqlite::Result<Option<Throttled>> {
    let mut select =
        db.prepare("SELECT value FROM decisions WHERE key LIKE 'throttled:%' ORDER BY segment")?;
    let mut all: Option<Throttled> = None;
    for text in select.query_map([], |row| row.get::<_, String>(0))? {
        if let Some(of_segment) = Throttled::from_json(&text?) {
            all = Some(all.map_or(of_segment, |earlier| earlier.and(of_segment)));
        }
    }
    Ok(all)
}

fn max_known(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().max_by(f64::total_cmp)
}

pub fn write_findings(db: &Connection, findings: &[DoctorFinding]) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO findings (id, verdict, text, fix) VALUES (?1, ?2, ?3, ?4)")?;
    for finding in findings {
        insert.execute((&finding.id, finding.verdict.name(), &finding.text, &finding.fix))?;
    }
    Ok(())
}

pub fn read_findings(db: &Connection) -> rusqlite::Result<Vec<DoctorFinding>> {
    const VERDICTS: [Verdict; 4] = [Verdict::Ok, Verdict::CannotTell, Verdict::Warn, Verdict::Fail];
    let mut select = db.prepare("SELECT id, verdict, text, fix FROM findings ORDER BY finding")?;
    let findings = select.query_map([], |row| {
        let verdict: String = row.get(1)?;
        let verdict = named(&VERDICTS, Verdict::name, &verdict)?;
        Ok(DoctorFinding { id: row.get(0)?, verdict, text: row.get(2)?, fix: row.get(3)? })
    })?;
    findings.collect()
}

/// Facts that no group of CPUs can represent. Files older than schema 4 lack `same` and `memory_nodes`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct OtherFactsRow {
    same: Option<BTreeMap<String, String>>,
    memory_nodes: Option<Vec<MemoryRow>>,
    caches: Option<Vec<CacheRow>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MemoryRow {
    node: u32,
    memory_bytes: Option<u64>,
    /// Pairs of a node and the distance from `node` to it.
    distances: Vec<(u32, u32)>,
}

#[derive(Serialize, Deserialize)]
struct CacheRow {
    name: String,
    bytes: u64,
    groups: Vec<String>,
}

pub fn write_topology(db: &Connection, topology: &Topology) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO cpus (cpu, class_rank, class) VALUES (?1, ?2, ?3)")?;
    for cpu in topology.cpus().iter() {
        let class = topology.class_of(cpu);
        insert.execute((cpu.0, class.map(|class| class.rank), class.map(|class| &class.name)))?;
    }
    let mut insert = db.prepare("INSERT INTO domains (level, cpus, os_id) VALUES (?1, ?2, ?3)")?;
    for domain in topology.domains() {
        insert.execute((domain.level.name(), domain.cpus.to_string(), domain.os_id))?;
    }
    let Some(other_facts) = topology.other_facts() else { return Ok(()) };
    let same = other_facts.same.iter().map(|(level, same)| (level.name().to_owned(), same.name().to_owned()));
    let memory = other_facts.memory_nodes.iter().cloned();
    let memory = memory.map(|MemoryNode { number: node, memory_bytes, distances }| MemoryRow {
        node,
        memory_bytes,
        distances,
    });
    let caches = other_facts.caches.iter().cloned().map(|CacheSize { name, bytes, groups }| CacheRow {
        name,
        bytes,
        groups: groups.iter().map(ToString::to_string).collect(),
    });
    let row = OtherFactsRow {
        same: Some(same.collect()),
        memory_nodes: Some(memory.collect()),
        caches: (!other_facts.caches.is_empty()).then(|| caches.collect()),
    };
    write_keys(db, "beside", &row)
}

/// Maximum 64-bit words for the CPU sets of all groups: twelve levels, each with one group per CPU of 8,192.
const MAX_WORDS: usize = 12 * 8192 * (8192 / 64);

pub fn read_topology(db: &Connection) -> rusqlite::Result<Topology> {
    let mut cpus = CpuSet::new();
    let mut classes = BTreeMap::new();
    let mut select = db.prepare("SELECT cpu, class_rank, class FROM cpus ORDER BY cpu")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let id: u32 = row.get(0)?;
        if id > coretalk_model::cpu::MAX_CPU {
            return Err(conversion(0, format!("CPU {id} is a higher number than on any known machine")));
        }
        let cpu = CpuId(id);
        cpus.insert(cpu);
        if let (Some(rank), Some(name)) = (row.get(1)?, row.get(2)?) {
            classes.insert(cpu, CoreClass { rank, name });
        }
    }
    let mut select = db.prepare("SELECT level, cpus, os_id FROM domains ORDER BY domain")?;
    let mut words = 0;
    let mut group = |cpus: &str| {
        let cpus: CpuSet =
            cpus.parse().map_err(|error| conversion(1, format!("the CPUs of a level: {error}")))?;
        words += cpus.words().len();
        if words > MAX_WORDS {
            return Err(conversion(1, "its groups name more CPUs than those of any machine"));
        }
        Ok(cpus)
    };
    let domains = select.query_map([], |row| {
        let (level, cpus): (String, String) = (row.get(0)?, row.get(1)?);
        let level = named(&Level::ALL, Level::name, &level)?;
        Ok(Domain { level, cpus: group(&cpus)?, os_id: row.get(2)? })
    })?;
    let domains = domains.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Topology::new(cpus, domains, classes).with(read_other_facts(db, group)?))
}

fn read_other_facts(
    db: &Connection,
    mut group: impl FnMut(&str) -> rusqlite::Result<CpuSet>,
) -> rusqlite::Result<Option<OtherFacts>> {
    let OtherFactsRow { same: Some(same), memory_nodes: Some(memory), caches } = read_keys(db, "beside")?
    else {
        return Ok(None);
    };
    let same = same.into_iter().map(|(level, same)| {
        let known = Same::named(&same)
            .ok_or_else(|| conversion(1, format!("`{}` is not a level", excerpt(&same))))?;
        Ok((named(&Level::ALL, Level::name, &level)?, known))
    });
    let node =
        |MemoryRow { node: number, memory_bytes, distances }| MemoryNode { number, memory_bytes, distances };
    let mut cache = |CacheRow { name, bytes, groups }| {
        let groups = groups.iter().map(|cpus: &String| group(cpus)).collect::<rusqlite::Result<_>>()?;
        Ok(CacheSize { name, bytes, groups })
    };
    Ok(Some(OtherFacts {
        same: same.collect::<rusqlite::Result<_>>()?,
        memory_nodes: memory.into_iter().map(node).collect(),
        caches: caches.into_iter().flatten().map(&mut cache).collect::<rusqlite::Result<_>>()?,
    }))
}
