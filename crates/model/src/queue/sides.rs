use super::names;
use crate::series::{SeriesResult, TrialResult};

/// One queue, payload and capacity with several numbers of producers and consumers.
#[derive(Debug, Clone)]
pub struct SideGrid<'a> {
    /// Name of the queue.
    pub queue: &'a str,
    /// Type of the messages.
    pub payload: &'a str,
    /// Capacity in messages.
    pub capacity: u64,
    /// Numbers of producers and of consumers, ascending.
    pub sides: [Vec<u32>; 2],
    /// The trials, in the order of the plan.
    pub trials: Vec<&'a TrialResult>,
}

/// The grids of a run, in the order of the plan. A grid may have a single combination.
pub fn side_grids(result: &SeriesResult) -> Vec<SideGrid<'_>> {
    let mut found: Vec<SideGrid<'_>> = Vec::new();
    for trial in result.trials.iter().filter(|trial| trial.spec.probe == names::PROBE) {
        let parameters = &trial.spec.parameters;
        let (queue, payload) = (parameters.text("queue"), parameters.text("payload"));
        let (Some(queue), Some(payload), Some(capacity), Some(counts)) =
            (queue, payload, parameters.number("capacity"), side_counts(trial))
        else {
            continue;
        };
        let capacity = capacity as u64;
        let same =
            |grid: &SideGrid<'_>| (grid.queue, grid.payload, grid.capacity) == (queue, payload, capacity);
        let index = found.iter().position(same).unwrap_or_else(|| {
            found.push(SideGrid { queue, payload, capacity, sides: Default::default(), trials: Vec::new() });
            found.len() - 1
        });
        let grid = &mut found[index];
        grid.trials.push(trial);
        for (known, count) in grid.sides.iter_mut().zip(counts) {
            if let Err(at) = known.binary_search(&count) {
                known.insert(at, count);
            }
        }
    }
    found
}

fn side_counts(trial: &TrialResult) -> Option<[u32; 2]> {
    let count = |name| trial.spec.parameters.number(name).map(|count| count as u32);
    Some([count("producers")?, count("consumers")?])
}

impl<'a> SideGrid<'a> {
    /// Whether the grid has several combinations.
    pub fn has_several(&self) -> bool {
        self.trials.len() > 1
    }

    /// The trial with these numbers of producers and consumers.
    pub fn at(&self, counts: [u32; 2]) -> Option<&'a TrialResult> {
        self.trials.iter().copied().find(|trial| side_counts(trial) == Some(counts))
    }

    /// Whether a trial belongs to the grid.
    pub fn holds(&self, trial: &TrialResult) -> bool {
        self.trials.iter().any(|known| std::ptr::eq(*known, trial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Parameters;
    use crate::tests::spec;

    #[test]
    fn trials_of_one_queue_form_one_grid_with_ascending_counts() {
        let trial = |queue: &str, counts: Option<[f64; 2]>| {
            let parameters =
                Parameters::default().with("queue", queue).with("payload", "u64").with("capacity", 8.0);
            let [producers, consumers] = [0, 1].map(|side| counts.map(|counts| counts[side]));
            let parameters = parameters.with_some("producers", producers).with_some("consumers", consumers);
            TrialResult::empty(spec(names::PROBE, parameters, &[0, 1]))
        };
        let trials = vec![
            trial("mutex", Some([4.0, 1.0])),
            trial("mutex", Some([1.0, 2.0])),
            trial("mutex", None),
            trial("flume", Some([2.0, 2.0])),
        ];
        let result = SeriesResult { trials, ..SeriesResult::default() };
        let grids = side_grids(&result);
        let several: Vec<bool> = grids.iter().map(SideGrid::has_several).collect();
        assert_eq!(several, [true, false], "a trial without numbers of sides is in no grid");
        assert_eq!(grids[0].sides, [vec![1, 4], vec![1, 2]]);
        assert!(grids[0].at([1, 2]).is_some_and(|found| std::ptr::eq(found, &result.trials[1])));
        assert!(grids[0].at([4, 2]).is_none());
        assert_eq!([0, 2].map(|trial: usize| grids[0].holds(&result.trials[trial])), [true, false]);
    }
}
