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

/// Who works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// How many CPUs of a placement it uses, in role order; `None` where it may use all.
    pub roles: Option<usize>,
    /// Several threads or processes work at a time, as far as is known: they share caches.
    pub several: bool,
    /// They pass something to each other, or nobody knows that they do not.
    pub talks: bool,
}

/// A sentence: what tells the winner from the next. That it is the cause is not shown, so it says "could".
pub fn reasons(topology: &Topology, winner: &Placement, next: &Placement, crowd: Crowd) -> String {
    let [best, other] = [winner, next].map(|placement| {
        // CPUs that nobody works on are no reason.
        let used = match placement.binding {
            Binding::Bound => crowd.roles.unwrap_or(usize::MAX),
            Binding::Free => usize::MAX,
        };
        Structure::of_set(topology, &placement.cpus.iter().copied().take(used).collect())
    });
    let (several, talks) = (crowd.several, crowd.several && crowd.talks);
    let name = &next.name;
    let mut parts: Vec<String> = Vec::new();
    if winner.binding == Binding::Free {
        parts.push("the system may move its threads to where it is quiet".to_owned());
    }
    if best.cpus > other.cpus {
        parts.push(format!("it has {} where {name} has {}", count(best.cpus as u64, "CPU"), other.cpus));
    }
    if best.cpus < other.cpus && winner.binding == Binding::Bound {
        let cpus = count(best.cpus as u64, "CPU");
        parts.push(match (several, best.cpus) {
            (false, _) => format!("on {cpus} it is moved less from CPU to CPU"),
            (true, 1) => format!("on {cpus} nobody has to be woken on another CPU, and caches are shared"),
            (true, _) => format!("on {cpus} less goes from CPU to CPU"),
        });
    }
    if several && other.shares_cores() && !best.shares_cores() {
        parts.push(format!(
            "each of its CPUs is a core of its own, where those of {name} share {}",
            count(other.cores as u64, "core")
        ));
    }
    if talks && best.shares_cores() && !other.shares_cores() {
        parts.push("threads of one core share its caches and talk inside it".to_owned());
    }
    let both = |of: fn(&Structure) -> Option<usize>| of(&best).zip(of(&other)).filter(|_| several);
    match both(|structure| structure.caches) {
        Some((mine, theirs)) if mine < theirs && talks => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::{CpuId, Domain};

    /// Two caches × two cores × two threads, siblings i and i + 4.
    fn topology() -> Topology {
        let domain = |level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
        let mut domains: Vec<Domain> =
            (0..4).map(|core| domain(Level::Core, &format!("{core},{}", core + 4))).collect();
        domains.extend(["0-1,4-5", "2-3,6-7"].map(|list| domain(Level::L3, list)));
        Topology::new("0-7".parse().unwrap(), domains, Default::default())
    }

    fn placed(name: &str, cpus: &[u32]) -> Placement {
        Placement::bound(name, cpus.iter().copied().map(CpuId).collect())
    }

    fn why(winner: &[u32], next: &[u32], roles: Option<usize>, several: bool) -> String {
        reasons(&topology(), &placed("a", winner), &placed("b", next), Crowd { roles, several, talks: true })
    }

    #[test]
    fn cpus_that_nobody_works_on_are_no_reason() {
        // Four threads on eight CPUs: both use the same four cores.
        let wide = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(
            why(&wide, &[0, 1, 2, 3], Some(4), true),
            "Nothing in the reported structure tells it from b."
        );
        let said = why(&[0, 1, 4, 5], &wide, Some(2), true);
        assert_eq!(said, "Nothing in the reported structure tells it from b.");
        let said = why(&wide, &[0, 4, 1, 5], Some(4), true);
        assert!(said.contains("a core of its own") && said.contains("2 L3"), "{said}");
    }

    #[test]
    fn caches_and_messages_are_no_reason_for_one_that_works_alone() {
        for (winner, next) in
            [(&[0][..], &[0, 1][..]), (&[0, 4], &[0, 2]), (&[0, 1], &[0, 2]), (&[0, 2], &[0, 1])]
        {
            let said = why(winner, next, None, false);
            for word in ["cache", "L3", "message", "talk", "woken"] {
                assert!(!said.contains(word), "{winner:?} {next:?}: {said}");
            }
        }
        assert!(why(&[0], &[0, 1], None, true).contains("caches are shared"));
    }

    #[test]
    fn messages_are_no_reason_for_threads_that_send_none() {
        let apart = Crowd { roles: None, several: true, talks: false };
        for (winner, next) in [([0, 4], [0, 1]), ([0, 1], [0, 2])] {
            let said = reasons(&topology(), &placed("a", &winner), &placed("b", &next), apart);
            assert_eq!(said, "Nothing in the reported structure tells it from b.");
        }
    }
}
