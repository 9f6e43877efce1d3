//! Lists of CPUs, groups and pairs, in words.

use crate::blocks::value::{Arg, Sentence};
use coretalk_model::{CpuId, CpuSet};

/// A set of CPUs with its noun: `CPU 3`, `CPUs 0-3`.
pub fn cpus(all: &CpuSet) -> Sentence {
    Sentence::new(if all.len() == 1 { "CPU {cpus}" } else { "CPUs {cpus}" }).with("cpus", all.clone())
}

/// A list in a sentence: `one, another and a third`.
pub fn enumerated(mut all: Vec<Sentence>) -> Sentence {
    let last = all.pop().into_iter();
    let others = (!all.is_empty()).then(|| Sentence::joined(all, ", "));
    Sentence::joined(others.into_iter().chain(last), " and ")
}

/// Pairs of CPUs: `0 and 1, 0 and 2`.
pub fn pairs(all: impl IntoIterator<Item = [CpuId; 2]>) -> Sentence {
    let pair = |[a, b]: [CpuId; 2]| Sentence::new("{a} and {b}").with("a", a).with("b", b);
    Sentence::joined(all.into_iter().map(pair), ", ")
}

/// Groups as lists of CPUs, `0-7  8-15`; of more than `most`, the first three and the last.
pub fn lists(groups: &[CpuSet], most: usize) -> Sentence {
    let list = |cpus: &CpuSet| Sentence::new("{cpus}").with("cpus", cpus.clone());
    let listed = |groups: &[CpuSet]| Arg::Parts(groups.iter().map(list).collect(), "  ");
    match groups {
        [first @ .., last] if groups.len() > most => {
            Sentence::new("{first} … {last}").with("first", listed(&first[..3])).with("last", list(last))
        }
        _ => Sentence::new("{all}").with("all", listed(groups)),
    }
}

/// Groups in a sentence: `0-7, 8-15 and 16-23`; of more than three, the first two and the last.
pub fn named(groups: Vec<CpuSet>) -> Sentence {
    let template = match groups.len() {
        0 => "",
        1 => "{last}",
        2 => "{first} and {last}",
        3 => "{first}, {second} and {last}",
        _ => "{first}, {second} … {last}",
    };
    let names = ["first", "second"].into_iter().zip(groups.iter().rev().skip(1).rev());
    let sentence =
        names.fold(Sentence::new(template), |sentence, (name, cpus)| sentence.with(name, cpus.clone()));
    groups.last().into_iter().fold(sentence, |sentence, last| sentence.with("last", last.clone()))
}
