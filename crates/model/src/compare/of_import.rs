//! A matrix file of another tool, or of our own `csv`, as a [`Side`].

use super::of_latency::NEGLIGIBLE_NS;
use super::{Dataset, Fact, Reading, ReadingKey, Side, Value};
use crate::formats::{ImportedMatrix, Printed, Unit};
use crate::lint::comb;
use crate::quantity::Better;
use std::collections::BTreeMap;

/// A value printed on a lattice moves by a whole step for next to nothing: one step is no difference yet.
const STEPS_OF_A_LATTICE: f64 = 1.5;

/// The matrices of one file.
pub fn of_import(matrices: &[ImportedMatrix]) -> Side {
    let datasets = matrices.iter().map(|matrix| dataset(matrix, matrices.len())).collect();
    let said = |key: &str| matrices.first().and_then(|matrix| value(matrix, key));
    let facts = [
        (Fact::Simulated, said("simulated").map(|text| if text == "true" { "yes" } else { "no" })),
        (Fact::CpuModel, said("cpu")),
        (Fact::System, said("os")),
        (Fact::Hypervisor, said("hypervisor")),
    ];
    Side {
        facts: facts.into_iter().filter_map(|(fact, text)| Some((fact, text?.to_owned()))).collect(),
        topology: None,
        execution: Vec::new(),
        guest: said("hypervisor").is_some(),
        datasets,
    }
}

fn value<'a>(matrix: &'a ImportedMatrix, key: &str) -> Option<&'a str> {
    matrix.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

fn dataset(imported: &ImportedMatrix, among: usize) -> Dataset {
    let matrix = &imported.matrix;
    let cpus = matrix.cpus();
    let mut readings: BTreeMap<ReadingKey, Reading> = BTreeMap::new();
    for row in 0..matrix.len() {
        for column in 0..row {
            // A file does not say which direction is which, and runs have one value for both.
            let both = [matrix.get(row, column), matrix.get(column, row)];
            let known: Vec<f64> = both.into_iter().filter_map(|cell| *cell?).collect();
            if known.is_empty() {
                continue;
            }
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            let reading = Reading { value: Value::bare(mean), cycles: None, steady: true };
            readings.insert(ReadingKey::unordered(cpus[row], cpus[column]), reading);
        }
    }
    let values: Vec<f64> = readings.values().map(|reading| reading.value.point).collect();
    let lattice = match imported.printed {
        Printed::WholeNumbers => 1.0,
        Printed::Decimals => comb::step(&values, imported.printed).unwrap_or(0.0),
    };
    let name = match (value(imported, "protocol"), &imported.title) {
        (Some(protocol), _) => format!("latency {protocol}"),
        (None, Some(title)) if among > 1 => format!("latency, {title}"),
        (None, _) => "latency".to_owned(),
    };
    let traits =
        ["kernel", "regime"].into_iter().filter_map(|key| Some((key, value(imported, key)?.to_owned())));
    Dataset {
        name,
        quantity: "half_round_trip".to_owned(),
        unit: imported.unit.to_string(),
        better: Better::Lower,
        traits: traits.collect(),
        resolution: STEPS_OF_A_LATTICE * lattice,
        negligible: if imported.unit == Unit::Ns { NEGLIGIBLE_NS } else { 0.0 },
        readings,
    }
}
