//! [`OutputOptions`]: format, destination and style of the output.

use crate::args::options::Global;
use crate::args::words::{ByWord, ColorWord, OrderWord};
use crate::exit::Failure;
use crate::terminal::{self, Output};
use coretalk_report::document::Identity;
use coretalk_report::export::Format;
use coretalk_report::text::flow;
use coretalk_report::{By, Order, Style, plain};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Format, destination and style of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputOptions {
    /// Format of the result.
    pub format: Format,
    /// File for the result; `None` for standard output.
    pub output: Option<PathBuf>,
    /// Further files.
    pub exports: Vec<(Format, PathBuf)>,
    /// Order of the map; `None` for the order of the run, or by topology on a screen.
    pub order: Option<Order>,
    /// Rows of the map.
    pub by: ByWord,
    /// When to use colours.
    pub color: ColorWord,
    /// Whether to include private facts.
    pub identity: Identity,
    /// Amount of messages on standard error.
    pub verbosity: Verbosity,
}

/// Resolves the output options.
pub fn options(global: &Global) -> OutputOptions {
    OutputOptions {
        format: global.format.unwrap_or(Format::Text),
        output: global.output.clone(),
        exports: global.exports(),
        order: global.order.map(|word| match word {
            OrderWord::Id => Order::Id,
            OrderWord::Topology => Order::Topology,
            OrderWord::Measured => Order::Measured,
        }),
        by: global.by.unwrap_or(ByWord::Core),
        color: global.color.unwrap_or(ColorWord::Auto),
        identity: if global.with_identity { Identity::Included } else { Identity::Hidden },
        verbosity: match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        },
    }
}

/// Refuses two results in one file, because the second would overwrite the first. The error names the file.
pub fn refuse_shared_files(options: &OutputOptions) -> Result<(), Failure> {
    let mut taken: Vec<PathBuf> = Vec::new();
    for path in options.output.iter().chain(options.exports.iter().map(|(_, path)| path)) {
        let real_path = real_path_of(path);
        // Terminals, pipes and `/dev/null` have no content to lose.
        let has_content =
            std::fs::metadata(&real_path).map_or(true, |there| there.is_file() || there.is_dir());
        if has_content && taken.contains(&real_path) {
            return Err(Failure::Usage(format!(
                "two results would overwrite each other in {}; give each its own file",
                path.display()
            )));
        }
        taken.push(real_path);
    }
    Ok(())
}

/// Returns the path of an existing or future file without symbolic links and `..`.
fn real_path_of(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Returns the style of text at the destination of the result.
pub fn style(options: &OutputOptions) -> Style {
    let output = if options.output.is_some() { Output::Other } else { Output::stdout() };
    style_on(options, output)
}

/// Returns the style of progress on standard error.
pub fn progress_style(options: &OutputOptions) -> Style {
    style_on(options, Output::stderr())
}

/// Returns the width of the output in columns.
pub fn width(output: Option<&Path>) -> usize {
    terminal::width(if output.is_some() { Output::Other } else { Output::stdout() }, variable)
}

fn style_on(options: &OutputOptions, output: Output) -> Style {
    Style {
        width: terminal::width(output, variable),
        depth: terminal::color_depth(options.color, output, variable),
        order: options.order.unwrap_or(Order::Topology),
        by: match options.by {
            ByWord::Core => By::Core,
            ByWord::Thread => By::Thread,
        },
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Amount of messages on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Progress and remarks.
    Normal,
    /// Also settings and phases.
    Verbose,
}

/// Prints a message on standard error if the verbosity is at least `least`.
pub fn print_notice(verbosity: Verbosity, least: Verbosity, text: &str) {
    if verbosity >= least {
        let text = format!("coretalk: {}", plain(text));
        let lines = match Output::stderr() {
            Output::Terminal => {
                let width = terminal::width(Output::Terminal, |name| std::env::var(name).ok());
                flow(text.split(' '), " ", width, 2)
            }
            Output::Other => vec![text],
        };
        for line in lines {
            // A lost message is harmless, because it is not a result.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
