//! [`Found`]: which adapters are here, and what is missing of the others.

use super::catalogue::{Catalogue, Origin, Recipe};
use super::description::Description;
use super::error::AdapterError;
use super::process::{START, StartSettings, describe};
use super::workshop::{Ready, Unready, Workshop};
use crate::stop::Stop;
use coretalk_model::TrialFailure;

/// An adapter of a catalogue.
#[derive(Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// What it offers; or why it cannot.
    pub outcome: Result<Offered, Lacking>,
}

/// An adapter that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// How it is started.
    pub ready: Ready,
    /// What it says.
    pub description: Description,
}

/// Why an adapter is not here.
#[derive(Debug, thiserror::Error)]
pub enum Lacking {
    /// It cannot be started.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// It does not say what it offers.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
}

impl Offered {
    /// Which version of the runtime it is, and of what compiled it.
    pub fn version(&self) -> String {
        let runtime = &self.description.runtime;
        match &self.ready.version {
            Some(compiler) if !compiler.contains(runtime.as_str()) => format!("{runtime}; {compiler}"),
            _ => runtime.clone(),
        }
    }
}

impl Lacking {
    /// Whether somebody wished to end.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Lacking::Unready(Unready::Interrupted) | Lacking::Adapter(AdapterError::Interrupted))
    }

    /// Why a cell has no number. What names the adapter's command or repeats what it said is apart from the reason.
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

/// Makes every adapter of a catalogue ready and asks what it offers; `building` hears of each that has to be built.
pub fn find_all(
    catalogue: &Catalogue,
    workshop: &Workshop<'_>,
    start: &StartSettings,
    building: &mut dyn FnMut(&Recipe),
    stop: &Stop,
) -> Vec<Found> {
    let mut all = Vec::new();
    for recipe in catalogue.recipes() {
        let outcome = find(recipe, workshop, start, building, stop);
        let is_interrupted = outcome.as_ref().is_err_and(Lacking::is_interrupted);
        all.push(Found { name: recipe.name.clone(), origin: recipe.origin, outcome });
        if is_interrupted {
            break;
        }
    }
    all
}

/// Makes an adapter ready and asks what it offers.
///
/// # Errors
/// [`Lacking`]: what is missing, or what is wrong.
pub fn find(
    recipe: &Recipe,
    workshop: &Workshop<'_>,
    start: &StartSettings,
    building: &mut dyn FnMut(&Recipe),
    stop: &Stop,
) -> Result<Offered, Lacking> {
    let ready = workshop.ready(recipe, &mut || building(recipe), stop)?;
    let description = describe(&ready.adapter, start, START.min(workshop.patience), stop)?;
    Ok(Offered { ready, description })
}
