//! [`Region`]: 2 MiB of memory requested on a NUMA node.

use crate::kernel_context::Line;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// Size and alignment of a region. One huge page fixes 21 bits of the physical address.
pub const REGION_BYTES: usize = 2 << 20;
const FRAME_BYTES: usize = 4096;
/// From `linux/mempolicy.h`. The `libc` crate has only the system call numbers.
const MPOL_PREFERRED: libc::c_int = 1;

/// Zeroed memory aligned to 2 MiB, on one NUMA node if the node has free memory.
#[derive(Debug)]
pub struct Region {
    start: NonNull<Line>,
    node: u32,
    /// Whether part of the region is on another node.
    pub is_elsewhere: bool,
}

// SAFETY: a region is plain memory that only this struct unmaps. All access goes through atomics.
unsafe impl Send for Region {}
// SAFETY: as above. Shared references give out lines of atomics.
unsafe impl Sync for Region {}

/// Actual location of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Residence {
    /// All pages are on the requested node.
    Proven,
    /// A page is on another node.
    Elsewhere {
        /// The other node.
        found: u32,
    },
    /// Unknown: the kernel has no NUMA support, or a container forbids the query.
    Unknown {
        /// Error of the system.
        reason: String,
    },
}

impl Region {
    /// Maps memory and requests `node` and a huge page. Fails if the system has no memory. The first write from a CPU
    /// of the node, by [`touch`](Region::touch), allocates the pages.
    pub fn map(node: u32) -> io::Result<Region> {
        // Twice the size always contains one aligned region. The rest is unmapped at once.
        // SAFETY: a fresh private mapping at an address of the kernel's choice touches no memory of ours.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                2 * REGION_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let head = mapped.cast::<u8>().align_offset(REGION_BYTES);
        let start = mapped.wrapping_byte_add(head);
        // SAFETY: head, region and tail are parts of the new mapping, and nothing points into them yet. The advice may
        // fail where there are no huge pages; then only the reported page size is smaller. DONTFORK: a command that the
        // tool runs shares no page with us, so no copy-on-write fault hits a span. The kernel also cannot merge the
        // region with other mappings, so its page size can be read.
        unsafe {
            if head > 0 {
                libc::munmap(mapped, head);
            }
            if head < REGION_BYTES {
                libc::munmap(start.wrapping_byte_add(REGION_BYTES), REGION_BYTES - head);
            }
            libc::madvise(start, REGION_BYTES, libc::MADV_DONTFORK);
            libc::madvise(start, REGION_BYTES, libc::MADV_HUGEPAGE);
        }
        let start = NonNull::new(start.cast::<Line>()).ok_or_else(io::Error::last_os_error)?;
        let region = Region { start, node, is_elsewhere: false };
        region.prefer();
        Ok(region)
    }

    /// The requested node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// The cache lines, 64 bytes each.
    pub fn lines(&self) -> &[Line] {
        // SAFETY: the mapping is this long and aligned far beyond a line. The kernel zeroed it, which makes each `Line`
        // valid. It lives as long as `self`, and is only accessed through the atomics of `Line`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), REGION_BYTES / size_of::<Line>()) }
    }

    /// Writes to every page, which allocates the page. Must be called on a CPU of the node before anything is timed.
    pub fn touch(&self) {
        for line in self.lines().iter().step_by(FRAME_BYTES / size_of::<Line>()) {
            // Relaxed: only the page fault matters.
            line.words[0].store(0, Relaxed);
        }
    }

    /// Actual location of the pages, after [`touch`](Region::touch).
    pub fn residence(&self) -> Residence {
        let pages: Vec<*const Line> =
            self.lines().iter().step_by(FRAME_BYTES / size_of::<Line>()).map(std::ptr::from_ref).collect();
        let mut nodes = vec![0 as libc::c_int; pages.len()];
        // SAFETY: both arrays have `pages.len()` elements. Without target nodes the call moves nothing. It writes the
        // node of each page, or a negative error, into the second array.
        let status = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                pages.len(),
                pages.as_ptr(),
                std::ptr::null::<libc::c_int>(),
                nodes.as_mut_ptr(),
                0,
            )
        };
        if status != 0 {
            return Residence::Unknown { reason: format!("query the pages: {}", io::Error::last_os_error()) };
        }
        for found in nodes {
            match u32::try_from(found) {
                Ok(found) if found == self.node => {}
                Ok(found) => return Residence::Elsewhere { found },
                Err(_) => {
                    let reason = io::Error::from_raw_os_error(-found);
                    return Residence::Unknown { reason: format!("query the pages: {reason}") };
                }
            }
        }
        Residence::Proven
    }

    /// Page size in bytes; `None` if unknown. It is that of a huge page only if the whole region is one.
    pub fn page_bytes(&self) -> Option<u64> {
        page_bytes_in(&std::fs::read_to_string("/proc/self/smaps").ok()?, self.start.as_ptr() as u64)
    }

    /// Requests the node. Where the call is refused, the first touch on a CPU of the node has the same effect, and
    /// [`residence`](Region::residence) shows the result. The node is preferred, not required: a page fault in a full
    /// required node kills programs although other nodes are free (`man 2 set_mempolicy`).
    fn prefer(&self) {
        let mut nodes = vec![0 as libc::c_ulong; self.node as usize / 64 + 1];
        nodes[self.node as usize / 64] |= 1 << (self.node % 64);
        // The kernel reads one bit fewer than stated.
        let bits = nodes.len() * 64 + 1;
        // SAFETY: the region is mapped, and the mask is readable for `bits - 1` bits.
        unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                REGION_BYTES,
                MPOL_PREFERRED,
                nodes.as_ptr(),
                bits,
                0,
            );
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and this long. Every reference into it borrows from `self`.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), REGION_BYTES);
        }
    }
}

fn page_bytes_in(smaps: &str, address: u64) -> Option<u64> {
    let mut lines = smaps.lines().skip_while(|line| !contains_address(line, address)).skip(1);
    let (mut size, mut base, mut huge) = (None, None, None);
    for line in lines.by_ref().take_while(|line| !is_header(line)) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let kib = || value.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok();
        match name {
            "Size" => size = kib(),
            "KernelPageSize" => base = kib(),
            "AnonHugePages" => huge = kib(),
            _ => {}
        }
    }
    match (size?, base?, huge) {
        (size, _, Some(huge)) if huge == size => Some(REGION_BYTES as u64),
        (_, base, Some(_)) => Some(base * 1024),
        // Kernels without transparent huge pages have no such line.
        (_, base, None) => Some(base * 1024),
    }
}

fn is_header(line: &str) -> bool {
    range(line).is_some()
}

fn contains_address(line: &str, address: u64) -> bool {
    range(line).is_some_and(|range| range.contains(&address))
}

fn range(line: &str) -> Option<std::ops::Range<u64>> {
    let (low, high) = line.split(' ').next()?.split_once('-')?;
    Some(u64::from_str_radix(low, 16).ok()?..u64::from_str_radix(high, 16).ok()?)
}

/// Resets lines as if unused: flushes every cached copy, then writes zeros from the calling CPU.
///
/// On Zen, a line last written by a third core would otherwise stay slow for one of the two measured cores
/// (core-to-core-latency issue 155). [`Freshness::Kept`] skips the flush, like tools that use a single address.
pub fn prepare(lines: &[&Line], freshness: Freshness) {
    if freshness == Freshness::Flushed {
        lines.iter().for_each(|line| flush(line));
        fence();
    }
    for line in lines {
        // Relaxed: the gate after the preparation orders these writes before everything the roles do.
        line.words.iter().for_each(|word| word.store(0, Relaxed));
    }
    fence();
}

/// Whether lines are flushed before a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Flushed and overwritten.
    Flushed,
    /// Only overwritten.
    Kept,
}

#[cfg(target_arch = "x86_64")]
fn flush(line: &Line) {
    // CLFLUSH is in the base set of x86-64 and is ordered with other CLFLUSH instructions. The unordered CLFLUSHOPT is
    // faster, but 64 lines take a few µs either way, outside every timed span.
    // SAFETY: the address is that of a live line, and a flush changes no contents.
    unsafe { std::arch::x86_64::_mm_clflush(std::ptr::from_ref(line).cast()) }
}

#[cfg(target_arch = "aarch64")]
fn flush(line: &Line) {
    // SAFETY: Linux lets user space clean and invalidate by address (SCTLR_EL1.UCI). Contents do not change.
    unsafe {
        std::arch::asm!("dc civac, {}", in(reg) std::ptr::from_ref(line), options(nostack, preserves_flags));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn flush(_line: &Line) {}

#[cfg(target_arch = "x86_64")]
fn fence() {
    // SAFETY: a fence has no operands, and SSE2 is in the base set of x86-64.
    unsafe { std::arch::x86_64::_mm_mfence() }
}

#[cfg(target_arch = "aarch64")]
fn fence() {
    // DSB instead of DMB: only DSB waits until cache maintenance by address has completed.
    // SAFETY: a barrier has no operands.
    unsafe { std::arch::asm!("dsb ish", options(nostack, preserves_flags)) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn fence() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_and_zeroed_and_reports_its_pages() {
        let region = Region::map(0).unwrap();
        region.touch();
        assert_eq!(region.lines().as_ptr() as usize % REGION_BYTES, 0);
        assert!(region.lines().iter().all(|line| line.words.iter().all(|word| word.load(Relaxed) == 0)));
        assert!(matches!(region.residence(), Residence::Proven | Residence::Unknown { .. }));
        let bytes = region.page_bytes();
        assert!(bytes.is_none_or(|bytes| bytes.is_power_of_two() && bytes >= 4096), "{bytes:?}");
    }

    #[test]
    fn preparing_leaves_zeros() {
        let region = Region::map(0).unwrap();
        let lines: Vec<&Line> = region.lines().iter().take(40).collect();
        lines.iter().for_each(|line| line.words.iter().for_each(|word| word.store(7, Relaxed)));
        prepare(&lines[..20], Freshness::Flushed);
        prepare(&lines[20..], Freshness::Kept);
        assert!(lines.iter().all(|line| line.words.iter().all(|word| word.load(Relaxed) == 0)));
    }

    #[test]
    fn the_page_size_is_that_of_all_pages() {
        let smaps = |huge: &str| {
            format!(
                "7f00000000-7f00100000 rw-p 00000000 00:00 0 \nSize: 1024 kB\nKernelPageSize: 4 kB\n{huge}\n\
                 7f00200000-7f00400000 rw-p 00000000 00:00 0 \nSize:    2048 kB\nKernelPageSize:  4 kB\n{huge}\n\
                 VmFlags: rd wr\n7f00400000-7f00500000 rw-p 0 00:00 0\nSize: 1 kB\n"
            )
        };
        let at = |huge: &str, address| page_bytes_in(&smaps(huge), address);
        assert_eq!(at("AnonHugePages:  2048 kB", 0x7f_0020_0000), Some(2 << 20));
        assert_eq!(at("AnonHugePages:     0 kB", 0x7f_0020_0000), Some(4096));
        assert_eq!(at("Other: 0 kB", 0x7f_0020_0000), Some(4096));
        assert_eq!(at("AnonHugePages:  2048 kB", 0x7f_0090_0000), None, "no such mapping");
    }
}
