//! [`Padding`]: from which distance on two threads that write do not slow each other down.

use crate::stats::Estimate;

/// Two threads slow each other down where a write surely takes so many times as long as alone, …
const FELT: f64 = 1.1;
/// … and do not where it takes no more, and surely not so many times.
const NOT_FELT: f64 = 1.25;

/// What slowdowns at several distances say of padding; distances are in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Padding {
    /// No distance has an interval that says anything.
    Unknown,
    /// Even the nearest words do not disturb each other.
    Needless {
        /// The least distance that was measured.
        from: f64,
    },
    /// Words so far apart still disturb each other, and what lies beyond is not known.
    MoreThan(f64),
    /// From this distance on words do not disturb each other.
    To(f64),
}

/// What one slowdown says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Felt,
    NotFelt,
    Unknown,
}

impl Padding {
    /// What distances by rising bytes say, each with how many times as long as alone a write takes. That of a single pass
    /// has no interval, and says nothing.
    pub fn of(distances: &[(f64, Estimate)]) -> Padding {
        let felt = distances.iter().rposition(|(_, slowdown)| effect(slowdown) == Effect::Felt);
        let beyond = &distances[felt.map_or(0, |last| last + 1)..];
        let is_free = !beyond.is_empty() && beyond.iter().all(|(_, it)| effect(it) == Effect::NotFelt);
        match (felt.map(|last| distances[last].0), beyond.first().filter(|_| is_free)) {
            (Some(_), Some((first, _))) => Padding::To(*first),
            (Some(last), None) => Padding::MoreThan(last),
            (None, Some((first, _))) => Padding::Needless { from: *first },
            (None, None) => Padding::Unknown,
        }
    }
}

fn effect(slowdown: &Estimate) -> Effect {
    match slowdown {
        it if !it.is_sure() => Effect::Unknown,
        it if it.low > FELT => Effect::Felt,
        it if it.point <= FELT && it.high < NOT_FELT => Effect::NotFelt,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padding(slowdowns: &[(f64, f64, f64)]) -> Padding {
        let of = |&(bytes, point, reach): &(f64, f64, f64)| {
            let ends = [point * (1.0 - reach), point * (1.0 + reach)];
            (bytes, Estimate { point, low: ends[0], high: ends[1], confidence: 0.95, effective_n: 8.0 })
        };
        Padding::of(&slowdowns.iter().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn padding_pays_to_where_nothing_is_felt_any_more() {
        let usual = [(8.0, 4.5, 0.03), (32.0, 4.1, 0.03), (64.0, 1.02, 0.03), (128.0, 1.0, 0.03)];
        assert_eq!(padding(&usual), Padding::To(64.0));
        let in_twos = [(8.0, 4.5, 0.03), (64.0, 1.3, 0.03), (128.0, 1.0, 0.03)];
        assert_eq!(padding(&in_twos), Padding::To(128.0), "lines fetched in twos");
        assert_eq!(padding(&[(8.0, 1.0, 0.03), (64.0, 1.0, 0.03)]), Padding::Needless { from: 8.0 });
        assert_eq!(padding(&[(8.0, 4.0, 0.03)]), Padding::MoreThan(8.0));
        assert_eq!(
            padding(&[(8.0, 4.0, 0.03), (64.0, 1.05, 0.5)]),
            Padding::MoreThan(8.0),
            "64 is not known"
        );
        assert_eq!(padding(&[(8.0, 1.2, 0.3)]), Padding::Unknown);
    }

    #[test]
    fn a_single_pass_says_nothing() {
        let one_pass = |point| Estimate { point, low: point, high: point, confidence: 0.0, effective_n: 1.0 };
        let all = [8.0, 64.0, 256.0].map(|bytes| (bytes, one_pass(3.0)));
        assert_eq!(Padding::of(&all), Padding::Unknown);
        assert_eq!(Padding::of(&[]), Padding::Unknown);
    }
}
