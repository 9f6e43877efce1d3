//! [`Scenario`]: the description of a simulated machine, from TOML, a matrix, or built in.

use super::spec::{Spec, Variation};
use super::structure::{Reported, Structure};
use super::{builtin, validate};
use coretalk_model::Matrix;
use coretalk_model::stats::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A simulated machine: structure, true latencies, noise, and what goes wrong on it. Always valid.
///
/// ```
/// # use coretalk_measure::sim::Scenario;
/// let noisier = Scenario::from_toml("based_on = 'chiplet-16'\n[noise]\nbatch_sd = 0.06\n").unwrap();
/// assert!(noisier.name().starts_with("chiplet-16-"));
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
    #[error("base the scenario on `{name}`: unknown scenario (known: {})", builtin::NAMES.join(", "))]
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
    /// scenario named by `based_on`; tables are merged key by key, lists replaced. Changed without a name of its own, it is
    /// named after its base and its content: two machines that differ have different names.
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
            // Through text both ways: reading and writing tables in memory would be as much machine code once more.
            let mut table: toml::Table = reread(&basis)?;
            let mut over: toml::Table = toml::from_str(text).map_err(syntax)?;
            over.remove("based_on");
            let is_named = over.contains_key("name");
            merge(&mut table, over);
            spec = reread(&table)?;
            // What goes wrong on a machine makes no other machine of it: a run that broke off can go on.
            let sound = Spec { failures: basis.failures.clone(), ..spec.clone() };
            if !is_named && sound != basis {
                spec.name = format!("{base}-{:08x}", digest(&sound));
            }
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
            return Err(fail("it has no value off the diagonal".to_owned()));
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

/// Something as what its text says. What is wrong then has no place in the text that somebody wrote.
fn reread<T: DeserializeOwned>(written: &impl Serialize) -> Result<T, ScenarioError> {
    let fail = |message: String| ScenarioError::Syntax { line: None, message: message.replace('\n', ", ") };
    let text = toml::to_string(written).map_err(|error| fail(error.to_string()))?;
    toml::from_str(&text).map_err(|error| fail(error.message().to_owned()))
}

/// What tells one changed scenario from another: of its content, so that the same changes have the same name whatever
/// their files are called, and because the name of a file may be private.
fn digest(spec: &Spec) -> u32 {
    let text = toml::to_string(spec).unwrap_or_default();
    let words: Vec<u64> = text.bytes().map(u64::from).collect();
    (Key::of(&words).bits(0) >> 32) as u32
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
