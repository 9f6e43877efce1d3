//! `advise`: recommends CPUs for communicating threads, from a run, a file, or a brief measurement.

mod known;
mod noise;
mod proof;

use crate::args::AdviseArgs;
use crate::args::options::Global;
use crate::args::words::SmtWord;
use crate::commands::shape::{Shape, hand_over, say, shape};
use crate::commands::topology;
use crate::exit::{ExitCode, Failure};
use crate::resolve::cpus::Chosen;
use crate::resolve::files;
use crate::resolve::source::Source;
use coretalk_model::advise::{
    CandidateError, Claim, Constraints, CpuDistances, Graph, Pattern, Sharing, TooNear, advise, candidates,
    likely_cores, siblings_left_out, without_too_near,
};
use coretalk_model::infer::{AgreementVerdict, Findings, InferError, InferredLevel, Refusal, Suspect};
use coretalk_model::latency::Execution;
use coretalk_model::lint::{LintFinding, step_of};
use coretalk_model::topology::Domain;
use coretalk_model::{CpuId, CpuSet, Environment, Level, Topology};
use coretalk_report as report;
use coretalk_report::advice::{AdviceView, ProofView};
use coretalk_report::blocks::Block;
use coretalk_report::blocks::value::{DisplayValue, Number, Sentence, Source as ValueSource};
use coretalk_report::document::Document;
use coretalk_report::reasons::Worded;
use known::Known;
use noise::Noise;

pub fn execute(global: &Global, args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let shape = shape(global, "advise")?;
    let (view, environment) = advice_view(global, args)?;
    match shape {
        Shape::Text => say(global, &report::advise::blocks(&view)),
        Shape::Json(identity) => {
            hand_over(global, &Document::of_advice(&view, environment.as_ref(), identity))
        }
    }
}

pub(super) fn with_blocks<R>(
    global: &Global,
    args: &AdviseArgs,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    Ok(show(&report::advise::blocks(&advice_view(global, args)?.0)))
}

fn advice_view(global: &Global, args: &AdviseArgs) -> Result<(AdviceView, Option<Environment>), Failure> {
    let graph = graph(args)?;
    let sharing = sharing(global, args)?;
    let reported = args.reported.as_deref().map(topology::hwloc).transpose()?;
    if let (Some(_), false) = (&args.from, args.prove) {
        for (given, option) in
            [(global.machine.is_some(), "--machine"), (global.budget.is_some(), "--budget")]
        {
            if given {
                return Err(Failure::Usage(format!(
                    "{option} has no effect with --from, which measures nothing; leave it out, or add --prove"
                )));
            }
        }
    }
    let noise = args.jitter.as_deref().map(|run| noise::of_run(global, run)).transpose()?;
    let (mut known, environment) = match &args.from {
        None => Known::of_machine(global, reported)?,
        Some(from) => Known::of_source(global, Source::open(global, from)?, reported)?,
    };
    let (spent, departed) = (known.spent, known.departed.iter().map(|departure| departure.cpu).collect());
    // Offline CPUs are removed from `--cpus`, so that the others get an answer.
    let online = known.asked.as_ref().map(|cpus| cpus.difference(&departed));
    let wanted = Chosen { cpus: online.clone(), smt: global.smt };
    known.asked = online;
    let avoid = args.avoid.as_ref().map(|avoid| known.selected("--avoid", avoid, environment.as_ref()));
    known.avoid = avoid.transpose()?.unwrap_or_default();
    if let (Some(noise), Some(here)) = (&noise, &environment) {
        noise.refuse_another(here)?;
    }
    let (mut view, claim) = advised(global, args, sharing, graph, known, noise.as_ref())?;
    view.remarks.splice(0..0, environment.as_ref().and_then(report::words::emulation));
    if args.prove {
        view.proof = Some(match claim {
            Ok(claim) => {
                proof::prove(global, &wanted, &claim, environment.as_ref(), spent, &mut view.departed)?
            }
            Err(reason) => ProofView::NotRun(reason.into()),
        });
    }
    Ok((view, environment))
}

/// Whether threads may share cores, from `--smt` or `--sharing`; `None` without these options.
fn sharing(global: &Global, args: &AdviseArgs) -> Result<Option<Sharing>, Failure> {
    let by_smt = match global.smt {
        None => None,
        Some(SmtWord::All) => Some(Sharing::Allowed),
        Some(SmtWord::OnePerCore) => Some(Sharing::Never),
        Some(SmtWord::Siblings) => {
            return Err(Failure::Usage(
                "--smt siblings selects pairs, not CPUs; to let threads share cores use --smt all".into(),
            ));
        }
    };
    match (by_smt, args.sharing) {
        (Some(_), Some(_)) => Err(Failure::Usage(
            "--smt and --sharing both control whether threads may share cores; drop one of them".into(),
        )),
        (by_smt, asked) => Ok(asked.or(by_smt)),
    }
}

fn graph(args: &AdviseArgs) -> Result<Option<Graph>, Failure> {
    let Some(path) = &args.graph else { return Ok(None) };
    let shown = path.display();
    let text = String::from_utf8(files::read(path)?)
        .map_err(|_| Failure::Input(format!("failed to read {shown}: it is not UTF-8 text")))?;
    let graph = Graph::parse(&text, args.threads.map(|threads| threads as usize));
    graph.map(Some).map_err(|error| Failure::Input(format!("{shown}: failed to {error}")))
}

fn pattern(args: &AdviseArgs) -> Pattern {
    args.pattern.unwrap_or(Pattern::AllToAll)
}

/// A claim that a workload can test, or why there is none (text without a full stop).
type Provable = Result<Claim, &'static str>;

const NOTHING_ADVISED: Provable = Err("there is no advice to check");

fn advised(
    global: &Global,
    args: &AdviseArgs,
    asked_sharing: Option<Sharing>,
    graph: Option<Graph>,
    known: Known,
    noise: Option<&Noise>,
) -> Result<(AdviceView, Provable), Failure> {
    let ids: CpuSet = known.observed.cpus().iter().copied().collect();
    let reported = known.reported.clone().unwrap_or_else(|| Topology::flat(ids.clone()));
    let findings = Findings::of_stepped_matrix(&known.observed, &reported, step_of(&known.doubts))
        .tested(&known.execution);
    let has_reported_cores = args.reported.is_some() && !reported.level(Level::Core).is_empty();
    let cores = cores_shown(&reported, &findings, known.reported.is_none());
    let (among, avoid) = (chosen(known.asked.as_ref(), &ids)?, known.avoid.clone());
    let departed: CpuSet = known.departed.iter().map(|departure| departure.cpu).collect();
    if let Some(cpu) = avoid.difference(&ids.union(&departed)).first() {
        return Err(Failure::Usage(format!(
            "--avoid: CPU {cpu} does not exist; there {} {}",
            if ids.len() == 1 { "is" } else { "are" },
            ids.named()
        )));
    }
    let avoid = noise.map_or_else(|| avoid.clone(), |noise| avoid.union(&noise.cpus()));
    let among = among.difference(&avoid);
    let likely = match (&findings.structure, &known.reported) {
        (Ok(structure), None) => likely_cores(structure, &known.observed, &among),
        _ => Vec::new(),
    };
    let may_be_cores = !likely.is_empty() || cores.is_some_and(|level| level.execution.is_none());
    let shown = cores.map_or(&[][..], |level| &level.groups);
    let reported = with_cores(reported, if likely.is_empty() { shown } else { &likely });
    let has_cores = reported.level(Level::Core).iter().any(|core| core.cpus.len() > 1);
    let sharing = asked_sharing.unwrap_or_default();
    if asked_sharing.is_some() && known.reported.is_none() && !has_cores {
        let option = if args.sharing.is_some() { "--sharing" } else { "--smt" };
        return Err(Failure::Usage(format!(
            "{option} has no effect here: the file does not show which CPUs share a core; add --reported FILE.xml (hwloc), or choose CPUs with --cpus"
        )));
    }
    let constraints = Constraints { avoid, class: args.class.clone(), node: args.node, sharing };
    // The order is that of the system's CPU numbers.
    let all: Vec<CpuId> = among.iter().collect();
    let threads = graph.as_ref().map_or(args.threads.unwrap_or(1) as usize, Graph::len);
    let cpus = candidates(&reported, &all, threads, &constraints).map_err(|error| match error {
        CandidateError::TooFew { .. } if !departed.is_empty() => {
            let words: Vec<String> = known.departed.iter().map(report::saved::departed_text).collect();
            Failure::Environment(format!("{error}; {}", words.join(", ")))
        }
        CandidateError::TooFew { .. } => Failure::Environment(match noise {
            Some(noise) if !noise.cpus().is_empty() => {
                format!(
                    "{error}; --jitter excludes {}; use --avoid to choose them one by one",
                    noise.cpus().named()
                )
            }
            _ => error.to_string(),
        }),
        _ => Failure::Usage(error.to_string()),
    })?;
    // The graph is built after the check for enough CPUs, because it grows with the square of the number of threads.
    let graph = &graph.unwrap_or_else(|| Graph::of_pattern(pattern(args), threads));
    let left_out = match sharing {
        Sharing::IfNeeded => siblings_left_out(&reported, &all, &cpus),
        Sharing::Allowed | Sharing::Never => CpuSet::new(),
    };
    let mut view = AdviceView {
        origin: known.origin,
        simulated: known.simulated,
        unit: known.unit,
        threads,
        pattern: args.graph.is_none().then(|| pattern(args)),
        talking: graph.edges().count(),
        candidates: cpus.iter().copied().collect(),
        known: ids.len(),
        outcome: Err("".into()),
        departed: known.departed,
        remarks: Vec::new(),
        proof: None,
    };
    let refused = known.moved.as_ref().or(findings.structure.as_ref().err().filter(|refusal| {
        // Two CPUs have a single placement, which needs no structure.
        !matches!(refusal, Refusal::Matrix(InferError::TooFew { .. }))
    }));
    match refused {
        Some(Refusal::Matrix(error @ InferError::Impossible { .. })) => {
            return Err(Failure::Input(error.text()));
        }
        Some(refusal) => {
            view.outcome = Err(report::structure::refusal(refusal));
            return Ok((view, NOTHING_ADVISED));
        }
        None => {}
    }
    let (observed, too_near) = without_too_near(&known.observed, unfit(&known.doubts));
    let mut distances = CpuDistances::of_observations(cpus, &observed, &groups(&findings, &reported));
    if let Some(step) = step_of(&known.doubts) {
        distances = distances.of_steps(step);
    }
    if distances.filled() * 2 > distances.len() * (distances.len() - 1) / 2 {
        let pairs = distances.len() * (distances.len() - 1) / 2;
        let outcome =
            Sentence::new("{filled} of the {pairs} candidate pairs have no value; at least half are needed");
        let outcome = outcome.with("filled", DisplayValue::listed(distances.filled()));
        view.outcome = Err(outcome.with("pairs", DisplayValue::listed(pairs)));
        return Ok((view, NOTHING_ADVISED));
    }
    let advice = advise(graph, &distances, global.seed.unwrap_or(0));
    view.remarks = remarks(
        &advice.cpus,
        &distances,
        &findings,
        &reported,
        !may_be_cores && (has_cores || has_reported_cores),
        sharing,
    );
    if !left_out.is_empty() {
        let template = if may_be_cores {
            "one CPU of each of the closest pairs is used, and {cpus} are left out: they may be SMT siblings, where \
             each thread computes at about half speed; latency alone cannot tell; --sharing allowed includes them"
        } else {
            "SMT siblings ({cpus}) are left out: there are enough cores, and two threads of one core compute at \
             about half speed; --smt all includes them"
        };
        view.remarks.push(Sentence::new(template).with("cpus", report::lists::cpus(&left_out)));
    }
    view.remarks.extend(too_near_in_words(&too_near, &view.candidates, known.unit));
    view.remarks.extend(doubts_in_words(&known.doubts, known.unit));
    view.remarks.extend(noise.map(Noise::remark));
    view.outcome = Ok(advice);
    let claim = view
        .recommended()
        .map(|advice| Claim::new(advice, graph, view.pattern, &distances))
        .unwrap_or(NOTHING_ADVISED);
    Ok((view, claim))
}

fn value_of_file(number: f64) -> DisplayValue {
    DisplayValue::bare(Number::Point(number), ValueSource::Unrecorded)
}

fn chosen(asked: Option<&CpuSet>, ids: &CpuSet) -> Result<CpuSet, Failure> {
    let Some(asked) = asked else { return Ok(ids.clone()) };
    match asked.difference(ids).first() {
        Some(cpu) => Err(Failure::Usage(format!(
            "CPU {cpu} has no latencies: choose among {} with --cpus",
            ids.named()
        ))),
        None => Ok(asked.clone()),
    }
}

/// Returns the groups, largest first: inferred from latencies, or else reported.
fn groups(findings: &Findings, reported: &Topology) -> Vec<Vec<CpuSet>> {
    match &findings.structure {
        Ok(structure) if !structure.levels.is_empty() => {
            structure.levels.iter().rev().map(|level| level.groups.clone()).collect()
        }
        _ => CpuDistances::groups_of(reported),
    }
}

/// Returns an inferred level that stands for cores if no core with several threads is reported. Groups shown by
/// execution tests qualify, because a guest sees only cores that its host invents. For a file without cores, groups of
/// two qualify: mistaking SMT siblings for two cores costs more than the opposite.
fn cores_shown<'a>(
    reported: &Topology,
    findings: &'a Findings,
    has_no_report: bool,
) -> Option<&'a InferredLevel> {
    let finest = findings.structure.as_ref().ok().and_then(|structure| structure.levels.first())?;
    let may_be_cores =
        has_no_report && finest.execution.is_none() && finest.groups.iter().all(|group| group.len() == 2);
    let is_shown = finest.execution == Some(Execution::Shared) || may_be_cores;
    let is_reported = reported.level(Level::Core).iter().any(|core| core.cpus.len() > 1);
    (is_shown && !is_reported).then_some(finest)
}

fn with_cores(reported: Topology, cores: &[CpuSet]) -> Topology {
    if cores.is_empty() {
        return reported;
    }
    let others = reported.domains().iter().filter(|domain| domain.level != Level::Core).cloned();
    let cores = cores.iter().map(|group| Domain { level: Level::Core, cpus: group.clone(), os_id: None });
    let class = |cpu| Some((cpu, reported.class_of(cpu)?.clone()));
    let classes = reported.cpus().iter().filter_map(class).collect();
    Topology::new(reported.cpus().clone(), others.chain(cores).collect(), classes)
}

/// Returns the pairs of a file that `lint` reports as unfit. A run has none, because it measures such pairs again.
fn unfit(doubts: &[LintFinding]) -> &[Suspect] {
    let cells = doubts.iter().find_map(|doubt| match doubt {
        LintFinding::Unfit { cells, .. } => Some(&cells[..]),
        _ => None,
    });
    cells.unwrap_or_default()
}

/// Notice that suspicious values were replaced by values inferred from the other pairs.
fn too_near_in_words(pairs: &[TooNear], candidates: &CpuSet, unit: &'static str) -> Option<Sentence> {
    let among: Vec<&TooNear> =
        pairs.iter().filter(|near| near.pair.iter().all(|cpu| candidates.contains(*cpu))).collect();
    let TooNear { pair: [a, b], value, counted } = among.first()?;
    let others = DisplayValue::listed(among.len() - 1);
    let others = (among.len() > 1).then(|| Sentence::pluralized(", and {number} pair{s} more", others));
    let remark = Sentence::new(
        "CPUs {a} and {b} take {value} {unit} where the other pairs suggest {counted}{others} (`coretalk lint`): what the \
         others suggest is counted, since such a value may be wrong; measure again",
    );
    let remark = remark.with("a", *a).with("b", *b).with("value", value_of_file(*value)).with("unit", unit);
    Some(remark.with("counted", value_of_file(*counted)).with("others", Sentence::joined(others, "")))
}

fn doubts_in_words(doubts: &[LintFinding], unit: &'static str) -> Vec<Sentence> {
    let words = |doubt: &LintFinding| {
        match doubt {
        LintFinding::ClockComb { step, .. } => Some(
            Sentence::new(
                "the values are multiples of {step} {unit} (`coretalk lint`); the bounds allow for an error of half \
                 of that",
            )
            .with("step", value_of_file(*step))
            .with("unit", unit),
        ),
        LintFinding::Unpinned { .. } => Some(
            "the threads that measured this file may not have been pinned (`coretalk lint`): if so, its CPU \
             numbers and this advice are meaningless"
                .into(),
        ),
        LintFinding::TaintedHome { tainted, .. } => Some(
            Sentence::new(
                "the true latencies of {cpus} are lower than the file shows (`coretalk lint`): these CPUs may be as \
                 good as the others",
            )
            .with("cpus", report::lists::cpus(tainted)),
        ),
        _ => None,
    }
    };
    doubts.iter().filter_map(words).collect()
}

fn remarks(
    cpus: &[CpuId],
    distances: &CpuDistances,
    findings: &Findings,
    reported: &Topology,
    knows_cores: bool,
    sharing: Sharing,
) -> Vec<Sentence> {
    let mut remarks = Vec::new();
    let has_several = |group: &CpuSet| cpus.iter().filter(|&&cpu| group.contains(cpu)).count() > 1;
    if distances.filled() > 0 {
        let remark = Sentence::new(
            "{filled} of the candidate pairs have no value: each is estimated from the other pairs of its CPUs, \
             and the bounds assume nothing about it",
        );
        remarks.push(remark.with("filled", DisplayValue::listed(distances.filled())));
    }
    let shared = knows_cores && reported.level(Level::Core).iter().any(|core| has_several(&core.cpus));
    if shared && sharing != Sharing::Allowed {
        remarks.push(
            "there are more threads than cores: threads that share a core compute at about half speed".into(),
        );
    } else if shared {
        remarks.push(
            "threads share cores, where each computes at about half speed; --sharing never prevents this"
                .into(),
        );
    }
    let pairs = findings.structure.as_ref().ok().and_then(|structure| structure.levels.first());
    let may_share_execution = |level: &&InferredLevel| level.execution != Some(Execution::Apart);
    let siblings = pairs
        .filter(may_share_execution)
        .filter(|level| !knows_cores && level.groups.iter().all(|group| group.len() == 2));
    let may_share = !knows_cores && reported.level(Level::Core).iter().any(|core| has_several(&core.cpus));
    if may_share || siblings.is_some_and(|level| level.groups.iter().any(has_several)) {
        remarks.push(
            "some of the closest pairs may be SMT siblings, where each thread computes at about half speed; latency alone cannot tell"
                .into(),
        );
    }
    let contradictory = findings.structure.as_ref().map_or(0, |structure| structure.contradictory);
    if contradictory > 0 {
        remarks.push(report::structure::contradictory_words(contradictory));
    }
    if findings.agreement.iter().any(|level| level.standing == AgreementVerdict::Conflict) {
        remarks.push(
            "the latencies contradict the reported topology (`coretalk topology`); the groups used here \
             follow the latencies"
                .into(),
        );
    }
    remarks
}
