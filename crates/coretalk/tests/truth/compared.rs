//! Checks of a comparison of two runs against the documents of both.

use super::cases;
use super::maps::cells;
use super::plants::{Fault, plant};
use super::run::{Run, list, relation, reported};
use crate::cli::tool::Tool;
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Relation};
use serde_json::{Value, json};

/// The latencies of the pairs of one relation in the topology of a side.
fn own(side: &Value, relation: Relation) -> Vec<f64> {
    let topology = reported(side);
    let own = |(a, b, _): &(u32, u32, f64)| topology.relation(CpuId(*a), CpuId(*b)) == relation;
    cells(&side["matrices"][0]).into_iter().filter(own).map(|cell| cell.2).collect()
}

/// The latency of a pair of a side.
fn of_pair(side: &Value, cell: &Value) -> Option<f64> {
    let all = cells(&side["matrices"][0]).into_iter();
    all.filter(|(a, b, _)| cell[0] == *a && cell[1] == *b).map(|cell| cell.2).next()
}

/// An error in the numbers of a row, the shift between them, or its verdict.
fn untrue_row(run: &Run, row: &Value) -> Option<&'static str> {
    let relation = relation(&row["level"]);
    let number = |key: &str| row[key].as_f64();
    for (side, keys) in run.sources.iter().zip([["a", "pairs"], ["b", "pairs_b"]]) {
        let own = relation.map(|relation| own(side, relation));
        let count = number(keys[1]).filter(|_| own.is_some());
        if count.is_some_and(|count| own.as_ref().is_some_and(|own| own.len() as f64 != count)) {
            return Some("another number of pairs");
        }
        let known = own.map_or_else(|| of_pair(side, &row["cell"]), |own| median(&own));
        if known.zip(number(keys[0])).is_some_and(|(known, shown)| (shown / known - 1.0).abs() > 0.03) {
            return Some("a number that is not that of its side");
        }
    }
    let shift = number("shift_percent")?;
    // A shift is in core cycles if both sides have them, and is the median of cells with the same change.
    if (100.0 * (number("b")? / number("a")? - 1.0) - shift).abs() > 4.0 {
        return Some("a shift between other numbers");
    }
    let [low, high] = [0, 1].map(|end| row["ci"][end].as_f64());
    let least = number("least_percent")?;
    let is_so = match row["verdict"].as_str()? {
        "slower" => shift > 0.0 && low.is_some_and(|low| low > 0.0),
        "faster" => shift < 0.0 && high.is_some_and(|high| high < 0.0),
        "same" => number("within_percent").is_none_or(|within| within < least),
        _ => low.zip(high).is_none_or(|(low, high)| low <= least && high >= -least),
    };
    let is_inside = low.is_none_or(|low| low <= shift) && high.is_none_or(|high| shift <= high);
    (!is_so || !is_inside).then_some("a verdict against its interval")
}

/// An error in the medians of the first side of a table of several runs.
fn untrue_medians(run: &Run, row: &Value) -> Option<&'static str> {
    let is_off = |group: &Value| {
        let own =
            relation(&group["group"]).map(|relation| own(&run.sources[0], relation)).unwrap_or_default();
        let shown = group["median"].as_f64().unwrap_or(f64::NAN);
        own.len() as f64 != group["pairs"] || median(&own).is_none_or(|own| (shown / own - 1.0).abs() > 1e-4)
    };
    list(&row["groups"]).iter().any(is_off).then_some("a median that is not that of its pairs")
}

/// An error in a comparison.
pub fn untrue(run: &Run) -> Option<&'static str> {
    let compared = &run.document["compared"];
    if run.words[0] != "compare" || compared.is_null() {
        return run.document["overview"].as_array().and_then(|all| untrue_medians(run, all.first()?));
    }
    let rows = || list(&run.document["differences"]).iter();
    let levels: Vec<&str> = match list(&compared["together"]) {
        [] => rows().filter(|row| row["cell"].is_null()).filter_map(|row| row["verdict"].as_str()).collect(),
        all => all.iter().filter_map(|row| row["verdict"].as_str()).collect(),
    };
    let is_alike = |together: &Value| {
        let shift = |row: &Value| row["shift_percent"].as_f64().unwrap_or(f64::NAN);
        let mut levels = rows().filter(|row| row["cell"].is_null() && row["matrix"] == together["matrix"]);
        levels.all(|row| row["verdict"] == together["verdict"] && (shift(row) - shift(together)).abs() < 3.0)
    };
    if !list(&compared["together"]).iter().all(is_alike) {
        return Some("levels that did not change alike");
    }
    for (side, key) in run.sources.iter().zip(["a", "b"]) {
        let scenario = side["environment"]["simulated"].as_str().unwrap_or_default();
        let of = &compared[key];
        if !of["machine"].as_str().unwrap_or_default().contains(scenario)
            || of["cpus"] != list(&side["topology"]["cpus"]).len()
        {
            return Some("another side");
        }
    }
    for (words, verdict) in
        [("is slower than", "slower"), ("is faster than", "faster"), ("Cannot tell", "cannot-tell")]
    {
        if run.first_line.contains(words) != levels.contains(&verdict) {
            return Some("an answer of another verdict");
        }
    }
    let departing = rows().filter(|row| row["departs"] == true).flat_map(|row| list(&row["cell"]));
    let departing: Vec<&Value> = departing.collect();
    let is_known = |shown: &CpuSet| shown.iter().all(|cpu| departing.iter().any(|one| **one == cpu.0));
    if !run.cpus.iter().all(is_known) {
        return Some("CPUs that do not stand out");
    }
    rows().find_map(|row| untrue_row(run, row))
}

/// Changes the first row of a pair that satisfies a condition.
fn pair(run: &mut Run, is_meant: fn(&Value) -> bool, change: fn(&mut Value)) {
    run.edit_list("/differences", |rows| {
        rows.iter_mut().find(|row| row["cell"].is_array() && is_meant(row)).into_iter().for_each(change);
    });
}

#[test]
fn a_comparison_that_is_changed_is_found() {
    let mut runs = cases::comparisons(&Tool::new());
    let many = runs.pop().unwrap();
    let median: Fault = (
        "median",
        |run| run.scale("/overview/0/groups/0/median", 1.01),
        "a median that is not that of its pairs",
    );
    plant(&[many], untrue, &[median]);
    let faults: [Fault; 13] = [
        ("level of A", |run| run.scale("/differences/0/a", 1.1), "a number that is not"),
        ("level of B", |run| run.scale("/differences/0/b", 1.1), "a number that is not"),
        ("shift", |run| run.set("/differences/0/shift_percent", 9.0), "a shift between other numbers"),
        ("interval", |run| run.set("/differences/0/ci", json!([8.0, 9.0])), "a verdict against its interval"),
        (
            "verdict",
            |run| {
                run.edit("/differences/0/verdict", |of| {
                    *of = if *of == "faster" { "slower" } else { "faster" }.into();
                });
            },
            "an answer of another verdict",
        ),
        ("pairs", |run| run.set("/differences/0/pairs", 1000), "another number of pairs"),
        (
            "pair",
            |run| pair(run, |_| true, |row| row["a"] = (1.1 * row["a"].as_f64().unwrap_or(f64::NAN)).into()),
            "a number that is not",
        ),
        (
            "verdict of a pair",
            |run| pair(run, |row| row["verdict"] != "faster", |row| row["verdict"] = "faster".into()),
            "a verdict against its interval",
        ),
        ("machine", |run| run.set("/compared/a/machine", "another"), "another side"),
        ("CPUs of a side", |run| run.set("/compared/b/cpus", 5), "another side"),
        (
            "answer",
            |run| {
                run.first_line = match run.first_line.contains("is slower than") {
                    true => run.first_line.replace("is slower than", "is faster than"),
                    false => "B is slower than A.".to_owned(),
                };
            },
            "an answer of another verdict",
        ),
        ("CPUs of the screen", |run| run.cpus.push("0,9".parse().unwrap()), "CPUs that do not stand out"),
        (
            "together",
            |run| {
                let matrix = run.document["differences"][0]["matrix"].clone();
                let together = json!([{ "matrix": matrix, "verdict": "slower", "shift_percent": 55.0 }]);
                run.edit("/compared", |of| of["together"] = together.clone());
            },
            "levels that did not change alike",
        ),
    ];
    plant(&runs, untrue, &faults);
}
