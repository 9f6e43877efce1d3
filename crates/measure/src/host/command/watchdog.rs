//! [`Watchdog`]: a process that ends what is left of programs, should this one be killed.
//!
//! A program ends with its parent. Nothing ties to us what it has started, once both are gone: daemons have left its group,
//! and orphans go to whoever adopts them. A second process, asleep until then, finds them by a word in their environment.

use super::tree;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The word that makes this program a guard.
pub const GUARD: &str = "guard";
/// The variable that everything has which a guarded program has started.
const MARK: &str = "CORETALK_GUARDED";
/// Scans until nothing is found: whoever is found may just be starting another.
const SCANS: usize = 1_000;
const BETWEEN: Duration = Duration::from_millis(1);

/// A process that ends what is left, while this lives and when this process is killed.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    word: String,
}

impl Watchdog {
    /// Starts a process of this program that sleeps until this one is gone; `None` where that is refused.
    pub fn start() -> Option<Watchdog> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let word = format!("{}-{}", std::process::id(), since.as_nanos());
        let mut command = Command::new(std::env::current_exe().ok()?);
        // In a group of its own, so that what a terminal sends to ours does not end it first. The pipe ends with us.
        command.args(["work", GUARD, &word]).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Watchdog { child: command.spawn().ok()?, word })
    }

    /// A variable of the environment that tells a program and whatever it starts from all others.
    pub fn mark(&self) -> (&'static str, &str) {
        (MARK, &self.word)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It has ended itself, or somebody has ended it.
        let _ = self.child.wait();
    }
}

/// Sleeps until standard input ends, then ends every process that carries a word.
pub fn keep(word: &str) {
    // An input that cannot be read has ended too.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    for _ in 0..SCANS {
        let left = tree::marked(&format!("{MARK}={word}"));
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(tree::kill);
        std::thread::sleep(BETWEEN);
    }
}
