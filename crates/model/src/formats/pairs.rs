//! [`Pairs`]: one line per pair, until all CPUs are known.

use super::cell::Number;
use super::label::CpuLabels;
use super::square::Square;
use super::{ImportError, MAX_CPUS, Problem};
use crate::CpuId;

/// Up to this many CPUs any number of pairs makes a matrix; beyond, [`SPARSEST`] bounds the memory that a short file
/// can ask for.
const SMALL: usize = 256;

/// The cells per line of the file at which a large matrix is called too sparse.
const SPARSEST: usize = 16;

/// Latencies in the order of their lines.
#[derive(Default)]
pub(super) struct Pairs {
    pairs: Vec<Pair>,
}

/// One line: where it is, whom it names, what it says.
pub(super) struct Pair {
    pub line: usize,
    /// The field that holds the latency.
    pub field: usize,
    pub from: CpuId,
    pub to: CpuId,
    pub number: Option<Number>,
}

impl Pairs {
    /// Adds a line.
    ///
    /// # Errors
    /// [`Problem::TooManyCpus`] if there are more lines than the largest matrix has cells.
    pub(super) fn push(&mut self, pair: Pair) -> Result<(), Problem> {
        if self.pairs.len() == MAX_CPUS * MAX_CPUS {
            return Err(Problem::TooManyCpus);
        }
        self.pairs.push(pair);
        Ok(())
    }

    /// The table of all CPUs that were named, in ascending order.
    ///
    /// # Errors
    /// What [`Square::set`] refuses, a pair given twice, and a matrix that would be nearly empty.
    pub(super) fn into_square(self) -> Result<Square, ImportError> {
        let mut ids: Vec<CpuId> = self.pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        ids.sort_unstable();
        ids.dedup();
        let n = ids.len();
        if n > SMALL && n.saturating_mul(n) > SPARSEST * self.pairs.len() {
            return Err(Problem::TooSparse { pairs: self.pairs.len(), cpus: n }.into());
        }
        let mut labels = CpuLabels::default();
        for id in ids {
            labels.push(id)?;
        }
        let mut square = Square::new(&labels)?;
        let mut seen = vec![false; n * n];
        for Pair { line, field, from, to, number } in self.pairs {
            let (row, column) = (labels.position(from)?, labels.position(to)?);
            if std::mem::replace(&mut seen[row * n + column], true) {
                return Err(Problem::DuplicatePair { from, to }.at_line(line));
            }
            square.set(row, column, number).map_err(|problem| problem.at(line, field))?;
        }
        Ok(square)
    }
}
