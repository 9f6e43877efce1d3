//! What runs are called: tags, which users give, and how what a user types becomes a run file: `latest`, `latest~N`, a tag,
//! the beginning of an id, a path.

use super::directory::{Directory, id_of};
use super::error::{StoreError, sqlite_error};
use super::run_file::RunFile;
use crate::run_report::now;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The shortest end of an id that selects a run: ids of one hour begin alike, their ends are random.
const SHORTEST_END: usize = 4;

/// A run that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// What the user should know: that several runs have this tag.
    pub notice: Option<String>,
}

/// Finds a run, in this order: `latest` and `latest~N`, a tag (of equal ones that given last), the beginning of an id
/// or, from four characters on, its end, and a path.
///
/// # Errors
/// [`StoreError::UnknownRun`] says what there is instead, [`StoreError::AmbiguousRun`] what fits.
pub fn find(directory: &Directory, selector: impl AsRef<OsStr>) -> Result<Found, StoreError> {
    let path = Path::new(&selector);
    // What is not text is the name of a file: no tag and no id is equal to it.
    let selector: &str = &path.to_string_lossy();
    let files = directory.files()?;
    let unknown = |why| StoreError::UnknownRun { selector: selector.to_owned(), why };
    if let Some(back) = steps_back(selector) {
        let back = back.ok_or_else(|| unknown("write `latest`, or `latest~1` for the one before".into()))?;
        return match files.get(back) {
            Some(path) => Ok(Found { path: path.clone(), notice: None }),
            None => Err(unknown(what_there_is(directory, &files))),
        };
    }
    if let Some(found) = by_tag(directory, selector)? {
        return Ok(found);
    }
    let ids: Vec<String> = files.iter().map(|path| id_of(path)).collect();
    let typed = selector.to_ascii_lowercase();
    let fits = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..ids.len()).filter(|&index| test(&ids[index])).collect()
    };
    // A beginning and an end alike: what output calls a run may begin the id of another.
    let fitting = fits(&|id| {
        !typed.is_empty() && (id.starts_with(&typed) || (typed.len() >= SHORTEST_END && id.ends_with(&typed)))
    });
    match fitting[..] {
        [one] => return Ok(Found { path: files[one].clone(), notice: None }),
        [] => {}
        _ => {
            let fitting = fitting.into_iter().map(|index| ids[index].clone()).collect();
            return Err(StoreError::AmbiguousRun { selector: selector.to_owned(), fitting });
        }
    }
    if path.is_file() {
        return Ok(Found { path: path.into(), notice: None });
    }
    // Neither is opened: a pipe would wait for somebody to write.
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_dir()) {
        let what = "it is not a regular file but a pipe, a device or a socket";
        return Err(StoreError::Foreign { path: path.into(), what });
    }
    if selector.contains(['/', '\\']) || selector.ends_with(&format!(".{}", super::ENDING)) {
        // Meant as a path: nobody looks for it in the store.
        if there.is_some() {
            return Err(StoreError::Foreign { path: path.into(), what: "it is a directory" });
        }
        return Err(StoreError::Missing { path: path.into() });
    }
    Err(unknown(what_there_is(directory, &files)))
}

/// The shortest end of an id, four characters at least, with which no other id ends or begins: what output calls a run,
/// and [`find`] finds it by.
///
/// ```
/// # use coretalk::store::short_name;
/// assert_eq!(short_name("0193a5b2-77c1", ["0193a5b2-77c1", "0193a5b2-88c1"].into_iter()), "77c1");
/// assert_eq!(short_name("0193a5b2-77c1", ["0193a5b3-77c1"].into_iter()), "2-77c1");
/// assert_eq!(short_name("0193a5b2-0193", ["0193a5b3-77c1"].into_iter()), "-0193");
/// ```
pub fn short_name<'a>(id: &'a str, among: impl Iterator<Item = &'a str>) -> &'a str {
    let others: Vec<&str> = among.filter(|&other| other != id).collect();
    let ends = (SHORTEST_END..id.len()).filter_map(|length| id.get(id.len() - length..));
    let is_its_own = |end: &&str| !others.iter().any(|other| other.ends_with(end) || other.starts_with(end));
    ends.into_iter().find(is_its_own).unwrap_or(id)
}

/// `latest` is 0, `latest~2` is 2; something that is not `latest` is none at all, and `latest~x` is nonsense.
fn steps_back(selector: &str) -> Option<Option<usize>> {
    let rest = selector.strip_prefix("latest")?;
    match rest.strip_prefix('~') {
        None if rest.is_empty() => Some(Some(0)),
        None => None,
        Some(steps) => Some(steps.parse().ok()),
    }
}

fn by_tag(directory: &Directory, tag: &str) -> Result<Option<Found>, StoreError> {
    let mut with_tag: Vec<(String, PathBuf)> = Vec::new();
    for run in directory.list()? {
        if let Some((_, given)) = run.tags.into_iter().find(|(known, _)| known == tag) {
            with_tag.push((given, run.path));
        }
    }
    with_tag.sort();
    let others = with_tag.len().saturating_sub(1);
    let Some((_, path)) = with_tag.pop() else { return Ok(None) };
    let notice = (others > 0)
        .then(|| format!("{} runs have the tag `{tag}`; using {}, tagged last", others + 1, id_of(&path)));
    Ok(Some(Found { path, notice }))
}

fn what_there_is(directory: &Directory, files: &[PathBuf]) -> String {
    let folder = directory.path().display();
    match files {
        [] => format!("there are no runs in {folder} yet; `coretalk` makes one"),
        [newest, ..] => format!(
            "there {} in {folder}, the newest is {}; `coretalk runs list` shows IDs and tags",
            if files.len() == 1 { "is 1 run".to_owned() } else { format!("are {} runs", files.len()) },
            id_of(newest)
        ),
    }
}

impl RunFile {
    /// The tags with the time when each was given (RFC 3339, UTC), oldest first.
    ///
    /// # Errors
    /// [`StoreError`]: the file is damaged or could not be read.
    pub fn tags(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare("SELECT tag, created FROM tags ORDER BY created, tag")?;
            let tags = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            tags.collect()
        })
    }

    /// Gives the run a tag; one that it has already becomes the newest.
    ///
    /// # Errors
    /// [`StoreError::BadTag`], or the file could not be written.
    pub fn tag(&self, tag: &str) -> Result<(), StoreError> {
        check_tag(tag)?;
        self.db
            .execute("INSERT OR REPLACE INTO tags (tag, created) VALUES (?1, ?2)", (tag, now()))
            .map(drop)
            .map_err(sqlite_error("tag", &self.path))
    }
}

/// A tag must be typed again and stay itself: `latest` already means something, and a slash makes it a path.
pub(super) fn check_tag(tag: &str) -> Result<(), StoreError> {
    const LONGEST: usize = 100;
    let bad = |why| Err(StoreError::BadTag { tag: tag.to_owned(), why });
    match tag {
        "" => bad("it is empty"),
        _ if tag.len() > LONGEST => bad("it is longer than 100 bytes"),
        _ if tag.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            bad("it contains spaces or control characters; use dashes")
        }
        _ if tag.contains(['/', '\\', '~']) => {
            bad("it contains a slash or a tilde, like paths and `latest~1`")
        }
        _ if tag.starts_with('-') => bad("it starts with a dash, like an option"),
        "latest" => bad("`latest` is always the newest run"),
        _ => Ok(()),
    }
}
