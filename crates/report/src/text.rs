//! Text on a terminal: columns, wrapping, and neutralization of untrusted strings.

use crate::harmless::is_harmful;
use unicode_width::UnicodeWidthChar;

/// Makes an untrusted string (CPU name, label, tag) safe for a terminal. Control characters, escape sequences,
/// invisible characters, and marks that reverse the direction of text are replaced. Line ends and tabs become spaces.
///
/// ```
/// assert_eq!(coretalk_report::plain("evil\x1b[2J\u{202e}\nname"), "evil�[2J� name");
/// ```
pub fn plain(text: &str) -> String {
    text.trim()
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            c if is_harmful(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Removes repeated blank lines, and blank lines at the start and the end.
pub fn spaced(lines: Vec<String>) -> Vec<String> {
    let mut spaced: Vec<String> = Vec::with_capacity(lines.len());
    for line in lines {
        if !line.is_empty() || spaced.last().is_some_and(|before| !before.is_empty()) {
            spaced.push(line);
        }
    }
    spaced.pop_if(|last| last.is_empty());
    spaced
}

/// The width of a line in columns; colour codes have no width.
pub fn columns(line: &str) -> usize {
    strip(line).chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The line without its colour codes.
pub fn strip(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 2..];
        rest = sequence.find('m').map_or("", |end| &sequence[end + 1..]);
    }
    plain.push_str(rest);
    plain
}

/// Cuts text to a width; cut text ends with `…`.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// Text left-aligned in `width` columns.
pub fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Text right-aligned in `width` columns.
pub fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Parts joined by `separator`, in lines of at most `width` columns. Only a part longer than a line is wrapped.
pub fn flow<'a>(
    parts: impl Iterator<Item = &'a str>,
    separator: &str,
    width: usize,
    indent: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut empty = true;
    for part in parts {
        let joined = if empty { 0 } else { columns(separator) };
        if !empty && columns(&line) + joined + columns(part) > width {
            lines.push(std::mem::take(&mut line));
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push_str(separator);
        }
        for c in part.chars() {
            if columns(&line) + c.width().unwrap_or(0) > width {
                let blank = line.rfind(' ').filter(|at| !line[..*at].trim().is_empty());
                let rest = blank.map_or(String::new(), |at| line.split_off(at)[1..].to_owned());
                lines.push(std::mem::take(&mut line));
                line = " ".repeat(indent) + &rest;
            }
            line.push(c);
        }
        empty = false;
    }
    if !empty {
        lines.push(line);
    }
    lines
}

/// Eighths of the height of a line, from the lowest.
pub const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Text with a capital first letter.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// A time stamp, `2026-11-21 03:23:58 UTC` from RFC 3339; any other text stays as it is.
pub fn started(started: &str) -> String {
    let started = plain(started);
    match started.split_once('T') {
        Some((day, time)) if time.len() >= 8 && time.is_char_boundary(8) && time.ends_with('Z') => {
            format!("{day} {} UTC", &time[..8])
        }
        _ => started,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_replaced() {
        for hostile in
            ["\x1b]0;title\x07", "a\u{9b}31m", "\u{202e}txt", "\u{2066}x", "zero\u{200b}width", "\u{7f}"]
        {
            let harmless = plain(hostile);
            assert!(harmless.contains('\u{fffd}'), "{hostile:?} gave {harmless:?}");
            assert!(harmless.chars().all(|c| !c.is_control()), "{hostile:?}");
        }
        assert_eq!(plain("  Ryzen™ 9 – 数 "), "Ryzen™ 9 – 数");
    }

    #[test]
    fn columns_count_wide_characters_and_leave_out_colours() {
        let lines = ["数", "\x1b[97;48;5;17m 17\x1b[0m", "▀│·", "e\u{301}"];
        assert_eq!(lines.map(columns), [2, 3, 3, 1]);
    }

    #[test]
    fn cut_text_ends_with_an_ellipsis() {
        assert_eq!((cut("abcdef", 4).as_str(), cut("abcd", 4).as_str()), ("abc…", "abcd"));
    }
}
