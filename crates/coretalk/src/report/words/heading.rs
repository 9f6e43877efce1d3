//! How the screens of a run begin: what it is, on which machine, and what disturbed it.

use crate::RunReport;
use crate::blocks::Block;
use crate::blocks::value::Sentence;
use crate::report::saved::Screen;
use crate::report::scope::level_words;
use crate::report::text::{count, duration, grouped, percent, plain, started};
use coretalk_model::environment::{Atomics, Virtualization, hypervisor_words};
use coretalk_model::{Environment, Level, Topology};

/// What was measured: tool, machine, size, system, time.
pub fn title(report: &RunReport) -> Vec<String> {
    let environment = &report.environment;
    let mut parts: Vec<String> = Vec::new();
    if report.header.simulated {
        parts.push(format!("SIMULATED {}", plain(environment.simulated.as_deref().unwrap_or("machine"))));
    }
    parts.extend(environment.label.as_deref().map(plain));
    let model = environment.stated_cpu_model();
    if !report.header.simulated || model.is_some() {
        parts.push(model.map_or("unknown CPU".into(), short_model));
    }
    parts.push(size(&report.topology));
    if !report.header.simulated {
        parts.push(virtualization(environment));
        parts.extend(environment.atomics.map(atomics).map(str::to_owned));
        parts.extend(environment.kernel.as_deref().map(plain));
    }
    // A run of series says with each number from how many events it is.
    let watched = report.latency.as_ref().map(|latency| latency.result.watched.secs());
    parts.extend(watched.map(|secs| format!("watched for {}", duration(secs))));
    parts.push(format!("coretalk {}", plain(&report.header.tool_version)));
    parts
}

/// The name of a CPU as people say it: without marks of ownership, its number of cores, which stands beside it, and its
/// nominal clock, which is not the one that it has.
fn short_model(model: &str) -> String {
    let mut name = plain(model);
    ["(R)", "(r)", "(TM)", "(tm)"].iter().for_each(|mark| name = name.replace(mark, ""));
    if let Some(at) = name.find(" @ ") {
        name.truncate(at);
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_told = |word: &&&str| !matches!(**word, "CPU" | "Processor") && !word.ends_with("-Core");
    let told: Vec<&str> = words.iter().filter(is_told).copied().collect();
    if told.is_empty() { name } else { told.join(" ") }
}

/// How every screen of a run begins: what disturbed it, its title, and of a run from a file when it was measured.
pub fn heading(report: &RunReport, screen: Screen<'_>) -> Vec<Block<'static>> {
    // Whoever reads one line more has to know it.
    let disturbed = disturbance(&report.environment).map(|disturbed| {
        let again = match report.environment.disturbance() {
            Some(_) => "on an idle machine",
            None => "with a larger CPU quota",
        };
        Block::Headline(format!("{disturbed}; numbers may be wrong: measure again {again}").into())
    });
    let mut blocks: Vec<Block<'_>> = disturbed
        .into_iter()
        .chain([Block::Title(title(report).into_iter().map(Sentence::from).collect())])
        .collect();
    if let Screen::Shown(_) | Screen::Whole(_) = screen {
        blocks.push(Block::Question(format!("measured {}", started(&report.header.started)).into()));
    }
    blocks
}

/// What other programs or a CPU quota did to a run, where that casts doubt on it.
pub fn disturbance(environment: &Environment) -> Option<String> {
    let others = environment.disturbance();
    let others = others.map(|share| format!("other programs took {} of the CPUs", percent(share)));
    let quota = environment.throttled.filter(|throttled| throttled.times > 0).map(|throttled| {
        let long =
            throttled.seconds.map_or(String::new(), |seconds| format!(", {} in all", duration(seconds)));
        let from = throttled.from_s.filter(|from_s| *from_s >= 1.0);
        let from = from.map_or(String::new(), |from_s| format!(", from {} on", duration(from_s)));
        format!("the CPU quota stopped this process {}{long}{from}", times(throttled.times))
    });
    let parts: Vec<String> = others.into_iter().chain(quota).collect();
    (!parts.is_empty()).then(|| format!("disturbed: {}", parts.join("; ")))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count as i64)) }
}

/// What the system stands on: only what there is evidence of.
pub fn virtualization(environment: &Environment) -> String {
    match environment.virtualization() {
        Virtualization::Guest(hypervisor) => format!("guest of {}", plain(hypervisor_words(hypervisor))),
        Virtualization::Emulated(by) => format!("emulated by {}", plain(by)),
        Virtualization::BareMetal => "bare metal".to_owned(),
        Virtualization::Unknown => "hypervisor unknown".to_owned(),
    }
}

/// That an emulator executes every instruction, where one does: whatever rests on times says nothing about hardware.
pub fn emulation(environment: &Environment) -> Option<String> {
    let by = environment.emulator.as_deref().map(plain)?;
    Some(format!("{by} emulates the processor: timings here say nothing about hardware"))
}

/// How a compare-and-swap is executed, which its time depends on.
pub fn atomics(atomics: Atomics) -> &'static str {
    match atomics {
        Atomics::Lse => "LSE atomics",
        Atomics::LlSc => "LL/SC atomics",
    }
}

/// `16 cores, 32 CPUs, 2 L3`: what the system reports, and only that.
pub fn size(topology: &Topology) -> String {
    let number = |level| topology.level(level).len();
    let cpus = topology.cpus().len();
    let cores = number(Level::Core);
    let mut parts = Vec::new();
    if cores > 0 && cores < cpus {
        parts.push(count(cores as u64, "core"));
    }
    parts.push(count(cpus as u64, "CPU"));
    for level in [Level::L3, Level::Node, Level::Package, Level::Book, Level::Drawer] {
        let groups = number(level);
        if groups > 1 {
            parts.push(format!("{groups} {}", level_words(level, groups)));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_processor_is_named_wherever_times_are_used() {
        let emulated = Environment { emulator: Some("qemu-tcg".to_owned()), ..Environment::default() };
        let said = emulation(&emulated).unwrap();
        assert_eq!(said, "qemu-tcg emulates the processor: timings here say nothing about hardware");
        assert_eq!(emulation(&Environment::default()), None);
    }

    #[test]
    fn a_cpu_is_called_what_people_call_it() {
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
