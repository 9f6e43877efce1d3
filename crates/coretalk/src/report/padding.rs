//! Whether padding pays: from which distance on two threads that write no longer slow each other down.

use super::ladder::relation_words;
use super::text::plain;
use coretalk_measure::probes::sharing::names;
use coretalk_model::Topology;
use coretalk_model::series::{TrialResult, side_by_side};
use coretalk_model::stats::Estimate;

/// Two threads slow each other down where a write surely takes so many times as long as alone.
const FELT: f64 = 1.1;

/// A sentence for each pair of CPUs; nothing without trials of this kind.
pub(super) fn sentences(topology: &Topology, trials: &[&TrialResult]) -> Vec<String> {
    let of_kind: Vec<&TrialResult> =
        trials.iter().copied().filter(|trial| trial.values.contains_key(names::SLOWDOWN)).collect();
    // Distances are held against each other in one state of the machine.
    let beside = side_by_side(&of_kind);
    let mut pairs: Vec<(String, Vec<(f64, &Estimate)>)> = Vec::new();
    for trial in beside.iter().filter_map(Option::as_deref) {
        let parameters = &trial.spec.parameters;
        let ([from, to], Some(bytes), Some(slowdown)) = (
            &trial.spec.placement[..],
            parameters.number(names::DISTANCE),
            trial.values.get(names::SLOWDOWN),
        ) else {
            continue;
        };
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

fn sentence(mut distances: Vec<(f64, &Estimate)>) -> String {
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let free = distances.iter().rposition(|(_, slowdown)| slowdown.low > FELT).map_or(0, |last| last + 1);
    let (near, far) = distances.split_at(free);
    let bytes = |(bytes, _): &(f64, &Estimate)| format!("{bytes:.0} bytes");
    match (near, far) {
        ([], []) => "cannot tell.".to_owned(),
        ([], [first, ..]) => {
            format!("writers {} apart do not slow each other down: padding gains nothing here.", bytes(first))
        }
        ([.., last], []) => format!(
            "writers up to {} apart slow each other down ({}), and no larger distance was measured.",
            bytes(last),
            times(near)
        ),
        (_, [first, ..]) => format!(
            "writers less than {0} apart take {1} as long as a lone writer, and from {0} on {2}: pad to {0}.",
            bytes(first),
            times(near),
            times(far)
        ),
    }
}

/// `4.1 to 4.5 times`.
fn times(distances: &[(f64, &Estimate)]) -> String {
    let points = || distances.iter().map(|(_, slowdown)| slowdown.point);
    let ends = [points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max)];
    match ends.map(|end| format!("{end:.1}")) {
        [least, most] if least == most => format!("{most} times"),
        [least, most] => format!("{least} to {most} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(slowdowns: &[(f64, f64)]) -> String {
        let estimates: Vec<(f64, Estimate)> = slowdowns
            .iter()
            .map(|&(bytes, point)| {
                let ends = [point * 0.97, point * 1.03];
                let estimate =
                    Estimate { point, low: ends[0], high: ends[1], confidence: 0.95, effective_n: 8.0 };
                (bytes, estimate)
            })
            .collect();
        sentence(estimates.iter().map(|(bytes, estimate)| (*bytes, estimate)).collect())
    }

    #[test]
    fn padding_pays_to_where_nothing_is_felt_any_more() {
        let usual = told(&[(8.0, 4.5), (32.0, 4.1), (64.0, 1.02), (128.0, 1.0)]);
        assert!(usual.starts_with("writers less than 64 bytes apart take 4.1 to 4.5 times"), "{usual}");
        assert!(usual.ends_with("and from 64 bytes on 1.0 times: pad to 64 bytes."), "{usual}");
        let in_twos = told(&[(8.0, 4.5), (64.0, 1.3), (128.0, 1.0)]);
        assert!(in_twos.ends_with("pad to 128 bytes."), "lines fetched in twos: {in_twos}");
        assert!(told(&[(8.0, 1.0), (64.0, 1.0)]).contains("padding gains nothing"));
        assert!(told(&[(8.0, 4.0)]).contains("no larger distance was measured"));
    }
}
