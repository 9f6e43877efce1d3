//! The session drives one run on a machine. It passes every round to a [`Sink`] and events to an [`Observer`].

pub mod latency;
pub mod place;
mod run_loop;
pub mod series;
pub mod sink;

pub use run_loop::{Earlier, Ended, ResumedState, RunError};
pub use sink::{Commit, Decision, Event, Kept, Observer, Sink, SinkError};

use coretalk_model::Picos;
use coretalk_model::stats::Key;

/// Minimum distance between the starts of two passes over one cell or trial. Closer passes add little: their
/// autocorrelation is 0.43 at 20 ms and 0.24 at 100 ms (measured; docs/evidence.md, "Machine and effects").
const PASS_GAP: Picos = Picos::from_ms(60);
/// Maximum distance that a run chooses by itself. At 300 ms the autocorrelation has fallen to 0.10.
const WIDE_GAP: Picos = Picos::from_ms(250);
/// Distance between the starts of passes that are spread over `secs` seconds.
fn spread(secs: f64, passes: u32) -> Picos {
    Picos::from_secs(secs / f64::from(passes)).clamp(PASS_GAP, WIDE_GAP)
}

/// A gap varied by ± 25 %, to avoid a fixed phase with periodic events.
fn jittered(gap: Picos, key: Key) -> Picos {
    Picos::from_ns(gap.ns() * (0.75 + 0.5 * key.with(7).uniform(0)))
}
