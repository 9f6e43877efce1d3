//! Checks of findings against the series and matrices of the same document: numbers, and the order, standings, verdict
//! and completeness of rankings.

use super::maps::has_flag;
use super::run::{Run, cpus, ends_of, list, relation};
use super::sources::{is_near, recomputed};
use coretalk_model::CpuId;
use coretalk_model::stats::median;
use coretalk_report::blocks::value::{MapSource, Source, Statistic};
use serde_json::Value;

/// A result that satisfies the condition of a ranking.
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

/// The results with an interval that satisfy the condition of a finding and have no excluding flag.
fn known<'a>(run: &'a Run, finding: &Value) -> Vec<Known<'a>> {
    let quantity = finding["quantity"].as_str().unwrap();
    let placement = cpus(&finding["placement"]);
    let is_at_placement = |cpus: &[CpuId]| match (&placement[..], cpus) {
        ([], _) => true,
        (&[a, b], &[from, to]) => run.reported.relation(a, b) == run.reported.relation(from, to),
        (placement, cpus) => placement == cpus,
    };
    let meets_condition = |parameters: &Value| {
        finding["condition"].as_object().unwrap().iter().all(|(name, value)| parameters[name] == *value)
    };
    const EXCLUDED: [&str; 4] = ["invalid", "lost-updates", "shared-spin", "unclaimed"];
    let result = |parameters: &'a Value, flagged: &Value, value: &Value, ends: &Value| {
        let ends = [ends[0].as_f64()?, ends[1].as_f64()?];
        (!has_flag(flagged, &EXCLUDED)).then_some(Known { parameters, value: value.as_f64()?, ends })
    };
    let mut all = Vec::new();
    for one in list(&run.document["series"]).iter().filter(|one| one["probe"] == finding["probe"]) {
        let parameters = &one["parameters"];
        if meets_condition(parameters) && is_at_placement(&cpus(&one["placement"])) {
            all.extend(match parameters["view"] == quantity {
                true => result(parameters, one, &one["percentiles"]["50"], &one["intervals"]["median_ns"]),
                false => result(parameters, one, &one["values"][quantity], &one["intervals"][quantity]),
            });
        }
    }
    for map in list(&run.document["matrices"]).iter().filter(|map| map["probe"] == finding["probe"]) {
        let cells = list(&map["cells"]).iter().filter(|_| meets_condition(&map["parameters"]));
        let cells = cells.filter(|cell| is_at_placement(&ends_of(cell)));
        all.extend(cells.filter_map(|cell| result(&map["parameters"], cell, &cell["median"], &cell["ci"])));
    }
    all
}

/// An error in the levels of a map, each of which has the median of its pairs.
fn untrue_levels(run: &Run, finding: &Value) -> Option<&'static str> {
    let text = |text: &Value| text.as_str().unwrap_or_default().to_owned();
    let has_median_of_pairs = |subject: &Value| {
        let relation = relation(&subject["name"])?;
        let classes = ["class", "other_class"].map(|key| text(&subject["parameters"][key]));
        let source = Source::Pairs {
            map: MapSource::Kernel(text(&finding["condition"]["kernel"])),
            relation,
            classes: Some(classes).filter(|[one, _]| !one.is_empty()),
            statistic: Statistic::Percentile(0.5),
        };
        Some(is_near(recomputed(run, &source)?, subject["value"].as_f64()?))
    };
    let mut all = list(&finding["subjects"]).iter();
    (!all.all(|subject| has_median_of_pairs(subject) == Some(true)))
        .then_some("a level is not that of its pairs")
}

/// An error in the numbers of a finding, each of which is that of a trial with the same parameters.
fn untrue_trials(run: &Run, finding: &Value) -> Option<&'static str> {
    let is_measured = |subject: &Value| {
        let is_of_subject = |one: &&Value| {
            let mut required = subject["parameters"].as_object().unwrap().iter();
            one["probe"] == finding["probe"]
                && required.all(|(name, value)| one["parameters"][name] == *value)
        };
        let numbers = |one: &Value| {
            let of_values = &one["values"][finding["quantity"].as_str().unwrap()];
            [of_values, &one["percentiles"]["50"]].map(Value::as_f64)
        };
        let value = subject["value"].as_f64();
        let found = list(&run.document["series"]).iter().filter(is_of_subject).flat_map(numbers);
        value.is_none_or(|value| found.flatten().any(|number| is_near(number, value)))
    };
    (!list(&finding["subjects"]).iter().all(is_measured)).then_some("a number is that of no trial")
}

pub fn untrue(run: &Run, finding: &Value) -> Option<&'static str> {
    match finding["kind"].as_str()? {
        _ if !finding["doubt"].is_null() => None,
        "ranking" => untrue_ranking(run, finding),
        "levels" => untrue_levels(run, finding),
        "padding" | "idle-gaps" | "noise" | "batches" | "rate-limit" => untrue_trials(run, finding),
        _ => None,
    }
}

fn untrue_ranking(run: &Run, finding: &Value) -> Option<&'static str> {
    let all = known(run, finding);
    let subjects = list(&finding["subjects"]);
    let end = |subject: &Value, end: usize| subject["ci"][end].as_f64().unwrap();
    let name = |subject: &Value| subject["name"].as_str().unwrap_or_default().to_owned();
    if all.iter().any(|known| !subjects.iter().any(|subject| known.is_of(&name(subject)))) {
        return Some("a result is missing");
    }
    let sign = if finding["unit"].as_str().unwrap().ends_with("/s") { -1.0 } else { 1.0 };
    let mut ranked = Vec::new();
    for subject in subjects.iter().filter(|subject| !subject["value"].is_null()) {
        let value = subject["value"].as_f64().unwrap();
        let results: Vec<&Known<'_>> = all.iter().filter(|known| known.is_of(&name(subject))).collect();
        let values: Vec<f64> = results.iter().map(|known| known.value).collect();
        let is_right = match results[..] {
            [one] => {
                let shown = [value, end(subject, 0), end(subject, 1)];
                let mut pairs = [one.value, one.ends[0], one.ends[1]].into_iter().zip(shown);
                pairs.all(|(one, shown)| is_near(one, shown))
            }
            // The number is that of the pairs common to all subjects, so it is in the range of the subject's pairs.
            _ => {
                median(&values).is_some_and(|typical| is_near(typical, value))
                    || values.iter().any(|one| *one <= value) && values.iter().any(|one| *one >= value)
            }
        };
        if !is_right {
            return Some("a number is not that of its subject");
        }
        ranked.push((sign * value, subject));
    }
    if !ranked.is_sorted_by(|one, other| one.0 <= other.0) {
        return Some("the order is another");
    }
    let (Some((_, first)), Some((_, last))) = (ranked.first(), ranked.last()) else { return None };
    let overlaps = |one: &Value, other: &Value| end(one, 0) <= end(other, 1) && end(other, 0) <= end(one, 1);
    let standing = |subject: &Value| subject["standing"].as_str().unwrap_or_default().to_owned();
    let is_consistent = match finding["verdict"].as_str().unwrap() {
        "single" => ranked.len() == 1,
        "alike" => ranked.iter().all(|(_, subject)| ranked.iter().all(|(_, other)| overlaps(subject, other))),
        "ordered" => {
            ranked.iter().enumerate().all(|(index, (_, subject))| match standing(subject).as_str() {
                "best" => index == 0,
                "like-best" => overlaps(subject, first),
                "worst" => index + 1 == ranked.len() && !overlaps(subject, first),
                "like-worst" => overlaps(subject, last),
                _ => !overlaps(subject, first),
            })
        }
        _ => subjects.iter().filter(|subject| standing(subject) == "may-be-best").count() > 1,
    };
    (!is_consistent).then_some("a standing or the verdict is another")
}
