//! The structure of a machine: reported, inferred from its latencies, and their agreement.

use super::{Ci, ci, known};
use crate::reasons::Worded;
use coretalk_model::infer::{Agreement, Findings, InferredLevel, LoneCpu, Structure, ValueShape};
use coretalk_model::latency::execution::{Execution, ExecutionTest, ExecutionUnit, verdicts};
use coretalk_model::lint::LintFinding;
use coretalk_model::run::RunReport;
use coretalk_model::topology::{CacheSize, Domain, MemoryNode, Same};
use coretalk_model::{CpuId, CpuLoss, CpuSet, Level, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// Structure of the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopologyDoc {
    /// CPU numbers in matrix order.
    cpus: Vec<u32>,
    /// Structure as reported by the system.
    reported: ReportedDoc,
    /// Offline CPUs of the machine, as a CPU list; null if unknown, as for runs.
    offline: Option<String>,
    /// Structure inferred from the latencies; null without latencies, or if nothing can be inferred.
    inferred: Option<InferredDoc>,
    /// Why nothing is inferred from existing latencies; null otherwise.
    reason: Option<String>,
    /// Comparison of each reported level with the inferred ones, innermost first.
    agreement: Vec<AgreementDoc>,
    /// Tests of pairs for shared execution units.
    execution: Vec<ExecutionDoc>,
    /// Findings of `lint` for a matrix of another tool; empty for runs.
    doubts: Vec<DoubtDoc>,
}

/// A finding of `lint` in a matrix of another tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoubtDoc {
    /// Name in `lint`, such as `clock-comb`.
    kind: &'static str,
    /// Affected pairs; empty if it affects the whole matrix, or all pairs of single CPUs.
    pairs: Vec<[u32; 2]>,
    /// Step of `clock-comb`, in the unit of the matrix; null for others.
    step: Option<f64>,
}

/// Test whether two CPUs share execution units, as threads of one core do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutionDoc {
    from: u32,
    to: u32,
    /// Verdict: `shared` (threads of one core), `apart` (two cores) or `unclear`.
    verdict: &'static str,
    /// Why the verdict is `unclear`; null otherwise.
    reason: Option<String>,
    /// Reason of the test: `closest`, `reported` or `control`.
    tested_as: &'static str,
    /// Number of successful passes.
    passes: usize,
    /// For multiplications: rate of work while both CPUs work ÷ rate while the other one sleeps, median over passes, of
    /// the CPU that keeps more and of the one that keeps less; null if not measured.
    multiplier_kept: Option<[f64; 2]>,
    /// The same for divisions.
    divider_kept: Option<[f64; 2]>,
}

/// Structure inferred from the latencies.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InferredDoc {
    /// Levels, finest first; empty if there are no groups.
    levels: Vec<InferredLevelDoc>,
    /// Groups rejected as levels: separated by one step of the clock, or all of their pairs read 0 (`median` is null).
    dropped: Vec<InferredLevelDoc>,
    /// Whether there are no groups, although values differ by more than noise: a mesh, a ring, kinds of cores, unpinned
    /// threads. False if `contradictory` pairs may hide groups.
    continuous: bool,
    /// Relative scatter of the values around their median; null if there are levels.
    scatter: Option<f64>,
    /// Whether there are too few CPUs to tell groups from uniform latencies.
    too_few: bool,
    /// Groups that stand out but form no level, as CPU lists.
    hints: Vec<String>,
    /// Hints with exactly one CPU outside the group, which is far away or slow: a single CPU does not show which.
    all_but_one: Vec<AllButOneDoc>,
    /// CPUs without any value.
    left_out: Vec<u32>,
    /// Cells that do not fit, or that are missing.
    suspects: Vec<SuspectDoc>,
    /// Number of pairs nearer than the rows of their CPUs allow; which of them are wrong is unknown, so they may hide
    /// groups.
    contradictory: usize,
}

/// A group and the only CPU outside it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AllButOneDoc {
    cpu: u32,
    /// The group, as a CPU list.
    group: String,
    /// Median of the pairs inside the group.
    inside: Option<f64>,
    /// The slowest pair inside, if smaller groups keep the median from representing the group; null otherwise.
    far_inside: Option<f64>,
    /// Median of the pairs of this CPU with the group.
    across: Option<f64>,
    unit: &'static str,
    /// Reported levels in which the CPU is a group of its own, which show that it is far away; empty if it may be slow.
    reported: Vec<&'static str>,
    /// The part of `group` to which the CPU belongs by its latencies, if it is slow to that part as well; null
    /// otherwise.
    slow_beside: Option<String>,
}

/// An inferred level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InferredLevelDoc {
    /// Name: `group-1` for the finest level, `smt` if its tested pairs share execution units.
    name: String,
    /// Groups of two or more CPUs as CPU lists, by lowest CPU.
    groups: Vec<String>,
    /// CPUs that each form a group of one, as a CPU list.
    single: String,
    /// CPUs whose group is unknown because pairs contradict each other, as a CPU list.
    open: String,
    /// Median of the pairs that share a group of this level and none of a finer level.
    median: Option<f64>,
    /// 95 % interval of the median over pairs.
    ci: Option<Ci>,
    /// Median of the pairs that leave a group and share one of the next coarser level.
    across: Option<f64>,
    unit: &'static str,
    /// Share of repetitions within the intervals that reproduced this level exactly, 0 to 1; null if not tested.
    repeats: Option<f64>,
    /// Pairs without a cell of their own, formed because no other partners were left.
    by_elimination: Vec<[u32; 2]>,
}

/// A cell that does not fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuspectDoc {
    from: u32,
    to: u32,
    /// Doubt: `outlier`, `leftover`, `missing`, `first-cpu` or `contradictory`.
    doubt: &'static str,
    /// Its value ÷ the expected value; null without a value, or if the groups are unknown.
    ratio: Option<f64>,
}

/// Comparison of one reported level with the inferred ones.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgreementDoc {
    level: &'static str,
    /// Verdict: `agree`, `coarser`, `finer`, `conflict` or `not-visible`.
    verdict: &'static str,
    /// The inferred level used for the comparison; null without one.
    against: Option<String>,
    /// Adjusted Rand index of the two levels; null if undefined.
    rand_index: Option<f64>,
    /// Number of reported groups that an inferred level has exactly.
    shown: usize,
    /// Median of the pairs that share a reported group.
    inside: Option<f64>,
    /// Median of the pairs that leave a reported group.
    across: Option<f64>,
    /// CPUs that would have to change groups, as a CPU list; empty unless the verdict is `conflict`.
    moved: String,
    /// Cells that contradict the reported level most.
    evidence: Vec<EvidenceDoc>,
}

/// A cell that contradicts a reported level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidenceDoc {
    from: u32,
    to: u32,
    value: f64,
    /// Expected value if the reported level were right.
    expected: f64,
}

/// Data of the structure in a document.
#[derive(Debug, Clone, Copy)]
pub struct StructureView<'a> {
    /// Reported topology; `None` if the source has none.
    pub reported: Option<&'a Topology>,
    /// Offline CPUs; `None` if unknown.
    pub offline: Option<&'a CpuSet>,
    /// CPUs lost during the measurement.
    pub departed: &'a [CpuLoss],
    /// CPUs in matrix order.
    pub cpus: &'a [CpuId],
    /// Unit of the latencies.
    pub unit: &'static str,
    /// Inferred structure; `None` without latencies.
    pub findings: Option<&'a Findings>,
    /// Why there is no inferred structure.
    pub reason: Option<&'a str>,
    /// Tests of pairs for shared execution units.
    pub execution: &'a [ExecutionTest],
    /// Findings of `lint` in a matrix of another tool.
    pub doubts: &'a [LintFinding],
}

/// Structure as reported by the system.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ReportedDoc {
    /// Levels, innermost first; without levels that have no distinct groups.
    levels: Vec<LevelDoc>,
    /// Reported levels without distinct groups; null if unknown.
    same: Option<Vec<SameDoc>>,
    /// Levels that are not reported; null if unknown.
    not_reported: Option<Vec<&'static str>>,
    /// Groups of two levels that share CPUs while neither contains the other; empty if all are nested.
    crossing: Vec<CrossingDoc>,
    /// NUMA nodes without CPUs of their own, by number; null if unknown.
    memory_nodes: Option<Vec<MemoryNodeDoc>>,
    /// Sizes of caches, innermost first, without those of instructions; null if unknown.
    caches: Option<Vec<CacheDoc>>,
    /// Kinds of cores, slowest first; empty if there is only one.
    classes: Vec<ClassDoc>,
    /// CPUs without a reported kind while others have one, as a CPU list.
    unclassified: String,
}

/// The groups of a level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LevelDoc {
    level: &'static str,
    /// Groups as CPU lists, by lowest CPU.
    groups: Vec<String>,
}

/// Two crossing groups, that of the inner level first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CrossingDoc {
    levels: [&'static str; 2],
    /// The CPUs of each.
    groups: [String; 2],
}

/// A level with the same groups as another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SameDoc {
    level: &'static str,
    /// The other level; `machine` for a group of all CPUs, `several` for groups of several levels or of none.
    same_as: &'static str,
}

/// A NUMA node without CPUs of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryNodeDoc {
    /// Number of the node in the system.
    node: u32,
    memory_bytes: Option<u64>,
    /// Distances from the nodes with CPUs; empty if not reported.
    distances: Vec<DistanceDoc>,
}

/// Distance of a memory node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DistanceDoc {
    /// Number of the accessing node.
    from: u32,
    /// Distance reported by the firmware: 10 is a node's own memory.
    distance: u32,
}

/// The caches of one level and size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CacheDoc {
    /// `L1d`, `L2`, `L3` …
    name: String,
    /// Size of one cache.
    bytes: u64,
    /// The CPUs that share each cache, as CPU lists, by lowest CPU.
    groups: Vec<String>,
}

/// A kind of cores.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClassDoc {
    name: String,
    /// Rank by speed: 0 is the slowest.
    rank: u32,
    cpus: String,
}

impl TopologyDoc {
    /// The reported structure, without latencies; `cpus` in matrix order.
    pub(super) fn new(topology: &Topology, cpus: &[CpuId]) -> TopologyDoc {
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
            reported: view.reported.map(ReportedDoc::new).unwrap_or_default(),
            offline: view.offline.map(ToString::to_string),
            inferred: view.findings.and_then(|findings| InferredDoc::new(findings, view.unit)),
            reason: refusal.map(Worded::text).or_else(|| view.reason.map(str::to_owned)),
            agreement: match (view.findings, structure) {
                (Some(findings), Some(structure)) => findings
                    .agreement
                    .iter()
                    .map(|agreement| AgreementDoc::new(agreement, structure))
                    .collect(),
                _ => Vec::new(),
            },
            execution: ExecutionDoc::new(view.execution),
            doubts: view.doubts.iter().map(DoubtDoc::new).collect(),
        }
    }
}

impl DoubtDoc {
    fn new(doubt: &LintFinding) -> DoubtDoc {
        DoubtDoc {
            kind: doubt.kind().name(),
            pairs: doubt.pairs().iter().map(|pair| pair.map(|cpu| cpu.0)).collect(),
            step: match doubt {
                LintFinding::ClockComb { step, .. } => known(*step),
                _ => None,
            },
        }
    }
}

impl ExecutionDoc {
    fn new(tests: &[ExecutionTest]) -> Vec<ExecutionDoc> {
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
                multiplier_kept: kept(ExecutionUnit::Multiplier),
                divider_kept: kept(ExecutionUnit::Divider),
            }
        };
        tests.iter().zip(verdicts(tests)).map(doc).collect()
    }
}

impl ReportedDoc {
    fn new(topology: &Topology) -> ReportedDoc {
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
        let other_facts = topology.other_facts();
        ReportedDoc {
            levels: topology
                .levels()
                .into_iter()
                .map(level)
                .filter(|level| !level.groups.is_empty())
                .collect(),
            same: other_facts.map(|other_facts| {
                let doc =
                    |(level, same): (&Level, &Same)| SameDoc { level: level.name(), same_as: same.name() };
                other_facts.same.iter().map(doc).collect()
            }),
            not_reported: topology.unreported().map(names),
            crossing: topology.crossing().into_iter().map(CrossingDoc::new).collect(),
            memory_nodes: other_facts
                .map(|other_facts| other_facts.memory_nodes.iter().map(MemoryNodeDoc::new).collect()),
            caches: other_facts
                .filter(|other_facts| !other_facts.caches.is_empty())
                .map(|other_facts| other_facts.caches.iter().map(CacheDoc::new).collect()),
            classes: classes.collect(),
            unclassified: topology.unclassified().to_string(),
        }
    }
}

impl CrossingDoc {
    fn new(groups: [&Domain; 2]) -> CrossingDoc {
        CrossingDoc {
            levels: groups.map(|group| group.level.name()),
            groups: groups.map(|group| group.cpus.to_string()),
        }
    }
}

impl MemoryNodeDoc {
    fn new(node: &MemoryNode) -> MemoryNodeDoc {
        let distances = node.distances.iter().map(|&(from, distance)| DistanceDoc { from, distance });
        MemoryNodeDoc { node: node.number, memory_bytes: node.memory_bytes, distances: distances.collect() }
    }
}

impl CacheDoc {
    fn new(cache: &CacheSize) -> CacheDoc {
        let groups = cache.groups.iter().map(ToString::to_string).collect();
        CacheDoc { name: cache.name.clone(), bytes: cache.bytes, groups }
    }
}

impl InferredDoc {
    fn new(findings: &Findings, unit: &'static str) -> Option<InferredDoc> {
        let structure = findings.structure.as_ref().ok()?;
        let scatter = structure.scatter().and_then(known);
        let levels = |levels: &[InferredLevel]| -> Vec<InferredLevelDoc> {
            levels.iter().map(|level| InferredLevelDoc::new(level, unit)).collect()
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
            continuous: matches!(structure.shape, ValueShape::Continuous { .. })
                && structure.contradictory == 0,
            scatter,
            too_few: matches!(structure.shape, ValueShape::TooFew),
            hints: structure.hints.iter().map(|hint| hint.cpus.to_string()).collect(),
            all_but_one: findings.lone_cpus().iter().map(|lone| AllButOneDoc::new(lone, unit)).collect(),
            left_out: structure.left_out.iter().map(|cpu| cpu.0).collect(),
            suspects: suspects.collect(),
            contradictory: structure.contradictory,
        })
    }
}

impl AllButOneDoc {
    fn new(lone: &LoneCpu<'_>, unit: &'static str) -> AllButOneDoc {
        AllButOneDoc {
            cpu: lone.cpu.0,
            group: lone.group.cpus.to_string(),
            inside: lone.group.inside.and_then(known),
            far_inside: lone.group.far_inside().and_then(known),
            across: lone.group.across.and_then(known),
            unit,
            reported: lone.reported.iter().map(|level| level.name()).collect(),
            slow_beside: lone.group.slower_group.as_ref().map(ToString::to_string),
        }
    }
}

impl InferredLevelDoc {
    fn new(level: &InferredLevel, unit: &'static str) -> InferredLevelDoc {
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
    fn new(agreement: &Agreement, structure: &Structure) -> AgreementDoc {
        let against = agreement.against.and_then(|index| structure.levels.get(index));
        let evidence = agreement.evidence.iter().map(|cell| EvidenceDoc {
            from: cell.pair[0].0,
            to: cell.pair[1].0,
            value: super::rounded(cell.value),
            expected: super::rounded(cell.expected),
        });
        AgreementDoc {
            level: agreement.level.name(),
            verdict: agreement.standing.name(),
            against: against.map(|level| level.name.clone()),
            rand_index: agreement.rand_index.and_then(known),
            shown: agreement.matched,
            inside: agreement.inside.and_then(known),
            across: agreement.across.and_then(known),
            moved: agreement.moved.to_string(),
            evidence: evidence.collect(),
        }
    }
}
