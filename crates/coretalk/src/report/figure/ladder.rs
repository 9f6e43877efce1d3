//! The ladder as a figure: every step under every relation, with its interval and the range of its pairs.

use super::chart::Kind;
use super::intervals::{Row, intervals};
use crate::report::ladder::kind_words;
use crate::report::picture::Picture;
use crate::report::text::{count, ns, plain, plus_minus};
use crate::report::view::RungView;

/// The figure; `None` without a ladder. `relation` says a relation in words.
pub fn ladder(rungs: &[RungView], relation: impl Fn(&str) -> String, width: f64) -> Option<Picture> {
    let mut last = None;
    let mut series = 0;
    let mut rows = Vec::new();
    for rung in rungs {
        let group = Some((&rung.relation, &rung.classes));
        let heading = (last != group).then(|| {
            series = if last.is_some() { series + 1 } else { 0 };
            format!("{} · {}", heading(rung, &relation), count(u64::from(rung.pairs), "pair"))
        });
        last = group;
        rows.push(Row {
            name: name(rung),
            point: rung.median,
            interval: rung.ci,
            range: rung.range,
            words: words(rung),
            series,
            heading,
        });
    }
    let unit = rungs.first().map_or("ns", |rung| rung.unit.as_str());
    let label = format!("{unit} per hop, logarithmic");
    intervals("What one hop costs, step by step", &label, Kind::Log, &rows, width)
}

/// What the pairs of a rung share: `across L3`, `P–E, same L3`.
pub fn heading(rung: &RungView, relation: impl Fn(&str) -> String) -> String {
    match &rung.classes {
        Some(classes) => format!("{}, {}", kind_words(classes), relation(&rung.relation)),
        None => relation(&rung.relation),
    }
}

/// `mailbox (msg+pause)`, `~c2clat`: other tools with `~`, as their numbers are reproduced and not ours.
pub fn name(rung: &RungView) -> String {
    if let Some(tool) = rung.step.strip_prefix("as:") {
        return format!("~{}", plain(tool));
    }
    let what = match rung.step.as_str() {
        "cas" => "compare-exchange",
        "store" => "load and store",
        "msg" => "mailbox",
        "xfer" => "read",
        other => other,
    };
    format!("{} ({})", plain(what), plain(&rung.kernel))
}

/// The value with half the width of its interval.
pub fn words(rung: &RungView) -> String {
    match (rung.median, rung.ci) {
        (Some(median), Some([low, high])) => {
            format!("{} {}", ns(median), plus_minus(median, (high - median).max(median - low)))
        }
        (Some(median), None) => ns(median),
        (None, _) => rung.reason.as_deref().map_or_else(|| "not measured".into(), plain),
    }
}
