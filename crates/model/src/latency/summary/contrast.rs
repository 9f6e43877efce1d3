//! [`Contrast`]: latencies inside and between reported groups. [`ClassPair`]: latencies by kinds of cores.

use super::PairReading;
use crate::latency::{Kinds, LatencyMap};
use crate::stats::median_in_place;
use crate::{CpuId, CpuSet, Level, Matrix, Protocol, Relation, Topology};
use std::collections::BTreeMap;

/// Minimum ratio `across_ns` ÷ `inside_ns` of a visible level. Cells of one relation differ by smaller ratios.
pub const VISIBLE_CONTRAST: f64 = 1.15;

/// The visibility of a reported level in the values.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// The protocol. For a latency, smaller is faster; for a variation, smaller is steadier.
    pub protocol: Protocol,
    /// The level.
    pub level: Level,
    /// Groups among the CPUs of the map, ordered by lowest CPU.
    pub groups: Vec<CpuSet>,
    /// The relations of the pairs inside, and of the pairs to the nearest other group.
    pub relations: [Relation; 2],
    /// Median of the pairs that share a group but nothing smaller, in nanoseconds.
    pub inside_ns: f64,
    /// Median of the nearest pairs between groups, which share the next larger reported domain, in nanoseconds.
    pub across_ns: f64,
}

/// The reported levels above the core that divide the map, innermost first, without repetitions of the same groups.
pub fn contrasts(map: &LatencyMap, topology: &Topology) -> Vec<Contrast> {
    let medians: Vec<(Relation, f64)> = by_relation(map, topology)
        .into_iter()
        .filter(|row| !matches!(row.relation, Relation::SameCpu | Relation::Smt))
        .map(|row| (row.relation, row.median_ns))
        .collect();
    let measured: CpuSet = map.cells.cpus().iter().copied().collect();
    let mut found: Vec<Contrast> = Vec::new();
    for level in topology.levels().into_iter().filter(|&level| level != Level::Core) {
        let groups: Vec<CpuSet> = topology
            .level(level)
            .iter()
            .map(|domain| domain.cpus.intersection(&measured))
            .filter(|cpus| !cpus.is_empty())
            .collect();
        if groups.len() < 2 || found.iter().any(|smaller| smaller.groups == groups) {
            continue;
        }
        let reach = topology.nearness(Relation::from_level(level));
        let is_inside = |relation: Relation| topology.nearness(relation) <= reach;
        let inside = medians.iter().rev().find(|(relation, _)| is_inside(*relation));
        let across = medians.iter().find(|(relation, _)| !is_inside(*relation));
        // Variations below a clock step have no value, which would bias the median of their relation.
        let is_complete = |side: Option<&(Relation, f64)>| {
            side.is_some_and(|(relation, _)| {
                map.protocol.is_latency() || has_all_values(map, topology, *relation)
            })
        };
        if !is_complete(inside) || !is_complete(across) {
            continue;
        }
        if let (Some(&(near, inside_ns)), Some(&(far, across_ns))) = (inside, across) {
            let (protocol, relations) = (map.protocol, [near, far]);
            found.push(Contrast { protocol, level, groups, relations, inside_ns, across_ns });
        }
    }
    found
}

fn has_all_values(map: &LatencyMap, topology: &Topology, relation: Relation) -> bool {
    let cpus = map.cells.cpus();
    map.cells.iter().filter(|(row, column, _)| row != column).all(|(row, column, cell)| {
        topology.relation(cpus[row], cpus[column]) != relation || cell.value().is_some()
    })
}

/// The smallest reported level above the core at which every CPU of the map has its own group, if any.
pub fn all_apart(map: &LatencyMap, topology: &Topology) -> Option<Level> {
    let measured: CpuSet = map.cells.cpus().iter().copied().collect();
    let group_sizes = |level: Level| -> Vec<usize> {
        topology.level(level).iter().map(|domain| domain.cpus.intersection(&measured).len()).collect()
    };
    let is_apart = |group_sizes: Vec<usize>| {
        group_sizes.iter().sum::<usize>() == measured.len() && group_sizes.iter().all(|&cpus| cpus <= 1)
    };
    topology
        .levels()
        .into_iter()
        .filter(|&level| level != Level::Core && measured.len() > 1)
        .find(|&level| is_apart(group_sizes(level)))
}

/// The pairs of a map with the same relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfRelation {
    /// The relation.
    pub relation: Relation,
    /// Median in nanoseconds.
    pub median_ns: f64,
    /// Fastest and slowest pair in nanoseconds.
    pub range_ns: [f64; 2],
    /// Number of pairs with a value.
    pub pairs: u64,
}

/// The measured pairs by relation, nearest first.
pub fn by_relation(map: &LatencyMap, topology: &Topology) -> Vec<OfRelation> {
    of_relations(pairs(map), topology)
}

/// As `by_relation`, for the readings of any map, in their unit and including each CPU with itself.
pub fn readings_by_relation(readings: &Matrix<Option<PairReading>>, topology: &Topology) -> Vec<OfRelation> {
    let cpus = readings.cpus();
    let values = readings.iter().filter_map(|(row, column, reading)| {
        Some(([*cpus.get(row)?, *cpus.get(column)?], reading.as_ref()?.ns))
    });
    of_relations(values, topology)
}

fn of_relations(pairs: impl IntoIterator<Item = ([CpuId; 2], f64)>, topology: &Topology) -> Vec<OfRelation> {
    let mut values: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
    for ([a, b], ns) in pairs {
        values.entry(topology.relation(a, b)).or_default().push(ns);
    }
    let row = |(relation, mut values): (Relation, Vec<f64>)| {
        values.sort_unstable_by(f64::total_cmp);
        let range_ns = [*values.first()?, *values.last()?];
        let pairs = values.len() as u64;
        Some(OfRelation { relation, median_ns: median_in_place(&mut values)?, range_ns, pairs })
    };
    let mut rows: Vec<OfRelation> = values.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| topology.nearness(row.relation));
    rows
}

/// The values between two kinds of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPair {
    /// Names of the two classes, the faster first.
    pub classes: [String; 2],
    /// The relation of the pairs.
    pub relation: Relation,
    /// Median in nanoseconds.
    pub median_ns: f64,
    /// Fastest and slowest pair in nanoseconds.
    pub range_ns: [f64; 2],
    /// Number of pairs.
    pub pairs: u64,
}

/// Every combination of classes and relation: faster classes first, then nearer relations. Empty for a single class.
pub fn class_pairs(map: &LatencyMap, topology: &Topology) -> Vec<ClassPair> {
    if topology.classes().len() < 2 {
        return Vec::new();
    }
    let mut by_class: BTreeMap<(Kinds, usize, Relation), Vec<f64>> = BTreeMap::new();
    for (pair, ns) in pairs(map) {
        if let Some(kinds) = Kinds::new(topology, pair) {
            let relation = topology.relation(pair[0], pair[1]);
            by_class.entry((kinds, topology.nearness(relation), relation)).or_default().push(ns);
        }
    }
    by_class
        .into_iter()
        .filter_map(|((kinds, _, relation), mut values)| {
            values.sort_unstable_by(f64::total_cmp);
            let range_ns = [*values.first()?, *values.last()?];
            let pairs = values.len() as u64;
            let classes = kinds.names().clone();
            Some(ClassPair { classes, relation, median_ns: median_in_place(&mut values)?, range_ns, pairs })
        })
        .collect()
}

fn pairs(map: &LatencyMap) -> impl Iterator<Item = ([CpuId; 2], f64)> {
    let cpus = map.cells.cpus();
    map.cells
        .iter()
        .filter(|(row, column, _)| row != column)
        .filter_map(|(row, column, cell)| Some(([cpus[row], cpus[column]], cell.value()?.latency_ns.point)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::latency::{CellValue, PairOutcome, Regime};
    use crate::tests::{between, topology};
    use crate::topology::{CoreClass, Domain};
    use crate::{Flags, Grade, Hint, Home, KernelId, Matrix, OrNan};

    pub fn map(cpus: u32, ns: impl Fn(u32, u32) -> f64) -> LatencyMap {
        let cpus: Vec<CpuId> = (0..cpus).map(CpuId).collect();
        LatencyMap {
            protocol: Protocol::Cas,
            kernel: KernelId::new(Protocol::Cas, Hint::None),
            hint: Hint::None,
            hint_reason: "asked".into(),
            regime: Regime::Serial,
            cells: Matrix::symmetric(cpus, |row, column| {
                let ns = ns(row as u32, column as u32);
                PairOutcome::Measured(CellValue {
                    latency_ns: between(ns, ns, ns),
                    cycles: OrNan::NONE,
                    core_ghz: OrNan::NONE,
                    min_ns: ns,
                    batches: 8,
                    dropped: 0,
                    passes: 8,
                    home: Home(0),
                    home_penalty: OrNan::NONE,
                    line_spread: OrNan::NONE,
                    cas_ns: OrNan::NONE,
                    grade: Grade::A,
                    flags: Flags::NONE,
                    rare: None,
                })
            }),
        }
    }

    const TWOS: &[&str] = &["0-1", "2-3", "4-5", "6-7"];
    const FOURS: &[&str] = &["0-3", "4-7"];

    /// 20 ns inside groups of two, `fours` inside groups of four, 200 elsewhere.
    fn nested(fours: f64) -> LatencyMap {
        map(8, |a, b| match (a / 2 == b / 2, a / 4 == b / 4) {
            (true, _) => 20.0,
            (_, true) => fours,
            _ => 200.0,
        })
    }

    #[test]
    fn each_level_is_compared_with_the_nearest_pairs_outside() {
        let topology = topology("0-7", &[(Level::L3, TWOS), (Level::Node, FOURS), (Level::Package, FOURS)]);
        let found = contrasts(&nested(100.0), &topology);
        let found = found.iter().map(|it| (it.level, it.groups.len(), it.inside_ns, it.across_ns));
        let expected = [(Level::L3, 4, 20.0, 100.0), (Level::Node, 2, 100.0, 200.0)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn levels_are_compared_as_they_nest_on_the_machine() {
        for [inner, outer] in [[Level::L2, Level::Cluster], [Level::Cluster, Level::L2]] {
            let found = contrasts(&nested(40.0), &topology("0-7", &[(inner, TWOS), (outer, FOURS)]));
            let found = found.iter().map(|it| (it.level, it.inside_ns, it.across_ns));
            assert_eq!(found.collect::<Vec<_>>(), [(inner, 20.0, 40.0), (outer, 40.0, 200.0)]);
        }
    }

    #[test]
    fn cpus_of_different_groups_are_all_apart() {
        let topology = topology("0-3", &[(Level::L3, &TWOS[..2])]);
        let mut apart = map(2, |_, _| 80.0);
        apart.cells = Matrix::symmetric(vec![CpuId(0), CpuId(2)], |row, column| {
            apart.cells.get(row, column).unwrap().clone()
        });
        assert_eq!(all_apart(&apart, &topology), Some(Level::L3));
        assert_eq!(all_apart(&map(2, |_, _| 20.0), &topology), None, "both are of the first");
        assert_eq!(all_apart(&apart, &Topology::flat("0-3".parse().unwrap())), None);
    }

    #[test]
    fn a_flat_machine_has_no_contrast() {
        assert!(contrasts(&map(4, |_, _| 30.0), &Topology::flat("0-3".parse().unwrap())).is_empty());
    }

    #[test]
    fn kinds_of_cores_are_never_mixed() {
        let class =
            |cpu: u32| CoreClass { rank: u32::from(cpu < 2), name: if cpu < 2 { "P" } else { "E" }.into() };
        let classes = (0..6).map(|cpu| (CpuId(cpu), class(cpu))).collect();
        let module = |list: &str| Domain { level: Level::Cluster, cpus: list.parse().unwrap(), os_id: None };
        let modules = vec![module("2-3"), module("4-5")];
        let topology = Topology::new("0-5".parse().unwrap(), modules, classes);
        let map = map(6, |a, b| match (a < 2, b < 2, a / 2 == b / 2) {
            (true, true, _) => 36.0,
            (false, false, true) => 52.0,
            (false, false, false) => 51.0,
            _ => 44.0,
        });
        let found = class_pairs(&map, &topology).into_iter();
        let found = found.map(|pair| (pair.classes.join("-"), pair.relation, pair.median_ns, pair.pairs));
        let expected = [
            ("P-P".into(), Relation::Machine, 36.0, 1),
            ("P-E".into(), Relation::Machine, 44.0, 8),
            ("E-E".into(), Relation::Cluster, 52.0, 2),
            ("E-E".into(), Relation::Machine, 51.0, 4),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(class_pairs(&map, &Topology::flat("0-5".parse().unwrap())).is_empty());
    }
}
