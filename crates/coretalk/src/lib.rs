//! The tool: run files, reports, exports and the command line over `coretalk-measure` and `coretalk-model`.

pub mod advice;
pub mod args;
pub mod clock;
pub mod commands;
pub mod document;
pub mod exit;
pub mod export;
pub mod report;
pub mod resolve;
pub mod run;
pub mod snippets;
pub mod store;

pub use run::{PlaceReport, RunHeader, RunReport, SeriesReport};
