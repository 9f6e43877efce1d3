//! [`Shape`]: output of commands without a matrix, as text or JSON.

use crate::args::options::Global;
use crate::exit::{ExitCode, Failure};
use crate::resolve::output;
use crate::run::out::Out;
use coretalk_report::Style;
use coretalk_report::blocks::Block;
use coretalk_report::document::{Document, Identity};
use coretalk_report::export::Format;
use coretalk_report::render::terminal;

#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Text,
    Json(Identity),
}

pub fn shape(global: &Global, command: &str) -> Result<Shape, Failure> {
    match global.format {
        None | Some(Format::Text) => Ok(Shape::Text),
        Some(Format::Json) => Ok(Shape::Json(output::options(global).identity)),
        Some(format) => Err(Failure::Format {
            format,
            sentence: format!(
                "`{format}` is for measured matrices, and `{command}` measures none; use text or json"
            ),
        }),
    }
}

pub fn hand_over(global: &Global, document: &Document<'_>) -> Result<ExitCode, Failure> {
    Out::open(global.output.as_deref())?.write(|out| Ok(document.write_to(out)?))?;
    Ok(ExitCode::Done)
}

/// Writes blocks in the width of the output.
pub fn say(global: &Global, blocks: &[Block<'_>]) -> Result<ExitCode, Failure> {
    let output = global.output.as_deref();
    let text = terminal::screen(blocks, &Style::of_width(output::width(output)));
    Out::open(output)?.text(&text)?;
    Ok(ExitCode::Done)
}
