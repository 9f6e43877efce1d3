//! Small multiples in shared colours: one queue at each capacity, or ways of waiting and waking between all pairs.

use super::BODY;
use super::heat_map::heat_map_of_several;
use crate::fmt;
use crate::input::{Drawing, Map, ReportInput, ScaleChoice};
use crate::palette::Scale;
use crate::parameters::parameter as parameter_words;
use crate::picture::{Anchor, Picture};
use crate::text::plain;
use crate::{By, Order};
use coretalk_model::queue::names;

const SIDE: f64 = 250.0;
const LABELS: f64 = 40.0;
const GAP: f64 = 24.0;
/// Rows are threads, so the diagonal does not show a core.
const DRAWING: Drawing =
    Drawing { order: Order::Topology, by: By::Thread, scale: ScaleChoice::Fit, cdf: None };

fn columns(width: f64) -> usize {
    ((width + GAP) / (SIDE + LABELS + GAP)).max(1.0) as usize
}

/// The colour scale of all maps with the same unit, for comparisons by eye.
fn shared_scale(maps: &[&Map], map: &Map) -> Option<Scale> {
    let alike: Vec<&&Map> = maps.iter().filter(|other| other.unit == map.unit).collect();
    let values = alike.iter().flat_map(|map| map.columns.median.iter().copied().flatten());
    Scale::fitted(values).filter(|_| alike.len() > 1)
}

/// A figure for each queue and payload with several capacities between most of its pairs.
pub fn by_capacity(input: &ReportInput<'_>, width: f64) -> Vec<Picture> {
    let mut queues: Vec<([String; 2], Vec<&Map>)> = Vec::new();
    let is_queue_matrix = |map: &&Map| map.probe == names::PROBE && map.index.is_some();
    for map in input.maps.iter().filter(is_queue_matrix).filter(|map| is_full(map)) {
        let key = ["queue", "payload"].map(|name| parameter(map, name));
        match queues.iter_mut().find(|(known, _)| *known == key) {
            Some((_, maps)) => maps.push(map),
            None => queues.push((key, vec![map])),
        }
    }
    let several = queues.into_iter().filter(|(_, maps)| maps.len() > 1);
    several
        .map(|([queue, payload], maps)| {
            figure_of_capacities(input, &format!("{queue}, {payload}"), &maps, width)
        })
        .collect()
}

/// A figure for each probe with several kinds of trials between many pairs: one map for each kind.
pub fn by_kind(input: &ReportInput<'_>, width: f64) -> Vec<Picture> {
    let mut probes: Vec<Vec<&Map>> = Vec::new();
    // A map with values for few of its pairs is not shown.
    let is_filled = |map: &&Map| 4 * map.columns.measured() > map.columns.cpus.len().pow(2);
    let is_pair_map = |map: &&Map| map.index.is_none() && map.columns.cpus.len() > 2;
    for map in input.maps.iter().filter(is_pair_map).filter(is_filled) {
        match probes.iter_mut().find(|maps| maps[0].probe == map.probe) {
            Some(maps) => maps.push(map),
            None => probes.push(vec![map]),
        }
    }
    let several = probes.iter().filter(|maps| maps.len() > 1);
    several.map(|maps| figure_of_kinds(input, maps, width)).collect()
}

fn figure_of_kinds(input: &ReportInput<'_>, maps: &[&Map], width: f64) -> Picture {
    let differs =
        |name: &str| maps.iter().any(|map| map.parameters.0.get(name) != maps[0].parameters.0.get(name));
    let drawn = |map: &Map| heat_map_of_several(input, map, DRAWING, SIDE, shared_scale(maps, map));
    let tiles = maps.iter().map(|map| {
        let differing = map.parameters.iter().filter(|(name, _)| differs(name));
        let words =
            differing.map(|(name, value)| fmt::sentence(&parameter_words(name, value))).collect::<Vec<_>>();
        let words = plain(&words.join(", "));
        let drawn = drawn(map);
        Picture::stacked(words.clone(), vec![heading(&words, drawn.width), drawn], 4.0)
    });
    let title = format!("{} between all pairs", maps[0].probe);
    let tiles = Picture::tiled(title.clone(), tiles.collect(), columns(width), GAP);
    Picture::stacked(title.clone(), vec![heading(&title, tiles.width), tiles], 8.0)
}

fn is_full(map: &Map) -> bool {
    let cpus = map.columns.cpus.len();
    cpus > 1 && 2 * map.columns.measured() >= cpus * cpus
}

fn parameter(map: &Map, name: &str) -> String {
    map.parameters.0.get(name).map_or_else(String::new, |value| plain(&value.to_string()))
}

fn figure_of_capacities(input: &ReportInput<'_>, what: &str, maps: &[&Map], width: f64) -> Picture {
    let tiles = maps.iter().map(|map| {
        let capacity = map.parameters.0.get("capacity");
        let capacity = plain(
            &capacity.map_or_else(String::new, |value| fmt::sentence(&parameter_words("capacity", value))),
        );
        let drawn = heat_map_of_several(input, map, DRAWING, SIDE, shared_scale(maps, map));
        Picture::stacked(capacity.clone(), vec![heading(&capacity, drawn.width), drawn], 4.0)
    });
    let title = format!("{what}: messages per second at each capacity; rows send, columns receive");
    let tiles = Picture::tiled(title.clone(), tiles.collect(), columns(width), GAP);
    Picture::stacked(title, vec![heading(what, tiles.width), tiles], 8.0)
}

fn heading(text: &str, width: f64) -> Picture {
    let mut line = Picture::new("", width, 1.35 * BODY.size);
    line.text([0.0, BODY.size], Anchor::Start, BODY.strong(), text);
    line
}
