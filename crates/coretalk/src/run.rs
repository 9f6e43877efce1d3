//! One run, from opening to closing: what is measured on the way, and where its results go.

pub mod measure;
pub mod out;
pub mod outputs;
mod part;
pub mod placement;
pub mod resume;
pub mod saved;
pub mod segment;
pub mod settings_text;
pub mod short;
pub mod signals;
pub mod watcher;
