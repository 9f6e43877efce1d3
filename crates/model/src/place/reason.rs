//! [`Why`]: what tells the winner of a comparison from the next best, as far as the reported structure holds it.
//!
//! Only what speaks for the winner is a reason, and only for work that it can matter to: threads that never meet gain
//! nothing from a shared cache, and a token that goes round gains nothing from cores of its own.

use super::placement::{Binding, Placement, Structure, touched};
use super::workload::{Behaviour, Communication};
use crate::{CpuId, CpuSet, Level, Relation, Topology};

/// Why one placement could be better than another. That any of it is the cause is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The system chose where the work of one of the two ran, and nobody wrote down where that was.
    Unbound,
    /// Nothing that is reported speaks for the winner.
    Nothing,
    /// What speaks for the winner; at least one.
    Could(Vec<Reason>),
}

/// One difference of two placements: what the winner has against what the next best has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// More CPUs for threads that work at a time.
    MoreCpus {
        /// CPUs that the winner uses.
        mine: usize,
        /// CPUs that the next best uses.
        theirs: usize,
    },
    /// Fewer CPUs: less is moved and woken from one to another.
    FewerCpus {
        /// CPUs that the winner uses.
        mine: usize,
        /// Several threads or processes work at a time.
        several: bool,
    },
    /// More cores for as many CPUs.
    Cores {
        /// Cores that the winner uses.
        mine: usize,
        /// Cores that the next best uses.
        theirs: usize,
    },
    /// Less of what is said goes from one group of CPUs to another.
    Crossings {
        /// The groups.
        level: Level,
        /// What is counted.
        communication: Communication,
        /// Crossings of the winner.
        mine: usize,
        /// Crossings of the next best.
        theirs: usize,
        /// Of how many.
        of: usize,
    },
    /// All CPUs lie in fewer groups, so that what is said goes a shorter way; for work whose talk is not known.
    Groups {
        /// The groups.
        level: Level,
        /// Groups that the winner touches.
        mine: usize,
        /// Groups that the next best touches.
        theirs: usize,
    },
    /// More groups, each with a cache or memory of its own.
    Room {
        /// Last-level caches or NUMA nodes.
        level: Level,
        /// Groups that the winner touches.
        mine: usize,
        /// Groups that the next best touches.
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

/// What speaks for `winner` against `next` in work of this habit.
pub fn why(topology: &Topology, behaviour: &Behaviour, winner: &Placement, next: &Placement) -> Why {
    if [winner, next].iter().any(|placement| placement.binding == Binding::Free) {
        return Why::Unbound;
    }
    let [mine, theirs] = [winner, next].map(|placement| Side::of(topology, behaviour, placement));
    let reasons = match behaviour.roles {
        Some(_) => of_roles(topology, behaviour, &mine, &theirs),
        None => of_sets(topology, behaviour, &mine, &theirs),
    };
    if reasons.is_empty() { Why::Nothing } else { Why::Could(reasons) }
}

/// A placement as work uses it.
struct Side {
    /// The CPU of each role; every CPU once where nobody knows the roles.
    roles: Vec<CpuId>,
    has: Structure,
}

impl Side {
    fn of(topology: &Topology, behaviour: &Behaviour, placement: &Placement) -> Side {
        let roles = placement.roles(behaviour.roles.unwrap_or(placement.cpus.len()));
        // CPUs that nobody works on are no reason.
        let has = Structure::of_set(topology, &roles.iter().copied().collect());
        Side { roles, has }
    }
}

/// Roles stand on CPUs in turn: it is known who talks to whom from where.
fn of_roles(topology: &Topology, behaviour: &Behaviour, mine: &Side, theirs: &Side) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if mine.has.cpus != theirs.has.cpus {
        // Threads that share CPUs with each other lose more by that than by all else.
        if mine.has.cpus > theirs.has.cpus {
            reasons.push(Reason::MoreCpus { mine: mine.has.cpus, theirs: theirs.has.cpus });
        }
        return reasons;
    }
    let nearer = crossings(topology, behaviour, [&mine.roles, &theirs.roles]);
    // Where the slower of two things counts, cores are told only if the way of the messages is no shorter.
    let by_cores = behaviour.computes && (behaviour.adds || nearer.is_empty());
    reasons.extend(nearer);
    if behaviour.streams {
        reasons.extend(room(&mine.has, &theirs.has));
    }
    if by_cores && behaviour.several {
        reasons.extend(cores(&mine.has, &theirs.has));
    }
    reasons.extend(faster(topology, mine, theirs));
    reasons
}

/// A command, or processes that the system places among the CPUs: anything that CPUs share may matter.
fn of_sets(topology: &Topology, behaviour: &Behaviour, mine: &Side, theirs: &Side) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if behaviour.several && mine.has.cpus > theirs.has.cpus {
        reasons.push(Reason::MoreCpus { mine: mine.has.cpus, theirs: theirs.has.cpus });
    }
    if mine.has.cpus < theirs.has.cpus {
        reasons.push(Reason::FewerCpus { mine: mine.has.cpus, several: behaviour.several });
    }
    if behaviour.several {
        reasons.extend(cores(&mine.has, &theirs.has));
        let differ = |level| {
            let of = |side: &Side| touched(topology, level, &side.roles.iter().copied().collect());
            of(mine).zip(of(theirs)).filter(|(mine, theirs)| mine != theirs)
        };
        if let Some((level, (mine, theirs))) =
            far_levels(topology).find_map(|level| Some((level, differ(level)?)))
            && mine < theirs
        {
            reasons.push(Reason::Groups { level, mine, theirs });
        }
        reasons.extend(room(&mine.has, &theirs.has));
    }
    reasons.extend(faster(topology, mine, theirs));
    reasons
}

fn cores(mine: &Structure, theirs: &Structure) -> Option<Reason> {
    (mine.cores > theirs.cores).then_some(Reason::Cores { mine: mine.cores, theirs: theirs.cores })
}

fn room(mine: &Structure, theirs: &Structure) -> impl Iterator<Item = Reason> {
    let of = |level, mine: Option<usize>, theirs: Option<usize>| {
        let (mine, theirs) = mine.zip(theirs)?;
        (mine > theirs).then_some(Reason::Room { level, mine, theirs })
    };
    [of(Level::L3, mine.caches, theirs.caches), of(Level::Node, mine.nodes, theirs.nodes)]
        .into_iter()
        .flatten()
}

/// The levels at which CPUs can lie apart, from the largest groups to the smallest, cores left out. On hybrid machines
/// clusters and shared L2 are no nearness: the four small cores of a module of Alder Lake, which are both, reach each
/// other no sooner than others (52 against 44 ns).
fn far_levels(topology: &Topology) -> impl Iterator<Item = Level> + use<'_> {
    let hybrid = topology.classes().len() > 1;
    let tells = move |level: &Level| {
        let is_module = matches!(level, Level::L2 | Level::Cluster);
        *level != Level::Core && !(hybrid && is_module) && topology.level(*level).len() > 1
    };
    topology.levels().into_iter().rev().filter(tells)
}

/// Where the winner's messages cross fewer borders: at the outermost that the two differ at, and between cores.
fn crossings(topology: &Topology, behaviour: &Behaviour, roles: [&[CpuId]; 2]) -> Vec<Reason> {
    let communication = behaviour.communication;
    let count = |level: Level| {
        let border = topology.nearness(Relation::of(level));
        let far = |&(a, b): &(CpuId, CpuId)| topology.nearness(topology.relation(a, b)) > border;
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
    // A border that the winner crosses more often speaks against it. Where messages are all there is the outermost border
    // decides nevertheless; where they are not, the winner may have won by its own work.
    let never_more = counts.iter().all(|(_, [mine, theirs])| mine <= theirs);
    let is_reason =
        |[mine, theirs]: [usize; 2]| mine < theirs && (mine == 0 || communication != Communication::Along);
    let Some(first) = counts.iter().position(|(_, [mine, theirs])| match communication {
        // The slowest link decides, so that what lies inside one that both cross says nothing.
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
    let reason = |(level, [mine, theirs]): (Level, [usize; 2])| Reason::Crossings {
        level,
        communication,
        mine,
        theirs,
        of,
    };
    std::iter::once(counts[first]).chain(inside.copied()).map(reason).collect()
}

/// Whether the winner's CPUs are cores of faster kinds: one by one, from the fastest, never a slower one.
fn faster(topology: &Topology, mine: &Side, theirs: &Side) -> Option<Reason> {
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
    let of = |kinds: &[usize]| kinds.iter().filter(|kind| *kind == first).count();
    let never_slower = mine.iter().zip(&theirs).all(|(mine, theirs)| mine >= theirs);
    never_slower.then(|| Reason::Faster { kind: *first, mine: of(&mine), theirs: of(&theirs) })
}
