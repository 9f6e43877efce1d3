//! The command line as typed: nothing has been looked up. The definitions here are also help, completions and manual.

pub mod broadcast;
pub mod contend;
pub mod family;
pub mod jitter;
pub mod latency;
pub mod parse;
pub mod place;
pub mod queue;
pub mod relevance;
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
use crate::args::value::MachineWord;
use crate::args::wait::WaitArgs;
use crate::args::wake::WakeArgs;
use crate::args::words::{ByWord, ColorWord, FailOnWord, FormatWord, OrderWord, ScaleWord, SmtWord};
use clap::{Args, Parser, Subcommand};
use coretalk_model::advise::{Pattern, Sharing};
use coretalk_model::{CpuSet, Picos, Protocol};
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
    Latency(Box<LatencyArgs>),
    /// Measure what each way of waiting for another thread costs
    Wait(Box<WaitArgs>),
    /// Measure how long until a thread that waits in a primitive runs again
    Wake(Box<WakeArgs>),
    /// Measure how many messages a second pass through bounded queues
    Queue(Box<QueueArgs>),
    /// Compare placements: the same work on other CPUs
    Place(Box<PlaceArgs>),
    /// Measure what it costs to start a thread or a process
    Spawn(Box<SpawnArgs>),
    /// Measure what it costs when many threads change one number
    Contend(Box<ContendArgs>),
    /// Measure how far apart two threads must write
    Sharing(Box<SharingArgs>),
    /// Measure how soon many readers see what one thread writes
    Broadcast(Box<BroadcastArgs>),
    /// Measure how quiet each CPU is
    Jitter(Box<JitterArgs>),
    /// Measure everything there is to measure, in one run
    Suite,
    /// List, show, name and remove saved runs (default: list)
    Runs(RunsArgs),
    /// Write a saved run as data
    Export(ExportArgs),
    /// Write runs as a page or a picture to share: .html, .svg or .png
    Report(ReportArgs),
    /// Show latency matrices of other tools, or convert them
    Import(ImportArgs),
    /// Show percentile tables (.hgrm) and interval logs (.hlog) of any tool, or write them as a page or a picture
    View(ViewArgs),
    /// Say what is doubtful about latency matrices of other tools
    Lint(LintArgs),
    /// Say what differs between two runs or matrix files; of more, show a table
    Compare(CompareArgs),
    /// Look for everything that could spoil a measurement; changes nothing
    Doctor,
    /// Show how the machine is built: as the system reports it, and as its latencies show it
    Topology(TopologyArgs),
    /// Say on which CPUs threads that talk should live, and what that gains
    Advise(Box<AdviseArgs>),
    /// Show cost, resolution and frequency of the clock
    Clock,
    /// List what can be measured, or show the machine code of a timed loop
    Probes(ProbesArgs),
    /// Say what would be measured and how long it takes
    Plan(PlanArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
    /// Do one run of a workload: what `place` starts
    #[command(hide = true)]
    Work(WorkWords),
}

/// Options that are accepted before and after every command that they concern.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machine and run")]
pub struct Global {
    /// CPUs to measure, for example 0-3,8 (default: all that this process may use)
    #[arg(long, global = true, value_name = "LIST", value_parser = value::cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Which hardware threads: all, one of each core, or only pairs inside cores
    #[arg(long, global = true, value_name = "WHICH")]
    pub smt: Option<SmtWord>,
    /// The machine: host, sim:NAME, sim:FILE.toml or sim:FILE with a matrix (default: host)
    #[arg(long, global = true, value_name = "MACHINE", value_parser = value::machine)]
    pub machine: Option<MachineWord>,
    /// Seed of every random choice (default: a new one, which is stored)
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Half-width of the 95 % intervals to reach, 0.1% to 50% (default: 2%)
    #[arg(long, global = true, value_name = "PERCENT", value_parser = value::precision)]
    pub precision: Option<f64>,
    /// Upper bound of machine time, for example 60s (default: by size of the machine)
    #[arg(long, global = true, value_name = "TIME", value_parser = value::budget)]
    pub budget: Option<Picos>,
    /// Niceness to ask for, -20 to 19 (default: -20 where that is granted)
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// Real-time priority to ask for, 1 to 99
    #[arg(long, global = true, value_name = "N", conflicts_with = "nice",
          value_parser = clap::value_parser!(i32).range(1..=99))]
    pub rt: Option<i32>,
    /// Exit with 1 if some cells cannot be trusted
    #[arg(long, global = true)]
    pub strict: bool,
    /// Go on with an interrupted run; its settings are taken from its file
    #[arg(long, global = true, value_name = "RUN", conflicts_with_all = ["no_save", "name", "label", "note"])]
    pub resume: Option<String>,

    /// Directory of run files
    #[arg(long, global = true, value_name = "DIR", help_heading = "Saving")]
    pub store: Option<PathBuf>,
    /// Do not save the run
    #[arg(long, global = true, conflicts_with_all = ["store", "name", "keep_raw"], help_heading = "Saving")]
    pub no_save: bool,
    /// Tag the run
    #[arg(long, global = true, value_name = "TAG", value_parser = value::tag, help_heading = "Saving")]
    pub name: Option<String>,
    /// Keep raw ticks above 64 CPUs too
    #[arg(long, global = true, help_heading = "Saving")]
    pub keep_raw: bool,
    /// Call the machine this in results
    #[arg(long, global = true, value_name = "TEXT", help_heading = "Saving")]
    pub label: Option<String>,
    /// Note what only you know about the machine, for example fabric=1800MHz; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = value::note, help_heading = "Saving")]
    pub note: Vec<(String, String)>,

    /// Format of the result (default: text)
    #[arg(long, global = true, value_name = "FORMAT", help_heading = "Output")]
    pub format: Option<FormatWord>,
    /// Write the result to a file instead of standard output
    #[arg(long, short, global = true, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also write the matrix as CSV with CPU ids; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Vec<PathBuf>,
    /// Also write the bare matrix of core-to-core-latency; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_c2c_csv: Vec<PathBuf>,
    /// Also write the matrix as a Markdown table; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_markdown: Vec<PathBuf>,
    /// Also write the JSON document; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_json: Vec<PathBuf>,
    /// Also write one JSON line per trial; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_jsonl: Vec<PathBuf>,
    /// Also write every distribution into a directory, as percentile tables; repeatable
    #[arg(long, global = true, value_name = "DIR", help_heading = "Output")]
    pub export_hgrm: Vec<PathBuf>,
    /// Also write the comparisons as hyperfine writes them; repeatable
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub export_hyperfine_json: Vec<PathBuf>,
    /// Order of rows and columns (default: topology)
    #[arg(long, global = true, value_name = "ORDER", help_heading = "Output")]
    pub order: Option<OrderWord>,
    /// What a row of the heat map is (default: core)
    #[arg(long, global = true, value_name = "WHAT", help_heading = "Output")]
    pub by: Option<ByWord>,
    /// Include host name and other private facts in data
    #[arg(long, global = true, help_heading = "Output")]
    pub with_identity: bool,
    /// When to use colour (default: auto; NO_COLOR is honoured)
    #[arg(long, global = true, value_name = "WHEN", help_heading = "Output")]
    pub color: Option<ColorWord>,
    /// No progress and no remarks on standard error
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// Say more on standard error: settings, phases
    #[arg(long, short, global = true, help_heading = "Output")]
    pub verbose: bool,
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
    List,
    /// Show a run again
    Show {
        /// latest, latest~1, a tag, the beginning or end of an id, or a path
        run: String,
    },
    /// Print names that runs can be called by: what completion offers
    #[command(hide = true)]
    Names,
    /// Give a run a name
    Tag {
        /// Which run
        run: String,
        /// Its new name
        #[arg(value_name = "NAME", value_parser = value::tag)]
        tag: String,
    },
    /// Remove a run
    Rm {
        /// Which run
        run: String,
    },
    /// Print the path of a run's file
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
    Latency(Box<LatencyArgs>),
    /// Plan ways of waiting
    Wait(Box<WaitArgs>),
    /// Plan wake-ups
    Wake(Box<WakeArgs>),
    /// Plan throughput of queues
    Queue(Box<QueueArgs>),
    /// Plan a comparison of placements
    Place(Box<PlaceArgs>),
    /// Plan creations
    Spawn(Box<SpawnArgs>),
    /// Plan contention
    Contend(Box<ContendArgs>),
    /// Plan writes at several distances
    Sharing(Box<SharingArgs>),
    /// Plan writes to many readers
    Broadcast(Box<BroadcastArgs>),
    /// Plan a look at how quiet each CPU is
    Jitter(Box<JitterArgs>),
    /// Plan a run of everything
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
