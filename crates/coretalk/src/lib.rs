//! The tool: run files, reports, exports and the command line. Uses `coretalk-measure` and `coretalk-model`.

pub mod args;
pub mod build_facts;
pub mod commands;
pub mod exit;
pub mod resolve {
    //! Resolves command lines: checks names and CPUs, and fills in defaults.

    pub mod adapters;
    pub mod cpus;
    pub mod files;
    pub mod machine;
    pub mod map;
    pub mod measure;
    pub mod output;
    pub mod placement;
    pub mod run_options;
    pub mod runtimes;
    pub mod source;
    pub mod task;
    pub mod trials;
    pub mod versus;
}
pub mod run {
    //! Performs a run from opening to closing, and writes its results.

    pub mod measure;
    pub mod out;
    pub mod outputs;
    pub mod placement;
    pub mod progress;
    pub mod resume;
    pub mod saved;
    pub mod segment;
    pub mod short;
    pub mod signals;
    pub mod watcher;
}
pub mod selftest;
pub mod store;
pub mod terminal;
