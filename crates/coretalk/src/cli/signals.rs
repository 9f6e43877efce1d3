//! SIGINT, SIGTERM and SIGHUP raise a [`Stop`]; a second one ends the process at once.

use crate::exit::{ExitCode, Failure};
use coretalk_measure::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

#[cfg(unix)]
const ENDING: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// A stop that signals raise from now on.
///
/// # Errors
/// The system refuses a handler.
pub fn stop() -> Result<Stop, Failure> {
    let stop = Stop::new();
    for signal in ENDING {
        // In this order: the first signal finds the flag down and raises it, the second finds it up and exits.
        flag::register_conditional_shutdown(signal, ExitCode::Interrupted as i32, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .map_err(|error| {
                Failure::Environment(format!("failed to listen for signal {signal}: {error}"))
            })?;
    }
    Ok(stop)
}
