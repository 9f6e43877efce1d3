//! A comparison of placements as a [`Side`]: each metric of each piece of work, placement by placement.

use super::of_latency::facts;
use super::{Dataset, Reading, ReadingKey, Series, Side, Value};
use crate::place::{PlaceResult, PlaceSettings};
use crate::{Environment, Topology};

/// A comparison of placements: a dataset for each metric of each piece of work.
pub fn of_places(
    environment: &Environment,
    topology: &Topology,
    settings: &PlaceSettings,
    result: &PlaceResult,
) -> Side {
    let threads =
        settings.threads.map_or_else(|| "as the work says".to_owned(), |threads| threads.to_string());
    let datasets = result.comparisons.iter().map(|comparison| {
        let readings = comparison.arms.iter().filter_map(|arm| {
            let value = Value::of(arm.median.as_ref()?);
            let cpus = arm.placement.taskset().unwrap_or_else(|| "unbound".to_owned());
            let series = Series {
                name: format!("{} ({cpus})", arm.placement.name),
                label: arm.placement.name.clone(),
                cpus: arm.placement.taskset().map_or(Vec::new(), |_| arm.placement.cpus.clone()),
            };
            Some((ReadingKey::Series(series), Reading { value, cycles: None, steady: true }))
        });
        Dataset {
            name: format!("{}, {}", comparison.work, comparison.metric.name),
            quantity: comparison.metric.name.to_string(),
            unit: comparison.metric.unit.to_owned(),
            better: comparison.metric.better,
            traits: vec![("threads", threads.clone())],
            resolution: 0.0,
            negligible: 0.0,
            readings: readings.collect(),
        }
    });
    Side {
        facts: facts(environment),
        topology: Some(topology.clone()),
        execution: Vec::new(),
        guest: environment.hypervisor.is_some(),
        datasets: datasets.collect(),
    }
}
