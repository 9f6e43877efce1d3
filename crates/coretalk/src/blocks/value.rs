//! [`DisplayValue`]: a number with what a medium needs to write it, and with its source; [`Sentence`]: a template with
//! typed arguments. Both become text in [`crate::report::fmt`] alone.

use crate::report::text::plain;
use coretalk_model::quantity::Unit;
use coretalk_model::series::{TrialId, TrialResult};
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, CpuSet, Relation, Scope};

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
    /// Half the width of an interval around the number in another cell, as a share of that number.
    HalfWidth {
        /// The interval.
        of: Estimate,
        /// The number in the other cell, which may differ from the point: the median of all events, that of passes.
        stated: f64,
    },
    /// Half the width of an interval, in the unit of the number in another cell.
    Reach(Estimate),
    /// A relative difference without an interval: `+12 %`.
    Change(f64),
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
    /// Millions in a second, which the column or what stands above it states; a small number has three digits.
    Millions,
    /// None: the number has as many decimals. `0` and `<0.01` say that there is none, or less than they show.
    Decimals(usize),
    /// A share of which the title of the column states that it is in percent: `25.0`.
    Percents,
    /// A time as people say it, of a number in so many seconds: `3 min 20 s`.
    Duration(f64),
    /// Many events, in thousands or millions: `26.4 M`.
    Letter,
    /// The sentence states the unit behind the number, which has the scale that reads best: `15 M` messages/s, `8.2` times.
    InSentence(Unit),
}

/// Where a number comes from. Tests recompute the numbers of one trial and the parameters from there.
#[derive(Debug, Clone, PartialEq)]
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
        /// Its name, as in documents.
        name: String,
    },
    /// What a document holds of a distribution, perhaps of a quantity that this version does not know.
    Series {
        /// Its place among the series of the document.
        index: usize,
        /// Which number of it.
        number: SeriesNumber,
    },
    /// Pairs of a map that share the same things.
    Pairs {
        /// The kernel of the map.
        kernel: String,
        /// What the pairs share.
        relation: Relation,
        /// The kinds of their cores, where the map is grouped by these.
        classes: Option<[String; 2]>,
        /// Of the pairs: the median, or the fastest or the slowest as percentiles 0 and 1.
        statistic: Statistic,
    },
    /// What the pairs of a relation pass through a queue.
    Rates {
        /// The queue.
        queue: String,
        /// What travels.
        payload: String,
        /// Messages that it holds.
        capacity: u64,
        /// What the pairs share.
        relation: Relation,
        /// How many pairs there are, or the median of their rates or of the ends of their intervals.
        statistic: Statistic,
    },
    /// A number of a cell of a map of queues, by its key in the document.
    Cell {
        /// The trial of the cell.
        trial: TrialId,
        /// The key.
        key: &'static str,
    },
    /// What one role of a trial has for itself.
    Role {
        /// The trial.
        trial: TrialId,
        /// Its place among the roles.
        role: usize,
        /// The [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
    },
    /// A number of a trial in one state of the machine: the share of its passes, or what it is shown by.
    State {
        /// The trial.
        trial: TrialId,
        /// The place of the state.
        index: usize,
        /// `share` or `value`.
        of: &'static str,
        /// The name of what the trial is shown by.
        quantity: String,
    },
    /// Trials of a probe: all, or those with several states of the machine.
    Trials {
        /// The probe.
        probe: String,
        /// Whether only those with several states.
        changed: bool,
    },
    /// Half the width of an interval that was asked for.
    Precision,
    /// The sum of several.
    Sum(Vec<Source>),
    /// The product of two numbers.
    Product(Box<Source>, Box<Source>),
    /// A factor between units.
    Constant(f64),
    /// The first number less the second.
    Less(Box<Source>, Box<Source>),
    /// Up to which wait polling is cheaper between CPUs, by the key in the advice of the document.
    Spin {
        /// In role order.
        placement: Vec<CpuId>,
        /// The key of the number, or of its interval.
        key: &'static str,
        /// Which end of the interval; `None` of a number.
        end: Option<usize>,
    },
    /// Single hops of a pair.
    Tail {
        /// From the CPU that sends to the one that answers.
        pair: [CpuId; 2],
        /// Which number of them.
        number: TailNumber,
    },
    /// A level of a machine that was watched while it moved between levels.
    Watch(WatchNumber),
    /// The ratio of the first number to the second.
    Ratio(Box<Source>, Box<Source>),
    /// The number of one trial ÷ that of another.
    Quotient {
        /// The trial whose number is divided.
        trial: TrialId,
        /// The trial by whose number it is divided.
        by: TrialId,
        /// The [quantity](coretalk_model::quantity::Quantity::id) of both.
        quantity: &'static str,
        /// [`Statistic::Estimate`], or an end of the interval: the quotient of opposite ends.
        statistic: Statistic,
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

/// A number of single hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailNumber {
    /// How many there are.
    Events,
    /// How many are slower than the 99.9th percentile.
    Beyond,
    /// The 99.9th percentile net of the clock.
    NetP999,
    /// The slowest net of the clock.
    NetMax,
}

/// A number of a machine that moved between levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchNumber {
    /// The most frequent level.
    Usual,
    /// Its share of the passes.
    Share,
    /// The slowest level.
    Slowest,
    /// The fastest level.
    Fastest,
}

/// A number of a distribution in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesNumber {
    /// How many events it holds.
    Events,
    /// A percentile, by its name.
    Percentile(&'static str),
    /// A value of the whole trial.
    Value(String),
    /// How often something happened.
    Count(String),
    /// A parameter.
    Parameter(String),
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
    /// The lower end of the interval of that estimate.
    Low,
    /// The upper end.
    High,
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
    /// What pairs share, as a place: `inside an L3`.
    Place(Scope),
    /// The same as a condition: `same L3`.
    Shared(Scope),
    /// A set of CPUs: `0-3,8`.
    CpuSet(CpuSet),
    /// Words without a number of this run.
    Text(PlainText),
    /// CPUs by number.
    Cpus(Vec<CpuId>),
    /// A sentence, from a capital letter on.
    Capitalized(Box<Sentence>),
    /// Several sentences with this between them.
    Parts(Vec<Sentence>, &'static str),
}

impl Sentence {
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
    pub fn counted(template: &'static str, number: DisplayValue) -> Sentence {
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

    /// Whether none of its words was composed with a number in it.
    pub fn is_typed(&self) -> bool {
        self.args.iter().all(|(_, arg)| match arg {
            Arg::Text(text) => !text.is_composed || !has_digit(&text.text),
            Arg::Capitalized(part) => part.is_typed(),
            Arg::Parts(parts, _) => parts.iter().all(Sentence::is_typed),
            Arg::Value(_) | Arg::Cpus(_) | Arg::CpuSet(_) | Arg::Place(_) | Arg::Shared(_) => true,
        })
    }

    /// All its numbers, in the order of the arguments.
    pub fn values(&self) -> Vec<&DisplayValue> {
        let mut values = Vec::new();
        for (_, arg) in &self.args {
            match arg {
                Arg::Value(value) => values.push(value),
                Arg::Cpus(_) | Arg::CpuSet(_) | Arg::Place(_) | Arg::Shared(_) | Arg::Text(_) => {}
                Arg::Capitalized(part) => values.extend(part.values()),
                Arg::Parts(parts, _) => values.extend(parts.iter().flat_map(Sentence::values)),
            }
        }
        values
    }
}

impl From<&'static str> for Sentence {
    fn from(literal: &'static str) -> Sentence {
        Sentence::new("{text}").with("text", literal)
    }
}

/// Words that were composed as text; a test counts how often the report composes, which may only fall.
impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence::new("{text}").with("text", PlainText::composed(text))
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

/// Words that nothing can ask what they say: literals, and names from users, files, the system and runtimes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainText {
    text: String,
    is_composed: bool,
}

impl PlainText {
    /// A name from outside, without what steers a terminal.
    pub fn untrusted(name: &str) -> PlainText {
        PlainText { text: plain(name), is_composed: false }
    }

    /// Words that were composed as text: the list of callers in `tests/tidy` shrinks until all of them are sentences.
    pub fn composed(text: String) -> PlainText {
        PlainText { text, is_composed: true }
    }

    /// Adds the words to what a medium writes.
    pub fn write_to(&self, written: &mut String) {
        written.push_str(&self.text);
    }
}

impl From<&'static str> for PlainText {
    fn from(text: &'static str) -> PlainText {
        PlainText { text: text.to_owned(), is_composed: false }
    }
}

/// Whether words may hold a number.
pub fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}
