//! Distributions and values of trials.

use super::runtime::RuntimeDoc;
use super::{Ci, ci, known, rounded, significant};
use crate::reasons::Worded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk_model::histogram::tells;
use coretalk_model::latency::summary::{counts_mean, counts_percentile, counts_total};
use coretalk_model::latency::{self, TailSeries};
use coretalk_model::series::{ParameterValue, SeriesSettings, TrialResult, TrialState, displayed_value};
use coretalk_model::stats::Estimate;
use coretalk_model::wait::names;
use coretalk_model::{Flag, Histogram};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// View of the recorded round trips, which follow each other without a pause.
const CLOSED_LOOP: &str = "closed-loop";

/// One distribution of a trial, or a trial without distributions.
// Names and counts are borrowed from the result, because a run over pairs has tens of thousands of them.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SeriesDoc<'a> {
    pub(crate) probe: Cow<'a, str>,
    /// Parameters by name; `view` distinguishes the distributions of a trial.
    pub(crate) parameters: BTreeMap<Cow<'a, str>, ValueDoc<'a>>,
    /// CPUs in role order.
    pub(crate) placement: Vec<u32>,
    /// `event` for distributions of single events, otherwise `batch-mean`.
    pub(crate) kind: &'static str,
    pub(crate) unit: &'static str,
    /// The `view` or the name in `values` that represents the trial in tables and pictures; null without a result.
    pub(crate) headline: Option<Cow<'a, str>>,
    /// Number of events.
    pub(crate) count: u64,
    /// Mean of the events, in `unit`.
    pub(crate) mean: Option<f64>,
    pub(crate) percentiles: PercentilesDoc,
    /// HdrHistogram V2, uncompressed; null if the values do not fit.
    #[serde(rename = "histogram_v2_base64", serialize_with = "in_base64")]
    #[schemars(rename = "histogram_v2_base64", with = "Option<String>")]
    pub(crate) histogram: Option<Cow<'a, Histogram>>,
    /// Picoseconds per unit of the values in the histogram.
    pub(crate) histogram_unit_ps: u64,
    /// Values of the whole trial, named with the unit last; only with its first distribution.
    pub(crate) values: BTreeMap<Cow<'a, str>, Option<f64>>,
    /// Values of each CPU of `placement`, in the same order (with several ends of a queue, their `share`); only with
    /// the first distribution of a trial, empty if there are none.
    pub(crate) of_roles: Vec<OfRoleDoc>,
    /// 95 % intervals over passes of each value and of the median (`median_ns`).
    pub(crate) intervals: BTreeMap<Cow<'a, str>, Option<Ci>>,
    /// Numbers of occurrences over all passes.
    pub(crate) counts: BTreeMap<Cow<'a, str>, u64>,
    /// Number of successful passes; null if passes do not count.
    pub(crate) passes: Option<u32>,
    /// States by descending share; empty if there is only one. All other fields describe the first.
    pub(crate) states: Vec<TrialStateDoc>,
    /// Additional results of a runtime of another language; null otherwise.
    pub(crate) runtime: Option<RuntimeDoc>,
    /// Reliability, `A` to `D`; null without a result.
    pub(crate) grade: Option<String>,
    /// Names of flags, in kebab case.
    pub(crate) flags: Vec<&'static str>,
    /// The gravest doubt, or why there is no result.
    pub(crate) reason: Option<String>,
    /// Whether it is written elsewhere and left out of its document.
    #[serde(skip)]
    pub(crate) is_elsewhere: bool,
}

/// Values of one CPU of a trial.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OfRoleDoc {
    /// Values by name, as `values` of the whole trial.
    values: BTreeMap<String, Option<f64>>,
    /// 95 % interval of each value.
    intervals: BTreeMap<String, Option<Ci>>,
}

impl OfRoleDoc {
    fn new(values: &BTreeMap<String, Estimate>) -> OfRoleDoc {
        let point = |(name, value): (&String, &Estimate)| (name.clone(), significant(value.point));
        let interval = |(name, value): (&String, &Estimate)| (name.clone(), ci(value));
        OfRoleDoc {
            values: values.iter().map(point).collect(),
            intervals: values.iter().map(interval).collect(),
        }
    }
}

/// One state of a trial.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrialStateDoc {
    /// Share of the passes in this state, 0 to 1.
    share: Option<f64>,
    /// Median of the distribution; without one, the headline value.
    median: Option<f64>,
    /// 95 % interval of `median`.
    ci: Option<Ci>,
    /// Values of the whole trial in this state, named as in the `values` of the series.
    values: BTreeMap<String, Option<f64>>,
    /// CAS without pause between the CPUs of the trial in this state, in nanoseconds (mean over neighbours if there are
    /// more than two); several if the trial does not separate states of the machine, empty if unknown.
    cas_ns: Vec<f64>,
}

impl TrialStateDoc {
    fn new(state: &TrialState, view: Option<&String>) -> TrialStateDoc {
        let of_view = view.and_then(|view| state.medians_ns.get(view));
        let displayed = if view.is_some() { of_view } else { Some(&state.value) };
        TrialStateDoc {
            share: known(state.share),
            median: displayed.and_then(|displayed| known(displayed.point)),
            ci: displayed.and_then(ci),
            values: state
                .values
                .iter()
                .map(|(name, value)| (name.clone(), significant(value.point)))
                .collect(),
            cas_ns: state.cas_ns.iter().copied().map(rounded).collect(),
        }
    }
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ValueDoc<'a> {
    /// A number, in the unit at the end of its name.
    Number(f64),
    /// Text.
    Text(Cow<'a, str>),
}

/// Percentiles in `unit`; null without events, and above `50` if less than one is expected beyond. `100` is the
/// maximum.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PercentilesDoc {
    #[serde(rename = "50")]
    pub(crate) p50: Option<f64>,
    #[serde(rename = "90")]
    pub(crate) p90: Option<f64>,
    #[serde(rename = "99")]
    pub(crate) p99: Option<f64>,
    #[serde(rename = "99.9")]
    pub(crate) p99_9: Option<f64>,
    #[serde(rename = "99.99")]
    pub(crate) p99_99: Option<f64>,
    #[serde(rename = "100")]
    pub(crate) max: Option<f64>,
}

impl<'a> SeriesDoc<'a> {
    /// Two series per pair: the closed loop as recorded, and the latency of messages at a fixed rate.
    pub(super) fn of_tails(tails: &TailSeries) -> [SeriesDoc<'a>; 2] {
        let net = |share: f64| tails.net_ns(share).and_then(known);
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
            SeriesDoc::new(tails, CLOSED_LOOP, &tails.raw, closed),
            SeriesDoc::new(tails, "at-rate", &tails.at_rate, open),
        ]
    }

    fn new(
        tails: &TailSeries,
        view: &'static str,
        counts: &[(u64, u64)],
        values: BTreeMap<&'static str, Option<f64>>,
    ) -> SeriesDoc<'a> {
        let parameters = BTreeMap::from([("kernel", tails.kernel.to_string()), ("view", view.to_owned())]);
        let placement = tails.placement.iter().map(|cpu| cpu.0).collect();
        let headline = Some(CLOSED_LOOP.into());
        SeriesDoc { headline, ..SeriesDoc::events(latency::PROBE, parameters, placement, counts, values) }
    }

    pub(super) fn events(
        probe: &'static str,
        parameters: BTreeMap<&'static str, String>,
        placement: Vec<u32>,
        counts: &[(u64, u64)],
        values: BTreeMap<&'static str, Option<f64>>,
    ) -> SeriesDoc<'a> {
        SeriesDoc {
            probe: probe.into(),
            parameters: parameters
                .into_iter()
                .map(|(name, text)| (name.into(), ValueDoc::Text(text.into())))
                .collect(),
            placement,
            kind: "event",
            unit: "ns",
            count: counts_total(counts),
            mean: counts_mean(counts).and_then(|ps| known(ps / 1e3)),
            percentiles: PercentilesDoc::new(counts),
            histogram: Some(Cow::Owned(histogram_of(counts))),
            histogram_unit_ps: Histogram::UNIT_PS,
            values: values.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            ..SeriesDoc::default()
        }
    }

    /// The view; empty for the only distribution of a trial.
    pub(crate) fn view(&self) -> &str {
        match self.parameters.get("view") {
            Some(ValueDoc::Text(view)) => view,
            _ => "",
        }
    }

    pub(crate) fn is_headline(&self) -> bool {
        self.headline.as_ref().is_some_and(|headline| headline == self.view())
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.parameters.iter().filter_map(|(name, value)| match value {
            ValueDoc::Number(number) => Some((name.as_ref(), *number)),
            ValueDoc::Text(_) => None,
        })
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().filter_map(|(name, value)| match value {
            ValueDoc::Number(_) => None,
            ValueDoc::Text(text) => Some((name.as_ref(), text.as_ref())),
        })
    }

    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        *self.values.get(name)?
    }

    pub(crate) fn interval(&self, name: &str) -> Option<Ci> {
        *self.intervals.get(name)?
    }

    pub(crate) fn median(&self) -> Option<(f64, Option<Ci>)> {
        Some((self.percentiles.p50?, self.interval("median_ns").filter(|_| self.unit == "ns")))
    }

    /// One series per distribution of a trial; a trial without distributions has one series without a distribution.
    pub(super) fn of_trial(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Vec<SeriesDoc<'a>> {
        let headline = displayed_value(settings, trial);
        let mut views: Vec<Option<&String>> = trial.histograms.keys().map(Some).collect();
        if views.is_empty() {
            views.push(None);
        }
        let of_view = |(index, view)| SeriesDoc {
            headline: headline.map(Cow::Borrowed),
            ..SeriesDoc::of_view(settings, trial, view, index == 0)
        };
        views.into_iter().enumerate().map(of_view).collect()
    }

    fn of_view(
        settings: &SeriesSettings,
        trial: &'a TrialResult,
        view: Option<&'a String>,
        is_first: bool,
    ) -> SeriesDoc<'a> {
        let parameters = trial.spec.parameters.iter();
        let mut parameters: BTreeMap<Cow<'a, str>, ValueDoc<'a>> =
            parameters.map(|(name, value)| (name.into(), ValueDoc::new(value))).collect();
        if let Some(view) = view {
            parameters.insert("view".into(), ValueDoc::Text(view.into()));
            if [names::HINT, names::PLAIN].contains(&view.as_str()) {
                parameters.insert("phase".into(), ValueDoc::Text(view.into()));
            }
        }
        let none = Histogram::new();
        let histogram = view.and_then(|view| trial.histograms.get(view));
        let counts = histogram.unwrap_or(&none);
        let values = trial.values.iter().filter(|_| is_first);
        // Sums that `compare` uses are values, too.
        let is_compared = |name: &str| {
            settings.quantities.get(&trial.spec.probe, name).is_some_and(|quantity| quantity.compared)
        };
        let compared = trial.counts.iter().filter(|(name, _)| is_first && is_compared(name));
        let counted = trial.counts.iter().filter(|_| is_first);
        let median =
            view.and_then(|view| trial.medians_ns.get(view)).map(|median| ("median_ns".into(), ci(median)));
        SeriesDoc {
            probe: Cow::Borrowed(&trial.spec.probe),
            parameters,
            placement: trial.spec.placement.iter().map(|cpu| cpu.0).collect(),
            kind: if view.is_some() { "event" } else { "batch-mean" },
            unit: "ns",
            count: counts.count(),
            mean: counts.mean_ns().and_then(known),
            percentiles: PercentilesDoc::of_histogram(counts),
            histogram: histogram.map(Cow::Borrowed),
            histogram_unit_ps: Histogram::UNIT_PS,
            intervals: values.clone().map(|(name, value)| (name.into(), ci(value))).chain(median).collect(),
            values: values
                .map(|(name, value)| (name.into(), significant(value.point)))
                .chain(compared.map(|(name, count)| (name.into(), known(*count as f64))))
                .collect(),
            of_roles: trial.of_roles.iter().filter(|_| is_first).map(OfRoleDoc::new).collect(),
            counts: counted.map(|(name, count)| (name.into(), *count)).collect(),
            passes: Some(trial.passes),
            states: trial.states.iter().map(|state| TrialStateDoc::new(state, view)).collect(),
            runtime: RuntimeDoc::new(trial),
            grade: trial.grade.map(|grade| grade.to_string()),
            flags: trial.flags.iter().map(Flag::name).collect(),
            reason: trial.reason.as_ref().map(Worded::text),
            ..SeriesDoc::default()
        }
    }
}

impl ValueDoc<'_> {
    pub(crate) fn new(value: &ParameterValue) -> ValueDoc<'_> {
        match value {
            ParameterValue::Number(number) => ValueDoc::Number(*number),
            ParameterValue::Text(text) => ValueDoc::Text(text.into()),
        }
    }
}

impl From<&ValueDoc<'_>> for ParameterValue {
    fn from(value: &ValueDoc<'_>) -> ParameterValue {
        match value {
            ValueDoc::Number(number) => ParameterValue::Number(*number),
            ValueDoc::Text(text) => ParameterValue::Text(text.as_ref().to_owned()),
        }
    }
}

impl PercentilesDoc {
    pub(crate) fn named(&self) -> [(&'static str, Option<f64>); 6] {
        [
            ("50", self.p50),
            ("90", self.p90),
            ("99", self.p99),
            ("99.9", self.p99_9),
            ("99.99", self.p99_99),
            ("100", self.max),
        ]
    }

    fn new(counts_ps: &[(u64, u64)]) -> PercentilesDoc {
        let all = counts_total(counts_ps);
        PercentilesDoc::at(|share| {
            let ps = tells(all, share).then(|| counts_percentile(counts_ps, share)).flatten();
            ps.map(|ps| ps as f64 / 1e3)
        })
    }

    pub(super) fn of_histogram(counts: &Histogram) -> PercentilesDoc {
        PercentilesDoc::at(|share| counts.supported_percentile_ns(share))
    }

    fn at(ns: impl Fn(f64) -> Option<f64>) -> PercentilesDoc {
        let [p50, p90, p99, p99_9, p99_99, max] =
            [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0].map(|share| ns(share).map(rounded));
        PercentilesDoc { p50, p90, p99, p99_9, p99_99, max }
    }
}

pub(crate) fn histogram_of(counts_ps: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for &(ps, count) in counts_ps {
        histogram.record(ps.saturating_add(Histogram::UNIT_PS / 2) / Histogram::UNIT_PS, count);
    }
    histogram
}

/// Serializes the series that are not written elsewhere.
pub(super) fn written<S: Serializer>(series: &[SeriesDoc<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(series.iter().filter(|one| !one.is_elsewhere))
}

fn in_base64<S: Serializer>(counts: &Option<Cow<'_, Histogram>>, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = counts.as_ref().and_then(|counts| counts.to_v2());
    bytes.map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
}
