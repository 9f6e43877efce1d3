//! Queue rates as square tables, one for each queue, payload and capacity: rows are producers, columns are consumers.

use super::{Export, ExportError, facts};
use crate::fmt::digits::million;
use coretalk_model::formats::write_rates_csv;
use coretalk_model::queue::{QueueCell, QueueMatrix, matrices};
use coretalk_model::{CpuId, Matrix};
use std::io::Write;

/// Trials of other probes, at a rate, or with several producers do not belong to square tables.
pub(super) fn holds_squares(what: &Export<'_>) -> bool {
    let Some(series) = &what.report.series else { return false };
    let trials = &series.result.trials;
    what.probe.is_none() && !trials.is_empty() && trials.iter().all(QueueCell::holds)
}

/// Cells are empty for unmeasured pairs, and for two threads that poll on one CPU.
pub(super) fn write_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    for (index, (matrix, rates)) in squares(what).into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let mut metadata = vec![
            ("probe", "queue".to_owned()),
            ("queue", matrix.queue.to_owned()),
            ("payload", matrix.payload.to_owned()),
            ("capacity", matrix.capacity.to_string()),
            ("rows", "produce".to_owned()),
            ("columns", "consume".to_owned()),
        ];
        metadata.extend(facts(what.report));
        out.write_all(write_rates_csv(&rates, &metadata).as_bytes())?;
    }
    Ok(())
}

pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    for (index, (matrix, rates)) in squares(what).into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let QueueMatrix { queue, payload, capacity, .. } = matrix;
        writeln!(
            out,
            "{queue}, {payload}, capacity {capacity}: million messages per second, the row produces\n"
        )?;
        let cpus: Vec<String> = rates.cpus().iter().map(CpuId::to_string).collect();
        writeln!(out, "| CPU | {} |", cpus.join(" | "))?;
        writeln!(out, "|---:|{}", "---:|".repeat(cpus.len()))?;
        for (row, cpu) in cpus.iter().enumerate() {
            let cell = |column| match rates.get(row, column) {
                Some(Some(per_s)) => million(*per_s),
                _ => String::new(),
            };
            let cells: Vec<String> = (0..cpus.len()).map(cell).collect();
            writeln!(out, "| {cpu} | {} |", cells.join(" | "))?;
        }
    }
    Ok(())
}

fn squares<'a>(what: &Export<'a>) -> Vec<(QueueMatrix<'a>, Matrix<Option<f64>>)> {
    let Some(series) = &what.report.series else { return Vec::new() };
    let cpus = &series.settings.cpus;
    let square = |matrix: QueueMatrix<'a>| {
        let rates = Matrix::directed(cpus.clone(), |row, column| {
            Some(matrix.get(cpus[row], cpus[column])?.rate_of_pair()?.point)
        });
        (matrix, rates)
    };
    matrices(&series.result).into_iter().map(square).collect()
}
