//! [`displayed_value`]: the number that a trial is shown by. Tables put it first, and pictures draw it: both read this choice.

use super::{SeriesSettings, TrialResult, named_headline};
use crate::{Flag, contend, jitter};

/// The name of the distribution or value that a trial is shown by; `None` where it has nothing.
///
/// That is the name by which it is judged, with two exceptions. Trials of `jitter` are judged by how long they watched,
/// which is no property of the machine. The wall time between two operations of all threads, by which `contend` is judged,
/// falls with the number of threads however much they are in each other's way; what one thread spends does not.
pub fn displayed_value<'a>(settings: &'a SeriesSettings, trial: &'a TrialResult) -> Option<&'a str> {
    let of_probe = match trial.spec.probe.as_str() {
        jitter::names::PROBE => Some(jitter::names::LOST),
        contend::names::PROBE => Some(contend::names::THREAD_NS),
        _ => None,
    };
    // Of a pair that cannot keep up with a rate no delay is known, and the rate that it reached is none.
    if trial.flags.contains(Flag::Saturated) {
        return None;
    }
    let known = of_probe.filter(|name| trial.values.contains_key(*name));
    let judged_by = || named_headline(settings, &trial.spec.probe, &trial.medians_ns, &trial.values);
    known.or_else(|| judged_by().map(|(name, _)| name))
}

/// The unit of a value, which names tell: `ns` of `half_net_ns` and of `ns_per_op_wall`, `messages/s` of `messages_per_s`;
/// empty for a ratio.
///
/// ```
/// # use coretalk_model::series::unit_of_value;
/// assert_eq!(["loop_ns", "messages_per_s", "ratio"].map(unit_of_value), ["ns", "messages/s", ""]);
/// ```
pub fn unit_of_value(name: &str) -> String {
    if let Some(what) = name.strip_suffix("_per_s") {
        return format!("{}/s", what.replace('_', " "));
    }
    let has = |unit: &&str| name.split('_').any(|part| part == *unit);
    ["ns", "us", "ms", "s"].into_iter().find(has).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Parameters, TrialSpec};
    use crate::stats::Estimate;

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
            headlines: ["slept", "hot", "ns_per_op_wall", "watched_share"].map(str::to_owned).to_vec(),
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
