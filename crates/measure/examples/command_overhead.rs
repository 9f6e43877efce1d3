//! What watching a command costs: the time from its end to the next start that is ours, against a bare spawn and wait.
//!
//! ```text
//! cargo run --release -p coretalk-measure --example command_overhead
//! ```

#[cfg(target_os = "linux")]
fn main() {
    use coretalk_measure::Stop;
    use coretalk_measure::host::affinity::current_mask;
    use coretalk_measure::host::command::{Launch, run};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const RUNS: usize = 300;
    let Ok(cpus) = current_mask() else { return println!("skipped: this system cannot bind threads") };
    let (program, stop) = ("/bin/true".into(), Stop::new());
    let launch = Launch {
        program: &program,
        arguments: &[],
        environment: &[],
        cpus: &cpus,
        watchdog: None,
        launcher: None,
        limit: Duration::from_secs(10),
        lost: &|| None,
    };
    let bare = || {
        let begun = Instant::now();
        let status = Command::new("/bin/true").stdout(Stdio::null()).stderr(Stdio::null()).status();
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
    // In turns, so that both see the same machine.
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
        return println!("skipped: there is no /bin/true");
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
