//! [`Machine`]: the boundary between the choice of measurements and the measurements. Everything above it (plan,
//! schedule, session, statistics, store, reports) is the same for real and simulated machines. The machine owns time.
//! On a simulated machine, budgets, gaps and ETAs count virtual time, and nothing sleeps.

#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::catalogue::AdapterSpec;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::runtimes::{Preparation, PreparedAdapter};
use crate::counter;
use crate::kernel::Kernel;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use crate::work::{Work, WorkOrder};
use coretalk_model::selection::CpuUse;
use coretalk_model::series::{PassOutcome, TrialSpec};
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, Home, LossReason, Picos, Recording, TickRate, Topology,
    TrialFailure,
};
use std::io;
use std::sync::Arc;

/// A machine that can measure.
pub trait Machine {
    /// The topology that the machine reports, with every online CPU, allowed or not.
    fn topology(&self) -> &Topology;

    /// The CPUs that this process may use.
    fn allowance(&self) -> &Allowance;

    /// The conditions of the measurement.
    fn environment(&self) -> &Environment;

    /// Checks these CPUs for everything that could spoil a measurement. Changes nothing and starts no thread on other
    /// CPUs. Takes up to 0.2 s plus a tenth of `budget`, but at most about 4 s.
    fn examine(&mut self, cpus: &CpuSet, budget: Option<Picos>) -> Vec<DoctorFinding>;

    /// Fills [`Environment::cpu_use`] with a known sample, or an empty field with a new sample of 300 ms. The field
    /// stays empty on systems that do not report CPU use.
    fn sample_use(&mut self, _known: Option<CpuUse>) {}

    /// The rate of the counter. Recordings hold its ticks.
    fn rate(&self) -> TickRate;

    /// Time since the machine was opened.
    fn now(&self) -> Picos;

    /// Lets time pass with every CPU idle. Returns early when stopped.
    fn pause(&mut self, span: Picos, stop: &Stop);

    /// Starts one persistent thread per CPU, verifies its pinning and allocates memory for lines. Must precede the
    /// first [`perform`](Machine::perform). A second call replaces the workers. [`absent`](Machine::absent) lists the
    /// CPUs that refuse their thread. Fails with [`MachineError::Pin`] if every CPU refuses.
    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError>;

    /// Performs rounds one after another and passes each outcome to `take`, in order and with every CPU at rest. No
    /// system call, spawn or allocation happens inside a round. An outcome may be delivered after later rounds. Fewer
    /// outcomes than rounds mean that `stop` was raised. `take` returns recordings that are no longer needed, whose
    /// memory the machine may reuse. Only failures of the machine as a whole are errors; those of trials are outcomes.
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError>;

    /// Performs rounds as [`perform_each`](Machine::perform_each), and returns all outcomes at once.
    fn perform(&mut self, batch: &[Round], stop: &Stop) -> Result<Vec<RoundOutcome>, MachineError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        self.perform_each(batch, stop, &mut |outcome| {
            outcomes.push(outcome);
            Vec::new()
        })?;
        Ok(outcomes)
    }

    /// The CPUs of this set that refuse threads now, with reasons. The check takes about 10 µs. Only for use between
    /// trials.
    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, LossReason)>;

    /// Whether a thread was pinned to this CPU when workers were engaged. If such a CPU refuses threads now, it was
    /// lost.
    fn has_worker(&self, _cpu: CpuId) -> bool {
        false
    }

    /// Time at which an absent CPU disappeared, if work was monitored on it until now.
    fn missed_since(&self, _cpu: CpuId) -> Option<Picos> {
        None
    }

    /// The feature that the machine lacks for a trial, found by trying; `None` if nothing is missing.
    fn lacks(&self, _probe: &dyn SeriesProbe, _spec: &TrialSpec) -> Option<String> {
        None
    }

    /// Prepares a runtime once, possibly with a build. Returns its offer or the reason against it; `None` without
    /// adapters.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn prepare_runtime(
        &mut self,
        _recipe: &AdapterSpec,
        _preparation: &Preparation<'_>,
        _building: &mut dyn FnMut(&AdapterSpec),
        _stop: &Stop,
    ) -> Option<&PreparedAdapter> {
        None
    }

    /// Machine time spent on preparing runtimes, without builds. It counts towards the budget of the run.
    fn preparing(&self) -> Picos {
        Picos::ZERO
    }

    /// Sets a deadline on this machine's clock; `None` removes it. Rounds, trials and warm-ups that would exceed it are
    /// aborted as if `stop` were raised. Work has its own limit.
    fn end_by(&mut self, deadline: Option<Picos>);

    /// Warms up whatever these trials need, for at most `most` in total. Calls `notify` for each warm-up.
    fn warm_up(
        &mut self,
        _orders: &[TrialOrder<'_>],
        _most: Picos,
        _notify: &mut dyn FnMut(String),
        _stop: &Stop,
    ) {
    }

    /// The maximum duration of [`warm_up`](Machine::warm_up).
    fn longest_warm_up(&self, _orders: &[TrialOrder<'_>], _most: Picos) -> Picos {
        Picos::ZERO
    }

    /// Performs one pass of one trial of a series on engaged workers. Fails with [`TrialFailure::Interrupted`] if
    /// `stop` was raised.
    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure>;

    /// Performs one pass of each trial, all at the same time on different cores. Returns the outcomes in order, each
    /// with the number of concurrent trials. The default performs the trials one after another.
    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        orders.iter().map(|order| self.perform_trial(order, stop)).collect()
    }

    /// The reason, as a sentence, why the machine cannot run a piece of work; `None` if it can.
    fn refuses(&self, _work: &Work) -> Option<String> {
        None
    }

    /// Why the machine cannot count the instructions, cycles and misses of programs; `None` if it can or runs none.
    fn lacks_counters(&self) -> Option<io::Error> {
        None
    }

    /// Runs a piece of work once, with all its threads bound to the CPUs of its placement. Fails with
    /// [`TrialFailure::Interrupted`] if `stop` was raised, and with [`TrialFailure::TimedOut`] at the limit of the
    /// order.
    fn perform_work(&mut self, _order: &WorkOrder<'_>, _stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        Err(TrialFailure::from_reason("this machine cannot run workloads"))
    }

    /// Whether other programs use more than 5 % of the CPUs now; `None` if the machine cannot tell. A considerate run
    /// then measures serially.
    fn is_busy(&self) -> Option<bool>;
}

/// Share of the CPUs used by other programs above which a considerate run measures serially.
pub(crate) const BUSY_SHARE: f64 = 0.05;

/// The CPUs that this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// The cpuset of the control group. No thread can be pinned outside it.
    pub cpuset: CpuSet,
    /// The inherited affinity mask. It only sets the default choice.
    pub mask: CpuSet,
    /// Offline CPUs.
    pub offline: CpuSet,
}

/// The workers that a run needs, and the priority that they request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerSettings {
    /// CPUs that get one pinned thread each.
    pub cpus: Vec<CpuId>,
    /// Requested niceness; `None` tries −20 and accepts what the system grants.
    pub nice: Option<i32>,
    /// Requested real-time priority.
    pub realtime: Option<i32>,
}

/// What the system granted of [`WorkerSettings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Priority for the environment block: `nice -20`, `fifo 50`, `normal` …
    pub priority: String,
    /// Whether the coordinating thread has a core of its own, separate from the workers.
    pub coordinator_apart: bool,
}

/// Trials performed at the same time, on disjoint CPUs.
#[derive(Debug, Clone)]
pub struct Round {
    /// The concurrent trials.
    pub assignments: Vec<Assignment>,
}

/// One trial of a round.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The CPUs of the initiator and of the responder.
    pub placement: [CpuId; 2],
    /// The spans in order of execution.
    pub orders: Arc<[SpanOrder]>,
    /// Key of every random choice: line offsets, walk order, start phase and simulated noise.
    pub key: u64,
}

/// One span of the recording: what to execute and how often.
#[derive(Debug, Clone)]
pub struct SpanOrder {
    /// The executed code.
    pub kernel: &'static Kernel,
    /// Home node of the lines.
    pub home: HomeChoice,
    /// Number of places visited. A place is [`Kernel::lines_per_place`] lines.
    pub lines: u32,
    /// Selection of the places.
    pub walk: Walk,
    /// Round trips before the first timed batch of a span, on the first place.
    pub warm_up: u32,
    /// What to record.
    pub sampling: Sampling,
}

/// The NUMA node whose memory holds the lines of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HomeChoice {
    /// The node of the CPU of this role.
    OfRole(usize),
    /// This node.
    Node(Home),
}

/// Selection of the places of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walk {
    /// Aligned runs of 16 consecutive lines in different page frames, with new random offsets. They are walked in
    /// random order, and flushed and rewritten before use.
    FreshRuns,
    /// The same place for the whole run, as tools with a single address do.
    OnePlace,
}

/// What a span records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// `visits` batches on each place, each of `round_trips` round trips between two clock reads.
    Batches {
        /// Batches on each place.
        visits: u32,
        /// Round trips in a batch.
        round_trips: u32,
    },
    /// A count of single round trips by duration. Each duration includes the cost of the clock.
    Events {
        /// Total round trips.
        round_trips: u64,
    },
}

impl SpanOrder {
    /// Total batches or events.
    pub fn samples(&self) -> u64 {
        match self.sampling {
            Sampling::Batches { visits, .. } => u64::from(self.lines) * u64::from(visits),
            Sampling::Events { round_trips } => round_trips,
        }
    }

    /// Total round trips, including warm-up.
    pub fn round_trips(&self) -> u64 {
        u64::from(self.warm_up)
            + match self.sampling {
                Sampling::Batches { visits, round_trips } => {
                    u64::from(self.lines) * u64::from(visits) * u64::from(round_trips)
                }
                Sampling::Events { round_trips } => round_trips,
            }
    }
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundOutcome {
    /// Start time on the machine's clock.
    pub started: Picos,
    /// Duration.
    pub elapsed: Picos,
    /// Results in the order of the assignments.
    pub trials: Vec<Result<Recording, TrialFailure>>,
}

/// Maximum step of a usable counter. A coarser counter cannot time batches of a few µs.
const COARSEST_STEP_NS: f64 = 1000.0;

pub(crate) fn fine_enough(step_ns: f64) -> Result<(), ClockError> {
    if step_ns > COARSEST_STEP_NS { Err(ClockError::Coarse(step_ns)) } else { Ok(()) }
}

/// Reasons why a counter cannot time anything.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ClockError {
    /// The counter cannot be read.
    #[error(transparent)]
    Unreadable(#[from] counter::Unreadable),
    /// The smallest visible step, in nanoseconds, is too long.
    #[error("it advances in steps of {0:.0} ns, too coarse to time anything")]
    Coarse(f64),
    /// A reading, in ticks, is below the previous reading.
    #[error("it ran backwards from {0} to {1}")]
    Backwards(u64, u64),
    /// All readings have this value.
    #[error("it is stuck at {0}")]
    Still(u64),
    /// Two readings and the nanoseconds between them. The counter has not risen, or no time has passed.
    #[error("it went from {0} to {1} in {2:.0} ns")]
    NoRate(u64, u64, f64),
}

/// Failures of the machine as a whole.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The system refused to pin a thread to a CPU.
    #[error("pin a thread to CPU {cpu} (allowed: {allowed})")]
    Pin {
        /// The refused CPU.
        cpu: CpuId,
        /// The allowed CPUs.
        allowed: CpuSet,
        /// The system's error.
        source: io::Error,
    },
    /// Pinned threads do not run.
    #[error("run a pinned thread on {}: a program of real-time priority may keep it (see `ps -eLo psr,cls,rtprio,comm`)", .cpus.named())]
    Silent {
        /// CPUs of these threads.
        cpus: CpuSet,
    },
    /// The machine cannot pin threads at all: an emulator or an unsupported system.
    #[error("pin threads on this system ({reason}); simulated machines and files work everywhere")]
    NoPinning {
        /// The reason.
        reason: String,
    },
    /// The counter cannot time anything.
    #[error("use the clock of this machine: {reason}; simulated machines and files work everywhere")]
    Clock {
        /// The defect of the counter.
        reason: ClockError,
    },
    /// Memory for lines could not be allocated, or is on the wrong node.
    #[error("get memory for measured lines on node {node}: {reason}")]
    Memory {
        /// The requested node.
        node: u32,
        /// The reason.
        reason: String,
    },
    /// A thread could not be started.
    #[error(
        "start a thread for CPU {cpu} (limit of threads or processes reached? see `ulimit -u`, and pids.max of the control group)"
    )]
    Spawn {
        /// The CPU of the thread.
        cpu: CpuId,
        /// The system's error.
        source: io::Error,
    },
    /// A kernel needs a CPU feature that is missing.
    #[error("run `{kernel}`: this CPU has no {feature}")]
    Feature {
        /// The kernel's name.
        kernel: String,
        /// The missing feature.
        feature: String,
    },
    /// A system file could not be read.
    #[error("read {path}")]
    System {
        /// The path of the file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A scenario cannot be simulated as written.
    #[error("simulate {scenario}: {reason}")]
    Scenario {
        /// The scenario's name or file.
        scenario: String,
        /// The problem and its remedy.
        reason: String,
    },
    /// The system refused a requested priority.
    #[error("get {priority}: {reason}")]
    Priority {
        /// The requested priority.
        priority: String,
        /// The reason.
        reason: String,
    },
}

impl MachineError {
    /// Whether the host cannot be measured at all. Its system information is still readable.
    pub fn is_of_host(&self) -> bool {
        matches!(self, MachineError::NoPinning { .. } | MachineError::Clock { .. })
    }
}
