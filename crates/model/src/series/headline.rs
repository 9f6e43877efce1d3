//! [`Headline`] and [`headline`]: by which of its numbers a trial is judged, and what its passes say under that name.

use super::{PassOutcome, SeriesSettings};
use crate::Histogram;
use crate::stats::Estimate;
use std::collections::BTreeMap;
use std::fmt;

/// A name by which trials are judged, of one probe or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// The probe; `None` where it holds for the trials of every probe.
    pub probe: Option<String>,
    /// The name of a distribution or a value.
    pub name: String,
}

impl Headline {
    fn holds_for(&self, probe: &str) -> bool {
        self.probe.as_deref().is_none_or(|of| of == probe)
    }
}

impl From<&str> for Headline {
    /// Reads it as it is displayed.
    fn from(text: &str) -> Headline {
        match text.split_once('/') {
            Some((probe, name)) => Headline { probe: Some(probe.to_owned()), name: name.to_owned() },
            None => Headline { probe: None, name: text.to_owned() },
        }
    }
}

impl fmt::Display for Headline {
    /// `slept`; of one probe alone `wake/slept`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.probe {
            Some(probe) => write!(f, "{probe}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The estimate that a trial is judged by: that of the first headline that it has, as a distribution or a value; the
/// widest of all that it has where it has none of them.
pub fn headline<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    medians_ns: &'a BTreeMap<String, Estimate>,
    values: &'a BTreeMap<String, Estimate>,
) -> Option<&'a Estimate> {
    named_headline(settings, probe, medians_ns, values).map(|(_, estimate)| estimate)
}

/// The same with its name.
pub fn named_headline<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    medians_ns: &'a BTreeMap<String, Estimate>,
    values: &'a BTreeMap<String, Estimate>,
) -> Option<(&'a str, &'a Estimate)> {
    let named = |name: &'a str| Some((name, medians_ns.get(name).or_else(|| values.get(name))?));
    let all = medians_ns.iter().chain(values).map(|(name, estimate)| (name.as_str(), estimate));
    let width = |(_, estimate): &(&str, &Estimate)| estimate.relative_half_width();
    let widest = || all.max_by(|a, b| width(a).total_cmp(&width(b)));
    headlines(settings, probe).find_map(named).or_else(widest)
}

/// The names by which trials of a probe are judged, the first of which counts.
fn headlines<'a>(settings: &'a SeriesSettings, probe: &str) -> impl Iterator<Item = &'a str> {
    settings.headlines.iter().filter(move |headline| headline.holds_for(probe)).map(|it| it.name.as_str())
}

/// The name by which a trial is judged, and what each of its passes says under it; `None` where they have none of the
/// names.
pub(super) fn named_headline_of_passes<'a>(
    settings: &'a SeriesSettings,
    probe: &str,
    passes: &[&PassOutcome],
) -> Option<(&'a str, Vec<Option<f64>>)> {
    let all = |name: &'a str| (name, passes.iter().map(|pass| value_of_pass(pass, name)).collect::<Vec<_>>());
    headlines(settings, probe).map(all).find(|(_, values)| values.iter().any(Option::is_some))
}

/// What one pass says under the name by which its trial is judged; nothing where it has none of the names.
pub(super) fn headline_of_pass(settings: &SeriesSettings, probe: &str, pass: &PassOutcome) -> Option<f64> {
    headlines(settings, probe).find_map(|name| value_of_pass(pass, name))
}

/// The median of the distribution of that name in a pass, or the value.
pub(super) fn value_of_pass(pass: &PassOutcome, name: &str) -> Option<f64> {
    let median = |histogram: &Histogram| histogram.percentile_ns(0.5);
    let numbers = &pass.observed.numbers;
    numbers.histograms.get(name).and_then(median).or_else(|| numbers.values.get(name).copied())
}
