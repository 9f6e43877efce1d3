//! The tool: run files, reports, exports and the command line over `coretalk-measure` and `coretalk-model`.

pub mod advice;
pub mod args;
pub mod blocks;
pub mod clock;
pub mod commands;
pub mod document;
pub mod exit;
pub mod export;
pub mod render {
    //! Blocks on what they are shown on.

    pub mod html;
    pub mod markdown;
    pub mod terminal;
}
pub mod report;
pub mod resolve;
pub mod run;
pub mod run_report;
pub mod snippets;
pub mod store;

pub use run_report::{LatencyReport, PlaceReport, RunHeader, RunReport, RunSettings, SeriesReport};
