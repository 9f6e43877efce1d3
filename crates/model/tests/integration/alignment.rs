//! Which levels and pairs of two artificial machines are compared, and which share a column of a table.

use super::compare::{alignment, dataset, side};
use coretalk_model::compare::{
    Alignment, Fact, LeastEffect, Letter, Levels, Likeness, Obstacle, Pairing, Possible, ReadingKey, Side,
    Verdict, compare, of_import, overview,
};
use coretalk_model::formats::read_matrices;
use coretalk_model::stats::Key;
use coretalk_model::{CpuSet, Domain, Level, Topology};
use std::collections::BTreeMap;

/// A file of bare numbers: `ns` is the latency between CPUs, and `name` renumbers them.
pub fn file(cpus: u32, seed: u64, name: impl Fn(u32) -> u32, ns: impl Fn(u32, u32) -> f64) -> Side {
    let row = |row: u32| -> String {
        let cell = |column: u32| {
            let (a, b) = (name(row), name(column));
            let noise =
                1.0 + 0.01 * Key::from_words(&[seed, u64::from(a.min(b))]).normal(u64::from(a.max(b)));
            if column < row { format!("{:.3}", ns(a, b) * noise) } else { String::new() }
        };
        (0..cpus).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    of_import(&read_matrices((0..cpus).map(row).collect::<String>().as_bytes()).unwrap())
}

/// Four groups of three CPUs without SMT, like a Ryzen 9 3900X.
fn threes(a: u32, b: u32) -> f64 {
    if a / 3 == b / 3 { 40.0 } else { 84.0 }
}

/// Two groups of cores with two threads, like a Ryzen 9 5900X for groups of 12.
fn threads_in(group: u32) -> impl Fn(u32, u32) -> f64 {
    move |a, b| match (a / 2 == b / 2, a / group == b / group) {
        (true, _) => 7.5,
        (false, true) => 18.0,
        (false, false) => 84.0,
    }
}

pub fn held(a: &Side, b: &Side) -> (Alignment, Vec<(String, Verdict)>, usize) {
    let alignment = Alignment::between(a, b);
    let comparison = compare(a, b, &alignment, LeastEffect::DEFAULT);
    let dataset = &comparison.datasets[0];
    let levels = dataset.levels.iter().map(|level| (level.level.clone(), level.difference.verdict)).collect();
    (alignment, levels, dataset.cells.len())
}

fn named(levels: &[(&str, Verdict)]) -> Vec<(String, Verdict)> {
    levels.iter().map(|(level, verdict)| ((*level).to_owned(), *verdict)).collect()
}

#[test]
fn machines_with_different_groups_are_not_compared() {
    let (a, b) = (file(12, 1, |cpu| cpu, threes), file(24, 2, |cpu| cpu, threads_in(12)));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let (alignment, levels, cells) = held(a, b);
        assert_eq!(*alignment.pairing(), Pairing::Nothing(Obstacle::Groups));
        assert_eq!((levels, cells), (Vec::new(), 0));
        // Each side's levels are reported alone, with their own numbers.
        let comparison = compare(a, b, &alignment, LeastEffect::DEFAULT);
        let alone: Vec<(Letter, &str, usize)> =
            comparison.datasets[0].alone.iter().map(|one| (one.of, one.level.as_str(), one.pairs)).collect();
        assert_eq!((alone.len(), alone[0].0, alone[4].0), (5, Letter::A, Letter::B), "{alone:?}");
    }
    // Groups of four nest in groups of eight, but most pairs of equal numbers differ in relation.
    let grouped = |group: u32| move |a: u32, b: u32| if a / group == b / group { 20.0 } else { 100.0 };
    let (fours, eights) = (file(32, 1, |cpu| cpu, grouped(4)), file(32, 2, |cpu| cpu, grouped(8)));
    assert_eq!(*held(&fours, &eights).0.pairing(), Pairing::Nothing(Obstacle::Groups));
    let flat = file(32, 3, |cpu| cpu, |_, _| 100.0);
    assert_eq!(*held(&fours, &flat).0.pairing(), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn a_renumbered_machine_is_compared_by_level_and_not_by_pair() {
    let a = file(24, 1, |cpu| cpu, threads_in(12));
    // Siblings are twelve apart instead of adjacent.
    let renumber = |cpu: u32| 2 * (cpu % 12) + cpu / 12;
    let same = named(&[("group-1", Verdict::Same), ("group-2", Verdict::Same), ("across", Verdict::Same)]);
    let (alignment, levels, cells) = held(&a, &file(24, 1, renumber, threads_in(12)));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Renumbered));
    assert_eq!((levels, cells), (same, 0));
    // A change between the groups is still found.
    let slower = |a: u32, b: u32| threads_in(12)(a, b) * if a / 12 == b / 12 { 1.0 } else { 1.3 };
    let (_, levels, _) = held(&a, &file(24, 2, renumber, slower));
    assert_eq!(levels[2], ("across".to_owned(), Verdict::Slower));
    assert!(levels[..2].iter().all(|(_, verdict)| !verdict.is_different()), "{levels:?}");
}

#[test]
fn more_cores_in_as_many_groups_are_compared_level_by_level() {
    let (twelve, sixteen) = (file(24, 1, |cpu| cpu, threads_in(12)), file(32, 2, |cpu| cpu, threads_in(16)));
    let (alignment, levels, cells) = held(&twelve, &sixteen);
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Kind));
    assert_eq!((levels.len(), cells), (3, 0));
    assert!(levels.iter().all(|(_, verdict)| !verdict.is_different()), "{levels:?}");
}

#[test]
fn hybrid_machines_are_compared_only_with_their_like() {
    // SMT pairs, followed by CPUs without SMT.
    let hybrid = |fast: u32| {
        move |a: u32, b: u32| match (a / 2 == b / 2 && a.max(b) < fast, a.max(b) < fast) {
            (true, _) => 4.5,
            (false, true) => 34.0,
            (false, false) => 37.0,
        }
    };
    let hybrid_file = |cpus: u32, seed: u64| file(cpus, seed, |cpu| cpu, hybrid(2 * cpus / 3));
    let (a, repeated, larger) = (hybrid_file(24, 1), hybrid_file(24, 2), hybrid_file(30, 3));
    assert_eq!(*held(&a, &repeated).0.pairing(), Pairing::Pairs);
    // Eight pairs of a file resolve a level to 3 % at best; nothing is different.
    let levels = held(&a, &repeated).1;
    assert!(levels.iter().all(|(_, verdict)| !verdict.is_different()), "{levels:?}");
    assert_eq!(levels[1], ("across".to_owned(), Verdict::Same));
    let front = file(24, 4, |cpu| 23 - cpu, hybrid(16));
    assert_eq!(*held(&a, &front).0.pairing(), Pairing::Levels(Likeness::Renumbered));
    assert_eq!(*held(&a, &larger).0.pairing(), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn without_groups_only_flat_machines_are_compared() {
    let flat = |cpus: u32, seed: u64, ns: f64| file(cpus, seed, |cpu| cpu, move |_, _| ns);
    let (alignment, levels, cells) = held(&flat(8, 1, 50.0), &flat(12, 2, 60.0));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Flat));
    assert_eq!((levels, cells), (named(&[("all", Verdict::Slower)]), 0));
    // A row of CPUs with equal steps has no groups, but is not uniform either.
    let row = |seed: u64| file(12, seed, |cpu| cpu, |a, b| 30.0 + 4.0 * f64::from(a.abs_diff(b)));
    assert_eq!(*held(&row(1), &flat(12, 2, 50.0)).0.pairing(), Pairing::Nothing(Obstacle::Patterns));
    let (alignment, levels, cells) = held(&row(1), &row(2));
    assert_eq!(*alignment.pairing(), Pairing::Pairs);
    assert_eq!((levels, cells), (named(&[("all", Verdict::Same)]), 66));
    // A single pair has no groups to match.
    let two = |labels: [u32; 2], ns: f64| {
        let text = format!("CPU {} {}\n{} 0 {ns}\n{} {ns} 0\n", labels[0], labels[1], labels[0], labels[1]);
        of_import(&read_matrices(text.as_bytes()).unwrap())
    };
    let (alignment, levels, _) = held(&two([10, 11], 20.0), &two([10, 11], 20.0));
    assert_eq!((alignment.pairing(), levels), (&Pairing::Pairs, named(&[("all", Verdict::Same)])));
    let (alignment, levels, _) = held(&two([10, 11], 20.0), &two([10, 11], 25.0));
    assert_eq!((alignment.pairing(), levels), (&Pairing::Pairs, named(&[("all", Verdict::CannotTell)])));
    let other = held(&two([10, 11], 20.0), &two([0, 1], 20.0)).0;
    assert!(matches!(other.pairing(), Pairing::Nothing(Obstacle::Unseen([Some(_), Some(_)]))), "{other:?}");
}

#[test]
fn identical_values_are_the_same_without_intervals() {
    let few = file(4, 1, |cpu| cpu, |_, _| 30.0);
    let one = |a: &Side, b: &Side, least: f64| {
        let comparison = compare(a, b, &Alignment::between(a, b), LeastEffect(least));
        comparison.datasets[0].levels[0].difference.clone()
    };
    // Six pairs of the same file, at a margin below the resolution of files.
    let found = one(&few, &few, 0.001);
    assert_eq!((found.verdict, found.possible.slower || found.possible.faster), (Verdict::Same, false));
    assert_eq!(found.reason, Some("identical numbers"));
    // A run compared with itself, in which every cell changed state.
    let mut moved = side(dataset(2, |_, _| 1.0));
    for reading in moved.datasets[0].readings.values_mut() {
        reading.steady = false;
    }
    let comparison = compare(&moved, &moved, &Alignment::between(&moved, &moved), LeastEffect::DEFAULT);
    let cells = &comparison.datasets[0].cells;
    assert!(cells.iter().all(|cell| cell.difference.verdict == Verdict::Same));
}

#[test]
fn a_shift_that_excludes_faster_leaves_only_slower_possible() {
    let (a, b) = (side(dataset(1, |_, _| 1.0)), side(dataset(2, |_, _| 1.015)));
    let wide = |side: &Side| {
        let mut side = side.clone();
        side.datasets[0].readings.retain(|_, reading| reading.value.point < 50.0);
        for (reading, position) in side.datasets[0].readings.values_mut().zip(0_u64..) {
            reading.value.deviation = Some(0.01);
            reading.value.point *= 1.0 + 0.02 * Key::from_words(&[position]).normal(1);
        }
        side
    };
    let (a, b) = (wide(&a), wide(&b));
    let comparison = compare(&a, &b, &alignment(), LeastEffect(0.02));
    let level = &comparison.datasets[0].levels[0].difference;
    assert_eq!(level.verdict, Verdict::CannotTell, "{level:?}");
    assert_eq!(level.possible, Possible { faster: false, slower: true });
}

#[test]
fn systems_with_different_groups_are_compared_by_relation() {
    let domain = |level: Level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
    let crossed = Topology::new(
        "0-15".parse().unwrap(),
        vec![domain(Level::L3, "0,2,4,6,8,10,12,14"), domain(Level::L3, "1,3,5,7,9,11,13,15")],
        BTreeMap::new(),
    );
    let mut other = dataset(2, |_, _| 1.0);
    let values = |a: u32, b: u32| if a % 2 == b % 2 { 24.0 } else { 80.0 };
    for (key, reading) in &mut other.readings {
        let ReadingKey::Pair([a, b]) = key else { unreachable!() };
        reading.value.point = values(a.0, b.0);
    }
    let (a, b) = (side(dataset(1, |_, _| 1.0)), Side { topology: Some(crossed), ..side(other) });
    let (alignment, levels, cells) = held(&a, &b);
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Reported));
    assert_eq!(levels, named(&[("l3", Verdict::Slower), ("machine", Verdict::Same)]));
    assert_eq!(cells, 0);
}

#[test]
fn groups_of_the_same_shape_are_compared_only_with_evidence() {
    let twos = |near: f64, far: f64| move |a: u32, b: u32| if a / 2 == b / 2 { near } else { far };
    let (threads, clusters) =
        (file(16, 1, |cpu| cpu, twos(7.7, 19.0)), file(16, 2, |cpu| cpu, twos(60.0, 260.0)));
    let doubtful = |a: &Side, b: &Side| {
        let (alignment, levels, cells) = held(a, b);
        assert_eq!((levels, cells), (Vec::new(), 0));
        match alignment.pairing() {
            Pairing::Nothing(Obstacle::Meanings(doubt)) => (doubt.level.clone(), doubt.factor().round()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(doubtful(&threads, &clusters), ("across".to_owned(), 14.0));
    assert_eq!(doubtful(&clusters, &threads), ("across".to_owned(), 14.0));
    // The same applies after renumbering, and without groups.
    assert_eq!(doubtful(&threads, &file(16, 3, |cpu| cpu % 8 * 2 + cpu / 8, twos(60.0, 260.0))).1, 14.0);
    assert_eq!(doubtful(&file(8, 1, |cpu| cpu, |_, _| 20.0), &file(8, 2, |cpu| cpu, |_, _| 90.0)).1, 5.0);
    // With the same CPU model, a machine with 1.5 times the latency is compared.
    let of_model = |factor: f64, seed: u64| {
        let mut side = file(16, seed, |cpu| cpu, twos(7.7 * factor, 19.0 * factor));
        side.facts.insert(Fact::CpuModel, "of one model".into());
        side
    };
    let (alignment, levels, _) = held(&of_model(1.0, 1), &of_model(1.5, 2));
    assert_eq!((alignment.pairing(), levels[1].1), (&Pairing::Pairs, Verdict::Slower));
    // So are sides with a high correlation pair by pair.
    let on_a_mesh = |factor: f64, seed: u64| {
        file(
            16,
            seed,
            |cpu| cpu,
            move |a, b| {
                let steps = f64::from((a / 2).abs_diff(b / 2));
                factor * if a / 2 == b / 2 { 7.7 } else { 40.0 + steps }
            },
        )
    };
    let (alignment, levels, _) = held(&on_a_mesh(1.0, 1), &on_a_mesh(1.5, 2));
    assert_eq!((alignment.pairing(), levels[1].1), (&Pairing::Pairs, Verdict::Slower));
}

#[test]
fn a_level_with_doubtful_times_blocks_no_other_level() {
    let far = |ns: f64, seed: u64| {
        file(24, seed, |cpu| cpu, move |a, b| if a / 12 == b / 12 { threads_in(12)(a, b) } else { ns })
    };
    let (a, b) = (far(84.0, 1), far(126.0, 2));
    let (alignment, levels, cells) = held(&a, &b);
    assert_eq!(*alignment.pairing(), Pairing::Pairs);
    assert_eq!(alignment.doubts().iter().map(|doubt| doubt.level.as_str()).collect::<Vec<_>>(), ["across"]);
    assert_eq!(levels.iter().map(|(level, _)| level.as_str()).collect::<Vec<_>>(), ["group-1", "group-2"]);
    assert!(levels.iter().all(|(_, verdict)| !verdict.is_different()), "{levels:?}");
    assert_eq!(cells, 12 + 2 * 60);
    let alone = &compare(&a, &b, &alignment, LeastEffect::DEFAULT).datasets[0].alone;
    assert_eq!(
        alone.iter().map(|one| (one.of, one.pairs)).collect::<Vec<_>>(),
        [(Letter::A, 144), (Letter::B, 144)]
    );
    // Renumbering does not change the compared levels.
    let renumber = |cpu: u32| 2 * (cpu % 12) + cpu / 12;
    let renumbered = |a: u32, b: u32| if a / 12 == b / 12 { threads_in(12)(a, b) } else { 126.0 };
    let (alignment, levels, _) = held(&a, &file(24, 3, renumber, renumbered));
    assert_eq!((alignment.pairing(), levels.len()), (&Pairing::Levels(Likeness::Renumbered), 2));
    // A forced comparison includes all levels.
    let forced = Alignment::forced(&a, &b);
    let levels = &compare(&a, &b, &forced, LeastEffect::DEFAULT).datasets[0].levels;
    assert_eq!((forced.is_forced(), levels.len()), (true, 3));
    assert_eq!(levels[2].difference.verdict, Verdict::Slower);
}

#[test]
fn disturbed_cells_of_a_level_keep_the_numbering() {
    let with_disturbed = |disturbed: &'static [u32], seed: u64| {
        file(
            16,
            seed,
            |cpu| cpu,
            move |a, b| match (a / 2 == b / 2, disturbed.contains(&(a / 2))) {
                (true, false) => 7.5,
                (true, true) => 26.0,
                (false, _) => 20.0,
            },
        )
    };
    let (a, b) = (with_disturbed(&[0], 1), with_disturbed(&[5], 2));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let alignment = Alignment::between(a, b);
        assert_eq!(*alignment.pairing(), Pairing::Pairs);
        let comparison = compare(a, b, &alignment, LeastEffect::DEFAULT);
        let dataset = &comparison.datasets[0];
        assert_eq!(dataset.levels.iter().map(|level| level.pairs[0]).collect::<Vec<_>>(), [8, 112]);
        let departing = dataset.cells.iter().filter(|cell| cell.departs && cell.level == 0);
        let cores: Vec<u32> = departing.map(|cell| cell.key.cpus().next().unwrap().0 / 2).collect();
        assert_eq!(cores, [0, 5]);
    }
}

#[test]
fn relations_match_if_both_sides_report_the_levels_below() {
    // A reports shared caches; B does not, so its package level mixes pairs inside and across them.
    let domain = |level: Level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
    let with_domains =
        |domains: Vec<Domain>| Some(Topology::new("0-15".parse().unwrap(), domains, BTreeMap::new()));
    let caches = [domain(Level::L3, "0-7"), domain(Level::L3, "8-15"), domain(Level::Package, "0-15")];
    let a = Side { topology: with_domains(caches.to_vec()), ..side(dataset(1, |_, _| 1.0)) };
    let b =
        Side { topology: with_domains(vec![domain(Level::Package, "0-15")]), ..side(dataset(2, |_, _| 1.0)) };
    let (alignment, levels, _) = held(&a, &b);
    assert_eq!((alignment.pairing(), levels), (&Pairing::Levels(Likeness::Reported), Vec::new()));
}

#[test]
fn numbers_on_coarse_steps_are_not_shown_to_be_the_same() {
    // A clock of 25 MHz, read over ten round trips: 4 ns.
    let steps = |seed: u64, ns: f64| {
        file(12, seed, |cpu| cpu, move |a, b| 4.0 * ((ns + f64::from((a + b) % 3)) / 4.0).round())
    };
    let rounded = |mut side: Side| {
        for reading in side.datasets[0].readings.values_mut() {
            reading.value.point = 4.0 * (reading.value.point / 4.0).round();
        }
        side.datasets[0].resolution = 6.0;
        side
    };
    let (a, b) = (rounded(steps(1, 20.0)), rounded(steps(2, 22.0)));
    let comparison = compare(&a, &b, &Alignment::by_number(Levels::one()), LeastEffect::DEFAULT);
    let level = &comparison.datasets[0].levels[0].difference;
    assert_eq!((level.verdict, level.reason.is_some()), (Verdict::CannotTell, true), "{level:?}");
    let itself = compare(&a, &a, &Alignment::between(&a, &a), LeastEffect::DEFAULT);
    assert_eq!(itself.datasets[0].levels[0].difference.verdict, Verdict::Same);
}

/// The columns of a table of sides: positions of sides, and their median latencies.
pub fn columns_of(sides: &[Side]) -> BTreeMap<String, Vec<(usize, f64)>> {
    let with_levels: Vec<(&Side, Levels)> =
        sides.iter().map(|side| (side, Levels::from_side(side))).collect();
    let table = overview(&with_levels);
    let mut columns: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for row in &table.rows {
        for (name, group) in table.groups.iter().zip(&row.medians) {
            if let Some(group) = group {
                columns.entry(name.to_string()).or_default().push((row.side, group.median));
            }
        }
    }
    columns
}

#[test]
fn columns_of_a_table_have_one_meaning() {
    let sides = [
        file(12, 1, |cpu| cpu, threes),
        file(24, 2, |cpu| cpu, threads_in(12)),
        file(16, 3, |cpu| cpu, |a, b| if a / 2 == b / 2 { 7.5 } else { 19.0 }),
        file(8, 4, |cpu| cpu, |_, _| 50.0),
    ];
    let tables: Vec<(&Side, Levels)> = sides.iter().map(|side| (side, Levels::from_side(side))).collect();
    let table = overview(&tables);
    // No two of these are known to be the same level.
    let columns = "all groups-of-2-kind-2 groups-of-2-kind-3 larger-groups-1-kind-1 larger-groups-1-kind-2";
    let columns = format!("{columns} across-kind-1 across-kind-2 across-kind-3");
    let names: Vec<String> = table.groups.iter().map(ToString::to_string).collect();
    assert_eq!(names.join(" "), columns);
    let shown: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            row.medians.iter().map(|group| group.as_ref().map_or("–".into(), |group| group.level.clone()))
        })
        .map(Iterator::collect)
        .collect();
    assert_eq!(shown[0], ["–", "–", "–", "group-1", "–", "across", "–", "–"]);
    assert_eq!(shown[1], ["–", "group-1", "–", "–", "group-2", "–", "across", "–"]);
    assert_eq!(shown[2], ["–", "–", "group-1", "–", "–", "–", "–", "across"]);
    assert_eq!(shown[3], ["all", "–", "–", "–", "–", "–", "–", "–"]);
    assert_eq!(table.rows[0].medians[3].as_ref().unwrap().sizes, [3; 4]);
}

#[test]
fn machines_of_one_kind_share_columns_where_their_times_are_plausible() {
    // Clusters of two cores have the shape of SMT siblings, but eight times their latency.
    let clusters = |a: u32, b: u32| 8.0 * threads_in(12)(a, b);
    let sides = [
        file(24, 1, |cpu| cpu, threads_in(12)),
        file(32, 2, |cpu| cpu, threads_in(16)),
        file(24, 3, |cpu| cpu, clusters),
    ];
    let columns = columns_of(&sides);
    let sides_in = |name: &str| -> Vec<usize> { columns[name].iter().map(|(side, _)| *side).collect() };
    for level in ["groups-of-2", "larger-groups-1", "across"] {
        assert_eq!(sides_in(&format!("{level}-kind-1")), [0, 1], "{columns:?}");
        assert_eq!(sides_in(&format!("{level}-kind-2")), [2], "{columns:?}");
    }
    // With only one kind, no distinction is needed.
    let names: Vec<String> = columns_of(&sides[..2]).into_keys().collect();
    assert_eq!(names, ["across", "groups-of-2", "larger-groups-1"]);
}

#[test]
fn relations_share_a_column_where_both_reports_mean_the_same() {
    let domain = |level: Level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
    let all: CpuSet = "0-15".parse().unwrap();
    let package = |list: &str| domain(Level::Package, list);
    let caches = vec![domain(Level::L3, "0-7"), domain(Level::L3, "8-15")];
    let packages = vec![package("0-7"), package("8-15")];
    let with_domains = |domains: Vec<Domain>| Side {
        topology: Some(Topology::new(all.clone(), domains, BTreeMap::new())),
        ..side(dataset(1, |_, _| 1.0))
    };
    // The first and the last side report their L3, so their pairs at machine level differ from those of the other side.
    let columns = columns_of(&[with_domains(caches.clone()), with_domains(packages), with_domains(caches)]);
    let sides_in =
        |name: &str| columns.get(name).map(|rows| rows.iter().map(|(side, _)| *side).collect::<Vec<_>>());
    assert_eq!(sides_in("l3"), Some(vec![0, 2]), "{columns:?}");
    assert_eq!(sides_in("machine-kind-1"), Some(vec![0, 2]), "{columns:?}");
    assert_eq!(sides_in("machine-kind-2"), Some(vec![1]), "{columns:?}");
}
