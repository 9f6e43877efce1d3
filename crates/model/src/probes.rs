//! [`ProbeDeclaration`]: the question, parameters and quantities of each probe, as data.

pub mod broadcast;
pub mod contend;
pub mod jitter;
pub mod latency;
pub mod queue;
pub mod sharing;
pub mod spawn;
pub mod wait;
pub mod wake;

use crate::Environment;
use crate::quantity::{Parameter, Quantities, Quantity};
use crate::series::TrialSpec;

/// The declaration of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeDeclaration {
    /// Stable name, used in documents and on the command line.
    pub id: &'static str,
    /// Heading of the page in `docs/probes`.
    pub title: &'static str,
    /// The question that the probe answers, in the words of the user.
    pub question: &'static str,
    /// Unit of the main quantity.
    pub unit: &'static str,
    /// Name of the main quantity.
    pub quantity: &'static str,
    /// The parameters in which trials differ, table columns first.
    pub parameters: &'static [Parameter],
    /// The reported quantities, in column order.
    pub quantities: &'static [Quantity],
    /// The roles of the two CPUs of a pair, for the legend of a map. Rows are the first CPU, columns the second.
    pub pair_roles: &'static str,
    /// The parameter with the name of the measured thing, if runtimes in other languages may measure it too.
    pub named_by: Option<&'static str>,
    /// Names of the quantities that no runtime reports.
    pub not_reported_by_runtimes: &'static [&'static str],
}

impl ProbeDeclaration {
    /// A declaration without texts, parameters and quantities, and with the usual roles.
    pub const EMPTY: ProbeDeclaration = ProbeDeclaration {
        id: "",
        title: "",
        question: "",
        unit: "",
        quantity: "",
        parameters: &[],
        quantities: &[],
        pair_roles: "rows: first CPU of the pair",
        named_by: None,
        not_reported_by_runtimes: &[],
    };
}

/// Every declaration, in report order.
pub const ALL: [&ProbeDeclaration; 9] = [
    &latency::DECLARATION,
    &wait::DECLARATION,
    &wake::DECLARATION,
    &queue::DECLARATION,
    &spawn::DECLARATION,
    &contend::DECLARATION,
    &sharing::DECLARATION,
    &broadcast::DECLARATION,
    &jitter::DECLARATION,
];

/// Finds a declaration by the name of its probe; `None` for a probe of another version.
pub fn declaration(id: &str) -> Option<&'static ProbeDeclaration> {
    ALL.into_iter().find(|declaration| declaration.id == id)
}

/// The parameters of a probe; empty for a probe of another version.
pub fn parameters(id: &str) -> &'static [Parameter] {
    declaration(id).map_or(&[], |declaration| declaration.parameters)
}

/// A parameter by name. Probes that share a name declare the same parameter.
pub fn parameter(id: &str) -> Option<&'static Parameter> {
    ALL.into_iter().flat_map(|declaration| declaration.parameters).find(|parameter| parameter.id == id)
}

/// A quantity of a probe.
pub fn quantity(probe: &str, id: &str) -> Option<&'static Quantity> {
    declaration(probe)?.quantities.iter().find(|quantity| quantity.id == id)
}

/// The quantities of all probes.
pub fn quantities() -> Quantities {
    Quantities::new(ALL.map(|declaration| (declaration.id, declaration.quantities)))
}

/// A legend entry: a name in a table (empty for the whole table), a template of its meaning, and a number to fill in.
pub type LegendEntry = (String, &'static str, Option<u32>);

/// The simulated replacement for a subject of a runtime.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandIn {
    /// `RUNTIME:NAME`.
    pub external: &'static str,
    /// The most similar subject that this program measures itself.
    pub native: &'static str,
    /// Factor for all durations.
    pub factor: f64,
}

/// Functions by which a report explains names that only the measuring code knows.
#[derive(Debug, Clone, Copy)]
pub struct Glossary {
    /// Explains names in trials of one probe, measured in this environment.
    pub legend: fn(&[&TrialSpec], &Environment) -> Vec<LegendEntry>,
    /// Finds the replacement for a trial of a runtime on a simulated machine.
    pub stand_in: fn(&TrialSpec) -> Option<StandIn>,
}
