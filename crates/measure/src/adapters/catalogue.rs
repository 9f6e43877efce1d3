//! [`Catalogue`]: how each known adapter is built and started.

use super::Adapter;
use coretalk_model::external::External;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Contents of `adapters.toml`: one `[[adapter]]` table per adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    specs: Vec<AdapterSpec>,
}

/// How an adapter is built and started, without a shell. Placeholders: `{source}` is the folder of its files, `{out}`
/// the build folder, `{cpus}` the number of CPUs that it may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// Prefix of the names that the adapter offers, without the colon: `java`.
    pub name: String,
    /// Required programs.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Source files, relative to the folder of the list.
    #[serde(default)]
    pub files: Vec<String>,
    /// Command that prints the version of the compiler or interpreter; empty if there is none.
    #[serde(default)]
    pub version: Vec<String>,
    /// Build commands, in order.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// Command that starts the adapter. `describe` or `serve` is appended.
    pub run: Vec<String>,
    /// Environment variables of the version, build and run commands.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Where the spec comes from.
    #[serde(skip, default)]
    pub origin: AdapterOrigin,
}

/// Where an adapter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdapterOrigin {
    /// Bundled: the files of the adapter are part of this program.
    #[default]
    Ours,
    /// Listed in the user's file, next to its source files.
    Users,
    /// Typed on the command line.
    Typed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "adapter")]
    adapters: Vec<AdapterSpec>,
}

/// Why a list of adapters is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// The file is not a valid list.
    #[error("read a list of adapters: line {line}: {reason}")]
    Toml {
        /// Line, from 1.
        line: usize,
        /// What is wrong in that line.
        reason: String,
    },
    /// The name is invalid as a prefix before a colon.
    #[error(
        "read a list of adapters: `{0}` is not a valid name: use a to z, digits and `-`, begin with a letter, and avoid reserved prefixes"
    )]
    Name(String),
    /// The name appears twice.
    #[error("read a list of adapters: `{0}` is listed twice")]
    Twice(String),
    /// The adapter has no command.
    #[error("read a list of adapters: `{0}` has no command: `run` is empty")]
    NoRun(String),
}

impl Catalogue {
    /// Reads a list of adapters.
    ///
    /// ```
    /// # use coretalk_measure::adapters::catalogue::{Catalogue, AdapterOrigin};
    /// let text = "[[adapter]]\nname = \"perl\"\nneeds = [\"perl\"]\nrun = [\"perl\", \"{source}/adapter.pl\"]\n";
    /// let catalogue = Catalogue::parse(text, AdapterOrigin::Users).unwrap();
    /// assert_eq!(catalogue.find("perl").unwrap().needs, ["perl"]);
    /// ```
    pub fn parse(text: &str, origin: AdapterOrigin) -> Result<Catalogue, CatalogueError> {
        let file: File = toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
            CatalogueError::Toml {
                line: 1 + before.matches('\n').count(),
                reason: error.message().to_owned(),
            }
        })?;
        let mut catalogue = Catalogue::default();
        for spec in file.adapters {
            if catalogue.find(&spec.name).is_some() {
                return Err(CatalogueError::Twice(spec.name));
            }
            catalogue.put(AdapterSpec { origin, ..spec })?;
        }
        Ok(catalogue)
    }

    /// Adds an adapter typed on the command line. Fails if the name is invalid or the command is empty.
    pub fn type_in(&mut self, name: &str, words: &[String]) -> Result<(), CatalogueError> {
        self.put(AdapterSpec {
            name: name.to_owned(),
            needs: Vec::new(),
            files: Vec::new(),
            version: Vec::new(),
            build: Vec::new(),
            run: words.to_vec(),
            environment: BTreeMap::new(),
            origin: AdapterOrigin::Typed,
        })
    }

    /// Adds all entries of another list, which replace existing entries of the same name. Never fails if
    /// `Catalogue::parse` returned the other list.
    pub fn add(&mut self, other: Catalogue) -> Result<(), CatalogueError> {
        other.specs.into_iter().try_for_each(|spec| self.put(spec))
    }

    fn put(&mut self, spec: AdapterSpec) -> Result<(), CatalogueError> {
        let name = &spec.name;
        if !External::is_runtime(name) {
            return Err(CatalogueError::Name(name.clone()));
        }
        if spec.run.is_empty() {
            return Err(CatalogueError::NoRun(name.clone()));
        }
        match self.specs.iter_mut().find(|known| known.name == spec.name) {
            Some(known) => *known = spec,
            None => self.specs.push(spec),
        }
        Ok(())
    }

    /// Returns the adapter called `name`.
    pub fn find(&self, name: &str) -> Option<&AdapterSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// All adapters in the order in which they were added.
    pub fn specs(&self) -> &[AdapterSpec] {
        &self.specs
    }
}

/// Values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// `{source}`: folder of the adapter's files.
    pub source: &'a str,
    /// `{out}`: build folder.
    pub out: &'a str,
    /// `{cpus}`: number of CPUs that the adapter may use.
    pub cpus: usize,
}

impl AdapterSpec {
    /// Replaces the placeholders in `words`.
    pub fn filled(words: &[String], places: &Places<'_>) -> Vec<String> {
        words.iter().map(|word| fill(word, places)).collect()
    }

    /// Environment variables with placeholders replaced.
    pub fn variables(&self, places: &Places<'_>) -> Vec<(String, String)> {
        self.environment.iter().map(|(name, value)| (name.clone(), fill(value, places))).collect()
    }

    /// The adapter of the spec. It must already be built.
    pub fn adapter(&self, places: &Places<'_>) -> Adapter {
        let command = AdapterSpec::filled(&self.run, places).into_iter().map(OsString::from).collect();
        Adapter { name: self.name.clone(), command, environment: self.variables(places) }
    }
}

fn fill(word: &str, places: &Places<'_>) -> String {
    let cpus = places.cpus.to_string();
    word.replace("{source}", places.source).replace("{out}", places.out).replace("{cpus}", &cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: &str = "[[adapter]]\nname = \"java\"\nneeds = [\"java\", \"javac\"]\nfiles = [\"java/Adapter.java\"]\n\
        version = [\"javac\", \"-version\"]\nbuild = [[\"javac\", \"-d\", \"{out}\", \"{source}/java/Adapter.java\"]]\n\
        run = [\"java\", \"-XX:ActiveProcessorCount={cpus}\", \"-cp\", \"{out}\", \"Adapter\"]\n\
        environment = { A = \"{cpus}\" }\n";

    #[test]
    fn placeholders_in_commands_are_replaced() {
        let catalogue = Catalogue::parse(JAVA, AdapterOrigin::Ours).unwrap();
        let spec = catalogue.find("java").unwrap();
        let places = Places { source: "/s", out: "/o", cpus: 4 };
        let build = AdapterSpec::filled(&spec.build[0], &places);
        assert_eq!(build, ["javac", "-d", "/o", "/s/java/Adapter.java"]);
        let adapter = spec.adapter(&places);
        assert_eq!(adapter.command, ["java", "-XX:ActiveProcessorCount=4", "-cp", "/o", "Adapter"]);
        assert_eq!(adapter.environment, [("A".to_owned(), "4".to_owned())]);
    }

    #[test]
    fn entries_of_the_user_replace_bundled_ones_of_the_same_name() {
        let mut catalogue = Catalogue::parse(JAVA, AdapterOrigin::Ours).unwrap();
        let own = "[[adapter]]\nname = \"java\"\nrun = [\"own\"]\n[[adapter]]\nname = \"lua\"\nrun = [\"lua\", \"a.lua\"]\n";
        catalogue.add(Catalogue::parse(own, AdapterOrigin::Users).unwrap()).unwrap();
        catalogue.type_in("lua", &["./fast".to_owned()]).unwrap();
        let origins = catalogue.specs().iter().map(|spec| (spec.name.as_str(), spec.origin));
        assert!(origins.eq([("java", AdapterOrigin::Users), ("lua", AdapterOrigin::Typed)]));
    }

    #[test]
    fn errors_in_a_list_are_reported() {
        let entry = |name: &str, run: &str| format!("[[adapter]]\nname = \"{name}\"\nrun = {run}\n");
        for (text, expected) in [
            (entry("Java", "[\"x\"]"), "`Java` is not a valid name"),
            (entry("pause", "[\"x\"]"), "`pause` is not a valid name"),
            (entry("x", "[]"), "`x` has no command"),
            (entry("x", "[\"a\"]") + &entry("x", "[\"a\"]"), "`x` is listed twice"),
            ("[[adapter]]\nname = \"x\"\n".to_owned(), "line 1: missing field `run`"),
            (entry("x", "[\"a\"]") + "colour = \"red\"\n", "line 4: unknown field `colour`"),
            ("\nnonsense".to_owned(), "adapters: line 2: "),
        ] {
            let error = Catalogue::parse(&text, AdapterOrigin::Users).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
