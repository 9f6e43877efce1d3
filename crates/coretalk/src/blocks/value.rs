//! [`DisplayValue`]: a number with what a medium needs to write it, and with its source; [`Sentence`]: a template with
//! typed arguments. Both become text in [`crate::report::fmt`] alone.

pub(crate) use super::source::pointer;
pub use super::source::{
    MapSource, MatrixNumber, ModePart, Operation, PlacementNumber, Source, Statistic, WideNumber,
};
use coretalk_model::quantity::Unit;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, CpuSet, Scope};

/// A number of a screen or a page.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplayValue {
    /// In the unit of its source.
    pub number: Number,
    /// What it is written in.
    pub unit: DisplayUnit,
    /// Where it comes from.
    pub source: Source,
}

/// A number and what is known of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number: events, or things that a sentence counts.
    Count(u64),
    /// A number whose interval is absent or in another cell.
    Point(f64),
    /// A number of two significant digits, for a first line and large numbers.
    Short(f64),
    /// A number of two significant digits, because its interval is wide.
    Coarse(f64),
    /// A point with its interval.
    Estimate(Estimate),
    /// Half the width of an interval in the unit of its point, which stands before it: `±0.4`.
    PlusMinus(Estimate),
    /// A time in seconds, as a person says it: `3 min 20 s`.
    Duration(f64),
    /// Half the width of an interval around the number in another cell, as a share of that number.
    HalfWidth {
        /// The interval.
        of: Estimate,
        /// The number in the other cell, which may differ from the point: the median of all events, that of passes.
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
    /// A p-value, with its relation: `= 0.0020`, `< 0.0001`.
    Probability(f64),
    /// A setting: written with all its digits, rates with six.
    Setting(f64),
    /// Both ends of an interval in the unit of its point, which stands in another cell: `432.1–434.4 M`.
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
    /// A number of any size: three digits, or four and a letter where it is far below or above latencies.
    Figure(f64),
}

/// What a number is written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DisplayUnit {
    /// The unit stands above the column: the number is divided by this.
    OfColumn(f64),
    /// The unit stands behind the number, in the scale that reads best.
    Own(Unit),
    /// Millions in a second, which the column or what stands above it states; a small number has three digits.
    Millions,
    /// None: the number has as many decimals. `0` and `<0.01` say that there is none, or less than they show.
    Decimals(usize),
    /// None: the number has the decimals of the file that it comes from.
    AsInFile(usize),
    /// A share of which the title of the column states that it is in percent: `25.0`.
    Percents,
    /// A time as people say it, of a number in so many seconds: `3 min 20 s`.
    Duration(f64),
    /// Many events, in thousands or millions: `26.4 M`.
    Letter,
    /// The sentence states the unit behind the number, which has the scale that reads best: `15 M` messages/s, `8.2` times.
    InSentence(Unit),
    /// The column states it: the number has four digits and the letter of its size, `433.8 M`.
    Figure,
}

impl DisplayValue {
    /// How many things a sentence counts instead of listing them.
    pub fn listed(number: usize) -> DisplayValue {
        DisplayValue {
            number: Number::Count(number as u64),
            unit: DisplayUnit::Own(Unit::Number),
            source: Source::Listed,
        }
    }
}

impl DisplayValue {
    /// A number in the unit of its source, which its column or its sentence states.
    pub fn bare(number: Number, source: Source) -> DisplayValue {
        DisplayValue { number, unit: DisplayUnit::OfColumn(1.0), source }
    }

    /// A field of the document, by its JSON pointer.
    pub fn field(path: impl Into<String>, number: Number) -> DisplayValue {
        DisplayValue::bare(number, Source::Field(path.into()))
    }

    /// The same in a unit of its own.
    #[must_use]
    pub fn in_unit(self, unit: Unit) -> DisplayValue {
        DisplayValue { unit: DisplayUnit::Own(unit), ..self }
    }
}

/// A template with named holes, `{name} is {best}`, and what fills them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// A literal. A hole is a name in braces.
    pub template: &'static str,
    /// One for each hole, in any order.
    pub args: Vec<(&'static str, Arg)>,
}

/// What fills a hole.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A number.
    Value(DisplayValue),
    /// What pairs share, as a place: `inside an L3`.
    Place(Scope),
    /// The same as a condition: `same L3`.
    Shared(Scope),
    /// A set of CPUs: `0-3,8`.
    CpuSet(CpuSet),
    /// Words without a number of this run.
    Text(PlainText),
    /// Words that the document has as well, but for a full stop at their end.
    Recorded(String, Source),
    /// CPUs by number.
    Cpus(Vec<CpuId>),
    /// A sentence, from a capital letter on.
    Capitalized(Box<Sentence>),
    /// Several sentences with this between them.
    Parts(Vec<Sentence>, &'static str),
}

impl Sentence {
    /// How many and of what: `1 pair`, `2 pairs`.
    pub fn counted(number: u64, source: Source, [one, several]: [&'static str; 2]) -> Sentence {
        Sentence::new("{number} {noun}")
            .with("number", DisplayValue::bare(Number::Count(number), source))
            .with("noun", if number == 1 { one } else { several })
    }

    /// Sentences with this between them.
    pub fn joined(parts: impl IntoIterator<Item = Sentence>, between: &'static str) -> Sentence {
        Sentence::new("{parts}").with("parts", Arg::Parts(parts.into_iter().collect(), between))
    }

    /// A name from outside alone.
    pub fn name(name: &str) -> Sentence {
        Sentence::new("{name}").with_name("name", name)
    }

    /// A template; [`Sentence::with`] fills its holes.
    pub fn new(template: &'static str) -> Sentence {
        Sentence { template, args: Vec::new() }
    }

    /// The same with a hole filled.
    #[must_use]
    pub fn with(mut self, name: &'static str, arg: impl Into<Arg>) -> Sentence {
        self.args.push((name, arg.into()));
        self
    }

    /// A number with its noun, whose plural has an `s`: `{number} pair{s}`.
    pub fn pluralized(template: &'static str, number: DisplayValue) -> Sentence {
        let plural = if number.number == Number::Count(1) { "" } else { "s" };
        Sentence::new(template).with("number", number).with("s", plural)
    }

    /// The same with a name from outside in a hole.
    #[must_use]
    pub fn with_name(self, hole: &'static str, name: &str) -> Sentence {
        self.with(hole, PlainText::untrusted(name))
    }

    /// The same as a sentence begins.
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

    /// All its numbers, in the order of the arguments.
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

/// Words without a number of this run.
#[derive(Debug, Clone, PartialEq)]
pub enum PlainText {
    /// Words of this program.
    Literal(&'static str),
    /// A name from users, files, the system and runtimes, which may hold what steers a terminal.
    Untrusted(String),
}

impl PlainText {
    /// A name from outside.
    pub fn untrusted(name: &str) -> PlainText {
        PlainText::Untrusted(name.to_owned())
    }
}

impl From<&'static str> for PlainText {
    fn from(text: &'static str) -> PlainText {
        PlainText::Literal(text)
    }
}
