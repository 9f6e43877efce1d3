//! What of two sides is held against what, in words: nobody may take levels that were matched for pairs that are the same.

use super::text::{count, ns};
use coretalk_model::CpuSet;
use coretalk_model::compare::{Alignment, Levels, Likeness, Obstacle, Pairing};
use std::collections::BTreeMap;

/// What no shape tells.
const UNKNOWN: &str =
    "Latencies alone do not show whether groups are threads of a core or cores of a cluster.";
/// Sizes that are told one by one.
const MOST_SIZES: usize = 3;
/// Groups that are listed one by one.
const MOST_GROUPS: usize = 8;

/// Why pairs are not held against themselves; `None` where they are.
pub fn pairing_words(alignment: &Alignment) -> Option<String> {
    let [a, b] = alignment.levels();
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
            "A shows {}, B {}: levels are compared in this order, not individual pairs of CPUs. {UNKNOWN}",
            makeup(a),
            makeup(b)
        ),
        Pairing::Levels(Likeness::Threads) => format!(
            "A shows {}, B {}: only threads of a core are known to correspond, from load tests of both.",
            makeup(a),
            makeup(b)
        ),
        Pairing::Levels(Likeness::Flat) => {
            "All pairs of A are alike, and so are all of B: they are compared as a whole, not pair by pair."
                .to_owned()
        }
        Pairing::Nothing(Obstacle::Groups) => format!(
            "A shows {}, B {}: it is unknown which of them correspond, so nothing is compared.",
            makeup(a),
            makeup(b)
        ),
        Pairing::Nothing(Obstacle::Meanings(doubt)) => format!(
            "Levels of A and B look alike but may be different things (threads of a core, cores of a cluster, \
             packages): \
             {} take {} {unit} in A and {} {unit} in B, {:.1} times as long. Nothing shows that they correspond, so \
             nothing is compared.",
            match doubt.level.as_str() {
                "all" => "all pairs".to_owned(),
                "across" => "pairs across all groups".to_owned(),
                level => format!("pairs of {level}"),
            },
            ns(doubt.a),
            ns(doubt.b),
            doubt.factor(),
            unit = doubt.unit,
        ),
        Pairing::Nothing(Obstacle::Patterns) => {
            "Neither shows groups, the pairs of at least one differ by more than noise, and pairs with the same \
             numbers do not resemble each other: it is unknown whether these are the same CPUs, so nothing is \
             compared."
                .to_owned()
        }
        Pairing::Nothing(Obstacle::Unseen(errors)) => {
            let why = ["A", "B"].into_iter().zip(errors).filter_map(|(letter, error)| {
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
pub(super) fn groups(alignment: &Alignment) -> Vec<String> {
    let [a, b] = alignment.levels();
    match alignment.pairing() {
        Pairing::Pairs => listed(a, "", ", as the latencies of both show"),
        Pairing::Levels(_) | Pairing::Nothing(_) => [listed(a, "A ", ""), listed(b, "B ", "")].concat(),
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
