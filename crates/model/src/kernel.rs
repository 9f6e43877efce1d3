//! [`Protocol`], [`Hint`], [`KernelId`] and [`Tool`]: the code executed on the two sides of a pair.

use std::fmt;

named! {
    /// How two CPUs pass a cache line to each other (docs/probes/latency.md has a section for each).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Protocol {
        /// Both sides compare-exchange one line: the method of published tables and of the headline.
        Cas = "cas",
        /// Both sides poll one line and store to it.
        Store = "store",
        /// A mailbox line per direction with sequence numbers, as in a queue.
        Msg = "msg",
        /// Dependent reads of lines that the partner modified, without spinning.
        Xfer = "xfer",
        /// A time stamp in the line, read on arrival. Only the variation relative to the minimum is valid.
        OneWay = "one-way",
    }
}

impl Protocol {
    /// Whether the values are durations (lower is better). Values of `one-way` are only differences of times.
    pub fn is_latency(self) -> bool {
        self != Protocol::OneWay
    }

    /// Whether the receive loop spins and can use a wait hint.
    pub fn spins(self) -> bool {
        matches!(self, Protocol::Cas | Protocol::Store | Protocol::Msg)
    }

    /// Transfers of a line per operation: two for a round trip, one for a read or message.
    pub fn hops(self) -> u32 {
        if self.spins() { 2 } else { 1 }
    }
}

/// Instruction between two polls of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Hint {
    /// No instruction.
    None,
    /// One wait hint: PAUSE on x86, ISB or YIELD on Arm.
    Pause,
}

/// Stable name of the timed code: a protocol with its hint (`cas+pause`), or the kernel of another tool (`as:c2clat`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct KernelId(pub std::borrow::Cow<'static, str>);

impl KernelId {
    /// The kernel of a protocol with a hint. A protocol that does not spin has only one kernel.
    ///
    /// ```
    /// # use coretalk_model::kernel::*;
    /// assert_eq!(KernelId::new(Protocol::Cas, Hint::Pause).to_string(), "cas+pause");
    /// assert_eq!(KernelId::new(Protocol::Xfer, Hint::Pause).to_string(), "xfer");
    /// ```
    pub fn new(protocol: Protocol, hint: Hint) -> KernelId {
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
        KernelId(LadderStep::Imitated(tool).to_string().into())
    }

    /// The ladder column of the kernel, independent of its hint.
    ///
    /// ```
    /// # use coretalk_model::kernel::*;
    /// assert_eq!(KernelId("msg+pause".into()).step(), LadderStep::Protocol(Protocol::Msg));
    /// assert_eq!(KernelId("as:c2clat".into()).step(), LadderStep::Imitated(Tool::C2clat));
    /// assert_eq!(KernelId("futex".into()).step(), LadderStep::Other("futex"));
    /// ```
    pub fn step(&self) -> LadderStep<'_> {
        let name = self.0.split_once('+').map_or(&*self.0, |(name, _)| name);
        match (Protocol::named(name), name.strip_prefix(IMITATES).and_then(Tool::named)) {
            (Some(protocol), _) => LadderStep::Protocol(protocol),
            (None, Some(tool)) => LadderStep::Imitated(tool),
            (None, None) => LadderStep::Other(name),
        }
    }

    /// Instruction between two polls.
    pub fn hint(&self) -> Hint {
        if self.0.contains('+') { Hint::Pause } else { Hint::None }
    }

    /// The [hops](Protocol::hops) of one operation.
    ///
    /// ```
    /// # use coretalk_model::kernel::*;
    /// assert_eq!(KernelId::new(Protocol::Msg, Hint::Pause).hops(), 2);
    /// assert_eq!(KernelId::new(Protocol::Xfer, Hint::None).hops(), 1);
    /// assert_eq!(KernelId::imitating(Tool::C2clat).hops(), 2);
    /// ```
    pub fn hops(&self) -> u32 {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == self.0).map_or(2, Protocol::hops)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const IMITATES: &str = "as:";

/// A column of the ladder, displayed as the name of the kernel without its hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderStep<'a> {
    /// A protocol.
    Protocol(Protocol),
    /// The kernel of another tool.
    Imitated(Tool),
    /// A wake-up, or a step unknown to this version, by name.
    Other(&'a str),
}

impl fmt::Display for LadderStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LadderStep::Protocol(protocol) => f.write_str(protocol.name()),
            LadderStep::Imitated(tool) => write!(f, "{IMITATES}{}", tool.name()),
            LadderStep::Other(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

named! {
    /// Another tool whose kernel, line placement, counts and statistic can be reproduced (`--as`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Tool {
        /// nviennot/core-to-core-latency: CAS, mean over samples.
        CoreToCoreLatency = "core-to-core-latency",
        /// rigtorp/c2clat: two lines, load and store, minimum in whole ns.
        C2clat = "c2clat",
        /// rigtorp/c2clat with `-w`: one word, compare-exchange, minimum in whole ns.
        C2clatW = "c2clat-w",
        /// SoilRos/cpu-latency: CAS, mean.
        CpuLatency = "cpu-latency",
        /// google/multichase pingpong: CAS with ten pauses, best of five.
        Multichase = "multichase",
        /// clamchowder/Microbenchmarks CoherencyLatency: load and store, mean over a long run.
        CoherencyLatency = "coherency-latency",
    }
}

impl Tool {
    /// Whether the tool measures each pair in both directions. Other tools print one value per pair.
    pub fn measures_both_directions(self) -> bool {
        self == Tool::CoherencyLatency
    }
}
