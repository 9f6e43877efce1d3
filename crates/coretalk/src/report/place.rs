//! Comparisons of placements: where work ran, a table for each piece of work, and what follows in a sentence.

mod reason;

use super::saved::{Saved, Screen};
use super::text::{count, cut, duration, figure, flow, interval, percent, plain, wrap};
use super::words;
use crate::blocks::Align;
use crate::render::terminal::Columns;
use crate::snippets::snippets;
use crate::{PlaceReport, RunHeader, RunReport};
use coretalk_model::place::{
    Binding, COMMAND, Comparison, Doubt, Failed, Habit, Open, Outcome, PlaceSettings, Placement, Preset,
    WorkSettings, Workload, effect, least_repetitions, why,
};
use coretalk_model::quantity::Better;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Flag, Topology};
use reason::{reasons, structure_words};

/// The whole screen of a run of comparisons, with a line end after each line.
pub fn place_screen(report: &RunReport, place: &PlaceReport, screen: Screen<'_>, width: usize) -> String {
    let mut lines = words::heading(report, screen, width);
    let saved = screen.saved();
    lines.extend(wrap("Where does the same work run better?", width, 2));
    lines.push(String::new());
    lines.extend(placements(&place.settings, &report.topology, width));
    for work in &place.settings.works {
        let comparisons: Vec<&Comparison> =
            place.result.comparisons.iter().filter(|comparison| comparison.work == work.name).collect();
        lines.push(String::new());
        lines.extend(part(report, place, &comparisons, width));
    }
    lines.push(String::new());
    lines.extend(place.result.doubts.iter().flat_map(|doubt| doubts(doubt, width)));
    if let Screen::Shown(_) = screen {
        lines.extend(place.result.doubts.iter().flat_map(|doubt| streams(doubt, width)));
    }
    lines.extend(ending(&report.header, place, saved, width));
    lines.extend(words::doubt(report, width));
    lines.extend(next(saved, width));
    lines.join("\n") + "\n"
}

/// What follows for each piece of work, and every doubt, without tables.
pub fn overview(report: &RunReport, place: &PlaceReport, width: usize) -> Vec<String> {
    let headlines = place.settings.works.iter().filter_map(|work| {
        let headline = place.result.comparisons.iter().find(|comparison| comparison.work == work.name)?;
        Some((work, headline))
    });
    let sentences = headlines.flat_map(|(work, headline)| {
        let told = sentence(report, place, headline);
        wrap(&format!("{}: {}", plain(&work.name), told.trim_start_matches(" → ")), width, 2)
    });
    let doubts = place.result.doubts.iter().flat_map(|doubt| doubts(doubt, width));
    sentences.chain(doubts).chain(ending(&report.header, place, Saved::Not, width)).collect()
}

/// Threads up to which it is said line by line how to hold each on its CPU.
const MOST_HELD: usize = 16;

/// The placements as a table: what they are called, what they share, and the words that do the same elsewhere; where it
/// matters which thread runs where, that too.
pub fn placements(settings: &PlaceSettings, topology: &Topology, width: usize) -> Vec<String> {
    let roles = settings.roles_in_order();
    let heading = [
        ("placement", Align::Left),
        ("has", Align::Left),
        ("threads on CPUs", Align::Left),
        ("as", Align::Left),
    ];
    let shown = |column: &usize| *column != 2 || roles.is_some();
    let mut table = Columns::new(&(0..4).filter(shown).map(|column| heading[column]).collect::<Vec<_>>());
    for placement in &settings.placements {
        let line = placement.taskset().unwrap_or_else(|| "unbound".to_owned());
        let mut row = vec![plain(&placement.name), structure_words(topology, placement)];
        row.extend(roles.map(|roles| match placement.binding {
            Binding::Bound => listed(&placement.roles(roles)),
            Binding::Free => "anywhere".to_owned(),
        }));
        row.push(line);
        table.row(row);
    }
    let mut lines = table.lines(width);
    for placement in &settings.placements {
        let names: Vec<&str> = placement.name.split('+').collect();
        if names.len() > 1 && names.iter().all(|name| Preset::named(name).is_some()) {
            let text = format!(" {} are the same CPUs here, and run once.", names.join(" and "));
            lines.extend(wrap(&text, width, 2));
        }
    }
    lines.extend(roles.into_iter().flat_map(|roles| held(settings, roles, width)));
    lines
}

/// `0, 8, 1, 9`, cut short where there are many.
fn listed(cpus: &[CpuId]) -> String {
    let shown: Vec<String> = cpus.iter().take(MOST_HELD).map(CpuId::to_string).collect();
    shown.join(", ") + if cpus.len() > MOST_HELD { ", …" } else { "" }
}

/// That a set of CPUs is not the placement where threads have places of their own in it, and what is.
fn held(settings: &PlaceSettings, roles: usize, width: usize) -> Vec<String> {
    let bound = || settings.placements.iter().filter(|placement| placement.binding == Binding::Bound);
    let twins = bound().enumerate().find_map(|(number, first)| {
        let twin = bound().skip(number + 1).find(|other| other.set() == first.set())?;
        Some(format!(", and {} and {} are the same to it", plain(&first.name), plain(&twin.name)))
    });
    let text = format!(
        " Each thread is held on one CPU here, in this order. taskset holds the process as a whole: its threads may \
         stand in any order{}.",
        twins.unwrap_or_default()
    );
    let mut lines = wrap(&text, width, 1);
    if roles > MOST_HELD {
        lines.extend(wrap(" --format json lists the CPU of each thread under `roles`.", width, 1));
        return lines;
    }
    lines.extend(wrap(
        " To hold each thread as here, with OpenMP (other programs pin their threads themselves):",
        width,
        1,
    ));
    for placement in bound() {
        let openmp = snippets(&placement.roles(roles)).into_iter().find(|snippet| snippet.name == "openmp");
        // A line to be copied is never broken.
        lines.extend(openmp.map(|openmp| format!("   {}: {}", plain(&placement.name), openmp.text)));
    }
    lines
}

/// The titles of [`rows`].
pub fn heading() -> [(&'static str, Align); 7] {
    [
        ("metric", Align::Left),
        ("placement", Align::Left),
        ("median", Align::Right),
        ("95 % interval", Align::Right),
        ("difference", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ]
}

/// One metric on every placement. Differences are those of the losers from the winner, or, where nobody wins, from the
/// first placement.
pub fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let reference = match comparison.outcome {
        Outcome::Winner { winner, .. } => winner,
        Outcome::Same { .. } | Outcome::CannotTell | Outcome::NotTested => 0,
    };
    let row = |(number, arm): (usize, &coretalk_model::place::Arm)| {
        let unknown = || "·".to_owned();
        let difference = difference(comparison, reference, number);
        vec![
            if number == 0 { title(comparison) } else { String::new() },
            plain(&arm.placement.name),
            arm.median.map_or_else(unknown, |median| figure(median.point)),
            arm.interval().map_or_else(unknown, |[low, high]| interval(low, high)),
            difference.as_ref().map_or_else(String::new, |(share, _)| signed(share.as_ref())),
            difference.and_then(|(_, p)| p).map_or_else(String::new, p_words),
            if number == 0 { verdict(comparison) } else { String::new() },
        ]
    };
    comparison.arms.iter().enumerate().map(row).collect()
}

fn title(comparison: &Comparison) -> String {
    let metric = &comparison.metric;
    if metric.unit.is_empty() || metric.name.contains("_per_") {
        let unit = if metric.unit.is_empty() { &metric.name } else { metric.unit };
        return plain(unit);
    }
    let unit = metric.unit.to_lowercase();
    let bare: Vec<&str> = metric.name.split('_').filter(|word| *word != unit).collect();
    format!("{} {}", bare.join(" "), metric.unit)
}

/// What the placement differs by from the reference, and its p-value.
fn difference(
    comparison: &Comparison,
    reference: usize,
    arm: usize,
) -> Option<(Option<Estimate>, Option<f64>)> {
    let pair = comparison
        .pairs
        .iter()
        .find(|pair| (pair.a, pair.b) == (reference.min(arm), reference.max(arm)) && reference != arm)?;
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    let sure = pair.share.filter(|_| pair.interval().is_some());
    let share = sure.map(|share| match pair.a == reference {
        true => share,
        false => {
            Estimate { point: turned(share.point), low: turned(share.high), high: turned(share.low), ..share }
        }
    });
    Some((share, pair.p_value))
}

fn signed(share: Option<&Estimate>) -> String {
    let Some(share) = share else { return "·".to_owned() };
    // Zeros are endlessly far from other numbers, and such an interval says nothing.
    let words = |share: f64| if share.is_finite() { percent(share) } else { "∞".to_owned() };
    let sign = match share.point {
        point if words(point.abs()) == words(0.0) => "",
        point if point < 0.0 => "−",
        _ => "+",
    };
    match share.reach().is_finite() {
        true => format!("{sign}{} ±{}", words(share.point.abs()), words(share.reach())),
        false => format!("{sign}{}", words(share.point.abs())),
    }
}

fn p_words(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

fn verdict(comparison: &Comparison) -> String {
    match &comparison.outcome {
        Outcome::Winner { winner, .. } => format!("{} wins", plain(&comparison.arms[*winner].placement.name)),
        Outcome::Same { within } => format!("same within ±{}", percent(*within)),
        Outcome::CannotTell => match comparison.open() {
            Some(Open::NoValue) => "unknown".to_owned(),
            Some(Open::BelowZero) => "not tested: below zero".to_owned(),
            _ => "cannot tell".to_owned(),
        },
        Outcome::NotTested => String::new(),
    }
}

/// The table of one piece of work and what follows from its headline.
fn part(report: &RunReport, place: &PlaceReport, comparisons: &[&Comparison], width: usize) -> Vec<String> {
    let Some(headline) = comparisons.first() else { return Vec::new() };
    let runs = headline.arms.iter().map(|arm| arm.runs.len());
    let (least_runs, most_runs) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let runs = match (least_runs, most_runs) {
        (least, most) if least == most => format!("{} on each placement", count(most as u64, "run")),
        // One whose CPU went away has fewer.
        (least, most) => format!("{least} to {} on a placement", count(most as u64, "run")),
    };
    let threads = match place.settings.threads {
        Some(threads) if headline.work != COMMAND => {
            let kind = headline.work.parse::<Workload>().map(|workload| workload.kind);
            // Some have as many as they always have.
            let threads = kind.ok().and_then(|kind| kind.roles(threads)).unwrap_or(threads);
            format!(", {}", count(threads as u64, "thread"))
        }
        _ => String::new(),
    };
    let work = if headline.work == COMMAND { "the command" } else { &headline.work };
    let mut lines = wrap(&format!(" {}{threads}, {runs}", plain(work)), width, 2);
    let mut table = Columns::new(&heading());
    comparisons.iter().flat_map(|comparison| rows(comparison)).for_each(|row| table.row(row));
    lines.extend(table.lines(width));
    if let Some(why) =
        comparisons.iter().find_map(|comparison| without_memory(comparison)).filter(|_| least_runs > 0)
    {
        lines.extend(wrap(why, width, 3));
    }
    lines.extend(wrap(&sentence(report, place, headline), width, 2));
    lines
}

/// Why the peak memory of small programs is unknown.
fn without_memory(comparison: &Comparison) -> Option<&'static str> {
    let unknown =
        comparison.metric.name == "peak_memory_mb" && comparison.arms.iter().any(|arm| arm.runs.is_empty());
    unknown.then_some(
        "   Where peak memory is unknown the work held less than the small process that starts it, whose memory the system \
         counts until the program takes its place.",
    )
}

/// Which placement wins the headline, by how much, and why it could.
fn sentence(report: &RunReport, place: &PlaceReport, headline: &Comparison) -> String {
    let name = |arm: usize| plain(&headline.arms[arm].placement.name);
    let what = title(headline);
    match &headline.outcome {
        Outcome::Winner { winner, runner_up, share, p_value } => {
            let [best, next]: [&Placement; 2] =
                [*winner, *runner_up].map(|arm| &headline.arms[arm].placement);
            let (mine, theirs) = (name(*winner), name(*runner_up));
            let behind = match (headline.metric.better, share.point.is_finite()) {
                (Better::Higher, _) => format!("{theirs} has {} less", percent(share.point.abs())),
                (Better::Lower, true) => format!("{theirs} takes {} more", percent(share.point.abs())),
                (Better::Lower, false) => {
                    let median = |arm: &usize| {
                        headline.arms[*arm].median.map_or_else(|| "some".into(), |of| figure(of.point))
                    };
                    format!("{theirs} has {} where {mine} has {}", median(runner_up), median(winner))
                }
            };
            let p = format!("p {}", words::p_value(*p_value));
            let why = why(&report.topology, &habit(place, headline), best, next);
            let why = reasons(&report.topology, &why, &next.name);
            format!(" → {mine} wins in {what}: {behind} ({p}). {why}")
        }
        Outcome::Same { within } => {
            format!(" → No placement matters here: none differs by more than {} in {what}.", percent(*within))
        }
        Outcome::CannotTell | Outcome::NotTested => {
            let told = match missing(place, headline) {
                Some(missing) => missing,
                None => {
                    let shown = shown_pairs(headline, place.settings.min_effect).join(", and ");
                    match headline.arms.len() {
                        _ if shown.is_empty() => "these runs show neither a winner nor equality".to_owned(),
                        0..=2 => shown,
                        _ => format!("no placement beats every other, but {shown}"),
                    }
                }
            };
            format!(" → Cannot tell which placement wins in {what}: {told}.")
        }
    }
}

/// What keeps a comparison from being tested, if anything does.
fn missing(place: &PlaceReport, headline: &Comparison) -> Option<String> {
    if headline.open() == Some(Open::BelowZero) {
        return Some("it has values below zero, and placements are compared by ratios".to_owned());
    }
    let fewest = headline.arms.iter().min_by_key(|arm| arm.runs.len())?;
    let made = fewest.runs.len();
    let where_made = match headline.arms.iter().all(|arm| arm.runs.len() == made) {
        true => "each".to_owned(),
        false => plain(&fewest.placement.name),
    };
    let work = place.settings.works.iter().position(|work| work.name == headline.work)?;
    let least = least_repetitions(&place.settings, work) as usize;
    (made < least)
        .then(|| format!("{} on {where_made} of the {least} that it takes", count(made as u64, "run")))
}

/// What is shown for some pairs where nobody beats all.
fn shown_pairs(comparison: &Comparison, min_effect: f64) -> Vec<String> {
    let name = |arm: usize| plain(&comparison.arms[arm].placement.name);
    let differ = comparison
        .pairs
        .iter()
        .filter(|pair| pair.p_value.is_some_and(|p| p <= coretalk_model::place::ALPHA));
    differ
        .filter_map(|pair| {
            let share = pair.share?.point;
            let higher = comparison.metric.better == Better::Higher;
            let (a, b) = (name(pair.a), name(pair.b));
            Some(match effect(share) >= min_effect {
                true if (share > 0.0) == higher => format!("{b} beats {a}"),
                true => format!("{a} beats {b}"),
                // The number of the table: the latter of the two against the former.
                false => format!(
                    "{b} {} {} {} than {a}, and whether the truth lies within the ±{} that do not matter is open",
                    if higher { "has" } else { "takes" },
                    percent(share.abs()),
                    if share > 0.0 { "more" } else { "less" },
                    percent(min_effect)
                ),
            })
        })
        .collect()
}

/// How the work behaves, as far as it is known.
fn habit(place: &PlaceReport, headline: &Comparison) -> Habit {
    match headline.work.parse::<Workload>() {
        Ok(workload) => workload.kind.habit(place.settings.threads.unwrap_or(1)),
        // A command: by what was seen of it.
        Err(_) => {
            let doubts = place.result.doubts.iter().filter(|doubt| doubt.work == headline.work);
            Habit::of_command(doubts.filter_map(|doubt| doubt.tasks).any(|tasks| tasks > 1))
        }
    }
}

fn doubts(doubt: &Doubt, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(Failed { runs, reason, .. }) = &doubt.failed {
        parts.push(format!("{} failed: {}", count(u64::from(*runs), "run"), plain(reason)));
    }
    let runs = |some: u32| format!("{some} of {}", count(u64::from(doubt.runs), "run"));
    if doubt.left > 0 {
        parts.push(format!(
            "in at least {} a process or thread of it was allowed on other CPUs, so that it may have worked there: the command \
             changes its own affinity",
            runs(doubt.left)
        ));
    }
    if doubt.narrowed > 0 {
        parts.push(format!(
            "in at least {} a process or thread of it bound itself to some of the CPUs",
            runs(doubt.narrowed)
        ));
    }
    if doubt.orphans > 0 {
        parts.push(format!("{} left processes behind, which were ended", runs(doubt.orphans)));
    }
    if let Some(wall_s) = doubt.crowded_s {
        parts.push(format!(
            "its runs last {}, and their start by coretalk is part of that: the placements leave it no CPU of its own",
            duration(wall_s)
        ));
    }
    if doubt.flags.contains(Flag::Quota) {
        parts.push("the CPU quota stopped it while it ran".to_owned());
    }
    if doubt.flags.contains(Flag::Freq) {
        let clock = doubt.core_ghz.map_or(String::new(), |ghz| format!(" (here {ghz:.2} GHz)"));
        parts.push(format!("the core clock moved, or differs between placements{clock}"));
    }
    if doubt.flags.contains(Flag::Preempted) {
        let share = |of: Option<f64>| of.map_or_else(|| "some".to_owned(), percent);
        parts.push(format!(
            "other programs took {} of the time of its CPUs, and its threads waited {} of the time that they wanted to \
             run; end those programs, or compare again when they have ended",
            share(doubt.others),
            share(doubt.waited)
        ));
    }
    if doubt.flags.contains(Flag::Steal) {
        let stolen = doubt.stolen.map_or(String::new(), |share| format!(" {}", percent(share)));
        parts.push(format!("others took{stolen} of the time of its CPUs"));
    }
    if doubt.flags.contains(Flag::Multimodal) {
        parts.push("its runs fall into several states".to_owned());
    }
    let work = if doubt.work == COMMAND { "command" } else { &doubt.work };
    parts
        .into_iter()
        .flat_map(|part| wrap(&format!(" ! {work} on {}: {part}", plain(&doubt.placement)), width, 3))
        .collect()
}

/// Lines of each stream of a run that failed that are shown.
const SHOWN_LINES: usize = 20;

/// What the last run that failed wrote: for whoever looks at the run on the own terminal, and in no report.
fn streams(doubt: &Doubt, width: usize) -> Vec<String> {
    let Some(failed) = &doubt.failed else { return Vec::new() };
    let mut shown = Vec::new();
    for (stream, text) in [("standard error", &failed.stderr), ("standard output", &failed.stdout)] {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let left_out = lines.len().saturating_sub(SHOWN_LINES);
        let last = if left_out > 0 { format!(", its last {SHOWN_LINES} lines") } else { String::new() };
        shown.extend(wrap(
            &format!("   on {} it wrote to {stream}{last}:", plain(&doubt.placement)),
            width,
            3,
        ));
        shown.extend(lines[left_out..].iter().map(|line| cut(&format!("     {}", plain(line)), width)));
    }
    shown
}

fn ending(header: &RunHeader, place: &PlaceReport, saved: Saved<'_>, width: usize) -> Vec<String> {
    let saved_as = if let Saved::As(id) = saved { Some(id) } else { None };
    let mut lines = words::departed(header, saved_as, width);
    let text = if !place.result.complete && lines.is_empty() {
        let kept = if matches!(saved, Saved::As(_)) { "; the runs so far are kept" } else { "" };
        format!(" Ended early{kept}.")
    } else if place.result.budget_ended && lacks_runs(place) {
        format!(
            " The budget of {} ended before everything had run on every placement; try a longer --budget.",
            duration(place.settings.budget.secs())
        )
    } else if place.result.budget_ended && lacks_repetitions(place) {
        format!(
            " The budget of {} ended before every repetition was made; try a longer --budget.",
            duration(place.settings.budget.secs())
        )
    } else if place.result.budget_ended {
        format!(
            " The budget of {} ended before every difference was known to ±{}; try a longer --budget.",
            duration(place.settings.budget.secs()),
            percent(place.settings.precision)
        )
    } else {
        return lines;
    };
    lines.extend(wrap(&text, width, 1));
    lines
}

/// Whether some work has no run on some placement: by its headline, which every run has.
fn lacks_runs(place: &PlaceReport) -> bool {
    headlines(place).any(|(_, headline)| headline.arms.iter().any(|arm| arm.runs.is_empty()))
}

/// Whether some work has fewer runs than it takes at least.
fn lacks_repetitions(place: &PlaceReport) -> bool {
    headlines(place).any(|(work, headline)| {
        let least = least_repetitions(&place.settings, work) as usize;
        headline.arms.iter().any(|arm| arm.runs.len() < least)
    })
}

/// The first comparison of each piece of work, with its number.
fn headlines(place: &PlaceReport) -> impl Iterator<Item = (usize, &Comparison)> {
    let of =
        |work: &WorkSettings| place.result.comparisons.iter().find(|comparison| comparison.work == work.name);
    place.settings.works.iter().enumerate().filter_map(move |(number, work)| Some((number, of(work)?)))
}

fn next(saved: Saved<'_>, width: usize) -> Vec<String> {
    let Saved::As(id) = saved else { return vec![" not saved (--no-save)".to_owned()] };
    let id = plain(id);
    let parts = [
        format!(" saved as {id}"),
        format!("see it again: coretalk runs show {id}"),
        format!("to share: coretalk report {id} -o z.html"),
        format!("as data: coretalk export {id} --format json"),
    ];
    flow(parts.iter().map(String::as_str), " · ", width, 1)
}
