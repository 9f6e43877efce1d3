//! Whether padding pays: from which distance on two threads that write no longer slow each other down.

use super::ladder::relation_words;
use super::text::plain;
use coretalk_measure::probes::sharing::names;
use coretalk_model::padding::Padding;
use coretalk_model::series::{TrialResult, side_by_side};
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Topology};

/// A sentence for each pair of CPUs; nothing without trials of this kind.
pub(super) fn sentences(topology: &Topology, trials: &[&TrialResult]) -> Vec<String> {
    let of_kind: Vec<&TrialResult> =
        trials.iter().copied().filter(|trial| trial.values.contains_key(names::SLOWDOWN)).collect();
    // Distances are held against each other in one state of the machine.
    let beside = side_by_side(&of_kind);
    let mut pairs: Vec<(String, Vec<(f64, Estimate)>)> = Vec::new();
    for trial in beside.iter().filter_map(Option::as_deref) {
        let parameters = &trial.spec.parameters;
        let ([from, to], Some(bytes), Some(slowdown)) = (
            &trial.spec.placement[..],
            parameters.number(names::DISTANCE),
            trial.values.get(names::SLOWDOWN).copied(),
        ) else {
            continue;
        };
        // What other programs took is in no interval.
        let confidence = if trial.flags.contains(Flag::Load) { 0.0 } else { slowdown.confidence };
        let slowdown = Estimate { confidence, ..slowdown };
        let relation = relation_words(topology.relation(*from, *to), topology);
        let pair = format!("CPUs {from} and {to}, {relation}");
        match pairs.iter_mut().find(|(known, _)| *known == pair) {
            Some((_, distances)) => distances.push((bytes, slowdown)),
            None => pairs.push((pair, vec![(bytes, slowdown)])),
        }
    }
    let told = |(pair, distances): (String, _)| format!("{}: {}", plain(&pair), sentence(distances));
    pairs.into_iter().map(told).collect()
}

fn sentence(mut distances: Vec<(f64, Estimate)>) -> String {
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bytes = |bytes: f64| format!("{bytes:.0} bytes");
    let part = |is_in: &dyn Fn(f64) -> bool| {
        times(distances.iter().filter(|(bytes, it)| is_in(*bytes) && it.is_sure()).map(|(_, it)| it.point))
    };
    match Padding::of(&distances) {
        Padding::Unknown => {
            "cannot tell whether padding pays: no slowdown is known to an interval.".to_owned()
        }
        Padding::Needless { from } => {
            format!("writers {} apart do not slow each other down: padding gains nothing here.", bytes(from))
        }
        Padding::MoreThan(last) => format!(
            "writers up to {} apart slow each other down ({}), and what more distance does is not known.",
            bytes(last),
            part(&|at| at <= last)
        ),
        Padding::To(first) => format!(
            "writers less than {0} apart take {1} as long as a lone writer, and from {0} on {2}: pad to {0}.",
            bytes(first),
            part(&|at| at < first),
            part(&|at| at >= first)
        ),
    }
}

/// `4.1 to 4.5 times`.
fn times(points: impl Iterator<Item = f64> + Clone) -> String {
    let ends = [points.clone().fold(f64::INFINITY, f64::min), points.fold(0.0, f64::max)];
    match ends.map(|end| format!("{end:.1}")) {
        [least, most] if least == most => format!("{most} times"),
        [least, most] => format!("{least} to {most} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(slowdowns: &[(f64, f64)]) -> String {
        let estimate = |&(bytes, point): &(f64, f64)| {
            let [low, high] = [point * 0.97, point * 1.03];
            (bytes, Estimate { point, low, high, confidence: 0.95, effective_n: 8.0 })
        };
        sentence(slowdowns.iter().map(estimate).collect())
    }

    #[test]
    fn a_sentence_says_where_to_pad() {
        let usual = told(&[(8.0, 4.5), (32.0, 4.1), (64.0, 1.02), (128.0, 1.0)]);
        assert!(usual.starts_with("writers less than 64 bytes apart take 4.1 to 4.5 times"), "{usual}");
        assert!(usual.ends_with("and from 64 bytes on 1.0 times: pad to 64 bytes."), "{usual}");
        assert!(told(&[(8.0, 1.0), (64.0, 1.0)]).contains("padding gains nothing"));
        assert!(told(&[(8.0, 4.0)]).contains("what more distance does is not known"));
        let one_pass = Estimate { point: 4.0, low: 4.0, high: 4.0, confidence: 0.0, effective_n: 1.0 };
        assert!(sentence(vec![(8.0, one_pass), (256.0, one_pass)]).starts_with("cannot tell"));
    }
}
