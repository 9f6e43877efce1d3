//! Tails: percentiles of single half round trips, raw, net of the clock, and as messages at a rate would see them.

use super::table::{Align, Columns};
use super::text::{count, duration, ns, wrap};
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
    let percentiles = |counts: &[(u64, u64)], less_ns: f64| -> Vec<String> {
        [0.5, 0.9, 0.99, 0.999, 1.0]
            .map(|share| {
                counts_percentile(counts, share)
                    .map_or("·".to_owned(), |ps| ns((ps as f64 / 1e3 - less_ns).max(0.0)))
            })
            .to_vec()
    };
    for series in tails {
        let [a, b] = series.placement;
        let rate = format!("at {} messages/s", super::text::grouped(series.rate_per_s.round() as i64));
        for (what, counts, less) in [
            (format!("{a} → {b} raw"), &series.raw, 0.0),
            (format!("{a} → {b} net"), &series.raw, series.clock_ns),
            (format!("{a} → {b} {rate}"), &series.at_rate, 0.0),
        ] {
            let mut row = vec![what];
            row.extend(percentiles(counts, less));
            table.row(row);
        }
    }
    let mut lines = table.lines(width);
    if let Some(series) = tails.first() {
        let text = format!(
            " Single events, {} over {} for each pair; net is without the median cost of the clock ({} ns); {} \
             would be negative and count as 0.",
            count(counts_total(&series.raw), "round trip"),
            duration(series.observed.secs()),
            ns(series.clock_ns),
            count(series.negative_net, "event"),
        );
        lines.extend(wrap(&text, width, 1));
    }
    lines
}
