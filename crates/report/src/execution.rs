//! CPUs that share execution units, in words.

use crate::blocks::Block;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::reasons::Worded;
use coretalk_model::latency::execution::{
    Execution, ExecutionTest, ExecutionUnit, TestReason, Unclear, verdicts,
};
use coretalk_model::{Level, Topology, quantity};

/// The results of the tests, and contradictions with the reported cores. `reported` is `None` without a report.
pub fn sentences(tests: &[ExecutionTest], reported: Option<&Topology>) -> Vec<Block<'static>> {
    // Without reported cores there is nothing to confirm or contradict.
    let reported = reported.filter(|topology| !topology.level(Level::Core).is_empty());
    let tested: Vec<(usize, &ExecutionTest, Execution)> = (0..)
        .zip(tests)
        .zip(verdicts(tests))
        .map(|((at, test), verdict)| (at, test, verdict))
        .filter(|(_, test, _)| test.reason != TestReason::Control)
        .collect();
    let with_verdict = |wanted: Execution| -> Vec<(usize, &ExecutionTest)> {
        let matching = tested.iter().filter(|(.., verdict)| *verdict == wanted);
        matching.map(|(at, test, _)| (*at, *test)).collect()
    };
    let mut blocks = Vec::new();
    for verdict in [Execution::Shared, Execution::Apart] {
        let pairs = with_verdict(verdict);
        if !pairs.is_empty() {
            blocks.push(Block::Fact("load test", verdict_words(&pairs, verdict, reported)));
        }
        blocks.extend(contradicted(&pairs, verdict, reported).map(Block::Doubt));
    }
    let mut reasons: Vec<Unclear> = Vec::new();
    for (at, _, verdict) in &tested {
        let &Execution::Unclear(why) = verdict else { continue };
        if !reasons.contains(&why) {
            reasons.push(why);
            let sentence = Sentence::new("cannot tell whether CPUs {pairs} are threads of one core: {why}")
                .with("pairs", pair_list(&with_verdict(*verdict)))
                .with("why", why.sentence(&|key| Source::Field(pointer!("/topology/execution/{at}/{key}"))));
            blocks.push(Block::Fact("load test", sentence));
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
    // The strongest effect of each pair, on the CPU that keeps more (shared units) or less (separate cores).
    let side = usize::from(verdict != Execution::Shared);
    let strongest_effect = |(at, test): &(usize, &ExecutionTest)| {
        let units = ExecutionUnit::ALL.iter().filter_map(|&unit| Some((test.kept(unit)?[side], *at, unit)));
        units.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let all = pairs.iter().filter_map(strongest_effect);
    let kept = match verdict {
        Execution::Shared => all.max_by(|a, b| a.0.total_cmp(&b.0)),
        _ => all.min_by(|a, b| a.0.total_cmp(&b.0)),
    };
    let kept = kept.map(|(kept, at, unit)| {
        let unit = if unit == ExecutionUnit::Multiplier { "multiplier" } else { "divider" };
        let path = format!("/topology/execution/{at}/{unit}_kept/{side}");
        let shown = if side == 0 { kept } else { kept.min(1.0) };
        DisplayValue::field(path, Number::Point(shown)).in_unit(quantity::Unit::Share)
    });
    let sentence = Sentence::new(match verdict {
        Execution::Shared => "{verb} SMT siblings: CPUs {pairs} (each drops to {kept} when both are busy)",
        _ => "{verb} separate cores: CPUs {pairs} (each keeps {kept} when both are busy)",
    });
    let sentence = sentence
        .with("verb", if is_confirmed { "confirms" } else { "shows" })
        .with("pairs", pair_list(pairs));
    kept.into_iter().fold(sentence, |sentence, kept| sentence.with("kept", kept))
}

fn contradicted(
    pairs: &[(usize, &ExecutionTest)],
    verdict: Execution,
    reported: Option<&Topology>,
) -> Option<Sentence> {
    let topology = reported?;
    let differs_from_report =
        |(_, test): &&(usize, &ExecutionTest)| are_siblings(topology, test) != (verdict == Execution::Shared);
    let others: Vec<_> = pairs.iter().filter(differs_from_report).copied().collect();
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
        ExecutionTest { pair: pair.map(CpuId), reason: TestReason::Closest, passes }
    }

    fn cores(cores: &[&str]) -> Topology {
        let core = |cpus: &&str| Domain { level: Level::Core, cpus: cpus.parse().unwrap(), os_id: None };
        Topology::new("0-3".parse().unwrap(), cores.iter().map(core).collect(), Default::default())
    }

    fn lines(tests: &[ExecutionTest], reported: Option<&Topology>) -> Vec<String> {
        terminal::lines(&sentences(tests, reported), &Style::of_width(400))
    }

    #[test]
    fn reported_cores_are_confirmed_or_contradicted() {
        let tests = [test([0, 2], 0.52), test([1, 3], 0.5)];
        let siblings = cores(&["0,2", "1,3"]);
        let flat = Topology::flat("0-3".parse().unwrap());
        for (tests, topology, expected) in [
            (&tests[..], &siblings, "confirms SMT siblings: CPUs 0+2, 1+3 (each drops to 52 %"),
            (&tests, &flat, "shows SMT siblings: CPUs 0+2, 1+3 (each drops to 52 %"),
            (&[test([0, 1], 1.02)], &siblings, "confirms separate cores: CPUs 0+1 (each keeps 100 %"),
        ] {
            let expected = format!(" load test {expected} when both are busy)");
            assert_eq!(lines(tests, Some(topology)), [expected]);
        }
        let hidden = lines(&tests, Some(&cores(&["0", "1", "2", "3"])));
        assert!(hidden[0].starts_with(" load test shows SMT siblings: CPUs 0+2"), "{hidden:?}");
        assert!(hidden[1].starts_with(" ! CONFLICT: the system reports CPUs 0+2, 1+3 as different cores"));
        let made_up = lines(&[test([0, 2], 0.99)], Some(&siblings));
        assert!(made_up[0].starts_with(" load test shows separate cores: CPUs 0+2 (each keeps 99 %"));
        assert!(made_up[1].contains("as threads of one core, but they share no execution units"));
    }

    #[test]
    fn unclear_verdicts_appear_once_per_reason() {
        let tests = [test([0, 2], 0.75), test([1, 3], 0.75)];
        let unclear = lines(&tests, None);
        assert_eq!(unclear.len(), 1);
        let text = " load test cannot tell whether CPUs 0+2, 1+3 are threads of one core: they slow";
        assert!(unclear[0].starts_with(text), "{unclear:?}");
        assert!(lines(&[], None).is_empty());
    }
}
