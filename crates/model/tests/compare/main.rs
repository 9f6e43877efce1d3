//! Comparisons of made-up results whose differences are known, of any probe.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod columns;

use coretalk_model::compare::of_import::of_import;
use coretalk_model::compare::{
    Alignment, Basis, Dataset, Fact, LeastEffect, Letter, Levels, Likeness, Obstacle, Pairing, Possible,
    Reading, ReadingKey, Side, Value, Verdict, Weight, compare, mismatches, overview,
};
use coretalk_model::formats::read_matrices;
use coretalk_model::quantity::Better;
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Domain, Level, Topology};
use std::collections::BTreeMap;

/// Two L3 of eight CPUs.
fn topology() -> Topology {
    let l3 = |list: &str| Domain { level: Level::L3, cpus: list.parse().unwrap(), os_id: None };
    Topology::new("0-15".parse().unwrap(), vec![l3("0-7"), l3("8-15")], BTreeMap::new())
}

/// A quiet map: cells repeat within 0.5 % and claim ± 2 %.
fn dataset(seed: u64, factor: impl Fn(u32, u32) -> f64) -> Dataset {
    let mut readings = BTreeMap::new();
    for b in 0..16u32 {
        for a in 0..b {
            let level = if (a < 8) == (b < 8) { 20.0 } else { 80.0 };
            let noise = 1.0 + 0.005 * Key::of(&[seed, u64::from(a)]).normal(u64::from(b));
            let value = Value { point: level * noise * factor(a, b), deviation: Some(0.01) };
            readings.insert(
                ReadingKey::unordered(CpuId(a), CpuId(b)),
                Reading { value, cycles: None, steady: true },
            );
        }
    }
    Dataset {
        name: "latency cas".into(),
        quantity: "half_round_trip".into(),
        unit: "ns".into(),
        better: Better::Lower,
        traits: vec![("kernel", "cas".into())],
        resolution: 0.0,
        negligible: 0.3,
        readings,
    }
}

fn side(dataset: Dataset) -> Side {
    Side { topology: Some(topology()), datasets: vec![dataset], ..Side::default() }
}

fn levels() -> Levels {
    Levels::reported(topology())
}

fn alignment() -> Alignment {
    Alignment::by_number(levels())
}

fn verdicts(a: &Side, b: &Side) -> Vec<(String, Verdict)> {
    let comparison = compare(a, b, &alignment(), LeastEffect::DEFAULT);
    let levels = comparison.datasets.iter().flat_map(|dataset| &dataset.levels);
    levels.map(|level| (level.level.clone(), level.difference.verdict)).collect()
}

#[test]
fn a_slower_level_and_a_faster_cell_are_told_apart() {
    let a = side(dataset(1, |_, _| 1.0));
    let b = side(dataset(2, |x, y| match (x, y) {
        (0, 15) => 0.8,
        (x, y) if (x < 8) == (y < 8) => 1.06,
        _ => 1.0,
    }));
    let comparison = compare(&a, &b, &alignment(), LeastEffect::DEFAULT);
    let [l3, machine] = comparison.datasets[0].levels.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((l3.level.as_str(), l3.pairs, l3.difference.verdict), ("l3", [56; 2], Verdict::Slower));
    assert!(l3.difference.shift.contains(0.06) && l3.difference.q_value < 1e-3, "{l3:?}");
    assert_eq!((machine.level.as_str(), machine.difference.verdict), ("machine", Verdict::Same));
    let faster: Vec<&ReadingKey> = comparison.datasets[0]
        .cells
        .iter()
        .filter(|cell| cell.difference.verdict == Verdict::Faster)
        .map(|cell| &cell.key)
        .collect();
    assert_eq!(faster, [&ReadingKey::Pair([CpuId(0), CpuId(15)])]);
}

#[test]
fn exchanging_the_sides_exchanges_the_verdicts() {
    let a = side(dataset(1, |_, _| 1.0));
    let b = side(dataset(2, |_, _| 1.1));
    assert!(verdicts(&a, &b).iter().all(|(_, verdict)| *verdict == Verdict::Slower));
    assert!(verdicts(&b, &a).iter().all(|(_, verdict)| *verdict == Verdict::Faster));
}

#[test]
fn of_a_throughput_more_is_faster() {
    let rate = |factor: f64| {
        let mut rates = dataset(3, |_, _| factor);
        rates.better = Better::Higher;
        (rates.name, rates.unit, rates.negligible) = ("queue spsc 10".into(), "messages/s".into(), 0.0);
        side(rates)
    };
    assert!(verdicts(&rate(1.0), &rate(1.1)).iter().all(|(_, verdict)| *verdict == Verdict::Faster));
}

#[test]
fn each_series_is_judged_by_itself() {
    let series = |p99: f64| {
        let value = |point: f64| Reading {
            value: Value { point, deviation: Some(0.01) },
            cycles: None,
            steady: true,
        };
        let readings = [("futex p50", 2_000.0), ("futex p99", p99)];
        let readings = readings.map(|(name, point)| (ReadingKey::series(name), value(point)));
        Side {
            datasets: vec![Dataset { readings: readings.into(), ..dataset(1, |_, _| 1.0) }],
            ..Side::default()
        }
    };
    let found = verdicts(&series(5_000.0), &series(9_000.0));
    assert_eq!(found, [("futex p50".into(), Verdict::Same), ("futex p99".into(), Verdict::Slower)]);
}

#[test]
fn what_the_clock_did_is_no_difference_where_both_know_their_cycles() {
    let clocked = |ghz: f64| {
        let mut map = dataset(4, |_, _| 4.0 / ghz);
        for reading in map.readings.values_mut() {
            reading.cycles = Some(Value { point: reading.value.point * ghz, ..reading.value });
        }
        side(map)
    };
    let comparison = compare(&clocked(4.0), &clocked(3.6), &alignment(), LeastEffect::DEFAULT);
    let map = &comparison.datasets[0];
    assert_eq!(map.basis, Basis::Cycles);
    for level in &map.levels {
        assert_eq!(level.difference.verdict, Verdict::Same);
        assert!((level.as_read.unwrap() - 1.0 / 9.0).abs() < 0.01, "{level:?}");
    }
}

#[test]
fn too_little_is_known_to_tell() {
    // Two pairs with wide intervals.
    let few = |factor: f64| {
        let mut map = dataset(5, |_, _| factor);
        map.readings.retain(|key, _| matches!(key, ReadingKey::Pair([a, b]) if a.0 == 0 && b.0 < 3));
        for reading in map.readings.values_mut() {
            reading.value.deviation = Some(0.05);
        }
        side(map)
    };
    assert_eq!(verdicts(&few(1.0), &few(1.06)), [("l3".into(), Verdict::CannotTell)]);
    // The same pairs without any interval.
    let bare = |factor: f64| {
        let mut side = few(factor);
        for reading in side.datasets[0].readings.values_mut() {
            reading.value.deviation = None;
        }
        side
    };
    let comparison = compare(&bare(1.0), &bare(2.0), &alignment(), LeastEffect::DEFAULT);
    let level = &comparison.datasets[0].levels[0].difference;
    assert_eq!(level.verdict, Verdict::CannotTell);
    assert!(level.reason.is_some() && level.within.is_none() && level.shift.high.is_infinite());
}

#[test]
fn a_machine_that_moved_and_a_guest_that_may_have_are_not_judged() {
    let a = side(dataset(1, |_, _| 1.0));
    let mut moved = side(dataset(2, |_, _| 2.0));
    for reading in moved.datasets[0].readings.values_mut() {
        reading.steady = false;
    }
    assert!(verdicts(&a, &moved).iter().all(|(_, verdict)| *verdict == Verdict::CannotTell));
    let guest = |factor| Side { guest: true, ..side(dataset(2, |_, _| factor)) };
    assert!(verdicts(&a, &guest(5.0)).iter().all(|(_, verdict)| *verdict == Verdict::CannotTell));
    assert!(verdicts(&a, &guest(1.08)).iter().all(|(_, verdict)| *verdict == Verdict::Slower));
}

#[test]
fn conditions_that_make_another_experiment_refuse_and_others_warn() {
    let stated = |facts: &[(Fact, &str)], kernel: &str, unit: &str| {
        let mut map = dataset(1, |_, _| 1.0);
        map.traits = vec![("kernel", kernel.into())];
        map.unit = unit.into();
        let facts = facts.iter().map(|(fact, text)| (*fact, (*text).to_owned())).collect();
        Side { facts, ..side(map) }
    };
    let base = stated(&[(Fact::Simulated, "no"), (Fact::Libc, "glibc 2.36")], "cas", "ns");
    assert!(mismatches(&base, &base).is_empty());
    for (other, what, weight) in [
        (stated(&[(Fact::Simulated, "yes")], "cas", "ns"), "simulated", Weight::Refuses),
        (stated(&[(Fact::Libc, "musl 1.2")], "cas", "ns"), "libc", Weight::Refuses),
        (stated(&[], "cas+pause", "ns"), "kernel of latency cas", Weight::Refuses),
        (stated(&[], "cas", "cycles"), "unit", Weight::Forbids),
        (Side { datasets: Vec::new(), ..side(dataset(1, |_, _| 1.0)) }, "protocol", Weight::Forbids),
    ] {
        let found = mismatches(&base, &other);
        assert_eq!((found[0].what.as_str(), found[0].weight), (what, weight), "{found:?}");
    }
    let elsewhere = Side { topology: Some(Topology::flat("0-15".parse().unwrap())), ..base.clone() };
    assert_eq!(mismatches(&base, &elsewhere)[0].what, "topology");
    let newer = stated(&[(Fact::System, "Linux 6.2")], "cas", "ns");
    let older = stated(&[(Fact::System, "Linux 6.1")], "cas", "ns");
    assert_eq!(mismatches(&older, &newer)[0].weight, Weight::Warns);
}

#[test]
fn a_file_equals_itself_and_is_not_known_beyond_its_numbers() {
    let text: String = (0..12)
        .map(|row| {
            let cell = |column: u32| {
                if column < row {
                    format!("{:.2}", 40.0 + f64::from(row * column % 7))
                } else {
                    String::new()
                }
            };
            (0..12).map(cell).collect::<Vec<_>>().join(",") + "\n"
        })
        .collect();
    let file = of_import(&read_matrices(text.as_bytes()).unwrap());
    let comparison = compare(&file, &file, &Alignment::by_number(Levels::one()), LeastEffect::DEFAULT);
    let [all] = comparison.datasets[0].levels.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((all.level.as_str(), all.pairs, all.difference.verdict), ("all", [66; 2], Verdict::Same));
    // Not even the same numbers are the same machine to better than what files leave unsaid.
    assert!(all.difference.within.unwrap() > 0.02);
}

#[test]
fn the_table_has_a_row_for_each_dataset_and_a_column_for_each_group() {
    let sides = [side(dataset(1, |_, _| 1.0)), side(dataset(2, |_, _| 2.0))];
    let table = overview(&[(&sides[0], levels()), (&sides[1], Levels::one())]);
    assert_eq!(table.groups, ["all", "l3", "machine"]);
    let medians: Vec<Vec<Option<usize>>> = table
        .rows
        .iter()
        .map(|row| row.medians.iter().map(|group| group.as_ref().map(|group| group.pairs)).collect())
        .collect();
    assert_eq!(medians, [[None, Some(56), Some(64)], [Some(120), None, None]]);
    assert!((table.rows[0].medians[1].as_ref().unwrap().median - 20.0).abs() < 0.2);
}

#[test]
fn cpus_that_only_one_side_has_are_left_out() {
    let mut small = dataset(2, |_, _| 1.0);
    small.readings.retain(|key, _| matches!(key, ReadingKey::Pair([_, b]) if b.0 < 8));
    let comparison = compare(&side(dataset(1, |_, _| 1.0)), &side(small), &alignment(), LeastEffect::DEFAULT);
    let map = &comparison.datasets[0];
    assert_eq!((map.levels.len(), map.cells.len(), map.lonely), (1, 28, 92));
    let nothing = Side {
        datasets: vec![Dataset { readings: BTreeMap::new(), ..dataset(1, |_, _| 1.0) }],
        ..Side::default()
    };
    assert!(
        compare(&side(dataset(1, |_, _| 1.0)), &nothing, &alignment(), LeastEffect::DEFAULT).datasets[0]
            .cells
            .is_empty()
    );
}

/// A file of bare numbers: `ns` of the distance between CPUs, which `name` calls by other numbers.
fn file(cpus: u32, seed: u64, name: impl Fn(u32) -> u32, ns: impl Fn(u32, u32) -> f64) -> Side {
    let row = |row: u32| -> String {
        let cell = |column: u32| {
            let (a, b) = (name(row), name(column));
            let noise = 1.0 + 0.01 * Key::of(&[seed, u64::from(a.min(b))]).normal(u64::from(a.max(b)));
            if column < row { format!("{:.3}", ns(a, b) * noise) } else { String::new() }
        };
        (0..cpus).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    of_import(&read_matrices((0..cpus).map(row).collect::<String>().as_bytes()).unwrap())
}

/// Four groups of three, without threads: the shape of a Ryzen 9 3900X.
fn threes(a: u32, b: u32) -> f64 {
    if a / 3 == b / 3 { 40.0 } else { 84.0 }
}

/// Two groups of cores of two threads: the shape of a Ryzen 9 5900X with groups of 12.
fn threads_in(group: u32) -> impl Fn(u32, u32) -> f64 {
    move |a, b| match (a / 2 == b / 2, a / group == b / group) {
        (true, _) => 7.5,
        (false, true) => 18.0,
        (false, false) => 84.0,
    }
}

fn held(a: &Side, b: &Side) -> (Alignment, Vec<(String, Verdict)>, usize) {
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
fn machines_of_other_groups_are_not_held_against_each_other() {
    let (a, b) = (file(12, 1, |cpu| cpu, threes), file(24, 2, |cpu| cpu, threads_in(12)));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let (alignment, levels, cells) = held(a, b);
        assert_eq!(*alignment.pairing(), Pairing::Nothing(Obstacle::Groups));
        assert_eq!((levels, cells), (Vec::new(), 0));
        // What each has stands alone, with its own numbers.
        let comparison = compare(a, b, &alignment, LeastEffect::DEFAULT);
        let alone: Vec<(Letter, &str, usize)> =
            comparison.datasets[0].alone.iter().map(|one| (one.of, one.level.as_str(), one.pairs)).collect();
        assert_eq!((alone.len(), alone[0].0, alone[4].0), (5, Letter::A, Letter::B), "{alone:?}");
    }
    // Groups of four lie in groups of eight without cutting across them: most pairs of one number are not alike.
    let of = |group: u32| move |a: u32, b: u32| if a / group == b / group { 20.0 } else { 100.0 };
    let (fours, eights) = (file(32, 1, |cpu| cpu, of(4)), file(32, 2, |cpu| cpu, of(8)));
    assert_eq!(*held(&fours, &eights).0.pairing(), Pairing::Nothing(Obstacle::Groups));
    let flat = file(32, 3, |cpu| cpu, |_, _| 100.0);
    assert_eq!(*held(&fours, &flat).0.pairing(), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn a_machine_under_other_numbers_is_the_same_by_level_and_says_nothing_of_pairs() {
    let a = file(24, 1, |cpu| cpu, threads_in(12));
    // Siblings twelve apart instead of beside each other.
    let turned = |cpu: u32| 2 * (cpu % 12) + cpu / 12;
    let same = named(&[("group-1", Verdict::Same), ("group-2", Verdict::Same), ("across", Verdict::Same)]);
    let (alignment, levels, cells) = held(&a, &file(24, 1, turned, threads_in(12)));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Renumbered));
    assert_eq!((levels, cells), (same, 0));
    // And where it has changed between the groups, that is found.
    let slower = |a: u32, b: u32| threads_in(12)(a, b) * if a / 12 == b / 12 { 1.0 } else { 1.3 };
    let (_, levels, _) = held(&a, &file(24, 2, turned, slower));
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
fn cores_of_two_kinds_are_held_against_their_like_alone() {
    // Pairs of threads, and as many CPUs alone behind them.
    let hybrid = |fast: u32| {
        move |a: u32, b: u32| match (a / 2 == b / 2 && a.max(b) < fast, a.max(b) < fast) {
            (true, _) => 4.5,
            (false, true) => 34.0,
            (false, false) => 37.0,
        }
    };
    let of = |cpus: u32, seed: u64| file(cpus, seed, |cpu| cpu, hybrid(2 * cpus / 3));
    let (a, again, larger) = (of(24, 1), of(24, 2), of(30, 3));
    assert_eq!(*held(&a, &again).0.pairing(), Pairing::Pairs);
    // Eight pairs of a file tell a level to 3 % or not; nothing is different.
    let levels = held(&a, &again).1;
    assert!(levels.iter().all(|(_, verdict)| !verdict.is_different()), "{levels:?}");
    assert_eq!(levels[1], ("across".to_owned(), Verdict::Same));
    let front = file(24, 4, |cpu| 23 - cpu, hybrid(16));
    assert_eq!(*held(&a, &front).0.pairing(), Pairing::Levels(Likeness::Renumbered));
    assert_eq!(*held(&a, &larger).0.pairing(), Pairing::Nothing(Obstacle::Groups));
}

#[test]
fn without_groups_only_what_is_flat_is_held_against_what_is_flat() {
    let flat = |cpus: u32, seed: u64, ns: f64| file(cpus, seed, |cpu| cpu, move |_, _| ns);
    let (alignment, levels, cells) = held(&flat(8, 1, 50.0), &flat(12, 2, 60.0));
    assert_eq!(*alignment.pairing(), Pairing::Levels(Likeness::Flat));
    assert_eq!((levels, cells), (named(&[("all", Verdict::Slower)]), 0));
    // A row of CPUs, each as far from the next: no groups, and another thing than all alike.
    let row = |seed: u64| file(12, seed, |cpu| cpu, |a, b| 30.0 + 4.0 * f64::from(a.abs_diff(b)));
    assert_eq!(*held(&row(1), &flat(12, 2, 50.0)).0.pairing(), Pairing::Nothing(Obstacle::Patterns));
    let (alignment, levels, cells) = held(&row(1), &row(2));
    assert_eq!(*alignment.pairing(), Pairing::Pairs);
    assert_eq!((levels, cells), (named(&[("all", Verdict::Same)]), 66));
    // One pair has no groups to go by.
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
fn the_same_numbers_are_the_same_without_any_interval() {
    let few = file(4, 1, |cpu| cpu, |_, _| 30.0);
    let one = |a: &Side, b: &Side, least: f64| {
        let comparison = compare(a, b, &Alignment::between(a, b), LeastEffect(least));
        comparison.datasets[0].levels[0].difference.clone()
    };
    // Six pairs of one file, held to better than files can be known.
    let found = one(&few, &few, 0.001);
    assert_eq!((found.verdict, found.possible.slower || found.possible.faster), (Verdict::Same, false));
    assert_eq!(found.reason, Some("identical numbers"));
    // A run against itself, in which everything changed state.
    let mut moved = side(dataset(2, |_, _| 1.0));
    for reading in moved.datasets[0].readings.values_mut() {
        reading.steady = false;
    }
    let comparison = compare(&moved, &moved, &Alignment::between(&moved, &moved), LeastEffect::DEFAULT);
    let cells = &comparison.datasets[0].cells;
    assert!(cells.iter().all(|cell| cell.difference.verdict == Verdict::Same));
}

#[test]
fn what_is_slower_or_the_same_is_not_faster() {
    let (a, b) = (side(dataset(1, |_, _| 1.0)), side(dataset(2, |_, _| 1.02)));
    let wide = |side: &Side| {
        let mut side = side.clone();
        side.datasets[0].readings.retain(|_, reading| reading.value.point < 50.0);
        for (reading, position) in side.datasets[0].readings.values_mut().zip(0_u64..) {
            reading.value.deviation = Some(0.01);
            reading.value.point *= 1.0 + 0.02 * Key::of(&[position]).normal(1);
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
fn systems_that_report_other_groups_are_compared_by_what_they_call_the_same() {
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

/// The published matrix of a machine; `None`, said, where the data is absent.
fn published(path: &str) -> Option<Side> {
    let path = format!("{}/../../../shared/data/latency-matrices/{path}", env!("CARGO_MANIFEST_DIR"));
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {path} is absent");
        return None;
    };
    Some(of_import(&read_matrices(&bytes).unwrap()))
}

#[test]
fn published_machines_are_held_against_their_like() {
    for (a, b, expected) in [
        (
            "amd-ryzen9-3900x/alloybronya.csv",
            "amd-ryzen9-5900x/smarkwell.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
        ("amd-ryzen9-5900x/smarkwell.csv", "amd-ryzen9-5950x/nephyrin.csv", Pairing::Levels(Likeness::Kind)),
        (
            "amd-ryzen7-5800u/gmelikov.csv",
            "amd-ryzen7-5800x3d/keantoken.csv",
            Pairing::Levels(Likeness::Renumbered),
        ),
        ("amd-ryzen7-5800u/gmelikov.csv", "amd-ryzen9-5900hx/r4nd0m1z3r.csv", Pairing::Pairs),
        // Groups of four and of eight cores, numbered in turn: most pairs are near or far in both.
        (
            "amd-epyc-7702-dual/herver.csv",
            "amd-epyc-9754/entropy-enthalpy.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
        // Six cores of two threads and four alone, and eight of two.
        (
            "intel-core-i5-12600k/tombyrer.csv",
            "intel-core-i9-9900k/nviennot.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
        ("amd-ryzen9-7950x/nviennot-crlf.csv", "amd-ryzen9-7950x/zamadatix.csv", Pairing::Pairs),
        (
            "amd-tr-3990x/shisoft.csv",
            "amd-epyc-9754/entropy-enthalpy.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
        (
            "amd-ryzen7-5800x3d/keantoken.csv",
            "intel-core-i9-12900k/bizude.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
        (
            "ampere-altra-q80-30/zeroping-numa-off.csv",
            "aws-graviton2/aws-c6gd-metal-by-nviennot.csv",
            Pairing::Nothing(Obstacle::Groups),
        ),
    ] {
        let (Some(left), Some(right)) = (published(a), published(b)) else { return };
        assert_eq!(*Alignment::between(&left, &right).pairing(), expected, "{a} {b}");
        assert_eq!(*Alignment::between(&right, &left).pairing(), expected, "{b} {a}");
        let itself = compare(&left, &left, &Alignment::between(&left, &left), LeastEffect::DEFAULT);
        let mut levels = itself.datasets[0].levels.iter();
        assert!(levels.all(|level| level.difference.verdict == Verdict::Same), "{a}");
    }
}

#[test]
fn groups_that_look_alike_are_the_same_only_where_something_says_so() {
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
    // Under other numbers, and without groups, it is the same question.
    assert_eq!(doubtful(&threads, &file(16, 3, |cpu| cpu % 8 * 2 + cpu / 8, twos(60.0, 260.0))).1, 14.0);
    assert_eq!(doubtful(&file(8, 1, |cpu| cpu, |_, _| 20.0), &file(8, 2, |cpu| cpu, |_, _| 90.0)).1, 5.0);
    // Who knows what the CPUs are is told of a machine that takes half as long again.
    let of_model = |factor: f64, seed: u64| {
        let mut side = file(16, seed, |cpu| cpu, twos(7.7 * factor, 19.0 * factor));
        side.facts.insert(Fact::CpuModel, "of one model".into());
        side
    };
    let (alignment, levels, _) = held(&of_model(1.0, 1), &of_model(1.5, 2));
    assert_eq!((alignment.pairing(), levels[1].1), (&Pairing::Pairs, Verdict::Slower));
    // And so is whose pairs lie as they did, each beside its like.
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
fn published_machines_that_only_look_alike_are_not_held_against_each_other() {
    for (a, b, level) in [
        // Threads of a core, and cores of a cluster.
        ("amd-ryzen7-5800u/gmelikov.csv", "nxp-lx2160a/kassane.csv", "across"),
        ("intel-core-i3-2120t/jcurl-cas.txt", "intel-core2quad-q9550/yowanvista.csv", "group-1"),
        // Caches of a package, and packages.
        ("amd-ryzen9-5950x/nephyrin.csv", "intel-xeon-e5-2690-dual/nviennot.csv", "group-2"),
        ("amd-ryzen7-2700x/demindiro.csv", "intel-xeon-e5-2690-dual/nviennot.csv", "group-2"),
        // Dies, and packages.
        ("hisilicon-kunpeng-920-6426/concyclics.csv", "intel-xeon-8358-dual/leavelet.csv", "group-1"),
    ] {
        let (Some(left), Some(right)) = (published(a), published(b)) else { return };
        for (left, right) in [(&left, &right), (&right, &left)] {
            let (alignment, levels, cells) = held(left, right);
            let Pairing::Nothing(Obstacle::Meanings(doubt)) = alignment.pairing() else {
                panic!("{a} {b}: {alignment:?}")
            };
            assert_eq!((doubt.level.as_str(), levels.len(), cells), (level, 0, 0), "{a} {b}");
        }
    }
}

#[test]
fn relations_mean_the_same_where_both_report_what_lies_below_them() {
    // A reports who shares a cache; B does not, so that what it calls one package is both.
    let domain = |level: Level, list: &str| Domain { level, cpus: list.parse().unwrap(), os_id: None };
    let of = |domains: Vec<Domain>| Some(Topology::new("0-15".parse().unwrap(), domains, BTreeMap::new()));
    let caches = [domain(Level::L3, "0-7"), domain(Level::L3, "8-15"), domain(Level::Package, "0-15")];
    let a = Side { topology: of(caches.to_vec()), ..side(dataset(1, |_, _| 1.0)) };
    let b = Side { topology: of(vec![domain(Level::Package, "0-15")]), ..side(dataset(2, |_, _| 1.0)) };
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
