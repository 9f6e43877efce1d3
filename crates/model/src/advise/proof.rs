//! [`Claim`]: the predicted speed of placements. [`Proof`]: the comparison of a claim with runs of real work.

use super::{Advice, Bracket, CpuDistances, Graph, Pattern};
use crate::CpuId;
use crate::place::{ALPHA, PlacementComparison, WorkloadKind};
use crate::stats::Estimate;

/// Tolerance of a prediction. Threads also work between messages, which latencies do not include.
const TOLERANCE: f64 = 0.10;

/// Placements of the same threads for test runs, the advised one first.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The workload with the communication pattern of the threads.
    pub work: WorkloadKind,
    /// The advised placement, followed by usual placements with other CPUs or another order.
    pub arms: Vec<ClaimArm>,
}

/// A placement for a test run.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimArm {
    /// Names of the placement: several if usual placements have the same CPUs in the same order.
    pub names: Vec<&'static str>,
    /// The CPU of each thread.
    pub cpus: Vec<CpuId>,
    /// Predicted speed of the advised placement relative to this placement; exactly 1 for the advised placement.
    pub predicted: Bracket,
}

impl ClaimArm {
    /// The names joined, for comparisons.
    pub fn name(&self) -> String {
        self.names.join("+")
    }
}

/// The name of the advised placement in comparisons.
pub const ADVISED: &str = "advised";

impl Claim {
    /// The runs that test an advice.
    ///
    /// # Errors
    /// An incomplete sentence: no workload matches the graph, or all usual placements equal the advised one.
    pub fn new(
        advice: &Advice,
        graph: &Graph,
        pattern: Option<Pattern>,
        distances: &CpuDistances,
    ) -> Result<Claim, &'static str> {
        let work = stand_in(graph, pattern).ok_or(if graph.len() < 2 {
            "a single thread has no other to talk to"
        } else if graph.total() > 0.0 {
            "no built-in workload has this pattern; `ring`, `pipeline` and `all-to-all` do, and `coretalk place` runs your own command"
        } else {
            "latencies predict nothing for threads that do not talk; `coretalk place` compares placements with any work"
        })?;
        let cost = |cpus: &[CpuId]| Cost::new(work, graph, distances, cpus);
        let Some(mine) = cost(&advice.cpus) else { return Err("a thread has no CPU") };
        let one = Bracket { point: 1.0, low: 1.0, high: 1.0 };
        let mut arms = vec![ClaimArm { names: vec![ADVISED], cpus: advice.cpus.clone(), predicted: one }];
        for baseline in advice.baselines.iter().filter(|baseline| !baseline.cpus.is_empty()) {
            if baseline.cpus == advice.cpus {
                continue;
            }
            if let Some(known) = arms.iter_mut().find(|arm| arm.cpus == baseline.cpus) {
                known.names.push(baseline.name);
                continue;
            }
            let Some(theirs) = cost(&baseline.cpus) else { continue };
            // With a single part, use the excess of the advice, in which errors of common cells cancel.
            let excess_of_advice = baseline.excess.filter(|_| mine.parts == 1);
            let predicted = excess_of_advice
                .map_or_else(|| mine.times(&theirs), |excess| one.with(excess, |one, excess| one + excess));
            arms.push(ClaimArm { names: vec![baseline.name], cpus: baseline.cpus.clone(), predicted });
        }
        if arms.len() == 1 {
            return Err("the usual placements are the advised one");
        }
        Ok(Claim { work, arms })
    }

    /// The result for each placement except the advised one. `comparison` has the arms of this claim in this order.
    pub fn proof(&self, comparison: &PlacementComparison) -> Proof {
        let shift = |arm: usize| comparison.pairs.iter().find(|pair| (pair.a, pair.b) == (0, arm));
        let results = (1..self.arms.len()).map(|arm| {
            let found = shift(arm);
            let p_value = found.and_then(|pair| pair.p_value);
            let measured = found.and_then(|pair| Some(as_times(&pair.share?)));
            let verdict = ProofVerdict::decide(&self.arms[arm].predicted, measured.as_ref(), p_value);
            Against { arm: self.arms[arm].clone(), measured, p_value, verdict }
        });
        Proof { work: self.work, held: results.collect() }
    }
}

/// The results for all placements other than the advised one.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The workload that ran.
    pub work: WorkloadKind,
    /// The results, in the order of the placements in the claim.
    pub held: Vec<Against>,
}

/// Comparison of the advised placement with another placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The other placement and its prediction.
    pub arm: ClaimArm,
    /// Measured speed of the advised placement relative to the other one; `None` with too few runs.
    pub measured: Option<Estimate>,
    /// P-value of "no difference", corrected for the number of placements.
    pub p_value: Option<f64>,
    /// The verdict.
    pub verdict: ProofVerdict,
}

named! {
    /// The verdict on a prediction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ProofVerdict {
        /// The measured ratio matches the prediction.
        AsPredicted = "as-predicted",
        /// The advised placement is faster, but by less than predicted.
        Less = "less",
        /// The advised placement is faster by more than predicted.
        More = "more",
        /// A gain was predicted. A gain of that size is excluded, and no smaller gain is shown.
        Absent = "absent",
        /// The other placement is faster, contrary to the prediction.
        Contradicted = "contradicted",
        /// The runs exclude neither the prediction nor equality.
        CannotTell = "cannot-tell",
    }
}

impl ProofVerdict {
    fn decide(predicted: &Bracket, measured: Option<&Estimate>, p_value: Option<f64>) -> ProofVerdict {
        let (Some(measured), Some(p_value)) = (measured, p_value) else { return ProofVerdict::CannotTell };
        let is_shown = p_value <= ALPHA && !(measured.low <= 1.0 && measured.high >= 1.0);
        let below = measured.high < predicted.low / (1.0 + TOLERANCE);
        let above = measured.low > predicted.high * (1.0 + TOLERANCE);
        let promised = predicted.low > 1.0;
        match (is_shown, measured.point > 1.0) {
            (true, false) if promised || (below && predicted.high >= 1.0) => ProofVerdict::Contradicted,
            (true, _) if below => ProofVerdict::Less,
            (_, _) if above && is_shown => ProofVerdict::More,
            (true, _) => ProofVerdict::AsPredicted,
            (false, _) if promised && below => ProofVerdict::Absent,
            (false, _) if promised || below || above => ProofVerdict::CannotTell,
            (false, _) => ProofVerdict::AsPredicted,
        }
    }
}

fn as_times(share: &Estimate) -> Estimate {
    let times = |share: f64| 1.0 / (1.0 + share);
    Estimate { point: times(share.point), low: times(share.high), high: times(share.low), ..*share }
}

/// The workload with the communication of a graph: that of the pattern `named`, or of a pattern with the same edges.
pub fn stand_in(graph: &Graph, named: Option<Pattern>) -> Option<WorkloadKind> {
    let mut weights = graph.edges().map(|(_, _, weight)| weight);
    let weight = weights.next()?;
    let has_edges_of = |pattern: Pattern| {
        let other = Graph::of_pattern(pattern, graph.len());
        let pair = |(a, b, _)| (a, b);
        graph.edges().map(pair).eq(other.edges().map(pair))
    };
    let are_equal = weights.all(|other| (other - weight).abs() <= 1e-9 * weight);
    let mut patterns = named.into_iter().chain([Pattern::Ring, Pattern::Pipeline, Pattern::AllToAll]);
    patterns.find_map(|pattern| workload(pattern).filter(|_| are_equal && has_edges_of(pattern)))
}

fn workload(pattern: Pattern) -> Option<WorkloadKind> {
    match pattern {
        Pattern::Ring => Some(WorkloadKind::Ring),
        Pattern::Pipeline => Some(WorkloadKind::Pipeline),
        Pattern::AllToAll => Some(WorkloadKind::AllToAll),
        Pattern::Pairs | Pattern::Independent => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    parts: usize,
    ns: Bracket,
}

impl Cost {
    /// The cost of a token is the sum of all hops, and that of a pipeline its slowest link. In all-to-all it is the
    /// thread with the slowest messages, because in each phase every thread receives from all others.
    fn new(work: WorkloadKind, graph: &Graph, distances: &CpuDistances, cpus: &[CpuId]) -> Option<Cost> {
        let positions: Option<Vec<usize>> =
            cpus.iter().map(|cpu| distances.cpus().iter().position(|known| known == cpu)).collect();
        let positions = positions?;
        let of_pair = |a: usize, b: usize| Bracket::of_pair(distances, positions[a], positions[b]);
        let pairs = graph.edges().map(|(a, b, _)| of_pair(a, b));
        let parts: Vec<Bracket> = match work {
            WorkloadKind::Pipeline => pairs.collect(),
            WorkloadKind::AllToAll => (0..graph.len())
                .map(|me| sum(graph.neighbours(me).iter().map(|&(other, _)| of_pair(me, other as usize))))
                .collect(),
            _ => vec![sum(pairs)],
        };
        let slowest = |a: Bracket, b: Bracket| a.with(b, f64::max);
        Some(Cost { parts: parts.len(), ns: parts.into_iter().reduce(slowest)? })
    }

    fn times(&self, other: &Cost) -> Bracket {
        Bracket {
            point: other.ns.point / self.ns.point,
            low: other.ns.low / self.ns.high,
            high: other.ns.high / self.ns.low,
        }
    }
}

fn sum(parts: impl Iterator<Item = Bracket>) -> Bracket {
    let nothing = Bracket { point: 0.0, low: 0.0, high: 0.0 };
    parts.fold(nothing, |sum, part| sum.with(part, |sum, part| sum + part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::advise::advise;
    use crate::infer::Observation;
    use crate::tests::between;

    fn distances(across: f64) -> CpuDistances {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let observed = Matrix::symmetric(cpus.clone(), |a, b| {
            Some(Observation { value: if a % 2 == b % 2 { 20.0 } else { across }, half_width: 0.02 })
        });
        let groups = ["0,2,4,6", "1,3,5,7"].map(|list| list.parse().unwrap());
        CpuDistances::of_observations(cpus, &observed, &[groups.to_vec()])
    }

    fn claim(pattern: Pattern, threads: usize, across: f64) -> Result<Claim, &'static str> {
        let (graph, distances) = (Graph::of_pattern(pattern, threads), distances(across));
        Claim::new(&advise(&graph, &distances, 1), &graph, Some(pattern), &distances)
    }

    #[test]
    fn each_workload_is_predicted_by_what_decides_its_speed() {
        // With 4 threads on CPUs 0–3, every link of a ring is far, but each thread of all-to-all also has a near one.
        for (pattern, expected) in
            [(Pattern::Ring, 4.0), (Pattern::Pipeline, 4.0), (Pattern::AllToAll, 180.0 / 60.0)]
        {
            let claim = claim(pattern, 4, 80.0).unwrap();
            let by_number = claim.arms.iter().find(|arm| arm.names.contains(&"system-order")).unwrap();
            let found = by_number.predicted;
            assert!((found.point - expected).abs() < 1e-9, "{pattern:?}: {found:?}");
            assert!(found.low < expected && expected < found.high && found.low > 0.9 * expected, "{found:?}");
        }
    }

    #[test]
    fn equal_placements_run_once() {
        let claim = claim(Pattern::Ring, 4, 80.0).unwrap();
        let names: Vec<String> = claim.arms.iter().map(ClaimArm::name).collect();
        assert_eq!(names, ["advised", "system-order+spread"], "compact is the advised one");
    }

    #[test]
    fn unprovable_claims_state_the_reason() {
        assert!(
            claim(Pattern::Pairs, 4, 80.0).unwrap_err().contains("no built-in workload has this pattern")
        );
        assert!(claim(Pattern::Independent, 4, 80.0).unwrap_err().contains("do not talk"));
        // Two communicating threads are a ring of two.
        assert_eq!(claim(Pattern::Pairs, 2, 80.0).unwrap().work, WorkloadKind::Ring);
        let uneven = Graph::new(3, [(0, 1, 1.0), (1, 2, 2.0)]);
        assert_eq!(stand_in(&uneven, None), None);
        let chain = Graph::new(3, [(0, 1, 7.0), (1, 2, 7.0)]);
        assert_eq!(stand_in(&chain, None), Some(WorkloadKind::Pipeline));
    }

    #[test]
    fn verdicts_follow_from_both_intervals() {
        use ProofVerdict::{Absent, AsPredicted, CannotTell, Contradicted, Less, More};
        let bracket = |[low, high]: [f64; 2]| Bracket { point: (low + high) / 2.0, low, high };
        for (predicted, measured, p, expected) in [
            ([3.8, 4.2], [3.9, 4.1], 0.001, AsPredicted),
            ([3.8, 4.2], [4.4, 4.5], 0.001, AsPredicted),
            ([3.8, 4.2], [1.9, 2.1], 0.001, Less),
            ([3.8, 4.2], [5.9, 6.1], 0.001, More),
            ([3.8, 4.2], [0.9, 1.1], 0.6, Absent),
            ([3.8, 4.2], [0.5, 4.1], 0.6, CannotTell),
            ([3.8, 4.2], [3.5, 4.1], 0.06, CannotTell),
            ([3.8, 4.2], [0.7, 0.8], 0.001, Contradicted),
            ([1.01, 1.05], [0.97, 0.98], 0.001, Contradicted),
            ([0.97, 1.03], [0.98, 1.01], 0.6, AsPredicted),
            ([0.97, 1.03], [0.6, 0.7], 0.001, Contradicted),
            ([0.97, 1.03], [1.4, 1.5], 0.001, More),
            ([0.5, 0.6], [0.5, 0.6], 0.001, AsPredicted),
            ([0.5, 0.6], [0.3, 0.4], 0.001, Less),
        ] {
            let Bracket { point, low, high } = bracket(measured);
            let verdict =
                ProofVerdict::decide(&bracket(predicted), Some(&between(point, low, high)), Some(p));
            assert_eq!(verdict, expected, "{predicted:?} {measured:?}");
        }
        assert_eq!(ProofVerdict::decide(&bracket([3.8, 4.2]), None, None), CannotTell);
    }
}
