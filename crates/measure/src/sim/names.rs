//! [`resolve`]: names of CPUs in a scenario.

use super::spec::{Cpus, Spec};
use super::validate::Fault;
use coretalk_model::CpuSet;
use coretalk_model::selection::SelectionFacts;

/// Replaces names of CPUs by numbers, on the true structure. `quiet:N` is no name here, since the scenario determines
/// which CPUs are quiet. Fails with the key and the problem.
pub fn resolve(spec: &mut Spec) -> Result<(), Fault> {
    // A structure that is refused later may be too large to build.
    if spec.structure.fault().is_some() {
        return Ok(());
    }
    let mut topology = None;
    let mut isolated = CpuSet::new();
    let failures = &mut spec.failures;
    let allowed = spec.allowance.as_mut().into_iter().flat_map(|allowed| {
        // First, because other lists may refer to this list.
        let isolated = ("allowance.isolated", &mut allowed.isolated);
        let sets = [("allowance.cpuset", &mut allowed.cpuset), ("allowance.mask", &mut allowed.mask)];
        [isolated].into_iter().chain(sets.into_iter().filter_map(|(key, set)| Some((key, set.as_mut()?))))
    });
    let listed: Vec<(&str, &mut Cpus)> = allowed
        .chain(spec.stalls.iter_mut().filter_map(|stall| Some(("stalls.cpus", stall.cpus.as_mut()?))))
        .chain([
            ("failures.refuse_pin", &mut failures.refuse_pin),
            ("failures.hang", &mut failures.hang),
            ("failures.die", &mut failures.die),
            ("failures.miscount", &mut failures.miscount),
        ])
        .collect();
    for (key, cpus) in listed {
        if let Some(names) = cpus.names.take() {
            let topology = topology.get_or_insert_with(|| spec.structure.topology());
            let all = topology.cpus();
            let facts =
                SelectionFacts { topology, allowed: all, usual: all, isolated: &isolated, cpu_use: None };
            let resolved = names.resolve(&facts).map_err(|error| Fault {
                key: key.to_owned(),
                problem: format!("cannot be resolved: {error}"),
            })?;
            cpus.set = resolved.cpus.into_iter().collect();
        }
        if key == "allowance.isolated" {
            isolated = cpus.set.clone();
        }
    }
    Ok(())
}
