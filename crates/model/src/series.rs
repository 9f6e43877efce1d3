//! Series: what every probe but the latency map measures. A probe lists trials ([`TrialSpec`]: parameters and
//! placement); passes over them say something ([`PassOutcome`]); all of them are the [`SeriesRecord`]; and
//! [`analyse_series`] is the one pure function from there to what follows ([`SeriesResult`]).

mod alike;
mod analyse;
mod common;
mod concurrency;
mod headline;
mod judge;
mod load;
mod record;
mod result;
mod rungs;
mod settings;
mod states;
pub mod summary;
mod trial;

pub use alike::{Alike, MapUnit, alike};
pub use analyse::{analyse_series, first_width, is_done, is_wide_already};
pub use common::side_by_side;
pub use concurrency::{ConcurrencyGate, Counted, concurrency_margin};
pub use headline::{Headline, TimeUnit, displayed_value, named_headline};
pub use load::{LoadCurve, load_curve};
pub use record::{Numbers, Observed, PassOutcome, RoleEvidence, SeriesEntry, SeriesRecord};
pub use result::{About, Reason, SeriesResult, TrialResult, TrialState};
pub use rungs::{RUNGS, Rung, rungs};
pub use settings::{Gathering, SeriesSettings};
pub use states::SentinelWatch;
pub use trial::{Parameters, TrialId, TrialSpec, Value};
