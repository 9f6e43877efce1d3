//! Comparisons of commands with known truth: the noise is that of a real guest, the effects and disturbances are planted.
//!
//! `samples/versus-noise.csv` holds 3,200 runs in a row of one command of 55 ms on a CPU of a guest with two CPUs
//! (2026-11-30): the wall time relative to the median, the time in ms that the host took, and whether other programs
//! disturbed the run. Each comparison draws a window of it, so that drift and states of the machine remain. With
//! `CORETALK_TEST_ACCEPTANCE=1` the numbers of comparisons are those of the acceptance test.

use super::place::observed;
use coretalk_model::place::{
    ArmCommand, CONTROL, Difference, DropCause, Open, PairVerdict, PlaceResult, PlaceSettings, Placement,
    Rounds, VersusSettings, analyse_places, looks, repetitions_due,
};
use coretalk_model::series::{PassOutcome, SeriesEntry, SeriesRecord};
use coretalk_model::stats::{Key, latin};
use coretalk_model::{CpuId, Picos};

const WALL_S: f64 = 0.055;
/// Time between runs in seconds, for the pause, the start and the observation: as measured on that guest.
const PAUSE_S: f64 = 0.0076;
const BUDGET_S: f64 = 60.0;
const BASELINE: usize = 0;
const CONTROL_ARM: usize = 1;
const NEW: usize = 2;

fn settings() -> PlaceSettings {
    let names = ["old", CONTROL, "new"];
    let placements = names.map(|name| Placement::bound(name, vec![CpuId(0)])).to_vec();
    PlaceSettings {
        versus: Some(VersusSettings {
            arms: vec![ArmCommand::default(); placements.len()],
            control: Some(CONTROL_ARM),
        }),
        placements,
        budget: Picos::from_secs(BUDGET_S),
        ..super::place::settings(0)
    }
}

#[derive(Clone, Copy)]
struct Noise {
    /// Wall time relative to the median.
    wall: f64,
    steal_ms: f32,
    preempted: bool,
}

/// The recorded runs, with their deviations from the median times `scale`.
fn noise(scale: f64) -> Vec<Noise> {
    let lines = include_str!("samples/versus-noise.csv").lines().skip(1);
    let of_line = |line: &str| {
        let [wall, steal_ms, preempted] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        Noise {
            wall: 1.0 + scale * (wall.parse::<f64>().unwrap() - 1.0),
            steal_ms: steal_ms.parse().unwrap(),
            preempted: preempted == "1",
        }
    };
    lines.map(of_line).collect()
}

/// What is planted in a run.
#[derive(Clone, Copy)]
struct Planted {
    /// Factor of its times.
    factor: f64,
    steal_ms: f32,
    preempted: bool,
    throttled: bool,
}

const NOTHING: Planted = Planted { factor: 1.0, steal_ms: 0.0, preempted: false, throttled: false };

/// What is planted, by arm, number of the run and key of the run.
type Plan<'a> = dyn Fn(usize, u64, Key) -> Planted + 'a;

fn slower_by(effect: f64) -> impl Fn(usize, u64, Key) -> Planted {
    move |arm, _, _| Planted { factor: if arm == NEW { 1.0 + effect } else { 1.0 }, ..NOTHING }
}

/// Runs a comparison up to the stopping rule or the budget.
fn compared(settings: &PlaceSettings, noise: &[Noise], sample: u64, plan: &Plan<'_>) -> PlaceResult {
    let key = Key::from_words(&[sample]);
    let arms = settings.placements.len();
    let all: Vec<usize> = (0..arms).collect();
    let mut record = SeriesRecord::new();
    let mut recorded = noise.iter().cycle().skip((key.uniform(0) * noise.len() as f64) as usize);
    let (mut round, mut runs, mut spent_s) = (0, 0, 0.0);
    while spent_s < BUDGET_S {
        let due = repetitions_due(settings, &record, 0, &all);
        if due == 0 {
            break;
        }
        for _ in 0..due {
            for arm in latin::turn(arms, round, key) {
                let run = recorded.next().unwrap();
                let own = key.with(u64::from(round)).with(arm as u64);
                let planted = plan(arm, runs, own);
                let run = Noise {
                    wall: run.wall * planted.factor,
                    steal_ms: run.steal_ms + planted.steal_ms,
                    preempted: run.preempted || planted.preempted,
                };
                let outcome = PassOutcome { quota: planted.throttled, ..outcome(run, own) };
                runs += 1;
                spent_s += outcome.elapsed.secs() + PAUSE_S;
                record.push(SeriesEntry { segment: 0, pass: round, trial: arm as u32, outcome: Ok(outcome) });
            }
            round += 1;
            if spent_s >= BUDGET_S {
                break;
            }
        }
    }
    record.complete = true;
    analyse_places(settings, &record)
}

fn outcome(run: Noise, key: Key) -> PassOutcome {
    let wall_s = WALL_S * run.wall;
    let lost_s = if run.preempted { 0.2 * wall_s } else { 0.0 };
    let mut observed = observed(&[
        ("wall_s", wall_s),
        ("user_s", 0.97 * wall_s * (1.0 + 0.002 * key.normal(1))),
        ("system_s", 0.02 * wall_s * (1.0 + 0.2 * key.normal(2))),
        ("peak_memory_mb", 9.0 + 0.05 * key.normal(3)),
        ("waited_s", lost_s),
        ("others_s", lost_s),
    ]);
    observed.count("tasks", 1);
    PassOutcome {
        elapsed: Picos::from_secs(wall_s),
        steal_ms: Some(run.steal_ms),
        observed,
        ..PassOutcome::default()
    }
}

fn verdicts(result: &PlaceResult) -> Vec<PairVerdict> {
    let pairs = result.comparisons.iter().filter_map(|found| found.pairs.get(NEW - 1));
    pairs.map(|pair| pair.verdict).collect()
}

fn differs(verdict: &PairVerdict) -> bool {
    matches!(verdict, PairVerdict::Better | PairVerdict::Worse)
}

fn covers(pair: &Difference, effect: f64) -> bool {
    let [low, high] = pair.interval().unwrap();
    low <= effect && effect <= high
}

fn samples(few: u64, acceptance: u64) -> u64 {
    if std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some() { acceptance } else { few }
}

/// A share with its 95 % interval (Wilson 1927).
fn wilson(found: u64, of: u64) -> [f64; 3] {
    let (n, z) = (of as f64, 1.959_964);
    let share = found as f64 / n;
    let center = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    [share, center - half, center + half]
}

#[test]
fn a_command_against_itself_is_decided_in_at_most_one_of_two_hundred() {
    let (settings, noise) = (settings(), noise(1.0));
    let comparisons = samples(200, 3_000);
    let mut decided = [0; 4];
    for sample in 0..comparisons {
        let result = compared(&settings, &noise, sample, &slower_by(0.0));
        for (decided, verdict) in decided.iter_mut().zip(&verdicts(&result)) {
            *decided += u64::from(differs(verdict));
        }
    }
    for (metric, decided) in ["wall s", "user s", "system s", "peak memory MB"].into_iter().zip(decided) {
        println!("{metric}: decided {decided}, share and 95 % interval {:.4?}", wilson(decided, comparisons));
        assert!(decided <= comparisons / 200, "{metric}: {decided} of {comparisons}");
    }
}

#[test]
fn planted_differences_are_found_with_their_size() {
    let comparisons = samples(60, 400);
    // An effect as large as the smallest that matters would be found half of the time at best.
    for (scale, effect, min_effect, least) in [
        (1.0, 0.05, 0.01, 0.99),
        (1.0, 0.02, 0.01, 0.9),
        (1.0, 0.01, 0.005, 0.2),
        (0.25, 0.02, 0.01, 0.95),
        (0.25, 0.01, 0.005, 0.8),
    ] {
        let noise = noise(scale);
        let settings = PlaceSettings { min_effect, ..settings() };
        let (mut found, mut wrong, mut covered) = (0, 0, 0);
        for sample in 0..comparisons {
            let result = compared(&settings, &noise, 10_000 + sample, &slower_by(effect));
            let pair = &result.comparisons[0].pairs[NEW - 1];
            found += u64::from(pair.verdict == PairVerdict::Worse);
            wrong += u64::from(pair.verdict == PairVerdict::Better);
            covered += u64::from(covers(pair, effect));
        }
        let [found, covered] = [found, covered].map(|count| wilson(count, comparisons));
        println!(
            "noise × {scale}, planted {effect}: found {found:.4?}, wrong {wrong}, covered {covered:.4?}"
        );
        assert_eq!(wrong, 0);
        assert!(found[2] >= least && covered[2] >= 0.93, "{effect}: {found:?} {covered:?}");
    }
}

#[test]
fn a_control_that_differs_leaves_everything_open() {
    let (settings, noise) = (settings(), noise(1.0));
    let control =
        |arm: usize, _: u64, _: Key| Planted { factor: if arm == BASELINE { 1.0 } else { 1.1 }, ..NOTHING };
    let result = compared(&settings, &noise, 1, &control);
    assert_eq!(result.comparisons[0].pairs[CONTROL_ARM - 1].verdict, PairVerdict::Worse);
    assert!(verdicts(&result).iter().all(|verdict| *verdict == PairVerdict::Withheld(Open::Control)));
}

fn disturbed(share: f64, key: Key) -> Planted {
    if key.uniform(9) < share { Planted { factor: 1.3, steal_ms: 20.0, ..NOTHING } } else { NOTHING }
}

#[test]
fn dropping_rounds_does_not_move_the_ratio() {
    let (settings, noise) = (settings(), noise(1.0));
    let comparisons = samples(40, 500);
    let slower = |arm: usize, _: u64, key: Key| {
        let planted = disturbed(0.06, key);
        Planted { factor: planted.factor * if arm == NEW { 1.05 } else { 1.0 }, ..planted }
    };
    let (mut covered, mut dropped) = (0, 0);
    for sample in 0..comparisons {
        let result = compared(&settings, &noise, 20_000 + sample, &slower);
        let pair = &result.comparisons[0].pairs[NEW - 1];
        covered += u64::from(covers(pair, 0.05));
        dropped += result.rounds.dropped.len();
        assert!(pair.verdict != PairVerdict::Better);
    }
    let covered = wilson(covered, comparisons);
    println!("dropped {dropped} rounds in {comparisons} comparisons, covered {covered:.4?}");
    assert!(dropped > 0 && covered[2] >= 0.93, "{covered:?}");
}

#[test]
fn disturbances_of_one_arm_leave_everything_open() {
    let (settings, noise) = (settings(), noise(1.0));
    let comparisons = samples(40, 500);
    let mut decided = 0;
    for sample in 0..comparisons {
        // Three of ten runs of every arm are long, but only those of the new arm are reported as disturbed, as if the
        // rule looked at values: without them the new arm would look faster.
        let selected = |arm: usize, _: u64, key: Key| match key.uniform(9) < 0.3 {
            true => Planted { factor: 1.1, steal_ms: if arm == NEW { 20.0 } else { 0.0 }, ..NOTHING },
            false => NOTHING,
        };
        let result = compared(&settings, &noise, 30_000 + sample, &selected);
        decided += u64::from(verdicts(&result).iter().any(differs));
    }
    println!("drops in one arm only: decided {decided} of {comparisons}");
    assert!(200 * decided <= comparisons, "{decided} of {comparisons}");
}

/// A busy program that comes and goes on the CPU: while it is there, runs wait for a part of their time.
fn hog(sample: u64, run: u64, key: Key) -> Planted {
    let is_there = Key::from_words(&[sample, run / 40, 1]).uniform(0) < 0.3;
    let lost = if is_there { key.uniform(9) } else { 0.0 };
    Planted { factor: 1.0 + lost, preempted: lost > 0.1, ..NOTHING }
}

/// A CPU quota that is used up during some of the runs, more often in phases of higher use.
fn quota(sample: u64, run: u64, key: Key) -> Planted {
    let share = if Key::from_words(&[sample, run / 100, 2]).uniform(0) < 0.5 { 0.15 } else { 0.02 };
    let throttled = key.uniform(9) < share;
    Planted { factor: if throttled { 1.0 + key.uniform(10) } else { 1.0 }, throttled, ..NOTHING }
}

/// A host that moves the guest between cores of different speed without any report.
fn moving(sample: u64, run: u64, _: Key) -> Planted {
    let key = Key::from_words(&[sample, run / 50, 3]);
    let factor = [0.8, 1.0, 1.25, 1.6][(4.0 * key.uniform(0)) as usize];
    Planted { factor, ..NOTHING }
}

type Disturbance = fn(u64, u64, Key) -> Planted;

#[test]
fn under_disturbances_a_verdict_is_right_or_none() {
    let (settings, noise) = (settings(), noise(1.0));
    let comparisons = samples(40, 200);
    let disturbances: [(&str, Disturbance); 3] =
        [("hog", hog), ("CPU quota", quota), ("moving host", moving)];
    for (name, disturbance) in disturbances {
        for effect in [0.0, 0.05] {
            let (mut found, mut wrong, mut noisy) = (0, 0, 0);
            for sample in 0..comparisons {
                let sample = 40_000 + sample;
                let plan = |arm: usize, run: u64, key: Key| {
                    let planted = disturbance(sample, run, key);
                    let effect = if arm == NEW { effect } else { 0.0 };
                    Planted { factor: planted.factor * (1.0 + effect), ..planted }
                };
                let result = compared(&settings, &noise, sample, &plan);
                let verdict = result.comparisons[0].pairs[NEW - 1].verdict;
                found += u64::from(verdict == PairVerdict::Worse);
                wrong += u64::from(match effect {
                    0.0 => differs(&verdict),
                    _ => matches!(verdict, PairVerdict::Better | PairVerdict::Same),
                });
                noisy += u64::from(verdict == PairVerdict::Withheld(Open::Noisy));
            }
            let case = format!("{name}, planted {effect}: {wrong} wrong of {comparisons}");
            println!("{case}, slower {found}, too noisy {noisy}");
            assert!(200 * wrong <= comparisons, "{case}");
        }
    }
}

#[test]
fn more_than_a_third_of_dropped_rounds_is_too_noisy() {
    let (settings, noise) = (settings(), noise(1.0));
    let noisy = |_: usize, _: u64, key: Key| disturbed(0.2, key);
    let result = compared(&settings, &noise, 1, &noisy);
    let Rounds { kept, dropped, .. } = &result.rounds;
    assert!(2 * dropped.len() as u32 > *kept && dropped.iter().all(|round| !round.arms.is_empty()));
    assert!(verdicts(&result).iter().all(|verdict| *verdict == PairVerdict::Withheld(Open::Noisy)));
}

#[test]
fn an_unfinished_round_is_dropped_only_if_others_follow() {
    let settings = settings();
    let run = |record: &mut SeriesRecord, pass: u32, arms: usize| {
        for trial in 0..arms as u32 {
            let run = Noise { wall: 1.0, steal_ms: 0.0, preempted: false };
            let outcome = Ok(outcome(run, Key::from_words(&[u64::from(pass), u64::from(trial)])));
            record.push(SeriesEntry { segment: 0, pass, trial, outcome });
        }
    };
    let mut record = SeriesRecord::new();
    run(&mut record, 0, 3);
    run(&mut record, 1, 2);
    assert_eq!(analyse_places(&settings, &record).rounds, Rounds { kept: 1, ..Rounds::default() });
    run(&mut record, 2, 3);
    let rounds = analyse_places(&settings, &record).rounds;
    let [dropped] = &rounds.dropped[..] else { panic!("{rounds:?}") };
    assert_eq!((rounds.kept, dropped.round, dropped.cause), (2, 1, DropCause::Unfinished));
}

#[test]
fn looks_double_up_to_the_most_rounds() {
    let settings = settings();
    let looks = looks(&settings, 0);
    assert_eq!(looks, [14, 28, 56, 112, 224, 400]);
    // The fewest rounds whose smallest p-value is at most 0.005 divided among four metrics and seven shares.
    assert!(2.0 / 2f64.powi(14) <= 0.005 / 28.0 && 2.0 / 2f64.powi(13) > 0.005 / 28.0);
}
