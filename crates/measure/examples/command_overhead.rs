//! Measures the cost of watching a command: the whole time of a watched run against a bare spawn and wait.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example command_overhead [PROGRAM [ARGUMENT…]]
//! ```
//!
//! Without PROGRAM, the example runs `/bin/true`.

#[cfg(target_os = "linux")]
fn main() {
    use coretalk_measure::Stop;
    use coretalk_measure::host::affinity::current_mask;
    use coretalk_measure::host::command::{Launch, run};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const RUNS: usize = 300;
    let Ok(cpus) = current_mask() else { return println!("skipped: this system cannot bind threads") };
    let mut words = std::env::args_os().skip(1);
    let program = words.next().unwrap_or_else(|| "/bin/true".into());
    let arguments: Vec<_> = words.collect();
    let stop = Stop::new();
    let launch = Launch {
        program: &program,
        arguments: &arguments,
        environment: &[],
        cpus: &cpus,
        watchdog: None,
        launcher: None,
        limit: Duration::from_secs(10),
        lost: &|| None,
    };
    let bare = || {
        let begun = Instant::now();
        let status =
            Command::new(&program).args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        (begun.elapsed(), status.is_ok())
    };
    let watched = || {
        let begun = Instant::now();
        let finished = run(&launch, &stop);
        (begun.elapsed(), finished.ok().map(|finished| finished.wall))
    };
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (mut plain, mut whole, mut wall) = (Vec::new(), Vec::new(), Vec::new());
    // Alternates, so that both kinds of runs see the same state of the machine.
    for _ in 0..RUNS {
        let (elapsed, done) = bare();
        if done {
            plain.push(elapsed);
        }
        if let (elapsed, Some(inside)) = watched() {
            whole.push(elapsed);
            wall.push(inside);
        }
    }
    if plain.is_empty() || whole.is_empty() {
        return println!("skipped: {} cannot be started", program.display());
    }
    let [plain, whole, wall] = [plain, whole, wall].map(median);
    println!("spawn and wait {plain:.3} ms, watched {whole:.3} ms, of which the command {wall:.3} ms");
    println!(
        "watching adds {:.3} ms to a run, {:.3} ms of it inside the time that counts",
        whole - plain,
        wall - plain
    );
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: commands are run on Linux");
}
