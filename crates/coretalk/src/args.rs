//! The command line as typed, before any lookup. The definitions also produce help, completions and the manual page.

pub mod adapters;
pub mod broadcast;
pub mod contend;
pub mod examples;
pub mod jitter;
pub mod latency;
pub mod options;
pub mod parse;
pub mod place;
pub mod queue;
pub mod runtime;
pub mod series;
pub mod sharing;
pub mod spawn;
pub mod value;
pub mod versus;
pub mod wait;
pub mod wake;
pub mod words;

use crate::args::adapters::AdaptersArgs;
use crate::args::broadcast::BroadcastArgs;
use crate::args::contend::ContendArgs;
use crate::args::jitter::JitterArgs;
use crate::args::latency::LatencyArgs;
use crate::args::place::PlaceArgs;
use crate::args::queue::QueueArgs;
use crate::args::series::SeriesArgs;
use crate::args::sharing::SharingArgs;
use crate::args::spawn::SpawnArgs;
use crate::args::versus::VersusArgs;
use crate::args::wait::WaitArgs;
use crate::args::wake::WakeArgs;
use crate::args::words::{AxisWord, FailOnWord, ScaleWord};
use clap::{Args, Parser, Subcommand};
use coretalk_model::advise::{Pattern, Sharing};
use coretalk_model::{CpuSelection, Protocol};
use options::{
    COMPARED, DRAWN, EXPORTS, EXPORTS_OF_MAP, EXPORTS_OF_PLACE, Global, MEASURED, RESULT, SAID, SAVED,
    WATCHED, takes,
};
use std::ffi::OsString;
use std::path::PathBuf;
use words::{one_of, protocol};

/// Measures how fast the CPUs of a machine talk to each other.
///
/// Without a command, a quick look: measures every pair of CPUs, explains the results and saves the run.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "coretalk",
    bin_name = "coretalk",
    version,
    max_term_width = 100,
    subcommand_negates_reqs = true
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options that several commands share.
    #[command(flatten)]
    pub global: Global,
}

/// Commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Commands that measure.
    #[command(flatten)]
    Measure(MeasureCommand),
    /// List, show, tag and remove saved runs (default: list)
    #[command(args = takes(&[&["store"], RESULT]))]
    Runs(RunsArgs),
    /// Export a saved run as data
    #[command(args = takes(&[&["store", "with_identity", "quiet", "order"], RESULT]))]
    Export(ExportArgs),
    /// Write runs to a page or picture for sharing: .html, .svg or .png
    #[command(args = takes(&[&["store", "output", "order", "by", "with_identity", "quiet"]]))]
    Report(ReportArgs),
    /// Show or convert latency matrices from other tools
    #[command(args = takes(&[RESULT, &["order", "color", "quiet"]]))]
    Import(ImportArgs),
    /// Show percentile tables (.hgrm) and interval logs (.hlog) from any tool in the terminal, a page or a picture
    #[command(args = takes(&[&["output", "quiet"]]))]
    View(ViewArgs),
    /// Are latency matrices from other tools plausible?
    #[command(args = takes(&[&["strict", "output", "quiet"]]))]
    Lint(LintArgs),
    /// What differs between two runs or matrix files? Tabulates three or more
    #[command(args = takes(&[RESULT, &["store", "with_identity", "quiet"]]))]
    Compare(CompareArgs),
    /// What could distort measurements on this machine? Changes nothing
    #[command(args = takes(&[RESULT, &["with_identity", "machine"]]))]
    Doctor,
    /// What is the structure of the machine, as reported by the system and as inferred from its latencies?
    #[command(args = takes(&[RESULT, &["with_identity", "machine", "store", "quiet"]]))]
    Topology(TopologyArgs),
    /// Which CPUs should communicating threads run on, and what is the gain?
    #[command(args = takes(&[RESULT, &["with_identity", "cpus", "smt", "machine", "seed", "budget", "store", "quiet"]]))]
    Advise(Box<AdviseArgs>),
    /// Which CPUs are idle now? Prints the N quietest for `taskset -c`
    #[command(args = takes(&[&["cpus", "smt", "machine", "output", "quiet"]]))]
    Quiet(QuietArgs),
    /// How precise and stable is the clock, and what does reading it cost?
    #[command(args = takes(&[RESULT, &["with_identity", "machine", "budget"]]))]
    Clock,
    /// Can measurements on this machine be trusted? Runs checks that take less than a minute
    #[command(args = takes(&[RESULT, &["with_identity", "quiet"]]))]
    Selftest,
    /// Which runtimes of other languages (queues, waits, locks, threads) can be measured here, and what is missing?
    #[command(args = takes(&[&["output", "quiet"]]))]
    Adapters(AdaptersArgs),
    /// What can be measured? Also shows the machine code of a timed loop
    #[command(args = takes(&[RESULT]))]
    Probes(ProbesArgs),
    /// What would be measured, and how long would it take?
    #[command(args = takes(&[MEASURED, RESULT, &["with_identity", "keep_raw"]]))]
    Plan(PlanArgs),
    /// Print a completion script for a shell
    #[command(args = takes(&[&["output"]]))]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(args = takes(&[&["output"]]))]
    Man,
    /// Run a workload once; started by `place`
    #[command(hide = true)]
    Work(WorkWords),
}

/// Commands that measure.
#[derive(Debug, Clone, Subcommand)]
pub enum MeasureCommand {
    /// How long does a cache line take from one CPU to another?
    #[command(args = takes(&[MEASURED, SAVED, &["strict", "keep_raw"], RESULT, DRAWN, EXPORTS_OF_MAP, SAID]))]
    Latency(Box<LatencyArgs>),
    /// What does each way of waiting for another thread cost?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order", "color"], EXPORTS, SAID]))]
    Wait(Box<WaitArgs>),
    /// How long until a waiting thread runs again?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, DRAWN, EXPORTS, SAID]))]
    Wake(Box<WakeArgs>),
    /// How many messages per second pass through a bounded queue?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order", "color"], EXPORTS, SAID]))]
    Queue(Box<QueueArgs>),
    /// On which CPUs does a given workload run fastest?
    #[command(args = takes(&[COMPARED, SAVED, RESULT, EXPORTS_OF_PLACE, SAID]))]
    Place(Box<PlaceArgs>),
    /// Which of several commands is faster?
    #[command(args = takes(&[COMPARED, SAVED, RESULT, EXPORTS_OF_PLACE, SAID]), mut_arg("cpus", versus::cpus), mut_arg("budget", versus::budget))]
    Versus(Box<VersusArgs>),
    /// What does it cost to start a thread or a process?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Spawn(Box<SpawnArgs>),
    /// What does it cost when many threads update one counter?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, EXPORTS, SAID]))]
    Contend(Box<ContendArgs>),
    /// How far apart must two threads write to avoid false sharing?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Sharing(Box<SharingArgs>),
    /// How long until many readers see what one thread writes?
    #[command(args = takes(&[MEASURED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Broadcast(Box<BroadcastArgs>),
    /// How much time does each CPU lose to interrupts and other programs?
    #[command(args = takes(&[WATCHED, SAVED, &["strict"], RESULT, &["order"], EXPORTS, SAID]))]
    Jitter(Box<JitterArgs>),
    /// Measure with every probe in one run
    #[command(args = takes(&[MEASURED, SAVED, &["strict", "keep_raw"], RESULT, DRAWN, EXPORTS_OF_MAP, &["export_hgrm"], SAID]))]
    Suite,
}

impl MeasureCommand {
    /// Returns what the command measures.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            MeasureCommand::Latency(args) => Subject::of_latency(args),
            MeasureCommand::Wait(args) => Subject::Trials(&**args),
            MeasureCommand::Wake(args) => Subject::Trials(&**args),
            MeasureCommand::Queue(args) => Subject::Trials(&**args),
            MeasureCommand::Place(args) => Subject::Placements(args),
            MeasureCommand::Versus(args) => Subject::Commands(args),
            MeasureCommand::Spawn(args) => Subject::Trials(&**args),
            MeasureCommand::Contend(args) => Subject::Trials(&**args),
            MeasureCommand::Sharing(args) => Subject::Trials(&**args),
            MeasureCommand::Broadcast(args) => Subject::Trials(&**args),
            MeasureCommand::Jitter(args) => Subject::Trials(&**args),
            MeasureCommand::Suite => Subject::Map(MapCommand::Suite),
        }
    }
}

/// Options of `runs`.
#[derive(Debug, Clone, Args)]
pub struct RunsArgs {
    /// The subcommand (default: list).
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
}

/// Subcommands of `runs`.
#[derive(Debug, Clone, Subcommand)]
pub enum RunsCommand {
    /// List saved runs, newest first
    #[command(args = takes(&[&["store"], RESULT]))]
    List,
    /// Show a saved run
    #[command(args = takes(&[RESULT, DRAWN, &["store", "with_identity", "quiet"]]))]
    Show {
        /// latest, latest~1, a tag, the start or end of an ID, or a path
        run: OsString,
        /// Show every step of the ladder instead of only the main ones
        #[arg(long)]
        ladder: bool,
    },
    /// Print the names of runs, for shell completion
    #[command(hide = true)]
    #[command(args = takes(&[&["store", "output"]]))]
    Names,
    /// Tag a run
    #[command(args = takes(&[&["store", "quiet"]]))]
    Tag {
        /// The run
        run: OsString,
        /// The tag
        #[arg(value_name = "NAME", value_parser = value::tag)]
        tag: String,
    },
    /// Remove a run
    #[command(args = takes(&[&["store", "quiet"]]))]
    Rm {
        /// The run
        run: OsString,
    },
    /// Print the path of a run's file
    #[command(args = takes(&[&["store", "output", "quiet"]]))]
    Path {
        /// The run
        run: OsString,
    },
}

/// Options of `export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// latest, latest~1, a tag, the start or end of an ID, or a path
    pub run: OsString,
    /// Export only this protocol's matrix, without trials (csv, c2c-csv, markdown); single-matrix formats require it if
    /// the run has several
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub protocol: Option<Protocol>,
    /// Export only the trials of this probe (csv, markdown); for runs with a map or several probes
    #[arg(long, value_name = "NAME", conflicts_with = "protocol")]
    pub probe: Option<String>,
}

/// Options of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Runs (latest, a tag, an ID, a path) or matrix files from any tool, optionally as NAME=FILE; shown side by side
    #[arg(required = true, value_name = "RUN|[NAME=]FILE")]
    pub runs: Vec<OsString>,
    /// Draw only these series in a picture, by the names in the tables, such as pause,futex; for several parameters,
    /// the series that match all names. A name without a match and a lack of space are errors; of several gaps only the
    /// first is drawn, and the others are listed
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub series: Option<Vec<String>>,
    /// Draw distributions in a picture as a CDF over this time axis (default: percentiles on an axis of nines)
    #[arg(long, value_name = "AXIS")]
    pub cdf: Option<AxisWord>,
    /// Initial range of the colour scale (default: fit; fixed in a picture of several runs)
    #[arg(long, value_name = "WHICH")]
    pub scale: Option<ScaleWord>,
}

/// Options of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Matrix files from any tool; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `view`.
#[derive(Debug, Clone, Args)]
pub struct ViewArgs {
    /// HdrHistogram percentile tables or interval logs from any tool, drawn in one chart; `-` reads standard input. The
    /// extension of the `-o` file selects the format: .html, .svg or .png, otherwise text
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `lint`.
#[derive(Debug, Clone, Args)]
pub struct LintArgs {
    /// Matrix files from any tool; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Two runs (latest, a tag, an ID, a path) or matrix files from any tool, optionally as NAME=FILE; three or more
    /// give a table of medians
    #[arg(required = true, num_args = 2.., value_name = "RUN|[NAME=]FILE")]
    pub sides: Vec<OsString>,
    /// Minimum relevant difference, 0.1% to 100% (default: 3%)
    #[arg(long, value_name = "PERCENT", value_parser = value::min_effect)]
    pub min_effect: Option<f64>,
    /// Exit with 1 if the second one is slower, faster, or either (any); with 7 if the data are inconclusive
    #[arg(long, value_name = "WHAT")]
    pub fail_on: Option<FailOnWord>,
    /// Compare even if the conditions differ so much that these are different experiments
    #[arg(long)]
    pub force: bool,
}

/// Options of `topology`.
#[derive(Debug, Clone, Args)]
pub struct TopologyArgs {
    /// Use a saved run, a matrix file or hwloc XML instead of measuring this machine for a few seconds
    #[arg(long, value_name = "RUN|FILE", conflicts_with = "machine")]
    pub from: Option<OsString>,
    /// Read the reported topology from hwloc XML (lstopo FILE.xml) instead of the system
    #[arg(long, value_name = "FILE")]
    pub reported: Option<PathBuf>,
}

/// Options of `advise`.
#[derive(Debug, Clone, Args)]
pub struct AdviseArgs {
    /// Number of threads
    #[arg(long, short = 'n', value_name = "N", required_unless_present = "graph",
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub threads: Option<u32>,
    /// Communication pattern: pairs, ring, pipeline, all-to-all, independent (default: all-to-all)
    #[arg(long, value_name = "PATTERN", value_parser = one_of(Pattern::ALL, Pattern::name))]
    pub pattern: Option<Pattern>,
    /// File with the communication pattern, in lines `a b weight`: threads a and b (from 0) exchange this much
    #[arg(long, value_name = "FILE", conflicts_with = "pattern")]
    pub graph: Option<PathBuf>,
    /// Use a saved run or a matrix file instead of measuring this machine for a few seconds
    #[arg(long, value_name = "RUN|FILE")]
    pub from: Option<OsString>,
    /// Read the reported topology from hwloc XML (lstopo FILE.xml) instead of the system
    #[arg(long, value_name = "FILE")]
    pub reported: Option<PathBuf>,
    /// Run a workload with this pattern on the advised and the usual placements to check the prediction
    #[arg(long)]
    pub prove: bool,
    /// CPUs to avoid, as for --cpus, for example noisy ones or those that serve interrupts
    #[arg(long, value_name = "LIST", value_parser = value::cpus)]
    pub avoid: Option<CpuSelection>,
    /// Avoid CPUs that were noisy in this `jitter` run: that lost at least 0.1 % of their time, without their longest
    /// gap, and more than twice as much as quiet CPUs
    #[arg(long, value_name = "RUN")]
    pub jitter: Option<OsString>,
    /// Whether two threads may share a core, where they communicate fastest and compute slowest (default: if-needed)
    #[arg(long, value_name = "WHEN", value_parser = one_of(Sharing::ALL, Sharing::name))]
    pub sharing: Option<Sharing>,
    /// Use only cores of this class, by its name in `topology`, for example P or E
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// Use only CPUs of this NUMA node
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
}

/// Options of `quiet`.
#[derive(Debug, Clone, Args)]
pub struct QuietArgs {
    /// Number of CPUs, each on a core of its own while such cores are idle (default: 1)
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub number: Option<u32>,
}

/// Options of `probes`.
#[derive(Debug, Clone, Args)]
pub struct ProbesArgs {
    /// Show the machine code of a timed loop: a kernel such as cas+pause, a waiting strategy (wait:pause), a queue
    /// (queue:spsc), a method of contend (contend:fetch-add) or a primitive of wake (wake:park)
    #[arg(long, value_name = "NAME")]
    pub asm: Option<String>,
}

/// Options of `plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// The command to plan (default: the quick look).
    #[command(subcommand)]
    pub of: Option<PlannedCommand>,
}

/// Commands with a plan.
#[derive(Debug, Clone, Subcommand)]
pub enum PlannedCommand {
    /// Plan a latency matrix
    #[command(args = takes(&[MEASURED, RESULT, &["with_identity", "keep_raw"]]))]
    Latency(Box<LatencyArgs>),
    /// Plan a comparison of waiting strategies
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Wait(Box<WaitArgs>),
    /// Plan wake-up latencies
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Wake(Box<WakeArgs>),
    /// Plan queue throughput
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Queue(Box<QueueArgs>),
    /// Plan a comparison of placements
    #[command(args = takes(&[COMPARED, &["output"]]))]
    Place(Box<PlaceArgs>),
    /// Plan thread and process creation
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Spawn(Box<SpawnArgs>),
    /// Plan a comparison of locks and counters
    #[command(args = takes(&[MEASURED, &["output"]]))]
    Contend(Box<ContendArgs>),
    /// Plan a measurement of false sharing
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Sharing(Box<SharingArgs>),
    /// Plan broadcast latencies
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Broadcast(Box<BroadcastArgs>),
    /// Plan a measurement of jitter
    #[command(args = takes(&[WATCHED, &["order", "output"]]))]
    Jitter(Box<JitterArgs>),
    /// Plan the suite
    #[command(args = takes(&[MEASURED, &["order", "output"]]))]
    Suite,
}

impl PlannedCommand {
    /// Returns what the command would measure.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            PlannedCommand::Latency(args) => Subject::of_latency(args),
            PlannedCommand::Wait(args) => Subject::Trials(&**args),
            PlannedCommand::Wake(args) => Subject::Trials(&**args),
            PlannedCommand::Queue(args) => Subject::Trials(&**args),
            PlannedCommand::Place(args) => Subject::Placements(args),
            PlannedCommand::Spawn(args) => Subject::Trials(&**args),
            PlannedCommand::Contend(args) => Subject::Trials(&**args),
            PlannedCommand::Sharing(args) => Subject::Trials(&**args),
            PlannedCommand::Broadcast(args) => Subject::Trials(&**args),
            PlannedCommand::Jitter(args) => Subject::Trials(&**args),
            PlannedCommand::Suite => Subject::Map(MapCommand::Suite),
        }
    }
}

/// What a command measures.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A latency map, possibly with trials.
    Map(MapCommand<'a>),
    /// Trials of one probe.
    Trials(&'a dyn SeriesArgs),
    /// A comparison of placements.
    Placements(&'a PlaceArgs),
    /// A comparison of commands.
    Commands(&'a VersusArgs),
}

impl Subject<'_> {
    fn of_latency(args: &LatencyArgs) -> Subject<'_> {
        if args.asks_for_trials() { Subject::Trials(args) } else { Subject::Map(MapCommand::Latency(args)) }
    }
}

/// Commands that measure a map.
#[derive(Debug, Clone, Copy)]
pub enum MapCommand<'a> {
    /// No command: the quick look.
    QuickLook,
    /// `latency`.
    Latency(&'a LatencyArgs),
    /// `suite`.
    Suite,
}

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Arguments of a run of a workload, as passed by `place`.
#[derive(Debug, Clone, Args)]
pub struct WorkWords {
    /// Name, threads, milliseconds, and CPUs in role order; or a stage of the process chain
    #[arg(required = true)]
    pub words: Vec<String>,
}
