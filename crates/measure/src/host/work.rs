//! [`Runner`]: runs a command or workload once on this machine and returns the outcome as a pass.

use super::clock::sources;
use super::command::watchdog::Watchdog;
use super::command::{self, Finished, Launch, Printed, RunFailure};
use super::surroundings::Present;
use super::workers::CoordinatorMask;
use super::{affinity, core_clock, evidence};
use crate::stop::Stop;
use crate::work::{CommandLine, Work, WorkOrder};
use coretalk_model::place::{Binding, OTHERS, WAITED, Workload};
use coretalk_model::series::{MAX_VALUE, Observed, PassOutcome};
use coretalk_model::{
    CommandEnd, CommandReason, CpuId, CpuSet, Flag, Picos, TickRate, Topology, TrialFailure,
};
use regex::bytes::{Captures, Regex};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;

/// Characters kept from the beginning and from the end of each stream of a failed run.
const KEPT_LETTERS: usize = 4096;
/// Environment variable without a meaning. Its length varies.
const PADDING: &str = "CORETALK_PADDING";
/// Run time of a workload that runs for a fixed time. It is long compared with process start, short compared with the
/// budget.
const SPAN_MS: u64 = 250;

#[derive(Debug, Clone, Copy)]
pub struct Runner<'a> {
    pub rate: TickRate,
    pub usable: &'a CpuSet,
    pub topology: &'a Topology,
    pub watchdog: Option<&'a Watchdog>,
    /// CPUs of the comparison that are offline, each with the time of its loss on the system clock.
    pub missed: &'a RefCell<BTreeMap<CpuId, Picos>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CoordinatorCpus {
    cpus: CpuSet,
    /// Whether the CPUs belong to the work.
    shared: bool,
}

/// Chooses CPUs outside the cores of all placements of a comparison or, if there are none, CPUs that are in no
/// placement. All placements have the same choice, so they stay comparable. The last resort is the first CPU of the
/// placement.
fn coordinator_cpus(order: &WorkOrder<'_>, usable: &CpuSet, topology: &Topology) -> CoordinatorCpus {
    let siblings = order.around.iter().flat_map(|cpu| topology.siblings(cpu).iter().collect::<Vec<_>>());
    let cores: CpuSet = siblings.chain(order.around.iter()).collect();
    let apart = [&cores, order.around].map(|taken| usable.difference(taken));
    match apart.into_iter().find(|cpus| !cpus.is_empty()) {
        Some(cpus) => CoordinatorCpus { cpus, shared: false },
        None => CoordinatorCpus {
            cpus: order.placement.cpus.first().copied().into_iter().collect(),
            shared: true,
        },
    }
}

impl Runner<'_> {
    pub fn run(&self, order: &WorkOrder<'_>, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        match order.work {
            Work::Command(line) => self.command(order, line, stop),
            Work::Workload(workload) => self.workload(order, *workload, stop),
        }
    }

    fn command(
        &self,
        order: &WorkOrder<'_>,
        line: &CommandLine,
        stop: &Stop,
    ) -> Result<PassOutcome, TrialFailure> {
        let limit = line.timeout.map_or(order.limit, |timeout| timeout.min(order.limit));
        let (finished, mut outcome) = self.launch(order, line, limit, stop)?;
        if !finished.status.success() {
            return Err(command_failure(ending(&finished).into(), &finished));
        }
        for (name, pattern) in &line.metrics {
            match find_number(pattern, [&finished.stdout, &finished.stderr]) {
                Ok(value) if value.abs() > MAX_VALUE => {
                    let reason = format!(
                        "metric {name} is {value:e}, and a run keeps values up to {MAX_VALUE:e}; print it in a larger unit"
                    );
                    return Err(command_failure(reason.into(), &finished));
                }
                Ok(value) => outcome.observed.value(name, value),
                Err(dropped_bytes) => {
                    let reason = CommandReason::NoNumber { metric: name.clone(), dropped_bytes };
                    return Err(command_failure(reason, &finished));
                }
            }
        }
        Ok(outcome)
    }

    /// Runs a workload in a process of its own, a subcommand of this program that prints the results.
    fn workload(
        &self,
        order: &WorkOrder<'_>,
        workload: Workload,
        stop: &Stop,
    ) -> Result<PassOutcome, TrialFailure> {
        let program = std::env::current_exe()
            .map_err(|error| TrialFailure::from_reason(format!("it could not be found: {error}")))?;
        let mut arguments: Vec<OsString> =
            ["work", &workload.to_string(), &order.threads.to_string()].map(OsString::from).to_vec();
        arguments.push(SPAN_MS.to_string().into());
        if order.placement.binding == Binding::Bound {
            let cpus: Vec<String> = order.placement.cpus.iter().map(ToString::to_string).collect();
            arguments.push(cpus.join(",").into());
        }
        let line = CommandLine { program: program.into(), arguments, ..CommandLine::default() };
        let (finished, mut outcome) = self.launch(order, &line, order.limit, stop)?;
        if !finished.status.success() {
            return Err(command_failure(ending(&finished).into(), &finished));
        }
        let observed = &mut outcome.observed;
        // Threads of a workload are always pinned more tightly than the placement.
        observed.numbers.counts.remove("narrowed");
        for line in String::from_utf8_lossy(finished.stdout.last_lines()).lines() {
            if let Some((name, value)) = line.split_once(' ')
                && let Ok(value) = value.parse()
            {
                observed.value(name, value);
            }
        }
        let headline = &workload.kind.metrics()[0].name;
        if !observed.numbers.values.contains_key(&**headline) {
            return Err(command_failure("it printed no number".to_owned().into(), &finished));
        }
        Ok(outcome)
    }

    fn launch(
        &self,
        order: &WorkOrder<'_>,
        line: &CommandLine,
        limit: Picos,
        stop: &Stop,
    ) -> Result<(Finished, PassOutcome), TrialFailure> {
        let cpus = &order.placement.set();
        let coordinator = coordinator_cpus(order, self.usable, self.topology);
        // If the coordinating thread cannot move, it shares a CPU with the work.
        let moved = CoordinatorMask::move_to(&coordinator.cpus);
        let coordinator_shared = coordinator.shared || moved.is_none();
        // The launcher is a subcommand of this program, with little memory.
        let launcher = std::env::current_exe().ok();
        let padding = (PADDING.to_owned(), "x".repeat(order.padding));
        let environment: Vec<_> = line.environment.iter().cloned().chain([padding]).collect();
        let before = evidence::cpu_times();
        let launch = Launch {
            program: &line.program,
            arguments: &line.arguments,
            environment: &environment,
            cpus,
            watchdog: self.watchdog,
            launcher: launcher.as_deref(),
            limit: limit.duration(),
            lost: &|| {
                let (there, now) = (Present::now(), sources::monotonic());
                let mut missed = self.missed.borrow_mut();
                for cpu in order.around.iter() {
                    match there.absence(cpu) {
                        Some(_) => drop(missed.entry(cpu).or_insert(now)),
                        None => drop(missed.remove(&cpu)),
                    }
                }
                cpus.iter().find(|cpu| missed.contains_key(cpu))
            },
        };
        let finished = command::run(&launch, stop).map_err(|failure| match failure {
            // A timeout of the budget is no failure of the work.
            RunFailure::TimedOut { .. } if limit == order.limit => TrialFailure::TimedOut { limit },
            failure => explain(cpus, failure),
        })?;
        let spent = before.and_then(|before| Some(evidence::cpu_times()?.since(&before)));
        let steal_ms = spent.as_ref().and_then(|spent| spent.stolen_ms(cpus)).map(|ms| ms as f32);
        let mut observed = observe(&finished, self.core_ghz(&order.placement.cpus));
        // CPU time used by other programs. It is unknown for unpinned work, which may have run on other CPUs.
        if order.placement.binding == Binding::Bound
            && let Some(busy_ms) = spent.and_then(|spent| spent.busy_ms(cpus))
        {
            let own_s = finished.usage.user_s + finished.usage.system_s;
            observed.value(OTHERS, (busy_ms / 1e3 - own_s).max(0.0));
        }
        Ok((finished, PassOutcome { steal_ms, coordinator_shared, observed, ..PassOutcome::default() }))
    }

    /// Clock of the first CPU of a placement, measured there right after a run.
    fn core_ghz(&self, cpus: &[CpuId]) -> Option<f64> {
        let before = affinity::current_mask().ok()?;
        affinity::pin_current_thread(*cpus.first()?).ok()?;
        let ghz = core_clock::probe(self.rate);
        let _ = affinity::set_mask(&before);
        ghz
    }
}

fn observe(finished: &Finished, core_ghz: Option<f64>) -> Observed {
    let mut observed = Observed::default();
    observed.value("wall_s", finished.wall.as_secs_f64());
    observed.value("user_s", finished.usage.user_s);
    observed.value("system_s", finished.usage.system_s);
    if let Some(bytes) = finished.usage.peak_bytes {
        observed.value("peak_memory_mb", bytes as f64 / 1e6);
    }
    observed.value("switches", finished.usage.switches as f64);
    for (name, count) in finished.counts.named() {
        observed.value(name, count as f64);
    }
    if let Some(ghz) = core_ghz {
        observed.value("core_ghz", ghz);
    }
    if let Some(waited) = finished.stay.waited {
        observed.value(WAITED, waited.as_secs_f64());
    }
    observed.count("left", u64::from(finished.stay.left));
    observed.count("narrowed", u64::from(finished.stay.narrowed));
    observed.count("orphans", u64::from(finished.orphans));
    observed.count("tasks", finished.stay.tasks as u64);
    if finished.stay.left {
        observed.flags.set(Flag::Migrated);
    }
    observed
}

/// The number that a pattern finds in standard output, or else in standard error. The last match counts, since programs
/// summarise at the end. If bytes are missing, only the complete lines after them are searched, because a match before
/// them may not be the last. The error is the number of bytes dropped before the searched lines; 0 if nothing is
/// missing.
fn find_number(pattern: &Regex, streams: [&Printed; 2]) -> Result<f64, u64> {
    for printed in streams {
        let found = pattern.captures_iter(printed.last_lines()).last();
        match (found.as_ref().and_then(captured_number), printed.whole()) {
            (Some(number), _) => return Ok(number),
            (None, Err(missing)) => return Err(missing),
            (None, Ok(_)) => {}
        }
    }
    Err(0)
}

/// The number of a match. It is the first group that took part, or the whole match if no group did.
fn captured_number(found: &Captures<'_>) -> Option<f64> {
    let group = found.iter().skip(1).flatten().next().or_else(|| found.get(0))?;
    let number = std::str::from_utf8(group.as_bytes()).ok()?.trim().parse().ok()?;
    Some(number).filter(|number: &f64| number.is_finite())
}

fn ending(finished: &Finished) -> String {
    match (finished.status.code(), finished.status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended for an unknown reason".to_owned(),
    }
}

fn explain(cpus: &CpuSet, failure: RunFailure) -> TrialFailure {
    match failure {
        RunFailure::Interrupted => TrialFailure::Interrupted,
        RunFailure::LostCpu { cpu } => TrialFailure::CpuLost { cpu },
        RunFailure::NotStarted { source, .. } if source.raw_os_error() == Some(libc::EINVAL) => {
            TrialFailure::NotPinned { cpu: cpus.first().unwrap_or(CpuId(0)), errno: libc::EINVAL }
        }
        RunFailure::NotStarted { source, .. } => TrialFailure::no_resources(source.raw_os_error())
            .unwrap_or_else(|| TrialFailure::from_reason(format!("it could not be started: {source}"))),
        RunFailure::TimedOut { limit, stdout, stderr } => TrialFailure::Command {
            reason: format!("it ran for more than {} and was killed", Picos::from_secs(limit.as_secs_f64()))
                .into(),
            end: None,
            stdout: stdout.cut(KEPT_LETTERS),
            stderr: stderr.cut(KEPT_LETTERS),
        },
        RunFailure::Watch(source) => TrialFailure::no_resources(source.raw_os_error())
            .unwrap_or_else(|| TrialFailure::from_reason(format!("it could not be monitored: {source}"))),
    }
}

fn command_failure(reason: CommandReason, finished: &Finished) -> TrialFailure {
    let [stdout, stderr] = [&finished.stdout, &finished.stderr].map(|printed| printed.cut(KEPT_LETTERS));
    let status = finished.status.code().filter(|code| *code != 0).map(CommandEnd::Status);
    let end = status.or(finished.status.signal().map(CommandEnd::Signal));
    TrialFailure::Command { reason, end, stdout, stderr }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::place::Placement;
    use coretalk_model::{Domain, Level};

    #[test]
    fn the_coordinating_thread_stays_in_the_same_place_for_every_placement() {
        let core = |list: &str| Domain { level: Level::Core, cpus: list.parse().unwrap(), os_id: None };
        let all: CpuSet = "0-5".parse().unwrap();
        let topology =
            Topology::new(all.clone(), vec![core("0,3"), core("1,4"), core("2,5")], Default::default());
        let queens = Work::Workload("n-queens:8".parse().unwrap());
        let places = |usable: &str, lists: [&[u32]; 2]| -> [(String, bool); 2] {
            let placements =
                lists.map(|list| Placement::bound("a", list.iter().copied().map(CpuId).collect()));
            let around = placements.iter().flat_map(|placement| placement.cpus.iter().copied()).collect();
            placements.each_ref().map(|placement| {
                let (work, around, limit) = (&queens, &around, Picos::from_ms(1));
                let order = WorkOrder { work, placement, around, threads: 1, limit, key: 0, padding: 0 };
                let coordinator = coordinator_cpus(&order, &usable.parse().unwrap(), &topology);
                (coordinator.cpus.to_string(), coordinator.shared)
            })
        };
        let at = |cpus: &str, shared| (cpus.to_owned(), shared);
        // A core is free, then only second threads, then nothing.
        assert_eq!(places("0-5", [&[0], &[0, 1]]), [at("2,5", false), at("2,5", false)]);
        assert_eq!(places("0-5", [&[0, 2], &[0, 1]]), [at("3-5", false), at("3-5", false)]);
        assert_eq!(places("0-1", [&[0], &[0, 1]]), [at("0", true), at("0", true)]);
        assert_eq!(places("0-1", [&[1], &[0]]), [at("1", true), at("0", true)]);
    }

    fn find(pattern: &str, text: &str) -> Result<f64, u64> {
        find_number(&Regex::new(pattern).unwrap(), [&Printed::from(text), &Printed::default()])
    }

    #[test]
    fn a_metric_is_the_last_number_that_its_pattern_finds() {
        for (pattern, text, found) in [
            (r"rate: ([0-9.]+)", "rate: 1.5\nrate: 2.5 MB/s", Ok(2.5)),
            (r"[0-9]+", "7 of 9", Ok(9.0)),
            (r"rate: (\w+)", "rate: fast", Err(0)),
            (r"x(\d+)", "", Err(0)),
            // The group that took part counts.
            (r"a=(\d+)|b=(\d+)", "a=1 b=2", Ok(2.0)),
            (r"a=(\d+)|b=(\d+)", "b=2 a=1", Ok(1.0)),
            (r"(\d+)( ms)?", "12 ms", Ok(12.0)),
        ] {
            assert_eq!(find(pattern, text), found, "{pattern} in {text}");
        }
        let streams = [&Printed::from("no number"), &Printed::from("rate: 3")];
        assert_eq!(find_number(&Regex::new("rate: (.)").unwrap(), streams), Ok(3.0));
    }

    #[test]
    fn numbers_are_read_neither_from_the_note_about_missing_output_nor_across_it() {
        let find = |pattern: &str, tail: &str| {
            let printed = Printed::with_a_gap("rate: 1 and 1", 77, tail);
            find_number(&Regex::new(pattern).unwrap(), [&printed, &Printed::from("77 rate: 5")])
        };
        assert_eq!(find(r"(\d+) bytes left out", "234 b\nthe end"), Err(77));
        assert_eq!(find(r"(\d+)", "234 b\nthe end"), Err(77), "cut by the gap");
        assert_eq!(find(r"1([^x]*)2", "2\nthe end"), Err(77), "across the gap");
        assert_eq!(find(r"rate: (\d+)", "b\nrate: 9\n"), Ok(9.0));
    }
}
