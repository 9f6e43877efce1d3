//! [`run`]: checks whether coretalk measures correctly on this machine. Each check runs this program and compares its
//! output, or the CPUs of its threads, with the expected result.

mod child;

use child::Child;
use coretalk_measure::Stop;
use coretalk_model::stats::Estimate;
use coretalk_model::stats::compare::{Equivalence, within_factor};
use coretalk_model::{CpuId, CpuSet, DoctorFinding, Verdict};
use coretalk_report::fmt::digits::{fixed, percent, signed_percent, with_reach};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Verdict of a check, with the observation.
type CheckOutcome = (Verdict, String);

/// Performs a check on some CPUs. The error says why the check is impossible.
type CheckFn = fn(&Child<'_>, &[CpuId]) -> Result<CheckOutcome, String>;

const CHECKS: [(&str, &str, CheckFn); 7] = [
    ("pins", "threads run on the CPU that they are pinned to", pins),
    ("clock", "the clock has small steps and a constant rate, and all CPUs agree on the time", clock),
    ("counts", "every operation and message is counted exactly once", counts),
    ("kernels", "two different ways to time the same hand-over agree", kernels),
    ("same", "a workload compared with itself has no winner", same),
    ("delay", "time taken by another program is detected", delay),
    ("store", "a run that was killed is complete after it is resumed", store),
];

/// Runs all checks with this program, on the first and the last of the CPUs. Returns the findings up to an
/// interruption. `scratch` is an empty directory. `announce` gets the description of each check in advance.
pub fn run(
    program: &Path,
    scratch: &Path,
    cpus: &CpuSet,
    stop: &Stop,
    announce: &mut dyn FnMut(&str),
) -> Vec<DoctorFinding> {
    let child = Child { program, scratch, stop };
    let all: Vec<CpuId> = cpus.iter().collect();
    let chosen: Vec<CpuId> = match all.as_slice() {
        [first, .., last] => vec![*first, *last],
        one => one.to_vec(),
    };
    let mut findings = Vec::new();
    for (id, description, attempt) in CHECKS {
        announce(description);
        let (verdict, observation) =
            attempt(&child, &chosen).unwrap_or_else(|why| (Verdict::CannotTell, why));
        if stop.is_raised() {
            break;
        }
        let text = format!("{description}: {observation}");
        findings.push(DoctorFinding { id: id.to_owned(), verdict, text, fix: None });
    }
    findings
}

/// Combines the verdicts; a failure dominates.
pub fn verdict(findings: &[DoctorFinding]) -> Verdict {
    let any = |verdict| findings.iter().any(|finding| finding.verdict == verdict);
    match (any(Verdict::Fail), any(Verdict::CannotTell)) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::CannotTell,
        (false, false) => Verdict::Ok,
    }
}

fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn pair_list(cpus: &[CpuId]) -> Result<String, String> {
    match cpus {
        [_, _] => Ok(list(cpus)),
        _ => Err("this process may use only one CPU".to_owned()),
    }
}

/// Checks the CPUs of measuring threads, as the system reports them to another process.
fn pins(child: &Child<'_>, cpus: &[CpuId]) -> Result<CheckOutcome, String> {
    let words = format!("latency --cpus {} --budget 2s --no-save", pair_list(cpus)?);
    // For each pinned CPU: numbers of samples of its thread on that CPU, and on another CPU.
    let mut samples: BTreeMap<CpuId, [u64; 2]> = BTreeMap::new();
    child.document(&words, &mut |process| {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for thread in threads {
            if let Some((pinned, at)) =
                pinned_and_at(&thread.path()).filter(|(pinned, _)| cpus.contains(pinned))
            {
                samples.entry(pinned).or_default()[usize::from(at != pinned)] += 1;
            }
        }
    })?;
    let sum = |which: usize| samples.values().map(|count| count[which]).sum::<u64>();
    let (home, away) = (sum(0), sum(1));
    Ok(match (away, samples.len() == cpus.len()) {
        (0, true) => (
            Verdict::Ok,
            format!("CPUs {}: pinned threads were on their CPU in all {home} samples", list(cpus)),
        ),
        (0, false) => (Verdict::CannotTell, format!("too few samples of pinned threads: {home}")),
        _ => (
            Verdict::Fail,
            format!("pinned threads were on another CPU in {away} of {} samples", home + away),
        ),
    })
}

/// Returns the only CPU that a thread may use, and the CPU of its last execution. Reads the mask first: pinning moves a
/// thread at once, so the CPU that is read later must agree.
fn pinned_and_at(thread: &Path) -> Option<(CpuId, CpuId)> {
    let status = std::fs::read_to_string(thread.join("status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let pinned = allowed.trim().parse().ok().map(CpuId)?;
    let stat = std::fs::read_to_string(thread.join("stat")).ok()?;
    // The thread name is in brackets and may contain spaces. The CPU is the 37th field after it.
    let at = stat.rsplit(')').next()?.split_ascii_whitespace().nth(36)?;
    Some((pinned, CpuId(at.parse().ok()?)))
}

/// Maximum clock step. A larger step hides a hand-over of tens of nanoseconds.
const COARSE_NS: f64 = 50.0;
/// Maximum difference of two counters. A larger difference changes the order of events of a run.
const APART_NS: f64 = 1_000.0;

fn clock(child: &Child<'_>, _: &[CpuId]) -> Result<CheckOutcome, String> {
    let document = child.document("clock --budget 4s", &mut |_| ())?;
    let facts = &document["environment"]["clock"];
    let step = facts["step_ns"].as_f64().ok_or("the step of the clock is not known")?;
    let source = facts["source"].as_str().unwrap_or("unknown");
    let cells = document["matrices"][0]["cells"].as_array().cloned().unwrap_or_default();
    // Lower bound of the offset between two counters: the distance from 0 to its interval.
    let offset = |cell: &Value| Some(cell["ci"][0].as_f64()?.max(-cell["ci"][1].as_f64()?).max(0.0));
    let offset = cells.iter().filter_map(offset).fold(0.0, f64::max);
    let mut observation = format!("{source}, steps of {} ns", fixed(step, 3));
    if !cells.is_empty() {
        observation += &match offset > 0.0 {
            true => format!(", the counters of two CPUs differ by at least {} ns", fixed(offset, 0)),
            false => ", no offset found between the counters of the CPUs compared".to_owned(),
        };
    }
    let steady = facts["invariant"].as_bool();
    if steady != Some(true) {
        observation += match steady {
            Some(_) => ", but nothing guarantees that its rate is constant",
            None => ", but it is unknown whether its rate is constant",
        };
    }
    let outcome = match (step, offset, steady) {
        (_, offset, _) if offset > APART_NS => Verdict::Fail,
        (step, _, Some(true)) if step <= COARSE_NS => Verdict::Ok,
        _ => Verdict::CannotTell,
    };
    Ok((outcome, observation))
}

fn counts(child: &Child<'_>, cpus: &[CpuId]) -> Result<CheckOutcome, String> {
    let (threads, cpus) = (cpus.len(), list(cpus));
    let words = format!(
        "contend --cpus {cpus} --method fetch-add,std-mutex,mcs --threads {threads} --budget 3s --no-save"
    );
    let document = child.document(&words, &mut |_| ())?;
    let (mut counted, mut missing) = (0, 0);
    for series in document["series"].as_array().into_iter().flatten() {
        let [expected, found] =
            ["expected_count", "final_count"].map(|name| series["counts"][name].as_u64().unwrap_or(0));
        counted += found;
        missing += expected.abs_diff(found);
    }
    // If the counts of producer and consumer differ, the trial of the queue fails.
    let words = format!("queue --cpus {cpus} --queue spsc,mutex --capacity 10 --budget 3s --no-save");
    let document = child.document(&words, &mut |_| ())?;
    let cells = document["matrices"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|one| one["cells"].as_array())
        .flatten();
    let (passed, refused): (Vec<&Value>, Vec<&Value>) = cells.partition(|cell| cell["median"].is_number());
    if missing > 0 {
        return Ok((
            Verdict::Fail,
            format!("{counted} operations on shared counters were counted, which is off by {missing}"),
        ));
    }
    if let Some(cell) = refused.first() {
        return Ok((
            Verdict::CannotTell,
            format!("a queue gave no result: {}", cell["reason"].as_str().unwrap_or("unknown")),
        ));
    }
    let has_results = counted > 0 && !passed.is_empty();
    let outcome = if has_results { Verdict::Ok } else { Verdict::CannotTell };
    let queues = passed.len();
    Ok((
        outcome,
        format!(
            "shared counters show all of {counted} operations; every message arrived in {queues} queue trials"
        ),
    ))
}

/// Maximum ratio of two methods that agree: a compare-exchange ping-pong (half a round trip) and reads of lines written
/// by the other CPU (one transfer). They were within 8 % of each other on compared machines (docs/method.md).
const AGREES: f64 = 1.08;
/// Ratio above which one of the two kernels measures something else.
const PLAUSIBLE: f64 = 2.0;

fn kernels(child: &Child<'_>, cpus: &[CpuId]) -> Result<CheckOutcome, String> {
    let words = format!("latency --cpus {} --protocol cas,xfer --budget 6s --no-save", pair_list(cpus)?);
    let document = child.document(&words, &mut |_| ())?;
    let cell = |index: usize| &document["matrices"][index]["cells"][0];
    let [Some(cas), Some(xfer)] = [0, 1].map(|index| estimate(cell(index))) else {
        let why = [0, 1].iter().find_map(|&index| cell(index)["reason"].as_str()).unwrap_or("no number");
        return Err(why.to_owned());
    };
    let state_changed =
        [0, 1].iter().any(|&index| !cell(index)["states"].as_array().is_none_or(Vec::is_empty));
    Ok(compare_kernels(&cas, &xfer, state_changed, &list(cpus)))
}

/// Returns the value of a cell in nanoseconds. Without an interval, the confidence is 0.
fn estimate(cell: &Value) -> Option<Estimate> {
    let point = cell["median"].as_f64()?;
    let ends = cell["ci"][0].as_f64().zip(cell["ci"][1].as_f64());
    let (low, high) = ends.unwrap_or((point, point));
    let confidence = if ends.is_some() { 0.95 } else { 0.0 };
    Some(Estimate { point, low, high, confidence, effective_n: 1.0 })
}

/// Compares two methods of timing a hand-over. `state_changed`: the machine changed its state between them.
fn compare_kernels(cas: &Estimate, xfer: &Estimate, state_changed: bool, cpus: &str) -> CheckOutcome {
    let ratio = xfer.point / cas.point;
    let ns = |value: &Estimate| match value.is_sure() {
        true => format!("{} ns", with_reach(value)),
        false => format!("{} ns without an interval", with_reach(value)),
    };
    let observation =
        format!("cas {}, xfer {} between CPUs {cpus}, a ratio of {}", ns(cas), ns(xfer), fixed(ratio, 2));
    match (within_factor(cas, xfer, AGREES), within_factor(cas, xfer, PLAUSIBLE)) {
        (Equivalence::Equivalent, _) => (Verdict::Ok, observation),
        _ if state_changed => {
            (Verdict::CannotTell, format!("{observation}, but the machine changed its state meanwhile"))
        }
        (_, Equivalence::Different) => (Verdict::Fail, observation),
        (Equivalence::Different, _) => (
            Verdict::CannotTell,
            format!("{observation}: they differ by more than {}", percent(AGREES - 1.0)),
        ),
        _ => (Verdict::CannotTell, format!("{observation}: too noisy to tell whether they agree")),
    }
}

fn same(child: &Child<'_>, cpus: &[CpuId]) -> Result<CheckOutcome, String> {
    let cpu = cpus.first().ok_or("this process may use no CPU")?;
    let words = format!(
        "place --workload n-queens:8 --threads 1 --placement one={cpu} --placement two={cpu} --budget 10s --no-save"
    );
    let document = child.document(&words, &mut |_| ())?;
    let comparison = &document["comparisons"][0];
    let runs = comparison["placements"][0]["runs"].as_array().map_or(0, Vec::len);
    let shift = comparison["delta_percent"].as_f64();
    let observation = match shift {
        Some(shift) => format!("{runs} runs of each placement on CPU {cpu}: {}", signed_percent(shift)),
        None => format!("{runs} runs of each placement on CPU {cpu}"),
    };
    Ok(match comparison["winner"].as_str() {
        Some(winner) => (Verdict::Fail, format!("{observation}, and `{winner}` was declared the winner")),
        None if runs == 0 => (Verdict::CannotTell, "no run finished".to_owned()),
        None => (Verdict::Ok, format!("{observation}, no winner")),
    })
}

/// Minimum share of a CPU that another program must take for a conclusive check.
const TAKEN_AT_LEAST: f64 = 0.2;
/// Minimum fraction of that share that `jitter` must find. The program also works on other CPUs and at other times.
const FOUND_AT_LEAST: f64 = 0.7;

/// Checks `jitter` on a CPU with another busy process of this program.
fn delay(child: &Child<'_>, cpus: &[CpuId]) -> Result<CheckOutcome, String> {
    let cpu = cpus.first().ok_or("this process may use no CPU")?;
    let work = format!(
        "place --workload n-queens:13 --threads 1 --placement one={cpu} --placement two={cpu} --budget 3s --no-save"
    );
    let mut worker = child.start("worker", &work)?;
    // The CPU time of the worker counts only after its warm-up.
    std::thread::sleep(Duration::from_millis(300));
    let (began, before) = (Instant::now(), worker.cpu_seconds());
    let mut after = before;
    // Equal priority, because `jitter` would otherwise leave the other process no time.
    let words = format!("jitter --cpus {cpu} --for 1s --nice 0 --no-save");
    let document = child.document(&words, &mut |_| after = worker.cpu_seconds().or(after))?;
    let elapsed = began.elapsed().as_secs_f64();
    worker.end();
    let taken = before.zip(after).map(|(before, after)| (after - before) / elapsed);
    let taken = taken.ok_or("the system does not report CPU time")?;
    let lost = document["series"][0]["values"]["lost_share"].as_f64().ok_or("`jitter` gave no result")?;
    let observation = format!(
        "another program that works on CPU {cpu} used {} of the time of one CPU, and `jitter` found {} of the time of \
         CPU {cpu} lost",
        percent(taken),
        percent(lost)
    );
    Ok(match lost >= FOUND_AT_LEAST * taken {
        _ if taken < TAKEN_AT_LEAST => (Verdict::CannotTell, observation),
        true => (Verdict::Ok, observation),
        false => (Verdict::Fail, observation),
    })
}

/// Checks resuming after a kill. A simulated machine excludes other failures.
fn store(child: &Child<'_>, _: &[CpuId]) -> Result<CheckOutcome, String> {
    let mut first =
        child.start("killed", "latency --machine sim:mesh-64 --seed 1 --precision 0.3% --budget 60s")?;
    // Kills the process after it has saved something.
    let saved = child.wait_for(Duration::from_secs(10), || child.saved_runs().next());
    std::thread::sleep(Duration::from_millis(300));
    let ended_before = first.end();
    let run = saved.or_else(|| child.saved_runs().next()).ok_or("a run saved nothing")?;
    let run = run.to_string_lossy().into_owned();
    let document = child.document_of(&["--resume", &run], &mut |_| ())?;
    let cells = document["matrices"][0]["cells"].as_array().map_or(0, Vec::len);
    let measured = document["matrices"][0]["cells"].as_array().into_iter().flatten();
    let measured = measured.filter(|cell| cell["median"].is_number()).count();
    let complete = document["run"]["complete"].as_bool() == Some(true);
    let observation =
        format!("{measured} of {cells} simulated pairs have a value after the kill and the resume");
    Ok(match complete && measured == cells && cells > 0 {
        true if ended_before => (Verdict::CannotTell, "the run ended before it could be killed".to_owned()),
        true => (Verdict::Ok, observation),
        false => (Verdict::Fail, observation),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_differ_by_more_than_their_intervals_do_not_agree() {
        let ns = |point: f64, reach: f64| {
            let cell = serde_json::json!({"median": point, "ci": [point - reach, point + reach]});
            estimate(&cell).unwrap()
        };
        let verdict = |a: &Estimate, b: &Estimate, state_changed| compare_kernels(a, b, state_changed, "0,1");
        assert_eq!(verdict(&ns(107.9, 1.0), &ns(110.0, 1.0), false).0, Verdict::Ok);
        let different = verdict(&ns(107.9, 2.0), &ns(128.5, 2.0), false);
        assert_eq!(different.0, Verdict::CannotTell);
        assert!(different.1.ends_with("a ratio of 1.19: they differ by more than 8 %"), "{}", different.1);
        assert!(verdict(&ns(107.9, 20.0), &ns(110.0, 20.0), false).1.ends_with("whether they agree"));
        assert_eq!(verdict(&ns(50.0, 1.0), &ns(150.0, 1.0), false).0, Verdict::Fail);
        assert_eq!(verdict(&ns(50.0, 1.0), &ns(150.0, 1.0), true).0, Verdict::CannotTell);
        let no_interval = estimate(&serde_json::json!({"median": 50.0, "ci": null})).unwrap();
        assert_eq!(verdict(&no_interval, &no_interval, false).0, Verdict::CannotTell);
    }
}
