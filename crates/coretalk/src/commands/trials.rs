//! Commands that measure series.

use crate::args::parse::Invocation;
use crate::args::series::SeriesArgs;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::output::{Verbosity, remark};
use crate::resolve::trials::{SeriesRequested, request};
use crate::run::measure::{RunPlan, perform};
use crate::run::outputs::{Measured, Outputs};
use crate::run::segment::Opening;
use crate::run::{resume, signals};
use coretalk_measure::session::series;
use coretalk_report as report;

pub fn execute(invocation: &Invocation, args: &dyn SeriesArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::execute_trials(invocation, Some(args), run, &stop);
    }
    let (mut machine, seed) = machine::open_seeded(global)?;
    let SeriesRequested { settings, notices, options } = request(&mut *machine, global, args, seed, &stop)?;
    let outputs = Outputs::open(&options.output, Measured::Trials(&settings), &stop)?;
    for notice in &notices {
        remark(options.output.verbosity, Verbosity::Normal, notice);
    }
    let plan = RunPlan::fresh(None, Some(settings));
    let opening = Opening { invocation, options: &options, settings: plan.settings(), stop: &stop };
    let segment = opening.open(&mut *machine)?;
    perform(&mut *machine, segment, plan, outputs, &options, &stop)
}

pub fn plan(invocation: &Invocation, args: &dyn SeriesArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    let (mut machine, seed) = machine::open_seeded(global)?;
    let requested = request(&mut *machine, global, args, seed, &stop)?;
    let plan = series::plan(&*machine, &requested.settings);
    say(global, &[report::plan::series_plan(&plan, &requested.settings)])
}
