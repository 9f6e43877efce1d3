//! [`Twin`]: what stands on simulated machines for what a runtime performs.

use crate::adapters::description::{MAX_CAPACITY, lack_of_queue};
use crate::adapters::{Kind, Payload};
use crate::external::External;

/// What a simulated machine performs in place of a runtime: its native twin, so much slower. The numbers are stated and of
/// the right kind; nothing is held against reality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Twin {
    /// `RUNTIME:NAME`.
    pub external: &'static str,
    /// What is most like it among what this program performs itself.
    pub native: &'static str,
    /// How many times as long everything takes.
    pub factor: f64,
    /// Share of the CPU time of its process that threads beside the roles take: of compilers and collectors.
    pub outside: f64,
    /// Collections of garbage in a second of a pass.
    pub collections_per_s: f64,
    /// What messages of a queue may be; it says nothing of what is no queue.
    pub payloads: &'static [Payload],
    /// The least and the most places that a queue may have.
    pub capacities: [u64; 2],
    /// What the adapter performs of it; empty where that is one kind, and its probe says which.
    pub kinds: &'static [Kind],
}

impl Twin {
    /// A twin of which nobody helps and nothing is collected.
    pub const fn new(external: &'static str, native: &'static str, factor: f64) -> Twin {
        Twin {
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

    /// Of which the adapter performs these kinds.
    #[must_use]
    pub const fn performing(self, kinds: &'static [Kind]) -> Twin {
        Twin { kinds, ..self }
    }

    /// Why it cannot be asked for something of a kind: a sentence; `None` where it can.
    pub fn lack_of_kind(&self, kind: Kind) -> Option<String> {
        let performs = match self.kinds {
            [] => !matches!(kind, Kind::Alternate | Kind::Cost | Kind::Clock),
            kinds => kinds.contains(&kind),
        };
        (!performs).then(|| format!("`{}` {} the simulated adapter", self.external, kind.lack()))
    }

    /// Of a queue whose messages are numbers as values alone.
    #[must_use]
    pub const fn of_numbers(self) -> Twin {
        Twin { payloads: &[Payload::U64], ..self }
    }

    /// Of a queue that has so many places.
    #[must_use]
    pub const fn holding(self, least: u64, most: u64) -> Twin {
        Twin { capacities: [least, most], ..self }
    }

    /// Why the queue of the runtime cannot be asked for this: a sentence; `None` where it can.
    pub fn lack_of_queue(&self, payload: Payload, capacity: u64) -> Option<String> {
        let [least, most] = self.capacities;
        lack_of_queue(self.external, self.payloads, &(least..=most), payload, capacity)
    }

    /// With threads beside the roles that take this share of the CPU time.
    #[must_use]
    pub const fn helped(self, outside: f64) -> Twin {
        Twin { outside, ..self }
    }

    /// With so many collections in a second.
    #[must_use]
    pub const fn collecting(self, collections_per_s: f64) -> Twin {
        Twin { collections_per_s, ..self }
    }

    /// The twin of what a runtime performs, among these.
    pub fn of(twins: &'static [Twin], external: &External) -> Option<&'static Twin> {
        let name = external.to_string();
        twins.iter().find(|twin| twin.external == name)
    }

    /// Why a simulated machine cannot perform it: a sentence.
    pub fn lack(twins: &'static [Twin], external: &External) -> String {
        let known: Vec<&str> = twins.iter().map(|twin| twin.external).collect();
        format!(
            "`{external}` cannot be simulated: no native twin of it is stated (there is one of {})",
            known.join(", ")
        )
    }
}
