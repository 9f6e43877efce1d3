//! [`Arena`]: the measured memory, and the choice of cache lines for a span.
//!
//! A span gets aligned runs of 16 consecutive lines. With 16 L3 slices such a run hits each slice once (McCalpin,
//! TR-2021-03), so it is a stratified sample. Runs are in different 4 KiB frames, since memory-side homes and channels
//! interleave by frames. Concurrent pairs of CPUs get disjoint runs of complete line pairs. So the 128-byte prefetch of
//! line pairs never crosses between pairs of CPUs.

use super::memory::Region;
use crate::kernel_context::Line;
use crate::machine::Walk;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Lines per run.
pub const RUN: usize = 16;
const FRAME_BYTES: usize = 4096;
/// First frames of every region, reserved for [`Walk::OnePlace`]. They suffice for 64 concurrent pairs with two lines
/// each.
const FRAMES_KEPT: usize = 8;

/// Memory for measured lines, by NUMA node.
#[derive(Debug)]
pub struct Arena {
    regions: BTreeMap<u32, Vec<Arc<Region>>>,
    /// Structures of 64 bytes per cache line: 1 for lines of 64 bytes, 2 for lines of 128.
    stride: usize,
}

/// Lines of one span in the order of access, with the memory that contains them.
#[derive(Debug)]
pub struct Places {
    /// The lifetime `'static` stays private: [`Places::lines`] shortens it to that of the struct, which owns the
    /// regions.
    lines: Vec<&'static Line>,
    is_elsewhere: bool,
    _regions: Vec<Arc<Region>>,
}

impl Places {
    /// Lines at the given (region, index) positions; `None` if a position does not exist.
    fn new(regions: &[Arc<Region>], positions: impl Iterator<Item = (usize, usize)>) -> Option<Places> {
        let regions = regions.to_vec();
        let mut is_elsewhere = false;
        let line = |(region, index): (usize, usize)| {
            let region = regions.get(region)?;
            is_elsewhere |= region.is_elsewhere;
            let line = std::ptr::from_ref(region.lines().get(index)?);
            // SAFETY: the region keeps the memory of the line mapped. The struct below owns the region as long as the
            // reference, and lends the reference only with its own lifetime.
            Some(unsafe { &*line })
        };
        let lines = positions.map(line).collect::<Option<Vec<&'static Line>>>()?;
        Some(Places { lines, is_elsewhere, _regions: regions })
    }

    /// Whether a line may be on another node than requested, because part of its region is.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// Lines for a stage.
    pub fn lines(&self) -> &[&Line] {
        &self.lines
    }
}

/// A run of lines: index of the region, and index of the run in the region.
type RunId = (usize, usize);

/// Runs assigned in one round. No run is assigned twice.
#[derive(Debug, Default)]
pub struct UsedRuns(HashSet<(u32, RunId)>);

/// Lines requested for a span.
#[derive(Debug, Clone, Copy)]
pub struct LineRequest {
    /// NUMA node.
    pub node: u32,
    /// Index of the concurrent pair in its round, from 0.
    pub pair: usize,
    /// Number of places to visit.
    pub places: usize,
    /// Lines per place.
    pub lines_per_place: usize,
    /// Choice of places.
    pub walk: Walk,
}

impl LineRequest {
    /// Number of runs needed.
    pub fn runs(&self) -> usize {
        match self.walk {
            Walk::FreshRuns => {
                self.places.div_ceil(self.places_per_run()).next_multiple_of(self.lines_per_place.max(1))
            }
            Walk::OnePlace => 0,
        }
    }

    /// Number of places whose first line is in the same run. Their other lines are in other runs.
    fn places_per_run(&self) -> usize {
        (RUN / self.lines_per_place.max(1)).max(1)
    }
}

impl Arena {
    /// Creates an empty arena for cache lines of `line_bytes`.
    pub fn new(line_bytes: usize) -> Arena {
        Arena { regions: BTreeMap::new(), stride: line_bytes.clamp(64, 256).next_power_of_two() / 64 }
    }

    /// Number of regions to add, so that `runs` runs can be drawn at random from at least twice as many.
    pub fn missing(&self, node: u32, runs: usize) -> usize {
        let have = self.regions.get(&node).map_or(0, Vec::len);
        (2 * runs).div_ceil(self.runs_per_region()).max(1).saturating_sub(have)
    }

    /// Adds a region.
    pub fn add(&mut self, region: Region) {
        self.regions.entry(region.node()).or_default().push(Arc::new(region));
    }

    /// All regions.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        self.regions.values().flatten().map(|region| &**region)
    }

    /// Draws the lines of a span; `None` if the node has too little memory.
    pub fn draw(&self, wanted: LineRequest, draws: &mut Draws, used: &mut UsedRuns) -> Option<Places> {
        match wanted.walk {
            Walk::FreshRuns => self.fresh_runs(wanted, draws, used),
            Walk::OnePlace => self.one_place(wanted),
        }
    }

    fn fresh_runs(&self, wanted: LineRequest, draws: &mut Draws, used: &mut UsedRuns) -> Option<Places> {
        let regions = self.regions.get(&wanted.node)?;
        let runs = self.distinct_runs(wanted, draws, used)?;
        // With two lines per place, the first is an even line of a run. The second is an odd line of another run, half
        // of all runs away. The prefetcher combines pairs of lines. Two lines of one place never share such a pair, nor
        // do the first lines of two places.
        let (per_run, layers) = (wanted.places_per_run(), wanted.lines_per_place);
        let mut order: Vec<usize> = (0..wanted.places).collect();
        draws.shuffle(&mut order);
        let lines_of = |place: usize| (0..layers).map(move |layer| (place, layer));
        let positions = order.into_iter().flat_map(lines_of).map(|(place, layer)| {
            let (region, run) = runs[(place / per_run + layer * runs.len() / layers) % runs.len()];
            let within = place % per_run * layers + layer;
            (region, (run * RUN + within) * self.stride)
        });
        Places::new(regions, positions)
    }

    fn distinct_runs(
        &self,
        wanted: LineRequest,
        draws: &mut Draws,
        used: &mut UsedRuns,
    ) -> Option<Vec<RunId>> {
        let regions = self.regions.get(&wanted.node)?;
        let kept = FRAMES_KEPT * self.runs_per_frame();
        let usable = self.runs_per_region() - kept;
        let mut frames = HashSet::new();
        let mut runs = Vec::with_capacity(wanted.runs());
        while runs.len() < wanted.runs() {
            // Half of the runs are free (`missing`), so few attempts suffice. The last resort is any free run.
            let mut found = None;
            for attempt in 0..128 {
                let run = (draws.below(regions.len()), kept + draws.below(usable));
                let frame = (run.0, run.1 / self.runs_per_frame());
                let new_frame = attempt >= 64 || !frames.contains(&frame);
                if new_frame && !used.0.contains(&(wanted.node, run)) {
                    found = Some(run);
                    break;
                }
            }
            let run = found.or_else(|| {
                let all = (0..regions.len()).flat_map(|r| (kept..kept + usable).map(move |run| (r, run)));
                all.into_iter().find(|&run| !used.0.contains(&(wanted.node, run)))
            })?;
            used.0.insert((wanted.node, run));
            frames.insert((run.0, run.1 / self.runs_per_frame()));
            runs.push(run);
        }
        Some(runs)
    }

    /// The same place for every visit and round, one per concurrent pair. No two of these lines share a pair of lines.
    fn one_place(&self, wanted: LineRequest) -> Option<Places> {
        let regions = self.regions.get(&wanted.node)?;
        let spacing = 4 * self.stride;
        let slots = FRAMES_KEPT * FRAME_BYTES / size_of::<Line>() / spacing;
        let place = (0..wanted.lines_per_place)
            .map(|layer| 2 * wanted.pair + layer)
            .map(|slot| (slot / slots, slot % slots * spacing));
        Places::new(regions, place.cycle().take(wanted.places * wanted.lines_per_place))
    }

    fn runs_per_frame(&self) -> usize {
        // With 256-byte lines a run fills a frame.
        (FRAME_BYTES / (RUN * self.stride * size_of::<Line>())).max(1)
    }

    fn runs_per_region(&self) -> usize {
        super::memory::REGION_BYTES / FRAME_BYTES * self.runs_per_frame()
    }
}

/// Random numbers that depend only on a key. The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// Random numbers of stream `stream` of a key.
    pub fn new(key: u64, stream: u64) -> Draws {
        let mut mixed = Draws(key ^ stream.wrapping_mul(0xA076_1D64_78BD_642F));
        mixed.bits();
        mixed
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 if `end` is 0. The bias is below `end / 2⁶⁴`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Shuffles the items (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arena(line_bytes: usize) -> Arena {
        let mut arena = Arena::new(line_bytes);
        arena.add(Region::map(0).unwrap());
        arena
    }

    fn addresses(places: &Places) -> Vec<usize> {
        places.lines().iter().map(|line| std::ptr::from_ref(*line) as usize).collect()
    }

    fn draw(arena: &Arena, wanted: LineRequest, key: u64) -> Option<Places> {
        arena.draw(wanted, &mut Draws::new(key, 0), &mut UsedRuns::default())
    }

    const FRESH: LineRequest =
        LineRequest { node: 0, pair: 0, places: 64, lines_per_place: 1, walk: Walk::FreshRuns };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn concurrent_spans_share_no_line_and_no_pair_of_lines(
            key in any::<u64>(), places in 1usize..130, lines_per_place in 1usize..7, line_bytes in prop::sample::select(vec![64, 128, 256]),
        ) {
            let arena = arena(line_bytes);
            let mut used = UsedRuns::default();
            let wanted = LineRequest { places, lines_per_place, ..FRESH };
            let mut seen = HashSet::new();
            for pair in 0..4 {
                let drawn = arena.draw(wanted, &mut Draws::new(key, pair), &mut used).unwrap();
                let lines = addresses(&drawn);
                prop_assert_eq!(lines.len(), places * lines_per_place);
                let blocks: HashSet<usize> = lines.iter().map(|line| line / line_bytes.max(128)).collect();
                prop_assert_eq!(lines.iter().collect::<HashSet<_>>().len(), lines.len(), "a line came twice");
                for block in blocks {
                    prop_assert!(seen.insert(block), "two pairs share a block of 128 bytes");
                }
                let firsts: HashSet<usize> = lines.iter().step_by(lines_per_place).map(|line| line / 128).collect();
                prop_assert!(lines_per_place == 1 || firsts.len() == places, "two first lines share a pair");
                for place in lines.chunks(lines_per_place).filter(|place| place.len() == 2) {
                    prop_assert!(place[0] / FRAME_BYTES != place[1] / FRAME_BYTES, "both lines of a place in one frame");
                }
            }
        }

        #[test]
        fn sixty_four_places_use_at_least_four_frames(key in any::<u64>()) {
            let arena = arena(64);
            let lines = addresses(&draw(&arena, FRESH, key).unwrap());
            let frames: HashSet<usize> = lines.iter().map(|line| line / FRAME_BYTES).collect();
            prop_assert!(frames.len() >= 4, "{} frames", frames.len());
        }
    }

    #[test]
    fn the_key_decides_the_lines() {
        let arena = arena(64);
        let lines = |key| addresses(&draw(&arena, FRESH, key).unwrap());
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
    }

    #[test]
    fn one_place_is_the_same_place_in_every_round() {
        let arena = arena(64);
        let lines = |pair, key| {
            let wanted = LineRequest { pair, places: 5, lines_per_place: 2, walk: Walk::OnePlace, ..FRESH };
            addresses(&draw(&arena, wanted, key).unwrap())
        };
        let first = lines(0, 1);
        assert_eq!(first.len(), 10);
        assert!(first.chunks(2).all(|place| place == &first[..2]), "{first:x?}");
        assert_eq!(first, lines(0, 2));
        let both: HashSet<usize> = first.iter().chain(&lines(1, 1)).map(|line| line / 128).collect();
        assert_eq!(both.len(), 4, "concurrent pairs share a place");
    }

    #[test]
    fn a_region_on_another_node_does_not_affect_the_others() {
        let mut arena = arena(64);
        let mut other = Region::map(0).unwrap();
        other.is_elsewhere = true;
        arena.add(other);
        let regions: Vec<_> = arena.regions().collect();
        let is_away = |walk, key| {
            let drawn = draw(&arena, LineRequest { places: 1, walk, ..FRESH }, key).unwrap();
            let away = regions[1].lines().as_ptr_range().contains(&std::ptr::from_ref(drawn.lines()[0]));
            assert_eq!(drawn.is_elsewhere(), away, "{walk:?} {key}");
            away
        };
        let away = (0..40).filter(|&key| is_away(Walk::FreshRuns, key)).count();
        assert!((1..40).contains(&away), "{away} of 40");
        assert!(!is_away(Walk::OnePlace, 0));
    }

    #[test]
    fn a_node_without_memory_gives_none() {
        assert!(draw(&arena(64), LineRequest { node: 7, ..FRESH }, 0).is_none());
    }

    #[test]
    fn a_key_and_a_stream_decide_everything() {
        let first_two = |key, stream| {
            let mut draws = Draws::new(key, stream);
            [draws.bits(), draws.bits()]
        };
        assert_eq!(first_two(1, 2), first_two(1, 2));
        assert_ne!(first_two(1, 2), first_two(1, 3));
        assert_ne!(first_two(1, 2), first_two(2, 2));
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_reaches_every_place() {
        let mut first_places = [0; 8];
        for key in 0..400 {
            let mut items: Vec<usize> = (0..8).collect();
            Draws::new(key, 0).shuffle(&mut items);
            first_places[items[0]] += 1;
            items.sort();
            assert_eq!(items, (0..8).collect::<Vec<_>>());
        }
        assert!(first_places.iter().all(|&count| count > 20), "{first_places:?}");
    }
}
