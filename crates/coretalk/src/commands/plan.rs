//! `plan`: shows what would be measured and how long the measurement takes.

use crate::args::parse::Invocation;
use crate::args::{MapCommand, PlanArgs, PlannedCommand, Subject};
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::measure::Measure;
use crate::resolve::task::Task;
use crate::run::signals;
use coretalk_measure::session::{latency, series};
use coretalk_model::Picos;
use coretalk_report::blocks::Block;
use coretalk_report::document::Document;
use coretalk_report::export::Format;
use coretalk_report::plan::{gathered_plan, place_plan, plan, series_plan};

pub fn execute(invocation: &Invocation, args: &PlanArgs) -> Result<ExitCode, Failure> {
    show_plan(invocation, args, |blocks| say(&invocation.cli.global, blocks))
}

pub(super) fn with_blocks<R>(
    invocation: &Invocation,
    args: &PlanArgs,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    let mut shown = None;
    show_plan(invocation, args, |blocks| {
        shown = Some(show(blocks));
        Ok(ExitCode::Done)
    })?;
    shown.ok_or_else(|| Failure::Usage("a document has no blocks".into()))
}

/// Resolves the command as a measurement does. Passes the blocks of its plan to `show`, or writes the document.
fn show_plan(
    invocation: &Invocation,
    args: &PlanArgs,
    show: impl FnOnce(&[Block<'_>]) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let subject = args.of.as_ref().map_or(Subject::Map(MapCommand::QuickLook), PlannedCommand::subject);
    let shape = shape(global, "plan")?;
    let only_text = || match shape {
        Shape::Text => Ok(()),
        Shape::Json(_) => Err(Failure::Format {
            format: Format::Json,
            sentence: "`json` has plans of maps only, and this plan has none; use text".into(),
        }),
    };
    let stop = signals::stop()?;
    let (mut machine, seed) = machine::open_seeded(global)?;
    let Measure { task, options, .. } = Measure::resolve(&mut *machine, global, subject, seed, &stop)?;
    let (latency, trials) = match &task {
        Task::Comparison { settings, .. } => {
            only_text()?;
            return show(&place_plan(settings, machine.topology()));
        }
        Task::Probes { latency, series } => (latency, series),
    };
    let trials_plan = trials.as_ref().map(|settings| (series::plan(&*machine, settings), settings));
    let blocks_of_trials = || {
        trials_plan.as_ref().map(|(trials, settings)| match settings.gathering() {
            Some(_) => gathered_plan(trials),
            None => series_plan(trials, settings),
        })
    };
    let Some(settings) = latency else {
        only_text()?;
        return show(&Vec::from_iter(blocks_of_trials()));
    };
    if let Some(workers) = &options.workers {
        machine.engage(workers)?;
    }
    let mut map_plan = latency::plan(&mut *machine, settings, &stop)?;
    match shape {
        Shape::Text => {
            let mut blocks = vec![plan(&map_plan, machine.topology(), trials_plan.is_none()), Block::Gap];
            blocks.extend(blocks_of_trials());
            show(&blocks)
        }
        Shape::Json(identity) => {
            // The document has one machine time for the single budget.
            map_plan.machine_time += trials_plan.map_or(Picos::ZERO, |(trials, _)| trials.machine_time[0]);
            let (topology, environment) = (machine.topology(), machine.environment());
            hand_over(global, &Document::of_plan(&map_plan, topology, environment, &settings.cpus, identity))
        }
    }
}
