//! Which levels and pairs of two artificial machines are compared, and which share a column of a table.

use super::compare::{alignment, changed, dataset, scaled, side};
use super::topology;
use coretalk_model::Level;
use coretalk_model::compare::{
    Alignment, DatasetComparison, Fact, LeastEffect, Letter, Levels, Likeness, Obstacle, Pairing, Possible,
    ReadingKey, Side, Verdict, compare, of_import, overview,
};
use coretalk_model::formats::read_matrices;
use coretalk_model::stats::Key;
use std::collections::BTreeMap;

/// A file of bare numbers: `ns` is the latency between CPUs.
pub fn file(cpus: u32, seed: u64, ns: impl Fn(u32, u32) -> f64) -> Side {
    renumbered(cpus, seed, |cpu| cpu, ns)
}

fn renumbered(cpus: u32, seed: u64, name: impl Fn(u32) -> u32, ns: impl Fn(u32, u32) -> f64) -> Side {
    let row = |row: u32| -> String {
        let cell = |column: u32| {
            let (a, b) = (name(row), name(column));
            let noise = Key::from_words(&[seed, u64::from(a.min(b))]).normal(u64::from(a.max(b)));
            if column < row { format!("{:.3}", ns(a, b) * (1.0 + 0.01 * noise)) } else { String::new() }
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

/// Siblings are half of the CPUs apart instead of adjacent.
fn siblings_apart(cpus: u32) -> impl Fn(u32) -> u32 {
    move |cpu| 2 * (cpu % (cpus / 2)) + cpu / (cpus / 2)
}

pub fn compared(a: &Side, b: &Side, alignment: &Alignment) -> DatasetComparison {
    compare(a, b, alignment, LeastEffect::DEFAULT).datasets.remove(0)
}

pub fn pairing(a: &Side, b: &Side) -> Pairing {
    Alignment::between(a, b).pairing().clone()
}

pub fn none_differs(levels: &[(String, Verdict)]) -> bool {
    levels.iter().all(|(_, verdict)| !verdict.is_different())
}

pub fn held(a: &Side, b: &Side) -> (Alignment, Vec<(String, Verdict)>, usize) {
    let alignment = Alignment::between(a, b);
    let dataset = compared(a, b, &alignment);
    let levels = dataset.levels.into_iter().map(|level| (level.level, level.difference.verdict)).collect();
    (alignment, levels, dataset.cells.len())
}

fn named(levels: &[(&str, Verdict)]) -> Vec<(String, Verdict)> {
    levels.iter().map(|(level, verdict)| ((*level).to_owned(), *verdict)).collect()
}

#[test]
fn machines_with_different_groups_are_not_compared() {
    let (a, b) = (file(12, 1, threes), file(24, 2, threads_in(12)));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let (alignment, levels, cells) = held(a, b);
        assert_eq!(*alignment.pairing(), Pairing::Nothing(Obstacle::Groups));
        assert_eq!((levels, cells), (Vec::new(), 0));
        // Each side's levels are reported alone, with their own numbers.
        let alone = compared(a, b, &alignment).alone;
        assert_eq!((alone.len(), alone[0].of, alone[4].of), (5, Letter::A, Letter::B), "{alone:?}");
    }
    // Groups of four nest in groups of eight, but most pairs of equal numbers differ in relation.
    let grouped = |group: u32| move |a: u32, b: u32| if a / group == b / group { 20.0 } else { 100.0 };
    let (fours, eights) = (file(32, 1, grouped(4)), file(32, 2, grouped(8)));
    assert_eq!(pairing(&fours, &eights), Pairing::Nothing(Obstacle::Groups));
    let flat = file(32, 3, |_, _| 100.0);
    assert_eq!(pairing(&fours, &flat), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn a_renumbered_machine_is_compared_by_level_and_not_by_pair() {
    let a = file(24, 1, threads_in(12));
    let same = named(&[("group-1", Verdict::Same), ("group-2", Verdict::Same), ("across", Verdict::Same)]);
    let (alignment, levels, cells) = held(&a, &renumbered(24, 1, siblings_apart(24), threads_in(12)));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Renumbered));
    assert_eq!((levels, cells), (same, 0));
    // A change between the groups is still found.
    let slower = |a: u32, b: u32| threads_in(12)(a, b) * if a / 12 == b / 12 { 1.0 } else { 1.3 };
    let (_, levels, _) = held(&a, &renumbered(24, 2, siblings_apart(24), slower));
    assert_eq!(levels[2], ("across".to_owned(), Verdict::Slower));
    assert!(none_differs(&levels[..2]), "{levels:?}");
}

#[test]
fn more_cores_in_as_many_groups_are_compared_level_by_level() {
    let (twelve, sixteen) = (file(24, 1, threads_in(12)), file(32, 2, threads_in(16)));
    let (alignment, levels, cells) = held(&twelve, &sixteen);
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Kind));
    assert_eq!((levels.len(), cells), (3, 0));
    assert!(none_differs(&levels), "{levels:?}");
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
    let hybrid_file = |cpus: u32, seed: u64| file(cpus, seed, hybrid(2 * cpus / 3));
    let (a, repeated, larger) = (hybrid_file(24, 1), hybrid_file(24, 2), hybrid_file(30, 3));
    assert_eq!(pairing(&a, &repeated), Pairing::Pairs);
    // Eight pairs of a file resolve a level to 3 % at best; nothing is different.
    let levels = held(&a, &repeated).1;
    assert!(none_differs(&levels), "{levels:?}");
    assert_eq!(levels[1], ("across".to_owned(), Verdict::Same));
    let front = renumbered(24, 4, |cpu| 23 - cpu, hybrid(16));
    assert_eq!(pairing(&a, &front), Pairing::Levels(Likeness::Renumbered));
    assert_eq!(pairing(&a, &larger), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn without_groups_only_flat_machines_are_compared() {
    let flat = |cpus: u32, seed: u64, ns: f64| file(cpus, seed, move |_, _| ns);
    let (alignment, levels, cells) = held(&flat(8, 1, 50.0), &flat(12, 2, 60.0));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Flat));
    assert_eq!((levels, cells), (named(&[("all", Verdict::Slower)]), 0));
    // A row of CPUs with equal steps has no groups, but is not uniform either.
    let row = |seed: u64| file(12, seed, |a, b| 30.0 + 4.0 * f64::from(a.abs_diff(b)));
    assert_eq!(pairing(&row(1), &flat(12, 2, 50.0)), Pairing::Nothing(Obstacle::Patterns));
    let (alignment, levels, cells) = held(&row(1), &row(2));
    assert_eq!(*alignment.pairing(), Pairing::Pairs);
    assert_eq!((levels, cells), (named(&[("all", Verdict::Same)]), 66));
    // A single pair has no groups to match.
    let two = |a: u32, b: u32, ns: f64| {
        let text = format!("CPU {a} {b}\n{a} 0 {ns}\n{b} {ns} 0\n");
        of_import(&read_matrices(text.as_bytes()).unwrap())
    };
    for (ns, verdict) in [(20.0, Verdict::Same), (25.0, Verdict::CannotTell)] {
        let (alignment, levels, _) = held(&two(10, 11, 20.0), &two(10, 11, ns));
        assert_eq!((alignment.pairing(), levels), (&Pairing::Pairs, named(&[("all", verdict)])));
    }
    let other = pairing(&two(10, 11, 20.0), &two(0, 1, 20.0));
    assert!(matches!(other, Pairing::Nothing(Obstacle::Unseen([Some(_), Some(_)]))), "{other:?}");
}

#[test]
fn identical_values_are_the_same_without_intervals() {
    let few = file(4, 1, |_, _| 30.0);
    // Six pairs of the same file, at a margin below the resolution of files.
    let comparison = compare(&few, &few, &Alignment::between(&few, &few), LeastEffect(0.001));
    let found = &comparison.datasets[0].levels[0].difference;
    assert_eq!((found.verdict, found.possible.slower || found.possible.faster), (Verdict::Same, false));
    assert_eq!(found.reason, Some("identical numbers"));
    // A run compared with itself, in which every cell changed state.
    let moved = changed(scaled(2, 1.0), |reading| reading.steady = false);
    let cells = compared(&moved, &moved, &Alignment::between(&moved, &moved)).cells;
    assert!(cells.iter().all(|cell| cell.difference.verdict == Verdict::Same));
}

#[test]
fn a_shift_that_excludes_faster_leaves_only_slower_possible() {
    let wide = |mut side: Side| {
        side.datasets[0].readings.retain(|_, reading| reading.value.point < 50.0);
        let mut positions = 0_u64..;
        changed(side, |reading| {
            let key = Key::from_words(&[positions.next().unwrap()]);
            reading.value.point *= 1.0 + 0.02 * key.normal(1);
        })
    };
    let (a, b) = (wide(scaled(1, 1.0)), wide(scaled(2, 1.015)));
    let comparison = compare(&a, &b, &alignment(), LeastEffect(0.02));
    let level = &comparison.datasets[0].levels[0].difference;
    assert_eq!(level.verdict, Verdict::CannotTell, "{level:?}");
    assert_eq!(level.possible, Possible { faster: false, slower: true });
}

#[test]
fn systems_with_different_groups_are_compared_by_relation() {
    let crossed = topology("0-15", &[(Level::L3, &["0-14/2", "1-15/2"])]);
    let mut other = dataset(2, |_, _| 1.0);
    let values = |a: u32, b: u32| if a % 2 == b % 2 { 24.0 } else { 80.0 };
    for (key, reading) in &mut other.readings {
        let ReadingKey::Pair([a, b]) = key else { unreachable!() };
        reading.value.point = values(a.0, b.0);
    }
    let b = Side { topology: Some(crossed), ..side(other) };
    let (alignment, levels, cells) = held(&scaled(1, 1.0), &b);
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Reported));
    assert_eq!(levels, named(&[("l3", Verdict::Slower), ("machine", Verdict::Same)]));
    assert_eq!(cells, 0);
}

#[test]
fn groups_of_the_same_shape_are_compared_only_with_evidence() {
    let twos = |near: f64, far: f64| move |a: u32, b: u32| if a / 2 == b / 2 { near } else { far };
    let (threads, clusters) = (file(16, 1, twos(7.7, 19.0)), file(16, 2, twos(60.0, 260.0)));
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
    assert_eq!(doubtful(&threads, &renumbered(16, 3, siblings_apart(16), twos(60.0, 260.0))).1, 14.0);
    assert_eq!(doubtful(&file(8, 1, |_, _| 20.0), &file(8, 2, |_, _| 90.0)).1, 5.0);
    // With the same CPU model, a machine with 1.5 times the latency is compared.
    let of_model = |factor: f64, seed: u64| {
        let mut side = file(16, seed, twos(7.7 * factor, 19.0 * factor));
        side.facts.insert(Fact::CpuModel, "of one model".into());
        side
    };
    let (alignment, levels, _) = held(&of_model(1.0, 1), &of_model(1.5, 2));
    assert_eq!((alignment.pairing(), levels[1].1), (&Pairing::Pairs, Verdict::Slower));
    // So are sides with a high correlation pair by pair.
    let on_a_mesh = |factor: f64, seed: u64| {
        file(16, seed, |a, b| match (a / 2).abs_diff(b / 2) {
            0 => factor * 7.7,
            steps => factor * (40.0 + f64::from(steps)),
        })
    };
    let (alignment, levels, _) = held(&on_a_mesh(1.0, 1), &on_a_mesh(1.5, 2));
    assert_eq!((alignment.pairing(), levels[1].1), (&Pairing::Pairs, Verdict::Slower));
}

#[test]
fn a_level_with_doubtful_times_blocks_no_other_level() {
    let ns = |far: f64| move |a: u32, b: u32| if a / 12 == b / 12 { threads_in(12)(a, b) } else { far };
    let (a, b) = (file(24, 1, ns(84.0)), file(24, 2, ns(126.0)));
    let (alignment, levels, cells) = held(&a, &b);
    assert_eq!(*alignment.pairing(), Pairing::Pairs);
    assert_eq!(alignment.doubts().iter().map(|doubt| doubt.level.as_str()).collect::<Vec<_>>(), ["across"]);
    assert_eq!(levels.iter().map(|(level, _)| level.as_str()).collect::<Vec<_>>(), ["group-1", "group-2"]);
    assert!(none_differs(&levels), "{levels:?}");
    assert_eq!(cells, 12 + 2 * 60);
    let alone: Vec<_> = compared(&a, &b, &alignment).alone.iter().map(|one| (one.of, one.pairs)).collect();
    assert_eq!(alone, [(Letter::A, 144), (Letter::B, 144)]);
    // Renumbering does not change the compared levels.
    let (alignment, levels, _) = held(&a, &renumbered(24, 3, siblings_apart(24), ns(126.0)));
    assert_eq!((alignment.pairing(), levels.len()), (&Pairing::Levels(Likeness::Renumbered), 2));
    // A forced comparison includes all levels.
    let forced = Alignment::forced(&a, &b);
    let levels = compared(&a, &b, &forced).levels;
    assert_eq!((forced.is_forced(), levels.len()), (true, 3));
    assert_eq!(levels[2].difference.verdict, Verdict::Slower);
}

#[test]
fn disturbed_cells_of_a_level_keep_the_numbering() {
    let with_disturbed = |disturbed: u32, seed: u64| {
        file(16, seed, |a, b| match (a / 2 == b / 2, a / 2 == disturbed) {
            (true, false) => 7.5,
            (true, true) => 26.0,
            (false, _) => 20.0,
        })
    };
    let (a, b) = (with_disturbed(0, 1), with_disturbed(5, 2));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let alignment = Alignment::between(a, b);
        assert_eq!(*alignment.pairing(), Pairing::Pairs);
        let dataset = compared(a, b, &alignment);
        assert_eq!(dataset.levels.iter().map(|level| level.pairs[0]).collect::<Vec<_>>(), [8, 112]);
        let departing = dataset.cells.iter().filter(|cell| cell.departs && cell.level == 0);
        let cores: Vec<u32> = departing.map(|cell| cell.key.cpus().next().unwrap().0 / 2).collect();
        assert_eq!(cores, [0, 5]);
    }
}

#[test]
fn relations_match_if_both_sides_report_the_levels_below() {
    // A reports shared caches; B does not, so its package level mixes pairs inside and across them.
    let package: (Level, &[&str]) = (Level::Package, &["0-15"]);
    let caches = topology("0-15", &[(Level::L3, &["0-7", "8-15"]), package]);
    let a = Side { topology: Some(caches), ..scaled(1, 1.0) };
    let b = Side { topology: Some(topology("0-15", &[package])), ..scaled(2, 1.0) };
    let (alignment, levels, _) = held(&a, &b);
    assert_eq!((alignment.pairing(), levels), (&Pairing::Levels(Likeness::Reported), Vec::new()));
}

#[test]
fn numbers_on_coarse_steps_are_not_shown_to_be_the_same() {
    // A clock of 25 MHz, read over ten round trips: 4 ns.
    let steps =
        |seed: u64, ns: f64| file(12, seed, move |a, b| 4.0 * ((ns + f64::from((a + b) % 3)) / 4.0).round());
    let rounded = |mut side: Side| {
        side.datasets[0].resolution = 6.0;
        changed(side, |reading| reading.value.point = 4.0 * (reading.value.point / 4.0).round())
    };
    let (a, b) = (rounded(steps(1, 20.0)), rounded(steps(2, 22.0)));
    let level = compared(&a, &b, &Alignment::by_number(Levels::one())).levels.remove(0).difference;
    assert_eq!((level.verdict, level.reason.is_some()), (Verdict::CannotTell, true), "{level:?}");
    assert_eq!(held(&a, &a).1[0].1, Verdict::Same);
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
        file(12, 1, threes),
        file(24, 2, threads_in(12)),
        file(16, 3, |a, b| if a / 2 == b / 2 { 7.5 } else { 19.0 }),
        file(8, 4, |_, _| 50.0),
    ];
    let tables: Vec<(&Side, Levels)> = sides.iter().map(|side| (side, Levels::from_side(side))).collect();
    let table = overview(&tables);
    // No two of these are known to be the same level.
    let columns = "all groups-of-2-kind-2 groups-of-2-kind-3 larger-groups-1-kind-1 larger-groups-1-kind-2";
    let columns = format!("{columns} across-kind-1 across-kind-2 across-kind-3");
    let names: Vec<String> = table.groups.iter().map(ToString::to_string).collect();
    assert_eq!(names.join(" "), columns);
    let shown = table.rows.iter().map(|row| {
        let levels = row.medians.iter().map(|group| group.as_ref().map_or("–", |group| &group.level));
        levels.collect::<Vec<_>>().join(" ")
    });
    let expected = [
        "– – – group-1 – across – –",
        "– group-1 – – group-2 – across –",
        "– – group-1 – – – – across",
        "all – – – – – – –",
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!(table.rows[0].medians[3].as_ref().unwrap().sizes, [3; 4]);
}

#[test]
fn machines_of_one_kind_share_columns_where_their_times_are_plausible() {
    // Clusters of two cores have the shape of SMT siblings, but eight times their latency.
    let clusters = |a: u32, b: u32| 8.0 * threads_in(12)(a, b);
    let sides = [file(24, 1, threads_in(12)), file(32, 2, threads_in(16)), file(24, 3, clusters)];
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
    let halves: &[&str] = &["0-7", "8-15"];
    let reporting = |level| Side { topology: Some(topology("0-15", &[(level, halves)])), ..scaled(1, 1.0) };
    // The first and the last side report their L3, so their pairs at machine level differ from those of the other side.
    let columns = columns_of(&[Level::L3, Level::Package, Level::L3].map(reporting));
    let sides_in = |name: &str| columns[name].iter().map(|(side, _)| *side).collect::<Vec<_>>();
    for (name, sides) in [("l3", &[0, 2][..]), ("machine-kind-1", &[0, 2]), ("machine-kind-2", &[1])] {
        assert_eq!(sides_in(name), sides, "{columns:?}");
    }
}
