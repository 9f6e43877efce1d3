//! [`Global`]: options that several commands share. A command selects them with [`takes`].

use super::value::{self, MachineWord};
use super::words::{self};
use super::words::{ByWord, ColorWord, OrderWord, SmtWord};
use clap::{Arg, Args, Command};
use coretalk_model::{CpuSelection, Picos};
use coretalk_report::export::Format;
use std::path::PathBuf;

/// Options that several commands share, before or after the command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machine and run")]
pub struct Global {
    /// CPUs to measure, for example 0-3,8, a mask such as 0xff00, or names: core:N, cluster:N, l3:N, die:N, node:N,
    /// package:N as numbered by `topology`, p-cores, e-cores, isolated, quiet:N (the N least busy now); ! excludes, as in
    /// package:0,!core:0 (default: all that this process may use)
    #[arg(long, global = true, value_name = "LIST", value_parser = value::cpus)]
    pub cpus: Option<CpuSelection>,
    /// Hardware threads to measure: all, one per core, or only pairs of SMT siblings (default: all; one-per-core for advise)
    #[arg(long, global = true, value_name = "WHICH")]
    pub smt: Option<SmtWord>,
    /// Machine to measure: host, sim:NAME, sim:FILE.toml or sim:FILE with a matrix (default: host)
    #[arg(long, global = true, value_name = "MACHINE", value_parser = value::machine())]
    pub machine: Option<MachineWord>,
    /// Random seed (default: a new one, stored with the run)
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Target half-width of 95 % confidence intervals, 0.1% to 50% (default: 2%)
    #[arg(long, global = true, value_name = "PERCENT", value_parser = value::precision)]
    pub precision: Option<f64>,
    /// Maximum machine time, for example 60s (default: depends on machine size)
    #[arg(long, global = true, value_name = "TIME", value_parser = value::budget)]
    pub budget: Option<Picos>,
    /// Nice value to request, -20 to 19 (default: -20 if permitted)
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// Real-time (SCHED_FIFO) priority to request, 1 to 99
    #[arg(long, global = true, value_name = "N", conflicts_with = "nice",
          value_parser = clap::value_parser!(i32).range(1..=99))]
    pub rt: Option<i32>,
    /// Exit with 1 if any result cannot be trusted
    #[arg(long, global = true)]
    pub strict: bool,
    /// Resume an interrupted run with the settings in its file
    #[arg(long, global = true, value_name = "RUN", conflicts_with_all = ["no_save", "name", "label", "note"])]
    pub resume: Option<String>,

    /// Directory for run files (default: CORETALK_STORE, a .coretalk folder here or above, or the user's data folder)
    #[arg(long, global = true, value_name = "DIR", help_heading = "Saving")]
    pub store: Option<PathBuf>,
    /// Do not save the run
    #[arg(long, global = true, conflicts_with_all = ["store", "name", "keep_raw"], help_heading = "Saving")]
    pub no_save: bool,
    /// Tag for the run
    #[arg(long, global = true, value_name = "TAG", value_parser = value::tag, help_heading = "Saving")]
    pub name: Option<String>,
    /// Keep raw ticks also with more than 64 CPUs
    #[arg(long, global = true, help_heading = "Saving")]
    pub keep_raw: bool,
    /// Name of the machine in results
    #[arg(long, global = true, value_name = "TEXT", help_heading = "Saving")]
    pub label: Option<String>,
    /// Record a fact about the machine, for example fabric=1800MHz; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = value::note, help_heading = "Saving")]
    pub note: Vec<(String, String)>,

    /// Format of the result (default: by the extension of the `-o` file, .json, .jsonl, .csv, .md or .hgrm; otherwise
    /// text, and json for `export`)
    #[arg(long, global = true, value_name = "FORMAT", value_parser = words::formats(), help_heading = "Output")]
    pub format: Option<Format>,
    /// Write the result to a file instead of standard output
    #[arg(long, short, global = true, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write the result as CSV: a matrix with CPU IDs, or the values of each run; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Vec<PathBuf>,
    /// Also write a bare matrix in core-to-core-latency format; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_c2c_csv: Vec<PathBuf>,
    /// Also write the result as a Markdown table; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_markdown: Vec<PathBuf>,
    /// Also write the JSON document; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_json: Vec<PathBuf>,
    /// Also write one JSON line per trial; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_jsonl: Vec<PathBuf>,
    /// Also write every distribution to a directory, as percentile tables; repeatable
    #[arg(long, global = true, value_name = "DIR", help_heading = "Output")]
    pub export_hgrm: Vec<PathBuf>,
    /// Order of rows and columns (default: topology)
    #[arg(long, global = true, value_name = "ORDER", help_heading = "Output")]
    pub order: Option<OrderWord>,
    /// Rows of the heat map (default: core)
    #[arg(long, global = true, value_name = "WHAT", help_heading = "Output")]
    pub by: Option<ByWord>,
    /// Include the host name and other private facts
    #[arg(long, global = true, help_heading = "Output")]
    pub with_identity: bool,
    /// When to use colour (default: auto; NO_COLOR is honoured)
    #[arg(long, global = true, value_name = "WHEN", help_heading = "Output")]
    pub color: Option<ColorWord>,
    /// Print no progress and no warnings on standard error
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// Print settings and phases on standard error
    #[arg(long, short, global = true, help_heading = "Output")]
    pub verbose: bool,
}

/// Options of the measurement.
pub const MEASURED: &[&str] = &["cpus", "smt", "machine", "seed", "precision", "budget", "nice", "rt"];
/// [`MEASURED`] for `jitter`. `--for` sets the time instead of `budget`. Rare gaps have no interval and no `precision`.
pub const WATCHED: &[&str] = &["cpus", "smt", "machine", "seed", "nice", "rt"];
/// [`MEASURED`] for `place` and `versus`, without `nice` and `rt`. The compared programs set their own priority.
pub const COMPARED: &[&str] = &["cpus", "smt", "machine", "seed", "precision", "budget"];
/// Settings in the run file. A resumed run accepts none of them as options.
pub const SETTINGS: &[&str] = &["cpus", "smt", "seed", "precision", "keep_raw"];
/// Storage and metadata of a new run.
pub const SAVED: &[&str] = &["resume", "store", "no_save", "name", "label", "note"];
/// Format and destination of the result.
pub const RESULT: &[&str] = &["format", "output"];
impl Global {
    /// Additional output files with their formats.
    pub fn exports(&self) -> Vec<(Format, PathBuf)> {
        let files = [
            (Format::Csv, &self.export_csv),
            (Format::C2cCsv, &self.export_c2c_csv),
            (Format::Markdown, &self.export_markdown),
            (Format::Json, &self.export_json),
            (Format::Jsonl, &self.export_jsonl),
            (Format::Hgrm, &self.export_hgrm),
        ];
        files
            .into_iter()
            .flat_map(|(format, files)| files.iter().map(move |file| (format, file.clone())))
            .collect()
    }
}

/// Presentation of a matrix.
pub const DRAWN: &[&str] = &["order", "by", "color"];
/// Additional output files for trials.
pub const EXPORTS: &[&str] = &["export_csv", "export_markdown", "export_json", "export_jsonl", "export_hgrm"];
/// Additional output files for a map.
pub const EXPORTS_OF_MAP: &[&str] =
    &["export_csv", "export_c2c_csv", "export_markdown", "export_json", "export_jsonl"];
/// Additional output files for a comparison.
pub const EXPORTS_OF_PLACE: &[&str] = &["export_csv", "export_markdown", "export_json", "export_jsonl"];
/// Options for private facts and the number of messages.
pub const SAID: &[&str] = &["with_identity", "quiet", "verbose"];
/// Options of `coretalk` without a command (the quick look).
pub const QUICK_LOOK: &[&[&str]] =
    &[MEASURED, SAVED, &["strict", "keep_raw"], RESULT, DRAWN, EXPORTS_OF_MAP, SAID];

/// All options of [`Global`].
pub fn all() -> Vec<Arg> {
    Global::augment_args(Command::new("")).get_arguments().cloned().collect()
}

/// Selects the options of a command by their ids. Panics if an option does not exist.
pub fn takes(sets: &[&[&str]]) -> Vec<Arg> {
    let ids = sets.concat();
    let all = all();
    for id in &ids {
        assert!(all.iter().any(|arg| arg.get_id() == id), "there is no option `{id}`");
    }
    all.into_iter().filter(|arg| ids.contains(&arg.get_id().as_str())).collect()
}
