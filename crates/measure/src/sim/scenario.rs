//! [`Scenario`]: the description of a simulated machine, from TOML, from a matrix, or built in.

use super::spec::{Spec, Variation};
use super::structure::{Reported, StructureSpec};
use super::validate::Fault;
use super::{builtin, names, validate};
use coretalk_model::Matrix;
use coretalk_model::stats::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A simulated machine: structure, true latencies, noise and injected failures. Always valid.
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

/// An error in the description of a simulated machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// The text is not TOML, a key is unknown, or a value has the wrong type.
    #[error("read the scenario{}: {message}", at_line(line))]
    Syntax {
        /// Line number, from 1.
        line: Option<usize>,
        /// The problem.
        message: String,
    },
    /// An impossible value.
    #[error("read the scenario{}: `{key}` {problem}", at_line(line))]
    Value {
        /// Line number, from 1, if the key is in the text.
        line: Option<usize>,
        /// The key with its tables.
        key: String,
        /// The problem, and the possible values.
        problem: String,
    },
    /// `based_on` names no built-in scenario.
    #[error("base the scenario on `{name}`: unknown scenario (known: {})", builtin::NAMES.join(", "))]
    UnknownBase {
        /// The name as typed.
        name: String,
    },
    /// A matrix that describes no machine.
    #[error("simulate the matrix: {problem}")]
    Matrix {
        /// The problem and its remedy.
        problem: String,
    },
}

fn at_line(line: &Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

impl Scenario {
    /// Names of the built-in scenarios, in report order.
    pub fn names() -> &'static [&'static str] {
        &builtin::NAMES
    }

    /// A built-in scenario by name.
    pub fn builtin(name: &str) -> Option<Scenario> {
        builtin::spec(name).map(|spec| Scenario { spec })
    }

    /// Parses a scenario. Every key has a default except `structure` and `latency_ns`, which may come from the built-in
    /// scenario in `based_on`. Tables are merged by key, and lists replaced. A changed scenario without a name is named
    /// after its base and its content, so that different machines have different names.
    pub fn from_toml(text: &str) -> Result<Scenario, ScenarioError> {
        let syntax = |error: toml::de::Error| ScenarioError::Syntax {
            line: error.span().map(|span| 1 + text[..span.start].matches('\n').count()),
            message: error.message().replace('\n', ", "),
        };
        let of_fault =
            |Fault { key, problem }: Fault| ScenarioError::Value { line: line_of(text, &key), key, problem };
        // The original text is parsed first, so that errors have a line number.
        let mut spec: Spec = toml::from_str(text).map_err(syntax)?;
        if let Some(base) = spec.based_on.take() {
            let basis =
                builtin::spec(&base).ok_or_else(|| ScenarioError::UnknownBase { name: base.clone() })?;
            // Converts through text, which reuses the parser. A conversion in memory would double the generated code.
            let mut table: toml::Table = reread(&basis)?;
            let mut over: toml::Table = toml::from_str(text).map_err(syntax)?;
            over.remove("based_on");
            let is_named = over.contains_key("name");
            merge(&mut table, over);
            spec = reread(&table)?;
            names::resolve(&mut spec).map_err(of_fault)?;
            // Injected failures do not change the machine. So an interrupted run can be continued without them.
            let without_failures = Spec { failures: basis.failures.clone(), ..spec.clone() };
            if !is_named && without_failures != basis {
                spec.name = format!("{base}-{:08x}", digest(&without_failures));
            }
        }
        names::resolve(&mut spec).and_then(|()| validate::check(&spec)).map_err(of_fault)?;
        Ok(Scenario { spec })
    }

    /// A machine with these true half round trips in nanoseconds (row = initiator). A missing cell takes the value of
    /// the other direction, else the median. The machine reports no structure and has only temporary noise. Fails for
    /// fewer than two or too many CPUs, a duplicate CPU, or values that are missing or not positive.
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
            structure: StructureSpec::Matrix { cpus: ids, half_round_trip_ns },
            reported: Reported::Nothing,
            variation: Variation { cpu_sd: 0.0, pair_sd: 0.0, asymmetry_sd: 0.0, ..Variation::default() },
            ..Spec::default()
        };
        validate::check(&spec).map_err(|fault| fail(format!("`{}` {}", fault.key, fault.problem)))?;
        Ok(Scenario { spec })
    }

    /// The whole scenario as TOML with every default, as a template.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.spec).unwrap_or_else(|error| format!("# cannot be written as TOML: {error}\n"))
    }

    /// The name of the scenario.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Renames the scenario.
    pub fn named(mut self, name: &str) -> Scenario {
        self.spec.name = name.to_owned();
        self
    }
}

/// Converts through TOML text. Errors have no line number, since this is not the user's text.
fn reread<T: DeserializeOwned>(written: &impl Serialize) -> Result<T, ScenarioError> {
    let fail = |message: String| ScenarioError::Syntax { line: None, message: message.replace('\n', ", ") };
    let text = toml::to_string(written).map_err(|error| fail(error.to_string()))?;
    toml::from_str(&text).map_err(|error| fail(error.message().to_owned()))
}

/// A digest of a changed scenario's content. It does not depend on the file, whose name may be private.
fn digest(spec: &Spec) -> u32 {
    let text = toml::to_string(spec).unwrap_or_default();
    let words: Vec<u64> = text.bytes().map(u64::from).collect();
    (Key::from_words(&words).bits(0) >> 32) as u32
}

/// Merges a table into another. A `structure` is replaced as a whole, since keys of two kinds do not mix.
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
