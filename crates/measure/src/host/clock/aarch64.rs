//! What the generic timer says about itself.

use super::DeclaredRate;

/// The rate that the firmware wrote into CNTFRQ_EL0: only what it wrote, so it is compared like any other.
pub fn declared_rates() -> Vec<DeclaredRate> {
    let hz: u64;
    // SAFETY: CNTFRQ_EL0 is readable from user space on Linux, and nothing but the result register changes.
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem, preserves_flags));
    }
    if hz == 0 { Vec::new() } else { vec![DeclaredRate { source: "cntfrq", hz: hz as f64 }] }
}

/// The generic timer runs at a fixed rate in every power state by its architecture.
pub fn invariant() -> Option<bool> {
    Some(true)
}
