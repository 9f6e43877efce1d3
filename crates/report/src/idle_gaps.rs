//! The latency of a message after idle gaps of several lengths, in one sentence.

use super::trial_words::place_sentence;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Sentence, Source, Statistic};
use coretalk_model::Topology;
use coretalk_model::idle_gaps::{GapStep, IdleGaps, ReceiverGaps, names};
use coretalk_model::quantity::Unit;

pub(super) fn sentence(topology: &Topology, gaps: &IdleGaps<'_>) -> Sentence {
    let receivers = gaps.receivers.iter().map(receiver_sentence).collect();
    let found = Sentence::new("{receivers}").with("receivers", Arg::Parts(receivers, "; "));
    match gaps.placement {
        Some(placement) => Sentence::new("{found} ({shared})")
            .with("found", found)
            .with("shared", place_sentence(topology, placement)),
        None => found,
    }
    .capitalized()
}

fn receiver_sentence(receiver: &ReceiverGaps<'_>) -> Sentence {
    let name = match receiver.receiver {
        names::LOOKS => Sentence::new("polling receiver, half a round trip"),
        names::SLEEPS => Sentence::new("sleeping receiver, time until it runs"),
        other => Sentence::name(other),
    };
    let name = match receiver.idle_states {
        Some(state) => {
            Sentence::new("{name}, idle states {state}").with("name", name).with_name("state", state)
        }
        None => name,
    };
    let mut found: Vec<Sentence> = match (receiver.alike(), &receiver.steps[..]) {
        (Some(narrowest), [first, .., last]) => {
            let is_within = |ns: &f64| (first.gap_ns..last.gap_ns).contains(ns);
            // Results for gaps between the ends may be unknown.
            let template = match receiver.unknown_ns.iter().any(is_within) {
                true => "{value} after {first} to {last} where known (alike)",
                false => "{value} after any gap from {first} to {last} (alike)",
            };
            vec![
                Sentence::new(template)
                    .with("value", value(receiver, narrowest))
                    .with("first", gap(first.gap_ns))
                    .with("last", gap(last.gap_ns)),
            ]
        }
        _ => {
            let after = |step: &&GapStep<'_>| {
                Sentence::new("{value} after {gap}")
                    .with("value", value(receiver, step))
                    .with("gap", gap(step.gap_ns))
            };
            receiver.ends().iter().map(after).collect()
        }
    };
    if !receiver.unknown_ns.is_empty() {
        let gaps = receiver.unknown_ns.iter().map(|ns| Sentence::new("{gap}").with("gap", gap(*ns)));
        found.push(Sentence::new("cannot tell after {gaps}").with("gaps", Arg::Parts(gaps.collect(), ", ")));
    }
    Sentence::new("{name}: {found}").with("name", name).with("found", Arg::Parts(found, ", "))
}

fn value(receiver: &ReceiverGaps<'_>, step: &GapStep<'_>) -> DisplayValue {
    DisplayValue {
        number: Number::Estimate(step.value),
        unit: DisplayUnit::Own(receiver.quantity.unit),
        source: Source::Trial {
            trial: step.trial.spec.id(),
            quantity: receiver.quantity.id,
            statistic: Statistic::Estimate,
            placements: step.placements,
        },
    }
}

fn gap(ns: f64) -> DisplayValue {
    DisplayValue {
        number: Number::Setting(ns),
        unit: DisplayUnit::Own(Unit::Ns),
        source: Source::Parameter { trial: None, name: names::GAP_NS.to_owned() },
    }
}
