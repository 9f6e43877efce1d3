//! The sentences of screens against their tables, their documents, and the truth of simulated machines.
//!
//! A reader takes a screen apart and understands each sentence that holds a number by a pattern (`said`); a sentence that
//! no pattern reads is an error, so that a new one has to be taught to it. Each claim is held against what else the
//! screen prints, against the JSON document of the same run, and against what the scenario is in truth. That
//! contradictions are found is tested by planting them (`plants`).

mod cases;
mod noiseless;
mod page;
mod plants;
mod reader;
mod run;
mod said;
mod shown;

use reader::{Wrong, read};
use run::Run;
use std::collections::BTreeSet;

/// A contradiction that is known, until it is mended.
struct Known {
    /// Of claims of this kind …
    claim: &'static str,
    /// … those whose text holds this …
    holds: &'static str,
    /// … and that stand on some of these screens.
    on: &'static str,
}

const fn known(claim: &'static str, holds: &'static str, on: &'static str) -> Known {
    Known { claim, holds, on }
}

/// What is known to be false today. An entry that no longer stands for anything fails its test: take it out.
const KNOWN: &[Known] = &[
    // Groups of which one has a single CPU, and groups of groups of which one has a single group, are not inferred.
    known("structure left out", "From the latencies alone", "first screens"),
    // Intervals are judged in cycles of the core; in nanoseconds a few are wider than the legend says.
    known("precision in ns", "at 95 %", "first screens"),
    known("nothing at all", "map", "maps"),
    known("nothing at all", "least 0.00", "maps"),
    // A busy neighbour is told as a state of the machine.
    known("state of noise", "The pair that changed most", "maps"),
    // A suite tells the median of the medians of passes, where all else tells that of all events.
    known("another median", "same L3", "suite"),
    known("another median", "until the last", "suite"),
];

/// Fails where something on some screens is wrong and not known, or where what is known has been mended.
fn judge(screens: &str, runs: &[Run]) {
    let mut unknown = Vec::new();
    let mut met = BTreeSet::new();
    let mut held = 0;
    for run in runs {
        let (wrong, checked) = read(run);
        held += checked;
        assert!(checked > 0, "nothing was held of {:?}:\n{}", run.words, run.screen);
        for Wrong { claim, text, why } in wrong.into_iter().chain(noiseless::untrue(run)) {
            let of = KNOWN.iter().position(|known| known.claim == claim && text.contains(known.holds));
            match of {
                Some(known) => {
                    met.insert(known);
                }
                None => unknown.push(format!("{:?}\n  {claim}: `{text}`: {why}", run.words)),
            }
        }
    }
    println!("{held} claims of {} screens", runs.len());
    assert!(unknown.is_empty(), "{} contradictions:\n{}", unknown.len(), unknown.join("\n"));
    for (index, known) in KNOWN.iter().enumerate().filter(|(_, known)| known.on == screens) {
        assert!(met.contains(&index), "{}: `{}` is mended: take it out of KNOWN", known.claim, known.holds);
    }
}
