//! The reported structure. What a matrix suggests is an issue of its own: `inferred` stays null until it lands.

use coretalk_model::{CpuId, Level, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// Structure of the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopologyDoc {
    /// Ids in matrix order.
    cpus: Vec<u32>,
    reported: ReportedDoc,
    /// Null: not inferred.
    inferred: Option<serde_json::Value>,
    /// Empty: nothing inferred, nothing to compare.
    agreement: Vec<serde_json::Value>,
}

/// What the system reports.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportedDoc {
    /// From the inside out; a level that is not reported is left out.
    levels: Vec<LevelDoc>,
    /// Kinds of cores, slowest first; empty where all are of one kind.
    classes: Vec<ClassDoc>,
}

/// The groups of a level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LevelDoc {
    level: &'static str,
    /// CPU lists by lowest CPU.
    groups: Vec<String>,
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
    /// `cpus` in matrix order.
    pub(super) fn of(topology: &Topology, cpus: &[CpuId]) -> TopologyDoc {
        let level = |level: Level| LevelDoc {
            level: level.name(),
            groups: topology.level(level).iter().map(|domain| domain.cpus.to_string()).collect(),
        };
        let classes = topology.classes().into_iter().map(|class| ClassDoc {
            name: class.name.clone(),
            rank: class.rank,
            cpus: topology
                .cpus()
                .iter()
                .filter(|&cpu| topology.class_of(cpu) == Some(class))
                .collect::<coretalk_model::CpuSet>()
                .to_string(),
        });
        TopologyDoc {
            cpus: cpus.iter().map(|cpu| cpu.0).collect(),
            reported: ReportedDoc {
                levels: Level::ALL.into_iter().map(level).filter(|level| !level.groups.is_empty()).collect(),
                classes: classes.collect(),
            },
            inferred: None,
            agreement: Vec::new(),
        }
    }
}
