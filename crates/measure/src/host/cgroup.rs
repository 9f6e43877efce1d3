//! CPU set, CPU quota and free memory granted by control groups, versions 1 and 2. The kernel documents the files in
//! `Documentation/admin-guide/cgroup-v2.rst` and `Documentation/admin-guide/cgroup-v1/`.

mod hierarchy;

use super::root::{ReadError, SystemRoot};
use crate::machine::Allowance;
use coretalk_model::CpuSet;
use hierarchy::{Hierarchy, Version};

/// The online CPUs that this process may use. Without control groups these are all CPUs, even if pinning fails later.
///
/// The mask is that of the main thread. It equals the inherited mask only until that thread is pinned.
pub fn read_allowance(root: &SystemRoot, online: &CpuSet) -> Result<Allowance, ReadError> {
    let cpuset = match group_cpus(root)? {
        Some(group) => group.intersection(online),
        None => online.clone(),
    };
    let mask = inherited_mask(root)?.map_or_else(|| cpuset.clone(), |mask| mask.intersection(online));
    let present = root.list("/sys/devices/system/cpu/present")?.unwrap_or_default();
    Ok(Allowance { cpuset, mask, offline: present.difference(online) })
}

/// CPU set of this process's control group; `None` if no group is accessible.
pub fn group_cpus(root: &SystemRoot) -> Result<Option<CpuSet>, ReadError> {
    let mut set: Option<CpuSet> = None;
    for hierarchy in hierarchy::of_controller(root, "cpuset") {
        let names: &[&str] = match hierarchy.version {
            Version::One => &["cpuset.effective_cpus", "cpuset.cpus"],
            Version::Two => &["cpuset.cpus.effective"],
        };
        if let Some(found) = nearest_list(root, &hierarchy, names)? {
            set = Some(set.map_or(found.clone(), |set| set.intersection(&found)));
        }
    }
    Ok(set)
}

/// Affinity mask in `/proc/self/status`; `None` if missing.
pub fn inherited_mask(root: &SystemRoot) -> Result<Option<CpuSet>, ReadError> {
    let path = "/proc/self/status";
    let Some(status) = root.text(path)? else { return Ok(None) };
    let Some(list) = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else {
        return Ok(None);
    };
    let set = CpuSet::from_list(list).map_err(|source| ReadError::List { path: path.to_owned(), source })?;
    Ok(Some(set).filter(|set| !set.is_empty()))
}

/// CPU time granted by the control groups of this process and their ancestors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Tightest limit in CPUs; `None` if unlimited.
    pub limit_cpus: Option<f64>,
    /// Throttled periods since the groups were created, summed over groups; `None` if no group counts them.
    pub throttled_periods: Option<u64>,
    /// Throttled time in microseconds, summed over CPUs.
    pub throttled_us: Option<u64>,
}

/// CPU quota; `None` if no CPU controller is accessible. Groups above the root of a container's name space are
/// invisible. Their limits show only as throttling.
pub fn read_quota(root: &SystemRoot) -> Option<Quota> {
    let mut known = false;
    let mut quota = Quota { limit_cpus: None, throttled_periods: None, throttled_us: None };
    for hierarchy in hierarchy::of_controller(root, "cpu") {
        for directory in &hierarchy.directories {
            let limit = match hierarchy.version {
                Version::One => limit_v1(root, directory),
                Version::Two => limit_v2(root, directory),
            };
            match limit {
                Limit::Unknown => {}
                Limit::Unlimited => known = true,
                Limit::Cpus(cpus) => {
                    known = true;
                    quota.limit_cpus = Some(quota.limit_cpus.map_or(cpus, |least: f64| least.min(cpus)));
                }
            }
            if let Some((periods, us)) = throttled(root, directory) {
                quota.throttled_periods = Some(quota.throttled_periods.unwrap_or(0).saturating_add(periods));
                quota.throttled_us = us.map(|us| quota.throttled_us.unwrap_or(0).saturating_add(us));
            }
        }
    }
    known.then_some(quota)
}

/// Bytes of memory still available within the control groups; `None` without a limit. Reclaimable file and slab pages
/// count as free, since the kernel reclaims them before it kills a program.
pub fn free_memory(root: &SystemRoot) -> Option<u64> {
    let free = |directory: &String, [limit, used]: [&str; 2], reclaimed: &[&str]| {
        let number = |name: &str| root.number::<u64>(&format!("{directory}/{name}"));
        let stat = root.peek(&format!("{directory}/memory.stat")).unwrap_or_default();
        let entry = |name: &&str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        let reclaimed = reclaimed.iter().filter_map(entry).fold(0, u64::saturating_add);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(reclaimed)))
    };
    let hierarchies = hierarchy::of_controller(root, "memory");
    let available = hierarchies.iter().flat_map(|hierarchy| {
        // An unlimited group reports a limit near 2⁶³ in version 1, and `max` in version 2, which does not parse.
        let (files, reclaimed): (_, &[&str]) = match hierarchy.version {
            Version::One => (
                ["memory.limit_in_bytes", "memory.usage_in_bytes"],
                &["total_inactive_file ", "total_active_file "],
            ),
            Version::Two => {
                (["memory.max", "memory.current"], &["inactive_file ", "active_file ", "slab_reclaimable "])
            }
        };
        hierarchy.directories.iter().filter_map(move |directory| free(directory, files, reclaimed))
    });
    available.min()
}

enum Limit {
    Unknown,
    Unlimited,
    Cpus(f64),
}

fn limit_v1(root: &SystemRoot, directory: &str) -> Limit {
    match root.number::<i64>(&format!("{directory}/cpu.cfs_quota_us")) {
        None => Limit::Unknown,
        Some(quota_us) if quota_us < 0 => Limit::Unlimited,
        Some(quota_us) => match root.number::<u32>(&format!("{directory}/cpu.cfs_period_us")) {
            Some(period_us) if period_us > 0 => Limit::Cpus(quota_us as f64 / f64::from(period_us)),
            _ => Limit::Unknown,
        },
    }
}

fn limit_v2(root: &SystemRoot, directory: &str) -> Limit {
    let Some(text) = root.peek(&format!("{directory}/cpu.max")) else {
        // Only the root of the hierarchy has neither a limit nor `cgroup.events`.
        let is_top = root.peek(&format!("{directory}/cgroup.controllers")).is_some()
            && root.peek(&format!("{directory}/cgroup.events")).is_none();
        return if is_top { Limit::Unlimited } else { Limit::Unknown };
    };
    let mut words = text.split_whitespace();
    match (words.next(), words.next().and_then(|period| period.parse::<u32>().ok())) {
        (Some("max"), _) => Limit::Unlimited,
        (Some(quota_us), Some(period_us)) if period_us > 0 => match quota_us.parse::<u64>() {
            Ok(quota_us) => Limit::Cpus(quota_us as f64 / f64::from(period_us)),
            Err(_) => Limit::Unknown,
        },
        _ => Limit::Unknown,
    }
}

/// Throttled periods and microseconds of a group; version 1 reports nanoseconds.
fn throttled(root: &SystemRoot, directory: &str) -> Option<(u64, Option<u64>)> {
    let stat = root.peek(&format!("{directory}/cpu.stat"))?;
    let number = |name: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    };
    let us = number("throttled_usec").or_else(|| number("throttled_time").map(|ns| ns / 1_000));
    Some((number("nr_throttled")?, us))
}

/// The list of the nearest group that has a list. A group follows its parent if it has no controller or an empty list.
fn nearest_list(
    root: &SystemRoot,
    hierarchy: &Hierarchy,
    names: &[&str],
) -> Result<Option<CpuSet>, ReadError> {
    for directory in &hierarchy.directories {
        for name in names {
            let list = match root.list(&format!("{directory}/{name}")) {
                // The file is inaccessible, or the group is being removed.
                Err(ReadError::Io { .. }) => None,
                other => other?,
            };
            if let Some(list) = list.filter(|list| !list.is_empty()) {
                return Ok(Some(list));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    fn v1(groups: &str, files: &[(&str, &str)]) -> SystemTree {
        let described = [("/proc/self/mountinfo", V1_MOUNTS), ("/proc/self/cgroup", groups)];
        SystemTree::with_files(&[&described, files].concat())
    }

    const V1_MOUNTS: &str = "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    fn v2(group: &str) -> SystemTree {
        SystemTree::with_files(&[
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/proc/self/cgroup", &format!("0::{group}\n")),
        ])
    }

    fn cpus(tree: &SystemTree) -> Option<String> {
        group_cpus(tree.root()).unwrap().map(|set| set.to_string())
    }

    #[test]
    fn version_1_gives_the_effective_or_else_the_configured_cpus_of_the_own_group() {
        let recent = [
            ("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7\n"),
            ("/sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "2,3\n"),
            ("/sys/fs/cgroup/cpuset/job/cpuset.cpus", "0-3\n"),
        ];
        assert_eq!(cpus(&v1("3:cpuset:/job\n1:cpu,cpuacct:/\n0::/\n", &recent)).as_deref(), Some("2,3"));
        let older =
            [("/sys/fs/cgroup/cpuset/job/cpuset.cpus", "\n"), ("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n")];
        let found = cpus(&v1("3:cpuset:/job\n", &older));
        assert_eq!(found.as_deref(), Some("0-3"), "an empty list follows the parent");
    }

    #[test]
    fn the_tightest_limit_of_memory_counts_and_files_are_free() {
        let stat = "anon 400\ninactive_file 100\nactive_file 30\nslab_reclaimable 20\n";
        let tree = v2("/a/b")
            .file("/sys/fs/cgroup/a/memory.max", "1000\n")
            .file("/sys/fs/cgroup/a/memory.current", "700\n")
            .file("/sys/fs/cgroup/a/memory.stat", stat)
            .file("/sys/fs/cgroup/a/b/memory.max", "max\n")
            .file("/sys/fs/cgroup/a/b/memory.current", "500\n");
        assert_eq!(free_memory(tree.root()), Some(450));
        assert_eq!(free_memory(v2("/a").root()), None);
    }

    #[test]
    fn a_group_without_the_controller_follows_the_nearest_parent_that_has_it() {
        let tree = v2("/a/b/c")
            .file("/sys/fs/cgroup/a/cpuset.cpus.effective", "4-7\n")
            .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-15\n");
        assert_eq!(cpus(&tree).as_deref(), Some("4-7"));
    }

    #[test]
    fn a_container_sees_its_group_as_the_root_of_the_mount() {
        for (mount_root, group) in [
            ("/docker/4f", "/docker/4f"),
            ("/", "/../../docker/4f"),
            ("/docker", "/docker/4f"),
            ("/", "/nowhere"),
        ] {
            let mount = format!("30 23 0:26 {mount_root} /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
            let tree = SystemTree::with_files(&[
                ("/proc/self/mountinfo", &mount),
                ("/proc/self/cgroup", &format!("0::{group}\n")),
                ("/sys/fs/cgroup/cpuset.cpus.effective", "1,3\n"),
            ]);
            assert_eq!(cpus(&tree).as_deref(), Some("1,3"), "{mount_root} and {group}");
        }
    }

    #[test]
    fn a_mount_point_may_hold_spaces() {
        let tree = SystemTree::with_files(&[
            ("/proc/self/mountinfo", "30 23 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n"),
            ("/proc/self/cgroup", "0::/\n"),
            ("/mnt/my groups/cpuset.cpus.effective", "0\n"),
        ]);
        assert_eq!(cpus(&tree).as_deref(), Some("0"));
    }

    #[test]
    fn without_control_groups_every_online_cpu_is_allowed() {
        let tree = SystemTree::new();
        let online: CpuSet = "0-3".parse().unwrap();
        assert_eq!(group_cpus(tree.root()).unwrap(), None);
        let allowance = read_allowance(tree.root(), &online).unwrap();
        assert_eq!(allowance, Allowance { cpuset: online.clone(), mask: online, offline: CpuSet::new() });
    }

    #[test]
    fn cpuset_and_mask_are_limited_to_online_cpus() {
        let tree = v2("/")
            .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-127\n")
            .file("/proc/self/status", "Name:\tcoretalk\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,4-9\n");
        let allowance = read_allowance(tree.root(), &"0-7".parse().unwrap()).unwrap();
        assert_eq!([allowance.cpuset, allowance.mask].map(|set| set.to_string()), ["0-7", "0,1,4-7"]);
    }

    #[test]
    fn a_garbled_list_is_an_error_that_names_the_file() {
        let tree = v2("/").file("/sys/fs/cgroup/cpuset.cpus.effective", "all\n");
        let error = group_cpus(tree.root()).unwrap_err();
        assert_eq!(error.to_string(), "read /sys/fs/cgroup/cpuset.cpus.effective as a CPU list");
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_counts() {
        let tree = v2("/a/b")
            .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
            .file("/sys/fs/cgroup/a/b/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_usec 500\n")
            .file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n")
            .file("/sys/fs/cgroup/a/cpu.stat", "nr_throttled 40\nthrottled_usec 1500\n");
        let (throttled_periods, throttled_us) = (Some(42), Some(2_000));
        let quota = Quota { limit_cpus: Some(1.5), throttled_periods, throttled_us };
        assert_eq!(read_quota(tree.root()), Some(quota));
    }

    #[test]
    fn version_1_has_the_quota_in_the_cpu_controller() {
        let files = [
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
        ];
        let quota = read_quota(v1("1:cpu,cpuacct:/job\n", &files).root()).unwrap();
        assert_eq!(quota, Quota { limit_cpus: Some(4.0), throttled_periods: None, throttled_us: None });
    }

    #[test]
    fn the_top_group_has_no_limit_and_a_hidden_one_is_unknown() {
        let top = v2("/").file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");
        assert_eq!(read_quota(top.root()).unwrap().limit_cpus, None);
        let inner = top.file("/sys/fs/cgroup/cgroup.events", "populated 1\n");
        assert_eq!(read_quota(inner.root()), None);
        assert_eq!(read_quota(v2("/").file("/sys/fs/cgroup/cpu.max", "lots\n").root()), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_allows_this_test_at_least_one_cpu() {
        let root = SystemRoot::live();
        let online = crate::host::sysfs::online_cpus(&root).unwrap();
        let allowance = read_allowance(&root, &online).unwrap();
        assert!(!allowance.cpuset.is_empty() && !allowance.mask.is_empty());
        assert!(allowance.cpuset.is_subset(&online));
    }
}
