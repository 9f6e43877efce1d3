//! SIGINT, SIGTERM and SIGHUP raise a [`Stop`]. A second signal ends the process. `nohup` keeps SIGHUP ignored.

use crate::exit::{ExitCode, Failure};
use coretalk_measure::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Registers the signal handlers and returns the [`Stop`] that they raise. Fails if the system refuses a handler.
pub fn stop() -> Result<Stop, Failure> {
    let stop = Stop::new();
    handle_size_limit()?;
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up()) {
        // The order matters: the first signal finds the flag unset and sets it, so the second signal exits.
        flag::register_conditional_shutdown(signal, ExitCode::Interrupted as i32, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::Environment(format!("failed to listen for signal {signal}: {error}"))
            })?;
    }
    Ok(stop)
}

/// Turns SIGXFSZ into a write error that names the file. By default, a file that exceeds the size limit of the process
/// (`ulimit -f`) ends the process without a message.
#[cfg(unix)]
fn handle_size_limit() -> Result<(), Failure> {
    use signal_hook::consts::SIGXFSZ;
    // Any handler prevents the default action. The flag is never read.
    let registered = flag::register(SIGXFSZ, std::sync::Arc::default());
    registered
        .map(drop)
        .map_err(|error| Failure::Environment(format!("failed to listen for signal {SIGXFSZ}: {error}")))
}

#[cfg(not(unix))]
fn handle_size_limit() -> Result<(), Failure> {
    Ok(())
}

/// Returns SIGHUP, which a closing terminal sends, unless the parent process made this process ignore it.
#[cfg(unix)]
fn hang_up() -> Option<i32> {
    use signal_hook::consts::SIGHUP;
    // `SigIgn` is a hexadecimal mask with signal 1 lowest. If it is unreadable, no signal counts as ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (ignored & 1 << (SIGHUP - 1) == 0).then_some(SIGHUP)
}

#[cfg(not(unix))]
fn hang_up() -> Option<i32> {
    None
}
