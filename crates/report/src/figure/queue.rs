//! The throughput of queues: over capacities, and of several queues at one capacity.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use super::intervals::{IntervalRow, intervals};
use crate::best;
use crate::fmt::digits::million;
use crate::fmt::{self, half_width};
use crate::input::{Map, ReportInput};
use crate::parameters::parameter_text;
use crate::picture::{Picture, SeriesName};
use crate::queue::not_drawn;
use crate::scope::distance_words;
use crate::text::plain;
use coretalk_model::queue::{QueueMatrix, ShapeRates, matrices, names, rates};
use coretalk_model::series::{Parameters, Ranking};
use coretalk_model::stats::Estimate;

/// Whether all maps are of one queue at several capacities, so that they fit into one chart.
pub fn is_one(input: &ReportInput<'_>) -> bool {
    let maps = &input.maps;
    maps.len() > 1 && maps.iter().all(|map| map.probe == names::PROBE && map.kernel == maps[0].kernel)
}

/// A chart for each queue and payload that was measured at several capacities: one curve for each relation.
pub fn over_capacities(input: &ReportInput<'_>, size: [f64; 2]) -> Vec<Picture> {
    let Some((report, series)) = input.run().and_then(|report| Some((report, report.series.as_ref()?)))
    else {
        return Vec::new();
    };
    let drawn: Vec<QueueMatrix<'_>> = matrices(&series.result)
        .into_iter()
        .filter(|matrix| {
            matrix.cells.first().is_some_and(|cell| map_of(input, &cell.trial.spec.parameters).is_some())
        })
        .collect();
    let shapes = rates(&drawn, &report.topology);
    shapes.iter().filter_map(|shape| over_capacity(input, shape, size)).collect()
}

fn over_capacity(
    input: &ReportInput<'_>,
    shape: &ShapeRates<'_>,
    [width, height]: [f64; 2],
) -> Option<Picture> {
    let rate_curves = shape.curves();
    if rate_curves.iter().all(|(_, points)| points.len() < 2) {
        return None;
    }
    let curves: Vec<Curve> = rate_curves
        .into_iter()
        .map(|(relation, points)| {
            let ends =
                |(capacity, rate): &(u64, Estimate)| [*capacity as f64, rate.low / 1e6, rate.high / 1e6];
            Curve {
                name: distance_words(relation, input.topology()),
                points: points.iter().map(|(capacity, rate)| [*capacity as f64, rate.point / 1e6]).collect(),
                marks: Marks::Joined,
                intervals: points.iter().map(ends).collect(),
                shows: Vec::new(),
            }
        })
        .collect();
    let all_points = || curves.iter().flat_map(|curve| &curve.points);
    let left_out = not_drawn(shape, input.topology());
    let left_out = left_out.map_or_else(String::new, |words| format!("; {}", fmt::sentence(&words)));
    let only = if let [curve] = &curves[..] { format!(", {}", curve.name) } else { String::new() };
    let chart = Chart {
        title: format!("{}, {} at each capacity{only}{left_out}", plain(shape.queue), plain(shape.payload)),
        finding: None,
        x: Axis::over("capacity in messages", Kind::Log, all_points().map(|[x, _]| *x))?,
        y: Axis::over("million messages per second", Kind::Log, all_points().map(|[_, y]| *y))?,
        curves: curves.clone(),
    };
    let is_of_shape =
        |map: &&Map| map.kernel == shape.queue && map.parameters.text("payload") == Some(shape.payload);
    let shows = input.maps.iter().filter(is_of_shape).map(Map::name).collect();
    Some(Picture { shows, ..chart.draw(width, height) })
}

/// All queues under the first condition of their ranking, for the CPUs of each relation. Rates differ by a factor of a
/// thousand. The axis is therefore logarithmic, and values are points with intervals: bars would have no base.
pub fn beside_each_other(input: &ReportInput<'_>, [width, height]: [f64; 2]) -> Option<Picture> {
    let (report, series) = input.run().and_then(|report| Some((report, report.series.as_ref()?)))?;
    let mut rankings = best::under_every_condition(report, series, names::PROBE);
    rankings.iter_mut().for_each(|ranking| {
        ranking.subjects.retain(|subject| map_of(input, &subject.trial.spec.parameters).is_some());
        ranking.unranked.retain(|(name, _)| input.maps.iter().any(|map| map.kernel == *name));
    });
    rankings.retain(|ranking| !ranking.subjects.is_empty());
    let first = rankings.first()?;
    let condition = |ranking: &Ranking<'_>| {
        let others = ranking.trial.spec.parameters.iter().filter(|(name, _)| *name != "queue");
        others.map(|(name, value)| plain(&parameter_text(name, value))).collect::<Vec<_>>().join(", ")
    };
    let shared = condition(first);
    let (mut rows, mut shows): (Vec<IntervalRow>, Vec<SeriesName>) = Default::default();
    for ranking in rankings.iter().filter(|ranking| condition(ranking) == shared) {
        let &[from, to] = &ranking.trial.spec.placement[..] else { continue };
        let between = distance_words(report.topology.relation(from, to), &report.topology);
        let heading = [between, best::not_ranked(ranking).as_ref().map(fmt::sentence).unwrap_or_default()]
            .into_iter()
            .filter(|words| !words.is_empty());
        let mut heading = Some(heading.collect::<Vec<_>>().join("; "));
        for subject in &ranking.subjects {
            shows.extend(map_of(input, &subject.trial.spec.parameters).map(Map::name));
            let (rate, name) = (&subject.value, plain(&subject.name));
            let mark = if subject.may_be_wrong { " !" } else { "" };
            let known_series = rows.iter().find(|row| row.name == name).map(|row| row.series);
            rows.push(IntervalRow {
                point: Some(rate.point / 1e6),
                interval: Some([rate.low / 1e6, rate.high / 1e6]),
                range: None,
                words: format!("{} ±{}{mark}", million(rate.point), half_width(rate)),
                series: known_series
                    .unwrap_or_else(|| rows.iter().map(|row| row.series + 1).max().unwrap_or(0)),
                heading: heading.take(),
                name,
            });
        }
    }
    let title = format!("Messages per second, {shared}");
    let drawn = |width| intervals(&title, "million messages per second", Kind::Log, &rows, width);
    // A figure that is too high is scaled down; it is drawn wider to fill the width.
    let first = drawn(width)?;
    Some(Picture { shows, ..drawn(width * (first.height / height).max(1.0))? })
}

fn map_of<'a>(input: &'a ReportInput<'_>, parameters: &Parameters) -> Option<&'a Map> {
    let key = |parameters: &Parameters| {
        ["queue", "payload", "capacity"].map(|name| parameters.0.get(name).cloned())
    };
    input.maps.iter().find(|map| map.probe == names::PROBE && key(&map.parameters) == key(parameters))
}
