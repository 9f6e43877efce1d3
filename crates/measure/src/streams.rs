//! Whether standard output was open at the start. Rust opens the null device for closed streams before `main`. So
//! output would be lost without an error.

use std::io;
#[cfg(all(target_os = "linux", not(miri)))]
use std::sync::atomic::{AtomicBool, Ordering};

/// Set before `main`, and only read afterwards.
#[cfg(all(target_os = "linux", not(miri)))]
static CLOSED: AtomicBool = AtomicBool::new(false);

/// A function that the C library calls before `main`.
#[cfg(all(target_os = "linux", not(miri)))]
#[used]
// SAFETY: the section holds pointers to functions of the C calling convention, and this is one.
#[unsafe(link_section = ".init_array")]
static CHECK_STDOUT: extern "C" fn() = {
    extern "C" fn check_stdout() {
        // SAFETY: the call only reads the flags of a descriptor, whether it is open or not.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
    check_stdout
};

/// Checks that standard output was open; always `Ok` on other systems. Fails with `EBADF`, as a write would, if
/// standard output was closed when the process began.
pub fn stdout() -> io::Result<()> {
    #[cfg(all(target_os = "linux", not(miri)))]
    if CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(())
}
