//! `work`: runs a workload once in its own process, which `place` starts. Prints one name and number per line.

use crate::exit::{ExitCode, Failure};
use crate::run::out::Out;
use coretalk_measure::host::command::launcher::{LAUNCH, serve};
use coretalk_measure::host::command::watchdog::{GUARD, keep};
use coretalk_measure::workloads::{CHAIN, Job, go_on_with_chain, perform};
use coretalk_model::CpuId;
use std::ffi::OsString;
use std::time::Duration;

pub fn execute(words: &[String]) -> Result<ExitCode, Failure> {
    if let [first, rest @ ..] = words
        && first == CHAIN
    {
        go_on_with_chain(rest).map_err(|error| Failure::Input(error.to_string()))?;
        return Ok(ExitCode::Done);
    }
    if let [only] = words
        && only == LAUNCH
    {
        serve().map_err(|error| Failure::Input(format!("the launcher lost its command: {error}")))?;
        return Ok(ExitCode::Done);
    }
    if let [first, word] = words
        && first == GUARD
    {
        keep(word);
        return Ok(ExitCode::Done);
    }
    let numbers = perform(&job(words)?).map_err(|error| Failure::Input(error.to_string()))?;
    let lines: String = numbers.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    Out::open(None)?.text(&lines)?;
    Ok(ExitCode::Done)
}

/// Recognises the launcher without the command-line parser. The launcher must stay small, and the definitions of all
/// options take more memory than the launcher.
pub fn shortcut(words: &[OsString]) -> Option<Vec<String>> {
    match words {
        [_, work, launch] if work == "work" && launch == LAUNCH => Some(vec![LAUNCH.to_owned()]),
        _ => None,
    }
}

fn job(words: &[String]) -> Result<Job, Failure> {
    let wrong = || Failure::Usage("a workload takes NAME THREADS MILLISECONDS [CPUS]".into());
    let [name, threads, span_ms, rest @ ..] = words else { return Err(wrong()) };
    let cpus = rest.first().map_or("", String::as_str).split(',').filter(|word| !word.is_empty());
    Ok(Job {
        workload: name
            .parse()
            .map_err(|error: coretalk_model::place::WorkloadError| Failure::Usage(error.to_string()))?,
        threads: threads.parse().ok().filter(|threads| (1..=4096).contains(threads)).ok_or_else(wrong)?,
        cpus: cpus.map(|cpu| cpu.parse().map(CpuId)).collect::<Result<_, _>>().map_err(|_| wrong())?,
        span: Duration::from_millis(span_ms.parse().map_err(|_| wrong())?),
    })
}
