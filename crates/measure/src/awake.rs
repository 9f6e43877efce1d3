//! [`Awake`]: keeps the CPUs of this machine out of idle states that take time to leave.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Where the kernel takes the longest exit that it may choose an idle state by. Source: the kernel's documentation of PM
/// quality of service for user space: a signed number of microseconds in 32 bits, which holds as long as the file is open.
const LIMIT: &str = "/dev/cpu_dma_latency";

/// While it lives, no CPU enters an idle state that takes time to leave: idle loops poll.
#[derive(Debug)]
pub struct Awake {
    /// The request ends where the file is closed.
    _held: File,
}

impl Awake {
    /// Asks the system for it.
    ///
    /// # Errors
    /// The system refuses, mostly because it needs root.
    pub fn hold() -> io::Result<Awake> {
        Awake::hold_by(Path::new(LIMIT))
    }

    fn hold_by(path: &Path) -> io::Result<Awake> {
        let mut held = OpenOptions::new().write(true).open(path)?;
        held.write_all(&0_i32.to_ne_bytes())?;
        Ok(Awake { _held: held })
    }
}

/// What stands in the way of [`Awake::hold`], as a sentence that names the file.
pub fn refusal(error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "it needs root".to_owned(),
        io::ErrorKind::NotFound => "this kernel does not offer it".to_owned(),
        _ => error.to_string(),
    };
    format!("{LIMIT} cannot be used ({why})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wish_is_a_zero_in_32_bits_and_a_refusal_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limit");
        std::fs::write(&path, "").unwrap();
        let awake = Awake::hold_by(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0; 4]);
        drop(awake);
        let error = Awake::hold_by(&folder.path().join("none")).unwrap_err();
        assert_eq!(refusal(&error), "/dev/cpu_dma_latency cannot be used (this kernel does not offer it)");
    }
}
