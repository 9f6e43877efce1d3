//! How lines are split into fields (RFC 4180 and variants).

use super::document::Document;
use super::field::{DecimalMark, is_numeric};
use super::import_error::excerpt;
use super::{ImportError, Problem};
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Character(char),
    /// Any amount of white space.
    Blanks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub separator: Separator,
    pub mark: DecimalMark,
}

impl Dialect {
    /// Candidates are bars, semicolon, tab and comma in this order, because a comma may be a decimal mark. The
    /// separator is the first that splits all lines into the same number of fields, otherwise the first that occurs.
    /// Fails if both point and comma are decimal marks, or if a comma may separate thousands.
    pub(super) fn detect(document: &Document, lines: &[usize]) -> Result<Dialect, ImportError> {
        const CANDIDATES: [char; 5] = ['|', '│', ';', '\t', ','];
        let count = |candidate: char, line: usize| {
            let mut quoted = false;
            let unquoted = |&c: &char| {
                quoted ^= c == '"';
                !quoted && c == candidate
            };
            document.line(line).chars().filter(unquoted).count()
        };
        let splits_evenly = |&candidate: &char| {
            let first = lines.first().map_or(0, |&line| count(candidate, line));
            first > 0 && lines.iter().all(|&line| count(candidate, line) == first)
        };
        let occurs = |&candidate: &char| lines.iter().any(|&line| count(candidate, line) > 0);
        let mut candidates = CANDIDATES.into_iter();
        let found = candidates.find(splits_evenly).or_else(|| CANDIDATES.into_iter().find(occurs));
        let separator = found.map_or(Separator::Blanks, Separator::Character);
        let mark = decimal_mark(document, lines, separator)?;
        Ok(Dialect { separator, mark })
    }

    pub(super) fn fields<'a>(&self, line: &'a str) -> Fields<'a> {
        Fields::split(line, self.separator)
    }
}

/// The comma is a decimal mark if no cell has a point and the comma is not the separator.
fn decimal_mark(
    document: &Document,
    lines: &[usize],
    separator: Separator,
) -> Result<DecimalMark, ImportError> {
    if separator == Separator::Character(',') {
        return Ok(DecimalMark::Point);
    }
    let mut mark = None;
    let mut first_comma = None;
    let mut only_threes = true;
    let mut has_whole = false;
    for (row, &line) in lines.iter().enumerate() {
        for (index, field) in Fields::split(document.line(line), separator).enumerate() {
            let field = field.map_err(|problem| problem.at(line, index))?;
            let (comma, point) = (field.contains(','), field.contains('.'));
            if !(comma || point) {
                has_whole |= row > 0 && index > 0 && is_numeric(&field) && field != "0";
            }
            if !is_numeric(&field) || !(comma || point) {
                continue;
            }
            let mark_of_field = if comma { DecimalMark::Comma } else { DecimalMark::Point };
            if comma && point {
                return Err(Problem::Thousands { cell: excerpt(&field) }.at(line, index));
            }
            if *mark.get_or_insert(mark_of_field) != mark_of_field {
                return Err(Problem::MixedDecimals { cell: excerpt(&field) }.at(line, index));
            }
            if comma {
                first_comma
                    .get_or_insert_with(|| Problem::Thousands { cell: excerpt(&field) }.at(line, index));
                only_threes &= looks_like_thousands(&field);
            }
        }
    }
    // Between tabs or blanks, `1,234` is ambiguous. Semicolons imply decimal commas, unless other numbers have none.
    let is_decimal = separator == Separator::Character(';') && !has_whole;
    match first_comma {
        Some(error) if only_threes && !is_decimal => Err(error),
        _ => Ok(mark.unwrap_or(DecimalMark::Point)),
    }
}

fn looks_like_thousands(field: &str) -> bool {
    let mut groups = field.trim_start_matches(['+', '-']).split(',');
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
}

pub(super) struct Fields<'a> {
    rest: Option<&'a str>,
    separator: Separator,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, str>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let Separator::Character(separator) = self.separator else {
            let rest = rest.trim_start();
            self.rest = None;
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            self.rest = (end < rest.len()).then_some(&rest[end..]);
            return (end > 0).then(|| Ok(Cow::Borrowed(&rest[..end])));
        };
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() && c != separator);
        if let Some(quoted) = trimmed.strip_prefix('"') {
            return Some(self.quoted(quoted, separator));
        }
        let (field, rest) = match rest.split_once(separator) {
            Some((field, rest)) => (field, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        Some(Ok(Cow::Borrowed(field.trim())))
    }
}

impl<'a> Fields<'a> {
    fn split(line: &'a str, separator: Separator) -> Fields<'a> {
        let within = |bar: char| line.trim().strip_prefix(bar)?.strip_suffix(bar);
        let bare = match separator {
            Separator::Character(bar @ ('|' | '│')) => within(bar),
            Separator::Character(_) | Separator::Blanks => None,
        };
        Fields { rest: Some(bare.unwrap_or(line)), separator }
    }

    fn quoted(&mut self, mut rest: &'a str, separator: char) -> Result<Cow<'a, str>, Problem> {
        self.rest = None;
        let mut field = String::new();
        loop {
            let (part, after) = rest.split_once('"').ok_or(Problem::Quote)?;
            field.push_str(part);
            let Some(doubled) = after.strip_prefix('"') else {
                let after = after.trim_start_matches(|c: char| c.is_whitespace() && c != separator);
                self.rest = match after.strip_prefix(separator) {
                    Some(rest) => Some(rest),
                    None if after.is_empty() => None,
                    None => return Err(Problem::Quote),
                };
                return Ok(Cow::Owned(field));
            };
            field.push('"');
            rest = doubled;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(separator: Separator, line: &str) -> Result<Vec<String>, Problem> {
        let dialect = Dialect { separator, mark: DecimalMark::Point };
        dialect.fields(line).map(|field| field.map(Cow::into_owned)).collect()
    }

    #[test]
    fn fields_lose_their_blanks_and_quotes() {
        let comma = Separator::Character(',');
        for (separator, line, expected) in [
            (comma, ",", &["", ""][..]),
            (comma, " a , b", &["a", "b"]),
            (comma, r#""a,b", "c""d" ,e"#, &["a,b", "c\"d", "e"]),
            (comma, "", &[""]),
            (Separator::Character('\t'), "\t6.9 \t", &["", "6.9", ""]),
            (Separator::Blanks, "  a  b ", &["a", "b"]),
            (Separator::Blanks, "", &[]),
        ] {
            assert_eq!(fields(separator, line).unwrap(), expected, "from {line:?}");
        }
        for line in ["\"a", "\"a\"b", "\"a\"\"", "1,\""] {
            assert_eq!(fields(comma, line), Err(Problem::Quote), "from {line:?}");
        }
    }

    #[test]
    fn the_dialect_is_found_or_refused_but_never_guessed() {
        use DecimalMark::{Comma, Point};
        let detect = |text: &str| {
            let document = Document::new(text);
            let lines: Vec<_> = (0..document.len()).collect();
            Dialect::detect(&document, &lines)
        };
        for (text, separator, mark) in [
            (",1.5\n1.5,", ',', Point),
            (";6,93\n6,93;", ';', Comma),
            (";6,930\n6,930;", ';', Comma),
            (";6.93\n6.93;", ';', Point),
            ("\t6.93\n6.93\t", '\t', Point),
            ("\t6,93\n6,93\t", '\t', Comma),
        ] {
            let expected = Dialect { separator: Separator::Character(separator), mark };
            assert_eq!(detect(text).unwrap(), expected, "from {text:?}");
        }
        for text in ["\t1,234\n1,234\t", ";1,234;950\n1,234;;7\n950;7;", ";6,93\n6.93;", ";1.234,5\n1.234,5;"]
        {
            assert!(detect(text).is_err(), "{text:?} was accepted");
        }
    }
}
