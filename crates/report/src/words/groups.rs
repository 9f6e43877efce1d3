//! Describes reported groups of CPUs, and groups that the latencies show.

use crate::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, MatrixNumber, Number, Operation, Sentence, Source, Statistic,
};
use crate::fmt;
use crate::lists::named;
use crate::scope::level_words;
use coretalk_model::latency::summary::{Contrast, Overall, VISIBLE_CONTRAST};
use coretalk_model::stats::Estimate;
use coretalk_model::stats::gaps::ValueGroup;
use coretalk_model::{KernelId, Level, Topology};

/// Whether the latency of cells changed its level while they were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// No cell is known to have changed.
    Still,
    /// Some cells changed. The latencies may show other groups in the next state.
    Changed,
}

/// The groups that the system reports, without values.
pub fn groups_alone(contrasts: &[Contrast]) -> Vec<Sentence> {
    contrasts.iter().map(contrast_groups).collect()
}

/// The reported groups, with the values inside and to the nearest other group. Without reported groups: the groups that
/// the values show. If cells changed their level: the reported groups without a verdict, because the description of the
/// states covers contradictions.
pub fn groups(
    kernel: &KernelId,
    all: &Overall,
    contrasts: &[Contrast],
    topology: &Topology,
    holding: Holding,
    apart: Option<Level>,
    by_distance: Option<Estimate>,
) -> Vec<Sentence> {
    if all.measured < 2 || !contrasts.is_empty() || holding == Holding::Changed {
        return contrasts.iter().map(|contrast| contrast_words(kernel, contrast, holding)).collect();
    }
    let crosses = !topology.crossing().is_empty();
    let of_level = |level, template| Sentence::new(template).with("level", level_words(level, 1));
    let reported = match apart {
        Some(level) => of_level(level, "the system reports that each CPU has its own {level}"),
        None if crosses => Sentence::new("the groups that the system reports cross each other"),
        None => Sentence::new("the system reports one group"),
    };
    // A gap between threads of a core, which the system reports, and all other pairs shows no new group.
    let found = &all.by_value.shown;
    let is_smt_gap = topology.has_smt(topology.cpus()) && found.len() == 2;
    let end = |ns| DisplayValue::bare(Number::Point(ns), Source::of_matrix(kernel, MatrixNumber::Some));
    let sentence = match found.as_slice() {
        [one] if all.by_value.is_open => Sentence::new(
            "cannot tell whether there are levels: values range from {least} to {most} ns, and their intervals do not \
             separate them",
        )
        .with("least", end(one.min))
        .with("most", end(one.max)),
        [one] => {
            Sentence::new("no groups: values range from {least} to {most} ns without a gap, and {reported}{by}")
                .with("least", end(one.min))
                .with("most", end(one.max))
                .with("reported", reported)
                .with("by", by_distance.map_or(Sentence::new(""), |by| distance_words(kernel, by)))
        }
        _ if is_smt_gap => Sentence::new("one group of cores; the values have no other gap"),
        several => Sentence::new("{number} latency levels ({reported}): {levels}")
            .with("number", DisplayValue::listed(several.len()))
            .with("reported", match apart {
                Some(level) => of_level(level, "each CPU has its own {level}"),
                None if crosses => reported,
                None => Sentence::new("the system reports no groups"),
            })
            .with(
                "levels",
                Sentence::joined(several.iter().take(5).map(|group| value_words(kernel, group)), ", "),
            ),
    };
    vec![sentence]
}

/// Whether CPUs with near ids have low latencies, as on a mesh with CPUs numbered along its rows.
fn distance_words(kernel: &KernelId, correlation: Estimate) -> Sentence {
    let verdict = match correlation {
        Estimate { low, .. } if low > 0.0 => "CPUs with near ids tend to be faster",
        Estimate { high, .. } if high < 0.0 => "CPUs with distant ids tend to be faster",
        _ => "too weak to call",
    };
    let number = |number, source| DisplayValue {
        number: Number::Point(number),
        unit: DisplayUnit::Decimals(2),
        source,
    };
    Sentence::new(
        " · correlation with the distance between CPU ids {point} ({low} to {high} at 95 %): {verdict}",
    )
    .with("point", number(correlation.point, Source::of_matrix(kernel, MatrixNumber::IdCorrelation)))
    .with("low", number(correlation.low, Source::Unrecorded))
    .with("high", number(correlation.high, Source::Unrecorded))
    .with("verdict", verdict)
}

fn value_words(kernel: &KernelId, group: &ValueGroup) -> Sentence {
    let some = Source::of_matrix(kernel, MatrixNumber::Some);
    let range = match group.count {
        1 => Sentence::new("{low}").with("low", DisplayValue::bare(Number::Short(group.min), some)),
        _ => fmt::span([group.min, group.max], [some.clone(), some]),
    };
    let between = Source::of_matrix(kernel, MatrixNumber::Between([group.min, group.max]));
    Sentence::new("{range} ns ({pairs})")
        .with("range", range)
        .with("pairs", Sentence::counted(group.count as u64, between, ["pair", "pairs"]))
}

fn contrast_groups(contrast: &Contrast) -> Sentence {
    let number = contrast.groups.len();
    Sentence::new("{number} {level}: {groups}")
        .with("number", DisplayValue::bare(Number::Count(number as u64), Source::Groups(contrast.level, 1)))
        .with("level", level_words(contrast.level, number))
        .with("groups", named(contrast.groups.clone()))
}

fn contrast_words(kernel: &KernelId, contrast: &Contrast, holding: Holding) -> Sentence {
    let ratio = contrast.across_ns / contrast.inside_ns;
    let has_values = holding == Holding::Changed || ratio.is_finite();
    let template = match contrast.protocol.is_latency() {
        _ if !has_values => return contrast_groups(contrast),
        _ if holding == Holding::Changed => {
            "{groups} · in their most frequent state {inside} ns inside, {across} ns to the nearest other"
        }
        false => "{groups} · {varies}: {inside} ns behind the fastest, {across} ns from the nearest other",
        true if ratio >= VISIBLE_CONTRAST => {
            "{groups} · {inside} ns inside, {across} ns to the nearest other: {ratio} × faster inside"
        }
        true if ratio <= 1.0 / VISIBLE_CONTRAST => {
            "{groups} · {inside} ns inside, {across} ns to the nearest other: slower inside"
        }
        true => "{groups} · no visible difference: {inside} ns inside, {across} ns to the nearest other",
    };
    let varies = match ratio {
        ratio if ratio >= VISIBLE_CONTRAST => "time stamps from the same group vary less",
        ratio if ratio <= 1.0 / VISIBLE_CONTRAST => "time stamps from the same group vary more",
        _ => "the variation does not show these groups",
    };
    let [inside, across] = contrast.relations.map(|relation| Source::Pairs {
        map: MapSource::Kernel(kernel.to_string()),
        relation,
        classes: None,
        statistic: Statistic::Percentile(0.5),
    });
    let ratio_source = Operation::Ratio.on([across.clone(), inside.clone()]);
    let sentence = Sentence::new(template)
        .with("groups", contrast_groups(contrast))
        .with("varies", varies)
        .with("inside", DisplayValue::bare(Number::Point(contrast.inside_ns), inside))
        .with("across", DisplayValue::bare(Number::Point(contrast.across_ns), across));
    if ratio.is_finite() {
        sentence.with("ratio", DisplayValue::bare(Number::Short(ratio), ratio_source))
    } else {
        sentence
    }
}
