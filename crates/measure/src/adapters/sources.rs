//! The adapters that come with coretalk: their list and their files, as part of the program.

/// `adapters/adapters.toml`.
pub const LIST: &str = include_str!("../../../../adapters/adapters.toml");

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Each file that the list names, below the folder of the list, with what it holds.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../adapters/", $name)))),+];
    };
}

files![
    "c/adapter.c",
    "cpp/adapter.cpp",
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
    use crate::adapters::catalogue::{Catalogue, Origin};
    use std::collections::BTreeSet;

    #[test]
    fn every_file_that_the_list_names_is_part_of_the_program() {
        let catalogue = Catalogue::parse(LIST, Origin::Ours).unwrap();
        let named: BTreeSet<&str> =
            catalogue.recipes().iter().flat_map(|recipe| &recipe.files).map(String::as_str).collect();
        let held: BTreeSet<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, held);
        assert_eq!(catalogue.recipes().len(), 7);
    }
}
