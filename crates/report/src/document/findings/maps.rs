//! Findings of maps, from the same [`MapFinding`] and [`TailFinding`] as the first line of the screen.

use super::{RunFindingDoc, SubjectDoc, cpus, number};
use crate::document::ValueDoc;
use crate::document::significant;
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::finding::{MapFinding, MapShape, PairGroup, TailFinding};
use coretalk_model::run::RunReport;
use coretalk_model::stats::Estimate;

impl RunFindingDoc {
    pub(super) fn of_maps(report: &RunReport) -> Vec<RunFindingDoc> {
        let found = report.maps().iter().filter_map(|map| {
            Some(RunFindingDoc::of_map(map, &MapFinding::find(map, report.watch(), &report.topology)?))
        });
        let tail = report.latencies().and_then(|result| TailFinding::find(&result.tails));
        found.flatten().chain(tail.map(RunFindingDoc::of_tail)).collect()
    }

    fn of_map(map: &LatencyMap, finding: &MapFinding) -> Vec<RunFindingDoc> {
        let verdict = match finding.shape {
            MapShape::Kinds { .. } => "kinds",
            MapShape::OneLevel => "one-level",
            MapShape::Spread => "spread",
            MapShape::NearAndFarAlike => "alike",
            MapShape::Levels { .. } => "different",
        };
        let doubt = match finding {
            MapFinding { levels: Some(_), .. } => Some("moving-levels"),
            MapFinding { is_doubtful: true, .. } => Some("most-pairs-doubtful"),
            _ => None,
        };
        let kernel = || [("kernel".to_owned(), ValueDoc::Text(map.kernel.to_string().into()))].into();
        let new = |kind, verdict| RunFindingDoc {
            condition: kernel(),
            unit: "ns".to_owned(),
            ..RunFindingDoc::new(kind, "latency", "half_round_trip", verdict)
        };
        let moving = finding.levels.map(|levels| {
            let level = |name, value: &Estimate| {
                SubjectDoc { standing: Some(name), ..SubjectDoc::default() }.with(value)
            };
            RunFindingDoc {
                placement: levels.pair.map(|pair| cpus(&pair)),
                subjects: vec![
                    level("usual", &levels.usual),
                    level("slowest", &levels.planned),
                    level("fastest", &levels.fastest),
                ],
                ..new("moving-levels", "different")
            }
        });
        let subjects = finding.groups.iter().chain(&finding.siblings).map(SubjectDoc::of_pairs).collect();
        let levels = RunFindingDoc { subjects, doubt, ..new("levels", verdict) };
        moving.into_iter().chain([levels]).collect()
    }

    fn of_tail(tail: TailFinding) -> RunFindingDoc {
        let hop = |standing, pair, ns, events: Option<u64>| SubjectDoc {
            placement: Some(cpus(pair)),
            value: significant(ns),
            standing: Some(standing),
            parameters: number("events", events.map(|events| events as f64)),
            ..SubjectDoc::default()
        };
        RunFindingDoc {
            unit: "ns".to_owned(),
            subjects: vec![
                hop("p99.9", &tail.pair, tail.p99_9_ns, Some(tail.beyond)),
                hop("slowest", &tail.slowest_pair, tail.slowest_ns, Some(1)),
            ],
            ..RunFindingDoc::new("tail", "latency", "net", "different")
        }
    }
}

impl SubjectDoc {
    fn of_pairs(group: &PairGroup) -> SubjectDoc {
        let classes = group.classes.iter().flatten().zip(["class", "other_class"]);
        SubjectDoc {
            name: Some(group.relation.name().to_owned()),
            parameters: classes
                .map(|(class, key)| (key.to_owned(), ValueDoc::Text(class.clone().into())))
                .collect(),
            value: significant(group.median_ns),
            ..SubjectDoc::default()
        }
    }
}
