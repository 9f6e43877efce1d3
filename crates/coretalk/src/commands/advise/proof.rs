//! `advise --prove`: runs a workload with the same communication pattern on the advised and the usual placements.

use crate::args::options::Global;
use crate::exit::Failure;
use crate::resolve::cpus::{Chosen, cpus_and_pairs};
use crate::resolve::placement::listed;
use crate::resolve::{machine, output};
use crate::run::signals;
use crate::run::watcher::{Watched, Watcher};
use coretalk_measure::Work;
use coretalk_measure::session::place::{self as session, PlaceEnded, PlaceJob};
use coretalk_model::advise::Claim;
use coretalk_model::place::{BUDGET, PlaceSettings, Workload};
use coretalk_model::run::{PlaceReport, RunSettings};
use coretalk_model::{CpuLoss, Environment, Picos};
use coretalk_report::advice::ProofView;
use coretalk_report::blocks::value::Sentence;

/// Runs the work of a claim on its placements and compares the results with the predictions. Saves nothing.
/// `measured_on` is the machine of the latencies, if known. `spent` is the used part of the budget. Lost CPUs are added
/// to `departed`. Fails if the machine differs, lacks a CPU or fails, or after an interruption.
pub fn prove(
    global: &Global,
    wanted: &Chosen,
    claim: &Claim,
    measured_on: Option<&Environment>,
    spent: Picos,
    departed: &mut Vec<CpuLoss>,
) -> Result<ProofView, Failure> {
    let seed = global.seed.unwrap_or(0);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    if let Some(other) = measured_on {
        refuse_other_machine(other, machine.environment())?;
    }
    let workload = Workload::usual(claim.work);
    let work = [Work::Workload(workload)];
    if let Some(refusal) = machine.refuses(&work[0]) {
        return Ok(ProofView::NotRun(Sentence::name(&refusal)));
    }
    let (chosen, _) = cpus_and_pairs(&*machine, wanted, None, 1)?;
    let threads = claim.arms[0].cpus.len();
    let placements = claim.arms.iter().map(|arm| {
        listed(
            &*machine,
            wanted,
            &chosen,
            [&format!("placement {}", arm.name()), &arm.name()],
            arm.cpus.clone(),
        )
    });
    let placements = placements.collect::<Result<Vec<_>, Failure>>()?;
    let budget = global.budget.unwrap_or(BUDGET).saturating_sub(spent);
    let settings = PlaceSettings { budget, ..PlaceSettings::usual(&[workload], threads, placements, seed) };
    let stop = signals::stop()?;
    let topology = machine.topology().clone();
    let watched = Watched::new(&topology, RunSettings { place: Some(&settings), ..RunSettings::default() });
    let mut watcher = Watcher::new(&output::options(global), &topology, watched, 0, Vec::new(), &stop);
    let job = PlaceJob { settings: &settings, works: &work, hooks: None };
    let ran = session::run(&mut *machine, job, &mut (), &mut watcher, &stop);
    let is_new = |loss: &CpuLoss| departed.iter().all(|known| known.cpu != loss.cpu);
    let lost: Vec<CpuLoss> = watcher.end()?.into_iter().filter(is_new).collect();
    departed.extend(lost);
    let (result, ended) = ran?;
    match ended {
        PlaceEnded::Interrupted(_) => {
            Err(Failure::Interrupted("interrupted; `advise` saves nothing".to_owned()))
        }
        PlaceEnded::Failed { trial, failure } => Err(Failure::Environment(format!(
            "workload {workload} failed on placement {}: {failure}; check whether `coretalk place --workload {workload}` works there",
            settings.placements[trial].name
        ))),
        PlaceEnded::HookFailed { failure, .. } => Err(Failure::Environment(failure.to_string())),
        PlaceEnded::Complete | PlaceEnded::Budget { .. } | PlaceEnded::TooShort { .. } => {
            let Some(headline) = result.comparisons.first() else {
                return Ok(ProofView::NotRun("nothing was compared".into()));
            };
            let proof = claim.proof(headline);
            Ok(ProofView::Ran { proof, place: Box::new(PlaceReport { settings, result }) })
        }
    }
}

/// Refuses a machine that was not measured, because the workload would prove nothing there.
fn refuse_other_machine(measured: &Environment, here: &Environment) -> Result<(), Failure> {
    match is_same(measured, here) {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "--prove would run on {}, but the latencies are from {}; choose the machine with --machine, or drop --prove",
            called(here),
            called(measured)
        ))),
    }
}

pub(super) fn called(environment: &Environment) -> String {
    match &environment.simulated {
        Some(scenario) => format!("the simulated machine {scenario}"),
        None => environment.cpu_model.clone().unwrap_or_else(|| "an unnamed machine".to_owned()),
    }
}

/// Whether two environments may describe the same machine. Compares scenario and CPU model.
pub(super) fn is_same(a: &Environment, b: &Environment) -> bool {
    a.simulated == b.simulated && (b.simulated.is_some() || a.cpu_model == b.cpu_model)
}
