use std::borrow::Cow;

use super::{ImportError, Problem};

/// A lower triangle of 8192 CPUs with six digits has 230 MiB. The readers may need a few dozen times as much memory.
const MAX_MIB: usize = 512;

/// Decodes UTF-8, or UTF-16 with a byte order mark, without terminal colours. Fails with [`Problem::NotText`] or
/// [`Problem::TooLarge`].
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, ImportError> {
    if bytes.len() > MAX_MIB << 20 {
        return Err(Problem::TooLarge { limit_mib: MAX_MIB }.into());
    }
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)?),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)?),
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(utf8(rest)?),
        _ => Cow::Borrowed(utf8(bytes)?),
    };
    match text.find('\0') {
        Some(at) => {
            Err(Problem::NotText { what: "there is a NUL byte" }.at_line(line_of(&text.as_bytes()[..at])))
        }
        None if text.contains(COLOUR) => Ok(Cow::Owned(without_colours(&text))),
        None => Ok(text),
    }
}

/// Start of a control sequence (ECMA-48). core-to-core-latency colours its table even in files.
const COLOUR: &str = "\u{1b}[";

fn without_colours(text: &str) -> String {
    let mut parts = text.split(COLOUR);
    let first = parts.next().unwrap_or_default();
    let rest =
        parts.map(|part| part.trim_start_matches(|c| matches!(c, ' '..='?')).get(1..).unwrap_or_default());
    std::iter::once(first).chain(rest).collect()
}

fn utf8(bytes: &[u8]) -> Result<&str, ImportError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = line_of(&bytes[..error.valid_up_to()]);
        Problem::NotText { what: "there are bytes that are not UTF-8" }.at_line(line)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, ImportError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Problem::NotText { what: "UTF-16 with an odd number of bytes" }.into());
    }
    char::decode_utf16(pairs.iter().map(|&pair| unit(pair)))
        .collect::<Result<String, _>>()
        .map_err(|_| Problem::NotText { what: "there is a broken UTF-16 character" }.into())
}

fn line_of(before: &[u8]) -> usize {
    before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Text as lines that end in LF, CRLF or CR.
pub(super) struct Document<'a> {
    text: &'a str,
    /// Start of each line, in four bytes, because a file may consist of line ends.
    starts: Vec<u32>,
    /// Whether every line that is not blank begins with `>`, as in quotations.
    quoted: bool,
}

impl<'a> Document<'a> {
    /// Finds the lines. `text` is at most [`MAX_MIB`], or three times as much after UTF-16: offsets fit into 32 bits.
    pub(super) fn new(text: &'a str) -> Document<'a> {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at as u32 + 1);
            }
        }
        let quoted = text.split(['\n', '\r']).all(|line| line.starts_with('>') || line.trim().is_empty());
        Document { text, starts, quoted }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// A line by its number from 0, without line end and the `> ` of quotations. Empty beyond the last line.
    pub(super) fn line(&self, index: usize) -> &'a str {
        let Some(&start) = self.starts.get(index) else { return "" };
        let end = self.starts.get(index + 1).map_or(self.text.len(), |&end| end as usize);
        let mut line = self.text[start as usize..end].trim_end_matches(['\r', '\n']);
        while self.quoted
            && let Some(quoted) = line.strip_prefix('>')
        {
            line = quoted.strip_prefix(' ').unwrap_or(quoted);
        }
        line
    }

    pub(super) fn next_filled(&self, index: usize) -> Option<usize> {
        (index..self.len()).find(|&index| !self.line(index).trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_is_understood_and_numbered_alike() {
        for text in ["a\nb\n\nc", "a\r\nb\r\n\r\nc", "a\rb\r\rc", "a\nb\r\n\rc"] {
            let document = Document::new(text);
            let lines: Vec<_> = (0..document.len()).map(|index| document.line(index)).collect();
            assert_eq!(lines, ["a", "b", "", "c"], "from {text:?}");
        }
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "52±6,\n";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [b"\xff\xfe", &le[..]].concat(),
            [b"\xfe\xff", &be[..]].concat(),
        ] {
            assert_eq!(decode(&bytes).unwrap(), text, "from {bytes:x?}");
        }
        for bytes in [&b"\xff\xfe1"[..], b"\xff\xfe\x00\xd8", b"1,\xb1", b"1\0"] {
            assert!(matches!(decode(bytes).unwrap_err().problem, Problem::NotText { .. }), "from {bytes:x?}");
        }
    }
}
