//! The words of [`Why`]: what a placement has that could make it the better one, and what placements have at all.

use crate::report::scope::level_words;
use crate::report::text::{count, plain};
use coretalk_model::place::{Communication, Placement, Reason, Structure, Why};
use coretalk_model::{Level, Topology};

/// `6 CPUs, 3 cores, 1 L3`: what is reported, and only that.
pub fn structure_words(topology: &Topology, placement: &Placement) -> String {
    let has = Structure::of(topology, placement);
    let mut parts = vec![count(has.cpus as u64, "CPU")];
    if has.shares_cores() {
        parts.push(count(has.cores as u64, "core"));
    }
    // Of what there is one of, every placement has one.
    let several = |level| topology.level(level).len() > 1;
    parts.extend(has.shared_l2.filter(|l2| several(Level::L2) && *l2 > 0).map(|l2| format!("{l2} L2")));
    let clusters = has.clusters.filter(|clusters| several(Level::Cluster) && *clusters > 0);
    parts.extend(clusters.map(|clusters| count(clusters as u64, "cluster")));
    parts.extend(has.caches.filter(|_| several(Level::L3)).map(|caches| format!("{caches} L3")));
    parts.extend(has.nodes.filter(|nodes| *nodes > 1).map(|nodes| count(nodes as u64, "node")));
    parts.extend(has.packages.filter(|packages| *packages > 1).map(|number| count(number as u64, "package")));
    if !has.classes.is_empty() {
        parts.push(format!("{} cores", has.classes.join(" and ")));
    }
    parts.join(", ")
}

/// A sentence: what speaks for the winner against the next. That it is the cause is not shown, so it is "possible".
pub fn reasons(topology: &Topology, why: &Why, [winner, next]: [&str; 2]) -> String {
    match why {
        Why::Unbound => {
            "The reason is unknown: nothing records where the system runs threads that are not pinned."
                .to_owned()
        }
        Why::Nothing => format!(
            "Nothing in the reported structure explains why `{}` beats `{}`.",
            plain(winner),
            plain(next)
        ),
        Why::Could(reasons) => {
            let words: Vec<String> =
                reasons.iter().map(|reason| words(topology, reason, &format!("`{}`", plain(next)))).collect();
            let reason = if words.len() == 1 { "A possible reason" } else { "Possible reasons" };
            format!("{reason} why `{}` wins: {}.", plain(winner), words.join("; "))
        }
    }
}

fn words(topology: &Topology, reason: &Reason, next: &str) -> String {
    match *reason {
        Reason::MoreCpus { mine, theirs } => {
            format!("it has {}, where {next} has {theirs}", count(mine as u64, "CPU"))
        }
        Reason::FewerCpus { mine, several } => {
            let cpus = count(mine as u64, "CPU");
            match (several, mine) {
                (false, _) => format!("on {cpus} it moves less from CPU to CPU"),
                (true, 1) => {
                    format!("on {cpus} no thread is woken on another CPU, and caches are shared")
                }
                (true, _) => format!("on {cpus} less data moves between CPUs"),
            }
        }
        Reason::Cores { mine, theirs } => {
            format!("it has {}, where {next} has {theirs}", count(mine as u64, "core"))
        }
        Reason::Crossings { level, communication, of, .. }
            if of == if communication == Communication::Round { 2 } else { 1 } =>
        {
            let article = if is_cache(level) { "an" } else { "a" };
            format!(
                "its two threads share {article} {}, but the threads of {next} do not",
                level_words(level, 1)
            )
        }
        Reason::Crossings { level, communication, mine, theirs, of } => {
            let thing = level_words(level, 1);
            let [most, up_to] = if mine == 0 { ["", "up to "] } else { ["at most ", ""] };
            let [mine, theirs] = [mine, theirs].map(|number| match number {
                0 => "none".to_owned(),
                all if all == of => "all".to_owned(),
                some => some.to_string(),
            });
            match communication {
                Communication::Round => {
                    format!(
                        "{mine} of its {of} hops cross from one {thing} to another, against {theirs} \
                             for {next}"
                    )
                }
                Communication::Along => {
                    format!(
                        "{mine} of its {of} links cross from one {thing} to another, against {theirs} \
                             for {next}"
                    )
                }
                Communication::Phases => format!(
                    "{most}{mine} of the {of} threads that each one talks to run {} another {thing}, \
                     against {up_to}{theirs} for {next}",
                    within(level)
                ),
                Communication::All | Communication::Nobody => format!(
                    "{mine} of its {of} pairs of threads run {} different {thing}s, against {theirs} for \
                     {next}",
                    within(level)
                ),
            }
        }
        Reason::Groups { level, mine, theirs } => {
            format!("its CPUs are in {} {}, the CPUs of {next} in {theirs}", mine, level_words(level, mine))
        }
        Reason::Room { level: Level::Node, mine, theirs } => {
            format!("it can use the memory of {}, where {next} can use {theirs}", count(mine as u64, "node"))
        }
        Reason::Room { level, mine, theirs } => {
            format!("it has {mine} {}, where {next} has {theirs}", level_words(level, mine))
        }
        Reason::Faster { kind, mine, theirs } => {
            let name = topology.classes().get(kind).map_or_else(String::new, |class| plain(&class.name));
            let theirs = if theirs == 0 { "none".to_owned() } else { theirs.to_string() };
            format!("it has {mine} CPUs of the faster kind {name}, where {next} has {theirs}")
        }
    }
}

/// Threads run on a core, and in everything larger.
fn within(level: Level) -> &'static str {
    if level == Level::Core { "on" } else { "in" }
}

/// A cache is called by its level.
fn is_cache(level: Level) -> bool {
    matches!(level, Level::L2 | Level::L3)
}
