//! Verification of each role's report under contention.

use super::error::AdapterError;
use super::pass::RoleShare;
use super::protocol::{AdapterOperation, Request};
use std::collections::BTreeMap;

/// Tolerance between two times that an adapter reports, and between a reported time and a time measured here.
pub(super) const SLACK_NS: u64 = 1_000_000;
/// Minimum CPU time of a role per addition, in nanoseconds. It is the same as for a message.
pub(super) const MIN_NS_PER_ADDITION: f64 = 0.25;

/// The shares of the roles under contention, empty for other operations. They must be consistent with the pass.
pub(super) fn shares_of(
    request: &Request,
    reported: &BTreeMap<usize, RoleShare>,
    count: u64,
    ns: u64,
) -> Result<Vec<RoleShare>, AdapterError> {
    let wrong = |reason: String| Err(AdapterError::WrongShares(reason));
    let roles = if let AdapterOperation::Contend { threads } = request.operation { threads } else { 0 };
    if !reported.keys().copied().eq(0..roles) {
        return wrong(format!("{} of {roles} roles report a share", reported.len()));
    }
    for (role, &RoleShare { operations, window: [begin, end], added }) in reported {
        if begin > end || end > ns.saturating_add(SLACK_NS) || end - begin < request.count {
            return wrong(format!(
                "the window of role {role} is from {begin} to {end} ns, of a pass of {ns} ns and a duration of {} ns",
                request.count
            ));
        }
        if operations == 0 || operations > added {
            return wrong(format!(
                "role {role} reports {operations} operations in its window, and {added} in total"
            ));
        }
    }
    if let Some((role, share)) =
        reported.iter().find(|(_, share)| share.added as f64 * MIN_NS_PER_ADDITION > ns as f64)
    {
        return wrong(format!("role {role} reports {} additions in {ns} ns", share.added));
    }
    let added = reported.values().fold(0u64, |sum, share| sum.saturating_add(share.added));
    if roles > 0 && added != count {
        return wrong(format!("they add up to {added} additions, and `count` is {count}"));
    }
    Ok(reported.values().copied().collect())
}
