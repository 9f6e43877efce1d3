//! The structure of a machine: as reported, as its latencies show it, and how the two agree.

use super::{Ci, ci, known};
use crate::RunReport;
use crate::reasons::Worded;
use coretalk_model::infer::{Agreement, Findings, InferredLevel, LoneCpu, Shape, Structure};
use coretalk_model::latency::execution::{Execution, ExecutionTest, Unit, verdicts};
use coretalk_model::lint::Doubt;
use coretalk_model::topology::{Domain, MemoryNode, Same};
use coretalk_model::{CpuId, CpuSet, Departure, Level, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// Structure of the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopologyDoc {
    /// Ids in matrix order.
    cpus: Vec<u32>,
    reported: ReportedDoc,
    /// CPUs of the machine that are switched off, as a CPU list; null where that is not known, as of runs.
    offline: Option<String>,
    /// What the latencies show; null where nothing was measured, or where nothing can be said.
    inferred: Option<InferredDoc>,
    /// Why nothing is inferred, where latencies are there; null otherwise.
    reason: Option<String>,
    /// Each reported level against the inferred ones, from the inside out.
    agreement: Vec<AgreementDoc>,
    /// Pairs that were tested for shared execution units.
    execution: Vec<ExecutionDoc>,
    /// What `lint` says of the matrix of another tool; empty for runs.
    doubts: Vec<DoubtDoc>,
}

/// What is doubtful about a matrix of another tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoubtDoc {
    /// As `lint` names it, such as `clock-comb`.
    kind: &'static str,
    /// Pairs that show it; empty where the whole matrix does, or single CPUs with all that they have.
    pairs: Vec<[u32; 2]>,
    /// Of `clock-comb` the step, in the unit of the matrix; null otherwise.
    step: Option<f64>,
}

/// Whether two CPUs share the units that execute, as threads of one core do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutionDoc {
    from: u32,
    to: u32,
    /// `shared` (threads of one core), `apart` (two cores) or `unclear`.
    verdict: &'static str,
    /// Why it is unclear; null otherwise.
    reason: Option<String>,
    /// Why the pair was tested: `closest`, `reported` or `control`.
    tested_as: &'static str,
    /// Passes that said something.
    passes: usize,
    /// Rate of work while both work ÷ rate while the other one sleeps, median over passes, of the CPU that keeps more
    /// and of the one that keeps less; for multiplications, …
    multiplier_kept: Option<[f64; 2]>,
    /// … and for divisions.
    divider_kept: Option<[f64; 2]>,
}

/// What the latencies show.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InferredDoc {
    /// From the finest; empty where no groups show.
    levels: Vec<InferredLevelDoc>,
    /// What is no level: one step of the clock sets it apart, or all of its pairs read 0 and `median` is null.
    dropped: Vec<InferredLevelDoc>,
    /// No groups, and values that differ by more than noise: a mesh, a ring, kinds of cores, unpinned threads. Not where
    /// `contradictory` pairs may hide groups.
    continuous: bool,
    /// Without levels the scatter of the values around their median as a share; null otherwise.
    scatter: Option<f64>,
    /// Too few CPUs to tell whether they form groups: neither groups nor alike.
    too_few: bool,
    /// Groups that stand out alone: a hint, no level.
    hints: Vec<String>,
    /// The hints beside which there is one CPU: far away or slow, which one CPU does not tell.
    all_but_one: Vec<AllButOneDoc>,
    /// CPUs without a single value.
    left_out: Vec<u32>,
    /// Cells that do not fit, or that are missing.
    suspects: Vec<SuspectDoc>,
    /// How many pairs are nearer than the rows of their CPUs allow while nothing shows which of them are wrong: groups may
    /// be hidden where this is not 0.
    contradictory: usize,
}

/// A group and the one CPU beside it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AllButOneDoc {
    cpu: u32,
    /// The others, as a CPU list.
    group: String,
    /// Median of the pairs inside the group.
    inside: Option<f64>,
    /// The slowest of them, where the median does not stand for it: the group has groups of its own.
    far_inside: Option<f64>,
    /// Median of the pairs of that CPU with them.
    across: Option<f64>,
    unit: &'static str,
    /// Reported levels that settle it: in them the CPU is a group of its own. Empty where it may as well be slow.
    reported: Vec<&'static str>,
    /// The group that the CPU belongs to by its latencies, as a CPU list: it is slow to that group as well.
    slow_beside: Option<String>,
}

/// An inferred level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InferredLevelDoc {
    /// `group-1` is the finest; `smt` where its tested pairs share execution units.
    name: String,
    /// CPU lists by lowest CPU, of two CPUs or more.
    groups: Vec<String>,
    /// CPUs in none of these: each is a group of its own.
    single: String,
    /// CPUs whose group nothing shows, since pairs contradict each other.
    open: String,
    /// Of the pairs inside a group and no finer one.
    median: Option<f64>,
    /// 95 % interval of that median over pairs.
    ci: Option<Ci>,
    /// Median of the pairs that leave a group and stay in the next coarser one.
    across: Option<f64>,
    unit: &'static str,
    /// Share of repetitions within the intervals that gave exactly this level; null where that was not tried.
    repeats: Option<f64>,
    /// Pairs put together because nobody else was left, their own cell being missing.
    by_elimination: Vec<[u32; 2]>,
}

/// A cell that does not fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuspectDoc {
    from: u32,
    to: u32,
    /// `outlier`, `leftover`, `missing`, `first-cpu` or `contradictory`.
    doubt: &'static str,
    /// Its value divided by what the groups suggest; null without a value, or where nothing shows the groups.
    ratio: Option<f64>,
}

/// How a reported level stands to the inferred ones.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgreementDoc {
    level: &'static str,
    /// `agree`, `coarser`, `finer`, `conflict` or `not-visible`.
    verdict: &'static str,
    /// The inferred level that it was held against.
    against: Option<String>,
    /// Adjusted Rand index; null where it is not defined.
    rand_index: Option<f64>,
    /// Reported groups that an inferred level has exactly.
    shown: usize,
    /// Medians of the pairs that share a reported group, and of those that leave one.
    inside: Option<f64>,
    across: Option<f64>,
    /// CPUs that would have to change groups.
    moved: String,
    /// Cells that speak loudest against the source.
    evidence: Vec<EvidenceDoc>,
}

/// A cell that speaks against a reported group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidenceDoc {
    from: u32,
    to: u32,
    value: f64,
    /// What it would be if the source were right.
    expected: f64,
}

/// What a document says about structure.
#[derive(Debug, Clone, Copy)]
pub struct StructureView<'a> {
    /// `None` where the source reports nothing.
    pub reported: Option<&'a Topology>,
    /// CPUs that are switched off; `None` where that is not known.
    pub offline: Option<&'a CpuSet>,
    /// CPUs that went away while it was measured.
    pub departed: &'a [Departure],
    /// In matrix order.
    pub cpus: &'a [CpuId],
    /// Unit of the latencies.
    pub unit: &'static str,
    /// `None` where there are no latencies.
    pub findings: Option<&'a Findings>,
    /// Why there are none.
    pub reason: Option<&'a str>,
    /// Pairs that were tested for shared execution units.
    pub execution: &'a [ExecutionTest],
    /// What is doubtful about a matrix of another tool.
    pub doubts: &'a [Doubt],
}

/// What the system reports.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ReportedDoc {
    /// From the inside out; a level without groups of its own is left out.
    levels: Vec<LevelDoc>,
    /// Levels that are reported and have no groups of their own; null where that is not known.
    same: Option<Vec<SameDoc>>,
    /// Levels that are not reported; null where that is not known.
    not_reported: Option<Vec<&'static str>>,
    /// Groups of two levels that share CPUs while neither contains the other; empty where all nest.
    crossing: Vec<CrossingDoc>,
    /// NUMA nodes without CPUs of their own, by number; null where that is not known.
    memory_nodes: Option<Vec<MemoryNodeDoc>>,
    /// Kinds of cores, slowest first; empty where all are of one kind.
    classes: Vec<ClassDoc>,
    /// CPUs of which no kind is reported while others have one, as a CPU list.
    unclassified: String,
}

/// The groups of a level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LevelDoc {
    level: &'static str,
    /// CPU lists by lowest CPU.
    groups: Vec<String>,
}

/// Groups that cross: the one of the inner level first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CrossingDoc {
    levels: [&'static str; 2],
    /// The CPUs of each.
    groups: [String; 2],
}

/// A level whose groups are those of another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SameDoc {
    level: &'static str,
    /// The other level; `machine` where one group has every CPU, `several` where they are groups of several levels or
    /// fit none.
    same_as: &'static str,
}

/// A NUMA node without CPUs of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryNodeDoc {
    /// The system's number.
    node: u32,
    memory_bytes: Option<u64>,
    /// From each node that has CPUs; empty where the system does not say.
    distances: Vec<DistanceDoc>,
}

/// How far memory is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DistanceDoc {
    /// Number of the node whose CPUs ask.
    from: u32,
    /// As the firmware reports it: 10 is a node's own memory.
    distance: u32,
}

/// A kind of cores.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClassDoc {
    name: String,
    /// 0 is the slowest.
    rank: u32,
    cpus: String,
}

impl TopologyDoc {
    /// What is reported, without latencies; `cpus` in matrix order.
    pub(super) fn of(topology: &Topology, cpus: &[CpuId]) -> TopologyDoc {
        TopologyDoc::of_view(&StructureView {
            reported: Some(topology),
            offline: None,
            departed: &[],
            cpus,
            unit: "ns",
            findings: None,
            reason: None,
            execution: &[],
            doubts: &[],
        })
    }

    pub(super) fn of_run(report: &RunReport) -> TopologyDoc {
        let result = report.latencies();
        TopologyDoc::of_view(&StructureView {
            reported: Some(&report.topology),
            offline: None,
            departed: &[],
            cpus: &report.cpus(),
            unit: "ns",
            findings: result.and_then(|result| Findings::of_run(result, &report.topology)).as_ref(),
            reason: None,
            execution: result.map_or(&[], |result| &result.execution),
            doubts: &[],
        })
    }

    pub(super) fn of_view(view: &StructureView<'_>) -> TopologyDoc {
        let structure = view.findings.and_then(|findings| findings.structure.as_ref().ok());
        let refusal = view.findings.and_then(|findings| findings.structure.as_ref().err());
        TopologyDoc {
            cpus: view.cpus.iter().map(|cpu| cpu.0).collect(),
            reported: view.reported.map(ReportedDoc::of).unwrap_or_default(),
            offline: view.offline.map(ToString::to_string),
            inferred: view.findings.and_then(|findings| InferredDoc::of(findings, view.unit)),
            reason: refusal.map(Worded::text).or_else(|| view.reason.map(str::to_owned)),
            agreement: match (view.findings, structure) {
                (Some(findings), Some(structure)) => {
                    findings.agreement.iter().map(|held| AgreementDoc::of(held, structure)).collect()
                }
                _ => Vec::new(),
            },
            execution: ExecutionDoc::of(view.execution),
            doubts: view.doubts.iter().map(DoubtDoc::of).collect(),
        }
    }
}

impl DoubtDoc {
    fn of(doubt: &Doubt) -> DoubtDoc {
        DoubtDoc {
            kind: doubt.kind().name(),
            pairs: doubt.pairs().iter().map(|pair| pair.map(|cpu| cpu.0)).collect(),
            step: match doubt {
                Doubt::ClockComb { step, .. } => known(*step),
                _ => None,
            },
        }
    }
}

impl ExecutionDoc {
    fn of(tests: &[ExecutionTest]) -> Vec<ExecutionDoc> {
        let doc = |(test, verdict): (&ExecutionTest, Execution)| {
            let kept = |unit| test.kept(unit).map(|kept| kept.map(super::rounded));
            ExecutionDoc {
                from: test.pair[0].0,
                to: test.pair[1].0,
                verdict: verdict.name(),
                reason: match verdict {
                    Execution::Unclear(why) => Some(why.text()),
                    Execution::Shared | Execution::Apart => None,
                },
                tested_as: test.reason.name(),
                passes: test.passes.len(),
                multiplier_kept: kept(Unit::Multiplier),
                divider_kept: kept(Unit::Divider),
            }
        };
        tests.iter().zip(verdicts(tests)).map(doc).collect()
    }
}

impl ReportedDoc {
    fn of(topology: &Topology) -> ReportedDoc {
        let level = |level: Level| LevelDoc {
            level: level.name(),
            groups: topology.level(level).iter().map(|domain| domain.cpus.to_string()).collect(),
        };
        let of_class =
            |class| topology.cpus().iter().filter(move |&cpu| topology.class_of(cpu) == Some(class));
        let classes = topology.classes().into_iter().map(|class| ClassDoc {
            name: class.name.clone(),
            rank: class.rank,
            cpus: of_class(class).collect::<CpuSet>().to_string(),
        });
        let names = |levels: Vec<Level>| levels.into_iter().map(Level::name).collect();
        let beside = topology.beside();
        ReportedDoc {
            levels: topology
                .levels()
                .into_iter()
                .map(level)
                .filter(|level| !level.groups.is_empty())
                .collect(),
            same: beside.map(|beside| {
                let doc =
                    |(level, same): (&Level, &Same)| SameDoc { level: level.name(), same_as: same.name() };
                beside.same.iter().map(doc).collect()
            }),
            not_reported: topology.unreported().map(names),
            crossing: topology.crossing().into_iter().map(CrossingDoc::of).collect(),
            memory_nodes: beside.map(|beside| beside.memory_nodes.iter().map(MemoryNodeDoc::of).collect()),
            classes: classes.collect(),
            unclassified: topology.unclassified().to_string(),
        }
    }
}

impl CrossingDoc {
    fn of(groups: [&Domain; 2]) -> CrossingDoc {
        CrossingDoc {
            levels: groups.map(|group| group.level.name()),
            groups: groups.map(|group| group.cpus.to_string()),
        }
    }
}

impl MemoryNodeDoc {
    fn of(node: &MemoryNode) -> MemoryNodeDoc {
        let distances = node.distances.iter().map(|&(from, distance)| DistanceDoc { from, distance });
        MemoryNodeDoc { node: node.number, memory_bytes: node.memory_bytes, distances: distances.collect() }
    }
}

impl InferredDoc {
    fn of(findings: &Findings, unit: &'static str) -> Option<InferredDoc> {
        let structure = findings.structure.as_ref().ok()?;
        let scatter = structure.scatter().and_then(known);
        let levels = |levels: &[InferredLevel]| -> Vec<InferredLevelDoc> {
            levels.iter().map(|level| InferredLevelDoc::of(level, unit)).collect()
        };
        let suspects = structure.suspects.iter().map(|suspect| SuspectDoc {
            from: suspect.pair[0].0,
            to: suspect.pair[1].0,
            doubt: suspect.doubt.name(),
            ratio: suspect.ratio.and_then(known),
        });
        Some(InferredDoc {
            levels: levels(&structure.levels),
            dropped: levels(&structure.dropped),
            continuous: matches!(structure.shape, Shape::Continuous { .. }) && structure.contradictory == 0,
            scatter,
            too_few: matches!(structure.shape, Shape::TooFew),
            hints: structure.hints.iter().map(|hint| hint.cpus.to_string()).collect(),
            all_but_one: findings.lone_cpus().iter().map(|lone| AllButOneDoc::of(lone, unit)).collect(),
            left_out: structure.left_out.iter().map(|cpu| cpu.0).collect(),
            suspects: suspects.collect(),
            contradictory: structure.contradictory,
        })
    }
}

impl AllButOneDoc {
    fn of(lone: &LoneCpu<'_>, unit: &'static str) -> AllButOneDoc {
        AllButOneDoc {
            cpu: lone.cpu.0,
            group: lone.group.cpus.to_string(),
            inside: lone.group.inside.and_then(known),
            far_inside: lone.group.far_inside().and_then(known),
            across: lone.group.across.and_then(known),
            unit,
            reported: lone.reported.iter().map(|level| level.name()).collect(),
            slow_beside: lone.group.slow_beside.as_ref().map(ToString::to_string),
        }
    }
}

impl InferredLevelDoc {
    fn of(level: &InferredLevel, unit: &'static str) -> InferredLevelDoc {
        InferredLevelDoc {
            name: level.name.clone(),
            groups: level.groups.iter().map(ToString::to_string).collect(),
            single: level.single.to_string(),
            open: level.open.to_string(),
            median: level.inside.and_then(|inside| known(inside.point)),
            ci: level.inside.as_ref().and_then(ci),
            across: level.across.and_then(known),
            unit,
            repeats: level.repeats.and_then(known),
            by_elimination: level.by_elimination.iter().map(|pair| pair.map(|cpu| cpu.0)).collect(),
        }
    }
}

impl AgreementDoc {
    fn of(held: &Agreement, structure: &Structure) -> AgreementDoc {
        let against = held.against.and_then(|index| structure.levels.get(index));
        let evidence = held.evidence.iter().map(|cell| EvidenceDoc {
            from: cell.pair[0].0,
            to: cell.pair[1].0,
            value: super::rounded(cell.value),
            expected: super::rounded(cell.expected),
        });
        AgreementDoc {
            level: held.level.name(),
            verdict: held.standing.name(),
            against: against.map(|level| level.name.clone()),
            rand_index: held.rand_index.and_then(known),
            shown: held.matched,
            inside: held.inside.and_then(known),
            across: held.across.and_then(known),
            moved: held.moved.to_string(),
            evidence: evidence.collect(),
        }
    }
}
