//! The error message for each misbehaviour, and that it leaves no process behind.

use super::builder;
use coretalk_measure::Stop;
use coretalk_measure::adapters::conformance::{CheckSettings, Conformance, check};
use coretalk_measure::adapters::pins::Helpers;
use coretalk_measure::adapters::pool::{Pool, PoolSettings};
use coretalk_measure::adapters::process::{Process, StartSettings};
use coretalk_measure::adapters::{Adapter, AdapterError, Events, Operation, Payload, Request};
use coretalk_measure::host::affinity;
use coretalk_model::{CpuId, Flag, Histogram};
use std::ffi::OsString;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs the tests whose name contains one of the words; all without words.
pub fn run(words: &[String]) {
    let tests: [(&str, fn()); 9] = [
        ("every_misdeed_has_a_sentence_and_leaves_nothing", every_misdeed_has_a_sentence_and_leaves_nothing),
        ("a_process_without_its_environment_is_found_too", a_process_without_its_environment_is_found_too),
        ("an_adapter_that_conforms_is_believed", an_adapter_that_conforms_is_believed),
        (
            "a_pass_that_hangs_ends_within_two_seconds_of_its_limit",
            a_pass_that_hangs_ends_within_two_seconds_of_its_limit,
        ),
        ("a_pool_hands_out_its_processes_in_turn", a_pool_hands_out_its_processes_in_turn),
        ("a_request_to_end_ends_a_pass", a_request_to_end_ends_a_pass),
        (
            "what_is_built_is_kept_until_something_changes",
            builder::what_is_built_is_kept_until_something_changes,
        ),
        (
            "what_is_missing_or_fails_is_named_and_leaves_nothing",
            builder::what_is_missing_or_fails_is_named_and_leaves_nothing,
        ),
        (
            "a_list_says_what_each_offers_and_what_is_missing",
            builder::a_list_says_what_each_offers_and_what_is_missing,
        ),
    ];
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    if words.iter().any(|word| word == "--list") {
        return tests.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    let run = |(name, test): (&str, fn())| {
        let begun = Instant::now();
        test();
        println!("test {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
    };
    let (beside, alone): (Vec<_>, Vec<_>) =
        tests.into_iter().filter(|(name, _)| wanted(name)).partition(|(name, _)| !ALONE.contains(name));
    alone.into_iter().for_each(run);
    // Tests mostly wait, so they run concurrently.
    let left = Mutex::new(beside.into_iter());
    let lane = || {
        while let Some(test) = next(&left) {
            run(test);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(lane))));
}

/// Tests whose other children would be mistaken for orphans of adapters that run meanwhile.
const ALONE: [&str; 3] = [
    "a_process_without_its_environment_is_found_too",
    "what_is_built_is_kept_until_something_changes",
    "what_is_missing_or_fails_is_named_and_leaves_nothing",
];

fn next<T>(left: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    left.lock().unwrap().next()
}

const MISDEEDS: [(&str, &str); 34] = [
    ("mixes", "single operations where 1 were asked for"),
    ("sleeps-alone", "it did not do its part of them"),
    ("hangs", "no answer within"),
    ("crashes", "it ended with exit status 7 while"),
    ("endless-line", "it printed a line of more than 1048576 bytes; it was killed"),
    ("wrong-sum", "messages were lost, doubled or damaged"),
    ("wrong-count", "operations where"),
    ("lost-updates", "additions were lost or made twice"),
    ("missing-share", "1 of 2 roles have one"),
    ("wrong-share", "additions, and `count` is"),
    ("runs-late", "both begin with the creation, and `join` ends last"),
    ("runs-at-once", "are both in nanoseconds?"),
    ("unknown-role", "of a role that has not been named"),
    ("long-time", "passed here (attempt 3)"),
    ("short-time", "passed here (attempt 3)"),
    ("microseconds", "are both in nanoseconds?"),
    ("done-after-error", "between two passes, when nothing was asked"),
    ("foreign-thread", "which is not the adapter nor a child of it"),
    ("dead-thread", "printed for role 1, does not exist"),
    ("one-thread", "each needs a thread of its own"),
    ("late-threads", "was used by threads that began after `go`"),
    ("rebinds", "the adapter bound it anew"),
    ("moves", "left CPU"),
    ("short-median", "cannot be what a read of the clock costs"),
    ("works-elsewhere", "the work is done elsewhere"),
    ("idle-role", "it did not do its part of them"),
    ("early", "before it was told to go"),
    ("other-pass", "it answered pass 2 when pass 1 was asked for"),
    ("speaks-unasked", "between two passes, when nothing was asked"),
    ("closes-pipe", "it closed its standard output"),
    ("forks", "which outlived it"),
    ("stays", "and ended on SIGTERM"),
    ("ignores-sigterm", "nor on SIGTERM; it was killed"),
    ("describes-nothing", "has to be `coretalk-adapter 1`"),
];

pub fn adapter(misdeed: &str) -> Adapter {
    let own = std::env::current_exe().unwrap();
    let command = vec![own.into_os_string(), OsString::from("double"), OsString::from(misdeed)];
    // Identifies the processes of each adapter, whatever they have become.
    Adapter { name: "double".into(), command, environment: vec![("DOUBLE".into(), mark(misdeed))] }
}

fn mark(misdeed: &str) -> String {
    // Per thread, as tests look for their own processes while others run.
    format!("{}-{:?}-{misdeed}", std::process::id(), std::thread::current().id())
}

/// Processes that a misbehaviour has left; on a busy machine killed ones may take a moment to end.
fn left(misdeed: &str) -> usize {
    let begun = Instant::now();
    loop {
        match running(misdeed) {
            0 => return 0,
            left if begun.elapsed() > Duration::from_secs(5) => return left,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn running(misdeed: &str) -> usize {
    let entry = format!("DOUBLE={}", mark(misdeed));
    let folders = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |folder: std::fs::DirEntry| {
        let read = |file: &str| std::fs::read(folder.path().join(file)).unwrap_or_default();
        let is_it = |found: &[u8]| found == entry.as_bytes() || found == mark(misdeed).as_bytes();
        [read("environ"), read("cmdline")].concat().split(|byte| *byte == 0).any(is_it)
    };
    folders
        .filter(|folder| folder.file_name().to_string_lossy().parse::<u32>().is_ok())
        .map(has)
        .filter(|has| *has)
        .count()
}

pub fn start() -> StartSettings {
    StartSettings { allowed: affinity::current_mask().unwrap(), guard: None }
}

/// The first two CPUs, or the only one twice.
fn cpus() -> [CpuId; 2] {
    let allowed = affinity::current_mask().unwrap();
    [allowed.first().unwrap(), allowed.iter().nth(1).unwrap_or(allowed.first().unwrap())]
}

fn conformance(misdeed: &str, limit: Duration) -> Result<Conformance, AdapterError> {
    let settings = CheckSettings {
        start: start(),
        helpers: Helpers::Apart,
        cpus: cpus(),
        span: Duration::from_millis(30),
        limit,
        warm_up: Duration::from_millis(50),
        patience: Duration::from_secs(3),
    };
    check(&adapter(misdeed), &settings, &mut |_, _| (), &Stop::new())
}

fn an_adapter_that_conforms_is_believed() {
    let found = conformance("none", Duration::from_secs(30)).unwrap();
    let breaches: Vec<String> = found.breaches().iter().map(|(_, error)| error.to_string()).collect();
    assert_eq!(breaches, Vec::<String>::new());
    assert_eq!((found.description.runtime.as_str(), found.things.len()), ("Double 1.0", 8));
    assert_eq!(found.notes().len(), 1);
    let [queue, contend, wait, wake, alternate, cost, clock, spawn] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|thing| found.things[thing].found.as_ref().unwrap());
    let capacities: Vec<_> = queue.passes.iter().map(|(capacity, _)| *capacity).collect();
    assert_eq!(capacities, [Some(1), Some(10), Some(1_000)]);
    assert!(queue.operations > 0 && wait.passes.len() == 1);
    for (_, passes) in [queue, contend, wait, wake, alternate, cost, clock, spawn]
        .into_iter()
        .flat_map(|thing| &thing.passes)
    {
        assert_eq!(passes.len(), 5);
    }
    for pass in &alternate.passes[0].1 {
        let [named, plain] = [pass.events.as_ref().unwrap(), &pass.events_of["busy"]].map(Histogram::count);
        assert_eq!([named, plain], [pass.count.div_ceil(2), pass.count / 2]);
    }
    let (_, added) = &contend.passes[0];
    assert!(added.iter().all(|pass| pass.shares.len() == 2 && pass.count > 0));
    for pass in &spawn.passes[0].1 {
        let counts = ["first", "cost", "latency", "join"].map(|name| pass.events_of[name].count());
        assert_eq!(counts, [1, pass.count - 1, pass.count - 1, pass.count - 1]);
    }
    let (_, woken) = &wake.passes[0];
    assert!(woken.iter().all(|pass| pass.events.as_ref().unwrap().count() == pass.count));
    assert_eq!(left("none"), 0);
}

fn a_process_without_its_environment_is_found_too() {
    // As a child of this program.
    check_misdeed("forks-bare", "which outlived it");
}

fn every_misdeed_has_a_sentence_and_leaves_nothing() {
    let left = Mutex::new(MISDEEDS.iter());
    let checks = || {
        while let Some((misdeed, expected)) = next(&left) {
            check_misdeed(misdeed, expected);
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(checks))));
}

fn check_misdeed(misdeed: &str, expected: &str) {
    if ["rebinds", "moves"].contains(&misdeed) && cpus()[0] == cpus()[1] {
        println!("skipped: {misdeed} needs two CPUs");
        return;
    }
    let limit = if misdeed == "hangs" { Duration::from_secs(1) } else { Duration::from_secs(30) };
    let said: Vec<String> = match conformance(misdeed, limit) {
        Ok(found) => found.breaches().iter().map(|(_, error)| error.to_string()).collect(),
        Err(error) => vec![error.to_string()],
    };
    println!("{misdeed}: {}", said.join(" | "));
    assert!(said.iter().any(|said| said.contains(expected)), "{misdeed}: {said:?}");
    assert_eq!(left(misdeed), 0, "{misdeed} left something behind");
}

fn request(limit: Duration) -> Request {
    Request {
        name: "ring".into(),
        operation: Operation::Queue { capacity: 10, payload: Payload::U64 },
        events: Events::Together,
        count: 1_000,
        seed: 5,
        cpus: cpus().to_vec(),
        limit,
    }
}

fn a_pass_that_hangs_ends_within_two_seconds_of_its_limit() {
    for misdeed in ["hangs", "closes-pipe", "endless-line"] {
        let mut process = Process::start(&adapter(misdeed), 0, &start()).unwrap();
        let limit = Duration::from_millis(500);
        let begun = Instant::now();
        let error = process.pass(&request(limit), &start().allowed, &Stop::new()).unwrap_err();
        drop(process);
        // The first pass begins when the program has started, which may be slow on a busy machine.
        let took = begun.elapsed();
        assert!(took < limit + Duration::from_secs(2), "{misdeed}: {error} after {took:?}");
        assert_eq!(left(misdeed), 0, "{misdeed}");
    }
}

fn a_pool_hands_out_its_processes_in_turn() {
    let settings = PoolSettings {
        forks: 2,
        start: start(),
        helpers: Helpers::Measured,
        warm_up: Duration::from_millis(100),
    };
    let mut pool = Pool::start(&adapter("none"), settings, &Stop::new()).unwrap();
    let request = Request { count: 1 << 20, ..request(Duration::from_secs(30)) };
    let span = Duration::from_millis(5);
    let passes: Vec<_> = (0..4).map(|_| pool.perform(&request, span, &Stop::new()).unwrap()).collect();
    assert_eq!(passes.iter().map(|pass| pass.fork).collect::<Vec<_>>(), [0, 1, 0, 1]);
    for pass in &passes {
        assert!(pass.ns as f64 >= 0.5 * span.as_nanos() as f64, "{} ns", pass.ns);
        assert!(pass.flags.contains(Flag::Cold), "a tenth of a second warms nothing");
    }
    let unknown = Request { name: "rung".into(), ..request };
    let error = pool.perform(&unknown, span, &Stop::new()).unwrap_err();
    assert_eq!(error.to_string(), "the adapter does not offer queue `rung`");
    pool.close().unwrap();
    assert_eq!(left("none"), 0);
}

fn a_request_to_end_ends_a_pass() {
    let mut process = Process::start(&adapter("hangs"), 0, &start()).unwrap();
    let stop = Stop::new();
    let raised = stop.clone();
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        raised.raise();
    });
    let error = process.pass(&request(Duration::from_secs(60)), &start().allowed, &stop).unwrap_err();
    later.join().unwrap();
    assert!(matches!(error, AdapterError::Interrupted), "{error}");
    assert_eq!(left("hangs"), 0);
}
