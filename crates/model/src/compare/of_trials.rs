//! Conversion of runs of trials and of comparisons of placements to a [`Side`].

use super::of_matrix::{NEGLIGIBLE_NS, SERIES_FLOOR, of_run};
use super::{Dataset, LogEstimate, ReadingKey, Series, Side, SideReading};
use crate::place::{Binding, PlaceResult, PlaceSettings};
use crate::quantity::{Better, Unit};
use crate::queue::QueueCell;
use crate::series::{SeriesResult, SeriesSettings, TrialResult, displayed_value};
use crate::{Environment, Flag, Topology};
use std::collections::BTreeMap;

const MATRIX: usize = 7;

/// Converts a run of trials: one dataset for each parameter set with many pairs, and one for each other value.
pub fn of_series(
    environment: &Environment,
    topology: &Topology,
    settings: &SeriesSettings,
    result: &SeriesResult,
) -> Side {
    let mut sets: BTreeMap<String, Vec<(&TrialResult, &str, LogEstimate)>> = BTreeMap::new();
    for trial in &result.trials {
        let displayed = displayed_value(settings, trial);
        let number = |name: &str| trial.medians_ns.get(name).or_else(|| trial.values.get(name));
        let Some((name, estimate)) = displayed.and_then(|name| Some((name, number(name)?))) else { continue };
        let value = LogEstimate::from_estimate(&estimate.widened_to(SERIES_FLOOR));
        let set = format!("{} {}", trial.spec.probe, trial.spec.label());
        sets.entry(set.trim_end().to_owned()).or_default().push((trial, name, value));
    }
    let options: Vec<String> =
        settings.options.of_experiment().map(|(name, value)| format!("{name}={value}")).collect();
    let options = ("options", options.join(" "));
    let mut datasets: BTreeMap<String, Dataset> = BTreeMap::new();
    for (set, trials) in sets {
        let pairs = trials.iter().filter(|(trial, ..)| trial.spec.placement.len() == 2).count();
        for (trial, name, value) in trials {
            let (unit, better) = match trial.medians_ns.contains_key(name) {
                true => (Unit::Ns, None),
                false => settings
                    .quantities
                    .get(&trial.spec.probe, name)
                    .map_or((Unit::Number, None), |quantity| (quantity.unit, quantity.better)),
            };
            let (subject, key) = match trial.spec.placement.as_slice() {
                // The trials of a queue table always form a matrix, even with few CPUs.
                [from, to] if pairs >= MATRIX || QueueCell::holds(trial) => {
                    (set.clone(), ReadingKey::Pair([*from, *to]))
                }
                _ => {
                    let label = trial.spec.label();
                    let series = Series {
                        name: format!("{label} {}", trial.spec.cpu_list()).trim().to_owned(),
                        label,
                        cpus: trial.spec.placement.clone(),
                    };
                    (trial.spec.probe.clone(), ReadingKey::Series(series))
                }
            };
            let dataset = format!("{subject}, {name}");
            let dataset = datasets.entry(dataset.clone()).or_insert_with(|| Dataset {
                name: dataset,
                subject,
                is_latency: false,
                quantity: name.to_owned(),
                negligible: if unit == Unit::Ns { NEGLIGIBLE_NS } else { 0.0 },
                unit: unit.symbol().into_owned(),
                better: better.unwrap_or(Better::Lower),
                traits: vec![options.clone()],
                resolution: 0.0,
                readings: BTreeMap::new(),
            });
            // Polling threads that share a CPU hand over once per scheduler quantum, which is no property of the pair.
            if trial.flags.contains(Flag::SharedSpin) {
                continue;
            }
            let steady = !trial.flags.contains(Flag::Multimodal);
            dataset.readings.insert(key, SideReading { value, cycles: None, steady });
        }
    }
    let saturated = result.trials.iter().filter(|trial| trial.flags.contains(Flag::Saturated)).count();
    Side { saturated, ..of_run(environment, topology, datasets.into_values().collect()) }
}

/// Converts a comparison of placements: one dataset for each metric of each workload.
pub fn of_places(
    environment: &Environment,
    topology: &Topology,
    settings: &PlaceSettings,
    result: &PlaceResult,
) -> Side {
    let threads =
        settings.threads.map_or_else(|| "as the work says".to_owned(), |threads| threads.to_string());
    const DIGITS: usize = 8;
    let arms = settings.versus.iter().flat_map(|versus| settings.placements.iter().zip(&versus.arms));
    let commands: Vec<String> = arms
        .map(|(placement, arm)| format!("{} {}", placement.name, arm.hash.get(..DIGITS).unwrap_or_default()))
        .collect();
    let commands = commands.join(", ");
    let datasets = result.comparisons.iter().map(|comparison| {
        let readings = comparison.arms.iter().filter_map(|arm| {
            let value = LogEstimate::from_estimate(arm.median.as_ref()?);
            let cpus = arm.placement.taskset().unwrap_or_else(|| "unbound".to_owned());
            let name = match settings.versus {
                // A command identifies its arm, regardless of the CPUs.
                Some(_) => arm.placement.name.clone(),
                None => format!("{} ({cpus})", arm.placement.name),
            };
            let series = Series {
                name,
                label: arm.placement.name.clone(),
                cpus: match (&settings.versus, arm.placement.binding) {
                    (None, Binding::Bound) => arm.placement.cpus.clone(),
                    (Some(_), _) | (None, Binding::Free) => Vec::new(),
                },
            };
            Some((ReadingKey::Series(series), SideReading { value, cycles: None, steady: true }))
        });
        Dataset {
            name: format!("{}, {}", comparison.work, comparison.metric.name),
            subject: comparison.work.clone(),
            is_latency: false,
            quantity: comparison.metric.name.to_string(),
            unit: comparison.metric.unit.to_owned(),
            better: comparison.metric.better,
            traits: vec![("threads", threads.clone()), ("commands", commands.clone())],
            resolution: 0.0,
            negligible: 0.0,
            readings: readings.collect(),
        }
    });
    of_run(environment, topology, datasets.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{
        Alignment, Comparison, DatasetComparison, LeastEffect, Levels, Verdict, Weight, compare, mismatches,
        overview,
    };
    use crate::quantity::{Quantities, Quantity};
    use crate::series::Parameters;
    use crate::stats::Key;
    use crate::tests::{around, spec, topology};
    use crate::{Grade, Level};

    fn trial(probe: &str, parameter: &str, placement: [u32; 2], name: &str, point: f64) -> TrialResult {
        let estimate = around(point, 0.01);
        let trial_spec = spec(probe, Parameters::default().with("kind", parameter), &placement);
        let mut trial = TrialResult { passes: 8, grade: Some(Grade::A), ..TrialResult::empty(trial_spec) };
        if name.ends_with("_per_s") {
            trial.values.insert(name.into(), estimate);
        } else {
            trial.medians_ns.insert(name.into(), estimate);
        }
        trial
    }

    const QUEUE: &[Quantity] = &[Quantity::rate("messages_per_s", "", "messages")];

    const JITTER: &[Quantity] = &[Quantity::value("lost_share", "", Unit::Share).displayed()];

    fn side(trials: Vec<TrialResult>) -> Side {
        side_on(Topology::flat("0-3".parse().unwrap()), trials)
    }

    fn side_on(topology: Topology, trials: Vec<TrialResult>) -> Side {
        let settings = SeriesSettings {
            headlines: vec!["slept".into(), "messages_per_s".into()],
            quantities: Quantities::new([("queue", QUEUE), ("jitter", JITTER)]),
            options: Parameters::default().with("samples", 50.0),
            ..SeriesSettings::default()
        };
        let result = SeriesResult { trials, complete: true, ..SeriesResult::default() };
        of_series(&Environment::default(), &topology, &settings, &result)
    }

    fn compared(a: &Side, b: &Side) -> Comparison {
        compare(a, b, &Alignment::between(a, b), LeastEffect::DEFAULT)
    }

    fn verdicts(dataset: &DatasetComparison) -> Vec<(&str, Verdict)> {
        dataset.levels.iter().map(|level| (level.level.as_str(), level.difference.verdict)).collect()
    }

    #[test]
    fn trials_are_compared_by_their_displayed_value() {
        let watched = |lost: f64| {
            let mut trial = trial("jitter", "", [0, 0], "watched_share", 1.0);
            trial.values.insert("lost_share".into(), around(lost, 0.01));
            side(vec![trial])
        };
        let dataset = &compared(&watched(0.001), &watched(0.01)).datasets[0];
        assert_eq!(dataset.quantity, "lost_share");
        assert_eq!(dataset.levels[0].difference.verdict, Verdict::Slower);
    }

    #[test]
    fn trials_that_did_not_keep_their_rate_are_left_out_and_counted() {
        let run = |is_kept: bool| {
            let mut fast = trial("wake", "fast", [0, 1], "slept", 90.0);
            if !is_kept {
                fast.flags.set(Flag::Saturated);
            }
            side(vec![trial("wake", "slow", [0, 1], "slept", 80.0), fast])
        };
        let comparison = compared(&run(true), &run(false));
        assert_eq!((comparison.saturated, comparison.datasets[0].lonely), ([0, 1], 1));
    }

    #[test]
    fn each_representative_trial_is_judged_separately() {
        let run = |pipe: f64| {
            let trials = [("mutex", 4_000.0), ("pipe", pipe)];
            side(trials.map(|(kind, ns)| trial("wake", kind, [0, 1], "slept", ns)).to_vec())
        };
        let comparison = compared(&run(9_000.0), &run(12_000.0));
        let expected = [("kind=mutex 0-1", Verdict::Same), ("kind=pipe 0-1", Verdict::Slower)];
        assert_eq!(verdicts(&comparison.datasets[0]), expected);
    }

    #[test]
    fn many_pairs_form_a_matrix_and_higher_rates_are_faster() {
        let run = |factor: f64, seed: u64| {
            let pairs = (0..4).flat_map(|from| (0..4).map(move |to| [from, to]));
            let rated = |[from, to]: [u32; 2]| {
                let noise = Key::from_words(&[seed, u64::from(from)]).normal(u64::from(to));
                trial("queue", "spsc", [from, to], "messages_per_s", 2e6 * factor * (1.0 + 0.01 * noise))
            };
            side(pairs.filter(|[from, to]| from != to).map(rated).collect())
        };
        let dataset = &compared(&run(1.0, 1), &run(1.2, 2)).datasets[0];
        assert_eq!(dataset.name, "queue kind=spsc, messages_per_s");
        assert_eq!(dataset.unit, "messages/s");
        assert_eq!((dataset.levels.len(), dataset.cells.len()), (1, 12));
        assert_eq!(dataset.levels[0].difference.verdict, Verdict::Faster);
    }

    #[test]
    fn series_of_different_machines_are_joined_by_relation() {
        let run = |cores: [&str; 2], trials: Vec<TrialResult>| {
            side_on(topology("0-3", &[(Level::Core, &cores), (Level::L3, &["0-3"])]), trials)
        };
        let mutex = |pair: [u32; 2], ns: f64| trial("wake", "mutex", pair, "slept", ns);
        // CPUs 0 and 1 are threads of a core in A and cores in B; CPUs 0 and 2 are the reverse.
        let a = run(["0-1", "2-3"], vec![mutex([0, 1], 1_000.0), mutex([0, 2], 4_000.0)]);
        let b = run(["0,2", "1,3"], vec![mutex([0, 1], 4_000.0), mutex([0, 2], 1_300.0)]);
        let found = mismatches(&a, &b);
        assert!(found.iter().any(|it| it.what == "topology" && it.weight == Weight::Refuses), "{found:?}");
        let dataset = &compared(&a, &b).datasets[0];
        let [l3, smt] = ["kind=mutex relation=l3", "kind=mutex relation=smt"];
        assert_eq!(verdicts(dataset), [(l3, Verdict::Same), (smt, Verdict::Slower)]);
        assert!(dataset.alone.is_empty() && dataset.cells.is_empty());
        // A table of several sides also names series by relation; for sides of one machine, by CPU numbers.
        let columns = |sides: [&Side; 3]| {
            let groups = overview(&sides.map(|side| (side, Levels::from_side(side)))).groups;
            groups.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(columns([&a, &b, &a]), [l3, smt]);
        assert_eq!(columns([&a, &a, &a]), ["kind=mutex 0-1", "kind=mutex 0-2"]);
        let dataset = &compared(&a, &side(vec![mutex([0, 1], 4_000.0)])).datasets[0];
        assert!(dataset.levels.is_empty(), "{:?}", dataset.levels);
        assert_eq!(dataset.alone.len(), 3);
    }

    #[test]
    fn other_trials_and_other_options_are_not_compared() {
        let wake = side(vec![trial("wake", "mutex", [0, 1], "slept", 4e3)]);
        let queue = side(vec![trial("queue", "spsc", [0, 1], "messages_per_s", 1e6)]);
        let has = |other: &Side, weight| mismatches(&wake, other).iter().any(|found| found.weight == weight);
        assert!(has(&queue, Weight::Forbids));
        let mut other = wake.clone();
        other.datasets[0].traits[0].1 = "samples=9".into();
        assert!(has(&other, Weight::Refuses));
        let mut polled = trial("queue", "spsc", [1, 1], "messages_per_s", 1e4);
        polled.flags.set(Flag::SharedSpin);
        assert!(side(vec![polled]).datasets[0].readings.is_empty());
    }
}
