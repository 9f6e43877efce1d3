//! Small multiples: the maps of one queue at each of its capacities, beside each other in the same colours.

use super::BODY;
use super::heat_map::heat_map;
use crate::report::input::{Drawing, Map, ReportInput, ScaleChoice};
use crate::report::parameters::parameter as words_of_parameter;
use crate::report::picture::{Anchor, Picture};
use crate::report::text::plain;
use crate::report::{By, Order};
use coretalk_model::queue::names;

/// Maps in a row.
const COLUMNS: usize = 3;
/// Length of the side of a map.
const SIDE: f64 = 250.0;
const GAP: f64 = 24.0;
/// The same colours everywhere, so that capacities compare by eye; the diagonal is no core's.
const DRAWING: Drawing =
    Drawing { order: Order::Topology, by: By::Thread, scale: ScaleChoice::Fixed, cdf: None };

/// A figure for each queue and payload that was measured at several capacities between most of its pairs.
pub fn by_capacity(input: &ReportInput<'_>) -> Vec<Picture> {
    let mut queues: Vec<([String; 2], Vec<&Map>)> = Vec::new();
    let is_rate = |map: &&Map| map.probe == names::PROBE && map.index.is_some();
    for map in input.maps.iter().filter(is_rate).filter(|map| is_full(map)) {
        let key = ["queue", "payload"].map(|name| parameter(map, name));
        match queues.iter_mut().find(|(known, _)| *known == key) {
            Some((_, maps)) => maps.push(map),
            None => queues.push((key, vec![map])),
        }
    }
    let several = queues.into_iter().filter(|(_, maps)| maps.len() > 1);
    several.map(|([queue, payload], maps)| figure(input, &format!("{queue}, {payload}"), &maps)).collect()
}

/// Whether a map is large enough to be looked at, and most of it was measured.
fn is_full(map: &Map) -> bool {
    let cpus = map.columns.cpus.len();
    cpus > 2 && 2 * map.columns.measured() > cpus * cpus
}

fn parameter(map: &Map, name: &str) -> String {
    map.parameters.0.get(name).map_or_else(String::new, |value| plain(&value.to_string()))
}

fn figure(input: &ReportInput<'_>, what: &str, maps: &[&Map]) -> Picture {
    let tiles = maps.iter().map(|map| {
        let capacity = map.parameters.0.get("capacity");
        let capacity =
            plain(&capacity.map_or_else(String::new, |value| words_of_parameter("capacity", value)));
        let drawn = heat_map(input, map, DRAWING, SIDE);
        Picture::stacked(capacity.clone(), vec![heading(&capacity, drawn.width), drawn], 4.0)
    });
    let title = format!("{what}: messages a second at each capacity; rows send, columns receive");
    let tiles = Picture::tiled(title.clone(), tiles.collect(), COLUMNS, GAP);
    Picture::stacked(title, vec![heading(what, tiles.width), tiles], 8.0)
}

fn heading(text: &str, width: f64) -> Picture {
    let mut line = Picture::new("", width, 1.35 * BODY.size);
    line.text([0.0, BODY.size], Anchor::Start, BODY.strong(), text);
    line
}
