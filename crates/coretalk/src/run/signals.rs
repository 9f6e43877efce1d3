//! SIGINT, SIGTERM and SIGHUP raise a [`Stop`]; a second signal ends the process at once. SIGHUP stays ignored under
//! `nohup`.

use crate::exit::{ExitCode, Failure};
use coretalk_measure::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Registers the signal handlers and returns the stop that they raise.
///
/// # Errors
/// The system refuses a handler.
pub fn stop() -> Result<Stop, Failure> {
    let stop = Stop::new();
    handle_size_limit()?;
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up()) {
        // Registered in this order: the first signal finds the flag unset and sets it, the second exits.
        flag::register_conditional_shutdown(signal, ExitCode::Interrupted as i32, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::Environment(format!("failed to listen for signal {signal}: {error}"))
            })?;
    }
    Ok(stop)
}

/// Turns SIGXFSZ into a write error, which names the file: by default, a file that exceeds the size limit of the
/// process (`ulimit -f`) would end the process without a message.
#[cfg(unix)]
fn handle_size_limit() -> Result<(), Failure> {
    use signal_hook::consts::SIGXFSZ;
    // Any handler prevents the default action; the flag is never read.
    let registered = flag::register(SIGXFSZ, std::sync::Arc::default());
    registered
        .map(drop)
        .map_err(|error| Failure::Environment(format!("failed to listen for signal {SIGXFSZ}: {error}")))
}

#[cfg(not(unix))]
fn handle_size_limit() -> Result<(), Failure> {
    Ok(())
}

/// Returns SIGHUP, which a closing terminal sends, unless the parent process made this one ignore it.
#[cfg(unix)]
fn hang_up() -> Option<i32> {
    use signal_hook::consts::SIGHUP;
    // `SigIgn` is the hexadecimal mask of ignored signals, signal 1 lowest. If unreadable, no signal counts as ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (ignored & 1 << (SIGHUP - 1) == 0).then_some(SIGHUP)
}

#[cfg(not(unix))]
fn hang_up() -> Option<i32> {
    None
}
