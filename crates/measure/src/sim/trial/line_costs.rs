//! [`LineCosts`]: the lines under a span, and what an operation on them takes.

use super::Trial;
use crate::kernel::Cost;
use crate::machine::{SpanOrder, Walk};
use crate::sim::rng::{Stream, hash};
use crate::sim::true_costs::SLICES;
use coretalk_model::Home;

/// The lines under a span and what an operation on them takes.
pub struct LineCosts<'a> {
    order: &'a SpanOrder,
    home: Home,
    pub key: u64,
    /// State for which the following two hold.
    state: Option<usize>,
    nominal_ns: f64,
    slices: [f64; SLICES],
    /// What the recording role's counter is ahead, for stamps.
    pub ahead_ns: f64,
    /// The run of 16 lines last looked at, and the address bits of its page frame.
    frame: (u32, u64),
    /// The address bits of a span that stays in one place.
    one_place: u64,
}

/// The address bits of the frame that holds a run of 16 lines.
fn frame(key: u64, run: u32) -> u64 {
    hash([key, 0xF2A3E, u64::from(run)])
}

impl<'a> LineCosts<'a> {
    pub fn new(trial: &Trial<'_>, order: &'a SpanOrder, home: Home, key: u64) -> LineCosts<'a> {
        let true_costs = &trial.sim.true_costs;
        let ahead_ns = match order.kernel.cost {
            Cost::Stamp { .. } => true_costs.offset_ns(trial.to) - true_costs.offset_ns(trial.from),
            _ => 0.0,
        };
        let one_place = hash([trial.sim.seed, 0x91ACE, u64::from(home.0)]);
        LineCosts {
            order,
            home,
            key,
            state: None,
            nominal_ns: 0.0,
            slices: [1.0; SLICES],
            ahead_ns,
            frame: (0, frame(key, 0)),
            one_place,
        }
    }

    /// Whether the kernel stamps its clock into the line.
    pub fn is_stamped(&self) -> bool {
        matches!(self.order.kernel.cost, Cost::Stamp { .. })
    }

    /// One operation on a place, now.
    pub fn operation_ns(&mut self, trial: &mut Trial<'_>, place: u32) -> f64 {
        if trial.elapsed_ns >= trial.look_ns {
            trial.look();
        }
        let sim = trial.sim;
        if self.state != Some(trial.state) {
            self.state = Some(trial.state);
            self.nominal_ns =
                sim.operation_ns(trial.from, trial.to, self.order.kernel, self.home, trial.state);
            let scale = sim.spec.states.get(trial.state).map_or(1.0, |state| state.line_scale);
            self.slices = sim.true_costs.slices(trial.from, trial.to, self.home, scale);
        }
        let per_place = self.order.kernel.lines_per_place.max(1);
        let first = place.saturating_mul(per_place);
        let bad = trial.contamination.map_or(1.0, |bad| bad.on_line(first));
        let mut sum = 0.0;
        for line in first..first.saturating_add(per_place) {
            sum += self.slices[self.slice(line)];
        }
        self.nominal_ns * trial.slowness * bad * sum / f64::from(per_place)
    }

    /// The slice of a line: each aligned run of 16 lies in a page frame of its own, whose higher address bits permute
    /// the slices by exclusive or (McCalpin, TR-2021-03).
    fn slice(&mut self, line: u32) -> usize {
        let (run, within) = (line / SLICES as u32, line as usize % SLICES);
        if self.order.walk == Walk::OnePlace {
            let of_place = line as usize % self.order.kernel.lines_per_place.max(1) as usize;
            return (self.one_place as usize ^ of_place) % SLICES;
        }
        if self.frame.0 != run {
            self.frame = (run, frame(self.key, run));
        }
        (self.frame.1 as usize ^ within) % SLICES
    }

    pub fn stream(&self, place: u32) -> Stream {
        Stream::of(hash([self.key, u64::from(place)]))
    }
}
