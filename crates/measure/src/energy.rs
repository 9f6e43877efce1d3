//! [`PackageEnergy`]: what the packages of the machine have used, as their own counters say.

use crate::host::root::SystemRoot;

/// Where the kernel shows the counters; AMD's too, whatever the name says. On most systems the superuser alone may read
/// them, and a guest has none.
const ZONES: &str = "/sys/class/powercap";

/// The counters of all packages at one moment, in microjoules; empty where they cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageEnergy(Vec<Zone>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone {
    number: u32,
    used_uj: u64,
    /// The counter begins again after this.
    range_uj: u64,
}

impl PackageEnergy {
    /// Now. The counters move once a millisecond: spans should be much longer.
    pub fn now() -> PackageEnergy {
        PackageEnergy::of(&SystemRoot::live())
    }

    fn of(root: &SystemRoot) -> PackageEnergy {
        let zone = |number: u32| {
            let folder = format!("{ZONES}/intel-rapl:{number}");
            // Beside packages there is the whole platform, which contains them.
            root.peek(&format!("{folder}/name")).filter(|name| name.starts_with("package"))?;
            let used_uj = root.number(&format!("{folder}/energy_uj"))?;
            let range_uj = root.number(&format!("{folder}/max_energy_range_uj"))?;
            Some(Zone { number, used_uj, range_uj })
        };
        PackageEnergy(root.numbered(ZONES, "intel-rapl:").into_iter().filter_map(zone).collect())
    }

    /// Joules used by all packages since an earlier moment; `None` where one of them does not tell. A counter that began
    /// again did so once: at 300 W that takes a quarter of an hour and more.
    pub fn joules_since(&self, earlier: &PackageEnergy) -> Option<f64> {
        let same = self.0.len() == earlier.0.len() && !self.0.is_empty();
        let used: Option<u64> =
            self.0.iter().zip(&earlier.0).map(|(now, before)| now.used_since(before)).sum();
        used.filter(|_| same).map(|uj| uj as f64 / 1e6)
    }
}

impl Zone {
    fn used_since(&self, before: &Zone) -> Option<u64> {
        let whole = self.used_uj.checked_sub(before.used_uj);
        let used = whole.or_else(|| (self.used_uj + before.range_uj).checked_sub(before.used_uj));
        used.filter(|_| self.number == before.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::Tree;

    fn at(packages: &[(u32, &str, &str)]) -> PackageEnergy {
        let mut tree = Tree::new();
        for (number, name, used) in packages {
            let folder = format!("{ZONES}/intel-rapl:{number}");
            tree = tree.file(&format!("{folder}/name"), name).file(&format!("{folder}/energy_uj"), used);
            tree = tree.file(&format!("{folder}/max_energy_range_uj"), "1000000\n");
            // The cores of a package are a zone inside of it.
            tree = tree.file(&format!("{ZONES}/intel-rapl:{number}:0/name"), "core\n");
        }
        PackageEnergy::of(tree.root())
    }

    #[test]
    fn packages_are_summed_and_a_counter_may_begin_again() {
        let before = at(&[(0, "package-0\n", "900000\n"), (1, "package-1\n", "5\n"), (2, "psys\n", "1\n")]);
        let after =
            at(&[(0, "package-0\n", "100000\n"), (1, "package-1\n", "300005\n"), (2, "psys\n", "9\n")]);
        let joules = after.joules_since(&before).unwrap();
        assert!((joules - 0.5).abs() < 1e-9, "0.2 J over the end of the counter and 0.3 J: {joules}");
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_not_nothing() {
        let one = at(&[(0, "package-0\n", "1\n")]);
        assert_eq!(one.joules_since(&PackageEnergy::default()), None, "it was not there before");
        assert_eq!(PackageEnergy::default().joules_since(&PackageEnergy::default()), None);
        let refused = at(&[(0, "package-0\n", "\n")]);
        assert_eq!(refused, PackageEnergy::default());
        assert_eq!(at(&[(1, "package-1\n", "9\n")]).joules_since(&one), None, "another package");
    }
}
