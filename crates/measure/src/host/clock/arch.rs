//! What the counter says of itself: CPUID about the time stamp counter, the generic timer of Arm about its rate; the
//! standard library's clock declares nothing.

use super::DeclaredRate;
#[cfg(target_arch = "x86_64")]
use raw_cpuid::CpuId;

/// The rates that the processor and the hypervisor declare. None is trusted without the comparison: leaf 0x16 is a
/// marketing base frequency, up to 1 % off (Linux commit bd35c77e).
#[cfg(target_arch = "x86_64")]
pub fn declared_rates() -> Vec<DeclaredRate> {
    let cpuid = CpuId::new();
    // ECX of leaf 0x15, the crystal's frequency, may be 0; then the leaf says nothing.
    let crystal = cpuid.get_tsc_info().and_then(|info| info.tsc_frequency()).map(|hz| hz as f64);
    let hypervisor =
        cpuid.get_hypervisor_info().and_then(|info| info.tsc_frequency()).map(|khz| f64::from(khz) * 1e3);
    let base =
        cpuid.get_processor_frequency_info().map(|info| f64::from(info.processor_base_frequency()) * 1e6);
    [("cpuid 0x15", crystal), ("cpuid 0x40000010", hypervisor), ("cpuid 0x16", base)]
        .into_iter()
        .filter_map(|(source, hz)| Some(DeclaredRate { source, hz: hz.filter(|&hz| hz > 0.0)? }))
        .collect()
}

/// Whether the counter keeps its rate in every power state (CPUID 8000_0007h EDX[8]).
#[cfg(target_arch = "x86_64")]
pub fn invariant() -> Option<bool> {
    Some(CpuId::new().get_advanced_power_mgmt_info().is_some_and(|info| info.has_invariant_tsc()))
}

/// The rate that the firmware wrote into CNTFRQ_EL0: only what it wrote, so it is compared like any other.
#[cfg(target_arch = "aarch64")]
pub fn declared_rates() -> Vec<DeclaredRate> {
    let hz: u64;
    // SAFETY: CNTFRQ_EL0 is readable from user space on Linux, and nothing but the result register changes.
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem, preserves_flags));
    }
    if hz == 0 { Vec::new() } else { vec![DeclaredRate { source: "cntfrq", hz: hz as f64 }] }
}

/// The generic timer runs at a fixed rate in every power state by its architecture.
#[cfg(target_arch = "aarch64")]
pub fn invariant() -> Option<bool> {
    Some(true)
}

/// None.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn declared_rates() -> Vec<DeclaredRate> {
    Vec::new()
}

/// Unknown.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn invariant() -> Option<bool> {
    None
}
