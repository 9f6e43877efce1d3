//! Power management: package energy ([`PackageEnergy`]), idle states ([`IdleStates`]) and their avoidance ([`Awake`]).

use crate::host::root::SystemRoot;
use coretalk_model::CpuId;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Folder of the kernel's energy counters, also for AMD. Most systems let only root read them, and guests have none.
const ZONES: &str = "/sys/class/powercap";

/// Energy counters of all packages at one moment, in microjoules. Empty if they cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageEnergy(Vec<Zone>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone {
    number: u32,
    used_uj: u64,
    /// Value after which the counter wraps.
    range_uj: u64,
}

impl PackageEnergy {
    /// Reads the counters. They advance once a millisecond, so spans should be much longer.
    pub fn now() -> PackageEnergy {
        PackageEnergy::read(&SystemRoot::live())
    }

    fn read(root: &SystemRoot) -> PackageEnergy {
        let zone = |number: u32| {
            let folder = format!("{ZONES}/intel-rapl:{number}");
            // The zone of the whole platform contains the packages, so it is skipped.
            root.peek(&format!("{folder}/name")).filter(|name| name.starts_with("package"))?;
            let used_uj = root.number(&format!("{folder}/energy_uj"))?;
            let range_uj = root.number(&format!("{folder}/max_energy_range_uj"))?;
            Some(Zone { number, used_uj, range_uj })
        };
        PackageEnergy(root.numbered(ZONES, "intel-rapl:").into_iter().filter_map(zone).collect())
    }

    /// Joules used by all packages since an earlier moment; `None` if a counter is unreadable. Assumes at most one
    /// wrap: at 300 W a counter wraps after a quarter of an hour or later.
    pub fn joules_since(&self, earlier: &PackageEnergy) -> Option<f64> {
        let same = self.0.len() == earlier.0.len() && !self.0.is_empty();
        let used: Option<u64> =
            self.0.iter().zip(&earlier.0).map(|(now, before)| now.used_since(before)).sum();
        used.filter(|_| same).map(|uj| uj as f64 / 1e6)
    }
}

impl Zone {
    fn used_since(&self, before: &Zone) -> Option<u64> {
        let unwrapped = self.used_uj.checked_sub(before.used_uj);
        let used = unwrapped.or_else(|| (self.used_uj + before.range_uj).checked_sub(before.used_uj));
        used.filter(|_| self.number == before.number)
    }
}

/// Maximum number of idle states of a CPU. No driver has as many.
const MAX_STATES: usize = 16;

/// Entries into each idle state since boot, summed over CPUs. Empty if the kernel does not count (guests, no cpuidle).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdleStates(BTreeMap<String, u64>);

impl IdleStates {
    /// Reads the counts. Names of states are in lower case with underscores.
    pub fn now(cpus: &[CpuId]) -> IdleStates {
        IdleStates::read(&SystemRoot::live(), cpus)
    }

    fn read(root: &SystemRoot, cpus: &[CpuId]) -> IdleStates {
        let mut entries: BTreeMap<String, u64> = BTreeMap::new();
        for cpu in cpus {
            for state in 0..MAX_STATES {
                let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                let Some(name) = root.peek(&format!("{folder}/name")) else { break };
                let Some(usage) = root.number::<u64>(&format!("{folder}/usage")) else { continue };
                let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
                *entries.entry(name.trim().chars().map(word).collect()).or_default() += usage;
            }
        }
        IdleStates(entries)
    }

    /// States that were entered since `before`, with the number of entries.
    pub fn since<'a>(&'a self, before: &'a IdleStates) -> impl Iterator<Item = (&'a str, u64)> {
        let known = |state: &str| before.0.get(state).copied().unwrap_or(0);
        let entered =
            self.0.iter().map(move |(state, now)| (state.as_str(), now.saturating_sub(known(state))));
        entered.filter(|(_, entries)| *entries > 0)
    }
}

/// File that limits the exit latency of idle states: a signed number of microseconds in 32 bits. The limit is in force
/// while the file is open (the kernel's documentation of PM quality of service for user space).
const LIMIT: &str = "/dev/cpu_dma_latency";

/// Keeps CPUs out of idle states with an exit latency while this value lives. Idle CPUs poll instead.
#[derive(Debug)]
pub struct Awake {
    /// The request ends when the file is closed.
    _held: File,
}

impl Awake {
    /// Asks the system to keep CPUs awake. Most systems refuse unless the user is root.
    pub fn hold() -> io::Result<Awake> {
        Awake::hold_by(Path::new(LIMIT))
    }

    fn hold_by(path: &Path) -> io::Result<Awake> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Awake { _held: file })
    }
}

/// The reason why [`Awake::hold`] failed, as a sentence that names the file.
pub fn refusal(error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "it needs root".to_owned(),
        io::ErrorKind::NotFound => "this kernel does not offer it".to_owned(),
        _ => error.to_string(),
    };
    format!("{LIMIT} cannot be used ({why})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    fn at(packages: &[(u32, &str, &str)]) -> PackageEnergy {
        let mut tree = SystemTree::new();
        for (number, name, used) in packages {
            let folder = format!("{ZONES}/intel-rapl:{number}");
            tree = tree.file(&format!("{folder}/name"), name).file(&format!("{folder}/energy_uj"), used);
            tree = tree.file(&format!("{folder}/max_energy_range_uj"), "1000000\n");
            // The zone of the package's cores, nested in the package.
            tree = tree.file(&format!("{ZONES}/intel-rapl:{number}:0/name"), "core\n");
        }
        PackageEnergy::read(tree.root())
    }

    #[test]
    fn packages_are_summed_and_counters_may_wrap() {
        let before = at(&[(0, "package-0\n", "900000\n"), (1, "package-1\n", "5\n"), (2, "psys\n", "1\n")]);
        let after =
            at(&[(0, "package-0\n", "100000\n"), (1, "package-1\n", "300005\n"), (2, "psys\n", "9\n")]);
        let joules = after.joules_since(&before).unwrap();
        assert!((joules - 0.5).abs() < 1e-9, "0.2 J over the end of the counter and 0.3 J: {joules}");
    }

    #[test]
    fn unreadable_counters_are_unknown_and_not_zero() {
        let one = at(&[(0, "package-0\n", "1\n")]);
        assert_eq!(one.joules_since(&PackageEnergy::default()), None, "it was not there before");
        assert_eq!(PackageEnergy::default().joules_since(&PackageEnergy::default()), None);
        assert_eq!(at(&[(0, "package-0\n", "\n")]), PackageEnergy::default(), "refused");
        assert_eq!(at(&[(1, "package-1\n", "9\n")]).joules_since(&one), None, "another package");
    }

    #[test]
    fn entries_are_summed_over_cpus_and_only_entered_states_are_listed() {
        let at = |usages: [&str; 2]| {
            let tree = SystemTree::new()
                .each("0-1", "cpuidle/state0/name", "POLL\n")
                .each("0-1", "cpuidle/state0/usage", "5\n")
                .each("0-1", "cpuidle/state1/name", "haltpoll idle\n")
                .each("0", "cpuidle/state1/usage", usages[0])
                .each("1", "cpuidle/state1/usage", usages[1]);
            IdleStates::read(tree.root(), &[CpuId(0), CpuId(1)])
        };
        let (before, after) = (at(["10\n", "20\n"]), at(["13\n", "24\n"]));
        assert_eq!(after.since(&before).collect::<Vec<_>>(), [("haltpoll_idle", 7)]);
        assert_eq!(before.since(&after).count(), 0, "a counter that runs back says nothing");
        assert_eq!(IdleStates::read(&SystemRoot::new("/nonexistent"), &[CpuId(0)]), IdleStates::default());
    }

    #[test]
    fn the_request_is_a_zero_in_32_bits_and_a_refusal_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limit");
        std::fs::write(&path, "").unwrap();
        let awake = Awake::hold_by(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0; 4]);
        drop(awake);
        let error = Awake::hold_by(&folder.path().join("none")).unwrap_err();
        assert_eq!(refusal(&error), "/dev/cpu_dma_latency cannot be used (this kernel does not offer it)");
    }
}
