//! Comparisons of two runs against the documents of both.

use super::cases;
use super::maps::cells;
use super::run::{Run, list, reported};
use super::sources::{recomputed, wrong};
use super::values::changed;
use crate::cli::tool::Tool;
use coretalk::blocks::value::{DisplayUnit, DisplayValue, Number, Source};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Relation};
use serde_json::Value;
use std::collections::BTreeMap;

/// The values of pairs of a side that share the same things by its own topology.
fn own(side: &Value, relation: Relation) -> Vec<f64> {
    let topology = reported(side);
    let own = |(a, b, _): &(u32, u32, f64)| topology.relation(CpuId(*a), CpuId(*b)) == relation;
    cells(&side["matrices"][0]).into_iter().filter(own).map(|cell| cell.2).collect()
}

/// The value of a pair of a side.
fn of_pair(side: &Value, cell: &Value) -> Option<f64> {
    let all = cells(&side["matrices"][0]).into_iter();
    all.filter(|(a, b, _)| cell[0] == *a && cell[1] == *b).map(|cell| cell.2).next()
}

/// What is wrong with both numbers of a row, the shift between them, or its verdict.
fn untrue_row(run: &Run, row: &Value) -> Option<&'static str> {
    let relation = Relation::ALL.into_iter().find(|relation| row["level"] == relation.name());
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
    // Shifts are in cycles of the core where both sides know them, and the medians of cells that move alike.
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

/// What is wrong with the medians of the first side of a table of many.
fn untrue_medians(run: &Run, row: &Value) -> Option<&'static str> {
    let is_off = |group: &Value| {
        let relation = Relation::ALL.into_iter().find(|relation| group["group"] == relation.name());
        let own = relation.map(|relation| own(&run.sources[0], relation)).unwrap_or_default();
        let shown = group["median"].as_f64().unwrap_or(f64::NAN);
        own.len() as f64 != group["pairs"] || median(&own).is_none_or(|own| (shown / own - 1.0).abs() > 1e-4)
    };
    list(&row["groups"]).iter().any(is_off).then_some("a median that is not that of its pairs")
}

/// What is wrong with a comparison.
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

/// Numbers of comparisons and of advice, and that a fault in each is found: another number, sign, unit, or source.
#[test]
fn numbers_of_comparisons_and_advice_are_those_of_their_fields() {
    let tool = Tool::new();
    let mut planted = BTreeMap::new();
    for run in cases::comparisons(&tool).into_iter().chain(cases::advice(&tool)) {
        for (headings, value) in &run.values {
            let is_wrong = |value: &DisplayValue| wrong(&run, &(headings.clone(), value.clone())).is_some();
            assert!(!is_wrong(value), "{:?}: {value:?}", run.words);
            let mut signed = value.clone();
            match &mut signed.number {
                Number::Point(number) | Number::Figure(number) | Number::Difference(number) => {
                    *number = -*number
                }
                Number::Shift(of) => of.point = -of.point,
                _ => {}
            }
            let unit = |unit| DisplayValue { unit, ..value.clone() };
            let other = match &value.source {
                Source::Field(path) => {
                    Source::Field(path.replace("/0/", "/1/").replace("/compared/a", "/compared/z"))
                }
                Source::Differing { matrix, key, .. } => {
                    Source::Differing { matrix: matrix.clone(), key, value: "none" }
                }
                other => other.clone(),
            };
            // Rows of two runs, and what is counted, may be alike.
            let [own, others] = [&value.source, &other].map(|source| recomputed(&run, source));
            let is_near = |(own, others): (f64, f64)| (own - others).abs() <= 0.01 * own.abs();
            let is_alike = own.zip(others).is_some_and(is_near);
            let other =
                if is_alike { value.clone() } else { DisplayValue { source: other, ..value.clone() } };
            let is_small = matches!(value.number, Number::Shift(of) if of.low.abs() < 0.02);
            let faults = [
                ("number", if is_small { value.clone() } else { changed(value) }),
                ("sign", signed),
                ("unit", unit(DisplayUnit::OfColumn(1e3))),
                ("share", unit(DisplayUnit::Own(Unit::Share))),
                ("source", other),
            ];
            let is_field = matches!(value.source, Source::Field(_));
            for (kind, fault) in faults {
                let is_fault = fault != *value && value.source != Source::Listed;
                // A difference is in percent whatever its unit is, and other sources have no unit in their names.
                let is_of_unit = matches!(kind, "unit" | "share");
                let is_difference = matches!(value.number, Number::Difference(_) | Number::Shift(_));
                if is_fault && !(is_of_unit && (is_difference || !is_field)) {
                    assert!(is_wrong(&fault), "{:?}: {kind}: {fault:?}", run.words);
                    *planted.entry((run.words[0].clone(), kind)).or_insert(0) += 1;
                }
            }
        }
    }
    println!("{planted:?}");
    assert_eq!(planted.len(), 10, "{planted:?}");
}

/// Each fault planted in a comparison is found.
#[test]
fn a_comparison_that_is_changed_is_found() {
    type Plant<'a> = &'a dyn Fn(&mut Run);
    let scale = |value: &mut Value, factor: f64| {
        if let Some(number) = value.as_f64() {
            *value = (number * factor).into();
        }
    };
    let plants: [(&str, Plant<'_>); 13] = [
        ("level of A", &|run| scale(&mut run.document["differences"][0]["a"], 1.1)),
        ("level of B", &|run| scale(&mut run.document["differences"][0]["b"], 1.1)),
        ("shift", &|run| run.document["differences"][0]["shift_percent"] = 9.0.into()),
        ("interval", &|run| run.document["differences"][0]["ci"] = serde_json::json!([8.0, 9.0])),
        ("verdict", &|run| {
            let verdict = &mut run.document["differences"][0]["verdict"];
            *verdict = if *verdict == "faster" { "slower" } else { "faster" }.into();
        }),
        ("pairs", &|run| run.document["differences"][0]["pairs"] = 1000.into()),
        ("pair", &|run| {
            let rows = run.document["differences"].as_array_mut().unwrap();
            rows.iter_mut()
                .filter(|row| row["cell"].is_array())
                .take(1)
                .for_each(|row| scale(&mut row["a"], 1.1));
        }),
        ("verdict of a pair", &|run| {
            let rows = run.document["differences"].as_array_mut().unwrap();
            let cells = rows.iter_mut().filter(|row| row["cell"].is_array() && row["verdict"] != "faster");
            cells.take(1).for_each(|row| row["verdict"] = "faster".into());
        }),
        ("machine", &|run| run.document["compared"]["a"]["machine"] = "another".into()),
        ("CPUs of a side", &|run| run.document["compared"]["b"]["cpus"] = 5.into()),
        ("answer", &|run| {
            run.first_line = match run.first_line.contains("is slower than") {
                true => run.first_line.replace("is slower than", "is faster than"),
                false => "B is slower than A.".to_owned(),
            };
        }),
        ("CPUs of the screen", &|run| run.cpus.push("0,9".parse().unwrap())),
        ("together", &|run| {
            let together = run.document["compared"]["together"].as_array_mut().unwrap();
            together.iter_mut().for_each(|row| row["shift_percent"] = 55.0.into());
        }),
    ];
    let mut found = BTreeMap::new();
    let many = cases::comparisons(&Tool::new()).pop().map(|mut run| {
        assert_eq!(untrue(&run), None, "{:?}", run.words);
        scale(&mut run.document["overview"][0]["groups"][0]["median"], 1.01);
        untrue(&run).is_some()
    });
    assert_eq!(many, Some(true));
    for mut run in cases::comparisons(&Tool::new()).into_iter().take(3) {
        for (kind, plant) in &plants {
            assert_eq!(untrue(&run), None, "{:?}", run.words);
            let kept = (run.document.clone(), run.first_line.clone(), run.cpus.clone());
            plant(&mut run);
            if (&run.document, &run.first_line, &run.cpus) != (&kept.0, &kept.1, &kept.2) {
                assert!(untrue(&run).is_some(), "{kind}: {:?}", run.words);
                *found.entry(*kind).or_insert(0) += 1;
            }
            (run.document, run.first_line, run.cpus) = kept;
        }
    }
    println!("{found:?}");
    assert!(found.len() >= 12, "{found:?}");
}
