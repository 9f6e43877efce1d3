//! [`Worded`]: sentences for reasons why a number is doubted or missing, or why latencies show no groups. Screens,
//! documents and run files use the same sentences.

use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, pointer};
use crate::fmt;
use coretalk_model::infer::{InferError, Refusal};
use coretalk_model::latency::execution::Unclear;
use coretalk_model::latency::{EmptyRung, MissingReason};
use coretalk_model::series::TrialResult;
use coretalk_model::{CpuId, Reason, TrialFailure};

/// The source of a number in a reason, by a key such as `cells_changed`; `reason` is a width in the text of the reason.
pub type Sources<'a> = &'a dyn Fn(&'static str) -> Source;

/// A value with a sentence that is the same in every medium.
pub trait Worded {
    /// Returns the sentence.
    fn sentence(&self, source: Sources<'_>) -> Sentence;

    /// Formats the sentence for documents and run files.
    fn text(&self) -> String {
        fmt::text(&self.sentence(&unrecorded))
    }
}

/// The source of numbers outside of all documents.
pub fn unrecorded(_: &'static str) -> Source {
    Source::Unrecorded
}

/// Returns why a trial is doubted or has no result.
pub fn of_trial(trial: &TrialResult) -> Option<Sentence> {
    let id = trial.spec.id();
    Some(trial.reason.as_ref()?.sentence(&|key| Source::of_any(id, pointer!("/{key}"))))
}

fn count(number: usize, source: Source) -> DisplayValue {
    DisplayValue::bare(Number::Count(number as u64), source)
}

fn percents(share: f64, decimals: usize, source: Source) -> DisplayValue {
    let unit = DisplayUnit::Decimals(decimals);
    DisplayValue { number: Number::Point(100.0 * share), unit, source }
}

impl Worded for Reason {
    fn sentence(&self, source: Sources<'_>) -> Sentence {
        match self {
            Reason::NotReached => "the run ended before this trial was measured".into(),
            Reason::Wide(width) if *width < 1.0 => {
                let decimals = if *width < 0.0995 { 2 } else { 1 };
                Sentence::new("± {width} % is wider than requested")
                    .with("width", percents(*width, decimals, source("reason")))
            }
            Reason::Wide(_) => "the interval is wider than the value".into(),
            Reason::Steps(width) if *width < 1.0 => Sentence::new(
                "± {width} %: the clock advances in steps, and a median is known only to half a step",
            )
            .with("width", percents(*width, 1, source("reason"))),
            Reason::Steps(_) => "the clock steps are longer than the value".into(),
            Reason::States(levels) => Sentence::new("the machine changed state: {levels} levels")
                .with("levels", count(*levels, source("states"))),
            Reason::FewPasses(passes) => Sentence::new("only {passes}")
                .with("passes", Sentence::counted((*passes).into(), source("passes"), ["pass", "passes"])),
            Reason::Away(cpu) => {
                Sentence::new("CPU {cpu} was away whenever this was measured").with("cpu", *cpu)
            }
            Reason::Lost(failure) => with_failure("{failure}; the value was measured before that", failure),
            Reason::Failed { of, failure, is_revealed } => failed(*of, failure, *is_revealed),
            Reason::Words(words) => (*words).into(),
        }
    }
}

fn with_failure(template: &'static str, failure: &TrialFailure) -> Sentence {
    Sentence::new(template).with_name("failure", &failure.to_string())
}

fn failed(counts: Option<[u32; 2]>, failure: &TrialFailure, is_revealed: bool) -> Sentence {
    let words = match counts.map(|counts| counts.map(|passes| count(passes as usize, Source::Unrecorded))) {
        Some([failures, all]) => with_failure("{failures} of {all} passes failed: {failure}", failure)
            .with("failures", failures)
            .with("all", all),
        None => with_failure("{failure}", failure),
    };
    match failure {
        TrialFailure::Command { stderr, .. } if is_revealed && !stderr.is_empty() => {
            Sentence::new("{words}; in full: {stderr}").with("words", words).with_name("stderr", stderr)
        }
        _ => words,
    }
}

impl Worded for MissingReason {
    fn sentence(&self, source: Sources<'_>) -> Sentence {
        match self {
            MissingReason::Failed(failure) => with_failure("{failure}", failure),
            MissingReason::NotReached => "the run ended before this pair was measured".into(),
            MissingReason::NotRequested => "not asked for".into(),
            MissingReason::SameCpu => "a CPU does not talk to itself".into(),
            MissingReason::CoarseClock => {
                "the clock did not advance during its batches: it is too coarse".into()
            }
            MissingReason::CoarseToolClock => "the clock of that tool is too coarse".into(),
            MissingReason::WithinClockStep(step) => {
                let unit = DisplayUnit::Decimals(1);
                let step = DisplayValue { number: Number::Point(step.ns()), unit, source: source("step") };
                Sentence::new("varies by less than one clock step, {step} ns").with("step", step)
            }
        }
    }
}

impl Worded for EmptyRung {
    fn sentence(&self, _: Sources<'_>) -> Sentence {
        match self {
            EmptyRung::NotMeasured => "not measured".into(),
            EmptyRung::OtherState(pairs) => {
                Sentence::new("{pairs}: every visit found the machine in a different state from the headline")
                    .with("pairs", first_pair_sentence(pairs))
            }
            EmptyRung::OtherTime(pairs) => Sentence::new(
                "{pairs}: in every visit CAS took another time than in the map, so that the two cannot be compared",
            )
            .with("pairs", first_pair_sentence(pairs)),
        }
    }
}

fn first_pair_sentence(pairs: &[[CpuId; 2]]) -> Sentence {
    let [[from, to], more @ ..] = pairs else { return Sentence::new("") };
    let template = if more.is_empty() { "CPUs {from}-{to}" } else { "CPUs {from}-{to} and {more} more" };
    Sentence::new(template).with("from", *from).with("to", *to).with("more", DisplayValue::listed(more.len()))
}

impl Worded for Refusal {
    fn sentence(&self, source: Sources<'_>) -> Sentence {
        match self {
            Refusal::Matrix(error) => error.sentence(source),
            Refusal::Moved { cells } => {
                let share = Operation::Product.on([Source::Constant(100.0), source("cells_changed")]);
                Sentence::new(
                    "{share} % of the pairs changed level during the run, as when a host moves virtual CPUs or runs \
                     others on their cores: any grouping would soon be out of date",
                )
                .with("share", percents(*cells, 0, share))
            }
        }
    }
}

impl Worded for InferError {
    fn sentence(&self, source: Sources<'_>) -> Sentence {
        match self {
            InferError::TooFew { cpus } => match cpus {
                0 => "the matrix has no CPU with a value; groups can be found only among three CPUs or more",
                1 => "a single CPU has no other to talk to; groups can be found only among three CPUs or more",
                _ => "2 CPUs have 1 pair; groups can be found only among three CPUs or more",
            }
            .into(),
            InferError::Impossible { from, to, value } => Sentence::new(
                "the latency from CPU {from} to CPU {to} is {value}, which cannot be measured; check the file",
            )
            .with("from", *from)
            .with("to", *to)
            .with("value", DisplayValue::bare(Number::Setting(*value), source("value"))),
            InferError::TooSparse { known, of } => {
                Sentence::new("only {known} of {all} pairs have a value; at least half are needed")
                    .with("known", count(*known, source("known")))
                    .with("all", count(*of, source("all")))
            }
        }
    }
}

impl Worded for Unclear {
    fn sentence(&self, source: Sources<'_>) -> Sentence {
        match *self {
            Unclear::TooFew { passes } => Sentence::new("{passes} passes are too few to tell")
                .with("passes", count(passes, source("passes"))),
            Unclear::Changing { shared, apart } => Sentence::new(
                "they shared a core in {shared} passes but not in {apart}, as when a host moves virtual CPUs",
            )
            .with("shared", count(shared, source("shared")))
            .with("apart", count(apart, source("apart"))),
            Unclear::Between => {
                "they slow each other down by more than clock changes would, but less than a shared unit would"
                    .into()
            }
            Unclear::ControlShares => {
                "the most distant CPUs slow each other down as much, so a shared core is not the cause".into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(is_revealed: bool) -> Reason {
        let failure = Box::new(TrialFailure::with_words("it ended with 7", "no\x1bfile"));
        Reason::Failed { of: Some([1, 9]), failure, is_revealed }
    }

    #[test]
    fn reasons_have_their_numbers() {
        for (reason, text) in [
            (Reason::Wide(0.0512), "± 5.12 % is wider than requested"),
            (Reason::Wide(0.512), "± 51.2 % is wider than requested"),
            (Reason::Wide(1.0), "the interval is wider than the value"),
            (Reason::FewPasses(1), "only 1 pass"),
            (Reason::FewPasses(2), "only 2 passes"),
            (failed(false), "1 of 9 passes failed: it ended with 7"),
            (failed(true), "1 of 9 passes failed: it ended with 7; in full: no\x1bfile"),
        ] {
            assert_eq!(reason.text(), text);
        }
        let shown = fmt::sentence(&failed(true).sentence(&unrecorded));
        assert!(!shown.contains('\x1b'), "{shown:?}");
        let pairs = vec![[0, 8].map(CpuId), [1, 9].map(CpuId)];
        assert!(EmptyRung::OtherState(pairs).text().starts_with("CPUs 0-8 and 1 more: every visit"));
        let step = MissingReason::WithinClockStep(coretalk_model::Picos(41_667));
        assert_eq!(step.text(), "varies by less than one clock step, 41.7 ns");
        assert!(Refusal::Moved { cells: 0.5 }.text().starts_with("50 % of the pairs changed level"));
    }
}
