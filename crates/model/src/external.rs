//! [`External`]: a subject measured by a runtime in another language.

use crate::series::Parameters;
use std::fmt;

/// A queue, wait strategy, wake-up, method of contention or kind of thread, measured by a runtime in another language.
/// Displayed as `RUNTIME:NAME` (`dotnet:semaphoreslim`).
///
/// ```
/// # use coretalk_model::external::External;
/// let queue = External::parse("dotnet:semaphoreslim").unwrap();
/// assert_eq!((queue.runtime.as_str(), queue.name.as_str()), ("dotnet", "semaphoreslim"));
/// assert_eq!(queue.to_string(), "dotnet:semaphoreslim");
/// assert_eq!(External::parse("pause:8"), None, "a name of ours");
/// assert_eq!(External::parse("spsc"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct External {
    /// The runtime, such as `java`.
    pub runtime: String,
    /// Name within the runtime, such as `array-blocking-queue`.
    pub name: String,
}

impl External {
    const OURS: [&'static str; 10] = [
        "pause",
        "spin-futex",
        "semaphore-spin",
        "uncontended",
        "notify-idle",
        "notify-all",
        "bytes",
        "shell",
        "n-queens",
        "sim",
    ];

    /// Parses `RUNTIME:NAME`; `None` for other forms and for names of this program.
    pub fn parse(text: &str) -> Option<External> {
        let (runtime, name) = text.split_once(':')?;
        let is_external = External::is_runtime(runtime) && is_word(name);
        is_external.then(|| External { runtime: runtime.to_owned(), name: name.to_owned() })
    }

    /// Whether the text is a valid name of a runtime: a [word](is_word) without another meaning before a colon.
    pub fn is_runtime(text: &str) -> bool {
        is_word(text) && !External::OURS.contains(&text)
    }
}

/// Whether the text consists of lower-case letters, digits and hyphens, and starts with a letter.
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

impl fmt::Display for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.runtime, self.name)
    }
}

/// Option for the number of processes of each runtime.
pub const FORKS: &str = "forks";
/// Default number of processes. Five allow an interval, and one slow process does not decide.
pub const DEFAULT_FORKS: u32 = 5;

/// Option for the CPUs of the other threads of a runtime: a list of CPUs, or [`SAME`].
pub const HELPERS: &str = "helpers";
/// The other threads of a runtime run on the measured CPUs.
pub const SAME: &str = "same";

/// The number of processes of each runtime.
pub fn forks(options: &Parameters) -> u32 {
    options.number(FORKS).map_or(DEFAULT_FORKS, |forks| forks as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_and_malformed_names_are_not_external() {
        let own = "pause:8,bytes:64,shell:2,n-queens:9,uncontended:park,notify-idle:park,notify-all:3";
        let also_own = "semaphore-spin:9,spin-futex:9";
        let malformed = "java,java:,:park,java:park:8,Java:park,java:Park,java: park,8:park,java:8,-a:b,";
        for text in [own, also_own, malformed].iter().flat_map(|list| list.split(',')) {
            assert_eq!(External::parse(text), None, "{text}");
        }
        for text in ["java:onspinwait", "c:spsc", "my-rt2:q-1"] {
            assert_eq!(External::parse(text).map(|external| external.to_string()).as_deref(), Some(text));
        }
    }
}
