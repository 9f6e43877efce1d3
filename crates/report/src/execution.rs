//! Describes which CPUs share execution units.

use crate::blocks::Block;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::reasons::Worded;
use coretalk_model::latency::execution::{Execution, ExecutionTest, Reason, Unclear, Unit, verdicts};
use coretalk_model::{Level, Topology, quantity};

/// The results of the tests, and where the system reports something else; `reported` is `None` if it reports nothing.
pub fn sentences(tests: &[ExecutionTest], reported: Option<&Topology>) -> Vec<Block<'static>> {
    // Without reported cores there is nothing to confirm or contradict.
    let reported = reported.filter(|topology| !topology.level(Level::Core).is_empty());
    let tested: Vec<(usize, &ExecutionTest, Execution)> = (0..)
        .zip(tests)
        .zip(verdicts(tests))
        .map(|((at, test), verdict)| (at, test, verdict))
        .filter(|(_, test, _)| test.reason != Reason::Control)
        .collect();
    let with = |wanted: Execution| -> Vec<(usize, &ExecutionTest)> {
        let of = tested.iter().filter(|(.., verdict)| *verdict == wanted);
        of.map(|(at, test, _)| (*at, *test)).collect()
    };
    let mut blocks = Vec::new();
    for verdict in [Execution::Shared, Execution::Apart] {
        let pairs = with(verdict);
        if !pairs.is_empty() {
            blocks.push(Block::Fact("load test", verdict_words(&pairs, verdict, reported)));
        }
        blocks.extend(contradicted(&pairs, verdict, reported).map(Block::Doubt));
    }
    let mut told: Vec<Unclear> = Vec::new();
    for (at, _, verdict) in &tested {
        let &Execution::Unclear(why) = verdict else { continue };
        if !told.contains(&why) {
            told.push(why);
            let said = Sentence::new("cannot tell whether CPUs {pairs} are threads of one core: {why}")
                .with("pairs", pair_list(&with(*verdict)))
                .with("why", why.sentence(&|key| Source::Field(pointer!("/topology/execution/{at}/{key}"))));
            blocks.push(Block::Fact("load test", said));
        }
    }
    blocks
}

fn verdict_words(
    pairs: &[(usize, &ExecutionTest)],
    verdict: Execution,
    reported: Option<&Topology>,
) -> Sentence {
    let is_confirmed = reported.is_some_and(|topology| {
        pairs.iter().all(|(_, test)| are_siblings(topology, test) == (verdict == Execution::Shared))
    });
    // Shared units: the strongest effect, by the CPU that keeps more. Separate cores: by the CPU that keeps less.
    let side = usize::from(verdict != Execution::Shared);
    let least = |(at, test): &(usize, &ExecutionTest)| {
        let units = Unit::ALL.iter().filter_map(|&unit| Some((test.kept(unit)?[side], *at, unit)));
        units.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let all = pairs.iter().filter_map(least);
    let kept = match verdict {
        Execution::Shared => all.max_by(|a, b| a.0.total_cmp(&b.0)),
        _ => all.min_by(|a, b| a.0.total_cmp(&b.0)),
    };
    let kept = kept.map(|(kept, at, unit)| {
        let unit = if unit == Unit::Multiplier { "multiplier" } else { "divider" };
        let path = format!("/topology/execution/{at}/{unit}_kept/{side}");
        let most = if side == 0 { kept } else { kept.min(1.0) };
        DisplayValue::field(path, Number::Point(most)).in_unit(quantity::Unit::Share)
    });
    let said = Sentence::new(match verdict {
        Execution::Shared => "{verb} SMT siblings: CPUs {pairs} (each drops to {kept} when both are busy)",
        _ => "{verb} separate cores: CPUs {pairs} (each keeps {kept} when both are busy)",
    });
    let said =
        said.with("verb", if is_confirmed { "confirms" } else { "shows" }).with("pairs", pair_list(pairs));
    kept.into_iter().fold(said, |said, kept| said.with("kept", kept))
}

fn contradicted(
    pairs: &[(usize, &ExecutionTest)],
    verdict: Execution,
    reported: Option<&Topology>,
) -> Option<Sentence> {
    let topology = reported?;
    let is_other =
        |(_, test): &&(usize, &ExecutionTest)| are_siblings(topology, test) != (verdict == Execution::Shared);
    let others: Vec<_> = pairs.iter().filter(is_other).copied().collect();
    let template = match verdict {
        Execution::Shared => {
            "CONFLICT: the system reports CPUs {cpus} as different cores, but they share one: guests are often not \
             told what their virtual CPUs share"
        }
        _ => {
            "CONFLICT: the system reports CPUs {cpus} as threads of one core, but they share no execution units: \
             hosts may present an invented topology"
        }
    };
    (!others.is_empty()).then(|| Sentence::new(template).with("cpus", pair_list(&others)))
}

fn are_siblings(topology: &Topology, test: &ExecutionTest) -> bool {
    topology.are_siblings(test.pair[0], test.pair[1])
}

fn pair_list(pairs: &[(usize, &ExecutionTest)]) -> Sentence {
    let pair = |(_, test): &(usize, &ExecutionTest)| {
        Sentence::new("{a}+{b}").with("a", test.pair[0]).with("b", test.pair[1])
    };
    Sentence::joined(pairs.iter().map(pair), ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal;
    use crate::style::Style;
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
