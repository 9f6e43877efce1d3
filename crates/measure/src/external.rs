//! [`External`]: a queue, a way of waiting, a wake-up or a method of contention that a runtime in another language performs.

use coretalk_model::series::Parameters;
use std::fmt;

/// A queue, a primitive or a way of waiting in another language, named `RUNTIME:NAME` (`dotnet:semaphoreslim`): the open
/// end of the catalogues. Displayed as it is typed.
///
/// ```
/// # use coretalk_measure::external::External;
/// let queue = External::parse("dotnet:semaphoreslim").unwrap();
/// assert_eq!((queue.runtime.as_str(), queue.name.as_str()), ("dotnet", "semaphoreslim"));
/// assert_eq!(queue.to_string(), "dotnet:semaphoreslim");
/// assert_eq!(External::parse("pause:8"), None, "a name of ours");
/// assert_eq!(External::parse("spsc"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct External {
    /// The runtime: `java`.
    pub runtime: String,
    /// What it is called there: `array-blocking-queue`.
    pub name: String,
}

impl External {
    /// Words that stand before a colon in names of ours, whatever they name.
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

    /// Reads a name of that form; `None` for a name of ours, and for what has no such form.
    pub fn parse(text: &str) -> Option<External> {
        let (runtime, name) = text.split_once(':')?;
        let is_external = External::is_runtime(runtime) && is_word(name);
        is_external.then(|| External { runtime: runtime.to_owned(), name: name.to_owned() })
    }

    /// Whether a runtime may be called so: lower-case letters, digits and hyphens, a letter first, and no word that stands
    /// before a colon in a name of ours.
    pub fn is_runtime(text: &str) -> bool {
        is_word(text) && !External::OURS.contains(&text)
    }
}

/// Whether a runtime, or something in one, may be called so but for words that are taken.
pub(crate) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

impl fmt::Display for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.runtime, self.name)
    }
}

/// The option of a run that says how many processes of each runtime there are.
pub const FORKS: &str = "forks";
/// How many there are where nothing is said: five have an interval, and one slow process does not decide.
pub const DEFAULT_FORKS: u32 = 5;

/// The option of a run that says where the other threads of runtimes run: a list of CPUs, or [`SAME`].
pub const HELPERS: &str = "helpers";
/// They run on the CPUs that are measured.
pub const SAME: &str = "same";

/// How many processes of each runtime a run has.
pub fn forks(options: &Parameters) -> u32 {
    options.number(FORKS).map_or(DEFAULT_FORKS, |forks| forks as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_and_what_has_no_such_form_are_no_runtimes() {
        for text in [
            "pause:8",
            "bytes:64",
            "shell:2",
            "n-queens:9",
            "uncontended:park",
            "notify-idle:park",
            "notify-all:3",
            "semaphore-spin:9",
            "spin-futex:9",
            "java",
            "java:",
            ":park",
            "java:park:8",
            "Java:park",
            "java:Park",
            "java: park",
            "8:park",
            "java:8",
            "-a:b",
            "",
        ] {
            assert_eq!(External::parse(text), None, "{text}");
        }
        for text in ["java:onspinwait", "c:spsc", "my-rt2:q-1"] {
            assert_eq!(External::parse(text).map(|external| external.to_string()).as_deref(), Some(text));
        }
    }
}
