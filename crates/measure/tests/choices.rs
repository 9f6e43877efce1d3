//! What is inferred where few CPUs of a machine may be used, as in containers: groups of one among others. Held against
//! what the simulated machines truly share.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::{Cost, Kernel, Machine, Scenario, SimMachine, Spin};
use coretalk_model::infer::{Observation, Shape, Structure, infer};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Home, KernelId, Level, Matrix};
use std::borrow::Cow;
use std::collections::BTreeSet;

static CAS: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("cas+pause")),
    roles: &[],
    cost: Cost::PingPong { transfers_per_hop: 1.0, spin: Spin::Hinted, extra_hints_per_hop: 0.0 },
    lines_per_place: 1,
    symbol: "cas+pause",
};

/// Machines with the levels that their latencies show.
const MACHINES: [(&str, &[Level]); 6] = [
    ("chiplet-16", &[Level::L3]),
    ("chiplet-16-smt", &[Level::Core, Level::L3]),
    ("epyc-2s-192", &[Level::L3, Level::Package]),
    ("huge-1024", &[Level::L3, Level::Die, Level::Package]),
    ("arm-coarse-clock", &[Level::Cluster]),
    ("hybrid", &[Level::Core]),
];

/// Deviation of a measured cell from the truth, beyond what the pairs of a machine differ by themselves.
const NOISE: f64 = 0.01;

/// Two to twelve CPUs: anywhere, or neighbours and some elsewhere, or a few at each of a few places.
fn choice(all: &[CpuId], key: Key) -> Vec<CpuId> {
    let any = |at: u64| key.with(1).below(at, all.len() as u64) as usize;
    let count = 2 + key.with(2).below(0, 11);
    let picked = |at: u64| match key.with(3).below(0, 3) {
        0 => any(at),
        1 if at * 2 < count => any(0) + at as usize,
        1 => any(at),
        _ => any(at % (1 + count / 3)) + at as usize / 3,
    };
    let chosen: BTreeSet<CpuId> = (0..count).map(|at| all[picked(at) % all.len()]).collect();
    chosen.into_iter().collect()
}

fn measured(machine: &SimMachine, cpus: &[CpuId], key: Key) -> Matrix<Option<Observation>> {
    let topology = machine.topology();
    Matrix::symmetric(cpus.to_vec(), |row, column| {
        let (a, b) = (cpus[row], cpus[column]);
        let homes = [a, b].map(|cpu| Home(topology.node_of(cpu).unwrap_or(0)));
        let truth = homes.map(|home| machine.true_ns(a, b, &CAS, home));
        let noise = NOISE * key.normal((row * cpus.len() + column) as u64);
        Some(Observation::bare(truth[0].min(truth[1]) * (1.0 + noise)))
    })
}

/// The groups of a level among the chosen CPUs, those of one left out.
fn groups_of(machine: &SimMachine, level: Level, chosen: &CpuSet) -> Vec<CpuSet> {
    let domains = machine.topology().level(level);
    let mut groups: Vec<CpuSet> = domains.iter().map(|domain| domain.cpus.intersection(chosen)).collect();
    groups.retain(|group| group.len() > 1);
    groups.sort_by_key(CpuSet::first);
    groups
}

/// Levels that can be told, and groups beside which there is one CPU, which could as well be slow.
fn expected(machine: &SimMachine, levels: &[Level], chosen: &CpuSet) -> (Vec<Vec<CpuSet>>, Vec<CpuSet>) {
    let (mut told, mut untold): (Vec<Vec<CpuSet>>, Vec<CpuSet>) = (Vec::new(), Vec::new());
    for &level in levels {
        let groups = groups_of(machine, level, chosen);
        match &groups[..] {
            [] => {}
            [all] if all == chosen => {}
            [group] if group.len() + 1 == chosen.len() => untold.push(group.clone()),
            _ if told.contains(&groups) => {}
            _ => told.push(groups),
        }
    }
    untold.dedup();
    (told, untold)
}

/// What a structure says that is not true of the machine.
fn fault(structure: &Structure, name: &str, told: &[Vec<CpuSet>], untold: &[CpuSet]) -> Option<String> {
    let wrong = structure.levels.iter().any(|level| !told.contains(&level.groups));
    // A group beside which there is one CPU may be what is left of a level in which too much is disturbed.
    let true_groups: Vec<&CpuSet> = told.iter().flatten().chain(untold).collect();
    let no_group = structure.all_but_one().any(|(hint, _)| !true_groups.contains(&&hint.cpus));
    let misread = match structure.shape {
        Shape::Grouped | Shape::TooFew => false,
        Shape::Uniform { .. } => !told.is_empty() || !untold.is_empty(),
        Shape::Continuous { .. } => true,
    };
    // Cores of two kinds lie between each other's distances, as on a mesh.
    (wrong || name != "hybrid" && (no_group || misread)).then(|| format!("{structure:?}"))
}

#[test]
fn few_cpus_of_a_machine_are_told_rightly_or_not_at_all() {
    let (mut all, mut of_levels, mut of_groups, mut faults) = (0, [0, 0], [0, 0], Vec::new());
    for (index, (name, visible)) in MACHINES.into_iter().enumerate() {
        let machine = SimMachine::open(Scenario::builtin(name).unwrap(), 1);
        let cpus: Vec<CpuId> = machine.topology().cpus().iter().collect();
        for trial in 0..200 {
            let key = Key::of(&[31, index as u64, trial]);
            let chosen = choice(&cpus, key.with(1));
            let set: CpuSet = chosen.iter().copied().collect();
            let (told, untold) = expected(&machine, visible, &set);
            let structure = match infer(&measured(&machine, &chosen, key.with(2))) {
                Ok(structure) => structure,
                Err(_) if chosen.len() < 3 => continue,
                Err(error) => panic!("{name}, CPUs {set}: {error}"),
            };
            all += 1;
            of_levels[1] += told.len();
            of_levels[0] += structure.levels.len();
            of_groups[1] += untold.len();
            of_groups[0] += untold.iter().filter(|group| is_all_but_one(&structure, group)).count();
            if let Some(fault) = fault(&structure, name, &told, &untold) {
                faults.push(format!("{name}, CPUs {set}: {told:?} beside {untold:?}, found {fault}"));
            }
        }
    }
    println!(
        "{} of {all} choices told wrongly, {of_levels:?} levels, {of_groups:?} groups beside one CPU",
        faults.len()
    );
    assert!(faults.is_empty(), "{} of {all}: {faults:#?}", faults.len());
    // What cannot be told is not told; it must not be much.
    assert!(of_levels[0] * 100 >= of_levels[1] * 95, "{of_levels:?}");
    assert!(of_groups[0] * 100 >= of_groups[1] * 95, "{of_groups:?}");
}

fn is_all_but_one(structure: &Structure, group: &CpuSet) -> bool {
    structure.all_but_one().any(|(hint, _)| hint.cpus == *group)
}
