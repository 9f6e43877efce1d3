//! `ln` and `exp` from additions, multiplications and divisions alone.
//!
//! IEEE 754 fixes these operations to the last bit, and Rust never fuses `a * b + c`. `log` and `exp` differ between C
//! libraries, but a simulated run must be the same file everywhere.

use std::f64::consts::LN_2;

/// Natural logarithm, within 4 units in the last place of the true value. Zero gives −∞, negative values NaN.
///
/// With x = m·2ᵉ and m in [√½, √2): ln x = e·ln 2 + 2 artanh((m−1)/(m+1)) as a power series (Abramowitz and Stegun
/// 1964, 4.1.27).
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    // Subnormals are first scaled by 2⁵⁴, so that their exponent field is valid.
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * TWO_54, 54) } else { (x, 0) };
    // Increments the exponent for any m that would reach √2. A branch would be mispredicted every other time.
    let above = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (above as i64 >> 52) as i32 - shift;
    let m = f64::from_bits((above & MANTISSA) + SQRT_HALF);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // s² ≤ 0.0295, so the terms after the twelfth are below 2⁻⁶⁰ of the first.
    let tail = polynomial(&ARTANH, z);
    let e = f64::from(exponent);
    // The high part of ln 2 ends in zeros, so its product with any exponent is exact.
    e * LN_2_HIGH + (2.0 * s + (2.0 * s * z * tail + e * LN_2_LOW))
}

/// Exponential, within 4 units in the last place. Overflows to ∞ and underflows to zero.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.782_712_893_384 {
        return f64::INFINITY;
    }
    if x < -745.2 {
        return 0.0;
    }
    let k = (x / LN_2 + if x < 0.0 { -0.5 } else { 0.5 }) as i32;
    let r = (x - f64::from(k) * LN_2_HIGH) - f64::from(k) * LN_2_LOW;
    // |r| ≤ 0.347, so the fourteenth term of the series is below 2⁻⁵⁷.
    let sum = 1.0 + r * (1.0 + r * polynomial(&INVERSE_FACTORIALS, r));
    // In two steps, because 2ᵏ alone may be out of range even if the product is not.
    let half = k / 2;
    sum * power_of_two(half) * power_of_two(k - half)
}

fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// Evaluates twelve coefficients, constant term first, in pairs (Estrin 1960): four dependent steps instead of eleven.
fn polynomial(c: &[f64; 12], x: f64) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    let four = |i: usize| (c[i] + c[i + 1] * x) + (c[i + 2] + c[i + 3] * x) * x2;
    four(0) + (four(4) + four(8) * x4) * x4
}

/// 1/3, 1/5 … 1/25.
const ARTANH: [f64; 12] = {
    let mut coefficients = [0.0; 12];
    let mut i = 0;
    while i < 12 {
        coefficients[i] = 1.0 / (2 * i + 3) as f64;
        i += 1;
    }
    coefficients
};

/// 1/2!, 1/3! … 1/13!.
const INVERSE_FACTORIALS: [f64; 12] = {
    let mut coefficients = [0.0; 12];
    let mut factorial = 1.0;
    let mut i = 0;
    while i < 12 {
        factorial *= (i + 2) as f64;
        coefficients[i] = 1.0 / factorial;
        i += 1;
    }
    coefficients
};

const TWO_54: f64 = 18_014_398_509_481_984.0;
const MANTISSA: u64 = (1 << 52) - 1;
/// √½, rounded down so that m stays below √2.
const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
/// ln 2 to 32 binary digits, and the remainder.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & !0x1f_ffff);
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_and_exp_agree_with_the_system_to_a_few_units_in_the_last_place() {
        let near = |a: f64, b: f64| (a - b).abs() <= 4.0 * f64::EPSILON * b.abs() || a == b;
        for i in 1..20_000 {
            let x = f64::from(i) * 0.037;
            for x in [x, 1.0 / x, 1.0 + x / 1e6, 1e-310 * x] {
                assert!(near(ln(x), x.ln()), "ln {x}: {} {}", ln(x), x.ln());
            }
            for x in [x.min(709.0), -x.min(708.0), x / 1e6] {
                assert!(near(exp(x), x.exp()), "exp {x}: {} {}", exp(x), x.exp());
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_defined() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(-1.0).is_nan() && ln(f64::NAN).is_nan() && exp(f64::NAN).is_nan());
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        assert_eq!((exp(0.0), exp(1e9), exp(-1e9)), (1.0, f64::INFINITY, 0.0));
    }

    #[test]
    fn the_bits_are_pinned() {
        // Computed on x86-64; any other platform must reproduce them.
        let bits = [0.1, 2.0, 12345.678].map(|x: f64| [ln(x), exp(-x / 100.0)].map(f64::to_bits));
        assert_eq!(bits, PINNED, "{bits:#x?}");
    }

    const PINNED: [[u64; 2]; 3] = [
        [0xc002_6bb1_bbb5_5515, 0x3fef_f7cf_e56f_1a9e],
        [0x3fe6_2e42_fefa_39ef, 0x3fef_5dc9_9bad_ec5b],
        [0x4022_d795_5979_1e31, 0x34cd_a40f_d7d6_9a7b],
    ];
}
