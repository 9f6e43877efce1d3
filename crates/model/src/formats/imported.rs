//! [`ImportedMatrix`]: what a file of another tool says, and what is doubtful about it.

use std::fmt;

use crate::{CpuId, Matrix, Topology, stats};

/// One latency matrix as its file has it: nothing is converted, nothing is made up.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedMatrix {
    /// The format that was recognised.
    pub format: FormatId,
    /// What the file calls this matrix, such as `Cache line offset: 64` where it holds several.
    pub title: Option<String>,
    /// The latencies in [`unit`](ImportedMatrix::unit); `None` is "not in the file", and so is the diagonal. A triangle,
    /// or a square whose halves agree, is symmetric; any other square keeps both directions.
    pub matrix: Matrix<Option<f64>>,
    /// What the numbers count.
    pub unit: Unit,
    /// Where the CPU ids of the matrix come from.
    pub labels: Labels,
    /// Whether the file's numbers have decimals.
    pub printed: Printed,
    /// What the file says that the CPUs share; `None` where it says nothing of that.
    pub reported: Option<Topology>,
    /// What the file says about itself, key and value, in its order.
    pub metadata: Vec<(String, String)>,
    /// What a reader of these numbers should know.
    pub warnings: Vec<Warning>,
}

/// The values of a file, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub most: f64,
    /// How many there are.
    pub values: usize,
}

impl ImportedMatrix {
    /// What the file says under a key.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Whether coretalk measured these numbers; it writes those that it only read in the same format.
    pub fn is_ours(&self) -> bool {
        let is_format = matches!(self.format, FormatId::CoretalkCsv | FormatId::CoretalkJson);
        is_format && self.fact("tool").is_some_and(|tool| tool.starts_with("coretalk "))
    }

    /// The machine, where it was a simulated one.
    pub fn simulated(&self) -> Option<&str> {
        self.fact("simulated")
            .filter(|text| *text == "true")
            .map(|_| self.fact("machine").unwrap_or("machine"))
    }

    /// How far its latencies reach, without the diagonal and zeros, which are none; `None` where there is none.
    pub fn spread(&self) -> Option<Spread> {
        let pairs = self.matrix.iter().filter(|(row, column, _)| row != column);
        let mut values: Vec<f64> =
            pairs.filter_map(|(_, _, cell)| cell.filter(|value| *value > 0.0)).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Spread { least, median: stats::median_of_sorted(&values)?, most, values: values.len() })
    }
}

named! {
    /// The file formats that can be read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
    pub enum FormatId {
        /// `csv` of coretalk: a `#` block, a header row with CPU ids, the full square.
        CoretalkCsv = "coretalk-csv",
        /// `json` of coretalk: the latency maps of its document.
        CoretalkJson = "coretalk-json",
        /// A matrix without CPU ids, as core-to-core-latency writes it: half a round trip in ns by that convention.
        BareCsv = "bare-csv",
        /// A matrix with CPU ids in a header row, in the first column, or both.
        LabelledCsv = "labelled-csv",
        /// One pair per line below a header such as `Core 1,Core 2,Latency (Nanoseconds)`.
        LongCsv = "long-csv",
        /// One pair per line of text: `0 <-> 1 : 19 ns`.
        PairList = "pair-list",
        /// A table in bars, such as Markdown, with CPU ids.
        BarTable = "bar-table",
        /// The text that core-to-core-latency prints: `52±6`, half a round trip in ns.
        CoreToCoreReport = "core-to-core-report",
        /// An mctop description (`.mct`), in cycles.
        Mctop = "mctop",
        /// A pandas pivot table with `toCore` and `fromCore` headers.
        Pivot = "pivot",
        /// A pandas table with one row of aggregates per pair; the median is read.
        Aggregates = "aggregates",
        /// The upper triangle that pingpong of multichase prints.
        Multichase = "multichase",
        /// Columns of fixed width with a blank diagonal.
        FixedWidth = "fixed-width",
        /// The table of c2clat.
        C2clat = "c2clat",
        /// The gnuplot script of c2clat `-p`.
        C2clatGnuplot = "c2clat-gnuplot",
        /// A JSON object of objects keyed by CPU.
        C2clatJson = "c2clat-json",
        /// A JSON object with row and column labels and flat values, called `inter-processor-communication`.
        IpcJson = "ipc-json",
        /// The matrices of CoherencyLatency, each below a `Cache line offset` line.
        CoherencyLatency = "coherency-latency",
    }
}

named! {
    /// What a latency counts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
    pub enum Unit {
        /// Nanoseconds.
        Ns = "ns",
        /// Cycles of a clock that the file does not name; they are never converted.
        Cycles = "cycles",
    }
}

/// Where CPU ids come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// The file names its CPUs; the ids may have holes.
    FromFile,
    /// The file names none, so the CPUs are numbered from 0 by row. That need not be the system's numbering: some tools
    /// leave CPUs out or count in hwloc's order.
    RowNumbers,
}

/// How the file prints its latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// Without decimals: differences of one may be rounding.
    WholeNumbers,
    /// At least one has decimals.
    Decimals,
}

/// What is doubtful about an imported matrix, with what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The file does not say what its numbers count.
    UnitAssumed {
        /// The unit they were taken to have.
        unit: Unit,
    },
    /// Some pairs have no latency.
    Missing {
        /// The number of empty cells off the diagonal.
        cells: usize,
        /// The number of cells that a complete matrix of this shape has.
        of: usize,
        /// Initiator and responder of the first one.
        first: [CpuId; 2],
    },
    /// Some latencies are exactly 0, which no pair of CPUs reaches.
    Zero {
        /// The number of such cells.
        cells: usize,
        /// Initiator and responder of the first one.
        first: [CpuId; 2],
    },
    /// Another matrix of the file has no value, and is left out.
    Empty {
        /// Its place in the file, from 1.
        number: usize,
        /// How many matrices the file has.
        of: usize,
        /// What the file calls it, shortened.
        name: Option<String>,
    },
    /// The file ends before the row of the last CPU.
    LastRow {
        /// Rows of the file.
        rows: usize,
        /// The last CPU.
        cpu: CpuId,
    },
    /// The two directions of a typical pair differ more than the direction of a transfer explains.
    Asymmetric {
        /// The median over the pairs of the larger direction divided by the smaller one.
        ratio_p50: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::UnitAssumed { unit } => {
                write!(f, "the file gives no unit: {unit} is assumed; check the tool that wrote it")
            }
            Warning::Missing { cells, of, first: [from, to] } => write!(
                f,
                "{cells} of {of} latencies are missing, first CPU {from} to CPU {to}; they are treated as \
                 unknown"
            ),
            Warning::Zero { cells, first: [from, to] } => write!(
                f,
                "exact zeros: {cells}, first CPU {from} to CPU {to}; the clock of that tool was too coarse, so do not read \
                 them as fast pairs"
            ),
            Warning::Empty { number, of, name } => {
                let name = name.as_ref().map_or(String::new(), |name| format!(" (`{name}`)"));
                write!(f, "matrix {number} of {of}{name} contains no latency and is left out")
            }
            Warning::LastRow { rows, cpu } => write!(
                f,
                "the file ends after row {rows} of {}: the latencies of CPU {cpu} are taken from the last column; check whether the file is complete",
                rows + 1
            ),
            Warning::Asymmetric { ratio_p50 } => write!(
                f,
                "the two directions of a typical pair differ by a factor of {ratio_p50:.1}; check that both halves come from the same run and have the same unit"
            ),
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[test]
    fn formats_and_units_have_one_name_in_text_and_documents() {
        for format in FormatId::ALL {
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
        for unit in [Unit::Ns, Unit::Cycles] {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.to_string());
        }
    }
}
