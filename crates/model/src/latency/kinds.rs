//! [`Kinds`]: the kinds of cores of a pair, on a machine that has several.

use crate::{CpuId, Topology};
use std::cmp::Reverse;

/// The kinds of the two cores of a pair. In order: pairs of fast cores come before those of slow ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kinds {
    ranks: [Reverse<u32>; 2],
    names: [String; 2],
}

impl Kinds {
    /// `None` on a machine with one kind of core, and where the kind of one of the two is not known.
    pub fn of(topology: &Topology, [a, b]: [CpuId; 2]) -> Option<Kinds> {
        let (mut fast, mut slow) = (topology.class_of(a)?, topology.class_of(b)?);
        if topology.classes().len() < 2 {
            return None;
        }
        if fast.rank < slow.rank {
            std::mem::swap(&mut fast, &mut slow);
        }
        Some(Kinds {
            ranks: [Reverse(fast.rank), Reverse(slow.rank)],
            names: [fast.name.clone(), slow.name.clone()],
        })
    }

    /// Their names, the faster kind first.
    pub fn names(&self) -> &[String; 2] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::CoreClass;
    use std::collections::BTreeMap;

    fn machine(kinds: &[(u32, &str)]) -> Topology {
        let class = |&(rank, name): &(u32, &str)| CoreClass { rank, name: name.into() };
        let classes: BTreeMap<CpuId, CoreClass> =
            kinds.iter().enumerate().map(|(cpu, kind)| (CpuId(cpu as u32), class(kind))).collect();
        Topology::new((0..4).map(CpuId).collect(), Vec::new(), classes)
    }

    #[test]
    fn the_faster_kind_stands_first_whatever_the_order_of_the_pair() {
        let hybrid = machine(&[(0, "E"), (1, "P"), (0, "E"), (1, "P")]);
        let of = |a, b| Kinds::of(&hybrid, [CpuId(a), CpuId(b)]).unwrap();
        assert_eq!((of(0, 1), of(0, 1).names().join("–")), (of(1, 0), "P–E".to_owned()));
        assert!(of(1, 3) < of(0, 1) && of(0, 1) < of(0, 2));
    }

    #[test]
    fn one_kind_of_core_is_no_kind_and_an_unknown_one_neither() {
        let pair = [CpuId(0), CpuId(1)];
        assert_eq!(Kinds::of(&machine(&[(0, "P"), (0, "P")]), pair), None);
        assert_eq!(Kinds::of(&machine(&[(0, "P")]), pair), None);
    }
}
