//! [`ensure`]: whether there is memory for a queue, asked before it is taken: a system that promises more than it has would end
//! the process when the pages are touched.

use super::ends::Refusal;

/// Queues below this are not worth a question.
const SMALL: usize = 16 << 20;
/// No queue takes more than this share of what is available.
const SHARE: usize = 4;

/// Makes sure that so many places of so many bytes can be had.
///
/// # Errors
/// [`Refusal::Memory`].
pub fn ensure(places: usize, bytes: usize) -> Result<(), Refusal> {
    let refusal = Refusal::Memory { capacity: places };
    let Some(wanted) = places.checked_mul(bytes) else { return Err(refusal) };
    if wanted > SMALL && available().is_some_and(|available| wanted > available / SHARE) {
        return Err(refusal);
    }
    Ok(())
}

/// Bytes that can be had without swapping; `None` where the system does not say.
fn available() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok().map(|kib| kib << 10)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_taken() {
        assert!(ensure(1_000, 8).is_ok());
        assert!(ensure(usize::MAX / 4, 1).is_err() || available().is_none());
        assert_eq!(
            ensure(usize::MAX, 2).unwrap_err().to_string(),
            format!("no memory for {} messages", usize::MAX)
        );
    }
}
