//! Sample runs, and properties of their files.

mod failures;
mod resuming;
mod round_trip;
mod selecting;

use super::{NewRun, RawTicks, RunFile, RunWriter, StoreError, stamp};
use coretalk_measure::session::{Commit, Decision, Sink, SinkError};
use coretalk_model::environment::{Atomics, BuildFacts, Linking};
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, Parallel, Purpose, RecordedRound, RecordedTrial,
    Spacing, SpanSummary, Tails, Visit,
};
use coretalk_model::run::{RunHeader, RunSettings};
use coretalk_model::*;
use std::ops::Range;
use std::path::Path;
use tempfile::{TempDir, tempdir};

/// A run on a small machine that uses every feature of the format.
struct Sample {
    header: RunHeader,
    environment: Environment,
    findings: Vec<DoctorFinding>,
    topology: Topology,
    settings: LatencySettings,
    allowed: CpuSet,
}

fn sample(id: &str) -> Sample {
    let cpus: CpuSet = "0-3".parse().unwrap();
    let domain = |level, list: &str, os_id| topology::Domain { level, cpus: list.parse().unwrap(), os_id };
    let domains = vec![
        domain(Level::Core, "0,2", Some(0)),
        domain(Level::Core, "1,3", None),
        domain(Level::L3, "0-3", Some(7)),
    ];
    let class = CoreClass { rank: 1, name: "P".into() };
    let environment = Environment {
        label: Some("the büro's \"old\" one".into()),
        cpu_model: Some("Example 9000".into()),
        kernel: Some("Linux 6.12".into()),
        mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
        memory_bytes: Some(u64::MAX),
        boost: Some(false),
        clock: ClockFacts { source: "tsc".into(), hz: 2_596_991_234.567_891, ..ClockFacts::default() },
        isolated: "2-3".parse().unwrap(),
        cpu_use: Some([(CpuId(2), 0.25), (CpuId(10), 1.0)].into()),
        tool_version: "0.1.0".into(),
        atomics: Some(Atomics::LlSc),
        build_facts: Some(BuildFacts {
            target: "x86_64-unknown-linux-gnu".into(),
            linking: Linking::Static,
            features: vec!["sse".into(), "sse2".into()],
            lock_date: Some("2026-11-24".into()),
            ..BuildFacts::default()
        }),
        notes: [("fabric".to_owned(), "1800MHz".to_owned())].into(),
        ..Environment::default()
    };
    Sample {
        header: RunHeader {
            id: id.to_owned(),
            started: "2026-01-02T03:04:05.678Z".into(),
            tags: vec!["first".into()],
            tool_version: "0.1.0".into(),
            ..stamp::header(["latency", "--cpus", "0-3"].map(String::from).to_vec(), u64::MAX)
        },
        environment,
        findings: vec![DoctorFinding {
            id: "governor".into(),
            verdict: Verdict::CannotTell,
            text: "the governor cannot be read".into(),
            fix: None,
        }],
        topology: Topology::new(cpus.clone(), domains, [(CpuId(0), class)].into()),
        settings: LatencySettings {
            protocols: vec![Protocol::Cas, Protocol::OneWay],
            hint: HintChoice::Pause,
            home: HomeSetting::Node(Home(1)),
            counts: Counts::Fixed { samples: 300, iterations: 1000 },
            parallel: Parallel::AtMost(3),
            precision: 0.1 + 0.2,
            budget: Picos::from_ms(1500),
            spacing: Spacing::Watch,
            seed: u64::MAX,
            tails: Some(Tails { rate_per_s: 1e6 }),
            imitate: vec![Tool::C2clatW],
            analyses: 5,
            keep_raw: true,
            ..LatencySettings::for_cpus([0, 2, 1, 3].map(CpuId).to_vec())
        },
        allowed: cpus,
    }
}

impl Sample {
    fn new_run(&self) -> NewRun<'_> {
        NewRun {
            header: &self.header,
            environment: &self.environment,
            findings: &self.findings,
            topology: &self.topology,
            settings: RunSettings { latency: Some(&self.settings), ..RunSettings::default() },
            allowed: &self.allowed,
        }
    }

    fn create(&self, directory: &Path) -> RunWriter {
        RunWriter::create(directory, &self.new_run()).unwrap()
    }
}

/// A commit of two rounds that is unique by its number: one of the map, one with raw single events.
fn slot(number: u32) -> Commit {
    let span = |kernel: &'static str, location_ns: f32| SpanSummary {
        kernel: KernelId(kernel.into()),
        home: Home(number % 2),
        location_ns,
        line_error_ns: None,
        floor_ns: location_ns * 0.9,
        line_spread: number.is_multiple_of(3).then_some(1.07),
        kept: 192,
        dropped: number % 4,
    };
    let started = Picos::from_us(u64::from(number) * 500);
    let visit = |cell| Visit {
        cell,
        started: started + Picos(17),
        core_ghz: Some(4.28),
        flags: Flags::NONE.with(Flag::CoordShared),
        spans: vec![span("cas+pause", 22.25), span("cas", 21.0 + number as f32 / 7.0)],
    };
    let kernel = KernelId("as:c2clat-w".into());
    let samples = Samples::Counts { counts: vec![(40, 7), (41, u64::from(number)), (90_000, 1)] };
    let raw = Recording {
        started: started + Picos(11),
        elapsed: Picos::from_us(90),
        spans: vec![Span { kernel, home: Home(0), round_trips: 1, samples }],
        core_ghz: vec![Some([4.25, 4.3]), None],
        disturbance: Disturbance { voluntary_switches: Some(3), ..Disturbance::default() },
    };
    let elapsed = Picos::from_us(100);
    let round = |purpose, trials| RecordedRound { purpose, pass: number, started, elapsed, trials };
    let lost = TrialFailure::NotPinned { cpu: CpuId(3), errno: -22 };
    let trial = |cell, outcome| RecordedTrial { cell, outcome, raw: None };
    let map = vec![trial(5, Ok(visit(5))), trial(1, Err(lost))];
    let imitation = RecordedTrial { raw: Some(Box::new(raw)), ..trial(0, Ok(visit(0))) };
    let rounds = vec![round(Purpose::Map, map), round(Purpose::Imitation, vec![imitation])];
    Commit { rounds, ..Commit::default() }
}

fn rounds_of(slots: Range<u32>) -> Vec<RecordedRound> {
    slots.flat_map(|number| slot(number).rounds).collect()
}

fn decision(key: &str, value: &str) -> Decision {
    Decision { key: key.into(), value: value.into() }
}

/// A new run file in a temporary folder.
fn new_file() -> (TempDir, RunWriter) {
    let folder = tempdir().unwrap();
    let writer = sample("0193-a").create(folder.path());
    (folder, writer)
}

fn read_rounds(file: &RunFile) -> Result<Vec<RecordedRound>, StoreError> {
    let mut rounds = Vec::new();
    file.each_round(RawTicks::All, |_, round| rounds.push(round))?;
    Ok(rounds)
}

fn store_error(error: &SinkError) -> &StoreError {
    error.0.downcast_ref().unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The first column of a query.
fn texts(db: &rusqlite::Connection, query: &str) -> Vec<String> {
    let mut rows = db.prepare(query).unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Other programs rely on the document for tables and settings, and on the JSON schema for keys of the environment.
#[test]
fn every_table_and_key_is_in_the_format_document() {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let format = read("docs/format/run-file.md");
    let assert_documented =
        |name: String| assert!(format.contains(&name), "add `{name}` to docs/format/run-file.md");
    assert_documented(format!("at present **{}**", super::schema::VERSION));
    let (_folder, writer) = new_file();
    let tables = texts(&writer.db, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    tables.iter().for_each(|name| assert_documented(format!("**{name}**")));
    let settings = texts(&writer.db, "SELECT key FROM settings");
    settings.iter().for_each(|key| assert_documented(format!("`{key}`")));
    let schema: serde_json::Value = serde_json::from_str(&read("schema/coretalk.run.v1.json")).unwrap();
    for key in texts(&writer.db, "SELECT key FROM environment WHERE key NOT IN ('tool-version', 'cpu-use')") {
        let (part, name) =
            key.strip_prefix("clock-").map_or(("Environment", key.as_str()), |name| ("Clock", name));
        let field = format!("/$defs/{part}Doc/properties/{}", name.replace('-', "_"));
        assert!(schema.pointer(&field).is_some(), "{key} is not {field}");
    }
}
