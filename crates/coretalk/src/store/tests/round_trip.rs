//! Everything that is written reads back unchanged.

use super::*;
use crate::store::VERSION;
use coretalk_model::latency::{CellValue, LatencyMap, LatencyResult, MissingReason, PairOutcome, Regime};
use coretalk_model::stats::Estimate;
use coretalk_model::{CommandEnd, CommandReason, OrNan};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[test]
fn a_run_without_rounds_is_whole() {
    let folder = tempdir().unwrap();
    let sample = sample("0193-a");
    let writer = sample.create(folder.path());
    let file = RunFile::open(writer.path()).unwrap();
    assert_eq!(file.header().unwrap(), sample.header);
    assert_eq!(file.environment().unwrap(), sample.environment);
    assert_eq!(file.findings().unwrap(), sample.findings);
    assert_eq!(file.topology().unwrap(), sample.topology);
    assert_eq!(file.settings().unwrap(), Some(sample.settings));
    assert_eq!(file.allowed().unwrap(), sample.allowed);
    assert_eq!(file.rounds().unwrap(), 0);
    assert!(file.record().unwrap().is_empty());
    assert_eq!(file.segments().unwrap()[0].ended, None);
    let path = writer.close().unwrap();
    assert_eq!(names(folder.path()), ["0193-a.coretalk"], "beside {}", path.display());
}

/// Other programs and later versions of this one read these keys and values.
#[test]
fn names_of_stored_settings_are_frozen() {
    let (_folder, writer) = new_file();
    assert_eq!(
        texts(&writer.db, "SELECT key || ' ' || value FROM settings ORDER BY key"),
        [
            "budget-ps 1500000000000",
            "counts {\"fixed\":{\"iterations\":1000,\"samples\":300}}",
            "cpus [0,2,1,3]",
            "hint \"pause\"",
            "home {\"node\":1}",
            "imitate [\"c2clat-w\"]",
            "keep-raw true",
            "ladder true",
            "looks 5",
            "pairs \"all\"",
            "parallel {\"at-most\":3}",
            "precision 0.30000000000000004",
            "protocols [\"cas\",\"one-way\"]",
            "rate-per-s 1000000.0",
            "seed \"18446744073709551615\"",
            "spacing \"watch\"",
        ]
    );
}

#[test]
fn facts_beyond_groups_are_kept_and_unknown_in_older_files() {
    let folder = tempdir().unwrap();
    let mut sample = sample("0193-a");
    let l2 = topology::Domain { level: Level::L2, cpus: "0-1".parse().unwrap(), os_id: None };
    let domains = sample.topology.domains().iter().cloned().chain([l2]).collect();
    let memory = |number, memory_bytes, distances| topology::MemoryNode { number, memory_bytes, distances };
    let die = topology::Same::Level(Level::Package);
    let (node, cluster) = (topology::Same::Machine, topology::Same::Several);
    let groups = ["0", "1"].map(|cpus| cpus.parse().unwrap()).to_vec();
    let other_facts = topology::OtherFacts {
        same: [(Level::Die, die), (Level::Node, node), (Level::Cluster, cluster)].into(),
        memory_nodes: vec![memory(4, Some(1 << 40), vec![(0, 14), (1, 24)]), memory(7, None, vec![])],
        caches: vec![topology::CacheSize { name: "L1d".into(), bytes: 48 << 10, groups }],
    };
    sample.topology =
        Topology::new(sample.topology.cpus().clone(), domains, Default::default()).with(Some(other_facts));
    let writer = sample.create(folder.path());
    assert_eq!(RunFile::open(writer.path()).unwrap().topology().unwrap(), sample.topology);
    // The state of a file of schema 3 after its migration.
    writer.db.execute("DELETE FROM beside", []).unwrap();
    let older = RunFile::open(writer.path()).unwrap().topology().unwrap();
    assert_eq!((older.other_facts(), older.unreported()), (None, None));
    assert_eq!(older.domains(), sample.topology.domains());
}

#[test]
fn commits_and_decisions_read_back_in_order_with_their_raw_ticks() {
    let (_folder, mut writer) = new_file();
    (0..5).for_each(|number| writer.commit(&slot(number)).unwrap());
    writer.decide(&decision("hint", "\"none\"")).unwrap();
    writer.decide(&decision("hint", "\"pause\"")).unwrap();
    let file = RunFile::open(writer.path()).unwrap();
    assert_eq!(read_rounds(&file).unwrap(), rounds_of(0..5));
    file.each_round(RawTicks::All, |segment, _| assert_eq!(segment, 0)).unwrap();
    assert_eq!(file.record().unwrap().decision("hint"), Some("\"pause\""));
    let without_ticks = |segment, round: RecordedRound| {
        assert!(segment == 0 && round.trials.iter().all(|trial| trial.raw.is_none()));
    };
    file.each_round(RawTicks::Leave, without_ticks).unwrap();
}

#[test]
fn finishing_fills_the_tables_for_people_and_leaves_no_journal() {
    let (folder, mut writer) = new_file();
    writer.commit(&slot(0)).unwrap();
    assert!(names(folder.path()).contains(&"0193-a.coretalk-journal".to_owned()), "the mode is TRUNCATE");
    writer.finish(&result()).unwrap();
    assert_eq!(names(folder.path()), ["0193-a.coretalk"]);
    let file = RunFile::open(writer.path()).unwrap();
    assert!(file.header().unwrap().complete);
    assert_eq!(file.segments().unwrap()[0].ended.as_deref(), Some("complete"));
    let columns = "concat_ws(' ', from_cpu, to_cpu, median_ns, line_spread, flags, reason)";
    assert_eq!(
        texts(&file.db, &format!("SELECT {columns} FROM matrix_cas")),
        ["0 4 22.5 1.1 freq,asym", "0 2 CPU 2 refused the pin", "4 2 CPU 2 refused the pin"],
        "what is unknown is NULL"
    );
}

fn result() -> LatencyResult {
    let latency_ns = Estimate { point: 22.5, low: 22.0, high: 23.0, confidence: 0.95, effective_n: 8.0 };
    let value = CellValue {
        latency_ns,
        cycles: OrNan::NONE,
        core_ghz: OrNan::NONE,
        min_ns: 21.0,
        batches: 1536,
        dropped: 2,
        passes: 8,
        home: Home(0),
        home_penalty: OrNan::NONE,
        line_spread: Some(1.1).into(),
        cas_ns: OrNan::NONE,
        grade: Grade::B,
        flags: Flags::NONE.with(Flag::Asym).with(Flag::Freq),
        rare: None,
    };
    let reason = MissingReason::Failed(TrialFailure::from_reason("CPU 2 refused the pin"));
    let cells = Matrix::symmetric(vec![CpuId(0), CpuId(4), CpuId(2)], |row, _| match row {
        1 => PairOutcome::Measured(value.clone()),
        _ => PairOutcome::Missing { reason: reason.clone() },
    });
    let map = LatencyMap {
        protocol: Protocol::Cas,
        kernel: KernelId::new(Protocol::Cas, Hint::Pause),
        hint: Hint::Pause,
        hint_reason: "asked".into(),
        regime: Regime::Serial,
        cells,
    };
    LatencyResult { maps: vec![map], complete: true, ..LatencyResult::default() }
}

#[test]
fn a_run_kept_elsewhere_is_moved_at_the_end_with_a_notice() {
    let folder = tempdir().unwrap();
    let sample = sample(&format!("0193-apart-{}", std::process::id()));
    let mut writer = RunWriter::create_apart(folder.path(), &sample.new_run()).unwrap();
    assert!(writer.notice().unwrap().contains("refuses locks"));
    writer.commit(&slot(3)).unwrap();
    assert!(names(folder.path()).is_empty());
    let local = writer.notice().unwrap();
    let path = writer.close().unwrap();
    assert_eq!(path.parent(), Some(folder.path()));
    assert_eq!(names(folder.path()), [format!("{}.coretalk", sample.header.id)]);
    assert_eq!(RunFile::open(&path).unwrap().rounds().unwrap(), 2);
    let local_folder = std::env::temp_dir().join(format!("coretalk-{}", sample.header.id));
    assert!(!local_folder.exists(), "{local}");
}

#[test]
fn incomplete_files_of_a_crash_are_removed_after_an_hour() {
    let folder = tempdir().unwrap();
    let make = |name: &str, age_s| {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age_s)).unwrap();
    };
    make(".0192-x.coretalk-new", 4000);
    make(".0192-x.coretalk-new-journal", 4000);
    make(".0192-y.coretalk-new", 60);
    make(".other", 4000);
    sample("0193-a").create(folder.path()).close().unwrap();
    assert_eq!(names(folder.path()), [".0192-y.coretalk-new", ".other", "0193-a.coretalk"]);
}

fn a_kernel() -> impl Strategy<Value = KernelId> {
    prop_oneof!["cas", "cas\\+pause", "as:c2clat", "[ -~]{0,12}"].prop_map(|name| KernelId(name.into()))
}

const LATENCY_NS: Range<f32> = 0.0..1e11;
const CLOCK_GHZ: Range<f32> = 0.0..100.0;
fn a_time() -> impl Strategy<Value = Picos> {
    (0u64..1 << 62).prop_map(Picos)
}

fn a_cpu() -> impl Strategy<Value = CpuId> {
    (0..=cpu::MAX_CPU).prop_map(CpuId)
}

fn a_visit() -> impl Strategy<Value = Visit> {
    let home = any::<u32>().prop_map(Home);
    let more = (option::of(LATENCY_NS), option::of(0f32..f32::MAX));
    let span = (a_kernel(), home, [LATENCY_NS, LATENCY_NS], more, any::<[u32; 2]>()).prop_map(
        |(kernel, home, [location_ns, floor_ns], (line_error_ns, line_spread), [kept, dropped])| {
            SpanSummary { kernel, home, location_ns, line_error_ns, floor_ns, line_spread, kept, dropped }
        },
    );
    let flags = any::<u32>().prop_map(Flags);
    (a_time(), option::of(CLOCK_GHZ), flags, vec(span, 0..4))
        .prop_map(|(started, core_ghz, flags, spans)| Visit { cell: 0, started, core_ghz, flags, spans })
}

fn a_failure() -> impl Strategy<Value = TrialFailure> {
    let end = option::of(prop_oneof![
        any::<i32>().prop_map(CommandEnd::Status),
        any::<i32>().prop_map(CommandEnd::Signal)
    ]);
    let [stdout, stderr] = ["", "né"].map(String::from);
    prop_oneof![
        (a_cpu(), any::<i32>()).prop_map(|(cpu, errno)| TrialFailure::NotPinned { cpu, errno }),
        a_cpu().prop_map(|cpu| TrialFailure::CpuLost { cpu }),
        a_time().prop_map(|limit| TrialFailure::TimedOut { limit }),
        a_cpu().prop_map(|cpu| TrialFailure::PartnerLost { cpu }),
        any::<[u64; 2]>().prop_map(|[sent, received]| TrialFailure::Unverified { sent, received }),
        Just(TrialFailure::Interrupted),
        Just(TrialFailure::Damaged),
        any::<i32>().prop_map(|errno| TrialFailure::NoResources { errno }),
        (a_reason(), end, Just(stdout), Just(stderr)).prop_map(|(reason, end, stdout, stderr)| {
            TrialFailure::Command { reason, end, stdout, stderr }
        }),
    ]
}

fn a_reason() -> impl Strategy<Value = CommandReason> {
    prop_oneof![
        Just(CommandReason::Other("ended with 1".into())),
        ("[a-z _]{1,9}", prop_oneof![Just(0), any::<u64>()])
            .prop_map(|(metric, dropped_bytes)| CommandReason::NoNumber { metric, dropped_bytes }),
    ]
}

fn a_recording() -> impl Strategy<Value = Recording> {
    let ticks = || vec(prop_oneof![5 => 1400u32..1700, 1 => any::<u32>()], 0..40);
    let samples = prop_oneof![
        (0u32..6, ticks()).prop_map(|(visits, ticks)| Samples::Batches { visits, ticks }),
        ticks().prop_map(|ticks| Samples::Events { ticks }),
        vec((0u64..1 << 62, 0u64..1 << 50), 0..6).prop_map(|counts| Samples::Counts { counts }),
    ];
    let span = (a_kernel(), (0u32..4).prop_map(Home), any::<u32>(), samples)
        .prop_map(|(kernel, home, round_trips, samples)| Span { kernel, home, round_trips, samples });
    let clocks = vec(option::of([CLOCK_GHZ, CLOCK_GHZ]), 0..3);
    let stolen = option::of(-1e9f32..1e9);
    let disturbance =
        (any::<[Option<u32>; 2]>(), stolen, any::<[bool; 7]>()).prop_map(|(switches, steal_ms, is)| {
            Disturbance {
                involuntary_switches: switches[0],
                voluntary_switches: switches[1],
                steal_ms,
                migrated: is[0],
                coordinator_shared: is[1],
                sibling_busy: is[2],
                throttled: is[3],
                quota: is[4],
                others_busy: is[5],
                lines_elsewhere: is[6],
            }
        });
    ([a_time(), a_time()], vec(span, 0..4), clocks, disturbance).prop_map(
        |([started, elapsed], spans, core_ghz, disturbance)| Recording {
            started,
            elapsed,
            spans,
            core_ghz,
            disturbance,
        },
    )
}

fn a_round() -> impl Strategy<Value = RecordedRound> {
    let trial = (0u32..6, proptest::result::maybe_ok(a_visit(), a_failure()), option::of(a_recording()))
        .prop_map(|(cell, outcome, raw)| RecordedTrial {
            cell,
            outcome: outcome.map(|visit| Visit { cell, ..visit }),
            raw: raw.map(Box::new),
        });
    let purpose = proptest::sample::select(&Purpose::ALL[..]);
    (purpose, any::<u32>(), [a_time(), a_time()], vec(trial, 0..5)).prop_map(
        |(purpose, pass, [started, elapsed], trials)| RecordedRound {
            purpose,
            pass,
            started,
            elapsed,
            trials,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rounds_of_a_session_read_back_bit_for_bit(
        commits in vec(vec(a_round(), 0..4), 1..4),
    ) {
        let (_folder, mut writer) = new_file();
        for rounds in &commits {
            writer.commit(&Commit { rounds: rounds.clone(), ..Commit::default() }).unwrap();
        }
        prop_assert_eq!(read_rounds(&RunFile::open(writer.path()).unwrap()).unwrap(), commits.concat());
    }
}

/// Small files as each earlier version wrote them.
#[test]
fn a_file_of_every_earlier_version_is_read_and_migrated() {
    for version in 1..VERSION {
        let old = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("crates/coretalk/src/store/tests/versions/{version}.sqlite"));
        let folder = tempdir().unwrap();
        let copy = folder.path().join("old.coretalk");
        std::fs::write(&copy, std::fs::read(old).unwrap()).unwrap();
        for opening in ["migrates", "finds the newest"] {
            let file = RunFile::open(&copy).unwrap_or_else(|error| panic!("{opening}: {error}"));
            assert_eq!(file.header().unwrap().tags, [format!("of-version-{version}")]);
            assert_eq!(file.db.query_row("PRAGMA user_version", [], |row| row.get(0)), Ok(VERSION));
            let rounds = read_rounds(&file).unwrap();
            let trials: Vec<_> = rounds.iter().flat_map(|round| &round.trials).collect();
            assert_eq!(trials.len(), if version < 3 { 1 } else { 8 }, "of version {version}");
            assert!(trials.iter().all(|trial| trial.outcome.is_ok()));
            assert_eq!(file.report().unwrap().topology.cpus().len(), 32);
        }
    }
}
