//! [`AdapterAnswer`]: the parsed lines of an adapter after `go`, before verification.

use super::error::AdapterError;
use super::pass::{Note, RoleShare};
use super::protocol::cut;
use coretalk_model::Histogram;
use coretalk_model::external::is_word;
use std::collections::BTreeMap;
use std::time::Instant;

pub(super) const AWAITED: &str = "a line `ns`, `count`, `sum`, `events`, `ops`, `note` or `done`";

const NOTE: &str = "`note` with a name of letters a to z, digits, `-` and `_`, a letter first, 64 at most";
const SHARE: &str = "`ops ROLE OPERATIONS BEGIN END ADDED`";
const MAX_ROLES: usize = 4_096;
const MAX_DISTRIBUTIONS: usize = 16;
/// Maximum number of notes of a pass. It bounds the memory of a run.
const MAX_NOTES: usize = 100;

#[derive(Debug, Default)]
pub(super) struct AdapterAnswer {
    /// Reported duration, and the arrival time of its line.
    pub(super) ns: Option<(u64, Instant)>,
    pub(super) count: Option<u64>,
    pub(super) sum: Option<u64>,
    /// Distributions of single operations in nanoseconds, by name.
    pub(super) events: BTreeMap<String, Histogram>,
    pub(super) events_ns: BTreeMap<String, u64>,
    pub(super) shares: BTreeMap<usize, RoleShare>,
    pub(super) notes: Vec<Note>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prepared {
    Role { role: usize, thread: u32 },
    Refused(String),
}

impl Prepared {
    pub(super) fn read(line: &str) -> Option<Prepared> {
        if let Some(text) = line.strip_prefix("error").filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            return Some(Prepared::Refused(cut(text.trim())));
        }
        let (role, thread) = line.strip_prefix("role ")?.split_once(' ')?;
        Some(Prepared::Role { role: role.parse().ok()?, thread: thread.trim().parse().ok()? })
    }
}

impl AdapterAnswer {
    /// Parses a line; for `done`, returns the number of the pass.
    pub(super) fn take(&mut self, line: &str, at: Instant) -> Result<Option<u64>, AdapterError> {
        let unexpected = || AdapterError::Unexpected { line: cut(line), awaited: AWAITED };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.trim().parse::<u64>().map_err(|_| unexpected());
        match word {
            "ns" => store_once(&mut self.ns, (number()?, at), line)?,
            "count" => store_once(&mut self.count, number()?, line)?,
            "sum" => store_once(&mut self.sum, number()?, line)?,
            "done" => {
                let invalid = |_| AdapterError::Unexpected {
                    line: cut(line),
                    awaited: "`done` with the number of the pass",
                };
                return rest.trim().parse().map(Some).map_err(invalid);
            }
            "note" => {
                let (name, text) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
                if !Note::may_be_called(name) {
                    return Err(AdapterError::Unexpected { line: cut(line), awaited: NOTE });
                }
                if self.notes.iter().any(|note| note.name == name) {
                    return Err(AdapterError::Repeated { line: cut(line) });
                }
                if self.notes.len() == MAX_NOTES {
                    return Err(AdapterError::ManyNotes { most: MAX_NOTES });
                }
                self.notes.push(Note { name: name.to_owned(), text: cut(text.trim()) });
            }
            "events" => {
                let (name, pairs) = match rest.split_once(' ') {
                    Some((name, pairs)) if is_word(name) => (name, pairs),
                    _ => ("", rest),
                };
                let events = self.events.entry(name.to_owned()).or_default();
                let events_ns = self.events_ns.entry(name.to_owned()).or_default();
                for pair in pairs.split_whitespace() {
                    let pair = pair.split_once(':').ok_or_else(unexpected)?;
                    let (Ok(ns), Ok(count)) = (pair.0.parse::<u64>(), pair.1.parse::<u64>()) else {
                        return Err(unexpected());
                    };
                    events.record_ns(ns as f64, count);
                    *events_ns = events_ns.saturating_add(ns.saturating_mul(count));
                }
                if self.events.len() > MAX_DISTRIBUTIONS {
                    return Err(unexpected());
                }
            }
            "ops" => {
                let numbers: Option<Vec<u64>> = rest.split(' ').map(|word| word.parse().ok()).collect();
                let Some([role, operations, begin, end, added]) = numbers.as_deref() else {
                    return Err(AdapterError::Unexpected { line: cut(line), awaited: SHARE });
                };
                let share = RoleShare { operations: *operations, window: [*begin, *end], added: *added };
                if self.shares.insert(*role as usize, share).is_some() {
                    return Err(AdapterError::Repeated { line: cut(line) });
                }
                if self.shares.len() > MAX_ROLES {
                    return Err(AdapterError::WrongShares(format!("more than {MAX_ROLES} roles")));
                }
            }
            _ => return Err(unexpected()),
        }
        Ok(None)
    }
}

fn store_once<T>(known: &mut Option<T>, value: T, line: &str) -> Result<(), AdapterError> {
    match known.replace(value) {
        None => Ok(()),
        Some(_) => Err(AdapterError::Repeated { line: cut(line) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_any_order() {
        let (mut answer, now) = (AdapterAnswer::default(), Instant::now());
        let lines = "note gc 0,events 10:2 30:1,events 30:1,events busy 7:1,sum 9,ns 120,count 4,note jit";
        for line in lines.split(',') {
            assert_eq!(answer.take(line, now).unwrap(), None, "{line}");
        }
        assert_eq!(answer.take("done 7", now).unwrap(), Some(7));
        assert_eq!((answer.ns.unwrap().0, answer.count, answer.sum), (120, Some(4), Some(9)));
        let counts = ["", "busy"].map(|name| answer.events[name].count());
        assert_eq!((answer.events_ns[""], counts), (80, [4, 1]));
        let note = |name: &str, text: &str| Note { name: name.into(), text: text.into() };
        assert_eq!(answer.notes, [note("gc", "0"), note("jit", "")]);
    }

    #[test]
    fn unexpected_lines_are_named() {
        for line in ["", "ns", "ns -1", "ns 1.5", "count x", "events 10", "events a:1", "hello", "role 0 1"] {
            let error = AdapterAnswer::default().take(line, Instant::now()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("it printed {line:?} where a line `ns`")), "{error}");
        }
    }

    #[test]
    fn repeated_and_too_many_lines_are_refused() {
        let first_error = |lines: &[&str]| {
            let (mut answer, now) = (AdapterAnswer::default(), Instant::now());
            let failed = lines.iter().find_map(|line| answer.take(line, now).err());
            failed.map(|error| error.to_string())
        };
        for (first, second) in
            [("ns 5", "ns 6"), ("count 4", "count 4"), ("sum 1", "sum 2"), ("note gc 1", "note gc 2")]
        {
            let error = first_error(&[first, "events 1:2", second]);
            assert_eq!(error, Some(format!("it printed {second:?}, which it already printed in this pass")));
        }
        for name in ["5", "Gc", "a,b", "\u{1b}[31mred", "<b>", "outside!", "", &"a".repeat(65)] {
            let error = first_error(&[&format!("note {name} 7")]).unwrap();
            assert!(error.contains("where `note` with a name of letters a to z"), "{name}: {error}");
            assert!(error.len() < 300, "{error}");
        }
        assert_eq!(first_error(&["note a-b_9 x", &format!("note {} 7", "a".repeat(64))]), None);
        let many: Vec<String> = (0..=MAX_NOTES).map(|number| format!("note n{number} 1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(first_error(&many[..MAX_NOTES]), None);
        assert_eq!(first_error(&many).unwrap(), "it printed more than 100 lines `note` in one pass");
        let many: Vec<String> = (0..=MAX_ROLES).map(|role| format!("ops {role} 1 0 9 1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(first_error(&many[..MAX_ROLES]), None);
        let error = first_error(&many).unwrap();
        assert_eq!(error, "the lines `ops` do not fit the pass: more than 4096 roles");
    }

    #[test]
    fn roles_and_refusals_are_read() {
        assert_eq!(Prepared::read("role 1 4243"), Some(Prepared::Role { role: 1, thread: 4243 }));
        let refused = Prepared::Refused("capacity 7 is no power of two".into());
        assert_eq!(Prepared::read("error capacity 7 is no power of two"), Some(refused));
        for nothing in ["error", "error "] {
            let Some(Prepared::Refused(text)) = Prepared::read(nothing) else { panic!("{nothing}") };
            let error = AdapterError::Refused { text }.to_string();
            assert_eq!(error, "the adapter refuses, and does not say why");
        }
        for line in ["errors", "role -1 17", "role 0", "role 0 x", "ns 5", ""] {
            assert_eq!(Prepared::read(line), None, "{line}");
        }
    }
}
