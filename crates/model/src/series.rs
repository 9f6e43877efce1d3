//! Series: the measurements of every probe except the latency map. A probe lists trials ([`TrialSpec`]). Each pass over
//! a trial has a [`PassOutcome`]. [`analyse_series`] derives the [`SeriesResult`] from the [`SeriesRecord`].

mod aggregates;
mod analyse;
mod concurrency;
mod done;
mod evidence;
mod headline;
mod judge;
mod load;
mod name;
mod processes;
mod ranking;
mod record;
mod result;
mod rungs;
mod settings;
mod states;
pub mod summary;

pub use analyse::analyse_series;
pub use concurrency::{Bias, ConcurrencyGate, CountedPasses, concurrency_margin};
pub use done::{first_width, is_done, is_wide_already};
pub use headline::{Headline, TimeUnit, displayed_value, named_headline};
pub use load::{LoadCurve, load_curve};
pub use name::{NamePart, SeriesName};
pub use ranking::{Condition, Ranking, RankingVerdict, Subject, ranking, rankings};
pub(crate) use ranking::{place_order, shown};
pub use record::{MAX_VALUE, Numbers, Observed, PassOutcome, RoleEvidence, SeriesEntry, SeriesRecord};
pub use result::{ProcessResult, SeriesResult, TrialResult, TrialState};
pub use rungs::{RUNGS, TrialRung, rungs};
pub use settings::{
    ADAPTERS, Gathering, MASK, ParameterValue, Parameters, SeriesSettings, TrialId, TrialSpec,
};
pub use states::SentinelWatch;
pub use summary::{Alike, MapUnit, alike, side_by_side};
