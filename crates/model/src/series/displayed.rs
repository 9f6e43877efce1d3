//! [`displayed_value`]: the number that a trial is shown by. Tables put it first, and pictures draw it: both read this choice.

use super::{SeriesSettings, TrialResult, named_headline};
use crate::Flag;

/// The name of the distribution or value that a trial is shown by; `None` where it has nothing.
///
/// That is the name by which it is judged, unless its probe declares [another](crate::quantity::Quantity::displayed).
pub fn displayed_value<'a>(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Option<&'a str> {
    // Of a pair that cannot keep up with a rate no delay is known, and the rate that it reached is none.
    if trial.flags.contains(Flag::Saturated) {
        return None;
    }
    let probe = &trial.spec.probe;
    let declared = settings.quantities.of_probe(probe).iter().filter(|quantity| quantity.displayed);
    let known = declared.map(|quantity| quantity.id).find(|name| trial.values.contains_key(*name));
    let judged_by = || named_headline(settings, probe, &trial.medians_ns, &trial.values);
    known.or_else(|| judged_by().map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::super::Headline;
    use super::*;
    use crate::quantity::{Quantities, Quantity, Unit};
    use crate::series::{Parameters, TrialSpec};
    use crate::stats::Estimate;

    const CONTEND: &[Quantity] = &[Quantity::time("ns_per_op_thread", "").displayed()];
    const JITTER: &[Quantity] = &[Quantity::value("lost_share", "", Unit::Share).displayed()];

    fn trial(probe: &str, medians: &[&str], values: &[&str]) -> TrialResult {
        let estimate = Estimate { point: 5.0, low: 4.0, high: 6.0, confidence: 0.95, effective_n: 8.0 };
        let spec =
            TrialSpec { probe: probe.into(), parameters: Parameters::default(), placement: Vec::new() };
        let all = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), estimate)).collect();
        TrialResult { medians_ns: all(medians), values: all(values), ..TrialResult::of(spec) }
    }

    #[test]
    fn a_trial_is_shown_by_what_it_is_judged_by_and_never_by_how_long_it_watched() {
        let settings = SeriesSettings {
            headlines: ["slept", "hot", "ns_per_op_wall", "watched_share"].map(Headline::from).to_vec(),
            quantities: Quantities::new([("contend", CONTEND), ("jitter", JITTER)]),
            ..SeriesSettings::default()
        };
        for (trial, name) in [
            (trial("wake", &["first", "hot", "slept", "waker"], &["hot_share"]), Some("slept")),
            (trial("wake", &["first", "hot", "waker"], &[]), Some("hot")),
            (
                trial("contend", &["acquire"], &["ns_per_op_thread", "ns_per_op_wall"]),
                Some("ns_per_op_thread"),
            ),
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
}
