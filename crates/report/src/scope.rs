//! Describes what CPUs share.

use coretalk_model::{Level, Relation, Scope, Topology};

/// The scope that pairs share: `same L3`, `across L3`; `same L3, across nodes`.
pub fn shared(scope: Scope) -> String {
    match scope {
        Scope::SameCpu => "same CPU".to_owned(),
        Scope::Threads(beyond) => format!("threads of a core{}", beyond_words(beyond)),
        Scope::Inside(level, beyond) => {
            format!("same {}{}", level_words(level, 1), beyond_words(beyond))
        }
        Scope::Across(level) => format!("across {}", level_words(level, 2)),
        Scope::Machine => "this machine".to_owned(),
    }
}

/// The scope in the form of a place: `both on one CPU`, `inside an L3`, `across L3`.
pub fn place(scope: Scope) -> String {
    match scope {
        Scope::SameCpu => "both on one CPU".to_owned(),
        Scope::Inside(level, beyond) => {
            let article = if matches!(level, Level::L2 | Level::L3) { "an" } else { "a" };
            format!("inside {article} {}{}", level_words(level, 1), beyond_words(beyond))
        }
        _ => shared(scope),
    }
}

fn beyond_words(beyond: Option<Level>) -> String {
    beyond.map_or_else(String::new, |level| format!(", across {}", level_words(level, 2)))
}

pub fn relation_words(relation: Relation, topology: &Topology) -> String {
    shared(Scope::from_relation(relation, topology))
}

pub fn distance_words(relation: Relation, topology: &Topology) -> String {
    place(Scope::from_relation(relation, topology))
}

pub fn level_words(level: Level, number: usize) -> &'static str {
    match (level, number) {
        (Level::Core, 1) => "core",
        (Level::Core, _) => "cores",
        (Level::L2, _) => "L2",
        (Level::Cluster, 1) => "cluster",
        (Level::Cluster, _) => "clusters",
        (Level::L3, _) => "L3",
        (Level::Die, 1) => "die",
        (Level::Die, _) => "dies",
        (Level::Node, 1) => "node",
        (Level::Node, _) => "nodes",
        (Level::Package, 1) => "package",
        (Level::Package, _) => "packages",
        (Level::Book, 1) => "book",
        (Level::Book, _) => "books",
        (Level::Drawer, 1) => "drawer",
        (Level::Drawer, _) => "drawers",
    }
}
