//! Values that are multiples of one step because of a coarse clock.

use crate::formats::Printed;

/// Minimum mean length of the unit vectors for values on a lattice. Noise of ± 5 % of a step gives 0.95.
const MIN_RESULTANT: f64 = 0.95;
/// Beyond this multiple, the error of the step itself blurs the lattice.
const MAX_MULTIPLE: f64 = 60.0;
const MIN_VALUES: usize = 20;
const MIN_MULTIPLES: usize = 4;
/// Minimum number of values on a multiple, because a single value may be disturbed.
const MIN_ON_A_MULTIPLE: usize = 2;
/// Ratio between tried steps. Over 60 steps, 0.08 % is a twentieth of a step.
const STEP_RATIO: f64 = 1.0008;
const MAX_LOSS: f64 = 0.01;
/// Number of examined values, enough to detect a lattice.
const MAX_SAMPLE: usize = 1_000;
const MAX_OF_FEW: u32 = 20;
/// Maximum deviation of these few values from multiples, as a share of the step. Rounding moves a value by up to 5 % of
/// a step of 10. But with 5 %, two in five pairs of levels would seem to have a step, instead of one in six (whole
/// numbers, one from 10 to 100, the other up to three times as large).
const ROUNDING_OF_FEW: f64 = 0.02;
/// Minimum step in units for whole numbers. Smaller steps come from rounding close levels.
const MIN_WHOLE_STEP: f64 = 10.0;

/// The largest step whose multiples are the values, in their unit; `None` without a step or with too few values. Whole
/// numbers are always on a lattice of 1. `relations` is the number of kinds of pairs that are known to differ. This
/// number of multiples may be their latencies instead of a clock.
///
/// The test is the mean resultant length of the phases 2π·value/step (Rayleigh's test for a known period, Mardia and
/// Jupp 2000). It uses the values below 60 steps, which must be half of all and reach four different multiples. For two
/// or three different values, the step is the greatest common divisor.
///
/// ```
/// # use coretalk_model::{formats::Printed, lint::comb::step};
/// let values: Vec<f64> = (0..40).map(|i| 5.2 * f64::from(2 + i % 7) + 0.01 * f64::from(i % 3)).collect();
/// assert!((step(&values, Printed::Decimals, 1).unwrap() - 5.2).abs() < 0.01);
/// assert_eq!(step(&[15.6, 20.8, 10.4].repeat(9), Printed::Decimals, 2).map(f64::round), Some(5.0));
/// ```
pub fn step(values: &[f64], printed: Printed, relations: usize) -> Option<f64> {
    let mut sorted: Vec<f64> =
        values.iter().copied().filter(|value| value.is_finite() && *value > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut different = sorted.clone();
    different.dedup();
    if sorted.len() < MIN_VALUES || different.len() <= relations {
        return None;
    }
    if different.len() < MIN_MULTIPLES {
        let runs = sorted.chunk_by(|a, b| a == b).filter(|run| run.len() >= MIN_ON_A_MULTIPLE);
        let repeated: Vec<f64> = runs.map(|run| run[0]).collect();
        return step_of_few(&repeated, printed).filter(|_| repeated.len() > relations);
    }
    if printed == Printed::WholeNumbers {
        return None;
    }
    let kept = sorted.len().min(MAX_SAMPLE);
    let sorted: Vec<f64> = (0..kept).map(|rank| sorted[rank * sorted.len() / kept]).collect();
    let multiples = MIN_MULTIPLES.max(relations + 1);
    let largest = sorted.last()? / MIN_MULTIPLES as f64 * 1.2;
    let count =
        ((largest / (sorted[sorted.len() / 2] / MAX_MULTIPLE)).ln() / STEP_RATIO.ln()).max(0.0) as usize;
    let steps = (0..=count).map(|power| largest / STEP_RATIO.powi(power as i32));
    let found: Vec<(f64, f64)> = steps
        .map(|step| (step, resultant(&sorted, step, multiples)))
        .filter(|(_, length)| *length >= MIN_RESULTANT)
        .collect();
    // The values are also multiples of fractions of their step, so the largest of about equally good steps is selected.
    let best = found.iter().map(|(_, length)| *length).fold(0.0, f64::max);
    let (rough, _) = *found.iter().find(|(_, length)| *length >= best - MAX_LOSS)?;
    let below = &sorted[..sorted.partition_point(|&value| value < MAX_MULTIPLE * rough)];
    let with_multiples = below.iter().map(|value| (value, (value / rough).round()));
    let (products, squares) = with_multiples
        .fold((0.0, 0.0), |(products, squares), (value, k)| (products + k * value, squares + k * k));
    Some(products / squares)
}

fn step_of_few(different: &[f64], printed: Printed) -> Option<f64> {
    let least = *different.first()?;
    let is_step = |step: f64| {
        different.iter().all(|value| (value / step - (value / step).round()).abs() <= ROUNDING_OF_FEW)
    };
    let step = (1..=MAX_OF_FEW).map(|multiple| least / f64::from(multiple)).find(|step| is_step(*step))?;
    (printed == Printed::Decimals || step >= MIN_WHOLE_STEP).then_some(step)
}

fn resultant(sorted: &[f64], step: f64, fewest_multiples: usize) -> f64 {
    let below = sorted.partition_point(|&value| value < MAX_MULTIPLE * step);
    let values = &sorted[..below];
    if below < MIN_VALUES || 2 * below < sorted.len() {
        return 0.0;
    }
    if is_off_the_lattice(values, step) {
        return 0.0;
    }
    let multiple = |value: &f64| (value / step).round();
    let multiples = values
        .chunk_by(|a, b| multiple(a) == multiple(b))
        .filter(|run| multiple(&run[0]) > 0.0 && run.len() >= MIN_ON_A_MULTIPLE);
    if multiples.count() < fewest_multiples {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, 0.0);
    for value in values {
        let phase = std::f64::consts::TAU * value / step;
        x += phase.cos();
        y += phase.sin();
    }
    // The mean phase must be near 0, because a lattice with an offset does not consist of multiples.
    if x > 0.0 && y.abs() < x / 2.0 { (x * x + y * y).sqrt() / below as f64 } else { 0.0 }
}

/// Whether some values already rule out a mean length of [`MIN_RESULTANT`]. Usually about 70 of 1,000 are enough.
fn is_off_the_lattice(values: &[f64], step: f64) -> bool {
    /// Adjacent values have similar phases, so a contiguous block of values would decide nothing.
    const STRIDE: usize = 16;
    let slack = (1.0 - MIN_RESULTANT) * values.len() as f64;
    let (mut x, mut y) = (0.0, 0.0);
    let spread = (0..STRIDE).flat_map(|first| values.iter().skip(first).step_by(STRIDE));
    spread.enumerate().any(|(read, value)| {
        let (sin, cos) = (std::f64::consts::TAU * value / step).sin_cos();
        (x, y) = (x + cos, y + sin);
        let least = (read + 1) as f64 - slack - 0.5;
        least > 0.0 && x * x + y * y < least * least
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    fn values(step: f64, jitter: f64) -> Vec<f64> {
        let key = Key::from_words(&[21]);
        (0..200)
            .map(|i| {
                let true_value = if i % 5 == 0 { 20.0 } else { 70.0 } * (1.0 + 0.1 * key.normal(i));
                (true_value / step).round() * step + jitter * key.with(1).normal(i)
            })
            .collect()
    }

    #[test]
    fn a_lattice_is_found_with_its_step_and_noise_hides_it() {
        for at in [1.667, 2.9, 5.2, 9.0] {
            let found = step(&values(at, 0.02 * at), Printed::Decimals, 1);
            assert!(found.is_some_and(|found| (found / at - 1.0).abs() < 0.002), "{at}: {found:?}");
            assert_eq!(step(&values(at, 0.4 * at), Printed::Decimals, 1), None, "{at}");
        }
    }

    #[test]
    fn smooth_values_whole_numbers_and_a_few_values_have_none() {
        let smooth: Vec<f64> =
            (0..300).map(|i| 50.0 * (1.0 + 0.05 * Key::from_words(&[22]).normal(i))).collect();
        let lattice = values(5.2, 0.0);
        assert_eq!(step(&lattice, Printed::WholeNumbers, 1), None);
        for few in [&smooth[..], &lattice[..15], &[]] {
            assert_eq!(step(few, Printed::Decimals, 1), None, "{few:?}");
        }
        // Three tight levels are three multiples of many steps.
        let levels = [7.0, 21.0, 84.0].repeat(30);
        assert_eq!(step(&levels, Printed::Decimals, 3), None);
        // Four equally spaced levels are no clock, and one disturbed cell is no multiple.
        let level = |i: u64| {
            [20.0, 40.0, 60.0, 80.0][i as usize % 4] * (1.0 + 0.01 * Key::from_words(&[23]).normal(i))
        };
        let levels: Vec<f64> = (0..200).map(level).collect();
        assert_eq!(step(&levels, Printed::Decimals, 4), None);
        let disturbed: Vec<f64> = levels.iter().map(|ns| ns.min(61.0)).chain([354.0]).collect();
        assert_eq!(step(&disturbed, Printed::Decimals, 3), None);
    }

    #[test]
    fn two_or_three_values_are_multiples_of_their_common_step() {
        for (values, printed, relations, expected) in [
            ([25.0, 50.0, 50.0], Printed::WholeNumbers, 1, Some(25.0)),
            ([15.6, 20.8, 10.4], Printed::Decimals, 2, Some(5.2)),
            ([25.0, 50.0, 50.0], Printed::WholeNumbers, 2, None),
            ([8.0, 24.0, 24.0], Printed::WholeNumbers, 1, None),
            ([20.03, 47.71, 91.33], Printed::Decimals, 1, None),
        ] {
            let found = step(&values.repeat(20), printed, relations);
            let is_right = match (found, expected) {
                (Some(found), Some(expected)) => (found / expected - 1.0_f64).abs() < 1e-9,
                (found, expected) => found == expected,
            };
            assert!(is_right, "{values:?}: {found:?}");
        }
    }
}
