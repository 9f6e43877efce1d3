//! [`Machine`]: the boundary between what coretalk decides and what the hardware does.
//!
//! Everything above this trait (plan, schedule, session, statistics, store, reports) never knows whether the machine
//! is real. The machine owns time: on a simulated one, budgets, gaps and ETAs count virtual time and nothing sleeps.

#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::catalogue::Recipe;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::runtimes::{Prepared, Shop};
use crate::counter;
use crate::kernel::Kernel;
use crate::series::{SeriesProbe, TrialOrder};
use crate::stop::Stop;
use crate::work::{Work, WorkOrder};
use coretalk_model::series::{PassOutcome, TrialSpec};
use coretalk_model::{
    Absence, CpuId, CpuSet, DoctorFinding, Environment, Home, Picos, Recording, TickRate, Topology,
    TrialFailure,
};
use std::io;
use std::sync::Arc;

/// A machine that can measure.
pub trait Machine {
    /// Which CPUs share what, as the machine reports it: every online CPU, allowed or not.
    fn topology(&self) -> &Topology;

    /// Which CPUs this process may use.
    fn allowance(&self) -> &Allowance;

    /// What numbers are measured under.
    fn environment(&self) -> &Environment;

    /// Looks for everything that could spoil a measurement on these CPUs, and starts no thread on others. Changes nothing.
    /// Before a run it takes a tenth of its budget at most and a fifth of a second, and longer where there is no budget.
    fn examine(&mut self, cpus: &CpuSet, budget: Option<Picos>) -> Vec<DoctorFinding>;

    /// The rate of the counter whose ticks recordings hold.
    fn rate(&self) -> TickRate;

    /// Time since the machine was opened.
    fn now(&self) -> Picos;

    /// Lets time pass with every CPU idle; returns early when stopped.
    fn pause(&mut self, span: Picos, stop: &Stop);

    /// Makes ready: one persistent thread per CPU, pinned and proven to be there, and memory for lines. Called once
    /// before the first [`perform`](Machine::perform); a second call replaces the workers.
    ///
    /// A CPU that refuses its thread costs that CPU and not the others: [`absent`](Machine::absent) names it.
    ///
    /// # Errors
    /// [`MachineError::Pin`] where every CPU refuses.
    fn engage(&mut self, settings: &WorkerSettings) -> Result<Granted, MachineError>;

    /// Performs rounds one after another, without a system call, spawn or allocation inside a round, and hands over
    /// one outcome per round performed, in order and with every CPU at rest: no later than at the end, and as soon as it
    /// is known where that costs nothing. Fewer than asked means that `stop` was raised in between. `take` gives back
    /// recordings that nobody needs any more, those of earlier rounds among them: a machine may use their memory again.
    ///
    /// # Errors
    /// Only for failures of the machine as a whole; what concerns one trial is in its outcome.
    fn perform_each(
        &mut self,
        batch: &[Round],
        stop: &Stop,
        take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError>;

    /// [`perform_each`](Machine::perform_each) with all outcomes at once.
    ///
    /// # Errors
    /// As there.
    fn perform(&mut self, batch: &[Round], stop: &Stop) -> Result<Vec<RoundOutcome>, MachineError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        self.perform_each(batch, stop, &mut |outcome| {
            outcomes.push(outcome);
            Vec::new()
        })?;
        Ok(outcomes)
    }

    /// Those of some CPUs that no thread can be held on right now, and why. Looked up anew by each call, which takes some
    /// ten microseconds; between trials only.
    fn absent(&self, of: &CpuSet) -> Vec<(CpuId, Absence)>;

    /// Whether a thread was held on a CPU when workers were engaged: one that refuses threads later was away meanwhile.
    fn has_worker(&self, _cpu: CpuId) -> bool {
        false
    }

    /// Since when a CPU that is absent has been missed, where work that ran until now was watched meanwhile.
    fn missed_since(&self, _cpu: CpuId) -> Option<Picos> {
        None
    }

    /// What the machine lacks for a trial, found out by trying; `None` where nothing.
    fn lacks(&self, _probe: &dyn SeriesProbe, _spec: &TrialSpec) -> Option<String> {
        None
    }

    /// Makes a runtime ready to perform trials, which may build its adapter, and says what it offers or why it cannot be had;
    /// once for each. `None` of a machine on which no program performs what runtimes do.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn prepare_runtime(
        &mut self,
        _recipe: &Recipe,
        _shop: &Shop<'_>,
        _building: &mut dyn FnMut(&Recipe),
        _stop: &Stop,
    ) -> Option<&Prepared> {
        None
    }

    /// Machine time that making runtimes ready has taken but for builds: a part of the budget of the run that needs them.
    fn preparing(&self) -> Picos {
        Picos::ZERO
    }

    /// Sets the moment on this machine's line by which what is performed from now on is over: rounds, trials and warm-ups that
    /// would go on beyond it are broken off as if `stop` were raised. Work has a limit of its own. `None` sets no moment.
    fn end_by(&mut self, deadline: Option<Picos>);

    /// Lets everything settle that performs these trials and has to, for `most` in all; `told` hears of each. Before any of
    /// them is performed, so that no pass waits for it.
    fn warm_up(
        &mut self,
        _orders: &[TrialOrder<'_>],
        _most: Picos,
        _told: &mut dyn FnMut(String),
        _stop: &Stop,
    ) {
    }

    /// How long [`warm_up`](Machine::warm_up) takes at most.
    fn longest_warm_up(&self, _orders: &[TrialOrder<'_>], _most: Picos) -> Picos {
        Picos::ZERO
    }

    /// Performs one pass of one trial of a series, on workers that are engaged.
    ///
    /// # Errors
    /// [`TrialFailure`] says why the pass has nothing to say; [`TrialFailure::Interrupted`] where `stop` was raised.
    fn perform_trial(&mut self, order: &TrialOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure>;

    /// Performs one pass of each of some trials whose CPUs lie on different cores, all at the same time: one outcome each,
    /// in order, with how many others there were. A machine that does not know how performs them one after another.
    fn perform_trials(
        &mut self,
        orders: &[TrialOrder<'_>],
        stop: &Stop,
    ) -> Vec<Result<PassOutcome, TrialFailure>> {
        orders.iter().map(|order| self.perform_trial(order, stop)).collect()
    }

    /// Why the machine cannot run a piece of work at all: a sentence; `None` where it can.
    fn refuses(&self, _work: &Work) -> Option<String> {
        None
    }

    /// Runs a piece of work once, everything that belongs to it held on the CPUs of its placement.
    ///
    /// # Errors
    /// [`TrialFailure`] says why the run has nothing to say; [`TrialFailure::Interrupted`] where `stop` was raised, and
    /// [`TrialFailure::TimedOut`] where the limit of the order ended it.
    fn perform_work(&mut self, _order: &WorkOrder<'_>, _stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        Err(TrialFailure::of("this machine cannot run workloads"))
    }

    /// Whether something else keeps more than 5 % of the CPUs busy right now (a good neighbour then measures
    /// serially); `None` where the machine cannot tell.
    fn is_busy(&self) -> Option<bool>;
}

/// A good neighbour measures serially where others keep more than this share of the CPUs busy.
pub(crate) const BUSY_SHARE: f64 = 0.05;

/// Which CPUs this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// Hard: the cpuset of the control group. Nothing outside it can be pinned.
    pub cpuset: CpuSet,
    /// The inherited affinity mask: only the default choice.
    pub mask: CpuSet,
    /// CPUs that the system has and that are switched off.
    pub offline: CpuSet,
}

/// Which workers a run needs, and what they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerSettings {
    /// One pinned thread each.
    pub cpus: Vec<CpuId>,
    /// Niceness to ask for; `None` tries −20 and takes what it gets.
    pub nice: Option<i32>,
    /// Real-time priority to ask for.
    pub realtime: Option<i32>,
}

/// What the system granted of [`WorkerSettings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// `nice -20`, `fifo 50`, `normal` …, for the environment block.
    pub priority: String,
    /// Whether the coordinating thread has a CPU (and core) of its own, away from the workers.
    pub coordinator_apart: bool,
}

/// Trials performed at the same time, on disjoint CPUs.
#[derive(Debug, Clone)]
pub struct Round {
    /// The trials.
    pub assignments: Vec<Assignment>,
}

/// One trial in one round: what runs where.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Which CPU each role runs on, in role order (initiator first).
    pub placement: Vec<CpuId>,
    /// The spans, in the order of execution.
    pub orders: Arc<[SpanOrder]>,
    /// Keys every random choice inside: offsets of lines, order of the walk, start phase, simulated noise.
    pub key: u64,
}

/// What to execute and how often: one span of the recording.
#[derive(Debug, Clone)]
pub struct SpanOrder {
    /// The code.
    pub kernel: &'static Kernel,
    /// Whose memory holds the lines.
    pub home: HomeChoice,
    /// Places visited: each is one line, or as many as the kernel needs ([`Kernel::lines_per_place`]).
    pub lines: u32,
    /// How the places are chosen.
    pub walk: Walk,
    /// Round trips before the first timed batch of a span, on its first place.
    pub warm_up: u32,
    /// What to record.
    pub sampling: Sampling,
}

/// Whose memory holds the lines of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HomeChoice {
    /// The NUMA node of the CPU of this role.
    OfRole(usize),
    /// This node.
    Node(Home),
}

/// How the places of a span are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walk {
    /// Aligned runs of 16 consecutive lines in different page frames, offsets drawn anew, walked in random order,
    /// flushed and rewritten before use.
    FreshRuns,
    /// One and the same place for the whole run, as single-address tools do.
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
    /// Every single round trip, counted by value; the clock's cost is in each.
    Events {
        /// Round trips in all.
        round_trips: u64,
    },
}

impl SpanOrder {
    /// Batches in all, or events.
    pub fn samples(&self) -> u64 {
        match self.sampling {
            Sampling::Batches { visits, .. } => u64::from(self.lines) * u64::from(visits),
            Sampling::Events { round_trips } => round_trips,
        }
    }

    /// Round trips in all, warm-up included.
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

/// What a round produced.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundOutcome {
    /// When it began, on the machine's time line.
    pub started: Picos,
    /// How long it took.
    pub elapsed: Picos,
    /// One outcome per assignment, in order.
    pub trials: Vec<Result<Recording, TrialFailure>>,
}

/// A counter coarser than this cannot time batches of a few µs.
const COARSEST_STEP_NS: f64 = 1000.0;

/// Refuses a counter that cannot time anything.
///
/// # Errors
/// [`ClockError::Coarse`].
pub(crate) fn fine_enough(step_ns: f64) -> Result<(), ClockError> {
    if step_ns > COARSEST_STEP_NS { Err(ClockError::Coarse(step_ns)) } else { Ok(()) }
}

/// Why a counter cannot time anything.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ClockError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] counter::Unreadable),
    /// Its smallest visible step, in nanoseconds, is too long.
    #[error("it advances in steps of {0:.0} ns, too coarse to time anything")]
    Coarse(f64),
    /// A reading, in ticks, is less than the one before.
    #[error("it ran backwards from {0} to {1}")]
    Backwards(u64, u64),
    /// All readings are this one.
    #[error("it is stuck at {0}")]
    Still(u64),
    /// From one reading to another it has not risen, or no time has passed, in nanoseconds.
    #[error("it went from {0} to {1} in {2:.0} ns")]
    NoRate(u64, u64, f64),
}

/// What can go wrong with a machine as a whole.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The system refused a CPU.
    #[error("pin a thread to CPU {cpu} (allowed: {allowed})")]
    Pin {
        /// The CPU.
        cpu: CpuId,
        /// What may be used.
        allowed: CpuSet,
        /// The system's reason.
        source: io::Error,
    },
    /// Threads that are pinned do not run.
    #[error("run a pinned thread on {}: a program of real-time priority may keep it (see `ps -eLo psr,cls,rtprio,comm`)", .cpus.named())]
    Silent {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// The machine cannot pin threads at all (an emulator, a foreign system).
    #[error("pin threads on this system ({reason}); simulated machines and files work everywhere")]
    NoPinning {
        /// Why not.
        reason: String,
    },
    /// The counter cannot time anything.
    #[error("use the clock of this machine: {reason}; simulated machines and files work everywhere")]
    Clock {
        /// What is wrong with it.
        reason: ClockError,
    },
    /// Memory for lines could not be had, or lies on the wrong node.
    #[error("get memory for measured lines on node {node}: {reason}")]
    Memory {
        /// The node asked for.
        node: u32,
        /// What went wrong.
        reason: String,
    },
    /// Threads could not be started.
    #[error(
        "start a thread for CPU {cpu} (limit of threads or processes reached? see `ulimit -u`, and pids.max of the control group)"
    )]
    Spawn {
        /// The CPU.
        cpu: CpuId,
        /// The system's reason.
        source: io::Error,
    },
    /// A CPU feature that a kernel needs is missing.
    #[error("run `{kernel}`: this CPU has no {feature}")]
    Feature {
        /// The kernel.
        kernel: String,
        /// What is missing.
        feature: String,
    },
    /// A file of the system could not be read.
    #[error("read {path}")]
    System {
        /// Which.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// A scenario cannot be simulated as written.
    #[error("simulate {scenario}: {reason}")]
    Scenario {
        /// Its name or file.
        scenario: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The system refused a priority that was asked for.
    #[error("get {priority}: {reason}")]
    Priority {
        /// What was asked for.
        priority: String,
        /// Why not.
        reason: String,
    },
}

impl MachineError {
    /// Whether this machine can measure nothing, though its system can be asked what it reports.
    pub fn is_of_host(&self) -> bool {
        matches!(self, MachineError::NoPinning { .. } | MachineError::Clock { .. })
    }
}
