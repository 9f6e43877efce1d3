//! Reference clocks for the counter, and the processor's guarantee of a fixed counter rate.

use coretalk_model::Picos;

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`, which is not slewed. It is the reference for the rate of the counter.
pub fn monotonic_raw_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Time of the machine (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Picos {
    Picos(read(libc::CLOCK_MONOTONIC) * 1000)
}

/// CPU time of all threads of this process.
pub fn process_cpu() -> Picos {
    Picos(read(libc::CLOCK_PROCESS_CPUTIME_ID) * 1000)
}

/// CPU time of reaped children of this process and of the children's own reaped children.
pub fn children_cpu() -> Picos {
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is writable.
    let status = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let picos = |time: libc::timeval| Picos::from_secs(time.tv_sec as f64 + time.tv_usec as f64 * 1e-6);
    if status == 0 { picos(usage.ru_utime) + picos(usage.ru_stime) } else { Picos::ZERO }
}

/// Clock source of the kernel: `tsc`, `kvm-clock`, `arch_sys_counter`. On x86-64 it is `tsc` if the kernel trusts it.
pub fn kernel_source() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable. The clocks used here exist on every Linux since 2.6.28, so the call cannot
    // fail. After a failure the time would be 0.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether the counter keeps its rate in every power state (CPUID 8000_0007h EDX\[8\]).
#[cfg(target_arch = "x86_64")]
pub fn invariant() -> Option<bool> {
    Some(raw_cpuid::CpuId::new().get_advanced_power_mgmt_info().is_some_and(|info| info.has_invariant_tsc()))
}

/// Whether the counter keeps its rate in every power state. The architecture guarantees it for the generic timer.
#[cfg(target_arch = "aarch64")]
pub fn invariant() -> Option<bool> {
    Some(true)
}

/// Whether the counter keeps its rate in every power state; unknown here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn invariant() -> Option<bool> {
    None
}
