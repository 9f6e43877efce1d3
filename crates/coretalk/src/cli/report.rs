//! `report`: runs as a page or a picture that people share.

use super::args::{Global, ReportArgs, ScaleWord};
use super::output::{self, Out};
use super::resolve::{self, Talk, Wish};
use super::runs;
use crate::RunReport;
use crate::exit::{ExitCode, Failure};
use crate::report::figure::sheet;
use crate::report::html;
use crate::report::passes::passes;
use crate::report::picture::{Medium, Picture};
use crate::report::subject::{Drawing, ScaleChoice, Subject};
use coretalk_model::latency::Record;
use std::path::Path;

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Svg,
    Png,
}

impl Kind {
    fn of(path: &Path) -> Result<Kind, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("html" | "htm") => Ok(Kind::Html),
            Some("svg") => Ok(Kind::Svg),
            Some("png") => Ok(Kind::Png),
            _ => Err(Failure::Usage(format!(
                "a report is written as .html, .svg or .png, and `{}` ends in none of them",
                path.display()
            ))),
        }
    }
}

/// A run with what its report needs.
struct Opened {
    report: RunReport,
    record: Record,
    name: String,
}

/// `report RUN… -o FILE`.
///
/// # Errors
/// There is no such run, or the file cannot be written; that is known before anything is drawn.
pub fn act(global: &Global, args: &ReportArgs) -> Result<ExitCode, Failure> {
    let wish = resolve::wish(global);
    let Some(path) = wish.output.as_deref() else {
        return Err(Failure::Usage("name the file of the report, for example `-o report.html`".into()));
    };
    let kind = Kind::of(path)?;
    let mut out = Out::open(Some(path))?;
    let opened: Vec<Opened> =
        args.runs.iter().map(|run| open(global, run)).collect::<Result<_, Failure>>()?;
    if opened.iter().any(|run| run.report.header.simulated)
        && opened.iter().any(|run| !run.report.header.simulated)
    {
        let text =
            "simulated and real machines stand beside each other in this report; it says which is which";
        output::remark(wish.talk, Talk::Normal, text);
    }
    let subjects: Vec<Subject<'_>> =
        opened.iter().map(|run| subject(run, &wish, kind)).collect::<Result<_, Failure>>()?;
    let drawing = drawing(&wish, args.scale);
    let bytes = match kind {
        Kind::Html => html::page(&subjects, drawing).map_err(|error| contradiction(&error))?.into_bytes(),
        Kind::Svg => picture(&subjects, drawing)?.to_svg(Medium::File).into_bytes(),
        Kind::Png => {
            let picture = picture(&subjects, drawing)?;
            let too_large =
                || Failure::Usage("the picture is too large for a PNG; write .svg or .html".into());
            picture.to_png().ok_or_else(too_large)?
        }
    };
    out.write(|out| Ok(out.write_all(&bytes)?))?;
    Ok(ExitCode::Done)
}

fn open(global: &Global, run: &str) -> Result<Opened, Failure> {
    let file = runs::open(global, run)?;
    let (report, record) = file.report_and_record()?;
    let name = runs::name_of(&report.header.id, file.path());
    Ok(Opened { report, record, name })
}

fn subject<'a>(run: &'a Opened, wish: &Wish, kind: Kind) -> Result<Subject<'a>, Failure> {
    let identity = output::identity_of(wish.identity);
    let mut subject =
        Subject::new(&run.report, &run.name, identity).map_err(|error| contradiction(&error))?;
    if kind == Kind::Html {
        subject.passes = passes(&subject, &run.record);
    }
    Ok(subject)
}

fn drawing(wish: &Wish, scale: Option<ScaleWord>) -> Drawing {
    let look = output::look(wish);
    let scale = match scale {
        Some(ScaleWord::Fit) => ScaleChoice::Fit,
        Some(ScaleWord::Fixed) | None => ScaleChoice::Fixed,
    };
    Drawing { order: look.order, by: look.by, scale }
}

fn picture(subjects: &[Subject<'_>], drawing: Drawing) -> Result<Picture, Failure> {
    let drawn = match subjects {
        [subject] => sheet::sheet(subject, drawing),
        several => sheet::sheet_of_several(several, drawing),
    };
    drawn.ok_or_else(|| {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
        Failure::Usage(format!("run {} holds nothing that could be drawn; write .html", names.join(", ")))
    })
}

fn contradiction(error: &serde_json::Error) -> Failure {
    Failure::Internal(format!("a document does not read back: {error}"))
}
