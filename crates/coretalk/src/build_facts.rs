//! Facts about the build of this program.

use coretalk_measure::host::facts;
use coretalk_model::environment::BuildFacts;

/// Adds the facts that only the binary knows to those of the measuring crate. `dist/build` sets the profile name,
/// because cargo only knows it as `release`.
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
