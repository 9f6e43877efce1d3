//! [`RunOptions`]: what is meant by a run beside what it measures.

use crate::args::options::Global;
use crate::resolve::output::{self, OutputOptions};
use coretalk_measure::WorkerSettings;
use coretalk_model::CpuId;
use std::path::PathBuf;

/// What is meant by a run beside what it measures.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// With which threads; `None` where the work brings its own.
    pub workers: Option<WorkerSettings>,
    /// Where the run is kept.
    pub target: SaveTarget,
    /// What only the user knows.
    pub remarks: Remarks,
    /// What is written.
    pub output: OutputOptions,
    /// When what cannot be trusted matters to the exit code.
    pub strictness: Strictness,
}

impl RunOptions {
    /// As typed, on these CPUs.
    pub fn of(global: &Global, cpus: Option<Vec<CpuId>>) -> RunOptions {
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

/// Where a run is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveTarget {
    /// In a directory (`None`: the default one), under a tag.
    Store {
        /// `--store`.
        directory: Option<PathBuf>,
        /// `--name`.
        tag: Option<String>,
    },
    /// Nowhere.
    Nowhere,
}

/// What only the user knows of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// `--label`.
    pub label: Option<String>,
    /// `--note`.
    pub notes: Vec<(String, String)>,
}

/// When cells that cannot be trusted matter to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// They are shown.
    Lenient,
    /// They make the command fail.
    Strict,
}
