//! The error message for each misbehaviour, and that it leaves no process behind.

use super::builder::{
    builds_are_cached_until_an_input_changes, failures_name_the_cause_and_leave_no_build,
    find_all_reports_offers_or_an_error_per_adapter,
};
use coretalk_measure::Stop;
use coretalk_measure::adapters::conformance::{CheckSettings, Conformance, check};
use coretalk_measure::adapters::pins::Helpers;
use coretalk_measure::adapters::pool::{Pool, PoolSettings};
use coretalk_measure::adapters::process::{Process, StartSettings};
use coretalk_measure::adapters::{Adapter, AdapterError, AdapterOperation, Events, Payload, Request};
use coretalk_measure::host::affinity;
use coretalk_model::{CpuId, Flag, Histogram};
use std::ffi::OsString;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The tests with their names.
macro_rules! tests {
    ($($test:ident),* $(,)?) => { [$((stringify!($test), $test as fn())),*] };
}

/// Runs the tests whose name contains one of the words; all without words.
pub fn run(words: &[String]) {
    let concurrent = tests![
        every_fault_is_reported_and_leaves_no_process,
        a_conforming_adapter_has_no_breaches,
        a_pass_that_hangs_ends_within_two_seconds_of_its_limit,
        a_pool_hands_out_its_processes_in_turn,
        a_request_to_end_ends_a_pass,
        find_all_reports_offers_or_an_error_per_adapter,
    ];
    // Their other children would be mistaken for orphans of adapters that run meanwhile.
    let alone = tests![
        a_process_without_its_environment_is_found_too,
        builds_are_cached_until_an_input_changes,
        failures_name_the_cause_and_leave_no_build,
    ];
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    if words.iter().any(|word| word == "--list") {
        return concurrent.iter().chain(&alone).for_each(|(name, _)| println!("{name}: test"));
    }
    let run = |(name, test): (&str, fn())| {
        let begun = Instant::now();
        test();
        println!("test {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
    };
    alone.into_iter().filter(|(name, _)| wanted(name)).for_each(run);
    // Tests mostly wait, so they run concurrently.
    let remaining = Mutex::new(concurrent.into_iter().filter(|(name, _)| wanted(name)));
    let lane = || {
        while let Some(test) = next(&remaining) {
            run(test);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(lane))));
}

fn next<T>(remaining: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    remaining.lock().unwrap().next()
}

const FAULTS: [(&str, &str); 34] = [
    ("mixes", "single operations where 1 were asked for"),
    ("sleeps-alone", "it did not do its part of them"),
    ("hangs", "no answer within"),
    ("crashes", "it ended with exit status 7 while"),
    ("endless-line", "it printed a line of more than 1048576 bytes; it was killed"),
    ("wrong-sum", "messages were lost, doubled or damaged"),
    ("wrong-count", "operations where"),
    ("lost-updates", "additions were lost or made twice"),
    ("missing-share", "1 of 2 roles report a share"),
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

pub fn adapter(fault: &str) -> Adapter {
    let program = std::env::current_exe().unwrap();
    let command = vec![program.into_os_string(), OsString::from("double"), OsString::from(fault)];
    // Identifies the processes of each adapter even after exec.
    Adapter { name: "double".into(), command, environment: vec![("DOUBLE".into(), mark(fault))] }
}

fn mark(fault: &str) -> String {
    // Per thread, as tests look for their own processes while others run.
    format!("{}-{:?}-{fault}", std::process::id(), std::thread::current().id())
}

/// Number of processes that a fault left behind; on a busy machine killed ones may take a moment to end.
fn remaining_processes(fault: &str) -> usize {
    let begun = Instant::now();
    loop {
        match count_running(fault) {
            0 => return 0,
            count if begun.elapsed() > Duration::from_secs(5) => return count,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn count_running(fault: &str) -> usize {
    let entry = format!("DOUBLE={}", mark(fault));
    let folders = std::fs::read_dir("/proc").unwrap().flatten();
    let is_process = |name: OsString| name.to_string_lossy().parse::<u32>().is_ok();
    let is_marked = |folder: &std::fs::DirEntry| {
        let read = |file: &str| std::fs::read(folder.path().join(file)).unwrap_or_default();
        let is_it = |found: &[u8]| found == entry.as_bytes() || found == mark(fault).as_bytes();
        [read("environ"), read("cmdline")].concat().split(|byte| *byte == 0).any(is_it)
    };
    folders.filter(|folder| is_process(folder.file_name()) && is_marked(folder)).count()
}

pub fn start() -> StartSettings {
    StartSettings { allowed: affinity::current_mask().unwrap(), guard: None }
}

/// The first two CPUs, or the only one twice.
fn cpus() -> [CpuId; 2] {
    let allowed = affinity::current_mask().unwrap();
    [allowed.first().unwrap(), allowed.iter().nth(1).unwrap_or(allowed.first().unwrap())]
}

fn conformance(fault: &str, limit: Duration) -> Result<Conformance, AdapterError> {
    let settings = CheckSettings {
        start: start(),
        helpers: Helpers::Apart,
        cpus: cpus(),
        span: Duration::from_millis(30),
        limit,
        warm_up: Duration::from_millis(50),
        patience: Duration::from_secs(3),
    };
    check(&adapter(fault), &settings, &mut |_, _| (), &Stop::new())
}

fn a_conforming_adapter_has_no_breaches() {
    let found = conformance("none", Duration::from_secs(30)).unwrap();
    let breaches: Vec<String> = found.breaches().iter().map(|(_, error)| error.to_string()).collect();
    assert_eq!(breaches, Vec::<String>::new());
    assert_eq!((found.description.runtime.as_str(), found.things.len()), ("Double 1.0", 8));
    assert_eq!(found.notes().len(), 1);
    let [queue, contend, wait, wake, alternate, _, _, spawn] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|thing| found.things[thing].found.as_ref().unwrap());
    let capacities: Vec<_> = queue.passes.iter().map(|(capacity, _)| *capacity).collect();
    assert_eq!(capacities, [Some(1), Some(10), Some(1_000)]);
    assert!(queue.operations > 0 && wait.passes.len() == 1);
    for thing in &found.things {
        assert!(thing.found.as_ref().unwrap().passes.iter().all(|(_, passes)| passes.len() == 5));
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
    assert_eq!(remaining_processes("none"), 0);
}

fn a_process_without_its_environment_is_found_too() {
    // Found as a child of this program.
    check_fault("forks-bare", "which outlived it");
}

fn every_fault_is_reported_and_leaves_no_process() {
    let remaining = Mutex::new(FAULTS.iter());
    let checks = || {
        while let Some((fault, expected)) = next(&remaining) {
            check_fault(fault, expected);
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(checks))));
}

fn check_fault(fault: &str, expected: &str) {
    if ["rebinds", "moves"].contains(&fault) && cpus()[0] == cpus()[1] {
        println!("skipped: {fault} needs two CPUs");
        return;
    }
    let limit = if fault == "hangs" { Duration::from_secs(1) } else { Duration::from_secs(30) };
    let errors: Vec<String> = match conformance(fault, limit) {
        Ok(found) => found.breaches().iter().map(|(_, error)| error.to_string()).collect(),
        Err(error) => vec![error.to_string()],
    };
    println!("{fault}: {}", errors.join(" | "));
    assert!(errors.iter().any(|error| error.contains(expected)), "{fault}: {errors:?}");
    assert_eq!(remaining_processes(fault), 0, "{fault} left something behind");
}

fn request(limit: Duration) -> Request {
    Request {
        name: "ring".into(),
        operation: AdapterOperation::Queue { capacity: 10, payload: Payload::U64 },
        events: Events::Together,
        count: 1_000,
        seed: 5,
        cpus: cpus().to_vec(),
        limit,
    }
}

fn a_pass_that_hangs_ends_within_two_seconds_of_its_limit() {
    for fault in ["hangs", "closes-pipe", "endless-line"] {
        let mut process = Process::start(&adapter(fault), 0, &start()).unwrap();
        let limit = Duration::from_millis(500);
        let begun = Instant::now();
        let error = process.pass(&request(limit), &start().allowed, &Stop::new()).unwrap_err();
        drop(process);
        // The first pass begins when the program has started, which may be slow on a busy machine.
        let took = begun.elapsed();
        assert!(took < limit + Duration::from_secs(2), "{fault}: {error} after {took:?}");
        assert_eq!(remaining_processes(fault), 0, "{fault}");
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
    assert_eq!(remaining_processes("none"), 0);
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
    assert_eq!(remaining_processes("hangs"), 0);
}
