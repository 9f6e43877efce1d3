//! [`Probe`]: a question to the machine, and the kernels that answer it.

use crate::kernel::Kernel;
use crate::series::SeriesProbe;

/// A question to the machine. One file each under `probes/`, listed in [`REGISTRY`](crate::probes::REGISTRY).
pub trait Probe: Sync {
    /// What is asked.
    fn spec(&self) -> &ProbeSpec;

    /// Every piece of code that can be timed to answer it in a map, in the order of reports; a probe of trials has none.
    fn kernels(&self) -> &[&'static Kernel] {
        &[]
    }

    /// The same probe as one of trials, where it is one.
    fn series(&self) -> Option<&dyn SeriesProbe> {
        None
    }
}

/// What a probe asks, in words; help, lists and documents derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Stable name, as in documents and on the command line.
    pub id: &'static str,
    /// Heading of its section in the methodology.
    pub title: &'static str,
    /// The question it answers, as a person would ask it.
    pub question: &'static str,
    /// Unit of its numbers.
    pub unit: &'static str,
    /// What its numbers are, as in documents.
    pub quantity: &'static str,
}
