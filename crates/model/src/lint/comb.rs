//! The comb: values that lie on multiples of one step, because the clock behind them was coarse.

use crate::formats::Printed;

/// Mean length of the unit vectors from which on values lie on a lattice: noise of ± 5 % of a step gives 0.95.
const ON_THE_LATTICE: f64 = 0.95;
/// Beyond so many steps an error of the step itself blurs the lattice.
const STEPS: f64 = 60.0;
const FEWEST_VALUES: usize = 20;
const FEWEST_MULTIPLES: usize = 4;
/// A finer search finds no other step: 60 steps away, 0.08 % is a twentieth of a step.
const FINENESS: f64 = 1.0008;
/// So many values tell a lattice as well as all of them.
const ENOUGH: usize = 1_000;

/// The largest step on whose multiples the values lie, in their unit; `None` where there is none, where values are too
/// few, and for values printed as whole numbers, which lie on a lattice of 1 whatever the clock.
///
/// The mean resultant length of the phases 2π·value/step (Rayleigh's test for a known period, Mardia and Jupp 2000),
/// over the values below 60 steps, which have to be half of all and reach four different multiples.
///
/// ```
/// # use coretalk_model::{formats::Printed, lint::comb::step};
/// let values: Vec<f64> = (0..40).map(|i| 5.2 * f64::from(2 + i % 7) + 0.01 * f64::from(i % 3)).collect();
/// assert!((step(&values, Printed::Decimals).unwrap() - 5.2).abs() < 0.05);
/// ```
pub fn step(values: &[f64], printed: Printed) -> Option<f64> {
    if printed == Printed::WholeNumbers {
        return None;
    }
    let mut sorted: Vec<f64> =
        values.iter().copied().filter(|value| value.is_finite() && *value > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = sorted.len().min(ENOUGH);
    let sorted: Vec<f64> = (0..kept).map(|rank| sorted[rank * sorted.len() / kept]).collect();
    let (middle, last) = (*sorted.get(sorted.len() / 2)?, *sorted.last()?);
    let mut candidate = last / FEWEST_MULTIPLES as f64 * 1.2;
    let mut best: Option<(f64, f64)> = None;
    while candidate >= middle / STEPS {
        let length = resultant(&sorted, candidate);
        match best {
            // The top of the peak, and not a smaller step that the same values also lie on.
            Some((_, high)) if length <= high => break,
            _ if length >= ON_THE_LATTICE => best = Some((candidate, length)),
            _ => {}
        }
        candidate /= FINENESS;
    }
    best.map(|(step, _)| step)
}

/// How closely the values below 60 steps lie on multiples of the step, 0 to 1; 0 where they cannot tell.
fn resultant(sorted: &[f64], step: f64) -> f64 {
    let below = sorted.partition_point(|&value| value < STEPS * step);
    let values = &sorted[..below];
    if below < FEWEST_VALUES || 2 * below < sorted.len() {
        return 0.0;
    }
    let mut multiples: Vec<u64> = values.iter().map(|value| (value / step).round() as u64).collect();
    multiples.dedup();
    if multiples.len() < FEWEST_MULTIPLES {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, 0.0);
    for value in values {
        let phase = std::f64::consts::TAU * value / step;
        x += phase.cos();
        y += phase.sin();
    }
    // Multiples of the step itself, and not a lattice with an offset: only the part along phase 0 counts.
    if x > 0.0 && y.abs() < x / 2.0 { (x * x + y * y).sqrt() / below as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    fn values(step: f64, jitter: f64) -> Vec<f64> {
        let key = Key::of(&[21]);
        (0..200)
            .map(|i| {
                let true_value = if i % 5 == 0 { 20.0 } else { 70.0 } * (1.0 + 0.1 * key.normal(i));
                (true_value / step).round() * step + jitter * key.with(1).normal(i)
            })
            .collect()
    }

    #[test]
    fn a_lattice_is_found_with_its_step_and_noise_hides_it() {
        for at in [2.9, 5.2, 9.0] {
            let found = step(&values(at, 0.02 * at), Printed::Decimals);
            assert!(found.is_some_and(|found| (found / at - 1.0).abs() < 0.01), "{at}: {found:?}");
            assert_eq!(step(&values(at, 0.4 * at), Printed::Decimals), None, "{at}");
        }
    }

    #[test]
    fn smooth_values_whole_numbers_and_a_few_values_have_none() {
        let smooth: Vec<f64> = (0..300).map(|i| 50.0 * (1.0 + 0.05 * Key::of(&[22]).normal(i))).collect();
        assert_eq!(step(&smooth, Printed::Decimals), None);
        assert_eq!(step(&values(5.2, 0.0), Printed::WholeNumbers), None);
        assert_eq!(step(&values(5.2, 0.0)[..15], Printed::Decimals), None);
        assert_eq!(step(&[], Printed::Decimals), None);
        // Three tight levels are three multiples of many things.
        let levels: Vec<f64> = (0..90).map(|i| [7.0, 21.0, 84.0][i % 3]).collect();
        assert_eq!(step(&levels, Printed::Decimals), None);
    }
}
