//! What the latencies show of the structure.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::groups::{level_of, named_groups};
use super::map::cells;
use super::{held, unheld};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

pub const PATTERNS: &[Pattern] = &[
    held("From the latencies alone: no groups, all pairs are alike, with a scatter of {share%}.", alike),
    held(
        "From the latencies alone: no groups; values scatter by {share%} without forming any, {like}.",
        scattered,
    ),
    held("From the latencies alone: {groups}.", found),
    held("from latencies alone: no groups, all pairs are alike, with a scatter of {share%}", alike),
    held(
        "from latencies alone: no groups; values scatter by {share%} without forming any, {like}",
        scattered,
    ),
    held("from latencies alone: {groups}", found),
    held("the latencies alone show the same {levels}", same),
    held(
        "Structure from the latencies: cannot tell: {share%} of the pairs changed level during the run, {rest}",
        moved,
    ),
    held("the reported {level} contain groups that the system does not report", coarser),
    held("CONFLICT: the latencies contradict the reported {level}: {evidence}", conflict),
    held("{name} has the closest pairs: {rest}", closest),
    held("{n#} pair{s?} {do} not fit the groups:", how_many_unfit),
    held("{n#} pair{s?} {are} unlike the rest:", how_many_unfit),
    held("{n#} more pair{s?}", more_unfit),
    held("{ratio#} × what would fit: CPUs {a#} and {b#}", unfit),
    held("{n#} CPU{s?}, as the system reports", size),
    held("One group stands out (a hint, not a level): {group}.", hint),
    held("SIMULATED {scenario}: this says nothing about hardware", scenario),
    unheld(
        "Nothing is known about CPU {rest}",
        "only a matrix with gaps has such CPUs, and none is made here",
    ),
];

/// Pairs whose value does not fit.
fn outliers<'a>(reader: &Reader<'a>) -> impl Iterator<Item = &'a Value> {
    let suspects = list(&reader.run.document["topology"]["inferred"]["suspects"]);
    suspects.iter().filter(|suspect| suspect["doubt"] == "outlier")
}

fn how_many_unfit(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = outliers(reader).count() as f64;
    reader.is("structure", said.number("n"), Some(all), "the number of pairs that do not fit");
}

/// Six are listed.
fn more_unfit(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = outliers(reader).count() as f64;
    reader.is("structure", said.number("n"), Some(all - 6.0), "how many more there are");
}

fn unfit(reader: &mut Reader<'_>, said: &Said<'_>) {
    let is_it = |suspect: &&Value| suspect["from"] == said.cpu("a") && suspect["to"] == said.cpu("b");
    let ratio = outliers(reader).find(is_it).and_then(|suspect| suspect["ratio"].as_f64());
    reader.is("structure", said.number("ratio"), ratio, "how far it is off");
}

fn kernel<'a>(reader: &Reader<'a>) -> &'a Value {
    &reader.run.document["matrices"][0]
}

/// CPUs that are spoken of.
pub fn cpus(reader: &Reader<'_>) -> CpuSet {
    let measured = reader.run.measured();
    match measured.is_empty() {
        true => list(&reader.run.document["topology"]["cpus"])
            .iter()
            .filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32)))
            .collect(),
        false => measured,
    }
}

fn no_groups(reader: &mut Reader<'_>) {
    let truth = reader.run.true_groups(&cpus(reader));
    let told: Vec<String> = truth
        .iter()
        .map(|(level, groups)| {
            format!(
                "{} {}",
                level.name(),
                groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
            )
        })
        .collect();
    reader.holds("structure", truth.is_empty(), || format!("the latencies truly show {}", told.join("; ")));
    let inferred = list(&reader.run.document["topology"]["inferred"]["levels"]).len();
    reader.holds("structure", inferred == 0, || format!("the document has {inferred} levels"));
}

fn alike(reader: &mut Reader<'_>, said: &Said<'_>) {
    no_groups(reader);
    let share = said.share("share");
    if let Some(scatter) = reader.run.document["topology"]["inferred"]["scatter"].as_f64() {
        reader.is("structure", share, Some(scatter), "the scatter");
    }
    let values: Vec<f64> = cells(kernel(reader)).into_iter().map(|cell| cell.2).collect();
    let middle = median(&values).unwrap_or(f64::NAN);
    // Scatter is no range: of all pairs some lie some times as far out.
    let far = values.iter().map(|ns| (ns / middle - 1.0).abs()).fold(0.0, f64::max);
    reader.holds("structure", far <= 5.0 * share.value + 0.02, || {
        format!("some pair lies {:.1} % from the median of {middle:.1} ns", 100.0 * far)
    });
}

fn scattered(reader: &mut Reader<'_>, said: &Said<'_>) {
    no_groups(reader);
    let scatter = reader.run.document["topology"]["inferred"]["scatter"].as_f64();
    reader.is("structure", said.share("share"), scatter, "the scatter");
}

/// `16 groups of 2 (cores)`, `2 groups of 1 to 4, 0-3 and 8`.
static GROUPS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(\d+) groups? of (\d+)(?: to (\d+))?(?: \(([^)]*)\))?(?:, ((?:\d[\d,-]*(?:, | and | … )?)+))?",
    )
    .unwrap()
});

fn found(reader: &mut Reader<'_>, said: &Said<'_>) {
    let truth = reader.run.true_groups(&cpus(reader));
    let inferred: Vec<Vec<CpuSet>> = list(&reader.run.document["topology"]["inferred"]["levels"])
        .iter()
        .map(|level| list(&level["groups"]).iter().filter_map(|group| group.as_str()?.parse().ok()).collect())
        .collect();
    let text = said.text("groups").to_owned();
    let mut told = 0;
    for part in GROUPS.captures_iter(&text) {
        told += 1;
        let number = |index: usize| part.get(index).and_then(|found| found.as_str().parse::<usize>().ok());
        let (count, least) = (number(1).unwrap_or(0), number(2).unwrap_or(0));
        let most = number(3).unwrap_or(least);
        let named = part.get(5).map_or(Vec::new(), |who| named_groups(who.as_str()));
        let is_so = |groups: &Vec<CpuSet>| {
            // CPUs that stand alone may be left out.
            let kept: Vec<&CpuSet> = groups.iter().filter(|group| least < 2 || group.len() > 1).collect();
            let groups = kept;
            let sizes = || groups.iter().map(|group| group.len());
            groups.len() == count
                && sizes().min() == Some(least)
                && sizes().max() == Some(most)
                && named.iter().all(|named| groups.contains(&named))
        };
        reader.holds("structure", inferred.iter().any(is_so), || {
            format!("`{}` is none of {inferred:?}", &part[0])
        });
        reader.holds("structure", truth.iter().any(|(_, groups)| is_so(groups)), || {
            format!("`{}` is none of {truth:?}", &part[0])
        });
        let names = part.get(4).map_or("", |names| names.as_str());
        for level in names.split(", ").filter(|name| !name.is_empty()) {
            let same = level_of(level).map(|level| {
                let measured = cpus(reader);
                let domains = reader.run.reported.level(level);
                domains
                    .iter()
                    .map(|domain| domain.cpus.intersection(&measured))
                    .filter(|cpus| !cpus.is_empty())
                    .collect()
            });
            reader.holds("structure", same.as_ref().is_some_and(is_so), || {
                format!("the reported {level} are {same:?}")
            });
        }
    }
    reader
        .holds("structure", told == inferred.len(), || format!("the document has {} levels", inferred.len()));
    nothing_left_out(reader, told);
}

/// The groups of each level are those that the document infers, those that the system reports, and those that are there.
fn same(reader: &mut Reader<'_>, said: &Said<'_>) {
    let measured = cpus(reader);
    // Levels may number their groups otherwise than they are inferred.
    let sorted = |mut groups: Vec<CpuSet>| {
        groups.sort_by_key(|cpus| cpus.iter().next());
        groups
    };
    let truth: Vec<Vec<CpuSet>> =
        reader.run.true_groups(&measured).into_iter().map(|(_, groups)| sorted(groups)).collect();
    let inferred: Vec<Vec<CpuSet>> = list(&reader.run.document["topology"]["inferred"]["levels"])
        .iter()
        .map(|level| {
            sorted(list(&level["groups"]).iter().filter_map(|group| group.as_str()?.parse().ok()).collect())
        })
        .collect();
    let names = said.text("levels").replace(" and ", ", ");
    let names: Vec<&str> = names.split(", ").collect();
    let mut told = Vec::new();
    for name in &names {
        let domains = level_of(name).map_or(Vec::new(), |level| reader.run.reported.level(level));
        let here = domains.iter().map(|domain| domain.cpus.intersection(&measured));
        let groups = sorted(here.filter(|cpus| !cpus.is_empty()).collect());
        reader.holds("structure", inferred.contains(&groups), || format!("{name} {groups:?}: {inferred:?}"));
        let is_true = truth.contains(&groups);
        reader.holds("structure", is_true, || format!("{name} {groups:?}, and truly {truth:?}"));
        told.push(groups);
    }
    // Several reported levels may be the same groups.
    reader.holds("structure", inferred.iter().all(|of| told.contains(of)), || format!("told are {told:?}"));
    let all = inferred.len();
    nothing_left_out(reader, all);
}

/// What is truly there is told as a level, or as a CPU beside the group of all others.
pub fn nothing_left_out(reader: &mut Reader<'_>, levels: usize) {
    let truth = reader.run.true_groups(&cpus(reader));
    let is_beside = |groups: &Vec<CpuSet>| {
        list(&reader.run.document["topology"]["inferred"]["all_but_one"]).iter().any(|beside| {
            let group = beside["group"].as_str().and_then(|group| group.parse::<CpuSet>().ok());
            groups.len() == 2 && group.is_some_and(|group| groups.contains(&group))
        })
    };
    let beside = truth.iter().filter(|(_, groups)| is_beside(groups)).count();
    reader
        .holds("structure left out", levels + beside >= truth.len(), || format!("truly there are {truth:?}"));
}

fn hint(reader: &mut Reader<'_>, said: &Said<'_>) {
    let group: CpuSet = said.text("group").parse().unwrap_or_default();
    let truth = reader.run.true_groups(&cpus(reader));
    let is_one = truth.iter().any(|(_, groups)| groups.contains(&group));
    reader.holds("structure", is_one, || format!("truly there are {truth:?}"));
}

fn moved(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = reader.run.document["watch"]["cells_changed"].as_f64();
    if told.is_some() {
        reader.is("states", said.share("share"), told, "the share of pairs that changed level");
    }
    let states = reader.run.machine.states().len();
    reader.holds("states", states > 1, || "the machine has one state only".to_owned());
}

fn coarser(reader: &mut Reader<'_>, said: &Said<'_>) {
    let measured = cpus(reader);
    let Some(level) = level_of(said.text("level")) else { return reader.fail("structure", "no such level") };
    let reported: Vec<CpuSet> =
        reader.run.reported.level(level).iter().map(|domain| domain.cpus.intersection(&measured)).collect();
    let truth = reader.run.true_groups(&measured);
    let inside = truth.iter().any(|(_, groups)| {
        groups.iter().any(|group| {
            group.len() > 1 && reported.iter().any(|of| group.is_subset(of) && group.len() < of.len())
        })
    });
    reader.holds("structure", inside, || format!("truly there are {truth:?}"));
}

fn conflict(reader: &mut Reader<'_>, said: &Said<'_>) {
    let Some(level) = level_of(said.text("level")) else { return reader.fail("structure", "no such level") };
    let measured = cpus(reader);
    let of = |topology: &coretalk_model::Topology| -> Vec<CpuSet> {
        let domains = topology.level(level);
        domains
            .iter()
            .map(|domain| domain.cpus.intersection(&measured))
            .filter(|group| !group.is_empty())
            .collect()
    };
    let (told, is) = (of(&reader.run.reported), of(&reader.run.truth()));
    reader.holds("structure", told != is, || format!("the reported {told:?} are true"));
}

fn closest(reader: &mut Reader<'_>, said: &Said<'_>) {
    let levels = list(&reader.run.document["topology"]["inferred"]["levels"]);
    let of_two = levels.first().is_some_and(|level| {
        level["name"] == said.text("name")
            && list(&level["groups"])
                .iter()
                .filter_map(|group| group.as_str()?.parse::<CpuSet>().ok())
                .all(|group| group.len() == 2)
    });
    reader.holds("structure", of_two, || "its groups are no pairs".to_owned());
}

/// `16 cores, 32 CPUs, 2 L3, as the system reports`.
pub fn size(reader: &mut Reader<'_>, said: &Said<'_>) {
    for part in said.sentence.split(", ") {
        let Some((number, noun)) = part.rsplit_once(' ') else { continue };
        let Some(number) = Printed::read(number) else { continue };
        let is = match noun {
            "CPU" | "CPUs" => reader.run.reported.cpus().len(),
            level => level_of(level).map_or(0, |level| reader.run.reported.level(level).len()),
        };
        reader.is("size", number, Some(is as f64), noun);
    }
}

fn scenario(reader: &mut Reader<'_>, said: &Said<'_>) {
    let documents = [&reader.run.document].into_iter().chain(&reader.run.sources);
    let told: Vec<&str> =
        documents.filter_map(|document| document["environment"]["simulated"].as_str()).collect();
    reader.holds("title", told.is_empty() || told.contains(&said.text("scenario")), || {
        format!("it is {told:?}")
    });
}
