//! [`Scenario`]: the description of a simulated machine, from TOML, a matrix, or built in.

use super::structure::{Reported, Structure};
use super::{builtin, validate};
use coretalk_model::{CpuSet, Matrix, Relation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A simulated machine: structure, true latencies, noise, and what goes wrong on it. Always valid.
///
/// ```
/// # use coretalk_measure::sim::Scenario;
/// let noisier = Scenario::from_toml("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 0.06\n").unwrap();
/// assert_eq!(noisier.name(), "chiplet-16");
/// assert!(Scenario::from_toml("[noise]\nbatch_ds = 0.06\n").is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub(super) spec: Spec,
}

/// What is wrong with the description of a simulated machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML, an unknown key, or a value of the wrong type.
    #[error("read the scenario{}: {message}", at(line))]
    Syntax {
        /// The line, counted from 1.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// A value that no machine can have.
    #[error("read the scenario{}: `{key}` {problem}", at(line))]
    Value {
        /// The line, counted from 1, where the key stands in the text itself.
        line: Option<usize>,
        /// The key with its tables.
        key: String,
        /// What is wrong with it, and what it may be.
        problem: String,
    },
    /// `based_on` names no built-in scenario.
    #[error("base the scenario on `{name}`: there is no such scenario (there are {})", builtin::NAMES.join(", "))]
    UnknownBase {
        /// As typed.
        name: String,
    },
    /// A matrix that cannot stand for a machine.
    #[error("simulate the matrix: {problem}")]
    Matrix {
        /// What is wrong, and what to do.
        problem: String,
    },
}

fn at(line: &Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

impl Scenario {
    /// The names of the built-in scenarios, in the order of reports.
    pub fn names() -> &'static [&'static str] {
        &builtin::NAMES
    }

    /// A built-in scenario.
    pub fn builtin(name: &str) -> Option<Scenario> {
        builtin::spec(name).map(|spec| Scenario { spec })
    }

    /// Reads a scenario. Every key has a default but `structure` and `latency_ns`, which may come from the built-in
    /// scenario named by `based_on`; tables are merged key by key, lists replaced.
    ///
    /// # Errors
    /// [`ScenarioError`] names the line and key, what is wrong and what is possible.
    pub fn from_toml(text: &str) -> Result<Scenario, ScenarioError> {
        let syntax = |error: toml::de::Error| ScenarioError::Syntax {
            line: error.span().map(|span| 1 + text[..span.start].matches('\n').count()),
            message: error.message().replace('\n', ", "),
        };
        // Read for itself first: errors found here have a place in the text.
        let mut spec: Spec = toml::from_str(text).map_err(syntax)?;
        if let Some(base) = spec.based_on.take() {
            let basis =
                builtin::spec(&base).ok_or_else(|| ScenarioError::UnknownBase { name: base.clone() })?;
            let mut table = toml::Table::try_from(&basis)
                .map_err(|error| ScenarioError::Syntax { line: None, message: error.to_string() })?;
            let mut over: toml::Table = toml::from_str(text).map_err(syntax)?;
            over.remove("based_on");
            merge(&mut table, over);
            spec = table.try_into().map_err(syntax_without_place)?;
        }
        validate::check(&spec).map_err(|fault| ScenarioError::Value {
            line: line_of(text, &fault.key),
            key: fault.key,
            problem: fault.problem,
        })?;
        Ok(Scenario { spec })
    }

    /// A machine whose true half round trips, in nanoseconds, are this matrix (row = initiator); a missing cell is
    /// that of the other direction, else the median of all. It reports no structure, and its only noise is passing.
    ///
    /// # Errors
    /// [`ScenarioError::Matrix`] for fewer than two or too many CPUs, a CPU named twice, no value at all, or a value
    /// that is no positive time.
    pub fn from_matrix(name: &str, matrix: Matrix<Option<f64>>) -> Result<Scenario, ScenarioError> {
        let fail = |problem: String| ScenarioError::Matrix { problem };
        let ids: Vec<u32> = matrix.cpus().iter().map(|cpu| cpu.0).collect();
        let mut known = Vec::new();
        for (row, column, value) in matrix.iter().filter(|(row, column, _)| row != column) {
            match *value {
                Some(ns) if ns.is_finite() && ns > 0.0 => known.push(ns),
                Some(ns) => {
                    return Err(fail(format!(
                        "the cell of CPU {} and CPU {} is {ns}, expected a time above 0 ns or an empty cell",
                        ids[row], ids[column]
                    )));
                }
                None => {}
            }
        }
        if known.is_empty() {
            return Err(fail("it has no value off its diagonal".to_owned()));
        }
        known.sort_by(f64::total_cmp);
        let median = known[known.len() / 2];
        let get = |row, column| matrix.get(row, column).copied().flatten();
        let cell = |row, column| get(row, column).or_else(|| get(column, row)).unwrap_or(median);
        let n = ids.len();
        let half_round_trip_ns = (0..n)
            .map(|row| (0..n).map(|column| if row == column { median } else { cell(row, column) }).collect())
            .collect();
        let spec = Spec {
            name: name.to_owned(),
            structure: Structure::Matrix { cpus: ids, half_round_trip_ns },
            reported: Reported::Nothing,
            variation: Variation { cpu_sd: 0.0, pair_sd: 0.0, asymmetry_sd: 0.0, ..Variation::default() },
            ..Spec::default()
        };
        validate::check(&spec).map_err(|fault| fail(format!("`{}` {}", fault.key, fault.problem)))?;
        Ok(Scenario { spec })
    }

    /// The whole scenario as TOML, every default spelled out: a start for one's own.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.spec).unwrap_or_else(|error| format!("# cannot be written as TOML: {error}\n"))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Calls it by another name.
    pub fn named(mut self, name: &str) -> Scenario {
        self.spec.name = name.to_owned();
        self
    }
}

fn syntax_without_place(error: toml::de::Error) -> ScenarioError {
    ScenarioError::Syntax { line: None, message: error.message().replace('\n', ", ") }
}

/// Lays one table over another. A `structure` is replaced as a whole: keys of two kinds do not mix.
fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) if key != "structure" => {
                merge(below, above);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// The line on which a key such as `noise.batch_sd` is set, by a plain look at the text.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut inside = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            inside = header.trim_matches(|c| c == '[' || c == ']').trim().to_owned();
            if inside == key {
                return Some(index + 1);
            }
        } else if let Some((left, _)) = line.split_once('=') {
            let left = left.trim();
            if (inside == table && left == name) || (inside.is_empty() && (left == key || left == table)) {
                return Some(index + 1);
            }
        }
    }
    None
}

/// Everything a scenario file can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// A built-in scenario to start from; never set in a scenario that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub based_on: Option<String>,
    pub name: String,
    /// What belongs to the machine: CPU and pair factors, slices, better homes, clock offsets, defects.
    pub hardware_seed: u32,
    pub arch: Arch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// What the machine says of its structure.
    pub reported: Reported,
    pub structure: Structure,
    /// Half round trip of a line transfer by what the pair truly shares.
    pub latency_ns: BTreeMap<Relation, f64>,
    /// By how much a spin without wait hint is slower; 1 where not named.
    pub eager_penalty: BTreeMap<Relation, f64>,
    pub variation: Variation,
    pub homes: Homes,
    pub counter: Counter,
    pub core_clock: CoreClock,
    pub costs: Costs,
    pub noise: Noise,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowed>,
    pub failures: Failures,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arch {
    #[default]
    #[serde(rename = "x86_64")]
    X86,
    #[serde(rename = "aarch64")]
    Arm,
}

/// What differs for good between CPUs, pairs and lines; standard deviations are relative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variation {
    pub cpu_sd: f64,
    pub pair_sd: f64,
    /// Of the 16 slices; their mean is exactly 1 for every pair and home.
    pub line_sd: f64,
    /// Of one direction against the other: seen by `one-way` only, it cancels in a round trip.
    pub asymmetry_sd: f64,
    /// Share of pairs that are slower for good, by 1.3 to 2.
    pub defect_share: f64,
}

/// What the memory node of the lines does to a transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Homes {
    /// Pairs across nodes: worse home against better.
    pub penalty: f64,
    /// Lines on a node where neither CPU is.
    pub remote: f64,
}

/// The counter whose ticks are recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Counter {
    pub hz: f64,
    /// Smallest visible step in ticks.
    pub step_ticks: u32,
    /// Cost of a start-stop pair of reads, contained in every sample.
    pub cost_ns: f64,
    /// Standard deviation of the CPUs' offsets: seen by `one-way` only.
    pub offset_sd_ns: f64,
}

/// The clock of the cores; latency goes with its inverse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoreClock {
    pub ghz: f64,
    pub slow_class_ghz: f64,
    pub drift_sd: f64,
    pub drift_ms: f64,
    /// Share of time that a CPU spends a frequency step lower, 50 ms at a time.
    pub step_share: f64,
    pub step_factor: f64,
}

/// What everything beside the timed batches takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// Start of a round. Method 5.4 reckons 60 µs; released workers that spin, on measured machines, need less.
    pub rendezvous_us: f64,
    /// Both probes of the core clock, before and after.
    pub probes_us: f64,
    /// Flush and rewrite of a line.
    pub line_ns: f64,
    pub hint_ns: f64,
}

/// What passes; keyed by the seed of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    pub batch_sd: f64,
    /// Of a single round trip, for events.
    pub event_sd: f64,
    pub spike_share: f64,
    pub spike_factor: [f64; 2],
    /// Correlated from batch to batch: lag-1 correlation and standard deviation.
    pub ar_rho: f64,
    pub ar_sd: f64,
    /// Slow drift of all latencies that no evidence shows.
    pub drift_sd: f64,
    pub drift_ms: f64,
    /// Share of trials contaminated as a whole or on one run of lines; gone the next time.
    pub bad_share: f64,
    pub bad_factor: [f64; 2],
    /// Added per further pair of a round.
    pub parallel_bias: f64,
    /// Share of time that the sibling of a core (or the neighbour of a vCPU) is busy, 50 ms at a time.
    pub sibling_share: f64,
    pub sibling_factor: [f64; 2],
}

/// Something that holds up a CPU now and then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    pub name: String,
    pub per_second: f64,
    pub us: [f64; 2],
    pub rhythm: Rhythm,
    pub seen_as: Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rhythm {
    Random,
    Periodic,
}

/// Which counter of the system rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    Switch,
    Steal,
    Nothing,
}

/// One of the states between which the machine moves as a whole; what it does not name stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub name: String,
    /// How likely it is the next one.
    pub weight: f64,
    /// How long it lasts on average.
    pub dwell_ms: f64,
    /// Scales the differences between lines.
    #[serde(default = "one")]
    pub line_scale: f64,
    #[serde(default)]
    pub latency_ns: BTreeMap<Relation, f64>,
    /// Latency of kernels that spin without wait hint.
    #[serde(default)]
    pub eager_ns: BTreeMap<Relation, f64>,
}

fn one() -> f64 {
    1.0
}

/// Which CPUs the process may use; all where it is silent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<CpuSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<CpuSet>,
}

/// What goes wrong, for tests of everything that has to survive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failures {
    /// The system refuses these CPUs when the crew engages.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub refuse_pin: CpuSet,
    /// A real-time priority or niceness that is asked for is refused.
    pub refuse_priority: bool,
    /// Trials on these CPUs never end by themselves.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub hang: CpuSet,
    /// When a trial that hangs is given up.
    pub hang_limit_ms: u32,
    /// The threads of these CPUs die.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub die: CpuSet,
    /// The two sides count different numbers of hand-overs where one of these CPUs takes part.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub miscount: CpuSet,
    /// Something else keeps the machine busy.
    pub busy: bool,
    /// A CPU is taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose_cpu_at: Option<LoseCpu>,
    /// The counter jumps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<ClockStep>,
    /// The run is interrupted, as by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_ms: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoseCpu {
    pub cpu: u32,
    pub at_ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStep {
    pub at_ms: u32,
    pub by_us: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            based_on: None,
            name: "unnamed".to_owned(),
            hardware_seed: 1,
            arch: Arch::X86,
            hypervisor: None,
            reported: Reported::True,
            structure: Structure::default(),
            latency_ns: BTreeMap::new(),
            eager_penalty: BTreeMap::new(),
            variation: Variation::default(),
            homes: Homes::default(),
            counter: Counter::default(),
            core_clock: CoreClock::default(),
            costs: Costs::default(),
            noise: Noise::default(),
            stalls: Vec::new(),
            states: Vec::new(),
            allowance: None,
            failures: Failures::default(),
        }
    }
}

impl Default for Variation {
    fn default() -> Variation {
        Variation { cpu_sd: 0.01, pair_sd: 0.01, line_sd: 0.08, asymmetry_sd: 0.01, defect_share: 0.0 }
    }
}

impl Default for Homes {
    fn default() -> Homes {
        // 1.86: pairs inside one socket, 107.6 against 200.5 ns by where a single-home tool had its line (7R13).
        Homes { penalty: 1.15, remote: 1.86 }
    }
}

impl Default for Counter {
    fn default() -> Counter {
        // The guest of measured.md: TSC at 2.596 GHz, a fenced pair of reads 18 ns.
        Counter { hz: 2.596e9, step_ticks: 1, cost_ns: 18.0, offset_sd_ns: 5.0 }
    }
}

impl Default for CoreClock {
    fn default() -> CoreClock {
        CoreClock {
            ghz: 4.0,
            slow_class_ghz: 3.0,
            drift_sd: 0.002,
            drift_ms: 500.0,
            step_share: 0.0,
            step_factor: 0.92,
        }
    }
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { rendezvous_us: 20.0, probes_us: 6.0, line_ns: 30.0, hint_ns: 10.0 }
    }
}

impl Default for Noise {
    fn default() -> Noise {
        Noise {
            batch_sd: 0.03,
            event_sd: 0.08,
            spike_share: 0.005,
            spike_factor: [1.3, 4.0],
            ar_rho: 0.0,
            ar_sd: 0.0,
            drift_sd: 0.0,
            drift_ms: 300.0,
            bad_share: 0.001,
            bad_factor: [1.3, 4.0],
            parallel_bias: 0.0,
            sibling_share: 0.0,
            sibling_factor: [1.3, 2.0],
        }
    }
}

impl Default for Failures {
    fn default() -> Failures {
        Failures {
            refuse_pin: CpuSet::new(),
            refuse_priority: false,
            hang: CpuSet::new(),
            hang_limit_ms: 1000,
            die: CpuSet::new(),
            miscount: CpuSet::new(),
            busy: false,
            lose_cpu_at: None,
            clock_step: None,
            stop_at_ms: None,
        }
    }
}
