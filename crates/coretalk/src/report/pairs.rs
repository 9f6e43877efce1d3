//! A few pairs as a list, where a map would be mostly empty.

use super::ladder::relation_words;
use super::states::cell_interval;
use super::text::{ns, plain};
use crate::RunReport;
use crate::blocks::Align;
use crate::render::terminal::Columns;
use coretalk_model::CpuId;
use coretalk_model::latency::{Cell, LatencyMap};

/// The cells that a list shows: those of the pairs asked for, in matrix order.
pub fn pair_table(report: &RunReport, map: &LatencyMap, pairs: &[[CpuId; 2]], width: usize) -> Vec<String> {
    let mut table = Columns::new(&[
        ("CPUs", Align::Left),
        ("share", Align::Left),
        ("ns (95 %)", Align::Right),
        ("fastest", Align::Right),
        ("grade", Align::Left),
        ("doubts", Align::Left),
    ]);
    for &[a, b] in pairs {
        let cell = map
            .cells
            .position(a)
            .zip(map.cells.position(b))
            .and_then(|(row, column)| map.cells.get(row, column));
        let names = format!("{a} ↔ {b}");
        let share = relation_words(report.topology.relation(a, b), &report.topology);
        table.row(match cell {
            Some(Cell::Measured(value)) => {
                let flags: Vec<&str> =
                    value.flags.iter().filter(|flag| flag.is_doubt()).map(|flag| flag.name()).collect();
                let mark = if flags.is_empty() { "" } else { "! " };
                vec![
                    names,
                    share,
                    cell_interval(value),
                    ns(value.min_ns),
                    value.grade.to_string(),
                    format!("{mark}{}", flags.join(", ")),
                ]
            }
            Some(Cell::Missing { reason }) => {
                vec![names, share, "·".into(), "·".into(), "·".into(), plain(reason)]
            }
            None => vec![names, share, "·".into(), "·".into(), "·".into(), "not in this map".into()],
        });
    }
    table.lines(width)
}
