//! [`Run`]: a call of the tool on a simulated machine, with its screen, its document and the truth of the machine.

use super::sources::Shown;
use crate::cli::tool::Tool;
use coretalk::blocks::value::{Arg, Sentence};
use coretalk::blocks::{Block, Drawing, DrawnNumber};
use coretalk::render::terminal;
use coretalk::report::style::{By, Style};
use coretalk::report::{Saved, Screen, fmt, screen};
use coretalk::store::RunFile;
use coretalk::{RunReport, commands};
use coretalk_measure::pricing::Pricing;
use coretalk_measure::probes::kernel_by_id;
use coretalk_measure::{Machine, Scenario, SimMachine};
use coretalk_model::{CoreClass, CpuId, CpuSet, Domain, Home, Level, Topology};
use serde_json::Value;
use std::ffi::OsString;

/// A call, what it printed, and what is true.
pub struct Run {
    pub words: Vec<String>,
    /// The whole screen.
    pub printed: String,
    /// The first line of a saved run: a finding of trials.
    pub first_line: String,
    /// The typed numbers of the screen of a saved run.
    pub values: Vec<Shown>,
    /// Its typed sentences with those inside them.
    pub sentences: Vec<Sentence>,
    /// The text of blocks that hold composed words with a number.
    pub composed: Vec<String>,
    /// The numbers of its drawings, each with the unit of its drawing.
    pub cells: Vec<(String, DrawnNumber)>,
    /// The CPUs of the sentences of a screen that is no run.
    pub cpus: Vec<CpuSet>,
    pub document: Value,
    /// What the document says that the system reports.
    pub reported: Topology,
    pub machine: SimMachine,
    /// Further documents that the screen speaks of: the sides of a comparison, the source of an advice.
    pub sources: Vec<Value>,
}

/// Columns of every screen here: wide enough that no column is left out.
const WIDTH: usize = 400;

/// Something on a screen that is not so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wrong {
    /// The kind of claim, in one or two words.
    pub claim: &'static str,
    /// Its text.
    pub text: String,
    /// Why it is not so.
    pub why: String,
}

/// A scenario by its name, or by its text.
pub fn scenario(name: &str) -> Scenario {
    match name.contains('=') {
        true => Scenario::from_toml(name).unwrap(),
        false => Scenario::builtin(name).unwrap(),
    }
}

impl Run {
    /// Calls the tool with these words on a machine; its run is saved as `name`.
    pub fn of(tool: &Tool, machine: &str, words: &[&str], name: &str) -> Run {
        let named = match machine.contains('=') {
            true => {
                let file = format!("{name}.toml");
                std::fs::write(tool.path().join(&file), machine).unwrap();
                format!("sim:{file}")
            }
            false => format!("sim:{machine}"),
        };
        let json = format!("{name}.json");
        let rest = ["--machine", &named, "-q", "--name", name, "--export-json", &json];
        let words: Vec<&str> = words.iter().copied().chain(rest).collect();
        let screen = call(tool, &words);
        let document: Value =
            serde_json::from_slice(&std::fs::read(tool.path().join(&json)).unwrap()).unwrap();
        let report = report_of(tool, name);
        // Screens use the shortest prefix of the id.
        let saved = screen.split("saved as ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let blocks = screen::blocks(&report, Screen::Measured(saved.map_or(Saved::Not, Saved::As)));
        let by = if words.contains(&"thread") { By::Thread } else { By::Core };
        let style = Style { width: WIDTH, by, ..Style::default() };
        assert_eq!(terminal::screen(&blocks, &style), screen, "{words:?}");
        let drawings: Vec<Drawing> = blocks.iter().filter_map(|block| drawn(block, &style)).collect();
        let said: Vec<Sentence> = drawings.iter().flat_map(|drawing| drawing.said.clone()).collect();
        let of_drawings = said.iter().flat_map(Sentence::values).map(|value| (Vec::new(), value.clone()));
        let values: Vec<Shown> = blocks.iter().flat_map(shown).chain(of_drawings).collect();
        let in_unit =
            |drawing: Drawing| drawing.numbers.into_iter().map(move |number| (drawing.unit.clone(), number));
        let cells: Vec<(String, DrawnNumber)> = drawings.into_iter().flat_map(in_unit).collect();
        let first_line = blocks.iter().find_map(|block| match block {
            Block::Answer(said) => Some(fmt::sentence(said)),
            _ => None,
        });
        let of_drawings = said.iter().flat_map(Sentence::all).cloned();
        let sentences = blocks.iter().flat_map(sentences).chain(of_drawings).collect();
        let composed = blocks.iter().filter(|block| !block.is_typed());
        let composed = composed.map(|block| terminal::screen(std::slice::from_ref(block), &style)).collect();
        let first_line = first_line.unwrap_or_default();
        Run {
            values,
            sentences,
            composed,
            cells,
            first_line,
            printed: screen,
            ..Run::from(&words, document, machine, Vec::new())
        }
    }

    /// Calls the tool for something that is asked of saved runs, for people and as JSON.
    pub fn asked(tool: &Tool, machine: &str, words: &[&str], sources: Vec<Value>) -> Run {
        let json = call(tool, &[words, &["--format", "json"]].concat());
        Run::of_blocks(tool, machine, words, serde_json::from_str(&json).unwrap(), sources)
    }

    /// Calls the tool for something that is asked of saved runs or files; `document` is what its numbers come from.
    pub fn of_blocks(
        tool: &Tool,
        machine: &str,
        words: &[&str],
        document: Value,
        sources: Vec<Value>,
    ) -> Run {
        let screen = call(tool, words);
        let store = tool.path().join("runs");
        let all = ["coretalk"].iter().chain(words).map(OsString::from);
        let all = all.chain(["--store".into(), store.into()]);
        let style = Style::of_width(WIDTH);
        // A drawing of an advice is lines to copy.
        let snippets: Vec<&str> = list(&document["advice"][0]["snippets"])
            .iter()
            .flat_map(|snippet| snippet["text"].as_str().unwrap_or_default().lines().map(str::trim))
            .collect();
        let run = commands::with_blocks(all, |blocks| {
            assert_eq!(terminal::screen(blocks, &style), screen, "{words:?}");
            let copied =
                blocks.iter().filter(|_| words[0] == "advise").filter_map(|block| drawn(block, &style));
            let mut copied = copied.flat_map(|drawing| drawing.lines);
            assert!(copied.all(|line| snippets.contains(&line.trim())), "{words:?}");
            let composed = blocks.iter().filter(|block| !block.is_typed());
            let composed = composed.map(|block| terminal::screen(std::slice::from_ref(block), &style));
            let first_line = match blocks.first() {
                Some(Block::Answer(answer)) => fmt::sentence(answer),
                _ => String::new(),
            };
            let sentences: Vec<Sentence> = blocks.iter().flat_map(sentences).collect();
            Run {
                values: blocks.iter().flat_map(shown).collect(),
                cpus: sentences.iter().flat_map(cpus_of).collect(),
                sentences,
                composed: composed.collect(),
                first_line,
                ..Run::from(words, document.clone(), machine, sources)
            }
        });
        run.unwrap()
    }

    fn from(words: &[&str], document: Value, machine: &str, sources: Vec<Value>) -> Run {
        let said = if document["topology"].is_null() { sources.first() } else { Some(&document) };
        Run {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            reported: said.map_or_else(|| Topology::flat(CpuSet::new()), reported),
            machine: SimMachine::open(scenario(machine), 1),
            printed: String::new(),
            first_line: String::new(),
            values: Vec::new(),
            sentences: Vec::new(),
            composed: Vec::new(),
            cpus: Vec::new(),
            cells: Vec::new(),
            document,
            sources,
        }
    }

    /// What is truly shared.
    pub fn truth(&self) -> Topology {
        self.machine.bare_stage(&[]).topology().clone()
    }

    /// The CPUs of matrices and trials; of a document without any those of its topology.
    pub fn measured(&self) -> CpuSet {
        let numbers = |list: &Value| -> CpuSet {
            list.as_array()
                .into_iter()
                .flatten()
                .filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32)))
                .collect()
        };
        // What is asked of a run is about its CPUs.
        let document = self.sources.first().unwrap_or(&self.document);
        let matrices = list(&document["matrices"]).iter().map(|matrix| numbers(&matrix["cpus"]));
        let trials = list(&document["series"]).iter().map(|trial| numbers(&trial["placement"]));
        let all = matrices.chain(trials).fold(CpuSet::new(), |all, some| all.union(&some));
        if all.is_empty() { numbers(&self.document["topology"]["cpus"]) } else { all }
    }

    /// What a kernel would say of a pair without noise, in each state of the machine.
    pub fn true_ns(&self, kernel: &str, a: u32, b: u32) -> Vec<f64> {
        let all = self.machine.topology().cpus();
        let (Some(kernel), true, true) =
            (kernel_by_id(kernel), all.contains(CpuId(a)), all.contains(CpuId(b)))
        else {
            return vec![f64::NAN];
        };
        let home = self.machine.topology().node_of(CpuId(a)).map_or(Home(0), Home);
        let other = self.machine.topology().node_of(CpuId(b)).map_or(Home(0), Home);
        let states = self.machine.states().len().max(1);
        (0..states)
            .map(|state| {
                let of = |home| self.machine.true_ns_in(state, CpuId(a), CpuId(b), kernel, home);
                // The better node counts.
                of(home).min(of(other))
            })
            .collect()
    }

    /// Whether this pair changes level on this machine: between its states, or by other work on its cores.
    pub fn moves(&self, a: CpuId, b: CpuId) -> bool {
        let truth = self.true_ns("cas+pause", a.0, b.0);
        self.machine.has_busy_neighbours() || truth.iter().any(|ns| *ns > 1.5 * truth[0])
    }

    /// The groups of these CPUs that latencies truly show, finest first: every pair inside is faster by more than a
    /// seventh than every pair across, and there are pairs of both kinds.
    pub fn true_groups(&self, cpus: &CpuSet) -> Vec<(Level, Vec<CpuSet>)> {
        let truth = self.truth();
        let mut found: Vec<(Level, Vec<CpuSet>)> = Vec::new();
        for level in Level::ALL {
            let groups: Vec<CpuSet> = truth
                .level(level)
                .iter()
                .map(|domain| domain.cpus.intersection(cpus))
                .filter(|group| !group.is_empty())
                .collect();
            let covered: usize = groups.iter().map(CpuSet::len).sum();
            // CPUs in no group of a level stand alone.
            let alone = groups.iter().fold(cpus.clone(), |rest, group| rest.difference(group));
            let all: Vec<CpuSet> =
                groups.into_iter().chain(alone.iter().map(|cpu| CpuSet::from_iter([cpu]))).collect();
            if covered == 0 || all.len() < 2 || all.iter().all(|group| group.len() == 1) {
                continue;
            }
            let (mut inside, mut across) = (0f64, f64::INFINITY);
            for [a, b] in pairs(cpus) {
                let ns = self.true_ns("cas+pause", a.0, b.0)[0];
                match all.iter().any(|group| group.contains(a) && group.contains(b)) {
                    true => inside = inside.max(ns),
                    false => across = across.min(ns),
                }
            }
            let known = found.iter().any(|(_, groups)| *groups == all);
            if across > 1.15 * inside && !known {
                found.push((level, all));
            }
        }
        found
    }
}

/// A saved run.
pub fn report_of(tool: &Tool, name: &str) -> RunReport {
    let path = tool.done(&["runs", "path", name]).out;
    RunFile::open(std::path::Path::new(path.trim())).unwrap().report().unwrap()
}

fn sentences(block: &Block<'_>) -> Vec<Sentence> {
    block.sentences().into_iter().flat_map(Sentence::all).cloned().collect()
}

fn drawn(block: &Block<'_>, style: &Style) -> Option<Drawing> {
    match block {
        Block::Drawing(draw) | Block::Sketch(draw) => Some(draw(style)),
        _ => None,
    }
}

/// The typed numbers of a block, each below the headings of its table.
fn shown(block: &Block<'_>) -> Vec<Shown> {
    let headings: Vec<String> = match block {
        Block::Table(table) => table.columns.iter().map(|column| fmt::sentence(&column.title)).collect(),
        _ => Vec::new(),
    };
    block.values().into_iter().map(|value| (headings.clone(), value.clone())).collect()
}

fn cpus_of(said: &Sentence) -> Vec<CpuSet> {
    let of_arg = |(_, arg): &(&str, Arg)| match arg {
        Arg::Cpus(cpus) => vec![cpus.iter().copied().collect()],
        Arg::CpuSet(cpus) => vec![cpus.clone()],
        _ => Vec::new(),
    };
    said.args.iter().flat_map(of_arg).collect()
}

fn call(tool: &Tool, words: &[&str]) -> String {
    let output = tool.command(words).env("COLUMNS", WIDTH.to_string()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(0), "{words:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The items of a list in a document; none where it is something else.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Every pair of some CPUs, once.
pub fn pairs(cpus: &CpuSet) -> Vec<[CpuId; 2]> {
    let all: Vec<CpuId> = cpus.iter().collect();
    (0..all.len())
        .flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)))
        .map(|(a, b)| [all[a], all[b]])
        .collect()
}

/// What a document says that the system reports.
pub fn reported(document: &Value) -> Topology {
    let mut domains = Vec::new();
    let of_topology = &document["topology"]["reported"];
    for level in list(&of_topology["levels"]) {
        let name = level["level"].as_str().unwrap_or_default();
        let Some(level_of) = Level::ALL.into_iter().find(|level| level.name() == name) else { continue };
        for (group, id) in list(&level["groups"]).iter().zip(0..) {
            let cpus = group.as_str().unwrap_or_default().parse().unwrap();
            domains.push(Domain { level: level_of, cpus, os_id: Some(id) });
        }
    }
    let cpus = list(&document["topology"]["cpus"]).iter().filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32)));
    // A document tells the CPUs that were measured; the system may report more.
    let cpus = domains.iter().fold(cpus.collect::<CpuSet>(), |all, domain| all.union(&domain.cpus));
    let classes = list(&of_topology["classes"]).iter().flat_map(|class| {
        let cpus: CpuSet = class["cpus"].as_str().unwrap_or_default().parse().unwrap();
        let rank = class["rank"].as_u64().unwrap_or_default() as u32;
        let class = CoreClass { rank, name: class["name"].as_str().unwrap_or_default().to_owned() };
        cpus.iter().map(|cpu| (cpu, class.clone())).collect::<Vec<_>>()
    });
    Topology::new(cpus, domains, classes.collect())
}
