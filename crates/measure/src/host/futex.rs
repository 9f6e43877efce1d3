//! Sleeping until a word changes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` equals `expected`, until woken or `timeout`. May return early, so callers check the word again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let span = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    });
    let span = span.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word outlives the call, and the kernel only reads it. The time span is null or valid. The result is
    // ignored, since callers check the word again after every outcome (woken, changed, timed out, interrupted).
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            span,
        );
    }
}

pub fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX);
}

pub fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

#[cfg(test)]
pub fn wakes() -> u64 {
    WAKES.get()
}

#[cfg(test)]
thread_local! {
    static WAKES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn wake(word: &AtomicU32, threads: i32) {
    #[cfg(test)]
    WAKES.set(WAKES.get() + 1);
    // SAFETY: the kernel uses the address as a key only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, threads);
    }
}
