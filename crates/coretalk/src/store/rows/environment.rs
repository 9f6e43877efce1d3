//! The rows of `environment` and `findings`.

use super::{named, read_keys, write_keys};
use coretalk_model::environment::Throttled;
use coretalk_model::{ClockFacts, Environment, Finding, Verdict};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One key each; a key that is absent is unknown.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
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
    libc: Option<String>,
    clock_source: String,
    clock_hz: f64,
    clock_hz_error_ppm: Option<f64>,
    clock_cost_ns: Option<f64>,
    clock_step_ns: Option<f64>,
    clock_invariant: Option<bool>,
    clock_kernel_source: Option<String>,
    clock_hint_ns: Option<f64>,
    clock_hint_cycles: Option<f64>,
    isolated: String,
    load_1min: Option<f64>,
    others_share: Option<f64>,
    compiler: Option<String>,
    build: Option<String>,
    tool_version: String,
    libraries: BTreeMap<String, String>,
    priority: Option<String>,
    notes: BTreeMap<String, String>,
}

/// Writes what the run was measured under.
pub fn write_environment(db: &Connection, environment: &Environment) -> rusqlite::Result<()> {
    // Field by field and without `..`: a new fact does not compile until the format has a place for it.
    let Environment {
        label,
        host,
        simulated,
        cpu_model,
        microcode,
        firmware,
        kernel,
        arch,
        mitigations,
        memory_bytes,
        page_bytes,
        governor,
        frequency_driver,
        boost,
        idle_driver,
        hypervisor,
        bare_metal,
        platform_evidence,
        libc,
        clock,
        isolated,
        load_1min,
        others_share,
        // Stands among the decisions: it is known once everything is measured.
        throttled: _,
        compiler,
        build,
        tool_version,
        libraries,
        priority,
        notes,
    } = environment.clone();
    let ClockFacts {
        source,
        hz,
        hz_error_ppm,
        cost_ns,
        step_ns,
        invariant,
        kernel_source,
        hint_ns,
        hint_cycles,
    } = clock;
    let row = EnvironmentRow {
        label,
        host,
        simulated,
        cpu_model,
        microcode,
        firmware,
        kernel,
        arch,
        mitigations,
        memory_bytes,
        page_bytes,
        governor,
        frequency_driver,
        boost,
        idle_driver,
        hypervisor,
        bare_metal,
        platform_evidence,
        libc,
        clock_source: source,
        clock_hz: hz,
        clock_hz_error_ppm: hz_error_ppm,
        clock_cost_ns: cost_ns,
        clock_step_ns: step_ns,
        clock_invariant: invariant,
        clock_kernel_source: kernel_source,
        clock_hint_ns: hint_ns,
        clock_hint_cycles: hint_cycles,
        isolated: isolated.to_string(),
        load_1min,
        others_share,
        compiler,
        build,
        tool_version,
        libraries,
        priority,
        notes,
    };
    write_keys(db, "environment", &row)
}

/// Reads what the run was measured under.
pub fn read_environment(db: &Connection) -> rusqlite::Result<Environment> {
    let row: EnvironmentRow = read_keys(db, "environment")?;
    Ok(Environment {
        label: row.label,
        host: row.host,
        simulated: row.simulated,
        cpu_model: row.cpu_model,
        microcode: row.microcode,
        firmware: row.firmware,
        kernel: row.kernel,
        arch: row.arch,
        mitigations: row.mitigations,
        memory_bytes: row.memory_bytes,
        page_bytes: row.page_bytes,
        governor: row.governor,
        frequency_driver: row.frequency_driver,
        boost: row.boost,
        idle_driver: row.idle_driver,
        hypervisor: row.hypervisor,
        bare_metal: row.bare_metal,
        platform_evidence: row.platform_evidence,
        libc: row.libc,
        clock: ClockFacts {
            source: row.clock_source,
            hz: row.clock_hz,
            hz_error_ppm: row.clock_hz_error_ppm,
            cost_ns: row.clock_cost_ns,
            step_ns: row.clock_step_ns,
            invariant: row.clock_invariant,
            kernel_source: row.clock_kernel_source,
            hint_ns: row.clock_hint_ns,
            hint_cycles: row.clock_hint_cycles,
        },
        isolated: row.isolated.parse().map_err(|error| super::conversion(1, error))?,
        load_1min: row.load_1min,
        others_share: most(row.others_share, others_of_segments(db)?),
        throttled: throttled_of_segments(db)?,
        compiler: row.compiler,
        build: row.build,
        tool_version: row.tool_version,
        libraries: row.libraries,
        priority: row.priority,
        notes: row.notes,
    })
}

/// The most that others took in a segment, each of which notes it at its end.
fn others_of_segments(db: &Connection) -> rusqlite::Result<Option<f64>> {
    let mut select = db.prepare("SELECT value FROM decisions WHERE key LIKE 'others-share:%'")?;
    let shares = select.query_map([], |row| row.get::<_, String>(0))?;
    let mut all = None;
    for share in shares {
        all = most(all, share?.parse().ok());
    }
    Ok(all)
}

/// What a quota did in all segments, each of which notes it at its end.
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

fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().max_by(f64::total_cmp)
}

/// Writes what `doctor` said.
pub fn write_findings(db: &Connection, findings: &[Finding]) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO findings (id, verdict, text, fix) VALUES (?1, ?2, ?3, ?4)")?;
    for finding in findings {
        insert.execute((&finding.id, finding.verdict.name(), &finding.text, &finding.fix))?;
    }
    Ok(())
}

/// Reads what `doctor` said.
pub fn read_findings(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    const VERDICTS: [Verdict; 4] = [Verdict::Ok, Verdict::CannotTell, Verdict::Warn, Verdict::Fail];
    let mut select = db.prepare("SELECT id, verdict, text, fix FROM findings ORDER BY finding")?;
    let findings = select.query_map([], |row| {
        let verdict: String = row.get(1)?;
        let verdict = named(&VERDICTS, Verdict::name, &verdict)?;
        Ok(Finding { id: row.get(0)?, verdict, text: row.get(2)?, fix: row.get(3)? })
    })?;
    findings.collect()
}
