//! JSON with `inter-processor-communication`: two sizes, two lists of labels, flat values row by row.

use serde_json::{Map, Value};

use super::cell::Number;
use super::label::{CpuLabels, read_label};
use super::square::{Shape, Square};
use super::{FormatId, ImportError, ImportedMatrix, Labels, Printed, Problem, Unit, Warning};

const NAME: &str = "inter-processor-communication";

/// The object with the matrix, if this is such a document: under its name, or the whole.
pub(super) fn find(document: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let whole = ["d0", "d1", "values"].iter().all(|key| document.contains_key(*key)).then_some(document);
    document.get(NAME).and_then(Value::as_object).or(whole)
}

/// Reads the matrix of this object; the document around it may describe the machine.
///
/// # Errors
/// [`Problem::JsonShape`] names the key that is not as expected.
pub(super) fn read(
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
    let mut imported = square.finish(FormatId::IpcJson, Unit::Ns, Labels::FromFile, Shape::Detect)?;
    imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    if let Some(machine) = document.get("sysinfo").and_then(Value::as_object) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        imported.metadata = machine.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    }
    Ok(imported)
}

/// A number as JSON has it; null is "not measured", anything else is no number.
pub(super) fn number(value: &Value) -> Option<Option<Number>> {
    match value {
        Value::Null => Some(None),
        Value::Number(number) => {
            let printed = if number.is_f64() { Printed::Decimals } else { Printed::WholeNumbers };
            Some(Some(Number { value: number.as_f64()?, printed }))
        }
        _ => None,
    }
}

/// The problem of a document that is JSON but not as expected.
pub(super) fn shape(message: String) -> Problem {
    Problem::JsonShape { message }
}

fn labels(list: &[Value], key: &str) -> Result<CpuLabels, Problem> {
    let mut labels = CpuLabels::default();
    for (index, value) in list.iter().enumerate() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let pushed = read_label(&text).and_then(|cpu| labels.push(cpu));
        pushed.map_err(|problem| shape(format!("`{key}[{index}]`: {problem}")))?;
    }
    Ok(labels)
}
