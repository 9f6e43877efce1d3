//! Wake-ups of unbound threads, for which the simulated scheduler chooses CPUs by a stated rule.

use crate::trials::{open, pass, trials};
use coretalk_measure::probes::wake::{Wake, names};
use coretalk_measure::series::SeriesProbe;
use coretalk_measure::sim::wake::PLACES;
use coretalk_model::series::Parameters;
use coretalk_model::wake::RanOn;

fn unpinned(primitive: &str) -> Parameters {
    Parameters::default().with("primitive", primitive).with(names::GAP_NS, "20000").with(names::UNPINNED, 1.0)
}

#[test]
fn waiters_run_at_the_shares_of_the_scheduler() {
    // Without hardware threads, waiters have no sibling to run on; with a single L3, no CPU elsewhere.
    for (scenario, places) in [
        ("chiplet-16-smt", &RanOn::ALL[..]),
        ("chiplet-16", &[RanOn::SameCpu, RanOn::SameL3, RanOn::Elsewhere]),
        ("laptop-smt", &[RanOn::SameCpu, RanOn::Sibling, RanOn::SameL3]),
    ] {
        let mut machine = open(scenario);
        let weight = |place: RanOn| PLACES.iter().find(|(known, _)| *known == place).unwrap().1;
        let all: f64 = places.iter().map(|&place| weight(place)).sum();
        for spec in trials(&machine, "wake", &unpinned("semaphore,ttas")) {
            let passes: Vec<_> = (0..4).map(|key| pass(&mut machine, &spec, 100, key)).collect();
            for place in RanOn::ALL {
                if !places.contains(&place) {
                    assert!(passes.iter().all(|pass| !pass.numbers.values.contains_key(place.share())));
                    continue;
                }
                let truth = weight(place) / all;
                let found = passes.iter().map(|pass| pass.numbers.values[place.share()]).sum::<f64>() / 4.0;
                assert!((found - truth).abs() < 0.02, "{scenario} {place:?}: {found} of {truth}");
            }
        }
    }
}

#[test]
fn an_unbound_trial_needs_every_cpu_of_its_mask_and_a_bound_one_its_own() {
    let machine = open("chiplet-16");
    let cpus = |options: &Parameters| {
        let spec = trials(&machine, "wake", options).remove(0);
        (Wake.cpus(&spec).len(), spec.mask().map(|mask| mask.to_string()))
    };
    assert_eq!(cpus(&unpinned("pipe")), (16, Some("0-15".to_owned())));
    assert_eq!(cpus(&Parameters::default().with("primitive", "pipe")), (2, None));
}
