//! Quiet and noisy CPUs: a row for each, the noisiest first, and the extremes in words.

use super::text::{count, duration, grouped, percent};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::CpuId;
use coretalk_model::jitter::{Noise, Quietness, by_quietness, names, noise};
use coretalk_model::series::TrialResult;

/// Rows of the table; of more CPUs the noisiest and the quietest are shown.
const MOST_ROWS: usize = 32;
/// CPUs that are named in words.
const MOST_NAMED: usize = 8;
/// The same in one line among others.
const MOST_NAMED_IN_A_LINE: usize = 4;
/// A shorter look says nothing about gaps that come some times a second.
const LEAST_WATCHED_MS: u64 = 100;
/// From this width on a terminal shows the causes.
const ROOMY: usize = 96;

/// Everything about the jitter of a run, without the answer where that stands above already.
pub(super) fn blocks(trials: &[&TrialResult], is_answered: bool) -> Vec<Block<'static>> {
    let sorted = by_quietness(trials.iter().copied());
    let left_out = sorted.len().saturating_sub(MOST_ROWS);
    let shown = sorted.iter().rev().take(MOST_ROWS - usize::from(left_out > 0)).chain(
        // The quietest closes the table.
        sorted.first().filter(|_| left_out > 0),
    );
    let about = "Every CPU reads the clock all the time; two reads more than 0.5 µs apart are a gap. Causes \
                 are shares of the time lost, as far as the system's counters show them.";
    let mut blocks = vec![Block::Prose(about.to_owned()), Block::Gap, Block::Table(table(trials, shown))];
    if left_out > 0 {
        let cpus = count(left_out as u64, "CPU");
        blocks.push(Block::Prose(format!("{cpus} in between: see the data")));
    }
    blocks.push(Block::Gap);
    blocks.extend(words(&sorted).filter(|_| !is_answered).map(Block::Prose));
    blocks
}

/// Which CPUs are quiet and which are not, in one sentence.
pub(super) fn sentence(trials: &[&TrialResult]) -> Option<String> {
    words(&by_quietness(trials.iter().copied()))
}

/// Quiet and noisy CPUs in few words: of a look that was too short for the whole table.
pub(super) fn in_short(trials: &[&TrialResult]) -> Option<Block<'static>> {
    let sorted = by_quietness(trials.iter().copied());
    let (first, last) = (sorted.first()?, sorted.last()?);
    let longest = longest_of(&sorted);
    let watched = trials.iter().filter_map(|trial| trial.counts.get(names::WATCHED)).max();
    let watched_for = watched.map(|ms| duration(*ms as f64 * 1e-3));
    if let (Some(ms), Some(words)) = (watched, &watched_for)
        && *ms < LEAST_WATCHED_MS
    {
        return Some(Block::Fact("noise", format!("cannot tell: watched for {words} only")));
    }
    let within = watched_for.map_or(String::new(), |words| format!(" in {words}"));
    let parts = match noise(&sorted, MOST_NAMED_IN_A_LINE) {
        _ if sorted.len() == 1 => {
            vec![format!(
                "CPU {} lost {} of its time, longest gap {longest}{within}",
                first.cpu,
                percent(first.lost)
            )]
        }
        Noise::Lossy([quiet, noisy]) => vec![
            match quiet.iter().all(Quietness::is_quiet) {
                true => format!("quiet {}", named(&quiet)),
                false => format!("use {} ({} or less of the time lost)", named(&quiet), most_lost(&quiet)),
            },
            format!(
                "noisy {} ({} of its time lost, longest gap {}{within})",
                ids(&noisy[..1]),
                percent(noisy[0].lost),
                longest_of(&noisy[..1])
            ),
        ],
        Noise::Stalled([quiet, noisy]) => vec![
            format!("use {} (longest gap {})", named(&quiet), longest_of(&quiet)),
            format!("avoid {} (longest gap {longest}{within})", named(&noisy)),
        ],
        noise => vec![alike_words(&noise, first, last), format!("longest gap {longest}{within}")],
    };
    Some(Block::Fact("noise", parts.join(" · ")))
}

/// The largest share of its time that one of some CPUs lost.
fn most_lost(cpus: &[Quietness]) -> String {
    percent(cpus.iter().map(|cpu| cpu.lost).fold(0.0, f64::max))
}

/// The longest gap of some CPUs.
fn longest_of(cpus: &[Quietness]) -> String {
    duration(cpus.iter().map(|cpu| cpu.longest_ns).fold(0.0, f64::max) * 1e-9)
}

/// No CPU stands out, or none is known to.
fn alike_words(noise: &Noise, first: &Quietness, last: &Quietness) -> String {
    let verdict = match noise {
        Noise::Disturbed => "all CPUs are heavily disturbed",
        Noise::Quiet => "all CPUs are quiet",
        Noise::Alike => "no CPU stands out",
        Noise::Unknown | Noise::Lossy(_) | Noise::Stalled(_) => "cannot tell which CPUs are quieter",
    };
    format!("{verdict}: each lost {} of its time", from_to(first.lost, last.lost))
}

fn table<'a>(trials: &[&TrialResult], shown: impl Iterator<Item = &'a Quietness>) -> Table {
    let causes = causes(trials);
    let mut columns = ["CPU", "lost", "±", "gaps/s", "p50", "p99.9", "longest"].map(Column::numbers).to_vec();
    columns.extend(causes.iter().map(|(_, title)| Column::numbers(*title).from_width(ROOMY)));
    let rows = shown.filter_map(|cpu| {
        let trial = of_cpu(trials, cpu.cpu)?;
        let gaps = trial.histogram(names::GAPS);
        let at = |share| {
            let ns = gaps.and_then(|gaps| gaps.telling_percentile_ns(share));
            Cell::known(ns.map(|ns| duration(ns * 1e-9)))
        };
        let value = |name: &str| trial.values.get(name).map(|estimate| estimate.point);
        let mut row = vec![
            cpu.cpu.to_string().into(),
            percent(cpu.lost).into(),
            cpu.lost_reach.map_or("?".to_owned(), percent).into(),
            Cell::known(value(names::RATE).map(|per_s| grouped(per_s.round() as i64))),
            at(0.5),
            at(0.999),
            at(1.0),
        ];
        let share =
            |name: &str| value(name).filter(|_| cpu.lost > 0.0).map(|share| percent(share / cpu.lost));
        row.extend(causes.iter().map(|(name, _)| Cell::known(share(name))));
        Some(row)
    });
    Table::new(columns).with(rows)
}

/// Those of a table: a quota that stopped nothing is none.
fn causes(trials: &[&TrialResult]) -> Vec<(&'static str, &'static str)> {
    let lost = |trial: &&TrialResult| trial.values.get(names::QUOTA).is_some_and(|share| share.point > 0.0);
    let has_quota = trials.iter().any(lost);
    names::CAUSES.into_iter().filter(|(name, _)| has_quota || *name != names::QUOTA).collect()
}

/// `0.04 % to 0.08 %`, or one of both where they read alike.
fn from_to(least: f64, most: f64) -> String {
    let [least, most] = [least, most].map(percent);
    if least == most { least } else { format!("{least} to {most}") }
}

fn of_cpu<'a>(trials: &[&'a TrialResult], cpu: CpuId) -> Option<&'a TrialResult> {
    trials.iter().copied().find(|trial| trial.spec.placement.first() == Some(&cpu))
}

/// Their numbers, rising.
fn ids(cpus: &[Quietness]) -> String {
    let mut ids: Vec<u32> = cpus.iter().take(MOST_NAMED).map(|cpu| cpu.cpu.0).collect();
    ids.sort_unstable();
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn named(cpus: &[Quietness]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, ids(cpus))
}

fn words(sorted: &[Quietness]) -> Option<String> {
    let (first, last) = (sorted.first()?, sorted.last()?);
    Some(match noise(sorted, MOST_NAMED) {
        Noise::Lossy([quiet, noisy]) => format!(
            "use {} ({} or less of the time lost), and avoid {} ({} lost, longest gap {})",
            named(&quiet),
            most_lost(&quiet),
            named(&noisy),
            // The noisiest comes first.
            from_to(noisy[noisy.len() - 1].lost, noisy[0].lost),
            longest_of(&noisy)
        ),
        Noise::Stalled([quiet, noisy]) => format!(
            "{0} had a gap of {1}, {2} none longer than {3}: use {2}, and avoid {0}, where a single delay matters.",
            named(&noisy),
            longest_of(&noisy),
            named(&quiet),
            longest_of(&quiet)
        ),
        noise => alike_words(&noise, first, last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_called_quiet_only_where_each_lost_little_and_had_no_long_gap() {
        let cpu = |cpu, lost, longest_ns| Quietness {
            cpu: CpuId(cpu),
            lost,
            lost_reach: Some(lost / 2.0),
            longest_ns,
            lost_besides: lost,
        };
        let said = |losses: [f64; 2]| words(&[cpu(0, losses[0], 3e3), cpu(1, losses[1], 3e3)]).unwrap();
        assert_eq!(said([0.0004, 0.0005]), "all CPUs are quiet: each lost 0.04 % to 0.05 % of its time");
        assert_eq!(said([0.014, 0.018]), "no CPU stands out: each lost 1.4 % to 1.8 % of its time");
        assert_eq!(said([0.52, 0.72]), "all CPUs are heavily disturbed: each lost 52 % to 72 % of its time");
        assert_eq!(
            said([0.0004, 0.001]),
            "cannot tell which CPUs are quieter: each lost 0.04 % to 0.10 % of its time"
        );
        let sure = |id, lost| Quietness { lost_reach: Some(lost / 10.0), ..cpu(id, lost, 3e3) };
        assert_eq!(
            words(&[sure(0, 0.0004), sure(2, 0.0005), sure(1, 0.01), sure(3, 0.03)]).unwrap(),
            "use CPUs 0 2 (0.05 % or less of the time lost), and avoid CPUs 1 3 (1 % to 3 % lost, longest gap 3 µs)"
        );
        let one_gap = [cpu(0, 0.0004, 3e3), cpu(2, 0.0004, 2.8e3), cpu(1, 0.0005, 483e3)];
        assert_eq!(
            words(&one_gap).unwrap(),
            "CPU 1 had a gap of 483 µs, CPUs 0 2 none longer than 3 µs: use CPUs 0 2, and avoid CPU 1, where a single \
             delay matters."
        );
    }
}
