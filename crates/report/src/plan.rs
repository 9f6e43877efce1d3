//! The screen of `plan`: the planned measurement and its duration.

use super::fmt::range;
use super::place::{budget, placements, precision};
use crate::blocks::value::{Arg, DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::place::{PlaceSettings, Role, least_repetitions, most_repetitions};
use coretalk_model::plan::{LatencyPlan, SeriesPlan};
use coretalk_model::quantity::Unit;
use coretalk_model::series::SeriesSettings;
use coretalk_model::{Picos, Scope, Topology};

fn rows() -> Table {
    Table::new(["", ""].map(Column::words))
}

fn field(name: &str, number: u64) -> DisplayValue {
    DisplayValue::field(pointer!("/plan/{name}"), Number::Count(number))
}

fn time(time: Picos) -> DisplayValue {
    DisplayValue::bare(Number::Duration(time.secs()), Source::Listed)
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Sentence {
    Sentence::joined(names.into_iter().map(Sentence::name), ", ")
}

/// The plan of a map. The document contains its time only if nothing else is planned.
pub fn plan(plan: &LatencyPlan, topology: &Topology, is_alone: bool) -> Block<'static> {
    let mut table = rows();
    let mut row = |name: &'static str, text: Sentence| table.row([Cell::from(name), text.into()]);
    let of_relation = |(index, (relation, pairs)): (usize, &(_, u64))| {
        Sentence::new("{pairs} {relation}")
            .with("pairs", field(&format!("relations/{index}/pairs"), *pairs))
            .with("relation", Arg::Shared(Scope::from_relation(*relation, topology)))
    };
    let relations = Sentence::joined(plan.relations.iter().enumerate().map(of_relation), ", ");
    let pairs = Sentence::new("{pairs}: {relations}").with("pairs", field("pairs", plan.cells));
    row("pairs", pairs.with("relations", relations));
    let [least, most] = plan.passes;
    let template = if least == most { "{least}" } else { "{least}, up to {most} for wide intervals" };
    let passes = Sentence::new(template).with("least", field("passes/0", u64::from(least)));
    row("passes", passes.with("most", field("passes/1", u64::from(most))));
    let rounds = field("rounds_per_pass", plan.rounds_per_pass);
    row("rounds in a pass", Sentence::new("{rounds}").with("rounds", rounds));
    row("at the same time", pairs_at_once(field("parallel", u64::from(plan.parallel))));
    row("timed code", names(plan.kernels.iter().map(String::as_str)));
    let time = match is_alone {
        true => DisplayValue::field("/plan/machine_time_s", Number::Duration(plan.machine_time.secs())),
        false => time(plan.machine_time),
    };
    row("machine time", Sentence::new("{time} ({basis})").with("time", time).with_name("basis", &plan.basis));
    let bytes = field("file_bytes", plan.file_bytes).in_unit(Unit::Bytes);
    row("run file", Sentence::new("about {bytes}").with("bytes", bytes));
    Block::Table(table)
}

fn pairs_at_once(pairs: DisplayValue) -> Sentence {
    match pairs.number {
        Number::Count(1) => "one pair".into(),
        _ => Sentence::pluralized(
            "up to {number} pair{s}, if a check shows that this does not change the results",
            pairs,
        ),
    }
}

/// The plan of a run of series.
pub fn series_plan(plan: &SeriesPlan, settings: &SeriesSettings) -> Block<'static> {
    let mut table = rows();
    let mut row = |name: &'static str, text: Sentence| table.row([Cell::from(name), text.into()]);
    row("probes", names(settings.probes.iter().map(String::as_str)));
    row("trials", Sentence::new("{trials}").with("trials", DisplayValue::listed(plan.trials)));
    let [least, most] = plan.passes.map(|passes| DisplayValue::listed(passes as usize));
    let messages = settings.options.number("messages").map(|number| DisplayValue::listed(number as usize));
    let template = match messages {
        Some(_) => "{least}, up to {most} for wide intervals",
        None => "{least} of {each}, up to {most} for wide intervals",
    };
    let passes = Sentence::new(template).with("least", least.clone()).with("most", most);
    row("passes", passes.with("each", time(plan.pass)));
    if plan.could_be_parallel {
        row("at the same time", pairs_at_once(DisplayValue::listed(plan.parallel)));
    }
    if let Some(samples) = settings.options.number("samples") {
        let sentence = Sentence::new("{samples} per trial, if the budget allows");
        row("samples", sentence.with("samples", DisplayValue::listed(samples as usize)));
    }
    if plan.settling > Picos::ZERO {
        let sentence = Sentence::new("processes of runtimes start, and settle for at most {settling}");
        row("at first", sentence.with("settling", time(plan.settling)));
    }
    let [short, long] = plan.machine_time.map(time);
    if let Some(messages) = messages {
        let sentence = Sentence::new("{each} per trial in its first {least} passes, if the budget allows");
        row("messages", sentence.with("each", messages).with("least", least));
        let template = "at most {long}: the time per message is known only after some were sent";
        row("machine time", Sentence::new(template).with("long", long));
        return Block::Table(table);
    }
    row("machine time", range([short, long]));
    Block::Table(table)
}

/// The trials that a run of several probes performs after its map.
pub fn gathered_plan(plan: &SeriesPlan) -> Block<'static> {
    let mut table = rows();
    for (probe, trials, pass) in &plan.probes {
        let sentence = Sentence::pluralized(
            "{number} trial{s}, {passes} passes of {each} each",
            DisplayValue::listed(*trials),
        );
        let passes = range(plan.passes.map(|passes| DisplayValue::listed(passes as usize)));
        table.row([Cell::name(probe), sentence.with("passes", passes).with("each", time(*pass)).into()]);
    }
    let all = Sentence::new("{time}, after the map").with("time", range(plan.machine_time.map(time)));
    table.row([Cell::from("machine time"), all.into()]);
    Block::Table(table)
}

/// The plan of a comparison of placements. The duration of a piece of work is unknown before its first run.
pub fn place_plan(settings: &PlaceSettings, topology: &Topology) -> Vec<Block<'static>> {
    let mut table = rows();
    let mut row = |name: &'static str, text: Sentence| table.row([Cell::from(name), text.into()]);
    for (number, work) in settings.works.iter().enumerate() {
        let judged = work.metrics.iter().filter(|metric| metric.role == Role::Judged);
        let ends = [least_repetitions(settings, number), most_repetitions(settings)];
        let runs = range(ends.map(|runs| DisplayValue::listed(runs as usize)));
        let sentence =
            Sentence::new("{work}, judged by {judged}: a warm-up, then {runs} runs on each placement")
                .with_name("work", &work.name)
                .with("judged", names(judged.map(|metric| &*metric.name)));
        row(if number == 0 { "work" } else { "" }, sentence.with("runs", runs));
    }
    if let Some(threads) = settings.threads {
        row("threads", Sentence::new("{threads}").with("threads", DisplayValue::listed(threads)));
    }
    let known = Sentence::new("every main difference is known to ±{precision}");
    row("until", known.with("precision", precision(settings)));
    row("machine time", Sentence::new("at most {budget}").with("budget", budget(settings)));
    let mut blocks = placements(settings, topology);
    blocks.push(Block::Table(table));
    blocks
}
