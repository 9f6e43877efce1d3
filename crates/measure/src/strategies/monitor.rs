//! Strategies with instructions that wait for a write to a line, or for a short time.

#[cfg(target_arch = "x86_64")]
use super::Turn;
#[cfg(target_arch = "x86_64")]
use super::instructions;
#[cfg(target_arch = "x86_64")]
use super::spinning::Idle;
#[cfg(target_arch = "x86_64")]
use crate::counter;
#[cfg(target_arch = "x86_64")]
use crate::kernel_context::POLLS;

/// Maximum ticks of one wait for a line. Linux limits UMWAIT to this, and the guard is checked between waits.
#[cfg(target_arch = "x86_64")]
const MAX_TICKS: u64 = 100_000;
/// Ticks of TPAUSE: about the time of a line transfer across a socket.
#[cfg(target_arch = "x86_64")]
const MOMENT_TICKS: u64 = 200;

/// UMONITOR and UMWAIT in the lighter state C0.1. Waits until the line is written.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Umwait;

/// TPAUSE in the lighter state C0.1. Waits 200 ticks.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Tpause;

/// MONITORX and MWAITX with a timer. Waits until the line is written.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Mwaitx;

#[cfg(target_arch = "x86_64")]
impl Idle for Umwait {
    #[inline(always)]
    fn patience(&self) -> u32 {
        // 64 waits of up to 40 µs take < 3 ms.
        POLLS.div_ceil(1 << 10)
    }

    #[inline(always)]
    fn idle(&self, turn: &Turn, word: u32) {
        instructions::umonitor(turn.address());
        // A write between the poll and UMONITOR would be missed.
        if turn.poll() == word {
            instructions::umwait(counter::now_ticks() + MAX_TICKS);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Idle for Tpause {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS.div_ceil(1 << 4)
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        instructions::tpause(counter::now_ticks() + MOMENT_TICKS);
    }
}

#[cfg(target_arch = "x86_64")]
impl Idle for Mwaitx {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS.div_ceil(1 << 10)
    }

    #[inline(always)]
    fn idle(&self, turn: &Turn, word: u32) {
        instructions::monitorx(turn.address());
        if turn.poll() == word {
            instructions::mwaitx(MAX_TICKS as u32);
        }
    }
}

/// LDAXR and WFE. Waits until the line is written, or the event stream ticks (every 100 µs on Linux).
#[cfg(target_arch = "aarch64")]
#[derive(Debug, Clone, Copy)]
pub struct Wfe;

#[cfg(target_arch = "aarch64")]
impl super::spinning::Idle for Wfe {
    #[inline(always)]
    fn patience(&self) -> u32 {
        crate::kernel_context::POLLS.div_ceil(1 << 10)
    }

    #[inline(always)]
    fn idle(&self, turn: &super::Turn, word: u32) {
        super::instructions::wait_for_event(turn.address(), word);
    }
}
