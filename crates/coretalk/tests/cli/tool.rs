//! Calls the binary of the tested profile, or `CORETALK_TEST_BINARY`, in a scratch directory.

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub struct Tool {
    pub directory: TempDir,
}

fn binary() -> PathBuf {
    std::env::var_os("CORETALK_TEST_BINARY").map_or_else(|| cargo_bin("coretalk"), PathBuf::from)
}

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

    pub fn copy(&self) -> Tool {
        fn copy(from: &Path, to: &Path) {
            for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
                let to = to.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    std::fs::create_dir(&to).unwrap();
                    copy(&entry.path(), &to);
                } else {
                    std::fs::copy(entry.path(), to).unwrap();
                }
            }
        }
        let other = Tool::new();
        copy(self.path(), other.path());
        other
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

    /// Calls the tool; must succeed.
    #[track_caller]
    pub fn done(&self, words: &[&str]) -> Said {
        let output = self.call(words);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
        output
    }

    /// Calls the tool and parses the document; must succeed.
    #[track_caller]
    pub fn json(&self, words: &[&str]) -> Value {
        let out = self.done(words).out;
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{words:?}: {error}: {out}"))
    }

    /// Calls the tool with the words of a line, must succeed; returns the standard output.
    #[track_caller]
    pub fn out(&self, line: &str) -> String {
        self.done(&words(line)).out
    }

    /// Calls the tool with the words of a line and parses the document; must succeed.
    #[track_caller]
    pub fn document(&self, line: &str) -> Value {
        self.json(&words(line))
    }

    /// Calls the tool; must exit with `code` and print only one message, which contains `part`.
    #[track_caller]
    pub fn refused(&self, words: &[&str], code: i32, part: &str) {
        let message = self.refusal(words, code);
        assert!(message.contains(part), "{words:?}, `{part}`: {message}");
    }

    /// Calls the tool; must exit with `code` and print only one message, which is returned.
    #[track_caller]
    pub fn refusal(&self, words: &[&str], code: i32) -> String {
        let Said { code: actual, out, err } = self.call(words);
        assert_eq!((actual, out.as_str(), err.lines().count()), (code, "", 1), "{words:?}: {err}");
        err
    }

    /// Writes a report (page or SVG picture) with these options; returns its text.
    #[track_caller]
    pub fn report(&self, options: &[&str], file: &str) -> String {
        self.done(&[&["report", "-o", file], options].concat());
        self.read(file)
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), text).unwrap();
    }
}

pub fn limited(tool: &Tool, limit: &str, words: &[&str]) -> Said {
    let plain = tool.command(words);
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(plain.get_program()).args(words).current_dir(tool.path()).env_clear();
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    said(command.output().unwrap())
}

pub fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Replaces all white space by single spaces.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

/// Checks the width of a screen: `COLUMNS` of `Tool::command`.
#[track_caller]
pub fn assert_fits(screen: &str) {
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

/// Returns the text between the first `start` and the next `end`.
#[track_caller]
pub fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("`{start}` is not in {text}"));
    rest.split(end).next().unwrap()
}

#[track_caller]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

#[track_caller]
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}
