//! Writes all sentence templates of the tool with their source lines to `target/sentences.txt`, for review in one
//! place. Reads the sources, so that no template is missing.
#![allow(clippy::unwrap_used, reason = "a source that cannot be read fails its test")]

use crate::tidy::rust_files;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use regex::Regex;
use std::fmt::Write;
use std::path::Path;

/// Macros and methods with text for developers only.
const NOT_SHOWN: &str = "assert assert_eq assert_ne debug_assert debug_assert_eq panic unreachable asm expect \
                         allow deprecated cfg cfg_attr include_str";

const MAX_ARGUMENT: usize = 48;

/// A sentence or a part of one, with its arguments in braces.
struct Template {
    line: usize,
    text: String,
}

/// Extracts the templates of a source file. `help` includes doc comments, which are the help of options.
fn templates(source: &str, help: bool) -> Vec<Template> {
    let mut found = Vec::new();
    collect(source.parse().unwrap(), help, &mut found);
    found.retain(|template| is_sentence(&template.text));
    found
}

fn collect(tokens: TokenStream, help: bool, found: &mut Vec<Template>) {
    use TokenTree::{Group, Ident, Literal, Punct};
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        at += match &tokens[at..] {
            // `#[cfg(test)] mod tests { … }`
            [Punct(hash), Group(group), rest @ ..] if is_char(hash, '#') && is_of_tests(group.stream()) => {
                let item = rest.iter().position(|token| match token {
                    Group(group) => group.delimiter() == Delimiter::Brace,
                    Punct(end) => is_char(end, ';'),
                    _ => false,
                });
                2 + item.map_or(rest.len(), |item| item + 1)
            }
            // `#![doc = "…"]`, which is how `//!` is tokenized: the description of the file.
            [Punct(hash), Punct(bang), Group(_), ..] if is_char(hash, '#') && is_char(bang, '!') => 3,
            // `#[doc = "…"]`, which is how `///` is tokenized.
            [Ident(doc), Punct(_), Literal(_), ..] if doc == "doc" && !help => 3,
            [Ident(reason), Punct(equals), Literal(_), ..] if reason == "reason" && is_char(equals, '=') => 3,
            [Ident(name), Punct(bang), Group(_), ..] if is_char(bang, '!') && is_not_shown(name) => 3,
            [Ident(name), Group(_), ..] if is_not_shown(name) => 2,
            [Group(group), ..] => {
                match template_of_macro(group.stream()) {
                    Some((template, arguments)) => {
                        found.push(template);
                        collect(arguments, help, found);
                    }
                    None => collect(group.stream(), help, found),
                }
                1
            }
            [Literal(literal), ..] => {
                let line = literal.span().start().line;
                found.extend(text_of(&literal.to_string()).map(|text| Template { line, text }));
                1
            }
            _ => 1,
        }
    }
}

fn is_char(punct: &proc_macro2::Punct, char: char) -> bool {
    punct.as_char() == char
}

fn is_not_shown(name: &proc_macro2::Ident) -> bool {
    NOT_SHOWN.split(' ').any(|known| name == known)
}

fn is_of_tests(attribute: TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "test" || text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
}

/// Converts `"{} of {known}", percent(share)` to `{percent(share)} of {known}`, and returns the tokens after the
/// template; `None` if the tokens do not begin with a template that has arguments.
fn template_of_macro(tokens: TokenStream) -> Option<(Template, TokenStream)> {
    let mut tokens = tokens.into_iter();
    let TokenTree::Literal(literal) = tokens.next()? else { return None };
    let text = text_of(&literal.to_string())?;
    let rest: TokenStream = tokens.collect();
    if !text.contains('{') {
        return None;
    }
    let (mut arguments, mut shown) = (vec![TokenStream::new()], String::new());
    for token in rest.clone().into_iter().skip(1) {
        match token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => arguments.push(TokenStream::new()),
            other => arguments.last_mut().unwrap().extend([other]),
        }
    }
    let mut arguments = arguments.into_iter().map(|argument| code(&argument.to_string()));
    let mut remaining = text.as_str();
    while let Some((before, behind)) = remaining.split_once('{') {
        shown.push_str(before);
        if let Some(behind) = behind.strip_prefix('{') {
            shown.push('{');
            remaining = behind;
            continue;
        }
        let (name, behind) = behind.split_once('}')?;
        let (name, _) = name.split_once(':').unwrap_or((name, ""));
        let argument = if name.is_empty() { arguments.next().unwrap_or_default() } else { name.to_owned() };
        let _ = write!(shown, "{{{argument}}}");
        remaining = behind;
    }
    shown.push_str(remaining);
    Some((Template { line: literal.span().start().line, text: shown }, rest))
}

/// Formats tokens as source code, and truncates a long expression.
fn code(tokens: &str) -> String {
    let written = ["&", ".", "::", "(", "?", "*"].iter().fold(tokens.replace('\n', " "), |text, mark| {
        text.replace(&format!(" {mark}"), mark).replace(&format!("{mark} "), mark)
    });
    match written.char_indices().nth(MAX_ARGUMENT) {
        Some((end, _)) => format!("{} …", written[..end].trim_end()),
        None => written,
    }
}

/// Returns the text of a string literal; `None` for numbers, bytes and characters.
fn text_of(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        return Some(raw.trim_matches('#').strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut unescaped = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied()) {
            ('\\', Some('\n')) => while letters.next_if(|next| next.is_whitespace()).is_some() {},
            ('\\', Some('n')) => {
                letters.next();
                unescaped.push_str(" ⏎ ");
            }
            ('\\', Some(_)) => unescaped.extend(letters.next()),
            (letter, _) => unescaped.push(letter),
        }
    }
    Some(unescaped)
}

/// Whether a text is a phrase: two adjacent words, one of which may be an argument.
fn is_sentence(text: &str) -> bool {
    let sql = ["INSERT ", "SELECT ", "PRAGMA ", "CREATE ", "UPDATE ", "DELETE "];
    if sql.iter().any(|word| text.trim_start().starts_with(word)) {
        return false;
    }
    let braces = Regex::new(r"\{[^}]*\}").unwrap();
    let text = braces.replace_all(text, "{}");
    let is_word = |word: &str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters > 1 && !word.contains(['/', '=', '<', '_', ':', ';'])
    };
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_end_matches([':', ',', '.', ';'])).collect();
    words.windows(2).any(|pair| {
        let words = pair.iter().filter(|word| is_word(word)).count();
        words == 2 || words == 1 && pair.contains(&"{}")
    })
}

#[test]
fn every_sentence_is_written_to_a_file() {
    let is_source =
        |path: &str| path.contains("/src/") && !path.contains("/tests/") && !path.ends_with("tests.rs");
    let (mut page, mut count) = (String::new(), 0);
    for (path, source) in rust_files("crates/").into_iter().filter(|(path, _)| is_source(path)) {
        let found = templates(&source, path.contains("/args"));
        count += found.len();
        if !found.is_empty() {
            let _ = writeln!(page, "\n{path}");
        }
        for Template { line, text } in found {
            let _ = writeln!(page, "{line:>5}  {}", text.trim());
        }
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join("sentences.txt"), page).unwrap();
    assert!(count > 1000, "only {count} sentences were found");
}

#[test]
fn templates_contain_arguments_but_no_tests_or_reasons() {
    let source = r#"
        /// A line of help.
        fn f() { println!("{} of {known}, {{so}}", percent(share)); g("two words", "word"); h.expect("no way out"); }
        #[allow(dead_code, reason = "it is only an example")]
        #[cfg(test)]
        mod tests { fn t() { g("said in a test"); } }
        #[error("no file {0:?} here, {name}")]
        struct Missing;
    "#;
    let texts =
        |help| templates(source, help).iter().map(|one| one.text.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(false), ["{percent(share)} of {known}, {so}}", "two words", "no file {0} here, {name}"]);
    assert_eq!(texts(true)[0], "A line of help.");
}
