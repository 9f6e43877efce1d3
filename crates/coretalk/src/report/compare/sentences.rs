//! What follows from a comparison, in sentences.

use super::CompareView;
use super::table::{key_words, labels, level_words, number, signed, standing_out};
use crate::report::parameters::series_words;
use crate::report::text::{count, percent, plain};
use coretalk_model::compare::{DatasetComparison, Letter, Verdict};

/// Values that are named one by one.
const MOST_VALUES: usize = 6;
/// A shift of the clock by more than this is worth a sentence.
const CLOCK_SHIFT: f64 = 0.01;

/// How many results have no delay that could be compared.
pub fn saturated(view: &CompareView<'_>) -> Option<String> {
    let ([a, b], [first, second]) = (view.comparison.saturated, view.called());
    (a + b > 0).then(|| {
        format!(
            "Left out because the queue did not keep the send rate in every pass: {} of {first}, {b} of {second}.",
            count(a as u64, "result"),
        )
    })
}

/// What was left out of a comparison, and how far the core clocks differ.
pub fn remarks(dataset: &DatasetComparison, view: &CompareView<'_>) -> Vec<String> {
    let [a, b] = view.called();
    let mut texts = Vec::new();
    let left_out: usize = dataset.levels.iter().map(|level| level.left_out).sum();
    if left_out > 0 {
        texts.push(format!(
            "Left out because they changed state during a run: {}.",
            count(left_out as u64, "pair")
        ));
    }
    if dataset.lonely > 0 {
        texts.push(format!("On one side only: {}.", count(dataset.lonely as u64, "value")));
    }
    if !dataset.without_ratio.is_empty() {
        let shown = dataset.without_ratio.iter().take(MOST_VALUES).map(|left_out| {
            let side = if left_out.of == Letter::A { &a } else { &b };
            let (of, value) = (key_words(&left_out.key), number(left_out.value));
            format!("{of} in {side} ({value} {})", dataset.unit)
        });
        let more = match dataset.without_ratio.len().saturating_sub(MOST_VALUES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        texts.push(format!(
            "Not compared, because zero and impossible values have no ratio: {}{more}.",
            shown.collect::<Vec<_>>().join(", ")
        ));
    }
    let farthest = dataset
        .levels
        .iter()
        .filter_map(|level| Some((level.clock()?, level.as_read?)))
        .max_by(|x, y| x.0.ln_1p().abs().total_cmp(&y.0.ln_1p().abs()));
    if let Some((clock, as_read)) = farthest.filter(|(clock, _)| clock.abs() >= CLOCK_SHIFT) {
        let how = if clock < 0.0 { "lower" } else { "higher" };
        texts.push(format!(
            "In {} as measured, {b} differs by up to {}: its core clock was about {} {how}.",
            dataset.unit,
            signed(as_read),
            percent(clock.abs())
        ));
    }
    texts
}

/// What follows, in one sentence.
pub fn conclusion(view: &CompareView<'_>) -> String {
    let datasets = &view.comparison.datasets;
    let [a, b] = view.called();
    let several = datasets.len() > 1;
    let named = |wanted: Verdict, called: Option<&str>| -> Vec<String> {
        let mut named = Vec::new();
        for dataset in
            datasets.iter().filter(|dataset| called.is_none_or(|word| dataset.called().contains(&word)))
        {
            let labels = labels(dataset);
            let of = if several { format!("{}, ", series_words(&dataset.name)) } else { String::new() };
            let levels = dataset.levels.iter().filter(|level| level.difference.verdict == wanted);
            // One change of everything is one answer.
            let is_whole = levels.clone().count() == dataset.levels.len() && standing_out(dataset).is_empty();
            let together = dataset.together.as_ref().filter(|of| is_whole && of.verdict == wanted);
            if let Some(together) = together.filter(|_| wanted.is_different()) {
                named.push(format!("{of}all pairs alike ({})", signed(together.shift.point)));
                continue;
            }
            named.extend(levels.map(|level| {
                format!(
                    "{of}{} ({})",
                    level_words(&level.level, view.topology(), &labels),
                    signed(level.difference.shift.point)
                )
            }));
        }
        named
    };
    let words = [Verdict::Slower, Verdict::Faster].into_iter().zip(0..).flat_map(|(verdict, at)| {
        let mut words: Vec<&str> = datasets.iter().map(|dataset| dataset.called()[at]).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(move |word| (verdict, word))
    });
    let untold = named(Verdict::CannotTell, None);
    let single: usize = datasets.iter().map(|dataset| standing_out(dataset).len()).sum();
    let mut sentences = Vec::new();
    for (verdict, word) in words {
        let levels = named(verdict, Some(word));
        if !levels.is_empty() {
            sentences.push(format!("{b} is {word}: {}.", levels.join(", ")));
        }
    }
    if datasets.iter().all(|dataset| dataset.levels.is_empty()) {
        return format!("Cannot tell: nothing in {a} is known to correspond to anything in {b}.");
    }
    if sentences.is_empty() && untold.is_empty() {
        sentences.push(format!("No level differs by {} or more.", percent(view.least)));
    }
    if !untold.is_empty() {
        sentences.push(format!("Cannot tell: {}.", untold.join(", ")));
    }
    let doubts = view.alignment.doubts().iter().filter(|_| !view.alignment.is_forced());
    let labels = datasets.first().map(labels);
    let words = |name: &str| match &labels {
        Some(labels) => level_words(name, view.topology(), labels),
        None => plain(name),
    };
    let doubts: Vec<String> = doubts.map(|doubt| words(&doubt.level)).collect();
    if !doubts.is_empty() {
        sentences.push(format!("Not compared: {}.", doubts.join(", ")));
    }
    if single > 0 {
        sentences.push(format!(
            "{} changed differently from the rest of the level.",
            count(single as u64, "pair")
        ));
    }
    sentences.join(" ")
}
