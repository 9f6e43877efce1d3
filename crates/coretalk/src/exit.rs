//! Exit codes, the errors that lead to them, and their messages.

use crate::store::{FailureClass, ResumeError, StoreError};
use coretalk_measure::MachineError;
use coretalk_measure::session::latency::RunError;
use coretalk_report::export::Format;
use coretalk_report::plain;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

/// Exit code of the program. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// Success.
    Done = 0,
    /// A comparison found what `--fail-on` asks for, results were untrusted under `--strict`, or the compared command
    /// failed.
    Found = 1,
    /// Syntax error, unknown name or run, nonexistent CPU, or conflicting options.
    Usage = 2,
    /// The machine or system refuses, or nothing could be measured. Examples: a CPU that is not allowed, too few CPUs,
    /// no pinning, no permission, a missing CPU feature, an unusable clock.
    Environment = 3,
    /// An input file is missing, unreadable or invalid.
    Input = 4,
    /// Interrupted. Measurements so far are saved.
    Interrupted = 5,
    /// The store failed, or a result could not be written: disk full, no permission, a newer schema.
    Store = 6,
    /// A comparison was undecided.
    CannotTell = 7,
    /// Bug in the program.
    Internal = 70,
}

impl ExitCode {
    /// All codes with their meanings, for the manual.
    pub const ALL: [(ExitCode, &str); 9] = [
        (ExitCode::Done, "success; a run that used up its budget is complete"),
        (
            ExitCode::Found,
            "compare found what --fail-on asks for; with --strict, some cells cannot be trusted or a file \
             is doubtful; a command run by place failed; a check of selftest failed; an adapter is wrong",
        ),
        (
            ExitCode::Usage,
            "usage error: syntax, unknown name, unknown run, nonexistent CPU, conflicting options",
        ),
        (
            ExitCode::Environment,
            "the environment does not allow it: a forbidden CPU, too few CPUs, no pinning, no permission, an unusable clock, \
             or nothing could be measured",
        ),
        (ExitCode::Input, "an input file is missing, unreadable or invalid"),
        (
            ExitCode::Interrupted,
            "interrupted; measurements so far are saved, and the message shows how to resume",
        ),
        (ExitCode::Store, "a run file or a result could not be written"),
        (ExitCode::CannotTell, "compare with --fail-on, or selftest, could not decide"),
        (ExitCode::Internal, "internal error"),
    ];
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code as u8)
    }
}

/// Error of a command.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is invalid. The text is a whole sentence.
    #[error("{0}")]
    Usage(String),
    /// A format cannot hold the result.
    #[error("{sentence}")]
    Format {
        /// Refused format.
        format: Format,
        /// Message as a whole sentence.
        sentence: String,
    },
    /// The machine cannot perform the command. The text is a whole sentence.
    #[error("{0}")]
    Environment(String),
    /// An input file is unusable. The text is a whole sentence.
    #[error("{0}")]
    Input(String),
    /// The compared command failed. The text is a whole sentence.
    #[error("{0}")]
    Command(String),
    /// Interrupted. The text is a whole sentence that says how to resume.
    #[error("{0}")]
    Interrupted(String),
    /// The machine as a whole failed.
    #[error("failed to {0}")]
    Machine(#[from] MachineError),
    /// The run could not continue.
    #[error("failed to {0}")]
    Run(#[from] RunError),
    /// The store or a run file failed.
    #[error("failed to {0}")]
    Store(#[from] StoreError),
    /// A run cannot be resumed here.
    #[error("failed to {0}")]
    Resume(#[from] ResumeError),
    /// A result could not be written.
    #[error("failed to write {}", .to.as_ref().map_or_else(|| "the result".into(), |path| path.display().to_string()))]
    Write {
        /// The file; `None` for standard output.
        to: Option<PathBuf>,
        /// Error of the system.
        source: io::Error,
    },
    /// Internal contradiction. The text is a sentence.
    #[error("internal error: {0} (please report)")]
    Internal(String),
}

impl Failure {
    /// Returns the exit code. No other function maps errors to numbers.
    pub fn code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) | Failure::Format { .. } => ExitCode::Usage,
            Failure::Environment(_) => ExitCode::Environment,
            Failure::Input(_) => ExitCode::Input,
            Failure::Command(_) => ExitCode::Found,
            Failure::Interrupted(_) => ExitCode::Interrupted,
            Failure::Machine(_) => ExitCode::Environment,
            Failure::Run(RunError::Machine(_) | RunError::Settings(_)) => ExitCode::Environment,
            Failure::Run(RunError::Sink(_)) => ExitCode::Store,
            Failure::Run(RunError::Interrupted) => ExitCode::Interrupted,
            Failure::Store(error) => of_class(error.class()),
            Failure::Resume(error) => of_class(error.class()),
            // The reader has read enough and closed the pipe.
            Failure::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => ExitCode::Done,
            Failure::Write { .. } => ExitCode::Store,
            Failure::Internal(_) => ExitCode::Internal,
        }
    }

    /// Formats the failure and its causes as one sentence on one line.
    pub fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        // These four print their inner error. Every other error prints its cause or returns it as its source.
        let mut cause = match self {
            Failure::Machine(_) | Failure::Run(_) | Failure::Store(_) | Failure::Resume(_) => {
                self.source().and_then(Error::source)
            }
            _ => self.source(),
        };
        while let Some(error) = cause {
            sentence.push_str(&format!(": {error}"));
            cause = error.source();
        }
        sentence.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Prints the failure on standard error, unless the exit code is success.
    pub fn tell(&self) {
        if self.code() != ExitCode::Done {
            // Without standard error, the message is lost.
            let _ = writeln!(io::stderr(), "coretalk: {}", plain(&self.sentence()));
        }
    }
}

fn of_class(class: FailureClass) -> ExitCode {
    match class {
        FailureClass::Usage => ExitCode::Usage,
        FailureClass::Environment => ExitCode::Environment,
        FailureClass::Input => ExitCode::Input,
        FailureClass::Store => ExitCode::Store,
    }
}

/// Makes every panic on any thread print one sentence and exit with code 70. Committed measurements are safe.
pub fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a panic without a message");
        let location =
            panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        Failure::Internal(format!("{text}{location}")).tell();
        std::process::exit(i32::from(ExitCode::Internal as u8));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_with_each_cause_once() {
        let refused = MachineError::Pin {
            cpu: coretalk_model::CpuId(12),
            allowed: "0-7".parse().unwrap(),
            source: io::Error::from_raw_os_error(22),
        };
        assert_eq!(
            Failure::from(refused).sentence(),
            "failed to pin a thread to CPU 12 (allowed: 0-7): Invalid argument (os error 22)"
        );
    }

    #[test]
    fn a_failure_of_the_store_states_each_cause_once() {
        use crate::store::Operation;
        use coretalk_measure::session::SinkError;
        let path = PathBuf::from("a.coretalk");
        let full = || io::Error::from_raw_os_error(5);
        let error = StoreError::Io { operation: Operation::Write, path: path.clone(), reason: full() };
        let cause = "write a.coretalk: Input/output error (os error 5)";
        assert_eq!(
            Failure::from(RunError::from(SinkError(error.into()))).sentence(),
            format!("failed to save the measurements: {cause}")
        );
        let error = StoreError::Io { operation: Operation::Write, path: path.clone(), reason: full() };
        let moved = StoreError::NotMoved { local: "b".into(), destination: path, reason: Box::new(error) };
        assert_eq!(
            Failure::from(ResumeError::from(moved)).sentence(),
            format!("failed to move b to a.coretalk: {cause}; the run stays in b")
        );
        let written = Failure::Write { to: None, source: full() };
        assert_eq!(written.sentence(), "failed to write the result: Input/output error (os error 5)");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let closed = Failure::Write { to: None, source: io::ErrorKind::BrokenPipe.into() };
        assert_eq!(closed.code(), ExitCode::Done);
        let full = Failure::Write { to: None, source: io::ErrorKind::StorageFull.into() };
        assert_eq!(full.code(), ExitCode::Store);
    }

    #[test]
    #[ignore = "run as a child by the test below"]
    fn the_child_that_panics() {
        end_on_panic();
        panic!("two and two\nis five");
    }

    #[test]
    fn a_panic_is_one_sentence_and_code_70() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "exit::tests::the_child_that_panics", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        assert_eq!(child.status.code(), Some(70));
        let message = String::from_utf8(child.stderr).unwrap();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("coretalk: internal error: two and two is five at "), "{message}");
        assert!(message.trim_end().ends_with("(please report)"), "{message}");
    }
}
