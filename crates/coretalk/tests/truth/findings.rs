//! Rankings, recomputed from the series and matrices of the same document: their numbers, order, standings and verdict,
//! and that no result under their condition is missing.

use super::run::{Run, list};
use super::sources::is_near;
use crate::cli::tool::Tool;
use coretalk_model::CpuId;
use coretalk_model::stats::median;
use serde_json::Value;
use std::collections::BTreeSet;

/// A result under the condition of a ranking.
struct Known<'a> {
    parameters: &'a Value,
    value: f64,
    ends: [f64; 2],
}

impl Known<'_> {
    /// Whether every part of the name of a subject is a parameter.
    fn is_of(&self, subject: &str) -> bool {
        let is_parameter = |part: &str| {
            let mut all = self.parameters.as_object().unwrap().iter();
            all.any(|(name, value)| match value.as_str() {
                Some(text) => text == part,
                None => part == format!("{name} {}", value.as_f64().unwrap_or_default()),
            })
        };
        subject.is_empty() || subject.split(" : ").all(is_parameter)
    }
}

/// Results with an interval under the condition of a finding that no flag excludes.
fn known<'a>(run: &'a Run, finding: &Value) -> Vec<Known<'a>> {
    let quantity = finding["quantity"].as_str().unwrap();
    let cpus = |list_of: &Value| list(list_of).iter().filter_map(Value::as_u64).collect::<Vec<_>>();
    let wanted = cpus(&finding["placement"]);
    let is_there = |cpus: &[u64]| match (&wanted[..], cpus) {
        ([], _) => true,
        (&[a, b], &[from, to]) => {
            let relation =
                |one: u64, other: u64| run.reported.relation(CpuId(one as u32), CpuId(other as u32));
            relation(a, b) == relation(from, to)
        }
        (wanted, cpus) => wanted == cpus,
    };
    let is_under = |parameters: &Value| {
        finding["condition"].as_object().unwrap().iter().all(|(name, value)| parameters[name] == *value)
    };
    let is_excluded = |of: &Value| {
        let excluded = ["invalid", "lost-updates", "shared-spin", "unclaimed"];
        list(&of["flags"]).iter().any(|flag| excluded.iter().any(|name| flag == name))
    };
    let result = |parameters: &'a Value, of: &Value, value: &Value, ends: &Value| {
        let ends = [ends[0].as_f64()?, ends[1].as_f64()?];
        (!is_excluded(of)).then_some(Known { parameters, value: value.as_f64()?, ends })
    };
    let mut all = Vec::new();
    for one in list(&run.document["series"]).iter().filter(|one| one["probe"] == finding["probe"]) {
        let parameters = &one["parameters"];
        if is_under(parameters) && is_there(&cpus(&one["placement"])) {
            all.extend(match parameters["view"] == quantity {
                true => result(parameters, one, &one["percentiles"]["50"], &one["intervals"]["median_ns"]),
                false => result(parameters, one, &one["values"][quantity], &one["intervals"][quantity]),
            });
        }
    }
    for map in list(&run.document["matrices"]).iter().filter(|map| map["probe"] == finding["probe"]) {
        let cells = list(&map["cells"]).iter().filter(|_| is_under(&map["parameters"]));
        let cells = cells.filter(|cell| is_there(&["from", "to"].map(|end| cell[end].as_u64().unwrap())));
        all.extend(cells.filter_map(|cell| result(&map["parameters"], cell, &cell["median"], &cell["ci"])));
    }
    all
}

/// What is wrong with a ranking; nothing with findings of other kinds. At several levels its numbers are those of one.
pub fn untrue(run: &Run, finding: &Value) -> Option<&'static str> {
    if finding["kind"] != "ranking" || !finding["doubt"].is_null() {
        return None;
    }
    let all = known(run, finding);
    let subjects = list(&finding["subjects"]);
    let name = |subject: &Value| subject["name"].as_str().unwrap_or_default().to_owned();
    if all.iter().any(|known| !subjects.iter().any(|subject| known.is_of(&name(subject)))) {
        return Some("a result is missing");
    }
    let sign = if finding["unit"].as_str().unwrap().ends_with("/s") { -1.0 } else { 1.0 };
    let mut ranked = Vec::new();
    for subject in subjects.iter().filter(|subject| !subject["value"].is_null()) {
        let value = subject["value"].as_f64().unwrap();
        let of: Vec<&Known<'_>> = all.iter().filter(|known| known.is_of(&name(subject))).collect();
        let values: Vec<f64> = of.iter().map(|known| known.value).collect();
        let is_its = match of[..] {
            [one] => {
                let ends = [0, 1].map(|end| subject["ci"][end].as_f64().unwrap());
                is_near(one.value, value) && is_near(one.ends[0], ends[0]) && is_near(one.ends[1], ends[1])
            }
            // Subjects are compared between the pairs that all of them have.
            _ => {
                median(&values).is_some_and(|typical| is_near(typical, value))
                    || values.iter().any(|one| *one <= value) && values.iter().any(|one| *one >= value)
            }
        };
        if !is_its {
            return Some("a number is not that of its subject");
        }
        ranked.push((sign * value, subject));
    }
    if !ranked.is_sorted_by(|one, other| one.0 <= other.0) {
        return Some("the order is another");
    }
    let (Some((_, first)), Some((_, last))) = (ranked.first(), ranked.last()) else { return None };
    let overlaps = |one: &Value, other: &Value| {
        let end = |of: &Value, end: usize| of["ci"][end].as_f64().unwrap();
        end(one, 0) <= end(other, 1) && end(other, 0) <= end(one, 1)
    };
    let standing = |of: &Value| of["standing"].as_str().unwrap_or_default().to_owned();
    let has_standing = match finding["verdict"].as_str().unwrap() {
        "single" => ranked.len() == 1,
        "alike" => ranked.iter().all(|(_, of)| ranked.iter().all(|(_, other)| overlaps(of, other))),
        "ordered" => ranked.iter().enumerate().all(|(index, (_, of))| match standing(of).as_str() {
            "best" => index == 0,
            "like-best" => overlaps(of, first),
            "worst" => index + 1 == ranked.len() && !overlaps(of, first),
            "like-worst" => overlaps(of, last),
            _ => !overlaps(of, first),
        }),
        _ => subjects.iter().filter(|of| standing(of) == "may-be-best").count() > 1,
    };
    (!has_standing).then_some("a standing or the verdict is another")
}

/// Each fault planted in a ranking is found.
#[test]
fn a_ranking_that_is_changed_is_found() {
    let tool = Tool::new();
    let mut kinds = BTreeSet::new();
    for (index, words) in [
        &["queue", "--cpus", "0,1,8", "--budget", "4s"][..],
        &["wait", "--cpus", "0,8", "--budget", "4s"],
        &["spawn", "--budget", "4s"],
        &["contend", "--cpus", "0-3", "--budget", "4s"],
    ]
    .into_iter()
    .enumerate()
    {
        let words = [words, &["--seed", "1"]].concat();
        let run = Run::of(&tool, "chiplet-16", &words, &format!("ranked-{index}"));
        let finding = &run.document["findings"][0];
        assert_eq!((&finding["kind"], untrue(&run, finding)), (&"ranking".into(), None), "{words:?}");
        let mut plant = |kind: &'static str, change: &dyn Fn(&mut Value)| {
            let mut changed = finding.clone();
            change(&mut changed);
            if changed != *finding {
                assert!(untrue(&run, &changed).is_some(), "{kind}: {words:?}");
                kinds.insert(kind);
            }
        };
        plant("order", &|of| of["subjects"].as_array_mut().unwrap().swap(0, 1));
        plant("missing result", &|of| drop(of["subjects"].as_array_mut().unwrap().remove(1)));
        plant("value", &|of| of["subjects"][0]["value"] = (1e-9).into());
        // Over several pairs it is that of the typical one.
        if index > 0 {
            plant("interval", &|of| of["subjects"][0]["ci"][1] = 1e12.into());
        }
        plant("name", &|of| {
            let other = of["subjects"][1]["name"].clone();
            of["subjects"][0]["name"] = other;
        });
        plant("standing", &|of| of["subjects"][1]["standing"] = "best".into());
        plant("verdict", &|of| of["verdict"] = "alike".into());
        plant("condition", &|of| {
            of["condition"].as_object_mut().unwrap().values_mut().for_each(|value| *value = (-1.0).into());
        });
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}
