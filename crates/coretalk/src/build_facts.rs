//! How this program was built.

use coretalk_measure::host::facts;
use coretalk_model::environment::BuildFacts;

/// What the build of the crate that measures says, and what only the program knows. Whoever builds what is released names
/// commit and profile, which cargo does not tell.
pub fn build_facts() -> BuildFacts {
    let of_measure = facts::build_facts();
    let named = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    BuildFacts {
        profile: named(option_env!("CORETALK_RELEASED_AS")).unwrap_or(of_measure.profile),
        commit: named(option_env!("CORETALK_COMMIT")),
        lock_date: named(Some(env!("CORETALK_LOCK_DATE"))),
        sqlite: Some(rusqlite::version().to_owned()),
        ..of_measure
    }
}
