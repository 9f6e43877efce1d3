//! Sample runs, and properties of their files.

mod failures;
mod resuming;
mod round_trip;
mod selecting;

use super::{NewRun, RunWriter};
use coretalk_measure::session::{Commit, Decision};
use coretalk_model::environment::{Atomics, BuildFacts, Linking};
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Purpose, RecordedRound,
    RecordedTrial, Spacing, SpanSummary, Tails, Visit,
};
use coretalk_model::run::RunHeader;
use coretalk_model::run::RunSettings;
use coretalk_model::*;
use std::path::Path;

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
            command: vec!["latency".into(), "--cpus".into(), "0-3".into()],
            seed: u64::MAX,
            simulated: false,
            complete: false,
            departed: Vec::new(),
            tags: vec!["first".into()],
            segments: 1,
            tool_version: "0.1.0".into(),
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
            cpus: vec![CpuId(0), CpuId(2), CpuId(1), CpuId(3)],
            pairs: PairChoice::All,
            protocols: vec![Protocol::Cas, Protocol::OneWay],
            hint: HintChoice::Pause,
            home: HomeSetting::Node(Home(1)),
            lines: None,
            counts: Counts::Fixed { samples: 300, iterations: 1000 },
            parallel: Parallel::AtMost(3),
            precision: 0.1 + 0.2,
            budget: Picos::from_ms(1500),
            spacing: Spacing::Watch,
            seed: u64::MAX,
            tails: Some(Tails { rate_per_s: 1e6 }),
            imitate: vec![Tool::C2clatW],
            ladder: true,
            analyses: 5,
            keep_raw: true,
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
    let raw = Recording {
        started: started + Picos(11),
        elapsed: Picos::from_us(90),
        spans: vec![Span {
            kernel: KernelId("as:c2clat-w".into()),
            home: Home(0),
            round_trips: 1,
            samples: Samples::Counts { counts: vec![(40, 7), (41, u64::from(number)), (90_000, 1)] },
        }],
        core_ghz: vec![Some([4.25, 4.3]), None],
        disturbance: Disturbance { voluntary_switches: Some(3), ..Disturbance::default() },
    };
    let round = |purpose, trials| RecordedRound {
        purpose,
        pass: number,
        started,
        elapsed: Picos::from_us(100),
        trials,
    };
    let lost = TrialFailure::NotPinned { cpu: CpuId(3), errno: -22 };
    Commit {
        rounds: vec![
            round(
                Purpose::Map,
                vec![
                    RecordedTrial { cell: 5, outcome: Ok(visit(5)), raw: None },
                    RecordedTrial { cell: 1, outcome: Err(lost), raw: None },
                ],
            ),
            round(
                Purpose::Imitation,
                vec![RecordedTrial { cell: 0, outcome: Ok(visit(0)), raw: Some(Box::new(raw)) }],
            ),
        ],
        ..Commit::default()
    }
}

fn decision(key: &str, value: &str) -> Decision {
    Decision { key: key.into(), value: value.into() }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
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
    let folder = tempfile::tempdir().unwrap();
    let writer = sample("0193-a").create(folder.path());
    let names = |query: &str| -> Vec<String> {
        let mut rows = writer.db.prepare(query).unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    names("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .iter()
        .for_each(|name| assert_documented(format!("**{name}**")));
    names("SELECT key FROM settings").iter().for_each(|key| assert_documented(format!("`{key}`")));
    let schema: serde_json::Value = serde_json::from_str(&read("schema/coretalk.run.v1.json")).unwrap();
    for key in names("SELECT key FROM environment WHERE key NOT IN ('tool-version', 'cpu-use')") {
        let (part, name) =
            key.strip_prefix("clock-").map_or(("Environment", key.as_str()), |name| ("Clock", name));
        let field = format!("/$defs/{part}Doc/properties/{}", name.replace('-', "_"));
        assert!(schema.pointer(&field).is_some(), "{key} is not {field}");
    }
}
