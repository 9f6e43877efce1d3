//! [`excerpt`]: what a sentence repeats of a text from outside.

/// A piece of foreign text as an operand of a sentence: at most 40 characters, none of them invisible.
pub fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
