//! [`SystemRoot`]: the files in which Linux describes the system, or a captured copy of them.

use crate::machine::MachineError;
use coretalk_model::CpuSet;
use coretalk_model::cpu::CpuSetError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Directory with `proc` and `sys`: `/` on a live system, any tree with this layout in tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoot(PathBuf);

/// Maximum bytes read from a file. `/proc/cpuinfo` takes about 1.5 KiB per CPU, so it fits with 4,096 CPUs. Without a
/// limit an endless file would take all memory.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Why a system file is unusable. [`SystemRoot::text`] does not count a missing file as an error.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused to read the file.
    #[error("read {path}")]
    Io {
        /// Path.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is too long.
    #[error("read {path}: it is longer than {limit_bytes} bytes")]
    TooLong {
        /// Path.
        path: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// The file has no valid CPU list.
    #[error("read {path} as a CPU list")]
    List {
        /// Path.
        path: String,
        /// The error of the parser.
        source: CpuSetError,
    },
}

impl From<ReadError> for MachineError {
    fn from(error: ReadError) -> MachineError {
        let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
        match error {
            ReadError::Io { path, source } => MachineError::System { path, source },
            ReadError::TooLong { path, limit_bytes } => {
                MachineError::System { path, source: invalid(format!("longer than {limit_bytes} bytes")) }
            }
            ReadError::List { path, source } => {
                MachineError::System { path, source: invalid(source.to_string()) }
            }
        }
    }
}

impl SystemRoot {
    /// Root of a tree with the layout of a live system.
    pub fn new(directory: impl Into<PathBuf>) -> SystemRoot {
        SystemRoot(directory.into())
    }

    /// Root of the running system.
    pub fn live() -> SystemRoot {
        SystemRoot::new("/")
    }

    /// Whether this is the running system. Then instructions such as CPUID describe the same machine as the files.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// File name of the executable of the calling thread.
    pub fn executable_of_thread(&self) -> Option<String> {
        let path = std::fs::read_link(self.full_path("/proc/thread-self/exe")).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// Text of a file such as `/proc/stat`; `None` if it is missing. Trailing white space is removed, and invalid UTF-8
    /// becomes `�`. Fails if the file exists but is unreadable or too long.
    pub fn text(&self, path: &str) -> Result<Option<String>, ReadError> {
        let failed = |source| ReadError::Io { path: path.to_owned(), source };
        let file = match File::open(self.full_path(path)) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ReadError::TooLong { path: path.to_owned(), limit_bytes: MAX_FILE_BYTES });
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.truncate(text.trim_end().len());
        Ok(Some(text))
    }

    /// CPU list such as `0-3,8`; `None` if the file does not exist. Fails as [`text`](SystemRoot::text), and for
    /// invalid contents.
    pub fn list(&self, path: &str) -> Result<Option<CpuSet>, ReadError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        CpuSet::from_list(&text).map(Some).map_err(|source| ReadError::List { path: path.to_owned(), source })
    }

    /// Text of an optional file; `None` if it is missing, unreadable or empty.
    pub fn peek(&self, path: &str) -> Option<String> {
        self.text(path)
            .ok()
            .flatten()
            .map(|text| text.trim_start().to_owned())
            .filter(|text| !text.is_empty())
    }

    /// Number in an optional file.
    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.peek(path)?.parse().ok()
    }

    /// Sorted names in a directory; empty if it is missing or unreadable.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.full_path(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Numbers of entries such as `cpu12` or `node0`, ascending.
    pub fn numbered(&self, directory: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(directory);
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    fn full_path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
}

/// Whether the error means a missing file, or a path through a file that is no directory.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    #[test]
    fn a_missing_file_is_unknown_and_no_error() {
        let tree = SystemTree::new().file("/sys/a", "1\n");
        assert_eq!(tree.root().text("/sys/b").unwrap(), None);
        assert_eq!(tree.root().text("/sys/a/b").unwrap(), None);
        assert_eq!(tree.root().text("/sys/a").unwrap().as_deref(), Some("1"));
    }

    #[test]
    fn errors_name_the_unreadable_file() {
        let tree = SystemTree::new().file("/sys/online", "0-x\n").file("/sys/dir/file", "");
        let list = MachineError::from(tree.root().list("/sys/online").unwrap_err());
        assert_eq!(list.to_string(), "read /sys/online");
        let directory = tree.root().text("/sys/dir").unwrap_err();
        assert_eq!(directory.to_string(), "read /sys/dir");
    }

    #[test]
    fn an_endless_file_is_refused() {
        let endless = " ".repeat(MAX_FILE_BYTES as usize + 1);
        let tree = SystemTree::new().file("/proc/cpuinfo", &endless);
        assert!(matches!(tree.root().text("/proc/cpuinfo"), Err(ReadError::TooLong { .. })));
        assert_eq!(tree.root().peek("/proc/cpuinfo"), None);
    }

    #[test]
    fn entries_are_numbered_by_value_and_not_by_spelling() {
        let tree = SystemTree::new().file("/c/cpu10/x", "").file("/c/cpu9/x", "").file("/c/cpufreq/x", "");
        assert_eq!(tree.root().numbered("/c", "cpu"), [9, 10]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_reader() {
        let tree = SystemTree::new().bytes("/sys/name", b"\xffAMD\n");
        assert_eq!(tree.root().peek("/sys/name").as_deref(), Some("\u{fffd}AMD"));
    }
}
