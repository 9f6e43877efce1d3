//! `compare`: two runs or files against each other, or many in one table.

use super::args::{CompareArgs, FailOnWord, FormatWord, Global};
use super::output::{self, Out};
use super::resolve::{self, Identity, Talk};
use super::source::Source;
use crate::document::{Compared, ComparedSideDoc, Document, MismatchDoc};
use crate::exit::{ExitCode, Failure};
use crate::report::compare::{CompareView, SideView, markdown, screen};
use crate::report::overview;
use coretalk_model::compare::{
    Comparison, LeastEffect, Levels, Mismatch, Verdict, Weight, compare, mismatches, overview as tabulate,
};

/// Compares.
///
/// # Errors
/// Something cannot be read, or there is no sense in which it could be compared.
pub fn act(global: &Global, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let wish = resolve::wish(global);
    if !matches!(wish.format, FormatWord::Text | FormatWord::Markdown | FormatWord::Json) {
        return Err(Failure::Usage(format!(
            "`{}` holds no comparison; use text, markdown or json",
            output::format_name(wish.format)
        )));
    }
    let sources: Vec<Source> =
        args.sides.iter().map(|word| Source::open(global, word)).collect::<Result<_, Failure>>()?;
    match sources.as_slice() {
        [a, b] => two(global, args, a, b),
        many => table(global, args, many),
    }
}

fn two(global: &Global, args: &CompareArgs, a: &Source, b: &Source) -> Result<ExitCode, Failure> {
    let wish = resolve::wish(global);
    let (left, right) = (a.side(), b.side());
    let differing = mismatches(&left, &right);
    refuse(&differing, args.force)?;
    let least = args.min_effect.map_or(LeastEffect::DEFAULT, LeastEffect);
    let levels = Levels::between(&left, &right);
    let comparison = compare(&left, &right, &levels, least);
    if comparison.sheets.iter().all(|sheet| sheet.cells.is_empty()) {
        return Err(Failure::Usage(format!(
            "the two have no pair of CPUs in common: {} has CPUs {}, {} has CPUs {}",
            a.name(),
            a.cpus(),
            b.name(),
            b.cpus()
        )));
    }
    let view = CompareView {
        sides: [side(a), side(b)],
        mismatches: &differing,
        comparison: &comparison,
        levels: &levels,
        files: [a, b].iter().any(|source| matches!(source, Source::File(..))),
        least: least.0,
    };
    let mut out = Out::open(wish.output.as_deref())?;
    match wish.format {
        FormatWord::Markdown => out.text(&markdown(&view))?,
        FormatWord::Json => {
            let document = Document::of_comparison(compared(&view, wish.identity), &comparison);
            out.write(|out| Ok(document.write_to(out)?))?;
        }
        _ => out.text(&screen(&view, output::width(wish.output.as_deref())))?,
    }
    Ok(args.fail_on.map_or(ExitCode::Done, |what| judged(&comparison, what, wish.talk)))
}

fn side(source: &Source) -> SideView {
    SideView {
        name: source.name(),
        machine: source.machine(),
        started: source.started(),
        cpus: source.cpus().len(),
    }
}

fn described(side: &SideView, identity: Identity) -> ComparedSideDoc {
    ComparedSideDoc {
        // A run has a start, and its name is a part of its id.
        name: (side.started.is_some() || identity == Identity::Included).then(|| side.name.clone()),
        machine: side.machine.clone(),
        started: side.started.clone(),
        cpus: side.cpus,
    }
}

fn compared(view: &CompareView<'_>, identity: Identity) -> Compared {
    let [a, b] = view.sides.each_ref().map(|side| described(side, identity));
    let levels = match (view.levels.topology(), view.levels.shown()) {
        (Some(_), _) => "reported",
        (_, Some(_)) => "inferred",
        _ => "none",
    };
    let mismatches = view.mismatches.iter().map(MismatchDoc::of).collect();
    Compared { a, b, min_effect_percent: 100.0 * view.least, levels, mismatches }
}

/// Different experiments are compared only where somebody insists, and what has no common measure never.
fn refuse(differing: &[Mismatch], force: bool) -> Result<(), Failure> {
    let said = |mismatch: &Mismatch| {
        let side = |text: &Option<String>| {
            text.as_deref().map_or_else(|| "not said".to_owned(), |text| crate::report::text::cut(text, 60))
        };
        format!("{} ({} and {})", mismatch.what, side(&mismatch.a), side(&mismatch.b))
    };
    let list = |weight: Weight| {
        let named: Vec<String> =
            differing.iter().filter(|mismatch| mismatch.weight == weight).map(said).collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    if let Some(named) = list(Weight::Forbids) {
        return Err(Failure::Usage(format!("the two cannot be compared, for they differ in {named}")));
    }
    match list(Weight::Refuses) {
        Some(named) if !force => Err(Failure::Usage(format!(
            "the two are different experiments: they differ in {named}; --force compares them all the same"
        ))),
        _ => Ok(()),
    }
}

fn judged(comparison: &Comparison, what: FailOnWord, talk: Talk) -> ExitCode {
    let named = |verdict: Verdict| match what {
        FailOnWord::Slower => verdict == Verdict::Slower,
        FailOnWord::Faster => verdict == Verdict::Faster,
        FailOnWord::Any => verdict.is_different(),
    };
    let levels =
        || comparison.sheets.iter().flat_map(|sheet| &sheet.levels).map(|level| level.difference.verdict);
    let cells = comparison.sheets.iter().flat_map(|sheet| &sheet.cells).map(|cell| cell.difference.verdict);
    if levels().chain(cells).any(named) {
        return ExitCode::Found;
    }
    let untold = levels().filter(|verdict| *verdict == Verdict::CannotTell).count();
    if untold > 0 {
        let text = format!(
            "{untold} of {} levels cannot be told, which --fail-on makes a failure",
            levels().count()
        );
        output::remark(talk, Talk::Normal, &text);
        return ExitCode::CannotTell;
    }
    ExitCode::Done
}

fn table(global: &Global, args: &CompareArgs, sources: &[Source]) -> Result<ExitCode, Failure> {
    let wish = resolve::wish(global);
    for (given, option) in [
        (args.fail_on.is_some(), "--fail-on"),
        (args.min_effect.is_some(), "--min-effect"),
        (args.force, "--force"),
    ] {
        if given {
            return Err(Failure::Usage(format!(
                "{option} judges two runs, and there are {}; a table of many says nothing of differences",
                sources.len()
            )));
        }
    }
    let sides: Vec<_> = sources.iter().map(Source::side).collect();
    let with_levels: Vec<_> = sides.iter().map(|side| (side, Levels::between(side, side))).collect();
    let table = tabulate(&with_levels);
    let named: Vec<SideView> = sources.iter().map(side).collect();
    let mut out = Out::open(wish.output.as_deref())?;
    match wish.format {
        FormatWord::Markdown => out.text(&overview::markdown(&table, &named))?,
        FormatWord::Json => {
            let document = Document::of_overview(&table, |side| described(&named[side], wish.identity));
            out.write(|out| Ok(document.write_to(out)?))?;
        }
        _ => out.text(&overview::screen(&table, &named, output::width(wish.output.as_deref())))?,
    }
    Ok(ExitCode::Done)
}
