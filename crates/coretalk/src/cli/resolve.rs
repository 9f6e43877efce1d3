//! From what was typed to what is meant: every CPU exists and may be used, every default is filled in.

use super::args::{ByWord, ColorWord, FormatWord, Global, HintWord, LatencyArgs, OrderWord, SmtWord};
use super::series::possible;
use super::value::{AutoOr, PairsWord};
use crate::exit::Failure;
use coretalk_measure::{Crew, Machine, suite};
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing, Tails,
};
use coretalk_model::series::{Gathering, SeriesSettings};
use coretalk_model::stats::{LOOKS, MOST_LOOKS};
use coretalk_model::{CpuId, CpuSet, Home, Level, Picos, Protocol, Topology};
use std::path::{Path, PathBuf};

/// The half-width asked for where nothing was said.
const PRECISION: f64 = LatencySettings::PRECISION;
/// The rate that tails are corrected for where nothing was said.
const TAIL_RATE_PER_S: f64 = 10_000.0;

/// Which command measures.
#[derive(Debug, Clone, Copy)]
pub enum Measuring<'a> {
    /// No command: the quick look.
    QuickLook,
    /// `latency`.
    Latency(&'a LatencyArgs),
    /// `suite`.
    Suite,
}

/// What is meant by a command that measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to measure.
    pub settings: LatencySettings,
    /// Which trials beside it.
    pub series: Option<SeriesSettings>,
    /// What the user should know before it begins: trials that this machine cannot perform.
    pub notices: Vec<String>,
    /// With which threads.
    pub crew: Crew,
    /// Where the run is kept.
    pub keeping: Keeping,
    /// What only the user knows.
    pub remarks: Remarks,
    /// What is written.
    pub wish: Wish,
    /// When cells that cannot be trusted matter to the exit code.
    pub strictness: Strictness,
}

/// Where a run is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeping {
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

/// What is written, where and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Of the result.
    pub format: FormatWord,
    /// `None` is standard output.
    pub output: Option<PathBuf>,
    /// Files written beside it.
    pub exports: Vec<(FormatWord, PathBuf)>,
    /// Order of the map.
    pub order: OrderWord,
    /// Rows of the map.
    pub by: ByWord,
    /// Colours.
    pub color: ColorWord,
    /// Private facts.
    pub identity: Identity,
    /// How much is said on standard error.
    pub talk: Talk,
}

/// Whether private facts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// No.
    Hidden,
    /// Yes.
    Included,
}

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Talk {
    /// Errors only.
    Quiet,
    /// Progress and remarks.
    Normal,
    /// Settings and phases too.
    Verbose,
}

/// When cells that cannot be trusted matter to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// They are shown.
    Lenient,
    /// They make the command fail.
    Strict,
}

/// What is meant by a command that measures.
///
/// # Errors
/// [`Failure`]: a CPU that does not exist or is not allowed, too few of them, options that make no sense together.
pub fn request(
    machine: &dyn Machine,
    global: &Global,
    measuring: Measuring<'_>,
    seed: u64,
) -> Result<Request, Failure> {
    let mut settings = settings(machine, global, measuring, seed)?;
    let (series, notices) = gathered(machine, measuring, &mut settings)?;
    let wish = wish(global);
    one_map_per_file(&settings, &wish)?;
    let crew = Crew { cpus: settings.cpus.clone(), nice: global.nice, realtime: global.rt };
    let keeping = if global.no_save {
        Keeping::Nowhere
    } else {
        Keeping::Store { directory: global.store.clone(), tag: global.name.clone() }
    };
    let remarks = Remarks { label: global.label.clone(), notes: global.note.clone() };
    let strictness = if global.strict { Strictness::Strict } else { Strictness::Lenient };
    Ok(Request { settings, series, notices, crew, keeping, remarks, wish, strictness })
}

/// The trials of a run of several probes; its budget is shared between them and the map.
fn gathered(
    machine: &dyn Machine,
    measuring: Measuring<'_>,
    settings: &mut LatencySettings,
) -> Result<(Option<SeriesSettings>, Vec<String>), Failure> {
    let (topology, cpus) = (machine.topology(), &settings.cpus);
    let (gathering, gathered) = match measuring {
        Measuring::Latency(_) => return Ok((None, Vec::new())),
        Measuring::QuickLook => (Gathering::QuickLook, suite::quick_look(topology, cpus)),
        Measuring::Suite => (Gathering::Suite, suite::everything(topology, cpus)),
    };
    let gathered = gathered.map_err(Failure::Internal)?;
    let (trials, notices) = possible(machine, gathered.trials)?;
    let [map, beside] = match gathering {
        Gathering::QuickLook => suite::shares_of_quick_look(settings.budget),
        Gathering::Suite if settings.ask_for_nothing() => [settings.budget; 2],
        Gathering::Suite => {
            let (alone, _) = budget(Measuring::Latency(&LatencyArgs::default()), settings.cpus.len(), false);
            suite::shares_of_suite(settings.budget, alone, gathered.probes.len())
        }
    };
    let series = SeriesSettings {
        probes: gathered.probes,
        headlines: gathered.headlines,
        asked: gathering.asked(),
        trials,
        precision: settings.precision,
        budget: beside,
        seed: settings.seed,
        cpus: settings.cpus.clone(),
    };
    settings.budget = map;
    Ok((Some(series), notices))
}

/// What is written, where and how.
pub fn wish(global: &Global) -> Wish {
    let of = |format, files: &[PathBuf]| files.iter().map(|file| (format, file.clone())).collect::<Vec<_>>();
    Wish {
        format: global.format.unwrap_or(FormatWord::Text),
        output: global.output.clone(),
        exports: [
            of(FormatWord::Csv, &global.export_csv),
            of(FormatWord::C2cCsv, &global.export_c2c_csv),
            of(FormatWord::Markdown, &global.export_markdown),
            of(FormatWord::Json, &global.export_json),
            of(FormatWord::Jsonl, &global.export_jsonl),
            of(FormatWord::Hgrm, &global.export_hgrm),
            of(FormatWord::HyperfineJson, &global.export_hyperfine_json),
        ]
        .concat(),
        order: global.order.unwrap_or(OrderWord::Topology),
        by: global.by.unwrap_or(ByWord::Core),
        color: global.color.unwrap_or(ColorWord::Auto),
        identity: if global.with_identity { Identity::Included } else { Identity::Hidden },
        talk: match (global.quiet, global.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Normal,
        },
    }
}

/// Refuses two results in one file: the second would take the place of the first.
///
/// # Errors
/// The file, as it was typed the second time.
pub fn in_files_of_their_own(wish: &Wish) -> Result<(), Failure> {
    let mut taken: Vec<PathBuf> = Vec::new();
    for path in wish.output.iter().chain(wish.exports.iter().map(|(_, path)| path)) {
        let place = place_of(path);
        // A terminal, a pipe or `/dev/null` holds nothing that could be lost.
        let holds = std::fs::metadata(&place).map_or(true, |there| there.is_file() || there.is_dir());
        if holds && taken.contains(&place) {
            return Err(Failure::Usage(format!(
                "two results would be written to {}, and one would be lost; give each a file of its own",
                path.display()
            )));
        }
        taken.push(place);
    }
    Ok(())
}

/// Where a file is or will be, without links and detours.
fn place_of(path: &Path) -> PathBuf {
    let below = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(below).unwrap_or_else(|| path.to_owned())
}

fn settings(
    machine: &dyn Machine,
    global: &Global,
    measuring: Measuring<'_>,
    seed: u64,
) -> Result<LatencySettings, Failure> {
    let defaults = LatencyArgs::default();
    let args = match measuring {
        Measuring::QuickLook | Measuring::Suite => &defaults,
        Measuring::Latency(args) => args,
    };
    let topology = machine.topology();
    // What one CPU can show is shown, too, where a latency was not asked for by name.
    let fewest = if matches!(measuring, Measuring::Latency(_)) { 2 } else { 1 };
    two_cpus_each(args.pairs.as_ref(), "a latency")?;
    one_direction_each(args.pairs.as_ref())?;
    let (cpus, pairs) = cpus_and_pairs(machine, global, args.pairs.as_ref(), fewest)?;
    let cpus = match global.order {
        Some(OrderWord::Id) => cpus.iter().collect(),
        _ => topology.order(&cpus),
    };
    let pairs = match pairs {
        PairChoice::Listed(listed) => PairChoice::Listed(in_order(&cpus, listed)),
        other => other,
    };
    let protocols = if args.protocol.is_empty() && args.imitate.is_empty() {
        vec![Protocol::Cas]
    } else {
        args.protocol.clone()
    };
    named_once("--protocol", &protocols)?;
    named_once("--as", &args.imitate)?;
    if args.hint.is_some() && !protocols.iter().any(|protocol| protocol.spins()) {
        return Err(Failure::Usage(format!(
            "--hint has no effect on {}: a hint is executed by protocols that spin; leave it out",
            names(&protocols)
        )));
    }
    let counts = counts(args);
    let guest = machine.environment().hypervisor.is_some();
    let (budget, spacing) = budget(measuring, cpus.len(), guest);
    if cpus.len() < 2 {
        let precision = global.precision.unwrap_or(PRECISION);
        return Ok(LatencySettings::nothing(cpus, precision, global.budget.unwrap_or(budget), seed));
    }
    Ok(LatencySettings {
        pairs,
        protocols,
        hint: match args.hint {
            None | Some(HintWord::Auto) => HintChoice::Auto,
            Some(HintWord::None) => HintChoice::None,
            Some(HintWord::Pause) => HintChoice::Pause,
        },
        home: home(topology, args.home)?,
        lines: args.lines,
        parallel: parallel(args.parallel, cpus.len())?,
        precision: global.precision.unwrap_or(PRECISION),
        looks: looks(global, measuring),
        budget: global.budget.unwrap_or(budget),
        spacing,
        seed,
        tails: args.tails.then(|| Tails { rate_per_s: args.rate.unwrap_or(TAIL_RATE_PER_S) }),
        imitate: args.imitate.clone(),
        ladder: args.imitate.is_empty() && counts == Counts::Adaptive,
        counts,
        keep_raw: global.keep_raw,
        cpus,
    })
}

/// Refuses pairs that are one CPU, for what makes no sense there.
pub(super) fn two_cpus_each(pairs: Option<&PairsWord>, what: &str) -> Result<(), Failure> {
    let Some(PairsWord::Listed(listed)) = pairs else { return Ok(()) };
    match listed.iter().find(|[a, b]| a == b) {
        Some([cpu, _]) => Err(Failure::Usage(format!(
            "--pairs names {cpu}-{cpu}, which is one CPU, and {what} needs two; `wait`, `wake` and `queue` measure two \
             threads on one"
        ))),
        None => Ok(()),
    }
}

/// A pair of a latency has no direction, so that nobody asks for it both ways.
fn one_direction_each(pairs: Option<&PairsWord>) -> Result<(), Failure> {
    let Some(PairsWord::Listed(listed)) = pairs else { return Ok(()) };
    let again = |index: usize, [a, b]: [CpuId; 2]| listed[..index].contains(&[b, a]);
    match listed.iter().enumerate().find(|&(index, &pair)| again(index, pair)) {
        Some((_, [a, b])) => Err(Failure::Usage(format!(
            "--pairs names {a}-{b} for the second time: a latency has no direction; leave one of them out"
        ))),
        None => Ok(()),
    }
}

/// Refuses CPUs that are switched off.
///
/// # Errors
/// One is, and how to bring it back.
pub(super) fn online(machine: &dyn Machine, cpus: &CpuSet) -> Result<(), Failure> {
    match cpus.intersection(&machine.allowance().offline).first() {
        None => Ok(()),
        Some(cpu) => Err(Failure::Environment(format!(
            "CPU {cpu} is offline: bring it back with `echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online`, or leave \
             it out"
        ))),
    }
}

/// The CPUs meant, at least so many, and which pairs of them.
pub(super) fn cpus_and_pairs(
    machine: &dyn Machine,
    global: &Global,
    pairs: Option<&PairsWord>,
    fewest: usize,
) -> Result<(CpuSet, PairChoice), Failure> {
    let topology = machine.topology();
    let allowance = machine.allowance();
    let listed = match pairs {
        Some(PairsWord::Listed(listed)) => Some(listed),
        _ => None,
    };
    if let (Some(SmtWord::Siblings), Some(_)) = (global.smt, pairs) {
        return Err(Failure::Usage(
            "--smt siblings and --pairs both choose pairs; leave one of them out".into(),
        ));
    }
    let of_pairs = listed.map(|listed| listed.iter().flatten().copied().collect::<CpuSet>());
    let asked = global.cpus.clone().or_else(|| of_pairs.clone());
    let chosen = match &asked {
        Some(asked) => {
            let existing = topology.cpus();
            online(machine, asked)?;
            if let Some(cpu) = asked.difference(existing).first() {
                return Err(Failure::Usage(format!(
                    "CPU {cpu} does not exist: this machine has CPUs {existing}; choose among them with --cpus"
                )));
            }
            asked.clone()
        }
        None => allowance.mask.intersection(&allowance.cpuset).intersection(topology.cpus()),
    };
    if let Some(cpu) = chosen.difference(&allowance.cpuset).first() {
        return Err(Failure::Environment(format!(
            "CPU {cpu} exists but is not allowed: the cpuset of this process holds CPUs {}; choose among them with \
             --cpus, or have the cpuset widened",
            allowance.cpuset
        )));
    }
    if let Some(cpu) = of_pairs.iter().find_map(|of_pairs| of_pairs.difference(&chosen).first()) {
        return Err(Failure::Usage(format!("--pairs names CPU {cpu}, which --cpus {chosen} leaves out")));
    }
    let chosen = match global.smt {
        None | Some(SmtWord::All) => chosen,
        Some(SmtWord::OnePerCore) => topology.one_per_core(&chosen),
        Some(SmtWord::Siblings) => {
            chosen.iter().filter(|&cpu| topology.siblings(cpu).intersection(&chosen).len() > 1).collect()
        }
    };
    if let Some(cpu) = of_pairs.iter().find_map(|of_pairs| of_pairs.difference(&chosen).first()) {
        return Err(Failure::Usage(format!(
            "--pairs names CPU {cpu}, which --smt one-per-core leaves out; leave --smt out"
        )));
    }
    if global.smt == Some(SmtWord::Siblings) && chosen.is_empty() {
        return Err(Failure::Environment(
            "no two of the chosen CPUs are threads of one core, so there are no siblings to measure (SMT may be \
             off); leave --smt out, or see `coretalk topology`"
                .into(),
        ));
    }
    if chosen.len() < fewest {
        let left_out = allowance.cpuset.intersection(topology.cpus()).difference(&allowance.mask);
        return Err(too_few(&chosen, global, &left_out));
    }
    let choice = match (global.smt, pairs) {
        (Some(SmtWord::Siblings), _) => PairChoice::Siblings,
        (_, Some(PairsWord::Representatives)) => PairChoice::Representatives,
        (_, Some(PairsWord::Listed(listed))) => PairChoice::Listed(listed.clone()),
        (_, None | Some(PairsWord::All)) => PairChoice::All,
    };
    Ok((chosen, choice))
}

/// `left_out`: the CPUs that only the inherited affinity mask leaves out.
fn too_few(chosen: &CpuSet, global: &Global, left_out: &CpuSet) -> Failure {
    let why = match (chosen.first(), &global.cpus, global.smt) {
        (Some(cpu), Some(_), _) => format!("only CPU {cpu} is chosen"),
        (Some(cpu), None, Some(SmtWord::OnePerCore)) => format!("there is only one core, that of CPU {cpu}"),
        (Some(cpu), None, _) => format!("this process may use only CPU {cpu}"),
        (None, ..) => "this process may use no CPU of this machine".to_owned(),
    };
    if global.cpus.is_none() && !left_out.is_empty() {
        return Failure::Environment(format!(
            "{why}, and this needs two CPUs; its affinity mask is inherited and leaves CPUs {left_out} out, which \
             --cpus can choose: try --cpus {}",
            chosen.union(left_out)
        ));
    }
    Failure::Environment(format!(
        "{why}, and this needs two CPUs; `coretalk wait`, `queue`, `contend`, `spawn`, `jitter`, `suite`, `doctor`, \
         `topology`, `clock`, `import` and simulated machines (--machine sim:chiplet-16) work here"
    ))
}

/// Pairs as the plan lists them: the CPU that stands first in matrix order is the initiator.
fn in_order(cpus: &[CpuId], listed: Vec<[CpuId; 2]>) -> Vec<[CpuId; 2]> {
    let position = |cpu: CpuId| cpus.iter().position(|&known| known == cpu);
    listed.into_iter().map(|[a, b]| if position(a) <= position(b) { [a, b] } else { [b, a] }).collect()
}

/// A CPU is in one pair at a time.
pub(super) fn parallel(typed: Option<AutoOr>, cpus: usize) -> Result<Parallel, Failure> {
    let Some(AutoOr::Number(pairs)) = typed else { return Ok(Parallel::Auto) };
    let most = (cpus / 2).max(1);
    if pairs as usize > most {
        return Err(Failure::Usage(format!(
            "--parallel {pairs}: {cpus} CPUs make at most {most} pairs at the same time; ask for so many, or `auto`"
        )));
    }
    Ok(Parallel::AtMost(pairs))
}

fn counts(args: &LatencyArgs) -> Counts {
    match (args.samples, args.iterations) {
        (Some(samples), Some(iterations)) => Counts::Fixed { samples, iterations },
        _ => Counts::Adaptive,
    }
}

fn home(topology: &Topology, typed: Option<AutoOr>) -> Result<HomeSetting, Failure> {
    let Some(AutoOr::Number(node)) = typed else { return Ok(HomeSetting::Auto) };
    let mut nodes: Vec<u32> = topology.level(Level::Node).iter().filter_map(|node| node.os_id).collect();
    if nodes.is_empty() {
        nodes.push(0);
    }
    if nodes.contains(&node) {
        return Ok(HomeSetting::Node(Home(node)));
    }
    let known: Vec<String> = nodes.iter().map(u32::to_string).collect();
    Err(Failure::Usage(format!(
        "--home {node}: this machine has no such NUMA node (it has {}); choose among them, or `auto`",
        known.join(", ")
    )))
}

/// Upper bound of machine time, and how passes are spread over it (README.md, "How long it takes").
fn budget(measuring: Measuring<'_>, cpus: usize, guest: bool) -> (Picos, Spacing) {
    let seconds = |seconds: u64| Picos::from_ms(seconds * 1000);
    match measuring {
        // The plateaus of a guest need time to show.
        Measuring::QuickLook if guest && cpus <= 64 => (seconds(30), Spacing::Watch),
        Measuring::QuickLook if cpus <= 64 => (seconds(10), Spacing::Brief),
        Measuring::QuickLook => (seconds(60), Spacing::Brief),
        Measuring::Suite => (seconds(300), Spacing::Brief),
        Measuring::Latency(_) if cpus <= 16 => (seconds(10), Spacing::Brief),
        Measuring::Latency(_) => (seconds(60), Spacing::Brief),
    }
}

/// How many looks a wide cell gets: as many as the budget allows where somebody asked for a precision or gave a budget. That
/// of a suite is for all of its probes.
fn looks(global: &Global, measuring: Measuring<'_>) -> u32 {
    let has_budget = global.budget.is_some() && !matches!(measuring, Measuring::Suite);
    if global.precision.is_some() || has_budget { MOST_LOOKS } else { LOOKS.len() as u32 }
}

/// Formats of one matrix refuse a run that has several, before anything is measured.
fn one_map_per_file(settings: &LatencySettings, wish: &Wish) -> Result<(), Failure> {
    let asked = wish.exports.iter().map(|(format, _)| *format).chain([wish.format]);
    for format in asked.filter(|format| matches!(format, FormatWord::Csv | FormatWord::C2cCsv)) {
        let name = super::output::format_name(format);
        if !settings.imitate.is_empty() {
            return Err(Failure::Usage(format!(
                "`{name}` holds a measured map, and --as measures none; use `json` or `text`"
            )));
        }
        if settings.protocols.len() > 1 {
            return Err(Failure::Usage(format!(
                "`{name}` holds one map, and --protocol asks for {}; ask for one protocol, or use `json`",
                settings.protocols.len()
            )));
        }
    }
    Ok(())
}

fn named_once<T: PartialEq + std::fmt::Display>(option: &str, values: &[T]) -> Result<(), Failure> {
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            return Err(Failure::Usage(format!("{option} names {value} twice; name it once")));
        }
    }
    Ok(())
}

fn names(protocols: &[Protocol]) -> String {
    protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ")
}
