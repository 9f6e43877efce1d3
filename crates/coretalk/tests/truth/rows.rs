//! Checks of words against fields of the document: verdicts and levels in rows of tables, CPU sets in the boxes of a
//! topology, and numbers of findings of `doctor`.

use super::fields::path_of;
use super::run::{Run, list, relation};
use coretalk_model::Scope;
use coretalk_report::blocks::Cell;
use coretalk_report::blocks::value::{Arg, Number, Sentence};
use coretalk_report::fmt;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The words of a cell for each verdict of a difference and of a reported level.
const VERDICTS: [(&str, &str, &[&str]); 9] = [
    ("/differences/", "faster", &["FASTER"]),
    ("/differences/", "slower", &["SLOWER"]),
    ("/differences/", "same", &["same"]),
    ("/differences/", "cannot-tell", &["cannot tell"]),
    ("/topology/agreement/", "agree", &["agree"]),
    ("/topology/agreement/", "coarser", &["show unreported groups"]),
    ("/topology/agreement/", "finer", &["show ", "are higher inside"]),
    ("/topology/agreement/", "not-visible", &["neither confirm", "are higher inside"]),
    ("/topology/agreement/", "conflict", &["CONFLICT"]),
];

/// The object of the document with the numbers of a row, and its path.
fn object<'a>(run: &'a Run, row: &'a [Cell]) -> Option<(&'a str, &'a Value)> {
    let path = row.iter().flat_map(Cell::values).find_map(|value| path_of(&value.source))?;
    let length = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let of_rows = ["/differences/", "/topology/agreement/", "/ladder/"];
    let start = of_rows.into_iter().find(|start| path.starts_with(start))?;
    let object = &path[..length.into_iter().find(|at| *at > start.len())?];
    Some((object, run.document.pointer(object)?))
}

fn untrue_row(run: &Run, row: &[Cell]) -> Option<String> {
    let (path, object) = object(run, row)?;
    let cells: Vec<String> = row.iter().map(fmt::cell).collect();
    let verdict =
        VERDICTS.iter().find(|(start, name, _)| path.starts_with(start) && object["verdict"] == *name);
    let is_stated = |begin: &&str| cells.last().is_some_and(|cell| cell.starts_with(begin));
    if verdict.map_or(!path.starts_with("/ladder/"), |(.., begins)| !begins.iter().any(is_stated)) {
        return Some(format!("the verdict in {cells:?} is not that of {object}"));
    }
    let name = object["level"].as_str().or_else(|| object["relation"].as_str())?;
    let words = |arg: fn(Scope) -> Arg, relation| {
        let scope = Scope::from_relation(relation, &run.reported);
        fmt::sentence(&Sentence::new("{level}").with("level", arg(scope)))
    };
    let relation = relation(&name.into()).filter(|_| !path.starts_with("/topology/"));
    // Rows of kinds of cores have the names of both kinds.
    let classes = ["/classes/0", "/classes/1"].map(|at| object.pointer(at).and_then(Value::as_str));
    let names = match (classes, relation) {
        ([Some(one), Some(other)], _) => vec![format!("{one}–{other}"), format!("{other}–{one}")],
        (_, Some(relation)) => vec![words(Arg::Shared, relation), words(Arg::Place, relation)],
        _ => vec![name.to_owned()],
    };
    let is_named = cells.iter().any(|cell| names.iter().any(|name| cell.contains(name)));
    (!is_named).then(|| format!("the level in {cells:?} is not {names:?}"))
}

/// A contradiction between the boxes of a topology and the reported groups. Cores have no boxes.
fn untrue_boxes(run: &Run) -> Option<String> {
    let titles = run.printed.split("┌ ").skip(1).filter_map(|rest| rest.split(" ─").next());
    // Levels with the same CPUs share a box.
    let parts = titles.filter_map(|title| title.split_once(" · "));
    let boxes: BTreeMap<_, _> = parts.map(|(names, cpus)| (cpus, names.split(" = ").count())).collect();
    let levels = list(&run.document["topology"]["reported"]["levels"]).iter();
    let groups = levels.filter(|level| level["level"] != "core").flat_map(|level| list(&level["groups"]));
    let mut reported = BTreeMap::new();
    for group in groups.filter_map(Value::as_str) {
        *reported.entry(group).or_insert(0) += 1;
    }
    let is_drawn = run.words[0] == "topology" && boxes != reported;
    is_drawn.then(|| format!("the boxes {boxes:?} are not {reported:?}"))
}

/// An error in the number of inferred levels: a screen names all, or none if all agree with the report.
fn unnamed_levels(run: &Run) -> Option<String> {
    const PREFIX: &str = "/topology/inferred/levels/";
    let paths = run.values.iter().filter_map(|(_, value)| path_of(&value.source));
    let named: BTreeSet<&str> =
        paths.filter_map(|path| path.strip_prefix(PREFIX)?.strip_suffix("/groups")).collect();
    let all = list(&run.document["topology"]["inferred"]["levels"]).len();
    let is_asked = run.words[0] == "topology" || !named.is_empty();
    (is_asked && named.len() != all).then(|| format!("the screen names the levels {named:?} of {all}"))
}

/// The number of findings of `doctor` with one of these verdicts.
fn findings(run: &Run, verdicts: &[&str]) -> usize {
    let all = list(&run.document["environment"]["doctor"]).iter();
    all.filter(|finding| verdicts.iter().any(|verdict| finding["verdict"] == *verdict)).count()
}

/// An error in the numbers of findings of a screen of `doctor` or of the first doubt of a run.
fn untrue_counts(run: &Run) -> Option<String> {
    if let Some(more) = run.sentences.iter().find(|sentence| sentence.template == " · {more} more") {
        // One finding (a simulated machine) is in the title, and one in the sentence.
        let expected = findings(run, &["warn", "fail"]).saturating_sub(2);
        let is_right = more.values().iter().all(|value| value.number == Number::Count(expected as u64));
        return (!is_right).then(|| format!("there are {expected} more findings"));
    }
    let words = [("fail", "failure"), ("warn", "warning"), ("cannot-tell", "unknown"), ("ok", "OK")];
    let summary = run.printed.rsplit("\n\n").next().filter(|_| run.words[0] == "doctor")?;
    let differs = |(verdict, word): &(&str, &str)| match findings(run, &[verdict]) {
        0 => summary.contains(word),
        count => !summary.contains(&format!(" {count} {word}")),
    };
    words.iter().any(differs).then(|| format!("other counts than the findings have: {summary}"))
}

pub fn untrue(run: &Run) -> Vec<String> {
    let rows = run.rows.iter().filter_map(|row| untrue_row(run, row));
    rows.chain(untrue_boxes(run)).chain(unnamed_levels(run)).chain(untrue_counts(run)).collect()
}
