//! Where the search begins: simple orders, greedy growth, and multisection of the threads over the tree of groups.

use super::assignment::NONE;
use super::{CpuDistances, Graph};

/// The first threads on the first CPUs of an order.
pub(super) fn in_order(threads: usize, order: &[usize]) -> Vec<u32> {
    order.iter().take(threads).map(|&cpu| cpu as u32).collect()
}

/// Fills CPUs in the order of the structure, each with the thread that talks most, in savings against the farthest
/// pair, to those that are placed; where none does, with the one that talks most at all.
pub(super) fn greedy(graph: &Graph, distances: &CpuDistances) -> Vec<u32> {
    let n = graph.len();
    let farthest =
        (0..distances.len()).flat_map(|a| (0..a).map(move |b| distances.ns(a, b))).fold(0.0, f64::max);
    let talk: Vec<f64> =
        (0..n).map(|thread| graph.neighbours(thread).iter().map(|(_, weight)| weight).sum()).collect();
    let mut cpu_of = vec![NONE; n];
    for &cpu in distances.compact().iter().take(n) {
        let saved = |thread: usize| -> f64 {
            let placed = graph.neighbours(thread).iter().filter(|(other, _)| cpu_of[*other as usize] != NONE);
            placed
                .map(|&(other, weight)| {
                    weight * (farthest - distances.ns(cpu, cpu_of[other as usize] as usize))
                })
                .sum()
        };
        let open = (0..n).filter(|&thread| cpu_of[thread] == NONE);
        let scored = open.map(|thread| (saved(thread), talk[thread], thread));
        // Of equals the one that says most, then the first.
        let best = scored.max_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)).then(y.2.cmp(&x.2)));
        if let Some((_, _, thread)) = best {
            cpu_of[thread] = cpu as u32;
        }
    }
    cpu_of
}

/// Recursive multisection: the threads are divided among the groups of the largest level so that little is said across,
/// and each group's threads among the groups inside it (Kernighan and Lin 1970 for the exchanges; the recursion over
/// the tree of the machine as in Scotch, Pellegrini and Roman 1996).
pub(super) fn multisection(graph: &Graph, distances: &CpuDistances) -> Vec<u32> {
    let mut cpu_of = vec![NONE; graph.len()];
    let everyone: Vec<u32> = (0..graph.len() as u32).collect();
    let all: Vec<usize> = distances.compact();
    divide(graph, distances, 0, &all, everyone, &mut cpu_of);
    cpu_of
}

fn divide(
    graph: &Graph,
    distances: &CpuDistances,
    level: usize,
    cpus: &[usize],
    threads: Vec<u32>,
    cpu_of: &mut [u32],
) {
    let groups: Vec<Vec<usize>> = match distances.levels().get(level) {
        Some(groups) => groups
            .iter()
            .enumerate()
            .map(|(index, _)| {
                let inside = |cpu: &usize| distances.group_of(level, *cpu) as usize == index;
                cpus.iter().copied().filter(inside).collect::<Vec<usize>>()
            })
            .filter(|group| !group.is_empty())
            .collect(),
        None => {
            for (thread, &cpu) in threads.iter().zip(cpus) {
                cpu_of[*thread as usize] = cpu as u32;
            }
            return;
        }
    };
    let parts = grow(graph, &groups, &threads);
    let parts = exchange(graph, parts);
    for (group, part) in groups.iter().zip(parts) {
        divide(graph, distances, level + 1, group, part, cpu_of);
    }
}

/// Parts of the sizes of the groups, each grown from a seed by who talks most to it; the last ones may stay empty.
fn grow(graph: &Graph, groups: &[Vec<usize>], threads: &[u32]) -> Vec<Vec<u32>> {
    let mut open = vec![false; graph.len()];
    for &thread in threads {
        open[thread as usize] = true;
    }
    let mut left = threads.len();
    let mut parts = Vec::new();
    for group in groups {
        let mut part: Vec<u32> = Vec::new();
        let mut pull = vec![0.0; graph.len()];
        while part.len() < group.len() && left > 0 {
            let talk = |thread: usize| -> f64 {
                graph
                    .neighbours(thread)
                    .iter()
                    .filter(|(other, _)| open[*other as usize])
                    .map(|(_, w)| w)
                    .sum()
            };
            let candidates = threads.iter().copied().filter(|&thread| open[thread as usize]);
            // Whom the part draws most, against what else draws it; a seed is whom the fewest others draw.
            let scored = candidates.map(|thread| {
                let elsewhere = talk(thread as usize);
                let drawn = pull[thread as usize];
                (if drawn > 0.0 { drawn / (drawn + elsewhere) } else { 0.0 }, drawn, -elsewhere, thread)
            });
            let best = scored.max_by(|x, y| {
                x.1.total_cmp(&y.1).then(x.0.total_cmp(&y.0)).then(x.2.total_cmp(&y.2)).then(y.3.cmp(&x.3))
            });
            let Some((_, _, _, thread)) = best else { break };
            open[thread as usize] = false;
            left -= 1;
            part.push(thread);
            for &(other, weight) in graph.neighbours(thread as usize) {
                pull[other as usize] += weight;
            }
        }
        parts.push(part);
    }
    parts
}

/// Passes of exchanges between parts: more change little.
const PASSES: usize = 8;
/// Threads of a part that are tried for an exchange with another part, most willing first.
const WILLING: usize = 16;

/// Exchanges threads between parts while less is said across.
fn exchange(graph: &Graph, mut parts: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut part_of = vec![NONE; graph.len()];
    for (index, part) in parts.iter().enumerate() {
        for &thread in part {
            part_of[thread as usize] = index as u32;
        }
    }
    let to = |part_of: &[u32], thread: u32, part: usize| -> f64 {
        let inside =
            graph.neighbours(thread as usize).iter().filter(|(o, _)| part_of[*o as usize] == part as u32);
        inside.map(|(_, weight)| weight).sum()
    };
    for _ in 0..PASSES {
        let mut better = false;
        for a in 0..parts.len() {
            for b in a + 1..parts.len() {
                let willing = |part_of: &[u32], from: usize, into: usize| {
                    let mut all: Vec<(f64, u32)> = parts[from]
                        .iter()
                        .map(|&thread| (to(part_of, thread, into) - to(part_of, thread, from), thread))
                        .collect();
                    all.sort_by(|x, y| y.0.total_cmp(&x.0));
                    all.truncate(WILLING);
                    all
                };
                let (ours, theirs) = (willing(&part_of, a, b), willing(&part_of, b, a));
                let mut chosen: Vec<(u32, u32)> = Vec::new();
                for (mine, yours) in ours.iter().zip(&theirs) {
                    let (x, y) = (mine.1, yours.1);
                    let between: f64 =
                        graph.neighbours(x as usize).iter().filter(|(o, _)| *o == y).map(|(_, w)| w).sum();
                    let gain = to(&part_of, x, b) - to(&part_of, x, a) + to(&part_of, y, a)
                        - to(&part_of, y, b)
                        - 2.0 * between;
                    if gain > 1e-9 {
                        part_of[x as usize] = b as u32;
                        part_of[y as usize] = a as u32;
                        chosen.push((x, y));
                    }
                }
                for (x, y) in chosen {
                    replace(&mut parts[a], x, y);
                    replace(&mut parts[b], y, x);
                    better = true;
                }
            }
        }
        if !better {
            break;
        }
    }
    parts
}

fn replace(part: &mut [u32], old: u32, new: u32) {
    if let Some(slot) = part.iter_mut().find(|thread| **thread == old) {
        *slot = new;
    }
}
