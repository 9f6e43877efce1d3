//! What of two sides is held against what, in words: nobody may take levels that were matched for pairs that are the same.

use super::text::{count, ns};
use coretalk_model::CpuSet;
use coretalk_model::compare::{Alignment, Doubt, Levels, Likeness, Obstacle, Pairing};
use std::collections::BTreeMap;

/// What no shape tells.
const UNKNOWN: &str =
    "Latencies alone do not show whether groups are threads of a core or cores of a cluster.";
/// Sizes that are told one by one.
const MOST_SIZES: usize = 3;
/// Groups that are listed one by one.
const MOST_GROUPS: usize = 8;

/// Why not every pair is compared with itself; `None` where it is. A side is called as the user named it.
pub fn pairing_words(alignment: &Alignment, called: &[String; 2]) -> Option<String> {
    let of_levels = matches!(alignment.pairing(), Pairing::Nothing(_)).then_some(&[][..]);
    let doubts = of_levels.unwrap_or(alignment.doubts());
    let said =
        not_by_pair(alignment, called).into_iter().chain(doubts_words(doubts, alignment.is_forced(), called));
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// What the levels are that look alike and take other times.
fn doubts_words(doubts: &[Doubt], is_forced: bool, called: &[String; 2]) -> Option<String> {
    let [a, b] = called;
    let (first, rest) = doubts.split_first()?;
    let of = |doubt: &Doubt| {
        let level = match doubt.level.as_str() {
            "all" => "all pairs".to_owned(),
            "across" => "pairs across all groups".to_owned(),
            level => format!("pairs of {level}"),
        };
        let mut sides = [(doubt.a, a), (doubt.b, b)];
        sides.sort_by(|x, y| y.0.total_cmp(&x.0));
        let [(slow, slower), (fast, faster)] = sides;
        let (slow, fast, unit) = (ns(slow), ns(fast), &doubt.unit);
        format!(
            "{level} take {slow} {unit} in {slower}, {:.1} times as long as in {faster} ({fast})",
            doubt.factor()
        )
    };
    let all = std::iter::once(first).chain(rest).map(of).collect::<Vec<_>>().join("; ");
    let what = match is_forced {
        true => "Nothing shows that they correspond; they are compared because of --force.",
        false => "Nothing shows that they correspond, so they are not compared.",
    };
    Some(format!(
        "Levels of {a} and {b} look alike but may be different things (threads of a core, cores of a cluster, \
         packages): {all}. {what}"
    ))
}

/// Why pairs are not held against themselves; `None` where they are.
fn not_by_pair(alignment: &Alignment, called: &[String; 2]) -> Option<String> {
    let [a, b] = alignment.levels();
    let [first, second] = called;
    Some(match alignment.pairing() {
        Pairing::Pairs => return None,
        Pairing::Levels(Likeness::Reported) => "The systems report different groups: levels of the same name are \
            compared, not individual pairs of CPUs."
            .to_owned(),
        Pairing::Levels(Likeness::Renumbered) => format!(
            "Both show {}, numbered differently: groups of the same size are compared, not individual pairs of \
             CPUs. {UNKNOWN}",
            makeup(a)
        ),
        Pairing::Levels(Likeness::Kind) => format!(
            "{first} shows {}, {second} {}: levels are compared in this order, not individual pairs of CPUs. {UNKNOWN}",
            makeup(a),
            makeup(b)
        ),
        Pairing::Levels(Likeness::Threads) => format!(
            "{first} shows {}, {second} {}: only threads of a core are known to correspond, from load tests of both.",
            makeup(a),
            makeup(b)
        ),
        Pairing::Levels(Likeness::Flat) => {
            format!("All pairs of {first} are alike, and so are all of {second}: they are compared as a whole, not pair by pair.")
        }
        Pairing::Nothing(Obstacle::Groups) => format!(
            "{first} shows {}, {second} {}: it is unknown which of them correspond, so nothing is compared.",
            makeup(a),
            makeup(b)
        ),
        Pairing::Nothing(Obstacle::Meanings(doubt)) => {
            return doubts_words(std::slice::from_ref(doubt), alignment.is_forced(), called);
        }
        Pairing::Nothing(Obstacle::Patterns) => {
            "Neither shows groups, the pairs of at least one differ by more than noise, and pairs with the same \
             numbers do not resemble each other: it is unknown whether these are the same CPUs, so nothing is \
             compared."
                .to_owned()
        }
        Pairing::Nothing(Obstacle::Unseen(errors)) => {
            let why = called.iter().zip(errors).filter_map(|(letter, error)| {
                Some(format!(" (no groups can be inferred for {letter}: {})", error.as_ref()?))
            });
            format!(
                "It is unknown whether CPUs with the same number are the same{}, so nothing is compared.",
                why.collect::<String>()
            )
        }
    })
}

/// Who belongs together where nobody reports it, a line for each level.
pub(super) fn groups(alignment: &Alignment, called: &[String; 2]) -> Vec<String> {
    let [a, b] = alignment.levels();
    match alignment.pairing() {
        Pairing::Pairs => listed(a, "", ", as the latencies of both show"),
        Pairing::Levels(_) | Pairing::Nothing(_) => {
            let [first, second] = called.each_ref().map(|called| format!("{called} "));
            [listed(a, &first, ""), listed(b, &second, "")].concat()
        }
    }
}

fn listed(levels: &Levels, of: &str, from: &str) -> Vec<String> {
    let shown = levels.observed().unwrap_or_default().iter().enumerate().map(|(index, level)| {
        let lists: Vec<String> = level.groups.iter().take(MOST_GROUPS).map(ToString::to_string).collect();
        let more = if level.groups.len() > MOST_GROUPS { " …" } else { "" };
        let from = if index == 0 { from } else { "" };
        format!("{of}{}: {}{more}{from}", level.name, lists.join("  "))
    });
    shown.collect()
}

/// The groups of a side in words, finest first: `12 groups of 2 in 2 groups of 12`.
fn makeup(levels: &Levels) -> String {
    let shown = levels.observed().unwrap_or_default();
    let levels: Vec<String> = shown.iter().map(|level| sizes(&level.groups)).collect();
    let alone = shown.last().map_or(0, |level| level.alone);
    match levels.is_empty() {
        true => "no groups".to_owned(),
        false if alone > 0 => format!("{} and {} alone", levels.join(" in "), count(alone as u64, "CPU")),
        false => levels.join(" in "),
    }
}

/// `4 groups of 3`; of several sizes the largest number of groups first.
fn sizes(groups: &[CpuSet]) -> String {
    let mut by_size: BTreeMap<usize, u64> = BTreeMap::new();
    for group in groups {
        *by_size.entry(group.len()).or_default() += 1;
    }
    let mut sizes: Vec<(usize, u64)> = by_size.into_iter().collect();
    if sizes.len() > MOST_SIZES {
        let (least, most) = (sizes[0].0, sizes[sizes.len() - 1].0);
        return format!("{} of {least} to {most}", count(groups.len() as u64, "group"));
    }
    sizes.sort_by_key(|&(size, groups)| (std::cmp::Reverse(groups), size));
    let words = sizes.iter().enumerate().map(|(index, &(size, groups))| match index {
        0 => format!("{} of {size}", count(groups, "group")),
        _ => format!("{groups} of {size}"),
    });
    words.collect::<Vec<_>>().join(" and ")
}
