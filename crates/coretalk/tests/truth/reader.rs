//! [`Reader`]: understands the sentences of a screen by patterns, and holds each claim against what it is about.

use super::page::{Part, parts};
use super::printed::Printed;
use super::run::Run;
use super::said;
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

/// A sentence that can be read: literal text with holes, and what is done with it.
///
/// `{name}` holds any text, `{name#}` a number, `{name%}` a share in percent, `{name@}` a time, `{name~}` what has no end of a
/// sentence, `{name?}` what may be absent.
pub struct Pattern {
    pub text: &'static str,
    pub check: Check,
}

/// What is done with a sentence that a pattern fits.
pub enum Check {
    /// It is held against tables, document and truth.
    By(fn(&mut Reader<'_>, &Said<'_>)),
    /// It is not, for this reason.
    Unheld(&'static str),
}

/// What a pattern found in a sentence.
pub struct Said<'a> {
    pub sentence: &'a str,
    found: Captures<'a>,
}

impl Said<'_> {
    /// The text of a hole; empty where it is in a part that is absent.
    pub fn text(&self, hole: &str) -> &str {
        self.found.name(hole).map_or("", |found| found.as_str())
    }

    /// The number in a hole.
    pub fn number(&self, hole: &str) -> Printed {
        let text = self.text(hole);
        Printed::read(text).unwrap_or_else(|| panic!("`{text}` is no number in `{}`", self.sentence))
    }

    /// The share in a hole whose pattern holds the percent sign.
    pub fn share(&self, hole: &str) -> Printed {
        let text = format!("{} %", self.text(hole));
        Printed::read(&text).unwrap_or_else(|| panic!("`{text}` is no share in `{}`", self.sentence))
    }

    /// The time in a hole.
    pub fn time(&self, hole: &str) -> Printed {
        let text = self.text(hole);
        Printed::time(text).unwrap_or_else(|| panic!("`{text}` is no time in `{}`", self.sentence))
    }

    /// The CPU in a hole.
    pub fn cpu(&self, hole: &str) -> u32 {
        self.number(hole).value as u32
    }
}

/// Something on a screen that is not so, or that nobody can read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wrong {
    /// What kind of claim: one of a few words.
    pub claim: &'static str,
    /// Where it stands.
    pub text: String,
    /// Why it is not so.
    pub why: String,
}

/// Reads one screen.
pub struct Reader<'a> {
    pub run: &'a Run,
    pub wrong: Vec<Wrong>,
    /// How many claims were held against something.
    pub held: usize,
    /// The matrix of the document that is spoken of: by the last question above or name of code.
    pub matrix: usize,
    pub questions: usize,
    /// What stands above a table: CPUs, or sections of contention.
    pub place: String,
    /// The probe whose tables come.
    pub probe: String,
    /// The level of the groups of which something is said.
    pub level: String,
    /// The sentence that is being read.
    text: String,
}

static PATTERNS: LazyLock<Vec<(Regex, &'static Pattern)>> =
    LazyLock::new(|| said::patterns().map(|pattern| (compiled(pattern.text), pattern)).collect());

fn compiled(text: &str) -> Regex {
    const NUMBER: &str = r"[-−+]?\d{1,3}(?: \d{3})+(?:\.\d+)?|[-−+]?\d+(?:\.\d+)?";
    const TIME: &str = r"[\d.]+ (?:ns|µs|ms|s|min|h)(?: \d+ (?:s|min))?";
    let mut regex = String::from("^");
    let mut rest = text;
    while let Some((before, hole)) = rest.split_once('{') {
        regex.push_str(&regex::escape(before));
        let (name, after) = hole.split_once('}').unwrap();
        match name.split_at(name.len() - 1) {
            (name, "#") => regex.push_str(&format!("(?P<{name}>{NUMBER})")),
            (name, "%") => regex.push_str(&format!("(?P<{name}>{NUMBER}) %")),
            (name, "@") => regex.push_str(&format!("(?P<{name}>{TIME})")),
            // Within one sentence.
            (name, "~") => regex.push_str(&format!(r"(?P<{name}>(?:[^.]|\.\d)+?)")),
            // May be absent.
            (name, "?") => regex.push_str(&format!("(?P<{name}>.*?)")),
            _ => regex.push_str(&format!("(?P<{name}>.+?)")),
        }
        rest = after;
    }
    regex.push_str(&regex::escape(rest));
    regex.push('$');
    Regex::new(&regex).unwrap()
}

/// The first pattern that fits a sentence. Most sentences are read often: on each screen of which one number was changed.
fn fitting(sentence: &str) -> Option<&'static (Regex, &'static Pattern)> {
    static KNOWN: Mutex<BTreeMap<String, Option<usize>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let first = match known.get(sentence) {
        Some(&first) => first,
        None => {
            let first = PATTERNS.iter().position(|(regex, _)| regex.is_match(sentence));
            known.insert(sentence.to_owned(), first);
            first
        }
    };
    first.map(|first| &PATTERNS[first])
}

/// Everything on the screen of a run that is not so, and how many claims were held against something.
pub fn read(run: &Run) -> (Vec<Wrong>, usize) {
    let mut reader = Reader::of(run);
    for part in parts(&run.screen) {
        match part {
            Part::Said(line) => reader.line(&line),
            Part::Table(table) => {
                reader.text = table.rows.iter().map(|row| row.join("  ")).collect::<Vec<_>>().join("\n");
                said::table(&mut reader, &table);
            }
            Part::Map(map) => {
                reader.text = format!("map {}", map.title);
                said::map(&mut reader, &map);
            }
            Part::Picture(line) => {
                reader.text = line.clone();
                said::picture(&mut reader, &line);
            }
        }
    }
    (reader.wrong, reader.held)
}

impl<'a> Reader<'a> {
    fn of(run: &'a Run) -> Reader<'a> {
        Reader {
            run,
            wrong: Vec::new(),
            held: 0,
            matrix: 0,
            questions: 0,
            place: String::new(),
            probe: String::new(),
            level: String::new(),
            text: String::new(),
        }
    }

    /// A line, sentence by sentence.
    pub fn line(&mut self, line: &str) {
        let bare = line.trim().trim_start_matches(['!', '→', '·']).trim();
        if let Some(probe) = said::question(bare) {
            self.probe = probe.to_owned();
            return;
        }
        if said::is_meaning(self.run, bare) {
            return;
        }
        if self.sentence(bare) {
            return;
        }
        for separator in [" · ", ". ", "; "] {
            let parts: Vec<String> = split(bare, separator);
            if parts.len() > 1 {
                parts.iter().for_each(|part| self.line(part));
                return;
            }
        }
        // A name is no number.
        if bare.replace("L2", "").replace("L3", "").contains(|c: char| c.is_ascii_digit()) {
            self.text = bare.to_owned();
            self.fail("unread", "no pattern reads this sentence, which holds a number");
        }
    }

    /// Reads a sentence that some pattern fits.
    fn sentence(&mut self, sentence: &str) -> bool {
        let Some((regex, pattern)) = fitting(sentence) else { return false };
        let Some(found) = regex.captures(sentence) else { return false };
        self.text = sentence.to_owned();
        match pattern.check {
            Check::By(check) => check(self, &Said { sentence, found }),
            Check::Unheld(_) => {}
        }
        true
    }

    /// Says that what is being read is not so.
    pub fn fail(&mut self, claim: &'static str, why: impl Into<String>) {
        self.wrong.push(Wrong { claim, text: self.text.clone(), why: why.into() });
    }

    /// Holds a claim.
    pub fn holds(&mut self, claim: &'static str, is_so: bool, why: impl FnOnce() -> String) {
        self.held += 1;
        if !is_so {
            self.fail(claim, why());
        }
    }

    /// Holds a printed number against the exact one; nothing is known where there is none.
    pub fn is(&mut self, claim: &'static str, shown: Printed, exact: Option<f64>, what: &str) {
        match exact {
            Some(exact) => {
                self.holds(claim, shown.reads(exact), || format!("{what} is {exact}, not {}", shown.value));
            }
            None => self.holds(claim, false, || format!("{what} is not in the document")),
        }
    }

    /// Holds a printed number against the truth, of which measuring may miss a share.
    pub fn is_near(&mut self, claim: &'static str, shown: Printed, truth: f64, share: f64, what: &str) {
        self.holds(claim, shown.is_near(truth, share), || {
            format!("{what} is {truth:.4} in truth, not {}", shown.value)
        });
    }
}

/// Parts between separators; a full stop ends a sentence only before a capital letter, and stays.
fn split(text: &str, separator: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(separator) {
        let begins = part.chars().next().is_some_and(|c| c.is_uppercase() || separator != ". ");
        match parts.last_mut() {
            Some(last) if !begins => last.push_str(&format!("{separator}{part}")),
            Some(last) => {
                if separator == ". " {
                    last.push('.');
                }
                parts.push(part.to_owned());
            }
            None => parts.push(part.to_owned()),
        }
    }
    parts
}
