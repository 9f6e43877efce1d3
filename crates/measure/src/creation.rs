//! Making threads and processes, one after another, and saying when each ran: what `spawn` times.

mod config;
#[cfg(all(target_os = "linux", not(miri)))]
mod pool;
#[cfg(all(target_os = "linux", not(miri)))]
mod processes;
#[cfg(all(target_os = "linux", not(miri)))]
mod program;
mod tallies;
#[cfg(all(target_os = "linux", not(miri)))]
mod threads;

#[cfg(all(target_os = "linux", not(miri)))]
use crate::series::TrialOrder;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
#[cfg(all(target_os = "linux", not(miri)))]
use coretalk_model::TrialFailure;
#[cfg(all(target_os = "linux", not(miri)))]
use coretalk_model::series::Observed;

pub(crate) use config::kind;
pub use config::{Config, KINDS, Kind, PARENT_MIB};
pub use tallies::Tallies;

/// Distributions and values of a trial.
pub mod names {
    /// Until the creator goes on (A to B).
    pub const COST: &str = "cost";
    /// Until the first statement of the new one (A to C).
    pub const LATENCY: &str = "latency";
    /// Until it has ended and the creator knows (A to D).
    pub const JOIN: &str = "join";
    /// The latency of the first of each pass: cold.
    pub const FIRST: &str = "first";
    /// First statement minus return of the creation (C − B), with its sign: the median of a pass.
    pub const AFTER_RETURN_NS: &str = "after_return_ns";
    /// How often the new one ran before the creation had returned.
    pub const CHILD_FIRST: &str = "child_first";
    /// Resident memory of the process that creates processes.
    pub const PARENT_MIB: &str = "parent_rss_mib";
}

/// Why a kind cannot be had here.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn lacks(kind: Kind) -> Option<String> {
    if kind.execs() && !program::is_known() {
        return Some(format!("`{}` starts a program built for x86-64", kind.name()));
    }
    (kind == Kind::AttrPinned && !threads::HAS_ATTRIBUTE)
        .then(|| format!("`{}` needs a thread attribute that only glibc has", kind.name()))
}

/// Performs one pass.
///
/// # Errors
/// [`TrialFailure`]: the system refused a creation, or the pass was given up.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn perform(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &Config,
) -> Result<Observed, TrialFailure> {
    match config.kind {
        Kind::Pool => pool::perform(context, order, config),
        kind if kind.is_process() => processes::perform(context, order, config),
        _ => threads::perform(context, order, config),
    }
}
