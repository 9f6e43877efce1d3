//! The sentences and numbers of screens against their documents, and against the truth of simulated machines.
//!
//! Every block of a screen is typed: its numbers are recomputed from their sources (`sources`, `maps`) and read back from
//! their text (`texts`); findings are recomputed from the results (`findings`), sets of CPUs and words are compared with
//! the document and the machine (`words`), and words next to numbers with the document (`rows`). Faults that are planted
//! in numbers, sets, words and findings have to be found (`plants`).

mod advised;
mod cases;
mod compared;
mod fields;
mod findings;
mod first_lines;
mod maps;
mod noiseless;
mod place;
mod plants;
mod printed;
mod rows;
mod run;
mod sources;
mod structure;
mod texts;
mod words;

use run::{Run, list};

/// Everything on a screen that is wrong.
fn untrue(run: &Run) -> Vec<String> {
    let values =
        run.values.iter().filter_map(|value| Some(format!("{}: {value:?}", sources::wrong(run, value)?)));
    let cells = run
        .cells
        .iter()
        .filter_map(|(unit, number)| Some(format!("{}: {number:?}", maps::wrong_in_map(run, unit, number)?)));
    let findings = list(&run.document["findings"]).iter();
    let findings = findings.filter_map(|one| Some(format!("{}: {one}", findings::untrue(run, one)?)));
    let checks = [
        structure::untrue,
        place::untrue,
        rows::untrue,
        advised::untrue,
        compared::untrue,
        noiseless::untrue,
        first_lines::untrue,
        words::untrue,
    ];
    values.chain(cells).chain(findings).chain(checks.iter().flat_map(|check| check(run))).collect()
}

/// Fails where something on some screens is wrong, or a fault that is planted in a number is not found. `kinds` is the
/// least number of kinds of faults, by their sources.
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
    // A change may give what another number rounds to; a kind with few faults has none to spare.
    for (kind, (found, missed)) in &planted {
        assert!(missed.len() * 100 <= *found, "{kind}: {found} found, missed:\n{}", missed.join("\n"));
    }
}
