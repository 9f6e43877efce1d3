//! Planted structures: artificial machines with known structure.
//!
//! A cell is the latency of the nearest shared level × the factors of its CPUs × noise. A bad cell is too slow, but
//! correct when measured again, like a disturbed pass. [`Machine::settled`] simulates remeasurement.

use super::published::{TrueLevel, Truth};
use coretalk_model::infer::{Observation, Structure, infer};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Matrix};
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// Relative standard deviation of the noise.
    pub noise: f64,
    /// Share of bad cells, 1.3 to 4 times too slow.
    pub bad: f64,
    /// Step of the clock, as a share of the fastest latency; 0 is none.
    pub step: f64,
}

pub struct Machine {
    true_ns: Vec<f64>,
    pub truth: Truth,
    cpus: usize,
}

/// Maximum number of times that cells that do not fit are remeasured.
const ROUNDS: u64 = 4;

impl Machine {
    fn new(cpus: usize, levels: Vec<Vec<CpuSet>>, ns: impl Fn(usize, usize) -> f64) -> Machine {
        let without_structure = levels.is_empty();
        let level = |groups| TrueLevel { groups, clear: true };
        let truth = Truth { levels: levels.into_iter().map(level).collect(), without_structure };
        let true_ns =
            (0..cpus * cpus).map(|at| ns((at / cpus).max(at % cpus), (at / cpus).min(at % cpus))).collect();
        Machine { true_ns, truth, cpus }
    }

    pub fn renumbered(self, key: Key) -> Machine {
        let mut names: Vec<u32> = (0..self.cpus as u32).collect();
        key.shuffle(&mut names);
        let rename = |set: &CpuSet| set.iter().map(|cpu| CpuId(names[cpu.index()])).collect::<CpuSet>();
        let mut true_ns = vec![0.0; self.true_ns.len()];
        for (at, &ns) in self.true_ns.iter().enumerate() {
            let (a, b) = (names[at / self.cpus] as usize, names[at % self.cpus] as usize);
            true_ns[a * self.cpus + b] = ns;
        }
        let mut truth = self.truth;
        for level in &mut truth.levels {
            level.groups = level.groups.iter().map(rename).collect();
        }
        Machine { true_ns, truth, cpus: self.cpus }
    }

    fn read(&self, high: usize, low: usize, weather: Weather, key: Key) -> f64 {
        let at = (high * self.cpus + low) as u64;
        let fastest = || self.true_ns.iter().copied().filter(|&ns| ns > 0.0).fold(f64::INFINITY, f64::min);
        let mut ns = self.true_ns[at as usize] * (weather.noise * key.with(1).normal(at)).exp();
        if key.with(2).uniform(at) < weather.bad {
            ns *= 1.3 + 2.7 * key.with(3).uniform(at);
        }
        if weather.step > 0.0 {
            let step = weather.step * fastest();
            ns = (ns / step).round().max(1.0) * step;
        }
        ns
    }

    pub fn measured(&self, weather: Weather, key: Key) -> Matrix<Option<Observation>> {
        let cpus = (0..self.cpus as u32).map(CpuId).collect();
        Matrix::symmetric(cpus, |row, column| Some(Observation::bare(self.read(row, column, weather, key))))
    }

    /// The inferred structure after remeasuring suspect cells.
    pub fn settled(&self, weather: Weather, key: Key) -> Structure {
        let mut observed = self.measured(weather, key);
        let mut structure = infer(&observed).unwrap();
        let mut done = BTreeSet::new();
        for round in 0..ROUNDS {
            let key = key.with(100 + round);
            let mut due: Vec<_> = structure.suspects.iter().map(|it| it.pair.map(CpuId::index)).collect();
            due.retain(|&pair| done.insert(pair));
            if due.is_empty() {
                break;
            }
            for [low, high] in due {
                // Measured twice, as in a session, which accepts a value if both passes agree.
                let fresh =
                    [0, 1].map(|pass| self.read(high.max(low), high.min(low), weather, key.with(pass)));
                let cell = observed.get_mut(high, low).unwrap();
                let old = cell.map_or(f64::INFINITY, |observation| observation.value);
                let new = fresh[0].min(fresh[1]);
                if new < old * 0.95 {
                    *cell = Some(Observation::bare(new));
                }
            }
            structure = infer(&observed).unwrap();
        }
        structure
    }
}

#[derive(Debug, Clone, Copy)]
struct Tier {
    /// Groups of the next finer tier (CPUs at the finest) per group of this one.
    pub parts: usize,
    /// Latency inside a group, in nanoseconds.
    pub ns: f64,
}

fn set(cpus: impl IntoIterator<Item = usize>) -> CpuSet {
    cpus.into_iter().map(|cpu| CpuId(cpu as u32)).collect()
}

/// Consecutive groups of one size.
fn blocks(cpus: Range<usize>, size: usize) -> Vec<CpuSet> {
    cpus.step_by(size).map(|first| set(first..first + size)).collect()
}

/// A regular tree; the outermost tier is the machine. CPUs are numbered in the order of the tree.
fn tree(tiers: &[Tier]) -> Machine {
    let sizes: Vec<usize> = tiers
        .iter()
        .scan(1, |size, tier| {
            *size *= tier.parts;
            Some(*size)
        })
        .collect();
    let cpus = *sizes.last().unwrap();
    let levels = sizes[..sizes.len() - 1].iter().map(|&size| blocks(0..cpus, size)).collect();
    Machine::new(cpus, levels, |a, b| {
        let tier = sizes.iter().position(|size| a / size == b / size).unwrap();
        tiers[tier].ns
    })
}

/// A random tree of up to four levels below the machine, with 1, 2, 4 or 8 threads per core and realistic gaps.
pub fn random_tree(key: Key) -> Machine {
    let pick = |at: u64, choices: &[usize]| choices[key.with(at).below(0, choices.len() as u64) as usize];
    let smt = pick(1, &[1, 1, 2, 2, 2, 4, 8]);
    let depth = pick(2, &[1, 2, 2, 3, 3]);
    let mut tiers = Vec::new();
    let mut ns = 5.0 + 15.0 * key.with(3).uniform(0);
    let mut cpus = 1;
    let mut push = |parts: usize, least: f64, most: f64, at: u64| {
        tiers.push(Tier { parts, ns });
        cpus *= parts;
        ns *= least + (most - least) * key.with(at).uniform(0);
        cpus
    };
    if smt > 1 {
        push(smt, 1.8, 5.0, 10);
    }
    let mut limit = cpus_limit(smt);
    for level in 0..depth {
        let parts = pick(20 + level as u64, if level == 0 { &[3, 4, 6, 8] } else { &[2, 2, 3, 4, 8] });
        if limit < parts * 2 {
            break;
        }
        limit /= parts;
        push(parts, 1.35, 4.0, 30 + level as u64);
    }
    let parts = pick(40, &[2, 2, 4]);
    tiers.push(Tier { parts, ns });
    tree(&tiers)
}

/// Groups of at least four cores; latencies between groups are 1.085 to 1.15 times those inside, as between dies.
pub fn small_steps(key: Key) -> Machine {
    let smt = 1 + key.below(1, 2) as usize;
    let threads = (smt > 1).then_some(Tier { parts: smt, ns: 12.0 });
    let inside = Tier { parts: 4 + key.below(2, 9) as usize, ns: 40.0 };
    let across =
        Tier { parts: 2 + key.below(3, 3) as usize, ns: 40.0 * (1.085 + 0.065 * key.with(4).uniform(0)) };
    tree(&threads.into_iter().chain([inside, across]).collect::<Vec<Tier>>())
}

fn cpus_limit(smt: usize) -> usize {
    192 / smt / 2
}

/// Fast cores with two threads each, and modules of four slow cores whose latency inside is higher than to other CPUs.
fn hybrid(fast: usize, modules: usize) -> Machine {
    let cpus = 2 * fast + 4 * modules;
    let mut machine = Machine::new(cpus, vec![blocks(0..2 * fast, 2)], |a, b| {
        let slow = |cpu: usize| cpu >= 2 * fast;
        match (slow(a), slow(b)) {
            (false, false) if a / 2 == b / 2 => 5.0,
            (false, false) => 36.0,
            (true, true) if (a - 2 * fast) / 4 == (b - 2 * fast) / 4 => 52.0,
            (true, true) => 50.0,
            _ => 44.0,
        }
    });
    machine.truth.levels.push(TrueLevel { groups: blocks(2 * fast..cpus, 4), clear: false });
    machine
}

/// Six to eight fast cores and one to four modules.
pub fn random_hybrid(key: Key) -> Machine {
    hybrid(6 + key.below(1, 3) as usize, 1 + key.below(2, 4) as usize)
}

/// Two sockets of clusters; in the second, clusters are as far apart as the sockets, because lines have a home node.
pub fn slow_socket(smt: usize) -> Machine {
    let socket = 4 * 4 * smt;
    let sizes = [smt, 4 * smt].into_iter().filter(|&size| size > 1);
    let levels = sizes.map(|size| blocks(0..2 * socket, size)).collect();
    let mut machine =
        Machine::new(2 * socket, levels, |a, b| match (a / smt == b / smt, a / 4 / smt == b / 4 / smt) {
            (true, _) if smt > 1 => 8.0,
            (_, true) => 24.0,
            _ if a < socket => 105.0,
            _ => 200.0,
        });
    machine.truth.levels.push(TrueLevel { groups: blocks(0..2 * socket, socket), clear: false });
    machine
}

/// Two sockets with some unusable CPUs: groups of different sizes.
pub fn partial(key: Key) -> Machine {
    let whole =
        tree(&[Tier { parts: 2, ns: 8.0 }, Tier { parts: 12, ns: 48.0 }, Tier { parts: 2, ns: 130.0 }]);
    // Removes whole cores, more of one socket than of the other.
    let is_kept = |core: usize| key.uniform(core as u64) >= if core < 12 { 0.1 } else { 0.5 };
    let kept: Vec<usize> = (0..48).filter(|cpu| is_kept(cpu / 2)).collect();
    let rename = |old: &CpuSet| set((0..kept.len()).filter(|&new| old.contains(CpuId(kept[new] as u32))));
    let renamed = |level: &TrueLevel| level.groups.iter().map(rename).filter(|set| set.len() > 1).collect();
    let levels = whole.truth.levels.iter().map(renamed).collect();
    Machine::new(kept.len(), levels, |a, b| whole.true_ns[kept[a] * 48 + kept[b]])
}

pub const FLAT: [&str; 8] =
    ["equal", "offsets", "slower-of-two", "two-core-types", "bad-cpu", "ring", "mesh", "unpinned"];

pub fn flat(kind: &str, cpus: usize, key: Key) -> Machine {
    let offset = |cpu: usize| key.with(1).uniform(cpu as u64);
    let ring_distance = |a: usize, b: usize| a.abs_diff(b).min(cpus - a.abs_diff(b)) as f64;
    let side = (cpus as f64).sqrt().ceil() as usize;
    let kind = kind.to_owned();
    Machine::new(cpus, Vec::new(), move |a, b| match kind.as_str() {
        "offsets" => 40.0 * (1.0 + 0.2 * offset(a)) * (1.0 + 0.2 * offset(b)),
        "slower-of-two" => 40.0 * (1.0 + 0.5 * offset(a).max(offset(b))),
        "two-core-types" => 40.0 * [1.0, 1.25, 1.5][usize::from(a >= cpus / 2) + usize::from(b >= cpus / 2)],
        "bad-cpu" => 40.0 * if a == cpus / 2 || b == cpus / 2 { 2.5 } else { 1.0 },
        "ring" => 30.0 + 4.0 * ring_distance(a, b),
        "mesh" => 30.0 + 4.0 * ((a / side).abs_diff(b / side) + (a % side).abs_diff(b % side)) as f64,
        "unpinned" => 30.0 * (0.25 * key.with(2).normal((a * cpus + b) as u64)).exp(),
        _ => 40.0,
    })
}
