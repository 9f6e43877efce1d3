//! [`ImportedFile`]: matrices of another tool.

use super::fmt::digits::count;
use super::lint;
use super::text::plain;
use crate::blocks::Block;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source};
use crate::document::{Document, StructureView};
use coretalk_model::compare::Side;
use coretalk_model::compare::of_import;
use coretalk_model::formats::{ImportedMatrix, Spread};
use coretalk_model::infer::{Findings, Observation};
use coretalk_model::lint::{clock_step, lint as doubts_of};
use coretalk_model::topology::Domain;
use coretalk_model::{Level, Topology};
use std::collections::BTreeMap;

/// A matrix file of another tool. coretalk neither measured nor checked its content.
#[derive(Debug)]
pub struct ImportedFile {
    name: String,
    matrices: Vec<ImportedMatrix>,
    topology: Topology,
    groups: Topology,
    findings: Option<Findings>,
}

impl ImportedFile {
    /// Wraps the matrices of a file; `name` is shown in reports.
    pub fn new(name: String, matrices: Vec<ImportedMatrix>) -> ImportedFile {
        let cpus = matrices.iter().flat_map(|imported| imported.matrix.cpus().iter().copied()).collect();
        let topology = Topology::flat(cpus);
        let findings = matrices.first().map(|first| {
            let observed = first.matrix.map(|cell| cell.map(Observation::bare));
            Findings::of_stepped_matrix(&observed, &topology, clock_step(first))
        });
        let groups = findings.as_ref().map_or_else(|| topology.clone(), |known| grouped(known, &topology));
        ImportedFile { name, matrices, topology, groups, findings }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The CPUs of the file, without any structure.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The CPUs in the groups that the values show, the finest as clusters; for drawing only.
    pub fn groups(&self) -> &Topology {
        &self.groups
    }

    /// The structure that the values of the first matrix show.
    pub fn findings(&self) -> Option<&Findings> {
        self.findings.as_ref()
    }

    /// The unit of the first matrix.
    pub fn unit(&self) -> &'static str {
        self.matrices.first().map_or("ns", |imported| imported.unit.name())
    }

    /// Format, size and unit in one line.
    pub fn about(&self) -> String {
        let first = self.matrices.first();
        let format = first.map_or(String::new(), |imported| imported.format.to_string());
        let unit = first.map_or(String::new(), |imported| imported.unit.to_string());
        format!("a file ({format}) · {} · {unit}", count(self.topology.cpus().len() as u64, "CPU"))
    }

    /// A description of one matrix, in one line.
    pub fn question(&self, index: usize) -> String {
        let title = self.matrices.get(index).and_then(|imported| imported.title.as_deref());
        let title = title.map_or(String::new(), |title| format!("{}: ", plain(title)));
        let unit = self.matrices.get(index).map_or(String::new(), |imported| imported.unit.to_string());
        let ours = self.matrices.get(index).is_some_and(ImportedMatrix::is_ours);
        let whose = if ours { "numbers of coretalk" } else { "numbers of another tool" };
        format!("{title}{whose}, as in its file, {unit}")
    }

    /// The document: the matrices, and the structure that the first matrix shows.
    pub fn document(&self) -> Document<'static> {
        let first = self.matrices.first();
        let view = StructureView {
            reported: None,
            offline: None,
            departed: &[],
            cpus: first.map_or(&[][..], |imported| imported.matrix.cpus()),
            unit: self.unit(),
            findings: self.findings.as_ref(),
            reason: None,
            execution: &[],
            doubts: &first.map_or_else(Vec::new, doubts_of),
        };
        Document::of_imported(self.matrices.iter()).with_structure(&view)
    }

    /// The file as a side of a comparison.
    pub fn side(&self) -> Side {
        of_import(&self.matrices)
    }

    /// The origin of the numbers, unless coretalk measured them on hardware.
    pub fn origin(&self) -> Option<Sentence> {
        match self.matrices.iter().find_map(ImportedMatrix::simulated) {
            Some(machine) => {
                let sentence = Sentence::new("SIMULATED {machine}: this says nothing about hardware.");
                Some(sentence.with_name("machine", machine))
            }
            None if self.matrices.iter().all(ImportedMatrix::is_ours) => None,
            None => Some("Measured by another tool; coretalk checked none of it.".into()),
        }
    }

    /// A summary of the numbers.
    pub fn summary(&self) -> Vec<Block<'static>> {
        let mut blocks: Vec<Block<'_>> = self.origin().map(Block::Prose).into_iter().collect();
        let several = self.matrices.len() > 1;
        for imported in &self.matrices {
            let title = imported.title.as_deref().filter(|_| several);
            let titled = |words: Sentence| {
                let title = title.map(Sentence::name);
                Sentence::joined(title.into_iter().chain([words]), ": ")
            };
            let unit = imported.unit.name();
            if let Some(Spread { least, median, most, .. }) = imported.spread() {
                let value = |number| DisplayValue::bare(Number::Point(number), Source::Unrecorded);
                let sentence = Sentence::new("{least} to {most} {unit}, median {median}.")
                    .with("least", value(least))
                    .with("most", value(most))
                    .with("unit", unit)
                    .with("median", value(median));
                blocks.push(Block::Prose(titled(sentence)));
            }
            let doubts = doubts_of(imported);
            let doubts = doubts.iter().enumerate();
            blocks.extend(doubts.map(|(at, doubt)| Block::Doubt(titled(lint::words(at, doubt, unit)))));
        }
        blocks
    }
}

/// The inferred groups as a topology for drawing: the finest inferred level becomes `Cluster`, the next `L3` and so on.
fn grouped(findings: &Findings, flat: &Topology) -> Topology {
    let levels = findings.structure.as_ref().map_or(&[][..], |structure| &structure.levels);
    let outwards = [Level::Cluster, Level::L3, Level::Die, Level::Node, Level::Package];
    let domains = levels.iter().zip(outwards).flat_map(|(inferred, level)| {
        inferred.groups.iter().map(move |cpus| Domain { level, cpus: cpus.clone(), os_id: None })
    });
    Topology::new(flat.cpus().clone(), domains.collect(), BTreeMap::new())
}
