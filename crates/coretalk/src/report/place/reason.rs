//! Why a placement could win: what its CPUs share, against what those of another share.

use crate::report::text::count;
use coretalk_model::place::{Binding, Placement, Structure};
use coretalk_model::{Level, Topology};

/// `6 CPUs, 3 cores, 1 L3`: what is reported, and only that.
pub fn structure_words(topology: &Topology, placement: &Placement) -> String {
    let has = Structure::of(topology, placement);
    let mut parts = vec![count(has.cpus as u64, "CPU")];
    if has.shares_cores() {
        parts.push(count(has.cores as u64, "core"));
    }
    // Of what there is one of, every placement has one.
    let several = topology.level(Level::L3).len() > 1;
    parts.extend(has.caches.filter(|_| several).map(|caches| format!("{caches} L3")));
    parts.extend(has.nodes.filter(|nodes| *nodes > 1).map(|nodes| count(nodes as u64, "node")));
    parts.extend(has.packages.filter(|packages| *packages > 1).map(|number| count(number as u64, "package")));
    if !has.classes.is_empty() {
        parts.push(format!("{} cores", has.classes.join(" and ")));
    }
    parts.join(", ")
}

/// A sentence: what tells the winner from the next. That it is the cause is not shown, so it says "could".
pub fn reasons(topology: &Topology, winner: &Placement, next: &Placement) -> String {
    let [best, other] = [winner, next].map(|placement| Structure::of(topology, placement));
    let name = &next.name;
    let mut parts: Vec<String> = Vec::new();
    if winner.binding == Binding::Free {
        parts.push("the system may move its threads to where it is quiet".to_owned());
    }
    if best.cpus > other.cpus {
        parts.push(format!("it has {} where {name} has {}", count(best.cpus as u64, "CPU"), other.cpus));
    }
    if best.cpus < other.cpus && winner.binding == Binding::Bound {
        parts.push(format!(
            "on {} nobody has to be woken on another CPU, and caches are shared",
            count(best.cpus as u64, "CPU")
        ));
    }
    if other.shares_cores() && !best.shares_cores() {
        parts.push(format!(
            "each of its CPUs is a core of its own, where those of {name} share {}",
            count(other.cores as u64, "core")
        ));
    }
    if best.shares_cores() && !other.shares_cores() {
        parts.push("threads of one core share its caches and talk inside it".to_owned());
    }
    let both = |of: fn(&Structure) -> Option<usize>| of(&best).zip(of(&other));
    match both(|structure| structure.caches) {
        Some((mine, theirs)) if mine < theirs => {
            parts.push(format!("its messages stay inside {mine} L3, where those of {name} cross {theirs}"));
        }
        Some((mine, theirs)) if mine > theirs => {
            parts.push(format!("it has {mine} L3 to itself, where {name} has {theirs}"));
        }
        _ => {}
    }
    match both(|structure| structure.nodes) {
        Some((mine, theirs)) if mine < theirs => {
            parts.push(format!(
                "its memory is on {}, where {name} crosses {theirs}",
                count(mine as u64, "node")
            ));
        }
        Some((mine, theirs)) if mine > theirs => {
            parts.push(format!("it has the memory of {}", count(mine as u64, "node")));
        }
        _ => {}
    }
    if best.classes != other.classes {
        parts.push(format!(
            "its cores are {}, those of {name} {}",
            best.classes.join(" and "),
            other.classes.join(" and ")
        ));
    }
    match parts.len() {
        0 => format!("Nothing in the reported structure tells it from {name}."),
        _ => format!("It could be because {}.", parts.join("; ")),
    }
}
