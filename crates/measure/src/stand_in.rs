//! [`SimStandIn`]: a simulated replacement for something that a runtime performs.

use crate::adapters::description::{MAX_CAPACITY, lack_of_queue};
use crate::adapters::{OperationKind, Payload};
use coretalk_model::external::External;

/// A native counterpart with a slowdown factor. It replaces a runtime in a simulation. The numbers are plausible
/// assumptions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimStandIn {
    /// Name of the replaced item: `RUNTIME:NAME`.
    pub external: &'static str,
    /// Name of the most similar item that this program performs itself.
    pub native: &'static str,
    /// Factor on all durations.
    pub factor: f64,
    /// CPU time of threads other than the roles (compilers, collectors), as a share of the process.
    pub outside: f64,
    /// Garbage collections per second of a pass.
    pub collections_per_s: f64,
    /// Supported messages of a queue.
    pub payloads: &'static [Payload],
    /// Minimum and maximum capacity of a queue.
    pub capacities: [u64; 2],
    /// Kinds of work that the adapter performs. Empty if the probe implies the only kind.
    pub kinds: &'static [OperationKind],
}

impl SimStandIn {
    /// A stand-in without garbage collections. Its other threads take 2 % of the CPU time.
    pub const fn new(external: &'static str, native: &'static str, factor: f64) -> SimStandIn {
        SimStandIn {
            external,
            native,
            factor,
            outside: 0.02,
            collections_per_s: 0.0,
            payloads: &Payload::ALL,
            capacities: [1, MAX_CAPACITY],
            kinds: &[],
        }
    }

    /// Sets the kinds of work that the adapter performs.
    #[must_use]
    pub const fn performing(self, kinds: &'static [OperationKind]) -> SimStandIn {
        SimStandIn { kinds, ..self }
    }

    /// The reason, as a sentence, why this kind of work is unsupported; `None` if it is supported.
    pub fn lack_of_kind(&self, kind: OperationKind) -> Option<String> {
        let performs = match self.kinds {
            [] => !matches!(kind, OperationKind::Alternate | OperationKind::Cost | OperationKind::Clock),
            kinds => kinds.contains(&kind),
        };
        (!performs).then(|| format!("`{}` {} the simulated adapter", self.external, kind.lack()))
    }

    /// Restricts messages to numbers passed as values.
    #[must_use]
    pub const fn of_numbers(self) -> SimStandIn {
        SimStandIn { payloads: &[Payload::U64], ..self }
    }

    /// Sets the range of the capacity.
    #[must_use]
    pub const fn holding(self, least: u64, most: u64) -> SimStandIn {
        SimStandIn { capacities: [least, most], ..self }
    }

    /// The reason, as a sentence, why the queue does not support these messages or this capacity; `None` if it does.
    pub fn lack_of_queue(&self, payload: Payload, capacity: u64) -> Option<String> {
        let [least, most] = self.capacities;
        lack_of_queue(self.external, self.payloads, &(least..=most), payload, capacity)
    }

    /// Sets the share of CPU time of threads other than the roles.
    #[must_use]
    pub const fn helped(self, outside: f64) -> SimStandIn {
        SimStandIn { outside, ..self }
    }

    /// Sets the garbage collections per second.
    #[must_use]
    pub const fn collecting(self, collections_per_s: f64) -> SimStandIn {
        SimStandIn { collections_per_s, ..self }
    }

    /// Finds the stand-in of a runtime's item.
    pub fn find(stand_ins: &'static [SimStandIn], external: &External) -> Option<&'static SimStandIn> {
        let name = external.to_string();
        stand_ins.iter().find(|stand_in| stand_in.external == name)
    }

    /// The error sentence for an item without a stand-in.
    pub fn lack(stand_ins: &'static [SimStandIn], external: &External) -> String {
        let known: Vec<&str> = stand_ins.iter().map(|stand_in| stand_in.external).collect();
        format!(
            "`{external}` cannot be simulated: it has no simulated stand-in (there is one of {})",
            known.join(", ")
        )
    }
}
