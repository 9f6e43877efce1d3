//! Checks of screens against their JSON documents. Tests of `model` and `measure` compare documents with machines.
//!
//! Every number of a screen is recomputed from its source in the document (`sources`, `fields`, `maps`) and parsed from its
//! text (`texts`, `printed`). Findings are recomputed from results (`findings`); CPU sets and words are compared with the
//! document (`words`, `rows`, `first_lines`, `place`). Planted faults in all of these must be found (`plants`, `faults`).

mod cases;
mod faults;
mod fields;
mod findings;
mod first_lines;
mod maps;
mod place;
mod plants;
mod printed;
mod rows;
mod run;
mod sources;
mod texts;
mod words;

use run::{Run, list};

fn untrue(run: &Run) -> Vec<String> {
    let values =
        run.values.iter().filter_map(|value| Some(format!("{}: {value:?}", sources::wrong(run, value)?)));
    let cells = run
        .cells
        .iter()
        .filter_map(|(unit, number)| Some(format!("{}: {number:?}", maps::wrong_in_map(run, unit, number)?)));
    let findings = list(&run.document["findings"]).iter();
    let findings = findings.filter_map(|one| Some(format!("{}: {one}", findings::untrue(run, one)?)));
    let words = [rows::untrue, place::unprinted, words::untrue].into_iter().flat_map(|check| check(run));
    values.chain(cells).chain(findings).chain(words).chain(first_lines::untrue(run)).collect()
}

/// Fails if a screen has an error, or if a planted fault is not found. `kinds` is the minimum number of different
/// combinations of a kind of fault and a kind of source.
fn judge(runs: &[Run], kinds: usize) {
    let all: Vec<String> = runs
        .iter()
        .flat_map(|run| untrue(run).into_iter().map(|why| format!("{:?}\n  {why}", run.words)))
        .collect();
    assert!(all.is_empty(), "{} contradictions:\n{}", all.len(), all.join("\n"));
    let planted = plants::planted(runs);
    let counts: Vec<(&String, usize, usize)> =
        planted.iter().map(|(kind, (found, missed))| (kind, *found, missed.len())).collect();
    println!("faults of {} kinds (found, missed): {counts:?}", counts.len());
    assert!(planted.len() >= kinds, "{} kinds: {counts:?}", planted.len());
    // A changed number may equal another one after rounding. A kind with fewer than 100 faults must be found completely.
    for (kind, (found, missed)) in &planted {
        assert!(missed.len() * 100 <= *found, "{kind}: {found} found, missed:\n{}", missed.join("\n"));
    }
}
