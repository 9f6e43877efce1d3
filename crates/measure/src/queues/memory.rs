//! [`ensure`]: checks for memory before a queue is allocated. A touch of overcommitted pages would kill the process.

use super::ends::Refusal;

/// Size up to which the check is skipped.
const UNCHECKED_BYTES: usize = 16 << 20;
/// Divisor of the available memory: the limit of a queue.
const MEMORY_DIVISOR: usize = 4;

/// Checks that memory is available for `places` slots of `bytes` bytes each.
pub fn ensure(places: usize, bytes: usize) -> Result<(), Refusal> {
    let refusal = Refusal::Memory { capacity: places };
    let Some(wanted) = places.checked_mul(bytes) else { return Err(refusal) };
    if wanted > UNCHECKED_BYTES && available().is_some_and(|available| wanted > available / MEMORY_DIVISOR) {
        return Err(refusal);
    }
    Ok(())
}

/// Bytes available without swapping; `None` if the system does not report them.
fn available() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok().map(|kib| kib << 10)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn excessive_sizes_are_refused_before_allocation() {
        assert!(ensure(1_000, 8).is_ok());
        assert!(ensure(usize::MAX / 4, 1).is_err() || available().is_none());
        let refusal = ensure(usize::MAX, 2).unwrap_err().to_string();
        assert_eq!(refusal, format!("no memory for {} messages", usize::MAX));
    }
}
