//! The view of `plan`: what would be measured and how long it takes.

use super::place::placements;
use super::scope::relation_words;
use super::text::{bytes, count, duration, grouped, percent, plain};
use crate::blocks::{Block, Column, Table};
use coretalk_measure::session::latency::PlanReport;
use coretalk_measure::session::series::SeriesPlan;
use coretalk_model::place::{PlaceSettings, Role, least_repetitions, most_repetitions};
use coretalk_model::series::SeriesSettings;
use coretalk_model::{Picos, Topology};

/// The plan of a latency run.
pub fn plan(plan: &PlanReport, topology: &Topology) -> Block<'static> {
    let mut table = Table::new(["", ""].map(Column::words));
    let mut row = |name: &str, text: String| table.row([name.into(), text.into()]);
    let relations: Vec<String> = plan
        .relations
        .iter()
        .map(|(relation, pairs)| {
            format!("{} {}", grouped(*pairs as i64), relation_words(*relation, topology))
        })
        .collect();
    row("pairs", format!("{}: {}", grouped(plan.cells as i64), relations.join(", ")));
    let [least, most] = plan.passes;
    row(
        "passes",
        if least == most { least.to_string() } else { format!("{least}, up to {most} for wide intervals") },
    );
    row("rounds in a pass", grouped(plan.rounds_per_pass as i64));
    row("at the same time", together(u64::from(plan.parallel)));
    row("timed code", plan.kernels.iter().map(|kernel| plain(kernel)).collect::<Vec<_>>().join(", "));
    row("machine time", format!("{} ({})", duration(plan.machine_time.secs()), plain(&plan.basis)));
    row("run file", format!("about {}", bytes(plan.file_bytes)));
    Block::Table(table)
}

/// How many pairs are measured at the same time.
fn together(pairs: u64) -> String {
    match pairs {
        1 => "one pair".to_owned(),
        pairs => {
            format!("up to {}, if a check shows that this does not change the results", count(pairs, "pair"))
        }
    }
}

/// The plan of a run of series.
pub fn series_plan(plan: &SeriesPlan, settings: &SeriesSettings) -> Block<'static> {
    let mut table = Table::new(["", ""].map(Column::words));
    let mut row = |name: &str, text: String| table.row([name.into(), text.into()]);
    row("probes", settings.probes.iter().map(|probe| plain(probe)).collect::<Vec<_>>().join(", "));
    row("trials", grouped(plan.trials as i64));
    let [least, most] = plan.passes;
    let messages = settings.options.number("messages");
    let each = if messages.is_some() { String::new() } else { format!(" of {}", duration(plan.pass.secs())) };
    row("passes", format!("{least}{each}, up to {most} for wide intervals"));
    if plan.could_be_parallel {
        row("at the same time", together(plan.parallel as u64));
    }
    if let Some(samples) = settings.options.number("samples") {
        row("samples", format!("{} per trial, if the budget allows", grouped(samples as i64)));
    }
    if plan.settling > Picos::ZERO {
        let settling = duration(plan.settling.secs());
        row("at first", format!("processes of runtimes start, and settle for at most {settling}"));
    }
    let [short, long] = plan.machine_time.map(|time| duration(time.secs()));
    if let Some(messages) = messages {
        let each = grouped(messages as i64);
        row("messages", format!("{each} per trial in its first {least} passes, if the budget allows"));
        row(
            "machine time",
            format!("at most {long}: the time per message is known only after some were sent"),
        );
        return Block::Table(table);
    }
    row("machine time", if short == long { short } else { format!("{short} to {long}") });
    Block::Table(table)
}

/// The trials that a run of several probes makes beside its map.
pub fn gathered_plan(plan: &SeriesPlan) -> Block<'static> {
    let mut table = Table::new(["", ""].map(Column::words));
    let [least, most] = plan.passes;
    for (probe, trials, pass) in &plan.probes {
        let passes = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let trials = count(*trials as u64, "trial");
        let text = format!("{trials}, {passes} passes of {} each", duration(pass.secs()));
        table.row([plain(probe), text].map(Into::into));
    }
    let [short, long] = plan.machine_time.map(|time| duration(time.secs()));
    let time = if short == long { short } else { format!("{short} to {long}") };
    table.row(["machine time".into(), format!("{time}, after the map").into()]);
    Block::Table(table)
}

/// The plan of a comparison of placements. How long a piece of work takes is known once it has run.
pub fn place_plan(settings: &PlaceSettings, topology: &Topology) -> Vec<Block<'static>> {
    let mut table = Table::new(["", ""].map(Column::words));
    let mut row = |name: &str, text: String| table.row([name.into(), text.into()]);
    for (number, work) in settings.works.iter().enumerate() {
        let judged = work.metrics.iter().filter(|metric| metric.role == Role::Judged);
        let judged: Vec<String> = judged.map(|metric| plain(&metric.name)).collect();
        let (least, most) = (least_repetitions(settings, number), most_repetitions(settings));
        let runs = if least < most { format!("{least} to {most}") } else { least.to_string() };
        row(
            if number == 0 { "work" } else { "" },
            format!(
                "{}, judged by {}: a warm-up, then {runs} runs on each placement",
                plain(&work.name),
                judged.join(", ")
            ),
        );
    }
    if let Some(threads) = settings.threads {
        row("threads", threads.to_string());
    }
    row("until", format!("every main difference is known to ±{}", percent(settings.precision)));
    row("machine time", format!("at most {}", duration(settings.budget.secs())));
    let mut blocks = placements(settings, topology);
    blocks.push(Block::Table(table));
    blocks
}
