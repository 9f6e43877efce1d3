//! Distributions of single events.

use super::{known, rounded};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk_model::latency::TailSeries;
use coretalk_model::latency::summary::{counts_mean, counts_percentile, counts_total};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Picoseconds in a unit of the stored histogram.
const HISTOGRAM_UNIT_PS: u64 = 10;
/// The longest event that a histogram holds: an hour.
const HISTOGRAM_HIGHEST: u64 = 3_600 * 1_000_000_000_000 / HISTOGRAM_UNIT_PS;

/// A distribution.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SeriesDoc {
    probe: &'static str,
    parameters: BTreeMap<&'static str, String>,
    /// CPUs in role order.
    placement: Vec<u32>,
    /// `event` or `batch-mean`.
    kind: &'static str,
    unit: &'static str,
    count: u64,
    mean: Option<f64>,
    percentiles: PercentilesDoc,
    /// HdrHistogram V2, not compressed; null where the values do not fit one.
    histogram_v2_base64: Option<String>,
    histogram_unit_ps: u64,
    values: BTreeMap<&'static str, Option<f64>>,
    grade: Option<String>,
    flags: Vec<&'static str>,
}

/// The usual percentiles; null in an empty series.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PercentilesDoc {
    #[serde(rename = "50")]
    p50: Option<f64>,
    #[serde(rename = "90")]
    p90: Option<f64>,
    #[serde(rename = "99")]
    p99: Option<f64>,
    #[serde(rename = "99.9")]
    p99_9: Option<f64>,
    #[serde(rename = "99.99")]
    p99_99: Option<f64>,
    #[serde(rename = "100")]
    max: Option<f64>,
}

impl SeriesDoc {
    /// Two series for a pair: the closed loop as recorded, and what messages at a rate would have seen.
    pub(super) fn of_tails(tails: &TailSeries) -> [SeriesDoc; 2] {
        let net = |share: f64| {
            counts_percentile(&tails.raw, share)
                .and_then(|ps| known((ps as f64 / 1e3 - tails.clock_ns).max(0.0)))
        };
        let closed = BTreeMap::from([
            ("clock_ns", known(tails.clock_ns)),
            ("observed_s", known(tails.observed.secs())),
            ("negative_net", Some(tails.negative_net as f64)),
            ("net_p50", net(0.5)),
            ("net_p90", net(0.9)),
            ("net_p99", net(0.99)),
            ("net_p99_9", net(0.999)),
            ("net_max", net(1.0)),
        ]);
        let open = BTreeMap::from([
            ("rate_per_s", known(tails.rate_per_s)),
            ("observed_s", known(tails.observed.secs())),
        ]);
        [
            SeriesDoc::of(tails, "closed-loop", &tails.raw, closed),
            SeriesDoc::of(tails, "at-rate", &tails.at_rate, open),
        ]
    }

    fn of(
        tails: &TailSeries,
        view: &'static str,
        counts: &[(u64, u64)],
        values: BTreeMap<&'static str, Option<f64>>,
    ) -> SeriesDoc {
        let parameters = BTreeMap::from([("kernel", tails.kernel.to_string()), ("view", view.to_owned())]);
        let placement = tails.placement.iter().map(|cpu| cpu.0).collect();
        SeriesDoc::events("latency", parameters, placement, counts, values)
    }

    /// Single events in nanoseconds, from counts in picoseconds.
    pub(super) fn events(
        probe: &'static str,
        parameters: BTreeMap<&'static str, String>,
        placement: Vec<u32>,
        counts: &[(u64, u64)],
        values: BTreeMap<&'static str, Option<f64>>,
    ) -> SeriesDoc {
        SeriesDoc {
            probe,
            parameters,
            placement,
            kind: "event",
            unit: "ns",
            count: counts_total(counts),
            mean: counts_mean(counts).and_then(|ps| known(ps / 1e3)),
            percentiles: PercentilesDoc::of(counts),
            histogram_v2_base64: histogram(counts),
            histogram_unit_ps: HISTOGRAM_UNIT_PS,
            values,
            grade: None,
            flags: Vec::new(),
        }
    }
}

impl PercentilesDoc {
    fn of(counts_ps: &[(u64, u64)]) -> PercentilesDoc {
        let at = |share| counts_percentile(counts_ps, share).map(|ps| rounded(ps as f64 / 1e3));
        PercentilesDoc {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: at(1.0),
        }
    }
}

fn histogram(counts_ps: &[(u64, u64)]) -> Option<String> {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_HIGHEST, 3).ok()?;
    for &(ps, count) in counts_ps {
        histogram.record_n((ps + HISTOGRAM_UNIT_PS / 2) / HISTOGRAM_UNIT_PS, count).ok()?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}
