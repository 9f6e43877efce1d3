//! Where results go: standard output or files that were opened before anything was measured.

use super::args::{ByWord, ColorWord, FormatWord, OrderWord};
use super::resolve::{Identity, Talk, Wish};
use crate::document;
use crate::exit::Failure;
use crate::export::{self, Export, ExportError, Format};
use crate::report::depth::{self, Output};
use crate::report::{By, ColorChoice, ColorDepth, Look, Order, plain};
use coretalk_measure::probes::imitation::{Imitation, render};
use coretalk_model::latency::Imitated;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// One place that a result is written to.
#[derive(Debug)]
pub struct Out {
    path: Option<PathBuf>,
    place: Place,
    /// Whether the file was not there before.
    is_new: bool,
}

#[derive(Debug)]
enum Place {
    Stdout,
    /// Opened, not yet emptied: an unwritable path is known early, and a refusal later leaves an old file as it was.
    Untouched(File),
    Begun(BufWriter<File>),
}

impl Out {
    /// Opens a file, or standard output.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Out, Failure> {
        let Some(path) = path else { return Ok(Out { path: None, place: Place::Stdout, is_new: false }) };
        let open = |is_new: bool| {
            let file = File::options().create_new(is_new).create(true).write(true).truncate(false).open(path);
            file.map(|file| (file, is_new))
        };
        let (file, is_new) = open(true)
            .or_else(|_| open(false))
            .map_err(|source| Failure::Write { to: Some(path.to_owned()), source })?;
        Ok(Out { path: Some(path.to_owned()), place: Place::Untouched(file), is_new })
    }

    /// Writes something and hands it on at once.
    ///
    /// # Errors
    /// [`Failure::Write`], or what `write` found wrong.
    pub fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let outcome = self.begin().map_err(ExportError::Io).and_then(|()| match &mut self.place {
            Place::Stdout => {
                let mut stdout = BufWriter::new(io::stdout().lock());
                write(&mut stdout)?;
                Ok(stdout.flush()?)
            }
            Place::Begun(file) => {
                write(file)?;
                Ok(file.flush()?)
            }
            Place::Untouched(_) => Ok(()),
        });
        outcome.map_err(|error| match error {
            ExportError::Store(error) => Failure::Store(error),
            ExportError::Io(source) => Failure::Write { to: self.path.clone(), source },
            other => Failure::Usage(format!("failed to {other}")),
        })
    }

    /// Writes text.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(|out| Ok(out.write_all(text.as_bytes())?))
    }

    fn begin(&mut self) -> io::Result<()> {
        if let Place::Untouched(file) = &self.place {
            let file = file.try_clone()?;
            // Devices and pipes have no length.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            self.place = Place::Begun(BufWriter::new(file));
        }
        Ok(())
    }
}

/// A refusal leaves no empty file behind.
impl Drop for Out {
    fn drop(&mut self) {
        if let (Place::Untouched(_), true, Some(path)) = (&self.place, self.is_new, &self.path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes a run in a format.
///
/// # Errors
/// The output cannot be written, or the format cannot hold the run.
pub fn write_run(out: &mut Out, format: FormatWord, what: &Export<'_>) -> Result<(), Failure> {
    if format == FormatWord::Text && !what.report.result.imitated.is_empty() {
        let cpu_model = what.report.environment.cpu_model.as_deref();
        let render = |imitated: &Imitated| as_the_tool_prints(imitated, cpu_model);
        return out.write(|out| export::write_imitations(what.report, &render, out));
    }
    out.write(|out| export::export(format_of(format), what, out))
}

fn as_the_tool_prints(imitated: &Imitated, cpu_model: Option<&str>) -> String {
    render(&Imitation::of(imitated.tool), cpu_model, &imitated.cells)
}

/// The format of the exports.
pub fn format_of(word: FormatWord) -> Format {
    match word {
        FormatWord::Text => Format::Text,
        FormatWord::Json => Format::Json,
        FormatWord::Jsonl => Format::Jsonl,
        FormatWord::Csv => Format::Csv,
        FormatWord::C2cCsv => Format::C2cCsv,
        FormatWord::Markdown => Format::Markdown,
        FormatWord::Hgrm => Format::Hgrm,
        FormatWord::HyperfineJson => Format::HyperfineJson,
    }
}

/// The name of a format on the command line.
pub fn format_name(word: FormatWord) -> &'static str {
    format_of(word).name()
}

/// Whether documents hold private facts.
pub fn identity_of(identity: Identity) -> document::Identity {
    match identity {
        Identity::Hidden => document::Identity::Hidden,
        Identity::Included => document::Identity::Included,
    }
}

/// How a screen is drawn on where the result goes.
pub fn look(wish: &Wish) -> Look {
    let output = if wish.output.is_some() { Output::Other } else { Output::stdout() };
    drawn_on(wish, output)
}

/// How progress is drawn on standard error.
pub fn progress_look(wish: &Wish) -> Look {
    drawn_on(wish, Output::stderr())
}

/// Columns of a screen on standard output.
pub fn width(output: Option<&Path>) -> usize {
    depth::width(if output.is_some() { Output::Other } else { Output::stdout() }, variable)
}

fn drawn_on(wish: &Wish, output: Output) -> Look {
    let choice = match wish.color {
        ColorWord::Auto => ColorChoice::Auto,
        ColorWord::Always => ColorChoice::Always,
        ColorWord::Never => ColorChoice::Never,
    };
    Look {
        width: depth::width(output, variable),
        depth: ColorDepth::detect(choice, output, variable),
        order: match wish.order {
            OrderWord::Id => Order::Id,
            OrderWord::Topology => Order::Topology,
            OrderWord::Measured => Order::Measured,
        },
        by: match wish.by {
            ByWord::Core => By::Core,
            ByWord::Thread => By::Thread,
        },
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Says something on standard error, if so much is to be said.
pub fn remark(talk: Talk, least: Talk, text: &str) {
    if talk >= least {
        // Remarks are no result: nobody is hurt when they are lost.
        let _ = writeln!(io::stderr(), "coretalk: {}", plain(text));
    }
}
