//! `contend`: the cost of changing one number from many threads.

#[cfg(all(target_os = "linux", not(miri)))]
mod observation;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
#[cfg(all(target_os = "linux", not(miri)))]
mod runtime;
mod stand_ins;
mod trials;

#[cfg(all(target_os = "linux", not(miri)))]
use crate::adapters::pass::AdapterPass as RuntimePass;
use crate::adapters::protocol::{AdapterOperation, Events, MAX_OPERATIONS, RuntimeWork};
use crate::counters::catalogue::{METHODS, Method, MethodKind, REPLACED_WIDE};
use crate::pricing::SimContext;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::stand_in::SimStandIn;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::probes::{LegendEntry, ProbeDeclaration, contend::DECLARATION};
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{Environment, TrialFailure};

#[cfg(all(target_os = "linux", not(miri)))]
pub use perform::{ContendPass, loops};
pub use price::sections;
pub use trials::{ARRANGEMENTS, ContendConfig, MAX_SECTION_NS, MAX_THREADS, SECTIONS_NS, thread_counts};

/// The `contend` probe.
#[derive(Debug, Clone, Copy)]
pub struct Contend;

impl SeriesProbe for Contend {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    /// One thread, two threads, one per CPU and two per CPU.
    fn suite_trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        let all = request.cpus.len().min(trials::MAX_THREADS as usize / 2);
        let mut counts = vec![1, 2, all, 2 * all];
        counts.sort_unstable();
        counts.dedup();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let options = request.options.clone().with("threads", counts.join(","));
        trials::trials(&SeriesRequest { options: &options, ..*request })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        perform::lacks(spec)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        price::simulate(sim, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        let runtime_methods =
            ("RUNTIME:NAME".to_owned(), "a method of a runtime in another language".to_owned());
        let native = METHODS.iter().map(|method| (method.id.to_owned(), method.how.to_owned()));
        native.chain([runtime_methods]).collect()
    }

    fn runtime_work(&self, spec: &TrialSpec, _options: &Parameters) -> Result<RuntimeWork, RequestError> {
        let operation = AdapterOperation::Contend { threads: spec.placement.len() };
        Ok(RuntimeWork { operation, events: Events::Together, most: MAX_OPERATIONS })
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn runtime_result(&self, _spec: &TrialSpec, pass: &RuntimePass) -> Observed {
        runtime::result(pass)
    }

    fn stand_ins(&self) -> &'static [SimStandIn] {
        stand_ins::STAND_INS
    }

    fn distributions(&self, spec: &TrialSpec) -> usize {
        usize::from(self.external(spec).is_none())
    }

    fn legend(&self, trials: &[&TrialSpec], environment: &Environment) -> Vec<LegendEntry> {
        let methods = trials.iter().filter_map(|trial| Some(ContendConfig::from_spec(trial).ok()?.method));
        // Decided for the measured machine, not for the machine that displays the report (see `atomic::Wide`).
        let has_lock = |arch: &String| environment.simulated.is_none() && arch != "x86_64";
        let has_lock = environment.arch.as_ref().is_some_and(has_lock);
        let entry = |method: &Method| {
            let is_replaced = method.kind == MethodKind::Wide && has_lock;
            (method.id.to_owned(), if is_replaced { REPLACED_WIDE } else { method.how }, None)
        };
        methods.map(entry).collect()
    }
}
