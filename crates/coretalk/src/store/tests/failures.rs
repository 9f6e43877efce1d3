//! Damaged files and unwritable places: one sentence and one class each. After a kill at any moment, a run file opens
//! and holds every commit.

use super::*;
use crate::store::FailureClass;
use coretalk_model::series::{Parameters, PassOutcome, SeriesEntry, SeriesSettings, TrialSpec};
use proptest::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let (_folder, mut writer) = new_file();
        (0..6).for_each(|number| writer.commit(&slot(number)).unwrap());
        writer.decide(&decision("hint", "1")).unwrap();
        std::fs::read(writer.close().unwrap()).unwrap()
    })
}

fn file_with(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("0193-a.coretalk");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read_all(path: &Path) -> Result<Vec<RecordedRound>, StoreError> {
    let file = RunFile::open(path)?;
    file.header()?;
    file.findings()?;
    file.segments()?;
    file.tags()?;
    let rounds = read_rounds(&file)?;
    file.report()?;
    Ok(rounds)
}

/// The bytes of a run file with other bytes at an offset.
fn replaced(offset: usize, with: [u8; 4]) -> Vec<u8> {
    let mut changed = bytes().to_vec();
    changed[offset..offset + 4].copy_from_slice(&with);
    changed
}

#[test]
fn unreadable_files_are_distinguished_and_left_alone() {
    let newer = "schema version 77, but this coretalk reads up to 4";
    for (file, word) in [
        (&replaced(60, 77u32.to_be_bytes())[..], newer),
        (&replaced(60, [0; 4]), "an empty run file"),
        (&replaced(68, *b"Fire"), "another program"),
        (b"", "empty"),
        (b"0,12.5,13\n", "not an SQLite file"),
        (&[0xFF; 9000], "not an SQLite file"),
        (&bytes()[..60], "truncated"),
        (&bytes()[..bytes().len() / 2], "truncated"),
        (&bytes()[..bytes().len() - 1], "truncated"),
    ] {
        let folder = tempdir().unwrap();
        let path = file_with(folder.path(), file);
        let error = read_all(&path).unwrap_err();
        let class = if word == newer { FailureClass::Store } else { FailureClass::Input };
        assert_eq!(error.class(), class, "{error}");
        let text = error.to_string();
        assert!(text.contains(word) && text.contains("0193-a.coretalk") && !text.contains('\n'), "{text}");
        assert_eq!(names(folder.path()), ["0193-a.coretalk"], "{word}");
        assert_eq!(std::fs::read(&path).unwrap(), file, "{word}");
    }
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = tempdir().unwrap();
    let missing = RunFile::open(&folder.path().join("none.coretalk"));
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
    let directory = RunFile::open(folder.path());
    assert!(matches!(directory, Err(StoreError::Foreign { .. })), "{directory:?}");
}

#[test]
fn rows_that_contradict_the_run_are_damage() {
    let cpus = serde_json::Value::from((0..100_000).collect::<Vec<u32>>());
    let billions_of_pairs = format!("UPDATE settings SET value = '{cpus}' WHERE key = 'cpus'");
    for (change, word) in [
        (&*billions_of_pairs, "damaged"),
        ("UPDATE settings SET value = '[0,1,2,3]' WHERE key = 'cpus'", "numbered its pairs differently"),
        ("UPDATE rounds SET pass = pass + 1", "checksum"),
        ("UPDATE rounds SET purpose = 99 WHERE round = 1", "purpose"),
        ("UPDATE rounds SET trials = 'text'", "damaged"),
        ("UPDATE raw SET recordings = x'00'", "too early"),
        ("UPDATE shapes SET spans = replace(spans, 'cas', 'csa')", "checksum"),
        ("DELETE FROM shapes WHERE shape = 0", "shape"),
        ("DELETE FROM run", "damaged"),
        ("DROP TABLE raw", "raw"),
        ("DROP TABLE tags; CREATE VIEW tags AS SELECT 1", "tags"),
        ("CREATE TRIGGER kept AFTER INSERT ON tags BEGIN DELETE FROM rounds; END", "the trigger `kept`"),
        ("CREATE VIEW more AS SELECT * FROM rounds", "the view `more`"),
        ("CREATE INDEX fast ON rounds (hex(zeroblob(pass)))", "the index `fast`"),
        ("CREATE VIRTUAL TABLE words USING fts5(word)", "the table `words"),
        (
            "DROP TABLE tags; CREATE TABLE tags (tag TEXT PRIMARY KEY, created TEXT GENERATED ALWAYS AS \
             (instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || '1')) VIRTUAL) WITHOUT ROWID",
            "table `tags` is not defined as in a run file",
        ),
        ("DROP VIEW progress", "its view `progress` is missing"),
        ("ANALYZE", "the table `sqlite_stat1`"),
        ("UPDATE run SET seed = 'x'", "damaged"),
        ("UPDATE settings SET value = '\"cass\"' WHERE key = 'hint'", "damaged"),
        ("UPDATE settings SET value = '[[0,1' WHERE key = 'pairs'", "damaged"),
        ("DELETE FROM settings WHERE key = 'precision'", "precision"),
        ("UPDATE settings SET value = '-1' WHERE key = 'precision'", "the precision is -1"),
        ("UPDATE segments SET clock_hz = -5", "no counter runs at -5 Hz"),
        ("UPDATE segments SET clock_hz = 1e400", "no counter runs at inf Hz"),
        ("UPDATE segments SET step_ns = 1e400", "no counter has steps of inf ns"),
        ("UPDATE environment SET value = '0' WHERE key = 'clock-hz'", "the clock rate in Hz is 0"),
        ("UPDATE settings SET value = '0.0' WHERE key = 'rate-per-s'", "the rate of messages in 1/s is 0"),
        ("UPDATE settings SET value = '[0,4294967295]' WHERE key = 'cpus'", "4294967295"),
        ("UPDATE settings SET value = '[0,0]' WHERE key = 'cpus'", "CPU 0 takes part twice"),
        ("UPDATE run SET started = '2026-13-02T03:04:05Z'", "02T03:04:05Z` is not a time in RFC 3339"),
        ("INSERT INTO environment VALUES ('clock-cost-ns', '-1')", "the cost of a clock reading in ns is -1"),
        ("INSERT INTO environment VALUES ('clock-hint-ns', '1e300')", "a wait hint in ns is 1000"),
        ("UPDATE run SET command = '[\"a\"'", "the column `command`: EOF while parsing"),
        ("UPDATE run SET simulated = 'x'", "the column `simulated` has a value of type Text"),
        ("UPDATE run SET command = x'00ff'", "the column `command` has a value of type Blob"),
        ("UPDATE environment SET value = '{' WHERE key = 'isolated'", "environment `isolated`: EOF"),
        ("UPDATE rounds SET started = -1", "-1 ps is no time of a run"),
        ("UPDATE cpus SET cpu = 4000000000 WHERE cpu = 3", "4000000000"),
        ("UPDATE domains SET cpus = '0-4294967295'", "damaged"),
        ("UPDATE domains SET cpus = hex(zeroblob(9000)) || 'x'", "0000…"),
        ("UPDATE settings SET value = '\"' || hex(zeroblob(9000)) || '\"' WHERE key = 'hint'", "0000…"),
        (
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
             INSERT INTO domains (level, cpus) SELECT 'l3', '0-1048575' FROM n",
            "more CPUs than those of any machine",
        ),
    ] {
        let folder = tempdir().unwrap();
        let path = file_with(folder.path(), bytes());
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let error = read_all(&path).unwrap_err();
        let row = &change[..change.len().min(99)];
        assert_eq!(error.class(), FailureClass::Input, "{row}: {error}");
        let text = error.to_string();
        let is_short = text.len() < 400 && !text.contains("at index");
        assert!(text.contains(word) && is_short, "{row}: {text}");
    }
}

#[test]
fn impossible_passes_are_damage() {
    type Change = fn(&mut SeriesEntry, &mut PassOutcome);
    let changes: [(Change, &str); 8] = [
        (|_, _| {}, ""),
        (|_, pass| pass.observed.count("passes_kept", 1 << 53), "passes_kept is 9007199254740992"),
        (|_, pass| pass.observed.count("messages", u64::MAX), "how often something happened"),
        (|_, pass| pass.observed.value("messages_per_s", 1e300), "a value is 1000"),
        (|_, pass| pass.steal_ms = Some(f32::MAX), "a value is 3402"),
        (|_, pass| pass.started = Picos(u64::MAX), "-1 ps is no time of a run"),
        (|_, pass| pass.observed.histogram("trip", overflowing()), "the count of a value"),
        (|entry, _| entry.trial = 7, "trial 7 is not among the 1 of the run"),
    ];
    fn overflowing() -> Histogram {
        let mut trips = Histogram::new();
        trips.record(5, u64::MAX);
        trips
    }
    let cpus = vec![CpuId(0), CpuId(1)];
    let series = SeriesSettings {
        probes: vec!["queue".into()],
        cpus: cpus.clone(),
        trials: vec![TrialSpec { probe: "queue".into(), parameters: Parameters::default(), placement: cpus }],
        precision: 0.02,
        ..SeriesSettings::default()
    };
    for (change, word) in changes {
        let mut pass = PassOutcome::default();
        pass.observed.count("passes_kept", 1);
        let mut entry = SeriesEntry { segment: 0, pass: 0, trial: 0, outcome: Ok(pass.clone()) };
        change(&mut entry, &mut pass);
        entry.outcome = Ok(pass);
        let folder = tempdir().unwrap();
        let sample = sample("0193-a");
        let settings = RunSettings { series: Some(&series), ..RunSettings::default() };
        let run = NewRun { settings, ..sample.new_run() };
        let mut writer = RunWriter::create(folder.path(), &run).unwrap();
        writer.commit(&Commit { passes: vec![entry], ..Commit::default() }).unwrap();
        let file = RunFile::open(writer.path()).unwrap();
        let read = file.series_record(&file.series_settings().unwrap().unwrap());
        match read {
            Ok(record) => assert!(word.is_empty() && record.passes(0).len() == 1, "{word} was taken"),
            Err(error) => {
                assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
                assert!(!word.is_empty() && error.to_string().contains(word), "{word}: {error}");
            }
        }
        let db = rusqlite::Connection::open(writer.path()).unwrap();
        db.execute("UPDATE series_settings SET value = '[0]' WHERE key = 'cpus'", ()).unwrap();
        let error = RunFile::open(writer.path()).unwrap().series_settings().unwrap_err();
        assert!(error.to_string().contains("CPU 1 is not among the CPUs of the run"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn flipped_bits_never_invent_a_round(flips in proptest::collection::vec(any::<(proptest::sample::Index, u8)>(), 1..4)) {
        let mut damaged = bytes().to_vec();
        for (at, bit) in flips {
            let at = at.index(damaged.len());
            damaged[at] ^= 1 << (bit % 8);
        }
        let folder = tempdir().unwrap();
        let mut known = rounds_of(0..6);
        // A lost page of `raw` removes ticks; the visit without them is still correct.
        for mut bare in known.clone() {
            bare.trials.iter_mut().for_each(|trial| trial.raw = None);
            known.push(bare);
        }
        for round in read_all(&file_with(folder.path(), &damaged)).unwrap_or_default() {
            prop_assert!(known.contains(&round), "{:?}", round);
        }
    }

    #[test]
    fn damaged_files_are_errors_without_panic(cut: proptest::sample::Index, noise in proptest::collection::vec(any::<u8>(), 0..600)) {
        let folder = tempdir().unwrap();
        let cut = cut.index(bytes().len());
        let mut damaged = bytes().to_vec();
        let end = (cut + noise.len()).min(damaged.len());
        damaged[cut..end].copy_from_slice(&noise[..end - cut]);
        let _ = read_all(&file_with(folder.path(), &damaged));
        prop_assert!(read_all(&file_with(folder.path(), &bytes()[..cut])).is_err());
    }
}

/// Commits slots from the first number on until the disk is full; returns the number of the refused slot.
fn fill_disk(writer: &mut RunWriter, first: u32) -> u32 {
    for number in first..100_000 {
        if let Err(error) = writer.commit(&slot(number)) {
            let source = store_error(&error);
            assert!(
                matches!(source, StoreError::Full { .. }) && source.to_string().contains("--store"),
                "{source}"
            );
            return number;
        }
    }
    panic!("the disk is never full")
}

#[test]
fn a_full_disk_keeps_earlier_commits_and_states_a_remedy() {
    let (_folder, mut writer) = new_file();
    writer.commit(&slot(0)).unwrap();
    let pages: u32 = writer.db.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    writer.db.execute_batch(&format!("PRAGMA max_page_count = {}", pages + 2)).unwrap();
    let kept = fill_disk(&mut writer, 1);
    assert!(kept > 1);
    assert_eq!(read_all(&writer.close().unwrap()).unwrap().len(), kept as usize * 2);
}

#[test]
fn a_file_system_without_room_refuses_a_new_run_and_keeps_an_old_one() {
    let Some(small) = Mounted::tmpfs("size=256k") else { return };
    let mut writer = sample("0193-a").create(&small.0);
    let kept = fill_disk(&mut writer, 0);
    assert_eq!(read_all(&writer.close().unwrap()).unwrap().len(), kept as usize * 2);
    let error = RunWriter::create(&small.0, &sample("0193-b").new_run()).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(names(&small.0), ["0193-a.coretalk"]);
}

#[test]
fn a_read_only_place_refuses_new_runs_and_shows_old_ones() {
    let Some(folder) = Mounted::tmpfs("size=1m") else { return };
    let mut writer = sample("0193-a").create(&folder.0);
    writer.commit(&slot(0)).unwrap();
    let path = writer.close().unwrap();
    if !mount(&["-o", "remount,ro"], &folder.0) {
        return;
    }
    assert_eq!(read_all(&path).unwrap(), slot(0).rounds);
    for error in [
        RunWriter::create(&folder.0, &sample("0193-b").new_run()).unwrap_err(),
        RunFile::open(&path).unwrap().tag("again").unwrap_err(),
    ] {
        assert_eq!(error.class(), FailureClass::Store);
        assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
    }
}

#[test]
fn a_half_written_commit_is_rolled_back_if_possible() {
    let folder = tempdir().unwrap();
    let path = file_with(folder.path(), bytes());
    let db = rusqlite::Connection::open(&path).unwrap();
    // A cache of one page forces the unfinished transaction into the file, as in a crash between two writes.
    db.execute_batch(
        "PRAGMA cache_size = 1; BEGIN; UPDATE rounds SET pass = 9; UPDATE environment SET value = value || ' ';
         DELETE FROM raw; UPDATE decisions SET value = hex(zeroblob(9000));",
    )
    .unwrap();
    let journal = crate::store::run_file::journal(&path);
    let copy_to = |folder: &Path| {
        std::fs::copy(&path, folder.join("0193-a.coretalk")).unwrap();
        std::fs::copy(&journal, folder.join("0193-a.coretalk-journal")).unwrap();
        folder.join("0193-a.coretalk")
    };
    let after_crash = tempdir().unwrap();
    let copy = copy_to(after_crash.path());
    assert_ne!(std::fs::read(&copy).unwrap(), bytes(), "the crash is not in the copy");
    assert_eq!(read_all(&copy).unwrap(), rounds_of(0..6));
    assert_eq!(names(after_crash.path()), ["0193-a.coretalk"]);

    let Some(read_only) = Mounted::tmpfs("size=1m") else { return };
    let copy = copy_to(&read_only.0);
    if mount(&["-o", "remount,ro"], &read_only.0) {
        let error = read_all(&copy).unwrap_err();
        assert!(matches!(error, StoreError::NeedsRollback { .. }), "{error}");
        assert_eq!(error.class(), FailureClass::Store);
    }
}

#[test]
fn a_store_under_a_file_is_an_error_of_the_store() {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let error = RunWriter::create(&folder.path().join("runs"), &sample("0193-a").new_run()).unwrap_err();
    assert_eq!(error.class(), FailureClass::Store, "{error}");
}

/// A small file system of its own, if the tests may mount one.
struct Mounted(PathBuf, #[expect(dead_code, reason = "removes the folder in the end")] TempDir);

impl Mounted {
    fn tmpfs(options: &str) -> Option<Mounted> {
        let folder = tempdir().unwrap();
        if mount(&["-t", "tmpfs", "-o", options, "tmpfs"], folder.path()) {
            return Some(Mounted(folder.path().to_owned(), folder));
        }
        println!("skipped: this test may not mount a small file system");
        None
    }
}

fn mount(options: &[&str], folder: &Path) -> bool {
    let status = Command::new("mount").args(options).arg(folder).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Folder that the child writes to; set for the child only.
const PLACE: &str = "CORETALK_TEST_KILL_PLACE";
const CHILD: &str = "store::tests::failures::the_child_commits_until_it_is_killed";

#[test]
fn the_child_commits_until_it_is_killed() {
    let Some(folder) = std::env::var_os(PLACE) else { return };
    let mut writer = sample("0193-a").create(Path::new(&folder));
    for number in 0..100_000 {
        writer.commit(&slot(number)).unwrap();
        println!("\nkept {number}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn every_slot_that_was_said_to_be_kept_is_there_after_a_kill() {
    // Number of commits to wait for, and the delay after them: from before the file exists to the middle of a commit.
    let slots = [0, 0, 0, 0, 1, 1, 2, 3, 5, 8, 13, 21];
    let delays_us = [0, 5_000, 12_000, 20_000, 0, 700, 1_900, 150, 400, 1_100, 2_600, 90];
    for (slots, delay_us) in slots.into_iter().zip(delays_us) {
        let folder = tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--nocapture"])
            .env(PLACE, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let waited_for = lines.by_ref().filter(|line| line.starts_with("kept")).take(slots).count();
        std::thread::sleep(Duration::from_micros(delay_us));
        child.kill().unwrap();
        child.wait().unwrap();
        let reported = waited_for + lines.filter(|line| line.starts_with("kept")).count();
        assert!(reported >= slots);

        let path = folder.path().join("0193-a.coretalk");
        if !path.exists() {
            assert_eq!(reported, 0, "killed {delay_us} µs after slot {slots}");
            continue;
        }
        let rounds = read_rounds(&RunFile::open(&path).unwrap()).unwrap();
        let kept = rounds.len() / 2;
        assert!(kept >= reported, "{reported} slots were reported, {kept} are there");
        assert_eq!(rounds, rounds_of(0..kept as u32), "killed {delay_us} µs after slot {slots}");
    }
}
