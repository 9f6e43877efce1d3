//! Making threads and processes, one after another, and saying when each ran: what `spawn` times.

mod pool;
mod processes;
mod program;
mod threads;

use crate::ensemble::Ensemble;
use crate::probes::spawn::{Kind, Meant};
use crate::series::TrialOrder;
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;

/// Why a kind cannot be had here.
pub fn lacks(kind: Kind) -> Option<String> {
    if kind.execs() && !program::is_known() {
        return Some(format!("`{}` starts a program made for x86-64", kind.name()));
    }
    (kind == Kind::AttrPinned && !threads::HAS_ATTRIBUTE)
        .then(|| format!("`{}` needs an attribute that only glibc has", kind.name()))
}

/// Performs one pass.
///
/// # Errors
/// [`TrialFailure`]: the system refused a creation, or the pass was given up.
pub fn perform(
    ensemble: &Ensemble<'_>,
    order: &TrialOrder<'_>,
    meant: &Meant,
) -> Result<Observed, TrialFailure> {
    match meant.kind {
        Kind::Pool => pool::perform(ensemble, order, meant),
        kind if kind.is_process() => processes::perform(ensemble, order, meant),
        _ => threads::perform(ensemble, order, meant),
    }
}
