//! The rows of `series_settings`, `trials` and `passes`.

use super::super::codec::{Damage, Events, checksum, decode_histograms, encode_histograms};
use super::{SMALLEST, conversion, decimal, once, read_keys, time, within, write_keys};
use coretalk_model::quantity::Aggregate;
use coretalk_model::series::{
    Headline, MAX_VALUE, Numbers, Observed, Parameters, PassOutcome, RoleEvidence, SeriesEntry,
    SeriesSettings, TrialSpec,
};
use coretalk_model::{CpuId, Flags, Picos, TrialFailure};
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SettingsRow {
    probes: Vec<String>,
    cpus: Vec<CpuId>,
    asked: Parameters,
    headlines: Vec<String>,
    precision: f64,
    budget_ps: Picos,
    #[serde(with = "decimal")]
    seed: u64,
}

/// Results of a pass except its histograms. Absent fields are unknown.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct ObservationRow {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counts: BTreeMap<String, u64>,
    flags: u32,
    roles: Vec<RoleRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steal_ms: Option<f32>,
    coordinator_shared: bool,
    #[serde(skip_serializing_if = "is_alone")]
    company: u32,
    #[serde(skip_serializing_if = "is_false")]
    others_busy: bool,
    #[serde(skip_serializing_if = "is_false")]
    quota: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentinel_ns: Option<[f32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<TrialFailure>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct RoleRow(#[serde(with = "RoleFields")] RoleEvidence);

#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "RoleEvidence", rename_all = "kebab-case", default)]
struct RoleFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    voluntary: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    involuntary: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    core_ghz: Option<[f32; 2]>,
    migrated: bool,
}

pub fn write_series_settings(db: &Connection, settings: &SeriesSettings) -> rusqlite::Result<()> {
    // Without `..`, so that the compiler demands a place in the format for each new setting.
    let SeriesSettings { probes, cpus, options, trials, headlines, quantities: _, precision, budget, seed } =
        settings;
    let row = SettingsRow {
        probes: probes.clone(),
        cpus: cpus.clone(),
        asked: options.clone(),
        headlines: headlines.iter().map(ToString::to_string).collect(),
        precision: *precision,
        budget_ps: *budget,
        seed: *seed,
    };
    write_keys(db, "series_settings", &row)?;
    let mut insert = db.prepare(
        "INSERT INTO trials (trial, id, probe, parameters, placement) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (number, trial) in trials.iter().enumerate() {
        let (parameters, placement) = (json(&trial.parameters)?, json(&trial.placement)?);
        insert.execute((number as u32, trial.id().to_string(), &trial.probe, parameters, placement))?;
    }
    Ok(())
}

/// Replaces the budget, the only setting that resuming may change.
pub fn write_series_budget(db: &Connection, budget: Picos) -> rusqlite::Result<()> {
    db.execute("UPDATE series_settings SET value = ?1 WHERE key = 'budget-ps'", [budget.0.to_string()])?;
    Ok(())
}

pub fn read_series_settings(db: &Connection) -> rusqlite::Result<Option<SeriesSettings>> {
    let keys: u32 = db.query_row("SELECT count(*) FROM series_settings", [], |row| row.get(0))?;
    if keys == 0 {
        return Ok(None);
    }
    let row: SettingsRow = read_keys(db, "series_settings")?;
    within("the precision", row.precision, SMALLEST..=1.0)?;
    once(&row.cpus)?;
    let mut select =
        db.prepare("SELECT trial, id, probe, parameters, placement FROM trials ORDER BY trial")?;
    let mut rows = select.query([])?;
    let known: BTreeSet<CpuId> = row.cpus.iter().copied().collect();
    let mut trials = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? != trials.len() as i64 {
            return Err(conversion(0, "a trial is missing"));
        }
        let (parameters, placement) = (super::json(row, 3)?, super::json(row, 4)?);
        let trial = TrialSpec { probe: row.get(2)?, parameters, placement };
        if row.get::<_, String>(1)? != trial.id().to_string() {
            return Err(conversion(1, "the ID of a trial does not match its contents"));
        }
        // Tables and pictures have rows only for the CPUs of the run.
        if let Some(cpu) = trial.placement.iter().find(|cpu| !known.contains(cpu)) {
            return Err(conversion(4, format!("CPU {cpu} is not among the CPUs of the run")));
        }
        trials.push(trial);
    }
    Ok(Some(SeriesSettings {
        probes: row.probes,
        cpus: row.cpus,
        options: row.asked,
        headlines: row.headlines.iter().map(|name| Headline::from(name.as_str())).collect(),
        quantities: coretalk_model::probes::quantities(),
        trials,
        precision: row.precision,
        budget: row.budget_ps,
        seed: row.seed,
    }))
}

pub fn write_pass(db: &Connection, entry: &SeriesEntry) -> rusqlite::Result<()> {
    let SeriesEntry { segment, pass, trial, outcome } = entry;
    let empty_pass = PassOutcome::default();
    let numbers = outcome.as_ref().unwrap_or(&empty_pass).observed.flat();
    let fields = match outcome {
        Ok(outcome) => observation(outcome, &numbers),
        Err(failure) => ObservationRow { failure: Some(failure.clone()), ..ObservationRow::default() },
    };
    let fields = json(&fields)?;
    let outcome = outcome.as_ref().unwrap_or(&empty_pass);
    let (started, elapsed) = (outcome.started.0, outcome.elapsed.0);
    let context =
        context([u64::from(*segment), u64::from(*pass), u64::from(*trial), started, elapsed], &fields);
    let histograms = encode_histograms(&numbers.histograms, &context);
    db.prepare_cached(
        "INSERT INTO passes (segment, pass, trial, started, elapsed, said, histograms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((segment, pass, trial, started as i64, elapsed as i64, fields, histograms))?;
    Ok(())
}

#[derive(Debug, Default)]
pub struct Counted {
    durations: Events,
    events: Events,
}

/// Reads one pass from all columns of the table except the first.
pub fn read_pass(
    row: &Row<'_>,
    settings: &SeriesSettings,
    counted: &mut Counted,
) -> rusqlite::Result<Result<SeriesEntry, Damage>> {
    let (segment, pass, trial): (u32, u32, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (started, elapsed) = (time(row, 3)?, time(row, 4)?);
    let (text, blob) = (super::text(row, 5)?, super::blob(row, 6)?);
    let context = context([u64::from(segment), u64::from(pass), u64::from(trial), started, elapsed], text);
    let histograms = match decode_histograms(blob, &context, &mut counted.durations) {
        Ok(histograms) => histograms,
        Err(damage) => return Ok(Err(damage)),
    };
    let fields: ObservationRow = super::json(row, 5)?;
    let spec = settings.trials.get(trial as usize).ok_or_else(|| {
        conversion(2, format!("trial {trial} is not among the {} of the run", settings.trials.len()))
    })?;
    if let Err(damage) = check(&fields, settings, &spec.probe, &mut counted.events)? {
        return Ok(Err(damage));
    }
    let outcome = match fields.failure {
        Some(failure) => Err(failure),
        None => Ok(PassOutcome {
            started: Picos(started),
            elapsed: Picos(elapsed),
            observed: Observed::of_flat(
                Numbers { values: fields.values, histograms, counts: fields.counts },
                Flags(fields.flags),
            ),
            roles: fields.roles.into_iter().map(|RoleRow(role)| role).collect(),
            steal_ms: fields.steal_ms,
            coordinator_shared: fields.coordinator_shared,
            concurrent: fields.company,
            others_busy: fields.others_busy,
            quota: fields.quota,
            sentinel_ns: fields.sentinel_ns,
            process: fields.process,
        }),
    };
    Ok(Ok(SeriesEntry { segment, pass, trial, outcome }))
}

/// Checks the numbers of a pass. JSON numbers are finite but otherwise arbitrary.
fn check(
    fields: &ObservationRow,
    settings: &SeriesSettings,
    probe: &str,
    events: &mut Events,
) -> rusqlite::Result<Result<(), Damage>> {
    fields
        .values
        .values()
        .try_for_each(|&value| within("a value", value, -MAX_VALUE..=MAX_VALUE).map(drop))?;
    let clocks = fields.roles.iter().flat_map(|RoleRow(role)| role.core_ghz).flatten();
    let single = clocks.chain(fields.steal_ms).chain(fields.sentinel_ns.into_iter().flatten());
    single.map(f64::from).try_for_each(|value| within("a value", value, -MAX_VALUE..=MAX_VALUE).map(drop))?;
    for quantity in settings.quantities.of_probe(probe) {
        if quantity.aggregate == Aggregate::SumOverStates
            && let Some(&count) = fields.counts.get(quantity.id)
        {
            // A pass contributes at most one to this count.
            within(quantity.id, count, 0..=1)?;
        }
    }
    Ok(fields
        .counts
        .values()
        .try_for_each(|&count| events.add("how often something happened", count).map(drop)))
}

fn observation(outcome: &PassOutcome, numbers: &Numbers) -> ObservationRow {
    let PassOutcome {
        started: _,
        elapsed: _,
        observed,
        roles,
        steal_ms,
        coordinator_shared,
        concurrent,
        others_busy,
        quota,
        sentinel_ns,
        process,
    } = outcome;
    let Observed { numbers: _, by_role: _, flags } = observed;
    let Numbers { values, histograms: _, counts } = numbers;
    ObservationRow {
        values: values.clone(),
        counts: counts.clone(),
        flags: flags.0,
        roles: roles.iter().copied().map(RoleRow).collect(),
        steal_ms: *steal_ms,
        coordinator_shared: *coordinator_shared,
        company: *concurrent,
        others_busy: *others_busy,
        quota: *quota,
        sentinel_ns: *sentinel_ns,
        process: *process,
        failure: None,
    }
}

/// Rows of undisturbed passes omit the field.
fn is_false(disturbed: &bool) -> bool {
    !disturbed
}

/// Rows of passes that run alone omit the field.
fn is_alone(concurrent: &u32) -> bool {
    *concurrent == 0
}

/// Returns the other columns of the row as bytes, for the checksum of the blob.
fn context(numbers: [u64; 5], fields: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend_from_slice(&checksum(&[fields.as_bytes()]).to_le_bytes());
    bytes
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
