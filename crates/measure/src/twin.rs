//! [`Twin`]: what stands on simulated machines for what a runtime performs.

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
}

impl Twin {
    /// A twin of which nobody helps and nothing is collected.
    pub const fn new(external: &'static str, native: &'static str, factor: f64) -> Twin {
        Twin { external, native, factor, outside: 0.02, collections_per_s: 0.0 }
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
