//! [`Reason`]: why a number is in doubt or absent.

use crate::{CpuId, TrialFailure};

/// Why a number is in doubt or absent, as data. Reports and documents express it in words.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The run ended before the first pass.
    NotReached,
    /// The relative half width exceeds the requested precision.
    Wide(f64),
    /// Like `Wide`, but caused by the steps of the clock.
    Steps(f64),
    /// The machine changed between this number of states.
    States(usize),
    /// There are only this many passes.
    FewPasses(u32),
    /// The CPU was missing in every pass.
    Away(CpuId),
    /// A CPU was lost after the last pass.
    Lost(Box<TrialFailure>),
    /// Passes failed.
    Failed {
        /// Number of failed passes and of all passes; `None` if all failed.
        of: Option<[u32; 2]>,
        /// The most informative failure.
        failure: Box<TrialFailure>,
        /// Whether the reason includes output of the measured program, which may be private.
        is_revealed: bool,
    },
    /// A reason without numbers.
    Words(&'static str),
}

impl Reason {
    pub(crate) fn failed(of: Option<[u32; 2]>, failure: &TrialFailure) -> Reason {
        Reason::Failed { of, failure: Box::new(failure.clone()), is_revealed: false }
    }

    /// Includes the output of the measured program, for readers that may see private data.
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
