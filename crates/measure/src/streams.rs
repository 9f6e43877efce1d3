//! Whether standard output was open when the process began: Rust opens the null device in place of what is closed before
//! `main`, and what is written there is lost without an error.

use std::io;
#[cfg(all(target_os = "linux", not(miri)))]
use std::sync::atomic::{AtomicBool, Ordering};

/// Set before `main`, and only read after.
#[cfg(all(target_os = "linux", not(miri)))]
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Functions that the C library calls before `main`.
#[cfg(all(target_os = "linux", not(miri)))]
#[used]
// SAFETY: the section holds pointers to functions of the C calling convention, and this is one.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: asks for the flags of a descriptor, of whatever is open there or nothing.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
    look
};

/// Whether what is written to standard output gets anywhere; `Ok` where the system is not asked.
///
/// # Errors
/// It was closed when the process began: what a write would have said then.
pub fn stdout() -> io::Result<()> {
    #[cfg(all(target_os = "linux", not(miri)))]
    if CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(())
}
