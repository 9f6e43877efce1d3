//! `report`: writes runs as a page or a picture to share.

use crate::args::ReportArgs;
use crate::args::options::Global;
use crate::args::words::{AxisWord, ReportFormat, ScaleWord};
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{self, OutputOptions, Verbosity, print_notice};
use crate::resolve::source::{Source, SourceFile};
use crate::run::out::Out;
use crate::run::saved;
use coretalk_model::latency::Record;
use coretalk_model::run::RunReport;
use coretalk_report::document::Identity;
use coretalk_report::figure::picture_file;
use coretalk_report::figure::undrawn::{Undrawn, left_out, undrawn};
use coretalk_report::imported::ImportedFile;
use coretalk_report::input::{Drawing, ReportInput, ScaleChoice, TimeAxis};
use coretalk_report::passes::passes;
use coretalk_report::picture::{Medium, Picture};
use coretalk_report::{html, plain};
use std::ffi::OsStr;

/// Maximum series listed in the error about an unknown name.
const MAX_LISTED: usize = 40;

/// An opened input: a run with its report and record, or a file of another tool.
enum Opened {
    Run { report: Box<RunReport>, record: Box<Record>, name: String },
    File { file: Box<ImportedFile>, named: Named },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The given name, the file name, or the title in the file.
    ByItself,
    ByNumber,
}

impl Opened {
    fn is_numbered(&self) -> bool {
        matches!(self, Opened::File { named: Named::ByNumber, .. })
    }
}

/// Executes `report RUN… -o FILE`. Opens the output before drawing.
pub fn execute(global: &Global, args: &ReportArgs) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    let Some(path) = options.output.as_deref() else {
        return Err(Failure::Usage("give the report a file name, for example `-o report.html`".into()));
    };
    let kind = ReportFormat::of_file(path).ok_or_else(|| {
        Failure::Usage(format!(
            "a report is written as .html, .svg or .png, and `{}` has none of these extensions",
            path.display()
        ))
    })?;
    let mut out = Out::open(Some(path))?;
    let opened: Vec<Opened> = (1..)
        .zip(Source::find_all(global, &args.runs)?)
        .zip(&args.runs)
        .map(|((number, found), word)| open(found, word, number, &options))
        .collect::<Result<_, Failure>>()?;
    if opened.iter().any(Opened::is_numbered) {
        let text = "file names are private, so files are numbered here; NAME=FILE names one, and --with-identity shows their names";
        print_notice(options.verbosity, Verbosity::Normal, text);
    }
    let mut inputs: Vec<ReportInput<'_>> = opened.iter().map(|run| input(run, &options, kind)).collect();
    if args.cdf.is_some() && kind == ReportFormat::Html {
        let text = "--cdf is only for pictures, and a page shows both forms; write .svg or .png";
        return Err(Failure::Usage(text.into()));
    }
    if let Some(names) = &args.series {
        choose(&mut inputs, names, kind)?;
    }
    let simulated = inputs.iter().filter(|input| input.is_simulated()).count();
    if simulated > 0 && simulated < inputs.len() {
        let text = "this report shows simulated and real machines side by side and labels which is which";
        print_notice(options.verbosity, Verbosity::Normal, text);
    }
    let drawing = drawing(&options, args, kind != ReportFormat::Html && inputs.len() > 1);
    if args.series.is_some() {
        refuse_undrawn(&inputs, drawing)?;
    }
    if (args.series.is_some() || drawing.cdf.is_some())
        && let names @ [_, ..] = &left_out(&inputs, drawing)[..]
    {
        let more = names.len().saturating_sub(MAX_LEFT_OUT);
        let listed = names.iter().take(MAX_LEFT_OUT).cloned();
        let listed: Vec<String> = listed.chain((more > 0).then(|| format!("{more} more"))).collect();
        let text = format!("not in this chart: {}; --series NAME,… draws them", listed.join(", "));
        print_notice(options.verbosity, Verbosity::Normal, &text);
    }
    let page = || html::page(&inputs, drawing).map_err(|error| contradiction(&error));
    let bytes = kind.bytes(page, || picture(&inputs, drawing))?;
    out.bytes(&bytes)?;
    Ok(ExitCode::Done)
}

/// Maximum omitted series listed by name.
const MAX_LEFT_OUT: usize = 6;

/// Reads a source. File names are private.
fn open(found: SourceFile, word: &OsStr, number: usize, options: &OutputOptions) -> Result<Opened, Failure> {
    let file = match found {
        SourceFile::Run(file) => file,
        SourceFile::File(matrices, name) => {
            for warning in matrices.iter().flat_map(|matrix| &matrix.warnings) {
                print_notice(
                    options.verbosity,
                    Verbosity::Normal,
                    &format!("{}: {warning}", word.to_string_lossy()),
                );
            }
            let title =
                matrices.first().and_then(|matrix| matrix.title.clone()).filter(|_| matrices.len() == 1);
            let (name, named) = match (options.identity, title) {
                _ if name.is_given => (name.text, Named::ByItself),
                (Identity::Included, _) => (name.text, Named::ByItself),
                (Identity::Hidden, Some(title)) => (title, Named::ByItself),
                (Identity::Hidden, None) => (format!("matrix {number}"), Named::ByNumber),
            };
            return Ok(Opened::File { file: Box::new(ImportedFile::new(name, matrices)), named });
        }
    };
    let (mut report, record) = file.report_and_record()?;
    if options.identity == Identity::Included {
        report.reveal();
    }
    let name = saved::name_of(&report.header.id, file.path());
    Ok(Opened::Run { report: Box::new(report), record: Box::new(record), name })
}

fn input<'a>(opened: &'a Opened, options: &OutputOptions, kind: ReportFormat) -> ReportInput<'a> {
    let identity = options.identity;
    match opened {
        Opened::File { file, .. } => ReportInput::of_file(file, identity),
        Opened::Run { report, record, name } => {
            let mut input = ReportInput::new(report, name, identity);
            if kind == ReportFormat::Html {
                input.passes = passes(&input, record);
            }
            input
        }
    }
}

fn choose(inputs: &mut [ReportInput<'_>], names: &[String], kind: ReportFormat) -> Result<(), Failure> {
    if kind == ReportFormat::Html {
        let text = "--series is only for pictures, and a page shows all series; write .svg or .png";
        return Err(Failure::Usage(text.into()));
    }
    let known: Vec<String> = inputs.iter().flat_map(ReportInput::series_names).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let mut listed = Vec::new();
        known.into_iter().for_each(|name| {
            if !listed.contains(&name) {
                listed.push(name)
            }
        });
        let more = listed.split_off(listed.len().min(MAX_LISTED)).len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(Failure::Usage(match listed.is_empty() {
            true => format!("there is no series `{}` here: nothing here has series", plain(name)),
            false => {
                format!("there is no series `{}` here; there are {}{more}", plain(name), listed.join(", "))
            }
        }));
    }
    inputs.iter_mut().for_each(|input| input.keep_series(names));
    match inputs.iter().all(|input| input.outline.series.is_empty() && input.maps.is_empty()) {
        true => Err(Failure::Usage(format!("no series matches all of {}", names.join(", ")))),
        false => Ok(()),
    }
}

fn refuse_undrawn(inputs: &[ReportInput<'_>], drawing: Drawing) -> Result<(), Failure> {
    let undrawn: Vec<String> = undrawn(inputs, drawing).iter().map(Undrawn::words).collect();
    match undrawn.is_empty() {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "the picture would not show everything in --series: {}; drop these names, or draw them in a picture of their \
             own",
            undrawn.join("; ")
        ))),
    }
}

/// Chooses the drawing options. By default, the colours of a single run span its values. Several runs use the fixed
/// scale, which is comparable with other pictures.
fn drawing(options: &OutputOptions, args: &ReportArgs, is_of_several: bool) -> Drawing {
    let style = output::style(options);
    let scale = match args.scale {
        Some(ScaleWord::Fit) => ScaleChoice::Fit,
        None if !is_of_several => ScaleChoice::Fit,
        Some(ScaleWord::Fixed) | None => ScaleChoice::Fixed,
    };
    let cdf = args.cdf.map(|axis| match axis {
        AxisWord::Log => TimeAxis::Log,
        AxisWord::Linear => TimeAxis::Linear,
    });
    Drawing { order: style.order, by: style.by, scale, cdf }
}

fn picture(inputs: &[ReportInput<'_>], drawing: Drawing) -> Result<Picture, Failure> {
    let drawn = match inputs {
        [input] => picture_file::picture_file(input, drawing),
        several => picture_file::picture_file_of_several(several, drawing),
    };
    drawn.ok_or_else(|| {
        let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
        if drawing.cdf.is_some() {
            return Failure::Usage(format!("run {} has no distributions to draw as a CDF", names.join(", ")));
        }
        Failure::Usage(format!("run {} contains nothing that can be drawn; write .html", names.join(", ")))
    })
}

fn contradiction(error: &serde_json::Error) -> Failure {
    Failure::Internal(format!("a document cannot be read back: {error}"))
}

impl ReportFormat {
    /// Creates the bytes of the file from the page or the picture.
    pub fn bytes(
        self,
        page: impl FnOnce() -> Result<String, Failure>,
        picture: impl FnOnce() -> Result<Picture, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            ReportFormat::Html => page().map(String::into_bytes),
            ReportFormat::Svg => Ok(picture()?.to_svg(Medium::File).into_bytes()),
            ReportFormat::Png => {
                let too_large =
                    || Failure::Usage("the picture is too large for a PNG; write .svg or .html".into());
                picture()?.to_png().ok_or_else(too_large)
            }
        }
    }
}
