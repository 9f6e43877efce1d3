//! What a person reads: screens, heat map, words. Pure functions from a run to text; computes no statistic.
//!
//! Every line fits the width of the [`Look`], and nothing is said in colour alone.

pub mod advise;
pub mod clock;
pub mod compare;
pub mod contend;
pub mod depth;
pub mod difference;
pub mod doctor;
mod doubts;
pub mod execution;
pub mod figure;
pub mod heat_map;
pub mod html;
mod idle;
pub mod imported;
pub mod jitter;
mod labels;
pub mod ladder;
pub mod lint;
mod load;
pub mod look;
pub mod overview;
mod padding;
pub mod pairs;
pub mod palette;
pub mod passes;
pub mod picture;
pub mod place;
pub mod plan;
mod plateaus;
pub mod probes;
pub mod progress;
pub mod queue;
pub mod runs;
pub mod screen;
pub mod series;
pub mod snippets;
pub mod spawn;
pub mod spectra;
pub mod states;
pub mod structure;
pub mod subject;
mod suite;
pub mod table;
pub mod tails;
pub mod text;
pub mod topology;
pub mod view;
pub mod wait;
pub mod words;

pub use depth::{ColorChoice, ColorDepth};
pub use look::{By, Look, Order};
pub use progress::Progress;
pub use screen::{Saved, Screen, latency_screen};
pub use text::plain;
