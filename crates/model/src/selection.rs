//! [`CpuSelection`]: CPUs as users write them, by number or by name.

use crate::cpu::{CpuSetError, MAX_CPU};
use crate::topology::Same;
use crate::{CpuId, CpuSet, Level, Topology, excerpt};
use std::collections::BTreeMap;
use std::fmt;
use std::iter::Peekable;

/// The share of time, 0 to 1, in which each CPU was not idle during a sample.
pub type CpuUse = BTreeMap<CpuId, f64>;

/// Share above which a CPU is not quiet. One tick of the 10 ms clock of the kernel in 300 ms is still quiet.
pub const QUIET_SHARE: f64 = 0.05;

/// A selection of CPUs: numbers, names and masks, joined by commas. `!` excludes from the whole selection.
///
/// ```
/// # use coretalk_model::CpuSelection;
/// assert!(CpuSelection::parse("package:0,!core:0").is_ok());
/// assert!(CpuSelection::parse("0-3,2").unwrap_err().to_string().contains("CPU 2 is listed twice"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSelection {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    is_excluded: bool,
    selector: Selector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Selector {
    Listed(CpuSet),
    Groups(Level, CpuSet),
    Fastest,
    Slowest,
    Isolated,
    Quiet(u32),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Listed(cpus) => cpus.fmt(f),
            Selector::Groups(level, numbers) => write!(f, "{level}:{numbers}"),
            Selector::Fastest => f.write_str("p-cores"),
            Selector::Slowest => f.write_str("e-cores"),
            Selector::Isolated => f.write_str("isolated"),
            Selector::Quiet(count) => write!(f, "quiet:{count}"),
        }
    }
}

/// Why a selection cannot be read or resolved, as a clause after the name of the option and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum SelectionError {
    /// The message follows "failed to".
    #[error(transparent)]
    List(#[from] CpuSetError),
    #[error("CPU {cpu} is listed twice; list each CPU once")]
    Twice { cpu: CpuId },
    #[error("it lists no CPU (expected for example `0-3,8`)")]
    Empty,
    #[error(
        "`{part}` names no CPUs (expected for example `0-3,8`, `0xff00`, `l3:0`, `core:0-3`, `node:1`, `package:0`, \
         `p-cores`, `e-cores`, `isolated`, `quiet:2`, or `!core:0` to exclude)"
    )]
    Unknown { part: String },
    #[error(
        "`{part}` is no mask (expected for example `0xff00`, or groups of 32 bits, each after the first with 8 digits: \
         `0x1,0x00000000`)"
    )]
    Mask { part: String },
    #[error("there is no {level}:{number}; this machine has {}", groups_words(*level, known))]
    NoGroup { level: Level, number: CpuId, known: CpuSet },
    #[error("`{level}:{number}` names nothing here: no {level} is reported; see `coretalk topology`")]
    NoLevel { level: Level, number: CpuId },
    #[error("`{name}` names nothing here: only one kind of core is reported")]
    OneKind { name: String },
    #[error("`isolated` names nothing here: no CPU is isolated")]
    NoneIsolated,
    #[error("`{name}` is {}, but this process may use only {}", cpus.named(), allowed.named())]
    NotAllowed { name: String, cpus: CpuSet, allowed: CpuSet },
    #[error("CPU {cpu}, to be excluded, is not among those online: {online}")]
    NotOnline { cpu: CpuId, online: CpuSet },
    #[error("`quiet:{count}` needs more CPUs than the {known} to choose from")]
    TooFew { count: u32, known: usize },
    #[error("`quiet:{count}` is not possible: it is not known how busy the CPUs are")]
    NoUse { count: u32 },
    #[error("no CPU is left: it selects none, or excludes all that it selects")]
    Nothing,
}

fn groups_words(level: Level, known: &CpuSet) -> String {
    const MAX_NAMED: usize = 8;
    let name = |number: CpuId| format!("{level}:{number}");
    if let (Some(first), Some(last), 3..) = (known.first(), known.last(), known.len())
        && last.index() - first.index() < known.len()
    {
        return format!("{} to {}", name(first), name(last));
    }
    let mut names: Vec<String> = known.iter().take(MAX_NAMED).map(name).collect();
    names.extend((known.len() > MAX_NAMED).then(|| format!("{} more", known.len() - MAX_NAMED)));
    match names.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// What a selection can refer to.
#[derive(Debug, Clone, Copy)]
pub struct SelectionFacts<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// CPUs that names can select. Numbers can select any CPU.
    pub allowed: &'a CpuSet,
    /// CPUs used without a selection or with only exclusions. Quiet CPUs are chosen among them.
    pub usual: &'a CpuSet,
    /// CPUs isolated from the scheduler.
    pub isolated: &'a CpuSet,
    /// CPU use during a sample, if known.
    pub cpu_use: Option<&'a CpuUse>,
}

/// A resolved selection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SelectedCpus {
    /// The CPUs, each once, in the order of the selection. CPUs of one name are ordered by number.
    pub cpus: Vec<CpuId>,
    /// CPUs selected as quiet but not quiet, with the largest busy share of a CPU of their core.
    pub busy: Vec<(CpuId, f64)>,
}

impl CpuSelection {
    /// Names that are not groups of a [`Level`], for completion.
    pub const NAMES: [&'static str; 4] = ["p-cores", "e-cores", "isolated", "quiet:1"];

    /// The quietest CPUs.
    pub fn quiet(count: u32) -> CpuSelection {
        CpuSelection { terms: vec![Term { is_excluded: false, selector: Selector::Quiet(count) }] }
    }

    /// Parses a selection.
    ///
    /// # Errors
    /// [`SelectionError`]: an invalid part, or a CPU listed twice by number, where another CPU was probably meant.
    pub fn parse(text: &str) -> Result<CpuSelection, SelectionError> {
        if text.trim().is_empty() {
            return Err(SelectionError::Empty);
        }
        let mut parts = text.trim().split(',').map(str::trim).peekable();
        let (mut terms, mut seen, mut twice) = (Vec::new(), CpuSet::new(), None);
        while let Some(part) = parts.next() {
            let (is_excluded, name) =
                part.strip_prefix('!').map_or((false, part), |name| (true, name.trim()));
            let selector = if let Some(digits) = name.strip_prefix("0x") {
                Selector::Listed(mask(name, digits, &mut parts)?)
            } else if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
                named(name).ok_or_else(|| SelectionError::Unknown { part: excerpt(name) })?
            } else if name.is_empty() {
                // `from_list` would read this as the empty list.
                return Err(CpuSetError::Syntax { part: String::new() }.into());
            } else {
                let cpus = CpuSet::from_list(name)?;
                if !is_excluded {
                    twice = twice.or(cpus.intersection(&seen).first());
                    seen = seen.union(&cpus);
                }
                Selector::Listed(cpus)
            };
            terms.push(Term { is_excluded, selector });
        }
        twice.map_or(Ok(CpuSelection { terms }), |cpu| Err(SelectionError::Twice { cpu }))
    }

    /// Whether the selection needs a sample of how busy the CPUs are.
    pub fn needs_use(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.selector, Selector::Quiet(_)))
    }

    /// The CPUs on a machine.
    ///
    /// # Errors
    /// [`SelectionError`]: a name without meaning on this machine, or no CPU is left.
    pub fn resolve(&self, facts: &SelectionFacts<'_>) -> Result<SelectedCpus, SelectionError> {
        let (excluded, included): (Vec<&Term>, Vec<&Term>) =
            self.terms.iter().partition(|term| term.is_excluded);
        let mut excluded_or_selected = CpuSet::new();
        for Term { selector, .. } in &excluded {
            if *selector == Selector::Isolated && facts.isolated.is_empty() {
                continue;
            }
            let cpus = selector.cpus(facts.usual, facts)?;
            let online = facts.topology.cpus();
            if let (Selector::Listed(_), Some(cpu)) = (selector, cpus.difference(online).first()) {
                return Err(SelectionError::NotOnline { cpu, online: online.clone() });
            }
            excluded_or_selected = excluded_or_selected.union(&cpus);
        }
        let candidates = facts.usual.difference(&excluded_or_selected);
        let mut selected = SelectedCpus::default();
        selected.cpus.extend(candidates.iter().filter(|_| included.is_empty()));
        for Term { selector, .. } in included {
            let mut cpus = selector.cpus(&candidates, facts)?;
            if !matches!(selector, Selector::Listed(_)) {
                let usable = cpus.intersection(facts.allowed);
                if usable.is_empty() {
                    let (name, allowed) = (selector.to_string(), facts.allowed.clone());
                    return Err(SelectionError::NotAllowed { name, cpus, allowed });
                }
                cpus = usable;
            }
            if let (Selector::Quiet(_), Some(cpu_use)) = (selector, facts.cpu_use) {
                let shares = cpus.iter().map(|cpu| (cpu, busy_share(facts.topology, cpu_use, cpu)));
                selected.busy.extend(shares.filter(|(_, share)| *share > QUIET_SHARE));
            }
            selected.cpus.extend(cpus.iter().filter(|cpu| excluded_or_selected.insert(*cpu)));
        }
        if selected.cpus.is_empty() { Err(SelectionError::Nothing) } else { Ok(selected) }
    }
}

impl Selector {
    fn cpus(&self, candidates: &CpuSet, facts: &SelectionFacts<'_>) -> Result<CpuSet, SelectionError> {
        let topology = facts.topology;
        match self {
            Selector::Listed(cpus) => Ok(cpus.clone()),
            Selector::Groups(level, numbers) => groups(topology, *level, numbers),
            Selector::Fastest | Selector::Slowest => {
                let classes = topology.classes();
                let [slowest, .., fastest] = classes[..] else {
                    return Err(SelectionError::OneKind { name: self.to_string() });
                };
                let class = Some(if *self == Selector::Fastest { fastest } else { slowest });
                Ok(topology.cpus().iter().filter(|&cpu| topology.class_of(cpu) == class).collect())
            }
            Selector::Isolated if facts.isolated.is_empty() => Err(SelectionError::NoneIsolated),
            Selector::Isolated => Ok(facts.isolated.clone()),
            &Selector::Quiet(count) => {
                let cpu_use = facts.cpu_use.ok_or(SelectionError::NoUse { count })?;
                quietest(topology, cpu_use, candidates, count)
            }
        }
    }
}

/// The CPUs of the groups with these numbers. Groups are numbered by lowest CPU if the system numbers none of them.
fn groups(topology: &Topology, level: Level, numbers: &CpuSet) -> Result<CpuSet, SelectionError> {
    let found = topology.level(level);
    let is_whole = topology.other_facts().is_some_and(|facts| facts.same.get(&level) == Some(&Same::Machine));
    let known: Vec<(u32, &CpuSet)> = match found.iter().any(|group| group.os_id.is_some()) {
        true => found.iter().filter_map(|group| Some((group.os_id?, &group.cpus))).collect(),
        false if found.is_empty() && is_whole => vec![(0, topology.cpus())],
        false => (0..).zip(&found).map(|(number, group)| (number, &group.cpus)).collect(),
    };
    let mut cpus = CpuSet::new();
    for number in numbers.iter() {
        if known.is_empty() {
            return Err(SelectionError::NoLevel { level, number });
        }
        // Cores of two packages can share a number. All of them are selected, and `!package:1` can exclude some.
        let matching = known.iter().filter(|(known, _)| *known == number.0);
        let group = matching.fold(CpuSet::new(), |all, (_, group)| all.union(group));
        if group.is_empty() {
            let known = known.iter().map(|(known, _)| CpuId(*known)).collect();
            return Err(SelectionError::NoGroup { level, number, known });
        }
        cpus = cpus.union(&group);
    }
    Ok(cpus)
}

/// A core is as busy as its busiest thread, so second threads are selected only if no other core is quiet.
fn quietest(
    topology: &Topology,
    cpu_use: &CpuUse,
    candidates: &CpuSet,
    count: u32,
) -> Result<CpuSet, SelectionError> {
    let mut known: Vec<CpuId> = candidates.iter().filter(|cpu| cpu_use.contains_key(cpu)).collect();
    if known.len() < count as usize {
        return Err(SelectionError::TooFew { count, known: known.len() });
    }
    known.sort_by_cached_key(|&cpu| {
        let share = busy_share(topology, cpu_use, cpu);
        let is_busy = share > QUIET_SHARE;
        let earlier_siblings =
            topology.siblings(cpu).intersection(candidates).iter().take_while(|&other| other < cpu).count();
        (is_busy, if is_busy { 0 } else { earlier_siblings }, (share * 1e3) as u32, cpu)
    });
    Ok(known.into_iter().take(count as usize).collect())
}

fn busy_share(topology: &Topology, cpu_use: &CpuUse, cpu: CpuId) -> f64 {
    topology.siblings(cpu).iter().filter_map(|cpu| cpu_use.get(&cpu)).copied().fold(0.0, f64::max)
}

fn named(name: &str) -> Option<Selector> {
    match name {
        "p-cores" => return Some(Selector::Fastest),
        "e-cores" => return Some(Selector::Slowest),
        "isolated" => return Some(Selector::Isolated),
        _ => {}
    }
    let (kind, number) = name.split_once(':')?;
    if kind == "quiet" {
        return number.parse().ok().filter(|&count| count > 0).map(Selector::Quiet);
    }
    let numbers = CpuSet::from_list(number).ok().filter(|numbers| !numbers.is_empty())?;
    Level::named(kind).map(|level| Selector::Groups(level, numbers))
}

/// A mask of `taskset` or hwloc: one number of any length, or comma-separated groups of 32 bits. All groups but the
/// first have 8 digits. hwloc omits empty groups, except the last: `0x0`.
fn mask<'a>(
    name: &str,
    digits: &str,
    parts: &mut Peekable<impl Iterator<Item = &'a str>>,
) -> Result<CpuSet, SelectionError> {
    let wrong = |part: &str| Err(SelectionError::Mask { part: excerpt(part) });
    let is_hex = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let group = |part: &'a str| part.strip_prefix("0x").unwrap_or(part);
    let (mut all, mut last) = (digits.to_owned(), name);
    while let Some(part) = parts
        .next_if(|&part| part.is_empty() || part == "0x0" || group(part).len() == 8 && is_hex(group(part)))
    {
        all.push_str(&format!("{:0>8}", group(part)));
        last = part;
    }
    match parts.peek() {
        // Two adjacent masks could be groups as well as a union.
        Some(next) if next.starts_with("0x") => return wrong(next),
        _ if digits.is_empty() || !is_hex(digits) || last.is_empty() => return wrong(name),
        _ if all.len() > digits.len() && digits.len() > 8 => return wrong(name),
        _ => {}
    }
    let digit = |digit: u8| u64::from(char::from(digit).to_digit(16).unwrap_or(0));
    let word = |digits: &[u8]| digits.iter().fold(0, |word, &next| word << 4 | digit(next));
    let cpus = CpuSet::from_words(all.as_bytes().rchunks(16).map(word).collect());
    match cpus.last() {
        Some(CpuId(id)) if id > MAX_CPU => Err(CpuSetError::TooHigh { id: id.into() }.into()),
        _ => Ok(cpus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::topology;
    use crate::{CoreClass, Domain};
    use proptest::prelude::*;

    /// Two packages of two L3 of two cores with two threads, siblings i and i + 8; numbered by the system except L3.
    fn server() -> Topology {
        let numbered = |level, of: fn(u32) -> u32, count| {
            (0..count).map(move |id| Domain {
                level,
                cpus: (0..16).filter(|cpu| of(*cpu) == id).map(CpuId).collect(),
                os_id: Some(id * 2),
            })
        };
        let l3 = |id: u32| {
            let cpus = [0, 1, 8, 9].map(|cpu| CpuId(cpu + 2 * id)).into_iter().collect();
            Domain { level: Level::L3, cpus, os_id: None }
        };
        let domains = numbered(Level::Core, |cpu| cpu % 8, 8).chain((0..4).map(l3));
        let domains = domains.chain(numbered(Level::Package, |cpu| cpu % 8 / 4, 2)).collect();
        let class = |cpu: u32| CoreClass { rank: u32::from(cpu % 8 < 2), name: "a kind".into() };
        Topology::new("0-15".parse().unwrap(), domains, (0..16).map(|cpu| (CpuId(cpu), class(cpu))).collect())
    }

    fn resolved_on(
        topology: &Topology,
        cpu_use: Option<&CpuUse>,
        text: &str,
    ) -> Result<SelectedCpus, SelectionError> {
        let (allowed, isolated) = ("0-13".parse().unwrap(), "6-7".parse().unwrap());
        let usual = CpuSet::difference(&allowed, &isolated);
        let facts =
            SelectionFacts { topology, allowed: &allowed, usual: &usual, isolated: &isolated, cpu_use };
        CpuSelection::parse(text)?.resolve(&facts)
    }

    fn on_server(text: &str) -> String {
        let idle = (0..16).map(|cpu| (CpuId(cpu), 0.0)).collect();
        match resolved_on(&server(), Some(&idle), text) {
            Ok(selected) => selected.cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn selections_name_cpus_in_their_order() {
        for (text, cpus) in [
            ("3,0-1,8-10/2", "3 0 1 8 10"),
            ("l3:1", "2 3 10 11"),
            ("core:2,0", "1 9 0"),
            ("core:0-2/2", "0 1 8 9"),
            ("package:2,!core:8", "5 6 7 13"),
            ("!core:8, package:2", "5 6 7 13"),
            ("l3:0,l3:0,1", "0 1 8 9"),
            ("p-cores,!0", "1 8 9"),
            ("e-cores,!package:2", "2 3 10 11"),
            ("isolated", "6 7"),
            ("!l3:0,!l3:1", "4 5 12 13"),
            ("0xff00,!0xc000", "8 9 10 11 12 13"),
            ("quiet:3", "0 1 2"),
            // The second threads come after the first thread of every core and after exclusions.
            ("quiet:7,!core:0", "1 2 3 4 5 9 10"),
            ("99,0x1", "99 0"),
        ] {
            assert_eq!(on_server(text), cpus, "{text}");
        }
    }

    #[test]
    fn invalid_and_empty_selections_are_refused() {
        for (text, part) in [
            ("", "it lists no CPU"),
            ("l3:", "`l3:` names no CPUs (expected for example `0-3,8`"),
            ("l3:x", "`l3:x` names no CPUs"),
            ("L3:0", "`L3:0` names no CPUs"),
            ("quiet:0", "`quiet:0` names no CPUs"),
            ("quiet:1-2", "`quiet:1-2` names no CPUs"),
            ("quiet:99999", "`quiet:99999` needs more CPUs than the 12 to choose from"),
            ("!", "read `` as a CPU number"),
            ("!!0", "read `!0` as a CPU number"),
            ("0,,1", "read `` as a CPU number"),
            ("0xzz", "`0xzz` is no mask"),
            ("0x", "`0x` is no mask"),
            ("0x0", "no CPU is left"),
            ("package:0,!package:0", "no CPU is left"),
            ("l3:7", "there is no l3:7; this machine has l3:0 to l3:3"),
            ("package:1", "there is no package:1; this machine has package:0 and package:2"),
            ("core:1", "has core:0, core:2, core:4, core:6, core:8, core:10, core:12 and core:14"),
            ("die:0", "`die:0` names nothing here: no die is reported"),
            ("0-2,!14-16", "CPU 16, to be excluded, is not among those online: 0-15"),
            ("core:14,!7", "no CPU is left"),
            ("4-1", "ends before it starts"),
            ("0x1ffffffff,0x00000000", "`0x1ffffffff` is no mask"),
            ("0xf,0xf0", "`0xf0` is no mask"),
            ("0xf,", "`0xf` is no mask"),
        ] {
            let refused = on_server(text);
            assert!(refused.contains(part), "{text}: {refused}");
        }
        let refused = |topology, text: &str| resolved_on(topology, None, text).unwrap_err().to_string();
        let flat = Topology::flat("0-13".parse().unwrap());
        assert!(refused(&flat, "p-cores").contains("only one kind of core"));
        assert!(refused(&flat, "quiet:1").contains("not known how busy"));
        let core = |cpus: &str, os_id| Domain { level: Level::Core, cpus: cpus.parse().unwrap(), os_id };
        let cores = vec![core("0", Some(3)), core("1", Some(3)), core("15", Some(4))];
        let cores = Topology::new("0-15".parse().unwrap(), cores, BTreeMap::new());
        let both = resolved_on(&cores, None, "core:3").unwrap().cpus;
        assert_eq!(both, [CpuId(0), CpuId(1)], "of two packages");
        let usable = "`core:4` is CPU 15, but this process may use only CPUs 0-13";
        assert_eq!(refused(&cores, "core:4"), usable);
    }

    #[test]
    fn masks_are_read_as_tools_print_them() {
        for (text, cpus) in [
            ("0xff00", "8-15"),
            ("0x10000000000000001", "0,64"),
            // hwloc, with and without an empty group.
            ("0x00000001,0x80000000", "31,32"),
            ("0x00000001,,0x00000001", "0,64"),
            ("0x00000003,0x0", "32,33"),
            // The kernel prints groups without 0x.
            ("0xff,00000001", "0,32-39"),
        ] {
            let listed = Selector::Listed(cpus.parse().unwrap());
            let CpuSelection { terms } = CpuSelection::parse(text).unwrap();
            assert_eq!(terms, [Term { is_excluded: false, selector: listed }], "{text}");
        }
        assert!(CpuSelection::parse(&format!("0x1{}", "0".repeat(1 << 18))).is_err());
    }

    #[test]
    fn the_quietest_have_quiet_cores_of_their_own() {
        let topology = topology("0-7", &[(Level::Core, &["0,4", "1,5", "2,6", "3,7"])]);
        let shares = [0.04, 0.0, 0.0, 0.3, 0.0, 0.0, 0.9, 0.2];
        let cpu_use: CpuUse = (0..).map(CpuId).zip(shares).collect();
        // CPU 2 is idle, but the other thread of its core is not: this core is the busiest.
        for (text, cpus, busy) in [
            ("quiet:2,!7", "0,1", &[][..]),
            ("quiet:4,!7", "0-1,4-5", &[]),
            ("quiet:5,!7", "0-1,3-5", &[(CpuId(3), 0.3)]),
        ] {
            let selected = resolved_on(&topology, Some(&cpu_use), text).unwrap();
            assert_eq!(selected.cpus.into_iter().collect::<CpuSet>(), cpus.parse().unwrap());
            assert_eq!(selected.busy, busy);
        }
    }

    /// Lists of numbers as read before names existed.
    fn numbers(text: &str) -> Result<Vec<CpuId>, String> {
        CpuSet::from_list(text).map_err(|error| error.to_string())?;
        let (mut cpus, mut seen) = (Vec::new(), CpuSet::new());
        let parts = text.split(',').map(|part| CpuSet::from_list(part).unwrap());
        for cpu in parts.flat_map(|part| part.iter().collect::<Vec<_>>()) {
            if !seen.insert(cpu) {
                return Err(format!("CPU {cpu} is listed twice; list each CPU once"));
            }
            cpus.push(cpu);
        }
        if cpus.is_empty() { Err("it lists no CPU (expected for example `0-3,8`)".into()) } else { Ok(cpus) }
    }

    proptest! {
        #[test]
        fn lists_of_numbers_keep_their_meaning(text in "[-0-9]{0,3}[0-9,/ +-]{0,9}") {
            let all: CpuSet = "0-4095".parse().unwrap();
            let facts = SelectionFacts { topology: &server(), allowed: &all, usual: &all, isolated: &all, cpu_use: None };
            let read = CpuSelection::parse(&text).map(|list| list.resolve(&facts).unwrap().cpus);
            prop_assert_eq!(read.map_err(|error| error.to_string()), numbers(&text));
        }

        #[test]
        fn no_text_panics(parts in proptest::collection::vec("!?(0x)?[0-9a-f,:]{0,9}|!?(l3|core|quiet|die|node|p-cores|isolated):?[-0-9/]{0,5}|.{0,5}", 0..4)) {
            let text = on_server(&parts.join(","));
            prop_assert!(!text.is_empty());
        }
    }
}
