//! [`Alike`]: trials that differ in their CPUs alone. Of many pairs they are a map, of few a table.

use super::summary::headline;
use super::{SeriesSettings, TimeUnit, TrialResult, displayed_value};
use crate::Flag;
use crate::quantity::Unit;

/// More pairs than this are a map.
const MOST_LISTED: usize = 8;

/// Trials of one probe with the same parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike<'a> {
    /// In the order of the plan.
    pub trials: Vec<&'a TrialResult>,
}

/// What the numbers of a map are told in.
#[derive(Debug, Clone, PartialEq)]
pub struct MapUnit {
    /// Its symbol; empty for a ratio.
    pub name: String,
    /// What numbers are divided by.
    pub divisor: f64,
}

/// Trials by kind, in the order of their first.
pub fn alike<'a>(trials: impl IntoIterator<Item = &'a TrialResult>) -> Vec<Alike<'a>> {
    let mut kinds: Vec<Alike<'a>> = Vec::new();
    for trial in trials {
        let same = |kind: &&mut Alike<'_>| {
            let spec = &kind.trials[0].spec;
            spec.probe == trial.spec.probe && spec.parameters == trial.spec.parameters
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.trials.push(trial),
            None => kinds.push(Alike { trials: vec![trial] }),
        }
    }
    kinds
}

impl<'a> Alike<'a> {
    /// Whether these are so many pairs that they are shown as a map.
    pub fn is_map(&self) -> bool {
        self.trials.iter().filter(|trial| trial.spec.placement.len() == 2).count() > MOST_LISTED
    }

    /// Those that have something to show. Of a pair that cannot keep up with a rate no delay is known, and the rate that
    /// it reached is none.
    pub fn with_value(&self) -> impl Iterator<Item = &'a TrialResult> + '_ {
        self.trials.iter().copied().filter(|trial| !trial.flags.contains(Flag::Saturated))
    }

    /// What they are shown by: the name of a distribution or a value.
    pub fn displayed_value(&self, settings: &'a SeriesSettings) -> Option<&'a str> {
        self.with_value().find_map(|trial| displayed_value(settings, trial))
    }

    /// The headlines of trials that are shown by times.
    pub fn medians_ns(&self, settings: &'a SeriesSettings) -> impl Iterator<Item = f64> + '_ {
        self.with_value().filter_map(|trial| Some(headline(settings, trial)?.point))
    }

    /// What their headlines are told in: times in the unit in which the smallest of them keeps its digits.
    pub fn unit(&self, settings: &'a SeriesSettings) -> MapUnit {
        let unit = |name: &str| {
            let declared =
                self.trials.first().and_then(|trial| settings.quantities.of(&trial.spec.probe, name));
            declared.map_or(Unit::Number, |quantity| quantity.unit)
        };
        let is_time = |name: &str| {
            self.trials.iter().any(|trial| trial.medians_ns.contains_key(name)) || unit(name) == Unit::Ns
        };
        if let Some(name) = self.displayed_value(settings).filter(|name| !is_time(name)) {
            return MapUnit { name: unit(name).symbol().into_owned(), divisor: 1.0 };
        }
        let TimeUnit { name, ns } = TimeUnit::of(self.medians_ns(settings));
        MapUnit { name: name.to_owned(), divisor: ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuId;
    use crate::series::{Parameters, TrialSpec};
    use crate::stats::Estimate;

    fn trials(parameter: &str, pairs: u32, name: &str, point: f64) -> Vec<TrialResult> {
        let one = |pair: u32| {
            let spec = TrialSpec {
                probe: "wake".into(),
                parameters: Parameters::default().with("primitive", parameter),
                placement: vec![CpuId(0), CpuId(pair + 1)],
            };
            let estimate = Estimate {
                point: point + f64::from(pair),
                low: point,
                high: point,
                confidence: 0.95,
                effective_n: 8.0,
            };
            let mut trial = TrialResult::of(spec);
            let of = if name == "slept" { &mut trial.medians_ns } else { &mut trial.values };
            of.insert(name.to_owned(), estimate);
            trial
        };
        (0..pairs).map(one).collect()
    }

    #[test]
    fn many_pairs_are_a_map_in_the_unit_of_the_smallest() {
        let settings = SeriesSettings::default();
        let mut all = trials("tas", 9, "slept", 40.0);
        all.extend(trials("pipe", 8, "slept", 20e3));
        all.extend(trials("ratio", 9, "ratio", 1.0));
        let kinds = alike(&all);
        let told: Vec<(usize, bool, String)> =
            kinds.iter().map(|kind| (kind.trials.len(), kind.is_map(), kind.unit(&settings).name)).collect();
        let expected = [(9, true, "ns"), (8, false, "µs"), (9, true, "")];
        assert_eq!(told, expected.map(|(trials, map, unit)| (trials, map, unit.to_owned())));
        all[0].flags.set(Flag::Saturated);
        assert_eq!(alike(&all)[0].with_value().count(), 8);
    }
}
