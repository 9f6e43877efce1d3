//! [`InferError`]: why nothing can be inferred.

use crate::CpuId;

/// Why nothing can be inferred from a matrix. Follows "cannot infer a structure:".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InferError {
    /// Two CPUs have one pair, and one number has no structure.
    #[error("{}, and groups show only from three CPUs on", pairs_words(*.cpus))]
    TooFew {
        /// CPUs of the matrix.
        cpus: usize,
    },
    /// A cell that no measurement gives.
    #[error("the latency of CPU {from} to CPU {to} is {value}, which no measurement gives; check the file")]
    Impossible {
        /// Initiator.
        from: CpuId,
        /// Responder.
        to: CpuId,
        /// What stands there.
        value: f64,
    },
    /// Too few of the pairs have a value.
    #[error("{known} of {of} pairs have a value; at least half of them are needed")]
    TooSparse {
        /// Pairs with a value.
        known: usize,
        /// Pairs.
        of: usize,
    },
}

fn pairs_words(cpus: usize) -> &'static str {
    match cpus {
        0 => "the matrix has no CPU with a value",
        1 => "one CPU has nobody to talk to",
        _ => "2 CPUs have 1 pair between them",
    }
}
