//! Draws values of series over the number in which they differ most (threads, gap, distance), or as rows.

use super::{Common, Curves, Room};
use crate::document::SeriesDoc;
use crate::figure::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::figure::distribution::{APART, evenly};
use crate::figure::intervals::{IntervalRow, intervals};
use crate::fmt;
use crate::fmt::digits::{axis, chosen_time, count, of_any_size};
use crate::input::name_of_series;
use crate::parameters::{title_sentence, words_of};
use crate::picture::Picture;
use crate::text::plain;
use coretalk_model::probes;
use coretalk_model::quantity;
use std::collections::{BTreeMap, BTreeSet};

const MIN_POINTS: usize = 3;
const MAX_PLACEMENTS: usize = 4;
/// An axis of rows is logarithmic from this ratio of its ends.
const FAR_APART: f64 = 20.0;

/// A value of a series, or the median of its distribution.
#[derive(Debug, Clone)]
struct Reading<'a> {
    series: &'a SeriesDoc<'a>,
    what: &'a str,
    is_value: bool,
    is_headline: bool,
    point: f64,
    interval: Option<[f64; 2]>,
}

/// Key of a chart: whether its readings are not headlines, what is drawn, and the numbers that all readings share.
type ChartKey<'a> = (bool, &'a str, Vec<(&'a str, u64)>);

/// Draws each number over the parameter that varies most; headline values without such a chart become rows.
pub(super) fn draw(series: &[&SeriesDoc], drawings: &mut [(Room, Curves)]) {
    let swept = swept(series);
    let mut groups: Vec<(ChartKey<'_>, Vec<Reading<'_>>)> = Vec::new();
    for reading in series.iter().copied().flat_map(readings) {
        // As in tables, series that differ in other numbers have charts of their own.
        let others = reading.series.numbers().filter(|(name, _)| Some(*name) != swept);
        let others = others.map(|(name, value)| (name, value.to_bits())).collect();
        let key = (!reading.is_headline, reading.what, others);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, alike)) => alike.push(reading),
            None => groups.push((key, vec![reading])),
        }
    }
    for (room, curves) in drawings {
        let mut rows: Vec<(&str, Vec<&Reading<'_>>)> = Vec::new();
        for ((is_other, what, _), alike) in &groups {
            let drawn = swept.map_or(Vec::new(), |swept| charts_over(alike, swept, room.chart));
            if drawn.is_empty() && !is_other && alike.iter().all(|reading| reading.is_value) {
                match rows.iter_mut().find(|(known, _)| known == what) {
                    Some((_, known)) => known.extend(alike),
                    None => rows.push((what, alike.iter().collect())),
                }
                continue;
            }
            curves.add(!is_other, drawn);
        }
        for (what, readings) in rows {
            curves.add(true, in_rows(what, &readings, *room));
        }
    }
}

fn readings<'a>(one: &'a SeriesDoc<'a>) -> Vec<Reading<'a>> {
    let headline = one.headline.as_deref();
    let value = headline.and_then(|name| Some((name, one.value(name)?)));
    let value = value.map(|(name, point)| Reading {
        series: one,
        what: name,
        is_value: true,
        is_headline: true,
        point,
        interval: one.interval(name),
    });
    let median = one.median().map(|(point, interval)| Reading {
        series: one,
        what: one.view(),
        is_value: false,
        is_headline: one.is_headline(),
        point,
        interval,
    });
    value.into_iter().chain(median).collect()
}

/// The numeric parameter with the most distinct values (ties by name); `None` if there are too few for a curve.
fn swept<'a>(series: &[&'a SeriesDoc<'a>]) -> Option<&'a str> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in series.iter().flat_map(|one| one.numbers()) {
        let known = values.entry(name).or_default();
        if !known.contains(&value) {
            known.push(value);
        }
    }
    let most = values.values().map(Vec::len).max().filter(|most| *most >= MIN_POINTS)?;
    values.into_iter().find(|(_, values)| values.len() == most).map(|(name, _)| name)
}

/// Charts over a parameter, each with distinguishable curves. Of many placements, only the first is drawn.
fn charts_over(alike: &[Reading<'_>], swept: &str, size: [f64; 2]) -> Vec<Picture> {
    let x = |reading: &Reading<'_>| {
        reading.series.numbers().find(|(name, _)| *name == swept).map(|(_, value)| value)
    };
    let words = |reading: &Reading<'_>| words_of(reading.series, &[swept, "view", "phase"]);
    // CPUs vary with the number of threads. They name a curve only if it would otherwise have two values at one point.
    let coincide = |one: &Reading<'_>, other: &Reading<'_>| {
        one.series.placement != other.series.placement && x(one) == x(other) && words(one) == words(other)
    };
    let by_placement = alike.iter().any(|one| alike.iter().any(|other| coincide(one, other)));
    let placements: BTreeSet<&[u32]> = alike.iter().map(|one| one.series.placement.as_slice()).collect();
    let first = alike.first().map(|one| one.series.placement.as_slice()).unwrap_or_default();
    let is_drawn = |reading: &&Reading<'_>| {
        !by_placement || placements.len() <= MAX_PLACEMENTS || reading.series.placement == first
    };
    let drawn: Vec<&Reading<'_>> = alike.iter().filter(is_drawn).collect();
    let mut curves: Vec<(String, Vec<u32>, Vec<&Reading<'_>>)> = Vec::new();
    for reading in drawn {
        let placement = if by_placement { reading.series.placement.clone() } else { Vec::new() };
        let key = (words(reading), placement);
        match curves.iter_mut().find(|(name, placement, _)| (name, placement) == (&key.0, &key.1)) {
            Some((_, _, readings)) => readings.push(reading),
            None => curves.push((key.0, key.1, vec![reading])),
        }
    }
    curves.retain(|(_, _, readings)| readings.len() >= MIN_POINTS);
    let curves: Vec<Vec<&Reading<'_>>> = curves.into_iter().map(|(_, _, readings)| readings).collect();
    let charts = evenly(&curves).filter_map(|some| chart(some, swept, by_placement, x));
    charts.map(|chart| chart.draw(size[0], size[1])).collect()
}

fn chart(
    curves: &[Vec<&Reading<'_>>],
    swept: &str,
    by_placement: bool,
    x: impl Fn(&Reading<'_>) -> Option<f64>,
) -> Option<Chart> {
    let all: Vec<&SeriesDoc> = curves.iter().flatten().map(|reading| reading.series).collect();
    let reading = curves.first()?.first()?;
    let common = Common::from_series(&all, &[swept]);
    let unit = Unit::from_reading(reading);
    let drawn: Vec<Curve> = curves
        .iter()
        .map(|readings| {
            let mut points: Vec<([f64; 2], Option<[f64; 2]>)> = readings
                .iter()
                .filter_map(|reading| Some(([x(reading)?, unit.scaled(reading.point)], reading.interval)))
                .collect();
            points.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
            let ends = |([x, _], interval): &([f64; 2], Option<[f64; 2]>)| {
                interval.map(|[low, high]| [*x, unit.scaled(low), unit.scaled(high)])
            };
            Curve {
                name: if by_placement {
                    common.name(readings[0].series)
                } else {
                    plain(&common.words(readings[0].series))
                },
                intervals: points.iter().filter_map(ends).collect(),
                shows: readings.iter().map(|reading| name_of_series(reading.series)).collect(),
                points: points.into_iter().map(|(point, _)| point).collect(),
                marks: Marks::Joined,
            }
        })
        .collect();
    let points = || drawn.iter().flat_map(|curve| curve.points.iter());
    let kind = |at: usize| if points().all(|point| point[at] > 0.0) { Kind::Log } else { Kind::Linear };
    let declared = probes::parameter(swept);
    let parameter = declared.map_or_else(|| swept.replace('_', " "), |parameter| parameter.words.to_owned());
    let x_unit =
        if declared.is_some_and(|parameter| parameter.unit == quantity::Unit::Ns) { ", ns" } else { "" };
    Some(Chart {
        title: common.title(&format!("{} by {parameter}", title(reading))),
        finding: finding(&drawn, &parameter, x_unit, &unit.name),
        x: Axis::over(&format!("{parameter}{x_unit}"), kind(0), points().map(|[x, _]| *x))?,
        y: Axis::over(&unit.label(kind(1)), kind(1), points().map(|[_, y]| *y))?,
        curves: drawn,
    })
}

fn finding(curves: &[Curve], parameter: &str, x_unit: &str, unit: &str) -> Option<String> {
    let ends = curves.iter().map(|curve| Some((*curve.points.last()?, curve.name.as_str())));
    let mut ends: Vec<([f64; 2], &str)> = ends.collect::<Option<_>>()?;
    let at = ends.first()?.0[0];
    ends.sort_by(|a, b| a.0[1].total_cmp(&b.0[1]));
    let [([_, low], last), .., ([_, high], first)] = ends[..] else { return None };
    let end_together = ends.iter().all(|([x, _], _)| *x == at);
    let in_unit = |value: f64| format!("{} {unit}", of_any_size(value)).trim_end().to_owned();
    let at = if x_unit.is_empty() { axis(at) } else { chosen_time(at) };
    let found = match high > APART * low {
        true => format!("{first} highest, {}; {last} lowest, {}", in_unit(high), in_unit(low)),
        false => format!("all alike, {} to {}", of_any_size(low), in_unit(high)),
    };
    end_together.then(|| format!("At {parameter} {at}: {found}"))
}

/// One row for each series; if there are too many, the series with the greatest values.
fn in_rows(what: &str, readings: &[&Reading<'_>], room: Room) -> Option<Picture> {
    let series: Vec<&SeriesDoc> = readings.iter().map(|reading| reading.series).collect();
    let reading = readings.first()?;
    let (common, unit) = (Common::from_series(&series, &[]), Unit::from_reading(reading));
    let mut shown = readings.to_vec();
    let mut title = common.title(&title(reading));
    if shown.len() > room.most_rows {
        shown.sort_by(|a, b| b.point.total_cmp(&a.point));
        shown.truncate(room.most_rows);
        title =
            format!("{title}; the {} largest of {}", room.most_rows, count(readings.len() as u64, "trial"));
    }
    let row = |reading: &&Reading<'_>| {
        let point = unit.scaled(reading.point);
        let interval = reading.interval.map(|ends| ends.map(|end| unit.scaled(end)));
        IntervalRow {
            name: common.name(reading.series),
            point: Some(point),
            interval,
            range: None,
            words: interval.map_or(of_any_size(point), |[low, high]| {
                format!("{} [{} .. {}]", of_any_size(point), of_any_size(low), of_any_size(high))
            }),
            series: 0,
            heading: None,
        }
    };
    let rows: Vec<IntervalRow> = shown.iter().map(row).collect();
    let ends = rows.iter().flat_map(|row| row.point.into_iter().chain(row.interval.into_iter().flatten()));
    let [least, most] =
        ends.fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], value| [low.min(value), high.max(value)]);
    let kind = if least > 0.0 && most > FAR_APART * least { Kind::Log } else { Kind::Linear };
    let label = Unit::of_value(&reading.series.probe, what).label(kind);
    let shows = shown.iter().map(|reading| name_of_series(reading.series)).collect();
    Some(Picture { shows, ..intervals(&title, &label, kind, &rows, room.width)? })
}

fn title(reading: &Reading<'_>) -> String {
    let probe = &reading.series.probe;
    let titled = |what| fmt::sentence(&title_sentence(probe, what));
    let what = match (reading.what, reading.is_value) {
        ("", _) => "median".to_owned(),
        (what, true) => titled(what),
        (what, false) => titled(what) + ", median",
    };
    format!("{}: {what}", plain(probe))
}

#[derive(Debug, Clone, PartialEq)]
struct Unit {
    name: String,
    factor: f64,
}

impl Unit {
    fn from_reading(reading: &Reading<'_>) -> Unit {
        match reading.is_value {
            true => Unit::of_value(&reading.series.probe, reading.what),
            false => Unit { name: reading.series.unit.to_owned(), factor: 1.0 },
        }
    }

    fn of_value(probe: &str, name: &str) -> Unit {
        match probes::quantity(probe, name).map_or(quantity::Unit::Number, |quantity| quantity.unit) {
            quantity::Unit::Share => Unit { name: "%".to_owned(), factor: 100.0 },
            unit => Unit { name: unit.symbol().into_owned(), factor: 1.0 },
        }
    }

    fn scaled(&self, value: f64) -> f64 {
        value * self.factor
    }

    fn label(&self, kind: Kind) -> String {
        let parts = [self.name.as_str(), if kind == Kind::Log { "logarithmic" } else { "" }];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{PercentilesDoc, ValueDoc};
    use crate::picture::Shape;
    use coretalk_model::series::ParameterValue;

    fn series(
        probe: &'static str,
        headline: &'static str,
        parameters: &[(&'static str, ParameterValue)],
    ) -> SeriesDoc<'static> {
        let doc = |value: &ParameterValue| match value {
            ParameterValue::Number(number) => ValueDoc::Number(*number),
            ParameterValue::Text(text) => ValueDoc::Text(text.clone().into()),
        };
        SeriesDoc {
            probe: probe.into(),
            unit: "ns",
            headline: Some(headline.into()),
            parameters: parameters.iter().map(|(name, value)| ((*name).into(), doc(value))).collect(),
            ..SeriesDoc::default()
        }
    }

    fn wake(view: &str, gap: f64, placement: [u32; 2], ns: f64) -> SeriesDoc<'static> {
        SeriesDoc {
            percentiles: PercentilesDoc { p50: Some(ns), ..PercentilesDoc::default() },
            intervals: [("median_ns".into(), Some([0.9 * ns, 1.1 * ns]))].into(),
            placement: placement.to_vec(),
            ..series("wake", "slept", &[("gap_ns", gap.into()), ("view", view.into())])
        }
    }

    fn contend(method: &str, threads: u32, critical_ns: f64, ns: f64) -> SeriesDoc<'static> {
        let threads_value = ("threads", f64::from(threads).into());
        let parameters = [threads_value, ("critical_ns", critical_ns.into()), ("method", method.into())];
        SeriesDoc {
            values: [("ns_per_op_thread".into(), Some(ns)), ("ns_per_op_wall".into(), Some(1.0))].into(),
            placement: (0..threads).collect(),
            ..series("contend", "ns_per_op_thread", &parameters)
        }
    }

    fn drawn(series: &[SeriesDoc]) -> Curves {
        let mut drawings = [(Room::PAGE, Curves::default())];
        draw(&series.iter().collect::<Vec<_>>(), &mut drawings);
        let [(_, curves)] = drawings;
        curves
    }

    fn titles(pictures: &[Picture]) -> Vec<&str> {
        pictures.iter().filter_map(|picture| picture.title.split(". ").next()).collect()
    }

    /// The y coordinates of each curve; high values have small coordinates.
    fn heights(picture: &Picture) -> Vec<Vec<f64>> {
        let curves = picture.shapes.iter().filter_map(|shape| match shape {
            Shape::Line(points, crate::picture::Ink::Series(_), width) if *width == 2.0 => Some(points),
            _ => None,
        });
        curves.map(|points| points.iter().map(|[_, y]| *y).collect()).collect()
    }

    #[test]
    fn headline_medians_come_before_other_distributions() {
        let at_gap = |gap: f64, ns: f64| {
            [("first", 9.0 * ns), ("slept", ns)].map(|(view, ns)| wake(view, gap, [0, 1], ns))
        };
        let all = [at_gap(2e4, 2e3), at_gap(1e6, 2e4), at_gap(2e7, 3e4)].concat();
        let curves = drawn(&all);
        assert_eq!(titles(&curves.headline), ["wake: slept, median by gap; CPUs 0 → 1"]);
        assert_eq!(titles(&curves.others), ["wake: first, median by gap; CPUs 0 → 1"]);
        let [slept] = &heights(&curves.headline[0])[..] else { panic!("one curve") };
        assert!(slept[0] > slept[1] && slept[1] > slept[2], "longer gaps are higher: {slept:?}");
        assert_eq!(drawn(&all[..4]), Curves::default(), "two points are no curve");
    }

    #[test]
    fn values_are_drawn_over_the_most_varied_parameter_per_section_length() {
        let with_section = |critical_ns: f64| {
            [1, 2, 4].map(|threads| {
                let ns = 10.0 * f64::from(threads);
                [contend("mcs", threads, critical_ns, ns), contend("ttas", threads, critical_ns, 2.0 * ns)]
            })
        };
        let all = [with_section(50.0), with_section(0.0)].concat().concat();
        let curves = drawn(&all);
        let expected =
            ["contend: thread ns by threads; critical 50 ns", "contend: thread ns by threads; critical 0 ns"];
        assert_eq!(titles(&curves.headline), expected);
        assert!(curves.headline.iter().all(|chart| heights(chart).len() == 2));
        assert!(curves.others.is_empty());
    }

    #[test]
    fn placements_name_curves_where_one_point_would_have_two_values() {
        let gaps = [1e4, 1e5, 1e6];
        let pairs = [[0, 1], [0, 8]];
        let curves = drawn(&pairs.map(|pair| gaps.map(|gap| wake("slept", gap, pair, gap))).concat());
        assert_eq!(titles(&curves.headline), ["wake: slept, median by gap"]);
        assert_eq!(heights(&curves.headline[0]).len(), 2);
    }

    #[test]
    fn values_without_a_varying_parameter_become_rows() {
        let jitter = |cpu: u32, lost: f64| SeriesDoc {
            values: [("lost_share".into(), Some(lost))].into(),
            placement: vec![cpu],
            ..series("jitter", "lost_share", &[])
        };
        let curves = drawn(&[jitter(0, 1e-5), jitter(1, 0.02)]);
        assert_eq!(titles(&curves.headline), ["jitter: lost"]);
        let texts = curves.headline[0].shapes.iter().filter_map(|shape| match shape {
            Shape::Text(_, _, _, text) => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        for part in ["CPU 0", "CPU 1", "2.00", "0.001000", "%, logarithmic"] {
            assert!(texts.contains(&part), "{part}: {texts:?}");
        }
    }
}
