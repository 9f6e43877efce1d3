//! `--as TOOL`: the kernels of other tools and the statistics of each. [`render`] prints a matrix in the tool's layout.
//!
//! The kernels follow the published behaviour: the code between two clock reads, the side that begins, the counts, and
//! the printed statistic. Where a tool's source differs from its documents, the kernel says so. The words here have 64
//! bits and the waits can be aborted, which affects load spins (docs/evidence.md, "Other tools").

mod kernels;
mod spin;

use crate::kernel::Kernel;
use crate::machine::{HomeChoice, Sampling, SpanOrder, Walk};
use coretalk_model::latency::{Counts, ImitatedCell, MissingReason};
use coretalk_model::{Matrix, Tool};
pub use kernels::{C2CLAT, C2CLAT_W, COHERENCY_LATENCY, CORE_TO_CORE_LATENCY, CPU_LATENCY, MULTICHASE};
use std::fmt::Write;

/// A tool's default way to measure a pair.
#[derive(Debug, Clone, Copy)]
pub struct Imitation {
    /// The tool.
    pub tool: Tool,
    /// The kernel with the tool's loops.
    pub kernel: &'static Kernel,
    /// Batches per pair. A sample of the tool may be several batches.
    pub visits: u32,
    /// Round trips in a batch.
    pub round_trips: u32,
    /// Description of the tool's output.
    pub output: &'static str,
}

impl Imitation {
    /// The defaults of this tool.
    ///
    /// ```
    /// use coretalk_measure::probes::imitation::Imitation;
    /// use coretalk_model::Tool;
    /// let imitation = Imitation::for_tool(Tool::C2clat);
    /// assert_eq!((imitation.visits, imitation.round_trips), (1_000, 100));
    /// ```
    pub fn for_tool(tool: Tool) -> Imitation {
        match tool {
            Tool::CoreToCoreLatency => Imitation {
                tool,
                kernel: &CORE_TO_CORE_LATENCY,
                visits: 300,
                round_trips: 1_000,
                output: "a lower triangle of mean ± standard error, then minimum, maximum and mean",
            },
            Tool::C2clat => Imitation {
                tool,
                kernel: &C2CLAT,
                visits: 1_000,
                round_trips: 100,
                output: "a full table under a `CPU` header, whole nanoseconds, 0 on the diagonal",
            },
            Tool::C2clatW => Imitation { tool, kernel: &C2CLAT_W, ..Imitation::for_tool(Tool::C2clat) },
            Tool::CpuLatency => Imitation {
                tool,
                kernel: &CPU_LATENCY,
                visits: 15,
                round_trips: 1_000,
                output: "a lower triangle of comma rows without a header, six digits",
            },
            // The tool measures 5 × 250 ms. Fixed counts give a plan a known size: 1,000,000 trips take 250 ms at the
            // 125 ns that ten pauses cost (docs/evidence.md, "Other tools").
            Tool::Multichase => Imitation {
                tool,
                kernel: &MULTICHASE,
                visits: 500,
                round_trips: 10_000,
                output: "an upper triangle under the numbers of its columns, one decimal",
            },
            Tool::CoherencyLatency => Imitation {
                tool,
                kernel: &COHERENCY_LATENCY,
                visits: 1_000,
                round_trips: 10_000,
                output: "`Cache line offset: 0`, then comma rows with six decimals, `x` on the diagonal",
            },
        }
    }

    /// Replaces the counts by the requested ones.
    pub fn counting(self, counts: Counts) -> Imitation {
        match counts {
            Counts::Adaptive => self,
            Counts::Fixed { samples, iterations } => {
                Imitation { visits: samples, round_trips: iterations, ..self }
            }
        }
    }

    /// The order for a machine: always the same place and no warm-up, as in single-address tools. The memory is on the
    /// initiating CPU's node, where the main thread of such tools touches it first.
    pub fn order(&self) -> SpanOrder {
        SpanOrder {
            kernel: self.kernel,
            home: HomeChoice::OfRole(0),
            lines: 1,
            walk: Walk::OnePlace,
            warm_up: 0,
            sampling: Sampling::Batches { visits: self.visits, round_trips: self.round_trips },
        }
    }
}

/// Prints the matrix in the layout of the tool, without its terminal colours. Rows are initiators. Pairs without a
/// value stay blank, as far as the layout allows. `cpu_model` is in the preamble of core-to-core-latency.
pub fn render(imitation: &Imitation, cpu_model: Option<&str>, matrix: &Figures) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match imitation.tool {
        Tool::CoreToCoreLatency => core_to_core_latency(&mut text, imitation, cpu_model, matrix),
        Tool::C2clat | Tool::C2clatW => c2clat(&mut text, matrix),
        Tool::CpuLatency => cpu_latency(&mut text, matrix),
        Tool::Multichase => multichase(&mut text, matrix),
        Tool::CoherencyLatency => coherency_latency(&mut text, matrix),
    };
    text
}

type Figures = Matrix<Result<ImitatedCell, MissingReason>>;

fn core_to_core_latency(
    text: &mut String,
    imitation: &Imitation,
    cpu_model: Option<&str>,
    matrix: &Figures,
) -> std::fmt::Result {
    if let Some(cpu_model) = cpu_model {
        writeln!(text, "CPU: {cpu_model}")?;
    }
    writeln!(text, "Num cores: {}", matrix.len())?;
    writeln!(text, "Num iterations per samples: {}", imitation.round_trips)?;
    writeln!(text, "Num samples: {}\n", imitation.visits)?;
    writeln!(text, "1) CAS latency on a single shared cache line\n")?;
    write!(text, "    ")?;
    for cpu in matrix.cpus() {
        write!(text, "{:>8}", cpu.0)?;
    }
    writeln!(text, "   ")?;
    let mut pairs = Vec::new();
    for (row, cpu) in matrix.cpus().iter().enumerate() {
        write!(text, "    {:>3}", cpu.0)?;
        for column in 0..row {
            match figure(matrix, row, column) {
                Some(figure) => {
                    let error = figure.spread_ns.unwrap_or(f64::NAN);
                    write!(text, " {:>4.0}±{error:<2.0}", figure.value_ns)?;
                    pairs.push((figure, error, cpu.0, matrix.cpus()[column].0));
                }
                None => write!(text, "{:>8}", "")?,
            }
        }
        writeln!(text)?;
    }
    writeln!(text)?;
    let by_ns = |a: &&(ImitatedCell, f64, u32, u32), b: &&(ImitatedCell, f64, u32, u32)| {
        a.0.value_ns.total_cmp(&b.0.value_ns)
    };
    for (name, pair) in [("Min ", pairs.iter().min_by(by_ns)), ("Max ", pairs.iter().max_by(by_ns))] {
        if let Some((figure, error, row, column)) = pair {
            writeln!(
                text,
                "    {name} latency: {:.1}ns ±{error:.1} cores: ({row},{column})",
                figure.value_ns
            )?;
        }
    }
    if !pairs.is_empty() {
        let mean = pairs.iter().map(|pair| pair.0.value_ns).sum::<f64>() / pairs.len() as f64;
        writeln!(text, "    Mean latency: {mean:.1}ns")?;
    }
    Ok(())
}

fn c2clat(text: &mut String, matrix: &Figures) -> std::fmt::Result {
    write!(text, "{:>4}", "CPU")?;
    for cpu in matrix.cpus() {
        write!(text, " {:>4}", cpu.0)?;
    }
    writeln!(text)?;
    for (row, cpu) in matrix.cpus().iter().enumerate() {
        write!(text, "{:>4}", cpu.0)?;
        for column in 0..matrix.len() {
            match figure(matrix, row, column) {
                Some(figure) => write!(text, " {:>4.0}", figure.value_ns)?,
                // The tool prints zeros on the diagonal. Elsewhere a zero would look like a latency.
                None if row == column => write!(text, " {:>4}", 0)?,
                None => write!(text, " {:>4}", "-")?,
            }
        }
        writeln!(text)?;
    }
    Ok(())
}

fn cpu_latency(text: &mut String, matrix: &Figures) -> std::fmt::Result {
    // The layout has no ids, so rows are ordered by CPU number.
    let matrix = &matrix.by_id();
    for row in 0..matrix.len() {
        let cells = (0..matrix.len()).map(|column| figure(matrix, row, column).filter(|_| column < row));
        let cells: Vec<String> =
            cells.map(|cell| cell.map_or_else(String::new, |cell| six_digits(cell.value_ns))).collect();
        writeln!(text, "{}", cells.join(","))?;
    }
    Ok(())
}

fn multichase(text: &mut String, matrix: &Figures) -> std::fmt::Result {
    writeln!(text, "avg latency to communicate a modified line from one core to another")?;
    write!(text, "times are in ns\n\n   ")?;
    for cpu in matrix.cpus().iter().skip(1) {
        write!(text, "{:>8}", cpu.0)?;
    }
    writeln!(text)?;
    for (row, cpu) in matrix.cpus().iter().enumerate().take(matrix.len().saturating_sub(1)) {
        write!(text, "{:>2}:", cpu.0)?;
        for column in 1..matrix.len() {
            match figure(matrix, row, column).filter(|_| column > row) {
                Some(figure) => write!(text, "{:>8.1}", figure.value_ns)?,
                None => write!(text, "{:>8}", "")?,
            }
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn coherency_latency(text: &mut String, matrix: &Figures) -> std::fmt::Result {
    let matrix = &matrix.by_id();
    writeln!(text, "Cache line offset: 0")?;
    for row in 0..matrix.len() {
        let cells = (0..matrix.len()).map(|column| match figure(matrix, row, column) {
            Some(figure) => format!("{:.6}", figure.value_ns),
            None => "x".to_owned(),
        });
        writeln!(text, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn figure(matrix: &Figures, row: usize, column: usize) -> Option<ImitatedCell> {
    matrix.get(row, column)?.as_ref().ok().copied()
}

/// Six significant digits without trailing zeros, as C++ streams print a `double`.
fn six_digits(value: f64) -> String {
    let before_the_point = if value < 1.0 { 1 } else { value.log10().floor() as usize + 1 };
    let fixed = format!("{value:.*}", 6_usize.saturating_sub(before_the_point));
    if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').to_owned() } else { fixed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::CpuId;

    fn rendered(tool: Tool) -> String {
        let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(1), CpuId(10)], |row, column| {
            let ns = [23.18, 110.96, 6.0][row + column - 1];
            if row + column < 3 {
                Ok(ImitatedCell { value_ns: ns, spread_ns: Some(1.08) })
            } else {
                Err(MissingReason::NotReached)
            }
        });
        render(&Imitation::for_tool(tool), Some("EPYC"), &matrix)
    }

    #[test]
    fn tables_follow_their_tools() {
        // The layout of version 1.2.0, which prints `      1  111±1 ` and `Min  latency: 111.0ns ±1.1 cores: (1,0)`.
        let core_to_core = "CPU: EPYC\nNum cores: 3\nNum iterations per samples: 1000\nNum samples: 300\n\n\
            1) CAS latency on a single shared cache line\n\n           \
            0       1      10   \n      0\n      1   23±1 \n     10  111±1         \n\n    \
            Min  latency: 23.2ns ±1.1 cores: (1,0)\n    Max  latency: 111.0ns ±1.1 cores: (10,0)\n    \
            Mean latency: 67.1ns\n";
        let c2clat = " CPU    0    1   10\n   0    0   23  111\n   1   23    0    -\n  10  111    -    0\n";
        let coherency = "Cache line offset: 0\nx,23.180000,110.960000\n23.180000,x,x\n110.960000,x,x\n";
        let multichase = "avg latency to communicate a modified line from one core to another\ntimes are in ns\n\n          \
            1      10\n 0:    23.2   111.0\n 1:                \n\n";
        for (tool, expected) in [
            (Tool::CoreToCoreLatency, core_to_core),
            (Tool::C2clat, c2clat),
            (Tool::CpuLatency, ",,\n23.18,,\n110.96,,\n"),
            (Tool::CoherencyLatency, coherency),
            (Tool::Multichase, multichase),
        ] {
            assert_eq!(rendered(tool), expected, "{tool:?}");
        }
    }

    #[test]
    fn six_digits_are_those_of_a_stream() {
        let cases =
            [(6.128221, "6.12822"), (25.129, "25.129"), (181.0, "181"), (123456.7, "123457"), (0.5, "0.5")];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text);
        }
    }
}
