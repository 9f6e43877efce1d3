//! Describes the compared parts of two sides, so that matched levels are not mistaken for identical pairs.

use super::compare::paths::median_source;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Operation, Sentence};
use crate::reasons::{Worded, unrecorded};
use coretalk_model::CpuSet;
use coretalk_model::compare::{
    Alignment, Comparison, Letter, LevelMismatch, Levels, Likeness, Obstacle, Pairing,
};
use std::collections::BTreeMap;

const UNKNOWN: &str =
    "Latencies alone do not show whether groups are threads of a core or cores of a cluster.";
const MAX_SIZES: usize = 3;
const MAX_GROUPS: usize = 8;

/// Why the comparison is not pair by pair; `None` if it is. Sides have the names given by the user.
pub fn pairing_words(
    alignment: &Alignment,
    comparison: &Comparison,
    names: &[String; 2],
) -> Option<Sentence> {
    let no_doubts = matches!(alignment.pairing(), Pairing::Nothing(_)).then_some(&[][..]);
    let doubts = doubts_words(no_doubts.unwrap_or(alignment.doubts()), alignment, comparison, names);
    let words: Vec<Sentence> = not_by_pair(alignment, comparison, names).into_iter().chain(doubts).collect();
    (!words.is_empty()).then(|| Sentence::joined(words, " "))
}

fn doubts_words(
    doubts: &[LevelMismatch],
    alignment: &Alignment,
    comparison: &Comparison,
    names: &[String; 2],
) -> Option<Sentence> {
    let what = match alignment.is_forced() {
        true => "Nothing shows that they correspond; they are compared because of --force.",
        false => "Nothing shows that they correspond, so they are not compared.",
    };
    let all = doubts.iter().map(|doubt| doubt_words(doubt, comparison, names));
    let sentence = Sentence::new(
        "Levels of {a} and {b} look alike but may be different things (threads of a core, cores of a cluster, \
         packages): {all}. {what}",
    );
    (!doubts.is_empty())
        .then(|| with_sides(sentence, names).with("all", Sentence::joined(all, "; ")).with("what", what))
}

fn doubt_words(doubt: &LevelMismatch, comparison: &Comparison, [a, b]: &[String; 2]) -> Sentence {
    let level = match doubt.level.as_str() {
        "all" => "all pairs".into(),
        "across" => "pairs across all groups".into(),
        level => Sentence::new("pairs of {level}").with_name("level", level),
    };
    let median =
        |ns: f64, side| DisplayValue::bare(Number::Point(ns), median_source(comparison, doubt, side));
    let mut sides = [(doubt.a, Letter::A, a), (doubt.b, Letter::B, b)];
    sides.sort_by(|x, y| y.0.total_cmp(&x.0));
    let [(slow, of_slow, slower), (fast, of_fast, faster)] = sides;
    let (slow, fast) = (median(slow, of_slow), median(fast, of_fast));
    let factor = DisplayValue {
        number: Number::Point(doubt.factor()),
        unit: DisplayUnit::Decimals(1),
        source: Operation::Ratio.on([slow.source.clone(), fast.source.clone()]),
    };
    Sentence::new("{level} take {slow} {unit} in {slower}, {factor} times as long as in {faster} ({fast})")
        .with("level", level)
        .with("slow", slow)
        .with_name("unit", &doubt.unit)
        .with_name("slower", slower)
        .with("factor", factor)
        .with_name("faster", faster)
        .with("fast", fast)
}

fn with_sides(sentence: Sentence, [a, b]: &[String; 2]) -> Sentence {
    sentence.with_name("a", a).with_name("b", b)
}

fn not_by_pair(alignment: &Alignment, comparison: &Comparison, names: &[String; 2]) -> Option<Sentence> {
    let [a, b] = alignment.levels();
    let with_makeups =
        |template| with_sides(Sentence::new(template), names).with("of_a", makeup(a)).with("of_b", makeup(b));
    Some(match alignment.pairing() {
        Pairing::Pairs => return None,
        Pairing::Levels(Likeness::Reported) => "The systems report different groups: levels of the same name are \
            compared, not individual pairs of CPUs."
            .into(),
        Pairing::Levels(Likeness::Renumbered) => Sentence::new(
            "Both show {groups}, numbered differently: groups of the same size are compared, not individual pairs of \
             CPUs. {unknown}",
        )
        .with("groups", makeup(a))
        .with("unknown", UNKNOWN),
        Pairing::Levels(Likeness::Kind) => with_makeups(
            "{a} shows {of_a}, {b} {of_b}: levels are compared in this order, not individual pairs of CPUs. {unknown}",
        )
        .with("unknown", UNKNOWN),
        Pairing::Levels(Likeness::Threads) => with_makeups(
            "{a} shows {of_a}, {b} {of_b}: only threads of a core are known to correspond, from load tests of both.",
        ),
        Pairing::Levels(Likeness::Flat) => with_sides(
            Sentence::new("All pairs of {a} are alike, and so are all of {b}: they are compared as a whole, not pair by pair."),
            names,
        ),
        Pairing::Nothing(Obstacle::Groups) => with_makeups(
            "{a} shows {of_a}, {b} {of_b}: it is unknown which of them correspond, so nothing is compared.",
        ),
        Pairing::Nothing(Obstacle::Meanings(doubt)) => {
            return doubts_words(std::slice::from_ref(doubt), alignment, comparison, names);
        }
        Pairing::Nothing(Obstacle::Patterns) => {
            "Neither shows groups, the pairs of at least one differ by more than noise, and pairs with the same \
             numbers do not resemble each other: it is unknown whether these are the same CPUs, so nothing is \
             compared."
                .into()
        }
        Pairing::Nothing(Obstacle::Unseen(errors)) => {
            let why = names.iter().zip(errors).filter_map(|(side, error)| {
                let sentence = Sentence::new(" (no groups can be inferred for {side}: {error})");
                Some(sentence.with_name("side", side).with("error", error.as_ref()?.sentence(&unrecorded)))
            });
            Sentence::new(
                "It is unknown whether CPUs with the same number are the same{why}, so nothing is compared.",
            )
            .with("why", Sentence::joined(why, ""))
        }
    })
}

/// The groups of CPUs inferred from latencies where no system reports groups, one line per level.
pub(super) fn groups(alignment: &Alignment, [first, second]: &[String; 2]) -> Vec<Sentence> {
    let [a, b] = alignment.levels();
    match alignment.pairing() {
        Pairing::Pairs => listed(a, None, ", as the latencies of both show"),
        Pairing::Levels(_) | Pairing::Nothing(_) => {
            [listed(a, Some(first), ""), listed(b, Some(second), "")].concat()
        }
    }
}

fn listed(levels: &Levels, side_name: Option<&String>, evidence: &'static str) -> Vec<Sentence> {
    let shown = levels.observed().unwrap_or_default().iter().enumerate().map(|(index, level)| {
        let groups = level.groups.iter().take(MAX_GROUPS);
        let groups = groups.map(|group| Sentence::new("{cpus}").with("cpus", group.clone()));
        let side = side_name.map(|side| Sentence::new("{side} ").with_name("side", side));
        Sentence::new("{side}{level}: {groups}{more}{from}")
            .with("side", Sentence::joined(side, ""))
            .with_name("level", &level.name)
            .with("groups", Sentence::joined(groups, "  "))
            .with("more", if level.groups.len() > MAX_GROUPS { " …" } else { "" })
            .with("from", if index == 0 { evidence } else { "" })
    });
    shown.collect()
}

fn makeup(levels: &Levels) -> Sentence {
    let shown = levels.observed().unwrap_or_default();
    let alone = shown.last().map_or(0, |level| level.alone);
    let words = Sentence::joined(shown.iter().map(|level| sizes(&level.groups)), " in ");
    match shown.is_empty() {
        true => "no groups".into(),
        false if alone > 0 => Sentence::new("{groups} and {alone} alone")
            .with("groups", words)
            .with("alone", Sentence::pluralized("{number} CPU{s}", DisplayValue::listed(alone))),
        false => words,
    }
}

/// Sizes of groups: `4 groups of 3`. The size with the most groups comes first.
fn sizes(groups: &[CpuSet]) -> Sentence {
    let mut by_size: BTreeMap<usize, usize> = BTreeMap::new();
    for group in groups {
        *by_size.entry(group.len()).or_default() += 1;
    }
    let mut sizes: Vec<(usize, usize)> = by_size.into_iter().collect();
    let counted = |template, groups| Sentence::pluralized(template, DisplayValue::listed(groups));
    if sizes.len() > MAX_SIZES {
        return counted("{number} group{s} of {least} to {most}", groups.len())
            .with("least", DisplayValue::listed(sizes[0].0))
            .with("most", DisplayValue::listed(sizes[sizes.len() - 1].0));
    }
    sizes.sort_by_key(|&(size, groups)| (std::cmp::Reverse(groups), size));
    let words = sizes.iter().enumerate().map(|(index, &(size, groups))| {
        let template = if index == 0 { "{number} group{s} of {size}" } else { "{number} of {size}" };
        counted(template, groups).with("size", DisplayValue::listed(size))
    });
    Sentence::joined(words, " and ")
}
