//! [`Protocol`], [`Hint`], [`KernelId`] and [`Tool`]: what is executed on the two sides of a pair.

use std::fmt;

/// How two CPUs hand a cache line to each other (docs/probes/latency.md has a section for each).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Protocol {
    /// Both sides compare-exchange one line: what published tables are made of, and the headline.
    Cas,
    /// One line, load spin and store.
    Store,
    /// A mailbox line per direction with sequence numbers: what a queue sees.
    Msg,
    /// Dependent reads of lines that the partner dirtied: no spin at all.
    Xfer,
    /// A time stamp in the line, read on arrival: only as variation against its own minimum.
    OneWay,
}

impl Protocol {
    /// Every protocol in the order of reports.
    pub const ALL: [Protocol; 5] =
        [Protocol::Cas, Protocol::Store, Protocol::Msg, Protocol::Xfer, Protocol::OneWay];

    /// The stable name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Cas => "cas",
            Protocol::Store => "store",
            Protocol::Msg => "msg",
            Protocol::Xfer => "xfer",
            Protocol::OneWay => "one-way",
        }
    }

    /// Whether its values are times that something takes, so that less is sooner; those of `one-way` say by how much
    /// times differ, and nothing of how long they are.
    pub fn is_latency(self) -> bool {
        self != Protocol::OneWay
    }

    /// Whether its receive loop spins, so that a wait hint makes sense.
    pub fn spins(self) -> bool {
        matches!(self, Protocol::Cas | Protocol::Store | Protocol::Msg)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a receive loop executes between two polls of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Hint {
    /// Nothing.
    None,
    /// One wait hint: PAUSE on x86, ISB or YIELD on Arm.
    Pause,
}

/// The stable name of the code that was timed: a protocol with its hint (`cas+pause`), or another tool's kernel
/// (`as:c2clat`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct KernelId(pub std::borrow::Cow<'static, str>);

impl KernelId {
    /// The kernel of a protocol under a hint. A protocol that does not spin has one kernel only.
    ///
    /// ```
    /// # use coretalk_model::kernel::*;
    /// assert_eq!(KernelId::of(Protocol::Cas, Hint::Pause).to_string(), "cas+pause");
    /// assert_eq!(KernelId::of(Protocol::Xfer, Hint::Pause).to_string(), "xfer");
    /// ```
    pub fn of(protocol: Protocol, hint: Hint) -> KernelId {
        KernelId(
            match (protocol, hint) {
                (Protocol::Cas, Hint::Pause) => "cas+pause",
                (Protocol::Store, Hint::Pause) => "store+pause",
                (Protocol::Msg, Hint::Pause) => "msg+pause",
                (protocol, _) => protocol.name(),
            }
            .into(),
        )
    }

    /// The kernel that imitates another tool.
    pub fn imitating(tool: Tool) -> KernelId {
        KernelId(format!("as:{}", tool.name()).into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Another tool whose kernel, line placement, counts and statistic can be reproduced (`--as`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Tool {
    /// nviennot/core-to-core-latency: CAS, mean over samples.
    CoreToCoreLatency,
    /// rigtorp/c2clat: two lines, load and store, minimum in whole ns.
    C2clat,
    /// rigtorp/c2clat with `-w`: one word, compare-exchange, minimum in whole ns.
    C2clatW,
    /// SoilRos/cpu-latency: CAS, mean.
    CpuLatency,
    /// google/multichase pingpong: CAS with ten pauses, best of five.
    Multichase,
    /// clamchowder/Microbenchmarks CoherencyLatency: load and store, mean over a long run.
    CoherencyLatency,
}

impl Tool {
    /// Every tool in the order of reports.
    pub const ALL: [Tool; 6] = [
        Tool::CoreToCoreLatency,
        Tool::C2clat,
        Tool::C2clatW,
        Tool::CpuLatency,
        Tool::Multichase,
        Tool::CoherencyLatency,
    ];

    /// The stable name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tool::CoreToCoreLatency => "core-to-core-latency",
            Tool::C2clat => "c2clat",
            Tool::C2clatW => "c2clat-w",
            Tool::CpuLatency => "cpu-latency",
            Tool::Multichase => "multichase",
            Tool::CoherencyLatency => "coherency-latency",
        }
    }

    /// Whether it measures a pair from each side; the others print one value for both.
    pub fn measures_both_directions(self) -> bool {
        self == Tool::CoherencyLatency
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
