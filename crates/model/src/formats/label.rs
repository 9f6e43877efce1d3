//! [`CpuLabels`]: the CPU ids of a header, each once.

use std::collections::HashMap;

use super::{MAX_CPUS, Problem, import_error::excerpt};
use crate::{CpuId, cpu::HIGHEST_CPU};

/// Reads `5`, `CPU 5`, `cpu5`, `Core #5`.
///
/// # Errors
/// [`Problem::NotACpu`].
pub(super) fn read_label(text: &str) -> Result<CpuId, Problem> {
    let trimmed = text.trim();
    let word = trimmed.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let kind = &trimmed[..trimmed.len() - word.len()];
    const KINDS: [&str; 7] = ["", "cpu", "core", "thread", "pu", "hwc", "c"];
    let known = KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known));
    let digits = if kind.is_empty() { word } else { word.trim_start_matches([' ', '#', '_', '-']) };
    let id = is_whole(digits).then(|| digits.parse().ok()).flatten();
    match id {
        Some(id) if known && id <= HIGHEST_CPU => Ok(CpuId(id)),
        _ => Err(Problem::NotACpu { label: excerpt(trimmed) }),
    }
}

/// Whether this is a whole number without a sign.
pub(super) fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// CPU ids in the order of a header, with their positions.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuLabels {
    cpus: Vec<CpuId>,
    positions: HashMap<CpuId, usize>,
}

impl CpuLabels {
    /// 0 to `n` − 1, for a file that names no CPU.
    pub(super) fn numbered(n: usize) -> CpuLabels {
        let cpus: Vec<_> = (0..n as u32).map(CpuId).collect();
        let positions = cpus.iter().map(|&cpu| (cpu, cpu.index())).collect();
        CpuLabels { cpus, positions }
    }

    /// Adds the next id of the header.
    ///
    /// # Errors
    /// [`Problem::DuplicateCpu`] and [`Problem::TooManyCpus`].
    pub(super) fn push(&mut self, cpu: CpuId) -> Result<(), Problem> {
        if self.cpus.len() == MAX_CPUS {
            return Err(Problem::TooManyCpus);
        }
        if self.positions.insert(cpu, self.cpus.len()).is_some() {
            return Err(Problem::DuplicateCpu { cpu });
        }
        self.cpus.push(cpu);
        Ok(())
    }

    /// The number of CPUs.
    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }

    /// The ids in the order of the header.
    pub(super) fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// Where the header names this CPU.
    ///
    /// # Errors
    /// [`Problem::UnknownRow`] if it does not.
    pub(super) fn position(&self, cpu: CpuId) -> Result<usize, Problem> {
        self.positions.get(&cpu).copied().ok_or(Problem::UnknownRow { cpu })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_names_in_use_are_read_and_others_are_not() {
        for text in ["5", " 5 ", "CPU 5", "cpu5", "Core #5", "core_5", "c5", "HWC 5"] {
            assert_eq!(read_label(text), Ok(CpuId(5)), "from {text:?}");
        }
        for text in ["", "x", "5.0", "-5", "latency 5", "CPU", "99999999999", "1048576", "é5"] {
            assert!(read_label(text).is_err(), "{text:?} was accepted");
        }
    }
}
