//! Which CPUs share the units that execute, in words.

use crate::blocks::Block;
use coretalk_model::latency::execution::{Execution, ExecutionTest, Reason, Unclear, Unit, verdicts};
use coretalk_model::{Level, Topology};
use std::fmt::Write;

/// Sentences for a screen: what the tests say, and where the system reports something else. `reported` is `None` where
/// nobody reports anything.
pub fn sentences(tests: &[ExecutionTest], reported: Option<&Topology>) -> Vec<Block<'static>> {
    // A system that reports no cores says nothing that could be confirmed or contradicted.
    let reported = reported.filter(|topology| !topology.level(Level::Core).is_empty());
    let tested: Vec<(&ExecutionTest, Execution)> =
        tests.iter().zip(verdicts(tests)).filter(|(test, _)| test.reason != Reason::Control).collect();
    let with = |wanted: Execution| -> Vec<&ExecutionTest> {
        tested.iter().filter(|(_, verdict)| *verdict == wanted).map(|(test, _)| *test).collect()
    };
    let mut blocks = Vec::new();
    for verdict in [Execution::Shared, Execution::Apart] {
        let pairs = with(verdict);
        if !pairs.is_empty() {
            blocks.push(Block::Fact("load test", verdict_words(&pairs, verdict, reported).into()));
        }
        blocks.extend(contradicted(&pairs, verdict, reported).map(|text| Block::Doubt(text.into())));
    }
    let mut told: Vec<Unclear> = Vec::new();
    for (_, verdict) in &tested {
        let &Execution::Unclear(why) = verdict else { continue };
        if !told.contains(&why) {
            told.push(why);
            let pairs = pair_list(&with(*verdict));
            let text = format!("cannot tell whether CPUs {pairs} are threads of one core: {why}");
            blocks.push(Block::Fact("load test", text.into()));
        }
    }
    blocks
}

fn verdict_words(pairs: &[&ExecutionTest], verdict: Execution, reported: Option<&Topology>) -> String {
    let is_confirmed = reported.is_some_and(|topology| {
        pairs.iter().all(|test| are_siblings(topology, test) == (verdict == Execution::Shared))
    });
    let kept = |of: fn(&ExecutionTest) -> Option<f64>, pick: fn(f64, f64) -> f64| {
        pairs.iter().filter_map(|test| of(test)).reduce(pick).unwrap_or(f64::NAN)
    };
    let verb = if is_confirmed { "confirms" } else { "shows" };
    let list = pair_list(pairs);
    match verdict {
        Execution::Shared => format!(
            "{verb} SMT siblings: CPUs {list} (each drops to {:.0} % when both are busy)",
            100.0 * kept(most_shared, f64::max)
        ),
        _ => format!(
            "{verb} separate cores: CPUs {list} (each keeps {:.0} % when both are busy)",
            100.0 * kept(least_kept, f64::min).min(1.0)
        ),
    }
}

/// What is kept on the unit that shows sharing most, by the CPU that keeps more.
fn most_shared(test: &ExecutionTest) -> Option<f64> {
    Unit::ALL.iter().filter_map(|&unit| Some(test.kept(unit)?[0])).reduce(f64::min)
}

/// What is kept on the unit that shows it most, by the CPU that keeps less.
fn least_kept(test: &ExecutionTest) -> Option<f64> {
    Unit::ALL.iter().filter_map(|&unit| Some(test.kept(unit)?[1])).reduce(f64::min)
}

fn contradicted(pairs: &[&ExecutionTest], verdict: Execution, reported: Option<&Topology>) -> Option<String> {
    let topology = reported?;
    let others: Vec<&ExecutionTest> = pairs
        .iter()
        .filter(|test| are_siblings(topology, test) != (verdict == Execution::Shared))
        .copied()
        .collect();
    if others.is_empty() {
        return None;
    }
    let cpus = pair_list(&others);
    Some(match verdict {
        Execution::Shared => format!(
            "CONFLICT: the system reports CPUs {cpus} as different cores, but they share one: guests are often not \
             told what their virtual CPUs share"
        ),
        _ => format!(
            "CONFLICT: the system reports CPUs {cpus} as threads of one core, but they share no execution units: \
             hosts may present an invented topology"
        ),
    })
}

fn are_siblings(topology: &Topology, test: &ExecutionTest) -> bool {
    topology.are_siblings(test.pair[0], test.pair[1])
}

/// `0+8, 1+9, 7+15`.
fn pair_list(pairs: &[&ExecutionTest]) -> String {
    let mut list = String::new();
    for (index, test) in pairs.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let [a, b] = test.pair;
        let _ = write!(list, "{comma}{a}+{b}");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal;
    use crate::report::style::Style;
    use coretalk_model::CpuId;
    use coretalk_model::latency::execution::ExecutionPass;
    use coretalk_model::topology::Domain;

    fn test(pair: [u32; 2], kept: f64) -> ExecutionTest {
        let passes = vec![ExecutionPass { kept: [[kept; 2]; 2] }; 12];
        ExecutionTest { pair: pair.map(CpuId), reason: Reason::Closest, passes }
    }

    fn cores(cores: &[&str]) -> Topology {
        let core = |cpus: &&str| Domain { level: Level::Core, cpus: cpus.parse().unwrap(), os_id: None };
        Topology::new("0-3".parse().unwrap(), cores.iter().map(core).collect(), Default::default())
    }

    fn said(tests: &[ExecutionTest], reported: Option<&Topology>) -> Vec<String> {
        terminal::lines(&sentences(tests, reported), &Style::of_width(400))
    }

    fn siblings() -> Topology {
        cores(&["0,2", "1,3"])
    }

    #[test]
    fn what_the_system_reports_is_confirmed_or_contradicted() {
        let tests = [test([0, 2], 0.52), test([1, 3], 0.5)];
        assert_eq!(
            said(&tests, Some(&siblings())),
            [" load test confirms SMT siblings: CPUs 0+2, 1+3 (each drops to 52 % when both are busy)"]
        );
        let hidden = said(&tests, Some(&cores(&["0", "1", "2", "3"])));
        assert!(hidden[0].starts_with(" load test shows SMT siblings: CPUs 0+2"), "{hidden:?}");
        assert!(hidden[1].starts_with(" ! CONFLICT: the system reports CPUs 0+2, 1+3 as different cores"));
        // Nothing is reported of cores, so nothing contradicts it.
        let flat = Topology::flat("0-3".parse().unwrap());
        let untold = said(&tests, Some(&flat));
        assert_eq!(
            untold,
            [" load test shows SMT siblings: CPUs 0+2, 1+3 (each drops to 52 % when both are busy)"]
        );
        let made_up = said(&[test([0, 2], 0.99)], Some(&siblings()));
        assert!(
            made_up[0].starts_with(" load test shows separate cores: CPUs 0+2 (each keeps 99 %"),
            "{made_up:?}"
        );
        assert!(made_up[1].contains("as threads of one core, but they share no execution units"));
        let fits = said(&[test([0, 1], 1.02)], Some(&siblings()));
        assert_eq!(
            fits,
            [" load test confirms separate cores: CPUs 0+1 (each keeps 100 % when both are busy)"]
        );
    }

    #[test]
    fn what_cannot_be_told_is_said_once_for_each_reason() {
        let tests = [test([0, 2], 0.75), test([1, 3], 0.75)];
        let told = said(&tests, None);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with(
                " load test cannot tell whether CPUs 0+2, 1+3 are threads of one core: they slow"
            )
        );
        assert!(said(&[], None).is_empty());
    }
}
