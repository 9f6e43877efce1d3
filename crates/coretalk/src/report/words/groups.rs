//! Groups as the system reports them, and as values show them, in words.

use crate::report::ladder::level_words;
use crate::report::text::{count, ns, short_ns};
use coretalk_model::latency::summary::{Contrast, Overall, VISIBLE_CONTRAST};
use coretalk_model::stats::Estimate;
use coretalk_model::stats::gaps::ValueGroup;
use coretalk_model::{Level, Topology};

/// Whether the cells kept their levels while they were watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// None is known to have changed.
    Still,
    /// Some changed: what a value shows of a group may be gone with the next state.
    Changed,
}

/// Groups as the system reports them, and nothing else.
pub fn groups_alone(contrasts: &[Contrast]) -> Vec<String> {
    contrasts.iter().map(contrast_groups).collect()
}

/// Groups as the system reports them, with what staying inside gains; or, where it reports none, values only. Where
/// cells changed their level, values only, and no verdict on the groups: what the states contradict stands with them.
pub fn groups(
    all: &Overall,
    contrasts: &[Contrast],
    topology: &Topology,
    holding: Holding,
    apart: Option<Level>,
    by_distance: Option<Estimate>,
) -> Vec<String> {
    let words = match holding {
        Holding::Still => contrast_words,
        Holding::Changed => contrast_values,
    };
    if all.measured < 2 || !contrasts.is_empty() || holding == Holding::Changed {
        return contrasts.iter().map(words).collect();
    }
    let crosses = !topology.crossing().is_empty();
    let reported = match apart {
        Some(level) => format!("the system reports that each CPU has its own {}", level_words(level, 1)),
        None if crosses => "the groups that the system reports cross each other".to_owned(),
        None => "the system reports one group".to_owned(),
    };
    // Threads of a core are a reported group too: what they explain is not left to the values.
    let found = &all.by_value.shown;
    let explained = topology.has_smt(topology.cpus()) && found.len() == 2;
    let text = match found.as_slice() {
        [one] if all.by_value.is_open => format!(
            "cannot tell whether there are levels: values range from {} to {} ns, and their intervals do not separate \
             them",
            ns(one.min),
            ns(one.max)
        ),
        [one] => format!(
            "no groups: values range from {} to {} ns without a gap, and {reported}{}",
            ns(one.min),
            ns(one.max),
            by_distance.map_or(String::new(), distance_words)
        ),
        _ if explained => "one group of cores; the values have no other gap".to_owned(),
        several => format!(
            "{} levels by value alone ({}): {}",
            several.len(),
            match apart {
                Some(level) => format!("each CPU has its own {}", level_words(level, 1)),
                None if crosses => reported,
                None => "the system reports no groups".to_owned(),
            },
            several.iter().take(5).map(value_words).collect::<Vec<_>>().join(", ")
        ),
    };
    vec![text]
}

/// Whether neighbours by id are neighbours by latency, as on a mesh whose CPUs are counted along its rows.
fn distance_words(correlation: Estimate) -> String {
    let verdict = match correlation {
        Estimate { low, .. } if low > 0.0 => "CPUs with near ids tend to be faster",
        Estimate { high, .. } if high < 0.0 => "CPUs with distant ids tend to be faster",
        _ => "too weak to call",
    };
    format!(
        " · correlation with the distance between CPU ids {:.2} ({:.2} to {:.2} at 95 %): {verdict}",
        correlation.point, correlation.low, correlation.high
    )
}

fn value_words(group: &ValueGroup) -> String {
    let (low, high) = (short_ns(group.min), short_ns(group.max));
    let range = if group.count == 1 { format!("{low} ns") } else { format!("{low}–{high} ns") };
    format!("{range} ({})", count(group.count as u64, "pair"))
}

fn contrast_groups(contrast: &Contrast) -> String {
    let number = contrast.groups.len();
    let level = level_words(contrast.level, number);
    let who = match contrast.groups.as_slice() {
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [first, second, .., last] => format!("{first}, {second} … {last}"),
        _ => String::new(),
    };
    format!("{number} {level}: {who}")
}

fn contrast_values(contrast: &Contrast) -> String {
    format!(
        "{} · in their most frequent state {} ns inside, {} ns to the nearest other",
        contrast_groups(contrast),
        ns(contrast.inside_ns),
        ns(contrast.across_ns)
    )
}

fn contrast_words(contrast: &Contrast) -> String {
    let ratio = contrast.across_ns / contrast.inside_ns;
    if !ratio.is_finite() {
        return contrast_groups(contrast);
    }
    let (inside, across) = (ns(contrast.inside_ns), ns(contrast.across_ns));
    if !contrast.protocol.is_latency() {
        let verdict = if ratio >= VISIBLE_CONTRAST {
            "time stamps from the same group vary less"
        } else if ratio <= 1.0 / VISIBLE_CONTRAST {
            "time stamps from the same group vary more"
        } else {
            "the variation does not show these groups"
        };
        let groups = contrast_groups(contrast);
        return format!(
            "{groups} · {verdict}: {inside} ns behind the fastest, {across} ns from the nearest other"
        );
    }
    let verdict = if ratio >= VISIBLE_CONTRAST {
        format!("{inside} ns inside, {across} ns to the nearest other: {ratio:.1} × faster inside")
    } else if ratio <= 1.0 / VISIBLE_CONTRAST {
        format!("{inside} ns inside, {across} ns to the nearest other: slower inside")
    } else {
        format!("no visible difference: {inside} ns inside, {across} ns to the nearest other")
    };
    format!("{} · {verdict}", contrast_groups(contrast))
}
