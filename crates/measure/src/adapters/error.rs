//! [`AdapterError`]: why an adapter gave no result.

use super::description::DescriptionError;
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::io;
use std::time::Duration;

/// Why an adapter gave no result.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The adapter could not be started.
    #[error("`{program}` could not be started: {source}{}", quoting_hint(program))]
    NotStarted {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The description of the adapter is invalid.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The `describe` command failed.
    #[error("`describe` ended with {end}{}", last_words(.said))]
    DescribeFailed {
        /// Exit status or signal.
        end: String,
        /// The last line of standard error.
        said: String,
    },
    /// The requested item is not offered.
    #[error("the adapter does not offer {what}")]
    NotOffered {
        /// The requested item.
        what: String,
    },
    /// The adapter did not answer an impossible request with `error`.
    #[error("it was asked for {request}, which it does not offer: {why}")]
    Unknown {
        /// The request.
        request: String,
        /// The fault in the answer.
        why: Box<AdapterError>,
    },
    /// The adapter performed a pass under a name that it does not offer.
    #[error("it performed a pass of a name that it does not offer; it has to answer with `error`")]
    NotRefused,
    /// The adapter refused the request with a reason.
    #[error("the adapter refuses{}", refusal_reason(text))]
    Refused {
        /// The reason, as the adapter worded it.
        text: String,
    },
    /// The adapter did not answer within the limit, and was killed.
    #[error("no answer within {} s, while {awaited} was awaited; it was killed", .limit.as_millis() as f64 / 1e3)]
    Hung {
        /// The limit.
        limit: Duration,
        /// The expected line.
        awaited: &'static str,
    },
    /// The adapter ended in the middle of a pass.
    #[error("it ended with {end} while {awaited} was awaited{}", last_words(.said))]
    Crashed {
        /// Exit status or signal.
        end: String,
        /// The expected line.
        awaited: &'static str,
        /// The last line of standard error.
        said: String,
    },
    /// The adapter closed a pipe but kept running, and was killed.
    #[error(
        "it closed its standard {stream} while {awaited} was awaited, and went on running; it was killed"
    )]
    ClosedPipe {
        /// `input` or `output`.
        stream: &'static str,
        /// The expected line.
        awaited: &'static str,
    },
    /// The adapter printed a line that is too long.
    #[error("it printed a line of more than {most} bytes; it was killed")]
    LongLine {
        /// Maximum length of a line in bytes.
        most: usize,
    },
    /// The adapter printed a different line than the expected one.
    #[error("it printed {line:?} where {awaited} was awaited")]
    Unexpected {
        /// The line, truncated.
        line: String,
        /// The expected line.
        awaited: &'static str,
    },
    /// The adapter repeated a line that may appear only once per pass.
    #[error("it printed {line:?}, which it already printed in this pass")]
    Repeated {
        /// The line, truncated.
        line: String,
    },
    /// The adapter printed too many `note` lines.
    #[error("it printed more than {most} lines `note` in one pass")]
    ManyNotes {
        /// Maximum number of notes.
        most: usize,
    },
    /// The description is too long.
    #[error("`describe` printed more than {most} bytes")]
    LongDescription {
        /// Maximum size in bytes.
        most: usize,
    },
    /// A required line is missing before `done`.
    #[error("`done` came without {missing}")]
    Incomplete {
        /// The missing line.
        missing: &'static str,
    },
    /// The adapter printed a line before `go`.
    #[error(
        "it printed {line:?} before it was told to go: what it says was made before its threads were bound"
    )]
    Early {
        /// The line, truncated.
        line: String,
    },
    /// The adapter printed a line between two passes.
    #[error("it printed {line:?} between two passes, when nothing was asked")]
    Unasked {
        /// The line, truncated.
        line: String,
    },
    /// The adapter answered with the number of another pass.
    #[error("it answered pass {said} when pass {asked} was asked for")]
    OtherPass {
        /// Requested pass.
        asked: u64,
        /// Answered pass.
        said: u64,
    },
    /// The adapter performed more or fewer operations than requested.
    #[error("it counted {said} operations where {asked} were asked for")]
    WrongCount {
        /// Requested operations.
        asked: u64,
        /// Reported operations.
        said: u64,
    },
    /// The sum of the received numbers is wrong: messages were lost, doubled or damaged.
    #[error(
        "the numbers that arrived add up to {said}, and {count} from seed {seed} to {expected}: messages were lost, doubled or damaged"
    )]
    WrongSum {
        /// Number of messages.
        count: u64,
        /// Seed of the numbers.
        seed: u32,
        /// The correct sum.
        expected: u64,
        /// The reported sum.
        said: u64,
    },
    /// The number of individually timed operations is wrong.
    #[error("it timed {said} single operations{} where {asked} were asked for", of_distribution(name))]
    WrongEvents {
        /// Name of the distribution; empty for the unnamed one.
        name: String,
        /// Requested number.
        asked: u64,
        /// Reported number.
        said: u64,
    },
    /// The timed operations took longer than the whole pass.
    #[error("single operations took {events_ns} ns in all, and the pass {ns} ns by the same clock")]
    LongEvents {
        /// Sum of the operations.
        events_ns: u64,
        /// Duration of the pass.
        ns: u64,
    },
    /// The timed operations took almost no time compared with the pass.
    #[error(
        "single operations took {} in all, and the pass {}: are both in nanoseconds?", span(*events_ns), span(*ns)
    )]
    ShortEvents {
        /// Sum of the operations.
        events_ns: u64,
        /// Duration of the pass.
        ns: u64,
    },
    /// The waker did not wait for the gaps.
    #[error(
        "the pass took {}, its wake-ups {} and their gaps {}: role 0 has to let each gap pass before it wakes", span(*ns), span(*events_ns), span(*gaps_ns)
    )]
    ShortGaps {
        /// Duration of the pass.
        ns: u64,
        /// Sum of the wake-ups.
        events_ns: u64,
        /// Sum of the gaps.
        gaps_ns: u64,
    },
    /// The reported `cost` or `latency` of creations exceeds `join`, although `join` ends last.
    #[error(
        "of creations `{name}` is {} in all and `join` {}: both begin with the creation, and `join` ends last",
        span(*ns), span(*join_ns)
    )]
    EarlyJoin {
        /// `cost` or `latency`.
        name: &'static str,
        /// Sum of `cost` or `latency`.
        ns: u64,
        /// Sum of `join`, which lasts until the end of each thread is known.
        join_ns: u64,
    },
    /// The reported duration differs from the one measured here.
    #[error("it says that the pass took {}, and {} passed here (attempt {times})", span(*said_ns), span(*passed_ns))]
    FalseTime {
        /// Reported duration.
        said_ns: u64,
        /// Measured duration.
        passed_ns: u64,
        /// Number of consecutive passes with this fault.
        times: u32,
    },
    /// The printed thread belongs to a process outside the adapter.
    #[error(
        "thread {thread}, printed for role {role}, belongs to process {owner}, which is not the adapter nor a child of it"
    )]
    ForeignThread {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
        /// Process that owns the thread.
        owner: u32,
    },
    /// The printed thread does not exist.
    #[error("thread {thread}, printed for role {role}, does not exist")]
    NoThread {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
    },
    /// The final value in memory differs from the number of additions.
    #[error(
        "{made} additions were made, and the number in memory is {found}: additions were lost or made twice"
    )]
    WrongTotal {
        /// Additions that the roles report.
        made: u64,
        /// Value in memory.
        found: u64,
    },
    /// The `ops` lines of the roles contradict the pass.
    #[error("the lines `ops` do not fit the pass: {0}")]
    WrongShares(String),
    /// Two roles printed the same thread.
    #[error("two roles printed thread {thread}: each needs a thread of its own")]
    OneThread {
        /// Thread.
        thread: u32,
    },
    /// The thread of a role ended before its CPU time was read.
    #[error("thread {thread} of role {role} ended before the pass was over: what it used cannot be told")]
    RoleEnded {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
    },
    /// The system refused to pin a thread.
    #[error("thread {thread} of role {role} could not be bound to {}: {source}", .place.named())]
    NotPinned {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
        /// Requested CPUs.
        place: CpuSet,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The adapter changed the affinity of a thread that had been pinned.
    #[error(
        "thread {thread} of role {role} was bound to {}, and was allowed on {mask} after the pass: the adapter bound it anew",
        .place.named()
    )]
    Rebound {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
        /// CPUs to which it was pinned.
        place: CpuSet,
        /// Its affinity after the pass.
        mask: CpuSet,
    },
    /// A thread left its CPU during the pass. It may have returned.
    #[error(
        "thread {thread} of role {role} left {} during the pass (attempt {times}): a role has to stay where it was bound",
        .place.named()
    )]
    Moved {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
        /// CPUs to which it was pinned.
        place: CpuSet,
        /// Number of consecutive passes with this fault.
        times: u32,
    },
    /// Threads created during the pass did the work.
    #[error(
        "{:.0} % of the CPU time was used by threads that began after `go`: the work has to be done by the threads that were printed",
        100.0 * .share
    )]
    LateThreads {
        /// Their share of the CPU time.
        share: f64,
    },
    /// Threads other than the roles did the work.
    #[error(
        "{:.0} % of the CPU time was used outside of the two threads that were printed: the work is done elsewhere",
        100.0 * .share
    )]
    WorkedElsewhere {
        /// Share of the CPU time outside the roles.
        share: f64,
    },
    /// A role did none of the work.
    #[error(
        "role {role}, thread {thread}, used {used_ns} ns of CPU time for {count} operations: it did not do its part of them"
    )]
    IdleRole {
        /// Role.
        role: usize,
        /// Thread.
        thread: u32,
        /// Its CPU time.
        used_ns: u64,
        /// Operations of the pass.
        count: u64,
    },
    /// The reported cost of a clock read is negative, or exceeds the duration of a timed operation.
    #[error("`note clock_ns {said}` cannot be what a read of the clock costs: {}", clock_limits(*mean_ns))]
    FalseClock {
        /// The reported text.
        said: String,
        /// Upper limit in nanoseconds, from the timed operations; `None` if there are none.
        mean_ns: Option<f64>,
    },
    /// Child processes of the adapter outlived it.
    #[error("it left {} behind, which outlived it; {}", processes(*left), if *left == 1 { "it was killed" } else { "they were killed" })]
    LeftBehind {
        /// Number of processes.
        left: usize,
    },
    /// The adapter ended only on SIGTERM, not when its input was closed.
    #[error("it did not end within {} s after its input was closed, and ended on SIGTERM: it has to end by itself", .patience.as_secs_f64())]
    Stayed {
        /// Time that the adapter had to end.
        patience: Duration,
    },
    /// The adapter ended neither when its input was closed nor on SIGTERM.
    #[error("it did not end after its input was closed, nor on SIGTERM; it was killed")]
    IgnoredSigterm,
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// The time budget left too little time for a first pass.
    #[error("the budget left no time for it")]
    NoTime,
    /// The system refused an operation that watches the adapter.
    #[error("the system refused to {what}: {source}")]
    System {
        /// The operation, worded to follow "refused to".
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl From<AdapterError> for TrialFailure {
    fn from(error: AdapterError) -> TrialFailure {
        match error {
            AdapterError::Interrupted | AdapterError::NoTime => TrialFailure::Interrupted,
            AdapterError::NotPinned { ref place, ref source, .. } => {
                let errno = source.raw_os_error().unwrap_or_default();
                let refused = |cpu| TrialFailure::NotPinned { cpu, errno };
                place.first().map_or_else(|| TrialFailure::from_reason(error.to_string()), refused)
            }
            AdapterError::WrongSum { .. } | AdapterError::WrongTotal { .. } => TrialFailure::Damaged,
            other => TrialFailure::no_resources(other.errno()).unwrap_or_else(|| {
                let (reason, words) = other.parted();
                TrialFailure::with_words(reason, words)
            }),
        }
    }
}

impl AdapterError {
    /// Error number if the system refused to start or to watch the adapter.
    fn errno(&self) -> Option<i32> {
        match self {
            AdapterError::NotStarted { source, .. } | AdapterError::System { source, .. } => {
                source.raw_os_error()
            }
            _ => None,
        }
    }

    /// Splits the message into a reason without words of the adapter, and these words, which may be private.
    pub(super) fn parted(&self) -> (String, String) {
        let (reason, words) = match self {
            AdapterError::NotStarted { program, source } => {
                (format!("it could not be started: {source}"), program)
            }
            AdapterError::Description(error) => {
                return ("its description cannot be read".to_owned(), error.to_string());
            }
            AdapterError::DescribeFailed { end, said } => (format!("`describe` ended with {end}"), said),
            AdapterError::Unknown { why, .. } => {
                let (reason, words) = why.parted();
                return (format!("it was asked for something that it does not offer: {reason}"), words);
            }
            AdapterError::Refused { text } => ("the adapter refuses".to_owned(), text),
            AdapterError::Crashed { end, awaited, said } => {
                (format!("it ended with {end} while {awaited} was awaited"), said)
            }
            AdapterError::Unexpected { line, awaited } => {
                (format!("it printed another line where {awaited} was awaited"), line)
            }
            AdapterError::Repeated { line } => ("it printed a line twice in one pass".to_owned(), line),
            AdapterError::Early { line } => ("it printed a line before it was told to go".to_owned(), line),
            AdapterError::Unasked { line } => ("it printed a line between two passes".to_owned(), line),
            AdapterError::FalseClock { said, mean_ns } => {
                let cost = clock_limits(*mean_ns);
                (format!("its `note clock_ns` cannot be what a read of the clock costs: {cost}"), said)
            }
            other => return (other.to_string(), String::new()),
        };
        (reason, words.clone())
    }
}

fn refusal_reason(text: &str) -> String {
    if text.is_empty() { ", and does not say why".to_owned() } else { format!(": {text}") }
}

fn of_distribution(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" of `{name}`") }
}

fn last_words(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("; its last words: {output}") }
}

fn quoting_hint(program: &str) -> &'static str {
    match program.contains(char::is_whitespace) {
        true => "; write the program and its arguments as separate words, without quotes around them",
        false => "",
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "a process".to_owned() } else { format!("{count} processes") }
}

fn clock_limits(mean_ns: Option<f64>) -> String {
    match mean_ns {
        Some(mean_ns) => format!(
            "it has to be from 0 to {mean_ns:.1}, as single operations show: are both in nanoseconds?"
        ),
        None => "it has to be a number from 0 on".to_owned(),
    }
}

fn span(ns: u64) -> String {
    Picos::from_ns(ns as f64).to_string()
}
