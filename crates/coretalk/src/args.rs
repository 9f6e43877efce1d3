//! The command line as typed: nothing has been looked up. The definitions here are also help, completions and manual.

pub mod broadcast;
pub mod contend;
pub mod jitter;
pub mod latency;
pub mod options;
pub mod parse;
pub mod place;
pub mod queue;
pub mod series;
pub mod sharing;
pub mod spawn;
pub mod value;
pub mod wait;
pub mod wake;
pub mod words;

use crate::args::broadcast::BroadcastArgs;
use crate::args::contend::ContendArgs;
use crate::args::jitter::JitterArgs;
use crate::args::latency::LatencyArgs;
use crate::args::place::PlaceArgs;
use crate::args::queue::QueueArgs;
use crate::args::sharing::SharingArgs;
use crate::args::spawn::SpawnArgs;
use crate::args::wait::WaitArgs;
use crate::args::wake::WakeArgs;
use crate::args::words::{FailOnWord, ScaleWord};
use clap::{Args, Parser, Subcommand};
use coretalk_model::advise::{Pattern, Sharing};
use coretalk_model::{CpuSet, Protocol};
use options::{
    COMPARED, DRAWN, EXPORTS, EXPORTS_OF_MAP, EXPORTS_OF_PLACE, Global, MEASURED, RESULT, SAID, SAVED,
    WATCHED, takes,
};
use std::path::PathBuf;
use words::{one_of, protocol};

/// Measures how fast the CPUs of a machine talk to each other.
///
/// Without a command: the quick look. Measures every pair of CPUs, says what was found in words, and saves the run.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "coretalk",
    bin_name = "coretalk",
    version,
    max_term_width = 100,
    subcommand_negates_reqs = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// What to do.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Measure a latency matrix
    #[command(args = takes(&[MEASURED, SAVED, &["strict", "keep_raw"], RESULT, DRAWN, EXPORTS_OF_MAP, SAID]))]
    Latency(Box<LatencyArgs>),
    /// Measure what each way of waiting for another thread costs
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order", "color"], EXPORTS, SAID]))]
    Wait(Box<WaitArgs>),
    /// Measure how long until a thread that waits in a primitive runs again
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, DRAWN, EXPORTS, SAID]))]
    Wake(Box<WakeArgs>),
    /// Measure how many messages a second pass through bounded queues
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order", "color"], EXPORTS, SAID]))]
    Queue(Box<QueueArgs>),
    /// Compare placements: the same work on other CPUs
    #[command(args = takes(&[COMPARED, SAVED, RESULT, EXPORTS_OF_PLACE, SAID]))]
    Place(Box<PlaceArgs>),
    /// Measure what it costs to start a thread or a process
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Spawn(Box<SpawnArgs>),
    /// Measure what it costs when many threads change one number
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, EXPORTS, SAID]))]
    Contend(Box<ContendArgs>),
    /// Measure how far apart two threads must write
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Sharing(Box<SharingArgs>),
    /// Measure how soon many readers see what one thread writes
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Broadcast(Box<BroadcastArgs>),
    /// Measure how quiet each CPU is
    #[command(args = takes(&[WATCHED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Jitter(Box<JitterArgs>),
    /// Measure everything there is to measure, in one run
    #[command(args = takes(&[MEASURED, SAVED, &["strict", "keep_raw"], RESULT, DRAWN, EXPORTS_OF_MAP, &["export_hgrm"], SAID]))]
    Suite,
    /// List, show, name and remove saved runs (default: list)
    #[command(args = takes(&[&["store", "output"]]))]
    Runs(RunsArgs),
    /// Write a saved run as data
    #[command(args = takes(&[&["store", "with_identity", "quiet"], RESULT]))]
    Export(ExportArgs),
    /// Write runs as a page or a picture to share: .html, .svg or .png
    #[command(args = takes(&[&["store", "output", "order", "by", "with_identity", "quiet"]]))]
    Report(ReportArgs),
    /// Show latency matrices of other tools, or convert them
    #[command(args = takes(&[RESULT, &["order", "color", "quiet"]]))]
    Import(ImportArgs),
    /// Show percentile tables (.hgrm) and interval logs (.hlog) of any tool, or write them as a page or a picture
    #[command(args = takes(&[&["output", "quiet"]]))]
    View(ViewArgs),
    /// Say what is doubtful about latency matrices of other tools
    #[command(args = takes(&[&["strict", "output", "quiet"]]))]
    Lint(LintArgs),
    /// Say what differs between two runs or matrix files; of more, show a table
    #[command(args = takes(&[RESULT, &["store", "with_identity", "quiet"]]))]
    Compare(CompareArgs),
    /// Look for everything that could spoil a measurement; changes nothing
    #[command(args = takes(&[RESULT, &["with_identity", "machine"]]))]
    Doctor,
    /// Show how the machine is built: as the system reports it, and as its latencies show it
    #[command(args = takes(&[RESULT, &["with_identity", "machine", "store", "quiet"]]))]
    Topology(TopologyArgs),
    /// Say on which CPUs threads that talk should live, and what that gains
    #[command(args = takes(&[RESULT, &["with_identity", "cpus", "smt", "machine", "seed", "budget", "store", "quiet"]]))]
    Advise(Box<AdviseArgs>),
    /// Show cost, resolution and frequency of the clock
    #[command(args = takes(&[RESULT, &["with_identity", "machine", "budget"]]))]
    Clock,
    /// List what can be measured, or show the machine code of a timed loop
    #[command(args = takes(&[RESULT]))]
    Probes(ProbesArgs),
    /// Say what would be measured and how long it takes
    #[command(args = takes(&[MEASURED, RESULT, &["with_identity", "keep_raw"]]))]
    Plan(PlanArgs),
    /// Print a completion script for a shell
    #[command(args = takes(&[&["output"]]))]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(args = takes(&[&["output"]]))]
    Man,
    /// Do one run of a workload: what `place` starts
    #[command(hide = true)]
    Work(WorkWords),
}

/// Options of `runs`.
#[derive(Debug, Clone, Args)]
pub struct RunsArgs {
    /// What to do with them (default: list).
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
}

/// What to do with saved runs.
#[derive(Debug, Clone, Subcommand)]
pub enum RunsCommand {
    /// List saved runs, newest first
    #[command(args = takes(&[&["store", "output"]]))]
    List,
    /// Show a run again
    #[command(args = takes(&[RESULT, DRAWN, &["store", "with_identity", "quiet"]]))]
    Show {
        /// latest, latest~1, a tag, the beginning or end of an id, or a path
        run: String,
        /// With every step of the ladder, which the quick look shows in short
        #[arg(long)]
        ladder: bool,
    },
    /// Print names that runs can be called by: what completion offers
    #[command(hide = true)]
    #[command(args = takes(&[&["store", "output"]]))]
    Names,
    /// Give a run a name
    #[command(args = takes(&[&["store", "quiet"]]))]
    Tag {
        /// Which run
        run: String,
        /// Its new name
        #[arg(value_name = "NAME", value_parser = value::tag)]
        tag: String,
    },
    /// Remove a run
    #[command(args = takes(&[&["store", "quiet"]]))]
    Rm {
        /// Which run
        run: String,
    },
    /// Print the path of a run's file
    #[command(args = takes(&[&["store", "output", "quiet"]]))]
    Path {
        /// Which run
        run: String,
    },
}

/// Options of `export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// latest, latest~1, a tag, the beginning or end of an id, or a path
    pub run: String,
    /// Which matrix, for formats that hold one and runs that have several; it alone, for tables of runs with trials
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub protocol: Option<Protocol>,
    /// The trials of one probe alone, for tables (csv, markdown) of runs that have a map or several probes
    #[arg(long, value_name = "NAME", conflicts_with = "protocol")]
    pub probe: Option<String>,
}

/// Options of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Runs as `export` takes them, or matrix files of any tool; several stand side by side
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// What the colours span first (default: fixed)
    #[arg(long, value_name = "WHICH")]
    pub scale: Option<ScaleWord>,
}

/// Options of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Matrix files of any tool; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `view`.
#[derive(Debug, Clone, Args)]
pub struct ViewArgs {
    /// Percentile tables or interval logs of HdrHistogram, of any tool, laid over each other; `-` reads standard input.
    /// With `-o` the ending of that file says what is written: .html, .svg, .png, else text
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `lint`.
#[derive(Debug, Clone, Args)]
pub struct LintArgs {
    /// Matrix files of any tool; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Two runs (latest, a tag, an id, a path) or matrix files of any tool; more give a table of medians
    #[arg(required = true, num_args = 2.., value_name = "RUN|FILE")]
    pub sides: Vec<String>,
    /// The least difference that counts, 0.1% to 100% (default: 3%)
    #[arg(long, value_name = "PERCENT", value_parser = value::min_effect)]
    pub min_effect: Option<f64>,
    /// Exit with 1 if the second is this, with 7 if that cannot be told
    #[arg(long, value_name = "WHAT")]
    pub fail_on: Option<FailOnWord>,
    /// Compare although the conditions make it another experiment
    #[arg(long)]
    pub force: bool,
}

/// Options of `topology`.
#[derive(Debug, Clone, Args)]
pub struct TopologyArgs {
    /// Of a saved run, a matrix file or the XML of hwloc, instead of measuring this machine for some seconds
    #[arg(long, value_name = "RUN|FILE", conflicts_with = "machine")]
    pub from: Option<String>,
    /// Take what is reported from the XML of hwloc (lstopo FILE.xml) instead of the system
    #[arg(long, value_name = "FILE")]
    pub reported: Option<PathBuf>,
}

/// Options of `advise`.
#[derive(Debug, Clone, Args)]
pub struct AdviseArgs {
    /// How many threads there are
    #[arg(long, short = 'n', value_name = "N", required_unless_present = "graph",
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub threads: Option<u32>,
    /// Who talks to whom: pairs, ring, pipeline, all-to-all, independent (default: all-to-all)
    #[arg(long, value_name = "PATTERN", value_parser = one_of(Pattern::ALL, Pattern::name))]
    pub pattern: Option<Pattern>,
    /// The same as a file of lines `a b weight`: thread a and thread b, counted from 0, say so much to each other
    #[arg(long, value_name = "FILE", conflicts_with = "pattern")]
    pub graph: Option<PathBuf>,
    /// From a saved run or a matrix file, instead of measuring this machine for some seconds
    #[arg(long, value_name = "RUN|FILE")]
    pub from: Option<String>,
    /// Take what is reported from the XML of hwloc (lstopo FILE.xml) instead of the system
    #[arg(long, value_name = "FILE")]
    pub reported: Option<PathBuf>,
    /// Run work that talks like this on the advised placement and on the usual ones, and hold it against the prediction
    #[arg(long)]
    pub prove: bool,
    /// CPUs to leave alone, such as noisy ones or those of interrupts
    #[arg(long, value_name = "LIST", value_parser = value::cpu_list)]
    pub avoid: Option<CpuSet>,
    /// Leave alone what was noisy in this run of `jitter`: CPUs that lost 0.1 % of their time or more beside their
    /// longest gap, and more than twice what quiet ones did
    #[arg(long, value_name = "RUN")]
    pub jitter: Option<String>,
    /// Two threads on one core, where they talk fastest and compute slowest (default: if-needed)
    #[arg(long, value_name = "WHEN", value_parser = one_of(Sharing::ALL, Sharing::name))]
    pub sharing: Option<Sharing>,
    /// Only cores of this class, as `topology` names them, such as P or E
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// Only CPUs of this memory node
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
}

/// Options of `probes`.
#[derive(Debug, Clone, Args)]
pub struct ProbesArgs {
    /// Show the machine code of this kernel's timed loop, for example cas+pause; of a way of waiting: wait:pause
    #[arg(long, value_name = "NAME")]
    pub asm: Option<String>,
}

/// Options of `plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// Of which command (default: the quick look).
    #[command(subcommand)]
    pub of: Option<PlannedCommand>,
}

/// What can be planned.
#[derive(Debug, Clone, Subcommand)]
pub enum PlannedCommand {
    /// Plan a latency matrix
    #[command(args = takes(&[MEASURED, RESULT, &["with_identity", "keep_raw"]]))]
    Latency(Box<LatencyArgs>),
    /// Plan ways of waiting
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Wait(Box<WaitArgs>),
    /// Plan wake-ups
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Wake(Box<WakeArgs>),
    /// Plan throughput of queues
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Queue(Box<QueueArgs>),
    /// Plan a comparison of placements
    #[command(args = takes(&[COMPARED, &["output"]]))]
    Place(Box<PlaceArgs>),
    /// Plan creations
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Spawn(Box<SpawnArgs>),
    /// Plan contention
    #[command(args = takes(&[MEASURED, &["output"]]))]
    Contend(Box<ContendArgs>),
    /// Plan writes at several distances
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Sharing(Box<SharingArgs>),
    /// Plan writes to many readers
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Broadcast(Box<BroadcastArgs>),
    /// Plan a look at how quiet each CPU is
    #[command(args = takes(&[WATCHED, &["order", "output"]]))]
    Jitter(Box<JitterArgs>),
    /// Plan a run of everything
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Suite,
}

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// The words of a run of a workload, as `place` says them.
#[derive(Debug, Clone, Args)]
pub struct WorkWords {
    /// Name, threads, milliseconds, CPUs in role order; or a stage of the chain
    #[arg(required = true)]
    pub words: Vec<String>,
}
