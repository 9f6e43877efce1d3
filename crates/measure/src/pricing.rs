//! [`SimContext`]: the boundary between probes and the simulated machine.
//!
//! A probe expresses a pass in machine events. The simulator knows their cost and advances time.

use coretalk_model::{CpuId, Picos, TickRate, Topology};
use serde::{Deserialize, Serialize};

/// The quantum of a simulated machine's scheduler.
pub const QUANTUM_NS: f64 = 3e6;

/// A probe's view of a simulated machine while the probe prices one pass of a trial: costs of events and virtual time.
/// Random values depend on the run's seed, `TrialOrder::key`, the placement and the sequence of calls.
pub trait SimContext<'a>: std::fmt::Debug {
    /// The CPU of each role.
    fn placement(&self) -> &'a [CpuId];

    /// The true topology. The reported topology may differ.
    fn topology(&self) -> &'a Topology;

    /// The rate of the counter.
    fn rate(&self) -> TickRate;

    /// Cost of a start-stop pair of counter reads, in nanoseconds.
    fn clock_ns(&self) -> f64;

    /// Costs of everything except line transfers.
    fn costs(&self) -> &'a Costs;

    /// Keeps CPUs out of idle states for the rest of the pass.
    fn keep_awake(&mut self);

    /// Exit latency of a CPU that has been idle this long; 0 if idle loops poll.
    fn idle_exit_ns(&self, idle_ns: f64) -> f64;

    /// Current nanoseconds of one line transfer between two CPUs: the mean over lines, with the better home. 0 on one
    /// CPU.
    fn transfer_ns(&self, from: CpuId, to: CpuId) -> f64;

    /// Current duration of one line transfer for a kernel that spins without a wait hint.
    fn eager_transfer_ns(&self, from: CpuId, to: CpuId) -> f64;

    /// Range of the factor by which a busy sibling slows work down.
    fn sibling_factor(&self) -> [f64; 2];

    /// Whether all roles are now on threads of one core, by the true topology or because the host moved them.
    fn shares_core(&self) -> bool;

    /// Slowdown of a pair per additional concurrent pair.
    fn parallel_bias(&self) -> f64;

    /// Whether a hypervisor runs the machine.
    fn is_guest(&self) -> bool;

    /// Duration of one core cycle at the nominal clock, in nanoseconds.
    fn cycle_ns(&self, cpu: CpuId) -> f64;

    /// Applies the scenario's noise of a single event to a duration.
    fn event(&mut self, ns: f64) -> f64;

    /// Applies the scenario's noise of a mean over many events to a duration.
    fn batch(&mut self, ns: f64) -> f64;

    /// The next random number in [0, 1).
    fn unit(&mut self) -> f64;

    /// Lets time pass. Returns the extra time that hold-ups of CPUs caused.
    fn pass(&mut self, ns: f64) -> f64;

    /// Hold-ups of one CPU in a span that starts now, each with its duration in nanoseconds.
    fn holds(&mut self, cpu: CpuId, span_ns: f64) -> Vec<(f64, HeldAs)>;

    /// Records CPU time and voluntary context switches of a role.
    fn spend(&mut self, role: usize, cpu_ns: f64, voluntary: u32);

    /// Counter ticks of a span that starts at a random phase of the counter's step. Never negative.
    fn ticks(&mut self, ns: f64) -> u64;

    /// Time since the pass began.
    fn elapsed(&self) -> Picos;
}

/// How the system accounts for a hold-up of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldAs {
    /// Timer tick.
    Tick,
    /// Context switch to another thread.
    Switch,
    /// Steal time counted by the hypervisor.
    Steal,
    /// CPU quota of the control group.
    Quota,
    /// No visible cause.
    Nothing,
}

/// Costs of everything except timed batches and line transfers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// Start of a round. It is small, because workers spin while they wait for the round.
    pub rendezvous_us: f64,
    /// Measurement of the core clock before and after a trial, in total.
    pub probes_us: f64,
    /// Flush and rewrite of a line.
    pub line_ns: f64,
    /// One wait hint.
    pub hint_ns: f64,
    /// An empty system call.
    pub syscall_ns: f64,
    /// Switch between two threads on one CPU through the scheduler.
    pub switch_ns: f64,
    /// Wake-up of a sleeping thread on another CPU: the interrupt and the scheduler there.
    pub wake_ns: f64,
    /// Exit latency of an idle CPU by its idle time, in rising order: `[after µs, exit ns]`.
    pub idle_exit: Vec<[f64; 2]>,
}

impl Costs {
    /// Exit latency of a CPU that has been idle this long, in nanoseconds.
    pub fn idle_exit_ns(&self, idle_ns: f64) -> f64 {
        self.idle_exit
            .iter()
            .rev()
            .find(|[after_us, _]| idle_ns >= after_us * 1e3)
            .map_or(0.0, |state| state[1])
    }
}

/// Instruction set of a simulated machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arch {
    /// x86-64.
    #[default]
    #[serde(rename = "x86_64")]
    X86,
    /// aarch64.
    #[serde(rename = "aarch64")]
    Arm,
}
