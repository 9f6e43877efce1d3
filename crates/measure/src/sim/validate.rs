//! Bounds of every value in a scenario. No file can make the simulation explode, hang or print nonsense.

use super::spec::Spec;
use super::structure::StructureSpec;
use coretalk_model::Relation;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

#[derive(Debug)]
pub struct Fault {
    pub key: String,
    pub problem: String,
}

const SHARE: RangeInclusive<f64> = 0.0..=1.0;
/// Relative standard deviations. Above 0.2 the log-normal approximation fails and factors approach zero.
const SPREAD: RangeInclusive<f64> = 0.0..=0.2;
const FACTOR: RangeInclusive<f64> = 0.05..=100.0;
const LATENCY_NS: RangeInclusive<f64> = 0.01..=1e9;

/// Checks all values. Fails with the key and the problem of the first impossible value.
pub fn check(spec: &Spec) -> Result<(), Fault> {
    check_names(spec)?;
    if let Some((key, problem)) = spec.structure.fault() {
        return Err(Fault { key: key.to_owned(), problem });
    }
    for (key, value, range) in numbers(spec) {
        check_number(key, value, range)?;
    }
    for (key, [low, high], range) in [
        ("noise.spike_factor", spec.noise.spike_factor, FACTOR),
        ("noise.bad_factor", spec.noise.bad_factor, FACTOR),
        ("noise.sibling_factor", spec.noise.sibling_factor, FACTOR),
    ] {
        check_pair(key, low, high, range)?;
    }
    check_latencies("latency_ns", &spec.latency_ns, LATENCY_NS)?;
    check_latencies("eager_penalty", &spec.eager_penalty, FACTOR)?;
    for relation in spec.structure.relations() {
        if !spec.latency_ns.contains_key(&relation) {
            let key = format!("latency_ns.{}", relation.name());
            return Err(Fault { key, problem: "is missing, but some pairs have this relation".to_owned() });
        }
    }
    for stall in &spec.stalls {
        check_number("stalls.per_second", stall.per_second, 0.001..=10_000.0)?;
        check_pair("stalls.us", stall.us[0], stall.us[1], 0.01..=1e6)?;
    }
    // A pair of CPUs that are stopped most of the time would never finish a trial.
    let share: f64 = spec.stalls.iter().map(|stall| stall.per_second * stall.us[1] / 1e6).sum();
    if share > 0.25 {
        let problem = format!("stop a CPU for up to {share} of the time, expected at most 0.25");
        return Err(Fault { key: "stalls".to_owned(), problem });
    }
    for state in &spec.states {
        check_number("states.weight", state.weight, 0.0..=1e6)?;
        check_number("states.dwell_ms", state.dwell_ms, 1.0..=1e9)?;
        check_number("states.line_scale", state.line_scale, 0.0..=2.0)?;
        check_latencies("states.latency_ns", &state.latency_ns, LATENCY_NS)?;
        check_latencies("states.eager_ns", &state.eager_ns, LATENCY_NS)?;
    }
    check_cpus(spec)
}

fn check_names(spec: &Spec) -> Result<(), Fault> {
    let printable = !spec.name.is_empty() && !spec.name.chars().any(char::is_control);
    if !printable || spec.name.len() > 200 {
        let problem = "must be 1 to 200 printable characters".to_owned();
        return Err(Fault { key: "name".to_owned(), problem });
    }
    for (key, count) in [("stalls", spec.stalls.len()), ("states", spec.states.len())] {
        if count > 16 {
            return Err(Fault {
                key: key.to_owned(),
                problem: format!("has {count} entries, expected at most 16"),
            });
        }
    }
    if spec.states.len() == 1 {
        let problem = "has one entry: a machine has no states or at least two".to_owned();
        return Err(Fault { key: "states".to_owned(), problem });
    }
    if !spec.states.is_empty() && spec.states.iter().filter(|state| state.weight > 0.0).count() < 2 {
        let problem = "must be above 0 for at least two states".to_owned();
        return Err(Fault { key: "states.weight".to_owned(), problem });
    }
    Ok(())
}

fn numbers(spec: &Spec) -> Vec<(&'static str, f64, RangeInclusive<f64>)> {
    let Spec { variation, homes, counter, core_clock, costs, noise, .. } = spec;
    let mut all = vec![
        ("variation.cpu_sd", variation.cpu_sd, 0.0..=0.1),
        ("variation.pair_sd", variation.pair_sd, 0.0..=0.1),
        ("variation.line_sd", variation.line_sd, 0.0..=0.15),
        ("variation.asymmetry_sd", variation.asymmetry_sd, SPREAD),
        ("variation.defect_share", variation.defect_share, SHARE),
        ("homes.penalty", homes.penalty, 1.0..=100.0),
        ("homes.remote", homes.remote, 1.0..=100.0),
        ("counter.hz", counter.hz, 1e3..=1e11),
        ("counter.step_ticks", f64::from(counter.step_ticks), 1.0..=1e6),
        ("counter.cost_ns", counter.cost_ns, 0.0..=1e6),
        ("counter.offset_sd_ns", counter.offset_sd_ns, 0.0..=1e9),
        ("core_clock.ghz", core_clock.ghz, 0.01..=100.0),
        ("core_clock.slow_class_ghz", core_clock.slow_class_ghz, 0.01..=100.0),
        ("core_clock.drift_sd", core_clock.drift_sd, 0.0..=0.1),
        ("core_clock.drift_ms", core_clock.drift_ms, 1.0..=1e9),
        ("core_clock.step_share", core_clock.step_share, SHARE),
        ("core_clock.step_factor", core_clock.step_factor, 0.05..=1.0),
        ("costs.rendezvous_us", costs.rendezvous_us, 0.01..=1e6),
        ("costs.probes_us", costs.probes_us, 0.0..=1e6),
        ("costs.line_ns", costs.line_ns, 0.0..=1e6),
        ("costs.hint_ns", costs.hint_ns, 0.0..=1e6),
        ("noise.batch_sd", noise.batch_sd, SPREAD),
        ("noise.event_sd", noise.event_sd, SPREAD),
        ("noise.spike_share", noise.spike_share, SHARE),
        ("noise.ar_rho", noise.ar_rho, 0.0..=0.9999),
        ("noise.ar_sd", noise.ar_sd, SPREAD),
        ("noise.drift_sd", noise.drift_sd, 0.0..=0.1),
        ("noise.drift_ms", noise.drift_ms, 1.0..=1e9),
        ("noise.bad_share", noise.bad_share, SHARE),
        ("noise.parallel_bias", noise.parallel_bias, 0.0..=1.0),
        ("noise.sibling_share", noise.sibling_share, SHARE),
        ("failures.others", spec.failures.others, SHARE),
        ("failures.hang_limit_ms", f64::from(spec.failures.hang_limit_ms), 1.0..=1e7),
    ];
    match spec.structure {
        StructureSpec::Hybrid { mixed_ns, .. } => all.push(("structure.mixed_ns", mixed_ns, LATENCY_NS)),
        StructureSpec::Mesh { near_ns, far_ns, .. } => {
            all.push(("structure.near_ns", near_ns, LATENCY_NS));
            all.push(("structure.far_ns", far_ns, LATENCY_NS));
        }
        StructureSpec::Tree { .. } | StructureSpec::Groups { .. } | StructureSpec::Matrix { .. } => {}
    }
    all
}

fn check_number(key: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), Fault> {
    if range.contains(&value) {
        return Ok(());
    }
    let problem = format!("is {value}, expected {} to {}", range.start(), range.end());
    Err(Fault { key: key.to_owned(), problem })
}

fn check_pair(key: &str, low: f64, high: f64, range: RangeInclusive<f64>) -> Result<(), Fault> {
    check_number(key, low, range.clone())?;
    check_number(key, high, range)?;
    if high < low {
        let problem = format!("is [{low}, {high}], expected the lower bound first");
        return Err(Fault { key: key.to_owned(), problem });
    }
    Ok(())
}

fn check_latencies(
    table: &str,
    by: &BTreeMap<Relation, f64>,
    range: RangeInclusive<f64>,
) -> Result<(), Fault> {
    by.iter().try_for_each(|(relation, &value)| {
        check_number(&format!("{table}.{}", relation.name()), value, range.clone())
    })
}

fn check_cpus(spec: &Spec) -> Result<(), Fault> {
    let failures = &spec.failures;
    let present = spec.structure.topology().cpus().clone();
    let allowed = spec.allowance.clone().unwrap_or_default();
    for (key, named) in [
        ("failures.refuse_pin", Some(&failures.refuse_pin)),
        ("failures.hang", Some(&failures.hang)),
        ("failures.die", Some(&failures.die)),
        ("failures.miscount", Some(&failures.miscount)),
        ("allowance.cpuset", allowed.cpuset.as_ref()),
        ("allowance.mask", allowed.mask.as_ref()),
        ("allowance.isolated", Some(&allowed.isolated)),
    ] {
        let unknown = named.map(|named| named.difference(&present)).unwrap_or_default();
        if !unknown.is_empty() {
            let problem = format!("lists {unknown}, but the machine has {present}");
            return Err(Fault { key: key.to_owned(), problem });
        }
    }
    if allowed.cpuset.as_ref().is_some_and(|cpuset| cpuset.is_empty()) {
        let problem = "is empty: nothing could be measured".to_owned();
        return Err(Fault { key: "allowance.cpuset".to_owned(), problem });
    }
    for away in &failures.departures {
        let problem = match away.back_ms {
            _ if !present.contains(away.cpu) => format!("lists {}, but the machine has {present}", away.cpu),
            Some(back) if back <= away.at_ms => "has a CPU that comes back before it left".to_owned(),
            _ => continue,
        };
        return Err(Fault { key: "failures.departures".to_owned(), problem });
    }
    Ok(())
}
