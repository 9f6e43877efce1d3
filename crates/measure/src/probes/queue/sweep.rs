//! [`rates`]: the rates of a sweep, in rising order.

use crate::series::RequestError;

/// Number of rates in a sweep. By default each is 1.58 times the previous rate, which makes 5 per decade.
pub const RATES: usize = 21;
/// Default minimum and maximum rate. Below the minimum, CPUs would enter idle states between messages. Two loops that
/// read the clock for each message do not reach the maximum.
const DEFAULT: [f64; 2] = [1e4, 1e8];

/// Parses `auto` or `10000..1000000` (messages per second) into rates in equal ratios, with both ends. Fails with
/// [`RequestError::OutOfRange`] if the first end is not below the second.
pub fn rates(text: &str) -> Result<Vec<f64>, RequestError> {
    let [from, to] = match text.split_once("..") {
        None if text == "auto" => DEFAULT,
        ends => {
            let ends = ends.and_then(|(from, to)| Some([from.parse().ok()?, to.parse().ok()?]));
            let ends = ends.filter(|[from, to]: &[f64; 2]| *from > 0.0 && from < to && to.is_finite());
            let allowed = "the first rate must be above 0 and below the second, for example 100k..10M/s";
            ends.ok_or_else(|| RequestError::out_of_range(format!("--rate-sweep {text}"), allowed))?
        }
    };
    let last = (RATES - 1) as f64;
    let step = (to / from).powf(1.0 / last);
    let mut rates: Vec<f64> = (0..RATES).map(|at| rounded(from * step.powf(at as f64), step)).collect();
    // The requested ends are used exactly.
    (rates[0], rates[RATES - 1]) = (from, to);
    rates.dedup();
    Ok(rates)
}

/// Rounds a rate to the fewest digits that move it by less than a quarter of a step.
fn rounded(rate: f64, step: f64) -> f64 {
    let magnitude = rate.log10().floor();
    let digits = (2..=15).find(|digits| 2.0 * 10f64.powi(1 - digits) < step - 1.0).unwrap_or(15);
    let unit = 10f64.powf(magnitude + 1.0 - f64::from(digits));
    // Below 1, a division by a whole number keeps digits that a multiplication would lose.
    if unit < 1.0 {
        (rate * (1.0 / unit).round()).round() / (1.0 / unit).round()
    } else {
        (rate / unit).round() * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_in_equal_ratios_and_read_well() {
        let all = rates("auto").unwrap();
        assert_eq!(all[..6], [10e3, 16e3, 25e3, 40e3, 63e3, 100e3]);
        assert_eq!((all.len(), all[20]), (RATES, 100e6));
        for text in ["1000000..1500000", "0.5..20", "123456..9876543"] {
            let all = rates(text).unwrap();
            let ends = text.split_once("..").unwrap();
            assert_eq!((all[0], all[RATES - 1]), (ends.0.parse().unwrap(), ends.1.parse().unwrap()));
            let step = (all[RATES - 1] / all[0]).powf(0.05);
            for pair in all.windows(2) {
                let steps = (pair[1] / pair[0]).ln() / step.ln();
                assert!(steps > 0.5 && steps < 1.5, "{text}: {pair:?}");
            }
        }
    }

    #[test]
    fn ends_in_the_wrong_order_are_refused_in_a_sentence() {
        for text in ["5..5", "9..1", "0..4", "4", "a..b", "1..inf"] {
            let refused = rates(text).unwrap_err().to_string();
            assert!(refused.contains("below the second"), "{refused}");
        }
    }
}
