//! Matrix files of other tools: pure functions over bytes.
//!
//! [`read_matrices`] detects the format by content, never by name. Each reader is one file; what they share are
//! `document` (bytes to lines), `cell` (one latency), `label` (CPU ids), `id_table` (tables inside text), `delimited`,
//! `grid` and `frame` (separated values), `square` and `pairs` (cells to a matrix). The writers are [`write_csv`],
//! [`write_c2c_csv`] and [`write_markdown`], and [`write_rates_csv`] of what is no latency.
//!
//! A new format is one file, one line in `read` and one in [`FormatId`]. No reader allocates more than a small multiple
//! of its input, whatever a header promises.

mod aggregates;
mod bare_csv;
mod c2c_csv;
mod c2clat;
mod c2clat_json;
mod cell;
mod coherency;
mod coretalk_csv;
mod delimited;
mod document;
mod fixed_width;
mod frame;
mod grid;
pub mod hgrm;
mod hwloc;
mod id_table;
mod import_error;
mod imported;
mod ipc_json;
mod label;
mod long_csv;
mod markdown;
mod mctop;
mod pairs;
mod pivot;
mod read;
mod read_hgrm;
mod read_hlog;
mod report;
mod spectrum;
mod square;

pub use c2c_csv::write_c2c_csv;
pub use coretalk_csv::{write_csv, write_rates_csv};
pub use hwloc::{HwlocError, is_xml, read_hwloc};
pub use import_error::{ImportError, IntervalError, Problem};
pub use imported::{FormatId, ImportedMatrix, Labels, Printed, Spread, Unit, Warning};
pub use markdown::write_markdown;
pub use read::{MAX_CPUS, read_matrices};
pub use read_hgrm::{holds_percentiles, read_hgrm};
pub use read_hlog::{is_hlog, read_hlog};
pub use spectrum::{Percentile, Spectrum, SpectrumRow};
