//! [`PlaceArgs`]: the options of `place` as typed. [`ComparedRuns`]: the options that `place` and `versus` share.

use super::value;
use clap::Args;
use coretalk_model::Picos;
use coretalk_model::place::{Metric, PlacementName, Preset, Workload};
use regex::bytes::Regex;
use std::ffi::OsString;

/// Options of `place`.
#[derive(Debug, Clone, Default, Args)]
pub struct PlaceArgs {
    /// Placement: NAME=CPUS in thread order (as for --cpus), or compact, spread, one-l3, across-l3, smt-packed, one-per-core, one-node,
    /// p-cores, e-cores, none; at least two (default: across-l3 and smt-packed, or the closest that this machine has)
    #[arg(long, value_name = "NAME[=CPUS]", value_parser = placement)]
    pub placement: Vec<PlacementName>,
    /// Built-in workloads: execl, process, pipe, shell:N, n-queens:N, integer, threads-yield, mutex-array,
    /// memory-read, memory-write, stream-copy, stream-scale, stream-add, stream-triad, barrier, ring, all-to-all,
    /// pipeline, shared-counter
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["command", "metric", "higher_is_better", "timeout"])]
    pub workload: Vec<Workload>,
    /// Number of threads of each workload, and of CPUs of each named placement (default: depends on the machine)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Minimum number of repetitions per placement (default: 10); below 6, exactly this many and no intervals or
    /// verdict
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=200))]
    pub repeat: Option<u32>,
    /// Options for runs of commands and for the comparison.
    #[command(flatten)]
    pub runs: ComparedRuns,
    /// Command to run, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options of the commands that compare runs: `place` and `versus`.
#[derive(Debug, Clone, Default, Args)]
pub struct ComparedRuns {
    /// Number in the output of the command: the last match of REGEX, or its first matching group; repeatable
    #[arg(long, value_name = "NAME=REGEX", value_parser = metric)]
    pub metric: Vec<(String, Regex)>,
    /// Metric for which higher is better; repeatable (default: lower is better)
    #[arg(long, value_name = "NAME")]
    pub higher_is_better: Vec<String>,
    /// Time limit for each run of the command (default: until the budget ends)
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Picos>,
    /// Minimum relevant difference, 0.1% to 50% (default: 1%)
    #[arg(long, value_name = "PERCENT", value_parser = effect)]
    pub min_effect: Option<f64>,
}

fn placement(text: &str) -> Result<PlacementName, String> {
    let Some((name, list)) = text.split_once('=') else {
        return Preset::named(text).map(PlacementName::Preset).ok_or_else(|| {
            let names = Preset::ALL.map(Preset::name).join(", ");
            format!("unknown placement `{text}`; use {names}, or NAME=CPUS")
        });
    };
    let fits = |c: char| c.is_alphanumeric() || "_.-+ ".contains(c);
    if name.is_empty() || name.trim() != name || !name.chars().all(fits) {
        return Err(format!(
            "`{name}` is not a valid placement name: use letters, digits, `_`, `.`, `-`, `+` and blanks between them"
        ));
    }
    if Preset::several(name).is_some() {
        return Err(format!("`{name}` names built-in placements; give your own another name"));
    }
    let cpus = value::cpus(list).map_err(|error| format!("placement {name}: {error}"))?;
    Ok(PlacementName::Listed { name: name.to_owned(), cpus })
}

fn metric(text: &str) -> Result<(String, Regex), String> {
    let (name, pattern) =
        text.split_once('=').ok_or("expected NAME=REGEX, for example `rate=([0-9.]+) MB/s`")?;
    if let Some(refusal) = Metric::refusal(name) {
        return Err(refusal);
    }
    match Regex::new(pattern) {
        Ok(pattern) => Ok((name.to_owned(), pattern)),
        Err(error) => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(format!("`{pattern}` is not a valid regular expression: {last}"))
        }
    }
}

/// Parses `30s`; from a millisecond to a day.
fn timeout(text: &str) -> Result<Picos, String> {
    let timeout = Picos::parse(text).map_err(|error| format!("failed to {error}"))?;
    if (Picos::from_ms(1)..=Picos::from_ms(86_400_000)).contains(&timeout) {
        Ok(timeout)
    } else {
        Err("the timeout must be between `1ms` and `24h`".into())
    }
}

/// Parses `1%` as a share of 1.
fn effect(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.ok_or("expected a percentage such as `1%`")? / 100.0;
    if (0.001..=0.5).contains(&share) {
        Ok(share)
    } else {
        Err("the effect must be between 0.1% and 50%".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::CpuSelection;

    #[test]
    fn placements_have_a_name_and_cpus() {
        for (text, named, list) in
            [("split=3,0-1", "split", "3,0-1"), ("6-core 2 CCX=0", "6-core 2 CCX", "0")]
        {
            let Ok(PlacementName::Listed { name, cpus }) = placement(text) else {
                panic!("{text} was refused")
            };
            assert_eq!((name.as_str(), Ok(cpus)), (named, CpuSelection::parse(list)));
        }
        assert_eq!(placement("smt-packed"), Ok(PlacementName::Preset(Preset::SmtPacked)));
    }

    #[test]
    fn invalid_placements_state_the_reason() {
        for (text, part) in [
            ("one-l3+none=0-1", "`one-l3+none` names built-in placements"),
            ("dense", "use compact, spread"),
            ("a=", "lists no CPU"),
            ("=0-1", "is not a valid placement name"),
            ("a =0-1", "is not a valid placement name"),
            ("a=0-3,2", "placement a: CPU 2 is listed twice"),
            ("a=0,,1", "read `` as a CPU number"),
            ("a=0-1048575,7", "CPU 7 is listed twice"),
            ("a=3-1", "ends before it starts"),
            ("a=x", "expected for example"),
        ] {
            let refused = placement(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn metrics_have_a_name_and_a_pattern() {
        assert!(metric("rate=([0-9.]+) MB/s").is_ok());
        for (text, part) in [
            ("rate", "expected NAME=REGEX"),
            ("a b=1", "not a valid metric name"),
            ("rate=(", "not a valid regular expression"),
        ] {
            let refused = metric(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }
}
