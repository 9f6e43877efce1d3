//! Screens, heat maps, pages, pictures and documents: pure functions from a run to text, without statistics.
//!
//! Every line of a screen fits the width of the [`Style`]. Colour is never the only sign of a fact.

pub mod advice;
pub mod blocks;
pub mod clock;
pub mod document;
pub mod export;
pub mod harmless;
pub mod reasons;
pub mod render {
    //! Rendering of blocks for each medium.

    pub mod html;
    pub mod markdown;
    pub mod terminal;
}
pub mod snippets;

pub mod advise;
pub mod agreement;
pub mod alignment;
mod answer;
mod best;
pub mod compare;
pub mod contend;
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
pub mod lists;
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
pub mod queue;
pub mod runs;
mod runtimes;
pub mod saved;
mod scope;
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

pub use saved::{Saved, Screen};
pub use screen::latency_screen;
pub use style::{By, ColorDepth, Order, Style};
pub use text::plain;
