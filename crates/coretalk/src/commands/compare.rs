//! `compare`: compares two runs or files, or tabulates many.

use crate::args::CompareArgs;
use crate::args::options::Global;
use crate::args::words::FailOnWord;
use crate::commands::shape::say;
use crate::commands::view;
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::resolve::source::Source;
use crate::run::out::Out;
use coretalk_model::compare::{
    Alignment, Difference, Disjoint, LeastEffect, Levels, Mismatch, Overview, Verdict, Weight, compare,
    mismatches, overview as tabulate,
};
use coretalk_report::alignment::pairing_words;
use coretalk_report::blocks::Block;
use coretalk_report::compare::{CompareView, SideView, blocks, called, markdown};
use coretalk_report::document::{Compared, ComparedSideDoc, DifferenceDoc, Document, Identity, MismatchDoc};
use coretalk_report::export::Format;
use coretalk_report::render::terminal::screen;
use coretalk_report::{fmt, overview, spectra};
use std::ffi::OsStr;
use std::path::Path;

pub fn execute(global: &Global, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    if !matches!(options.format, Format::Text | Format::Markdown | Format::Json) {
        let format = options.format;
        let sentence = format!("`{format}` cannot show a comparison; use text, markdown or json");
        return Err(Failure::Format { format, sentence });
    }
    let named = Source::named(global, &args.sides)?;
    // The format of standard input is unknown before it is read, so only the other files are checked.
    let mut files = named.iter().filter(|(_, file)| *file != "-").peekable();
    if files.peek().is_some() && files.all(|(_, file)| view::is_spectrum(Path::new(file))) {
        return percentiles(global, args, &named);
    }
    let sources = Source::open_all(global, &args.sides)?;
    match sources.as_slice() {
        [a, b] => compare_two(global, args, a, b),
        many => table(global, args, many),
    }
}

/// Compares percentile tables and interval logs by percentile, without a verdict: they have no confidence intervals.
fn percentiles(
    global: &Global,
    args: &CompareArgs,
    files: &[(Option<&str>, &OsStr)],
) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    if options.format != Format::Text {
        let format = options.format;
        let sentence = format!("`{format}` cannot show percentile tables side by side; use text");
        return Err(Failure::Format { format, sentence });
    }
    if args.fail_on.is_some() || args.min_effect.is_some() || args.force {
        return Err(Failure::Usage(
            "percentile tables come without intervals, so their differences are shown and not judged: leave out --fail-on, --min-effect and --force".into(),
        ));
    }
    say(global, &spectra::blocks(&view::views(files, options.verbosity)?))
}

fn compare_two(global: &Global, args: &CompareArgs, a: &Source, b: &Source) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    with_view(global, args, [a, b], |view| {
        let mut out = Out::open(options.output.as_deref())?;
        match options.format {
            Format::Markdown => out.text(&markdown(view))?,
            Format::Json => {
                let document = Document::of_comparison(compared(view, options.identity), view.comparison);
                out.write(|out| Ok(document.write_to(out)?))?;
            }
            _ => out.text(&screen(&blocks(view), &output::style(&options)))?,
        }
        Ok(args.fail_on.map_or(ExitCode::Done, |what| fail_on_code(view, what, options.verbosity)))
    })?
}

pub(super) fn with_blocks<R>(
    global: &Global,
    args: &CompareArgs,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    let sources = Source::open_all(global, &args.sides)?;
    match sources.as_slice() {
        [a, b] => with_view(global, args, [a, b], |view| show(&blocks(view))),
        many => {
            let (table, sides) = tabulated(args, many);
            Ok(show(&overview::blocks(&table, &sides)))
        }
    }
}

fn with_view<R>(
    global: &Global,
    args: &CompareArgs,
    [a, b]: [&Source; 2],
    show: impl FnOnce(&CompareView<'_>) -> R,
) -> Result<R, Failure> {
    let options = output::options(global);
    let (left, right) = (a.side(), b.side());
    let differing = mismatches(&left, &right);
    let sides = [(a, &args.sides[0]), (b, &args.sides[1])].map(|(source, word)| side(source, word));
    let names = called(&sides);
    refuse(&differing, args.force, &names)?;
    let least = args.min_effect.map_or(LeastEffect::DEFAULT, LeastEffect);
    let align = if args.force { Alignment::forced } else { Alignment::between };
    let alignment = align(&left, &right);
    if args.force
        && !alignment.is_forced()
        && differing.iter().all(|mismatch| mismatch.weight == Weight::Warns)
    {
        let text = "--force changes nothing here: there is nothing that it could compare in addition";
        print_notice(options.verbosity, Verbosity::Normal, text);
    }
    let comparison = compare(&left, &right, &alignment, least);
    let [first, second] = &names;
    if comparison.datasets.iter().all(|dataset| dataset.levels.is_empty() && dataset.alone.is_empty()) {
        return Err(Failure::Usage(match Disjoint::between(&left, &right) {
            Disjoint::Cpus => format!(
                "{first} and {second} have no pair of CPUs in common: {} has {}, {} has {}",
                a.name(),
                a.cpus().named(),
                b.name(),
                b.cpus().named()
            ),
            Disjoint::Parameters => format!(
                "{first} and {second} have no result with equal parameters on the same CPUs; `runs show` lists the \
                 parameters of each"
            ),
        }));
    }
    let view = CompareView {
        sides,
        mismatches: &differing,
        comparison: &comparison,
        alignment: &alignment,
        is_forced: args.force,
        files: [a, b].iter().any(|source| matches!(source, Source::File(..))),
        least: least.0,
    };
    Ok(show(&view))
}

fn side(source: &Source, word: &OsStr) -> SideView {
    let given = match source {
        Source::Run(report, _) => report.header.tags.iter().find(|tag| word == tag.as_str()).cloned(),
        Source::File(_, name) => Some(name.text.clone()),
    };
    SideView {
        given,
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
    let public =
        view.sides.clone().map(|side| SideView { given: side.given.filter(|_| side.is_public), ..side });
    let named = if identity == Identity::Included { view.called() } else { called(&public) };
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
        pairing_reason: pairing_words(view.alignment, view.comparison, &named)
            .map(|sentence| fmt::sentence(&sentence)),
        together: DifferenceDoc::of_all_alike(view.comparison),
        mismatches: view.mismatches.iter().map(MismatchDoc::new).collect(),
    }
}

/// Refuses different experiments without `--force`. Always refuses data without a common measure.
fn refuse(differing: &[Mismatch], force: bool, [a, b]: &[String; 2]) -> Result<(), Failure> {
    let difference = |mismatch: &Mismatch| {
        let side = |text: &Option<String>| {
            text.as_deref().map_or_else(|| "unknown".to_owned(), |text| coretalk_report::text::cut(text, 60))
        };
        format!("{} ({} and {})", mismatch.what, side(&mismatch.a), side(&mismatch.b))
    };
    let list = |weight: Weight| {
        let named: Vec<String> =
            differing.iter().filter(|mismatch| mismatch.weight == weight).map(difference).collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    if let Some(named) = list(Weight::Forbids) {
        return Err(Failure::Usage(format!("{a} and {b} cannot be compared: they differ in {named}")));
    }
    match list(Weight::Refuses) {
        Some(named) if !force => Err(Failure::Usage(format!(
            "{a} and {b} are different experiments: they differ in {named}; --force compares them anyway"
        ))),
        _ => Ok(()),
    }
}

/// Returns the exit code of `--fail-on`. An undecided level counts only if the requested direction is still possible.
/// For example, a level that is slower or equal cannot be faster.
fn fail_on_code(view: &CompareView<'_>, what: FailOnWord, verbosity: Verbosity) -> ExitCode {
    let (comparison, [a, b]) = (view.comparison, view.called());
    let doubtful = view.alignment.doubts().iter().filter(|_| !view.alignment.is_forced()).count();
    let is_requested = |verdict: Verdict| match what {
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
    if levels().chain(cells).any(|difference| is_requested(difference.verdict)) {
        return ExitCode::Found;
    }
    let open = doubtful + levels().filter(|difference| is_open(difference)).count();
    let all = levels().count();
    if all > 0 && open == 0 {
        return ExitCode::Done;
    }
    let text = match all {
        0 => format!("{a} and {b} have nothing in common that can be compared"),
        _ => format!("{open} of {} levels are undecided", all + doubtful),
    };
    print_notice(verbosity, Verbosity::Normal, &format!("{text}, which fails with --fail-on"));
    ExitCode::CannotTell
}

fn tabulated(args: &CompareArgs, sources: &[Source]) -> (Overview, Vec<SideView>) {
    let sides: Vec<_> = sources.iter().map(Source::side).collect();
    let with_levels: Vec<_> = sides.iter().map(|side| (side, Levels::from_side(side))).collect();
    let named = sources.iter().zip(&args.sides).map(|(source, word)| side(source, word)).collect();
    (tabulate(&with_levels), named)
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
    let (table, named) = tabulated(args, sources);
    let mut out = Out::open(options.output.as_deref())?;
    match options.format {
        Format::Markdown => out.text(&overview::markdown(&table, &named))?,
        Format::Json => {
            let document = Document::of_overview(&table, |side| described(&named[side], options.identity));
            out.write(|out| Ok(document.write_to(out)?))?;
        }
        _ => out.text(&screen(&overview::blocks(&table, &named), &output::style(&options)))?,
    }
    Ok(ExitCode::Done)
}
