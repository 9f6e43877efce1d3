//! Tests whether two CPUs share execution units, as the threads of one core do. Work on each CPU then slows the other
//! down. Users cannot request this probe: a latency run tests the pairs that its map shows to be nearest.

use crate::pricing::SimContext;
use crate::series::{RequestError, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(all(target_os = "linux", not(miri)))]
use crate::trial_context::TrialContext;
use coretalk_model::CpuId;
use coretalk_model::TrialFailure;
use coretalk_model::latency::execution::{ExecutionPass, ExecutionUnit};
use coretalk_model::probes::ProbeDeclaration;
use coretalk_model::quantity::{Better, Quantity};
use coretalk_model::series::{Observed, Parameters, TrialSpec};

/// The probe for shared execution units.
#[derive(Debug, Clone, Copy)]
pub struct Execution;

const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: "execution",
    title: "Shared execution",
    question: "do two CPUs share execution units, as SMT siblings do?",
    unit: "ratio",
    quantity: "kept",
    quantities: QUANTITIES,
    ..ProbeDeclaration::EMPTY
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

/// The name of a quantity: the share of its rate on `unit` that `role` keeps while the other role works.
fn name(unit: ExecutionUnit, role: usize) -> String {
    format!("{}_kept_{role}", unit.name())
}

/// The trial that tests a pair.
pub fn trial(pair: [CpuId; 2]) -> TrialSpec {
    TrialSpec {
        probe: DECLARATION.id.to_owned(),
        parameters: Parameters::default(),
        placement: pair.to_vec(),
    }
}

/// The result of a pass; `None` if a rate is missing.
pub fn pass_of(observed: &Observed) -> Option<ExecutionPass> {
    let mut kept = [[0.0; 2]; ExecutionUnit::ALL.len()];
    for unit in ExecutionUnit::ALL {
        for (role, kept) in kept[unit as usize].iter_mut().enumerate() {
            // Thousandths are finer than the agreement of two passes, and short to print.
            *kept = (observed.numbers.values.get(&name(unit, role))? * 1e3).round() / 1e3;
        }
    }
    Some(ExecutionPass { kept })
}

impl SeriesProbe for Execution {
    fn declaration(&self) -> &'static ProbeDeclaration {
        &DECLARATION
    }

    fn trials(&self, request: &SeriesRequest<'_>) -> Result<Vec<TrialSpec>, RequestError> {
        Ok(request.pairs.iter().copied().map(trial).collect())
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn perform(&self, context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        perform::perform(context, order)
    }

    /// Threads of one core have the scenario's worst slowdown by a busy sibling, since both work all the time.
    fn simulate(
        &self,
        sim: &mut dyn SimContext<'_>,
        order: &TrialOrder<'_>,
    ) -> Result<Observed, TrialFailure> {
        let [_, worst] = sim.sibling_factor();
        let slowdown = if sim.shares_core() { worst } else { 1.0 };
        let mut observed = Observed::default();
        for unit in ExecutionUnit::ALL {
            for role in 0..2 {
                let [alone, both] = [sim.batch(1.0), sim.batch(slowdown)];
                observed.value(&name(unit, role), alone / both);
            }
        }
        sim.pass(order.span.ns());
        for role in 0..2 {
            sim.spend(role, order.span.ns() * 2.0 / 3.0, 0);
        }
        Ok(observed)
    }
}

/// One pass on threads of this machine. In random order: both work, the first alone, the second alone.
#[cfg(all(target_os = "linux", not(miri)))]
mod perform {
    use super::*;
    use crate::counter;
    use crate::kernel_context::Halt;
    use crate::trial_context::RoleContext;
    use coretalk_model::stats::{self, Key};
    use std::hint::black_box;

    /// Spans of work per unit. The median of five tolerates one or two timer ticks.
    const SPANS: usize = 5;
    /// Work before the first span, as a share of a span. Clock rates rise, and the role that started last arrives.
    const WARM_UP: f64 = 0.25;
    const WORKING: [[bool; 2]; 3] = [[true, true], [true, false], [false, true]];
    /// Blocks per tick of each unit, for one role.
    type Rates = [f64; ExecutionUnit::ALL.len()];

    pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
        let spans = (SPANS * ExecutionUnit::ALL.len()) as f64 + WARM_UP;
        let span_ticks = context.rate().ticks(order.span.ns() / WORKING.len() as f64 / spans) as u64;
        let mut phases = [0, 1, 2];
        Key::from_words(&[order.key]).shuffle(&mut phases);
        let mut rates = [[Rates::default(); 2]; WORKING.len()];
        for phase in phases {
            let run_role = |role: &RoleContext<'_>| {
                // An idle role leaves at once. A waiting sibling would slow the other role down.
                if WORKING[phase][role.number % 2] {
                    work(role, span_ticks)
                } else {
                    role.wait_for_all().map(|()| Rates::default())
                }
            };
            let role_rates = context.run(order.limit(), run_role, || ())?;
            rates[phase] = [role_rates[0], role_rates[1]];
        }
        let [both, alone] = [rates[0], [rates[1][0], rates[2][1]]];
        let mut observed = Observed::default();
        for unit in ExecutionUnit::ALL {
            for (role, (both, alone)) in both.iter().zip(&alone).enumerate() {
                observed.value(&name(unit, role), both[unit as usize] / alone[unit as usize]);
            }
        }
        Ok(observed)
    }

    /// Keeps the units busy one after another and returns the rates. Spans end at predetermined times, so two CPUs that
    /// started together always use the same unit.
    fn work(role: &RoleContext<'_>, span_ticks: u64) -> Result<Rates, Halt> {
        role.wait_for_all()?;
        let mut until = counter::now_ticks();
        for unit in ExecutionUnit::ALL {
            until += (span_ticks as f64 * WARM_UP / ExecutionUnit::ALL.len() as f64) as u64;
            run_unit(role, unit, until)?;
        }
        let mut all: [Vec<f64>; ExecutionUnit::ALL.len()] = Default::default();
        for _ in 0..SPANS {
            for unit in ExecutionUnit::ALL {
                until += span_ticks;
                all[unit as usize].push(run_unit(role, unit, until)?);
            }
        }
        Ok(all.map(|rates| stats::median(&rates).unwrap_or(0.0)))
    }

    fn run_unit(role: &RoleContext<'_>, unit: ExecutionUnit, until: u64) -> Result<f64, Halt> {
        let began = counter::now_ticks();
        let mut blocks = 0u64;
        loop {
            match unit {
                ExecutionUnit::Multiplier => multiply(),
                ExecutionUnit::Divider => divide(),
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

    /// Independent chains of multiplications. A multiplication takes 3 to 5 cycles and the addition one, so eight
    /// chains keep two multipliers busy. Current cores have at most two for full 64-bit products. On Zen 5 chains of 4,
    /// 8 and 16 all give 2.2 products per ns, so the unit is saturated. Lower halves of products would be vectorised,
    /// which uses another unit, so the upper half is used.
    const MULTIPLICATION_CHAINS: usize = 8;
    /// Independent chains of divisions. A division takes 13 to 20 cycles, and one begins every 4 or 5. On Zen 5, 8 and
    /// 16 chains give 1.6 quotients per ns, 4 chains 1.2.
    const DIVISION_CHAINS: usize = 8;
    /// Rounds per block. A block takes about 0.2 µs on a core of 4 GHz: ten times the cost of a clock read, and less
    /// than a hundredth of a span.
    const ROUNDS_OF_PRODUCTS: u64 = 64;
    const ROUNDS_OF_QUOTIENTS: u64 = 32;
    /// 2⁶⁴ divided by the golden ratio: odd, with set bits throughout.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

    fn multiply() {
        let mut chains: [u64; MULTIPLICATION_CHAINS] = black_box([1, 3, 5, 7, 9, 11, 13, 15]);
        for round in 0..ROUNDS_OF_PRODUCTS {
            for chain in &mut chains {
                let product = u128::from(*chain) * u128::from(FACTOR);
                *chain = ((product >> 64) as u64).wrapping_add(round);
            }
        }
        black_box(chains);
    }

    fn divide() {
        let [one, mut chains]: [[f64; DIVISION_CHAINS]; 2] =
            black_box([[1.0; 8], [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8]]);
        for _ in 0..ROUNDS_OF_QUOTIENTS {
            for (chain, one) in chains.iter_mut().zip(&one) {
                // Converges to the golden ratio, and never to numbers that take longer.
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
