//! Core clock, measured with a chain of dependent instructions of known latency.
//!
//! Latency is proportional to the cycle time, which changes by 10 % within minutes. So the clock of both CPUs is probed
//! before and after every trial. A probe takes about 8 µs. The cost of reading the counter makes its result too low, by
//! a constant error below 1 %.

use crate::counter;
use coretalk_model::TickRate;

/// Dependent instructions per chain, which takes over 1 µs. Some Zen counters have steps of 10 ns: 1 % of 1,024
/// multiplications.
const LINKS: u64 = 4096;
/// Number of chains. The fastest counts, since an interrupt can only lengthen a chain.
const CHAINS: usize = 2;
/// Plausible core clocks in GHz. Other values come from emulators, or from chains that were all interrupted.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.2..=8.0;

/// Clock of the calling core in GHz; `None` if implausible or on an unknown architecture.
pub fn probe(rate: TickRate) -> Option<f64> {
    let ticks = (0..CHAINS).filter_map(|_| chain_ticks()).min()?;
    let ghz = (LINKS * CYCLES_PER_LINK) as f64 / rate.ns(ticks as f64);
    PLAUSIBLE.contains(&ghz).then_some(ghz)
}

/// A 64-bit multiplication takes 3 cycles on every Intel core since Nehalem and every AMD core since Zen (Fog,
/// "Instruction tables"). Additions are unsuitable: on Zen 5 a loop of them randomly takes 1.7 times as long.
#[cfg(target_arch = "x86_64")]
const CYCLES_PER_LINK: u64 = 3;

/// An exclusive-or of registers takes 1 cycle on every Arm core. Multiplications are unsuitable: they take 2 to 5
/// cycles, depending on the core (Arm's software optimization guides of Cortex-A72, Neoverse N1 and V1).
#[cfg(target_arch = "aarch64")]
const CYCLES_PER_LINK: u64 = 1;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CYCLES_PER_LINK: u64 = 1;

#[cfg(target_arch = "x86_64")]
fn chain_ticks() -> Option<u64> {
    let begun = counter::start();
    // SAFETY: only arithmetic on declared registers. Not `pure`, so the code is never optimised away.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "imul {value}, {value}",
            ".endr",
            "dec {left:e}",
            "jnz 2b",
            value = inout(reg) 0x9E37_79B9_7F4A_7C15_u64 => _,
            left = inout(reg) (LINKS / 64) as u32 => _,
            options(nomem, nostack)
        );
    }
    Some(counter::stop() - begun)
}

#[cfg(target_arch = "aarch64")]
fn chain_ticks() -> Option<u64> {
    let begun = counter::start();
    // SAFETY: only arithmetic on declared registers. Not `pure`, so the code is never optimised away.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "eor {value}, {value}, {other}",
            ".endr",
            "subs {left:w}, {left:w}, #1",
            "b.ne 2b",
            value = inout(reg) 0x9E37_79B9_7F4A_7C15_u64 => _,
            other = in(reg) 0xA076_1D64_78BD_642F_u64,
            left = inout(reg) (LINKS / 64) as u32 => _,
            options(nomem, nostack)
        );
    }
    Some(counter::stop() - begun)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain_ticks() -> Option<u64> {
    let _ = counter::now_ticks;
    None
}

/// Lets the core reach its frequency. Runs chains until the speed changes by less than 1 % per ms, for at most 200 ms.
pub fn ramp_up(rate: TickRate) {
    let (millisecond, limit) = (rate.ticks(1e6) as u64, rate.ticks(200e6) as u64);
    let begun = counter::now_ticks();
    let mut last = None;
    while counter::now_ticks() - begun < limit {
        let speed = chains_within(millisecond);
        if last.is_some_and(|last: f64| (speed / last - 1.0).abs() < 0.01) {
            return;
        }
        last = Some(speed);
    }
}

fn chains_within(ticks: u64) -> f64 {
    let begun = counter::now_ticks();
    let mut chains = 0u32;
    loop {
        chains += 1;
        let _ = chain_ticks();
        let elapsed = counter::now_ticks() - begun;
        if elapsed >= ticks {
            return f64::from(chains) / elapsed as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_ends_and_reads_a_plausible_clock_or_none() {
        // Needs no calibrated counter: the rates of all counters are between 1 MHz and 10 GHz.
        for hz in [1e6, 2.6e9, 1e10] {
            if let Some(ghz) = probe(TickRate { hz }) {
                assert!(PLAUSIBLE.contains(&ghz), "{ghz}");
            }
        }
        ramp_up(TickRate { hz: 1e8 });
    }
}
