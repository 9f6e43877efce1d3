//! [`Names`]: what output calls the runs of a directory.

/// The shortest end of an id that selects a run: ids of one hour begin alike, their ends are random.
pub(super) const MIN_END: usize = 4;

/// The ids of a directory in the order of their letters from the front and from the back, for the names of all of them
/// without comparing each with each.
///
/// ```
/// # use coretalk::store::Names;
/// let names = |other: &str| Names::of(["0193a5b2-77c1", "0193a5b2-0193", other].map(String::from));
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
    /// Of runs with these ids.
    pub fn of(ids: impl IntoIterator<Item = String>) -> Names {
        let sorted = |mut ids: Vec<String>| {
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let ids = sorted(ids.into_iter().collect());
        Names { backwards: sorted(ids.iter().map(|id| backwards(id)).collect()), ids }
    }

    /// The shortest end of an id, four characters at least, with which no other id ends or begins: what output calls a
    /// run, and [`find`](super::find) finds it by.
    pub fn short<'a>(&self, id: &'a str) -> &'a str {
        let reversed = backwards(id);
        let mut ends = (MIN_END..id.len()).filter_map(|length| id.get(id.len() - length..));
        let is_its_own = |end: &&str| {
            is_alone(&self.backwards, &backwards(end), &reversed) && is_alone(&self.ids, end, id)
        };
        ends.find(is_its_own).unwrap_or(id)
    }
}

fn backwards(id: &str) -> String {
    id.chars().rev().collect()
}

/// Whether of these no other than this one begins like this.
fn is_alone(sorted: &[String], beginning: &str, one: &str) -> bool {
    let from = sorted.partition_point(|id| id.as_str() < beginning);
    sorted[from..].iter().take(2).take_while(|id| id.starts_with(beginning)).all(|id| id == one)
}
