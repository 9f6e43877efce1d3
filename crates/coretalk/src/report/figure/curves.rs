//! Curves of distributions: percentiles on a nines axis, and cumulative shares. One chart for each unit and kind: single
//! events and means of batches never share one.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::report::picture::Picture;
use crate::report::text::plain;
use crate::report::view::SeriesView;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use std::collections::BTreeMap;

/// More curves in one chart cannot be told apart.
const MOST_CURVES: usize = 7;

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
        let total = self.histogram.len().max(1) as f64;
        let mut below = 0.0;
        let mut points = Vec::new();
        for step in self.histogram.iter_recorded() {
            let value = step.value_iterated_to() as f64 * unit_ns;
            points.push([below, value]);
            below += step.count_at_value() as f64 / total;
            points.push([below.min(1.0 - 0.5 / total), value]);
        }
        points
    }

    fn name(&self) -> String {
        plain(&[self.series.cpus(), self.series.words()].join(" · "))
    }
}

/// Percentile curves and cumulative shares of the series that kept a distribution: of many pairs under the same
/// parameters the quickest, the middle and the slowest at p99.
pub fn curves(series: &[SeriesView], title: &str) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for kind in ["event", "batch-mean"] {
        let of_kind = chosen(series).into_iter().filter(|one| one.kind == kind);
        let distributions: Vec<Distribution<'_>> =
            of_kind.filter_map(Distribution::of).filter(|one| !one.histogram.is_empty()).collect();
        for some in distributions.chunks(MOST_CURVES) {
            pictures.extend(both(some, kind, title));
        }
    }
    pictures
}

/// The series whose curves are drawn. [`curves`] says which.
pub fn chosen(series: &[SeriesView]) -> Vec<&SeriesView> {
    let mut alike: BTreeMap<(&str, &str, String), Vec<&SeriesView>> = BTreeMap::new();
    for one in series.iter().filter(|one| one.histogram_v2_base64.is_some()) {
        alike.entry((&one.probe, &one.kind, one.words())).or_default().push(one);
    }
    let p99 = |one: &&SeriesView| one.percentiles.get("99").copied().flatten().unwrap_or(f64::INFINITY);
    alike
        .into_values()
        .flat_map(|mut of| {
            of.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
            match of.len() {
                0..=3 => of,
                many => vec![of[0], of[many / 2], of[many - 1]],
            }
        })
        .collect()
}

fn both(some: &[Distribution<'_>], kind: &str, title: &str) -> Vec<Picture> {
    let curve =
        |one: &Distribution<'_>| Curve { name: one.name(), points: one.points(), marks: Marks::Joined };
    let curves: Vec<Curve> = some.iter().map(curve).collect();
    let values = || curves.iter().flat_map(|curve| curve.points.iter().map(|[_, value]| *value));
    let shares = curves.iter().flat_map(|curve| curve.points.iter().map(|[share, _]| *share));
    let what = if kind == "event" { "single events" } else { "means of batches" };
    let (Some(values_up), Some(nines), Some(values_right)) = (
        Axis::over("ns, logarithmic", Kind::Log, values()),
        Axis::over("share of the events that are not slower", Kind::Nines, shares),
        Axis::over("ns, logarithmic", Kind::Log, values()),
    ) else {
        return Vec::new();
    };
    let turned = curves.iter().map(|curve| Curve {
        points: curve.points.iter().map(|[share, value]| [*value, *share]).collect(),
        ..curve.clone()
    });
    let cumulative = Chart {
        title: format!("{title}: share of {what} up to a value"),
        x: values_right,
        y: Axis { label: "share".into(), ends: [0.0, 1.0], kind: Kind::Linear },
        curves: turned.collect(),
    };
    let percentiles =
        Chart { title: format!("{title}: percentiles of {what}"), x: nines, y: values_up, curves };
    vec![percentiles.draw(900.0, 360.0), cumulative.draw(900.0, 320.0)]
}

/// Values over a parameter that is a number, where several series of a probe differ in it: threads, gap, load.
pub fn over_parameters(series: &[SeriesView]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for parameter in ["threads", "gap_ns", "load", "capacity", "rate_per_s"] {
        let number = |one: &SeriesView| {
            one.parameters.get(parameter).map(crate::report::view::bare)?.parse::<f64>().ok()
        };
        let mut names: Vec<(String, String, String)> = Vec::new();
        for one in series.iter().filter(|one| number(one).is_some()) {
            let measure = ["ns_per_op_wall", "loop_ns", "ops_per_s"]
                .into_iter()
                .find(|name| one.values.contains_key(*name));
            let key = (one.probe.clone(), measure.unwrap_or("p50").to_owned(), one.unit.clone());
            if !names.contains(&key) {
                names.push(key);
            }
        }
        for (probe, measure, unit) in names {
            let of_probe: Vec<&SeriesView> = series.iter().filter(|one| one.probe == probe).collect();
            pictures.extend(over(&of_probe, parameter, &measure, &unit, number));
        }
    }
    pictures
}

fn over(
    series: &[&SeriesView],
    parameter: &str,
    measure: &str,
    unit: &str,
    number: impl Fn(&SeriesView) -> Option<f64>,
) -> Option<Picture> {
    let value = |one: &SeriesView| match measure {
        "p50" => *one.percentiles.get("50")?,
        name => *one.values.get(name)?,
    };
    let mut curves: Vec<Curve> = Vec::new();
    for one in series {
        let (Some(x), Some(y)) = (number(one), value(one)) else { continue };
        let others = one.parameters.iter().filter(|(name, _)| *name != parameter);
        let mut name: Vec<String> =
            others.map(|(_, value)| plain(&crate::report::view::bare(value))).collect();
        if parameter != "threads" {
            name.insert(0, one.cpus());
        }
        let name = name.join(" · ");
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push([x, y]),
            None => curves.push(Curve { name, points: vec![[x, y]], marks: Marks::Joined }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    }
    curves.truncate(MOST_CURVES);
    if curves.iter().all(|curve| curve.points.len() < 2) {
        return None;
    }
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let kind = if points().all(|[x, _]| *x > 0.0) { Kind::Log } else { Kind::Linear };
    let probe = &series.first()?.probe;
    let chart = Chart {
        title: format!("{probe}: {} by {}", measure.replace('_', " "), parameter.replace('_', " ")),
        x: Axis::over(&parameter.replace('_', " "), kind, points().map(|[x, _]| *x))?,
        y: Axis::over(&format!("{unit}, logarithmic"), Kind::Log, points().map(|[_, y]| *y))?,
        curves,
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
        let both = [series(&[100], "event"), series(&[100], "batch-mean")];
        let titles: Vec<String> = curves(&both, "latency").into_iter().map(|picture| picture.title).collect();
        assert_eq!(titles.len(), 4);
        assert!(titles.iter().filter(|title| title.contains("single events")).count() == 2, "{titles:?}");
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
    fn a_damaged_histogram_draws_nothing() {
        let damaged = SeriesView { histogram_v2_base64: Some("AAAA".into()), ..series(&[1], "event") };
        assert!(curves(&[damaged, SeriesView::default()], "x").is_empty());
    }
}
