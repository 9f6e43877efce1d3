//! [`Names`]: short names of the runs in a directory.

/// Minimum length of an id suffix that selects a run. Suffixes are random; ids of one hour have a common prefix.
pub(super) const MIN_END: usize = 4;

/// Ids of the runs in a directory. Two sorted lists, forwards and backwards, avoid comparing every pair of ids.
///
/// ```
/// # use coretalk::store::Names;
/// let names = |other: &str| Names::from_ids(["0193a5b2-77c1", "0193a5b2-0193", other].map(String::from));
/// assert_eq!(names("0193a5b2-88c1").short("0193a5b2-77c1"), "77c1");
/// assert_eq!(names("0193a5b3-77c1").short("0193a5b2-77c1"), "2-77c1");
/// assert_eq!(names("0193a5b3-77c1").short("0193a5b2-0193"), "-0193");
/// ```
#[derive(Debug, Clone)]
pub struct Names {
    ids: Vec<String>,
    backwards: Vec<String>,
}

impl Names {
    /// Creates the names of the runs with these ids.
    pub fn from_ids(ids: impl IntoIterator<Item = String>) -> Names {
        let sorted = |mut ids: Vec<String>| {
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let ids = sorted(ids.into_iter().collect());
        Names { backwards: sorted(ids.iter().map(|id| backwards(id)).collect()), ids }
    }

    /// Returns the shortest suffix of at least four characters that neither begins nor ends another id.
    /// [`find`](super::find) accepts this name.
    pub fn short<'a>(&self, id: &'a str) -> &'a str {
        let reversed = backwards(id);
        let mut ends = (MIN_END..id.len()).filter_map(|length| id.get(id.len() - length..));
        let is_unique = |end: &&str| {
            is_alone(&self.backwards, &backwards(end), &reversed) && is_alone(&self.ids, end, id)
        };
        ends.find(is_unique).unwrap_or(id)
    }
}

fn backwards(id: &str) -> String {
    id.chars().rev().collect()
}

/// Whether no id in the sorted list, except `exempt`, begins with `beginning`.
fn is_alone(sorted: &[String], beginning: &str, exempt: &str) -> bool {
    let from = sorted.partition_point(|id| id.as_str() < beginning);
    sorted[from..].iter().take(2).take_while(|id| id.starts_with(beginning)).all(|id| id == exempt)
}
