//! Bundled adapters: their list and source files, compiled into the program.

/// The file `crates/measure/adapters/adapters.toml`.
pub const LIST: &str = include_str!("../../adapters/adapters.toml");

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Names and contents of the files in the list. A name is relative to the folder of the list.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../adapters/", $name)))),+];
    };
}

files![
    "c/adapter.c",
    "cpp/adapter.cpp",
    "cpp/contend.hpp",
    "cpp/spawn.hpp",
    "csharp/Adapter.cs",
    "csharp/adapter.csproj",
    "go/adapter.go",
    "java/Adapter.java",
    "node/adapter.js",
    "python/adapter.py",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::catalogue::{AdapterOrigin, Catalogue};
    use crate::adapters::protocol::VERSIONS;
    use crate::adapters::{Description, Offer, OperationKind};
    use crate::probes;
    use crate::stand_in::SimStandIn;
    use std::collections::BTreeSet;

    /// Offers named in the string literals of an adapter's source.
    fn described(source: &str) -> Vec<Offer> {
        let is_offer = |line: &&str| match line.trim_end().split_once(' ') {
            Some(("queue", rest)) => rest.contains("payload="),
            Some((word, names)) => {
                OperationKind::ALL.iter().any(|kind| kind.word() == word) && !names.contains(' ')
            }
            None => line.trim_end() == OperationKind::Clock.word(),
        };
        let strings = source.split(['"', '`', '\n']).flat_map(|string| string.split("\\n"));
        let offers =
            |line| Description::parse(&format!("{}\nruntime X\n{line}\n", VERSIONS[1])).unwrap().offers;
        strings.filter(is_offer).flat_map(offers).collect()
    }

    #[test]
    fn simulated_machines_perform_exactly_the_offers_of_the_adapters() {
        let catalogue = Catalogue::parse(LIST, AdapterOrigin::Ours).unwrap();
        let mut offered = BTreeSet::new();
        for spec in catalogue.specs() {
            let file = |(name, text): &(&str, &'static str)| (spec.files[0] == *name).then_some(*text);
            let source = FILES.iter().find_map(file).unwrap();
            for Offer { kind, name, mut payloads, capacities } in described(source) {
                payloads.sort();
                let places = [*capacities.start(), *capacities.end()];
                offered.insert((kind, format!("{}:{name}", spec.name), payloads, places));
            }
        }
        let mut simulated = BTreeSet::new();
        for kind in OperationKind::ALL {
            let stand_ins = probes::series_by_id(kind.word()).map(|probe| probe.stand_ins());
            for &SimStandIn { external, kinds, payloads, capacities, .. } in stand_ins.into_iter().flatten() {
                let payloads = if kind == OperationKind::Queue { payloads.to_vec() } else { Vec::new() };
                let kinds = if kinds.is_empty() { &[kind] } else { kinds };
                let offer = |&kind| (kind, external.to_owned(), payloads.clone(), capacities);
                simulated.extend(kinds.iter().map(offer));
            }
        }
        assert_eq!(offered, simulated);
    }

    #[test]
    fn every_listed_file_is_bundled() {
        let catalogue = Catalogue::parse(LIST, AdapterOrigin::Ours).unwrap();
        let named: BTreeSet<&str> =
            catalogue.specs().iter().flat_map(|spec| &spec.files).map(String::as_str).collect();
        let bundled: BTreeSet<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, bundled);
        assert_eq!(catalogue.specs().len(), 7);
    }
}
