//! Matrix files of other tools: pure functions over bytes.
//!
//! [`read_matrices`] detects the format by content, never by name. Readers are grouped by the layout of cells:
//! `bare_csv` (separated values), `id_table` (tables inside text), `pairs` (one line per pair), `json`, and `write`
//! (coretalk's own). They share `document` (bytes to lines), `field` (one latency or CPU id), `delimited` and `frame`
//! (separated values), and `square` (cells to a matrix).
//!
//! A new format needs a reader, one line in `read` and one in [`FormatId`]. Every reader allocates at most a small
//! multiple of its input, whatever the header of a file promises.

mod bare_csv;
mod delimited;
mod document;
mod field;
mod frame;
pub mod hgrm;
mod hwloc;
mod id_table;
mod import_error;
mod imported;
mod json;
mod pairs;
mod read;
mod read_hgrm;
mod read_hlog;
mod square;
mod write;

pub use hgrm::{Percentile, Spectrum, SpectrumRow, TOLD_SHARES};
pub use hwloc::{HwlocError, is_xml, read_hwloc};
pub use import_error::{ImportError, IntervalError, Problem};
pub use imported::{FormatId, ImportedMatrix, Labels, Printed, Spread, Unit, Warning};
pub use read::{MAX_CPUS, read_matrices};
pub use read_hgrm::{holds_percentiles, read_hgrm};
pub use read_hlog::{is_hlog, read_hlog};
pub use write::{write_c2c_csv, write_csv, write_markdown, write_rates_csv};
