//! [`Catalogue`]: which adapters there are, how each is built and started: those that come with coretalk, those of the
//! user, and those named on a command line.

use super::Adapter;
use crate::external::External;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// What `adapters.toml` holds: one `[[adapter]]` for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    recipes: Vec<Recipe>,
}

/// How an adapter is built and started. `{source}` stands for the folder of its files, `{out}` for the one that it is built
/// into, `{cpus}` for the number of CPUs that it may use; no shell reads any of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The word before the colon of what it offers: `java`.
    pub name: String,
    /// Programs without which it cannot be.
    #[serde(default)]
    pub needs: Vec<String>,
    /// What it is made of, below the folder of the file that names it.
    #[serde(default)]
    pub files: Vec<String>,
    /// What prints the version of its compiler, or of what runs it; empty where nothing does.
    #[serde(default)]
    pub version: Vec<String>,
    /// Commands that build it, one after the other.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// What is started, with `describe` or `serve` behind it.
    pub run: Vec<String>,
    /// Variables of all of these.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Whose it is.
    #[serde(skip, default)]
    pub origin: Origin,
}

/// Whose an adapter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// It comes with coretalk: its files are part of the program.
    #[default]
    Ours,
    /// The user's file names it; its files lie beside that.
    Users,
    /// It was typed.
    Typed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "adapter")]
    adapters: Vec<Recipe>,
}

/// What is wrong with a list of adapters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// The file is no such list.
    #[error("read a list of adapters: line {line}: {reason}")]
    Toml {
        /// Where, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A name that cannot stand before a colon.
    #[error(
        "read a list of adapters: `{0}` is no name: letters a to z, digits and `-`, a letter first, and no word that stands before a colon already"
    )]
    Name(String),
    /// A name is there twice.
    #[error("read a list of adapters: `{0}` is there twice")]
    Twice(String),
    /// Nothing is started.
    #[error("read a list of adapters: `{0}` starts nothing: `run` is empty")]
    NoRun(String),
}

impl Catalogue {
    /// Reads a list of adapters.
    ///
    /// ```
    /// # use coretalk_measure::adapters::catalogue::{Catalogue, Origin};
    /// let text = "[[adapter]]\nname = \"perl\"\nneeds = [\"perl\"]\nrun = [\"perl\", \"{source}/adapter.pl\"]\n";
    /// let catalogue = Catalogue::parse(text, Origin::Users).unwrap();
    /// assert_eq!(catalogue.find("perl").unwrap().needs, ["perl"]);
    /// ```
    ///
    /// # Errors
    /// [`CatalogueError`]: what is wrong, and where.
    pub fn parse(text: &str, origin: Origin) -> Result<Catalogue, CatalogueError> {
        let file: File = toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
            CatalogueError::Toml {
                line: 1 + before.matches('\n').count(),
                reason: error.message().to_owned(),
            }
        })?;
        let mut catalogue = Catalogue::default();
        for recipe in file.adapters {
            if catalogue.find(&recipe.name).is_some() {
                return Err(CatalogueError::Twice(recipe.name));
            }
            catalogue.put(Recipe { origin, ..recipe })?;
        }
        Ok(catalogue)
    }

    /// Adds what was typed: a name, and a command of words.
    ///
    /// # Errors
    /// [`CatalogueError`]: the name cannot be one, or there is no command.
    pub fn type_in(&mut self, name: &str, words: &[String]) -> Result<(), CatalogueError> {
        self.put(Recipe {
            name: name.to_owned(),
            needs: Vec::new(),
            files: Vec::new(),
            version: Vec::new(),
            build: Vec::new(),
            run: words.to_vec(),
            environment: BTreeMap::new(),
            origin: Origin::Typed,
        })
    }

    /// Takes over everything of another list, which counts where both have a name.
    ///
    /// # Errors
    /// [`CatalogueError`], never for what was read as a list.
    pub fn add(&mut self, other: Catalogue) -> Result<(), CatalogueError> {
        other.recipes.into_iter().try_for_each(|recipe| self.put(recipe))
    }

    fn put(&mut self, recipe: Recipe) -> Result<(), CatalogueError> {
        let name = &recipe.name;
        if !External::is_runtime(name) {
            return Err(CatalogueError::Name(name.clone()));
        }
        if recipe.run.is_empty() {
            return Err(CatalogueError::NoRun(name.clone()));
        }
        match self.recipes.iter_mut().find(|known| known.name == recipe.name) {
            Some(known) => *known = recipe,
            None => self.recipes.push(recipe),
        }
        Ok(())
    }

    /// The adapter of a name.
    pub fn find(&self, name: &str) -> Option<&Recipe> {
        self.recipes.iter().find(|recipe| recipe.name == name)
    }

    /// All of them, in the order of the lists.
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }
}

/// What the words of a recipe stand for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Where its files are.
    pub source: &'a str,
    /// Where it is built.
    pub out: &'a str,
    /// How many CPUs it may use.
    pub cpus: usize,
}

impl Recipe {
    /// Words with everything filled in.
    pub fn filled(words: &[String], places: &Places<'_>) -> Vec<String> {
        words.iter().map(|word| fill(word, places)).collect()
    }

    /// Its variables with everything filled in.
    pub fn variables(&self, places: &Places<'_>) -> Vec<(String, String)> {
        self.environment.iter().map(|(name, value)| (name.clone(), fill(value, places))).collect()
    }

    /// The adapter, once it is built.
    pub fn adapter(&self, places: &Places<'_>) -> Adapter {
        let command = Recipe::filled(&self.run, places).into_iter().map(OsString::from).collect();
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
    fn words_of_a_recipe_are_filled_in() {
        let catalogue = Catalogue::parse(JAVA, Origin::Ours).unwrap();
        let recipe = catalogue.find("java").unwrap();
        let places = Places { source: "/s", out: "/o", cpus: 4 };
        assert_eq!(Recipe::filled(&recipe.build[0], &places), ["javac", "-d", "/o", "/s/java/Adapter.java"]);
        let adapter = recipe.adapter(&places);
        assert_eq!(adapter.command, ["java", "-XX:ActiveProcessorCount=4", "-cp", "/o", "Adapter"]);
        assert_eq!(adapter.environment, [("A".to_owned(), "4".to_owned())]);
    }

    #[test]
    fn the_list_of_the_user_counts_where_both_have_a_name() {
        let mut catalogue = Catalogue::parse(JAVA, Origin::Ours).unwrap();
        let own = "[[adapter]]\nname = \"java\"\nrun = [\"own\"]\n[[adapter]]\nname = \"lua\"\nrun = [\"lua\", \"a.lua\"]\n";
        catalogue.add(Catalogue::parse(own, Origin::Users).unwrap()).unwrap();
        catalogue.type_in("lua", &["./fast".to_owned()]).unwrap();
        let origins: Vec<_> =
            catalogue.recipes().iter().map(|recipe| (recipe.name.as_str(), recipe.origin)).collect();
        assert_eq!(origins, [("java", Origin::Users), ("lua", Origin::Typed)]);
    }

    #[test]
    fn what_is_wrong_with_a_list_is_said() {
        let entry = |name: &str, run: &str| format!("[[adapter]]\nname = \"{name}\"\nrun = {run}\n");
        for (text, said) in [
            (entry("Java", "[\"x\"]"), "`Java` is no name"),
            (entry("pause", "[\"x\"]"), "`pause` is no name"),
            (entry("x", "[]"), "`x` starts nothing"),
            (entry("x", "[\"a\"]") + &entry("x", "[\"a\"]"), "`x` is there twice"),
            ("[[adapter]]\nname = \"x\"\n".to_owned(), "line 1: missing field `run`"),
            (entry("x", "[\"a\"]") + "colour = \"red\"\n", "line 4: unknown field `colour`"),
            ("\nnonsense".to_owned(), "adapters: line 2: "),
        ] {
            let error = Catalogue::parse(&text, Origin::Users).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
