//! Whether there is memory for so many threads.

/// What a thread needs: what it counts in, and the pages of its stack and of the kernel's that it touches.
const THREAD_BYTES: u64 = 1 << 20;

/// Why so many threads cannot be had here; `None` where they can, or the system does not say.
pub fn lacking(threads: usize) -> Option<String> {
    let needed = threads as u64 * THREAD_BYTES;
    let available = available_bytes()?;
    (needed > available).then(|| {
        let mib = |bytes: u64| bytes >> 20;
        format!(
            "{threads} threads need about {} MiB of memory, and {} MiB are free",
            mib(needed),
            mib(available)
        )
    })
}

/// Memory that may be taken without swapping; `None` where the system does not say.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_fits_and_a_billion_do_not() {
        assert_eq!(lacking(1), None);
        assert!(lacking(1 << 30).is_some_and(|reason| reason.contains("are free")));
    }
}
