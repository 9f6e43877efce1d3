//! Whether two CPUs share the units that execute, as the threads of one core do: what work of one takes from work of
//! the other. No probe that anybody asks for: a latency run tests the pairs that its map shows to be nearest.

use crate::pricing::Pricing;
use crate::series::{ProbeSpec, RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::CpuId;
use coretalk_model::TrialFailure;
use coretalk_model::latency::execution::{ExecutionPass, Unit};
use coretalk_model::quantity::{Better, Parameter, Quantity};
use coretalk_model::series::{Observed, Parameters, TrialSpec};

/// Whether two CPUs share the units that execute.
#[derive(Debug, Clone, Copy)]
pub struct Execution;

const SPEC: ProbeSpec = ProbeSpec {
    id: "execution",
    title: "Shared execution",
    question: "do two CPUs share execution units, as SMT siblings do?",
    unit: "ratio",
    quantity: "kept",
};

const QUANTITIES: &[Quantity] = &[
    kept("multiplier_kept_0", "multiplier kept 0"),
    kept("multiplier_kept_1", "multiplier kept 1"),
    kept("divider_kept_0", "divider kept 0"),
    kept("divider_kept_1", "divider kept 1"),
];

const fn kept(id: &'static str, title: &'static str) -> Quantity {
    Quantity::value(id, title, coretalk_model::quantity::Unit::Ratio).better(Better::Higher)
}

/// What says how much of its rate a role keeps on a unit.
fn name(unit: Unit, role: usize) -> String {
    format!("{}_kept_{role}", unit.name())
}

/// The trial that tests a pair.
pub fn trial(pair: [CpuId; 2]) -> TrialSpec {
    TrialSpec { probe: SPEC.id.to_owned(), parameters: Parameters::default(), placement: pair.to_vec() }
}

/// What a pass said; `None` where a rate is missing.
pub fn pass_of(observed: &Observed) -> Option<ExecutionPass> {
    let mut kept = [[0.0; 2]; Unit::ALL.len()];
    for unit in Unit::ALL {
        for (role, kept) in kept[unit as usize].iter_mut().enumerate() {
            // Thousandths: finer than any two passes agree, and a decision stays short.
            *kept = (observed.numbers.values.get(&name(unit, role))? * 1e3).round() / 1e3;
        }
    }
    Some(ExecutionPass { kept })
}

impl SeriesProbe for Execution {
    fn spec(&self) -> &ProbeSpec {
        &SPEC
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        Ok(request.pairs.iter().copied().map(trial).collect())
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    /// Threads of one core keep what the scenario says of busy siblings at their worst, since both work all the time.
    fn simulate(
        &self,
        stage: &mut dyn Pricing<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let [_, worst] = stage.sibling_factor();
        let slowdown = if stage.shares_core() { worst } else { 1.0 };
        let mut observed = Observed::default();
        for unit in Unit::ALL {
            for role in 0..2 {
                let [alone, both] = [stage.batch(1.0), stage.batch(slowdown)];
                observed.value(&name(unit, role), alone / both);
            }
        }
        stage.pass(order.span.ns());
        for role in 0..2 {
            stage.spend(role, order.span.ns() * 2.0 / 3.0, 0);
        }
        Ok(observed)
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }
}

/// One pass on threads of this machine: both work, the first alone, the second alone, in random order.
#[cfg(all(target_os = "linux", not(miri)))]
mod perform {
    use super::*;
    use crate::counter;
    use crate::stage::Halt;
    use crate::trial_context::RoleContext;
    use coretalk_model::Picos;
    use coretalk_model::stats::{self, Key};
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
}
