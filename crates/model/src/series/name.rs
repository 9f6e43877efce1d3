use super::ParameterValue;
use crate::CpuId;

/// The parts of the name of a series, from [`TrialSpec::label`](super::TrialSpec::label) and
/// [`TrialSpec::cpu_list`](super::TrialSpec::cpu_list): `gap_ns=1000000 receiver=looks 0-1`.
///
/// ```
/// # use coretalk_model::CpuId;
/// # use coretalk_model::series::{NamePart, SeriesName, ParameterValue};
/// let name = SeriesName::parse("gap_ns=1000 0-1").unwrap();
/// assert_eq!(name.0, [NamePart::Parameter("gap_ns", ParameterValue::Number(1000.0)), NamePart::Cpus(vec![CpuId(0), CpuId(1)])]);
/// assert_eq!(SeriesName::parse("7").unwrap().0, [NamePart::Cpus(vec![CpuId(7)])]);
/// assert_eq!(SeriesName::parse("all"), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesName<'a>(pub Vec<NamePart<'a>>);

/// A part of the name of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum NamePart<'a> {
    /// A parameter.
    Parameter(&'a str, ParameterValue),
    /// CPUs in role order.
    Cpus(Vec<CpuId>),
    /// Any other word, such as a probe or a quantity.
    Word(&'a str),
}

impl<'a> SeriesName<'a> {
    /// Splits a name; `None` for a name without parameters and CPUs, such as the name of a relation.
    pub fn parse(name: &'a str) -> Option<SeriesName<'a>> {
        let parts: Vec<NamePart<'_>> =
            name.split(' ').filter(|word| !word.is_empty()).map(NamePart::parse).collect();
        let is_series = parts.iter().any(|part| !matches!(part, NamePart::Word(_)));
        is_series.then_some(SeriesName(parts))
    }
}

impl<'a> NamePart<'a> {
    fn parse(word: &'a str) -> NamePart<'a> {
        match word.split_once('=') {
            Some((name, value)) => {
                // A comma separates the parameters of a dataset from its quantity.
                let value = value.trim_end_matches(',');
                let number = value.parse().map(ParameterValue::Number);
                NamePart::Parameter(name, number.unwrap_or_else(|_| ParameterValue::Text(value.to_owned())))
            }
            None => {
                let cpus: Result<_, _> = word.split('-').map(|cpu| cpu.parse().map(CpuId)).collect();
                cpus.map_or(NamePart::Word(word), NamePart::Cpus)
            }
        }
    }
}
