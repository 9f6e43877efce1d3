//! What words and pictures need of a map: medians over groups of cells. Descriptive only; nothing here is inferred.

mod contrast;
mod counts;
mod order;
mod overall;
mod table;

pub use contrast::{ClassPair, Contrast, class_pairs, contrasts};
pub use counts::{counts_mean, counts_percentile, counts_total};
pub use order::measured_order;
pub use overall::{Extreme, Overall, overall};
pub use table::{Reading, Table, TableCell, readings, table};
