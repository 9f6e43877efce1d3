//! Statistics: one topic per file, no formatting of numbers.

pub mod autocorrelation;
pub mod compare;
pub mod correlation;
pub mod drift;
pub mod elementary;
mod estimate;
pub mod gaps;
pub mod gate;
mod interval;
pub mod latin;
mod lines;
mod location;
pub mod multiple;
pub mod normal;
mod order_statistic;
pub mod permutation;
mod processes;
mod random;
mod states;
mod stopping;

pub use correlation::{Correlation, Pool};
pub use drift::{CellPass, drift_interval};
pub use estimate::{Estimate, WIDEST_STATED};
pub(crate) use interval::student;
pub use interval::{block_medians, fixed_interval, mean_interval, passes_interval, share_interval};
pub use lines::{LineScratch, LineSummary, summarize_lines};
pub use location::{
    MadScale, NORMAL_MAD_SCALE, mad, mean, median, median_in_place, median_of_sorted, quantile,
    quantile_of_sorted, trimmed_mean, variance,
};
pub use order_statistic::{exact_median_interval, interpolated_median_interval, median_ranks};
pub use processes::processes_interval;
pub use random::Key;
pub use states::{Detector, State, holds_still, split_states, split_states_jointly};
pub use stopping::{
    ANALYSES, Analysis, Decision, MAX_ANALYSES, MIN_PASSES, decide, expected_analysis, spent_alpha,
};
