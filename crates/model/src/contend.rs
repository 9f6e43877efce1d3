//! Contention: names of the numbers of a pass, and summaries for reports.

use crate::series::{SeriesResult, TrialResult};
use crate::{CpuId, Flag};
use std::collections::BTreeSet;

/// Names of the numbers of a `contend` pass.
pub mod names {
    /// The probe.
    pub const PROBE: &str = "contend";
    /// Nanoseconds between operations of all threads together: wall time ÷ operations.
    pub const WALL_NS: &str = "ns_per_op_wall";
    /// Nanoseconds of a thread per operation: wall time × threads ÷ operations.
    pub const THREAD_NS: &str = "ns_per_op_thread";
    /// Operations per second of all threads together.
    pub const RATE: &str = "ops_per_s";
    /// Operations per second of the slowest thread.
    pub const SLOWEST: &str = "slowest_ops_per_s";
    /// Jain's index over the whole pass.
    pub const JAIN: &str = "jain";
    /// Mean of Jain's index over windows of a millisecond.
    pub const JAIN_1MS: &str = "jain_1ms";
    /// Share of the slowest thread in all operations.
    pub const SHARE_MIN: &str = "share_min";
    /// Share of the fastest thread in all operations.
    pub const SHARE_MAX: &str = "share_max";
    /// Mean number of consecutive additions by one thread.
    pub const RUN_LENGTH: &str = "run_length";
    /// Time when all threads were measured, as a share of the time from the first start to the last end.
    pub const OVERLAP: &str = "overlap";
    /// CPU time per operation.
    pub const CPU_NS: &str = "cpu_ns_per_op";
    /// Voluntary context switches per operation.
    pub const VOLUNTARY: &str = "voluntary_switches_per_op";
    /// Involuntary context switches per operation.
    pub const INVOLUNTARY: &str = "involuntary_switches_per_op";
    /// Value in memory at the end.
    pub const FINAL: &str = "final_count";
    /// Number of additions that the threads report.
    pub const EXPECTED: &str = "expected_count";
    /// Operations in the measured windows.
    pub const OPERATIONS: &str = "operations";
    /// Time to acquire the lock. For a counter without lock, the whole operation.
    pub const ACQUIRE: &str = "acquire";
}

/// Number of lost additions and of all additions; `None` if unknown.
pub fn lost(trial: &TrialResult) -> Option<[u64; 2]> {
    let (found, made) = (*trial.counts.get(names::FINAL)?, *trial.counts.get(names::EXPECTED)?);
    Some([made.saturating_sub(found), made])
}

/// Whether some threads of a trial share a CPU.
pub fn is_crowded(trial: &TrialResult) -> bool {
    trial.spec.placement.iter().collect::<BTreeSet<_>>().len() < trial.spec.placement.len()
}

/// Whether the final value in memory equals the number of additions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exactness<'a> {
    /// Number of additions in trials that matched.
    pub exact: u64,
    /// Trials that did not match.
    pub wrong: Vec<&'a TrialResult>,
}

/// Compares memory with the reported additions over all trials of a run.
pub fn exactness<'a>(trials: impl IntoIterator<Item = &'a TrialResult>) -> Exactness<'a> {
    let mut exactness = Exactness::default();
    for trial in trials {
        let wrong = trial.flags.contains(Flag::Invalid) || trial.flags.contains(Flag::LostUpdates);
        match (wrong, trial.counts.get(names::EXPECTED)) {
            (true, _) => exactness.wrong.push(trial),
            (false, Some(made)) => exactness.exact += made,
            (false, None) => {}
        }
    }
    exactness
}

/// The trial with the smallest overlap among trials with one thread per CPU, and that overlap.
pub fn least_overlap<'a>(
    trials: impl IntoIterator<Item = &'a TrialResult>,
) -> Option<(&'a TrialResult, f64)> {
    let uncrowded = trials.into_iter().filter(|trial| !is_crowded(trial) && trial.spec.placement.len() > 1);
    let overlaps = uncrowded.filter_map(|trial| Some((trial, trial.values.get(names::OVERLAP)?.point)));
    overlaps.min_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// One table: trials with the same sections and arrangement.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodTable<'a> {
    /// Critical and parallel section in nanoseconds.
    pub sections_ns: [f64; 2],
    /// How threads are assigned to CPUs.
    pub arrange: &'a str,
    /// Methods, in the requested order.
    pub methods: Vec<&'a str>,
    /// Numbers of threads, in the requested order.
    pub threads: Vec<usize>,
    trials: Vec<&'a TrialResult>,
}

impl<'a> MethodTable<'a> {
    /// The trial of a method with this number of threads.
    pub fn at(&self, method: &str, threads: usize) -> Option<&'a TrialResult> {
        let is_requested = |trial: &&&TrialResult| {
            trial.spec.parameters.text("method") == Some(method) && trial.spec.placement.len() == threads
        };
        self.trials.iter().find(is_requested).copied()
    }

    /// The largest measured number of threads with one CPU each; without such a trial, the smallest number.
    pub fn full(&self) -> Option<usize> {
        let uncrowded =
            self.trials.iter().filter(|trial| !is_crowded(trial)).map(|trial| trial.spec.placement.len());
        uncrowded.max().or_else(|| self.threads.iter().copied().min())
    }

    /// The CPUs in the order in which threads use them.
    pub fn cpus(&self) -> &'a [CpuId] {
        let longest = self.trials.iter().max_by_key(|trial| trial.spec.placement.len());
        longest.map_or(&[], |trial| trial.spec.placement.as_slice())
    }
}

/// The tables of a run, in the requested order.
pub fn tables(result: &SeriesResult) -> Vec<MethodTable<'_>> {
    let mut tables: Vec<MethodTable<'_>> = Vec::new();
    for trial in result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE) {
        let parameters = &trial.spec.parameters;
        let number = |name| parameters.number(name).unwrap_or(0.0);
        let (sections_ns, arrange) =
            ([number("critical_ns"), number("parallel_ns")], parameters.text("arrange").unwrap_or_default());
        let known =
            tables.iter().position(|table| table.sections_ns == sections_ns && table.arrange == arrange);
        let index = known.unwrap_or_else(|| {
            tables.push(MethodTable {
                sections_ns,
                arrange,
                methods: Vec::new(),
                threads: Vec::new(),
                trials: Vec::new(),
            });
            tables.len() - 1
        });
        let table = &mut tables[index];
        let method = parameters.text("method").unwrap_or_default();
        if !table.methods.contains(&method) {
            table.methods.push(method);
        }
        let threads = trial.spec.placement.len();
        if !table.threads.contains(&threads) {
            table.threads.push(threads);
        }
        table.trials.push(trial);
    }
    tables
}
