//! [`TrueCosts`]: the true transfer costs of a simulated machine, at nominal clocks and without noise.

use super::rng::{hash, normal, one_by_one, unit};
use super::spec::{Spec, Variation};
use super::structure::StructureSpec;
use crate::kernel::Spin;
use coretalk_model::{CpuId, Home, Level, Relation, Topology};
use std::collections::BTreeMap;

/// Slices of the last-level cache. An aligned run of as many lines hits each slice once (docs/probes/latency.md, "Lines
/// and homes").
pub const SLICES: usize = 16;

/// Keys of the kinds of hardware values. No two kinds share a value.
mod salt {
    pub const CPU: u64 = 1;
    pub const PAIR: u64 = 2;
    pub const DEFECT: u64 = 3;
    pub const SLICE: u64 = 4;
    pub const DIRECTION: u64 = 5;
    pub const HOME: u64 = 6;
    pub const OFFSET: u64 = 7;
}

#[derive(Debug)]
pub struct TrueCosts {
    topology: Topology,
    shape: LatencySource,
    hardware: u64,
    variation: Variation,
    home_penalty: f64,
    remote_home: f64,
    knows_nodes: bool,
    offset_sd_ns: f64,
    /// Transfer in ns by state (at least one), spin and relation. NaN for relations without pairs.
    tables: Vec<[ByRelation; 2]>,
    /// Slowdown of an eager spin, if latency follows from a shape instead of the table.
    penalty: ByRelation,
    cpu_deviations: Vec<f64>,
}

/// The source of latency, unless the relation alone decides.
#[derive(Debug)]
enum LatencySource {
    ByRelation,
    Hybrid { mixed_ns: f64 },
    Mesh { width: u32, near_ns: f64, step_ns: f64 },
    Matrix { position: Vec<u32>, size: usize, ns: Vec<f64> },
}

/// Two CPUs with the properties that no state or home changes.
#[derive(Debug, Clone, Copy)]
pub struct CpuPair {
    pub cpus: [CpuId; 2],
    relation: Relation,
    /// Deviation of the pair's transfers from those of its relation.
    factor: f64,
}

impl TrueCosts {
    pub fn new(spec: &Spec, topology: Topology, reported: &Topology) -> TrueCosts {
        let hardware = u64::from(spec.hardware_seed);
        let ids = topology.cpus().last().map_or(0, |last| last.0 + 1);
        let cpu_deviations = (0..ids)
            .map(|id| spec.variation.cpu_sd * normal(hash([hardware, salt::CPU, u64::from(id)])))
            .collect();
        TrueCosts {
            shape: LatencySource::from_structure(&spec.structure, ids),
            hardware,
            variation: spec.variation.clone(),
            home_penalty: spec.homes.penalty,
            remote_home: spec.homes.remote,
            knows_nodes: !reported.level(Level::Node).is_empty(),
            offset_sd_ns: spec.counter.offset_sd_ns,
            tables: tables(spec),
            penalty: by_relation(|relation| spec.eager_penalty.get(&relation).copied().unwrap_or(1.0)),
            cpu_deviations,
            topology,
        }
    }

    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    pub fn pair(&self, a: CpuId, b: CpuId) -> CpuPair {
        CpuPair { cpus: [a, b], relation: self.topology.relation(a, b), factor: self.pair_factor(a, b) }
    }

    /// One transfer between two CPUs in a state, on the better home and the mean line.
    pub fn transfer_ns(&self, a: CpuId, b: CpuId, state: usize, spin: Spin) -> f64 {
        self.transfer_ns_of(&self.pair(a, b), state, spin)
    }

    /// The same as [`transfer_ns`](TrueCosts::transfer_ns), for a known pair.
    pub fn transfer_ns_of(&self, pair: &CpuPair, state: usize, spin: Spin) -> f64 {
        let CpuPair { cpus: [a, b], relation, factor } = *pair;
        let eager = usize::from(spin == Spin::Eager);
        let penalty = if eager == 1 { self.penalty[relation as usize] } else { 1.0 };
        let base = match &self.shape {
            LatencySource::Hybrid { mixed_ns } if relation == Relation::L3 && !self.both_fast(a, b) => {
                mixed_ns * penalty
            }
            LatencySource::Mesh { width, near_ns, step_ns } => {
                let distance = (a.0 % width).abs_diff(b.0 % width) + (a.0 / width).abs_diff(b.0 / width);
                (near_ns + step_ns * (f64::from(distance) - 1.0)) * penalty
            }
            LatencySource::Matrix { position, size, ns } => {
                ns[position[a.index()] as usize * size + position[b.index()] as usize] * penalty
            }
            LatencySource::Hybrid { .. } | LatencySource::ByRelation => {
                self.tables[state][eager][relation as usize]
            }
        };
        base * factor
    }

    pub fn home_factor(&self, a: CpuId, b: CpuId, home: Home) -> f64 {
        let (Some(left), Some(right)) = (self.topology.node_of(a), self.topology.node_of(b)) else {
            return 1.0;
        };
        if !self.knows_nodes {
            return 1.0;
        }
        if left == right {
            return if home.0 == left { 1.0 } else { self.remote_home };
        }
        if home.0 != left && home.0 != right {
            return self.remote_home * self.home_penalty;
        }
        let odd = self.pair_bits(salt::HOME, a, b) & 1 == 1;
        let better = if odd { left.max(right) } else { left.min(right) };
        if home.0 == better { 1.0 } else { self.home_penalty }
    }

    /// The home of memory first touched by this CPU.
    pub fn node_of(&self, cpu: CpuId) -> Home {
        Home(self.topology.node_of(cpu).filter(|_| self.knows_nodes).unwrap_or(0))
    }

    pub fn has_node(&self, home: Home) -> bool {
        match self.knows_nodes {
            true => self.topology.level(Level::Node).iter().any(|node| node.os_id == Some(home.0)),
            false => home.0 == 0,
        }
    }

    /// Factors of the slices for a pair and home, with mean exactly 1.
    pub fn slices(&self, a: CpuId, b: CpuId, home: Home, scale: f64) -> [f64; SLICES] {
        let key = hash([self.pair_bits(salt::SLICE, a, b), u64::from(home.0)]);
        let mut bits = [0; SLICES];
        for (slice, bits) in (0..).zip(&mut bits) {
            *bits = hash([key, slice]);
            one_by_one();
        }
        let mut factors = [0.0; SLICES];
        for (factor, bits) in factors.iter_mut().zip(bits) {
            *factor = normal(bits);
        }
        let mean = factors.iter().sum::<f64>() / SLICES as f64;
        // Centring removes one degree of freedom. This factor restores the standard deviation.
        let sd = scale * self.variation.line_sd * (SLICES as f64 / (SLICES - 1) as f64).sqrt();
        for factor in &mut factors {
            *factor = 1.0 + sd * (*factor - mean);
        }
        factors
    }

    /// Factor of one direction relative to the mean of both. It is antisymmetric, so it cancels in a round trip.
    pub fn direction(&self, from: CpuId, to: CpuId) -> f64 {
        let skew = self.variation.asymmetry_sd * normal(self.pair_bits(salt::DIRECTION, from, to));
        if from < to { 1.0 + skew } else { 1.0 - skew }
    }

    pub fn offset_ns(&self, cpu: CpuId) -> f64 {
        self.offset_sd_ns * normal(hash([self.hardware, salt::OFFSET, u64::from(cpu.0)]))
    }

    /// Whether both CPUs are of the fast class. All CPUs are if there is one class.
    pub fn both_fast(&self, a: CpuId, b: CpuId) -> bool {
        self.is_fast(a) && self.is_fast(b)
    }

    pub fn is_fast(&self, cpu: CpuId) -> bool {
        self.topology.class_of(cpu).is_none_or(|class| class.rank > 0)
    }

    fn pair_factor(&self, a: CpuId, b: CpuId) -> f64 {
        let cpus = 1.0 + self.cpu_deviations[a.index()] + self.cpu_deviations[b.index()];
        let pair = 1.0 + self.variation.pair_sd * normal(self.pair_bits(salt::PAIR, a, b));
        let defect = match self.variation.defect_share {
            share if share > 0.0 => {
                let bits = self.pair_bits(salt::DEFECT, a, b);
                if unit(bits) < share { 1.3 + 0.7 * unit(hash([bits])) } else { 1.0 }
            }
            _ => 1.0,
        };
        cpus * pair * defect
    }

    fn pair_bits(&self, salt: u64, a: CpuId, b: CpuId) -> u64 {
        hash([self.hardware, salt, u64::from(a.0.min(b.0)) << 32 | u64::from(a.0.max(b.0))])
    }
}

impl LatencySource {
    fn from_structure(structure: &StructureSpec, ids: u32) -> LatencySource {
        match structure {
            StructureSpec::Tree { .. } | StructureSpec::Groups { .. } => LatencySource::ByRelation,
            StructureSpec::Hybrid { mixed_ns, .. } => LatencySource::Hybrid { mixed_ns: *mixed_ns },
            StructureSpec::Mesh { width, height, near_ns, far_ns } => {
                let steps = f64::from((width + height).saturating_sub(3).max(1));
                LatencySource::Mesh { width: *width, near_ns: *near_ns, step_ns: (far_ns - near_ns) / steps }
            }
            StructureSpec::Matrix { cpus, half_round_trip_ns } => {
                let mut position = vec![0; ids as usize];
                for (at, &id) in cpus.iter().enumerate() {
                    position[id as usize] = at as u32;
                }
                LatencySource::Matrix { position, size: cpus.len(), ns: half_round_trip_ns.concat() }
            }
        }
    }
}

fn tables(spec: &Spec) -> Vec<[ByRelation; 2]> {
    let none = BTreeMap::new();
    let states: Vec<_> = match spec.states.is_empty() {
        true => vec![(&none, &none)],
        false => spec.states.iter().map(|state| (&state.latency_ns, &state.eager_ns)).collect(),
    };
    let table = |(latency, eager): (&BTreeMap<Relation, f64>, &BTreeMap<Relation, f64>)| {
        let hinted = |relation: Relation| {
            latency.get(&relation).or_else(|| spec.latency_ns.get(&relation)).copied().unwrap_or(f64::NAN)
        };
        let penalty = |relation: Relation| spec.eager_penalty.get(&relation).copied().unwrap_or(1.0);
        let eager = |relation: Relation| {
            eager.get(&relation).copied().unwrap_or_else(|| hinted(relation) * penalty(relation))
        };
        [by_relation(hinted), by_relation(eager)]
    };
    states.into_iter().map(table).collect()
}

/// A value for each relation, in the order of [`Relation::ALL`].
type ByRelation = [f64; Relation::ALL.len()];

fn by_relation(value: impl Fn(Relation) -> f64) -> ByRelation {
    Relation::ALL.map(value)
}
