//! The built binary, called in a scratch directory: the one of the profile that is tested, or the one that
//! `CORETALK_TEST_BINARY` names.

use assert_cmd::cargo::cargo_bin;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A scratch directory with a store of its own.
pub struct Tool {
    pub directory: TempDir,
}

fn binary() -> PathBuf {
    std::env::var_os("CORETALK_TEST_BINARY").map_or_else(|| cargo_bin("coretalk"), PathBuf::from)
}

/// What a call said.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Tool {
    pub fn new() -> Tool {
        Tool { directory: TempDir::new().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(words)
            .current_dir(self.path())
            .env_clear()
            .env("CORETALK_STORE", self.path().join("runs"))
            .env("COLUMNS", "100");
        command
    }

    pub fn call(&self, words: &[&str]) -> Said {
        said(self.command(words).output().unwrap())
    }

    /// A call that must succeed.
    pub fn done(&self, words: &[&str]) -> Said {
        let said = self.call(words);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
        said
    }
}

pub fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
