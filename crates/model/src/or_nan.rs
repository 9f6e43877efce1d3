use crate::stats::Estimate;
use std::fmt;

/// An optional number or group of numbers. A special NaN, which no calculation yields, marks absence.
///
/// An `Option<f64>` takes 16 bytes. A map of 1,024 CPUs has half a million cells with five optional numbers each.
///
/// ```
/// # use coretalk_model::OrNan;
/// let (known, unknown) = (OrNan::from(Some(4.2)), OrNan::<f64>::NONE);
/// assert_eq!((known.get(), unknown.get()), (Some(4.2), None));
/// assert!(OrNan::from(Some(f64::NAN)).get().is_some_and(f64::is_nan));
/// ```
#[derive(Clone, Copy)]
pub struct OrNan<T>(T);

/// A number or group of numbers with a value that marks absence.
pub trait Absence: Copy {
    /// The value that marks absence.
    const ABSENT: Self;

    /// Whether this is [`ABSENT`](Absence::ABSENT), and not another NaN.
    fn is_absent(&self) -> bool;
}

impl<T: Absence> OrNan<T> {
    /// No value.
    pub const NONE: OrNan<T> = OrNan(T::ABSENT);

    /// The value, if there is one.
    pub fn get(self) -> Option<T> {
        (!self.0.is_absent()).then_some(self.0)
    }

    /// The result of a function of the value, if there is one.
    #[must_use]
    pub fn map(self, of_value: impl FnOnce(T) -> T) -> OrNan<T> {
        self.get().map(of_value).into()
    }
}

impl<T: Absence> From<Option<T>> for OrNan<T> {
    fn from(value: Option<T>) -> OrNan<T> {
        OrNan(value.unwrap_or(T::ABSENT))
    }
}

impl<T: Absence + fmt::Debug> fmt::Debug for OrNan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl<T: Absence + PartialEq> PartialEq for OrNan<T> {
    fn eq(&self, other: &OrNan<T>) -> bool {
        self.get() == other.get()
    }
}

impl Absence for f64 {
    const ABSENT: f64 = f64::from_bits(f64::NAN.to_bits() + 1);

    fn is_absent(&self) -> bool {
        self.to_bits() == Self::ABSENT.to_bits()
    }
}

impl Absence for [f32; 2] {
    const ABSENT: [f32; 2] = [f32::from_bits(f32::NAN.to_bits() + 1); 2];

    fn is_absent(&self) -> bool {
        self[0].to_bits() == Self::ABSENT[0].to_bits()
    }
}

impl Absence for Estimate {
    const ABSENT: Estimate = {
        let none = f64::ABSENT;
        Estimate { point: none, low: none, high: none, confidence: none, effective_n: none }
    };

    fn is_absent(&self) -> bool {
        self.point.is_absent()
    }
}
