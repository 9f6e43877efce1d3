//! What the latencies show of the structure, and what work shows of shared units.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::groups::{level_of, named_groups};
use super::map::{OFF, cells};
use super::{held, unheld};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Level, Relation};
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
    held("{verb} SMT siblings: CPUs {pairs} (each drops to {kept%} when both are busy)", threads),
    held("{verb} separate cores: CPUs {pairs} (each keeps {kept%} when both are busy)", cores),
    held("cannot tell whether CPUs {pairs} are threads of one core: {why}", untold),
    held("CONFLICT: the system reports CPUs {pairs} as {what}, but they share {else}", conflict_of_work),
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
fn cpus(reader: &Reader<'_>) -> CpuSet {
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
fn nothing_left_out(reader: &mut Reader<'_>, levels: usize) {
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

/// How many groups there are, with and without CPUs that stand alone.
fn counts(groups: &[CpuSet]) -> [usize; 2] {
    [groups.len(), groups.iter().filter(|group| group.len() > 1).count()]
}

/// `0+16, 7+23`.
fn pair_list(text: &str) -> Vec<[CpuId; 2]> {
    let pair = |text: &str| {
        let (a, b) = text.split_once('+')?;
        Some([CpuId(a.trim().parse().ok()?), CpuId(b.trim().parse().ok()?)])
    };
    text.split(", ").filter_map(pair).collect()
}

fn threads(reader: &mut Reader<'_>, said: &Said<'_>) {
    work(reader, said, true);
}

fn cores(reader: &mut Reader<'_>, said: &Said<'_>) {
    work(reader, said, false);
}

/// What is kept while both work is that of the document, and the verdict is true.
fn work(reader: &mut Reader<'_>, said: &Said<'_>, shared: bool) {
    let pairs = pair_list(said.text("pairs"));
    reader.holds("execution", !pairs.is_empty(), || "no pair is named".to_owned());
    let truth = reader.run.truth();
    let mut kept: Vec<f64> = Vec::new();
    for [a, b] in pairs {
        let is_smt = truth.relation(a, b) == Relation::Smt;
        reader.holds("execution", is_smt == shared, || {
            format!("CPUs {a} and {b} are threads of one core: {is_smt}")
        });
        if said.sentence.starts_with("confirms") {
            let told = reader.run.reported.relation(a, b) == Relation::Smt;
            reader.holds("execution", told == shared, || {
                format!("of CPUs {a} and {b} the system reports: {told}")
            });
        }
        let of = |test: &&Value| test["from"] == a.0 && test["to"] == b.0 && test["tested_as"] != "control";
        let Some(test) = list(&reader.run.document["topology"]["execution"]).iter().find(of) else {
            reader.fail("execution", format!("the document has no test of CPUs {a} and {b}"));
            continue;
        };
        let side = usize::from(!shared);
        kept.extend(
            ["multiplier_kept", "divider_kept"]
                .iter()
                .filter_map(|unit| test[*unit][side].as_f64())
                .reduce(f64::min),
        );
        let verdict = test["verdict"].as_str().unwrap_or_default();
        reader.holds("execution", verdict == if shared { "shared" } else { "apart" }, || {
            format!("the document says {verdict}")
        });
    }
    let told = kept.into_iter().reduce(if shared { f64::max } else { f64::min }).map(|kept| kept.min(1.0));
    reader.is("execution", said.share("kept"), told, "what is kept");
}

fn untold(reader: &mut Reader<'_>, said: &Said<'_>) {
    for [a, b] in pair_list(said.text("pairs")) {
        let of = |test: &&Value| test["from"] == a.0 && test["to"] == b.0;
        let test = list(&reader.run.document["topology"]["execution"]).iter().find(of);
        let verdict = test.and_then(|test| test["verdict"].as_str()).unwrap_or("no test").to_owned();
        reader.holds("execution", !["shared", "apart"].contains(&verdict.as_str()), || {
            format!("the document says {verdict}")
        });
    }
}

fn conflict_of_work(reader: &mut Reader<'_>, said: &Said<'_>) {
    let truth = reader.run.truth();
    for [a, b] in pair_list(said.text("pairs")) {
        let (told, is) = (reader.run.reported.relation(a, b), truth.relation(a, b));
        reader.holds("execution", (told == Relation::Smt) != (is == Relation::Smt), || {
            format!("reported {told:?}, truly {is:?}")
        });
    }
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

/// Whether a table lists the CPUs of levels.
pub fn is_listing(table: &Table) -> bool {
    table.rows.iter().all(|row| Level::ALL.iter().any(|level| level.name() == row[0]))
}

/// `l3        2 0-7  8-15`.
pub fn listing(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows {
        let Some(level) = Level::ALL.into_iter().find(|level| level.name() == row[0]) else { continue };
        let groups: Vec<CpuSet> =
            reader.run.reported.level(level).iter().map(|domain| domain.cpus.clone()).collect();
        let rest = row[1..].join(" ");
        let mut words = rest.split_whitespace().filter(|word| *word != "…");
        let number = words.next().and_then(Printed::read).unwrap();
        reader.is("size", number, Some(groups.len() as f64), level.name());
        let words: Vec<&str> = words.collect();
        let several: std::collections::BTreeSet<&&str> = words.iter().collect();
        reader.holds("groups", several.len() == words.len(), || "some group stands there twice".to_owned());
        for word in words {
            let is_one = word.parse::<CpuSet>().is_ok_and(|group| groups.contains(&group));
            reader.holds("groups", is_one, || format!("{word} is none of {groups:?}"));
        }
    }
}

/// The levels that the latencies show: their groups are true, and so are their times.
pub fn levels(reader: &mut Reader<'_>, table: &Table) {
    let told = list(&reader.run.document["topology"]["inferred"]["levels"]);
    let truth = reader.run.true_groups(&cpus(reader));
    reader.holds("structure", table.rows.len() == told.len() + 1, || {
        format!("the document has {} levels", told.len())
    });
    nothing_left_out(reader, told.len());
    for (row, level) in table.rows[1..].iter().zip(told.iter().rev()) {
        reader.holds("structure", level["name"] == row[0].as_str(), || {
            format!("the document has {}", level["name"])
        });
        // A wide screen has the interval between the two.
        let at = |title: &str| table.rows[0].iter().position(|heading| heading.starts_with(title));
        for (title, key) in [("inside", "median"), ("next level", "across")] {
            if let Some(number) = at(title).and_then(|column| Printed::read(&row[column])) {
                reader.is("structure", number, level[key].as_f64(), key);
            }
        }
        if let Some(number) = at("±").and_then(|column| Printed::read(row[column].trim_start_matches('±')))
        {
            let end = |index: usize| level["ci"][index].as_f64();
            let halves = level["median"].as_f64().zip(end(0)).zip(end(1));
            let half = halves.map(|((median, low), high)| (high - median).max(median - low));
            reader.is("structure", number, half, "half the interval");
        }
        let lists = row.last().cloned().unwrap_or_default();
        let (number, groups) = lists.split_once(':').unwrap_or(("", ""));
        let many = Printed::read(number).map_or(0, |number| number.value as usize);
        let of_truth = truth.iter().find(|(_, groups)| counts(groups).contains(&many));
        reader.holds("structure", of_truth.is_some(), || format!("truly there are {truth:?}"));
        let Some((_, truly)) = of_truth else { continue };
        let (groups, single) = groups.split_once("single:").unwrap_or((groups, ""));
        for group in groups.split_whitespace().filter(|group| *group != "…") {
            let is_one = group.parse::<CpuSet>().is_ok_and(|group| truly.contains(&group));
            reader.holds("structure", is_one, || format!("{group} is none of {truly:?}"));
        }
        let single: CpuSet = single.trim().parse().unwrap_or_default();
        let alone: CpuSet = truly.iter().filter(|group| group.len() == 1).flat_map(CpuSet::iter).collect();
        reader.holds("structure", single == alone, || format!("single CPUs are {alone} in truth"));
        let inside = truth_inside(reader, truly);
        if let (Some(number), Some(inside)) = (Printed::read(&row[1]), inside) {
            reader.is_near("structure", number, inside, OFF + 0.02, "the median inside");
        }
    }
}

/// The true median of pairs that share one of these groups and none of a finer level.
fn truth_inside(reader: &Reader<'_>, groups: &[CpuSet]) -> Option<f64> {
    let truth = reader.run.true_groups(&cpus(reader));
    let at = truth.iter().position(|(_, known)| known == groups)?;
    let finer = at.checked_sub(1).map(|at| &truth[at].1);
    let together = |groups: &[CpuSet], [a, b]: [CpuId; 2]| {
        groups.iter().any(|group| group.contains(a) && group.contains(b))
    };
    let ns: Vec<f64> = super::super::run::pairs(&cpus(reader))
        .into_iter()
        .filter(|pair| together(groups, *pair) && !finer.is_some_and(|finer| together(finer, *pair)))
        .map(|[a, b]| reader.run.true_ns("cas+pause", a.0, b.0)[0])
        .collect();
    median(&ns)
}

/// How what is reported stands to the latencies.
pub fn agreement(reader: &mut Reader<'_>, table: &Table) {
    let told = list(&reader.run.document["topology"]["agreement"]);
    let [inside, across] = ["inside, ns", "outside, ns"].map(|title| table.column(title));
    let rand = table.column("Rand index");
    for row in &table.rows[1..] {
        let Some(held) = told.iter().find(|held| held["level"] == row[0].as_str()) else {
            reader.fail("structure", format!("the document has no {}", row[0]));
            continue;
        };
        for (column, key) in [(inside, "inside"), (across, "across"), (rand, "rand_index")] {
            if let Some(number) = column.and_then(|column| Printed::read(&row[column])) {
                reader.is("structure", number, held[key].as_f64(), key);
            }
        }
        let Some(level) = level_of(&row[0]) else { continue };
        let measured = cpus(reader);
        let groups = reader.run.reported.level(level);
        let groups: Vec<CpuSet> = groups
            .iter()
            .map(|domain| domain.cpus.intersection(&measured))
            .filter(|group| !group.is_empty())
            .collect();
        if let Some(number) = table.column("groups").and_then(|column| Printed::read(&row[column])) {
            let told = number.value as usize;
            reader.holds("structure", counts(&groups).contains(&told), || {
                format!("there are {:?}", counts(&groups))
            });
        }
        let [inside, across] =
            [inside, across].map(|column| column.and_then(|column| Printed::read(&row[column])));
        if let Some((inside, across)) =
            inside.zip(across).filter(|_| row.last().is_some_and(|last| last.starts_with("show nothing")))
        {
            let ratio = across.value / inside.value;
            reader.holds("structure", ratio < 1.15, || {
                format!("outside takes {ratio:.1} times what inside does")
            });
        }
        let verdict = row.last().cloned().unwrap_or_default();
        let agrees = held["verdict"] == "agree";
        reader.holds("structure", verdict.starts_with("agree") == agrees, || {
            format!("the document says {}", held["verdict"])
        });
        if agrees {
            let truth = reader.run.true_groups(&measured);
            let same = truth.iter().any(|(_, known)| counts(known) == counts(&groups));
            reader.holds("structure", same, || format!("truly {truth:?}"));
        }
    }
}
