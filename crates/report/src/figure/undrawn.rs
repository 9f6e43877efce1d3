//! Series missing from a picture: chosen series with reasons, or, without a choice, all missing series.

use super::curves::{MIN_EVENTS, VIEWS, is_in_first_chart};
use super::picture_file;
use crate::document::SeriesDoc;
use crate::fmt::digits::count;
use crate::input::{Drawing, ReportInput, name_of_series};
use crate::picture::SeriesName;
use crate::text::plain;
use std::collections::{BTreeMap, BTreeSet};

/// A series that was chosen by name but is not in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undrawn {
    name: String,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// No series has both this name and the other chosen names.
    NoMatch,
    /// The series has no distribution and no value of the kind that is drawn.
    NoDistribution,
    /// The distribution has only this many events, too few for a curve.
    FewEvents(u64),
    /// A picture has one chart or one map for each run.
    NoRoom,
}

impl Undrawn {
    /// The reason as text: `futex has 7 events, and a curve needs 20`.
    pub fn words(&self) -> String {
        let name = plain(&self.name);
        match self.reason {
            Reason::NoMatch => format!("{name} was not measured together with the other names"),
            Reason::NoDistribution => format!("{name} has no distribution"),
            Reason::FewEvents(events) => {
                format!("{name} has {}, and a curve needs {MIN_EVENTS}", count(events, "event"))
            }
            Reason::NoRoom => format!("{name} does not fit into the chart of the others"),
        }
    }
}

/// The chosen series that a picture of these runs does not show, in the order of the runs.
pub fn undrawn(inputs: &[ReportInput<'_>], drawing: Drawing) -> Vec<Undrawn> {
    let mut all: Vec<Undrawn> = Vec::new();
    let mut matched: BTreeSet<&String> = BTreeSet::new();
    for input in inputs {
        let shown: BTreeSet<Vec<&String>> = picture_file::shows(input, drawing, inputs.len())
            .iter()
            .map(|name| input.chosen_by(name))
            .collect();
        let of_maps: BTreeSet<Vec<&String>> =
            input.maps.iter().map(|map| input.chosen_by(&map.name())).collect();
        let mut alike: BTreeMap<Vec<&String>, Vec<&SeriesDoc>> =
            of_maps.iter().map(|name| (name.clone(), Vec::new())).collect();
        for series in &input.outline.series {
            alike.entry(input.chosen_by(&name_of_series(series))).or_default().push(series);
        }
        for (name, alike) in alike {
            matched.extend(&name);
            let reason = if of_maps.contains(&name) { Reason::NoRoom } else { reason(&alike, drawing) };
            let words = name.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", ");
            let missing = Undrawn { name: words, reason };
            if !shown.contains(&name) && !all.contains(&missing) {
                all.push(missing);
            }
        }
    }
    let chosen = inputs.iter().flat_map(|input| &input.chosen).filter(|name| !matched.contains(name));
    let chosen: BTreeSet<&String> = chosen.collect();
    all.extend(chosen.into_iter().map(|name| Undrawn { name: name.clone(), reason: Reason::NoMatch }));
    all
}

fn reason(alike: &[&SeriesDoc], drawing: Drawing) -> Reason {
    let is_drawable =
        |one: &&SeriesDoc| one.histogram.is_some() || (drawing.cdf.is_none() && !one.values.is_empty());
    let (first, others): (Vec<&SeriesDoc>, Vec<&SeriesDoc>) =
        alike.iter().filter(|one| is_drawable(one)).partition(|one| is_in_first_chart(one));
    let drawable = if first.is_empty() { others } else { first };
    let events = drawable.iter().map(|one| one.count).max().unwrap_or(0);
    match !drawable.is_empty() {
        false => Reason::NoDistribution,
        true if events < MIN_EVENTS => Reason::FewEvents(events),
        true => Reason::NoRoom,
    }
}

/// Names of series that have a distribution but no curve in the picture, as `--series` accepts them.
pub fn left_out(inputs: &[ReportInput<'_>], drawing: Drawing) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for input in inputs {
        let shown: BTreeSet<(String, String)> =
            picture_file::shows(input, drawing, inputs.len()).into_iter().flatten().collect();
        let drawable = input.outline.series.iter().filter(|one| one.histogram.is_some());
        let names: SeriesName = drawable.flat_map(name_of_series).collect();
        for (parameter, name) in names {
            let is_view = VIEWS.contains(&parameter.as_str());
            if !is_view && !shown.contains(&(parameter, name.clone())) && !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}
