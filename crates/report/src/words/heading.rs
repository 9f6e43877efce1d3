//! The heading of the screens of a run: measurement, machine, and disturbances.

use crate::blocks::Block;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::saved::Screen;
use crate::scope::level_words;
use crate::text::{plain, started};
use coretalk_model::environment::{Atomics, Virtualization, hypervisor_words};
use coretalk_model::quantity::Unit;
use coretalk_model::run::RunReport;
use coretalk_model::{Environment, Level, Topology};

/// The title of a run: tool, machine, size, system, time.
pub fn title(report: &RunReport) -> Vec<Sentence> {
    let environment = &report.environment;
    let mut parts: Vec<Sentence> = Vec::new();
    if report.header.simulated {
        let scenario = environment.simulated.as_deref().unwrap_or("machine");
        parts.push(Sentence::new("SIMULATED {scenario}").with_name("scenario", scenario));
    }
    parts.extend(environment.label.as_deref().map(Sentence::name));
    let model = environment.stated_cpu_model();
    if !report.header.simulated || model.is_some() {
        parts.push(model.map_or("unknown CPU".into(), |model| Sentence::name(&short_model(model))));
    }
    parts.push(size(&report.topology));
    if !report.header.simulated {
        parts.push(virtualization(environment));
        parts.extend(environment.atomics.map(|kind| Sentence::new(atomics(kind))));
        parts.extend(environment.kernel.as_deref().map(Sentence::name));
    }
    // Only latencies are watched. A run of series states the number of events with each value.
    parts.extend(report.latency.as_ref().map(|latency| {
        // Without a watch, the document does not contain the time; it is a part of the budget.
        let source = match report.watch() {
            Some(_) => Source::Field("/watch/watched_s".to_owned()),
            None => Source::Option("budget"),
        };
        let watched = DisplayValue::bare(Number::Duration(latency.result.watched.secs()), source);
        Sentence::new("watched for {watched}").with("watched", watched)
    }));
    parts.push(Sentence::new("coretalk {version}").with_name("version", &report.header.tool_version));
    parts
}

/// Removes trademarks, the number of cores, and the nominal clock, which is not the actual clock.
fn short_model(model: &str) -> String {
    let mut name = plain(model);
    ["(R)", "(r)", "(TM)", "(tm)"].iter().for_each(|mark| name = name.replace(mark, ""));
    if let Some(at) = name.find(" @ ") {
        name.truncate(at);
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_kept = |word: &&&str| !matches!(**word, "CPU" | "Processor") && !word.ends_with("-Core");
    let kept: Vec<&str> = words.iter().filter(is_kept).copied().collect();
    if kept.is_empty() { name } else { kept.join(" ") }
}

/// The heading of every screen of a run: its disturbance, its title, and for a saved run the time of measurement.
pub fn heading(report: &RunReport, screen: Screen<'_>) -> Vec<Block<'static>> {
    // Shown first, because it affects everything below.
    let disturbed = disturbance(&report.environment).map(|disturbed| {
        let remedy = match report.environment.disturbance() {
            Some(_) => "on an idle machine",
            None => "with a larger CPU quota",
        };
        let sentence = Sentence::new("{disturbed}; numbers may be wrong: measure again {again}");
        Block::Headline(sentence.with("disturbed", disturbed).with("again", remedy))
    });
    let mut blocks: Vec<Block<'_>> = disturbed.into_iter().chain([Block::Title(title(report))]).collect();
    if let Screen::Shown(_) | Screen::Whole(_) = screen {
        let sentence = Sentence::new("measured {started}");
        blocks.push(Block::Question(sentence.with_name("started", &started(&report.header.started))));
    }
    blocks
}

/// How other programs or a CPU quota disturbed a run, if that makes it doubtful.
pub fn disturbance(environment: &Environment) -> Option<Sentence> {
    let field = |key: &str, number| DisplayValue::field(pointer!("/environment/{key}"), number);
    let others = environment.disturbance().map(|share| {
        let share = field("others_share", Number::Point(share)).in_unit(Unit::Share);
        Sentence::new("other programs took {share} of the CPUs").with("share", share)
    });
    let quota = environment.throttled.filter(|throttled| throttled.times > 0).map(|throttled| {
        let time = |template, key: &str, seconds: Option<f64>| {
            let time = |seconds| field(&format!("throttled/{key}"), Number::Duration(seconds));
            seconds.map_or(Sentence::new(""), |seconds| Sentence::new(template).with("time", time(seconds)))
        };
        let often = match throttled.times {
            1 => Sentence::new("once"),
            times => {
                Sentence::new("{times} times").with("times", field("throttled/times", Number::Count(times)))
            }
        };
        Sentence::new("the CPU quota stopped this process {often}{long}{from}")
            .with("often", often)
            .with("long", time(", {time} in all", "seconds", throttled.seconds))
            .with("from", time(", from {time} on", "from_s", throttled.from_s.filter(|from| *from >= 1.0)))
    });
    let parts: Vec<Sentence> = others.into_iter().chain(quota).collect();
    (!parts.is_empty())
        .then(|| Sentence::new("disturbed: {parts}").with("parts", Sentence::joined(parts, "; ")))
}

/// The kind of virtualization, according to the evidence.
pub fn virtualization(environment: &Environment) -> Sentence {
    match environment.virtualization() {
        Virtualization::Guest(hypervisor) => {
            Sentence::new("guest of {name}").with_name("name", hypervisor_words(hypervisor))
        }
        Virtualization::Emulated(by) => Sentence::new("emulated by {name}").with_name("name", by),
        Virtualization::BareMetal => Sentence::new("bare metal"),
        Virtualization::Unknown => Sentence::new("hypervisor unknown"),
    }
}

/// States that times show nothing about hardware, because an emulator executes every instruction; `None` without one.
pub fn emulation(environment: &Environment) -> Option<Sentence> {
    let sentence =
        Sentence::new("{emulator} emulates the processor: timings here say nothing about hardware");
    Some(sentence.with_name("emulator", environment.emulator.as_deref()?))
}

/// How compare-and-swap is executed, which determines its latency.
pub fn atomics(atomics: Atomics) -> &'static str {
    match atomics {
        Atomics::Lse => "LSE atomics",
        Atomics::LlSc => "LL/SC atomics",
    }
}

/// The reported size: `16 cores, 32 CPUs, 2 L3`.
pub fn size(topology: &Topology) -> Sentence {
    let cpus = topology.cpus().len();
    let of_level = |level| {
        let groups = topology.level(level).len();
        Sentence::new("{number} {level}")
            .with(
                "number",
                DisplayValue::bare(Number::Count(groups as u64), Source::of_level(topology, level)),
            )
            .with("level", level_words(level, groups))
    };
    let cores = (1..cpus).contains(&topology.level(Level::Core).len()).then(|| of_level(Level::Core));
    let all = Sentence::counted(cpus as u64, Source::ReportedCpus, ["CPU", "CPUs"]);
    let outer = [Level::L3, Level::Node, Level::Package, Level::Book, Level::Drawer];
    let outer = outer.into_iter().filter(|&level| topology.level(level).len() > 1).map(of_level);
    Sentence::joined(cores.into_iter().chain([all]).chain(outer), ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmt;

    #[test]
    fn an_emulated_processor_is_named_wherever_times_are_used() {
        let emulated = Environment { emulator: Some("qemu-tcg".to_owned()), ..Environment::default() };
        let text = fmt::sentence(&emulation(&emulated).unwrap());
        assert_eq!(text, "qemu-tcg emulates the processor: timings here say nothing about hardware");
        assert!(emulation(&Environment::default()).is_none());
    }

    #[test]
    fn cpu_models_get_their_common_names() {
        for (model, name) in [
            ("AMD Ryzen 9 5950X 16-Core Processor", "AMD Ryzen 9 5950X"),
            ("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "Intel Core i7-8700"),
            ("Intel(R) Xeon(R) Processor @ 2.10GHz", "Intel Xeon"),
            ("Processor", "Processor"),
            ("Neoverse-N1", "Neoverse-N1"),
        ] {
            assert_eq!(short_model(model), name);
        }
    }
}
