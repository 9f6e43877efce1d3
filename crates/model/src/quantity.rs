//! [`Quantity`]: what a probe declares of one of its numbers. Whoever analyses, compares, draws or writes a number reads
//! its unit, direction, range and aggregation here, and never out of its name.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a number is counted in.
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
    /// Events of that name in a second.
    PerSecond(&'static str),
    /// A part of a whole, 0 to 1.
    Share,
    /// How many times as much.
    Ratio,
    /// A plain number: a count, an index.
    Number,
}

impl Unit {
    /// The symbol that stands behind a number; empty for what has none.
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
    /// Which way is better.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Better {
        /// Times and amounts.
        Lower = "lower",
        /// Rates.
        Higher = "higher",
    }
}

/// How the passes of a trial become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// A distribution of single events: those of all passes together; its median over passes has an interval.
    Events,
    /// The median over passes.
    MedianOverPasses,
    /// The mean over passes: what adds up over time, such as time lost.
    MeanOverPasses,
    /// The mean over passes of a share of events of which those of one pass depend on each other.
    ShareOverPasses,
    /// The median over events where a pass says their median alone and how many they were, under this name: each pass
    /// counts as often as it has events. Where passes are of two kinds, the median of passes would be of one kind and
    /// that of events of the other.
    MedianOverEvents(&'static str),
    /// The sum over passes.
    Sum,
    /// The sum over all passes, whatever state the machine was in: how many of them did something.
    SumOverStates,
}

/// What a probe declares of one of its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Its name in documents, run files and exports.
    pub id: &'static str,
    /// Its heading in tables.
    pub title: &'static str,
    /// What the heading leaves open, where a table has no room to say it.
    pub meaning: Option<&'static str>,
    /// How it is computed from others, where that has to be stated with its meaning.
    pub formula: Option<&'static str>,
    /// What it is counted in.
    pub unit: Unit,
    /// How passes become one number.
    pub aggregate: Aggregate,
    /// Bounds that neither the number nor its interval leaves, where it has any.
    pub range: Option<[f64; 2]>,
    /// Which way is better; `None` where neither is.
    pub better: Option<Better>,
    /// The rank among what trials are judged by: of those that a trial has the lowest counts. `None` for the others.
    pub headline: Option<u8>,
    /// Whether trials are shown by it, whatever they are judged by.
    pub displayed: bool,
    /// Whether it is a column of the tables of the probe, in the order of declaration.
    pub in_table: bool,
    /// Whether its distribution stands in the chart of the headline.
    pub with_headline: bool,
    /// The distribution that it is taken from the median of, and how far it moves with that median.
    pub of_median: Option<(&'static str, f64)>,
    /// Whether it is a sum that is held against another, which documents therefore tell beside the values.
    pub compared: bool,
    /// Whether time that a CPU lost is what it counts: that time was lost casts no doubt on it, and its passes are not
    /// divided into states of the machine.
    pub lost_time: bool,
    /// Whether each role of a trial has one of its own, beside what the trial says as a whole.
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

    /// A distribution of single events in nanoseconds, of which less is better.
    pub const fn events(id: &'static str, title: &'static str) -> Quantity {
        Quantity::new(id, title, Unit::Ns, Aggregate::Events).better(Better::Lower)
    }

    /// Nanoseconds that each pass says, of which less is better.
    pub const fn time(id: &'static str, title: &'static str) -> Quantity {
        Quantity::value(id, title, Unit::Ns).better(Better::Lower)
    }

    /// Events of that name in a second, of which more is better.
    pub const fn rate(id: &'static str, title: &'static str, what: &'static str) -> Quantity {
        Quantity::value(id, title, Unit::PerSecond(what)).better(Better::Higher)
    }

    /// What each pass says; the median over passes counts.
    pub const fn value(id: &'static str, title: &'static str, unit: Unit) -> Quantity {
        Quantity::new(id, title, unit, Aggregate::MedianOverPasses)
    }

    /// How often something happened, over all passes of the largest state.
    pub const fn count(id: &'static str, title: &'static str) -> Quantity {
        Quantity::new(id, title, Unit::Number, Aggregate::Sum)
    }

    /// With a direction.
    #[must_use]
    pub const fn better(self, better: Better) -> Quantity {
        Quantity { better: Some(better), ..self }
    }

    /// A number by which trials are judged, 0 before 1.
    #[must_use]
    pub const fn headline(self, rank: u8) -> Quantity {
        Quantity { headline: Some(rank), ..self }
    }

    /// The number by which trials are shown, whatever they are judged by.
    #[must_use]
    pub const fn displayed(self) -> Quantity {
        Quantity { displayed: true, ..self }
    }

    /// A column of the tables of the probe.
    #[must_use]
    pub const fn in_table(self) -> Quantity {
        Quantity { in_table: true, ..self }
    }

    /// A distribution that stands in the chart of the headline.
    #[must_use]
    pub const fn with_headline(self) -> Quantity {
        Quantity { with_headline: true, ..self }
    }

    /// With words for what its heading leaves open.
    #[must_use]
    pub const fn meaning(self, words: &'static str) -> Quantity {
        Quantity { meaning: Some(words), ..self }
    }

    /// With its formula.
    #[must_use]
    pub const fn formula(self, words: &'static str) -> Quantity {
        Quantity { formula: Some(words), ..self }
    }

    /// One that each role of a trial has for itself.
    #[must_use]
    pub const fn of_each_role(self) -> Quantity {
        Quantity { of_each_role: true, ..self }
    }

    /// In another unit.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Quantity {
        Quantity { unit, ..self }
    }

    /// Aggregated in another way than most.
    #[must_use]
    pub const fn aggregate(self, aggregate: Aggregate) -> Quantity {
        Quantity { aggregate, ..self }
    }

    /// Between two bounds.
    #[must_use]
    pub const fn within(self, range: [f64; 2]) -> Quantity {
        Quantity { range: Some(range), ..self }
    }

    /// Taken from the median of a distribution, with which it moves by `factor`.
    #[must_use]
    pub const fn of_median(self, events: &'static str, factor: f64) -> Quantity {
        Quantity { of_median: Some((events, factor)), ..self }
    }

    /// A sum that is held against another.
    #[must_use]
    pub const fn compared(self) -> Quantity {
        Quantity { compared: true, ..self }
    }

    /// Time that a CPU lost.
    #[must_use]
    pub const fn lost_time(self) -> Quantity {
        Quantity { lost_time: true, ..self }
    }
}

/// What a probe declares of one of the parameters of its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in documents and run files.
    pub id: &'static str,
    /// What a sentence calls it: `gap` of `gap_ns`.
    pub words: &'static str,
    /// Its heading in the tables of the probe; `None` where it is no column.
    pub title: Option<&'static str>,
    /// What it is counted in, where it is a number.
    pub unit: Unit,
    /// Its part in a [ranking](crate::series::ranking).
    pub in_ranking: InRanking,
}

named! {
    /// Why a subject has no place in a [ranking](crate::series::ranking).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Unranked {
        /// No implementation can beat it, and none that is correct can use it.
        Bound = "bound",
        /// It computes a wrong answer, or did so between some pair here.
        WrongAnswer = "wrong-answer",
        /// Threads that poll shared a CPU: time slices were measured.
        TimeSlices = "time-slices",
        /// Other threads of its runtime did more than half of the work.
        Unclaimed = "unclaimed",
        /// Its passes give no interval.
        TooFewPasses = "too-few-passes",
        /// It was only measured in another state of the machine, or on no CPUs that the others were measured on.
        Elsewhere = "elsewhere",
        /// Its number is of another quantity, such as the time of a waiter that never sleeps.
        OtherQuantity = "other-quantity",
        /// It has no number.
        NoResult = "no-result",
    }
}

/// The part of a parameter in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InRanking {
    /// It names what is ranked: a queue, a lock.
    Subject {
        /// Values that are never ranked, and why.
        never: &'static [(&'static str, Unranked)],
    },
    /// Results are ranked under one of its values.
    Condition(Preferred),
    /// Only some subjects have it (the memory of a parent process), and it does not keep them from being compared with the
    /// others.
    OfSubject,
}

/// Under which value of a parameter results are ranked: what users ask for first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preferred {
    /// The first in the order of the plan.
    First,
    /// The smallest number.
    Least,
    /// The largest number.
    Most,
    /// The number with the smallest ratio to this one.
    Nearest(f64),
    /// The text, where it was measured, else the first in the order of the plan.
    Named(&'static str),
}

impl Parameter {
    /// A choice or a plain number.
    pub const fn new(id: &'static str, words: &'static str) -> Parameter {
        let in_ranking = InRanking::Condition(Preferred::First);
        Parameter { id, words, title: None, unit: Unit::Number, in_ranking }
    }

    /// With its part in a ranking.
    #[must_use]
    pub const fn in_ranking(self, in_ranking: InRanking) -> Parameter {
        Parameter { in_ranking, ..self }
    }

    /// The name of what is ranked, whatever its value.
    #[must_use]
    pub const fn ranked(self) -> Parameter {
        self.in_ranking(InRanking::Subject { never: &[] })
    }

    /// A condition, and which of its values comes first.
    #[must_use]
    pub const fn preferring(self, preferred: Preferred) -> Parameter {
        self.in_ranking(InRanking::Condition(preferred))
    }

    /// In a unit.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Parameter {
        Parameter { unit, ..self }
    }

    /// A column of the tables of the probe.
    #[must_use]
    pub const fn in_table(self, title: &'static str) -> Parameter {
        Parameter { title: Some(title), ..self }
    }
}

/// What the probes of a run declare of their numbers. A probe or a name that is not declared (of another version) has no
/// unit, no direction and no range, and the median over its passes counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantities(BTreeMap<&'static str, &'static [Quantity]>);

impl Quantities {
    /// By probe.
    pub fn new(probes: impl IntoIterator<Item = (&'static str, &'static [Quantity])>) -> Quantities {
        Quantities(probes.into_iter().collect())
    }

    /// Everything that a probe declares, in its order.
    pub fn of_probe(&self, probe: &str) -> &'static [Quantity] {
        self.0.get(probe).copied().unwrap_or_default()
    }

    /// Whether time that CPUs lost is what a probe looks for.
    pub fn seek_lost_time(&self, probe: &str) -> bool {
        self.of_probe(probe).iter().any(|quantity| quantity.lost_time)
    }

    /// What a probe declares of a name.
    pub fn of(&self, probe: &str, id: &str) -> Option<&'static Quantity> {
        self.of_probe(probe).iter().find(|quantity| quantity.id == id)
    }
}
