//! [`Verbosity`]: how much is said on standard error, and [`remark`], which says it.

use crate::report::plain;
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
        // Remarks are no result: nobody is hurt when they are lost.
        let _ = writeln!(io::stderr(), "coretalk: {}", plain(text));
    }
}
