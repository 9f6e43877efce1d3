//! [`libc_version`]: which C library the tool runs on. Mutexes, threads and system call wrappers are its.

/// Name and version, such as `glibc 2.36`; `None` where the library does not say.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn libc_version() -> Option<String> {
    // SAFETY: the function takes nothing and returns a constant, NUL-terminated string of the C library.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

/// Name and version, such as `glibc 2.36`; `None` where the library does not say. musl keeps its version to itself.
#[cfg(target_env = "musl")]
pub fn libc_version() -> Option<String> {
    Some("musl".to_owned())
}

/// Name and version, such as `glibc 2.36`; `None` where the library does not say.
#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl")))]
pub fn libc_version() -> Option<String> {
    None
}
