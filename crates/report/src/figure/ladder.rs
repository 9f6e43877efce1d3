//! The ladder as a figure: every step for every relation, with its interval and the range of its pairs.

use super::chart::Kind;
use super::intervals::{IntervalRow, intervals};
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Cell, Column, Table};
use crate::fmt;
use crate::fmt::digits::{count, with_reach};
use crate::ladder::kind_words;
use crate::picture::Picture;
use crate::reasons::Worded;
use crate::scope::relation_words;
use crate::text::plain;
use coretalk_model::latency::{EmptyRung, LadderRow};
use coretalk_model::{LadderStep, Protocol, Topology};

/// The figure; `None` if there is no ladder.
pub fn ladder(rungs: &[LadderRow], topology: &Topology, width: f64) -> Option<Picture> {
    let mut last = None;
    let mut series = 0;
    let mut rows = Vec::new();
    for rung in rungs {
        let group = Some((rung.relation, &rung.classes));
        let heading = (last != group).then(|| {
            series = if last.is_some() { series + 1 } else { 0 };
            format!("{} · {}", heading(rung, topology), count(u64::from(rung.pairs), "pair"))
        });
        last = group;
        let latency = rung.latency_ns.as_ref();
        rows.push(IntervalRow {
            name: name(rung),
            point: latency.map(|latency| latency.point),
            interval: latency.filter(|latency| latency.is_sure()).map(|latency| [latency.low, latency.high]),
            range: rung.range_ns,
            words: match latency {
                Some(latency) => with_reach(latency),
                None => rung.reason.as_ref().unwrap_or(&EmptyRung::NotMeasured).text(),
            },
            series,
            heading,
        });
    }
    intervals("What one hop costs, step by step", "ns per hop, logarithmic", Kind::Log, &rows, width)
}

/// The ladder as a table: each step with its interval and the range of its pairs.
pub fn table(rungs: &[LadderRow], topology: &Topology) -> Table {
    let columns = [
        Column::words("relation"),
        Column::words("step"),
        Column::numbers("ns (95 %)"),
        Column::numbers("range of pairs"),
        Column::numbers("pairs"),
    ];
    let rows = rungs.iter().enumerate().map(|(at, rung)| {
        let source = |field| Source::Field(pointer!("/ladder/{at}/{field}"));
        let end = |field, ns| DisplayValue::bare(Number::Point(ns), source(field));
        let range = rung.range_ns.filter(|_| rung.pairs > 1).map(|[low, high]| {
            Sentence::new("{low} – {high}")
                .with("low", end("range/0", low))
                .with("high", end("range/1", high))
        });
        [
            Cell::name(&heading(rung, topology)),
            Cell::name(&name(rung)),
            Cell::known(rung.latency_ns.map(|latency| fmt::with_reach(source("median"), latency))),
            range.map_or(Cell::Blank, Cell::from),
            DisplayValue::bare(Number::Count(rung.pairs.into()), source("pairs")).into(),
        ]
    });
    Table::new(columns).with(rows)
}

fn heading(rung: &LadderRow, topology: &Topology) -> String {
    let shared = relation_words(rung.relation, topology);
    match &rung.classes {
        Some(classes) => format!("{}, {shared}", kind_words(classes)),
        None => shared,
    }
}

/// The name of a row: `mailbox (msg+pause)`, or `~c2clat` for the reproduced loop of another tool.
fn name(rung: &LadderRow) -> String {
    let what = match rung.kernel.step() {
        LadderStep::Imitated(tool) => return format!("~{tool}"),
        LadderStep::Protocol(Protocol::Cas) => "compare-exchange",
        LadderStep::Protocol(Protocol::Store) => "load and store",
        LadderStep::Protocol(Protocol::Msg) => "mailbox",
        LadderStep::Protocol(Protocol::Xfer) => "read",
        LadderStep::Protocol(Protocol::OneWay) => Protocol::OneWay.name(),
        LadderStep::Other(name) => name,
    };
    format!("{} ({})", plain(what), plain(rung.kernel.as_str()))
}
