//! [`Random`]: choices from a seed, and changes of the words and lines of a text.

use coretalk_model::stats::Key;

pub struct Random {
    key: Key,
    drawn: u64,
}

/// Numbers, and texts in place of numbers, at the limits of the parsers. One of them is empty.
const EXTREMES: &str = "\
    0 -0 -1 1 2 0.0 0.01 1e-320 5e-324 1e11 1e300 1.7976931348623157e308 1e309 inf -inf NaN nan \
    9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551615 \
    18446744073709551616 4294967295 4294967296 65535 8191 8192 1048575 \
    100000000000000000000000000000000000000000 0x7fffffff 0xffffffff,0xffffffff 0xf...f 0-1048575 \
    0-4294967295 1,019.22 1_000  - ٣";

/// Maximum size of a text after repeating lines.
const MAX_BYTES: usize = 1 << 20;

/// Words that are not numbers.
const STRANGE: [&str; 12] =
    ["x", "null", "true", "[]", "{}", "\"", "...", "\u{1b}[31m", "\u{202e}", "\0", "é", "# coretalk matrix:"];

impl Random {
    pub fn from_seed(seed: u64) -> Random {
        Random { key: Key::from_words(&[seed]), drawn: 0 }
    }

    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        self.key.bits(self.drawn)
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn of_slice<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub fn extreme(&mut self) -> &'static str {
        let all: Vec<&str> = EXTREMES.split(' ').collect();
        assert_eq!((all.len(), all[37]), (40, ""));
        self.of_slice::<&str>(&all)
    }

    /// Returns an integer near the limits of a type, or near `before`.
    pub fn integer(&mut self, before: i64) -> i64 {
        let limits = [0, 1, -1, i64::MAX, i64::MIN, 1 << 31, 1 << 32, 1 << 53, 1 << 60];
        let [more, less] = [1, -1].map(|step| before.wrapping_add(step));
        let near = [more, less, before.wrapping_mul(1_000_003), before ^ (1 << self.below(63))];
        *self.of_slice(&[&limits[..], &near].concat())
    }

    /// Returns a float as a file may contain it, including infinity and NaN.
    pub fn float(&mut self) -> f64 {
        *self.of_slice(&[0.0, -0.0, -5.0, 1e-320, 1e11, 1e38, 1e300, f64::MAX, f64::INFINITY, f64::NAN, 0.5])
    }

    /// Makes up to six changes, which mostly keep the form of the text.
    pub fn change(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..self.below(7) {
            text = match self.below(8) {
                0 => self.change_lines(&text),
                1 => self.cut_or_insert(&text),
                _ => self.change_word(&text),
            };
        }
        text
    }

    fn cut_or_insert(&mut self, text: &str) -> String {
        let at = self.below(text.chars().count() + 1);
        let before = text.chars().take(at);
        if self.one_in(4) {
            return before.collect();
        }
        let strange = if self.one_in(8) { "9".repeat(5_000) } else { (*self.of_slice(&STRANGE)).into() };
        before.chain(strange.chars()).chain(text.chars().skip(at)).collect()
    }

    fn change_lines(&mut self, text: &str) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let Some(last) = lines.len().checked_sub(1) else { return String::new() };
        let (from, to) = (self.below(last + 1), self.below(last + 1));
        match self.below(4) {
            0 => drop(lines.remove(from)),
            1 => lines.insert(to, lines[from]),
            2 => lines.swap(from, to),
            _ => {
                // Limited, because several such changes of a text would use all memory.
                let times = self.below(300).min(MAX_BYTES / (text.len() + 1));
                lines.splice(to..to, std::iter::repeat_n(lines[from], times));
            }
        }
        lines.concat()
    }

    /// Changes one word: a number with signs and points, or letters.
    fn change_word(&mut self, text: &str) -> String {
        let is_word = |c: char| c.is_alphanumeric() || ".+-_".contains(c);
        let mut words: Vec<&str> = Vec::new();
        let mut begin = 0;
        for (at, c) in text.char_indices() {
            let last = text[begin..at].chars().next_back();
            if last.is_some_and(|last| !is_word(last) || !is_word(c)) {
                words.push(&text[begin..at]);
                begin = at;
            }
        }
        words.push(&text[begin..]);
        let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
        // Prefers numbers, because most readers compute with them.
        let wants_number = !self.one_in(4);
        let candidates: Vec<usize> = (0..words.len())
            .filter(|&at| words[at].starts_with(is_word) && has_digit(words[at]) == wants_number)
            .collect();
        if candidates.is_empty() {
            return text.to_owned();
        }
        let (at, other) = (*self.of_slice(&candidates), *self.of_slice(&candidates));
        match self.below(6) {
            0 => words.swap(at, other),
            1 => words[at] = words[other],
            2 => words[at] = "",
            3 if !wants_number => words[at] = *self.of_slice::<&str>(&STRANGE),
            _ => words[at] = self.extreme(),
        }
        words.concat()
    }
}
