//! [`SelftestDoc`]: `coretalk.selftest/1`, made to be attached to a report of a defect.

use super::{EnvironmentDoc, FindingDoc, Identity, TopologyDoc, write_json};
use coretalk_measure::Machine;
use coretalk_model::DoctorFinding;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Whether a machine lets coretalk measure honestly.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "coretalk.selftest/1")]
pub struct SelftestDoc {
    /// `coretalk.selftest/1`.
    schema: &'static str,
    /// Version of the tool.
    tool_version: &'static str,
    /// `ok`, `cannot-tell` or `fail`: what all checks come to together.
    verdict: &'static str,
    /// What it was tried under, with the checks of `doctor`.
    environment: EnvironmentDoc,
    /// The reported structure.
    topology: TopologyDoc,
    /// Each promise that was tried.
    checks: Vec<FindingDoc>,
}

impl SelftestDoc {
    /// The document of a machine with what `doctor` says of it and what was tried.
    pub fn of(
        machine: &dyn Machine,
        doctor: &[DoctorFinding],
        checks: &[DoctorFinding],
        identity: Identity,
    ) -> SelftestDoc {
        let topology = machine.topology();
        SelftestDoc {
            schema: "coretalk.selftest/1",
            tool_version: env!("CARGO_PKG_VERSION"),
            verdict: crate::selftest::verdict(checks).name(),
            environment: EnvironmentDoc::of(machine.environment(), doctor, identity),
            topology: TopologyDoc::of(topology, &topology.order(topology.cpus())),
            checks: checks.iter().map(FindingDoc::of).collect(),
        }
    }

    /// Writes it as JSON, followed by a line break.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        write_json(self, out)
    }
}

/// The JSON schema of the document.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<SelftestDoc>().to_value()
}
