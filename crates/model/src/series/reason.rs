//! [`Reason`]: the gravest doubt about a trial, or why it says nothing.

use crate::flags;
use std::fmt;

/// Why a trial is doubted or says nothing: words, and the number behind them where there is one, so that reports can put
/// many into one sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// What it is about.
    pub about: About,
    text: String,
}

/// What a [`Reason`] is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum About {
    /// Half the interval as a share of its point: wider than asked for.
    Width(f64),
    /// The same where the steps of the clock are what makes it wide.
    Steps(f64),
    /// The words say everything.
    Words,
}

impl Reason {
    /// An interval that is wider than asked for.
    pub(super) fn too_wide(width: f64) -> Reason {
        Reason { about: About::Width(width), text: flags::too_wide(width) }
    }

    /// A median that a clock with steps cannot tell more closely.
    pub(super) fn too_coarse(width: f64) -> Reason {
        Reason { about: About::Steps(width), text: flags::too_coarse(width) }
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason { about: About::Words, text }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        text.to_owned().into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
