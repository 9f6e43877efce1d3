//! SIGINT, SIGTERM and SIGHUP raise a [`Stop`]; a second one ends the process at once. Under `nohup` SIGHUP stays
//! ignored.

use crate::exit::{ExitCode, Failure};
use coretalk_measure::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A stop that signals raise from now on.
///
/// # Errors
/// The system refuses a handler.
pub fn stop() -> Result<Stop, Failure> {
    let stop = Stop::new();
    outgrow()?;
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up()) {
        // In this order: the first signal finds the flag down and raises it, the second finds it up and exits.
        flag::register_conditional_shutdown(signal, ExitCode::Interrupted as i32, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::Environment(format!("failed to listen for signal {signal}: {error}"))
            })?;
    }
    Ok(stop)
}

/// A file that outgrows the limit of the process (`ulimit -f`) is an error of its writer, which says so, and does not end
/// the program without a word.
#[cfg(unix)]
fn outgrow() -> Result<(), Failure> {
    use signal_hook::consts::SIGXFSZ;
    // Whoever has a handler is not ended; nobody looks at the flag.
    let listened = flag::register(SIGXFSZ, std::sync::Arc::default());
    listened
        .map(drop)
        .map_err(|error| Failure::Environment(format!("failed to listen for signal {SIGXFSZ}: {error}")))
}

#[cfg(not(unix))]
fn outgrow() -> Result<(), Failure> {
    Ok(())
}

/// What a terminal sends when it closes, unless somebody wished that it be ignored.
#[cfg(unix)]
fn hang_up() -> Option<i32> {
    use signal_hook::consts::SIGHUP;
    // The mask of ignored signals in hexadecimal, signal 1 lowest. Where it cannot be read nobody wished anything.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (ignored & 1 << (SIGHUP - 1) == 0).then_some(SIGHUP)
}

#[cfg(not(unix))]
fn hang_up() -> Option<i32> {
    None
}
