use std::fmt;

use crate::{CpuId, Matrix, Topology, stats};

/// One latency matrix exactly as in the file, without conversion.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedMatrix {
    /// The detected format.
    pub format: FormatId,
    /// Title of the matrix, such as `Cache line offset: 64`, if the file has several matrices.
    pub title: Option<String>,
    /// The latencies in [`unit`](ImportedMatrix::unit); `None` on the diagonal and if not in the file. A triangle and a
    /// square with equal halves are symmetric. Any other square keeps both directions.
    pub matrix: Matrix<Option<f64>>,
    /// The unit of the numbers.
    pub unit: Unit,
    /// Origin of the CPU ids.
    pub labels: Labels,
    /// Whether the file's numbers have decimals.
    pub printed: Printed,
    /// The topology reported in the file, if any.
    pub reported: Option<Topology>,
    /// Metadata of the file as keys and values, in order.
    pub metadata: Vec<(String, String)>,
    /// Warnings for users of these numbers.
    pub warnings: Vec<Warning>,
}

/// Range of the values of a file, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub most: f64,
    /// Number of values.
    pub values: usize,
}

impl ImportedMatrix {
    /// The value of a metadata key.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Whether coretalk measured these numbers. False if coretalk imported and exported them.
    pub fn is_ours(&self) -> bool {
        let is_format = matches!(self.format, FormatId::CoretalkCsv | FormatId::CoretalkJson);
        is_format && self.fact("tool").is_some_and(|tool| tool.starts_with("coretalk "))
    }

    /// Name of the simulated machine, if the numbers come from simulation.
    pub fn simulated(&self) -> Option<&str> {
        self.fact("simulated")
            .filter(|text| *text == "true")
            .map(|_| self.fact("machine").unwrap_or("machine"))
    }

    /// Range of the latencies, without diagonal and zeros; `None` if there are none.
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
    /// The readable file formats.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
    pub enum FormatId {
        /// `csv` of coretalk: a `#` block, a header row with CPU ids, the full square.
        CoretalkCsv = "coretalk-csv",
        /// `json` of coretalk: the latency maps of its document.
        CoretalkJson = "coretalk-json",
        /// A matrix without CPU ids, as written by core-to-core-latency. By convention, half a round trip in ns.
        BareCsv = "bare-csv",
        /// A matrix with CPU ids in a header row, in the first column, or both.
        LabelledCsv = "labelled-csv",
        /// One pair per line below a header such as `Core 1,Core 2,Latency (Nanoseconds)`.
        LongCsv = "long-csv",
        /// One pair per line of text: `0 <-> 1 : 19 ns`.
        PairList = "pair-list",
        /// A table in bars, such as Markdown, with CPU ids.
        BarTable = "bar-table",
        /// The text output of core-to-core-latency: `52±6`, half a round trip in ns.
        CoreToCoreReport = "core-to-core-report",
        /// An mctop description (`.mct`), in cycles.
        Mctop = "mctop",
        /// A pandas pivot table with `toCore` and `fromCore` headers.
        Pivot = "pivot",
        /// A pandas table with one row of aggregates per pair, of which the median is read.
        Aggregates = "aggregates",
        /// The upper triangle of multichase's pingpong.
        Multichase = "multichase",
        /// Columns of fixed width with a blank diagonal.
        FixedWidth = "fixed-width",
        /// The table of c2clat.
        C2clat = "c2clat",
        /// The gnuplot script of c2clat `-p`.
        C2clatGnuplot = "c2clat-gnuplot",
        /// A JSON object of objects keyed by CPU.
        C2clatJson = "c2clat-json",
        /// A JSON object with row and column labels and flat values, named `inter-processor-communication`.
        IpcJson = "ipc-json",
        /// The matrices of CoherencyLatency, each below a `Cache line offset` line.
        CoherencyLatency = "coherency-latency",
    }
}

named! {
    /// The unit of a latency.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
    pub enum Unit {
        /// Nanoseconds.
        Ns = "ns",
        /// Cycles of an unknown clock, never converted.
        Cycles = "cycles",
    }
}

/// Origin of CPU ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// The file names its CPUs. Ids may have gaps.
    FromFile,
    /// CPUs are numbered by row. The system may use other numbers: some tools omit CPUs or use hwloc's order.
    RowNumbers,
}

/// Printed form of the latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// Without decimals. Differences of one may be rounding.
    WholeNumbers,
    /// At least one latency has decimals.
    Decimals,
}

/// A doubt about an imported matrix, with advice.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The file states no unit.
    UnitAssumed {
        /// The assumed unit.
        unit: Unit,
    },
    /// Some pairs have no latency.
    Missing {
        /// Number of empty cells off the diagonal.
        cells: usize,
        /// Number of cells of a complete matrix of this shape.
        of: usize,
        /// Initiator and responder of the first empty cell.
        first: [CpuId; 2],
    },
    /// Some latencies are exactly 0, which no pair of CPUs reaches.
    Zero {
        /// Number of such cells.
        cells: usize,
        /// Initiator and responder of the first such cell.
        first: [CpuId; 2],
    },
    /// Another matrix of the file has no values and is left out.
    Empty {
        /// Position of that matrix in the file, from 1.
        number: usize,
        /// Number of matrices in the file.
        of: usize,
        /// Name of that matrix in the file, shortened.
        name: Option<String>,
    },
    /// The file ends before the row of the last CPU.
    LastRow {
        /// Number of rows in the file.
        rows: usize,
        /// The last CPU.
        cpu: CpuId,
    },
    /// The two directions of a typical pair differ by more than a transfer explains.
    Asymmetric {
        /// Median over pairs of larger direction ÷ smaller direction.
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
