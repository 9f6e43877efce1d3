//! Selection of CPUs and pairs.

use crate::args::options::Global;
use crate::args::value::{AutoOr, PairsWord};
use crate::args::words::SmtWord;
use crate::exit::Failure;
use crate::resolve::output::{self, Verbosity, print_notice};
use coretalk_measure::Machine;
use coretalk_model::latency::{PairChoice, Parallel};
use coretalk_model::selection::{SelectedCpus, SelectionError, SelectionFacts};
use coretalk_model::{CpuId, CpuSelection, CpuSet};
use coretalk_report::fmt::digits::percent;

/// Resolved `--cpus` and `--smt`.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The CPUs of `--cpus`.
    pub cpus: Option<CpuSet>,
    /// `--smt`.
    pub smt: Option<SmtWord>,
}

impl Chosen {
    /// Resolves `--cpus` on a machine. Fails as [`selected`] does.
    pub fn for_machine(machine: &mut dyn Machine, global: &Global) -> Result<Chosen, Failure> {
        let resolve = |cpus| selected(machine, global, "--cpus", cpus, None);
        let cpus = global.cpus.as_ref().map(resolve).transpose()?;
        Ok(Chosen { cpus: cpus.map(|cpus| cpus.into_iter().collect()), smt: global.smt })
    }
}

/// Resolves a selection on a machine, in the order of the selection. Names refer to CPUs in `among`; by default, to the
/// cpuset of this process. Prints a notice if too few CPUs are quiet. Fails as [`resolved`] does.
pub fn selected(
    machine: &mut dyn Machine,
    global: &Global,
    option: &str,
    selection: &CpuSelection,
    among: Option<&CpuSet>,
) -> Result<Vec<CpuId>, Failure> {
    const MAX_NAMED: usize = 8;
    if selection.needs_use() {
        machine.sample_use(None);
    }
    let (topology, environment) = (machine.topology(), machine.environment());
    let default_cpus = default_cpus(machine);
    let facts = SelectionFacts {
        topology,
        allowed: among.unwrap_or(&machine.allowance().cpuset),
        usual: among.unwrap_or(&default_cpus),
        isolated: &environment.isolated,
        cpu_use: environment.cpu_use.as_ref(),
    };
    let SelectedCpus { cpus, busy } = resolved(option, selection, &facts)?;
    if !busy.is_empty() {
        let one = |(cpu, share): &(CpuId, f64)| format!("CPU {cpu} ({})", percent(*share));
        let more = (busy.len() > MAX_NAMED).then(|| format!("{} more", busy.len() - MAX_NAMED));
        let named: Vec<String> = busy.iter().take(MAX_NAMED).map(one).chain(more).collect();
        let text = format!(
            "{option}: too few CPUs are quiet; these are the least busy, with the share of 300 ms that their cores were busy: {}",
            named.join(", ")
        );
        print_notice(output::options(global).verbosity, Verbosity::Normal, &text);
    }
    Ok(cpus)
}

/// Resolves a selection from the facts about a machine. Fails for unknown names, for forbidden CPUs, or for too few.
pub fn resolved(
    option: &str,
    selection: &CpuSelection,
    facts: &SelectionFacts<'_>,
) -> Result<SelectedCpus, Failure> {
    selection.resolve(facts).map_err(|error| {
        let sentence = format!("{option}: {error}");
        match error {
            SelectionError::NotAllowed { .. }
            | SelectionError::TooFew { .. }
            | SelectionError::NoUse { .. } => Failure::Environment(sentence),
            _ => Failure::Usage(sentence),
        }
    })
}

fn default_cpus(machine: &dyn Machine) -> CpuSet {
    let allowance = machine.allowance();
    allowance.mask.intersection(&allowance.cpuset).intersection(machine.topology().cpus())
}

/// Returns the selected CPUs, at least `fewest`, and the choice of pairs.
pub fn cpus_and_pairs(
    machine: &dyn Machine,
    wanted: &Chosen,
    pairs: Option<&PairsWord>,
    fewest: usize,
) -> Result<(CpuSet, PairChoice), Failure> {
    let topology = machine.topology();
    let allowance = machine.allowance();
    let listed = match pairs {
        Some(PairsWord::Listed(listed)) => Some(listed),
        _ => None,
    };
    if let (Some(SmtWord::Siblings), Some(_)) = (wanted.smt, pairs) {
        return Err(Failure::Usage("--smt siblings and --pairs both select pairs; drop one of them".into()));
    }
    let of_pairs = listed.map(|listed| listed.iter().flatten().copied().collect::<CpuSet>());
    let asked = wanted.cpus.clone().or_else(|| of_pairs.clone());
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
        None => default_cpus(machine),
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
    let chosen = match wanted.smt {
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
    if wanted.smt == Some(SmtWord::Siblings) && chosen.is_empty() {
        return Err(Failure::Environment(
            "no two of the chosen CPUs are SMT siblings (SMT may be off); drop --smt, or see `coretalk topology`"
                .into(),
        ));
    }
    if chosen.len() < fewest {
        let left_out = allowance.cpuset.intersection(topology.cpus()).difference(&allowance.mask);
        return Err(too_few(&chosen, wanted, &left_out));
    }
    let choice = match (wanted.smt, pairs) {
        (Some(SmtWord::Siblings), _) => PairChoice::Siblings,
        (_, Some(PairsWord::Representatives)) => PairChoice::Representatives,
        (_, Some(PairsWord::Listed(listed))) => PairChoice::Listed(listed.clone()),
        (_, None | Some(PairsWord::All)) => PairChoice::All,
    };
    Ok((chosen, choice))
}

/// `left_out`: CPUs that only the inherited affinity mask excludes.
fn too_few(chosen: &CpuSet, wanted: &Chosen, left_out: &CpuSet) -> Failure {
    let why = match (chosen.first(), &wanted.cpus, wanted.smt) {
        (Some(cpu), Some(_), _) => format!("only CPU {cpu} is selected"),
        (Some(cpu), None, Some(SmtWord::OnePerCore)) => format!("there is only one core, that of CPU {cpu}"),
        (Some(cpu), None, _) => format!("this process may use only CPU {cpu}"),
        (None, ..) => "this process may not use any CPU of this machine".to_owned(),
    };
    if wanted.cpus.is_none() && !left_out.is_empty() {
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

/// Refuses offline CPUs. The error names an offline CPU and how to enable it.
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

/// Checks the number of simultaneous pairs. A CPU is in one pair at a time.
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
