//! [`LineCosts`]: the lines of a trial's span, and the cost of an operation on each line.

use super::SimTrial;
use crate::kernel::Cost;
use crate::machine::{SpanOrder, Walk};
use crate::sim::rng::{Stream, hash, hash_on};
use crate::sim::true_costs::SLICES;
use coretalk_model::Home;

pub struct LineCosts<'a> {
    order: &'a SpanOrder,
    home: Home,
    pub key: u64,
    /// Hash prefix of the places.
    places: u64,
    pub per_place: u32,
    /// The machine state to which the following two fields apply.
    state: Option<usize>,
    nominal_ns: f64,
    slices: [f64; SLICES],
    /// Offset of the recording role's counter, for stamps.
    pub ahead_ns: f64,
    /// The last used run of 16 lines, and the address bits of its page frame.
    frame: (u32, u64),
    /// The address bits of a span that stays in one place.
    one_place: u64,
}

fn frame(key: u64, run: u32) -> u64 {
    hash([key, 0xF2A3E, u64::from(run)])
}

impl<'a> LineCosts<'a> {
    pub fn new(trial: &SimTrial<'_>, order: &'a SpanOrder, home: Home, key: u64) -> LineCosts<'a> {
        let true_costs = &trial.sim.true_costs;
        let ahead_ns = match order.kernel.cost {
            Cost::Stamp { .. } => {
                true_costs.offset_ns(trial.pair.cpus[1]) - true_costs.offset_ns(trial.pair.cpus[0])
            }
            _ => 0.0,
        };
        let one_place = hash([trial.sim.seed, 0x91ACE, u64::from(home.0)]);
        LineCosts {
            order,
            home,
            key,
            places: hash([key]),
            per_place: order.kernel.lines_per_place.max(1),
            state: None,
            nominal_ns: 0.0,
            slices: [1.0; SLICES],
            ahead_ns,
            frame: (0, frame(key, 0)),
            one_place,
        }
    }

    pub fn is_stamped(&self) -> bool {
        matches!(self.order.kernel.cost, Cost::Stamp { .. })
    }

    #[inline]
    pub fn operation_ns(&mut self, trial: &mut SimTrial<'_>, place: u32) -> f64 {
        if trial.elapsed_ns >= trial.update_ns {
            trial.update();
        }
        if self.state != Some(trial.state) {
            self.look_up(trial);
        }
        let first = place.saturating_mul(self.per_place);
        let bad = trial.contamination.map_or(1.0, |bad| bad.on_line(first));
        let nominal_ns = self.nominal_ns * trial.slowness * bad;
        // The common case, half a million times per pass. It avoids a division by one.
        if self.per_place == 1 {
            return nominal_ns * self.slices[self.slice(first)];
        }
        let lines = first..first.saturating_add(self.per_place);
        let sum = lines.fold(0.0, |sum, line| sum + self.slices[self.slice(line)]);
        nominal_ns * sum / f64::from(self.per_place)
    }

    /// Durations of the operations on an aligned run with one line per place, in the current state.
    #[inline]
    pub(super) fn run_ns(&mut self, trial: &SimTrial<'_>, first: u32) -> [f64; SLICES] {
        let bad = trial.contamination.map_or(1.0, |bad| bad.on_line(first));
        let nominal_ns = self.nominal_ns * trial.slowness * bad;
        let slice = self.slice(first);
        let mut run = [nominal_ns * self.slices[slice]; SLICES];
        if self.order.walk != Walk::OnePlace {
            for (within, ns) in run.iter_mut().enumerate() {
                *ns = nominal_ns * self.slices[(slice ^ within) % SLICES];
            }
        }
        run
    }

    #[cold]
    fn look_up(&mut self, trial: &mut SimTrial<'_>) {
        let (sim, state, [from, to]) = (trial.sim, trial.state, trial.pair.cpus);
        self.state = Some(state);
        self.nominal_ns = sim.operation_ns(&trial.pair, self.order.kernel, self.home, state);
        let known = trial.slices.iter().flatten().find(|known| (known.0, known.1) == (self.home, state));
        self.slices = known.map(|known| known.2).unwrap_or_else(|| {
            let scale = sim.spec.states.get(state).map_or(1.0, |state| state.line_scale);
            let slices = sim.true_costs.slices(from, to, self.home, scale);
            trial.slices = [Some((self.home, state, slices)), trial.slices[0]];
            slices
        });
    }

    /// The slice of a line. Each aligned run of 16 is in a page frame of its own. The frame's higher address bits
    /// permute the slices by exclusive or (McCalpin, TR-2021-03).
    #[inline]
    fn slice(&mut self, line: u32) -> usize {
        let (run, within) = (line / SLICES as u32, line as usize % SLICES);
        if self.order.walk == Walk::OnePlace {
            let of_place = (line % self.per_place) as usize;
            return (self.one_place as usize ^ of_place) % SLICES;
        }
        if self.frame.0 != run {
            self.frame = (run, frame(self.key, run));
        }
        (self.frame.1 as usize ^ within) % SLICES
    }

    #[inline]
    pub fn stream(&self, place: u32) -> Stream {
        Stream::from_key(hash_on(self.places, u64::from(place)))
    }
}
