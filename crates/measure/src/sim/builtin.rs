//! The built-in scenarios: the machines in the table of the command line documentation.

use super::spec::{
    CoreClock, CounterSpec, NoiseSpec, Rhythm, Spec, Stall, StallEvidence, StateSpec, Variation,
};
use super::structure::{Numbering, Reported, Siblings, StructureSpec, Tier};
use crate::pricing::{Arch, Costs};
use coretalk_model::{Level, Relation};
use std::collections::BTreeMap;

/// Names in the order of the table in the documentation.
pub const NAMES: [&str; 9] = [
    "laptop-smt",
    "chiplet-16",
    "chiplet-16-smt",
    "epyc-2s-192",
    "hybrid",
    "mesh-64",
    "noisy-vm",
    "arm-coarse-clock",
    "huge-1024",
];

pub fn spec(name: &str) -> Option<Spec> {
    use Level::{Cluster, Core, Die, L3, Node, Package};
    let spec = match name {
        "laptop-smt" => Spec {
            structure: tree(&[(Package, 1), (L3, 1), (Core, 4)], 2),
            latency_ns: table(&[(Relation::Smt, 6.0), (Relation::L3, 24.0)]),
            ..quiet(name, 1)
        },
        "chiplet-16" => Spec {
            structure: tree(&[(Package, 1), (L3, 2), (Core, 8)], 1),
            latency_ns: table(&[(Relation::L3, 18.0), (Relation::Package, 85.0)]),
            ..quiet(name, 2)
        },
        "chiplet-16-smt" => Spec {
            structure: tree(&[(Package, 1), (L3, 2), (Core, 8)], 2),
            latency_ns: table(&[(Relation::Smt, 7.5), (Relation::L3, 18.0), (Relation::Package, 85.0)]),
            ..quiet(name, 3)
        },
        "epyc-2s-192" => Spec {
            structure: tree(&[(Package, 2), (Node, 1), (L3, 12), (Core, 8)], 1),
            latency_ns: table(&[(Relation::L3, 23.0), (Relation::Node, 105.0), (Relation::Machine, 200.0)]),
            // 0.3 % with all 96 pairs at once, which is visible and inside the ±1 % of the gate.
            noise: NoiseSpec { parallel_bias: 3e-5, ..NoiseSpec::default() },
            ..quiet(name, 4)
        },
        "hybrid" => Spec {
            structure: StructureSpec::Hybrid {
                fast_cores: 6,
                modules: 2,
                cores_per_module: 4,
                mixed_ns: 44.0,
            },
            latency_ns: table(&[(Relation::Smt, 5.0), (Relation::L3, 36.0), (Relation::Cluster, 52.0)]),
            core_clock: CoreClock { ghz: 4.9, slow_class_ghz: 3.6, ..CoreClock::default() },
            ..quiet(name, 5)
        },
        "mesh-64" => Spec {
            structure: StructureSpec::Mesh { width: 8, height: 8, near_ns: 30.0, far_ns: 58.0 },
            core_clock: CoreClock { ghz: 3.0, ..CoreClock::default() },
            ..quiet(name, 6)
        },
        "noisy-vm" => noisy_vm(),
        "arm-coarse-clock" => Spec {
            arch: Arch::Arm,
            structure: tree(&[(Package, 1), (Cluster, 4), (Core, 4)], 1),
            // Kunpeng 920: 36 ns in a cluster of four, 80 ns outside.
            latency_ns: table(&[(Relation::Cluster, 36.0), (Relation::Package, 80.0)]),
            eager_penalty: BTreeMap::new(),
            counter: CounterSpec { hz: 24e6, step_ticks: 1, cost_ns: 28.0, offset_sd_ns: 0.0 },
            core_clock: CoreClock { ghz: 2.6, ..CoreClock::default() },
            ..quiet(name, 8)
        },
        "huge-1024" => Spec {
            structure: tree(&[(Package, 4), (Node, 1), (Die, 8), (L3, 4), (Core, 8)], 1),
            latency_ns: table(&[
                (Relation::L3, 20.0),
                (Relation::Die, 60.0),
                (Relation::Node, 120.0),
                (Relation::Machine, 300.0),
            ]),
            noise: NoiseSpec { parallel_bias: 1e-5, ..NoiseSpec::default() },
            ..quiet(name, 9)
        },
        _ => return None,
    };
    Some(spec)
}

/// An idle desktop: small noise, timer ticks, a single state.
fn quiet(name: &str, hardware_seed: u32) -> Spec {
    Spec {
        name: name.to_owned(),
        hardware_seed,
        eager_penalty: eager(1.27),
        stalls: vec![tick(), management()],
        ..Spec::default()
    }
}

/// The measured guest: four vCPUs that report a shared cache and are moved by the host.
fn noisy_vm() -> Spec {
    let near = [(Relation::L3, 22.6), (Relation::Package, 22.6)];
    let state = |name: &str, weight, dwell_ms, latency_ns: &[(Relation, f64)]| StateSpec {
        name: name.to_owned(),
        weight,
        dwell_ms,
        line_scale: 1.0,
        latency_ns: table(latency_ns),
        eager_ns: BTreeMap::new(),
        one_core: false,
    };
    Spec {
        name: "noisy-vm".to_owned(),
        hardware_seed: 7,
        hypervisor: Some("kvm".to_owned()),
        reported: Reported::OneL3,
        structure: StructureSpec::Tree {
            levels: tiers(&[(Level::Package, 1), (Level::L3, 2), (Level::Core, 2)]),
            threads_per_core: 1,
            siblings: Siblings::Apart,
            // Neighbouring numbers are on different dies, so that CPUs 0 and 1 alone show both states.
            numbering: Numbering::RoundRobin,
        },
        latency_ns: table(&near),
        // CAS without and with one pause: 25.1 and 22.8 ns near, 124 and 116 ns far.
        eager_penalty: table(&[(Relation::L3, 1.10), (Relation::Package, 1.07)]),
        variation: Variation { cpu_sd: 0.005, ..Variation::default() },
        core_clock: CoreClock { drift_sd: 0.02, step_share: 0.02, ..CoreClock::default() },
        costs: Costs { hint_ns: 23.9, ..Costs::default() },
        noise: NoiseSpec {
            batch_sd: 0.05,
            spike_share: 0.02,
            ar_rho: 0.9,
            ar_sd: 0.02,
            drift_sd: 0.01,
            bad_share: 0.01,
            sibling_share: 0.01,
            ..NoiseSpec::default()
        },
        stalls: vec![
            tick(),
            management(),
            stall("preemption", 5.0, [5.0, 4000.0], StallEvidence::Switch),
            stall("steal", 0.5, [1000.0, 10_000.0], StallEvidence::Steal),
            // Measured: stalls of 4 to 20 ms while the steal counter read 0.
            stall("unseen steal", 0.2, [4000.0, 20_000.0], StallEvidence::Nothing),
        ],
        states: vec![
            state("near", 4.0, 4000.0, &near),
            state("far", 2.0, 2000.0, &[(Relation::L3, 22.6), (Relation::Package, 116.0)]),
            StateSpec {
                // Both vCPUs are on one core. Only the eager kernel shows it, and lines hardly differ.
                line_scale: 0.2,
                one_core: true,
                eager_ns: table(&[(Relation::L3, 15.0), (Relation::Package, 15.0)]),
                ..state("sibling", 3.0, 120.0, &near)
            },
        ],
        ..Spec::default()
    }
}

fn eager(near: f64) -> BTreeMap<Relation, f64> {
    // Measured on Zen 5: 29 against 23 ns inside one last-level cache, and little difference across dies.
    let mut all: BTreeMap<Relation, f64> =
        [Relation::Smt, Relation::Cluster, Relation::L3].map(|relation| (relation, near)).into();
    all.extend([Relation::Die, Relation::Node, Relation::Package, Relation::Machine].map(|r| (r, 1.05)));
    all
}

fn tick() -> Stall {
    Stall { rhythm: Rhythm::Periodic, ..stall("tick", 250.0, [1.0, 3.0], StallEvidence::Nothing) }
}

fn management() -> Stall {
    stall("management interrupt", 0.05, [50.0, 500.0], StallEvidence::Nothing)
}

fn stall(name: &str, per_second: f64, us: [f64; 2], seen_as: StallEvidence) -> Stall {
    Stall {
        name: name.to_owned(),
        per_second,
        us,
        rhythm: Rhythm::Random,
        seen_as,
        from_ms: None,
        cpus: None,
    }
}

fn table(values: &[(Relation, f64)]) -> BTreeMap<Relation, f64> {
    values.iter().copied().collect()
}

fn tiers(levels: &[(Level, u32)]) -> Vec<Tier> {
    levels.iter().map(|&(level, count)| Tier { level, count }).collect()
}

fn tree(levels: &[(Level, u32)], threads_per_core: u32) -> StructureSpec {
    StructureSpec::Tree {
        levels: tiers(levels),
        threads_per_core,
        siblings: Siblings::Apart,
        numbering: Numbering::Blocks,
    }
}
