//! One pass on threads of this machine: both work, the first alone, the second alone, in random order.

use super::name;
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::latency::execution::Unit;
use coretalk_model::series::Observed;
use coretalk_model::stats::{self, Key};
use coretalk_model::{Picos, TrialFailure};
use std::hint::black_box;

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(2_000);
/// Spans of work of each unit, in turn: a median of so many does not mind a tick or two.
const SPANS: usize = 5;
/// Work before the first span: clocks rise, and whoever was started last arrives.
const WARM_UP: f64 = 0.25;
/// Which of the two roles work in each phase of a pass.
const WORKING: [[bool; 2]; 3] = [[true, true], [true, false], [false, true]];
/// Blocks per tick of each unit, for one role.
type Rates = [f64; Unit::ALL.len()];

/// Performs one pass.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let spans = (SPANS * Unit::ALL.len()) as f64 + WARM_UP;
    let span_ticks = context.rate().ticks(order.span.ns() / WORKING.len() as f64 / spans) as u64;
    let mut phases = [0, 1, 2];
    Key::of(&[order.key]).shuffle(&mut phases);
    let mut rates = [[Rates::default(); 2]; WORKING.len()];
    for phase in phases {
        let run_role = |role: &RoleContext<'_>| {
            // Whoever has nothing to do leaves at once: a sibling that waits would slow the other one down.
            if WORKING[phase][role.number % 2] {
                work(role, span_ticks)
            } else {
                role.wait_for_all().map(|()| Rates::default())
            }
        };
        let said = context.run(order.span + PATIENCE, run_role, || ())?;
        rates[phase] = [said[0], said[1]];
    }
    let [both, alone] = [rates[0], [rates[1][0], rates[2][1]]];
    let mut observed = Observed::default();
    for unit in Unit::ALL {
        for (role, (both, alone)) in both.iter().zip(&alone).enumerate() {
            observed.value(&name(unit, role), both[unit as usize] / alone[unit as usize]);
        }
    }
    Ok(observed)
}

/// Keeps one unit busy after the other, and says how fast. Spans end at times that are fixed beforehand, so that two CPUs
/// that began together keep the same unit busy all the time.
fn work(role: &RoleContext<'_>, span_ticks: u64) -> Result<Rates, Halt> {
    role.wait_for_all()?;
    let mut until = counter::now_ticks();
    for unit in Unit::ALL {
        until += (span_ticks as f64 * WARM_UP / Unit::ALL.len() as f64) as u64;
        busy(role, unit, until)?;
    }
    let mut all: [Vec<f64>; Unit::ALL.len()] = Default::default();
    for _ in 0..SPANS {
        for unit in Unit::ALL {
            until += span_ticks;
            all[unit as usize].push(busy(role, unit, until)?);
        }
    }
    Ok(all.map(|rates| stats::median(&rates).unwrap_or(0.0)))
}

/// Keeps a unit busy until a time; gives blocks per tick.
fn busy(role: &RoleContext<'_>, unit: Unit, until: u64) -> Result<f64, Halt> {
    let began = counter::now_ticks();
    let mut blocks = 0u64;
    loop {
        match unit {
            Unit::Multiplier => multiply(),
            Unit::Divider => divide(),
        }
        blocks += 1;
        let now = counter::now_ticks();
        if now >= until {
            return Ok(blocks as f64 / now.saturating_sub(began).max(1) as f64);
        }
        role.guard.check_at(now)?;
        role.give_way();
    }
}

/// Independent chains of multiplications: 3 to 5 cycles each and one for the addition, so that eight keep two multipliers
/// busy, as many as any core of today has for whole products of 64 bits. Measured on Zen 5: 4, 8 and 16 chains all give
/// 2.2 products a nanosecond, so the unit is full. The upper half of the product, because that of the lower halves is
/// turned into vector code, which multiplies elsewhere.
const PRODUCTS: usize = 8;
/// Independent chains of divisions: 13 to 20 cycles each, and one can begin every 4 or 5. Measured on Zen 5: 8 and 16
/// chains both give 1.6 quotients a nanosecond, 4 give 1.2.
const QUOTIENTS: usize = 8;
/// About 0.2 µs each on a core of 4 GHz: ten times what looking at the clock takes, less than a hundredth of a span.
const ROUNDS_OF_PRODUCTS: u64 = 64;
const ROUNDS_OF_QUOTIENTS: u64 = 32;
/// An odd number with bits all over: 2⁶⁴ divided by the golden ratio.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

fn multiply() {
    let mut chains: [u64; PRODUCTS] = black_box([1, 3, 5, 7, 9, 11, 13, 15]);
    for round in 0..ROUNDS_OF_PRODUCTS {
        for chain in &mut chains {
            let product = u128::from(*chain) * u128::from(FACTOR);
            *chain = ((product >> 64) as u64).wrapping_add(round);
        }
    }
    black_box(chains);
}

fn divide() {
    let [one, mut chains]: [[f64; QUOTIENTS]; 2] =
        black_box([[1.0; 8], [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8]]);
    for _ in 0..ROUNDS_OF_QUOTIENTS {
        for (chain, one) in chains.iter_mut().zip(&one) {
            // Tends to the golden ratio, and never to numbers that take longer.
            *chain = one / *chain + 1.0;
        }
    }
    black_box(chains);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_is_not_compiled_away() {
        for act in [multiply as fn(), divide] {
            let began = counter::now_ticks();
            (0..100).for_each(|_| act());
            assert!(counter::now_ticks() - began > 1_000);
        }
    }
}
