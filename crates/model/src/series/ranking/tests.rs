use super::*;
use crate::quantity::Quantities;
use crate::series::Parameters;
use crate::tests::{between, spec};
use crate::{Flags, Level};

const QUEUE: &[Quantity] = &[Quantity::rate("messages_per_s", "", "messages").displayed().headline(0)];
const LOCK: &[Quantity] = &[Quantity::time("ns_per_op", "").displayed().headline(0)];
const DECLARED: &[Parameter] = &[
    Parameter::new("method", "method").in_ranking(InRanking::Subject {
        never: &[("per-thread", Unranked::Bound), ("racy", Unranked::WrongAnswer)],
    }),
    Parameter::new("queue", "queue").ranked(),
    Parameter::new("capacity", "capacity").preferring(Preferred::Nearest(1000.0)),
    Parameter::new("threads", "threads").preferring(Preferred::Most),
    Parameter::new("gap_ns", "gap").preferring(Preferred::Least),
    Parameter::new("parent_mib", "parent").in_ranking(InRanking::OfSubject),
];

fn settings() -> SeriesSettings {
    SeriesSettings {
        quantities: Quantities::new([("queue", QUEUE), ("contend", LOCK)]),
        ..Default::default()
    }
}

/// CPUs 0 and 1 are SMT siblings; 2 is another core.
fn topology() -> Topology {
    crate::tests::topology("0-2", &[(Level::Core, &["0-1", "2"])])
}

fn trial(probe: &str, parameters: Parameters, cpus: &[u32], [low, point, high]: [f64; 3]) -> TrialResult {
    let name = if probe == "queue" { "messages_per_s" } else { "ns_per_op" };
    TrialResult {
        passes: 24,
        values: BTreeMap::from([(name.to_owned(), between(point, low, high))]),
        ..TrialResult::empty(spec(probe, parameters, cpus))
    }
}

fn queue(name: &str, capacity: f64, cpus: &[u32], value: [f64; 3]) -> TrialResult {
    trial("queue", Parameters::default().with("queue", name).with("capacity", capacity), cpus, value)
}

/// More than two threads run on CPUs that are not a pair.
fn lock(name: &str, threads: f64, value: [f64; 3]) -> TrialResult {
    let cpus: &[u32] = if threads > 2.0 { &[0, 2, 1, 0] } else { &[0, 2] };
    trial("contend", Parameters::default().with("method", name).with("threads", threads), cpus, value)
}

fn check_ranking(trials: Vec<TrialResult>, check: impl FnOnce(Ranking<'_>)) {
    let probe = trials[0].spec.probe.clone();
    let result = SeriesResult { trials, ..SeriesResult::default() };
    check(ranking(&settings(), &result, &probe, DECLARED, &topology()).unwrap());
}

fn names<'a>(ranking: &'a Ranking<'_>) -> Vec<&'a str> {
    ranking.subjects.iter().map(|subject| subject.name.as_str()).collect()
}

fn check_unranked(trials: Vec<TrialResult>, names: &[&str], unranked: &[(&str, Unranked)]) {
    check_ranking(trials, |ranking| {
        assert_eq!(self::names(&ranking), names);
        let expected = unranked.iter().map(|&(name, reason)| (name.to_owned(), reason));
        assert_eq!(ranking.unranked, expected.collect::<Vec<_>>());
    });
}

fn check_verdict(trials: Vec<TrialResult>, expected: RankingVerdict) {
    check_ranking(trials, |ranking| assert_eq!(ranking.verdict, expected));
}

/// `a` is faster than `b`.
fn two_locks() -> Vec<TrialResult> {
    vec![lock("a", 2.0, [9.0, 10.0, 11.0]), lock("b", 2.0, [12.0, 13.0, 14.0])]
}

#[test]
fn only_results_under_one_condition_are_ranked() {
    // `slow` has the best value, but at a capacity and on CPUs that favour it.
    let trials = vec![
        queue("slow", 10_000.0, &[0, 1], [86e6, 87.7e6, 89e6]),
        queue("fast", 10_000.0, &[0, 1], [40e6, 41e6, 42e6]),
        queue("slow", 1_000.0, &[0, 1], [80e6, 81e6, 82e6]),
        queue("fast", 1_000.0, &[0, 1], [40e6, 41e6, 42e6]),
        queue("slow", 1_000.0, &[0, 2], [1.7e6, 1.8e6, 1.9e6]),
        queue("fast", 1_000.0, &[0, 2], [3.3e6, 3.45e6, 3.5e6]),
        queue("slow", 1.0, &[0, 2], [0.02e6, 0.023e6, 0.03e6]),
        queue("fast", 1.0, &[0, 2], [3.3e6, 3.45e6, 3.5e6]),
    ];
    check_ranking(trials, |ranking| {
        assert_eq!(names(&ranking), ["fast", "slow"]);
        let Condition { parameters, placement } = &ranking.condition;
        assert_eq!(parameters[..], [("capacity", &ParameterValue::Number(1_000.0))]);
        assert_eq!(*placement, Some(&[CpuId(0), CpuId(2)][..]));
        assert!(
            matches!(ranking.verdict, RankingVerdict::Ordered { worst: Some(1), .. }),
            "{:?}",
            ranking.verdict
        );
    });
}

#[test]
fn each_condition_has_a_ranking_of_its_own() {
    let trials = vec![
        queue("slow", 1.0, &[0, 2], [0.02e6, 0.023e6, 0.03e6]),
        queue("fast", 1.0, &[0, 2], [3.3e6, 3.45e6, 3.5e6]),
        queue("slow", 1_000.0, &[0, 1], [80e6, 81e6, 82e6]),
        queue("fast", 1_000.0, &[0, 1], [40e6, 41e6, 42e6]),
        queue("slow", 1_000.0, &[0, 2], [3.2e6, 3.4e6, 3.5e6]),
        queue("fast", 1_000.0, &[0, 2], [3.3e6, 3.45e6, 3.5e6]),
    ];
    let result = SeriesResult { trials, ..SeriesResult::default() };
    let all = rankings(&settings(), &result, "queue", DECLARED, &topology());
    let found = all.iter().map(|ranking| {
        let Subject { trial, name, .. } = &ranking.subjects[0];
        let capacity = trial.spec.parameters.number("capacity").unwrap();
        (
            capacity,
            trial.spec.placement[..] == [CpuId(0), CpuId(2)],
            name.as_str(),
            ranking.verdict == RankingVerdict::Alike,
        )
    });
    let expected =
        [(1_000.0, true, "fast", true), (1_000.0, false, "slow", false), (1.0, true, "fast", false)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn the_most_threads_come_first_and_bounds_and_wrong_answers_are_unranked() {
    let trials = vec![
        lock("parking", 1.0, [600.0, 604.0, 610.0]),
        lock("std", 1.0, [4.0, 5.0, 6.0]),
        lock("parking", 4.0, [37.0, 37.8, 38.0]),
        lock("std", 4.0, [98.0, 98.7, 99.0]),
        lock("per-thread", 4.0, [0.9, 1.0, 1.1]),
        lock("racy", 4.0, [1.9, 2.0, 2.1]),
    ];
    let unranked = [("per-thread", Unranked::Bound), ("racy", Unranked::WrongAnswer)];
    check_unranked(trials, &["parking", "std"], &unranked);
}

#[test]
fn alike_means_that_intervals_overlap() {
    let trials = |wide: f64| {
        vec![
            lock("a", 2.0, [9.0, 10.0, 11.0]),
            lock("b", 2.0, [10.5, 12.0, 13.0]),
            lock("c", 2.0, [wide, 30.0, 31.0]),
        ]
    };
    check_verdict(trials(10.9), RankingVerdict::Alike);
    let ordered = RankingVerdict::Ordered { like_best: vec![1], worst: Some(2), like_worst: vec![1] };
    check_verdict(trials(12.5), ordered);
    check_verdict(vec![lock("a", 2.0, [9.0, 10.0, 11.0])], RankingVerdict::Single);
}

#[test]
fn an_unranked_subject_without_an_interval_may_leave_the_best_unknown() {
    let with = |third: TrialResult| [two_locks(), vec![third]].concat();
    let few = |point: f64| {
        let mut trial = lock("few", 2.0, [point; 3]);
        trial.values.get_mut("ns_per_op").unwrap().confidence = 0.5;
        with(trial)
    };
    let open = |name: &str| RankingVerdict::CannotTell(vec!["a".to_owned(), name.to_owned()]);
    check_unranked(few(20.0), &["a", "b"], &[("few", Unranked::TooFewPasses)]);
    check_ranking(few(20.0), |ranking| {
        assert!(
            matches!(ranking.verdict, RankingVerdict::Ordered { worst: None, .. }),
            "it may be the slowest"
        );
    });
    check_verdict(few(10.5), open("few"));
    // No screen states this interval, so it cannot make `wide` equal to the fastest.
    let wide = with(lock("wide", 2.0, [10.0, 18_000.0, 200_000.0]));
    check_unranked(wide.clone(), &["a", "b"], &[("wide", Unranked::WideInterval)]);
    check_verdict(wide, open("wide"));
}

#[test]
fn a_value_that_may_be_wrong_keeps_its_rank_and_is_marked() {
    let mut trials = two_locks();
    trials[0].flags = [Flag::Multimodal, Flag::WideCi].into_iter().collect::<Flags>();
    trials[1].flags.set(Flag::Load);
    check_ranking(trials, |ranking| {
        let marks: Vec<bool> = ranking.subjects.iter().map(|subject| subject.may_be_wrong).collect();
        assert_eq!((names(&ranking), marks), (vec!["a", "b"], vec![false, true]));
    });
}

#[test]
fn results_of_different_states_of_the_machine_are_not_compared() {
    let mut trials = [two_locks(), vec![lock("slow-state", 2.0, [2.0, 3.0, 4.0])]].concat();
    for (trial, cas_ns) in trials.iter_mut().zip([28.0, 28.5, 105.0]) {
        trial.cas_ns = vec![cas_ns];
    }
    check_unranked(trials, &["a", "b"], &[("slow-state", Unranked::Elsewhere)]);
}

#[test]
fn of_several_pairs_the_typical_one_is_ranked() {
    let pairs = [[0, 2], [2, 0], [1, 2]];
    let values = [[9.0, 10.0, 11.0], [19.0, 20.0, 21.0], [29.0, 30.0, 31.0]];
    let trials = pairs.iter().zip(values).map(|(pair, value)| queue("spsc", 10.0, pair, value)).collect();
    check_ranking(trials, |ranking| {
        let Ranking { subjects, verdict, .. } = &ranking;
        assert_eq!(
            (subjects[0].value.point, subjects[0].placements, verdict),
            (20.0, 3, &RankingVerdict::Single)
        );
    });
}

#[test]
fn the_order_of_points_alone_decides_nothing() {
    let value = |name, low, point, high| lock(name, 2.0, [low, point, high]);
    // Each overlaps the first, but the others do not overlap each other.
    let open = vec![value("a", 5.0, 5.5, 20.0), value("b", 6.0, 6.5, 7.0), value("c", 15.0, 15.5, 16.0)];
    check_ranking(open, |ranking| {
        assert!(matches!(&ranking.verdict, RankingVerdict::CannotTell(names) if names.len() == 3))
    });
    // The last overlaps the first: no subject is the slowest.
    let wide = vec![value("a", 9.0, 10.0, 11.0), value("b", 12.0, 12.5, 13.0), value("c", 10.0, 30.0, 50.0)];
    check_verdict(wide, RankingVerdict::Ordered { like_best: vec![2], worst: None, like_worst: vec![] });
}

#[test]
fn subjects_are_compared_between_the_same_pairs() {
    // Between CPUs 1 and 2 everything is slow, and `a` was not measured there.
    let trials = vec![
        queue("a", 10.0, &[0, 2], [9.0, 10.0, 11.0]),
        queue("b", 10.0, &[0, 2], [19.0, 20.0, 21.0]),
        queue("b", 10.0, &[1, 2], [1.0, 2.0, 3.0]),
        queue("b", 10.0, &[2, 1], [1.0, 2.0, 3.0]),
    ];
    check_ranking(trials, |ranking| {
        let found = ranking.subjects.iter().map(|it| (it.name.as_str(), it.value.point, it.placements));
        assert_eq!(found.collect::<Vec<_>>(), [("b", 20.0, 1), ("a", 10.0, 1)]);
    });
    let apart = vec![
        queue("a", 10.0, &[0, 2], [9.0, 10.0, 11.0]),
        queue("b", 10.0, &[1, 2], [1.0, 2.0, 3.0]),
        queue("b", 10.0, &[2, 1], [1.0, 2.0, 3.0]),
    ];
    check_unranked(apart, &["b"], &[("a", Unranked::Elsewhere)]);
}

#[test]
fn subjects_that_fail_are_listed_and_do_not_change_the_condition() {
    let mut trials = vec![
        lock("a", 2.0, [9.0, 10.0, 11.0]),
        lock("b", 2.0, [9.0, 10.0, 11.0]),
        lock("mcs", 2.0, [9.0, 10.0, 11.0]),
        lock("a", 4.0, [19.0, 20.0, 21.0]),
        lock("b", 4.0, [29.0, 30.0, 31.0]),
        lock("mcs", 4.0, [1.0, 1.0, 1.0]),
    ];
    trials[5].values.clear();
    check_ranking(trials.clone(), |ranking| {
        assert_eq!(ranking.subjects[0].value.point, 20.0, "four threads");
        assert_eq!(ranking.unranked, [("mcs".to_owned(), Unranked::NoResult)]);
    });
    let mut wrong = vec![
        queue("a", 10.0, &[0, 2], [9.0, 10.0, 11.0]),
        queue("a", 10.0, &[2, 0], [9.0, 10.0, 11.0]),
        queue("b", 10.0, &[0, 2], [1.0, 2.0, 3.0]),
    ];
    wrong[1].flags.set(Flag::Invalid);
    check_unranked(wrong, &["b"], &[("a", Unranked::WrongAnswer)]);
}
