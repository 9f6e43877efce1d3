//! The kinds of `spawn` by name, and the trials that follow from a request.

use crate::series::SeriesRequest;
use coretalk_model::series::{Parameters, TrialSpec};
use coretalk_model::{CpuId, CpuSet};

/// What is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A thread with default attributes.
    Thread,
    /// A thread with a small stack.
    SmallStack,
    /// A thread whose attributes say where it runs.
    AttrPinned,
    /// A thread that pins itself before it does anything else.
    SelfPinned,
    /// Nothing: a thread that waits gets something to do.
    Pool,
    /// A process by fork.
    Fork,
    /// A process by posix_spawn.
    PosixSpawn,
    /// A process by fork and exec.
    ForkExec,
}

/// Every kind, in the order of reports.
pub const KINDS: [Kind; 8] = [
    Kind::Thread,
    Kind::SmallStack,
    Kind::AttrPinned,
    Kind::SelfPinned,
    Kind::Pool,
    Kind::Fork,
    Kind::PosixSpawn,
    Kind::ForkExec,
];

/// Memory that the process which creates processes holds beside what the tool itself takes, in MiB: what is copied, or
/// marked, by a fork grows with it.
pub const PARENT_MIB: f64 = 64.0;

/// Back to back, and with a pause in which a CPU falls asleep.
pub const PAUSES_NS: [f64; 2] = [0.0, 1e6];

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Thread => "thread",
            Kind::SmallStack => "thread-small-stack",
            Kind::AttrPinned => "thread-attr-pinned",
            Kind::SelfPinned => "thread-self-pinned",
            Kind::Pool => "pool",
            Kind::Fork => "fork",
            Kind::PosixSpawn => "posix-spawn",
            Kind::ForkExec => "fork-exec",
        }
    }

    /// What it does, in words.
    pub fn how(self) -> &'static str {
        match self {
            Kind::Thread => "pthread_create with default attributes; where it may run is inherited",
            Kind::SmallStack => "the same with a stack of 64 KiB",
            Kind::AttrPinned => {
                "pthread_create with an affinity attribute: the creator waits until it is in force"
            }
            Kind::SelfPinned => {
                "pthread_create; the new thread sets its own affinity first, and then counts as running"
            }
            Kind::Pool => "no creation: a futex wakes a thread that waits, and tells when it is done",
            Kind::Fork => {
                "fork from a helper process with 64 MiB of touched memory beside its own; the child ends at once"
            }
            Kind::PosixSpawn => {
                "posix_spawn from that helper, of a static program of 162 bytes that reads the counter"
            }
            Kind::ForkExec => "fork and execveat of the same program from that helper",
        }
    }

    /// Whether it makes a process.
    pub fn is_process(self) -> bool {
        matches!(self, Kind::Fork | Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether it starts a program.
    pub fn execs(self) -> bool {
        matches!(self, Kind::PosixSpawn | Kind::ForkExec)
    }

    /// Whether it can be sent to a CPU; the others run where their creator may.
    pub fn is_placed(self) -> bool {
        matches!(self, Kind::AttrPinned | Kind::SelfPinned | Kind::Pool)
    }
}

/// What one trial means.
#[derive(Debug, Clone, PartialEq)]
pub struct Meant {
    /// What is created.
    pub kind: Kind,
    /// The pause between two, in nanoseconds.
    pub pause_ns: f64,
    /// Where creator and created may run, where that is not one CPU.
    pub mask: Option<CpuSet>,
}

impl Meant {
    /// Reads the parameters of a trial.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(spec: &TrialSpec) -> Result<Meant, String> {
        let text = |name| spec.parameters.text(name);
        let mask = text("mask").map(CpuSet::from_list).transpose().map_err(|error| error.to_string())?;
        let pause_ns = spec.parameters.number("pause_ns").unwrap_or(0.0);
        Ok(Meant { kind: kind(text("kind").unwrap_or_default())?, pause_ns, mask })
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    KINDS.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names = KINDS.map(Kind::name);
        let near = crate::series::nearest(name, &names);
        let near = near.map_or(String::new(), |near| format!("; a similar name exists: `{near}`"));
        format!("there is no kind `{name}` (there are {}){near}", names.join(", "))
    })
}

/// Kinds × pauses × places: the creator's own CPU, each pair that stands for a relation, anywhere.
pub fn trials(request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, String> {
    let every = KINDS.map(Kind::name).join(",");
    let asked = request.asked.text("kind").unwrap_or(&every);
    let first = *request.cpus.first().ok_or("there is no CPU to measure on")?;
    let mask: CpuSet = request.cpus.iter().copied().collect();
    let mut trials: Vec<TrialSpec> = Vec::new();
    for name in asked.split(',') {
        let kind = kind(name)?;
        let mut places: Vec<(Vec<CpuId>, Option<String>)> = vec![(vec![first, first], None)];
        if kind.is_placed() {
            places.extend(request.pairs.iter().map(|pair| (pair.to_vec(), None)));
        } else if mask.len() > 1 {
            places.push((vec![first], Some(mask.to_string())));
        }
        for pause_ns in PAUSES_NS {
            for (placement, mask) in &places {
                let parameters = Parameters::default()
                    .with("kind", kind.name())
                    .with("pause_ns", pause_ns)
                    .with_some("mask", mask.clone())
                    .with_some("parent_mib", kind.is_process().then_some(PARENT_MIB));
                let trial =
                    TrialSpec { probe: super::SPEC.id.to_owned(), parameters, placement: placement.clone() };
                if trials.contains(&trial) {
                    return Err(format!("--kind names {name} twice; name it once"));
                }
                trials.push(trial);
            }
        }
    }
    Ok(trials)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use coretalk_model::Topology;

    fn of(asked: &str, cpus: &str) -> Result<Vec<TrialSpec>, String> {
        let set = CpuSet::from_list(cpus).expect("a list");
        let topology = Topology::flat(set.clone());
        let cpus: Vec<CpuId> = set.iter().collect();
        let pairs: Vec<[CpuId; 2]> = cpus.get(1).map(|&to| [cpus[0], to]).into_iter().collect();
        let asked = Parameters::default().with("kind", asked);
        trials(&SeriesRequest { topology: &topology, cpus: &cpus, pairs: &pairs, asked: &asked })
    }

    #[test]
    fn placed_kinds_get_pairs_and_the_others_run_anywhere() {
        let places = |kind| -> Vec<usize> {
            of(kind, "0-1").unwrap().iter().map(|trial| trial.placement.len()).collect()
        };
        assert_eq!(places("pool"), [2, 2, 2, 2]);
        assert_eq!(places("fork"), [2, 1, 2, 1]);
        assert_eq!(of("fork", "3").unwrap().len(), 2, "one CPU has no anywhere");
        let anywhere = &of("thread", "0-1").unwrap()[1];
        assert_eq!(Meant::of(anywhere).unwrap().mask, Some(CpuSet::from_list("0-1").unwrap()));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_sentence() {
        assert!(of("forks", "0-1").unwrap_err().ends_with("a similar name exists: `fork`"));
        assert_eq!(of("pool,pool", "0-1").unwrap_err(), "--kind names pool twice; name it once");
    }
}
