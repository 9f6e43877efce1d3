//! The view of `probes`: what can be measured.

use super::text::plain;
use crate::blocks::{Block, Column, Table};
use coretalk_model::{Hint, Protocol, Tool};

/// What a list says of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRow {
    /// Its stable name.
    pub id: String,
    /// The question it answers.
    pub question: String,
    /// Unit of its result.
    pub unit: String,
    /// The stable names of its kernels.
    pub kernels: Vec<String>,
    /// Of a probe of trials: what it measures, by name, and what each does.
    pub variants: Vec<(String, String)>,
}

/// Probes and their kernels in the order of the registry.
pub fn blocks(rows: &[ProbeRow]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for row in rows {
        let question = format!("{}, in {}: {}", plain(&row.id), plain(&row.unit), plain(&row.question));
        blocks.push(Block::Headline(question));
        let heading =
            if row.kernels.is_empty() { ["name", "what it does"] } else { ["kernel", "what is timed"] };
        let kernels = row.kernels.iter().map(|kernel| [plain(kernel), timed(kernel)]);
        let variants = row.variants.iter().map(|(name, does)| [plain(name), plain(does)]);
        let table = Table::new(heading.map(Column::words))
            .with(kernels.chain(variants).map(|cells| cells.map(Into::into)));
        blocks.push(match table.rows.is_empty() {
            // What it measures are numbers and placements, which its options choose.
            true => Block::Prose(format!("see coretalk {} --help", plain(&row.id))),
            false => Block::Table(table),
        });
        blocks.push(Block::Gap);
    }
    blocks.push(Block::Prose("machine code of a timed loop: coretalk probes --asm KERNEL".to_owned()));
    blocks
}

/// Of the ladder alone: no protocol that a map can have.
const RING: &str = "ring";

/// What a kernel does, in a line; empty for one that has no words yet.
fn timed(kernel: &str) -> String {
    if let Some(tool) = Tool::ALL.into_iter().find(|tool| kernel.strip_prefix("as:") == Some(tool.name())) {
        return format!("what {tool} times: its loop, counts and statistic");
    }
    let (protocol, hint) =
        kernel.split_once('+').map_or((kernel, Hint::None), |(name, _)| (name, Hint::Pause));
    if protocol == RING {
        return "a message each way through two rings, one each way; waiting with a pause".to_owned();
    }
    let Some(protocol) = Protocol::ALL.into_iter().find(|known| known.name() == protocol) else {
        return String::new();
    };
    let what = match protocol {
        Protocol::Cas => "both sides compare-and-swap one line, in turn",
        Protocol::Store => "both sides load and store one line, in turn",
        Protocol::Msg => "a message each way, a mailbox line for each direction",
        Protocol::Xfer => "reads of lines that the other CPU wrote, no spin",
        Protocol::OneWay => "a time stamp sent one way, against the fastest of its visit",
    };
    let hint = match hint {
        Hint::None => "",
        Hint::Pause => "; waiting with a pause",
    };
    format!("{what}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_and_tool_is_told_in_words_of_its_own() {
        let names = Protocol::ALL.map(|protocol| protocol.name().to_owned());
        let tools = Tool::ALL.map(|tool| format!("as:{tool}"));
        let mut told: Vec<String> = names.iter().chain(&tools).map(|kernel| timed(kernel)).collect();
        told.extend(["cas+pause", "ring+pause"].map(timed));
        let count = told.len();
        told.sort();
        told.dedup();
        assert!(told.len() == count && !told[0].is_empty(), "{told:?}");
        assert_eq!(timed("unheard-of"), "");
    }
}
