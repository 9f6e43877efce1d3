//! Comparisons of placements with known truth.

use coretalk_model::place::{
    Metric, Open, PlaceOutcome, PlaceSettings, Placement, PlacementComparison, PlacementConditions,
    WorkSettings, analyse_places, effect, repetitions_due,
};
use coretalk_model::quantity::Better;
use coretalk_model::series::{Observed, PassOutcome, SeriesEntry, SeriesRecord};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Flag, Flags, Picos};

pub(super) fn settings(placements: usize) -> PlaceSettings {
    PlaceSettings {
        works: vec![WorkSettings::of_command(Vec::new())],
        placements: (0..placements).map(|i| Placement::bound(format!("place-{i}"), vec![CpuId(0)])).collect(),
        versus: None,
        threads: None,
        repeat: 10,
        min_effect: 0.01,
        precision: 0.02,
        budget: Picos::from_ms(60_000),
        seed: 1,
    }
}

/// Runs up to the stopping rule: placement `i` takes `times[i]`, with noise, a common drift, and a share of disturbed
/// runs.
fn runs(settings: &PlaceSettings, times: &[f64], noise: f64, disturbed: f64, sample: u64) -> SeriesRecord {
    let mut record = SeriesRecord::new();
    let mut repetition = 0;
    let all: Vec<usize> = (0..settings.placements.len()).collect();
    while repetitions_due(settings, &record, 0, &all) > 0 {
        for (placement, times) in times.iter().enumerate() {
            let key = Key::from_words(&[sample, u64::from(repetition), placement as u64]);
            let mut observed = Observed::default();
            for (index, name) in ["wall_s", "user_s", "system_s", "peak_memory_mb"].into_iter().enumerate() {
                let index = 2 * index as u64;
                let is_disturbed = key.uniform(index + 1) < disturbed;
                let slowdown = if is_disturbed { 1.0 + 0.2 * key.uniform(index + 100) } else { 1.0 };
                let drift = 1.0 + 0.001 * f64::from(repetition);
                observed.value(name, times * drift * slowdown * (1.0 + noise * key.normal(index)));
            }
            let outcome = Ok(PassOutcome { observed, ..PassOutcome::default() });
            record.push(SeriesEntry { segment: 0, pass: repetition, trial: placement as u32, outcome });
        }
        repetition += 1;
    }
    record
}

fn winner(found: &PlacementComparison) -> Option<(usize, f64)> {
    match &found.outcome {
        PlaceOutcome::Winner { winner, share, .. } => Some((*winner, share.point)),
        _ => None,
    }
}

#[test]
fn equal_placements_win_in_at_most_one_of_a_hundred_comparisons() {
    for (placements, samples, noise) in [(2, 0..1_000, 0.03), (3, 5_000..5_300, 0.02)] {
        let (settings, times) = (settings(placements), vec![1.0; placements]);
        let has_winner = |&sample: &u64| {
            let result = analyse_places(&settings, &runs(&settings, &times, noise, 0.1, sample));
            result.comparisons.iter().any(|found| winner(found).is_some())
        };
        let winners = samples.clone().filter(has_winner).count();
        assert!(100 * winners <= samples.count(), "{placements}: {winners}");
    }
}

#[test]
fn an_effect_is_found_with_its_size_and_its_side() {
    let settings = settings(3);
    for sample in 0..50 {
        let result =
            analyse_places(&settings, &runs(&settings, &[1.2, 1.0, 1.05], 0.01, 0.0, 9_000 + sample));
        let wall = &result.comparisons[0];
        let PlaceOutcome::Winner { winner, runner_up, share, p_value } = &wall.outcome else {
            panic!("{:?}", wall.outcome)
        };
        assert_eq!((*winner, *runner_up), (1, 2));
        assert!((share.point - 0.05).abs() < 0.02 && *p_value <= 0.01, "{share:?} {p_value}");
        let of_winner = wall.pairs.iter().filter(|pair| [pair.a, pair.b].contains(winner));
        assert_eq!(of_winner.filter_map(|pair| pair.p_value).reduce(f64::max), Some(*p_value));
    }
}

#[test]
fn equal_placements_are_the_same_with_precise_runs() {
    let settings = settings(2);
    let is_same = |&sample: &u64| {
        let record = runs(&settings, &[1.0, 1.0], 0.003, 0.0, 20_000 + sample);
        analyse_places(&settings, &record).comparisons[0].outcome == PlaceOutcome::Same { within: 0.01 }
    };
    let same = (0..100).filter(is_same).count();
    assert!(same >= 90, "{same} of 100");
}

#[test]
fn a_placement_without_runs_decides_nothing() {
    for found in analyse_places(&settings(2), &SeriesRecord::new()).comparisons {
        assert!(found.pairs.is_empty() || found.outcome == PlaceOutcome::CannotTell);
        assert!(found.arms.iter().all(|arm| arm.median.is_none()));
    }
}

fn record_of(settings: &PlaceSettings, outcome: impl Fn(u32, u32) -> PassOutcome) -> SeriesRecord {
    let mut record = SeriesRecord::new();
    for (pass, trial) in (0..settings.repeat).flat_map(|pass| [(pass, 0), (pass, 1)]) {
        record.push(SeriesEntry { segment: 0, pass, trial, outcome: Ok(outcome(pass, trial)) });
    }
    record
}

pub(super) fn observed(values: &[(&str, f64)]) -> Observed {
    let mut observed = Observed::default();
    values.iter().for_each(|&(name, value)| observed.value(name, value));
    observed
}

fn ran(wall_s: f64, core_ghz: f64, steal_ms: f32) -> PassOutcome {
    let observed = observed(&[("wall_s", wall_s), ("core_ghz", core_ghz)]);
    let elapsed = Picos::from_secs(wall_s);
    PassOutcome { observed, steal_ms: Some(steal_ms), elapsed, ..PassOutcome::default() }
}

/// A run of one task with these further values.
fn ran_task(wall_s: f64, values: &[(&str, f64)]) -> PassOutcome {
    let mut outcome = ran(wall_s, 3.0, 0.0);
    values.iter().for_each(|&(name, value)| outcome.observed.value(name, value));
    outcome.observed.count("tasks", 1);
    outcome
}

#[test]
fn clocks_steal_and_states_flag_only_the_affected_placement() {
    let settings = settings(2);
    let flags = |outcome: &dyn Fn(u32, u32) -> PassOutcome| {
        let result = analyse_places(&settings, &record_of(&settings, outcome));
        [0, 1].map(|number| result.doubts[number].flags)
    };
    let none = [Flags::NONE; 2];
    assert_eq!(flags(&|_, _| ran(1.0, 4.0, 0.0)), none);
    // Medians tolerate one disturbed run in ten.
    assert_eq!(flags(&|pass, _| ran(1.0, if pass == 3 { 3.0 } else { 4.0 }, 0.0)), none);
    // The clock drifts down by 4 % over the run, on both placements.
    let drift = flags(&|pass, _| ran(1.0, 4.0 * (1.0 - 0.0045 * f64::from(pass)), 0.0));
    assert!(drift.iter().all(|flags| flags.contains(Flag::Freq)), "{drift:?}");
    // The clock is constant, but differs between placements.
    let apart = flags(&|_, trial| ran(1.0, if trial == 0 { 4.0 } else { 3.8 }, 0.0));
    assert!(apart.iter().all(|flags| flags.contains(Flag::Freq)), "{apart:?}");
    // 20 ms of stolen time per second of one CPU, on the second placement.
    let stolen = flags(&|_, trial| ran(1.0, 4.0, if trial == 1 { 20.0 } else { 0.0 }));
    assert_eq!(stolen.map(|flags| flags.contains(Flag::Steal)), [false, true]);
    // The machine changes state in the middle, visible only on the first placement.
    let states = flags(&|pass, trial| ran(if trial == 0 && pass > 4 { 1.3 } else { 1.0 }, 4.0, 0.0));
    assert_eq!(states.map(|flags| flags.contains(Flag::Multimodal)), [true, false]);
}

#[test]
fn cpu_time_used_by_others_flags_only_the_affected_placement() {
    // Two placements of one CPU: seconds waited and seconds used by others, for each second of the work.
    let settings = settings(2);
    let flagged = |waited: Option<f64>, others: Option<f64>, tasks: u64| {
        let record = record_of(&settings, |_, trial| {
            let mut outcome = ran(if trial == 0 { 2.0 } else { 1.0 }, 3.0, 0.0);
            let observed = &mut outcome.observed;
            observed.value("user_s", 1.0);
            observed.value("system_s", 0.0);
            observed.count("tasks", tasks);
            for (name, share) in [("waited_s", waited), ("others_s", others)] {
                if let Some(share) = share {
                    observed.value(name, if trial == 0 { share } else { 0.0 });
                }
            }
            outcome
        });
        analyse_places(&settings, &record).doubts
    };
    let preempted =
        |doubts: &[PlacementConditions]| [0, 1].map(|number| doubts[number].flags.contains(Flag::Preempted));
    // Another program on the same CPU: half of the time is waiting, half of the CPU is used by others.
    let doubts = flagged(Some(1.0), Some(1.0), 1);
    assert_eq!(preempted(&doubts), [true, false]);
    assert_eq!((doubts[0].waited, doubts[0].others), (Some(0.5), Some(0.5)));
    assert_eq!((doubts[1].waited, doubts[1].others), (Some(0.0), Some(0.0)));
    // Threads that wait for each other, and programs that use only idle time.
    assert_eq!(preempted(&flagged(Some(1.0), Some(0.0), 2)), [false, false]);
    assert_eq!(preempted(&flagged(Some(0.0), Some(1.0), 1)), [false, false]);
    // With incomplete data, only the waiting of a single task is flagged.
    assert_eq!(preempted(&flagged(Some(1.0), None, 1)), [true, false]);
    assert_eq!(preempted(&flagged(Some(1.0), None, 2)), [false, false]);
    assert_eq!(preempted(&flagged(None, Some(1.0), 1)), [false, false]);
    assert_eq!(flagged(None, None, 1)[0].waited, None);
}

/// The comparison by headline if the second placement takes `ratio` of the time of the first, and each waits for its
/// share `waited` of the time while others use its CPU.
fn disturbed_by_others(ratio: f64, waited: [f64; 2], quota: bool) -> PlacementComparison {
    let settings = PlaceSettings { repeat: 14, ..settings(2) };
    let record = record_of(&settings, |pass, trial| {
        let wall_s = if trial == 1 { ratio } else { 1.0 } * jitter(pass, trial);
        let taken = waited[trial as usize] * wall_s;
        let values =
            [("user_s", wall_s - taken), ("system_s", 0.0), ("waited_s", taken), ("others_s", taken)];
        PassOutcome { quota, ..ran_task(wall_s, &values) }
    });
    analyse_places(&settings, &record).comparisons.remove(0)
}

#[test]
fn a_verdict_that_disturbances_can_reverse_is_withheld() {
    let wins = |found: &PlacementComparison| winner(found).map(|(winner, _)| winner);
    assert_eq!(wins(&disturbed_by_others(0.66, [0.0, 0.0], false)), Some(1));
    // The slower one waited half of its time and may be faster without that.
    let reversible = disturbed_by_others(0.66, [0.5, 0.5], false);
    assert_eq!(
        (reversible.outcome.clone(), reversible.open()),
        (PlaceOutcome::CannotTell, Some(Open::Disturbed))
    );
    // A disturbance of only the winner cannot reverse the result, and 10 % cannot reverse a difference of a third.
    assert_eq!(wins(&disturbed_by_others(0.66, [0.0, 0.5], false)), Some(1));
    assert_eq!(wins(&disturbed_by_others(0.66, [0.1, 0.1], false)), Some(1));
    // The time lost to a quota is unknown.
    assert_eq!(disturbed_by_others(0.66, [0.0, 0.0], true).open(), Some(Open::Disturbed));
    // Equality is withheld likewise.
    assert!(matches!(disturbed_by_others(1.0, [0.0, 0.0], false).outcome, PlaceOutcome::Same { .. }));
    assert_eq!(disturbed_by_others(1.0, [0.0, 0.5], false).open(), Some(Open::Disturbed));
}

#[test]
fn equal_values_are_the_same_despite_disturbances() {
    let works = vec![WorkSettings::of_command(vec![Metric::own("x", Better::Lower)])];
    let settings = PlaceSettings { works, repeat: 14, ..settings(2) };
    let open = |differs: f64| {
        let record = record_of(&settings, |pass, trial| {
            let x = 7.0 + if trial == 1 && pass == 3 { differs } else { 0.0 };
            let values = [("x", x), ("user_s", 0.5), ("system_s", 0.0), ("waited_s", 0.5), ("others_s", 0.5)];
            ran_task(jitter(pass, trial), &values)
        });
        let found = analyse_places(&settings, &record).comparisons;
        let of_x = found.into_iter().find(|found| found.metric.name == "x").unwrap();
        (matches!(of_x.outcome, PlaceOutcome::Same { .. }), of_x.open())
    };
    assert_eq!(open(0.0), (true, None));
    assert_eq!(open(0.001), (false, Some(Open::Disturbed)), "the difference may be due to the disturbance");
}

#[test]
fn medians_that_contradict_the_winner_leave_it_open() {
    // In two of five runs the second placement is twice as fast, in the others a little slower.
    let skewed = own_metric(Better::Lower, 0.01, |pass, trial| match (trial, pass % 5) {
        (0, _) => 1.0 + 0.01 * f64::from(pass),
        (_, 0 | 1) => 0.5 + 0.01 * f64::from(pass),
        _ => 1.0 + 0.01 * f64::from(pass) + 0.001,
    });
    let pair = &skewed.pairs[0];
    assert!(skewed.of_medians(0, 1).unwrap() > -0.05 && pair.share.unwrap().point < -0.05, "{skewed:?}");
    assert_eq!(winner(&skewed), None, "{skewed:?}");
    let plain =
        own_metric(Better::Lower, 0.01, |pass, trial| (1.0 + 0.2 * f64::from(trial)) * jitter(pass, trial));
    assert!(!plain.differs_from_medians(&plain.pairs[0]), "{plain:?}");
    assert!((plain.of_medians(0, 1).unwrap() - 0.2).abs() < 0.01, "{plain:?}");
}

fn own_metric(better: Better, min_effect: f64, value: impl Fn(u32, u32) -> f64) -> PlacementComparison {
    let works = vec![WorkSettings::of_command(vec![Metric::own("x", better)])];
    let settings = PlaceSettings { works, min_effect, ..settings(2) };
    let outcome = |pass, trial| {
        let observed = observed(&[("x", value(pass, trial))]);
        PassOutcome { observed, ..PassOutcome::default() }
    };
    analyse_places(&settings, &record_of(&settings, outcome)).comparisons.remove(0)
}

/// Relative noise, because real runs never repeat exactly.
fn jitter(pass: u32, trial: u32) -> f64 {
    1.0 + 0.001 * Key::from_words(&[u64::from(pass), u64::from(trial)]).uniform(0)
}

#[test]
fn the_smallest_effect_is_the_same_for_times_and_rates_and_from_both_sides() {
    for (ratio, wins) in [(1.52, true), (1.45, false)] {
        for slow in [0, 1] {
            let time = |pass, trial| if trial == slow { ratio } else { 1.0 } * jitter(pass, trial);
            let times = own_metric(Better::Lower, 0.5, time);
            let rates = own_metric(Better::Higher, 0.5, |pass, trial| 1.0 / time(pass, trial));
            for found in [times, rates] {
                let won = winner(&found);
                let expected = wins.then_some(1 - slow as usize);
                assert_eq!(won.map(|(winner, _)| winner), expected, "{ratio}: {found:?}");
                let is_near = |(_, share)| (effect(share) - (ratio - 1.0)).abs() < 0.01;
                assert!(won.is_none_or(is_near), "{ratio}: {found:?}");
            }
        }
    }
    // Significantly below the smallest effect: equal.
    let nearly = |pass, trial| if trial == 0 { 1.3 } else { 1.0 } * jitter(pass, trial);
    let near = own_metric(Better::Lower, 0.5, nearly);
    assert_eq!(near.outcome, PlaceOutcome::Same { within: 0.5 });
}

#[test]
fn below_six_runs_there_is_no_interval() {
    for (made, interval) in [(1, false), (5, false), (6, true)] {
        let short = PlaceSettings { repeat: made, ..settings(2) };
        let record = record_of(&short, |pass, trial| ran(jitter(pass, trial), 4.0, 0.0));
        let wall = analyse_places(&settings(2), &record).comparisons.remove(0);
        assert!(wall.arms.iter().all(|arm| arm.median.is_some() && arm.interval().is_some() == interval));
        assert_eq!(wall.pairs[0].interval().is_some(), interval, "{made}");
    }
}

#[test]
fn an_interrupted_repetition_is_ignored() {
    let settings = settings(2);
    let mut record = SeriesRecord::new();
    // The third repetition was interrupted at the end of a segment; the next segment began with the fourth.
    for (segment, pass, trial) in
        [(0, 0, 1), (0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 2, 1), (1, 3, 0), (1, 3, 1), (1, 4, 0)]
    {
        let outcome = Ok(ran(f64::from(10 * pass + trial), 4.0, 0.0));
        record.push(SeriesEntry { segment, pass, trial, outcome });
    }
    let wall = analyse_places(&settings, &record).comparisons.remove(0);
    for (arm, trial) in wall.arms.iter().zip([0.0, 1.0]) {
        assert_eq!(arm.repetitions, [0, 1, 3]);
        assert_eq!(arm.runs, [trial, 10.0 + trial, 30.0 + trial]);
    }
    // Without a complete repetition, incomplete ones are reported.
    let mut record = SeriesRecord::new();
    record.push(SeriesEntry { segment: 0, pass: 0, trial: 1, outcome: Ok(ran(2.0, 4.0, 0.0)) });
    let wall = analyse_places(&settings, &record).comparisons.remove(0);
    assert_eq!((wall.arms[0].runs.len(), wall.arms[1].runs.clone()), (0, vec![2.0]));
}

#[test]
fn zeros_are_farther_away_than_any_other_number() {
    // A run shorter than a tick of the system's clock does not change the result of the others.
    let one = own_metric(Better::Lower, 0.01, |pass, trial| {
        if (pass, trial) == (3, 0) { 0.0 } else { (1.0 + 0.2 * f64::from(trial)) * jitter(pass, trial) }
    });
    let (winning, share) = winner(&one).unwrap();
    assert!(winning == 0 && (share - 0.2).abs() < 0.01, "{share}");
    let zero_or = |better| own_metric(better, 0.01, |_, trial| 5.0 * f64::from(trial));
    assert_eq!(winner(&zero_or(Better::Lower)), Some((0, f64::INFINITY)));
    assert_eq!(winner(&zero_or(Better::Higher)), Some((1, -1.0)));
    assert_eq!(own_metric(Better::Lower, 0.01, |_, _| 0.0).outcome, PlaceOutcome::Same { within: 0.01 });
}

#[test]
fn numbers_below_zero_have_no_ratio_and_are_not_tested() {
    let below = own_metric(Better::Lower, 0.01, |_, trial| -1.0 - f64::from(trial));
    assert_eq!((below.pairs[0].share, below.pairs[0].p_value), (None, None));
    assert_eq!(below.outcome, PlaceOutcome::CannotTell);
}

#[test]
fn numbers_of_any_size_are_compared() {
    let huge =
        own_metric(Better::Lower, 0.01, |pass, trial| 1e300 * (1.0 + f64::from(trial)) * jitter(pass, trial));
    let (winning, share) = winner(&huge).unwrap();
    assert!(winning == 0 && (share - 1.0).abs() < 0.01, "{share}");
    let apart = own_metric(Better::Higher, 0.01, |_, trial| if trial == 0 { 1e300 } else { 1e-300 });
    assert_eq!(winner(&apart).map(|(winner, _)| winner), Some(0));
}
