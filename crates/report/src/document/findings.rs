//! [`RunFindingDoc`]: the findings of a run, the same as in the first line of its screen.

mod maps;

use super::trials::of_a_queue;
use super::{Ci, ValueDoc, ci, significant};
use coretalk_model::CpuId;
use coretalk_model::findings::{Finding, ProbeFinding, findings};
use coretalk_model::idle_gaps::{ReceiverGaps, names as idle_gaps};
use coretalk_model::jitter::{Noise, Quietness, names as jitter};
use coretalk_model::probes;
use coretalk_model::queue::{BatchCurve, BatchGain, RateLimit, Sweep, names as queue};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{ParameterValue, Ranking, RankingVerdict, TrialId, TrialResult};
use coretalk_model::sharing::{PaddedRelation, Padding, names as padding};
use coretalk_model::stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

type Parameters = BTreeMap<String, ValueDoc<'static>>;

/// A conclusion from a map or from the trials of a probe.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RunFindingDoc {
    /// For a map `levels`, `moving-levels` (the machine moved between levels) or `tail`; for trials `ranking`,
    /// `padding`, `idle-gaps`, `rate-limit` (its rates are in `knees`), `batches` (its gains are in `batches`) or
    /// `noise`.
    kind: &'static str,
    /// The probe of the trials; `latency` for a map.
    probe: String,
    /// Quantity of `value`, as in `series`.
    quantity: &'static str,
    /// Unit of `value`; empty if it has none.
    unit: String,
    /// Parameters common to all subjects; for `padding`, the distance that the verdict refers to.
    condition: Parameters,
    /// CPUs common to all subjects, in role order, possibly as representatives of their relation; null if no others
    /// were measured or subjects have their own.
    placement: Option<Vec<u32>>,
    /// `ranking`: `single`, `alike`, `ordered`, `cannot-tell`. `padding`: `to`, `more-than`, `needless`, `unknown`.
    /// `idle-gaps`: `alike`, `different`, `unknown`. `rate-limit`: `between`, `unclear`, `not-reached`, `below`,
    /// `time-slices`, `unknown`. `batches`: `gain`, `not-shown`, `unknown`. `noise`: `lossy`, `stalled`, `disturbed`,
    /// `quiet`, `alike`, `unknown`. `levels`: `different`, `alike` (near and far), `one-level`, `spread` (the median
    /// represents no pair), `kinds` (of cores). `moving-levels` and `tail`: `different`.
    verdict: &'static str,
    /// Reason for doubt: for maps `moving-levels`, `most-pairs-doubtful`; for trials `several-levels` (the numbers are
    /// those of the most frequent one); null without a doubt.
    doubt: Option<&'static str>,
    /// The compared subjects, in the order of the finding.
    subjects: Vec<SubjectDoc>,
}

/// One subject of a finding.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SubjectDoc {
    /// Name of a queue, a lock or a relation; null if CPUs or parameters identify the subject.
    name: Option<String>,
    /// Parameters of this subject.
    parameters: Parameters,
    /// CPUs of this subject, in role order; null if it has none of its own.
    placement: Option<Vec<u32>>,
    /// Value in the unit of the finding; null if unknown.
    value: Option<f64>,
    /// 95 % interval of the value; null if unknown.
    ci: Option<Ci>,
    /// Rank `best`, `like-best`, `worst`, `like-worst`, `may-be-best`; `least` and `largest` slowdown; CPUs to `use`
    /// and to `avoid`; the `usual`, `slowest` and `fastest` level; the `p99.9` and the `slowest` hop (`events` in
    /// `parameters` are at or beyond it). For a subject outside the order the reason: `bound`, `wrong-answer`,
    /// `time-slices`, `unclaimed`, `too-few-passes`, `wide-interval`, `elsewhere`, `other-quantity`, `no-result`. Null for
    /// others.
    standing: Option<&'static str>,
}

impl RunFindingDoc {
    pub(super) fn all(report: &RunReport) -> Vec<RunFindingDoc> {
        let of_series = report.series.iter().flat_map(|series| RunFindingDoc::of_series(report, series));
        RunFindingDoc::of_maps(report).into_iter().chain(of_series).collect()
    }

    fn of_series(report: &RunReport, series: &SeriesReport) -> Vec<RunFindingDoc> {
        let found = findings(&series.settings, &series.result, &report.topology, probes::parameters);
        let mut docs: Vec<RunFindingDoc> =
            found.iter().flat_map(|found| RunFindingDoc::of_probe(found, &series.result.trials)).collect();
        for doc in &mut docs {
            let declared = series.settings.quantities.get(&doc.probe, doc.quantity);
            doc.unit = declared.map(|quantity| quantity.unit.symbol().into_owned()).unwrap_or_default();
        }
        docs
    }

    fn of_probe(found: &ProbeFinding<'_>, trials: &[TrialResult]) -> Vec<RunFindingDoc> {
        let mut docs = RunFindingDoc::from_finding(&found.finding, trials);
        docs.iter_mut().for_each(|doc| doc.doubt = found.has_levels.then_some("several-levels"));
        docs
    }

    fn from_finding(finding: &Finding<'_>, trials: &[TrialResult]) -> Vec<RunFindingDoc> {
        match finding {
            Finding::Ranked(ranking) => vec![RunFindingDoc::of_ranking(ranking)],
            Finding::Padding(groups) => {
                let doc = |(padding, relations): (Padding, &[PaddedRelation<'_>])| {
                    let (verdict, bytes) = match padding {
                        Padding::To(bytes) => ("to", Some(bytes)),
                        Padding::MoreThan(bytes) => ("more-than", Some(bytes)),
                        Padding::Needless { from } => ("needless", Some(from)),
                        Padding::Unknown => ("unknown", None),
                    };
                    let subjects = relations.iter().flat_map(SubjectDoc::of_relation).collect();
                    let condition = number(padding::DISTANCE, bytes);
                    let doc = RunFindingDoc::new("padding", padding::PROBE, padding::SLOWDOWN, verdict);
                    RunFindingDoc { condition, subjects, ..doc }
                };
                groups.iter().map(|group| doc((group.padding, &group.relations))).collect()
            }
            Finding::IdleGaps(gaps) => {
                let placement = || gaps.placement.map(cpus);
                let doc = |receiver| RunFindingDoc {
                    placement: placement(),
                    ..RunFindingDoc::of_gaps(gaps.probe, receiver)
                };
                gaps.receivers.iter().map(doc).collect()
            }
            Finding::RateLimits(sweeps) => {
                let doc = |sweep: &Sweep<'_>| {
                    let verdict = match sweep.limit() {
                        RateLimit::TimeSlices => "time-slices",
                        RateLimit::Between(..) => "between",
                        RateLimit::Unclear(_) => "unclear",
                        RateLimit::NotReached(_) => "not-reached",
                        RateLimit::Below(_) => "below",
                        RateLimit::Unknown => "unknown",
                    };
                    let condition = of_a_queue(sweep.queue, sweep.payload, sweep.capacity);
                    RunFindingDoc::of_queue("rate-limit", verdict, condition, sweep.placement)
                };
                sweeps.iter().map(doc).collect()
            }
            Finding::Batches(curves) => {
                let doc = |curve: &BatchCurve<'_>| {
                    let verdict = match curve.best_gain() {
                        BatchGain::Best(..) => "gain",
                        BatchGain::NotShown => "not-shown",
                        BatchGain::Unknown => "unknown",
                    };
                    let condition = of_a_queue(curve.queue, curve.payload, curve.capacity);
                    RunFindingDoc::of_queue("batches", verdict, condition, curve.placement)
                };
                curves.iter().map(doc).collect()
            }
            Finding::Noise(cpus, noise) => vec![RunFindingDoc::of_noise(cpus, noise, trials)],
        }
    }

    fn of_ranking(ranking: &Ranking<'_>) -> RunFindingDoc {
        let (verdict, rivals) = match &ranking.verdict {
            RankingVerdict::Single => ("single", &[][..]),
            RankingVerdict::Alike => ("alike", &[][..]),
            RankingVerdict::Ordered { .. } => ("ordered", &[][..]),
            RankingVerdict::CannotTell(rivals) => ("cannot-tell", &rivals[..]),
        };
        let standing = |index: usize| match &ranking.verdict {
            RankingVerdict::Ordered { .. } if index == 0 => Some("best"),
            RankingVerdict::Ordered { worst, .. } if *worst == Some(index) => Some("worst"),
            RankingVerdict::Ordered { like_best, .. } if like_best.contains(&index) => Some("like-best"),
            RankingVerdict::Ordered { like_worst, .. } => like_worst.contains(&index).then_some("like-worst"),
            _ => None,
        };
        let named = |name: &String, standing: Option<&'static str>| SubjectDoc {
            name: (!name.is_empty()).then(|| name.clone()),
            standing: standing
                .filter(|_| !rivals.contains(name))
                .or(rivals.contains(name).then_some("may-be-best")),
            ..SubjectDoc::default()
        };
        let ranked = ranking
            .subjects
            .iter()
            .enumerate()
            .map(|(index, subject)| named(&subject.name, standing(index)).with(&subject.value));
        let unranked = ranking.unranked.iter().map(|(name, reason)| named(name, Some(reason.name())));
        let condition = ranking.condition.parameters.iter();
        let condition = condition.map(|(name, value)| match value {
            ParameterValue::Number(number) => ((*name).to_owned(), ValueDoc::Number(*number)),
            ParameterValue::Text(text) => ((*name).to_owned(), ValueDoc::Text(text.clone().into())),
        });
        RunFindingDoc {
            condition: condition.collect(),
            placement: ranking.condition.placement.map(cpus),
            subjects: ranked.chain(unranked).collect(),
            ..RunFindingDoc::new("ranking", &ranking.trial.spec.probe, ranking.quantity.id, verdict)
        }
    }

    fn of_gaps(probe: &str, gaps: &ReceiverGaps<'_>) -> RunFindingDoc {
        let after = |gap_ns| SubjectDoc {
            parameters: number(idle_gaps::GAP_NS, Some(gap_ns)),
            ..SubjectDoc::default()
        };
        let known = gaps.steps.iter().map(|step| after(step.gap_ns).with(&step.value));
        let verdict = match (gaps.alike(), gaps.steps.len()) {
            (Some(_), _) => "alike",
            (None, 2..) => "different",
            (None, _) => "unknown",
        };
        let texts = [(idle_gaps::RECEIVER, Some(gaps.receiver)), (idle_gaps::IDLE_STATES, gaps.idle_states)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        RunFindingDoc {
            condition: texts
                .map(|(name, text)| (name.to_owned(), ValueDoc::Text(text.to_owned().into())))
                .collect(),
            subjects: known.chain(gaps.unknown_ns.iter().map(|gap_ns| after(*gap_ns))).collect(),
            ..RunFindingDoc::new("idle-gaps", probe, gaps.quantity.id, verdict)
        }
    }

    fn of_queue(
        kind: &'static str,
        verdict: &'static str,
        condition: Parameters,
        placement: &[CpuId],
    ) -> RunFindingDoc {
        let placement = Some(cpus(placement));
        RunFindingDoc { condition, placement, ..RunFindingDoc::new(kind, queue::PROBE, queue::RATE, verdict) }
    }

    fn of_noise(sorted: &[Quietness], noise: &Noise, trials: &[TrialResult]) -> RunFindingDoc {
        let none = [Vec::new(), Vec::new()];
        let (verdict, [quiet, noisy]) = match noise {
            Noise::Lossy(named) => ("lossy", named),
            Noise::Stalled(named) => ("stalled", named),
            Noise::Disturbed => ("disturbed", &none),
            Noise::Quiet => ("quiet", &none),
            Noise::Alike => ("alike", &none),
            Noise::Unknown => ("unknown", &none),
        };
        let known: BTreeMap<TrialId, &TrialResult> =
            trials.iter().map(|trial| (trial.spec.id(), trial)).collect();
        let subjects = sorted.iter().filter_map(|quietness| {
            let is_in = |cpus: &[Quietness]| cpus.iter().any(|cpu| cpu.cpu == quietness.cpu);
            let standing = is_in(noisy).then_some("avoid").or(is_in(quiet).then_some("use"));
            let doc =
                SubjectDoc { placement: Some(vec![quietness.cpu.0]), standing, ..SubjectDoc::default() };
            Some(doc.with(known.get(&quietness.trial)?.values.get(jitter::LOST)?))
        });
        let subjects = subjects.collect();
        RunFindingDoc { subjects, ..RunFindingDoc::new("noise", jitter::PROBE, jitter::LOST, verdict) }
    }

    fn new(kind: &'static str, probe: &str, quantity: &'static str, verdict: &'static str) -> RunFindingDoc {
        RunFindingDoc { kind, probe: probe.to_owned(), quantity, verdict, ..RunFindingDoc::default() }
    }
}

impl SubjectDoc {
    fn with(self, estimate: &Estimate) -> SubjectDoc {
        SubjectDoc { value: significant(estimate.point), ci: ci(estimate), ..self }
    }

    /// The smallest and the largest slowdown of a relation; without slowdowns, only the first pair.
    fn of_relation(padded: &PaddedRelation<'_>) -> Vec<SubjectDoc> {
        let subject = |placement: &[CpuId]| SubjectDoc {
            name: Some(padded.relation.name().to_owned()),
            placement: Some(cpus(placement)),
            ..SubjectDoc::default()
        };
        let Some(ends) = padded.slowdowns else {
            return padded.pairs.iter().take(1).map(|pair| subject(pair)).collect();
        };
        let ends = ends.iter().zip(["least", "largest"]).map(|(slowdown, standing)| {
            let spec = &slowdown.trial.spec;
            let parameters = number(padding::DISTANCE, spec.parameters.number(padding::DISTANCE));
            SubjectDoc { parameters, standing: Some(standing), ..subject(&spec.placement) }
                .with(&slowdown.value)
        });
        ends.collect()
    }
}

fn cpus(placement: &[CpuId]) -> Vec<u32> {
    placement.iter().map(|cpu| cpu.0).collect()
}

fn number(name: &str, value: Option<f64>) -> Parameters {
    value.map(|value| (name.to_owned(), ValueDoc::Number(value))).into_iter().collect()
}
