//! Tables of levels: as the system reports them, as the latencies show them, and how the two stand to each other.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::Reader;
use super::super::run::{list, pairs};
use super::groups::level_of;
use super::map::OFF;
use super::structure::{cpus, nothing_left_out};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Level};

/// How many groups there are, with and without CPUs that stand alone.
fn counts(groups: &[CpuSet]) -> [usize; 2] {
    [groups.len(), groups.iter().filter(|group| group.len() > 1).count()]
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
    let ns: Vec<f64> = pairs(&cpus(reader))
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
