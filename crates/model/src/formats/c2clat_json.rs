//! c2clat's JSON (the fork with `-j`): an object of objects keyed by CPU number.

use serde_json::{Map, Value};

use super::import_error::excerpt;
use super::ipc_json::{number, shape};
use super::label::read_label;
use super::pairs::{Pair, Pairs};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Unit};

/// Whether this is such a document: every key a CPU, every value an object.
pub(super) fn is_one(document: &Map<String, Value>) -> bool {
    !document.is_empty() && document.iter().all(|(key, value)| read_label(key).is_ok() && value.is_object())
}

/// Reads the matrix.
///
/// # Errors
/// [`super::Problem::JsonShape`] names the key that is not as expected.
pub(super) fn read(document: &Map<String, Value>) -> Result<ImportedMatrix, ImportError> {
    let mut pairs = Pairs::default();
    for (from_key, row) in document {
        let from = read_label(from_key)?;
        for (to_key, value) in row.as_object().into_iter().flatten() {
            let path = || format!("`{}`.`{}`", excerpt(from_key), excerpt(to_key));
            let to = read_label(to_key).map_err(|problem| shape(format!("{}: {problem}", path())))?;
            let number = number(value).ok_or_else(|| shape(format!("{} is not a number", path())))?;
            let negative = number.is_some_and(|number| number.value < 0.0) && from != to;
            if negative {
                return Err(shape(format!("{} is negative", path())).into());
            }
            pairs.push(Pair { line: 0, field: 0, from, to, number })?;
        }
    }
    let no_line = |error: ImportError| error.problem;
    let square = pairs.into_square().map_err(no_line)?;
    Ok(square.finish(FormatId::C2clatJson, Unit::Ns, Labels::FromFile, Shape::Detect)?)
}
