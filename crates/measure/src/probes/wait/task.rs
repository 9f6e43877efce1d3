//! [`Task`]: what is done with a way of waiting, compiled for each, and what all passes of `wait` share.

use crate::strategies::Strategy;
use crate::strategies::catalogue::StrategyKind;
#[cfg(target_arch = "aarch64")]
use crate::strategies::monitor::Wfe;
#[cfg(target_arch = "x86_64")]
use crate::strategies::monitor::{Mwaitx, Tpause, Umwait};
use crate::strategies::sleeping::{Backoff, SpinFutex};
use crate::strategies::spinning::{Busy, Fence, Pause, Pauses, Spinning, Yield};
use coretalk_model::Picos;

/// A pass may take so much longer than asked before it is given up: two roles that look on one CPU hand over once in a
/// time slice, and a host may hold both CPUs for long.
pub const PATIENCE: Picos = Picos::from_ms(5_000);
/// Passes over which samples that were asked for are spread: the fewest that a trial has.
pub const PASSES: f64 = 8.0;

/// Something to be done with a strategy that is known by name only.
pub trait Task {
    /// What comes out.
    type Output;
    /// Does it.
    fn with<S: Strategy>(self, strategy: S) -> Self::Output;
}

/// Each strategy is compiled into loops of its own; `None` for one of another architecture.
pub fn with<T: Task>(strategy: StrategyKind, task: T) -> Option<T::Output> {
    Some(match strategy {
        StrategyKind::Busy => task.with(Spinning(Busy)),
        StrategyKind::Pause => task.with(Spinning(Pause)),
        StrategyKind::Pauses(hints) => task.with(Spinning(Pauses(hints))),
        StrategyKind::Fence => task.with(Spinning(Fence)),
        StrategyKind::Yield => task.with(Spinning(Yield)),
        StrategyKind::SpinFutex(polls) => task.with(SpinFutex(polls)),
        StrategyKind::Futex => task.with(SpinFutex(0)),
        StrategyKind::Backoff => task.with(Backoff),
        #[cfg(target_arch = "x86_64")]
        StrategyKind::Umwait => task.with(Spinning(Umwait)),
        #[cfg(target_arch = "x86_64")]
        StrategyKind::Tpause => task.with(Spinning(Tpause)),
        #[cfg(target_arch = "x86_64")]
        StrategyKind::Mwaitx => task.with(Spinning(Mwaitx)),
        #[cfg(target_arch = "aarch64")]
        StrategyKind::Wfe => task.with(Spinning(Wfe)),
        #[cfg(target_arch = "x86_64")]
        StrategyKind::Wfe => return None,
        #[cfg(not(target_arch = "x86_64"))]
        StrategyKind::Umwait | StrategyKind::Tpause | StrategyKind::Mwaitx => return None,
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        StrategyKind::Wfe => return None,
    })
}
