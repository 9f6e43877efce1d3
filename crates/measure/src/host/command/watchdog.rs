//! [`Watchdog`]: a process that kills leftover programs if this process is killed.
//!
//! A program dies with its parent, but its descendants may survive: a daemon leaves the process group, and an orphan
//! has another parent. A second process sleeps until this process ends. It then finds the descendants by an environment
//! variable.

use super::tree;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Subcommand that makes this program a watchdog.
pub const GUARD: &str = "guard";
/// Environment variable inherited by everything that a watched program starts.
const MARK: &str = "CORETALK_GUARDED";
/// Maximum number of scans. A process may start another while it is being killed.
const SCANS: usize = 1_000;
const SCAN_INTERVAL: Duration = Duration::from_millis(1);

/// Handle of the watchdog process.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    word: String,
}

impl Watchdog {
    /// Starts the watchdog, which sleeps until this process is gone; `None` if the start fails.
    pub fn start() -> Option<Watchdog> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let word = format!("{}-{}", std::process::id(), since.as_nanos());
        let mut command = Command::new(std::env::current_exe().ok()?);
        // The process group of its own keeps signals of a terminal from ending it first. The pipe closes with this
        // process.
        command.args(["work", GUARD, &word]).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Watchdog { child: command.spawn().ok()?, word })
    }

    /// Environment variable that marks a program and its descendants.
    pub fn mark(&self) -> (&'static str, &str) {
        (MARK, &self.word)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Main function of the watchdog. Waits for the end of standard input, then kills every process marked with `word`.
pub fn keep(word: &str) {
    // A read error counts as end of input.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    for _ in 0..SCANS {
        let remaining = tree::marked(&format!("{MARK}={word}"));
        if remaining.is_empty() {
            return;
        }
        remaining.into_iter().for_each(tree::kill);
        std::thread::sleep(SCAN_INTERVAL);
    }
}
