//! Inference on planted structures, on published matrices with known structure, and on disturbed copies of them. With
//! `CORETALK_TEST_ACCEPTANCE=1` it is the acceptance test; by default it has fewer machines.
#![allow(clippy::unwrap_used, reason = "an oracle that cannot be read fails its test")]

mod plain;
mod planted;
mod published;

use coretalk_model::infer::{Observation, infer};
use coretalk_model::stats::Key;
use coretalk_model::{CpuSet, Matrix};
use planted::{Machine, Weather};
use published::{Published, Tally, Truth, judge, levels_of};
use std::thread;

fn is_acceptance() -> bool {
    std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some()
}

#[test]
fn planted_structures_are_found_exactly() {
    for row in planted_rows(if is_acceptance() { 400 } else { 25 }) {
        println!("{row}");
        let missed = row.ours.machines - row.ours.passed;
        assert!(missed <= (row.ours.machines / 100).max(1) && row.ours.wrong == 0, "{row}");
    }
}

#[test]
fn machines_without_groups_get_none() {
    let rows = flat_rows(if is_acceptance() { 150 } else { 15 });
    rows.iter().for_each(|row| println!("{row}"));
    let sum = |field: fn(&Row) -> usize| rows.iter().map(field).sum::<usize>();
    let (invented, plain, all) =
        (sum(|row| row.ours.invented), sum(|row| row.plain.invented), sum(|row| row.ours.machines));
    // Noise of 25 % on a few CPUs occasionally resembles a structure.
    assert!(invented * 400 <= all && plain * 10 > all, "{invented} of {all}, plain linkage {plain}");
}

#[test]
fn every_published_level_that_is_clear_is_found_and_none_is_wrong() {
    let Some(files) = published::all("the published matrices") else { return };
    let (table, row) = published_table(&files);
    println!("{table}\n{row}");
    assert!(row.ours.machines >= 84);
    assert_eq!((row.ours.passed, row.ours.wrong), (row.ours.machines, 0), "{table}");
    assert!(row.ours.found > row.plain.found, "{table}");
}

#[test]
fn disturbed_files_keep_their_levels() {
    let Some(files) = published::all("the disturbed matrices") else { return };
    let rows = disturbed_rows(&files, if is_acceptance() { 5 } else { 1 });
    rows.iter().for_each(|row| println!("{row}"));
    let sum = |field: fn(&Row) -> usize| rows.iter().map(field).sum::<usize>();
    let (found, clear, plain) =
        (sum(|row| row.ours.found), sum(|row| row.ours.clear), sum(|row| row.plain.found));
    let (wrong, share) = (sum(|row| row.ours.wrong), if is_acceptance() { 97 } else { 96 });
    println!("{found} of {clear} levels, plain linkage {plain}; {wrong} files with a wrong group");
    assert!(found * 100 >= clear * share && found > plain);
    assert!(wrong <= (clear / 500).max(1));
}

struct Row {
    name: String,
    ours: Tally,
    plain: Tally,
}

impl Row {
    fn new(name: &str) -> Row {
        Row { name: name.to_owned(), ours: Tally::default(), plain: Tally::default() }
    }

    fn add(&mut self, levels: &[Vec<CpuSet>], observed: &Matrix<Option<Observation>>, truth: &Truth) {
        self.ours.add(&judge(levels, truth));
        self.plain.add(&judge(&plain::levels(observed), truth));
    }
}

/// The levels of the inferred structure; empty if it is refused.
fn levels(observed: &Matrix<Option<Observation>>) -> Vec<Vec<CpuSet>> {
    infer(observed).map(|structure| levels_of(&structure)).unwrap_or_default()
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:24} {}\n{:24} {}", self.name, self.ours, "   plain linkage", self.plain)
    }
}

fn published_table(files: &[Published]) -> (String, Row) {
    let mut table = String::new();
    let mut row = Row::new("published");
    for file in files {
        let levels = levels(&file.observed);
        let [ours, plain] =
            [&levels, &plain::levels(&file.observed)].map(|levels| judge(levels, &file.truth));
        let shape: Vec<String> =
            levels.iter().map(|groups| format!("{}×{}", groups.len(), groups[0].len())).collect();
        table += &format!("{:62} {ours} levels {:18} plain {plain}\n", file.name, shape.join(" "));
        row.ours.add(&ours);
        row.plain.add(&plain);
    }
    (table, row)
}

/// Scores disturbed copies of the files with 3 to 130 CPUs, kind by kind.
fn disturbed_rows(files: &[Published], seeds: u64) -> Vec<Row> {
    let small: Vec<&Published> =
        files.iter().filter(|file| (3..=130).contains(&file.observed.len())).collect();
    let of_kind = |kind: &&str| {
        let mut row = Row::new(kind);
        for (index, file) in small.iter().enumerate() {
            for seed in 0..seeds {
                let key = Key::from_words(&[seed, index as u64]);
                let Some(worse) = published::disturb(file, kind, key) else { continue };
                row.add(&levels(&worse.observed), &worse.observed, &worse.truth);
            }
        }
        row
    };
    published::DISTURBANCES.iter().map(of_kind).collect()
}

type Make = fn(Key) -> Machine;

/// Scores planted structures, remeasuring cells that do not fit.
fn planted_rows(trials: u64) -> Vec<Row> {
    let calm = Weather { noise: 0.03, bad: 0.0, step: 0.0 };
    let rough = Weather { noise: 0.05, bad: 0.05, step: 0.0 };
    let coarse = Weather { noise: 0.02, bad: 0.02, step: 0.3 };
    let still = Weather { noise: 0.01, bad: 0.0, step: 0.0 };
    let families: [(&str, Make, Weather); 9] = [
        ("trees", |key| planted::random_tree(key).renumbered(key), rough),
        ("trees, calm", planted::random_tree, calm),
        ("trees, coarse clock", |key| planted::random_tree(key).renumbered(key), coarse),
        ("small steps", |key| planted::small_steps(key).renumbered(key), still),
        ("hybrids", |key| planted::random_hybrid(key).renumbered(key), rough),
        ("one slow socket", |_| planted::slow_socket(1), rough),
        ("one slow socket, SMT", |key| planted::slow_socket(2).renumbered(key), rough),
        ("partial sockets", |key| planted::partial(key).renumbered(key), rough),
        ("partial sockets, calm", planted::partial, calm),
    ];
    thread::scope(|scope| {
        let rows = families
            .map(|(name, make, weather)| scope.spawn(move || planted_row(name, make, weather, trials)));
        rows.map(|row| row.join().unwrap()).into()
    })
}

fn planted_row(name: &str, make: Make, weather: Weather, trials: u64) -> Row {
    let mut row = Row::new(name);
    for trial in 0..trials {
        let key = Key::from_words(&[trial, 77]);
        let machine = make(key.with(1));
        let structure = machine.settled(weather, key.with(2));
        row.add(&levels_of(&structure), &machine.measured(weather, key.with(2)), &machine.truth);
    }
    row
}

fn flat_rows(trials: u64) -> Vec<Row> {
    let of_kind = |kind: &&str| {
        let mut row = Row::new(&format!("flat: {kind}"));
        for trial in 0..trials {
            for noise in [0.02, 0.08, 0.15, 0.25] {
                let key = Key::from_words(&[trial, 78]);
                let machine = planted::flat(kind, 3 + key.below(9, 38) as usize, key.with(1));
                let observed = machine.measured(Weather { noise, bad: 0.0, step: 0.0 }, key.with(2));
                row.add(&levels_of(&infer(&observed).unwrap()), &observed, &machine.truth);
            }
        }
        row
    };
    planted::FLAT.iter().map(of_kind).collect()
}
