//! [`Verbosity`]: how much is said on standard error, and [`remark`], which says it.

use crate::report::depth::{self, Output};
use crate::report::plain;
use crate::report::text::flow;
use std::io::{self, Write};

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Progress and remarks.
    Normal,
    /// Settings and phases too.
    Verbose,
}

/// Says something on standard error, if so much is to be said.
pub fn remark(verbosity: Verbosity, least: Verbosity, text: &str) {
    if verbosity >= least {
        let text = format!("coretalk: {}", plain(text));
        let lines = match Output::stderr() {
            Output::Terminal => {
                let width = depth::width(Output::Terminal, |name| std::env::var(name).ok());
                flow(text.split(' '), " ", width, 2)
            }
            Output::Other => vec![text],
        };
        for line in lines {
            // Remarks are no result: nobody is hurt when they are lost.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
