//! `place`: the same work on several placements.

use crate::args::parse::Invocation;
use crate::args::place::PlaceArgs;
use crate::exit::{ExitCode, Failure};
use crate::report::plan::place_plan;
use crate::resolve::placement::request;
use crate::resolve::saving::SaveTarget;
use crate::resolve::{machine, output};
use crate::run::out::Out;
use crate::run::outputs::Outputs;
use crate::run::placement::{Segment, one_format, sit};
use crate::run::{resume, segment, signals, trials};
use crate::store::NewRun;
use coretalk_measure::session::series::SeriesPast;

/// Compares placements, or goes on with a comparison.
///
/// # Errors
/// [`Failure`]; the runs made until then are saved.
pub fn act(invocation: &Invocation, args: &PlaceArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::placement::act(invocation, Some(args), run, &stop);
    }
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    let requested = request(&*machine, global, args, seed)?;
    let options = output::options(global);
    one_format(&options, &requested.works)?;
    let outputs = Outputs::open(&options, &stop)?;
    let findings = machine.examine();
    let mut environment = machine.environment().clone();
    environment.label.clone_from(&global.label);
    environment.notes.extend(global.note.iter().cloned());
    let target = if global.no_save {
        SaveTarget::Nowhere
    } else {
        SaveTarget::Store { directory: global.store.clone(), tag: global.name.clone() }
    };
    let header = segment::header(invocation, &target, seed, &environment);
    let topology = machine.topology().clone();
    let asked = requested.settings.to_series();
    let new = NewRun {
        header: &header,
        environment: &environment,
        findings: &findings,
        topology: &topology,
        settings: &trials::nothing(&asked),
        series: Some(&asked),
        allowed: &machine.allowance().cpuset,
    };
    let (sink, path) = segment::keeper(&new, &target, options.verbosity, &stop)?;
    let past = SeriesPast::default();
    let segment = Segment { header, environment, findings, topology, requested, past, sink, path };
    sit(&mut *machine, segment, &options, outputs, &stop)
}

/// `plan` of a comparison.
///
/// # Errors
/// As comparing itself would be refused.
pub fn plan(invocation: &Invocation, args: &PlaceArgs) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let machine = machine::open(global.machine.as_ref(), seed)?;
    let settings = request(&*machine, global, args, seed)?.settings;
    let output = global.output.as_deref();
    Out::open(output)?.text(&place_plan(&settings, machine.topology(), output::width(output)))?;
    Ok(ExitCode::Done)
}
