//! [`IdleStates`]: how often CPUs went into each idle state, as the kernel counts it.

use crate::host::root::SystemRoot;
use coretalk_model::CpuId;
use std::collections::BTreeMap;

/// More states than any driver has.
const MOST_STATES: usize = 16;

/// Entries into each idle state since the system started, over some CPUs; empty where the kernel does not count (a guest
/// without an idle driver, a system without cpuidle).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdleStates(BTreeMap<String, u64>);

impl IdleStates {
    /// What the kernel counted until now, by the name of the state in lower case with underscores.
    pub fn now(cpus: &[CpuId]) -> IdleStates {
        IdleStates::of(&SystemRoot::live(), cpus)
    }

    fn of(root: &SystemRoot, cpus: &[CpuId]) -> IdleStates {
        let mut entries: BTreeMap<String, u64> = BTreeMap::new();
        for cpu in cpus {
            for state in 0..MOST_STATES {
                let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                let Some(name) = root.peek(&format!("{folder}/name")) else { break };
                let Some(usage) = root.number::<u64>(&format!("{folder}/usage")) else { continue };
                let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
                *entries.entry(name.trim().chars().map(word).collect()).or_default() += usage;
            }
        }
        IdleStates(entries)
    }

    /// States that were entered since, with how often.
    pub fn since<'a>(&'a self, before: &'a IdleStates) -> impl Iterator<Item = (&'a str, u64)> {
        let known = |state: &str| before.0.get(state).copied().unwrap_or(0);
        let entered =
            self.0.iter().map(move |(state, now)| (state.as_str(), now.saturating_sub(known(state))));
        entered.filter(|(_, entries)| *entries > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::Tree;

    #[test]
    fn states_are_summed_over_cpus_and_told_by_what_was_entered() {
        let at = |usages: [&str; 2]| {
            let tree = Tree::of(&[]).each("0-1", "cpuidle/state0/name", "POLL\n").each(
                "0-1",
                "cpuidle/state0/usage",
                "5\n",
            );
            let tree = tree.each("0-1", "cpuidle/state1/name", "haltpoll idle\n").each(
                "0",
                "cpuidle/state1/usage",
                usages[0],
            );
            let tree = tree.each("1", "cpuidle/state1/usage", usages[1]);
            IdleStates::of(tree.root(), &[CpuId(0), CpuId(1)])
        };
        let (before, after) = (at(["10\n", "20\n"]), at(["13\n", "24\n"]));
        assert_eq!(after.since(&before).collect::<Vec<_>>(), [("haltpoll_idle", 7)]);
        assert_eq!(before.since(&after).count(), 0, "a counter that runs back says nothing");
        assert_eq!(IdleStates::of(&SystemRoot::new("/nonexistent"), &[CpuId(0)]), IdleStates::default());
    }
}
