//! Tails: percentiles of single half round trips, raw, net of the clock, and as messages at a rate would see them.

use super::text::{count, duration, grouped, ns};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::histogram::tells;
use coretalk_model::latency::TailSeries;
use coretalk_model::latency::summary::{counts_percentile, counts_total};

/// Percentiles of every pair: event times, never batch means.
pub fn tail_table(tails: &[TailSeries]) -> Vec<Block<'static>> {
    let titles = ["p50", "p90", "p99", "p99.9", "max"].map(Column::numbers);
    let columns = [Column::words("tails, ns per hop")].into_iter().chain(titles).collect::<Vec<_>>();
    let counted = |counts: &[(u64, u64)], share: f64| {
        let ps = tells(counts_total(counts), share).then(|| counts_percentile(counts, share))??;
        Some(ps as f64 / 1e3)
    };
    let mut table = Table::new(columns);
    for series in tails {
        let [a, b] = series.placement;
        let mut row = |what: &str, of: &dyn Fn(f64) -> Option<f64>| {
            let [p50, p90, p99, p999, max] =
                [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| Cell::known(of(share).map(ns)));
            table.row([format!("{a} → {b} {what}").into(), p50, p90, p99, p999, max]);
        };
        row("raw", &|share| counted(&series.raw, share));
        row("net", &|share| series.net_ns(share));
        let rate = grouped(series.rate_per_s.round() as i64);
        row(&format!("at {rate} messages/s"), &|share| counted(&series.at_rate, share));
    }
    let legend = tails.first().map(|series| {
        Block::Prose(format!(
            "Single events, {} over {} for each pair; net is without the median cost of the clock ({} ns in a round \
             trip, half of it in each hop), with its sign: {} below zero.",
            count(counts_total(&series.raw), "round trip"),
            duration(series.observed.secs()),
            ns(series.clock_ns),
            count(tails.iter().map(|series| series.negative_net).sum(), "event"),
        ))
    });
    [Block::Table(table)].into_iter().chain(legend).collect()
}
