//! Statistics: one idea per file, no formatting of numbers.

pub mod estimate;
pub mod gaps;
mod location;

pub use estimate::Estimate;
pub use location::{
    MadScale, NORMAL_MAD_SCALE, mad, mean, median, median_in_place, median_of_sorted, quantile,
    quantile_of_sorted, trimmed_mean, variance,
};
