//! Runs a function in a separate process, because it may crash.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Yes,
    No,
    /// A signal with this number killed the process.
    Killed(i32),
    /// The fork failed, or the process exceeded the time limit.
    Unknown,
}

const LIMIT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Runs `function` in a forked process. `function` must not allocate, lock or print, because another thread may have
/// held a lock at the fork.
pub fn attempt(function: impl FnOnce() -> bool) -> Attempt {
    // SAFETY: the child calls only functions that are safe after a fork of a process with threads: signal, setrlimit,
    // `function` and _exit. It never returns into the program.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Attempt::Unknown,
        0 => {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the structure is valid. No core dump is written. Signals end the process, without a handler of
            // the parent.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                for signal in [libc::SIGILL, libc::SIGSEGV, libc::SIGBUS] {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
            let succeeded = function();
            // SAFETY: ends the child without running anything of the parent.
            unsafe { libc::_exit(i32::from(!succeeded)) }
        }
        child => wait_for(child),
    }
}

fn wait_for(child: libc::pid_t) -> Attempt {
    let began = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the status is writable, and the child is ours.
        let found = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if found == child {
            return if libc::WIFSIGNALED(status) {
                Attempt::Killed(libc::WTERMSIG(status))
            } else if libc::WEXITSTATUS(status) == 0 {
                Attempt::Yes
            } else {
                Attempt::No
            };
        }
        let interrupted = || std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
        if found == -1 && !interrupted() {
            return Attempt::Unknown;
        }
        if began.elapsed() > LIMIT {
            // SAFETY: the child is ours and has not been waited for yet.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, &raw mut status, 0);
            }
            return Attempt::Unknown;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_failure_and_crash_have_different_outcomes() {
        assert_eq!(attempt(|| true), Attempt::Yes);
        assert_eq!(attempt(|| false), Attempt::No);
        let killed = attempt(|| {
            // SAFETY: raises a signal in the child, where it has the default action.
            unsafe { libc::raise(libc::SIGILL) };
            true
        });
        assert_eq!(killed, Attempt::Killed(libc::SIGILL));
    }
}
