//! `HostMachine` for systems without support for verified pinning.

use crate::machine::{Allowance, Granted, Machine, MachineError, Round, RoundOutcome, WorkerSettings};
use crate::series::TrialOrder;
use crate::stop::Stop;
use crate::work::WorkOrder;
#[cfg(not(target_os = "linux"))]
use coretalk_model::environment::BuildFacts;
use coretalk_model::series::PassOutcome;
use coretalk_model::{
    CpuId, CpuSet, DoctorFinding, Environment, LossReason, Picos, Recording, TickRate, Topology, TrialFailure,
};
use std::convert::Infallible;

/// The machine that this process runs on, which this system cannot measure.
#[derive(Debug)]
pub struct HostMachine(Infallible);

impl HostMachine {
    /// Always fails with [`MachineError::NoPinning`].
    pub fn open() -> Result<HostMachine, MachineError> {
        Err(MachineError::NoPinning { reason: reason(std::env::consts::OS) })
    }

    /// All checks of `doctor` that are possible without an open machine.
    #[cfg(not(target_os = "linux"))]
    pub fn examine_closed(error: &MachineError) -> Vec<DoctorFinding> {
        use super::doctor::{LiveFacts, examine};
        let reason = match error {
            MachineError::NoPinning { reason } => reason.clone(),
            other => other.to_string(),
        };
        let live = LiveFacts { pinning: Some(Err(&reason)), ..LiveFacts::default() };
        examine(&super::root::SystemRoot::live(), &live)
    }

    /// Always fails with [`MachineError::NoPinning`].
    #[cfg(not(target_os = "linux"))]
    pub fn reported() -> Result<(Topology, Allowance), MachineError> {
        HostMachine::open().map(|machine| match machine.0 {})
    }

    /// Adds the facts of the program's build to the environment.
    #[cfg(not(target_os = "linux"))]
    pub fn measured_by(self, _build: BuildFacts) -> HostMachine {
        match self.0 {}
    }
}

/// Why threads cannot be pinned. `system` is the name in the standard library.
fn reason(system: &str) -> String {
    match system {
        // `thread_affinity_policy` only groups threads that share data, and Apple's processors ignore it.
        "macos" => "macOS takes only hints about which CPUs threads run on".to_owned(),
        other => format!("no support for {other}"),
    }
}

impl Machine for HostMachine {
    fn topology(&self) -> &Topology {
        match self.0 {}
    }
    fn allowance(&self) -> &Allowance {
        match self.0 {}
    }
    fn environment(&self) -> &Environment {
        match self.0 {}
    }
    fn examine(&mut self, _cpus: &CpuSet, _budget: Option<Picos>) -> Vec<DoctorFinding> {
        match self.0 {}
    }
    fn rate(&self) -> TickRate {
        match self.0 {}
    }
    fn now(&self) -> Picos {
        match self.0 {}
    }
    fn pause(&mut self, _span: Picos, _stop: &Stop) {
        match self.0 {}
    }
    fn end_by(&mut self, _deadline: Option<Picos>) {
        match self.0 {}
    }
    fn engage(&mut self, _settings: &WorkerSettings) -> Result<Granted, MachineError> {
        match self.0 {}
    }
    fn absent(&self, _of: &CpuSet) -> Vec<(CpuId, LossReason)> {
        match self.0 {}
    }
    fn perform_each(
        &mut self,
        _batch: &[Round],
        _stop: &Stop,
        _take: &mut dyn FnMut(RoundOutcome) -> Vec<Recording>,
    ) -> Result<(), MachineError> {
        match self.0 {}
    }
    fn perform_trial(&mut self, _order: &TrialOrder<'_>, _stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        match self.0 {}
    }
    fn perform_work(&mut self, _order: &WorkOrder<'_>, _stop: &Stop) -> Result<PassOutcome, TrialFailure> {
        match self.0 {}
    }
    fn is_busy(&self) -> Option<bool> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_unsupported_system_names_alternatives() {
        let error = super::HostMachine::open().unwrap_err().to_string();
        assert!(error.contains("simulated machines"), "{error}");
        let of_mac = super::reason("macos");
        assert!(of_mac.starts_with("macOS ") && of_mac != super::reason("windows"), "{of_mac}");
    }
}
