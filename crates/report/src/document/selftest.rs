//! [`SelftestDoc`]: the document `coretalk.selftest/1`, for bug reports.

use super::{EnvironmentDoc, FindingDoc, Identity, TopologyDoc, write_json};
use coretalk_model::{DoctorFinding, Environment, Topology, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Checks whether coretalk measures correctly on a machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "coretalk.selftest/1")]
pub struct SelftestDoc {
    /// Name and version of the schema: `coretalk.selftest/1`.
    schema: &'static str,
    /// Version of coretalk.
    tool_version: &'static str,
    /// Verdict over all checks: `ok`, `cannot-tell` or `fail`.
    verdict: &'static str,
    /// Environment of the checks, including the findings of `doctor`.
    environment: EnvironmentDoc,
    /// The reported structure.
    topology: TopologyDoc,
    /// The checks.
    checks: Vec<FindingDoc>,
}

impl SelftestDoc {
    /// Builds the document from the findings of `doctor`, the checks and their verdict.
    pub fn new(
        topology: &Topology,
        environment: &Environment,
        doctor: &[DoctorFinding],
        checks: &[DoctorFinding],
        verdict: Verdict,
        identity: Identity,
    ) -> SelftestDoc {
        SelftestDoc {
            schema: "coretalk.selftest/1",
            tool_version: env!("CARGO_PKG_VERSION"),
            verdict: verdict.name(),
            environment: EnvironmentDoc::new(environment, doctor, identity),
            topology: TopologyDoc::new(topology, &topology.order(topology.cpus())),
            checks: checks.iter().map(FindingDoc::new).collect(),
        }
    }

    /// Writes the document as JSON with a line end.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        write_json(self, out)
    }
}

/// The JSON schema of the document.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<SelftestDoc>().to_value()
}
