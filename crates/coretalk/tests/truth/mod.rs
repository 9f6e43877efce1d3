//! The sentences of screens against their tables, their documents, and the truth of simulated machines.
//!
//! A reader takes a screen apart and understands each sentence that holds a number by a pattern (`said`); a sentence that
//! no pattern reads is an error, so that a new one has to be taught to it. Each claim is held against what else the
//! screen prints, against the JSON document of the same run, and against what the scenario is in truth. That
//! contradictions are found is tested by planting them (`plants`).

mod cases;
mod findings;
mod first_lines;
mod noiseless;
mod page;
mod plants;
mod printed;
mod reader;
mod run;
mod said;
mod sources;
mod texts;
mod values;

use reader::{Wrong, read};
use run::{Run, list};

/// Fails where something on some screens is wrong.
fn judge(runs: &[Run]) {
    let mut all = Vec::new();
    let mut held = 0;
    for run in runs {
        let (wrong, checked) = read(run);
        held += checked;
        for value in &run.values {
            all.extend(sources::wrong(run, value).map(|why| format!("{:?}\n  {why}: {value:?}", run.words)));
        }
        for (unit, cell) in &run.cells {
            let why = sources::wrong_in_map(run, unit, cell);
            all.extend(why.map(|why| format!("{:?}\n  {why}: {cell:?}", run.words)));
        }
        for finding in list(&run.document["findings"]) {
            all.extend(
                findings::untrue(run, finding).map(|why| format!("{:?}\n  {why}: {finding}", run.words)),
            );
        }
        assert!(checked + run.values.len() > 0, "nothing was held of {:?}:\n{}", run.words, run.screen);
        for Wrong { claim, text, why } in
            wrong.into_iter().chain(noiseless::untrue(run)).chain(first_lines::untrue(run))
        {
            all.push(format!("{:?}\n  {claim}: `{text}`: {why}", run.words));
        }
    }
    println!("{held} claims of {} screens", runs.len());
    assert!(all.is_empty(), "{} contradictions:\n{}", all.len(), all.join("\n"));
}
