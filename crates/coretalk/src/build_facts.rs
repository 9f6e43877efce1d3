//! How this program was built.

use coretalk_measure::host::facts;
use coretalk_model::environment::BuildFacts;

/// The facts of the crate that measures, and those that only the program knows. `dist/build` names its profile, which cargo
/// calls `release`.
pub fn build_facts() -> BuildFacts {
    let of_measure = facts::build_facts();
    let named = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    BuildFacts {
        profile: named(option_env!("CORETALK_RELEASED_AS")).unwrap_or(of_measure.profile),
        commit: named(Some(env!("CORETALK_COMMIT"))),
        lock_date: named(Some(env!("CORETALK_LOCK_DATE"))),
        sqlite: Some(rusqlite::version().to_owned()),
        ..of_measure
    }
}
