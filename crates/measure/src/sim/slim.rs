//! The waits of `semaphore-slim`: polls with pauses between them, some of which yield the CPU, then a sleep.

use crate::pricing::Costs;
use crate::queues::slim::{POLLS, Rest, Rests};

/// Duration of the pause after an unsuccessful poll. Polls are numbered from 0.
pub fn rest_ns(costs: &Costs, poll: u32) -> f64 {
    match Rests::from_hint(costs.hint_ns).after(poll) {
        Rest::Hints(hints) => f64::from(hints) * costs.hint_ns,
        Rest::Yield => costs.syscall_ns,
    }
}

/// Time from the first unsuccessful poll to the first yield.
pub fn unyielding_ns(costs: &Costs) -> f64 {
    let rests = Rests::from_hint(costs.hint_ns);
    (0..POLLS).take_while(|&poll| rests.after(poll) != Rest::Yield).map(|poll| rest_ns(costs, poll)).sum()
}

/// Time of all polls before the sleep.
pub fn spin_limit_ns(costs: &Costs) -> f64 {
    (0..POLLS).map(|poll| rest_ns(costs, poll)).sum()
}
