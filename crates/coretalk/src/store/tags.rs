//! Tags: names that the user gives to a run.

use super::error::{StoreError, sqlite_error};
use super::run_file::RunFile;
use crate::run_report::now;
use rusqlite::Connection;
use std::path::Path;

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
        add(&self.db, &self.path, tag)
    }

    /// Takes a tag away; says whether it was there.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn untag(&self, tag: &str) -> Result<bool, StoreError> {
        self.db
            .execute("DELETE FROM tags WHERE tag = ?1", [tag])
            .map(|rows| rows > 0)
            .map_err(sqlite_error("tag", &self.path))
    }
}

pub(super) fn add(db: &Connection, path: &Path, tag: &str) -> Result<(), StoreError> {
    check(tag)?;
    db.execute("INSERT OR REPLACE INTO tags (tag, created) VALUES (?1, ?2)", (tag, now()))
        .map(drop)
        .map_err(sqlite_error("tag", path))
}

/// A tag must be typed again and stay itself: `latest` already means something, and a slash makes it a path.
pub(super) fn check(tag: &str) -> Result<(), StoreError> {
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
