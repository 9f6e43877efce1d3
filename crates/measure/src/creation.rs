//! Creation of threads and processes, timed by `spawn`.

#[cfg(all(target_os = "linux", not(miri)))]
mod processes;
#[cfg(all(target_os = "linux", not(miri)))]
mod program;
#[cfg(all(target_os = "linux", not(miri)))]
mod threads;

use crate::series::RequestError;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::series::TrialOrder;
use crate::sim::spawn::SpawnCost;
use crate::tick_histogram::TickHistogram;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::probes::spawn::names;
use coretalk_model::series::{Observed, TrialSpec};
#[cfg(all(target_os = "linux", not(miri)))]
use coretalk_model::{CpuId, TrialFailure};
use coretalk_model::{CpuSet, TickRate, stats};

/// Why a kind is unavailable on this system.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn lacks(kind: Kind) -> Option<String> {
    if kind.execs() && !program::is_known() {
        return Some(format!("`{}` starts a program built for x86-64", kind.name()));
    }
    (kind == Kind::AttrPinned && !threads::HAS_ATTRIBUTE)
        .then(|| format!("`{}` needs a thread attribute that only glibc has", kind.name()))
}

/// System call that was refused, with the error number.
#[cfg(all(target_os = "linux", not(miri)))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CreationRefused {
    Pin(i32),
    /// Creation of a thread, of a process or of something that they need.
    Creation(i32),
}

#[cfg(all(target_os = "linux", not(miri)))]
impl CreationRefused {
    fn failure(self, cpu: CpuId) -> TrialFailure {
        match self {
            CreationRefused::Pin(errno) => TrialFailure::NotPinned { cpu, errno },
            CreationRefused::Creation(errno) => TrialFailure::refused("create a thread or process", errno),
        }
    }
}

/// Performs one pass. Fails if the system refused a creation or the pass was given up.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn perform(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    config: &CreationConfig,
) -> Result<Observed, TrialFailure> {
    match config.kind {
        Kind::Pool => threads::perform_by_pool(context, order, config),
        kind if kind.is_process() => processes::perform(context, order, config),
        _ => threads::perform(context, order, config),
    }
}

/// A row is the kind with its name and description, and its cost as a base with differences.
macro_rules! kinds {
    ($($kind:ident $name:literal $how:literal $base:ident $({ $($cost:tt)+ })?;)+) => {
        /// Kind of creation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`")] $kind,)+
        }

        /// All kinds in the order of reports.
        pub const KINDS: [Kind; 8] = [$(Kind::$kind),+];

        impl Kind {
            /// Name.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),+ }
            }

            /// Description.
            pub fn how(self) -> &'static str {
                match self { $(Kind::$kind => $how),+ }
            }

            /// Cost in machine events. The figures are plausible for a desktop CPU at 4 GHz, but not measured.
            pub fn cost(self) -> SpawnCost {
                match self { $(Kind::$kind => SpawnCost { $($($cost)+,)? ..$base }),+ }
            }
        }
    };
}

const THREAD: SpawnCost =
    SpawnCost { calls: 3.0, cycles: 30_000.0, ready: 0.8, begin_cycles: 4_000.0, end_cycles: 8_000.0 };
const POOL: SpawnCost =
    SpawnCost { calls: 1.0, cycles: 1_200.0, ready: 0.5, begin_cycles: 300.0, end_cycles: 500.0 };
const FORK: SpawnCost = SpawnCost {
    calls: 2.0,
    cycles: 160_000.0 + PARENT_MIB * PAGES_PER_MIB * PAGE_CYCLES,
    ready: 0.95,
    begin_cycles: 12_000.0,
    end_cycles: 120_000.0,
};
/// Core cycles in which a fork marks one page of the parent.
const PAGE_CYCLES: f64 = 4.0;
const PAGES_PER_MIB: f64 = 256.0;

kinds! {
    Thread "thread" "pthread_create with default attributes; the affinity is inherited" THREAD;
    SmallStack "thread-small-stack" "the same with a stack of 64 KiB" THREAD { cycles: 28_000.0 };
    AttrPinned "thread-attr-pinned"
        "pthread_create with an affinity attribute: the creator waits until it takes effect"
        THREAD { calls: 5.0, cycles: 36_000.0 };
    SelfPinned "thread-self-pinned"
        "pthread_create; the new thread counts as running once it has set its own affinity"
        THREAD { begin_cycles: 14_000.0 };
    Pool "pool" "no creation: a futex wakes a waiting thread, which reports when it is done" POOL;
    Fork "fork"
        "fork from a helper process with 64 MiB of touched memory beyond its own; the child exits at once"
        FORK;
    // The parent shares its memory, without a copy, and waits until the program has begun.
    PosixSpawn "posix-spawn"
        "posix_spawn from that helper, of a static 162-byte program that reads the counter"
        FORK { calls: 8.0, cycles: 220_000.0, ready: 1.0, begin_cycles: 8_000.0 };
    ForkExec "fork-exec" "fork and execveat of the same program from that helper"
        FORK { begin_cycles: 260_000.0 };
}

/// Extra memory in MiB of the process that creates processes. A fork copies or marks it.
pub const PARENT_MIB: f64 = 64.0;

impl Kind {
    /// Whether this kind creates a process.
    pub fn is_process(self) -> bool {
        matches!(self, Kind::Fork | Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether this kind executes a program.
    pub fn execs(self) -> bool {
        matches!(self, Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether the new thread can be pinned. Others inherit the affinity of their creator.
    pub fn is_placed(self) -> bool {
        matches!(self, Kind::AttrPinned | Kind::SelfPinned | Kind::Pool)
    }
}

/// Parsed parameters of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct CreationConfig {
    /// Kind of creation.
    pub kind: Kind,
    /// Pause between creations, in nanoseconds.
    pub pause_ns: f64,
    /// CPUs of the creator and of what it creates, if there are several.
    pub mask: Option<CpuSet>,
}

impl CreationConfig {
    /// Parses the parameters of a trial.
    pub fn from_spec(spec: &TrialSpec) -> Result<CreationConfig, RequestError> {
        let text = |name| spec.parameters.text(name);
        let mask = text("mask").map(CpuSet::from_list).transpose()?;
        let pause_ns = spec.parameters.number("pause_ns").unwrap_or(0.0);
        Ok(CreationConfig { kind: kind(text("kind").unwrap_or_default())?, pause_ns, mask })
    }
}

pub(crate) fn kind(name: &str) -> Result<Kind, RequestError> {
    let known = KINDS.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| RequestError::unknown("kind", name, &KINDS.map(Kind::name)))
}

/// Maximum number of kept differences between first statement and return. Their median is reported.
const MAX_KEPT: usize = 1 << 15;

/// Times of the creations of one pass.
#[derive(Debug)]
pub struct Tallies {
    cost: TickHistogram,
    latency: TickHistogram,
    join: TickHistogram,
    first: TickHistogram,
    /// Time of the first statement minus time of the return, in signed ticks.
    after_return: Vec<i64>,
    child_first: u64,
    samples: u64,
}

impl Default for Tallies {
    fn default() -> Tallies {
        Tallies::new()
    }
}

impl Tallies {
    /// Creates empty tallies and allocates all their memory.
    pub fn new() -> Tallies {
        Tallies {
            cost: TickHistogram::new(),
            latency: TickHistogram::new(),
            join: TickHistogram::new(),
            first: TickHistogram::new(),
            after_return: Vec::with_capacity(MAX_KEPT),
            child_first: 0,
            samples: 0,
        }
    }

    /// Counts one creation by four stamps: call, return, first statement of the child, known end of the child.
    pub fn count(&mut self, [before, returned, began, ended]: [u64; 4]) {
        // The counters of two CPUs may differ, but by less than a creation takes.
        let latency = began.saturating_sub(before);
        self.samples += 1;
        if self.samples == 1 {
            self.first.count(latency);
            return;
        }
        self.cost.count(returned - before);
        self.latency.count(latency);
        self.join.count(ended - before);
        self.child_first += u64::from(began < returned);
        if self.after_return.len() < MAX_KEPT {
            self.after_return.push(began.wrapping_sub(returned) as i64);
        }
    }

    /// Number of creations, including the first.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Results of the pass.
    pub fn observed(&self, rate: TickRate) -> Observed {
        let mut observed = Observed::default();
        for (name, tally) in [
            (names::COST, &self.cost),
            (names::LATENCY, &self.latency),
            (names::JOIN, &self.join),
            (names::FIRST, &self.first),
        ] {
            observed.histogram(name, tally.histogram(rate));
        }
        let after: Vec<f64> = self.after_return.iter().map(|&ticks| ticks as f64).collect();
        if let Some(median) = stats::median(&after) {
            observed.value(names::AFTER_RETURN_NS, median.signum() * rate.ns(median.abs()));
        }
        observed.count(names::SAMPLES, self.samples);
        observed.count(names::CHILD_FIRST, self.child_first);
        observed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn refused_creations_are_not_reported_as_refused_pins() {
        let failure = |refused: CreationRefused| refused.failure(CpuId(3));
        let full = failure(CreationRefused::Creation(libc::EAGAIN));
        assert_eq!(full, TrialFailure::NoResources { errno: libc::EAGAIN }, "pids.max");
        assert_eq!(
            failure(CreationRefused::Pin(libc::EINVAL)),
            TrialFailure::NotPinned { cpu: CpuId(3), errno: 22 }
        );
        let denied = failure(CreationRefused::Creation(libc::EPERM)).to_string();
        assert!(denied.contains("errno 1") && !denied.contains("pinned"), "{denied}");
    }

    #[test]
    fn the_first_creation_is_separate_and_signs_are_kept() {
        let mut tallies = Tallies::new();
        tallies.count([0, 900, 5_000, 9_000]);
        for began in [500, 600, 700] {
            tallies.count([100, 900, began, 2_000]);
        }
        let observed = tallies.observed(TickRate { hz: 1e9 });
        assert_eq!(observed.numbers.values[names::AFTER_RETURN_NS], -300.0);
        assert_eq!((observed.numbers.counts["samples"], observed.numbers.counts[names::CHILD_FIRST]), (4, 3));
        let median = |name: &str| observed.numbers.histograms[name].percentile_ns(0.5).unwrap();
        assert!((median(names::LATENCY) - 500.0).abs() < 1.0 && (median(names::COST) - 800.0).abs() < 1.0);
        assert_eq!(observed.numbers.histograms[names::FIRST].count(), 1);
    }
}
