//! Levels that a whole machine cannot have: where its smallest groups are all of one size and hold every CPU, larger
//! ones that take in some of them and leave others are what a tool has done to the values, as where lines live in one
//! socket.

use super::distances::Distances;
use super::partition::Partition;
use super::solid;

/// Fewer groups could be what a container was given.
const WHOLE: usize = 8;
/// Groups of a whole machine differ by less than this factor: some cores of a package may be off.
const MOST_UNEQUAL: usize = 4;

/// The level that divides a whole machine into the smallest groups below this one, if there is one.
pub(super) fn whole<'a>(
    level: &Partition,
    levels: impl Iterator<Item = &'a Partition>,
) -> Option<&'a Partition> {
    let finer = levels.filter(|finer| finer.pairs() < level.pairs() && finer.is_within(level));
    finer.filter(|finer| finer.regular().is_some()).max_by_key(|finer| finer.pairs())
}

/// Groups of a level that a finer one has too.
fn kept(level: &Partition, finer: &Partition) -> usize {
    level.groups().iter().filter(|group| finer.groups().contains(group)).count()
}

/// Whether a level leaves two groups or more of a whole machine as they are, or has groups of most different sizes.
pub(super) fn is_odd(level: &Partition, finer: Option<&Partition>) -> bool {
    let Some(finer) = finer.filter(|finer| finer.groups().len() >= WHOLE) else { return false };
    let sizes = level.groups().iter().map(Vec::len);
    let (least, most) = sizes.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
    kept(level, finer) > 1 || most >= MOST_UNEQUAL * least
}

/// The one group that a level adds to a whole machine of which it leaves others as they are: one socket of two that
/// shows, or one die of many.
pub(super) fn is_half(level: &Partition, finer: Option<&Partition>) -> Option<Vec<usize>> {
    let finer = finer?;
    let mut new = level.groups().iter().filter(|group| !finer.groups().contains(group));
    let (group, None) = (new.next()?, new.next()) else { return None };
    let is_half = 2 * group.len() == level.cpus();
    (kept(level, finer) > 1 && (is_half || finer.groups().len() >= WHOLE)).then(|| group.clone())
}

/// Whether all groups of a level are also groups of a whole machine, which has more that stand out: some of its pairs
/// read slower than the others.
pub(super) fn is_part(level: &Partition, levels: &[Partition], distances: &Distances) -> bool {
    let all: Vec<usize> = (0..distances.len()).collect();
    let others = levels.iter().filter(|whole| whole.regular().is_some() && whole.groups() != level.groups());
    let mut wholes = others.filter(|whole| level.groups().iter().all(|group| whole.groups().contains(group)));
    wholes.any(|whole| {
        let mut more = whole.groups().iter().filter(|group| !level.groups().contains(group));
        more.all(|group| solid::stands_out(group, &all, solid::CLEAR_RATIO, distances))
    })
}
