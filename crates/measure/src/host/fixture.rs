//! [`SystemTree`]: a system described by files, for tests.

use super::root::SystemRoot;
use std::fmt::Write;
use tempfile::TempDir;

pub struct SystemTree {
    directory: TempDir,
    root: SystemRoot,
}

impl SystemTree {
    pub fn new() -> SystemTree {
        // For thousands of small files a RAM disk is a hundred times faster than a busy disk.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = SystemRoot::new(directory.path());
        SystemTree { directory, root }
    }

    pub fn with_files(files: &[(&str, &str)]) -> SystemTree {
        files.iter().fold(SystemTree::new(), |tree, (path, content)| tree.file(path, content))
    }

    pub fn file(self, path: &str, content: &str) -> SystemTree {
        self.bytes(path, content.as_bytes())
    }

    pub fn bytes(self, path: &str, content: &[u8]) -> SystemTree {
        let path = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub fn root(&self) -> &SystemRoot {
        &self.root
    }

    pub fn online(self, list: &str) -> SystemTree {
        self.file("/sys/devices/system/cpu/online", &format!("{list}\n"))
    }

    /// Adds a file below the directory of each of these CPUs.
    pub fn each(mut self, cpus: &str, below: &str, content: &str) -> SystemTree {
        for cpu in cpus.parse::<coretalk_model::CpuSet>().unwrap().iter() {
            self = self.file(&format!("/sys/devices/system/cpu/cpu{cpu}/{below}"), &format!("{content}\n"));
        }
        self
    }

    /// Adds the files in `topology/` for groups of CPUs: a list file, and an id file that numbers the groups.
    pub fn groups(mut self, list_name: &str, id_name: &str, groups: &[&str]) -> SystemTree {
        for (id, group) in groups.iter().enumerate() {
            self = self.each(group, &format!("topology/{list_name}"), group);
            self = self.each(group, &format!("topology/{id_name}"), &id.to_string());
        }
        self
    }

    pub fn cores(self, groups: &[&str]) -> SystemTree {
        self.groups("core_cpus_list", "core_id", groups)
    }

    pub fn clusters(self, groups: &[&str]) -> SystemTree {
        self.groups("cluster_cpus_list", "cluster_id", groups)
    }

    pub fn packages(self, groups: &[&str]) -> SystemTree {
        self.groups("package_cpus_list", "physical_package_id", groups)
    }

    /// Adds caches of a level. The directory index equals the level, except for data caches (0), as on most systems.
    pub fn caches(mut self, level: u32, kind: &str, groups: &[&str]) -> SystemTree {
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

    pub fn nodes(mut self, nodes: &[(u32, &str)]) -> SystemTree {
        for (node, cpus) in nodes {
            self = self.file(&format!("/sys/devices/system/node/node{node}/cpulist"), &format!("{cpus}\n"));
        }
        self
    }

    /// Describes the topology with one line per level, omitted level, node without CPUs and core class.
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
        if let Some(facts) = topology.other_facts() {
            for (level, same) in &facts.same {
                writeln!(text, "{level} as {}", same.name()).unwrap();
            }
            for node in &facts.memory_nodes {
                let (number, bytes, distances) = (node.number, node.memory_bytes, &node.distances);
                writeln!(text, "memory {number} {bytes:?} {distances:?}").unwrap();
            }
            for cache in &facts.caches {
                let groups: Vec<String> = cache.groups.iter().map(ToString::to_string).collect();
                writeln!(text, "{} {}: {}", cache.name, cache.bytes, groups.join(" ")).unwrap();
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
