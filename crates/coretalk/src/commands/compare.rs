//! `compare`: two runs or files against each other, or many in one table.

use crate::args::CompareArgs;
use crate::args::options::Global;
use crate::args::words::{FailOnWord, FormatWord};
use crate::document::{Compared, ComparedSideDoc, Document, Identity, MismatchDoc};
use crate::exit::{ExitCode, Failure};
use crate::render::terminal::screen;
use crate::report::alignment::pairing_words;
use crate::report::compare::{CompareView, SideView, blocks, markdown};
use crate::report::overview;
use crate::resolve::output::{self, Verbosity, remark};
use crate::resolve::source::Source;
use crate::run::out::Out;
use coretalk_model::compare::{
    Alignment, Comparison, Difference, LeastEffect, Levels, Mismatch, Verdict, Weight, compare, mismatches,
    overview as tabulate,
};

/// Compares.
///
/// # Errors
/// Something cannot be read, or there is no sense in which it could be compared.
pub fn act(global: &Global, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    if !matches!(options.format, FormatWord::Text | FormatWord::Markdown | FormatWord::Json) {
        let format = options.format;
        let sentence = format!("`{format}` cannot show a comparison; use text, markdown or json");
        return Err(Failure::Format { format, sentence });
    }
    let sources = Source::open_all(global, &args.sides)?;
    match sources.as_slice() {
        [a, b] => two(global, args, a, b),
        many => table(global, args, many),
    }
}

fn two(global: &Global, args: &CompareArgs, a: &Source, b: &Source) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    let (left, right) = (a.side(), b.side());
    let differing = mismatches(&left, &right);
    refuse(&differing, args.force)?;
    let least = args.min_effect.map_or(LeastEffect::DEFAULT, LeastEffect);
    let alignment = Alignment::between(&left, &right);
    let comparison = compare(&left, &right, &alignment, least);
    if comparison.datasets.iter().all(|dataset| dataset.levels.is_empty() && dataset.alone.is_empty()) {
        return Err(Failure::Usage(format!(
            "A and B have no pair of CPUs in common: {} has {}, {} has {}",
            a.name(),
            a.cpus().named(),
            b.name(),
            b.cpus().named()
        )));
    }
    let view = CompareView {
        sides: [side(a), side(b)],
        mismatches: &differing,
        comparison: &comparison,
        alignment: &alignment,
        files: [a, b].iter().any(|source| matches!(source, Source::File(..))),
        least: least.0,
    };
    let mut out = Out::open(options.output.as_deref())?;
    match options.format {
        FormatWord::Markdown => out.text(&markdown(&view))?,
        FormatWord::Json => {
            let document = Document::of_comparison(compared(&view, options.identity), &comparison);
            out.write(|out| Ok(document.write_to(out)?))?;
        }
        _ => out.text(&screen(&blocks(&view), &output::style(&options)))?,
    }
    Ok(args.fail_on.map_or(ExitCode::Done, |what| judged(&comparison, what, options.verbosity)))
}

fn side(source: &Source) -> SideView {
    SideView {
        name: source.name(),
        machine: source.machine(),
        started: source.started(),
        cpus: source.cpus().len(),
        is_public: source.is_public(),
    }
}

fn described(side: &SideView, identity: Identity) -> ComparedSideDoc {
    ComparedSideDoc {
        name: (side.is_public || identity == Identity::Included).then(|| side.name.clone()),
        machine: side.machine.clone(),
        started: side.started.clone(),
        cpus: side.cpus,
    }
}

fn compared(view: &CompareView<'_>, identity: Identity) -> Compared {
    let [a, b] = view.sides.each_ref().map(|side| described(side, identity));
    let [levels, _] = view.alignment.levels();
    let levels = match (levels.topology(), levels.observed()) {
        (Some(_), _) => "reported",
        (_, Some(_)) => "inferred",
        _ => "none",
    };
    Compared {
        a,
        b,
        min_effect_percent: 100.0 * view.least,
        levels,
        pairing: view.alignment.pairing().name(),
        pairing_reason: pairing_words(view.alignment),
        mismatches: view.mismatches.iter().map(MismatchDoc::of).collect(),
    }
}

/// Different experiments are compared only where somebody insists, and what has no common measure never.
fn refuse(differing: &[Mismatch], force: bool) -> Result<(), Failure> {
    let said = |mismatch: &Mismatch| {
        let side = |text: &Option<String>| {
            text.as_deref().map_or_else(|| "unknown".to_owned(), |text| crate::report::text::cut(text, 60))
        };
        format!("{} ({} and {})", mismatch.what, side(&mismatch.a), side(&mismatch.b))
    };
    let list = |weight: Weight| {
        let named: Vec<String> =
            differing.iter().filter(|mismatch| mismatch.weight == weight).map(said).collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    if let Some(named) = list(Weight::Forbids) {
        return Err(Failure::Usage(format!("A and B cannot be compared: they differ in {named}")));
    }
    match list(Weight::Refuses) {
        Some(named) if !force => Err(Failure::Usage(format!(
            "A and B are different experiments: they differ in {named}; --force compares them anyway"
        ))),
        _ => Ok(()),
    }
}

/// What `--fail-on` makes of it. A level that cannot be told is no failure where what is asked for is ruled out: one that
/// may be slower or the same is not faster.
fn judged(comparison: &Comparison, what: FailOnWord, verbosity: Verbosity) -> ExitCode {
    let named = |verdict: Verdict| match what {
        FailOnWord::Slower => verdict == Verdict::Slower,
        FailOnWord::Faster => verdict == Verdict::Faster,
        FailOnWord::Any => verdict.is_different(),
    };
    let is_open = |difference: &Difference| match what {
        FailOnWord::Slower => difference.possible.slower,
        FailOnWord::Faster => difference.possible.faster,
        FailOnWord::Any => difference.possible.slower || difference.possible.faster,
    };
    let levels =
        || comparison.datasets.iter().flat_map(|dataset| &dataset.levels).map(|level| &level.difference);
    let cells = comparison.datasets.iter().flat_map(|dataset| &dataset.cells).map(|cell| &cell.difference);
    if levels().chain(cells).any(|difference| named(difference.verdict)) {
        return ExitCode::Found;
    }
    let (all, open) = (levels().count(), levels().filter(|difference| is_open(difference)).count());
    if all > 0 && open == 0 {
        return ExitCode::Done;
    }
    let text = match all {
        0 => "A and B have nothing in common that can be compared".to_owned(),
        _ => format!("{open} of {all} levels are undecided"),
    };
    remark(verbosity, Verbosity::Normal, &format!("{text}, which fails with --fail-on"));
    ExitCode::CannotTell
}

fn table(global: &Global, args: &CompareArgs, sources: &[Source]) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    for (given, option) in [
        (args.fail_on.is_some(), "--fail-on"),
        (args.min_effect.is_some(), "--min-effect"),
        (args.force, "--force"),
    ] {
        if given {
            return Err(Failure::Usage(format!(
                "{option} needs exactly two runs, and there are {}; a table of several shows no differences",
                sources.len()
            )));
        }
    }
    let sides: Vec<_> = sources.iter().map(Source::side).collect();
    let with_levels: Vec<_> = sides.iter().map(|side| (side, Levels::of(side))).collect();
    let table = tabulate(&with_levels);
    let named: Vec<SideView> = sources.iter().map(side).collect();
    let mut out = Out::open(options.output.as_deref())?;
    match options.format {
        FormatWord::Markdown => out.text(&overview::markdown(&table, &named))?,
        FormatWord::Json => {
            let document = Document::of_overview(&table, |side| described(&named[side], options.identity));
            out.write(|out| Ok(document.write_to(out)?))?;
        }
        _ => out.text(&screen(&overview::blocks(&table, &named), &output::style(&options)))?,
    }
    Ok(ExitCode::Done)
}
