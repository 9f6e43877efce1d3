//! What a person reads: screens, heat map, words. Pure functions from a run to text; computes no statistic.
//!
//! Every line fits the width of the [`Style`], and nothing is said in colour alone.

#[cfg(target_os = "linux")]
pub mod adapters;
pub mod advise;
pub mod alignment;
mod answer;
mod best;
pub mod compare;
pub mod contend;
pub mod depth;
pub mod difference;
mod doubts;
pub mod execution;
pub mod facts;
pub mod figure;
mod findings;
pub mod fmt;
pub mod heat_map;
pub mod html;
mod idle;
mod idle_gaps;
pub mod imported;
pub mod input;
pub mod jitter;
mod labels;
pub mod ladder;
pub mod lint;
mod load;
pub mod overview;
mod padding;
pub mod palette;
pub mod parameters;
pub mod passes;
pub mod picture;
pub mod place;
pub mod plan;
mod plateaus;
mod plot;
pub mod progress;
pub mod queue;
pub mod runs;
mod runtimes;
pub(crate) mod saved;
pub mod screen;
pub mod series;
pub mod spawn;
pub mod spectra;
pub mod states;
pub mod structure;
pub mod style;
mod suite;
pub mod text;
pub mod topology;
mod trial_cells;
mod trial_maps;
mod trial_words;
pub mod wait;
pub mod wake;
pub mod words;

pub use depth::{ColorChoice, ColorDepth};
pub use progress::Progress;
pub use saved::{Saved, Screen};
pub use screen::latency_screen;
pub use style::{By, Order, Style};
pub use text::plain;
