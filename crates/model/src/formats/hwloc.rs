//! Reader for the XML of hwloc (`lstopo file.xml`), versions 1 and 2.

use crate::cpu::MAX_CPU;
use crate::topology::{CoreClass, Domain, MemoryNode, OtherFacts, with_shared_l2};
use crate::{CpuId, CpuSet, Level, Topology};
use roxmltree::{Document, Node, ParsingOptions};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of XML nodes. A machine of 1,024 CPUs has about 5,000 objects with 30 children each.
const MAX_NODES: u32 = 4_000_000;
/// Maximum nesting of objects. hwloc has about a dozen kinds.
const DEEPEST: usize = 64;

/// Why a file is no topology. The message follows "failed to".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum HwlocError {
    #[error("read the XML: it is not UTF-8 text")]
    NotText,
    #[error("read the XML: {message}")]
    Xml { message: String },
    #[error("read the XML: its root is `{root}`, expected `topology` as written by hwloc")]
    Foreign { root: String },
    #[error("read the XML, line {line}: objects are nested deeper than {DEEPEST}")]
    TooDeep { line: u32 },
    #[error("read the XML, line {line}: a PU has the os_index `{found}` (expected 0 to {MAX_CPU})")]
    BadCpu { line: u32, found: String },
    #[error("read the XML, line {line}: `{found}` is not an hwloc cpuset (expected for example 0x000000ff)")]
    BadSet { line: u32, found: String },
    #[error(
        "read the XML: NUMA nodes {nodes} share {cpus} and neither contains the other; hwloc writes no such nodes"
    )]
    Crossing { nodes: String, cpus: String },
    #[error("read the XML: it contains no PU, hwloc's name for a CPU")]
    NoCpu,
}

/// Whether the bytes look like XML instead of a matrix.
pub fn is_xml(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    text.starts_with(b"<?xml") || text.starts_with(b"<!DOCTYPE topology") || text.starts_with(b"<topology")
}

/// Reads the topology of a machine.
///
/// # Errors
/// [`HwlocError`], with the line where possible.
pub fn read_hwloc(bytes: &[u8]) -> Result<Topology, HwlocError> {
    let text = std::str::from_utf8(bytes).map_err(|_| HwlocError::NotText)?;
    // The second line names hwloc's DTD, which is not downloaded.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start_matches('\u{feff}'), options)
        .map_err(|error| HwlocError::Xml { message: error.to_string() })?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(HwlocError::Foreign { root: root.tag_name().name().chars().take(40).collect() });
    }
    let mut found = HwlocObjects::default();
    let mut cpus = CpuSet::new();
    for object in objects(&root) {
        cpus = cpus.union(&collect(&object, 0, &mut found)?);
    }
    if cpus.is_empty() {
        return Err(HwlocError::NoCpu);
    }
    found.check_nodes()?;
    let other_facts = OtherFacts { memory_nodes: found.memory_nodes(&root, &cpus), ..OtherFacts::default() };
    let HwlocObjects { mut domains, clusters, shared_l2, .. } = found;
    domains.extend(with_shared_l2(clusters, shared_l2));
    let classes = classes(&root, &cpus)?;
    Ok(Topology::new(cpus, domains, classes).with(Some(other_facts)))
}

/// By rising efficiency: by number if all kinds have one, otherwise in the order of the file. Empty for a single kind.
fn classes(root: &Node<'_, '_>, all: &CpuSet) -> Result<BTreeMap<CpuId, CoreClass>, HwlocError> {
    let mut kinds: Vec<Node<'_, '_>> =
        root.children().filter(|child| child.has_tag_name("cpukind")).collect();
    let efficiency = |kind: &Node<'_, '_>| kind.attribute("forced_efficiency")?.parse::<u32>().ok();
    if kinds.iter().all(|kind| efficiency(kind).is_some()) {
        kinds.sort_by_key(efficiency);
    }
    let letter = |kind: &Node<'_, '_>| {
        let is_type = |info: &Node<'_, '_>| info.attribute("name") == Some("CoreType");
        match kind.children().find(is_type)?.attribute("value")? {
            "IntelAtom" => Some("E"),
            "IntelCore" => Some("P"),
            _ => None,
        }
    };
    let letters: Vec<Option<&str>> = kinds.iter().map(letter).collect();
    let mut classes = BTreeMap::new();
    for (rank, kind) in kinds.iter().enumerate() {
        // A letter that fits several kinds is used for none.
        let unique = letters[rank]
            .filter(|candidate| letters.iter().filter(|other| **other == Some(*candidate)).count() == 1);
        let class =
            CoreClass { rank: rank as u32, name: unique.map_or(format!("class {rank}"), str::to_owned) };
        let cpus = cpu_set(kind, kind.attribute("cpuset").unwrap_or_default())?;
        if kinds.len() == 1 && all.is_subset(&cpus) {
            break;
        }
        classes.extend(cpus.iter().map(|cpu| (cpu, class.clone())));
    }
    Ok(classes)
}

#[derive(Default)]
struct HwlocObjects {
    domains: Vec<Domain>,
    clusters: Vec<Domain>,
    shared_l2: Vec<Domain>,
    nodes: Vec<(Option<u32>, CpuSet, Option<u64>)>,
}

impl HwlocObjects {
    fn check_nodes(&self) -> Result<(), HwlocError> {
        let mut nodes: Vec<&(Option<u32>, CpuSet, Option<u64>)> = self.nodes.iter().collect();
        nodes.sort_by_cached_key(|(_, cpus, _)| Reverse(cpus.len()));
        let mut node_of_cpu: HashMap<CpuId, usize> = HashMap::new();
        for (index, (number, cpus, _)) in nodes.iter().enumerate() {
            let earlier: BTreeSet<Option<&usize>> = cpus.iter().map(|cpu| node_of_cpu.get(&cpu)).collect();
            let crossed = earlier.iter().flatten().find(|earlier| !cpus.is_subset(&nodes[***earlier].1));
            if let Some((other, of_other, _)) = crossed.map(|earlier| nodes[**earlier]) {
                let number_of =
                    |number: &Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
                let nodes = format!("{} and {}", number_of(other), number_of(number));
                return Err(HwlocError::Crossing { nodes, cpus: cpus.intersection(of_other).named() });
            }
            node_of_cpu.extend(cpus.iter().map(|cpu| (cpu, index)));
        }
        Ok(())
    }

    /// Removes and returns the nodes without their own CPUs. hwloc assigns the CPUs of the nearest node to them.
    fn memory_nodes(&mut self, root: &Node<'_, '_>, all: &CpuSet) -> Vec<MemoryNode> {
        let distances = distances(root);
        self.nodes.sort_by_key(|(number, ..)| *number);
        let mut taken = CpuSet::new();
        let (mut with_cpus, mut without_cpus) = (Vec::new(), Vec::new());
        for (os_id, cpus, memory) in std::mem::take(&mut self.nodes) {
            let new_cpus = cpus.intersection(all).difference(&taken);
            taken = taken.union(&cpus);
            if !new_cpus.is_empty() {
                with_cpus.extend(os_id);
                self.domains.push(Domain { level: Level::Node, cpus: new_cpus, os_id });
            } else if let Some(number) = os_id {
                without_cpus.push((number, memory));
            }
        }
        let distances_to = |number: u32| {
            let from = with_cpus.iter().filter_map(|&from| Some((from, *distances.get(&(from, number))?)));
            from.collect()
        };
        let node =
            |(number, memory_bytes)| MemoryNode { number, memory_bytes, distances: distances_to(number) };
        without_cpus.into_iter().map(node).collect()
    }
}

/// Distances between NUMA nodes (from, to), as in version 2, where 10 is local. Empty if absent or of the wrong size.
fn distances(root: &Node<'_, '_>) -> BTreeMap<(u32, u32), u32> {
    const LATENCY: u32 = 4;
    let number = |node: &Node<'_, '_>, name: &str| node.attribute(name)?.parse::<u32>().ok();
    let is_latency_table = |node: &Node<'_, '_>| {
        node.has_tag_name("distances2")
            && node.attribute("type") == Some("NUMANode")
            && node.attribute("indexing") == Some("os")
            && number(node, "kind").is_some_and(|kind| kind & LATENCY != 0)
    };
    let Some(table) = root.children().find(is_latency_table) else { return BTreeMap::new() };
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let parts = table.children().filter(|child| child.has_tag_name(name));
        let words: Vec<&str> =
            parts.filter_map(|part| part.text()).flat_map(str::split_ascii_whitespace).collect();
        words.into_iter().map(|word| word.parse().ok()).collect()
    };
    let (Some(nodes), Some(values)) = (numbers("indexes"), numbers("u64values")) else {
        return BTreeMap::new();
    };
    if nodes.is_empty() || nodes.len().checked_mul(nodes.len()) != Some(values.len()) {
        return BTreeMap::new();
    }
    let pairs = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
    pairs.zip(values).collect()
}

fn objects<'a, 'input>(node: &Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(|child| child.has_tag_name("object"))
}

fn collect(object: &Node<'_, '_>, depth: usize, found: &mut HwlocObjects) -> Result<CpuSet, HwlocError> {
    if depth > DEEPEST {
        return Err(HwlocError::TooDeep { line: line(object) });
    }
    let kind = object.attribute("type").unwrap_or_default();
    if kind == "PU" {
        return Ok(CpuSet::from_iter([cpu(object)?]));
    }
    let mut cpus = CpuSet::new();
    let mut cores = 0;
    for inner in objects(object) {
        cores += usize::from(inner.descendants().any(|node| node.attribute("type") == Some("Core")));
        cpus = cpus.union(&collect(&inner, depth + 1, found)?);
    }
    // In version 2, a NUMA node contains no objects and lists its CPUs.
    if cpus.is_empty() && kind == "NUMANode" {
        cpus = object.attribute("cpuset").map_or(Ok(CpuSet::new()), |set| cpu_set(object, set))?;
    }
    let os_id = object.attribute("os_index").and_then(|index| index.parse().ok());
    if kind == "NUMANode" {
        let memory = object.attribute("local_memory").and_then(|bytes| bytes.parse().ok());
        found.nodes.push((os_id, cpus.clone(), memory));
    } else if let Some(level) = level(object, kind, cores) {
        let domain = Domain { level, cpus: cpus.clone(), os_id };
        match level {
            Level::Cluster => found.clusters.push(domain),
            Level::L2 => found.shared_l2.push(domain),
            _ => found.domains.push(domain),
        }
    }
    Ok(cpus)
}

fn level(object: &Node<'_, '_>, kind: &str, cores: usize) -> Option<Level> {
    match (kind, object.attribute("depth")) {
        ("Core", _) => Some(Level::Core),
        ("L3Cache", _) | ("Cache", Some("3")) => Some(Level::L3),
        // A private cache has the same CPUs as its core.
        ("L2Cache", _) | ("Cache", Some("2")) if cores > 1 => Some(Level::L2),
        // A cluster of Linux. If a cache has the same CPUs, hwloc merges the group into the cache.
        ("Group", _) if object.attribute("subtype") == Some("Cluster") && cores > 1 => Some(Level::Cluster),
        ("Group", _) if object.attribute("subtype") == Some("Book") => Some(Level::Book),
        ("Group", _) if object.attribute("subtype") == Some("Drawer") => Some(Level::Drawer),
        ("Die", _) => Some(Level::Die),
        ("Package" | "Socket", _) => Some(Level::Package),
        _ => None,
    }
}

fn cpu(object: &Node<'_, '_>) -> Result<CpuId, HwlocError> {
    let found = object.attribute("os_index").unwrap_or_default();
    let id = found.parse().ok().filter(|&id| id <= MAX_CPU);
    id.map(CpuId)
        .ok_or_else(|| HwlocError::BadCpu { line: line(object), found: found.chars().take(40).collect() })
}

/// `0x0000000f,0xffffffff`: words of 32 bits, the highest first. An empty word is 0.
fn cpu_set(object: &Node<'_, '_>, set: &str) -> Result<CpuSet, HwlocError> {
    let bad = || HwlocError::BadSet { line: line(object), found: set.chars().take(40).collect() };
    let words: Vec<&str> = set.split(',').collect();
    if words.len() > (MAX_CPU as usize + 1) / 32 {
        return Err(bad());
    }
    let mut cpus = CpuSet::new();
    for (index, word) in words.into_iter().rev().enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).map_err(|_| bad())? };
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            cpus.insert(CpuId(index as u32 * 32 + bit));
        }
    }
    Ok(cpus)
}

fn line(node: &Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Relation;

    fn machine(inside: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
             <topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\">{inside}</object></topology>"
        )
    }

    fn object(attributes: &str, inside: &str) -> String {
        format!("<object {attributes}>{inside}</object>")
    }

    fn pu(cpu: u32) -> String {
        object(&format!(r#"type="PU" os_index="{cpu}""#), "")
    }

    fn core(os_index: u32, cpus: &[u32]) -> String {
        let pus: String = cpus.iter().copied().map(pu).collect();
        let core = object(&format!(r#"type="Core" os_index="{os_index}""#), &pus);
        object(r#"type="L2Cache""#, &core)
    }

    fn node(index: u32, cpus: &str, more: &str) -> String {
        object(&format!(r#"type="NUMANode" os_index="{index}" cpuset="{cpus}"{more}"#), "")
    }

    fn groups(topology: &Topology, level: Level) -> Vec<String> {
        topology.level(level).iter().map(|domain| domain.cpus.to_string()).collect()
    }

    #[test]
    fn both_versions_are_read() {
        let l3 = |core: String| object(r#"type="L3Cache""#, &core);
        let caches = [node(1, "0x0000000f", ""), l3(core(0, &[0, 2])), l3(core(1, &[1, 3]))].concat();
        let two = machine(&object(r#"type="Package" os_index="0""#, &caches));
        let topology = read_hwloc(two.as_bytes()).unwrap();
        assert_eq!(groups(&topology, Level::Core), ["0,2", "1,3"]);
        assert_eq!(groups(&topology, Level::L3), ["0,2", "1,3"]);
        assert_eq!(groups(&topology, Level::Package), ["0-3"]);
        assert_eq!(groups(&topology, Level::Cluster), [""; 0]);
        assert_eq!(topology.node_of(CpuId(3)), Some(1));
        let cores = [5, 7].map(|cpu| object(r#"type="Core""#, &pu(cpu))).concat();
        let cache = object(r#"type="Cache" depth="2""#, &cores);
        let one = machine(&object(r#"type="Socket""#, &cache));
        assert_eq!(groups(&read_hwloc(one.as_bytes()).unwrap(), Level::Cluster), ["5,7"]);
    }

    #[test]
    fn kinds_of_cores_and_books_are_read() {
        let book = |index: u32| {
            let package = object(r#"type="Package""#, &core(index, &[index]));
            object(&format!(r#"type="Group" subtype="Book" os_index="{index}""#), &package)
        };
        let kind = |set: u32, efficiency: i32, name: &str| {
            format!(
                r#"<cpukind cpuset="0x{set:x}" forced_efficiency="{efficiency}"><info name="CoreType" value="{name}"/></cpukind>"#
            )
        };
        let check = |kinds: &[String], expected: [Option<&str>; 3]| {
            let file = machine(&(0..3).map(book).collect::<String>())
                .replace("</topology>", &(kinds.concat() + "</topology>"));
            let topology = read_hwloc(file.as_bytes()).unwrap();
            assert_eq!(topology.level(Level::Book).len(), 3);
            let names = [0, 1, 2].map(|cpu| topology.class_of(CpuId(cpu)).map(|class| class.name.as_str()));
            assert_eq!(names, expected, "{kinds:?}");
        };
        check(&[kind(1, 1, "IntelCore"), kind(6, 0, "IntelAtom")], [Some("P"), Some("E"), Some("E")]);
        // Two kinds of small cores get no letter; without numbers, the order of the file counts.
        let three = [kind(4, -1, "IntelAtom"), kind(2, -1, "IntelAtom"), kind(1, -1, "IntelCore")];
        check(&three, [Some("P"), Some("class 1"), Some("class 0")]);
        check(&[kind(7, 0, "IntelCore")], [None; 3]);
        check(&[kind(3, 0, "IntelCore")], [Some("P"), Some("P"), None]);
    }

    #[test]
    fn nodes_that_cross_are_refused_and_those_that_nest_are_not() {
        let read = |first: &str, second: &str| {
            let cores: String = (0..4).map(|cpu| core(cpu, &[cpu])).collect();
            read_hwloc(machine(&(node(0, first, "") + &node(1, second, "") + &cores)).as_bytes())
        };
        for (first, second, nodes) in [("0x3", "0xc", 2), ("0xf", "0x3", 1), ("0x3", "0x3", 1)] {
            assert_eq!(read(first, second).unwrap().level(Level::Node).len(), nodes, "{first} {second}");
        }
        let error = read("0x3", "0x6").unwrap_err().to_string();
        assert!(error.contains("NUMA nodes 0 and 1 share CPU 1"), "{error}");
    }

    #[test]
    fn an_l2_of_pairs_lies_inside_its_cluster() {
        let pair = |first: u32| {
            let cores = core(first, &[first]) + &core(first + 1, &[first + 1]);
            object(r#"type="L2Cache""#, &cores.replace("L2Cache", "L1Cache"))
        };
        let group = |index: u32, kind: &str, inside: String| {
            object(&format!(r#"type="Group" os_index="{index}" subtype="{kind}" kind="222""#), &inside)
        };
        let parts = [
            group(0, "Cluster", pair(0) + &pair(2)),
            pair(4),
            // A group of another kind is neither a cluster nor another level.
            group(3, "Tile", core(6, &[6]) + &core(7, &[7])),
        ];
        let file = machine(&object(r#"type="L3Cache""#, &parts.concat()));
        let topology = read_hwloc(file.as_bytes()).unwrap();
        assert_eq!(groups(&topology, Level::L2), ["0,1", "2,3"]);
        assert_eq!(groups(&topology, Level::Cluster), ["0-3", "4,5"], "an L2 in no cluster stands for one");
        let relations = [1, 2, 4].map(|other| topology.relation(CpuId(0), CpuId(other)));
        assert_eq!(relations, [Relation::L2, Relation::Cluster, Relation::L3]);
        assert_eq!(topology.relation(CpuId(6), CpuId(7)), Relation::L3);
    }

    #[test]
    fn memory_without_cpus_is_named() {
        // Node 3 is fast memory of node 0's CPUs; node 2 has no CPUs.
        let package = |index: u32, nodes: String| {
            let cores = [2 * index, 2 * index + 1].map(|cpu| core(cpu, &[cpu])).concat();
            object(&format!(r#"type="Package" os_index="{index}""#), &(nodes + &cores))
        };
        let fast = node(3, "0x3", r#" local_memory="16384" subtype="HBM""#);
        let packages = package(0, fast + &node(0, "0x3", "")) + &package(1, node(1, "0xc", ""));
        let file = machine(&(node(2, "0x0", "") + &packages));
        let read = |values: &str| {
            let table = format!(
                "<distances2 type=\"NUMANode\" nbobjs=\"4\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\
                 <indexes length=\"8\">0 1 2 3 </indexes>{values}</distances2></topology>"
            );
            let topology = read_hwloc(file.replace("</topology>", &table).as_bytes()).unwrap();
            assert_eq!((topology.node_of(CpuId(1)), topology.node_of(CpuId(2))), (Some(0), Some(1)));
            topology.other_facts().unwrap().memory_nodes.clone()
        };
        let values = "<u64values length=\"30\">10 20 24 13 20 10 17 23 24 17 </u64values>\
                      <u64values length=\"18\">10 28 13 23 28 10 </u64values>";
        let expected = [
            MemoryNode { number: 2, memory_bytes: None, distances: vec![(0, 24), (1, 17)] },
            MemoryNode { number: 3, memory_bytes: Some(16384), distances: vec![(0, 13), (1, 23)] },
        ];
        assert_eq!(read(values), expected);
        let unknown = expected.map(|node| MemoryNode { distances: vec![], ..node });
        assert_eq!(read("<u64values length=\"6\">10 20 </u64values>"), unknown);
    }

    #[test]
    fn sets_are_words_from_the_highest() {
        let text = "<object cpuset=\"0x00000001,,0x80000001\"/>";
        let document = Document::parse(text).unwrap();
        let object = document.root_element();
        let set = cpu_set(&object, object.attribute("cpuset").unwrap()).unwrap();
        assert_eq!(set.to_string(), "0,31,64");
        assert!(cpu_set(&object, "0xf...f").is_err() && cpu_set(&object, &"0x0,".repeat(40_000)).is_err());
    }

    #[test]
    fn hostile_files_are_refused_in_a_sentence() {
        let deep = format!("{}{}", "<object type=\"Group\">".repeat(100), "</object>".repeat(100));
        let loops =
            "<!DOCTYPE topology [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;&a;\">]><topology>&a;</topology>";
        for (text, part) in [
            (String::new(), "read the XML"),
            ("<html><body/></html>".into(), "its root is `html`"),
            (machine(""), "no PU"),
            (machine(&pu(u32::MAX)), "line 3: a PU has the os_index `4294967295`"),
            (machine(&object(r#"type="PU""#, "")), "os_index ``"),
            (machine(&deep), "deeper than 64"),
            (machine("<object"), "read the XML"),
            (loops.into(), "read the XML"),
        ] {
            let error = read_hwloc(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{text:.80}: {error}");
        }
        assert_eq!(read_hwloc(&[0xff, 0xfe, 0x00]), Err(HwlocError::NotText));
        assert!(is_xml(b"\xef\xbb\xbf <?xml version") && !is_xml(b",1,2"));
    }
}
