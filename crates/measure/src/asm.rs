//! [`disassemble`]: reads the machine code of a timed loop from the running executable, for users to check.

use crate::asm_block::AsmBlock;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::counters::catalogue::Method;
use crate::kernel::Kernel;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::probes::wake::Variant;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::probes::{contend, wait, wake};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::queues::catalogue::QueueKind;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::strategies::catalogue::StrategyKind;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::{fs, io};

const EXECUTABLE: &str = "/proc/self/exe";
const MAPPINGS: &str = "/proc/self/maps";

/// Reasons why no code can be shown.
#[derive(Debug, thiserror::Error)]
pub enum AsmError {
    /// A file about this process could not be read.
    #[error("read {path}")]
    Read {
        /// The path of the file.
        path: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The executable could not be parsed.
    #[error("parse {EXECUTABLE}: {reason}")]
    Parse {
        /// The parser's message.
        reason: String,
    },
    /// No symbol covers the code.
    #[error("find the code of `{kernel}` in the executable: it was stripped; build with `strip = \"none\"`")]
    NoSymbol {
        /// The kernel's name.
        kernel: String,
    },
}

/// Disassembles every role of a kernel, initiator first. Fails if the executable cannot be read or has no symbols.
///
/// ```
/// use coretalk_measure::{asm, probes};
/// let blocks = asm::disassemble(probes::kernel_by_id("cas").unwrap()).unwrap();
/// assert_eq!(blocks.len(), 2);
/// println!("{}\n{}", blocks[0].symbol, blocks[0].lines.join("\n"));
/// ```
pub fn disassemble(kernel: &Kernel) -> Result<Vec<AsmBlock>, AsmError> {
    let roles: Vec<usize> = kernel.roles.iter().map(|role| *role as usize).collect();
    functions(kernel.id.as_str(), &roles)
}

/// Disassembles both roles of `wait`, the timing role first. `None` for a strategy of another architecture.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn disassemble_wait(strategy: StrategyKind) -> Option<Result<Vec<AsmBlock>, AsmError>> {
    Some(functions(&strategy.to_string(), &wait::loops(strategy)?))
}

/// Disassembles the timed loops of a queue that passes numbers, producer first.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn disassemble_queue(kind: &QueueKind) -> Result<Vec<AsmBlock>, AsmError> {
    functions(kind.id, &(kind.code.loops)())
}

/// Disassembles the loops of `contend` with a method: the loop without a clock, then the loop that times each addition.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn disassemble_contend(method: &Method) -> Result<Vec<AsmBlock>, AsmError> {
    functions(method.id, &contend::loops(method.kind))
}

/// Disassembles the roles of `wake` with a primitive, the waking role first.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn disassemble_wake(name: &str, variant: Variant) -> Result<Vec<AsmBlock>, AsmError> {
    functions(name, &wake::loops(variant))
}

fn functions(name: &str, addresses: &[usize]) -> Result<Vec<AsmBlock>, AsmError> {
    let image = Image::of_this_process()?;
    let file = image.parse()?;
    addresses
        .iter()
        .map(|&address| {
            let function = image
                .link_address(&file, address as u64)
                .and_then(|address| Function::at(&file, address))
                .ok_or_else(|| AsmError::NoSymbol { kernel: name.to_owned() })?;
            let name_of = |address| Function::at(&file, address).map(|function| function.name);
            Ok(AsmBlock { lines: listing(function.code, function.address, &name_of), symbol: function.name })
        })
        .collect()
}

struct Image {
    bytes: Vec<u8>,
    mappings: String,
}

impl Image {
    fn of_this_process() -> Result<Image, AsmError> {
        let bytes = fs::read(EXECUTABLE).map_err(|source| AsmError::Read { path: EXECUTABLE, source })?;
        let mappings =
            fs::read_to_string(MAPPINGS).map_err(|source| AsmError::Read { path: MAPPINGS, source })?;
        Ok(Image { bytes, mappings })
    }

    fn parse(&self) -> Result<object::File<'_>, AsmError> {
        object::File::parse(&*self.bytes).map_err(|error| AsmError::Parse { reason: error.to_string() })
    }

    /// Converts a run-time address to a link address by way of the file offset, which does not depend on the load
    /// address.
    fn link_address(&self, file: &object::File<'_>, address: u64) -> Option<u64> {
        let offset = self.mappings.lines().find_map(|line| file_offset(line, address))?;
        file.segments().find_map(|segment| {
            let (start, size) = segment.file_range();
            (start..start + size).contains(&offset).then(|| segment.address() + (offset - start))
        })
    }
}

/// The file offset of `address` if the mapping in this line contains it. An example of a line:
/// `55d0c6a00000-55d0c6b00000 r-xp 0001a000 fe:00 1234 /usr/bin/coretalk`.
fn file_offset(line: &str, address: u64) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    (start..end).contains(&address).then(|| address - start + offset)
}

struct Function<'a> {
    name: String,
    address: u64,
    code: &'a [u8],
}

impl<'a> Function<'a> {
    fn at(file: &object::File<'a>, address: u64) -> Option<Function<'a>> {
        let symbol = file.symbols().find(|symbol| {
            symbol.kind() == SymbolKind::Text && symbol.address() == address && symbol.size() > 0
        })?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let code = section.data_range(address, symbol.size()).ok()??;
        let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
        Some(Function { name, address, code })
    }
}

#[cfg(target_arch = "x86_64")]
fn listing(code: &[u8], address: u64, name_of: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_space_after_operand_separator(true);
    // The function is decoded at address 0, so that branches inside it show the offsets of the listing.
    Decoder::with_ip(64, code, 0, DecoderOptions::NONE)
        .iter()
        .map(|instruction| {
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            let target = instruction.near_branch_target();
            if target >= code.len() as u64
                && let Some(name) = name_of(address.wrapping_add(target))
            {
                let mnemonic = text.split(' ').next().unwrap_or_default().to_owned();
                text = format!("{mnemonic} {name}");
            }
            format!("{:4x}  {text}", instruction.ip())
        })
        .collect()
}

/// Lists raw instruction words, which are all 32 bits wide.
#[cfg(target_arch = "aarch64")]
fn listing(code: &[u8], _address: u64, _name_of: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
    let words = code.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    words.enumerate().map(|(index, word)| format!("{:4x}  .inst {word:#010x}", 4 * index)).collect()
}

/// Lists raw bytes, 16 per line.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn listing(code: &[u8], _address: u64, _name_of: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    code.chunks(16).enumerate().map(|(index, bytes)| format!("{:4x}  {}", 16 * index, hex(bytes))).collect()
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::probes::kernels;

    #[test]
    fn every_kernel_shows_the_code_of_every_role() {
        for kernel in kernels() {
            let blocks = disassemble(kernel).unwrap();
            assert_eq!(blocks.len(), kernel.roles.len());
            for block in &blocks {
                assert!(block.symbol.contains(kernel.symbol), "{}: {}", kernel.id, block.symbol);
                assert!(block.lines.len() > 10, "{}: {:#?}", kernel.id, block.lines);
            }
        }
    }

    #[test]
    fn every_way_of_waiting_shows_code_of_its_own() {
        use crate::strategies::catalogue::strategy_kind;
        let code = |name: &str| disassemble_wait(strategy_kind(name).unwrap()).unwrap().unwrap();
        // Disassembles each loop only once: the test executable has about 100 MB.
        let all = ["busy", "pause", "fence", "yield", "futex", "backoff"].map(|name| (name, code(name)));
        for (index, (name, blocks)) in all.iter().enumerate() {
            assert!(blocks[0].symbol.contains("exchange::lead"), "{}", blocks[0].symbol);
            assert!(blocks[1].symbol.contains("exchange::follow"), "{}", blocks[1].symbol);
            assert!(all[..index].iter().all(|(_, other)| other[1].lines != blocks[1].lines), "{name}");
        }
        #[cfg(target_arch = "x86_64")]
        assert!(all[1].1[0].lines.iter().any(|line| line.ends_with("pause")));
    }

    #[test]
    fn every_queue_shows_a_loop_of_its_own_for_each_side() {
        use crate::queues::catalogue::kind;
        let code = |name: &str| disassemble_queue(kind(name).unwrap().0).unwrap();
        // Only a few queues: the test executable has about 100 MB.
        let all = ["spsc", "slots", "rtrb", "mutex", "pipe"].map(|name| (name, code(name)));
        for (index, (name, blocks)) in all.iter().enumerate() {
            assert!(blocks[0].symbol.contains("exchange::produce"), "{}", blocks[0].symbol);
            assert!(blocks[1].symbol.contains("exchange::take_all"), "{}", blocks[1].symbol);
            assert!(blocks.iter().all(|block| block.lines.len() > 10), "{name}");
            assert!(all[..index].iter().all(|(_, other)| other[0].lines != blocks[0].lines), "{name}");
        }
    }

    #[test]
    fn every_method_of_contention_shows_both_loops_of_its_own() {
        use crate::counters::catalogue::method_by_id;
        let code = |name: &str| disassemble_contend(method_by_id(name).unwrap()).unwrap();
        let all = ["fetch-add", "cas-loop", "mcs", "per-thread"].map(|name| (name, code(name)));
        for (index, (name, blocks)) in all.iter().enumerate() {
            assert!(blocks.iter().all(|block| block.symbol.contains("contend::perform::act")), "{name}");
            assert_ne!(blocks[0].lines, blocks[1].lines, "{name}: one of them reads the clock");
            assert!(all[..index].iter().all(|(_, other)| other[0].lines != blocks[0].lines), "{name}");
        }
        #[cfg(target_arch = "x86_64")]
        for (at, what) in [(0, "lock xadd"), (1, "lock cmpxchg")] {
            assert!(all[at].1[0].lines.iter().any(|line| line.contains(what)), "{what}");
        }
    }

    #[test]
    fn every_form_of_a_wake_up_shows_its_roles() {
        use crate::probes::wake::variant;
        for (name, symbols) in [
            ("park", &["wake_all", "wait_all"][..]),
            ("ttas", &["wake_all", "wait_all"]),
            ("uncontended:ttas", &["wake_nobody"]),
            ("notify-all:2", &["crowd::wake", "crowd::wait"]),
            ("sleep-1ms", &["sleep_on"]),
        ] {
            let blocks = disassemble_wake(name, variant(name).unwrap()).unwrap();
            assert_eq!(blocks.len(), symbols.len(), "{name}");
            for (block, symbol) in blocks.iter().zip(symbols) {
                assert!(block.symbol.contains(symbol) && block.lines.len() > 10, "{name}: {}", block.symbol);
            }
        }
    }

    #[test]
    fn the_machine_code_of_the_protocols_differs_pairwise() {
        let protocols: Vec<_> = kernels().filter(|kernel| !kernel.id.as_str().starts_with("as:")).collect();
        assert_eq!(protocols.len(), 9);
        let protocols: Vec<_> =
            protocols.into_iter().map(|kernel| (kernel, disassemble(kernel).unwrap())).collect();
        for (index, (a, code_a)) in protocols.iter().enumerate() {
            for (b, code_b) in &protocols[..index] {
                for (role_a, role_b) in code_a.iter().zip(code_b) {
                    assert_ne!(role_a.lines, role_b.lines, "{} and {}", a.id, b.id);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn hints_and_clock_reads_are_in_the_code_where_they_belong() {
        use crate::probes::kernel_by_id;
        use std::collections::BTreeMap;
        let mut read: BTreeMap<String, Vec<AsmBlock>> = BTreeMap::new();
        let mut count = |id: &str, role: usize, what: &str| {
            let code = || disassemble(kernel_by_id(id).unwrap()).unwrap();
            let blocks = read.entry(id.to_owned()).or_insert_with(code);
            blocks[role].lines.iter().filter(|line| line.contains(what)).count()
        };
        for protocol in ["cas", "store", "msg"] {
            for role in [0, 1] {
                assert_eq!(count(protocol, role, "pause"), 0, "{protocol}");
                assert!(count(&format!("{protocol}+pause"), role, "pause") > 0, "{protocol}");
            }
            assert!(count(protocol, 0, "rdtscp") > 0, "{protocol} reads no clock");
            assert_eq!(count(protocol, 1, "rdtsc"), 0, "the responder of {protocol} reads the clock");
        }
        for role in [0, 1] {
            assert!(count("cas", role, "cmpxchg") > 0);
            assert_eq!(count("store", role, "cmpxchg") + count("msg", role, "cmpxchg"), 0);
            assert!(count("as:multichase", role, "pause") >= 10, "ten pauses are unrolled");
        }
    }

    #[test]
    fn a_mapping_gives_the_file_offset() {
        let line = "55d0c6a00000-55d0c6b00000 r-xp 0001a000 fe:00 1234 /usr/bin/coretalk";
        assert_eq!(file_offset(line, 0x55d0_c6a0_0010), Some(0x1a010));
        assert_eq!(file_offset(line, 0x55d0_c6b0_0000), None);
        assert_eq!(file_offset("nonsense", 0), None);
    }
}
