//! The test double: a conforming adapter, and one for each misbehaviour with an error message.

use coretalk_measure::host::affinity;
use coretalk_model::{CpuId, CpuSet};
use std::collections::VecDeque;
use std::ffi::CString;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

const FOREVER: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct Pass {
    number: u64,
    kind: String,
    capacity: usize,
    gap_ns: f64,
    /// Operations; for contention, nanoseconds.
    count: u64,
    numbers: Vec<u64>,
    events: bool,
}

/// The start of the times that roles compare with each other.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

#[derive(Default)]
struct Shared {
    arrived: AtomicU64,
    queue: Mutex<VecDeque<u64>>,
    changed: Condvar,
    word: AtomicU64,
    answer: AtomicU64,
    waiter: Mutex<Option<Thread>>,
    asleep: AtomicU64,
    sent_at: AtomicU64,
}

#[derive(Default)]
struct RoleResult {
    ns: u64,
    sum: u64,
    events: Vec<u64>,
    /// For contention: additions, and their start and end.
    share: [u64; 3],
    /// For creations: times until the creator continued, the new thread ran, and its end was known.
    creations: Vec<[u64; 3]>,
}

pub fn main(fault: &str, word: &str) {
    match word {
        "describe" => describe(fault),
        "serve" => serve(fault),
        _ => std::process::exit(2),
    }
}

fn describe(fault: &str) {
    if fault == "describes-nothing" {
        return println!("hello");
    }
    println!("coretalk-adapter 2\nruntime Double 1.0\nqueue ring payload=u64 capacity=any");
    if ["none", "lost-updates", "missing-share", "wrong-share", "unknown-role"].contains(&fault) {
        println!("contend tally");
    }
    // Most misbehaviours are detected with a single capability, the queue.
    if ["none", "microseconds", "short-median"].contains(&fault) {
        println!("wait spin\nwake park");
    }
    if ["none", "mixes", "sleeps-alone"].contains(&fault) {
        println!("alternate spin\ncost spin\nclock");
    }
    if ["none", "runs-late", "runs-at-once"].contains(&fault) {
        println!("spawn thread");
    }
}

fn serve(fault: &str) {
    if fault == "ignores-sigterm" {
        // SAFETY: sets how this process treats a signal; no memory is involved.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }
    let mut roles = Vec::new();
    let others: Option<[Worker; 2]> = (fault == "works-elsewhere").then(|| [0, 1].map(|_| Worker::start()));
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "pass" => {
                // Threads of the last pass end only now.
                roles.clear();
                match parse(&words) {
                    Some(pass) => roles.push(prepare(pass, fault)),
                    // Sent in one write: a later line could be read as the answer to the next request.
                    None if fault == "done-after-error" => {
                        print_line(&format!("error unknown\ndone {}", words[1]))
                    }
                    None => print_line("error there is no such thing here"),
                }
            }
            "go" => go(roles.last_mut().unwrap(), fault, others.as_ref()),
            _ => std::process::exit(3),
        }
    }
    if ["stays", "ignores-sigterm"].contains(&fault) {
        std::thread::sleep(FOREVER);
    }
}

fn parse(words: &[&str]) -> Option<Pass> {
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    let number = |key: &str| value(key)?.parse::<u64>().ok();
    let kind = words[2];
    let name = match kind {
        "queue" => "ring",
        "wait" | "alternate" | "cost" => "spin",
        "wake" => "park",
        "contend" => "tally",
        "spawn" => "thread",
        _ => "",
    };
    (kind == "clock" || words[3] == name).then_some(())?;
    let mut state = number("seed=")?;
    let mut next = || {
        state = (1_664_525 * state + 1_013_904_223) % (1 << 32);
        state >> 8
    };
    Some(Pass {
        number: words[1].parse().ok()?,
        kind: kind.to_owned(),
        capacity: number("capacity=").unwrap_or(1) as usize,
        gap_ns: number("gap_ns=").unwrap_or(0) as f64,
        count: number("count=").or(number("duration_ns="))?,
        numbers: (0..1024).map(|_| next()).collect(),
        events: value("events=") == Some("1"),
    })
}

fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A thread that executes tasks until it is dropped.
struct Worker {
    tid: i32,
    tasks: Option<Sender<Box<dyn FnOnce() + Send>>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start() -> Worker {
        let (tasks, received): (_, Receiver<Box<dyn FnOnce() + Send>>) = channel();
        let (tid_sender, tid) = channel();
        let thread = std::thread::spawn(move || {
            tid_sender.send(affinity::current_thread()).unwrap();
            received.iter().for_each(|task| task());
        });
        Worker { tid: tid.recv().unwrap(), tasks: Some(tasks), thread: Some(thread) }
    }

    fn execute(&self, task: impl FnOnce() + Send + 'static) {
        self.tasks.as_ref().unwrap().send(Box::new(task)).unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.tasks.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

struct Roles {
    pass: Pass,
    workers: Vec<Worker>,
    /// Workers that replace the announced ones after `go`, kept alive until they are checked.
    late: Vec<Worker>,
}

fn prepare(pass: Pass, fault: &str) -> Roles {
    let count = if ["cost", "clock", "spawn"].contains(&pass.kind.as_str()) { 1 } else { 2 };
    let workers: Vec<Worker> = (0..count).map(|_| Worker::start()).collect();
    let mut tids: Vec<i32> = workers.iter().map(|worker| worker.tid).collect();
    match fault {
        // Names the process that started this program.
        // SAFETY: the call only returns a number.
        "foreign-thread" => tids[1] = unsafe { libc::getppid() },
        "dead-thread" => {
            tids[1] = Worker::start().tid;
            // The system may take a moment to remove the thread.
            std::thread::sleep(Duration::from_millis(50));
        }
        "one-thread" => tids[1] = tids[0],
        _ => {}
    }
    let early = if fault == "early" { "\nns 5" } else { "" };
    let last = if fault == "unknown-role" && pass.kind == "contend" { 2 } else { tids.len() - 1 };
    let numbers = (0..tids.len() - 1).chain([last]);
    let roles: Vec<String> =
        numbers.zip(&tids).map(|(role, thread)| format!("role {role} {thread}")).collect();
    print_line(&format!("{}{early}", roles.join("\n")));
    Roles { pass, workers, late: Vec::new() }
}

fn go(roles: &mut Roles, fault: &str, others: Option<&[Worker; 2]>) {
    let pass = roles.pass.clone();
    match fault {
        "hangs" => std::thread::sleep(FOREVER),
        "crashes" => {
            eprintln!("the double is out of ideas");
            std::process::exit(7);
        }
        "endless-line" => {
            // A gigabyte, if it is read.
            let chunk = vec![b'x'; 1 << 20];
            (0..1024).for_each(|_| std::io::stdout().write_all(&chunk).unwrap_or_default());
            std::thread::sleep(FOREVER);
        }
        "closes-pipe" => {
            // SAFETY: the argument is a number; nothing is printed any more.
            unsafe { libc::close(libc::STDOUT_FILENO) };
            std::thread::sleep(FOREVER);
        }
        "forks" => daemon(None),
        "forks-bare" => daemon(Some(std::env::var("DOUBLE").unwrap())),
        _ => {}
    }
    let shared = Arc::<Shared>::default();
    let (sender, receiver) = channel();
    let workers = match (fault, others) {
        ("late-threads", _) => {
            roles.late = vec![Worker::start(), Worker::start()];
            &roles.late[..]
        }
        (_, Some(others)) => others,
        _ => &roles.workers,
    };
    for (role, worker) in workers.iter().enumerate() {
        let (pass, shared, sender) = (pass.clone(), Arc::clone(&shared), sender.clone());
        if fault == "idle-role" {
            if role == 0 {
                worker.execute(move || run_one_role(&pass, &sender));
            }
            continue;
        }
        let rebinds = fault == "rebinds" && role == 1;
        let moves = fault == "moves" && role == 1;
        let sleeps = fault == "sleeps-alone" && pass.kind == "cost";
        let count = workers.len() as u64;
        worker.execute(move || {
            let bound = affinity::current_mask().unwrap();
            let two_cpus: CpuSet = (0..2).map(CpuId).collect();
            if rebinds {
                affinity::set_mask(&two_cpus).unwrap();
            }
            if moves {
                affinity::set_mask(&two_cpus.difference(&bound)).unwrap();
            }
            // Sleeps for as long as the work would take.
            let result = if sleeps {
                std::thread::sleep(Duration::from_nanos(100 * pass.count));
                RoleResult { ns: 100 * pass.count, ..RoleResult::default() }
            } else {
                work(&pass, &shared, role, count)
            };
            if moves {
                affinity::set_mask(&bound).unwrap();
            }
            sender.send((role, result)).unwrap();
        });
    }
    drop(sender);
    let mut results = [RoleResult::default(), RoleResult::default()];
    for (role, result) in receiver {
        results[role] = result;
    }
    answer(&pass, &results, fault);
}

/// Polls the clock for as long as the messages may take, and reports the other role's results.
fn run_one_role(pass: &Pass, sender: &Sender<(usize, RoleResult)>) {
    let begun = Instant::now();
    while begun.elapsed().as_nanos() < 500 * u128::from(pass.count) {
        std::hint::spin_loop();
    }
    let ns = begun.elapsed().as_nanos() as u64;
    let sum = (0..pass.count).map(|operation| pass.numbers[(operation % 1024) as usize]).sum();
    sender.send((0, RoleResult { ns, ..RoleResult::default() })).unwrap();
    sender.send((1, RoleResult { ns, sum, ..RoleResult::default() })).unwrap();
}

fn answer(pass: &Pass, results: &[RoleResult; 2], fault: &str) {
    let [first, second] = results;
    let mut ns = first.ns.max(second.ns);
    match fault {
        "long-time" => ns = 2 * ns + 10_000_000,
        "short-time" => ns /= 20,
        _ => {}
    }
    print_line(&format!("ns {ns}"));
    let mut events = [first.events.as_slice(), &second.events].concat();
    if fault == "microseconds" {
        events.iter_mut().for_each(|ns| *ns /= 1_000);
    }
    if fault == "short-median" && !events.is_empty() {
        let short = 6 * events.len() / 10;
        let rest = events.iter().sum::<u64>() / (events.len() - short) as u64;
        events = [vec![1; short], vec![rest; events.len() - short]].concat();
    }
    if let Some((first, later)) = first.creations.split_first() {
        print_line(&format!("events first {}:1", first[1]));
        for (which, name) in ["cost", "latency", "join"].into_iter().enumerate().filter(|_| !later.is_empty())
        {
            let late = if fault == "runs-late" && name == "latency" { 1_000_000 } else { 0 };
            let part = if fault == "runs-at-once" && name == "latency" { 1_000 } else { 1 };
            let counted: Vec<String> =
                later.iter().map(|ns| format!("{}:1", ns[which] / part + late)).collect();
            print_line(&format!("events {name} {}", counted.join(" ")));
        }
    }
    let ways = if pass.kind == "alternate" && fault != "mixes" { 2 } else { 1 };
    for (way, word) in
        ["events", "events busy"].into_iter().enumerate().take(ways).filter(|_| !events.is_empty())
    {
        let mut of_way: Vec<u64> = events.iter().skip(way).step_by(ways).copied().collect();
        of_way.sort_unstable();
        let counted: Vec<String> =
            of_way.chunk_by(|a, b| a == b).map(|ns| format!("{}:{}", ns[0], ns.len())).collect();
        print_line(&format!("{word} {}", counted.join(" ")));
    }
    if pass.kind == "contend" {
        return contended(pass, results, fault);
    }
    let excess = u64::from(fault == "wrong-sum");
    let count = pass.count - u64::from(fault == "wrong-count");
    let number = pass.number + u64::from(fault == "other-pass");
    let sum = first.sum + second.sum + excess;
    // Sent in one write: a later line could be read as the answer to the next request.
    let more = if fault == "speaks-unasked" { "\nhello" } else { "" };
    print_line(&format!("count {count}\nsum {sum}\nnote clock_ns 20\ndone {number}{more}"));
}

fn contended(pass: &Pass, results: &[RoleResult; 2], fault: &str) {
    for (role, RoleResult { share: [operations, begin, end], .. }) in results.iter().enumerate() {
        if role == 0 || fault != "missing-share" {
            let added = operations + u64::from(fault == "wrong-share");
            print_line(&format!("ops {role} {operations} {begin} {end} {added}"));
        }
    }
    let made: u64 = results.iter().map(|result| result.sum).sum();
    let found = made - u64::from(fault == "lost-updates");
    print_line(&format!("count {made}\nsum {found}\ndone {}", pass.number));
}

/// Starts a process that left its group, outlives its parents and would stay for ten minutes; with `name`, it has
/// that name and no environment.
fn daemon(name: Option<String>) {
    let name = name.map(|name| CString::new(name).unwrap());
    let none = [std::ptr::null()];
    // SAFETY: the child calls only what may be called between fork and exec, on memory that was there before, and then
    // becomes another program.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                for descriptor in 0..3 {
                    libc::close(descriptor);
                }
                let sleep = c"/bin/sleep".as_ptr();
                let words =
                    [name.as_ref().map_or(sleep, |name| name.as_ptr()), c"600".as_ptr(), std::ptr::null()];
                match name {
                    Some(_) => libc::execve(sleep, words.as_ptr(), none.as_ptr()),
                    None => libc::execv(sleep, words.as_ptr()),
                };
            }
            libc::_exit(0);
        }
    }
}

fn work(pass: &Pass, shared: &Shared, role: usize, roles: u64) -> RoleResult {
    if role == 1 {
        *shared.waiter.lock().unwrap() = Some(std::thread::current());
    }
    shared.arrived.fetch_add(1, SeqCst);
    while shared.arrived.load(SeqCst) < roles {
        std::thread::yield_now();
    }
    let begun = Instant::now();
    let since = |begun: Instant| begun.elapsed().as_nanos() as u64;
    let mut result = RoleResult {
        events: Vec::with_capacity(if pass.events { pass.count as usize } else { 0 }),
        ..RoleResult::default()
    };
    if pass.kind == "contend" {
        let (begin, mut operations) = (since(begun), 0);
        while operations == 0 || since(begun) - begin < pass.count {
            shared.word.fetch_add(1, SeqCst);
            operations += 1;
        }
        let end = since(begun);
        return RoleResult { ns: end, sum: operations, share: [operations, begin, end], ..result };
    }
    for operation in 0..pass.count {
        let number = pass.numbers[(operation % 1024) as usize];
        match (pass.kind.as_str(), role) {
            ("queue", 0) => {
                let mut queue = shared.queue.lock().unwrap();
                while queue.len() == pass.capacity {
                    queue = shared.changed.wait(queue).unwrap();
                }
                queue.push_back(number);
                shared.changed.notify_one();
            }
            ("queue", _) => {
                let mut queue = shared.queue.lock().unwrap();
                while queue.is_empty() {
                    queue = shared.changed.wait(queue).unwrap();
                }
                result.sum += queue.pop_front().unwrap();
                shared.changed.notify_one();
            }
            ("cost", _) => {
                std::hint::black_box(shared.word.load(SeqCst));
                std::hint::spin_loop();
            }
            ("clock", _) => result.events.push(since(Instant::now())),
            ("spawn", _) => {
                pause(pass.gap_ns, number);
                let before = Instant::now();
                let created = std::thread::spawn(move || (since(before), number));
                let cost = since(before);
                let (latency, number) = created.join().unwrap();
                result.creations.push([cost, latency, since(before)]);
                result.sum += number;
            }
            ("wait" | "alternate", 0) => {
                let sent = Instant::now();
                shared.word.store(number + 1, SeqCst);
                result.sum += poll_until(|| Some(shared.answer.swap(0, SeqCst)).filter(|word| *word > 0)) - 1;
                if pass.events {
                    result.events.push(since(sent));
                }
            }
            ("wait" | "alternate", _) => {
                let word = poll_until(|| Some(shared.word.swap(0, SeqCst)).filter(|word| *word > 0));
                shared.answer.store(word, SeqCst);
            }
            (_, 0) => {
                poll_until(|| (shared.asleep.load(SeqCst) > operation).then_some(()));
                pause(pass.gap_ns, number);
                shared.sent_at.store(since(*EPOCH), SeqCst);
                shared.word.store(number + 1, SeqCst);
                shared.waiter.lock().unwrap().as_ref().unwrap().unpark();
                poll_until(|| (shared.answer.load(SeqCst) > operation).then_some(()));
            }
            _ => {
                shared.asleep.store(operation + 1, SeqCst);
                let word = loop {
                    match shared.word.swap(0, SeqCst) {
                        0 => std::thread::park(),
                        word => break word,
                    }
                };
                result.events.push(since(*EPOCH) - shared.sent_at.load(SeqCst));
                result.sum += word - 1;
                shared.answer.store(operation + 1, SeqCst);
            }
        }
    }
    result.ns = since(begun);
    result
}

fn pause(gap_ns: f64, number: u64) {
    let gap = Instant::now();
    while (gap.elapsed().as_nanos() as f64) < gap_ns * (0.75 + number as f64 / f64::from(1 << 25)) {
        std::hint::spin_loop();
    }
}

/// Polls until there is a value, and yields to the other role in between.
fn poll_until<T>(poll: impl Fn() -> Option<T>) -> T {
    for turn in 0u32.. {
        if let Some(found) = poll() {
            return found;
        }
        if turn % 64 == 63 {
            std::thread::yield_now();
        }
    }
    unreachable!("it looks for ever")
}
