//! [`Run`]: a call of the tool with its screen and its document.

use super::printed::Printed;
use super::sources::{Shown, entries, trial_of};
use crate::cli::tool::{Tool, said, words as split};
use coretalk::commands;
use coretalk::store::RunFile;
use coretalk_model::series::TrialId;
use coretalk_model::{CoreClass, CpuId, CpuSet, Domain, Level, Relation, Topology};
use coretalk_report::blocks::value::Sentence;
use coretalk_report::blocks::{Block, Cell, Drawing, DrawnNumber, Table};
use coretalk_report::document::Identity;
use coretalk_report::input::ReportInput;
use coretalk_report::render::terminal;
use coretalk_report::style::{By, Style};
use coretalk_report::{Saved, Screen, fmt, html, screen};
use serde_json::Value;
use std::ffi::OsString;

/// A call of the tool with its output.
#[derive(Clone)]
pub struct Run {
    pub words: Vec<String>,
    pub printed: String,
    /// The first line of a screen with results: a finding.
    pub first_line: String,
    /// The typed numbers of the screen, and of the tables of the page of a saved run.
    pub values: Vec<Shown>,
    /// The typed sentences of the screen, and those inside them.
    pub sentences: Vec<Sentence>,
    pub rows: Vec<Vec<Cell>>,
    /// The numbers of the drawings, each with the unit of its drawing.
    pub cells: Vec<(String, DrawnNumber)>,
    pub document: Value,
    /// The trials of [`entries`] of the document, in the same order.
    pub trials: Vec<TrialId>,
    /// The reported topology, from the document.
    pub reported: Topology,
    /// Documents of the runs behind the screen: the sides of a comparison, the source of an advice.
    pub sources: Vec<Value>,
}

/// The width of every screen: no column of a table is left out.
const WIDTH: usize = 400;

impl Run {
    /// Measures on a machine and saves the run as `name`.
    pub fn perform(tool: &Tool, machine: &str, words: &str, name: &str) -> Run {
        let mut machine_name = machine.to_owned();
        if machine.contains('=') {
            machine_name = format!("{name}.toml");
            tool.write(&machine_name, machine);
        }
        let words =
            format!("{words} --machine sim:{machine_name} -q --name {name} --export-json {name}.json");
        let screen = call(tool, &words);
        let document = serde_json::from_str(&tool.read(format!("{name}.json"))).unwrap();
        let path = tool.done(&["runs", "path", name]).out;
        let report = RunFile::open(path.trim().as_ref()).unwrap().report().unwrap();
        // Screens use the shortest prefix of the id.
        let saved = screen.split("saved as ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let blocks = screen::blocks(&report, Screen::Measured(saved.map_or(Saved::Not, Saved::As)));
        let mut run = Run::of_screen(&words, document, Vec::new(), &blocks, screen);
        let page = html::series::tables(&ReportInput::new(&report, name, Identity::Hidden));
        let on_page = page.iter().flat_map(Table::values);
        run.values.extend(on_page.map(|(column, value)| (vec![fmt::sentence(&column.title)], value.clone())));
        run
    }

    /// Calls a command about saved runs, once for the screen and once for the JSON document.
    pub fn asked(tool: &Tool, words: &str, sources: Vec<Value>) -> Run {
        let json = call(tool, &format!("{words} --format json"));
        Run::of_blocks(tool, words, serde_json::from_str(&json).unwrap(), sources)
    }

    /// Calls a command about saved runs or files; `document` has its numbers.
    pub fn of_blocks(tool: &Tool, words: &str, document: Value, sources: Vec<Value>) -> Run {
        let screen = call(tool, words);
        let all = ["coretalk"].into_iter().chain(words.split_whitespace()).map(OsString::from);
        let all = all.chain(["--store".into(), tool.path().join("runs").into()]);
        let of_blocks = |blocks: &[Block<'_>]| Run::of_screen(words, document, sources, blocks, screen);
        commands::with_blocks(all, of_blocks).unwrap()
    }

    fn of_screen(
        words: &str,
        document: Value,
        sources: Vec<Value>,
        blocks: &[Block<'_>],
        printed: String,
    ) -> Run {
        let by = if words.contains("--by thread") { By::Thread } else { By::Core };
        let style = Style { width: WIDTH, by, ..Style::default() };
        assert_eq!(terminal::screen(blocks, &style), printed, "{words}");
        let drawings: Vec<Drawing> = blocks.iter().filter_map(|block| drawn(block, &style)).collect();
        if words.starts_with("advise") {
            // A drawing of an advice consists of command lines.
            let snippets = list(&document["advice"][0]["snippets"]).iter();
            let lines = snippets.flat_map(|snippet| snippet["text"].as_str().unwrap_or_default().lines());
            let lines: Vec<&str> = lines.map(str::trim).collect();
            let mut copied = drawings.iter().flat_map(|drawing| &drawing.lines);
            assert!(copied.all(|line| lines.contains(&line.trim())), "{words}");
        }
        let drawn_sentences = drawings.iter().flat_map(|drawing| &drawing.said);
        let of_drawings = drawn_sentences.clone().flat_map(Sentence::values);
        let of_drawings = of_drawings.map(|value| (Vec::new(), value.clone()));
        let blocks: Vec<&Block<'_>> = blocks.iter().flat_map(with_narrow).collect();
        let values: Vec<Shown> = blocks.iter().flat_map(|block| shown(block)).chain(of_drawings).collect();
        let first_line = blocks.iter().find_map(|block| match block {
            Block::Answer(sentence) => Some(fmt::sentence(sentence)),
            _ => None,
        });
        let sentences = blocks.iter().flat_map(|block| block.sentences()).chain(drawn_sentences);
        let sentences: Vec<Sentence> = sentences.flat_map(Sentence::all).cloned().collect();
        let in_unit =
            |drawing: Drawing| drawing.numbers.into_iter().map(move |number| (drawing.unit.clone(), number));
        let cells: Vec<_> = drawings.into_iter().flat_map(in_unit).collect();
        // A walk that omits blocks has too few numbers and sentences for the printed text.
        let numerals = printed.split_whitespace().filter(|word| Printed::read(word).is_some()).count();
        // A plan has times as text, and a topology has CPUs in boxes.
        let is_sparse = ["plan", "topology"].iter().any(|command| words.starts_with(command));
        let least = numerals / if is_sparse { 15 } else { 5 };
        assert!(values.len() + cells.len() > least, "{words}: {} of {numerals} numbers", values.len());
        let lines = printed.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(2 * sentences.len() > lines, "{words}: {} sentences in {lines} lines", sentences.len());
        let rows = blocks.iter().filter_map(|block| table(block)).flat_map(|table| table.rows.clone());
        let reporting = if document["topology"].is_null() { sources.first() } else { Some(&document) };
        Run {
            words: words.split_whitespace().map(str::to_owned).collect(),
            printed,
            first_line: first_line.unwrap_or_default(),
            values,
            sentences,
            rows: rows.collect(),
            cells,
            reported: reporting.map_or_else(|| Topology::flat(CpuSet::new()), reported),
            trials: entries(&document).map(trial_of).collect(),
            document,
            sources,
        }
    }

    /// The parts that a planted fault may change.
    pub fn said(&self) -> (&Value, &str, &str, &[Sentence]) {
        (&self.document, &self.printed, &self.first_line, &self.sentences)
    }

    /// Replaces a field of the document, if it exists.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        if let Some(field) = self.document.pointer_mut(path) {
            *field = value.into();
        }
    }

    /// Changes a list of the document, if it exists.
    pub fn edit_list(&mut self, path: &str, change: impl Fn(&mut Vec<Value>)) {
        let list = self.document.pointer_mut(path).and_then(Value::as_array_mut);
        list.into_iter().for_each(change);
    }

    /// The [`entries`] of the document with their trials.
    pub fn entries(&self) -> impl Iterator<Item = ([&Value; 2], TrialId)> {
        entries(&self.document).zip(self.trials.iter().copied())
    }

    /// The reported core class of a CPU; empty without classes.
    pub fn class(&self, cpu: CpuId) -> &str {
        self.reported.class_of(cpu).map_or("", |class| &class.name)
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        Some(self.words.iter().skip_while(|word| word.trim_start_matches("--") != name).nth(1)?.as_str())
    }

    /// The CPUs of matrices and trials, or of the topology of a document without them.
    pub fn measured(&self) -> CpuSet {
        // A command about a run shows the CPUs of that run.
        let document = self.sources.first().unwrap_or(&self.document);
        let matrices = list(&document["matrices"]).iter().map(|matrix| &matrix["cpus"]);
        let trials = list(&document["series"]).iter().map(|trial| &trial["placement"]);
        let all: CpuSet = matrices.chain(trials).flat_map(cpus).collect();
        if all.is_empty() { cpu_set(&self.document["topology"]["cpus"]) } else { all }
    }
}

/// A block and the blocks that replace it on a narrow terminal.
fn with_narrow<'a, 'b>(block: &'a Block<'b>) -> Vec<&'a Block<'b>> {
    match block {
        Block::Wide(_, narrow) => [block].into_iter().chain(narrow).collect(),
        _ => vec![block],
    }
}

fn table<'a, 'b>(block: &'a Block<'b>) -> Option<&'a Table> {
    match block {
        Block::Table(table) | Block::Wide(table, _) => Some(table),
        _ => None,
    }
}

fn drawn(block: &Block<'_>, style: &Style) -> Option<Drawing> {
    match block {
        Block::Drawing(draw) | Block::Sketch(draw) => Some(draw(style)),
        _ => None,
    }
}

/// The numbers of a block with the headings of its table.
fn shown(block: &Block<'_>) -> Vec<Shown> {
    let columns = table(block).into_iter().flat_map(|table| &table.columns);
    let headings: Vec<String> = columns.map(|column| fmt::sentence(&column.title)).collect();
    block.values().into_iter().map(|value| (headings.clone(), value.clone())).collect()
}

fn call(tool: &Tool, words: &str) -> String {
    let output = said(tool.command(&split(words)).env("COLUMNS", WIDTH.to_string()).output().unwrap());
    assert_eq!(output.code, 0, "{words}: {}", output.err);
    output.out
}

/// The items of a JSON list; none for other values.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn cpus(ids: &Value) -> Vec<CpuId> {
    list(ids).iter().filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32))).collect()
}

pub fn cpu_set(ids: &Value) -> CpuSet {
    cpus(ids).into_iter().collect()
}

pub fn relation(name: &Value) -> Option<Relation> {
    Relation::ALL.into_iter().find(|relation| name == relation.name())
}

pub fn ends_of(cell: &Value) -> [CpuId; 2] {
    ["from", "to"].map(|end| CpuId(cell[end].as_u64().unwrap_or_default() as u32))
}

/// The topology that the system reports, from the document.
pub fn reported(document: &Value) -> Topology {
    let mut domains = Vec::new();
    let topology = &document["topology"]["reported"];
    for object in list(&topology["levels"]) {
        let Some(level) = Level::ALL.into_iter().find(|level| object["level"] == level.name()) else {
            continue;
        };
        for (group, id) in list(&object["groups"]).iter().zip(0..) {
            let cpus = group.as_str().unwrap_or_default().parse().unwrap();
            domains.push(Domain { level, cpus, os_id: Some(id) });
        }
    }
    // The system may report more CPUs than were measured.
    let measured = cpu_set(&document["topology"]["cpus"]);
    let cpus = domains.iter().fold(measured, |all, domain| all.union(&domain.cpus));
    let classes = list(&topology["classes"]).iter().flat_map(|class| {
        let cpus: CpuSet = class["cpus"].as_str().unwrap_or_default().parse().unwrap();
        let rank = class["rank"].as_u64().unwrap_or_default() as u32;
        let class = CoreClass { rank, name: class["name"].as_str().unwrap_or_default().to_owned() };
        cpus.iter().map(|cpu| (cpu, class.clone())).collect::<Vec<_>>()
    });
    Topology::new(cpus, domains, classes.collect())
}
