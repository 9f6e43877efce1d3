//! Drawings of the series of a run: headline values over the numeric parameter that varies most, or as rows, and
//! distributions on a nines axis and as cumulative shares. A chart never mixes units, or single events with means of
//! batches.

mod over;

use super::chart::{Curve, Kind};
use super::distribution::{self, CHART, MAX_CURVES, Steps};
use crate::document::SeriesDoc;
use crate::fmt;
use crate::input::{TimeAxis, name_of_series};
use crate::parameters::{mask_of, parameter_text, places_of, title_sentence, words_of};
use crate::picture::Picture;
use crate::text::plain;
use coretalk_model::Histogram;
use coretalk_model::histogram::highest_equivalent;
use coretalk_model::probes;
use coretalk_model::series::MASK;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of events of a drawn distribution; the table also lists the others.
pub const MIN_EVENTS: u64 = 20;
/// Parameters that select a distribution of a trial; chart titles state them.
pub const VIEWS: [&str; 2] = ["view", "phase"];

struct Distribution<'a> {
    series: &'a SeriesDoc<'a>,
    histogram: &'a Histogram,
}

impl<'a> Distribution<'a> {
    fn from_series(series: &'a SeriesDoc<'a>) -> Option<Distribution<'a>> {
        Some(Distribution { series, histogram: series.histogram.as_deref()? })
    }

    /// Share and value at every step of the histogram; the last share is half an event below 1.
    fn points(&self) -> Vec<[f64; 2]> {
        let unit_ns = self.series.histogram_unit_ps as f64 / 1e3;
        let total = self.histogram.count();
        let mut reached = 0.0;
        let steps = self.histogram.iter().map(|(units, count)| {
            reached += count as f64 / total.max(1) as f64;
            (highest_equivalent(units) as f64 * unit_ns, reached)
        });
        distribution::points(steps, total)
    }
}

/// The size of drawings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Width of a drawing with rows.
    pub width: f64,
    /// Maximum number of rows of a drawing. Rows with the greatest values take precedence.
    pub most_rows: usize,
    /// Width and height of a chart.
    pub chart: [f64; 2],
    /// Whether one chart shows every kind of trial: on a single placement if several would be too many curves.
    pub is_one_chart: bool,
    /// Whether series were chosen by name. All chosen series are drawn if they fit into one chart.
    pub is_chosen: bool,
}

impl Room {
    /// The size on a page.
    pub const PAGE: Room =
        Room { width: 940.0, most_rows: 32, chart: CHART, is_one_chart: false, is_chosen: false };

    /// The size on a page of another width.
    pub fn of_width(width: f64) -> Room {
        Room { width, chart: [width.min(CHART[0]), CHART[1]], ..Room::PAGE }
    }
}

/// The drawings of the series of a run.
#[derive(Debug, Default, PartialEq)]
pub struct Curves {
    /// Drawings of headline values.
    pub headline: Vec<Picture>,
    /// All other drawings.
    pub others: Vec<Picture>,
    /// Cumulative shares over time, headlines first: on a logarithmic axis, then on a linear axis.
    pub cdfs: [Vec<Picture>; 2],
}

impl Curves {
    /// The cumulative distributions on one of the two time axes.
    pub fn cdfs(self, axis: TimeAxis) -> Vec<Picture> {
        let [log, linear] = self.cdfs;
        if axis == TimeAxis::Log { log } else { linear }
    }

    fn add(&mut self, is_headline: bool, pictures: impl IntoIterator<Item = Picture>) {
        if is_headline { &mut self.headline } else { &mut self.others }.extend(pictures);
    }
}

/// Draws series, probe by probe. [`chosen`] selects the distributions among them.
pub fn curves<'a>(series: impl IntoIterator<Item = &'a SeriesDoc<'a>>, room: Room) -> Curves {
    let [curves] = in_rooms(series, [room]);
    curves
}

/// Like [`curves`], for several rooms that differ only in size. The drawn series are selected once.
pub fn in_rooms<'a, const N: usize>(
    series: impl IntoIterator<Item = &'a SeriesDoc<'a>>,
    rooms: [Room; N],
) -> [Curves; N] {
    let mut probes: Vec<(&str, Vec<&SeriesDoc>)> = Vec::new();
    for one in series {
        match probes.iter_mut().find(|(known, _)| *known == one.probe) {
            Some((_, of_probe)) => of_probe.push(one),
            None => probes.push((&one.probe, vec![one])),
        }
    }
    let mut drawings = rooms.map(|room| (room, Curves::default()));
    for (_, of_probe) in probes {
        over::draw(&of_probe, &mut drawings);
        distributions(&of_probe, &mut drawings);
    }
    drawings.map(|(_, curves)| curves)
}

/// Whether the chart is not a headline chart, the kind of events, and the view. Headlines of all views share a chart,
/// so that sleeping and spinning primitives can be compared.
type ChartKey<'a> = (bool, &'a str, &'a str);

fn chart_of<'a>(one: &'a SeriesDoc<'_>) -> ChartKey<'a> {
    let is_first = is_in_first_chart(one);
    (!is_first, one.kind, if is_first { "" } else { one.view() })
}

/// Whether a series is a headline or a distribution drawn in the headline chart.
pub(super) fn is_in_first_chart(one: &SeriesDoc) -> bool {
    let declared = || probes::quantity(&one.probe, one.view());
    one.is_headline() || declared().is_some_and(|quantity| quantity.with_headline)
}

fn distributions(series: &[&SeriesDoc], drawings: &mut [(Room, Curves)]) {
    let Some(&(room, _)) = drawings.first() else { return };
    let mut by_chart: Vec<(ChartKey<'_>, Vec<Distribution<'_>>)> = Vec::new();
    let is_first = |one: &SeriesDoc| one.histogram.is_some() && is_in_first_chart(one);
    // If a chosen series is a headline, only headlines are drawn.
    let only_first = room.is_chosen && series.iter().any(|one| is_first(one));
    let enough =
        |one: &Distribution<'_>| one.histogram.count() >= MIN_EVENTS && (!only_first || is_first(one.series));
    for one in chosen_of(series, room).into_iter().filter_map(Distribution::from_series).filter(enough) {
        let key = chart_of(one.series);
        match by_chart.iter_mut().find(|(known, _)| *known == key) {
            Some((_, distributions)) => distributions.push(one),
            None => by_chart.push((key, vec![one])),
        }
    }
    by_chart.sort_by_key(|((is_other, ..), _)| *is_other);
    for ((is_other, kind, _), distributions) in by_chart {
        let series: Vec<&SeriesDoc> = distributions.iter().map(|one| one.series).collect();
        let mut common = Common::from_series(&series, &[]);
        let view = series[0].view();
        let is_one_view = series.iter().all(|one| one.view() == view);
        common.left_out.retain(|name| is_one_view || *name != "view");
        let what = if kind == "event" { "single events" } else { "means of batches" };
        let named = |one: &Distribution<'_>| Curve {
            shows: vec![name_of_series(one.series)],
            ..distribution::curve(common.name(one.series), one.points())
        };
        let steps =
            Steps { curves: distributions.iter().map(named).collect(), what, unit: "ns", values: Kind::Log };
        let probe = plain(&series[0].probe);
        let subject = if view.is_empty() || !is_one_view {
            probe
        } else {
            format!("{probe}, {}", fmt::sentence(&title_sentence(&series[0].probe, view)))
        };
        let percentiles = common.title(&format!("{subject}: percentiles of {what}"));
        let shares = common.title(&format!("{subject}: cumulative share of {what}"));
        for (Room { chart, .. }, curves) in &mut *drawings {
            curves.add(!is_other, steps.percentiles(&percentiles, *chart));
            curves.cdfs[0].extend(steps.shares(&shares, *chart));
            curves.cdfs[1].extend(steps.linear_shares(&shares, *chart));
        }
    }
}

/// Common properties of series, stated in the title of the chart. Names of curves state other properties.
struct Common<'a> {
    left_out: Vec<&'a str>,
    parameters: Vec<&'a str>,
    cpus: bool,
    is_of_several: bool,
    first: &'a SeriesDoc<'a>,
}

impl<'a> Common<'a> {
    /// Requires at least one series; `axis` lists the parameters on the axes of the chart.
    fn from_series(series: &[&'a SeriesDoc<'a>], axis: &[&'a str]) -> Common<'a> {
        let first = series[0];
        let left_out: Vec<&str> = VIEWS.iter().chain(&[MASK]).chain(axis).copied().collect();
        let same =
            |name: &str| series.iter().all(|one| one.parameters.get(name) == first.parameters.get(name));
        let names = series.iter().flat_map(|one| one.parameters.keys()).map(AsRef::as_ref);
        let mut parameters: Vec<&str> = names.filter(|name| !left_out.contains(name) && same(name)).collect();
        parameters.sort_unstable();
        parameters.dedup();
        let cpus = series.iter().all(|one| one.placement == first.placement && same(MASK));
        Common { left_out, parameters, cpus, is_of_several: series.len() > 1, first }
    }

    fn name(&self, one: &SeriesDoc) -> String {
        let cpus = if self.cpus { String::new() } else { cpus_of(one) };
        let name = joined([cpus, self.words(one)], " · ");
        // In a chart with runtime clocks, the clock of coretalk has only shared parameters, which become its name.
        match name.is_empty() && self.is_of_several {
            true => listed(one, |name| self.parameters.contains(&name)),
            false => name,
        }
    }

    fn words(&self, one: &SeriesDoc) -> String {
        listed(one, |name| !self.left_out.contains(&name) && !self.parameters.contains(&name))
    }

    fn title(&self, what: &str) -> String {
        let shared: Vec<&str> = self.parameters.clone();
        let others = self.first.parameters.keys().map(AsRef::as_ref).filter(|name| !shared.contains(name));
        let words = words_of(self.first, &others.collect::<Vec<_>>());
        let cpus = if self.cpus { cpus_of(self.first) } else { String::new() };
        joined([what.to_owned(), joined([words, cpus], ", ")], "; ")
    }
}

fn listed(one: &SeriesDoc, is_listed: impl Fn(&str) -> bool) -> String {
    let listed = one.parameters.iter().filter(|(name, _)| is_listed(name));
    listed.map(|(name, value)| parameter_text(name, &value.into())).collect::<Vec<_>>().join(", ")
}

fn cpus_of(one: &SeriesDoc) -> String {
    match one.placement.as_slice() {
        _ if mask_of(one).is_some() => places_of(one),
        [] => String::new(),
        [cpu] => format!("CPU {cpu}"),
        [from, to, others @ ..] if others.len() > 2 => {
            format!("CPUs {from} → {to} and {} more", others.len())
        }
        _ => format!("CPUs {}", places_of(one)),
    }
}

fn joined<const N: usize>(parts: [String; N], by: &str) -> String {
    plain(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(by))
}

fn are_of_one_trial(one: &SeriesDoc, other: &SeriesDoc) -> bool {
    let has_parameters_of = |one: &SeriesDoc, other: &SeriesDoc| {
        let mut named = other.parameters.iter().filter(|(name, _)| !VIEWS.contains(&name.as_ref()));
        named.all(|(name, value)| one.parameters.get(name.as_ref()) == Some(value))
    };
    one.placement == other.placement && has_parameters_of(one, other) && has_parameters_of(other, one)
}

/// The series whose curves are drawn. If they differ only in their CPUs: the fastest, the median and the slowest at
/// p99, or only the median if there are many other curves. If they differ in a number, such as a gap: the first.
pub fn chosen<'a>(series: &'a [SeriesDoc<'a>]) -> Vec<&'a SeriesDoc<'a>> {
    let mut probes: Vec<&str> = series.iter().map(|one| one.probe.as_ref()).collect();
    probes.sort_unstable();
    probes.dedup();
    let of_probe = |probe: &str| series.iter().filter(|one| one.probe == probe).collect::<Vec<_>>();
    probes.into_iter().flat_map(|probe| chosen_of(&of_probe(probe), Room::PAGE)).collect()
}

/// The placement on which every kind of series was measured and the p99 of the first kind is the median.
fn placed_everywhere<'a>(kinds: &[Vec<&'a SeriesDoc<'a>>]) -> Option<&'a [u32]> {
    let (first, rest) = kinds.split_first()?;
    let placements =
        |kind: &Vec<&'a SeriesDoc<'a>>| kind.iter().map(|one| one.placement.as_slice()).collect();
    let rest: Vec<BTreeSet<&[u32]>> = rest.iter().map(placements).collect();
    let mut common = first.clone();
    common.retain(|one| rest.iter().all(|kind| kind.contains(one.placement.as_slice())));
    common.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
    common.dedup_by_key(|one| &one.placement);
    common.get(common.len() / 2).map(|one| one.placement.as_slice())
}

fn p99(one: &SeriesDoc) -> f64 {
    one.percentiles.p99.unwrap_or(f64::INFINITY)
}

fn chosen_of<'a>(series: &[&'a SeriesDoc<'a>], room: Room) -> Vec<&'a SeriesDoc<'a>> {
    let drawable = || series.iter().copied().filter(|one| one.histogram.is_some());
    let curves_in_chart =
        |one: &SeriesDoc| drawable().filter(|other| chart_of(other) == chart_of(one)).count();
    if room.is_chosen && drawable().all(|one| curves_in_chart(one) <= MAX_CURVES) {
        return drawable().collect();
    }
    let mut by_kind: BTreeMap<_, Vec<&SeriesDoc>> = BTreeMap::new();
    let (followers, leaders): (Vec<&SeriesDoc>, Vec<&SeriesDoc>) =
        drawable().partition(|one| !one.is_headline() && is_in_first_chart(one));
    for one in leaders {
        let texts: Vec<_> = one.texts().collect();
        by_kind.entry((&one.probe, one.kind, texts)).or_default().push(one);
    }
    let curves = by_kind.values().map(|kind| kind.len().min(3)).sum::<usize>() + followers.len().min(3);
    let is_crowded = by_kind.len() > MAX_CURVES || (room.is_one_chart && curves > MAX_CURVES);
    let kinds: Vec<Vec<&SeriesDoc>> = by_kind.into_values().collect();
    let bound: Vec<Vec<&SeriesDoc>> =
        kinds.iter().filter(|kind| mask_of(kind[0]).is_none()).cloned().collect();
    let everywhere = if is_crowded { placed_everywhere(&bound) } else { None };
    let mut chosen: Vec<&SeriesDoc> = kinds
        .into_iter()
        .flat_map(|mut kind| {
            let first = kind[0].numbers().map(|(_, value)| value).collect::<Vec<_>>();
            kind.retain(|one| one.numbers().map(|(_, value)| value).eq(first.iter().copied()));
            kind.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
            let on_shared_cpus =
                everywhere.and_then(|placement| kind.iter().copied().find(|one| one.placement == placement));
            match kind.len() {
                many if is_crowded => vec![on_shared_cpus.unwrap_or(kind[many / 2])],
                0..=3 => kind,
                many => vec![kind[0], kind[many / 2], kind[many - 1]],
            }
        })
        .collect();
    let follows_chosen =
        |one: &&SeriesDoc| chosen.iter().any(|other| other.is_headline() && are_of_one_trial(other, one));
    let followers: Vec<&SeriesDoc> = followers.into_iter().filter(follows_chosen).collect();
    chosen.extend(followers);
    // Unbound threads are a further placement of the same kind. If not all curves fit, only bound threads are drawn.
    let exceeds_chart = chosen.iter().filter(|one| is_in_first_chart(one)).count() > MAX_CURVES;
    if room.is_one_chart && exceeds_chart && chosen.iter().any(|one| mask_of(one).is_none()) {
        chosen.retain(|one| mask_of(one).is_none());
    }
    chosen.sort_by_key(|one| series.iter().position(|known| std::ptr::eq(*known, *one)));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{PercentilesDoc, ValueDoc};
    use crate::picture::Shape;
    use std::borrow::Cow;

    fn titles(pictures: &[Picture]) -> Vec<String> {
        let title = |picture: &Picture| picture.title.split(". ").next().unwrap_or_default().to_owned();
        pictures.iter().map(title).collect()
    }

    fn texts(picture: &Picture) -> impl Iterator<Item = &str> {
        picture.shapes.iter().filter_map(|shape| match shape {
            Shape::Text(_, _, _, text) => Some(text.as_str()),
            _ => None,
        })
    }

    fn at_p99(ns: f64) -> PercentilesDoc {
        PercentilesDoc { p99: Some(ns), ..PercentilesDoc::default() }
    }

    fn series(values: &[u64], kind: &'static str) -> SeriesDoc<'static> {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value, 1));
        SeriesDoc {
            kind,
            histogram: Some(Cow::Owned(histogram)),
            histogram_unit_ps: 10,
            placement: vec![0, 1],
            ..SeriesDoc::default()
        }
    }

    #[test]
    fn points_rise_in_share_and_value_and_end_before_the_last_event() {
        let series = series(&[100, 200, 200, 4000], "event");
        let points = Distribution::from_series(&series).unwrap().points();
        let rises = |pair: &[[f64; 2]]| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1];
        assert!(points.windows(2).all(rises), "{points:?}");
        assert_eq!(points[0], [0.0, 1.0]);
        assert_eq!(points.last().unwrap()[0], 0.875);
    }

    #[test]
    fn events_and_means_of_batches_never_share_a_chart() {
        let some: Vec<u64> = (100..100 + MIN_EVENTS).collect();
        let samples = [series(&some, "event"), series(&some, "batch-mean"), series(&some[1..], "event")];
        let drawn = curves(&samples[..2], Room::PAGE);
        assert_eq!(curves(&samples[2..], Room::PAGE), Curves::default(), "too few for a curve");
        let titles = titles(&drawn.others);
        assert_eq!((titles.len(), drawn.cdfs.each_ref().map(Vec::len)), (2, [2, 2]));
        assert!(titles[0].contains("single events") && titles[1].contains("means of batches"), "{titles:?}");
    }

    #[test]
    fn many_kinds_are_drawn_for_one_placement() {
        let some: Vec<u64> = (100..100 + MIN_EVENTS).collect();
        let series_of = |kind: u32, cpu: u32| SeriesDoc {
            parameters: [("primitive".into(), ValueDoc::Text(format!("p{kind}").into()))].into(),
            placement: vec![0, cpu],
            // The middle pair differs from kind to kind.
            percentiles: at_p99(f64::from((cpu + kind) % 3)),
            ..series(&some, "event")
        };
        let kinds = 0..=MAX_CURVES as u32;
        let all: Vec<SeriesDoc> = kinds.flat_map(|kind| [1, 2, 3].map(|cpu| series_of(kind, cpu))).collect();
        let placements: Vec<&Vec<u32>> = chosen(&all).into_iter().map(|one| &one.placement).collect();
        assert_eq!(placements.len(), MAX_CURVES + 1);
        assert!(placements.iter().all(|one| *one == placements[0]), "{placements:?}");
    }

    #[test]
    fn many_pairs_are_drawn_as_fastest_median_and_slowest() {
        let series_of = |index: u32| SeriesDoc {
            percentiles: at_p99(f64::from((index * 4) % 9)),
            ..series(&[100 * u64::from(index)], "event")
        };
        let many: Vec<SeriesDoc> = (1..=9).map(series_of).collect();
        let mut p99: Vec<f64> = chosen(&many).iter().map(|one| one.percentiles.p99.unwrap()).collect();
        p99.sort_by(f64::total_cmp);
        assert_eq!(p99, [0.0, 4.0, 8.0]);
    }

    #[test]
    fn headlines_are_drawn_first_and_shared_parameters_are_stated_once() {
        let some: Vec<u64> = (100..100 + MIN_EVENTS).collect();
        let series_of = |view: &'static str, primitive: &'static str| SeriesDoc {
            probe: "wake".into(),
            headline: Some("slept".into()),
            parameters: [
                ("gap_ns".into(), ValueDoc::Number(20_000.0)),
                ("primitive".into(), ValueDoc::Text(primitive.into())),
                ("view".into(), ValueDoc::Text(view.into())),
            ]
            .into(),
            ..series(&some, "event")
        };
        let views = ["first", "slept", "waker"];
        let views = views.map(|view| [series_of(view, "pipe"), series_of(view, "park")]).concat();
        let drawn = curves(&views, Room::PAGE);
        let title = |view| format!("wake, {view}: percentiles of single events; gap 20 µs, CPUs 0 → 1");
        assert_eq!(titles(&drawn.headline), [title("slept")]);
        assert_eq!(titles(&drawn.others), ["first", "waker"].map(title));
        let texts: Vec<&str> = texts(&drawn.headline[0]).collect();
        assert!(texts.contains(&"pipe") && texts.contains(&"park"), "{texts:?}");
    }

    #[test]
    fn a_series_without_a_histogram_draws_nothing() {
        assert_eq!(curves(&[SeriesDoc::default()], Room::PAGE), Curves::default());
    }
}
