//! Reads input files: regular files of limited size only.

use crate::exit::Failure;
use crate::store;
use coretalk_model::formats::{ImportedMatrix, read_matrices};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum input size, as in the matrix readers.
const MAX_BYTES: u64 = 512 << 20;

/// Reads a regular file. Refuses pipes and devices, which might never end and would delay a signal. Fails with
/// [`Failure::Input`] if the file is missing, unreadable, not regular, or too large.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let fail = |error| Failure::Input(format!("failed to read {name}: {error}"));
    let kind = std::fs::metadata(path).map_err(fail)?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "not a regular file" };
        return Err(Failure::Input(format!("failed to read {name}: it is {what}; name a file")));
    }
    read_at_most(std::fs::File::open(path).map_err(fail)?, &name)
}

/// Reads a source to its end. Fails with [`Failure::Input`] if the source is unreadable or too large.
pub fn read_at_most(source: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Input(format!("failed to read {name}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::Input(format!(
            "failed to read {name}: it is larger than {} MiB",
            MAX_BYTES >> 20
        )));
    }
    Ok(bytes)
}

/// Reads the matrices of a file of any tool, or of standard input for `-`. Fails if the file cannot be read.
pub fn matrices(file: &Path) -> Result<Vec<ImportedMatrix>, Failure> {
    matrices_of(&bytes(file)?, &file.display().to_string())
}

/// Matrices, each with the path of its file.
pub type OfFiles<'a> = Vec<(&'a Path, ImportedMatrix)>;

/// Reads the matrices of several files. The second value names unreadable files. Fails if no file can be read.
pub fn matrices_of_all(files: &[PathBuf]) -> Result<(OfFiles<'_>, Option<Failure>), Failure> {
    let (mut read, mut refused) = (Vec::new(), Vec::new());
    for file in files {
        match matrices(file) {
            Ok(matrices) => read.extend(matrices.into_iter().map(|matrix| (file.as_path(), matrix))),
            Err(Failure::Input(sentence)) => refused.push(sentence),
            Err(other) => return Err(other),
        }
    }
    let failure = (!refused.is_empty()).then(|| Failure::Input(refused.join("; ")));
    match failure {
        Some(failure) if read.is_empty() => Err(failure),
        failure => Ok((read, failure)),
    }
}

/// Parses matrices. Fails if the bytes are not a matrix file; the error names the file by `name`.
pub fn matrices_of(bytes: &[u8], name: &str) -> Result<Vec<ImportedMatrix>, Failure> {
    if store::is_run_file(bytes) {
        let sentence =
            format!("{name}: this is a run file, which `coretalk report`, `export` and `compare` read");
        return Err(Failure::Input(sentence));
    }
    read_matrices(bytes).map_err(|error| Failure::Input(format!("{name}: failed to {error}")))
}

/// Reads the bytes of a file, or of standard input for `-`.
pub fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    if file == Path::new("-") {
        return read_at_most(std::io::stdin().lock(), "standard input");
    }
    read(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("some");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
        for path in [folder.path(), Path::new("/dev/zero"), &folder.path().join("missing")] {
            assert!(matches!(read(path), Err(Failure::Input(_))), "{path:?} was read");
        }
    }
}
