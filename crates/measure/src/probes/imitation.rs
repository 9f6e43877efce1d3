//! `--as TOOL`: the kernels of other tools, and what each does with its numbers.
//!
//! Rebuilt from their published behaviour: what is written between two clock reads, who begins, how often, and which
//! statistic is printed. Where a tool's source says more than its documents, the kernel says so. The words here are 64
//! bits wide and the waits can be given up, which spins of plain loads feel (docs/evidence.md, "Other tools").

mod kernels;
mod layout;
mod spin;

pub use kernels::{C2CLAT, C2CLAT_W, COHERENCY_LATENCY, CORE_TO_CORE_LATENCY, CPU_LATENCY, MULTICHASE};
pub use layout::render;

use crate::kernel::Kernel;
use crate::machine::{HomeChoice, Sampling, SpanOrder, Walk};
use coretalk_model::Tool;

/// How a tool measures a pair by default.
#[derive(Debug, Clone, Copy)]
pub struct Imitation {
    /// Which tool.
    pub tool: Tool,
    /// Its loops.
    pub kernel: &'static Kernel,
    /// Batches that it takes of a pair; a sample of the tool may be several.
    pub visits: u32,
    /// Round trips in a batch.
    pub round_trips: u32,
    /// What its output looks like.
    pub output: &'static str,
}

impl Imitation {
    /// How this tool measures.
    ///
    /// ```
    /// use coretalk_measure::probes::imitation::Imitation;
    /// use coretalk_model::Tool;
    /// let imitation = Imitation::of(Tool::C2clat);
    /// assert_eq!((imitation.visits, imitation.round_trips), (1_000, 100));
    /// ```
    pub fn of(tool: Tool) -> Imitation {
        match tool {
            Tool::CoreToCoreLatency => Imitation {
                tool,
                kernel: &CORE_TO_CORE_LATENCY,
                visits: 300,
                round_trips: 1_000,
                output: "a lower triangle of mean ± standard error, then minimum, maximum and mean",
            },
            Tool::C2clat => Imitation {
                tool,
                kernel: &C2CLAT,
                visits: 1_000,
                round_trips: 100,
                output: "a full table under a `CPU` header, whole nanoseconds, 0 on the diagonal",
            },
            Tool::C2clatW => Imitation { tool, kernel: &C2CLAT_W, ..Imitation::of(Tool::C2clat) },
            Tool::CpuLatency => Imitation {
                tool,
                kernel: &CPU_LATENCY,
                visits: 15,
                round_trips: 1_000,
                output: "a lower triangle of comma rows without a header, six digits",
            },
            // 5 × 250 ms there; counts here, so that a plan knows what it asks for: 1,000,000 trips take 250 ms at
            // the 125 ns that ten pauses cost (docs/evidence.md, "Other tools").
            Tool::Multichase => Imitation {
                tool,
                kernel: &MULTICHASE,
                visits: 500,
                round_trips: 10_000,
                output: "an upper triangle under the numbers of its columns, one decimal",
            },
            Tool::CoherencyLatency => Imitation {
                tool,
                kernel: &COHERENCY_LATENCY,
                visits: 1_000,
                round_trips: 10_000,
                output: "`Cache line offset: 0`, then comma rows with six decimals, `x` on the diagonal",
            },
        }
    }

    /// What to ask a machine for: one and the same place, no warm-up, as single-address tools do. The memory is that
    /// of the initiating CPU, where such tools' main thread touches it first.
    pub fn order(&self) -> SpanOrder {
        SpanOrder {
            kernel: self.kernel,
            home: HomeChoice::OfRole(0),
            lines: 1,
            walk: Walk::OnePlace,
            warm_up: 0,
            sampling: Sampling::Batches { visits: self.visits, round_trips: self.round_trips },
        }
    }
}
