//! Tests of inference on small handmade matrices; tests on whole machines are in `tests/inference.rs`.

use super::*;
use crate::stats::Key;
use crate::tests::{nested, observed};
use crate::{CpuId, CpuSet, Matrix};

fn sparse(cpus: u32, cell: impl Fn(usize, usize) -> Option<f64>) -> Matrix<Option<Observation>> {
    Matrix::symmetric((0..cpus).map(CpuId).collect(), |row, column| cell(row, column).map(Observation::bare))
}

fn inferred(cpus: u32, ns: impl FnMut(usize, usize) -> f64) -> Structure {
    infer(observed(cpus, ns)).unwrap()
}

pub(super) fn groups(structure: &Structure) -> Vec<Vec<String>> {
    structure.levels.iter().map(|level| level.groups.iter().map(ToString::to_string).collect()).collect()
}

/// Number of groups and size of the first group, level by level.
fn sizes(levels: &[InferredLevel]) -> Vec<(usize, usize)> {
    levels.iter().map(|level| (level.groups.len(), level.groups[0].len())).collect()
}

/// Suspect pairs; noise alone sometimes moves a correct pair by a tenth.
fn listed(structure: &Structure) -> Vec<[CpuId; 2]> {
    let is_off = |suspect: &&Suspect| suspect.ratio.is_none_or(|ratio| !(0.8..1.25).contains(&ratio));
    structure.suspects.iter().filter(is_off).map(|suspect| suspect.pair).collect()
}

fn noise(key: Key, share: f64, row: usize, column: usize) -> f64 {
    1.0 + share * key.normal((row * 64 + column) as u64)
}

fn desktop(row: usize, column: usize) -> f64 {
    let noise = 1.0 + 0.02 * Key::from_words(&[3]).normal((row * 8 + column) as u64);
    noise * if row % 4 == column % 4 { 7.0 } else { 24.0 }
}

#[test]
fn too_few_cpus_have_no_structure() {
    for cpus in 0..3 {
        let refusal = infer(observed(cpus, |_, _| 20.0)).unwrap_err();
        assert_eq!(refusal, InferError::TooFew { cpus: cpus as usize });
    }
}

#[test]
fn impossible_values_are_refused_with_their_pair() {
    for bad in [-3.0, f64::INFINITY, f64::NAN] {
        let ns = |row, column| if (row, column) == (4, 1) { bad } else { 20.0 };
        let refusal = infer(observed(6, ns)).unwrap_err();
        let InferError::Impossible { from, to, .. } = refusal else { panic!("{refusal:?}") };
        assert_eq!([from.min(to), from.max(to)], [CpuId(1), CpuId(4)]);
    }
}

#[test]
fn a_sparse_matrix_is_refused() {
    let refusal = infer(sparse(8, |row, column| (row == column + 1).then_some(20.0))).unwrap_err();
    assert_eq!(refusal, InferError::TooSparse { known: 7, of: 28 });
}

#[test]
fn equal_cells_are_uniform_and_no_level() {
    for ns in [20.0, 0.0] {
        let structure = inferred(6, |_, _| ns);
        assert_eq!(
            (structure.levels.len(), structure.shape),
            (0, ValueShape::Uniform { scatter: 0.0 }),
            "{ns}"
        );
    }
    assert_eq!(inferred(6, |_, _| 20.0).suspects, []);
}

#[test]
fn zeros_make_no_groups_and_are_missing() {
    let structure = inferred(8, |row, column| match (row, column) {
        (2, 1) | (4, 0) | (5, 3) | (7, 6) => 0.0,
        _ => 25.0 + ((row + column) % 3) as f64,
    });
    assert_eq!(structure.levels, []);
    let doubts = structure.suspects.iter().map(|zero| (zero.doubt, zero.ratio));
    assert_eq!(doubts.collect::<Vec<_>>(), [(SuspectReason::Missing, None); 4]);
}

#[test]
fn a_cpu_without_values_is_left_out_and_named() {
    let structure = infer(sparse(9, |row, column| (row < 8).then(|| desktop(row, column)))).unwrap();
    assert_eq!(structure.left_out, [CpuId(8)]);
    assert_eq!(groups(&structure), [["0,4", "1,5", "2,6", "3,7"]]);
}

#[test]
fn a_missing_sibling_is_paired_by_elimination_and_listed() {
    let seen = sparse(8, |row, column| ((row, column) != (6, 2)).then(|| desktop(row, column)));
    let structure = infer(seen).unwrap();
    assert_eq!(groups(&structure), [["0,4", "1,5", "2,6", "3,7"]]);
    assert_eq!(structure.levels[0].by_elimination, [[CpuId(2), CpuId(6)]]);
    let missing = structure.suspects.iter().find(|suspect| suspect.doubt == SuspectReason::Missing).unwrap();
    assert_eq!((missing.pair, missing.ratio), ([CpuId(2), CpuId(6)], None));
}

#[test]
fn a_disturbed_sibling_is_a_suspect() {
    let structure =
        inferred(8, |row, column| if (row, column) == (6, 2) { 25.0 } else { desktop(row, column) });
    assert_eq!(groups(&structure), [["0,4", "1,5", "3,7"]]);
    assert!(structure.suspects.iter().any(|suspect| suspect.pair == [CpuId(2), CpuId(6)]), "{structure:?}");
}

#[test]
fn all_but_the_slow_cpu_is_no_cluster() {
    let structure = inferred(8, |row, _| if row == 7 { 90.0 } else { 20.0 });
    assert!(structure.levels.is_empty(), "{structure:?}");
    // CPU 7 may be the only CPU of another die: the shape is reported as unknown, not as uniform.
    assert_eq!(structure.shape, ValueShape::TooFew);
    let (group, but) = structure.all_but_one().next().unwrap();
    assert_eq!((group.cpus.to_string(), but), ("0-6".to_owned(), CpuId(7)));
    assert_eq!([group.inside, group.across].map(|ns| ns.unwrap().round()), [20.0, 90.0]);
}

#[test]
fn a_report_decides_whether_a_lone_cpu_is_far() {
    use crate::Level;
    use crate::tests::topology;
    let seen = observed(5, |row, _| if row == 4 { 85.0 } else { 18.0 });
    for (groups, reported) in [(&["0-3", "4"][..], vec![Level::L3]), (&[], vec![])] {
        let findings = Findings::of_matrix(&seen, &topology("0-4", &[(Level::L3, groups)]));
        let [lone] = &findings.lone_cpus()[..] else { panic!("{findings:?}") };
        assert_eq!((lone.cpu, &lone.reported), (CpuId(4), &reported));
    }
}

#[test]
fn a_cpu_of_its_own_is_a_group_of_one() {
    let structure = inferred(7, |row, column| if row / 3 == column / 3 { 20.0 } else { 90.0 });
    assert_eq!(groups(&structure), [["0-2", "3-5"]]);
    assert_eq!(structure.levels[0].single.to_string(), "6");
    // A CPU that is slow to all others is not separated from its die.
    let structure = inferred(6, |row, column| {
        let factor = if row == 5 || column == 5 { 3.0 } else { 1.0 };
        factor * if row / 3 == column / 3 { 20.0 } else { 150.0 }
    });
    assert!(!groups(&structure).iter().flatten().any(|group| group == "3-4"), "{structure:?}");
}

#[test]
fn one_group_and_single_cpus_are_a_level() {
    let structure = inferred(16, |row, column| {
        let noise = 1.0 + 0.01 * Key::from_words(&[5]).normal((row * 16 + column) as u64);
        noise * if row < 8 && column < 8 { 50.0 } else { 120.0 }
    });
    assert_eq!(groups(&structure), [["0-7"]]);
    assert_eq!(structure.levels[0].single.to_string(), "8-15");
    assert!(structure.hints.is_empty());
}

#[test]
fn small_steps_between_many_pairs_are_levels() {
    for (trial, (count, size)) in [(2, 6), (3, 4), (4, 4), (2, 10), (4, 8)].into_iter().enumerate() {
        let key = Key::from_words(&[12, trial as u64]);
        let structure = inferred((count * size) as u32, |row, column| {
            noise(key, 0.002, row, column) * if row / size == column / size { 100.0 } else { 109.0 }
        });
        let [level] = &structure.levels[..] else { panic!("{structure:?}") };
        let found: Vec<usize> = level.groups.iter().map(CpuSet::len).collect();
        assert_eq!(found, vec![size; count], "{structure:?}");
    }
}

/// 64 CPUs: cores of two threads at 8 ns, caches of eight CPUs at 20, sockets of 32 at 45, 110 across.
fn server(row: usize, column: usize) -> f64 {
    noise(Key::from_words(&[17]), 0.02, row, column)
        * nested(&[(2, 8.0), (8, 20.0), (32, 45.0)], 110.0, row, column)
}

#[test]
fn a_few_pairs_that_are_too_near_do_not_hide_a_level_and_are_named() {
    let near = |seed: u64, pairs: u64, ns: f64| {
        let key = Key::from_words(&[18, seed]);
        let wrong: Vec<(usize, usize)> = (0..pairs)
            .map(|pair| (32 + key.below(2 * pair, 32) as usize, key.below(2 * pair + 1, 32) as usize))
            .collect();
        let structure = inferred(64, |row, column| {
            let fits = server(row, column);
            if wrong.contains(&(row, column)) { ns * fits / fits.round() } else { fits }
        });
        (structure, wrong)
    };
    for (seed, ns) in [(0, 45.0), (1, 45.0), (2, 20.0), (3, 8.0), (4, 4.0)] {
        let (structure, wrong) = near(seed, 20, ns);
        assert_eq!(sizes(&structure.levels), [(32, 2), (8, 8), (2, 32)], "seed {seed}, {ns} ns");
        assert_eq!(structure.contradictory, 0);
        for &(row, column) in &wrong {
            let pair = [CpuId(column as u32), CpuId(row as u32)];
            let found = structure.unfit().find(|suspect| suspect.pair == pair);
            let ratio = found.and_then(|suspect| suspect.ratio).unwrap_or_else(|| panic!("{pair:?}"));
            assert!((ratio / (ns / 110.0) - 1.0).abs() < 0.1, "{pair:?}: {ratio}");
        }
        assert_eq!(structure.levels[2].across.map(|ns| (ns / 10.0).round()), Some(11.0));
    }
    // Many wrong pairs also contradict correct ones, but correct values fit and must not be reported.
    for seed in 0..4 {
        let fits = |ratio: f64| (0.75..1.3).contains(&ratio);
        let (structure, _) = near(seed, 60, 8.0);
        let named = structure.unfit().find(|suspect| suspect.ratio.is_some_and(fits));
        assert_eq!((structure.contradictory, named), (0, None), "seed {seed}");
    }
    // A block of four by four copied cells: the CPUs of two caches are as near as those of one socket.
    let block = |row, column| if row >= 60 && column < 4 { server(60, 32) } else { server(row, column) };
    let structure = inferred(64, block);
    assert_eq!(sizes(&structure.levels), [(32, 2), (8, 8), (2, 32)]);
    assert_eq!(structure.unfit().count(), 16);
    // More contradictions than disturbance can explain are reported, because groups may be hidden.
    let (structure, _) = near(5, 300, 45.0);
    assert!(structure.contradictory > 100, "{}", structure.contradictory);
}

/// Groups of one size, 20 ns inside and 60 outside, with noise of 3 %; the pairs in `wrong` read 20.
fn grouped(cpus: u32, size: usize, wrong: &[(usize, usize)], seed: u64) -> Structure {
    let key = Key::from_words(&[19, seed]);
    inferred(cpus, |row, column| {
        let is_near = row / size == column / size || wrong.contains(&(column, row));
        noise(key, 0.03, row, column) * if is_near { 20.0 } else { 60.0 }
    })
}

#[test]
fn a_pair_that_is_too_near_hides_no_level_of_small_groups_and_is_listed() {
    for (cpus, size, wrong) in [
        (16, 4, &[(0, 4)][..]),
        (16, 4, &[(0, 4), (0, 5)]),
        (16, 4, &[(0, 4), (9, 14)]),
        (32, 4, &[(2, 30)]),
        (32, 4, &[(0, 4), (0, 8)]),
        (8, 4, &[(1, 6)]),
        (8, 4, &[(0, 4), (1, 5)]),
        (12, 3, &[(0, 3)]),
        (8, 2, &[(0, 2)]),
        (16, 2, &[(3, 4), (8, 10)]),
        (256, 2, &[(0, 2)]),
    ] {
        for seed in 0..if cpus > 128 { 2 } else { 20 } {
            let structure = grouped(cpus, size, wrong, seed);
            let [level] = &structure.levels[..] else { panic!("{cpus} {wrong:?} {seed}: {structure:?}") };
            let sizes: Vec<usize> = level.groups.iter().map(CpuSet::len).collect();
            assert_eq!(sizes, vec![size; cpus as usize / size], "{cpus} {wrong:?} {seed}");
            let expected: Vec<_> = wrong.iter().map(|&(a, b)| [a, b].map(|cpu| CpuId(cpu as u32))).collect();
            assert_eq!(listed(&structure), expected, "{cpus} {seed}");
            assert_eq!(structure.contradictory, 0, "{cpus} {wrong:?} {seed}");
        }
    }
}

#[test]
fn ambiguous_wrong_pairs_are_contradictory() {
    // The chain 1-0-2-3-4-5 of near pairs may be 0,1 2,3 4,5 with two wrong pairs, or another structure.
    for seed in 0..10 {
        let structure = grouped(8, 2, &[(0, 2), (3, 4)], seed);
        let is_right = groups(&structure) == [["0,1", "2,3", "4,5", "6,7"]];
        assert!(structure.contradictory > 0 || is_right, "{seed}: {structure:?}");
        let clean = grouped(8, 2, &[], seed);
        assert_eq!((clean.contradictory, clean.levels[0].groups.len()), (0, 4));
    }
}

#[test]
fn contradictory_pairs_name_no_group_and_list_no_cell() {
    // The wrong pairs close a ring of four CPUs, either two opposite sides of which may be correct.
    let ring = [(0, 2), (1, 3)];
    let open = ["0,1", "2,3", "0,2", "1,3"];
    let mut contradictory = 0;
    for (cpus, seed) in [4, 8, 16].into_iter().flat_map(|cpus| (0..10).map(move |seed| (cpus, seed))) {
        let structure = grouped(cpus, 2, &ring, seed);
        if structure.contradictory == 0 {
            continue;
        }
        contradictory += 1;
        let doubted = structure.suspects.iter().filter(|cell| cell.doubt == SuspectReason::Contradictory);
        assert_eq!(doubted.count(), structure.contradictory, "{cpus} {seed}: {structure:?}");
        assert!(structure.levels.iter().all(|level| level.single.is_empty()), "{cpus} {seed}: {structure:?}");
        let named = |name: &String| open.contains(&name.as_str());
        assert!(!groups(&structure).iter().flatten().any(named), "{cpus} {seed}: {structure:?}");
        let listed = structure.unfit().map(|cell| format!("{},{}", cell.pair[0], cell.pair[1]));
        assert_eq!(listed.filter(named).count(), 0, "{cpus} {seed}: {structure:?}");
    }
    assert!(contradictory > 0);
}

#[test]
fn disturbed_cells_that_make_pairs_contradict_are_measured_again() {
    let disturbed = [([0, 3], 45.0), ([1, 2], 43.0), ([1, 4], 86.0), ([1, 5], 90.0)];
    let structure = inferred(16, |row, column| {
        let at = disturbed.iter().find(|(pair, _)| *pair == [column, row]);
        at.map_or_else(|| nested(&[(2, 8.0), (8, 24.0)], 200.0, row, column), |(_, ns)| *ns)
    });
    assert!(structure.contradictory > 0, "{structure:?}");
    for (pair, _) in disturbed {
        let pair = pair.map(|cpu| CpuId(cpu as u32));
        assert!(structure.suspects.iter().any(|cell| cell.pair == pair), "{pair:?}: {structure:?}");
    }
}

#[test]
fn a_cpu_that_is_slow_to_all_but_its_sibling_contradicts_nothing() {
    for cpus in [8, 12, 32] {
        let structure = inferred(cpus, |row, column| {
            let slow = if row == 6 || column == 6 { 3.0 } else { 1.0 };
            if row / 2 == column / 2 { 27.0 } else { 115.0 * slow }
        });
        let found = structure.levels[0].groups.len();
        assert_eq!((found, structure.contradictory), (cpus as usize / 2, 0), "{structure:?}");
    }
}

#[test]
fn noise_alone_rarely_makes_a_pair_unfit() {
    // There are only four cells between two pairs, so their median is close to each of them.
    for (cpus, size) in [(32, 2), (16, 2), (32, 4), (16, 4)] {
        let has_unfit = |&seed: &u64| grouped(cpus, size, &[], seed).unfit().next().is_some();
        let seeds = (0..40).filter(has_unfit).count();
        assert!(seeds <= 8, "{cpus} {size}: {seeds} of 40");
    }
    // Of 32,640 cells, one in 16,000 is four deviations off.
    let listed: usize = (0..4).map(|seed| grouped(256, 2, &[], seed).unfit().count()).sum();
    assert!(listed <= 1, "{listed}");
}

#[test]
fn one_step_of_a_clock_makes_no_pair_unfit() {
    // Two values; the nearer one occurs at random.
    let is_nearer = |row, column| Key::from_words(&[20]).below((row * 24 + column) as u64, 16) == 0;
    let seen = observed(24, |row, column| if is_nearer(row, column) { 25.0 } else { 50.0 });
    assert!(infer(&seen).unwrap().unfit().count() > 0);
    let structure = infer_of_step(&seen, 25.0).unwrap();
    assert_eq!((structure.unfit().count(), structure.levels.len()), (0, 0));
    assert!(matches!(structure.shape, ValueShape::Uniform { .. }), "{:?}", structure.shape);
}

#[test]
fn in_a_chain_of_levels_those_two_steps_apart_stay() {
    let chain = observed(32, |row, column| {
        let steps = [2, 4, 8, 16].iter().filter(|&&size| row / size != column / size).count();
        5.2 * (3 + steps) as f64
    });
    assert_eq!(sizes(&infer(&chain).unwrap().levels), [(16, 2), (8, 4), (4, 8), (2, 16)]);
    let structure = infer_of_step(&chain, 5.2).unwrap();
    assert_eq!(sizes(&structure.levels), [(16, 2), (4, 8)]);
    assert_eq!(sizes(&structure.dropped), [(8, 4), (2, 16)]);
    let apart = |level: &InferredLevel| (level.across.unwrap() - level.inside.unwrap().point) / 5.2;
    assert!(structure.dropped.iter().all(|level| (apart(level) - 1.0).abs() < 1e-9));
    assert!(structure.levels.iter().all(|level| apart(level) > STEPS_APART));
}

#[test]
fn one_pair_inside_groups_is_a_level() {
    let structure = inferred(8, |row, column| match (row, column) {
        (1, 0) => 10.0,
        _ if row / 4 == column / 4 => 35.0,
        _ => 80.0,
    });
    assert_eq!(groups(&structure), [vec!["0,1"], vec!["0-3", "4-7"]]);
    assert!(structure.suspects.is_empty(), "{structure:?}");
}

#[test]
fn groups_visible_in_only_one_socket_are_no_level() {
    // Clusters of 8; pairs within one socket of 64 and within half of the other are nearer than all others.
    let structure = inferred(128, |row, column| match (row, row / 8 == column / 8) {
        (_, true) => 30.0,
        (0..64, _) => 100.0,
        (64..96, _) if column >= 64 => 140.0,
        _ => 200.0,
    });
    assert_eq!(sizes(&structure.levels), [(16, 8)]);
}

#[test]
fn a_kind_of_cores_is_no_level() {
    // Cores of two kinds that each add a constant: 40 ns among the fast, 100 among the slow, 70 between.
    let share = |cpu: usize| if cpu < 4 { 20.0 } else { 50.0 };
    let structure = inferred(8, |row, column| share(row) + share(column));
    assert!(structure.levels.is_empty(), "{structure:?}");
    assert!(matches!(structure.shape, ValueShape::Continuous { .. }), "{:?}", structure.shape);
}

#[test]
fn unequal_pairs_of_few_cpus_are_undecided() {
    for (cpus, ns) in [(3, [20.0, 20.0, 20.0]), (3, [20.0, 85.0, 85.0]), (4, [20.0, 40.0, 60.0])] {
        let structure = inferred(cpus, |row, column| ns[(row + column - 1) % 3]);
        assert_eq!(structure.shape, ValueShape::TooFew, "{ns:?}");
    }
}

#[test]
fn a_line_of_cpus_is_continuous_and_keeps_its_order() {
    let cpus = [4u32, 0, 7, 2, 5, 1, 6, 3];
    let structure = infer(Matrix::symmetric(cpus.map(CpuId).to_vec(), |row, column| {
        Some(Observation::bare(10.0 * f64::from(cpus[row].abs_diff(cpus[column]))))
    }))
    .unwrap();
    let ValueShape::Continuous { layout, scatter } = structure.shape else { panic!("{structure:?}") };
    assert_eq!(layout.order, (0..8).map(CpuId).collect::<Vec<_>>());
    assert!(scatter > 0.3);
}

#[test]
fn directions_are_averaged_and_either_may_be_missing() {
    let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
    let structure = infer(Matrix::directed(cpus, |row, column| {
        // Clocks that differ by 3 ns make one direction faster.
        let offset = 3.0 * (row as f64 - column as f64) / 8.0;
        (row != column && (row, column) != (1, 3))
            .then(|| Observation::bare(desktop(row.max(column), row.min(column)) + offset))
    }))
    .unwrap();
    assert_eq!(groups(&structure), [["0,4", "1,5", "2,6", "3,7"]]);
    let inside = structure.levels[0].inside.unwrap();
    assert!((inside.point - 7.0).abs() < 0.3 && inside.low <= inside.point && inside.point <= inside.high);
}

#[test]
fn another_numbering_gives_the_same_groups() {
    for trial in 0..20 {
        let mut names: Vec<usize> = (0..24).collect();
        Key::from_words(&[9, trial]).shuffle(&mut names);
        let structure = inferred(24, |row, column| {
            let (a, b) = (names[row], names[column]);
            let noise = 1.0 + 0.03 * Key::from_words(&[8]).normal((a.max(b) * 24 + a.min(b)) as u64);
            noise * nested(&[(2, 8.0), (8, 20.0)], 85.0, a, b)
        });
        assert_eq!(sizes(&structure.levels), [(12, 2), (3, 8)]);
        for (size, level) in [2, 8].into_iter().zip(&structure.levels) {
            for group in &level.groups {
                let planted: Vec<usize> = group.iter().map(|cpu| names[cpu.index()] / size).collect();
                assert_eq!(planted, vec![planted[0]; size], "{group}");
            }
        }
        assert_eq!(structure.nearest_level(CpuId(0), CpuId(0)), Some(0));
    }
}

#[test]
fn clear_levels_are_reproduced() {
    let seen = observed(8, desktop);
    let keys = (0..10).map(|trial| Key::from_words(&[trial]));
    assert_eq!(repeatability(&seen, &infer(&seen).unwrap(), keys), Ok(vec![vec![true]; 10]));
}

/// Nested groups, finest first, with noise of 3 % and CPUs that are slower or faster to all by 2 %; `wrong` random
/// pairs read as near as pairs of the finest groups. Returns whether exactly the planted levels are found and exactly
/// the wrong pairs are listed; `None` if groups are reported as hidden.
fn recovers_levels(cpus: usize, sizes: &[(usize, f64)], rest: f64, wrong: usize, seed: u64) -> Option<bool> {
    let key = Key::from_words(&[21, seed]);
    let nearest = sizes[0].1;
    let mut drawn: Vec<[usize; 2]> = (0..cpus)
        .flat_map(|high| (0..high).map(move |low| [low, high]))
        .filter(|&[low, high]| nested(sizes, rest, low, high) > nearest)
        .collect();
    key.with(1).shuffle(&mut drawn);
    drawn.truncate(wrong);
    let cpu_factor = |cpu: usize| 1.0 + 0.02 * key.with(2).normal(cpu as u64);
    let structure = inferred(cpus as u32, |row, column| {
        let is_wrong = drawn.contains(&[column, row]);
        let ns = if is_wrong { nearest } else { nested(sizes, rest, row, column) };
        noise(key, 0.03, row, column) * cpu_factor(row) * cpu_factor(column) * ns
    });
    let mut listed: Vec<_> = listed(&structure).iter().map(|pair| pair.map(CpuId::index)).collect();
    listed.sort_unstable();
    drawn.sort_unstable();
    let found = structure.levels.iter().map(|level| level.groups.iter().map(CpuSet::len).collect::<Vec<_>>());
    let is_right = found.eq(sizes.iter().map(|(size, _)| vec![*size; cpus / size])) && listed == drawn;
    (is_right || structure.contradictory == 0).then_some(is_right)
}

#[test]
fn a_pair_that_is_too_near_hides_no_level_that_is_half_again_as_far() {
    let (mut all, mut right, mut hidden) = (0, 0, 0);
    for (cpus, sizes, rest) in [
        (8, &[(4, 20.0)][..], 30.0),
        (16, &[(4, 20.0)], 32.0),
        (12, &[(3, 20.0)], 33.0),
        (16, &[(8, 20.0)], 30.0),
        (16, &[(2, 20.0)], 33.0),
        (16, &[(2, 8.0), (8, 25.0)], 40.0),
        (32, &[(2, 8.0), (8, 25.0)], 40.0),
    ] {
        for (wrong, seed) in [1, 2].into_iter().flat_map(|wrong| (0..20).map(move |seed| (wrong, seed))) {
            let recovered = recovers_levels(cpus, sizes, rest, wrong, seed);
            all += 1;
            right += u32::from(recovered == Some(true));
            hidden += u32::from(recovered.is_none());
        }
        let clean = (0..20).filter(|&seed| recovers_levels(cpus, sizes, rest, 0, seed) == Some(true)).count();
        assert!(clean >= 19, "{cpus} {sizes:?}: {clean} of 20");
    }
    let case = format!("{right} right, {hidden} hidden of {all}");
    assert!(right * 100 >= 94 * all && (right + hidden) * 100 >= 98 * all, "{case}");
}

#[test]
fn a_pair_that_is_too_far_hides_no_level_of_small_groups_and_is_listed() {
    for (cpus, size, across) in [(8, 4, 30.0), (8, 4, 60.0), (12, 3, 32.0), (12, 3, 60.0), (16, 4, 30.0)] {
        for (factor, seed) in
            [2.0, 3.0, 10.0].into_iter().flat_map(|factor| (0..10).map(move |seed| (factor, seed)))
        {
            let key = Key::from_words(&[22, seed]);
            let structure = inferred(cpus, |row, column| {
                let ns = if row / size == column / size { 20.0 } else { across };
                noise(key, 0.02, row, column) * ns * if (row, column) == (2, 1) { factor } else { 1.0 }
            });
            let case = format!("{cpus}/{size} {factor} {seed}: {structure:?}");
            let [level] = &structure.levels[..] else { panic!("{case}") };
            assert_eq!(level.groups.len(), cpus as usize / size, "{case}");
            assert_eq!(listed(&structure), [[CpuId(1), CpuId(2)]], "{case}");
        }
    }
}
