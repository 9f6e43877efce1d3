//! Selection of CPUs and pairs.

use crate::args::options::Global;
use crate::args::value::{AutoOr, PairsWord};
use crate::args::words::SmtWord;
use crate::exit::Failure;
use coretalk_measure::Machine;
use coretalk_model::CpuSet;
use coretalk_model::latency::{PairChoice, Parallel};

/// Returns the selected CPUs, at least `fewest`, and the choice of pairs.
pub fn cpus_and_pairs(
    machine: &dyn Machine,
    global: &Global,
    pairs: Option<&PairsWord>,
    fewest: usize,
) -> Result<(CpuSet, PairChoice), Failure> {
    let topology = machine.topology();
    let allowance = machine.allowance();
    let listed = match pairs {
        Some(PairsWord::Listed(listed)) => Some(listed),
        _ => None,
    };
    if let (Some(SmtWord::Siblings), Some(_)) = (global.smt, pairs) {
        return Err(Failure::Usage("--smt siblings and --pairs both select pairs; drop one of them".into()));
    }
    let of_pairs = listed.map(|listed| listed.iter().flatten().copied().collect::<CpuSet>());
    let asked = global.cpus.clone().or_else(|| of_pairs.clone());
    let chosen = match &asked {
        Some(asked) => {
            let existing = topology.cpus();
            online(machine, asked)?;
            if let Some(cpu) = asked.difference(existing).first() {
                return Err(Failure::Usage(format!(
                    "CPU {cpu} does not exist: this machine has {}; choose among them with --cpus",
                    existing.named()
                )));
            }
            asked.clone()
        }
        None => allowance.mask.intersection(&allowance.cpuset).intersection(topology.cpus()),
    };
    if let Some(cpu) = chosen.difference(&allowance.cpuset).first() {
        return Err(Failure::Environment(format!(
            "CPU {cpu} exists but is not allowed: the cpuset of this process contains {}; choose among them with --cpus, or widen the cpuset",
            allowance.cpuset.named()
        )));
    }
    if let Some(cpu) = of_pairs.iter().find_map(|of_pairs| of_pairs.difference(&chosen).first()) {
        return Err(Failure::Usage(format!("--pairs includes CPU {cpu}, which --cpus {chosen} excludes")));
    }
    let chosen = match global.smt {
        None | Some(SmtWord::All) => chosen,
        Some(SmtWord::OnePerCore) => topology.one_per_core(&chosen),
        Some(SmtWord::Siblings) => {
            chosen.iter().filter(|&cpu| topology.siblings(cpu).intersection(&chosen).len() > 1).collect()
        }
    };
    if let Some(cpu) = of_pairs.iter().find_map(|of_pairs| of_pairs.difference(&chosen).first()) {
        return Err(Failure::Usage(format!(
            "--pairs includes CPU {cpu}, which --smt one-per-core excludes; drop --smt"
        )));
    }
    if global.smt == Some(SmtWord::Siblings) && chosen.is_empty() {
        return Err(Failure::Environment(
            "no two of the chosen CPUs are SMT siblings (SMT may be off); drop --smt, or see `coretalk topology`"
                .into(),
        ));
    }
    if chosen.len() < fewest {
        let left_out = allowance.cpuset.intersection(topology.cpus()).difference(&allowance.mask);
        return Err(too_few(&chosen, global, &left_out));
    }
    let choice = match (global.smt, pairs) {
        (Some(SmtWord::Siblings), _) => PairChoice::Siblings,
        (_, Some(PairsWord::Representatives)) => PairChoice::Representatives,
        (_, Some(PairsWord::Listed(listed))) => PairChoice::Listed(listed.clone()),
        (_, None | Some(PairsWord::All)) => PairChoice::All,
    };
    Ok((chosen, choice))
}

/// `left_out`: CPUs that only the inherited affinity mask excludes.
fn too_few(chosen: &CpuSet, global: &Global, left_out: &CpuSet) -> Failure {
    let why = match (chosen.first(), &global.cpus, global.smt) {
        (Some(cpu), Some(_), _) => format!("only CPU {cpu} is selected"),
        (Some(cpu), None, Some(SmtWord::OnePerCore)) => format!("there is only one core, that of CPU {cpu}"),
        (Some(cpu), None, _) => format!("this process may use only CPU {cpu}"),
        (None, ..) => "this process may not use any CPU of this machine".to_owned(),
    };
    if global.cpus.is_none() && !left_out.is_empty() {
        return Failure::Environment(format!(
            "{why}, and this needs two CPUs; the inherited affinity mask excludes {}: try --cpus {}",
            left_out.named(),
            chosen.union(left_out)
        ));
    }
    Failure::Environment(format!(
        "{why}, and this needs two CPUs; `coretalk wait`, `queue`, `contend`, `spawn`, `jitter`, `suite`, `doctor`, \
         `topology`, `clock`, `import` and simulated machines (--machine sim:chiplet-16) work here"
    ))
}

/// Refuses offline CPUs.
///
/// # Errors
/// Names an offline CPU and how to enable it.
pub fn online(machine: &dyn Machine, cpus: &CpuSet) -> Result<(), Failure> {
    match cpus.intersection(&machine.allowance().offline).first() {
        None => Ok(()),
        Some(cpu) => Err(Failure::Environment(format!(
            "CPU {cpu} is offline: enable it with `echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online`, or leave it out"
        ))),
    }
}

/// Refuses pairs of a CPU with itself for measurements that need two CPUs.
pub fn two_cpus_each(pairs: Option<&PairsWord>, what: &str) -> Result<(), Failure> {
    let Some(PairsWord::Listed(listed)) = pairs else { return Ok(()) };
    match listed.iter().find(|[a, b]| a == b) {
        Some([cpu, _]) => Err(Failure::Usage(format!(
            "--pairs includes {cpu}-{cpu}, but {what} needs two CPUs; `wait`, `wake` and `queue` can measure two threads on one CPU"
        ))),
        None => Ok(()),
    }
}

/// Checks the number of simultaneous pairs: a CPU is in one pair at a time.
pub fn parallel(typed: Option<AutoOr>, cpus: usize) -> Result<Parallel, Failure> {
    let Some(AutoOr::Number(pairs)) = typed else { return Ok(Parallel::Auto) };
    let most = (cpus / 2).max(1);
    if pairs as usize > most {
        return Err(Failure::Usage(format!(
            "--parallel {pairs}: {cpus} CPUs allow at most {most} pairs at the same time; use at most {most}, or `auto`"
        )));
    }
    Ok(Parallel::AtMost(pairs))
}
