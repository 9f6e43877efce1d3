//! [`RunOptions`]: options for the workers, the saving and the output of a run.

use crate::args::options::Global;
use crate::resolve::output::{self, OutputOptions};
use coretalk_measure::WorkerSettings;
use coretalk_model::CpuId;
use std::path::PathBuf;

/// Options for the workers, the saving and the output of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// Worker threads; `None` if the measured programs start their own threads.
    pub workers: Option<WorkerSettings>,
    /// Destination of the run file.
    pub target: SaveTarget,
    /// Facts known only to the user.
    pub remarks: Remarks,
    /// Output options.
    pub output: OutputOptions,
    /// Whether untrusted values change the exit code.
    pub strictness: Strictness,
}

impl RunOptions {
    /// Resolves the options for these CPUs.
    pub fn from_global(global: &Global, cpus: Option<Vec<CpuId>>) -> RunOptions {
        RunOptions {
            workers: cpus.map(|cpus| WorkerSettings { cpus, nice: global.nice, realtime: global.rt }),
            target: match global.no_save {
                true => SaveTarget::Nowhere,
                false => SaveTarget::Store { directory: global.store.clone(), tag: global.name.clone() },
            },
            remarks: Remarks { label: global.label.clone(), notes: global.note.clone() },
            output: output::options(global),
            strictness: if global.strict { Strictness::Strict } else { Strictness::Lenient },
        }
    }
}

/// Destination of a run file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveTarget {
    /// A directory and a tag. Without a directory, the default one is used.
    Store {
        /// `--store`.
        directory: Option<PathBuf>,
        /// `--name`.
        tag: Option<String>,
    },
    /// The run is not saved.
    Nowhere,
}

/// Facts about the machine that only the user knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// `--label`.
    pub label: Option<String>,
    /// `--note`.
    pub notes: Vec<(String, String)>,
}

/// Whether cells that cannot be trusted change the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Such cells are only shown.
    Lenient,
    /// Such cells make the command fail.
    Strict,
}
