//! The trials of `contend`: methods × sections × arrangements × numbers of threads.

use crate::counters::catalogue::{Method, MethodKind, method_by_id};
use crate::series::{RequestError, SeriesRequest};
use crate::wait::WaitMode;
use coretalk_model::external::External;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet, Level, Topology};

/// Default methods: one of each kind, and the lower and the upper bound.
const DEFAULT: &str = "fetch-add,cas-backoff,std-mutex,parking-lot-mutex,ttas,mcs,per-thread";
/// Default lengths of critical and parallel section in nanoseconds: a realistic case, and the extreme without work.
pub const SECTIONS_NS: [[f64; 2]; 2] = [[50.0, 500.0], [0.0, 0.0]];
/// Maximum section length in nanoseconds. A pass then holds many sections.
pub const MAX_SECTION_NS: f64 = 1e6;
/// Maximum threads of a trial.
pub const MAX_THREADS: u32 = 4_096;
/// Share of a pass for the phase that times acquisitions.
pub const STAMPED_SHARE: f64 = 0.25;
/// Up to this many CPUs, every number of threads is measured. Above, only powers of two.
const FEW_CPUS: usize = 8;
/// Orders in which threads are assigned to CPUs.
pub const ARRANGEMENTS: [&str; 4] = ["compact-core", "compact-smt", "scatter-l3", "scatter-node"];

/// The parsed parameters of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContendConfig {
    /// The method of changing the number.
    pub method: &'static Method,
    /// Lengths of the critical and the parallel section.
    pub sections_ns: [f64; 2],
    /// Share of operations that only read.
    pub read_share: f64,
}

impl ContendConfig {
    /// Parses the parameters of a trial. Fails with the first invalid parameter.
    pub fn from_spec(spec: &TrialSpec) -> Result<ContendConfig, RequestError> {
        let parameters = &spec.parameters;
        let number = |name| parameters.number(name).unwrap_or(0.0);
        Ok(ContendConfig {
            method: method_by_id(parameters.text("method").unwrap_or_default())?,
            sections_ns: [number("critical_ns"), number("parallel_ns")],
            read_share: number("read_share"),
        })
    }

    /// Whether waiting threads spin.
    pub fn spins(&self) -> bool {
        self.method.waits == WaitMode::Spin
    }
}

pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
    let options = request.options;
    let methods = list("--method", options.text("method").unwrap_or(DEFAULT))?;
    // The name, and the method if this program performs it.
    let named = |name| match External::parse(name) {
        Some(_) => Ok((name, None)),
        None => method_by_id(name).map(|method| (method.id, Some(method.kind))),
    };
    let methods = methods.into_iter().map(named).collect::<Result<Vec<(&str, _)>, _>>()?;
    let reads = |method: Option<MethodKind>| method == Some(MethodKind::ReadersWriter);
    let read_share = options.number("read_share");
    if read_share.is_some() && !methods.iter().any(|&(_, method)| reads(method)) {
        let sentence = "--read-ratio applies to the method `rwlock` only, which is not among the methods";
        return Err(RequestError::Unfit(sentence.into()));
    }
    let counts = match options.text("threads") {
        Some(text) => list("--threads", text)?.into_iter().map(threads).collect::<Result<_, _>>()?,
        None => thread_counts(request.cpus.len()),
    };
    let sections: Vec<[f64; 2]> = match (options.number("critical_ns"), options.number("parallel_ns")) {
        (None, None) => SECTIONS_NS.to_vec(),
        (critical, parallel) => {
            vec![[critical.unwrap_or(SECTIONS_NS[0][0]), parallel.unwrap_or(SECTIONS_NS[0][1])]]
        }
    };
    let of_runtime = methods.iter().find(|(_, method)| method.is_none());
    if let Some((name, _)) = of_runtime.filter(|_| !sections.contains(&[0.0; 2])) {
        let sentence =
            format!("`{name}` has no sections: ask for --critical 0ns --parallel-section 0ns with it");
        return Err(RequestError::Unfit(sentence.into()));
    }
    let orders = list("--arrange", options.text("arrange").unwrap_or(ARRANGEMENTS[0]))?;
    let orders = orders
        .into_iter()
        .map(|name| Ok((name, arranged(name, request.topology, request.cpus)?)))
        .collect::<Result<Vec<_>, RequestError>>()?;
    let mut trials: Vec<TrialSpec> = Vec::new();
    for [critical_ns, parallel_ns] in sections {
        for (name, cpus) in &orders {
            for method in &methods {
                // Runtimes' methods are only measured without work.
                if method.1.is_none() && [critical_ns, parallel_ns] != [0.0; 2] {
                    continue;
                }
                for &threads in &counts {
                    let parameters = Parameters::default()
                        .with("method", method.0)
                        .with("threads", f64::from(threads))
                        .with("critical_ns", critical_ns)
                        .with("parallel_ns", parallel_ns)
                        .with("arrange", *name)
                        .with_some("read_share", read_share.filter(|_| reads(method.1)));
                    let placement = cpus.iter().copied().cycle().take(threads as usize).collect();
                    trials.push(TrialSpec { probe: super::DECLARATION.id.to_owned(), parameters, placement });
                }
            }
        }
    }
    Ok(trials)
}

fn list<'a>(option: &'static str, text: &'a str) -> Result<Vec<&'a str>, RequestError> {
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    match items.iter().enumerate().find(|(index, item)| items[..*index].contains(item)) {
        Some((_, twice)) => Err(RequestError::twice(option, twice)),
        None => Ok(items),
    }
}

fn threads(text: &str) -> Result<u32, RequestError> {
    let count = text.parse::<u32>().ok().filter(|count| (1..=MAX_THREADS).contains(count));
    let allowed = || format!("a counter can have 1 to {MAX_THREADS} threads");
    count.ok_or_else(|| RequestError::out_of_range(format!("`{text}` threads"), allowed()))
}

/// Thread counts: 1 to N (on many CPUs powers of two and N), one more than the CPUs, and twice the CPUs.
pub fn thread_counts(cpus: usize) -> Vec<u32> {
    let within: Vec<usize> = match cpus {
        0..=FEW_CPUS => (1..=cpus).collect(),
        _ => (0..).map(|power| 1 << power).take_while(|&count| count < cpus).chain([cpus]).collect(),
    };
    let mut counts: Vec<u32> = within.into_iter().chain([cpus + 1, 2 * cpus]).map(|it| it as u32).collect();
    counts.retain(|count| (1..=MAX_THREADS).contains(count));
    counts.dedup();
    counts
}

fn arranged(name: &str, topology: &Topology, cpus: &[CpuId]) -> Result<Vec<CpuId>, RequestError> {
    let set: CpuSet = cpus.iter().copied().collect();
    let packed = topology.order(&set);
    // The first threads of all cores, then the second threads, and so on.
    let mut by_core: Vec<(usize, CpuId)> = Vec::with_capacity(packed.len());
    for &cpu in &packed {
        let siblings = topology.siblings(cpu).intersection(&set);
        by_core.push((siblings.iter().position(|sibling| sibling == cpu).unwrap_or(0), cpu));
    }
    by_core.sort_by_key(|(thread, _)| *thread);
    let compact: Vec<CpuId> = by_core.into_iter().map(|(_, cpu)| cpu).collect();
    match name {
        "compact-smt" => Ok(packed),
        "compact-core" => Ok(compact),
        "scatter-l3" => Ok(scattered(topology, &[Level::L3, Level::Cluster], compact)),
        "scatter-node" => Ok(scattered(topology, &[Level::Node, Level::Package], compact)),
        other => Err(RequestError::unknown("arrangement", other, &ARRANGEMENTS)),
    }
}

/// Alternates between the domains of the first listed level that has several domains.
fn scattered(topology: &Topology, levels: &[Level], cpus: Vec<CpuId>) -> Vec<CpuId> {
    let Some(&level) = levels.iter().find(|level| topology.level(**level).len() > 1) else { return cpus };
    let domains = topology.level(level);
    let domain_of = |cpu: CpuId| domains.iter().position(|domain| domain.cpus.contains(cpu));
    let mut taken = vec![0usize; domains.len() + 1];
    let mut turns: Vec<(usize, usize, CpuId)> = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        let domain = domain_of(cpu).unwrap_or(domains.len());
        turns.push((taken[domain], domain, cpu));
        taken[domain] += 1;
    }
    turns.sort();
    turns.into_iter().map(|(_, _, cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Scenario, SimMachine};

    fn trials_of(scenario: &str, options: Parameters) -> Result<Vec<TrialSpec>, RequestError> {
        let machine = SimMachine::open(Scenario::builtin(scenario).expect("a scenario"), 1);
        let topology = machine.topology();
        let cpus = topology.order(topology.cpus());
        trials(&SeriesRequest { topology, cpus: &cpus, pairs: &[], options: &options })
    }

    #[test]
    fn threads_go_up_to_twice_the_cpus() {
        assert_eq!(thread_counts(1), [1, 2]);
        assert_eq!(thread_counts(2), [1, 2, 3, 4]);
        assert_eq!(thread_counts(16), [1, 2, 4, 8, 16, 17, 32]);
        assert_eq!(thread_counts(192), [1, 2, 4, 8, 16, 32, 64, 128, 192, 193, 384]);
    }

    #[test]
    fn arrangements_match_their_names() {
        let placed = |scenario, arrange: &str, threads: &str| {
            let options = Parameters::default().with("method", "mcs").with("critical_ns", 0.0);
            let all = trials_of(scenario, options.with("arrange", arrange).with("threads", threads)).unwrap();
            all[0].placement.iter().map(|cpu| cpu.0).collect::<Vec<_>>()
        };
        assert_eq!(placed("chiplet-16-smt", "compact-smt", "4"), [0, 16, 1, 17]);
        assert_eq!(placed("chiplet-16-smt", "compact-core", "4"), [0, 1, 2, 3]);
        assert_eq!(placed("chiplet-16-smt", "compact-core", "17")[15..], [15, 16]);
        assert_eq!(placed("chiplet-16", "scatter-l3", "4"), [0, 8, 1, 9]);
        assert_eq!(placed("epyc-2s-192", "scatter-node", "3"), [0, 96, 1]);
        assert_eq!(placed("laptop-smt", "compact-core", "9"), [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }

    #[test]
    fn invalid_options_are_refused_in_a_sentence() {
        let refused = |options| trials_of("chiplet-16", options).unwrap_err().to_string();
        let refusal = |name: &str, text: &str| refused(Parameters::default().with(name, text));
        assert!(refusal("method", "fetchadd").ends_with("a similar name exists: `fetch-add`"));
        assert_eq!(refusal("method", "mcs,tas,mcs"), "--method lists mcs twice; list it once");
        assert_eq!(refusal("threads", "0"), "`0` threads: a counter can have 1 to 4096 threads");
        assert!(refusal("arrange", "scatter-l4").contains("similar name exists: `scatter-l3`"));
        let ratio = Parameters::default().with("read_share", 0.9);
        assert!(refused(ratio.clone()).contains("`rwlock` only"));
        assert!(trials_of("chiplet-16", ratio.with("method", "rwlock")).is_ok());
    }
}
