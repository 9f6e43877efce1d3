//! A few pairs as a list, where a map would be mostly empty.

use super::ladder::relation_words;
use super::states::cell_interval;
use super::text::{ns, plain};
use crate::RunReport;
use crate::blocks::{Cell, Column, Table};
use coretalk_model::CpuId;
use coretalk_model::latency::{self, LatencyMap};

/// The cells that a list shows: those of the pairs asked for, in matrix order.
pub fn pair_table(report: &RunReport, map: &LatencyMap, pairs: &[[CpuId; 2]]) -> Table {
    let columns = [
        Column::words("CPUs"),
        Column::words("share"),
        Column::numbers("ns (95 %)"),
        Column::numbers("fastest"),
        Column::words("grade"),
        Column::words("doubts"),
    ];
    let rows = pairs.iter().map(|&[a, b]| {
        let position = map.cells.position(a).zip(map.cells.position(b));
        let cell = position.and_then(|(row, column)| map.cells.get(row, column));
        let [value, fastest, grade, doubts] = match cell {
            Some(latency::Cell::Measured(value)) => {
                let flags: Vec<&str> =
                    value.flags.iter().filter(|flag| flag.is_doubt()).map(|flag| flag.name()).collect();
                let mark = if flags.is_empty() { "" } else { "! " };
                [
                    cell_interval(value).into(),
                    ns(value.min_ns).into(),
                    value.grade.to_string().into(),
                    format!("{mark}{}", flags.join(", ")).into(),
                ]
            }
            Some(latency::Cell::Missing { reason }) => {
                [Cell::Unknown, Cell::Unknown, Cell::Unknown, plain(reason).into()]
            }
            None => [Cell::Unknown, Cell::Unknown, Cell::Unknown, "not in this map".into()],
        };
        let share = relation_words(report.topology.relation(a, b), &report.topology);
        [format!("{a} ↔ {b}").into(), share.into(), value, fastest, grade, doubts]
    });
    Table::new(columns).with(rows)
}
