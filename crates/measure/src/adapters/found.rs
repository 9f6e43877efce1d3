//! [`AdapterStatus`]: availability of each adapter.

use super::builder::{AdapterBuilder, Ready, Unready};
use super::catalogue::{AdapterOrigin, AdapterSpec, Catalogue};
use super::description::Description;
use super::error::AdapterError;
use super::process::{START, StartSettings, describe};
use crate::stop::Stop;
use coretalk_model::TrialFailure;

/// One adapter of a catalogue and its availability.
#[derive(Debug)]
pub struct AdapterStatus {
    /// Name of the adapter.
    pub name: String,
    /// Source of the adapter's spec.
    pub origin: AdapterOrigin,
    /// The offer of the adapter, or why it is unavailable.
    pub outcome: Result<Offered, Lacking>,
}

/// An available adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// How the adapter is started.
    pub ready: Ready,
    /// What the adapter offers.
    pub description: Description,
}

/// Why an adapter is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum Lacking {
    /// The adapter could not be prepared.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// The adapter could not be started or described.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
}

impl Offered {
    /// Versions of the runtime and of the compiler.
    pub fn version(&self) -> String {
        let runtime = &self.description.runtime;
        match &self.ready.version {
            Some(compiler) if !compiler.contains(runtime.as_str()) => format!("{runtime}; {compiler}"),
            _ => runtime.clone(),
        }
    }
}

impl Lacking {
    /// Whether the user interrupted the run.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Lacking::Unready(Unready::Interrupted) | Lacking::Adapter(AdapterError::Interrupted))
    }

    /// The failure of a trial. It keeps the adapter's command and output apart from the reason.
    pub(super) fn failure(&self) -> TrialFailure {
        let (reason, words) = match self {
            Lacking::Adapter(error) => error.parted(),
            Lacking::Unready(Unready::Command { .. }) => {
                ("a command that makes it ready failed".to_owned(), self.to_string())
            }
            Lacking::Unready(Unready::File { what, source, .. }) => {
                (format!("failed to {what} one of its files: {source}"), self.to_string())
            }
            Lacking::Unready(unready) => (unready.to_string(), String::new()),
        };
        TrialFailure::with_words(reason, words)
    }
}

/// Prepares every adapter of a catalogue and asks for its description. Calls `building` before each build.
pub fn find_all(
    catalogue: &Catalogue,
    builder: &AdapterBuilder<'_>,
    start: &StartSettings,
    building: &mut dyn FnMut(&AdapterSpec),
    stop: &Stop,
) -> Vec<AdapterStatus> {
    let mut all = Vec::new();
    for spec in catalogue.specs() {
        let outcome = find(spec, builder, start, building, stop);
        let is_interrupted = outcome.as_ref().is_err_and(Lacking::is_interrupted);
        all.push(AdapterStatus { name: spec.name.clone(), origin: spec.origin, outcome });
        if is_interrupted {
            break;
        }
    }
    all
}

/// Prepares an adapter and asks for its description.
pub fn find(
    spec: &AdapterSpec,
    builder: &AdapterBuilder<'_>,
    start: &StartSettings,
    building: &mut dyn FnMut(&AdapterSpec),
    stop: &Stop,
) -> Result<Offered, Lacking> {
    let ready = builder.ready(spec, &mut || building(spec), stop)?;
    let description = describe(&ready.adapter, start, START.min(builder.patience), stop)?;
    Ok(Offered { ready, description })
}
