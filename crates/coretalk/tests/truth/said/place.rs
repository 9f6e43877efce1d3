//! Comparisons of placements.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::held;
use coretalk_measure::pricing::Pricing;
use coretalk_model::place::Workload;
use coretalk_model::{CpuId, CpuSet, Level, Topology};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("{work}, {threads#} thread{s?}, {runs#} run{t?} on each placement", runs),
    held("{work}: `{winner}` wins in {what}: `{next}` has {share%} ±{reach%} less (p {p}).", wins),
    held("{work}: `{winner}` wins in {what}: `{next}` takes {share%} ±{reach%} more (p {p}).", wins),
    held("Possible reasons why `{winner}` wins: {why}.", why),
    held("A possible reason why `{winner}` wins: {why}.", why),
    held("{work}: The placement does not matter here: none differs by more than {share%} in {what}.", same),
    held(
        "{work}: Cannot tell which placement wins in {what}: {made#} of the {least#} runs per placement that a verdict needs.",
        too_few,
    ),
    held("{work}: Cannot tell which placement wins in {what}: {why}.", untold),
    held("{names} use the same CPUs here and are run as one.", same_cpus),
    held("{name}: OMP_NUM_THREADS={n#} OMP_PROC_BIND=close OMP_PLACES='{cpus}' COMMAND", order),
    held(
        "{work} on `{placement}`: the core clock changed or differs between placements (here {ghz#} GHz)",
        clock,
    ),
];

fn comparisons<'a>(reader: &Reader<'a>) -> &'a [Value] {
    list(&reader.run.document["comparisons"])
}

/// The headline of the work that a sentence begins with.
fn headline<'a>(reader: &Reader<'a>, said: &Said<'_>) -> &'a Value {
    of_work(reader, said.text("work"))
}

/// The headline of a piece of work.
fn of_work<'a>(reader: &Reader<'a>, work: &str) -> &'a Value {
    let of = comparisons(reader).iter().find(|comparison| comparison["workload"] == work);
    of.unwrap_or(&Value::Null)
}

fn placement<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    list(&comparison["placements"]).iter().find(|placement| placement["name"] == name).unwrap_or(&Value::Null)
}

fn cpus(placement: &Value) -> Vec<CpuId> {
    list(&placement["cpus"]).iter().filter_map(|cpu| Some(CpuId(cpu.as_u64()? as u32))).collect()
}

/// The CPU of each thread, in the order of threads.
fn threads_of(placement: &Value) -> Vec<u32> {
    list(&placement["roles"]).iter().filter_map(|cpu| Some(cpu.as_u64()? as u32)).collect()
}

/// What holds each thread on its CPU.
fn order(reader: &mut Reader<'_>, said: &Said<'_>) {
    let told = threads_of(placement(comparisons(reader).first().unwrap_or(&Value::Null), said.text("name")));
    reader.is("place", said.number("n"), Some(told.len() as f64), "threads");
    let list = said.text("cpus").trim_matches(['{', '}']).split("},{");
    let typed: Vec<u32> = list.filter_map(|cpu| cpu.parse().ok()).collect();
    reader.holds("place", typed == told, || format!("its threads are on {told:?}"));
}

/// The rate of a placement in truth, where the machine knows it.
fn truth(reader: &Reader<'_>, comparison: &Value, name: &str) -> Option<f64> {
    let workload: Workload = comparison["workload"].as_str()?.parse().ok()?;
    let threads = reader.run.words.iter().skip_while(|word| *word != "--threads").nth(1);
    let cpus = cpus(placement(comparison, name));
    let threads = threads.unwrap_or(&reader.level).parse().ok()?;
    reader.run.machine.true_headline(workload, &cpus, threads)
}

/// Where things run: their counts are those of the CPUs that are named.
pub fn placements(reader: &mut Reader<'_>, table: &Table) {
    let first = comparisons(reader).first().unwrap_or(&Value::Null);
    for row in &table.rows[1..] {
        let told = placement(first, &row[0]);
        let set: CpuSet = cpus(told).into_iter().collect();
        let typed = row.last().map_or("", String::as_str);
        let list = typed.strip_prefix("taskset -c ").and_then(|list| list.parse::<CpuSet>().ok());
        reader.holds("place", list.as_ref() == Some(&set) || typed == "unbound", || {
            format!("its CPUs are {set}")
        });
        if let Some(told_order) = table.column("threads on CPUs").and_then(|at| row.get(at)) {
            let order: Vec<u32> = told_order.split(", ").filter_map(|cpu| cpu.parse().ok()).collect();
            let roles = threads_of(told);
            reader.holds("place", order.is_empty() || order == roles, || {
                format!("its threads are on {roles:?}")
            });
        }
        structure(reader, &row[1].clone(), &set);
    }
}

/// `16 CPUs, 8 cores, 1 L3`.
fn structure(reader: &mut Reader<'_>, text: &str, set: &CpuSet) {
    let topology = reader.run.machine.bare_stage(&[]).topology().clone();
    let number = |level: Level| {
        topology.level(level).iter().filter(|domain| !domain.cpus.intersection(set).is_empty()).count()
    };
    for part in text.split(", ") {
        let Some((shown, noun)) = part.split_once(' ') else { continue };
        let Some(shown) = Printed::read(shown) else { continue };
        let exact = match noun.trim_end_matches('s') {
            "CPU" => set.len(),
            "core" => number(Level::Core),
            "L2" => number(Level::L2),
            "L3" => number(Level::L3),
            "node" => number(Level::Node),
            "package" => number(Level::Package),
            _ => continue,
        };
        reader.is("place", shown, Some(exact as f64), noun);
    }
}

fn runs(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("work").to_owned();
    // Threads are told by no document; some work has as many as it always has.
    let asked = reader
        .run
        .words
        .iter()
        .skip_while(|word| *word != "--threads")
        .nth(1)
        .and_then(|text| text.parse::<usize>().ok());
    let roles = said
        .text("work")
        .parse::<Workload>()
        .ok()
        .zip(asked)
        .map(|(of, asked)| of.kind.roles(asked).unwrap_or(asked) as f64);
    reader.holds("count", roles.is_none_or(|roles| said.number("threads").value == roles), || {
        format!("{roles:?} threads work")
    });
    reader.level = said.number("threads").value.to_string();
    let runs = list(&headline(reader, said)["placements"])
        .iter()
        .map(|placement| list(&placement["runs"]).len())
        .min();
    reader.is("count", said.number("runs"), runs.map(|runs| runs as f64), "the fewest runs of a placement");
}

/// Every row of a comparison is that of the document.
pub fn comparison(reader: &mut Reader<'_>, table: &Table) {
    let mut of: Vec<&Value> =
        comparisons(reader).iter().filter(|of| of["workload"] == reader.place.as_str()).collect();
    of.reverse();
    let mut now = &Value::Null;
    for row in &table.rows[1..] {
        if !row[0].is_empty() {
            now = of.pop().unwrap_or(&Value::Null);
        }
        let told = placement(now, &row[1]);
        if let Some(median) = Printed::read(&row[2]) {
            reader.is("place", median, told["median"].as_f64(), "the median");
            if let Some(truth) = truth(reader, now, &row[1]) {
                reader.is_near("place", median, truth, 0.08, "the work there");
            }
        }
        if let Some((low, high)) = row[3].split_once('–') {
            let unit = high
                .rsplit_once(' ')
                .filter(|(_, unit)| ["k", "M", "G"].contains(unit))
                .map_or("", |(_, unit)| unit);
            let low = if unit.is_empty() { low.to_owned() } else { format!("{low} {unit}") };
            for (end, index) in [(low.as_str(), 0), (high, 1)] {
                reader.is(
                    "place",
                    Printed::read(end).unwrap(),
                    told["ci"][index].as_f64(),
                    "an end of its interval",
                );
            }
        }
        let (shift, reach) = row[4].split_once('±').unwrap_or((&row[4], ""));
        if let Some(shift) = Printed::read(shift) {
            let of_pair = |pair: &&Value| pair["a"] == row[1].as_str() || pair["b"] == row[1].as_str();
            let reference = now["winner"].as_str().or(now["placements"][0]["name"].as_str());
            let pair = list(&now["pairs"])
                .iter()
                .filter(of_pair)
                .find(|pair| pair["a"].as_str() == reference || pair["b"].as_str() == reference);
            let delta = pair.and_then(|pair| {
                let delta = pair["delta_percent"].as_f64()? / 100.0;
                Some(if pair["a"].as_str() == reference { delta } else { 1.0 / (1.0 + delta) - 1.0 })
            });
            reader.is("place", shift, delta, "the difference");
            let ends = pair.and_then(|pair| {
                let ends = [pair["ci"][0].as_f64()? / 100.0, pair["ci"][1].as_f64()? / 100.0];
                let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
                Some(if pair["a"].as_str() == reference { ends } else { [turned(ends[1]), turned(ends[0])] })
            });
            let exact = ends.zip(delta).map(|([low, high], delta)| (high - delta).max(delta - low));
            if let Some(reach) = Printed::read(reach) {
                reader.is("place", reach, exact, "the reach of the difference");
            }
            if let Some(p) = row.get(5).and_then(|p| Printed::read(p)) {
                reader.is("place", p, pair.and_then(|pair| pair["p_value"].as_f64()), "p");
            }
        }
        if let Some(winner) = row.get(6).and_then(|verdict| verdict.strip_suffix(" wins")) {
            reader.holds("place", now["winner"] == winner, || format!("the document says {}", now["winner"]));
        }
    }
}

fn wins(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = headline(reader, said);
    let (winner, next) = (said.text("winner"), said.text("next"));
    reader.holds("place", of["winner"] == winner, || format!("the document says {}", of["winner"]));
    let rates = [winner, next].map(|name| truth(reader, of, name));
    let less = said.sentence.contains(" less (p ");
    let share = said.share("share");
    let medians = [winner, next].map(|name| placement(of, name)["median"].as_f64().unwrap_or(f64::NAN));
    let exact = (medians[1] / medians[0] - 1.0).abs();
    reader.is_near("place", share, exact, 0.03, "the difference of the medians");
    let of_pair = list(&of["pairs"]).iter().find(|pair| {
        [&pair["a"], &pair["b"]].iter().all(|end| [winner, next].contains(&end.as_str().unwrap_or("")))
    });
    let ends = of_pair.map(|pair| [0, 1].map(|end| pair["ci"][end].as_f64().unwrap_or(f64::NAN) / 100.0));
    let reach = ends.zip(of_pair).map(|(ends, pair)| {
        let turned = |share: f64| if pair["a"] == winner { share } else { 1.0 / (1.0 + share) - 1.0 };
        let point = turned(pair["delta_percent"].as_f64().unwrap_or(f64::NAN) / 100.0);
        ends.map(|end| (turned(end) - point).abs()).into_iter().fold(0.0, f64::max)
    });
    reader.is("place", said.share("reach"), reach, "half the interval");
    reader.holds("place", (medians[1] < medians[0]) == less, || format!("medians are {medians:?}"));
    if let [Some(mine), Some(theirs)] = rates {
        let lower_is_better = of["better"] == "lower";
        reader.holds("place", (mine > theirs) != lower_is_better, || {
            format!("{mine} against {theirs} in truth")
        });
        reader.is_near("place", share, (theirs / mine - 1.0).abs(), 0.1, "the difference");
    }
    let p = of["p_value"].as_f64();
    match said.text("p").strip_prefix("= ").and_then(Printed::read) {
        Some(shown) => reader.is("place", shown, p, "p"),
        None => reader.holds("place", p.is_some_and(|p| p < 0.0001), || format!("p is {p:?}")),
    }
}

/// What could be the cause: counts of what the placements have.
fn why(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = of_work(reader, &reader.place);
    let winner = said.text("winner");
    let names = list(&of["placements"]).iter().filter_map(|placement| placement["name"].as_str());
    let next =
        names.filter(|name| *name != winner).find(|name| said.text("why").contains(&format!("`{name}`")));
    let next = next.unwrap_or("");
    reader.holds("place", of["winner"] == winner, || format!("the document says {}", of["winner"]));
    let topology = reader.run.machine.bare_stage(&[]).topology().clone();
    let roles: usize = reader.level.parse().unwrap_or(usize::MAX);
    let [mine, theirs] =
        [winner, next].map(|name| -> CpuSet { cpus(placement(of, name)).into_iter().take(roles).collect() });
    let number = |set: &CpuSet, level: Level| {
        topology.level(level).iter().filter(|domain| !domain.cpus.intersection(set).is_empty()).count()
    };
    let faster = |set: &CpuSet, kind: &str| {
        let is_of = |cpu: &CpuId| topology.class_of(*cpu).is_some_and(|class| class.name == kind);
        set.iter().filter(is_of).count()
    };
    let threads = [winner, next].map(|name| threads_of(placement(of, name)));
    for part in said.text("why").split("; ") {
        // Names of placements hold digits and levels too.
        let bare = part.replace(next, "it").replace(winner, "it");
        let (mine_words, their_words) = bare.split_once(", ").unwrap_or((&bare, ""));
        let first = |text: &str, of: usize| -> Option<usize> {
            text.split_whitespace().find_map(|word| match word {
                "none" => Some(0),
                "all" => Some(of),
                number => number.parse().ok(),
            })
        };
        let level = Level::ALL.into_iter().find(|level| {
            let name = level.name();
            let is_name = |word: &str| word.trim_end_matches('s').eq_ignore_ascii_case(name);
            bare.split(|c: char| !c.is_ascii_alphanumeric()).any(is_name)
        });
        let [told, exact]: [Option<[usize; 2]>; 2] = match () {
            () if (bare.contains(" of its ") || bare.contains(" that each one talks to"))
                && level.is_some() =>
            {
                let of = mine_words.split(" of ").nth(1).and_then(|rest| first(rest, 0)).unwrap_or(0);
                let across = |threads: &Vec<u32>| crossings(&topology, level, &bare, threads);
                let told =
                    first(mine_words, of).zip(first(their_words, of)).map(|(mine, theirs)| [mine, theirs]);
                [told, Some([across(&threads[0]), across(&threads[1])])]
            }
            () if bare.contains("its two threads share") => {
                let across = |threads: &Vec<u32>| crossings(&topology, level, "links", threads);
                [Some([0, 1]), Some([across(&threads[0]), across(&threads[1])])]
            }
            () if bare.contains("of the faster kind") => {
                let kind =
                    bare.split("faster kind ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("");
                let told =
                    first(mine_words, 0).zip(first(their_words, 0)).map(|(mine, theirs)| [mine, theirs]);
                [told, Some([faster(&mine, kind), faster(&theirs, kind)])]
            }
            () if bare.contains("CPU") && bare.starts_with("it has") => {
                let told =
                    first(mine_words, 0).zip(first(their_words, 0)).map(|(mine, theirs)| [mine, theirs]);
                [told, Some([mine.len(), theirs.len()])]
            }
            () if level.is_some() => {
                let told =
                    first(mine_words, 0).zip(first(their_words, 0)).map(|(mine, theirs)| [mine, theirs]);
                [told, level.map(|level| [number(&mine, level), number(&theirs, level)])]
            }
            () => [first(&bare, 0).map(|cpus| [cpus; 2]), Some([mine.len(); 2])],
        };
        reader.holds("place reason", told.is_some() && told == exact, || {
            format!("`{part}`: {exact:?} in truth")
        });
    }
}

/// How many of what threads hand on, as the words say, goes from one group of a level to another.
fn crossings(topology: &Topology, level: Option<Level>, words: &str, threads: &[u32]) -> usize {
    let Some(level) = level else { return 0 };
    let n = threads.len();
    let pairs: Vec<[usize; 2]> = match () {
        () if words.contains("hops") => (0..n).map(|thread| [thread, (thread + 1) % n]).collect(),
        () if words.contains("links") => (1..n).map(|thread| [thread - 1, thread]).collect(),
        () => (0..n).flat_map(|high| (0..high).map(move |low| [low, high])).collect(),
    };
    let group = |thread: usize| {
        topology.level(level).iter().position(|domain| domain.cpus.contains(CpuId(threads[thread])))
    };
    let crosses = |a: usize, b: usize| group(a) != group(b);
    if words.contains("that each one talks to") {
        let of = |thread: usize| (0..n).filter(|other| crosses(thread, *other)).count();
        return (0..n).map(of).max().unwrap_or(0);
    }
    pairs.into_iter().filter(|[a, b]| crosses(*a, *b)).count()
}

fn same(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = headline(reader, said);
    reader.holds("place", of["verdict"] == "same", || format!("the document says {}", of["verdict"]));
    let within = of["within_percent"].as_f64().map(|percent| percent / 100.0);
    reader.is("place", said.share("share"), within, "the most that they differ by");
    let rates: Vec<f64> = list(&of["placements"])
        .iter()
        .filter_map(|placement| truth(reader, of, placement["name"].as_str()?))
        .collect();
    let (least, most) =
        (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
    if !rates.is_empty() {
        reader.holds("place", most / least - 1.0 <= said.share("share").value + 0.01, || {
            format!("{least} to {most} in truth")
        });
    }
}

fn too_few(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = headline(reader, said);
    reader.holds("place", of["winner"].is_null(), || format!("the document says {}", of["winner"]));
    let runs = list(&of["placements"]).iter().map(|placement| list(&placement["runs"]).len()).min();
    reader.is("count", said.number("made"), runs.map(|runs| runs as f64), "the fewest runs");
    reader.holds("count", said.number("made").value < said.number("least").value, || {
        "it has enough".to_owned()
    });
}

fn untold(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = headline(reader, said);
    reader.holds("place", of["winner"].is_null(), || format!("the document says {}", of["winner"]));
}

fn clock(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = comparisons(reader)
        .iter()
        .find(|comparison| comparison["workload"] == said.text("work"))
        .unwrap_or(&Value::Null);
    let told = placement(of, said.text("placement"));
    reader.is("place", said.number("ghz"), told["core_ghz"].as_f64(), "its clock");
}

fn same_cpus(reader: &mut Reader<'_>, said: &Said<'_>) {
    let names: Vec<&str> = said.text("names").split(" and ").map(|name| name.trim_matches('`')).collect();
    let joined = names.join("+");
    let told = placement(comparisons(reader).first().unwrap_or(&Value::Null), &joined);
    reader.holds("place", !told.is_null(), || format!("the document has no placement {joined}"));
}
