//! [`Why`]: the topological differences that could explain why a placement beats the next best.
//!
//! Only advantages of the winner count, and only those relevant to the work. Threads that do not communicate gain
//! nothing from a shared cache, and a circulating token gains nothing from separate cores.

use super::placement::{Binding, Placement, UsedGroups, touched};
use super::workload::{Behaviour, Communication};
use crate::{CpuId, CpuSet, Level, Relation, Topology};

/// A possible explanation of a result. The cause is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// One of the two placements is unbound. The system selected its CPUs, which are unknown.
    Unbound,
    /// No reported difference favours the winner.
    Nothing,
    /// Differences that favour the winner; at least one.
    Could(Vec<PlacementReason>),
}

/// One difference between the winner (`mine`) and the next best (`theirs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementReason {
    /// More CPUs for concurrent threads.
    MoreCpus {
        /// CPUs that the winner uses.
        mine: usize,
        /// CPUs that the next best uses.
        theirs: usize,
    },
    /// Fewer CPUs, with fewer migrations and wake-ups between them.
    FewerCpus {
        /// CPUs that the winner uses.
        mine: usize,
        /// Whether several threads or processes run concurrently.
        several: bool,
    },
    /// More cores with the same number of CPUs.
    Cores {
        /// Cores that the winner uses.
        mine: usize,
        /// Cores that the next best uses.
        theirs: usize,
    },
    /// Less communication between groups of CPUs.
    Crossings {
        /// The level of the groups.
        level: Level,
        /// The counted communication.
        communication: Communication,
        /// Crossings of the winner.
        mine: usize,
        /// Crossings of the next best.
        theirs: usize,
        /// Total number of pairs.
        of: usize,
    },
    /// All CPUs are in fewer groups, which shortens communication. For work with an unknown pattern.
    Groups {
        /// The level of the groups.
        level: Level,
        /// Groups that the winner uses.
        mine: usize,
        /// Groups that the next best uses.
        theirs: usize,
    },
    /// More groups, each with its own cache or memory.
    Room {
        /// Last-level caches or NUMA nodes.
        level: Level,
        /// Groups that the winner uses.
        mine: usize,
        /// Groups that the next best uses.
        theirs: usize,
    },
    /// More cores of a faster kind.
    Faster {
        /// Rank of the kind among all kinds, slowest first.
        kind: usize,
        /// CPUs of that kind that the winner uses.
        mine: usize,
        /// CPUs of that kind that the next best uses.
        theirs: usize,
    },
}

/// The possible explanation why `winner` beats `next` with work of this behaviour.
pub fn why(topology: &Topology, behaviour: &Behaviour, winner: &Placement, next: &Placement) -> Why {
    if [winner, next].iter().any(|placement| placement.binding == Binding::Free) {
        return Why::Unbound;
    }
    let [mine, theirs] = [winner, next].map(|placement| Side::new(topology, behaviour, placement));
    let reasons = match behaviour.roles {
        Some(_) => role_reasons(topology, behaviour, &mine, &theirs),
        None => set_reasons(topology, behaviour, &mine, &theirs),
    };
    if reasons.is_empty() { Why::Nothing } else { Why::Could(reasons) }
}

struct Side {
    /// The CPU of each role. Every CPU once if the roles are unknown.
    roles: Vec<CpuId>,
    used: UsedGroups,
}

impl Side {
    fn new(topology: &Topology, behaviour: &Behaviour, placement: &Placement) -> Side {
        let roles = placement.roles(behaviour.roles.unwrap_or(placement.cpus.len()));
        let used = UsedGroups::of_set(topology, &roles.iter().copied().collect());
        Side { roles, used }
    }
}

fn role_reasons(
    topology: &Topology,
    behaviour: &Behaviour,
    mine: &Side,
    theirs: &Side,
) -> Vec<PlacementReason> {
    let mut reasons = Vec::new();
    if mine.used.cpus != theirs.used.cpus {
        // Sharing a CPU costs more than anything else, so it is the only reason.
        if mine.used.cpus > theirs.used.cpus {
            reasons.push(PlacementReason::MoreCpus { mine: mine.used.cpus, theirs: theirs.used.cpus });
        }
        return reasons;
    }
    let nearer = crossings(topology, behaviour, [&mine.roles, &theirs.roles]);
    // Unless computation and communication add up, cores matter only if communication is not shorter.
    let by_cores = behaviour.computes && (behaviour.adds || nearer.is_empty());
    reasons.extend(nearer);
    if behaviour.streams {
        reasons.extend(room(&mine.used, &theirs.used));
    }
    if by_cores && behaviour.several {
        reasons.extend(cores(&mine.used, &theirs.used));
    }
    reasons.extend(faster(topology, mine, theirs));
    reasons
}

fn set_reasons(
    topology: &Topology,
    behaviour: &Behaviour,
    mine: &Side,
    theirs: &Side,
) -> Vec<PlacementReason> {
    let mut reasons = Vec::new();
    if behaviour.several && mine.used.cpus > theirs.used.cpus {
        reasons.push(PlacementReason::MoreCpus { mine: mine.used.cpus, theirs: theirs.used.cpus });
    }
    if mine.used.cpus < theirs.used.cpus {
        reasons.push(PlacementReason::FewerCpus { mine: mine.used.cpus, several: behaviour.several });
    }
    if behaviour.several {
        reasons.extend(cores(&mine.used, &theirs.used));
        let differ = |level| {
            let count = |side: &Side| touched(topology, level, &side.roles.iter().copied().collect());
            count(mine).zip(count(theirs)).filter(|(mine, theirs)| mine != theirs)
        };
        if let Some((level, (mine, theirs))) =
            far_levels(topology).find_map(|level| Some((level, differ(level)?)))
            && mine < theirs
        {
            reasons.push(PlacementReason::Groups { level, mine, theirs });
        }
        reasons.extend(room(&mine.used, &theirs.used));
    }
    reasons.extend(faster(topology, mine, theirs));
    reasons
}

fn cores(mine: &UsedGroups, theirs: &UsedGroups) -> Option<PlacementReason> {
    (mine.cores > theirs.cores).then_some(PlacementReason::Cores { mine: mine.cores, theirs: theirs.cores })
}

fn room(mine: &UsedGroups, theirs: &UsedGroups) -> impl Iterator<Item = PlacementReason> {
    let reason = |level, mine: Option<usize>, theirs: Option<usize>| {
        let (mine, theirs) = mine.zip(theirs)?;
        (mine > theirs).then_some(PlacementReason::Room { level, mine, theirs })
    };
    [reason(Level::L3, mine.caches, theirs.caches), reason(Level::Node, mine.nodes, theirs.nodes)]
        .into_iter()
        .flatten()
}

/// Levels that separate CPUs, from the largest groups down, without cores. On hybrid machines, clusters and shared L2
/// caches show no proximity: the four small cores of an Alder Lake module take 52 ns to reach each other, 44 ns to
/// others.
fn far_levels(topology: &Topology) -> impl Iterator<Item = Level> + use<'_> {
    let hybrid = topology.classes().len() > 1;
    let separates = move |level: &Level| {
        let is_module = matches!(level, Level::L2 | Level::Cluster);
        *level != Level::Core && !(hybrid && is_module) && topology.level(*level).len() > 1
    };
    topology.levels().into_iter().rev().filter(separates)
}

fn crossings(topology: &Topology, behaviour: &Behaviour, roles: [&[CpuId]; 2]) -> Vec<PlacementReason> {
    let communication = behaviour.communication;
    let count = |level: Level| {
        let boundary = topology.nearness(Relation::from_level(level));
        let far = |&(a, b): &(CpuId, CpuId)| topology.nearness(topology.relation(a, b)) > boundary;
        roles.map(|roles| {
            communication
                .communicating_pairs(roles)
                .iter()
                .map(|pairs| pairs.iter().filter(|pair| far(pair)).count())
                .max()
                .unwrap_or(0)
        })
    };
    let of = communication.communicating_pairs(roles[0]).first().map_or(0, Vec::len);
    let levels: Vec<Level> =
        far_levels(topology).chain(topology.has_smt(topology.cpus()).then_some(Level::Core)).collect();
    let counts: Vec<(Level, [usize; 2])> = levels.into_iter().map(|level| (level, count(level))).collect();
    // For work that only communicates, the outermost boundary decides. Other work may be faster through its
    // computation, so any boundary that the winner crosses more often contradicts this reason.
    let never_more = counts.iter().all(|(_, [mine, theirs])| mine <= theirs);
    let is_reason =
        |[mine, theirs]: [usize; 2]| mine < theirs && (mine == 0 || communication != Communication::Along);
    let Some(first) = counts.iter().position(|(_, [mine, theirs])| match communication {
        // The slowest link decides. Boundaries inside one that both placements cross are irrelevant.
        Communication::Along => *mine > 0 || *theirs > 0,
        _ => mine != theirs,
    }) else {
        return Vec::new();
    };
    let mixed = behaviour.computes && communication != Communication::Along;
    if !is_reason(counts[first].1) || (mixed && !never_more) {
        return Vec::new();
    }
    let inside = counts.last().filter(|(level, found)| {
        *level == Level::Core && first + 1 < counts.len() && never_more && is_reason(*found)
    });
    let reason = |(level, [mine, theirs]): (Level, [usize; 2])| PlacementReason::Crossings {
        level,
        communication,
        mine,
        theirs,
        of,
    };
    std::iter::once(counts[first]).chain(inside.copied()).map(reason).collect()
}

fn faster(topology: &Topology, mine: &Side, theirs: &Side) -> Option<PlacementReason> {
    let classes = topology.classes();
    let kinds = |side: &Side| -> Option<Vec<usize>> {
        let kind = |cpu| classes.iter().position(|class| Some(*class) == topology.class_of(cpu));
        let cpus: CpuSet = side.roles.iter().copied().collect();
        let mut kinds: Vec<usize> = cpus.iter().map(kind).collect::<Option<_>>()?;
        kinds.sort_unstable_by(|a, b| b.cmp(a));
        Some(kinds)
    };
    let (mine, theirs) = (kinds(mine)?, kinds(theirs)?);
    let (first, _) = mine.iter().zip(&theirs).find(|(mine, theirs)| mine != theirs)?;
    let count = |kinds: &[usize]| kinds.iter().filter(|kind| *kind == first).count();
    let never_slower = mine.iter().zip(&theirs).all(|(mine, theirs)| mine >= theirs);
    never_slower.then(|| PlacementReason::Faster { kind: *first, mine: count(&mine), theirs: count(&theirs) })
}
