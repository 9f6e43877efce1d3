//! The sentences and numbers of screens against their documents, and against the truth of simulated machines.
//!
//! Every block of a screen is typed: its numbers are recomputed from their sources (`sources`, `maps`) and read back from
//! their text (`texts`); findings are recomputed from the results (`findings`), and sets of CPUs and words from the document
//! and the machine (`words`). Changed numbers, sets, words and findings have to be found (`plants`).

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
mod run;
mod sources;
mod structure;
mod texts;
mod values;
mod words;

use run::{Run, Wrong, list};

/// Fails where something on some screens is wrong.
fn judge(runs: &[Run]) {
    let mut all = Vec::new();
    for run in runs {
        let mut add = |why: String| all.push(format!("{:?}\n  {why}", run.words));
        for value in &run.values {
            sources::wrong(run, value).into_iter().for_each(|why| add(format!("{why}: {value:?}")));
        }
        for (unit, number) in &run.cells {
            let why = maps::wrong_in_map(run, unit, number);
            why.into_iter().for_each(|why| add(format!("{why}: {number:?}")));
        }
        for finding in list(&run.document["findings"]) {
            let why = findings::untrue(run, finding);
            why.into_iter().for_each(|why| add(format!("{why}: {finding}")));
        }
        structure::untrue(run).into_iter().for_each(&mut add);
        place::untrue(run).into_iter().for_each(&mut add);
        let asked = advised::untrue(run).into_iter().chain(compared::untrue(run));
        asked.for_each(|why| add(why.to_owned()));
        let said =
            noiseless::untrue(run).into_iter().chain(first_lines::untrue(run)).chain(words::untrue(run));
        said.for_each(|Wrong { claim, text, why }| add(format!("{claim}: `{text}`: {why}")));
        assert!(!run.values.is_empty(), "{:?} has no number", run.words);
    }
    println!("{} numbers of {} screens", runs.iter().map(|run| run.values.len()).sum::<usize>(), runs.len());
    assert!(all.is_empty(), "{} contradictions:\n{}", all.len(), all.join("\n"));
}
