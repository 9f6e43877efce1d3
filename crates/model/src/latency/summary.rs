//! Descriptive summaries of a map for text and pictures: medians over groups of cells, without inference.

mod contrast;
mod distance;
mod overall;
mod states;
mod table;

#[cfg(test)]
pub(crate) use contrast::tests::map as tests_map;
pub use contrast::{
    ClassPair, Contrast, OfRelation, VISIBLE_CONTRAST, all_apart, by_relation, class_pairs, contrasts,
    readings_by_relation,
};
pub use distance::id_distance_correlation;
pub use overall::{
    ByValue, Extreme, Overall, counts_mean, counts_percentile, counts_total, measured_order, overall,
    value_steps,
};
pub use states::{StateContrast, contradicting_state, state_contrast};
pub use table::{OwnCell, PairReading, SummaryTable, TableCell, readings, table};
