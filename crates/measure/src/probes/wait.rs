//! `wait`: what a way of waiting for another thread costs.

#[cfg(all(target_os = "linux", not(miri)))]
mod call;
#[cfg(all(target_os = "linux", not(miri)))]
mod exchange;
#[cfg(all(target_os = "linux", not(miri)))]
mod perform;
mod price;
#[cfg(all(target_os = "linux", not(miri)))]
mod sibling;
#[cfg(all(target_os = "linux", not(miri)))]
mod task;
pub mod trials;

use crate::pricing::{Arch, Pricing};
use crate::series::{Probe, ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
use crate::strategies::catalogue::StrategyKind;
use crate::strategies::instructions::Instruction;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::quantity::{Better, Parameter, Quantity, Unit};
use coretalk_model::series::Observed;
use coretalk_model::series::TrialSpec;
use coretalk_model::wait::names;
use coretalk_model::{Flags, TrialFailure};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use perform::loops;
use trials::{Mode, Trial};

/// What a way of waiting for another thread costs.
#[derive(Debug, Clone, Copy)]
pub struct Wait;

const SPEC: ProbeSpec = ProbeSpec {
    id: names::PROBE,
    title: "Ways of waiting",
    question: "what does each way of waiting for another thread cost?",
    unit: "ns",
    quantity: "round_trip",
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("strategy", "strategy").in_table("strategy"),
    Parameter::new("partner", "partner").in_table("partner"),
    Parameter::new("mode", "mode").in_table("mode"),
];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::TRIP, "trip")
        .headline(0)
        .in_table()
        .meaning("round trip, including one clock read"),
    Quantity::events(names::HINT, "hint").headline(1).in_table(),
    Quantity::events(names::PLAIN, "plain").in_table(),
    Quantity::events(names::CLOCK, "clock").headline(2).in_table(),
    Quantity::time(names::LOOP_NS, "loop ns").headline(5).in_table(),
    Quantity::time(names::MEAN_NS, "mean ns").in_table(),
    Quantity::time(names::CLOCK_NS, "clock ns").in_table(),
    Quantity::time(names::NET_NS, "net ns").in_table(),
    Quantity::value(names::SPINS, "spins", Unit::Number).in_table(),
    Quantity::time(names::CPU_NS, "CPU ns").in_table(),
    Quantity::value(names::SLEEPS, "sleeps", Unit::Number).in_table(),
    Quantity::time(names::CALL_NS, "call ns").headline(4).in_table(),
    Quantity::value(names::CALL_CYCLES, "cycles", Unit::Cycles).better(Better::Lower).in_table(),
    Quantity::value(names::SLOWDOWN, "slowdown", Unit::Ratio).better(Better::Lower).headline(3).in_table(),
    Quantity::rate(names::TRIPS_PER_S, "trips per s", "trips"),
    Quantity::value(names::PACKAGE_NJ, "package nj per trip", Unit::Nanojoules).better(Better::Lower),
    Quantity::value(names::TAKEN, "involuntary switches per trip", Unit::Number),
    Quantity::count(names::SAMPLES, "samples"),
    Quantity::count(names::NEGATIVE, "negative net"),
    Quantity::count(names::DURATION_US, "duration us").unit(Unit::Us),
];

impl Probe for Wait {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

impl SeriesProbe for Wait {
    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        trials::trials(request)
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn lacks(&self, spec: &TrialSpec) -> Option<String> {
        let lack = |strategy: StrategyKind| {
            let lack = crate::strategies::instructions::lack(strategy.instruction()?)?;
            Some(format!("`{strategy}` cannot be measured: {lack}"))
        };
        Trial::of(spec).ok()?.strategies().find_map(lack)
    }

    fn lacks_simulated(&self, spec: &TrialSpec, arch: Arch) -> Option<String> {
        let lack = |strategy: StrategyKind| {
            let instruction = strategy.instruction()?;
            let there = (instruction == Instruction::Wfe) == (arch == Arch::Arm);
            let [name, feature] = instruction.names();
            let lack = format!("`{strategy}` cannot be measured: the simulated CPU lacks {feature} ({name})");
            (!there).then_some(lack)
        };
        Trial::of(spec).ok()?.strategies().find_map(lack)
    }

    fn distributions(&self, spec: &TrialSpec) -> usize {
        match Trial::of(spec).map(|trial| trial.mode) {
            Ok(Mode::Timed | Mode::Clock) => 1,
            Ok(Mode::Alternate) => 2,
            Ok(Mode::NoClock | Mode::Cost | Mode::Sibling) | Err(_) => 0,
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        price::simulate(stage, order)
    }

    fn variants(&self) -> Vec<(String, String)> {
        crate::strategies::catalogue::every()
    }

    fn remarks(&self, trials: &[&TrialSpec]) -> Vec<String> {
        let mut remarks = Vec::new();
        for strategy in
            trials.iter().filter_map(|spec| Trial::of(spec).ok()).flat_map(|trial| trial.strategies())
        {
            let remark = format!("{strategy}: {}", strategy.mechanism());
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    fn roles_of_a_pair(&self) -> &'static str {
        "the row times the trips"
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }
}

/// Remarks and doubts that follow from what is measured and where.
fn flags(trial: &Trial, shared: bool, guest: bool) -> Flags {
    let mut flags = Flags::NONE;
    if shared && trial.strategies().any(StrategyKind::keeps_cpu) {
        flags.set(coretalk_model::Flag::SharedSpin);
    }
    if guest && trial.strategies().any(StrategyKind::hints) {
        flags.set(coretalk_model::Flag::PauseExits);
    }
    flags
}
