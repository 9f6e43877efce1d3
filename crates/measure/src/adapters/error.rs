//! [`AdapterError`]: why an adapter has nothing to say, one sentence for each thing that can be wrong with it.

use super::description::DescriptionError;
use coretalk_model::{CpuSet, Picos, TrialFailure};
use std::io;
use std::time::Duration;

/// Why an adapter has nothing to say.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// It could not be started.
    #[error("`{program}` could not be started: {source}{}", separate(program))]
    NotStarted {
        /// Which program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Its description cannot be read.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// It describes itself and does not end well.
    #[error("`describe` ended with {end}{}", after(.said))]
    DescribeFailed {
        /// How it ended.
        end: String,
        /// The last line of its standard error.
        said: String,
    },
    /// What is asked for is not offered.
    #[error("the adapter does not offer {what}")]
    NotOffered {
        /// What.
        what: String,
    },
    /// A request that no adapter can fulfil was not answered as it has to be.
    #[error("it was asked for {request}, which it does not offer: {why}")]
    Unknown {
        /// What was asked.
        request: String,
        /// What came.
        why: Box<AdapterError>,
    },
    /// It did what nobody offers.
    #[error("it performed a pass of a name that it does not offer; it has to answer with `error`")]
    NotRefused,
    /// It says why it cannot do what was asked.
    #[error("the adapter refuses{}", because(text))]
    Refused {
        /// Its words.
        text: String,
    },
    /// It did not answer within the limit; it was killed.
    #[error("no answer within {} s, while {awaited} was awaited; it was killed", .limit.as_millis() as f64 / 1e3)]
    Hung {
        /// The limit.
        limit: Duration,
        /// What should have come.
        awaited: &'static str,
    },
    /// It ended in the middle of a pass.
    #[error("it ended with {end} while {awaited} was awaited{}", after(.said))]
    Crashed {
        /// How it ended.
        end: String,
        /// What should have come.
        awaited: &'static str,
        /// The last line of its standard error.
        said: String,
    },
    /// It closed a pipe and lives on; it was killed.
    #[error(
        "it closed its standard {stream} while {awaited} was awaited, and went on running; it was killed"
    )]
    ClosedPipe {
        /// `input` or `output`.
        stream: &'static str,
        /// What should have come.
        awaited: &'static str,
    },
    /// A line without end.
    #[error("it printed a line of more than {most} bytes; it was killed")]
    LongLine {
        /// What a line may have.
        most: usize,
    },
    /// Another line than the one that should come.
    #[error("it printed {line:?} where {awaited} was awaited")]
    Unexpected {
        /// The line, cut.
        line: String,
        /// What should have come.
        awaited: &'static str,
    },
    /// What is said once was said twice.
    #[error("it printed {line:?}, and had said that before in the same pass")]
    Repeated {
        /// The line, cut.
        line: String,
    },
    /// Notes without end.
    #[error("it printed more than {most} lines `note` in one pass")]
    ManyNotes {
        /// How many it may print.
        most: usize,
    },
    /// A description without end.
    #[error("`describe` printed more than {most} bytes")]
    LongDescription {
        /// What it may have.
        most: usize,
    },
    /// Something is missing before `done`.
    #[error("`done` came without {missing}")]
    Incomplete {
        /// The line that did not come.
        missing: &'static str,
    },
    /// It printed before it was told to begin.
    #[error(
        "it printed {line:?} before it was told to go: what it says was made before its threads were bound"
    )]
    Early {
        /// The line, cut.
        line: String,
    },
    /// It printed when nothing was asked.
    #[error("it printed {line:?} between two passes, when nothing was asked")]
    Unasked {
        /// The line, cut.
        line: String,
    },
    /// It answers something else than was asked.
    #[error("it answered pass {said} when pass {asked} was asked for")]
    OtherPass {
        /// What was asked.
        asked: u64,
        /// What was answered.
        said: u64,
    },
    /// It did more or less than was asked.
    #[error("it counted {said} operations where {asked} were asked for")]
    WrongCount {
        /// What was asked.
        asked: u64,
        /// What was counted.
        said: u64,
    },
    /// Messages were lost, doubled or damaged.
    #[error(
        "the numbers that arrived add up to {said}, and {count} from seed {seed} to {expected}: messages were lost, doubled or damaged"
    )]
    WrongSum {
        /// How many they are.
        count: u64,
        /// Where they begin.
        seed: u32,
        /// What they add up to.
        expected: u64,
        /// What it says.
        said: u64,
    },
    /// Not every operation was timed.
    #[error("it timed {said} single operations{} where {asked} were asked for", of(name))]
    WrongEvents {
        /// The name of their distribution; empty where there is none.
        name: String,
        /// What was asked.
        asked: u64,
        /// What was timed.
        said: u64,
    },
    /// Single operations took longer than all together.
    #[error("single operations took {events_ns} ns in all, and the pass {ns} ns by the same clock")]
    LongEvents {
        /// Their sum.
        events_ns: u64,
        /// The pass.
        ns: u64,
    },
    /// Single operations took next to nothing.
    #[error(
        "single operations took {} in all, and the pass {}: are both in nanoseconds?", span(*events_ns), span(*ns)
    )]
    ShortEvents {
        /// Their sum.
        events_ns: u64,
        /// The pass.
        ns: u64,
    },
    /// The waker did not wait.
    #[error(
        "the pass took {}, its wake-ups {} and their gaps {}: role 0 has to let each gap pass before it wakes", span(*ns), span(*events_ns), span(*gaps_ns)
    )]
    ShortGaps {
        /// The pass.
        ns: u64,
        /// Its wake-ups.
        events_ns: u64,
        /// Its gaps.
        gaps_ns: u64,
    },
    /// New threads ran, or their creator went on, after their end was known.
    #[error(
        "of creations `{name}` is {} in all and `join` {}: both begin with the creation, and `join` ends last",
        span(*ns), span(*join_ns)
    )]
    EarlyJoin {
        /// `cost` or `latency`.
        name: &'static str,
        /// How long those took in all.
        ns: u64,
        /// How long it took in all until the ends were known.
        join_ns: u64,
    },
    /// The time is not what passed.
    #[error("it says that the pass took {}, and {} passed here (attempt {times})", span(*said_ns), span(*passed_ns))]
    FalseTime {
        /// What it says.
        said_ns: u64,
        /// What passed.
        passed_ns: u64,
        /// In which pass in a row.
        times: u32,
    },
    /// A thread of somebody else.
    #[error(
        "thread {thread}, printed for role {role}, belongs to process {owner}, which is not the adapter nor a child of it"
    )]
    ForeignThread {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
        /// Whose it is.
        owner: u32,
    },
    /// A thread that is not there.
    #[error("thread {thread}, printed for role {role}, does not exist")]
    NoThread {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
    },
    /// Memory does not hold what was added.
    #[error(
        "{made} additions were made, and the number in memory is {found}: additions were lost or made twice"
    )]
    WrongTotal {
        /// What the roles added.
        made: u64,
        /// What stands in memory.
        found: u64,
    },
    /// What the roles say that they did does not fit the pass.
    #[error("the lines `ops` do not fit the pass: {0}")]
    WrongShares(String),
    /// One thread for two roles.
    #[error("two roles printed thread {thread}: each needs a thread of its own")]
    OneThread {
        /// The thread.
        thread: u32,
    },
    /// The thread of a role ended before it was looked at.
    #[error("thread {thread} of role {role} ended before the pass was over: what it used cannot be told")]
    RoleEnded {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
    },
    /// The system does not bind a thread.
    #[error("thread {thread} of role {role} could not be bound to {}: {source}", .place.named())]
    NotPinned {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
        /// Where it should run.
        place: CpuSet,
        /// The system's reason.
        source: io::Error,
    },
    /// A thread was bound anew behind our back.
    #[error(
        "thread {thread} of role {role} was bound to {}, and was allowed on {mask} after the pass: the adapter bound it anew",
        .place.named()
    )]
    Rebound {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
        /// Where it was bound.
        place: CpuSet,
        /// Where it may run now.
        mask: CpuSet,
    },
    /// A thread left its CPU during the pass, and may have come back.
    #[error(
        "thread {thread} of role {role} left {} during the pass (attempt {times}): a role has to stay where it was bound",
        .place.named()
    )]
    Moved {
        /// The role.
        role: usize,
        /// The thread.
        thread: u32,
        /// Where it was bound.
        place: CpuSet,
        /// In which pass in a row.
        times: u32,
    },
    /// Threads that began during the pass did the work.
    #[error(
        "{:.0} % of the CPU time was used by threads that began after `go`: the work has to be done by the threads that were printed",
        100.0 * .share
    )]
    LateThreads {
        /// Their share of CPU time.
        share: f64,
    },
    /// Other threads did the work.
    #[error(
        "{:.0} % of the CPU time was used outside of the two threads that were printed: the work is done elsewhere",
        100.0 * .share
    )]
    WorkedElsewhere {
        /// The share of CPU time outside of the roles.
        share: f64,
    },
    /// A role did nothing.
    #[error(
        "role {role}, thread {thread}, used {used_ns} ns of CPU time for {count} operations: it did not do its part of them"
    )]
    IdleRole {
        /// The role.
        role: usize,
        /// Its thread.
        thread: u32,
        /// What it used.
        used_ns: u64,
        /// Operations of the pass.
        count: u64,
    },
    /// A read of the clock that costs more than what it times, or less than nothing.
    #[error("`note clock_ns {said}` cannot be what a read of the clock costs: {}", clock(*mean_ns))]
    FalseClock {
        /// What it says, as text.
        said: String,
        /// What it can be at most, in nanoseconds, as single operations show, where each was timed.
        mean_ns: Option<f64>,
    },
    /// Processes outlive it.
    #[error("it left {} behind, which outlived it; {}", processes(*left), if *left == 1 { "it was killed" } else { "they were killed" })]
    LeftBehind {
        /// How many.
        left: usize,
    },
    /// It does not end when its input does.
    #[error("it did not end within {} s after its input was closed, and ended on SIGTERM: it has to end by itself", .patience.as_secs_f64())]
    Stayed {
        /// How long it had.
        patience: Duration,
    },
    /// It ends by no means.
    #[error("it did not end after its input was closed, nor on SIGTERM; it was killed")]
    IgnoredSigterm,
    /// Somebody wished to end.
    #[error("interrupted")]
    Interrupted,
    /// It had too little of a budget to say anything of it.
    #[error("the budget left no time for it")]
    NoTime,
    /// The system does not let us watch it.
    #[error("the system refused to {what}: {source}")]
    System {
        /// What was tried, ready to follow "to".
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// A cell without a number says why.
impl From<AdapterError> for TrialFailure {
    fn from(error: AdapterError) -> TrialFailure {
        match error {
            AdapterError::Interrupted | AdapterError::NoTime => TrialFailure::Interrupted,
            AdapterError::NotPinned { ref place, ref source, .. } => {
                let errno = source.raw_os_error().unwrap_or_default();
                let refused = |cpu| TrialFailure::NotPinned { cpu, errno };
                place.first().map_or_else(|| TrialFailure::of(error.to_string()), refused)
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
    /// What the system said where it refused to start or watch it.
    fn errno(&self) -> Option<i32> {
        match self {
            AdapterError::NotStarted { source, .. } | AdapterError::System { source, .. } => {
                source.raw_os_error()
            }
            _ => None,
        }
    }

    /// What happened, in words that name nothing of the adapter's command, lines and messages; and those of them that say
    /// more, which may be private.
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
                let cost = clock(*mean_ns);
                (format!("its `note clock_ns` cannot be what a read of the clock costs: {cost}"), said)
            }
            other => return (other.to_string(), String::new()),
        };
        (reason, words.clone())
    }
}

fn because(text: &str) -> String {
    if text.is_empty() { ", and does not say why".to_owned() } else { format!(": {text}") }
}

/// Which distribution.
fn of(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" of `{name}`") }
}

fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; its last words: {said}") }
}

/// What to do about a command that was quoted as one word.
fn separate(program: &str) -> &'static str {
    match program.contains(char::is_whitespace) {
        true => "; write the program and its arguments as separate words, without quotes around them",
        false => "",
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "a process".to_owned() } else { format!("{count} processes") }
}

fn clock(mean_ns: Option<f64>) -> String {
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
