//! [`Pricing`]: the boundary between probes and the simulated machine.
//!
//! A probe says what one pass of it costs in events of a machine; the simulator knows what these events cost and lets
//! time pass. Neither needs to know more of the other than what stands here.

use coretalk_model::{CpuId, Picos, TickRate, Topology};
use serde::{Deserialize, Serialize};

/// What a trial of a series sees of a simulated machine while a pass of it is priced: what events cost, with noise and
/// without, and time that passes. Every random value comes from the seed of the run, the key of the order and the
/// placement, in the order of the calls.
pub trait Pricing<'a>: std::fmt::Debug {
    /// The CPU of each role.
    fn placement(&self) -> &'a [CpuId];

    /// What the CPUs truly share, whatever the machine reports.
    fn topology(&self) -> &'a Topology;

    /// The rate of the counter.
    fn rate(&self) -> TickRate;

    /// What a start-stop pair of reads of the counter costs, in nanoseconds.
    fn clock_ns(&self) -> f64;

    /// What everything beside line transfers costs.
    fn costs(&self) -> &'a Costs;

    /// Keeps CPUs out of idle states for the rest of the pass.
    fn keep_awake(&mut self);

    /// What a CPU that has been idle so long needs to come back: nothing where idle loops poll.
    fn idle_exit_ns(&self, idle_ns: f64) -> f64;

    /// What one transfer of a line between two CPUs takes right now in nanoseconds, on the mean line and the better
    /// home; nothing on one and the same CPU.
    fn transfer_ns(&self, from: CpuId, to: CpuId) -> f64;

    /// The same for a kernel that spins without a wait hint.
    fn eager_transfer_ns(&self, from: CpuId, to: CpuId) -> f64;

    /// By how much a busy sibling slows work down: between these.
    fn sibling_factor(&self) -> [f64; 2];

    /// Whether the CPUs of all roles are threads of one core right now: by the true structure, or in a state in which the
    /// host has put them onto one.
    fn shares_core(&self) -> bool;

    /// By how much each further pair that talks at the same time slows a pair down.
    fn parallel_bias(&self) -> f64;

    /// Whether a hypervisor runs the machine.
    fn is_guest(&self) -> bool;

    /// What one cycle of a core takes, in nanoseconds, at its nominal clock.
    fn cycle_ns(&self, cpu: CpuId) -> f64;

    /// The same value as single events have it: with the noise of the scenario.
    fn event(&mut self, ns: f64) -> f64;

    /// The same value as the mean of many single events.
    fn batch(&mut self, ns: f64) -> f64;

    /// The next random number in [0, 1).
    fn unit(&mut self) -> f64;

    /// Lets time pass, and says by how much longer it took because a CPU was held up.
    fn pass(&mut self, ns: f64) -> f64;

    /// Everything that holds up one CPU in a span from now on, in nanoseconds, one by one.
    fn holds(&mut self, cpu: CpuId, span_ns: f64) -> Vec<(f64, HeldAs)>;

    /// Notes that a role worked for so long, and how often it slept.
    fn spend(&mut self, role: usize, cpu_ns: f64, voluntary: u32);

    /// What the counter shows of a span of time that begins at any phase between two of its steps; never negative.
    fn ticks(&mut self, ns: f64) -> u64;

    /// Since the pass began.
    fn elapsed(&self) -> Picos;
}

/// What a hold-up of a CPU looks like to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldAs {
    /// The tick of the timer.
    Tick,
    /// Another thread had the CPU.
    Switch,
    /// The hypervisor counts it.
    Steal,
    /// The control group counts it.
    Quota,
    /// Nothing tells.
    Nothing,
}

/// What everything beside the timed batches takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// Start of a round: workers that are released while they spin need little.
    pub rendezvous_us: f64,
    /// Both probes of the core clock, before and after.
    pub probes_us: f64,
    /// Flush and rewrite of a line.
    pub line_ns: f64,
    /// A wait hint.
    pub hint_ns: f64,
    /// A system call that does nothing.
    pub syscall_ns: f64,
    /// From one thread to another on one CPU, through the scheduler.
    pub switch_ns: f64,
    /// Waking a thread that sleeps on another CPU: the interrupt and the scheduler there.
    pub wake_ns: f64,
    /// What an idle CPU needs to come back, by how long it has been idle: `[after µs, exit ns]`, rising.
    pub idle_exit: Vec<[f64; 2]>,
}

impl Costs {
    /// What a CPU that has been idle so long needs to come back.
    pub fn idle_exit_ns(&self, idle_ns: f64) -> f64 {
        self.idle_exit
            .iter()
            .rev()
            .find(|[after_us, _]| idle_ns >= after_us * 1e3)
            .map_or(0.0, |state| state[1])
    }
}

/// What the CPUs of a simulated machine execute.
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
