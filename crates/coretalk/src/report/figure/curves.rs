//! Curves of distributions: percentiles on a nines axis, and cumulative shares. One chart for each unit and kind: single
//! events and means of batches never share one.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use super::distribution::{self, MOST_CURVES, Steps, evenly};
use crate::report::picture::Picture;
use crate::report::text::plain;
use crate::report::view::SeriesView;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer points are a line and no curve: the table has them.
const FEWEST_POINTS: usize = 3;

/// Fewer events are no distribution: the table has them.
const FEWEST_EVENTS: u64 = 20;

/// A distribution that was read back from its series.
struct Distribution<'a> {
    series: &'a SeriesView,
    histogram: Histogram<u64>,
}

impl<'a> Distribution<'a> {
    fn of(series: &'a SeriesView) -> Option<Distribution<'a>> {
        let bytes = STANDARD.decode(series.histogram_v2_base64.as_ref()?).ok()?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        Some(Distribution { series, histogram })
    }

    /// Share and value, at every step of the histogram up to the share that still rests on several events.
    fn points(&self) -> Vec<[f64; 2]> {
        let unit_ns = self.series.histogram_unit_ps as f64 / 1e3;
        let total = self.histogram.len();
        let mut reached = 0.0;
        let steps = self.histogram.iter_recorded().map(|step| {
            reached += step.count_at_value() as f64 / total.max(1) as f64;
            (step.value_iterated_to() as f64 * unit_ns, reached)
        });
        distribution::points(steps, total)
    }

    /// Its CPUs and its parameters; which view it is, the title says.
    fn name(&self) -> String {
        let parts = [self.series.cpus(), self.series.words_without(&["view"])];
        plain(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "))
    }
}

/// Percentile curves and cumulative shares, each in pictures of one kind and view.
#[derive(Debug, Default, PartialEq)]
pub struct Curves {
    /// Percentiles on a nines axis.
    pub percentiles: Vec<Picture>,
    /// Shares up to a value.
    pub shares: Vec<Picture>,
}

/// Curves of the series that kept a distribution. [`chosen`] says which are drawn.
pub fn curves(series: &[SeriesView], title: &str) -> Curves {
    let mut together: BTreeMap<(&str, String), Vec<Distribution<'_>>> = BTreeMap::new();
    let enough = |one: &Distribution<'_>| one.histogram.len() >= FEWEST_EVENTS;
    for one in chosen(series).into_iter().filter_map(Distribution::of).filter(enough) {
        together.entry((&one.series.kind, one.series.view())).or_default().push(one);
    }
    let mut curves = Curves::default();
    for ((kind, view), distributions) in together {
        let title = if view.is_empty() { title.to_owned() } else { format!("{title}, {}", plain(&view)) };
        let steps = steps(&distributions, kind);
        let what = steps.what;
        curves.percentiles.extend(steps.percentiles(&format!("{title}: percentiles of {what}")));
        curves.shares.extend(steps.shares(&format!("{title}: share of {what} up to a value")));
    }
    curves
}

/// The series whose curves are drawn. Of those that differ in their CPUs alone the quickest, the middle and the slowest
/// at p99, or only the middle one where there is much else to draw; of those that differ in numbers, such as a gap, the
/// first.
pub fn chosen(series: &[SeriesView]) -> Vec<&SeriesView> {
    let mut alike: BTreeMap<(&str, &str, String), Vec<&SeriesView>> = BTreeMap::new();
    for one in series.iter().filter(|one| one.histogram_v2_base64.is_some()) {
        let numbers: Vec<&str> = one.numbers().into_iter().map(|(name, _)| name).collect();
        alike.entry((&one.probe, &one.kind, one.words_without(&numbers))).or_default().push(one);
    }
    let much = alike.len() > MOST_CURVES;
    let p99 = |one: &&SeriesView| one.percentiles.get("99").copied().flatten().unwrap_or(f64::INFINITY);
    alike
        .into_values()
        .flat_map(|mut of| {
            let first = of[0].numbers().into_iter().map(|(_, value)| value).collect::<Vec<_>>();
            of.retain(|one| one.numbers().into_iter().map(|(_, value)| value).eq(first.iter().copied()));
            of.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
            match of.len() {
                many if much => vec![of[many / 2]],
                0..=3 => of,
                many => vec![of[0], of[many / 2], of[many - 1]],
            }
        })
        .collect()
}

fn steps(some: &[Distribution<'_>], kind: &str) -> Steps<'static> {
    Steps {
        curves: some.iter().map(|one| distribution::curve(one.name(), one.points())).collect(),
        what: if kind == "event" { "single events" } else { "means of batches" },
        unit: "ns",
        values: Kind::Log,
    }
}

/// Up to so many placements each have a curve.
const MOST_PLACEMENTS: usize = 4;

/// Values over a parameter that is a number, where several series of a probe differ in it: threads, gap, load. Drawn
/// for a few placements, of many for the first; the table has all.
pub fn over_parameters(series: &[SeriesView]) -> Vec<Picture> {
    let mut groups: BTreeMap<(String, String), Vec<&SeriesView>> = BTreeMap::new();
    for one in series {
        for (name, _) in one.numbers() {
            groups.entry((name.to_owned(), one.view())).or_default().push(one);
        }
    }
    let drawn = groups.into_iter().flat_map(|((parameter, view), series)| {
        let curves = over(&series, &parameter);
        let parts = evenly(&curves).filter_map(|some| chart_over(&series, &parameter, &view, some));
        parts.collect::<Vec<_>>()
    });
    drawn.collect()
}

/// What is drawn of a series: what one operation takes, else its median.
fn measure(one: &SeriesView) -> Option<(&'static str, f64, Option<[f64; 2]>)> {
    for name in ["ns_per_op_wall", "loop_ns"] {
        if let Some(Some(value)) = one.values.get(name) {
            return Some((name, *value, one.intervals.get(name).copied()));
        }
    }
    one.median().map(|(point, interval)| ("median", point, interval))
}

fn over(series: &[&SeriesView], parameter: &str) -> Vec<Curve> {
    let mut curves: Vec<(Curve, &[u32])> = Vec::new();
    for one in series {
        let x = one.numbers().into_iter().find(|(name, _)| *name == parameter).map(|(_, value)| value);
        let (Some(x), Some((_, y, interval))) = (x, measure(one)) else { continue };
        let mut name = one.words_without(&[parameter, "view"]);
        // CPUs come and go with the number of threads; elsewhere one placement stands for all.
        if parameter != "threads" {
            name = [one.cpus(), name]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" · ");
        }
        let ends = interval.map(|[low, high]| [x, low, high]);
        match curves.iter_mut().find(|(curve, _)| curve.name == name) {
            Some((curve, _)) => {
                curve.points.push([x, y]);
                curve.intervals.extend(ends);
            }
            None => {
                let intervals = ends.into_iter().collect();
                curves.push((
                    Curve { name, points: vec![[x, y]], marks: Marks::Joined, intervals },
                    &one.placement,
                ));
            }
        }
    }
    let first = curves.first().map(|(_, placement)| *placement).unwrap_or_default();
    let placements: BTreeSet<&[u32]> = curves.iter().map(|(_, placement)| *placement).collect();
    let few = placements.len() <= MOST_PLACEMENTS;
    let mut curves: Vec<Curve> = curves
        .into_iter()
        .filter(|(curve, placement)| {
            curve.points.len() >= FEWEST_POINTS && (parameter == "threads" || few || *placement == first)
        })
        .map(|(curve, _)| curve)
        .collect();
    curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a[0].total_cmp(&b[0])));
    curves
}

fn chart_over(series: &[&SeriesView], parameter: &str, view: &str, curves: &[Curve]) -> Option<Picture> {
    let first = series.first()?;
    let (what, ..) = series.iter().find_map(|one| measure(one))?;
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let kind = if points().all(|[x, _]| *x > 0.0) { Kind::Log } else { Kind::Linear };
    let (parameter, view) = (parameter.replace('_', " "), plain(view));
    let of = if view.is_empty() { String::new() } else { format!(", {view}") };
    // A lone curve has no legend.
    let lone = match curves {
        [one] if !one.name.is_empty() => format!(", {}", one.name),
        _ => String::new(),
    };
    let chart = Chart {
        title: format!("{}{of}: {} by {parameter}{lone}", plain(&first.probe), what.replace('_', " ")),
        x: Axis::over(&parameter, kind, points().map(|[x, _]| *x))?,
        y: Axis::over("ns, logarithmic", Kind::Log, points().map(|[_, y]| *y))?,
        curves: curves.to_vec(),
    };
    Some(chart.draw(900.0, 360.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn series(values: &[u64], kind: &str) -> SeriesView {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        values.iter().for_each(|&value| histogram.record(value).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        SeriesView {
            kind: kind.into(),
            histogram_v2_base64: Some(STANDARD.encode(bytes)),
            histogram_unit_ps: 10,
            placement: vec![0, 1],
            ..SeriesView::default()
        }
    }

    #[test]
    fn points_rise_in_share_and_value_and_end_before_the_last_event() {
        let series = series(&[100, 200, 200, 4000], "event");
        let points = Distribution::of(&series).unwrap().points();
        assert!(
            points.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1]),
            "{points:?}"
        );
        assert_eq!(points[0], [0.0, 1.0]);
        assert_eq!(points.last().unwrap()[0], 0.875);
    }

    #[test]
    fn events_and_means_of_batches_never_share_a_chart() {
        let some: Vec<u64> = (100..100 + FEWEST_EVENTS).collect();
        let both = [series(&some, "event"), series(&some, "batch-mean"), series(&some[1..], "event")];
        let drawn = curves(&both[..2], "latency");
        assert_eq!(curves(&both[2..], "latency"), Curves::default(), "too few for a curve");
        let titles: Vec<String> = drawn.percentiles.into_iter().map(|picture| picture.title).collect();
        assert_eq!((titles.len(), drawn.shares.len()), (2, 2));
        assert!(titles[0].contains("means of batches") && titles[1].contains("single events"), "{titles:?}");
    }

    #[test]
    fn of_many_pairs_the_ends_and_the_middle_are_drawn() {
        let many: Vec<SeriesView> = (1u32..=9)
            .map(|index| SeriesView {
                percentiles: [("99".to_owned(), Some(f64::from((index * 4) % 9)))].into(),
                ..series(&[100 * u64::from(index)], "event")
            })
            .collect();
        let p99: Vec<f64> = chosen(&many).iter().map(|one| one.percentiles["99"].unwrap()).collect();
        assert_eq!(p99, [0.0, 4.0, 8.0]);
    }

    #[test]
    fn values_are_drawn_over_the_parameter_that_is_a_number() {
        let at = |gap: f64, ns: f64| SeriesView {
            probe: "wake".into(),
            unit: "ns".into(),
            parameters: [("gap_ns".to_owned(), gap.into()), ("primitive".to_owned(), "park".into())].into(),
            percentiles: [("50".to_owned(), Some(ns))].into(),
            intervals: [("median_ns".to_owned(), [0.9 * ns, 1.1 * ns])].into(),
            placement: vec![0, 1],
            ..SeriesView::default()
        };
        let series = [at(2e4, 2e3), at(1e6, 2e4), at(2e7, 3e4)];
        let drawn = over(&series.iter().collect::<Vec<_>>(), "gap_ns");
        assert_eq!(drawn[0].points, [[2e4, 2e3], [1e6, 2e4], [2e7, 3e4]]);
        assert_eq!(drawn[0].intervals.len(), 3);
        assert_eq!(over_parameters(&series)[0].title, "wake: median by gap ns, 0 → 1 · primitive park");
        assert!(over_parameters(&series[..2]).is_empty(), "two points are no curve");
    }

    #[test]
    fn a_damaged_histogram_draws_nothing() {
        let damaged = SeriesView { histogram_v2_base64: Some("AAAA".into()), ..series(&[1], "event") };
        assert_eq!(curves(&[damaged, SeriesView::default()], "x"), Curves::default());
    }
}
