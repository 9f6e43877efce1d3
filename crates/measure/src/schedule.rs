//! Plans which cells are measured together, and in which order.
//!
//! A round is a set of cells on disjoint cores. Serial schedules have one cell per round. Parallel schedules use the
//! circle method if every pair of a machine is requested, and otherwise a greedy edge colouring.

use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Topology};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// Cells measured at the same time, as indices into the plan's list.
pub type CellRound = Vec<u32>;

/// One cell per round, in random order.
pub fn serial(cells: &[u32], key: Key) -> Vec<CellRound> {
    let mut order = cells.to_vec();
    key.shuffle(&mut order);
    order.into_iter().map(|cell| vec![cell]).collect()
}

/// Rounds of at most `width` cells on disjoint cores, so threads of one core never work in different pairs. Each cell
/// occurs once. Order and grouping vary with the key, so that passes differ by noise plus interference.
pub fn parallel(
    topology: &Topology,
    pairs: &[[CpuId; 2]],
    cells: &[u32],
    width: usize,
    key: Key,
) -> Vec<CellRound> {
    let cores = Cores::new(topology, pairs);
    let mut rounds = if cells.len() == pairs.len() {
        tournament(&cores, pairs, key).unwrap_or_else(|| coloured(&cores, pairs, cells, key))
    } else {
        coloured(&cores, pairs, cells, key)
    };
    let width = width.max(1);
    rounds = rounds.into_iter().flat_map(|round| split(round, width)).collect();
    key.with(3).shuffle(&mut rounds);
    rounds
}

/// Parallel rounds for any list of pairs. It may contain duplicates, and pairs with both roles on one CPU.
pub fn together(
    topology: &Topology,
    pairs: &[[CpuId; 2]],
    cells: &[u32],
    width: usize,
    key: Key,
) -> Vec<CellRound> {
    let rounds = coloured(&Cores::new(topology, pairs), pairs, cells, key);
    rounds.into_iter().flat_map(|round| split(round, width.max(1))).collect()
}

/// Splits a round into parts of nearly equal size, none above the width.
fn split(round: CellRound, width: usize) -> Vec<CellRound> {
    let parts = round.len().div_ceil(width);
    (0..parts)
        .map(|part| round[part * round.len() / parts..(part + 1) * round.len() / parts].to_vec())
        .collect()
}

/// The cores of the CPUs in a list of pairs, numbered from 0.
struct Cores {
    core_of: Vec<usize>,
    threads: Vec<Vec<CpuId>>,
}

impl Cores {
    fn new(topology: &Topology, pairs: &[[CpuId; 2]]) -> Cores {
        let most = pairs.iter().flatten().max().map_or(0, |cpu| cpu.index() + 1);
        let mut cores = Cores { core_of: vec![0; most], threads: Vec::new() };
        let mut by_first: HashMap<CpuId, usize> = HashMap::new();
        let mut known = CpuSet::new();
        for &cpu in pairs.iter().flatten() {
            if !known.insert(cpu) {
                continue;
            }
            let first = topology.siblings(cpu).first().unwrap_or(cpu);
            let core = *by_first.entry(first).or_insert_with(|| {
                cores.threads.push(Vec::new());
                cores.threads.len() - 1
            });
            cores.threads[core].push(cpu);
            cores.core_of[cpu.index()] = core;
        }
        cores
    }
}

/// The cell of each pair of CPUs. A table serves half a million look-ups and insertions per pass.
struct Cells {
    position: Vec<usize>,
    cpus: usize,
    table: Vec<Option<NonZeroU32>>,
}

impl Cells {
    fn new(pairs: &[[CpuId; 2]]) -> Cells {
        const UNSET: usize = usize::MAX;
        let most = pairs.iter().flatten().max().map_or(0, |cpu| cpu.index() + 1);
        let (mut position, mut cpus) = (vec![UNSET; most], 0);
        for cpu in pairs.iter().flatten() {
            let position = &mut position[cpu.index()];
            if *position == UNSET {
                *position = cpus;
                cpus += 1;
            }
        }
        let mut cells = Cells { position, cpus, table: vec![None; cpus * cpus] };
        for (cell, &[a, b]) in pairs.iter().enumerate() {
            let index = cells.table_index(a, b);
            cells.table[index] = NonZeroU32::new(cell as u32 + 1);
        }
        cells
    }

    fn table_index(&self, a: CpuId, b: CpuId) -> usize {
        let (a, b) = (self.position[a.index()], self.position[b.index()]);
        a.max(b) * self.cpus + a.min(b)
    }

    fn between(&self, a: CpuId, b: CpuId) -> Option<u32> {
        self.table[self.table_index(a, b)].map(|cell| cell.get() - 1)
    }
}

/// Rounds by the circle method (Kirkman 1847) over cores, times the combinations of their threads, plus rounds for
/// pairs inside cores; `None` unless every pair is requested. N single-threaded cores need N − 1 rounds, the minimum.
fn tournament(cores: &Cores, pairs: &[[CpuId; 2]], key: Key) -> Option<Vec<CellRound>> {
    let cpus: usize = cores.threads.iter().map(Vec::len).sum();
    if pairs.len() != cpus * (cpus - 1) / 2 {
        return None;
    }
    let table = Cells::new(pairs);
    let cell = |a: CpuId, b: CpuId| table.between(a, b);
    let mut positions: Vec<Option<usize>> = (0..cores.threads.len()).map(Some).collect();
    key.with(1).shuffle(&mut positions);
    if positions.len() % 2 == 1 {
        positions.push(None);
    }
    let n = positions.len();
    let most = cores.threads.iter().map(Vec::len).max()?;
    let mut rounds = inside_cores(cores, &cell);
    for round in 0..n.saturating_sub(1) {
        let meetings: Vec<(usize, usize)> = std::iter::once((n - 1, round))
            .chain((1..n / 2).map(|k| ((round + k) % (n - 1), (round + n - 1 - k) % (n - 1))))
            .filter_map(|(a, b)| Some((positions[a]?, positions[b]?)))
            .collect();
        for combination in 0..most * most {
            let threads = |&(a, b): &(usize, usize)| {
                let (a, b) = (&cores.threads[a], &cores.threads[b]);
                cell(*a.get(combination / most)?, *b.get(combination % most)?)
            };
            let together: CellRound = meetings.iter().filter_map(threads).collect();
            if !together.is_empty() {
                rounds.push(together);
            }
        }
    }
    Some(rounds)
}

/// Rounds for the threads of one core: one for each pair of thread numbers.
fn inside_cores(cores: &Cores, cell: &impl Fn(CpuId, CpuId) -> Option<u32>) -> Vec<CellRound> {
    let most = cores.threads.iter().map(Vec::len).max().unwrap_or(0);
    let mut rounds = Vec::new();
    for high in 0..most {
        for low in 0..high {
            let together: CellRound =
                cores.threads.iter().filter_map(|core| cell(*core.get(low)?, *core.get(high)?)).collect();
            if !together.is_empty() {
                rounds.push(together);
            }
        }
    }
    rounds
}

/// Greedy edge colouring. Each cell, in random order, joins the first round in which both its cores are free. The
/// number of rounds is at most twice the number of cells of the busiest core.
fn coloured(cores: &Cores, pairs: &[[CpuId; 2]], cells: &[u32], key: Key) -> Vec<CellRound> {
    let mut order = cells.to_vec();
    key.with(2).shuffle(&mut order);
    let mut rounds: Vec<CellRound> = Vec::new();
    // Bit r of a core's words is set if the core is busy in round r.
    let mut busy: Vec<Vec<u64>> = vec![Vec::new(); cores.threads.len()];
    for cell in order {
        let [a, b] = pairs[cell as usize].map(|cpu| cores.core_of[cpu.index()]);
        let word = |core: usize, index: usize| busy[core].get(index).copied().unwrap_or(0);
        let round = (0..)
            .find_map(|index| {
                let free = !(word(a, index) | word(b, index));
                (free != 0).then(|| index * 64 + free.trailing_zeros() as usize)
            })
            .unwrap_or(0);
        for core in [a, b] {
            let words = &mut busy[core];
            if words.len() <= round / 64 {
                words.resize(round / 64 + 1, 0);
            }
            words[round / 64] |= 1 << (round % 64);
        }
        if rounds.len() <= round {
            rounds.resize(round + 1, Vec::new());
        }
        rounds[round].push(cell);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::topology::{Domain, Level};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A machine with all its pairs.
    fn machine(cores: u32, threads: u32) -> (Topology, Vec<[CpuId; 2]>) {
        let cpus = cores * threads;
        let core = |core| Domain {
            level: Level::Core,
            cpus: (0..threads).map(|thread| CpuId(core + thread * cores)).collect(),
            os_id: Some(core),
        };
        let domains = (0..cores).map(core).collect();
        let topology = Topology::new((0..cpus).map(CpuId).collect(), domains, Default::default());
        let pairs = (0..cpus).flat_map(|high| (0..high).map(move |low| [CpuId(low), CpuId(high)]));
        (topology, pairs.collect())
    }

    /// Schedules all pairs and checks the rounds.
    fn all_parallel(topology: &Topology, pairs: &[[CpuId; 2]], key: u64) -> Vec<CellRound> {
        let cells: Vec<u32> = (0..pairs.len() as u32).collect();
        let rounds = parallel(topology, pairs, &cells, usize::MAX, Key::from_words(&[key]));
        check(topology, pairs, &cells, &rounds, usize::MAX);
        rounds
    }

    fn check(topology: &Topology, pairs: &[[CpuId; 2]], cells: &[u32], rounds: &[CellRound], width: usize) {
        let mut seen: Vec<u32> = rounds.iter().flatten().copied().collect();
        seen.sort_unstable();
        let mut requested = cells.to_vec();
        requested.sort_unstable();
        assert_eq!(seen, requested, "every cell exactly once");
        for round in rounds {
            assert!(round.len() <= width && !round.is_empty());
            let mut busy = BTreeSet::new();
            for &cell in round {
                let [a, b] = pairs[cell as usize];
                let cores: BTreeSet<_> = [a, b].iter().map(|&cpu| topology.siblings(cpu).first()).collect();
                for core in cores {
                    assert!(busy.insert(core), "core {core:?} works in two pairs of one round");
                }
            }
        }
    }

    #[test]
    fn a_tournament_of_n_cores_takes_n_minus_one_rounds() {
        for cores in [2, 7, 8, 192] {
            let (topology, pairs) = machine(cores, 1);
            let rounds = all_parallel(&topology, &pairs, 5);
            assert_eq!(rounds.len() as u32, if cores % 2 == 0 { cores - 1 } else { cores });
        }
    }

    #[test]
    fn siblings_never_work_in_different_pairs_of_a_round() {
        let (topology, pairs) = machine(16, 2);
        assert_eq!(all_parallel(&topology, &pairs, 6).len(), 1 + 4 * 15);
    }

    #[test]
    fn the_grouping_changes_from_pass_to_pass() {
        let (topology, pairs) = machine(16, 1);
        let grouping = |key| -> BTreeSet<CellRound> {
            let mut rounds = all_parallel(&topology, &pairs, key);
            rounds.iter_mut().for_each(|round| round.sort_unstable());
            rounds.into_iter().collect()
        };
        assert!(grouping(1).intersection(&grouping(2)).count() <= 1);
    }

    proptest! {
        #[test]
        fn any_choice_of_cells_is_covered_within_the_width(
            cores in 2u32..20, threads in 1u32..5, width in 1usize..12, share in 0u64..100, seed: u64,
        ) {
            let (topology, pairs) = machine(cores, threads);
            let key = Key::from_words(&[seed]);
            let cells: Vec<u32> = (0..pairs.len() as u32).filter(|&cell| key.below(u64::from(cell), 100) >= share).collect();
            let rounds = parallel(&topology, &pairs, &cells, width, key);
            check(&topology, &pairs, &cells, &rounds, width);
            check(&topology, &pairs, &cells, &serial(&cells, key), 1);
            // Both directions, both roles on one CPU, and a duplicate of every pair.
            let ordered = pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a], [a, a], [a, b]]);
            let ordered: Vec<[CpuId; 2]> = ordered.collect();
            let cells: Vec<u32> =
                (0..ordered.len() as u32).filter(|&cell| key.below(u64::from(cell), 100) >= share).collect();
            check(&topology, &ordered, &cells, &together(&topology, &ordered, &cells, width, key), width);
        }
    }
}
