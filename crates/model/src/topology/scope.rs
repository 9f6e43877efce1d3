use super::{Level, Relation, Topology};

/// What the pairs of a relation share on this machine, such as a package, or a package across its L3 caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One CPU.
    SameCpu,
    /// Threads of a core, which nodes or other levels may divide.
    Threads(Option<Level>),
    /// One domain of the first level, and different domains of the second if the second divides the first.
    Inside(Level, Option<Level>),
    /// Different domains of a level.
    Across(Level),
    /// Nothing but the machine.
    Machine,
}

impl Scope {
    /// The scope of a relation.
    pub fn from_relation(relation: Relation, topology: &Topology) -> Scope {
        if relation == Relation::SameCpu {
            return Scope::SameCpu;
        }
        let level = topology.levels().into_iter().find(|&level| Relation::from_level(level) == relation);
        let inside = topology.levels().into_iter().take_while(|&inner| Some(inner) != level);
        let split = inside.filter(|&inner| inner != Level::Core && topology.level(inner).len() > 1).last();
        let divider = split.filter(|&split| level.is_some_and(|level| level < split));
        match (level, split) {
            (_, Some(split)) if divider.is_none() && level.is_none_or(|level| level > Level::L3) => {
                Scope::Across(split)
            }
            _ if relation == Relation::Smt => Scope::Threads(divider),
            (Some(level), _) => Scope::Inside(level, divider),
            (None, _) => Scope::Machine,
        }
    }
}
