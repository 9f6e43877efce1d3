//! [`Choices`]: decisions during a run that its analysis needs.

use super::{ExecutionTest, GateOutcome, Record};
use crate::{Hint, Protocol, Relation};
use std::collections::BTreeMap;

/// The wait hint for the map of one protocol.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChosenHint {
    /// No hint or one pause.
    pub hint: Hint,
    /// `requested`, or a description of the result of the pilot.
    pub reason: String,
}

/// How the pairs of a map were measured.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChosenRegime {
    /// Number of pairs measured at the same time; 1 is serial.
    pub pairs: u32,
    /// Results of the gate; empty for a serial map, and before the gate was reached.
    pub gate: Vec<GateOutcome>,
    /// First valid pass. Earlier passes used a parallelism that the gate rejected for the relation.
    pub valid_from: BTreeMap<Relation, u32>,
}

/// Decisions during a run, stored under the names of the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choices {
    /// The hint of each protocol.
    pub hints: BTreeMap<Protocol, ChosenHint>,
    /// The regime; `None` if serial.
    pub regime: Option<ChosenRegime>,
    /// Whether the machine is a guest. A host may move its CPUs.
    pub guest: bool,
    /// Whether the budget ended the run.
    pub budget_ended: bool,
    /// Whether all planned trials were made, or the budget ended.
    pub complete: bool,
    /// Median cost of the clock between two chained reads in nanoseconds, for single events.
    pub clock_ns: Option<f64>,
    /// Tests for execution units that pairs of CPUs share; empty before the tests.
    pub execution: Vec<ExecutionTest>,
}

impl Choices {
    /// The key and JSON value of every decision.
    pub fn decisions(&self) -> Vec<(String, String)> {
        let json = |value: &dyn erased::Json| value.json();
        let mut decisions: Vec<(String, String)> = self
            .hints
            .iter()
            .map(|(protocol, chosen)| (format!("hint:{}", protocol.name()), json(chosen)))
            .collect();
        if let Some(regime) = &self.regime {
            decisions.push(("regime".into(), json(regime)));
        }
        decisions.push(("guest".into(), json(&self.guest)));
        decisions.push(("budget-ended".into(), json(&self.budget_ended)));
        decisions.push(("complete".into(), json(&self.complete)));
        if let Some(clock_ns) = &self.clock_ns {
            decisions.push(("clock-ns".into(), json(clock_ns)));
        }
        if !self.execution.is_empty() {
            decisions.push(("execution".into(), json(&self.execution)));
        }
        decisions
    }

    /// Reads the decisions of a record. Unreadable values count as not decided.
    pub fn from_record(record: &Record) -> Choices {
        fn read<T: serde::de::DeserializeOwned>(record: &Record, key: &str) -> Option<T> {
            record.decision(key).and_then(|value| serde_json::from_str(value).ok())
        }
        Choices {
            hints: Protocol::ALL
                .into_iter()
                .filter_map(|protocol| Some((protocol, read(record, &format!("hint:{}", protocol.name()))?)))
                .collect(),
            regime: read(record, "regime"),
            guest: read(record, "guest").unwrap_or(false),
            budget_ended: read(record, "budget-ended").unwrap_or(false),
            complete: read(record, "complete").unwrap_or(false),
            clock_ns: read(record, "clock-ns"),
            execution: read(record, "execution").unwrap_or_default(),
        }
    }
}

mod erased {
    /// Serialisation to JSON, which cannot fail for the types of this module.
    pub trait Json {
        fn json(&self) -> String;
    }
    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap_or_else(|_| "null".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuId;
    use crate::latency::execution::{ExecutionPass, TestReason};

    #[test]
    fn decisions_are_read_back() {
        let mut choices = Choices { guest: true, clock_ns: Some(17.5), ..Choices::default() };
        choices.hints.insert(Protocol::Cas, ChosenHint { hint: Hint::Pause, reason: "gains 23 %".into() });
        choices.regime =
            Some(ChosenRegime { pairs: 8, gate: vec![], valid_from: [(Relation::L3, 8)].into() });
        let pass = ExecutionPass { kept: [[0.51, 0.52], [0.5, 0.5]] };
        choices.execution = vec![ExecutionTest {
            pair: [CpuId(0), CpuId(8)],
            reason: TestReason::Closest,
            passes: vec![pass; 2],
        }];
        let mut record = Record::new();
        for (key, value) in choices.decisions() {
            record.decide(&key, &value);
        }
        assert_eq!(Choices::from_record(&record), choices);
        record.decide("regime", "nonsense");
        assert_eq!(Choices::from_record(&record).regime, None);
    }
}
