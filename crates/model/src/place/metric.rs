//! [`Metric`]: one number of a run that placements are compared by.

use crate::quantity::Better;
use std::borrow::Cow;

/// Whether a metric decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is tested, and can have a winner.
    Judged,
    /// It explains the others: neither a test nor a winner, and no share of the error that the tests may make.
    Descriptive,
}

/// One number of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name in values and documents, the unit last where it is known.
    pub name: Cow<'static, str>,
    /// Heading of its rows in tables, the unit last.
    pub title: Cow<'static, str>,
    /// Its unit; empty where it is not known (numbers of a user's own).
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Whether it decides.
    pub role: Role,
}

/// A metric that is known by name.
pub(super) const fn known(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    role: Role,
) -> Metric {
    Metric { name: Cow::Borrowed(name), title: Cow::Borrowed(title), unit, better, role }
}

/// What every run of a command has, the headline first.
pub const COMMAND_METRICS: [Metric; 6] = [
    known("wall_s", "wall s", "s", Better::Lower, Role::Judged),
    known("user_s", "user s", "s", Better::Lower, Role::Judged),
    known("system_s", "system s", "s", Better::Lower, Role::Judged),
    known("peak_memory_mb", "peak memory MB", "MB", Better::Lower, Role::Judged),
    known("switches", "switches", "", Better::Lower, Role::Descriptive),
    known("migrations", "migrations", "", Better::Lower, Role::Descriptive),
];

/// What stands among the values of a run and is no metric: the clock of the core, seconds that threads waited for a CPU,
/// and seconds of its CPUs that went to other programs.
pub(super) const BESIDE: [&str; 3] = ["core_ghz", WAITED, OTHERS];
/// Seconds that threads of the work were ready and had no CPU, as far as was seen.
pub const WAITED: &str = "waited_s";
/// Seconds that other programs ran on the CPUs of the placement.
pub const OTHERS: &str = "others_s";

impl Metric {
    /// A number that a user reads from the output of a command.
    pub fn own(name: &str, better: Better) -> Metric {
        let title = Cow::Owned(name.to_owned());
        Metric { name: Cow::Owned(name.to_owned()), title, unit: "", better, role: Role::Judged }
    }

    /// What is wrong with a name that a user gives to a number; `None` where nothing.
    pub fn refusal(name: &str) -> Option<String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Some(format!(
                "`{name}` is not a valid metric name: use letters, digits, `_`, `.` and `-`"
            ));
        }
        let taken = COMMAND_METRICS.iter().any(|metric| metric.name == name) || BESIDE.contains(&name);
        taken.then(|| format!("the metric `{name}` is built in; choose another name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ones_own_are_plain_and_free() {
        assert!(Metric::refusal("events/s").is_some());
        assert!(Metric::refusal("").is_some() && Metric::refusal("wall_s").unwrap().contains("is built in"));
        assert!(Metric::refusal("core_ghz").is_some());
        assert_eq!(Metric::refusal("events_per_s"), None);
    }
}
