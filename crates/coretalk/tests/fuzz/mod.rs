//! Generated inputs with changed meaning, not only changed bytes, each a function of its seed. No input causes a panic
//! or an overflow; output size and work are bounded by the input size. Plain `cargo test` reads [`FEW`] seeds,
//! `CORETALK_TEST_ACCEPTANCE=1` reads [`MANY`], and `CORETALK_TEST_SEEDS=5000..9000` reads the given ones.

mod random;
mod runs;
mod texts;

use crate::cli::tool::{Tool, limited};
use crate::counting::Allocated;
use random::Random;
use std::collections::BTreeSet;
use std::error::Error;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const FEW: u64 = 100;
const MANY: u64 = 2_000;

/// Maximum output for an empty input in bytes: the frame of screens and documents.
const FIXED: usize = 128 << 10;
/// Maximum output per input byte in bytes: a matrix cell may have two bytes, and becomes an object of a document.
const PER_BYTE: usize = 200;
/// Maximum work per input byte in allocated bytes, freed or not, so that discarded rows count like kept ones. The
/// largest value was 1,019, for a run. Work is deterministic; allocations of SQLite are not counted.
const WORK_PER_BYTE: u64 = 1_500;
/// Bytes that each allocation counts in addition to its size.
const BYTES_PER_CALL: u64 = 64;
/// Maximum data of a command without its input file, in KiB.
const FIXED_KIB: usize = 64 << 10;
/// Maximum data of a command per byte of its input file, in bytes.
const DATA_PER_BYTE: usize = 100;
/// Time limit, after which an input counts as endless. The slowest takes half a second.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Size of the output in bytes, or the error that refuses the input.
type Output = Result<usize, Box<dyn Error>>;

struct Subject {
    name: &'static str,
    /// Inputs per seed; texts take microseconds.
    inputs: u64,
    /// Maximum work for an empty input in MiB: about twice the largest of 2,000 seeds. It is large where a few
    /// words can name a million CPUs.
    fixed_work: u64,
    make: fn(&mut Random) -> Vec<u8>,
    /// Reads and shows the input.
    read: fn(&Path, &[u8]) -> Output,
    /// Command that reads such a file, if any.
    command: &'static [&'static str],
}

const fn run(command: &'static [&'static str]) -> Subject {
    Subject { inputs: 1, ..text("run", 4, runs::make, runs::read, command) }
}

const fn text(
    name: &'static str,
    fixed_work: u64,
    make: fn(&mut Random) -> Vec<u8>,
    read: fn(&Path, &[u8]) -> Output,
    command: &'static [&'static str],
) -> Subject {
    Subject { name, inputs: 16, fixed_work, make, read, command }
}

/// A seed selects one of these by its remainder, so a few consecutive seeds cover all kinds.
const SUBJECTS: [Subject; 8] = [
    run(&["runs", "show"]),
    text("matrix", 150, texts::matrix, texts::read_matrix, &["lint"]),
    text("hlog", 1, texts::hlog, texts::read_spectrum, &["view"]),
    text("hwloc", 80, texts::hwloc, texts::read_topology, &["topology", "--from"]),
    run(&["export", "--format", "json"]),
    text("scenario", 8, texts::scenario, texts::read_scenario, &[]),
    text("hgrm", 1, texts::hgrm, texts::read_spectrum, &["view"]),
    text("adapter", 1, texts::adapter, texts::read_adapter, &[]),
];

fn seeds() -> Range<u64> {
    match std::env::var("CORETALK_TEST_SEEDS") {
        Ok(range) => {
            let (from, to) = range.split_once("..").expect("CORETALK_TEST_SEEDS is not FROM..TO");
            from.parse().unwrap()..to.parse().unwrap()
        }
        Err(_) if std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some() => 0..MANY,
        Err(_) => 0..FEW,
    }
}

fn subject(seed: u64) -> &'static Subject {
    &SUBJECTS[seed as usize % SUBJECTS.len()]
}

fn input(seed: u64, number: u64) -> Vec<u8> {
    (subject(seed).make)(&mut Random::from_seed(seed << 8 | number))
}

fn faults(seed: u64, path: &Path) -> Vec<String> {
    let Subject { name, inputs, read, fixed_work, .. } = subject(seed);
    let fault = |number: u64| {
        let bytes = input(seed, number);
        let before = Allocated::by_this_thread();
        let size = || read(path, &bytes).unwrap_or_else(|error| error.to_string().len());
        let read = catch_unwind(AssertUnwindSafe(size));
        let after = Allocated::by_this_thread();
        let work = after.bytes - before.bytes + BYTES_PER_CALL * (after.calls - before.calls);
        let why = match read {
            Err(_) => "a panic".to_owned(),
            Ok(_) if work > (fixed_work << 20) + WORK_PER_BYTE * bytes.len() as u64 => {
                format!("{work} bytes allocated")
            }
            Ok(out) if out > FIXED + PER_BYTE * bytes.len() => format!("{out} bytes of output"),
            Ok(_) => return None,
        };
        Some(format!("{name} {seed}.{number} of {} bytes: {why}", bytes.len()))
    };
    (0..*inputs).filter_map(fault).collect()
}

#[test]
fn no_input_causes_a_panic_or_exceeds_its_limits() {
    let (sender, receiver) = mpsc::channel();
    // Reads in another thread, so that an endless input can be reported.
    std::thread::spawn(move || {
        let folder = tempfile::tempdir().unwrap();
        for seed in seeds() {
            if sender.send(faults(seed, &folder.path().join("input"))).is_err() {
                break;
            }
        }
    });
    let mut all = Vec::new();
    for seed in seeds() {
        match receiver.recv_timeout(TIME_LIMIT) {
            Ok(faults) => all.extend(faults),
            Err(_) => panic!("{} {seed} does not end; before it: {all:#?}", subject(seed).name),
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Without overflow checks, a wrapping number would pass unnoticed.
#[test]
fn numbers_are_checked_for_overflow() {
    let largest = std::hint::black_box(u64::MAX);
    assert!(catch_unwind(|| largest + std::hint::black_box(1)).is_err());
}

#[test]
fn inputs_are_reproducible_and_distinct() {
    for seed in 0..SUBJECTS.len() as u64 {
        let all: BTreeSet<Vec<u8>> = (0..40).map(|number| input(seed, number)).collect();
        assert!(all.len() > 30 && all.contains(&input(seed, 7)), "{}: {}", subject(seed).name, all.len());
    }
}

/// Limits data only, because the address space also contains the code.
#[test]
fn memory_is_bounded_by_the_size_of_a_file() {
    let tool = Tool::new();
    let inputs_per_subject = (seeds().count() / 500 + 1).min(5);
    let subjects = (0..).zip(&SUBJECTS).filter(|(_, subject)| !subject.command.is_empty());
    for (seed, Subject { name, command, .. }) in subjects {
        let numbers = 0..40 * inputs_per_subject as u64;
        let mut inputs: Vec<Vec<u8>> = numbers.map(|number| input(seed, number)).collect();
        inputs.sort_by_key(|bytes| std::cmp::Reverse(bytes.len()));
        for bytes in inputs.into_iter().take(inputs_per_subject) {
            let limit_kib = FIXED_KIB + DATA_PER_BYTE * bytes.len() / 1024;
            tool.write("input", &bytes);
            let output = limited(&tool, &format!("-d {limit_kib}"), &[command, &["input"][..]].concat());
            assert!([0, 4].contains(&output.code), "{name} of {} bytes: {output:?}", bytes.len());
        }
    }
}
