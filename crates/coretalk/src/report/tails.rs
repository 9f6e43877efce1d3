//! Tails: percentiles of single half round trips, raw, net of the clock, and as messages at a rate would see them.

use super::text::{count, duration, ns, wrap};
use crate::blocks::Align;
use crate::render::terminal::Columns;
use coretalk_model::histogram::tells;
use coretalk_model::latency::TailSeries;
use coretalk_model::latency::summary::{counts_percentile, counts_total};

/// Percentiles of every pair: event times, never batch means.
pub fn tail_table(tails: &[TailSeries], width: usize) -> Vec<String> {
    let mut table = Columns::new(&[
        ("tails, ns per hop", Align::Left),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
    ]);
    let percentiles = |of: &dyn Fn(f64) -> Option<f64>| -> Vec<String> {
        [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| of(share).map_or("·".to_owned(), ns)).to_vec()
    };
    let counted = |counts: &[(u64, u64)], share: f64| {
        let ps = tells(counts_total(counts), share).then(|| counts_percentile(counts, share))??;
        Some(ps as f64 / 1e3)
    };
    for series in tails {
        let [a, b] = series.placement;
        let rate = format!("at {} messages/s", super::text::grouped(series.rate_per_s.round() as i64));
        for (what, cells) in [
            ("raw", percentiles(&|share| counted(&series.raw, share))),
            ("net", percentiles(&|share| series.net_ns(share))),
            (rate.as_str(), percentiles(&|share| counted(&series.at_rate, share))),
        ] {
            table.row(std::iter::once(format!("{a} → {b} {what}")).chain(cells).collect());
        }
    }
    let mut lines = table.lines(width);
    if let Some(series) = tails.first() {
        let text = format!(
            " Single events, {} over {} for each pair; net is without the median cost of the clock ({} ns in a round trip, \
             half of it in each hop), with its sign: {} below zero.",
            count(counts_total(&series.raw), "round trip"),
            duration(series.observed.secs()),
            ns(series.clock_ns),
            count(tails.iter().map(|series| series.negative_net).sum(), "event"),
        );
        lines.extend(wrap(&text, width, 1));
    }
    lines
}
