//! [`Harmless`]: a writer that replaces characters with which untrusted strings could control a terminal or hide text.

use std::io::{self, Write};

/// Replacement for a harmful character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// U+FFFD, the replacement character. Sequences that set colours are kept.
    Mark,
    /// JSON escape; a JSON reader restores the character.
    JsonEscape,
}

/// Whether a character other than a line end or tab controls a terminal, reverses text, or is invisible.
pub fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Writer that replaces harmful characters and invalid UTF-8. One character may be split over several writes.
#[derive(Debug)]
pub struct Harmless<W: Write> {
    out: W,
    replacement: Replacement,
    /// Beginning of an incomplete character or sequence.
    pending: Vec<u8>,
}

const MAX_SEQUENCE: usize = 32;

impl<W: Write> Harmless<W> {
    /// Creates a writer on top of `out`.
    pub fn new(out: W, replacement: Replacement) -> Harmless<W> {
        Harmless { out, replacement, pending: Vec::new() }
    }

    /// Writes the pending bytes.
    ///
    /// # Errors
    /// The inner writer fails.
    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.pending);
        self.write_text(&String::from_utf8_lossy(&rest).replace('\x1b', "\u{fffd}"))?;
        self.out.flush()
    }

    /// Writes text except an incomplete sequence at the end. Returns the length of that sequence.
    fn write_text(&mut self, text: &str) -> io::Result<usize> {
        let mut rest = text;
        while let Some(at) = rest.find(is_harmful) {
            self.out.write_all(&rest.as_bytes()[..at])?;
            rest = &rest[at..];
            let length = match self.replacement {
                Replacement::Mark if rest.starts_with('\x1b') => match colour_sequence(rest) {
                    Sequence::Whole(length) => length,
                    Sequence::Unfinished => return Ok(rest.len()),
                    Sequence::Other => 0,
                },
                _ => 0,
            };
            if length > 0 {
                self.out.write_all(&rest.as_bytes()[..length])?;
                rest = &rest[length..];
                continue;
            }
            let harmful = rest.chars().next().unwrap_or_default();
            match self.replacement {
                Replacement::Mark => self.out.write_all("\u{fffd}".as_bytes())?,
                Replacement::JsonEscape => {
                    for unit in harmful.encode_utf16(&mut [0; 2]) {
                        write!(self.out, "\\u{unit:04x}")?;
                    }
                }
            }
            rest = &rest[harmful.len_utf8()..];
        }
        self.out.write_all(rest.as_bytes())?;
        Ok(0)
    }
}

enum Sequence {
    /// A sequence of this many bytes that sets colours.
    Whole(usize),
    /// The beginning of a sequence that may set colours.
    Unfinished,
    Other,
}

fn colour_sequence(text: &str) -> Sequence {
    let Some(parameters) = text.strip_prefix("\x1b[") else {
        return if text == "\x1b" { Sequence::Unfinished } else { Sequence::Other };
    };
    let length = parameters.find(|c: char| !c.is_ascii_digit() && !";:".contains(c));
    match length {
        Some(length) if parameters[length..].starts_with('m') => Sequence::Whole(length + 3),
        None if text.len() < MAX_SEQUENCE => Sequence::Unfinished,
        _ => Sequence::Other,
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Fast path for nearly all output: plain ASCII.
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        // No early exit within a chunk, so that a CPU compares several bytes at once.
        let all_plain = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & is_plain(byte));
        if self.pending.is_empty() && bytes.chunks(256).all(all_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let (text, invalid_length) = match std::str::from_utf8(rest) {
                Ok(text) => (text, Some(0)),
                Err(error) => {
                    let text = std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                    (text, error.error_len())
                }
            };
            let unfinished_length = self.write_text(text)?;
            match invalid_length {
                Some(length) if unfinished_length == 0 => {
                    let end = text.len() + length;
                    if length > 0 {
                        self.out.write_all("\u{fffd}".as_bytes())?;
                    }
                    rest = &rest[end..];
                }
                _ => {
                    self.pending = rest[text.len() - unfinished_length..].to_vec();
                    break;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &[u8], replacement: Replacement, size: usize) -> String {
        let mut out = Vec::new();
        let mut writer = Harmless::new(&mut out, replacement);
        text.chunks(size).for_each(|part| writer.write_all(part).unwrap());
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn harmful_characters_are_replaced_wherever_a_write_ends() {
        let hostile = "a\x1b[2Jb\u{9b}c\u{202e}d\u{e0041}\x1b[1;31me\x1b[0m ±\n\t\x1b";
        for size in 1..hostile.len() {
            let marked = through(hostile.as_bytes(), Replacement::Mark, size);
            assert_eq!(marked, "a�[2Jb�c�d�\x1b[1;31me\x1b[0m ±\n\t�", "{size}");
        }
    }

    #[test]
    fn json_readers_restore_the_character() {
        let hostile = "\u{9b}2J\u{202e}\u{e0041}\u{7f}é";
        for size in 1..6 {
            let json = through(format!("\"{hostile}\"\n").as_bytes(), Replacement::JsonEscape, size);
            assert!(!json.contains(is_harmful), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
        }
    }

    #[test]
    fn invalid_and_incomplete_text_is_replaced() {
        assert_eq!(through(b"a\xffb\xc2", Replacement::Mark, 1), "a�b�");
        assert_eq!(through(b"\x1b[31", Replacement::Mark, 9), "�[31");
        let endless = format!("\x1b[{}", "1".repeat(100));
        assert!(!through(endless.as_bytes(), Replacement::Mark, 7).contains('\x1b'));
    }
}
