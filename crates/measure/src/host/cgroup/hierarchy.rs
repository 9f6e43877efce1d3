//! [`Hierarchy`]: directories of this process's control groups.

use crate::host::root::SystemRoot;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// Directories of one hierarchy that apply to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    pub version: Version,
    /// Directories from the group of this process up to the mount point.
    pub directories: Vec<String>,
}

/// Hierarchies that may have this controller: a version 1 hierarchy with it, and the unified hierarchy.
pub fn of_controller(root: &SystemRoot, controller: &str) -> Vec<Hierarchy> {
    let groups = root.peek("/proc/self/cgroup").unwrap_or_default();
    let mounts = root.peek("/proc/self/mountinfo").unwrap_or_default();
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let version = match mount.kind {
            "cgroup2" => Version::Two,
            "cgroup" if mount.options.split(',').any(|option| option == controller) => Version::One,
            _ => continue,
        };
        let Some(group) = group_of(&groups, version, controller) else { continue };
        found.push(Hierarchy { version, directories: directories(&mount, group) });
    }
    found
}

/// The path in `ID:CONTROLLERS:PATH`. In version 2 the list of controllers is empty.
fn group_of<'a>(groups: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_match = match version {
            Version::One => controllers.split(',').any(|name| name == controller),
            Version::Two => controllers.is_empty(),
        };
        is_match.then_some(path)
    })
}

/// One line of `/proc/self/mountinfo` (`man 5 proc_pid_mountinfo`).
struct Mount<'a> {
    /// The group at the mount point.
    root: String,
    point: String,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (unescape(before.next()?), unescape(before.next()?));
        let mut after = after.split(' ');
        Some(Mount { root, point, kind: after.next()?, options: after.nth(1)? })
    }
}

/// Directories from the group up to the mount point. In a container the group path may begin above the mount. With a
/// name space of its own it may climb out of the mount (`/../..`). The nearest visible group then is the mount point.
fn directories(mount: &Mount, group: &str) -> Vec<String> {
    let top = mount.point.trim_end_matches('/').to_owned();
    let below = match mount.root.as_str() {
        "/" => group,
        root => group.strip_prefix(root).unwrap_or(""),
    };
    let mut names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    if names.contains(&"..") {
        names.clear();
    }
    let mut directories = Vec::new();
    while let Some((_, parents)) = names.split_last() {
        directories.push(format!("{top}/{}", names.join("/")));
        names.truncate(parents.len());
    }
    directories.push(top);
    directories
}

/// Decodes octal escapes of white space and backslashes: `\040` is a space.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}
