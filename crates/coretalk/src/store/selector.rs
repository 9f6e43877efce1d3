//! Finds the run file for `latest`, `latest~N`, a tag, part of an id or a path. Also sets tags.

use super::directory::{Directory, id_of};
use super::error::{Operation, StoreError, sqlite_error};
use super::names::MIN_END;
use super::run_file::RunFile;
use super::stamp::now;
use coretalk_model::excerpt;
use rusqlite::{Connection, OptionalExtension};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The run that a selector names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedRun {
    /// Path of its file.
    pub path: PathBuf,
    /// Note for the user, if several runs have this tag.
    pub notice: Option<String>,
}

/// Finds a run. Tries in this order: `latest` and `latest~N`; a unique prefix of an id, or a unique suffix of at least
/// four characters; a tag; a path. If several runs have a tag, the run tagged last is found. Tags come after ids,
/// because reading tags opens every file.
///
/// [`StoreError::UnknownRun`] names the existing runs, [`StoreError::AmbiguousRun`] the matching ones.
pub fn find(directory: &Directory, selector: impl AsRef<OsStr>) -> Result<SelectedRun, StoreError> {
    let path = Path::new(&selector);
    // A selector that is not valid UTF-8 can only be a path.
    let selector: &str = &path.to_string_lossy();
    let files = directory.files()?;
    let unknown = |why| StoreError::UnknownRun { selector: excerpt(selector), why };
    if let Some(back) = steps_back(selector) {
        let back = back.ok_or_else(|| unknown("write `latest`, or `latest~1` for the one before".into()))?;
        return match files.get(back) {
            Some(path) => Ok(SelectedRun { path: path.clone(), notice: None }),
            None => Err(unknown(existing_runs(directory, &files))),
        };
    }
    let ids = with_id(&files, selector);
    if let [one] = ids[..] {
        return Ok(SelectedRun { path: one.clone(), notice: None });
    }
    let is_path = selector.contains(['/', '\\']);
    if !is_path && let Some(found) = by_tag(&files, selector) {
        return Ok(found);
    }
    if !ids.is_empty() {
        let fitting = ids.into_iter().map(|path| id_of(path)).collect();
        return Err(StoreError::AmbiguousRun { selector: excerpt(selector), fitting });
    }
    if path.is_file() {
        return Ok(SelectedRun { path: path.into(), notice: None });
    }
    // The file is not opened, because opening a pipe blocks until the pipe has a writer.
    let metadata = std::fs::metadata(path).ok();
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
        let what = "it is not a regular file but a pipe, a device or a socket";
        return Err(StoreError::Foreign { path: path.into(), what });
    }
    if is_path || selector.ends_with(&format!(".{}", super::ENDING)) {
        // The user typed a path, so the store is not searched.
        if metadata.is_some() {
            return Err(StoreError::Foreign { path: path.into(), what: "it is a directory" });
        }
        return Err(StoreError::Missing { path: path.into() });
    }
    Err(unknown(existing_runs(directory, &files)))
}

/// Returns the files whose id begins with `typed`, or ends with it if `typed` has at least four characters.
pub(super) fn with_id<'a>(files: &'a [PathBuf], typed: &str) -> Vec<&'a PathBuf> {
    let typed = typed.to_ascii_lowercase();
    // Prefixes and suffixes have equal rank, because the short name of one run may begin the id of another.
    let fits = |id: &str| {
        !typed.is_empty() && (id.starts_with(&typed) || (typed.len() >= MIN_END && id.ends_with(&typed)))
    };
    files.iter().filter(|path| fits(&id_of(path))).collect()
}

/// Parses `latest` as 0 and `latest~2` as 2; `None` for another selector, `Some(None)` for `latest~x`.
fn steps_back(selector: &str) -> Option<Option<usize>> {
    let rest = selector.strip_prefix("latest")?;
    match rest.strip_prefix('~') {
        None if rest.is_empty() => Some(Some(0)),
        None => None,
        Some(steps) => Some(steps.parse().ok()),
    }
}

/// Finds a run by tag. Skips unreadable files; the command `runs` reports those.
fn by_tag(files: &[PathBuf], tag: &str) -> Option<SelectedRun> {
    let mut with_tag: Vec<(String, &PathBuf)> = Vec::new();
    for path in files {
        let created = |db: &Connection| {
            db.query_row("SELECT created FROM tags WHERE tag = ?1", [tag], |row| row.get(0)).optional()
        };
        with_tag.extend(RunFile::peek(path, "tags", created).ok().flatten().map(|time| (time, path)));
    }
    with_tag.sort();
    let others = with_tag.len().saturating_sub(1);
    let (_, path) = with_tag.pop()?;
    let notice = (others > 0)
        .then(|| format!("{} runs have the tag `{tag}`; using {}, tagged last", others + 1, id_of(path)));
    Some(SelectedRun { path: path.clone(), notice })
}

fn existing_runs(directory: &Directory, files: &[PathBuf]) -> String {
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
    /// Reads the tags with the times when they were given (RFC 3339, UTC), oldest first.
    pub fn tags(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare("SELECT tag, created FROM tags ORDER BY created, tag")?;
            let tags = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            tags.collect()
        })
    }

    /// Tags the run; an existing tag becomes the newest. [`StoreError::BadTag`] names a tag that is not allowed.
    pub fn tag(&self, tag: &str) -> Result<(), StoreError> {
        check_tag(self.path.parent().unwrap_or(Path::new("")), tag)?;
        self.db
            .execute("INSERT OR REPLACE INTO tags (tag, created) VALUES (?1, ?2)", (tag, now()))
            .map(drop)
            .map_err(sqlite_error(Operation::Tag, &self.path))
    }
}

/// Checks that a tag always selects its run: it is neither `latest`, nor part of an id here, nor a path.
pub(super) fn check_tag(directory: &Path, tag: &str) -> Result<(), StoreError> {
    const LONGEST: usize = 100;
    let bad = |why| Err(StoreError::BadTag { tag: excerpt(tag), why });
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
        _ => match with_id(&Directory::at(directory).files()?, tag)[..] {
            [] => Ok(()),
            _ => bad("the ID of a run begins or ends with it"),
        },
    }
}
