//! Checks of the words of the first line against the finding or the verdicts in the document.

use super::run::{Run, list};
use serde_json::Value;

/// A contradiction between the first line of a comparison and its verdicts.
fn untrue_verdict(run: &Run) -> Option<String> {
    let compared = run.document.get("compared").filter(|compared| !compared.is_null())?;
    let levels: Vec<&Value> = match list(&compared["together"]) {
        [] => list(&run.document["differences"]).iter().filter(|row| row["cell"].is_null()).collect(),
        all => all.iter().collect(),
    };
    let verdicts =
        [("is slower than", "slower"), ("is faster than", "faster"), ("Cannot tell", "cannot-tell")];
    let is_other = |(words, verdict): &(&str, &str)| {
        run.first_line.contains(words) != levels.iter().any(|row| row["verdict"] == *verdict)
    };
    verdicts.iter().any(is_other).then(|| format!("first line `{}` of another verdict", run.first_line))
}

pub fn untrue(run: &Run) -> Option<String> {
    let [finding] = list(&run.document["findings"]) else { return untrue_verdict(run) };
    let (line, verdict) = (&run.first_line, finding["verdict"].as_str().unwrap_or_default());
    let subjects = list(&finding["subjects"]);
    let standing =
        |name: &str| subjects.iter().filter(|one| one["standing"] == name).collect::<Vec<&Value>>();
    let position = |of_standing: &str| {
        let name = standing(of_standing).first().and_then(|one| one["name"].as_str())?;
        Some(line.find(&format!("{name} is ")))
    };
    let is_named = match (finding["kind"].as_str().unwrap_or_default(), verdict) {
        _ if line.is_empty() => return None,
        ("ranking", "ordered") => match (position("best"), position("worst")) {
            (Some(best), Some(worst)) => best.is_some() && best < worst,
            (best, _) => best.flatten().is_some(),
        },
        ("ranking", "alike") => line.contains(" are alike within their intervals"),
        ("ranking", "cannot-tell") => line.contains("cannot tell"),
        ("noise", "lossy" | "stalled") => {
            let cpus =
                ["use", "avoid"].into_iter().flat_map(standing).map(|one| one["placement"][0].to_string());
            let words: Vec<&str> = line.split([' ', ',', ':']).collect();
            // Only the first of many CPUs are named.
            subjects.len() > 8 || cpus.into_iter().all(|cpu| words.contains(&cpu.as_str()))
        }
        _ => true,
    };
    (!is_named).then(|| format!("first line `{line}` names other subjects than {finding}"))
}
