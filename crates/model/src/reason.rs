//! [`Reason`]: why a number is doubted, or why there is none.

use crate::{CpuId, TrialFailure};

/// Why a number is doubted, or why there is none: the numbers of a sentence, which reports and documents word.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The run ended before the first pass.
    NotReached,
    /// Half the interval, as a share of its point, is more than was requested.
    Wide(f64),
    /// The same where the steps of the clock make the interval wide.
    Steps(f64),
    /// The machine changed state: this many levels.
    States(usize),
    /// There are this many passes.
    FewPasses(u32),
    /// The CPU was away during every pass.
    Away(CpuId),
    /// A CPU went away after the passes that there are.
    Lost(Box<TrialFailure>),
    /// Passes failed.
    Failed {
        /// How many failed, and how many there are; `None` where all did.
        of: Option<[u32; 2]>,
        /// The failure that says most.
        failure: Box<TrialFailure>,
        /// Whether the words of the program that was measured, which may be private, are a part of the reason.
        is_revealed: bool,
    },
    /// What has no number.
    Words(&'static str),
}

impl Reason {
    /// Failed passes, without the words of the program that was measured.
    pub(crate) fn failed(of: Option<[u32; 2]>, failure: &TrialFailure) -> Reason {
        Reason::Failed { of, failure: Box::new(failure.clone()), is_revealed: false }
    }

    /// Makes the words of the program a part of the reason, for readers that may see private parts.
    pub fn reveal(&mut self) {
        if let Reason::Failed { is_revealed, .. } = self {
            *is_revealed = true;
        }
    }
}

impl From<&'static str> for Reason {
    fn from(words: &'static str) -> Reason {
        Reason::Words(words)
    }
}
