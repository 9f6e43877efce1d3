//! [`headline`]: the number by which a trial is judged. [`displayed_value`]: the number in tables and pictures.

use super::{PassOutcome, SeriesSettings, TrialResult};
use crate::stats::Estimate;
use crate::{Flag, Histogram};
use std::collections::BTreeMap;
use std::fmt;

/// The name of a number by which trials are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// The probe; `None` for trials of every probe.
    pub probe: Option<String>,
    /// The name of a distribution or a value.
    pub name: String,
}

impl Headline {
    fn holds_for(&self, probe: &str) -> bool {
        self.probe.as_deref().is_none_or(|own| own == probe)
    }
}

impl From<&str> for Headline {
    fn from(text: &str) -> Headline {
        match text.split_once('/') {
            Some((probe, name)) => Headline { probe: Some(probe.to_owned()), name: name.to_owned() },
            None => Headline { probe: None, name: text.to_owned() },
        }
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.probe {
            Some(probe) => write!(f, "{probe}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The estimate by which a trial is judged: its first headline, otherwise its widest estimate.
pub fn headline<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    medians_ns: &'a BTreeMap<String, Estimate>,
    values: &'a BTreeMap<String, Estimate>,
) -> Option<&'a Estimate> {
    named_headline(settings, probe, medians_ns, values).map(|(_, estimate)| estimate)
}

/// The name and estimate of the headline by which a trial is judged.
pub fn named_headline<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    medians_ns: &'a BTreeMap<String, Estimate>,
    values: &'a BTreeMap<String, Estimate>,
) -> Option<(&'a str, &'a Estimate)> {
    let named = |name: &'a str| Some((name, medians_ns.get(name).or_else(|| values.get(name))?));
    let all = medians_ns.iter().chain(values).map(|(name, estimate)| (name.as_str(), estimate));
    let width = |(_, estimate): &(&str, &Estimate)| estimate.relative_reach();
    let widest = || all.max_by(|a, b| width(a).total_cmp(&width(b)));
    headlines(settings, probe).find_map(named).or_else(widest)
}

fn headlines<'a>(settings: &'a SeriesSettings, probe: &str) -> impl Iterator<Item = &'a str> {
    settings.headlines.iter().filter(move |headline| headline.holds_for(probe)).map(|it| it.name.as_str())
}

pub(super) fn named_headline_of_passes<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    passes: &[&PassOutcome],
) -> Option<(&'a str, Vec<Option<f64>>)> {
    let all = |name: &'a str| (name, passes.iter().map(|pass| value_of_pass(pass, name)).collect::<Vec<_>>());
    headlines(settings, probe).map(all).find(|(_, values)| values.iter().any(Option::is_some))
}

pub(super) fn headline_of_pass(settings: &SeriesSettings, probe: &str, pass: &PassOutcome) -> Option<f64> {
    headlines(settings, probe).find_map(|name| value_of_pass(pass, name))
}

pub(super) fn value_of_pass(pass: &PassOutcome, name: &str) -> Option<f64> {
    let median = |histogram: &Histogram| histogram.percentile_ns(0.5);
    let numbers = &pass.observed.numbers;
    numbers.histograms.get(name).and_then(median).or_else(|| numbers.values.get(name).copied())
}

/// The name of the number that represents a trial: the headline, unless its probe declares
/// [another](crate::quantity::Quantity::displayed).
pub fn displayed_value<'a>(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Option<&'a str> {
    // If a pair cannot keep up with the requested rate, its delay is unknown, and the achieved rate is not a delay.
    if trial.flags.contains(Flag::Saturated) {
        return None;
    }
    let probe = &trial.spec.probe;
    let declared = settings.quantities.of_probe(probe).iter().filter(|quantity| quantity.displayed);
    let known = declared.map(|quantity| quantity.id).find(|name| trial.values.contains_key(*name));
    let judged_by = || named_headline(settings, probe, &trial.medians_ns, &trial.values);
    known.or_else(|| judged_by().map(|(name, _)| name))
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeUnit {
    /// Symbol of the unit.
    pub name: &'static str,
    /// Nanoseconds per unit.
    pub ns: f64,
}

/// Smaller medians lose digits in microseconds: in a map, 50 ns would read 0.1 µs and 40 ns 0.0.
const MIN_NS: f64 = 100.0;
/// If all medians are smaller, they are shown in nanoseconds.
const FEW_NS: f64 = 1_500.0;

impl TimeUnit {
    /// 1 ns.
    pub const NANOSECONDS: TimeUnit = TimeUnit { name: "ns", ns: 1.0 };
    /// 1 µs.
    pub const MICROSECONDS: TimeUnit = TimeUnit { name: "µs", ns: 1e3 };

    /// The unit in which the smallest of some medians keeps its digits; microseconds without medians.
    ///
    /// ```
    /// # use coretalk_model::series::TimeUnit;
    /// assert_eq!(TimeUnit::for_values([19e3, 20e3].into_iter()).name, "µs");
    /// assert_eq!(TimeUnit::for_values([45.0, 20e3].into_iter()).name, "ns");
    /// ```
    pub fn for_values(medians_ns: impl Iterator<Item = f64>) -> TimeUnit {
        let [least, most] = medians_ns
            .filter(|ns| *ns > 0.0)
            .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], ns| [least.min(ns), most.max(ns)]);
        match least < MIN_NS || (most > 0.0 && most < FEW_NS) {
            true => TimeUnit::NANOSECONDS,
            false => TimeUnit::MICROSECONDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{Quantities, Quantity, Unit};
    use crate::series::Parameters;
    use crate::tests::{around, spec};

    const CONTEND: &[Quantity] = &[Quantity::time("ns_per_op_thread", "").displayed()];
    const JITTER: &[Quantity] = &[Quantity::value("lost_share", "", Unit::Share).displayed()];

    fn trial(probe: &str, medians: &[&str], values: &[&str]) -> TrialResult {
        let all = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), around(5.0, 0.2))).collect();
        let trial_spec = spec(probe, Parameters::default(), &[]);
        TrialResult { medians_ns: all(medians), values: all(values), ..TrialResult::empty(trial_spec) }
    }

    #[test]
    fn trials_never_display_their_observation_time() {
        let settings = SeriesSettings {
            headlines: ["slept", "hot", "ns_per_op_wall", "watched_share"].map(Headline::from).to_vec(),
            quantities: Quantities::new([("contend", CONTEND), ("jitter", JITTER)]),
            ..SeriesSettings::default()
        };
        let per_thread = "ns_per_op_thread";
        for (trial, name) in [
            (trial("wake", &["first", "hot", "slept", "waker"], &["hot_share"]), Some("slept")),
            (trial("wake", &["first", "hot", "waker"], &[]), Some("hot")),
            (trial("contend", &["acquire"], &[per_thread, "ns_per_op_wall"]), Some(per_thread)),
            (trial("contend", &[], &["ns_per_op_wall"]), Some("ns_per_op_wall")),
            (trial("jitter", &["gaps"], &["lost_share", "watched_share"]), Some("lost_share")),
            (trial("wake", &[], &[]), None),
        ] {
            assert_eq!(displayed_value(&settings, &trial), name, "{trial:?}");
        }
        let mut late = trial("queue", &[], &["messages_per_s"]);
        assert_eq!(displayed_value(&settings, &late), Some("messages_per_s"));
        late.flags.set(Flag::Saturated);
        assert_eq!(displayed_value(&settings, &late), None);
    }

    #[test]
    fn the_smallest_median_keeps_its_digits() {
        for (medians, name) in [
            (&[][..], "µs"),
            (&[40.0, 900.0], "ns"),
            (&[400.0, 1_400.0], "ns"),
            (&[400.0, 1_600.0], "µs"),
            (&[99.0, 20_000.0], "ns"),
            (&[0.0, 20_000.0], "µs"),
        ] {
            assert_eq!(TimeUnit::for_values(medians.iter().copied()).name, name, "{medians:?}");
        }
    }
}
