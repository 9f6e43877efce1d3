//! Facts about the build of this program.

use coretalk_measure::host::facts;
use coretalk_model::environment::BuildFacts;

/// Adds facts that only this crate knows to those of `coretalk-measure`. `dist/build` sets the profile name, because
/// cargo reports that profile as `release`.
pub fn build_facts() -> BuildFacts {
    let measure_facts = facts::build_facts();
    let named = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    BuildFacts {
        profile: named(option_env!("CORETALK_RELEASED_AS")).unwrap_or(measure_facts.profile),
        commit: named(Some(env!("CORETALK_COMMIT"))),
        lock_date: named(Some(env!("CORETALK_LOCK_DATE"))),
        sqlite: Some(rusqlite::version().to_owned()),
        ..measure_facts
    }
}
