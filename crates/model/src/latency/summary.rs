//! What words and pictures need of a map: medians over groups of cells. Descriptive only; nothing here is inferred.

mod contrast;
mod counts;
mod distance;
mod order;
mod overall;
mod states;
mod steps;
mod table;

pub use contrast::{ClassPair, Contrast, OfRelation, all_apart, by_relation, class_pairs, contrasts};
pub use counts::{counts_mean, counts_percentile, counts_total};
pub use distance::id_distance_correlation;
pub use order::measured_order;
pub use overall::{Extreme, Overall, overall};
pub use states::{StateContrast, contradicting_state, state_contrast};
pub use steps::value_steps;
pub use table::{Reading, Table, TableCell, readings, table};
