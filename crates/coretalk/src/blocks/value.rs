//! [`DisplayValue`]: a number with what a medium needs to write it, and with its source; [`Sentence`]: a template with
//! typed arguments. Both become text in [`crate::report::fmt`] alone.

use crate::report::text::plain;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{TrialId, TrialResult};
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, CpuSet};

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
    /// A point with its interval.
    Estimate(Estimate),
    /// Half the width of an interval around the number in another cell, as a share of that number.
    HalfWidth {
        /// The interval.
        of: Estimate,
        /// The number in the other cell, which may differ from the point: the median of all events, that of passes.
        stated: f64,
    },
    /// A relative difference with its sign and half its interval, in percentage points: `+5.0 % ±0.40 %`.
    Shift(Estimate),
    /// The size of a relative difference and half its interval, in percentage points: `76 % ±0.10 %`.
    Size(Estimate),
    /// A p-value, with its relation: `= 0.0020`, `< 0.0001`.
    Probability(f64),
    /// A setting: written with all its digits, rates with six decimals of their unit.
    Setting(f64),
}

/// What a number is written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DisplayUnit {
    /// The unit stands above the column: the number is divided by this.
    OfColumn(f64),
    /// The unit stands behind the number, in the scale that reads best.
    Own(Unit),
}

/// Where a number comes from. Tests recompute the numbers of one trial and the parameters from there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// What a trial measured.
    Trial {
        /// The trial; of a number that is typical of several placements, that of the first.
        trial: TrialId,
        /// Its [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
        /// Which number of it.
        statistic: Statistic,
        /// Placements that it is typical of.
        placements: usize,
    },
    /// A parameter.
    Parameter {
        /// Of this trial; `None` of all that a sentence compares.
        trial: Option<TrialId>,
        /// The [parameter](coretalk_model::quantity::Parameter::id).
        name: &'static str,
    },
    /// A number of a comparison of placements, by its key in the document.
    Comparison {
        /// The comparison.
        index: usize,
        /// The part of it that has the key.
        part: ComparisonPart,
        /// The key.
        key: &'static str,
    },
    /// The shift of a level of a comparison of two runs, both by position; of all pairs without a level.
    Difference {
        /// The dataset.
        dataset: usize,
        /// The level.
        level: Option<usize>,
    },
    /// A bound of the offset between the clocks of two CPUs, or the widest bounds of all.
    ClockOffset {
        /// The CPUs.
        cpus: Option<[CpuId; 2]>,
    },
    /// The length of a list: of what a sentence compares, or of what it does not name.
    Listed,
}

/// A part of a comparison of placements, by position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComparisonPart {
    /// The comparison itself.
    Whole,
    /// One of its pairs.
    Pair(usize),
    /// One of its placements.
    Placement(usize),
}

/// A number of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// How many events its distribution holds, or the sum that it is.
    Count,
    /// The mean of its distribution.
    Mean,
    /// The percentile of its distribution at this share of events.
    Percentile(f64),
    /// The estimate over passes: of a distribution that of its median.
    Estimate,
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

impl Source {
    /// A number of one trial.
    pub fn of_trial(trial: &TrialResult, quantity: &'static str, statistic: Statistic) -> Source {
        Source::Trial { trial: trial.spec.id(), quantity, statistic, placements: 1 }
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
    /// CPUs.
    Cpus(CpuSet),
    /// Words without a number of this run.
    Text(PlainText),
    /// Several sentences with this between them.
    Parts(Vec<Sentence>, &'static str),
}

impl Sentence {
    /// A template; [`Sentence::with`] fills its holes.
    pub fn new(template: &'static str) -> Sentence {
        Sentence { template, args: Vec::new() }
    }

    /// Words that were composed as text: see [`PlainText::composed`].
    pub fn composed(text: String) -> Sentence {
        Sentence::new("{text}").with("text", PlainText::composed(text))
    }

    /// The same with a hole filled.
    #[must_use]
    pub fn with(mut self, name: &'static str, arg: impl Into<Arg>) -> Sentence {
        self.args.push((name, arg.into()));
        self
    }

    /// All its numbers, in the order of the arguments.
    pub fn values(&self) -> Vec<&DisplayValue> {
        let mut values = Vec::new();
        for (_, arg) in &self.args {
            match arg {
                Arg::Value(value) => values.push(value),
                Arg::Cpus(_) | Arg::Text(_) => {}
                Arg::Parts(parts, _) => values.extend(parts.iter().flat_map(Sentence::values)),
            }
        }
        values
    }
}

impl From<DisplayValue> for Arg {
    fn from(value: DisplayValue) -> Arg {
        Arg::Value(value)
    }
}

impl From<CpuSet> for Arg {
    fn from(cpus: CpuSet) -> Arg {
        Arg::Cpus(cpus)
    }
}

impl From<CpuId> for Arg {
    fn from(cpu: CpuId) -> Arg {
        Arg::Cpus([cpu].into_iter().collect())
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

/// Words that nothing can ask what they say: literals, and names from users, files, the system and runtimes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainText(String);

impl PlainText {
    /// A name from outside, without what steers a terminal.
    pub fn untrusted(name: &str) -> PlainText {
        PlainText(plain(name))
    }

    /// Words that were composed as text: the list of callers in `tests/tidy` shrinks until all of them are sentences.
    pub fn composed(text: String) -> PlainText {
        PlainText(text)
    }

    /// Adds the words to what a medium writes.
    pub fn write_to(&self, written: &mut String) {
        written.push_str(&self.0);
    }
}

impl From<&'static str> for PlainText {
    fn from(text: &'static str) -> PlainText {
        PlainText(text.to_owned())
    }
}
