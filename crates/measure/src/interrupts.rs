//! What the system counts about time that a CPU was away.

#[cfg(all(target_os = "linux", not(miri)))]
mod reading;

#[cfg(all(target_os = "linux", not(miri)))]
pub use reading::Reading;

/// What the system says of one CPU over a pass; `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// Timer ticks.
    pub ticks: Option<u64>,
    /// Other interrupts.
    pub interrupts: Option<u64>,
    /// Time that the hypervisor took, in milliseconds, in steps of 10.
    pub stolen_ms: Option<f64>,
    /// Time for which the quota of the control group stopped this process, in milliseconds, summed over CPUs.
    pub throttled_ms: Option<f64>,
}
