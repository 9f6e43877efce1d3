//! [`Tree`]: a system described by a list of files, for tests.

use super::root::SystemRoot;
use std::fmt::Write;
use tempfile::TempDir;

/// A temporary directory with the layout of a live system; removed when dropped.
pub struct Tree {
    directory: TempDir,
    root: SystemRoot,
}

impl Tree {
    /// A system that says nothing.
    pub fn new() -> Tree {
        // Thousands of small files: in memory where there is such a place, a hundred times faster than on a busy disk.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = SystemRoot::new(directory.path());
        Tree { directory, root }
    }

    /// The system with these files.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        files.iter().fold(Tree::new(), |tree, (path, content)| tree.file(path, content))
    }

    /// One file more.
    pub fn file(self, path: &str, content: &str) -> Tree {
        self.bytes(path, content.as_bytes())
    }

    /// One file more, of any bytes.
    pub fn bytes(self, path: &str, content: &[u8]) -> Tree {
        let path = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// What the code under test is given.
    pub fn root(&self) -> &SystemRoot {
        &self.root
    }

    /// The CPUs that are online, of those that have entries.
    pub fn online(self, list: &str) -> Tree {
        self.file("/sys/devices/system/cpu/online", &format!("{list}\n"))
    }

    /// One more file for each of these CPUs, below its directory.
    pub fn each(mut self, cpus: &str, below: &str, content: &str) -> Tree {
        for cpu in cpus.parse::<coretalk_model::CpuSet>().unwrap().iter() {
            self = self.file(&format!("/sys/devices/system/cpu/cpu{cpu}/{below}"), &format!("{content}\n"));
        }
        self
    }

    /// What the kernel says in `topology/` for groups of CPUs: `NAME_list` (or `NAME_cpus_list`), and an id that
    /// counts the groups.
    pub fn groups(mut self, list_name: &str, id_name: &str, groups: &[&str]) -> Tree {
        for (id, group) in groups.iter().enumerate() {
            self = self.each(group, &format!("topology/{list_name}"), group);
            self = self.each(group, &format!("topology/{id_name}"), &id.to_string());
        }
        self
    }

    /// Cores by their threads.
    pub fn cores(self, groups: &[&str]) -> Tree {
        self.groups("core_cpus_list", "core_id", groups)
    }

    /// Packages.
    pub fn packages(self, groups: &[&str]) -> Tree {
        self.groups("package_cpus_list", "physical_package_id", groups)
    }

    /// A cache level: `index` is the directory, as on most systems one more than the level from L2 on.
    pub fn caches(mut self, level: u32, kind: &str, groups: &[&str]) -> Tree {
        let index = if kind == "Data" { 0 } else { level };
        for (id, group) in groups.iter().enumerate() {
            for (file, content) in [
                ("level", level.to_string()),
                ("type", kind.to_owned()),
                ("shared_cpu_list", (*group).to_owned()),
                ("id", id.to_string()),
            ] {
                self = self.each(group, &format!("cache/index{index}/{file}"), &content);
            }
        }
        self
    }

    /// NUMA nodes by number.
    pub fn nodes(mut self, nodes: &[(u32, &str)]) -> Tree {
        for (node, cpus) in nodes {
            self = self.file(&format!("/sys/devices/system/node/node{node}/cpulist"), &format!("{cpus}\n"));
        }
        self
    }

    /// The system as lists of groups, one line for each level, each that is the same as another, each
    /// node without CPUs and each core class.
    pub fn topology(&self) -> String {
        let topology = super::sysfs::read_topology(&self.root).unwrap();
        let mut text = format!("cpus {}\n", topology.cpus());
        for level in topology.levels() {
            let domains = topology.level(level);
            if domains.is_empty() {
                continue;
            }
            write!(text, "{level}").unwrap();
            for domain in domains {
                match domain.os_id {
                    Some(id) => write!(text, " {id}:{}", domain.cpus).unwrap(),
                    None => write!(text, " ?:{}", domain.cpus).unwrap(),
                }
            }
            text.push('\n');
        }
        if let Some(beside) = topology.beside() {
            for (level, same) in &beside.same {
                writeln!(text, "{level} as {}", same.name()).unwrap();
            }
            for node in &beside.memory_nodes {
                writeln!(text, "memory {} {:?} {:?}", node.number, node.memory_bytes, node.distances)
                    .unwrap();
            }
        }
        for class in topology.classes() {
            let members: coretalk_model::CpuSet =
                topology.cpus().iter().filter(|&cpu| topology.class_of(cpu) == Some(class)).collect();
            writeln!(text, "class {} {}: {members}", class.rank, class.name).unwrap();
        }
        text
    }
}
