//! [`VisitPlan`]: the spans that each visit executes, shared by all cells of a relation.

use crate::kernel::{Cost, Kernel};
use crate::machine::{HomeChoice, Sampling, SpanOrder, Walk};
use crate::probes::imitation::Imitation;
use crate::probes::kernel_by_id;
use crate::probes::latency_turns::RING_PAUSE;
use coretalk_model::latency::ladder::TINY_CELLS;
use coretalk_model::latency::{Counts, HintChoice, HomeSetting, LatencySettings};
use coretalk_model::stats::ANALYSES;
use coretalk_model::{ClockFacts, CpuId, Hint, KernelId, Protocol, Relation, Tool, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Lines of a cell per pass: four aligned runs of 16 in different page frames, or two runs above 64 CPUs.
const LINES: u32 = 64;
const LINES_ON_LARGE: u32 = 32;
/// Lines of an aligned run. On CPUs with 16 slices of the last-level cache, it has one line per slice.
const RUN: u32 = 16;
const SENTINEL_LINES: u32 = 16;
const LARGE_CPUS: usize = 64;
/// Maximum CPUs for three visits per line. Their median removes stalls.
const SMALL_CPUS: usize = 16;
const WARM_UP: u32 = 200;
/// Minimum length of a batch. A clock read of 15 ns is 0.7 % of it.
const BATCH_NS: f64 = 2_000.0;
const STEP_SHARE: f64 = 0.005;
/// Maximum cost of the clock read, which lengthens each batch, as a share of a batch and of the requested precision. At
/// ± 1 % a bias of 1 % would leave hardly more than half of the intervals true.
const COST_SHARE: f64 = 0.01;
const COST_OF_PRECISION: f64 = 0.5;
const MIN_ROUND_TRIPS: u32 = 16;
const MAX_ROUND_TRIPS: u32 = 1 << 16;
/// Round trips per batch before the pilot has timed one. They take less than 35 µs at the longest known latency (0.5
/// µs).
const PILOT_ROUND_TRIPS: u32 = 64;
/// Lines, round trips and warm-up of a pilot visit if full visits, with forty times the round trips, take too long.
const SHORT_PILOT: (u32, u32, u32) = (4, 4, 8);
/// Maximum time of one kernel in a visit, fifty times that of the slowest known interconnect. It limits lines and
/// warm-up.
const MAX_VISIT_NS: f64 = 100e6;
const MIN_LINES: u32 = 4;
/// Places of the pointer chase of `xfer`: too many to share prefetches, and few enough for the writer's L1 cache.
const CHASE_PLACES: u32 = 128;

#[derive(Debug, Clone)]
pub struct VisitPlan {
    /// Whether all cells fit into every pass with the whole ladder.
    pub tiny: bool,
    lines: u32,
    lines_are_requested: bool,
    sentinel_lines: u32,
    visits_per_line: u32,
    batch_ns: f64,
    home: HomeSetting,
    two_homes: Vec<bool>,
    relations: Vec<Relation>,
    /// The combinations of relation and `two_homes` that occur.
    kinds: BTreeSet<(Relation, bool)>,
    round_trip_ns: BTreeMap<Relation, f64>,
    counts: Counts,
    map: BTreeMap<(Relation, bool, u32), Arc<[SpanOrder]>>,
    other: BTreeMap<(&'static str, Relation, bool), Arc<[SpanOrder]>>,
}

fn registered(id: &KernelId) -> &'static Kernel {
    // A name made by `KernelId::new` is in the registry. A test checks all of them.
    kernel_by_id(id.as_str()).unwrap_or(&crate::probes::latency_turns::CAS)
}

/// Round trips of another tool's kernel in one ladder visit. They take 1 to 10 ms; the tool takes 20 to 1,000 ms.
const SHORT_ROUND_TRIPS: u32 = 20_000;

fn short_span(tool: Tool) -> SpanOrder {
    let mut order = Imitation::for_tool(tool).order();
    if let Sampling::Batches { visits, round_trips } = &mut order.sampling {
        *visits = (*visits).min((SHORT_ROUND_TRIPS / *round_trips).max(1));
    }
    order
}

impl VisitPlan {
    pub fn new(
        settings: &LatencySettings,
        topology: &Topology,
        pairs: &[[CpuId; 2]],
        clock: &ClockFacts,
    ) -> VisitPlan {
        let cpus = settings.cpus.len();
        let two_homes = |pair: &[CpuId; 2]| {
            settings.home == HomeSetting::Auto && topology.node_of(pair[0]) != topology.node_of(pair[1])
        };
        let two_homes: Vec<bool> = pairs.iter().map(two_homes).collect();
        let relations: Vec<Relation> = pairs.iter().map(|pair| topology.relation(pair[0], pair[1])).collect();
        // One by one, since a set collected from half a million values would sort them all.
        let mut kinds = BTreeSet::new();
        relations.iter().zip(&two_homes).for_each(|(&relation, &two_homes)| {
            kinds.insert((relation, two_homes));
        });
        let lines = settings.lines.unwrap_or(if cpus > LARGE_CPUS { LINES_ON_LARGE } else { LINES });
        let tiny = pairs.len() <= TINY_CELLS;
        let cost_share = (COST_OF_PRECISION * settings.precision).min(COST_SHARE);
        VisitPlan {
            tiny,
            lines,
            lines_are_requested: settings.lines.is_some(),
            sentinel_lines: if cpus > SMALL_CPUS { SENTINEL_LINES.min(lines) } else { lines },
            visits_per_line: if cpus > SMALL_CPUS || tiny { 1 } else { 3 },
            batch_ns: BATCH_NS
                .max(clock.step_ns.unwrap_or(0.0) / STEP_SHARE)
                .max(clock.cost_ns.unwrap_or(0.0) / cost_share),
            home: settings.home,
            two_homes,
            relations,
            kinds,
            round_trip_ns: BTreeMap::new(),
            counts: settings.counts,
            map: BTreeMap::new(),
            other: BTreeMap::new(),
        }
    }

    pub fn set_round_trips(&mut self, round_trip_ns: BTreeMap<Relation, f64>) {
        self.round_trip_ns = round_trip_ns;
    }

    /// Whether a visit times each line several times. The median then removes stalls.
    pub fn repeats_lines(&self) -> bool {
        self.visits_per_line > 1
    }

    pub fn round_trip_ns(&self, relation: Relation) -> Option<f64> {
        self.round_trip_ns.get(&relation).copied()
    }

    pub fn batch_round_trips(&self, relation: Relation) -> u32 {
        let Some(&round_trip_ns) = self.round_trip_ns.get(&relation) else { return PILOT_ROUND_TRIPS };
        let needed = (self.batch_ns / round_trip_ns.max(1.0)).ceil() as u32;
        needed.next_power_of_two().clamp(MIN_ROUND_TRIPS, MAX_ROUND_TRIPS)
    }

    /// The number of lines of a visit, at most `lines`. Unless the user requested the number, the time of a visit
    /// limits it.
    fn lines_in_time(&self, relation: Relation, lines: u32) -> u32 {
        if self.lines_are_requested {
            return lines;
        }
        let visits = f64::from(self.visits_per_line * self.batch_round_trips(relation));
        let line_ns = self.round_trip_ns(relation).unwrap_or(0.0) * visits;
        lines.min(((MAX_VISIT_NS / line_ns) as u32).max(MIN_LINES))
    }

    /// Untimed round trips, for at most a tenth of the time of a visit.
    fn warm_up(&self, relation: Relation) -> u32 {
        WARM_UP.min((0.1 * MAX_VISIT_NS / self.round_trip_ns(relation).unwrap_or(0.0)) as u32)
    }

    fn homes(&self, two_nodes: bool) -> Vec<HomeChoice> {
        match (self.home, two_nodes) {
            (HomeSetting::Node(node), _) => vec![HomeChoice::Node(node)],
            (HomeSetting::Auto, false) => vec![HomeChoice::OfRole(0)],
            (HomeSetting::Auto, true) => vec![HomeChoice::OfRole(0), HomeChoice::OfRole(1)],
        }
    }

    fn spans(
        &self,
        id: &KernelId,
        two_nodes: bool,
        lines: u32,
        sampling: Sampling,
        warm_up: u32,
    ) -> Vec<SpanOrder> {
        if let Some(tool) = Tool::ALL.into_iter().find(|&tool| KernelId::imitating(tool) == *id) {
            return vec![short_span(tool)];
        }
        let kernel = registered(id);
        let lines = if matches!(kernel.cost, Cost::Chase { .. }) { CHASE_PLACES } else { lines };
        let span = |home| SpanOrder { kernel, home, lines, walk: Walk::FreshRuns, warm_up, sampling };
        self.homes(two_nodes).into_iter().map(span).collect()
    }

    /// Prepares the spans of the map in the order of its kernels. `extra` is the sentinel if no map shows it.
    pub fn prepare_map(&mut self, shown: &[KernelId], extra: &[KernelId], passes: u32) {
        self.map.clear();
        for (relation, two_nodes) in self.kinds.clone() {
            for pass in 0..self.variants(passes) {
                let mut orders = Vec::new();
                for kernel in shown {
                    orders.extend(self.spans(
                        kernel,
                        two_nodes,
                        self.map_lines(relation, pass, passes),
                        self.map_sampling(relation, pass, passes),
                        self.warm_up(relation),
                    ));
                }
                for kernel in extra {
                    let lines = if self.tiny { self.lines } else { self.sentinel_lines };
                    let lines = self.lines_in_time(relation, lines);
                    let sampling =
                        Sampling::Batches { visits: 1, round_trips: self.batch_round_trips(relation) };
                    // Any home node shows the states of the machine, so one suffices.
                    orders.extend(self.spans(kernel, false, lines, sampling, self.warm_up(relation)));
                }
                self.map.insert((relation, two_nodes, pass), orders.into());
            }
        }
    }

    /// Number of distinct passes. Those of a fixed count may differ by one line; adaptive passes are equal.
    fn variants(&self, passes: u32) -> u32 {
        match self.counts {
            Counts::Adaptive => 1,
            Counts::Fixed { .. } => passes,
        }
    }

    fn map_lines(&self, relation: Relation, pass: u32, passes: u32) -> u32 {
        match self.counts {
            Counts::Adaptive => self.lines_in_time(relation, self.lines),
            Counts::Fixed { samples, .. } => fixed_visit(samples, passes, pass).0,
        }
    }

    fn map_sampling(&self, relation: Relation, pass: u32, passes: u32) -> Sampling {
        match self.counts {
            Counts::Adaptive => Sampling::Batches {
                visits: self.visits_per_line,
                round_trips: self.batch_round_trips(relation),
            },
            Counts::Fixed { samples, iterations } => {
                Sampling::Batches { visits: fixed_visit(samples, passes, pass).1, round_trips: iterations }
            }
        }
    }

    pub fn map(&self, cell: usize, pass: u32) -> Arc<[SpanOrder]> {
        let kind = (self.relations[cell], self.two_homes[cell]);
        let variant = if self.counts == Counts::Adaptive { 0 } else { pass };
        self.map.get(&(kind.0, kind.1, variant)).cloned().unwrap_or_else(|| Vec::new().into())
    }

    /// Prepares other spans under a name: these kernels in this order, with one visit per line.
    pub fn prepare_other(&mut self, name: &'static str, kernels: &[KernelId], lines: u32) {
        for (relation, two_nodes) in self.kinds.clone() {
            let sampling = Sampling::Batches { visits: 1, round_trips: self.batch_round_trips(relation) };
            let (lines, warm_up) = (self.lines_in_time(relation, lines), self.warm_up(relation));
            let spans =
                kernels.iter().flat_map(|kernel| self.spans(kernel, two_nodes, lines, sampling, warm_up));
            let orders: Vec<SpanOrder> = spans.collect();
            self.other.insert((name, relation, two_nodes), orders.into());
        }
    }

    pub fn prepare_events(
        &mut self,
        name: &'static str,
        kernel: &KernelId,
        round_trips: impl Fn(Relation) -> u64,
    ) {
        for (relation, two_nodes) in self.kinds.clone() {
            let sampling = Sampling::Events { round_trips: round_trips(relation) };
            let orders = self.spans(kernel, false, 1, sampling, self.warm_up(relation));
            self.other.insert((name, relation, two_nodes), orders.into());
        }
    }

    pub fn shorten(&mut self, name: &'static str) {
        let (lines, round_trips, warm_up) = SHORT_PILOT;
        for (_, orders) in self.other.iter_mut().filter(|((prepared, ..), _)| *prepared == name) {
            let places = |order: &SpanOrder| match order.kernel.cost {
                Cost::Chase { .. } => order.lines,
                Cost::PingPong { .. } | Cost::Stamp { .. } => order.lines.min(lines),
            };
            let short = |order: &SpanOrder| SpanOrder {
                lines: places(order),
                warm_up,
                sampling: Sampling::Batches { visits: 1, round_trips },
                ..order.clone()
            };
            *orders = orders.iter().map(short).collect();
        }
    }

    pub fn other(&self, name: &'static str, cell: usize) -> Arc<[SpanOrder]> {
        let key = (name, self.relations[cell], self.two_homes[cell]);
        self.other.get(&key).cloned().unwrap_or_else(|| Vec::new().into())
    }
}

/// Number of passes for a fixed count of samples, at least `least` because longer passes would take too long.
///
/// A pass of whole runs of 16 lines covers every slice equally. A partial run omits some slices, different ones in each
/// pass. This doubles the scatter of a pair's passes and biases their median. With 300 samples, 24 passes of 12 or 13
/// lines had a median half width of 0.70 %, 18 passes of 16 lines 0.45 % (simulated). So there are as many passes as
/// whole runs, up to a second analysis. If these are fewer than a first analysis, passes are shorter.
pub fn fixed_passes(samples: u32, least: u32) -> u32 {
    let (fewest, most) = (ANALYSES[0] as u32, ANALYSES[1] as u32);
    (samples / RUN).clamp(fewest, most).max(least).min(samples)
}

/// Lines and visits per line in one pass of a fixed count. All passes together have exactly the requested samples.
fn fixed_visit(samples: u32, passes: u32, pass: u32) -> (u32, u32) {
    let (runs, rest) = (samples / RUN, samples % RUN);
    if runs < passes {
        // The first passes take the remainder.
        return (samples / passes + u32::from(pass < samples % passes), 1);
    }
    if samples <= LINES * passes {
        // Whole runs. The last pass, which is never the longest, takes the remainder.
        let runs = runs / passes + u32::from(pass < runs % passes);
        return (RUN * runs + if pass + 1 == passes { rest } else { 0 }, 1);
    }
    // Whole sets of lines. The last pass takes the remainder.
    let (sets, rest) = (samples / LINES, samples % LINES);
    let full = passes - u32::from(rest > 0);
    if pass == full { (rest, 1) } else { (LINES, sets / full + u32::from(pass < sets % full)) }
}

/// The kernels that the pilot times, which are all that the maps may use.
pub fn candidates(settings: &LatencySettings) -> Vec<KernelId> {
    let mut kernels: Vec<KernelId> = Vec::new();
    for &protocol in settings.protocols.iter().filter(|&&protocol| protocol != Protocol::OneWay) {
        let hints: &[Hint] = match settings.hint {
            _ if !protocol.spins() => &[Hint::None],
            HintChoice::Auto => &[Hint::None, Hint::Pause],
            HintChoice::None => &[Hint::None],
            HintChoice::Pause => &[Hint::Pause],
        };
        kernels.extend(hints.iter().map(|&hint| KernelId::new(protocol, hint)));
    }
    kernels
}

pub fn ladder_kernels() -> Vec<KernelId> {
    let hints = [Hint::None, Hint::Pause];
    let mut kernels: Vec<KernelId> = [Protocol::Cas, Protocol::Store, Protocol::Msg]
        .into_iter()
        .flat_map(|protocol| hints.map(|hint| KernelId::new(protocol, hint)))
        .collect();
    kernels.push(RING_PAUSE.id.clone());
    kernels.push(KernelId::new(Protocol::Xfer, Hint::None));
    kernels
}

pub const LADDER_TOOLS: [Tool; 2] = [Tool::CoreToCoreLatency, Tool::C2clat];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_counts_are_met_to_the_sample() {
        let few = [(1, 1), (23, 8), (127, 8), (300, 18), (383, 23)];
        let many = [395, 1_535, 1_536, 1_537, 100_000].map(|samples| (samples, 24));
        for (samples, passes) in few.into_iter().chain(many) {
            assert_eq!(fixed_passes(samples, 0), passes, "{samples}");
            let visits = (0..passes).map(|pass| fixed_visit(samples, passes, pass));
            let made: Vec<u32> = visits.map(|(lines, visits)| lines * visits).collect();
            assert_eq!(made.iter().sum::<u32>(), samples, "{samples} in {passes}");
            assert!(made.iter().all(|&made| made > 0), "{samples} in {passes}: {made:?}");
            let whole = made[..made.len() - 1].iter().all(|made| made % RUN == 0);
            assert!(whole || samples < RUN * passes, "{samples} in {passes}: {made:?}");
        }
        for (samples, least, passes) in [(1_000_000, 999, 999), (16, 999, 16), (300, 100, 100)] {
            assert_eq!(fixed_passes(samples, least), passes);
            let visits = (0..passes).map(|pass| fixed_visit(samples, passes, pass));
            assert_eq!(visits.map(|(lines, visits)| lines * visits).sum::<u32>(), samples);
        }
    }
}
