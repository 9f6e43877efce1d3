//! `plan`: shows what would be measured, and how long it takes.

use crate::args::parse::Invocation;
use crate::args::{PlanArgs, PlannedCommand};
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::exit::{ExitCode, Failure};
use crate::resolve::machine;
use crate::resolve::map::{self, Measuring};
use crate::run::signals;
use coretalk_measure::session::latency;
use coretalk_model::Picos;
use coretalk_report as report;
use coretalk_report::blocks::Block;
use coretalk_report::document::Document;

pub fn execute(invocation: &Invocation, args: &PlanArgs) -> Result<ExitCode, Failure> {
    hand_to(invocation, args, |blocks| say(&invocation.cli.global, blocks))
}

pub(super) fn with_blocks<R>(
    invocation: &Invocation,
    args: &PlanArgs,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    let mut shown = None;
    hand_to(invocation, args, |blocks| {
        shown = Some(show(blocks));
        Ok(ExitCode::Done)
    })?;
    shown.ok_or_else(|| Failure::Usage("blocks of this plan are not passed on".into()))
}

fn hand_to(
    invocation: &Invocation,
    args: &PlanArgs,
    show: impl FnOnce(&[Block<'_>]) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let measuring = match &args.of {
        Some(PlannedCommand::Wait(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Wake(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Queue(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Place(args)) => return super::place::plan(invocation, args),
        Some(PlannedCommand::Spawn(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Contend(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Sharing(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Broadcast(args)) => return super::trials::plan(invocation, &**args),
        Some(PlannedCommand::Latency(args)) if args.asks_for_trials() => {
            return super::trials::plan(invocation, &**args);
        }
        Some(PlannedCommand::Jitter(args)) => return super::trials::plan(invocation, &**args),
        None => Measuring::QuickLook,
        Some(PlannedCommand::Suite) => Measuring::Suite,
        Some(PlannedCommand::Latency(args)) => Measuring::Latency(args),
    };
    let shape = shape(global, "plan")?;
    let stop = signals::stop()?;
    let (mut machine, seed) = machine::open_seeded(global)?;
    let request = map::request(&mut *machine, global, measuring, seed)?;
    let beside =
        request.series.as_ref().map(|series| coretalk_measure::session::series::plan(&*machine, series));
    let blocks_beside = || beside.as_ref().map(report::plan::gathered_plan);
    let Some(settings) = &request.latency else { return show(&Vec::from_iter(blocks_beside())) };
    if let Some(workers) = &request.options.workers {
        machine.engage(workers)?;
    }
    let mut plan = latency::plan(&mut *machine, settings, &stop)?;
    match shape {
        Shape::Text => {
            let mut blocks =
                vec![report::plan::plan(&plan, machine.topology(), beside.is_none()), Block::Gap];
            blocks.extend(blocks_beside());
            show(&blocks)
        }
        Shape::Json(identity) => {
            // The document has one machine time, as there is one budget.
            plan.machine_time += beside.map_or(Picos::ZERO, |beside| beside.machine_time[0]);
            let document =
                Document::of_plan(&plan, machine.topology(), machine.environment(), &settings.cpus, identity);
            hand_over(global, &document)
        }
    }
}
