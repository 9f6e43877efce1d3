//! [`Child`]: this program as a child process, started as a user would start it, with its own store.

use coretalk_measure::Stop;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Time limit. Every budget is much shorter, so a process that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(40);

pub struct Child<'a> {
    pub program: &'a Path,
    /// Empty directory for the store, documents and printed output.
    pub scratch: &'a Path,
    pub stop: &'a Stop,
}

/// A started process; killed on drop.
pub struct Running(process::Child);

impl Child<'_> {
    /// Runs a command line, split at spaces, and parses the document that it prints. Calls `watch` with the process id
    /// at each poll. The error is a sentence.
    pub fn document(&self, words: &str, watch: &mut dyn FnMut(u32)) -> Result<Value, String> {
        self.document_of(&words.split(' ').collect::<Vec<_>>(), watch)
    }

    /// As [`Child::document`], but with separate words, which may contain spaces.
    pub fn document_of(&self, words: &[&str], watch: &mut dyn FnMut(u32)) -> Result<Value, String> {
        let path = self.scratch.join("document.json");
        let output = path.to_string_lossy();
        let mut running = self.spawn("document", &[words, &["--format", "json", "-o", &output]].concat())?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = running.0.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if self.stop.is_raised() || began.elapsed() > LONGEST {
                return Err(format!("`coretalk {}` did not end within {LONGEST:?}", words.join(" ")));
            }
            watch(running.0.id());
            thread::sleep(POLL_INTERVAL);
        };
        if !status.success() {
            return Err(self.last_message("document", status));
        }
        let text = fs::read(&path).map_err(|error| format!("its document cannot be read: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| format!("its document is not JSON: {error}"))
    }

    /// Starts a command line, split at spaces. Its output goes to files called `name`.
    pub fn start(&self, name: &str, words: &str) -> Result<Running, String> {
        self.spawn(name, &words.split(' ').collect::<Vec<_>>())
    }

    fn spawn(&self, name: &str, words: &[&str]) -> Result<Running, String> {
        let file = |ending: &str| File::create(self.scratch.join(format!("{name}.{ending}")));
        let failed = |error: std::io::Error| format!("failed to start {}: {error}", self.program.display());
        Command::new(self.program)
            .args(words)
            .env("CORETALK_STORE", self.store())
            .stdin(Stdio::null())
            .stdout(file("out").map_err(failed)?)
            .stderr(file("err").map_err(failed)?)
            .spawn()
            .map(Running)
            .map_err(failed)
    }

    fn last_message(&self, name: &str, status: ExitStatus) -> String {
        let text = fs::read_to_string(self.scratch.join(format!("{name}.err"))).unwrap_or_default();
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(
            || format!("it ended with {status}"),
            |line| line.trim_start_matches("coretalk: ").to_owned(),
        )
    }

    fn store(&self) -> PathBuf {
        self.scratch.join("store")
    }

    pub fn saved_runs(&self) -> impl Iterator<Item = PathBuf> {
        let files = fs::read_dir(self.store()).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| path.extension() == Some(OsStr::new("coretalk")))
    }

    /// Polls `find` until it returns a value or the time is up.
    pub fn wait_for<T>(&self, limit: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
        let began = Instant::now();
        loop {
            let found = find();
            if found.is_some() || began.elapsed() > limit || self.stop.is_raised() {
                return found;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Running {
    /// CPU time of the process and its finished children in seconds; `None` after its end.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        let fields = stat.rsplit(')').next()?.split_ascii_whitespace();
        // utime, stime, cutime and cstime are the 12th to 15th field after the name, in ticks of 10 ms on every Linux.
        let ticks: Vec<f64> = fields.skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
        (ticks.len() == 4).then(|| ticks.iter().sum::<f64>() / 100.0)
    }

    /// Kills the process. Returns whether it had already ended.
    pub fn end(&mut self) -> bool {
        let ended = self.0.try_wait().is_ok_and(|status| status.is_some());
        // Killing fails only after the end of the process.
        let _ = self.0.kill();
        let _ = self.0.wait();
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
