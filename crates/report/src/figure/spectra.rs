//! Distributions from files, as curves.

use super::chart::Kind;
use super::distribution::{self, CHART, Steps};
use super::picture_file::framed;
use super::{paragraph, wrapped};
use crate::picture::{Picture, Type};
use crate::plot::is_logarithmic;
use crate::spectra::{SpectrumView, name, unit_words, units};
use crate::text::plain;

const TITLE: Type = Type::with_size(20.0).strong();

/// Percentiles and cumulative shares: one picture of each for every unit, or several pictures for many curves.
pub fn charts(views: &[SpectrumView], width: f64) -> [Vec<Picture>; 2] {
    let size = [width.min(CHART[0]), CHART[1]];
    let mut charts = [Vec::new(), Vec::new()];
    for unit in units(views) {
        let alike: Vec<&SpectrumView> =
            views.iter().filter(|view| view.spectrum.unit.as_deref() == unit).collect();
        let unit = unit_words(&alike);
        let steps = steps(&alike, &unit);
        let titles = match alike.as_slice() {
            [one] => ["value by percentile", "cumulative share"]
                .map(|what| format!("{}: {what}", plain(&one.title))),
            _ => ["Value by percentile", "Cumulative share"].map(str::to_owned),
        };
        charts[0].extend(steps.percentiles(&titles[0], size));
        charts[1].extend(steps.shares(&titles[1], size));
    }
    charts
}

/// The percentiles as one picture; `None` without anything to draw.
pub fn picture_file(views: &[SpectrumView]) -> Option<Picture> {
    let [percentiles, _] = charts(views, CHART[0]);
    let title = name(views);
    let width = percentiles.first()?.width;
    let mut head = Picture::new("", width, 0.0);
    head.height = 4.0 + paragraph(&mut head, [0.0, 0.0], TITLE, &wrapped(&title, width, TITLE));
    Some(framed(Picture::stacked(title, [vec![head], percentiles].concat(), 16.0)))
}

fn steps<'a>(views: &[&SpectrumView], unit: &'a str) -> Steps<'a> {
    let curve = |view: &&SpectrumView| {
        let rows = view.spectrum.rows.iter().map(|row| (row.value, row.share));
        distribution::curve(plain(&view.title), distribution::points(rows, view.spectrum.total()))
    };
    let values = || views.iter().flat_map(|view| view.spectrum.rows.iter().map(|row| row.value));
    Steps {
        curves: views.iter().map(curve).collect(),
        what: "values",
        unit,
        values: if is_logarithmic(values()) { Kind::Log } else { Kind::Linear },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectra::tests::view;

    #[test]
    fn units_never_share_an_axis_and_many_curves_are_divided() {
        let named = |title: &str, unit: Option<&str>| {
            let mut view = view(title, &[(10.0, 0.5, 50), (900.0, 1.0, 100)]);
            view.spectrum.unit = unit.map(str::to_owned);
            view
        };
        let mut views = vec![named("a", Some("ns")), named("b", None), named("c", Some("ns"))];
        let [percentiles, shares] = charts(&views, CHART[0]);
        let titles: Vec<&str> =
            percentiles.iter().filter_map(|picture| picture.title.split(". ").next()).collect();
        assert_eq!(titles, ["b: value by percentile", "Value by percentile"]);
        assert_eq!(shares.len(), 2);
        views.extend((0..12).map(|number| named(&number.to_string(), Some("ns"))));
        assert_eq!(charts(&views, CHART[0])[0].len(), 3, "14 curves of one unit are two charts of seven");
        assert_eq!(charts(&[view("nothing", &[])], CHART[0]), [Vec::new(), Vec::new()]);
        assert!(picture_file(&[view("nothing", &[])]).is_none());
    }
}
