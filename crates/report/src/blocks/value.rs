//! [`DisplayValue`]: a number with format, unit and source. [`Sentence`]: a template with arguments. Only
//! [`crate::fmt`] turns them into text.

pub(crate) use super::source::pointer;
pub use super::source::{
    MapSource, MatrixNumber, ModePart, Operation, PlacementNumber, Source, Statistic, WideNumber,
};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, CpuSet, Scope};

/// A number shown on a screen or a page.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplayValue {
    /// The number, in the unit of its source.
    pub number: Number,
    /// The unit of the number in the text.
    pub unit: DisplayUnit,
    /// The origin of the number.
    pub source: Source,
}

/// A number, and the shown part of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number of events or of counted things.
    Count(u64),
    /// A number without an interval, or with its interval in another cell.
    Point(f64),
    /// A number rounded to two significant digits, for headlines and large numbers.
    Short(f64),
    /// A number rounded to two significant digits because its interval is wide.
    Coarse(f64),
    /// A point with its interval.
    Estimate(Estimate),
    /// Half the width of an interval, in the unit of the point that precedes it: `±0.4`.
    PlusMinus(Estimate),
    /// A time in seconds, written as `3 min 20 s`.
    Duration(f64),
    /// Half the width of an interval around the number in another cell, as a share of that number.
    HalfWidth {
        /// The interval.
        of: Estimate,
        /// The number in the other cell, such as the median of all events where the point is the median over passes.
        stated: f64,
    },
    /// Half the width of an interval, in the unit of the number in another cell.
    Reach(Estimate),
    /// A share with the ends of its interval: `25 % [20 % .. 31 %]`, `25 % ?` without one.
    WithEnds(Estimate),
    /// A relative difference with its sign and half its interval, in percentage points: `+5.0 % ±0.40 %`.
    Shift(Estimate),
    /// The size of a relative difference and half its interval, in percentage points: `76 % ±0.10 %`.
    Size(Estimate),
    /// A relative difference with its sign and one decimal: `+5.0 %`.
    Difference(f64),
    /// A p-value with its relation: `= 0.0020`, `< 0.0001`.
    Probability(f64),
    /// A setting with all its digits; a rate has at most six.
    Setting(f64),
    /// Both ends of an interval, in the unit of its point: `432.1–434.4 M`. Another cell shows the point.
    Ends(Estimate),
    /// A relative difference with its sign: `-26 %`, `∞`.
    Relative(f64),
    /// A part of a whole: `none`, `3`, `all`.
    Part {
        /// The part.
        number: u64,
        /// The whole.
        of: u64,
    },
    /// A number of any magnitude: three digits, or four and a unit letter far outside the range of latencies.
    Figure(f64),
}

/// The unit and format in which a number is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DisplayUnit {
    /// The column header states the unit; the number is divided by this factor.
    OfColumn(f64),
    /// The number is scaled to a readable magnitude, and the unit follows.
    Own(Unit),
    /// Millions per second; the column header or the text above states the unit. Small numbers have three digits.
    Millions,
    /// Bytes in binary units: `48 KiB`.
    BinaryBytes,
    /// No unit; the number has this many decimals. Zero is `0`, and a value too small for the decimals is `<0.01`.
    Decimals(usize),
    /// No unit; the number has as many decimals as in its file.
    AsInFile(usize),
    /// A share in percent: `25.0`. The column header states the unit.
    Percents,
    /// A time such as `3 min 20 s`, for a number in units of this many seconds.
    Duration(f64),
    /// A large count in thousands or millions: `26.4 M`.
    Letter,
    /// The number is scaled to a readable magnitude, and the sentence states the unit: `15 M` messages/s, `8.2` times.
    InSentence(Unit),
    /// The column header states the unit; the number has four digits and a unit letter, `433.8 M`.
    Figure,
}

impl DisplayValue {
    /// The number of things that a sentence counts and does not list.
    pub fn listed(number: usize) -> DisplayValue {
        DisplayValue {
            number: Number::Count(number as u64),
            unit: DisplayUnit::Own(Unit::Number),
            source: Source::Listed,
        }
    }
}

impl DisplayValue {
    /// A number in the unit of its source. The column or the sentence states the unit.
    pub fn bare(number: Number, source: Source) -> DisplayValue {
        DisplayValue { number, unit: DisplayUnit::OfColumn(1.0), source }
    }

    /// A field of the document, by its JSON pointer.
    pub fn field(path: impl Into<String>, number: Number) -> DisplayValue {
        DisplayValue::bare(number, Source::Field(path.into()))
    }

    /// The same number with this unit after it.
    #[must_use]
    pub fn in_unit(self, unit: Unit) -> DisplayValue {
        DisplayValue { unit: DisplayUnit::Own(unit), ..self }
    }
}

/// A template with named placeholders, `{name} is {best}`, and their arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// A literal; a placeholder is a name in braces.
    pub template: &'static str,
    /// One argument for each placeholder, in any order.
    pub args: Vec<(&'static str, Arg)>,
}

/// An argument of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A number.
    Value(DisplayValue),
    /// The scope that two CPUs share, as a place: `inside an L3`.
    Place(Scope),
    /// The scope that two CPUs share, as a condition: `same L3`.
    Shared(Scope),
    /// A set of CPUs: `0-3,8`.
    CpuSet(CpuSet),
    /// Text that contains no number of this run.
    Text(PlainText),
    /// Text that is also in the document, apart from a full stop at its end.
    Recorded(String, Source),
    /// CPUs listed by number.
    Cpus(Vec<CpuId>),
    /// A sentence that starts with a capital letter.
    Capitalized(Box<Sentence>),
    /// Several sentences joined by this separator.
    Parts(Vec<Sentence>, &'static str),
}

impl Sentence {
    /// A count and its noun: `1 pair`, `2 pairs`.
    pub fn counted(number: u64, source: Source, [one, several]: [&'static str; 2]) -> Sentence {
        Sentence::new("{number} {noun}")
            .with("number", DisplayValue::bare(Number::Count(number), source))
            .with("noun", if number == 1 { one } else { several })
    }

    /// Sentences joined by a separator.
    pub fn joined(parts: impl IntoIterator<Item = Sentence>, separator: &'static str) -> Sentence {
        Sentence::new("{parts}").with("parts", Arg::Parts(parts.into_iter().collect(), separator))
    }

    /// A sentence that consists of one untrusted name.
    pub fn name(name: &str) -> Sentence {
        Sentence::new("{name}").with_name("name", name)
    }

    /// A template; [`Sentence::with`] adds its arguments.
    pub fn new(template: &'static str) -> Sentence {
        Sentence { template, args: Vec::new() }
    }

    /// Adds an argument for a placeholder.
    #[must_use]
    pub fn with(mut self, name: &'static str, arg: impl Into<Arg>) -> Sentence {
        self.args.push((name, arg.into()));
        self
    }

    /// A count and its noun, whose plural ends in `s`: `{number} pair{s}`.
    pub fn pluralized(template: &'static str, number: DisplayValue) -> Sentence {
        let plural = if number.number == Number::Count(1) { "" } else { "s" };
        Sentence::new(template).with("number", number).with("s", plural)
    }

    /// Adds an untrusted name for a placeholder.
    #[must_use]
    pub fn with_name(self, placeholder: &'static str, name: &str) -> Sentence {
        self.with(placeholder, PlainText::untrusted(name))
    }

    /// The same sentence with a capital first letter.
    #[must_use]
    pub fn capitalized(self) -> Sentence {
        Sentence::new("{sentence}").with("sentence", Arg::Capitalized(Box::new(self)))
    }

    /// The sentence and all sentences in its arguments.
    pub fn all(&self) -> Vec<&Sentence> {
        let mut all = vec![self];
        for (_, arg) in &self.args {
            match arg {
                Arg::Capitalized(part) => all.extend(part.all()),
                Arg::Parts(parts, _) => all.extend(parts.iter().flat_map(Sentence::all)),
                _ => {}
            }
        }
        all
    }

    /// All numbers of the sentence, in the order of the arguments.
    pub fn values(&self) -> Vec<&DisplayValue> {
        let args = self.all().into_iter().flat_map(|sentence| &sentence.args);
        args.filter_map(|(_, arg)| if let Arg::Value(value) = arg { Some(value) } else { None }).collect()
    }
}

impl From<&'static str> for Sentence {
    fn from(literal: &'static str) -> Sentence {
        Sentence::new("{text}").with("text", literal)
    }
}

impl From<DisplayValue> for Arg {
    fn from(value: DisplayValue) -> Arg {
        Arg::Value(value)
    }
}

impl From<CpuSet> for Arg {
    fn from(cpus: CpuSet) -> Arg {
        Arg::CpuSet(cpus)
    }
}

impl From<CpuId> for Arg {
    fn from(cpu: CpuId) -> Arg {
        Arg::Cpus(vec![cpu])
    }
}

impl From<Vec<CpuId>> for Arg {
    fn from(cpus: Vec<CpuId>) -> Arg {
        Arg::Cpus(cpus)
    }
}

impl From<PlainText> for Arg {
    fn from(text: PlainText) -> Arg {
        Arg::Text(text)
    }
}

impl From<Sentence> for Arg {
    fn from(part: Sentence) -> Arg {
        Arg::Parts(vec![part], "")
    }
}

impl From<&'static str> for Arg {
    fn from(text: &'static str) -> Arg {
        Arg::Text(text.into())
    }
}

/// Text that contains no number of this run.
#[derive(Debug, Clone, PartialEq)]
pub enum PlainText {
    /// Text of this program.
    Literal(&'static str),
    /// A name from users, files, the system or runtimes, which may contain terminal control sequences.
    Untrusted(String),
}

impl PlainText {
    /// Wraps an untrusted name.
    pub fn untrusted(name: &str) -> PlainText {
        PlainText::Untrusted(name.to_owned())
    }
}

impl From<&'static str> for PlainText {
    fn from(text: &'static str) -> PlainText {
        PlainText::Literal(text)
    }
}
