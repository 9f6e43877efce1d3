//! The conclusions of a comparison, in sentences.

use super::CompareView;
use super::paths::shift_path;
use super::table::{dataset_words, departing, key_words, labels, level_words, standing_out};
use crate::blocks::value::{Arg, DisplayValue, Number, PlainText, Sentence, Source};
use coretalk_model::compare::{Answer, DatasetComparison, Letter, Shown, ShownLevel};
use coretalk_model::quantity::Unit;

const MAX_VALUES: usize = 6;
const CLOCK_SHIFT: f64 = 0.01;

pub fn saturated(view: &CompareView<'_>) -> Option<Sentence> {
    let ([a, b], [first, second]) = (view.comparison.saturated, view.called());
    let template = "Left out because the queue did not keep the send rate in every pass: {a} of {first}, {b} of {second}.";
    (a + b > 0).then(|| {
        Sentence::new(template)
            .with("a", Sentence::pluralized("{number} result{s}", DisplayValue::listed(a)))
            .with_name("first", &first)
            .with("b", DisplayValue::listed(b))
            .with_name("second", &second)
    })
}

pub fn remarks(dataset: &DatasetComparison, view: &CompareView<'_>) -> Vec<Sentence> {
    let left_out: usize = dataset.levels.iter().map(|level| level.left_out).sum();
    let counted = |count: usize, template| {
        (count > 0).then(|| Sentence::pluralized(template, DisplayValue::listed(count)))
    };
    let left_out = counted(left_out, "Left out because they changed state during a run: {number} pair{s}.");
    let one_sided = counted(dataset.lonely, "On one side only: {number} value{s}.");
    let called = view.called();
    let words = [left_out, one_sided, without_ratio(dataset, &called), clock_difference(dataset, &called[1])];
    words.into_iter().flatten().collect()
}

fn without_ratio(dataset: &DatasetComparison, [a, b]: &[String; 2]) -> Option<Sentence> {
    let all = &dataset.without_ratio;
    let shown = all.iter().take(MAX_VALUES).map(|left_out| {
        Sentence::new("{of} in {side} ({value} {unit})")
            .with("of", key_words(&left_out.key))
            .with_name("side", if left_out.of == Letter::A { a } else { b })
            .with("value", DisplayValue::bare(Number::Figure(left_out.value), Source::Unrecorded))
            .with_name("unit", &dataset.unit)
    });
    let more = all.len().saturating_sub(MAX_VALUES);
    let more = (more > 0).then(|| Sentence::new(" and {more} more").with("more", DisplayValue::listed(more)));
    let template = "Not compared, because zero and impossible values have no ratio: {values}{more}.";
    (!all.is_empty()).then(|| {
        Sentence::new(template)
            .with("values", Sentence::joined(shown, "; "))
            .with("more", Sentence::joined(more, ""))
    })
}

fn clock_difference(dataset: &DatasetComparison, b: &str) -> Option<Sentence> {
    let known = dataset.levels.iter().filter_map(|level| Some((level.clock()?, level.as_read?)));
    let (clock, as_read) = known.max_by(|x, y| x.0.ln_1p().abs().total_cmp(&y.0.ln_1p().abs()))?;
    let share = DisplayValue::bare(Number::Point(clock.abs()), Source::Unrecorded).in_unit(Unit::Share);
    let template =
        "In {unit} as measured, {b} differs by up to {as_read}: its core clock was about {clock} {how}.";
    (clock.abs() >= CLOCK_SHIFT).then(|| {
        Sentence::new(template)
            .with_name("unit", &dataset.unit)
            .with_name("b", b)
            .with("as_read", DisplayValue::bare(Number::Difference(as_read), Source::Unrecorded))
            .with("clock", share)
            .with("how", if clock < 0.0 { "lower" } else { "higher" })
    })
}

pub fn answer(view: &CompareView<'_>) -> Sentence {
    let called = view.called();
    let [a, b] = called.each_ref().map(|name| untrusted_name(name));
    let mut doubts = view.alignment.doubts().iter().filter(|_| !view.alignment.is_forced()).peekable();
    let mut sentences: Vec<Sentence> = match view.comparison.answer() {
        Answer::NothingCorresponds => {
            let template = "Cannot tell: nothing in {a} is known to correspond to anything in {b}.";
            return Sentence::new(template).with("a", a).with("b", b);
        }
        Answer::Alike => {
            let least = DisplayValue::field("/compared/min_effect_percent", Number::Point(view.least));
            let least = least.in_unit(Unit::Share);
            let levels = view.comparison.datasets.iter().flat_map(|dataset| &dataset.levels);
            let left_out: usize = levels.map(|level| level.left_out).sum();
            let template = match doubts.peek() {
                None if left_out == 0 => "{a} and {b} are alike: no level differs by {least} or more.",
                _ => "No level that is compared differs by {least} or more.",
            };
            let alike = Sentence::new(template).with("a", a).with("b", b).with("least", least);
            let moved = match left_out {
                0 => None,
                1 => Some("{number} pair is not compared, as it changed state during a run."),
                _ => Some("{number} pairs are not compared, as they changed state during a run."),
            };
            let moved =
                moved.map(|words| Sentence::new(words).with("number", DisplayValue::listed(left_out)));
            [alike].into_iter().chain(moved).collect()
        }
        Answer::Differs(shown) => shown.iter().map(|shown| shown_words(view, shown, [&a, &b])).collect(),
    };
    let labels = view.comparison.datasets.first().map(labels);
    let doubts: Vec<Sentence> = doubts
        .map(|doubt| match &labels {
            Some(labels) => level_words(&doubt.level, view.topology(), labels),
            None => Sentence::name(&doubt.level),
        })
        .collect();
    if !doubts.is_empty() {
        sentences.push(Sentence::new("Not compared: {levels}.").with("levels", Arg::Parts(doubts, "; ")));
    }
    let datasets = view.comparison.datasets.iter();
    let single: usize = datasets.map(|dataset| standing_out(dataset, view.comparison).len()).sum();
    if single > 0 {
        let template = match single {
            1 => "{number} pair changed differently from the rest of the level.",
            _ => "{number} pairs changed differently from the rest of the level.",
        };
        sentences.push(Sentence::new(template).with("number", departing(single, None)));
    }
    Sentence::new("{all}").with("all", Arg::Parts(sentences, " "))
}

fn untrusted_name(name: &str) -> PlainText {
    PlainText::untrusted(name)
}

fn shown_words(view: &CompareView<'_>, shown: &Shown, [a, b]: [&PlainText; 2]) -> Sentence {
    let value = |level: ShownLevel| {
        let shift = level.difference(view.comparison).map(|difference| difference.shift);
        shift.map_or(Arg::from("unknown"), |shift| {
            let path = shift_path(view.comparison, level.dataset, level.level);
            DisplayValue::field(path, Number::Shift(shift)).in_unit(Unit::Share).into()
        })
    };
    let levels = match shown.extremes(view.comparison).filter(|_| !shown.is_listed()) {
        Some([least, most]) => vec![
            Sentence::new("{number} of {all} levels ({least} to {most})")
                .with("number", DisplayValue::listed(shown.levels.len()))
                .with("all", DisplayValue::listed(shown.of))
                .with("least", value(least))
                .with("most", value(most)),
        ],
        None => {
            let of_level = |level: &ShownLevel| level_sentence(view, *level).with("shift", value(*level));
            shown.levels.iter().map(of_level).collect()
        }
    };
    let sentence = match shown.called {
        Some(word) => {
            let sentence = Sentence::new("{b} is {word} than {a}: {levels}.");
            sentence.with("a", a.clone()).with("b", b.clone()).with("word", word)
        }
        None => Sentence::new("Cannot tell: {levels}."),
    };
    // Semicolons separate levels, because names of levels may contain commas.
    sentence.with("levels", Arg::Parts(levels, "; "))
}

fn level_sentence(view: &CompareView<'_>, shown: ShownLevel) -> Sentence {
    let datasets = &view.comparison.datasets;
    let dataset = &datasets[shown.dataset];
    let level = shown.level.and_then(|level| dataset.levels.get(level));
    let sentence = match level {
        Some(level) => {
            let name = level_words(&level.level, view.topology(), &labels(dataset));
            Sentence::new("{dataset}{level} ({shift})").with("level", name)
        }
        None => Sentence::new("{dataset}all pairs alike ({shift})"),
    };
    let name = match datasets.len() {
        0 | 1 => Sentence::new(""),
        _ => Sentence::new("{name}, ").with("name", dataset_words(dataset)),
    };
    sentence.with("dataset", name)
}
