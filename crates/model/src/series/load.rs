use super::{SeriesRecord, SeriesSettings};
use crate::{CpuId, Picos};
use std::collections::BTreeMap;

/// Number of steps in a curve, as many as fit after a name on a narrow terminal.
const STEPS: usize = 60;

/// Share of CPU time that measured threads used in each time step.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCurve {
    /// Length of a step. The time between segments is left out.
    pub step: Picos,
    /// Each CPU that took part, by number, with its share in each step; `None` if the system does not report it.
    pub cpus: Vec<(CpuId, Vec<Option<f64>>)>,
}

/// The load curve; `None` if nothing was measured. CPU time is reported once per pass and spread evenly over the pass.
pub fn load_curve(settings: &SeriesSettings, record: &SeriesRecord) -> Option<LoadCurve> {
    let passes: Vec<_> = settings
        .trials
        .iter()
        .enumerate()
        .flat_map(|(index, spec)| record.passes(index).iter().map(move |entry| (spec, entry)))
        .filter_map(|(spec, entry)| Some((spec, entry.segment, entry.outcome.as_ref().ok()?)))
        .collect();
    let mut segments: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (_, segment, pass) in &passes {
        let [from, to] = [pass.started.0, pass.started.0.saturating_add(pass.elapsed.0)];
        let known = segments.entry(*segment).or_insert([from, to]);
        *known = [known[0].min(from), known[1].max(to)];
    }
    // Saturating sums, because a file can hold any times.
    let length = segments.values().fold(0, |sum: u64, [from, to]| sum.saturating_add(to - from));
    let step = length.div_ceil(STEPS as u64).max(1);
    let steps = length.div_ceil(step) as usize;
    let mut before = 0u64;
    for span in segments.values_mut() {
        let length = span[1] - span[0];
        *span = [span[0], before];
        before = before.saturating_add(length);
    }
    let mut cpus: BTreeMap<CpuId, Vec<Option<f64>>> = BTreeMap::new();
    for (spec, segment, pass) in passes {
        let [origin, before] = segments[&segment];
        let (from, elapsed) = ((pass.started.0 - origin).saturating_add(before), pass.elapsed.0);
        let to = from.saturating_add(elapsed);
        for (role, &cpu) in spec.placement.iter().enumerate() {
            let shares = cpus.entry(cpu).or_insert_with(|| vec![Some(0.0); steps]);
            let spent = pass.roles.get(role).and_then(|role| role.cpu_ns);
            let last = (to.saturating_sub(1) / step) as usize;
            let touched = shares.iter_mut().enumerate().take(last + 1).skip((from / step) as usize);
            for (index, share) in touched {
                let begin = (index as u64).saturating_mul(step);
                let inside = to.min(begin.saturating_add(step)).saturating_sub(from.max(begin));
                let part = inside as f64 / elapsed.max(1) as f64;
                *share = share.zip(spent).map(|(share, ns)| share + part * ns as f64 * 1e3 / step as f64);
            }
        }
    }
    (!cpus.is_empty()).then(|| LoadCurve { step: Picos(step), cpus: cpus.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::super::{Parameters, PassOutcome, RoleEvidence, SeriesEntry};
    use super::*;
    use crate::tests::spec;

    fn settings(placements: &[&[u32]]) -> SeriesSettings {
        let trials = placements.iter().map(|cpus| spec("queue", Parameters::default(), cpus));
        SeriesSettings { trials: trials.collect(), ..SeriesSettings::default() }
    }

    fn entry(trial: u32, segment: u32, [from_ms, ms]: [u64; 2], busy_ms: &[Option<u64>]) -> SeriesEntry {
        let role = |ms: &Option<u64>| RoleEvidence {
            cpu_ns: ms.map(|ms| ms * 1_000_000),
            ..RoleEvidence::default()
        };
        let outcome = PassOutcome {
            started: Picos::from_ms(from_ms),
            elapsed: Picos::from_ms(ms),
            roles: busy_ms.iter().map(role).collect(),
            ..PassOutcome::default()
        };
        SeriesEntry { segment, pass: 0, trial, outcome: Ok(outcome) }
    }

    fn curve(placements: &[&[u32]], entries: Vec<SeriesEntry>) -> Option<LoadCurve> {
        let mut record = SeriesRecord::new();
        entries.into_iter().for_each(|entry| record.push(entry));
        load_curve(&settings(placements), &record)
    }

    #[test]
    fn cpu_time_is_complete_and_in_the_steps_of_its_passes() {
        // One second of CPUs 0 and 1, with CPU 1 half busy; then, in a segment that began at 5 s, one second of CPU 1.
        let entries = vec![
            entry(0, 0, [0, 1000], &[Some(1000), Some(500)]),
            entry(1, 1, [5000, 1000], &[Some(300), Some(300)]),
        ];
        let all = curve(&[&[0, 1], &[1, 1]], entries).unwrap();
        assert_eq!(all.cpus.len(), 2);
        assert!((all.step.secs() * 60.0 - 2.0).abs() < 1e-9, "no time between segments: {:?}", all.step);
        for (cpu, [first, second]) in [[1.0, 0.0], [0.5, 0.6]].into_iter().enumerate() {
            let shares = &all.cpus[cpu].1;
            assert_eq!(shares.len(), 60, "CPU {cpu}");
            for (step, share) in shares.iter().enumerate() {
                let expected = if step < 30 { first } else { second };
                assert!((share.unwrap() - expected).abs() < 1e-6, "CPU {cpu}, step {step}: {share:?}");
            }
        }
    }

    #[test]
    fn overflowing_times_do_not_break_the_curve() {
        let endless = |trial: u32, segment: u32, started: u64| {
            let (started, elapsed) = (Picos(started), Picos(u64::MAX));
            let outcome = Ok(PassOutcome { started, elapsed, ..PassOutcome::default() });
            SeriesEntry { segment, pass: 0, trial, outcome }
        };
        let entries = vec![endless(0, 0, 0), endless(1, 1, 7), endless(1, 2, u64::MAX)];
        let all = curve(&[&[0], &[1]], entries).unwrap();
        assert!(all.cpus.iter().all(|(_, shares)| shares.len() <= 60), "{all:?}");
    }

    #[test]
    fn unreported_cpu_time_is_unknown_and_no_passes_give_no_curve() {
        let all = curve(&[&[0, 1]], vec![entry(0, 0, [0, 60], &[Some(60), None])]).unwrap();
        assert!(all.cpus[1].1.iter().all(Option::is_none) && all.cpus[0].1.iter().all(Option::is_some));
        assert_eq!(curve(&[&[0, 1]], Vec::new()), None);
        // A pass without length divides by nothing.
        let instant = curve(&[&[0]], vec![entry(0, 0, [3, 0], &[Some(0)])]).unwrap();
        assert!(instant.cpus[0].1.len() <= 1);
    }
}
