//! Quiet and noisy CPUs: one row for each, noisiest first, and the extremes in words.

use super::fmt;
use super::trial_cells;
use crate::blocks::value::{Arg, DisplayUnit, DisplayValue, Number, Operation, Sentence, Source, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::CpuId;
use coretalk_model::jitter::{Noise, Quietness, by_quietness, names, noise};
use coretalk_model::quantity::Unit;
use coretalk_model::series::TrialResult;

const MAX_ROWS: usize = 32;
const MAX_NAMED: usize = 8;
const MAX_NAMED_IN_A_LINE: usize = 4;
/// Shortest watch that can show gaps with a rate of a few per second.
const MIN_WATCHED_MS: u64 = 100;
const MIN_WIDTH_FOR_CAUSES: usize = 96;

pub(super) fn blocks(trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let sorted = by_quietness(trials.iter().copied());
    let left_out = sorted.len().saturating_sub(MAX_ROWS);
    let shown = sorted.iter().rev().take(MAX_ROWS - usize::from(left_out > 0)).chain(
        // The quietest CPU is in the last row.
        sorted.first().filter(|_| left_out > 0),
    );
    let about = "Every CPU reads the clock all the time; two reads more than 0.5 µs apart are a gap. Causes \
                 are shares of the time lost, as far as the system's counters show them.";
    let mut blocks = vec![Block::Prose(Sentence::new(about)), Block::Gap, Block::Table(table(trials, shown))];
    if left_out > 0 {
        let sentence =
            Sentence::pluralized("{number} CPU{s} in between: see the data", DisplayValue::listed(left_out));
        blocks.push(Block::Prose(sentence));
    }
    blocks.push(Block::Gap);
    blocks
}

/// Quiet and noisy CPUs in a few words, for a watch that was too short for the whole table.
pub(super) fn in_short(trials: &[&TrialResult]) -> Option<Block<'static>> {
    let sorted = by_quietness(trials.iter().copied());
    let (first, last) = (sorted.first()?, sorted.last()?);
    let watched = trials.iter().max_by_key(|trial| trial.counts.get(names::WATCHED));
    let watched = watched.and_then(|trial| Some((trial, *trial.counts.get(names::WATCHED)?)));
    let watched = watched.map(|(trial, ms)| {
        let unit = DisplayUnit::Duration(1e-3);
        (ms, trial_cells::display_value(trial, names::WATCHED, Statistic::Count, Number::Count(ms), unit))
    });
    if let Some((..MIN_WATCHED_MS, time)) = watched {
        let sentence = Sentence::new("cannot tell: watched for {time} only").with("time", time);
        return Some(Block::Fact("noise", sentence));
    }
    let within =
        watched.map_or(Sentence::new(""), |(_, time)| Sentence::new(" in {time}").with("time", time));
    let gap_of = |cpus| DisplayValue { unit: DisplayUnit::Duration(1e-9), ..longest_gap(cpus) };
    let with_gap =
        |sentence: Sentence, cpus| sentence.with("gap", gap_of(cpus)).with("within", within.clone());
    let parts = match noise(&sorted) {
        _ if sorted.len() == 1 => {
            vec![
                Sentence::new("{cpu}{within}")
                    .with("cpu", single_cpu_sentence(first, &noise(&sorted)))
                    .with("within", within),
            ]
        }
        Noise::Lossy([quiet, noisy]) => {
            let quiet_sentence = match quiet.iter().all(Quietness::is_quiet) {
                true => Sentence::new("quiet {cpus}"),
                false => Sentence::new("use {cpus} ({most} or less of the time lost)")
                    .with("most", lost(most_lossy(&quiet))),
            };
            let noisiest = Sentence::new("noisy {cpu} ({lost} of its time lost, longest gap {gap}{within})")
                .with("cpu", noisy[0].cpu)
                .with("lost", lost(&noisy[0]));
            vec![
                quiet_sentence.with("cpus", cpu_list(&quiet, MAX_NAMED_IN_A_LINE)),
                with_gap(noisiest, &noisy[..1]),
            ]
        }
        Noise::Stalled([quiet, noisy]) => {
            let in_line = |cpus| cpu_list(cpus, MAX_NAMED_IN_A_LINE);
            let quiet_sentence = Sentence::new("use {cpus} (longest gap {gap})").with("gap", gap_of(&quiet));
            let avoid =
                Sentence::new("avoid {cpus} (longest gap {gap}{within})").with("cpus", in_line(&noisy));
            vec![quiet_sentence.with("cpus", in_line(&quiet)), with_gap(avoid, &sorted)]
        }
        noise => {
            let gap = with_gap(Sentence::new("longest gap {gap}{within}"), &sorted);
            vec![alike_sentence(&noise, first, last), gap]
        }
    };
    Some(Block::Fact("noise", Sentence::new("{parts}").with("parts", Arg::Parts(parts, " · "))))
}

/// The CPU that lost the largest share of its time. Lists of a [`Noise`] are never empty.
fn most_lossy(cpus: &[Quietness]) -> &Quietness {
    cpus.iter().max_by(|a, b| a.lost.total_cmp(&b.lost)).unwrap_or(&cpus[0])
}

fn lost(cpu: &Quietness) -> DisplayValue {
    DisplayValue {
        number: Number::Point(cpu.lost),
        unit: DisplayUnit::Own(Unit::Share),
        source: trial_source(cpu, names::LOST, Statistic::Estimate),
    }
}

fn longest_gap(cpus: &[Quietness]) -> DisplayValue {
    let longest = cpus.iter().max_by(|a, b| a.longest_ns.total_cmp(&b.longest_ns)).unwrap_or(&cpus[0]);
    DisplayValue {
        number: Number::Point(longest.longest_ns),
        unit: DisplayUnit::Own(Unit::Ns),
        source: trial_source(longest, names::GAPS, Statistic::Percentile(1.0)),
    }
}

fn trial_source(cpu: &Quietness, quantity: &'static str, statistic: Statistic) -> Source {
    Source::Trial { trial: cpu.trial, quantity, statistic, placements: 1 }
}

fn single_cpu_sentence(cpu: &Quietness, noise: &Noise) -> Sentence {
    let how = match noise {
        Noise::Disturbed => "heavily disturbed",
        Noise::Quiet => "quiet",
        _ => "not quiet",
    };
    let sentence = Sentence::new("CPU {cpu} is {how}: it lost {lost} of its time, longest gap {gap}");
    sentence
        .with("cpu", cpu.cpu)
        .with("how", how)
        .with("lost", lost(cpu))
        .with("gap", longest_gap(std::slice::from_ref(cpu)))
}

fn alike_sentence(noise: &Noise, first: &Quietness, last: &Quietness) -> Sentence {
    let verdict = match noise {
        Noise::Disturbed => "all CPUs are heavily disturbed",
        Noise::Quiet => "all CPUs are quiet",
        Noise::Alike => "no CPU stands out",
        Noise::Unknown | Noise::Lossy(_) | Noise::Stalled(_) => "cannot tell which CPUs are quieter",
    };
    Sentence::new("{verdict}: each lost {lost} of its time")
        .with("verdict", verdict)
        .with("lost", fmt::range([lost(first), lost(last)]))
}

fn table<'a>(trials: &[&TrialResult], shown: impl Iterator<Item = &'a Quietness>) -> Table {
    let causes = causes(trials);
    let mut columns = ["CPU", "lost", "±", "gaps/s", "p50", "p99.9", "longest"].map(Column::numbers).to_vec();
    columns.extend(causes.iter().map(|(_, title)| Column::numbers(*title).from_width(MIN_WIDTH_FOR_CAUSES)));
    let rows = shown.filter_map(|cpu| {
        let trial = trial_of_cpu(trials, cpu.cpu)?;
        let percentile_cell =
            |share| trial_cells::percentile(trial, names::GAPS, share, DisplayUnit::Duration(1e-9));
        let value = |name: &str| trial.values.get(name);
        let reach = value(names::LOST).map(|lost| Number::Reach(*lost));
        let mut row = vec![
            Sentence::new("{cpu}").with("cpu", cpu.cpu).into(),
            lost(cpu).into(),
            trial_cells::number(trial, names::LOST, Statistic::Estimate, reach, trial_cells::PERCENT),
            trial_cells::value(trial, names::RATE, DisplayUnit::Decimals(0)),
            percentile_cell(0.5),
            percentile_cell(0.999),
            percentile_cell(1.0),
        ];
        let share = |name: &'static str| {
            let share = value(name).filter(|_| cpu.lost > 0.0)?.point / cpu.lost;
            let sources = [name, names::LOST].map(|name| trial_source(cpu, name, Statistic::Estimate));
            let source = Operation::Ratio.on(sources);
            Some(DisplayValue { number: Number::Point(share), unit: trial_cells::PERCENT, source })
        };
        row.extend(causes.iter().map(|(name, _)| Cell::number(share(name))));
        Some(row)
    });
    Table::new(columns).with(rows)
}

fn causes(trials: &[&TrialResult]) -> Vec<(&'static str, &'static str)> {
    let is_throttled =
        |trial: &&TrialResult| trial.values.get(names::QUOTA).is_some_and(|share| share.point > 0.0);
    let has_quota = trials.iter().any(is_throttled);
    names::CAUSES.into_iter().filter(|(name, _)| has_quota || *name != names::QUOTA).collect()
}

fn trial_of_cpu<'a>(trials: &[&'a TrialResult], cpu: CpuId) -> Option<&'a TrialResult> {
    trials.iter().copied().find(|trial| trial.spec.placement.first() == Some(&cpu))
}

fn cpu_list(cpus: &[Quietness], most: usize) -> Sentence {
    let mut ids: Vec<CpuId> = cpus.iter().map(|cpu| cpu.cpu).take(most).collect();
    ids.sort_unstable();
    match cpus.len() - ids.len() {
        0 if ids.len() == 1 => Sentence::new("CPU {cpus}"),
        0 => Sentence::new("CPUs {cpus}"),
        more => Sentence::new("CPUs {cpus} and {more} more").with("more", DisplayValue::listed(more)),
    }
    .with("cpus", ids)
}

/// The quiet and the noisy CPUs, `sorted` by quietness; `None` for an empty list.
pub(super) fn sentence(sorted: &[Quietness], noise: &Noise) -> Option<Sentence> {
    let (first, last) = (sorted.first()?, sorted.last()?);
    Some(match noise {
        _ if sorted.len() == 1 => single_cpu_sentence(first, noise),
        Noise::Lossy([quiet, noisy]) => {
            Sentence::new(
                "use {quiet} ({most} or less of the time lost), and avoid {noisy} ({lost} lost, longest gap {gap})",
            )
            .with("quiet", cpu_list(quiet, MAX_NAMED))
            .with("most", lost(most_lossy(quiet)))
            .with("noisy", cpu_list(noisy, MAX_NAMED))
            // `noisy` starts with the noisiest CPU.
            .with("lost", fmt::range([lost(&noisy[noisy.len() - 1]), lost(&noisy[0])]))
            .with("gap", longest_gap(noisy))
        }
        Noise::Stalled([quiet, noisy]) => {
            Sentence::new(match noisy.len() {
                1 => {
                    "{noisy} had a gap of {gap}, {quiet} none longer than {least}: use {quiet}, and avoid {noisy}, where \
                     a single delay matters"
                }
                _ => {
                    "{noisy} had gaps of up to {gap}, {quiet} none longer than {least}: use {quiet}, and avoid {noisy}, \
                     where a single delay matters"
                }
            })
            .with("noisy", cpu_list(noisy, MAX_NAMED))
            .with("gap", longest_gap(noisy))
            .with("quiet", cpu_list(quiet, MAX_NAMED))
            .with("least", longest_gap(quiet))
        }
        noise => alike_sentence(noise, first, last),
    }
    .capitalized())
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::series::TrialId;

    fn words(sorted: &[Quietness]) -> String {
        fmt::sentence(&sentence(sorted, &noise(sorted)).unwrap())
    }

    #[test]
    fn cpus_are_called_quiet_only_with_small_losses_and_short_gaps() {
        let cpu = |cpu, lost, longest_ns| Quietness {
            cpu: CpuId(cpu),
            trial: TrialId(0),
            lost,
            lost_reach: Some(lost / 2.0),
            longest_ns,
            lost_besides: lost,
        };
        let two = |losses: [f64; 2]| words(&[cpu(0, losses[0], 3e3), cpu(1, losses[1], 3e3)]);
        assert_eq!(two([0.0004, 0.0005]), "All CPUs are quiet: each lost 0.04 % to 0.05 % of its time");
        let one = |lost| words(&[cpu(3, lost, 3e3)]);
        assert_eq!(one(0.0004), "CPU 3 is quiet: it lost 0.04 % of its time, longest gap 3.00 µs");
        assert_eq!(one(0.014), "CPU 3 is not quiet: it lost 1.4 % of its time, longest gap 3.00 µs");
        let many: Vec<Quietness> = (0..12).map(|id| cpu(id, 0.0004, 3e3)).collect();
        assert_eq!(fmt::sentence(&cpu_list(&many, 3)), "CPUs 0 1 2 and 9 more");
        assert_eq!(two([0.014, 0.018]), "No CPU stands out: each lost 1.4 % to 1.8 % of its time");
        assert_eq!(two([0.52, 0.72]), "All CPUs are heavily disturbed: each lost 52 % to 72 % of its time");
        let unclear = "Cannot tell which CPUs are quieter: each lost 0.04 % to 0.10 % of its time";
        assert_eq!(two([0.0004, 0.001]), unclear);
        let sure = |id, lost| Quietness { lost_reach: Some(lost / 10.0), ..cpu(id, lost, 3e3) };
        assert_eq!(
            words(&[sure(0, 0.0004), sure(2, 0.0005), sure(1, 0.01), sure(3, 0.03)]),
            "Use CPUs 0 2 (0.05 % or less of the time lost), and avoid CPUs 1 3 (1 % to 3 % lost, longest gap 3.00 µs)"
        );
        let one_gap = [cpu(0, 0.0004, 3e3), cpu(2, 0.0004, 2.8e3), cpu(1, 0.0005, 483e3)];
        assert_eq!(
            words(&one_gap),
            "CPU 1 had a gap of 483 µs, CPUs 0 2 none longer than 3.00 µs: use CPUs 0 2, and avoid CPU 1, where a single \
             delay matters"
        );
    }
}
