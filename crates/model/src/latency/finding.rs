//! [`MapFinding`]: the main finding of a map of several pairs. [`TailFinding`]: the slowest hops.

use super::result::{LatencyMap, StateWatch, TailSeries};
use super::summary::{
    ClassPair, OfRelation, VISIBLE_CONTRAST, by_relation, class_pairs, counts_total, overall, state_contrast,
};
use crate::histogram::tells;
use crate::infer::levels_changed;
use crate::stats::Estimate;
use crate::{CpuId, Relation, Topology};

/// Beyond this number, only the nearest, the farthest and the extremes are named.
const MAX_NAMED: usize = 4;
const WIDE_RANGE: f64 = 1.3;

/// The main finding of a map of several pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct MapFinding {
    /// How the groups of pairs compare.
    pub shape: MapShape,
    /// The groups in the order of a sentence: from near to far, or by kind of core. Threads of one core are separate.
    pub groups: Vec<PairGroup>,
    /// Pairs of threads of one core, if the machine has one kind of core.
    pub siblings: Option<PairGroup>,
    /// Whether every pair of the machine has a value.
    pub is_whole: bool,
    /// Whether one number represents every pair.
    pub is_uniform: bool,
    /// Whether most pairs have a flag for a possibly wrong value.
    pub is_doubtful: bool,
    /// The levels between which the machine moved. The value of each pair is then its most frequent level.
    pub levels: Option<MovingLevels>,
}

/// How the groups of a map compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapShape {
    /// Groups by kind of core, on a hybrid machine.
    Kinds {
        /// Whether pairs inside a cluster are visibly slower than pairs of the same kinds in different clusters.
        slower_inside: bool,
    },
    /// One relation whose pairs are alike.
    OneLevel,
    /// One relation with different pairs. The median represents none of them.
    Spread,
    /// Several relations without a visible difference. Only the first is given.
    NearAndFarAlike,
    /// Several relations, from near to far.
    Levels {
        /// Whether the nearest relation is visibly slower than the farthest.
        slower_inside: bool,
    },
}

/// Pairs of one relation.
#[derive(Debug, Clone, PartialEq)]
pub struct PairGroup {
    /// The relation.
    pub relation: Relation,
    /// The kinds of the two cores, the faster first, if the map is grouped by kind.
    pub classes: Option<[String; 2]>,
    /// Median in nanoseconds.
    pub median_ns: f64,
    /// Fastest and slowest pair in nanoseconds.
    pub range_ns: [f64; 2],
    /// Number of pairs with a value.
    pub pairs: u64,
}

/// Levels between which a machine moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovingLevels {
    /// The pair that shows the levels, if it is a single pair.
    pub pair: Option<[CpuId; 2]>,
    /// The most frequent level.
    pub usual: Estimate,
    /// Share of the most frequent level in the passes, 0 to 1.
    pub share: f64,
    /// The slowest level, for use in planning.
    pub planned: Estimate,
    /// The fastest level.
    pub fastest: Estimate,
}

impl MovingLevels {
    /// The levels of the observed states, equal for a single state; `None` without states or a usual value.
    pub fn from_watch(watch: &StateWatch) -> Option<MovingLevels> {
        let levels = || watch.states.iter().filter_map(|state| Some(state.kernels.first()?.1));
        let by_point = |a: &Estimate, b: &Estimate| a.point.total_cmp(&b.point);
        let common = watch.states.first()?;
        Some(MovingLevels {
            pair: watch.pair,
            usual: common.kernels.first()?.1,
            share: common.share,
            planned: levels().max_by(by_point)?,
            fastest: levels().min_by(by_point)?,
        })
    }
}

impl MapFinding {
    /// The finding of a map; `None` without values, or for quantities other than latency.
    pub fn find(map: &LatencyMap, watch: Option<&StateWatch>, topology: &Topology) -> Option<MapFinding> {
        if !map.protocol.is_latency() {
            return None;
        }
        let rows = by_relation(map, topology);
        let classes = class_pairs(map, topology);
        let all = overall(map);
        let cpus = topology.cpus().len() as u64;
        let (shape, groups) = match classes.is_empty() {
            true => by_distance(&rows),
            false => by_kinds(classes),
        };
        let siblings = rows.iter().find(|row| row.relation == Relation::Smt).map(PairGroup::from);
        let finding = MapFinding {
            siblings: siblings.filter(|_| !matches!(shape, MapShape::Kinds { .. })),
            shape,
            groups,
            is_whole: map.cells.len() as u64 == cpus && all.measured == cpus * (cpus - 1) / 2,
            is_uniform: all.min.zip(all.max).is_some_and(|(min, max)| max.ns / min.ns < WIDE_RANGE),
            is_doubtful: 2 * all.doubtful > all.measured,
            levels: watch
                .filter(|watch| {
                    levels_changed(watch)
                        && state_contrast(watch).is_some_and(|contrast| contrast.of_headline)
                })
                .and_then(MovingLevels::from_watch),
        };
        (!finding.groups.is_empty() || finding.siblings.is_some()).then_some(finding)
    }

    /// The ratio of the farthest group to the nearest; `None` if the shape is not [`MapShape::Levels`].
    pub fn ratio(&self) -> Option<f64> {
        let (first, last) = (self.groups.first()?, self.groups.last()?);
        matches!(self.shape, MapShape::Levels { .. }).then(|| last.median_ns / first.median_ns)
    }
}

/// The slowest hops of all pairs with recorded single events, without half a clock read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailFinding {
    /// The pair with the largest 99.9th percentile.
    pub pair: [CpuId; 2],
    /// The 99.9th percentile in nanoseconds.
    pub p99_9_ns: f64,
    /// Number of hops of that pair.
    pub events: u64,
    /// Number of hops beyond the percentile.
    pub beyond: u64,
    /// The pair with the slowest hop.
    pub slowest_pair: [CpuId; 2],
    /// The slowest hop in nanoseconds.
    pub slowest_ns: f64,
}

impl TailFinding {
    /// The tails of a run; `None` if no pair has enough events for a 99.9th percentile.
    pub fn find(tails: &[TailSeries]) -> Option<TailFinding> {
        const SHARE: f64 = 0.999;
        let percentiles = |share| {
            let known = tails.iter().filter(move |tail| tells(counts_total(&tail.raw), share));
            known.filter_map(move |tail| Some((tail, tail.net_ns(share)?)))
        };
        let (pair, p99_9_ns) = percentiles(SHARE).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (slowest, slowest_ns) = percentiles(1.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let events = counts_total(&pair.raw);
        Some(TailFinding {
            pair: pair.placement,
            p99_9_ns,
            events,
            beyond: events / 1000,
            slowest_pair: slowest.placement,
            slowest_ns,
        })
    }
}

/// Whether all pairs of different cores of a map are alike, near or far.
pub fn is_flat(map: &LatencyMap, topology: &Topology) -> bool {
    let rows = by_relation(map, topology);
    let ranges = || of_different_cores(&rows).map(|row| row.range_ns);
    let high = ranges().map(|[_, high]| high).fold(0.0, f64::max);
    high / ranges().map(|[low, _]| low).fold(f64::INFINITY, f64::min) < WIDE_RANGE
}

fn of_different_cores(rows: &[OfRelation]) -> impl Iterator<Item = &OfRelation> {
    rows.iter().filter(|row| !matches!(row.relation, Relation::SameCpu | Relation::Smt))
}

fn by_distance(rows: &[OfRelation]) -> (MapShape, Vec<PairGroup>) {
    let mut groups: Vec<PairGroup> = of_different_cores(rows).map(PairGroup::from).collect();
    let medians = || groups.iter().map(|group| group.median_ns);
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let shape = match &groups[..] {
        [] => MapShape::OneLevel,
        [PairGroup { range_ns: [low, high], .. }] if high / low < WIDE_RANGE => MapShape::OneLevel,
        [_] => MapShape::Spread,
        _ if most / least < VISIBLE_CONTRAST => MapShape::NearAndFarAlike,
        [first, .., last] => {
            MapShape::Levels { slower_inside: last.median_ns * VISIBLE_CONTRAST <= first.median_ns }
        }
    };
    match shape {
        MapShape::NearAndFarAlike => groups.truncate(1),
        MapShape::Levels { .. } if groups.len() > MAX_NAMED => {
            let end = groups.len() - 1;
            let mut index = 0..;
            groups.retain(|group| {
                let at = index.next().unwrap_or(end);
                at == 0 || at == end || group.median_ns == least || group.median_ns == most
            });
        }
        _ => {}
    }
    (shape, groups)
}

fn by_kinds(classes: Vec<ClassPair>) -> (MapShape, Vec<PairGroup>) {
    let groups = classes.into_iter().filter(|class| class.relation != Relation::Smt).map(|class| PairGroup {
        relation: class.relation,
        classes: Some(class.classes),
        median_ns: class.median_ns,
        range_ns: class.range_ns,
        pairs: class.pairs,
    });
    let groups: Vec<PairGroup> = groups.collect();
    let is_slower = |inside: &PairGroup| {
        let outside =
            |group: &&PairGroup| group.classes == inside.classes && group.relation != Relation::Cluster;
        inside.relation == Relation::Cluster
            && groups
                .iter()
                .filter(outside)
                .any(|group| inside.median_ns > VISIBLE_CONTRAST * group.median_ns)
    };
    let slower_inside = groups.iter().any(is_slower);
    (MapShape::Kinds { slower_inside }, groups)
}

impl From<&OfRelation> for PairGroup {
    fn from(row: &OfRelation) -> PairGroup {
        let OfRelation { relation, median_ns, range_ns, pairs } = *row;
        PairGroup { relation, classes: None, median_ns, range_ns, pairs }
    }
}
