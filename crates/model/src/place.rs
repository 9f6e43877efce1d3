//! Comparison of placements: derives placements, compares the same work on each, and selects the best.

mod analyse;
mod comparison;
mod derive;
mod placement;
mod reason;
mod settings;
mod unanswered;
mod workload;

pub use analyse::{
    ALPHA, analyse_places, has_intervals, least_repetitions, most_repetitions, repetitions_due,
    verdict_repetitions,
};
pub use comparison::{
    Arm, COMMAND_METRICS, Comparison, Difference, Failed, Metric, OTHERS, Open, Outcome, PlaceResult,
    PlacementConditions, Role, WAITED, effect,
};
pub use derive::{PresetError, cores_first, derive};
pub use placement::{Binding, Placement, PlacementName, Preset, Structure};
pub use reason::{Reason, Why, why};
pub use settings::{BUDGET, COMMAND, MIN_EFFECT, PRECISION, PROBE, PlaceSettings, REPEAT, WorkSettings};
pub use unanswered::{ShownPair, Unanswered, unanswered};
pub use workload::{Behaviour, Communication, Workload, WorkloadError, WorkloadKind};
