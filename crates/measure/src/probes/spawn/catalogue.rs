//! The trials of `spawn` that follow from a request.

use crate::creation::{KINDS, Kind, PARENT_MIB, kind};
use crate::series::{RequestError, SeriesRequest};
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet};

/// Back to back, and with a pause in which a CPU falls asleep.
pub const PAUSES_NS: [f64; 2] = [0.0, 1e6];

/// Kinds × pauses × places: the creator's own CPU, each pair that stands for a relation, anywhere.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let every = KINDS.map(Kind::name).join(",");
    let listed = request.options.text("kind").unwrap_or(&every);
    let first = *request.cpus.first().ok_or(RequestError::NoCpu)?;
    let mask: CpuSet = request.cpus.iter().copied().collect();
    let mut trials: Vec<TrialSpec> = Vec::new();
    for name in listed.split(',') {
        let kind = kind(name)?;
        let mut places: Vec<(Vec<CpuId>, Option<String>)> = vec![(vec![first, first], None)];
        if kind.is_placed() {
            places.extend(request.pairs.iter().map(|pair| (pair.to_vec(), None)));
        } else if mask.len() > 1 {
            places.push((vec![first], Some(mask.to_string())));
        }
        for pause_ns in PAUSES_NS {
            for (placement, mask) in &places {
                let parameters = Parameters::default()
                    .with("kind", kind.name())
                    .with("pause_ns", pause_ns)
                    .with_some("mask", mask.clone())
                    .with_some("parent_mib", kind.is_process().then_some(PARENT_MIB));
                let trial =
                    TrialSpec { probe: super::SPEC.id.to_owned(), parameters, placement: placement.clone() };
                if trials.contains(&trial) {
                    return Err(RequestError::twice("--kind", name));
                }
                trials.push(trial);
            }
        }
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::creation::Config;
    use coretalk_model::Topology;

    fn of(kinds: &str, cpus: &str) -> Result<Vec<TrialSpec>, RequestError> {
        let set = CpuSet::from_list(cpus).expect("a list");
        let topology = Topology::flat(set.clone());
        let cpus: Vec<CpuId> = set.iter().collect();
        let pairs: Vec<[CpuId; 2]> = cpus.get(1).map(|&to| [cpus[0], to]).into_iter().collect();
        let options = Parameters::default().with("kind", kinds);
        trials(&SeriesRequest { topology: &topology, cpus: &cpus, pairs: &pairs, options: &options })
    }

    #[test]
    fn placed_kinds_get_pairs_and_the_others_run_anywhere() {
        let places = |kind| -> Vec<usize> {
            of(kind, "0-1").unwrap().iter().map(|trial| trial.placement.len()).collect()
        };
        assert_eq!(places("pool"), [2, 2, 2, 2]);
        assert_eq!(places("fork"), [2, 1, 2, 1]);
        assert_eq!(of("fork", "3").unwrap().len(), 2, "one CPU has no anywhere");
        let anywhere = &of("thread", "0-1").unwrap()[1];
        assert_eq!(Config::of(anywhere).unwrap().mask, Some(CpuSet::from_list("0-1").unwrap()));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_sentence() {
        assert!(of("forks", "0-1").unwrap_err().to_string().ends_with("a similar name exists: `fork`"));
        assert_eq!(of("pool,pool", "0-1").unwrap_err().to_string(), "--kind lists pool twice; list it once");
    }
}
