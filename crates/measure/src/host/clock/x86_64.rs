//! What CPUID says about the time stamp counter.

use super::DeclaredRate;
use raw_cpuid::CpuId;

/// The rates that the processor and the hypervisor declare. None is trusted without the comparison: leaf 0x16 is a
/// marketing base frequency, up to 1 % off (Linux commit bd35c77e).
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
pub fn invariant() -> Option<bool> {
    Some(CpuId::new().get_advanced_power_mgmt_info().is_some_and(|info| info.has_invariant_tsc()))
}
