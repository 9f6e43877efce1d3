//! Comparisons of arms by runs of work. Arms are placements of the same work, from which the best is selected, or
//! commands, each compared with a baseline.

mod analyse;
mod comparison;
mod conditions;
mod derive;
mod placement;
mod reason;
mod rounds;
mod settings;
mod unanswered;
mod workload;

pub use analyse::{
    ALPHA, analyse_places, has_intervals, least_repetitions, looks, most_repetitions, repetitions_due,
    verdict_repetitions,
};
pub use comparison::{
    Arm, COMMAND_METRICS, Difference, DropCause, DroppedRound, Failed, Metric, OTHERS, Open, PairVerdict,
    PlaceOutcome, PlaceResult, PlacementComparison, PlacementConditions, Role, Rounds, WAITED, effect,
};
pub use derive::{PresetError, cores_first, derive};
pub use placement::{Binding, Placement, PlacementName, Preset, UsedGroups};
pub use reason::{PlacementReason, Why, why};
pub use settings::{
    ArmCommand, BUDGET, COMMAND, CONTROL, MIN_EFFECT, PRECISION, PROBE, PlaceSettings, REPEAT, VERSUS,
    VersusSettings, WorkSettings,
};
pub use unanswered::{ShownPair, Unanswered, unanswered};
pub use workload::{Behaviour, Communication, Workload, WorkloadError, WorkloadKind};
