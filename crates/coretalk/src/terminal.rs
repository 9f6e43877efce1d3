//! Colours that the environment allows, and the size of the terminal.

use crate::args::words::ColorWord;
use coretalk_report::ColorDepth;
use std::io::IsTerminal;

/// Whether the output is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A terminal.
    Terminal,
    /// A pipe or a file.
    Other,
}

impl Output {
    /// The kind of standard output.
    pub fn stdout() -> Output {
        if std::io::stdout().is_terminal() { Output::Terminal } else { Output::Other }
    }

    /// The kind of standard error.
    pub fn stderr() -> Output {
        if std::io::stderr().is_terminal() { Output::Terminal } else { Output::Other }
    }
}

/// Chooses the colours by `--color`, `NO_COLOR` (<https://no-color.org>: any value but the empty one),
/// `CLICOLOR_FORCE`, the terminal, `COLORTERM` and `TERM`, in this order.
pub fn color_depth(
    choice: ColorWord,
    output: Output,
    variable: impl Fn(&str) -> Option<String>,
) -> ColorDepth {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let forced = set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE").as_deref() != Some("0");
    match choice {
        ColorWord::Never => ColorDepth::None,
        ColorWord::Always => supported(&variable).max(ColorDepth::Ansi16),
        ColorWord::Auto if set("NO_COLOR") => ColorDepth::None,
        ColorWord::Auto if forced => supported(&variable).max(ColorDepth::Ansi16),
        ColorWord::Auto if output == Output::Other => ColorDepth::None,
        ColorWord::Auto => supported(&variable),
    }
}

fn supported(variable: &impl Fn(&str) -> Option<String>) -> ColorDepth {
    let term = variable("TERM").unwrap_or_default();
    let colors = variable("COLORTERM").unwrap_or_default();
    if term.is_empty() || term == "dumb" {
        ColorDepth::None
    } else if colors == "truecolor" || colors == "24bit" || term.ends_with("-direct") {
        ColorDepth::TrueColor
    } else if term.contains("256color") {
        ColorDepth::Ansi256
    } else {
        ColorDepth::Ansi16
    }
}

/// Width in columns if the output is not a terminal.
pub const DEFAULT_WIDTH: usize = 100;

/// Width of the output: `COLUMNS` if it is a number, else the size of the terminal, else [`DEFAULT_WIDTH`]. Clamped to
/// 40, below which no table fits, and to 400, above which lines are unreadable.
pub fn width(output: Output, variable: impl Fn(&str) -> Option<String>) -> usize {
    let asked = variable("COLUMNS").and_then(|columns| columns.trim().parse::<usize>().ok());
    let terminal = || match output {
        Output::Terminal => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
        Output::Other => None,
    };
    asked.filter(|&columns| columns > 0).or_else(terminal).unwrap_or(DEFAULT_WIDTH).clamp(40, 400)
}

/// Rows of the terminal on standard error; `None` if there is no terminal.
pub fn height() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stderr()).map(|(_, height)| usize::from(height.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(choice: ColorWord, output: Output, variables: &str) -> ColorDepth {
        color_depth(choice, output, |name| {
            variables
                .split(' ')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        })
    }

    #[test]
    fn color_follows_the_option_then_no_color_then_force_then_the_terminal() {
        use ColorDepth::*;
        use ColorWord::*;
        for (choice, output, variables, expected) in [
            (Auto, Output::Terminal, "TERM=xterm COLORTERM=truecolor", TrueColor),
            (Auto, Output::Terminal, "TERM=xterm-256color", Ansi256),
            (Auto, Output::Terminal, "TERM=linux", Ansi16),
            (Auto, Output::Terminal, "TERM=dumb COLORTERM=truecolor", None),
            (Auto, Output::Terminal, "", None),
            (Auto, Output::Terminal, "TERM=xterm-256color NO_COLOR=1", None),
            (Auto, Output::Terminal, "TERM=xterm-256color NO_COLOR=", Ansi256),
            (Auto, Output::Terminal, "TERM=xterm NO_COLOR=1 CLICOLOR_FORCE=1", None),
            (Auto, Output::Other, "TERM=xterm-256color", None),
            (Auto, Output::Other, "TERM=xterm-256color CLICOLOR_FORCE=1", Ansi256),
            (Auto, Output::Other, "TERM=xterm-256color CLICOLOR_FORCE=0", None),
            (Auto, Output::Other, "CLICOLOR_FORCE=1", Ansi16),
            (Always, Output::Other, "TERM=xterm-direct NO_COLOR=1", TrueColor),
            (Always, Output::Other, "", Ansi16),
            (Never, Output::Terminal, "TERM=xterm-256color CLICOLOR_FORCE=1", None),
        ] {
            assert_eq!(detect(choice, output, variables), expected, "{choice:?} {output:?} {variables}");
        }
    }

    #[test]
    fn the_width_is_columns_within_limits() {
        for (columns, expected) in
            [("132", 132), ("0", DEFAULT_WIDTH), ("wide", DEFAULT_WIDTH), ("7", 40), ("100000", 400)]
        {
            let width = width(Output::Other, |name| (name == "COLUMNS").then(|| columns.to_owned()));
            assert_eq!(width, expected, "{columns}");
        }
    }
}
