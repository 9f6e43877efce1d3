//! [`Padding`]: distance at which two writing threads no longer slow each other down (false sharing).

use crate::series::{TrialResult, side_by_side};
use crate::stats::Estimate;
use crate::{CpuId, Flag, Relation, Topology};

/// Names of the numbers of a `sharing` pass.
pub mod names {
    /// The probe.
    pub const PROBE: &str = "sharing";
    /// Distance of the two words.
    pub const DISTANCE: &str = "distance_bytes";
    /// Time of a write while the other thread also writes.
    pub const SHARED_NS: &str = "shared_ns";
    /// Time of a write while the other thread does not write.
    pub const ALONE_NS: &str = "alone_ns";
    /// Ratio of the two times.
    pub const SLOWDOWN: &str = "slowdown";
}

/// Sharing is detected if the interval of the slowdown is above this limit.
const DETECTED_ABOVE: f64 = 1.1;
/// Sharing is excluded if the interval of the slowdown is below this limit and the point is at most [`DETECTED_ABOVE`].
const EXCLUDED_BELOW: f64 = 1.25;

/// Padding derived from slowdowns at several distances in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Padding {
    /// No distance has a conclusive interval.
    Unknown,
    /// Even the nearest words do not affect each other.
    Needless {
        /// The smallest measured distance.
        from: f64,
    },
    /// Words at this distance still affect each other. Larger distances are unknown.
    MoreThan(f64),
    /// From this distance on, words do not affect each other.
    To(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Slowed,
    Unaffected,
    Unknown,
}

impl Padding {
    /// Derives the padding from slowdowns at rising distances, ignoring those without an interval (a single pass).
    pub fn from_distances(distances: &[(f64, Estimate)]) -> Padding {
        let last_slowed = distances.iter().rposition(|(_, slowdown)| effect(slowdown) == Effect::Slowed);
        let beyond = &distances[last_slowed.map_or(0, |last| last + 1)..];
        let is_free = !beyond.is_empty() && beyond.iter().all(|(_, it)| effect(it) == Effect::Unaffected);
        match (last_slowed.map(|last| distances[last].0), beyond.first().filter(|_| is_free)) {
            (Some(_), Some((first, _))) => Padding::To(*first),
            (Some(last), None) => Padding::MoreThan(last),
            (None, Some((first, _))) => Padding::Needless { from: *first },
            (None, None) => Padding::Unknown,
        }
    }

    fn rank(self) -> f64 {
        match self {
            Padding::MoreThan(bytes) => -1e9 - bytes,
            Padding::To(bytes) => -bytes,
            Padding::Unknown => 1.0,
            Padding::Needless { .. } => 2.0,
        }
    }
}

/// Pairs of CPUs with the same [`Padding`].
#[derive(Debug, Clone, PartialEq)]
pub struct PaddingGroup<'a> {
    /// Padding of the pairs.
    pub padding: Padding,
    /// The pairs by relation, in the order of the plan.
    pub relations: Vec<PaddedRelation<'a>>,
}

/// The pairs of one relation in a [`PaddingGroup`].
#[derive(Debug, Clone, PartialEq)]
pub struct PaddedRelation<'a> {
    /// The relation.
    pub relation: Relation,
    /// The pairs.
    pub pairs: Vec<&'a [CpuId]>,
    /// The smallest and largest slowdown with an interval, over all distances that are too short.
    pub slowdowns: Option<[Slowdown<'a>; 2]>,
}

/// Time of a write while the other thread writes ÷ time while it does not write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown<'a> {
    /// The trial: one distance between one pair.
    pub trial: &'a TrialResult,
    /// Value in the machine state common to all distances.
    pub value: Estimate,
}

/// The padding of each pair, grouped by padding, the largest distance first.
pub fn padding<'a>(trials: &[&'a TrialResult], topology: &Topology) -> Vec<PaddingGroup<'a>> {
    let sharing_trials: Vec<&TrialResult> =
        trials.iter().copied().filter(|trial| trial.values.contains_key(names::SLOWDOWN)).collect();
    type Distances<'a> = Vec<(f64, Slowdown<'a>)>;
    let mut pairs: Vec<(&[CpuId], Distances<'_>)> = Vec::new();
    for (trial, in_state) in sharing_trials.iter().zip(side_by_side(&sharing_trials)) {
        let slowdown = in_state.as_deref().and_then(|trial| trial.values.get(names::SLOWDOWN).copied());
        let bytes = trial.spec.parameters.number(names::DISTANCE);
        let (pair @ [_, _], Some(bytes), Some(value)) = (&trial.spec.placement[..], bytes, slowdown) else {
            continue;
        };
        // Under load, the interval does not cover the CPU time of other programs.
        let confidence = if trial.flags.contains(Flag::Load) { 0.0 } else { value.confidence };
        let slowdown = (bytes, Slowdown { trial, value: Estimate { confidence, ..value } });
        match pairs.iter_mut().find(|(known, _)| *known == pair) {
            Some((_, distances)) => distances.push(slowdown),
            None => pairs.push((pair, vec![slowdown])),
        }
    }
    let mut groups: Vec<PaddingGroup<'_>> = Vec::new();
    for (pair, mut distances) in pairs {
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        let values: Vec<(f64, Estimate)> = distances.iter().map(|(bytes, it)| (*bytes, it.value)).collect();
        let padding = Padding::from_distances(&values);
        let too_short = |bytes: f64| match padding {
            Padding::MoreThan(last) => bytes <= last,
            Padding::To(first) => bytes < first,
            Padding::Unknown | Padding::Needless { .. } => false,
        };
        let slow = distances.into_iter().filter(|(bytes, it)| too_short(*bytes) && it.value.is_sure());
        let slow: Vec<Slowdown<'_>> = slow.map(|(_, slowdown)| slowdown).collect();
        let index = groups.iter().position(|group| group.padding == padding).unwrap_or_else(|| {
            groups.push(PaddingGroup { padding, relations: Vec::new() });
            groups.len() - 1
        });
        groups[index].add(topology.relation(pair[0], pair[1]), pair, slow);
    }
    groups.sort_by(|a, b| a.padding.rank().total_cmp(&b.padding.rank()));
    groups
}

impl<'a> PaddingGroup<'a> {
    fn add(&mut self, relation: Relation, pair: &'a [CpuId], slow: Vec<Slowdown<'a>>) {
        let index = self.relations.iter().position(|row| row.relation == relation).unwrap_or_else(|| {
            self.relations.push(PaddedRelation { relation, pairs: Vec::new(), slowdowns: None });
            self.relations.len() - 1
        });
        let row = &mut self.relations[index];
        row.pairs.push(pair);
        let all = || row.slowdowns.iter().flatten().chain(&slow).copied();
        let least = all().min_by(|a, b| a.value.point.total_cmp(&b.value.point));
        let most = all().max_by(|a, b| a.value.point.total_cmp(&b.value.point));
        row.slowdowns = least.zip(most).map(<[Slowdown<'_>; 2]>::from);
    }
}

fn effect(slowdown: &Estimate) -> Effect {
    match slowdown {
        it if !it.is_sure() => Effect::Unknown,
        it if it.low > DETECTED_ABOVE => Effect::Slowed,
        it if it.point <= DETECTED_ABOVE && it.high < EXCLUDED_BELOW => Effect::Unaffected,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::{around, spec};

    fn padding_of(slowdowns: &[(f64, f64, f64)]) -> Padding {
        let distance = |&(bytes, point, reach): &(f64, f64, f64)| (bytes, around(point, reach));
        Padding::from_distances(&slowdowns.iter().map(distance).collect::<Vec<_>>())
    }

    #[test]
    fn padding_ends_at_the_first_distance_without_slowdown() {
        let usual = [(8.0, 4.5, 0.03), (32.0, 4.1, 0.03), (64.0, 1.02, 0.03), (128.0, 1.0, 0.03)];
        assert_eq!(padding_of(&usual), Padding::To(64.0));
        let in_twos = [(8.0, 4.5, 0.03), (64.0, 1.3, 0.03), (128.0, 1.0, 0.03)];
        assert_eq!(padding_of(&in_twos), Padding::To(128.0), "lines fetched in twos");
        assert_eq!(padding_of(&[(8.0, 1.0, 0.03), (64.0, 1.0, 0.03)]), Padding::Needless { from: 8.0 });
        assert_eq!(padding_of(&[(8.0, 4.0, 0.03)]), Padding::MoreThan(8.0));
        // The interval at 64 bytes is too wide.
        assert_eq!(padding_of(&[(8.0, 4.0, 0.03), (64.0, 1.05, 0.5)]), Padding::MoreThan(8.0));
        assert_eq!(padding_of(&[(8.0, 1.2, 0.3)]), Padding::Unknown);
    }

    #[test]
    fn pairs_with_equal_padding_form_one_group_largest_first() {
        let topology = Topology::flat("0-3".parse().unwrap());
        let trial = |pair: [u32; 2], bytes: f64, point: f64| {
            let parameters = Parameters::default().with(names::DISTANCE, bytes);
            let values = [(names::SLOWDOWN.to_owned(), around(point, 0.03))].into();
            TrialResult { values, ..TrialResult::empty(spec(names::PROBE, parameters, &pair)) }
        };
        let pair = |pair, near: f64, at_64: f64| {
            [trial(pair, 8.0, near), trial(pair, 64.0, at_64), trial(pair, 128.0, 1.0)]
        };
        let trials = [pair([0, 1], 4.0, 1.0), pair([0, 2], 4.5, 1.0), pair([0, 3], 9.0, 2.0)].concat();
        let groups = padding(&trials.iter().collect::<Vec<_>>(), &topology);
        let found: Vec<(Padding, usize)> =
            groups.iter().map(|group| (group.padding, group.relations[0].pairs.len())).collect();
        assert_eq!(found, [(Padding::To(128.0), 1), (Padding::To(64.0), 2)]);
        let ends = groups.iter().map(|group| group.relations[0].slowdowns.unwrap().map(|it| it.value.point));
        assert_eq!(ends.collect::<Vec<_>>(), [[2.0, 9.0], [4.0, 4.5]]);
    }

    #[test]
    fn a_single_pass_is_ignored() {
        let one_pass = |point| Estimate { point, low: point, high: point, confidence: 0.0, effective_n: 1.0 };
        let all = [8.0, 64.0, 256.0].map(|bytes| (bytes, one_pass(3.0)));
        assert_eq!(Padding::from_distances(&all), Padding::Unknown);
        assert_eq!(Padding::from_distances(&[]), Padding::Unknown);
    }
}
