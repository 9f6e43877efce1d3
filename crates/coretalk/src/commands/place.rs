//! `place`: compares placements with the same work.

use crate::args::parse::Invocation;
use crate::args::place::PlaceArgs;
use crate::commands::shape::say;
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::placement::request;
use crate::resolve::run_options::RunOptions;
use crate::run::outputs::{Measured, Outputs};
use crate::run::placement::perform;
use crate::run::segment::Opening;
use crate::run::{resume, signals};
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_model::run::RunSettings;
use coretalk_report::plan::place_plan;

pub fn execute(invocation: &Invocation, args: &PlaceArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::placement::execute(invocation, run, &stop);
    }
    let (mut machine, seed) = machine::open_seeded(global)?;
    let requested = request(&mut *machine, global, args, seed)?;
    let options = RunOptions::of(global, None);
    let outputs = Outputs::open(&options.output, Measured::Placements, &stop)?;
    let settings = RunSettings { place: Some(&requested.settings), ..RunSettings::default() };
    let opening = Opening { invocation, options: &options, settings, stop: &stop };
    let segment = opening.open(&mut *machine)?;
    perform(&mut *machine, segment, requested, SeriesResumedState::default(), &options.output, outputs, &stop)
}

pub fn plan(invocation: &Invocation, args: &PlaceArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let (mut machine, seed) = machine::open_seeded(global)?;
    let settings = request(&mut *machine, global, args, seed)?.settings;
    say(global, &place_plan(&settings, machine.topology()))
}
