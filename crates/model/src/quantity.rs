//! [`Quantity`]: the declaration of one number of a probe. Analysis, comparison, charts and exports read unit,
//! direction, range and aggregation from the declaration, never from the name.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Cycles of the core.
    Cycles,
    /// Nanojoules.
    Nanojoules,
    /// Bytes.
    Bytes,
    /// Mebibytes.
    Mebibytes,
    /// Events per second, with the name of the events.
    PerSecond(&'static str),
    /// A part of a whole, 0 to 1.
    Share,
    /// A factor.
    Ratio,
    /// A plain number: a count, an index.
    Number,
}

impl Unit {
    /// The symbol after a number; empty for units without a symbol.
    ///
    /// ```
    /// # use coretalk_model::quantity::Unit;
    /// assert_eq!([Unit::Ns, Unit::PerSecond("messages"), Unit::Ratio].map(Unit::symbol), ["ns", "messages/s", ""]);
    /// ```
    pub fn symbol(self) -> Cow<'static, str> {
        match self {
            Unit::Ns => "ns".into(),
            Unit::Us => "us".into(),
            Unit::Ms => "ms".into(),
            Unit::Cycles => "cycles".into(),
            Unit::Nanojoules => "nJ".into(),
            Unit::Bytes => "bytes".into(),
            Unit::Mebibytes => "MiB".into(),
            Unit::PerSecond(what) => format!("{what}/s").into(),
            Unit::Share | Unit::Ratio | Unit::Number => "".into(),
        }
    }
}

named! {
    /// Direction of improvement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Better {
        /// Times and amounts.
        Lower = "lower",
        /// Rates.
        Higher = "higher",
    }
}

/// How a number is aggregated over the passes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// A distribution of single events, merged over all passes. The median has an interval over passes.
    Events,
    /// The median over passes.
    MedianOverPasses,
    /// The mean over passes, for amounts that add up over time, such as lost time.
    MeanOverPasses,
    /// The mean over passes of a share of events, if the events of one pass depend on each other.
    ShareOverPasses,
    /// The median over events, if each pass reports only their median and, under this name, their number. The number
    /// weights a pass, because an unweighted median could describe the rarer of two kinds of events.
    MedianOverEvents(&'static str),
    /// The sum over passes.
    Sum,
    /// The sum over all passes, in all states of the machine.
    SumOverStates,
}

/// Declaration of one number of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Name in documents, run files and exports.
    pub id: &'static str,
    /// Heading in tables.
    pub title: &'static str,
    /// Explanation of the heading, for tables without room for it.
    pub meaning: Option<&'static str>,
    /// Formula from other numbers, if the explanation needs one.
    pub formula: Option<&'static str>,
    /// Unit.
    pub unit: Unit,
    /// How the number is aggregated over passes.
    pub aggregate: Aggregate,
    /// Bounds of the number and its interval, if any.
    pub range: Option<[f64; 2]>,
    /// Direction of improvement, if any.
    pub better: Option<Better>,
    /// Rank among the headlines. A trial is judged by its number with the lowest rank. `None` for other numbers.
    pub headline: Option<u8>,
    /// Whether the quantity represents trials in tables and pictures, even if another is their headline.
    pub displayed: bool,
    /// Whether the number is a column in the tables of the probe, in the order of declaration.
    pub in_table: bool,
    /// Whether the distribution is drawn in the chart of the headline.
    pub with_headline: bool,
    /// The distribution whose median determines the number, and the factor.
    pub of_median: Option<(&'static str, f64)>,
    /// Whether the number is a sum to compare with another sum. Documents list such sums with the values.
    pub compared: bool,
    /// Whether the number counts lost CPU time. Disturbances then cast no doubt on it, and states are not separated.
    pub lost_time: bool,
    /// Whether each role of a trial has its own value, in addition to the value of the trial.
    pub of_each_role: bool,
}

impl Quantity {
    const fn new(id: &'static str, title: &'static str, unit: Unit, aggregate: Aggregate) -> Quantity {
        Quantity {
            id,
            title,
            meaning: None,
            formula: None,
            unit,
            aggregate,
            range: None,
            better: None,
            headline: None,
            displayed: false,
            in_table: false,
            with_headline: false,
            of_median: None,
            compared: false,
            lost_time: false,
            of_each_role: false,
        }
    }

    /// A distribution of single events in nanoseconds; lower is better.
    pub const fn events(id: &'static str, title: &'static str) -> Quantity {
        Quantity::new(id, title, Unit::Ns, Aggregate::Events).better(Better::Lower)
    }

    /// A time per pass in nanoseconds; lower is better.
    pub const fn time(id: &'static str, title: &'static str) -> Quantity {
        Quantity::value(id, title, Unit::Ns).better(Better::Lower)
    }

    /// A rate of events with this name; higher is better.
    pub const fn rate(id: &'static str, title: &'static str, what: &'static str) -> Quantity {
        Quantity::value(id, title, Unit::PerSecond(what)).better(Better::Higher)
    }

    /// A value per pass, aggregated as the median over passes.
    pub const fn value(id: &'static str, title: &'static str, unit: Unit) -> Quantity {
        Quantity::new(id, title, unit, Aggregate::MedianOverPasses)
    }

    /// A count, summed over all passes of the largest state.
    pub const fn count(id: &'static str, title: &'static str) -> Quantity {
        Quantity::new(id, title, Unit::Number, Aggregate::Sum)
    }

    /// Sets the direction of improvement.
    #[must_use]
    pub const fn better(self, better: Better) -> Quantity {
        Quantity { better: Some(better), ..self }
    }

    /// Makes the number a headline of this rank; 0 comes first.
    #[must_use]
    pub const fn headline(self, rank: u8) -> Quantity {
        Quantity { headline: Some(rank), ..self }
    }

    /// Represents trials by this quantity, even if another is their headline.
    #[must_use]
    pub const fn displayed(self) -> Quantity {
        Quantity { displayed: true, ..self }
    }

    /// Makes the number a column in the tables of the probe.
    #[must_use]
    pub const fn in_table(self) -> Quantity {
        Quantity { in_table: true, ..self }
    }

    /// Draws the distribution in the chart of the headline.
    #[must_use]
    pub const fn with_headline(self) -> Quantity {
        Quantity { with_headline: true, ..self }
    }

    /// Sets the explanation of the heading.
    #[must_use]
    pub const fn meaning(self, words: &'static str) -> Quantity {
        Quantity { meaning: Some(words), ..self }
    }

    /// Sets the formula.
    #[must_use]
    pub const fn formula(self, words: &'static str) -> Quantity {
        Quantity { formula: Some(words), ..self }
    }

    /// Gives each role its own value.
    #[must_use]
    pub const fn of_each_role(self) -> Quantity {
        Quantity { of_each_role: true, ..self }
    }

    /// Sets the unit.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Quantity {
        Quantity { unit, ..self }
    }

    /// Sets the aggregation.
    #[must_use]
    pub const fn aggregate(self, aggregate: Aggregate) -> Quantity {
        Quantity { aggregate, ..self }
    }

    /// Sets the bounds.
    #[must_use]
    pub const fn within(self, range: [f64; 2]) -> Quantity {
        Quantity { range: Some(range), ..self }
    }

    /// Derives the number from the median of a distribution, with this factor.
    #[must_use]
    pub const fn of_median(self, events: &'static str, factor: f64) -> Quantity {
        Quantity { of_median: Some((events, factor)), ..self }
    }

    /// Makes the number a sum to compare with another sum.
    #[must_use]
    pub const fn compared(self) -> Quantity {
        Quantity { compared: true, ..self }
    }

    /// Makes the number a count of lost CPU time.
    #[must_use]
    pub const fn lost_time(self) -> Quantity {
        Quantity { lost_time: true, ..self }
    }
}

/// Declaration of one parameter of the trials of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name in documents and run files.
    pub id: &'static str,
    /// Name in sentences: `gap` for `gap_ns`.
    pub words: &'static str,
    /// Heading in the tables of the probe; `None` without a column.
    pub title: Option<&'static str>,
    /// Unit of a number.
    pub unit: Unit,
    /// Role in a [ranking](crate::series::ranking).
    pub in_ranking: InRanking,
}

named! {
    /// Why a subject is not part of a [ranking](crate::series::ranking).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Unranked {
        /// The subject bounds the performance of the others, but cannot replace them.
        Bound = "bound",
        /// The subject computed a wrong answer between at least one pair of CPUs.
        WrongAnswer = "wrong-answer",
        /// Polling threads shared a CPU, which measures the scheduler quantum.
        TimeSlices = "time-slices",
        /// Other threads of the runtime did more than half of the work.
        Unclaimed = "unclaimed",
        /// Too few passes for an interval.
        TooFewPasses = "too-few-passes",
        /// The interval is too wide to be stated.
        WideInterval = "wide-interval",
        /// Measured only in another state of the machine, or on other CPUs than the other subjects.
        Elsewhere = "elsewhere",
        /// The number is another quantity, such as the time of a waiter that never sleeps.
        OtherQuantity = "other-quantity",
        /// The subject has no number.
        NoResult = "no-result",
    }
}

impl Unranked {
    /// Whether the subject has a number but no stated interval, so that it may be the best or the worst.
    pub fn is_unsure(self) -> bool {
        matches!(self, Unranked::TooFewPasses | Unranked::WideInterval)
    }
}

/// The role of a parameter in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InRanking {
    /// The name of the subject, such as a queue or a lock.
    Subject {
        /// Values that are never ranked, with the reason.
        never: &'static [(&'static str, Unranked)],
    },
    /// Subjects are ranked under one value of the parameter.
    Condition(Preferred),
    /// Only some subjects have the parameter (the memory of a parent process). This does not prevent comparisons.
    OfSubject,
}

/// The preferred value of a condition, which users request first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preferred {
    /// The first in the order of the plan.
    First,
    /// The smallest number.
    Least,
    /// The largest number.
    Most,
    /// The number closest to this number by ratio.
    Nearest(f64),
    /// This text if it was measured, otherwise the first in the order of the plan.
    Named(&'static str),
}

impl Parameter {
    /// A parameter that is a choice or a number without unit.
    pub const fn new(id: &'static str, words: &'static str) -> Parameter {
        let in_ranking = InRanking::Condition(Preferred::First);
        Parameter { id, words, title: None, unit: Unit::Number, in_ranking }
    }

    /// Sets the role in a ranking.
    #[must_use]
    pub const fn in_ranking(self, in_ranking: InRanking) -> Parameter {
        Parameter { in_ranking, ..self }
    }

    /// Makes the parameter the name of the subject, with all values ranked.
    #[must_use]
    pub const fn ranked(self) -> Parameter {
        self.in_ranking(InRanking::Subject { never: &[] })
    }

    /// Makes the parameter a condition with this preferred value.
    #[must_use]
    pub const fn preferring(self, preferred: Preferred) -> Parameter {
        self.in_ranking(InRanking::Condition(preferred))
    }

    /// Sets the unit.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Parameter {
        Parameter { unit, ..self }
    }

    /// Makes the parameter a column in the tables of the probe.
    #[must_use]
    pub const fn in_table(self, title: &'static str) -> Parameter {
        Parameter { title: Some(title), ..self }
    }
}

/// The quantities that the probes of a run declare. Undeclared values (of another version) have no unit, direction or
/// range, and are aggregated as the median over passes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantities(BTreeMap<&'static str, &'static [Quantity]>);

impl Quantities {
    /// Collects the declarations of each probe.
    pub fn new(probes: impl IntoIterator<Item = (&'static str, &'static [Quantity])>) -> Quantities {
        Quantities(probes.into_iter().collect())
    }

    /// All declarations of a probe, in order.
    pub fn of_probe(&self, probe: &str) -> &'static [Quantity] {
        self.0.get(probe).copied().unwrap_or_default()
    }

    /// Whether a probe measures lost CPU time.
    pub fn measures_lost_time(&self, probe: &str) -> bool {
        self.of_probe(probe).iter().any(|quantity| quantity.lost_time)
    }

    /// The declaration of a name of a probe.
    pub fn get(&self, probe: &str, id: &str) -> Option<&'static Quantity> {
        self.of_probe(probe).iter().find(|quantity| quantity.id == id)
    }
}
