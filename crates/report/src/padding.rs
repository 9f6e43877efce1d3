//! The effect of padding: the distance from which two writing threads no longer slow each other down.

use super::fmt;
use super::trial_words::{placement_sentence, relation_sentence};
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use coretalk_model::Topology;
use coretalk_model::quantity::Unit;
use coretalk_model::sharing::{PaddedRelation, Padding, PaddingGroup, Slowdown, names};

pub(super) fn sentence(topology: &Topology, groups: &[PaddingGroup<'_>]) -> Sentence {
    let clauses = groups.iter().map(|group| clause(topology, group, groups)).collect();
    Sentence::new("{clauses}").with("clauses", Arg::Parts(clauses, "; ")).capitalized()
}

fn clause(topology: &Topology, group: &PaddingGroup<'_>, all: &[PaddingGroup<'_>]) -> Sentence {
    let places = || group.relations.iter().map(|padded| place(topology, padded, all)).collect();
    let slowdowns = || Arg::Parts(slowdowns(topology, group, all), ", ");
    match group.padding {
        Padding::Unknown => {
            Sentence::new("cannot tell whether padding pays ({places}): no interval decides it")
                .with("places", Arg::Parts(places(), ", "))
        }
        Padding::Needless { from } => Sentence::new(
            "padding gains nothing: writers {bytes} bytes apart do not slow each other down ({places})",
        )
        .with("bytes", bytes(from))
        .with("places", Arg::Parts(places(), ", ")),
        Padding::MoreThan(last) => Sentence::new(
            "cannot tell how far to pad: writers up to {bytes} bytes apart take {slowdowns}, and no larger distance is \
             shown to be free of it",
        )
        .with("bytes", bytes(last))
        .with("slowdowns", slowdowns()),
        Padding::To(first) => Sentence::new("pad to {bytes} bytes: closer writers take {slowdowns}")
            .with("bytes", bytes(first))
            .with("slowdowns", slowdowns()),
    }
}

fn slowdowns(topology: &Topology, group: &PaddingGroup<'_>, all: &[PaddingGroup<'_>]) -> Vec<Sentence> {
    let known = group.relations.iter().filter_map(|padded| Some((padded, padded.slowdowns?)));
    let of_relation = |(index, (padded, ends)): (usize, (&PaddedRelation<'_>, [Slowdown<'_>; 2]))| {
        Sentence::new(match index {
            0 => "{times} times as long as a lone writer ({shared})",
            _ => "{times} times ({shared})",
        })
        .with("times", fmt::range(ends.map(times)))
        .with("shared", place(topology, padded, all))
    };
    known.enumerate().map(of_relation).collect()
}

/// If several groups have the relation, the first pair in this group is named instead.
fn place(topology: &Topology, padded: &PaddedRelation<'_>, all: &[PaddingGroup<'_>]) -> Sentence {
    let relations = all.iter().flat_map(|group| &group.relations);
    if relations.filter(|other| other.relation == padded.relation).count() == 1 {
        return relation_sentence(padded.relation, topology);
    }
    let first = placement_sentence(topology, padded.pairs[0]);
    match padded.pairs.len() - 1 {
        0 => first,
        more => Sentence::new("{first}, and {number} more")
            .with("first", first)
            .with("number", DisplayValue::listed(more)),
    }
}

fn bytes(distance: f64) -> DisplayValue {
    DisplayValue {
        number: Number::Setting(distance),
        unit: DisplayUnit::InSentence(Unit::Bytes),
        source: Source::Parameter { trial: None, name: names::DISTANCE.to_owned() },
    }
}

fn times(slowdown: Slowdown<'_>) -> DisplayValue {
    DisplayValue {
        number: Number::Point(slowdown.value.point),
        unit: DisplayUnit::InSentence(Unit::Ratio),
        source: Source::of_trial(slowdown.trial, names::SLOWDOWN, Statistic::Estimate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::series::{Parameters, TrialResult, TrialSpec};
    use coretalk_model::stats::Estimate;
    use coretalk_model::{CpuId, sharing::padding};

    /// The sentence for trials between CPU 0 and others; each is the other CPU, the distance in bytes and the slowdown.
    fn text(confidence: f64, slowdowns: &[(u32, f64, f64)]) -> String {
        let trial = |&(other, bytes, point): &(u32, f64, f64)| TrialResult {
            values: [(
                names::SLOWDOWN.to_owned(),
                Estimate { point, low: point * 0.97, high: point * 1.03, confidence, effective_n: 8.0 },
            )]
            .into(),
            ..TrialResult::empty(TrialSpec {
                probe: names::PROBE.to_owned(),
                parameters: Parameters::default().with(names::DISTANCE, bytes),
                placement: vec![CpuId(0), CpuId(other)],
            })
        };
        let trials: Vec<TrialResult> = slowdowns.iter().map(trial).collect();
        let topology = Topology::flat("0-2".parse().unwrap());
        fmt::sentence(&sentence(&topology, &padding(&trials.iter().collect::<Vec<_>>(), &topology)))
    }

    #[test]
    fn a_sentence_states_how_far_to_pad() {
        assert_eq!(
            text(0.95, &[(1, 8.0, 4.5), (1, 32.0, 4.1), (1, 64.0, 1.02), (1, 128.0, 1.0)]),
            "Pad to 64 bytes: closer writers take 4.10 to 4.50 times as long as a lone writer (this machine)"
        );
        assert_eq!(
            text(0.95, &[(1, 8.0, 4.5), (1, 64.0, 1.0), (2, 8.0, 4.0)]),
            "Cannot tell how far to pad: writers up to 8 bytes apart take 4.00 times as long as a lone writer (CPUs 0 → 2, \
             this machine), and no larger distance is shown to be free of it; pad to 64 bytes: closer writers take 4.50 times \
             as long as a lone writer (CPUs 0 → 1, this machine)"
        );
        let free = text(0.95, &[(1, 8.0, 1.0), (1, 64.0, 1.0)]);
        assert!(free.starts_with("Padding gains nothing: writers 8 bytes"), "{free}");
        assert!(text(0.0, &[(1, 8.0, 4.0), (1, 256.0, 4.0)]).starts_with("Cannot tell whether padding pays"));
    }
}
