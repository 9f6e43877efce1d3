//! Matrices in JSON: the document of coretalk, an object of objects keyed by CPU number (the c2clat fork with `-j`),
//! and `inter-processor-communication` with two lists of labels and flat values row by row.

use super::field::{CpuLabels, Number, read_label};
use super::import_error::excerpt;
use super::pairs::{ListedPair, Pairs};
use super::square::{Square, SquareShape, check, check_density};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Printed, Problem, Unit};
use crate::topology::{CacheSize, CoreClass, Domain, MemoryNode, OtherFacts, Same};
use crate::{CpuSet, Level, Topology};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Maximum size. The parsed tree takes up to 16 times as much memory.
const MAX_JSON_MIB: usize = 128;

pub(super) fn read(text: &str) -> Result<Vec<ImportedMatrix>, ImportError> {
    if text.len() > MAX_JSON_MIB << 20 {
        return Err(Problem::TooLarge { limit_mib: MAX_JSON_MIB }.into());
    }
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let first =
            text.trim_start().lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
        if first.is_some_and(|line| is_of_trial(line["schema"].as_str())) {
            return shape(LINE_PER_TRIAL.into()).into();
        }
        // The message of the library also ends with the position.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let (line, column) = (Some(error.line()), Some(error.column()));
        ImportError { line, column, problem: Problem::JsonSyntax { message } }
    })?;
    let unknown = || Problem::JsonShape {
        message: "expected an object of objects keyed by CPU, or `inter-processor-communication`".to_owned(),
    };
    let object = document.as_object().ok_or_else(unknown)?;
    match object.get("schema").and_then(Value::as_str) {
        schema if is_of_trial(schema) => return Err(shape(LINE_PER_TRIAL.into()).into()),
        Some(schema) if schema.starts_with("coretalk.") => return read_ours(object),
        _ => {}
    }
    if let Some(matrix) = find_ipc(object) {
        return read_ipc(object, matrix).map(|one| vec![one]);
    }
    if is_c2clat(object) {
        return read_c2clat(object).map(|one| vec![one]);
    }
    Err(unknown().into())
}

const LINE_PER_TRIAL: &str = "it has a line per trial; write the run with `coretalk export --format json`";

fn is_of_trial(schema: Option<&str>) -> bool {
    schema.is_some_and(|schema| {
        ["coretalk.trial/", "coretalk.pass/"].iter().any(|prefix| schema.starts_with(prefix))
    })
}

fn read_ours(document: &Map<String, Value>) -> Result<Vec<ImportedMatrix>, ImportError> {
    let mut matrices = Vec::new();
    for matrix in document.get("matrices").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| matrix[key].as_str();
        let is_latency = matches!(text("probe"), Some("latency" | "imported"));
        let Some(unit) = text("unit").and_then(Unit::named).filter(|_| is_latency) else { continue };
        let list = |key: &str| matrix[key].as_array().ok_or_else(|| shape(format!("`{key}` is not a list")));
        let (cpus, cells) = (labels(list("cpus")?, "cpus")?, list("cells")?);
        check_density(cpus.len(), cells.len())?;
        let mut square = Square::new(&cpus)?;
        for (index, cell) in cells.iter().enumerate() {
            let fail = |problem: Problem| shape(format!("`cells[{index}]`: {problem}"));
            let position_of =
                |key: &str| read_label(&text_of(&cell[key])).and_then(|cpu| cpus.position(cpu)).map_err(fail);
            let median = number(&cell["median"]);
            let median = median.ok_or_else(|| shape(format!("`cells[{index}].median` is not a number")))?;
            square.set(position_of("from")?, position_of("to")?, median).map_err(fail)?;
        }
        let shape = if matrix["symmetric"] == true { SquareShape::Detect } else { SquareShape::Directed };
        let imported = square.finish(FormatId::CoretalkJson, Some(unit), Labels::FromFile, shape)?;
        let of_run = |part: &str, key: &str| document.get(part)?.get(key);
        let facts = [
            ("protocol", matrix.get("protocol")),
            ("kernel", matrix.get("kernel")),
            ("regime", matrix.get("regime")),
            ("as", matrix["parameters"].get("as")),
            ("simulated", matrix["parameters"].get("simulated").or_else(|| of_run("run", "simulated"))),
            ("machine", matrix["parameters"].get("machine").or_else(|| of_run("environment", "simulated"))),
            ("cpu", of_run("environment", "cpu_model")),
            ("hypervisor", of_run("environment", "hypervisor")),
        ];
        let version = of_run("run", "tool_version").and_then(Value::as_str);
        let version = version.filter(|_| text("probe") == Some("latency"));
        let tool = version.map(|version| ("tool".to_owned(), format!("coretalk {version}")));
        let known =
            facts.into_iter().filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_null())?)));
        matrices.push(ImportedMatrix {
            title: matrix["parameters"]["title"].as_str().map(str::to_owned),
            reported: reported(&document.get("topology").unwrap_or(&Value::Null)["reported"]),
            metadata: known.map(|(key, value)| (key.to_owned(), text_of(value))).chain(tool).collect(),
            ..imported
        });
    }
    match matrices.is_empty() {
        true => Err(shape("this document of coretalk has no latency map".to_owned()).into()),
        false => Ok(matrices),
    }
}

/// Rejects an implausible topology, which could require unlimited memory.
fn reported(document: &Value) -> Option<Topology> {
    let list = |key: &str| document[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let parse_cpus = |value: &Value| value.as_str()?.parse::<CpuSet>().ok();
    let mut domains = Vec::new();
    let mut cpus_by_level: BTreeMap<Level, CpuSet> = BTreeMap::new();
    for level in list("levels") {
        let known = Level::named(level["level"].as_str()?)?;
        for group in level["groups"].as_array()? {
            let cpus = parse_cpus(group)?;
            let before = cpus_by_level.entry(known).or_default();
            if cpus.last()?.index() >= MAX_CPUS || !before.intersection(&cpus).is_empty() {
                return None;
            }
            *before = before.union(&cpus);
            domains.push(Domain { level: known, cpus, os_id: None });
        }
    }
    let mut classes = BTreeMap::new();
    for class in list("classes") {
        let rank = class["rank"].as_u64().and_then(|rank| u32::try_from(rank).ok())?;
        let kind = CoreClass { rank, name: class["name"].as_str()?.to_owned() };
        classes.extend(parse_cpus(&class["cpus"])?.iter().map(|cpu| (cpu, kind.clone())));
    }
    let same = list("same").iter().filter_map(|same| {
        Some((Level::named(same["level"].as_str()?)?, Same::named(same["same_as"].as_str()?)?))
    });
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let distance = |entry: &Value| Some((number(&entry["from"])?, number(&entry["distance"])?));
    let memory = list("memory_nodes").iter().filter_map(|node| {
        let distances = node["distances"].as_array().into_iter().flatten().filter_map(distance).collect();
        Some(MemoryNode {
            number: number(&node["node"])?,
            memory_bytes: node["memory_bytes"].as_u64(),
            distances,
        })
    });
    let caches = list("caches").iter().filter_map(|cache| {
        let groups = cache["groups"].as_array()?.iter().map(parse_cpus).collect::<Option<_>>()?;
        Some(CacheSize { name: cache["name"].as_str()?.to_owned(), bytes: cache["bytes"].as_u64()?, groups })
    });
    let other_facts =
        || OtherFacts { same: same.collect(), memory_nodes: memory.collect(), caches: caches.collect() };
    let other_facts = document["same"].is_array().then(other_facts);
    let cpus = domains.iter().fold(CpuSet::new(), |all, domain| all.union(&domain.cpus));
    (!cpus.is_empty()).then(|| Topology::new(cpus, domains, classes).with(other_facts))
}

fn is_c2clat(document: &Map<String, Value>) -> bool {
    !document.is_empty() && document.iter().all(|(key, value)| read_label(key).is_ok() && value.is_object())
}

fn read_c2clat(document: &Map<String, Value>) -> Result<ImportedMatrix, ImportError> {
    let mut pairs = Pairs::default();
    for (from_key, row) in document {
        let from = read_label(from_key)?;
        for (to_key, value) in row.as_object().into_iter().flatten() {
            let path = || format!("`{}`.`{}`", excerpt(from_key), excerpt(to_key));
            let to = read_label(to_key).map_err(|problem| shape(format!("{}: {problem}", path())))?;
            let number = number(value).ok_or_else(|| shape(format!("{} is not a number", path())))?;
            let latency = number.filter(|_| from != to).map_or(Ok(()), |number| check(number.value));
            latency.map_err(|problem| shape(format!("{}: {problem}", path())))?;
            pairs.push(ListedPair { line: 0, field: 0, from, to, number })?;
        }
    }
    let no_line = |error: ImportError| error.problem;
    let square = pairs.into_square().map_err(no_line)?;
    Ok(square.finish(FormatId::C2clatJson, Some(Unit::Ns), Labels::FromFile, SquareShape::Detect)?)
}

const IPC: &str = "inter-processor-communication";

fn find_ipc(document: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let whole = ["d0", "d1", "values"].iter().all(|key| document.contains_key(*key)).then_some(document);
    document.get(IPC).and_then(Value::as_object).or(whole)
}

fn read_ipc(
    document: &Map<String, Value>,
    object: &Map<String, Value>,
) -> Result<ImportedMatrix, ImportError> {
    let list = |key: &str| {
        object.get(key).and_then(Value::as_array).ok_or_else(|| shape(format!("`{key}` is not a list")))
    };
    let (rows, columns) =
        (labels(list("row_label")?, "row_label")?, labels(list("column_label")?, "column_label")?);
    let n = columns.len();
    if rows.cpus() != columns.cpus() {
        return Err(shape("`row_label` and `column_label` differ".to_owned()).into());
    }
    for key in ["d0", "d1"] {
        if object.get(key).and_then(Value::as_u64) != Some(n as u64) {
            return Err(shape(format!("`{key}` is not {n}, the number of labels")).into());
        }
    }
    let values = list("values")?;
    if values.len() != n * n {
        return Err(shape(format!("`values` has {} entries, not {n} times {n}", values.len())).into());
    }
    let mut square = Square::new(&columns)?;
    for (index, value) in values.iter().enumerate() {
        let number = number(value).ok_or_else(|| shape(format!("`values[{index}]` is not a number")))?;
        let placed = square.set(index / n, index % n, number);
        placed.map_err(|problem| shape(format!("`values[{index}]`: {problem}")))?;
    }
    let mut imported = square.finish(FormatId::IpcJson, None, Labels::FromFile, SquareShape::Detect)?;
    if let Some(machine) = document.get("sysinfo").and_then(Value::as_object) {
        imported.metadata = machine.iter().map(|(key, value)| (key.clone(), text_of(value))).collect();
    }
    Ok(imported)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A number in JSON; the inner `None` is null, "not measured".
fn number(value: &Value) -> Option<Option<Number>> {
    match value {
        Value::Null => Some(None),
        Value::Number(number) => {
            let printed = if number.is_f64() { Printed::Decimals } else { Printed::WholeNumbers };
            Some(Some(Number { value: number.as_f64()?, printed }))
        }
        _ => None,
    }
}

fn shape(message: String) -> Problem {
    Problem::JsonShape { message }
}

fn labels(list: &[Value], key: &str) -> Result<CpuLabels, Problem> {
    let mut labels = CpuLabels::default();
    for (index, value) in list.iter().enumerate() {
        let pushed = read_label(&text_of(value)).and_then(|cpu| labels.push(cpu));
        pushed.map_err(|problem| shape(format!("`{key}[{index}]`: {problem}")))?;
    }
    Ok(labels)
}
